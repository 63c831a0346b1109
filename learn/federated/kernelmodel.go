package federated

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// KernelModel is what classification in one round gives: for every pair of classes a function
// Σ c_n k(x_n, x) of the critical samples. It is safe for use by several goroutines.
type KernelModel struct {
	Options  KernelOptions
	Run      string
	Schema   boost.Schema // columns and classes
	Features []linear.Feature
	Raw      []float32   // samples, distinct, by sample and feature, as tables have them
	X        [][]float64 // the same as scaled
	Class    []int       // of each
	Coef     [][]float64 // by pair and sample: y u
	Price    []float64   // by pair: the price of hinge losses; +Inf with cost margin
	// Points and Weight exist for gamma above 0: centres with widths, and coefficients times cell
	// volumes by pair. Prediction then does not use X.
	Points [][]float64
	Weight [][]float64
}

// Kernels is the number of kernels with a coefficient that is not zero.
func (m *KernelModel) Kernels() int {
	n := 0
	list := m.Coef
	if m.Points != nil {
		list = m.Weight
	}
	if len(list) == 0 {
		return 0
	}
	for i := range list[0] {
		for _, c := range list {
			if c[i] != 0 {
				n++
				break
			}
		}
	}
	return n
}

// functions stores the value of each pair's function at a scaled point.
func (m *KernelModel) functions(dst, x []float64) {
	clear(dst)
	if m.Points != nil {
		for g, p := range m.Points {
			k := gauss(x, p)
			for j := range dst {
				dst[j] += m.Weight[j][g] * k
			}
		}
		return
	}
	for i, s := range m.X {
		k := m.Options.kernel(s, x)
		for j := range dst {
			if c := m.Coef[j][i]; c != 0 {
				dst[j] += c * k
			}
		}
	}
}

// Form is an empty table of the model's columns.
func (m *KernelModel) Form() *table.Table { return m.Schema.Table() }

// Predict returns scores. For two classes it is the function. For more it is the votes of all
// pairs, with ties broken by the sum of the functions squashed into (-1/2, 1/2).
// O(rows·samples·columns).
func (m *KernelModel) Predict(ctx context.Context, x *table.Table, workers int) (*learner.Scores, error) {
	if err := m.Schema.Match(x); err != nil {
		return nil, err
	}
	x, err := x.Dense(0)
	if err != nil {
		return nil, err
	}
	classes := len(m.Schema.Classes)
	list := pairs(classes)
	out := &learner.Scores{Outputs: classes}
	if classes == 2 {
		out.Outputs = 1
	}
	out.Score = make([]float64, x.Rows*out.Outputs)
	points := scaledRows(rawRows(x, m.Features), m.Features)
	err = run.Each(workers, (x.Rows+63)/64, func(_, b int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := make([]float64, len(list))
		for i := b * 64; i < min(x.Rows, b*64+64); i++ {
			m.functions(f, points[i])
			vote(out.Score[i*out.Outputs:][:out.Outputs], f, list)
		}
		return nil
	})
	return out, err
}

// vote turns functions of pairs into scores of classes.
func vote(dst, f []float64, list [][2]int) {
	if len(dst) == 1 {
		dst[0] = f[0]
		return
	}
	n := float64(len(list))
	for k, p := range list {
		s := f[k] / (1 + math.Abs(f[k])) / (2*n + 1)
		dst[p[1]] += s
		dst[p[0]] -= s
		if f[k] > 0 {
			dst[p[1]]++
		} else {
			dst[p[0]]++
		}
	}
}

// scaledRows are samples as the kernel sees them, of numbers as tables have them.
func scaledRows(raw []float32, fs []linear.Feature) [][]float64 {
	var out [][]float64
	for at := 0; at+len(fs) <= len(raw) && len(fs) > 0; at += len(fs) {
		x := make([]float64, len(fs))
		for j, f := range fs {
			if v := float64(raw[at+j]); v == v {
				x[j] = (v - f.Mean) * f.Scale
			}
		}
		out = append(out, x)
	}
	return out
}

// rawRows are the numbers of a table's rows that features read.
func rawRows(x *table.Table, fs []linear.Feature) []float32 {
	out := make([]float32, x.Rows*len(fs))
	for j, f := range fs {
		for i, v := range x.Columns[f.Column].Values {
			out[i*len(fs)+j] = v
		}
	}
	return out
}

// plain are features that leave columns as they are.
func plain(columns int) []linear.Feature {
	out := make([]linear.Feature, columns)
	for j := range out {
		out[j] = linear.Feature{Column: j, Level: -1, Scale: 1}
	}
	return out
}

