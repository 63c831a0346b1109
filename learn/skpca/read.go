package skpca

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
)

// Read reads what Write wrote.
func Read(r io.Reader) (*Model, error) {
	var meta modelMeta
	f, err := model.ReadKind(r, modelKind, modelVersion, &meta)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) (*Model, error) {
		return nil, fmt.Errorf("skpca: %w: %s", model.ErrFormat, fmt.Sprintf(format, args...))
	}
	m := &Model{form: meta.Form, rho: meta.Rho, setting: meta.Chosen, settings: meta.Settings,
		lossName: meta.Loss, bounds: meta.Bounds, rows: meta.Rows, labelled: meta.Labelled, cells: meta.Cells,
		fit: &fit{value: meta.Value[0], loss: meta.Value[1], norm: meta.Value[2]}}
	if m.setting.Nu, err = strconv.ParseFloat(meta.Nu, 64); err != nil {
		return bad("nu %q", meta.Nu)
	}
	outputs := 1
	if n := len(m.form.Classes); n > 2 {
		outputs = n
	}
	if meta.Outputs != outputs || meta.Base < 0 || meta.Rho < 0 || len(meta.Parts) == 0 ||
		len(meta.Parts) > maxKernels || len(m.form.Classes) == 1 {
		return bad("%d outputs, %d kernels and %d classes", meta.Outputs, len(meta.Parts), len(m.form.Classes))
	}
	switch {
	case meta.Loss == "squared", m.form.Classes != nil && (meta.Loss == "logistic" || meta.Loss == "hinge"):
	default:
		return bad("the loss %q", meta.Loss)
	}
	if m.features, err = linear.GetFeatures(f, &m.form); err != nil {
		return nil, err
	}
	finite := true
	check := func(x []float64) {
		for _, v := range x {
			finite = finite && v-v == 0
		}
	}
	base := &kernel.Matrix{Rows: 0, Cols: len(m.features)}
	if meta.Sparse {
		base.Start = []int{0}
	}
	m.space = &space{x: base, opts: kernel.Options{Ctx: context.Background()}}
	total, needed := 0, false
	for k, q := range meta.Parts {
		p := &part{kernel: q.Kernel, name: q.Name, scale: q.Scale, trace: q.Trace}
		if q.Count < 0 || !(q.Scale > 0) || math.IsInf(q.Scale, 1) || q.Fourier < 0 || q.Fourier > maxFourier {
			return bad("kernel %d has %d features and the scale %v", k+1, q.Count, q.Scale)
		}
		if _, err := kernel.ParseVector(q.Kernel.Name()); err != nil {
			return bad("%v", err)
		}
		for _, c := range q.Kernel.Columns {
			if c < 0 || c >= len(m.features) {
				return bad("kernel %d has column %d of %d", k+1, c, len(m.features))
			}
		}
		values, err := model.Get[float64](f, fmt.Sprintf("eigenvalues.%d", k))
		if err != nil {
			return nil, err
		}
		check(values)
		if len(values) < max(1, q.Count) {
			return bad("kernel %d has %d eigenvalues for %d features", k+1, len(values), q.Count)
		}
		m.spectrum, m.traces = append(m.spectrum, values), append(m.traces, q.Trace)
		p.values = values[:q.Count:q.Count]
		total += q.Count
		d := len(m.features)
		if q.Kernel.Columns != nil {
			d = len(q.Kernel.Columns)
		}
		if q.Fourier > 0 {
			if p.fourier, err = kernel.NewFourier(q.Kernel, len(m.features), q.Fourier, q.Seed); err != nil {
				return bad("%v", err)
			}
			d = p.fourier.D
		}
		if q.Centred {
			p.centre = &kernel.Centring{All: q.All}
			if p.centre.Rows, err = model.Get[float64](f, fmt.Sprintf("means.%d", k), meta.Base); err != nil {
				return nil, err
			}
			check(p.centre.Rows)
		}
		if q.Count > 0 {
			if _, ok := f.Shape(fmt.Sprintf("directions.%d", k)); ok {
				p.directions, err = model.Get[float64](f, fmt.Sprintf("directions.%d", k), d, q.Count)
			} else {
				needed = true
				p.weights, err = model.Get[float64](f, fmt.Sprintf("weights.%d", k), meta.Base, q.Count)
			}
			if err != nil {
				return nil, err
			}
			check(p.weights)
			check(p.directions)
		}
		m.parts = append(m.parts, p)
		m.fit.counts = append(m.fit.counts, q.Count)
	}
	if needed {
		if err := readBase(f, base, meta.Base); err != nil {
			return nil, err
		}
	}
	theta, err := model.Get[float64](f, "theta", outputs, total)
	if err != nil {
		return nil, err
	}
	for o := range outputs {
		m.fit.theta = append(m.fit.theta, theta[o*total:(o+1)*total:(o+1)*total])
	}
	if m.fit.offset, err = model.Get[float64](f, "offset", outputs); err != nil {
		return nil, err
	}
	if m.fit.mu, err = model.Get[float64](f, "mu", len(m.parts)); err != nil {
		return nil, err
	}
	gap, err := model.Get[float64](f, "gap", 1)
	if err != nil {
		return nil, err
	}
	m.fit.gap = gap[0]
	if meta.Loss == "hinge" {
		if m.sigmoid, err = model.Get[float64](f, "sigmoid", outputs, 2); err != nil {
			return nil, err
		}
	}
	if _, ok := f.Shape("places"); ok {
		if m.places, err = model.Get[float64](f, "places", -1, 3); err != nil {
			return nil, err
		}
		check(m.places)
		for at := 2; at < len(m.places) && len(m.form.Classes) > 0; at += 3 {
			if c := m.places[at]; c < 0 || c >= float64(len(m.form.Classes)) || c != math.Trunc(c) {
				return bad("a row of the picture has the class %v", c)
			}
		}
	}
	check(theta)
	check(m.fit.offset)
	check(m.fit.mu)
	check(m.sigmoid)
	for _, v := range m.fit.mu {
		finite = finite && v >= 0
	}
	if b := m.bounds; b != nil && len(b.Deciles) != 11 {
		return bad("%d deciles", len(b.Deciles))
	}
	if !finite {
		return bad("a number is not finite, or a weight negative")
	}
	return m, nil
}

// maxFourier bounds random features, so that a damaged file cannot ask for any memory.
const maxFourier = 1 << 20

// readBase reads the base rows.
func readBase(f *model.Container, base *kernel.Matrix, rows int) error {
	var err error
	base.Rows = rows
	if base.Start == nil {
		base.Data, err = model.Get[float64](f, "base", rows*base.Cols)
	} else if base.Data, err = model.Get[float64](f, "base"); err == nil {
		var start []int64
		if start, err = model.Get[int64](f, "base.start", rows+1); err == nil {
			base.Start = make([]int, rows+1)
			for i, v := range start {
				base.Start[i] = int(v)
			}
			base.Index, err = model.Get[int32](f, "base.index", len(base.Data))
		}
	}
	if err != nil {
		return err
	}
	if err := base.Check(); err != nil {
		return fmt.Errorf("skpca: %w: %w", model.ErrFormat, err)
	}
	return nil
}