const (
	kernelKind    = "federated kernel"
	kernelVersion = 1
)

type kernelMeta struct {
	Run     string        `json:"run"`
	Options KernelOptions `json:"options"`
	Schema  boost.Schema  `json:"schema"`
}

// container is the model as a file or part of a message.
func (m *KernelModel) put(c *model.Container) {
	d := len(m.Features)
	column, mean, scale := make([]int32, d), make([]float64, d), make([]float64, d)
	for j, f := range m.Features {
		column[j], mean[j], scale[j] = int32(f.Column), f.Mean, f.Scale
	}
	class := make([]int32, len(m.Class))
	for i, k := range m.Class {
		class[i] = int32(k)
	}
	model.Put(c, "feature/column", column)
	model.Put(c, "feature/mean", mean)
	model.Put(c, "feature/scale", scale)
	model.Put(c, "x", m.Raw, len(m.X), d)
	model.Put(c, "class", class)
	model.Put(c, "coef", slices.Concat(m.Coef...), len(m.Coef), len(m.X))
	model.Put(c, "price", m.Price)
	if m.Points != nil {
		model.Put(c, "points", slices.Concat(m.Points...), len(m.Points), d+1)
		model.Put(c, "weight", slices.Concat(m.Weight...), len(m.Weight), len(m.Points))
	}
}

// Write writes the model file.
func (m *KernelModel) Write(w io.Writer) error {
	c := model.New(kernelKind, kernelVersion)
	if err := c.SetMeta(kernelMeta{m.Run, m.Options, m.Schema}); err != nil {
		return err
	}
	m.put(c)
	return c.Write(w)
}

// ReadKernel reads a model that Write wrote.
func ReadKernel(r io.Reader) (*KernelModel, error) {
	c, err := model.Read(r, nil)
	if err != nil {
		return nil, err
	}
	return kernelFrom(c)
}

func kernelFrom(c *model.Container) (*KernelModel, error) {
	var meta kernelMeta
	if err := c.Expect(kernelKind, kernelVersion); err != nil {
		return nil, err
	}
	if err := c.Meta(&meta); err != nil {
		return nil, err
	}
	return kernelOf(c, &meta)
}

func kernelOf(c *model.Container, meta *kernelMeta) (*KernelModel, error) {
	bad := func(format string, v ...any) error {
		return fmt.Errorf("federated: %w: %s", model.ErrFormat, fmt.Sprintf(format, v...))
	}
	m := &KernelModel{Options: meta.Options, Run: meta.Run, Schema: meta.Schema}
	if err := complete(&m.Options); err != nil {
		return nil, bad("%v", err)
	}
	if len(m.Schema.Classes) < 2 {
		return nil, bad("%d classes", len(m.Schema.Classes))
	}
	list := len(pairs(len(m.Schema.Classes)))
	msg := &Message{c: c}
	var err error
	if m.Features, err = getFeatures(msg, len(m.Schema.Columns)); err != nil {
		return nil, err
	}
	d := len(m.Features)
	rows := func(name string, n, width int) ([][]float64, error) {
		v, err := floats(msg, name, n, width)
		if err != nil {
			return nil, err
		}
		var out [][]float64
		for at := 0; at+width <= len(v) && width > 0; at += width {
			out = append(out, v[at:at+width:at+width])
		}
		return out, nil
	}
	if m.Raw, err = get[float32](msg, "x", -1, d); err != nil {
		return nil, err
	}
	m.X = scaledRows(m.Raw, m.Features)
	class, err := get[int32](msg, "class", len(m.X))
	if err != nil {
		return nil, err
	}
	for _, k := range class {
		if k < 0 || int(k) >= len(m.Schema.Classes) {
			return nil, bad("class %d of %d", k+1, len(m.Schema.Classes))
		}
		m.Class = append(m.Class, int(k))
	}
	if m.Coef, err = rows("coef", list, len(m.X)); err != nil {
		return nil, err
	}
	if len(m.Coef) != list {
		return nil, bad("a model without samples")
	}
	if m.Price, err = get[float64](msg, "price", list); err != nil {
		return nil, err
	}
	if _, ok := c.Shape("points"); ok {
		if m.Points, err = rows("points", -1, d+1); err != nil {
			return nil, err
		}
		if m.Weight, err = rows("weight", list, len(m.Points)); err != nil {
			return nil, err
		}
		if len(m.Weight) != list {
			return nil, bad("a model without points")
		}
	}
	return m, nil
}
