package federated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	gfloats "gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// samples are points with classes, as they are scaled for the kernel.
type samples struct {
	x     [][]float64
	class []int
	count []float64   // how many identical ones each stands for
	u     [][]float64 // multiplier by sample and pair of classes; nil is 0
}

// pairs lists the pairs of classes that one-versus-one tells apart; of each the second is +1.
func pairs(classes int) [][2]int {
	var out [][2]int
	for a := range classes {
		for b := a + 1; b < classes; b++ {
			out = append(out, [2]int{a, b})
		}
	}
	return out
}

// of returns the samples of a pair of classes with their signs.
func (s *samples) of(pair [2]int) (rows []int, y []float64) {
	for i, k := range s.class {
		switch k {
		case pair[0]:
			rows, y = append(rows, i), append(y, -1)
		case pair[1]:
			rows, y = append(rows, i), append(y, 1)
		}
	}
	return rows, y
}

// kernel is Q of section B2, up to a constant: of a Gaussian k(x, z) of that width, with
// centres everywhere, ∫ k(x, z) k(x', z) dz is (width √π)^p exp(-|x-x'|²/4 width²). It is
// divided by its value at x = x'.
func (o *KernelOptions) kernel(a, b []float64) float64 {
	if o.Kernel == "linear" {
		return gfloats.Dot(a, b)
	}
	d := 0.0
	for i, v := range a {
		d += (v - b[i]) * (v - b[i])
	}
	return math.Exp(-d / (4 * o.Width * o.Width))
}

// solution is the solved dual of one pair.
type solution struct {
	rows  []int     // of the samples
	y     []float64 // -1 and +1
	u     []float64
	f     []float64 // the function at the rows
	price float64   // that no multiplier exceeds, times the sample's count; +Inf is none
	steps int
}

// jitter keeps the diagonal positive where a kernel is 0 there, as the linear one at 0.
const jitter = 1e-12

// solve solves the dual of a pair on samples, from the multipliers u. total is the number of
// samples that the bound of total-hinge counts.
func (o *KernelOptions) solve(ctx context.Context, s *samples, pair [2]int, u []float64, total float64, workers int) (*solution, error) {
	rows, y := s.of(pair)
	n := len(rows)
	r := &solution{rows: rows, y: y, u: u, price: o.Price}
	if r.u == nil {
		r.u = make([]float64, n)
	}
	if n == 0 {
		return r, nil
	}
	if n > mostSamples {
		return nil, fail(BadTable, "", "%d samples of two classes; the solver's memory, 8 bytes a pair of samples, ends at %d", n, mostSamples)
	}
	if o.Gamma > 0 {
		return r, o.ascend(ctx, s, r, total)
	}
	h := make([][]float64, n)
	run.Blocks(workers, n, 16, func(_, from, to int) {
		for i := from; i < to; i++ {
			h[i] = make([]float64, n)
			for j, k := range rows {
				h[i][j] = y[i] * y[j] * o.kernel(s.x[rows[i]], s.x[k])
			}
			h[i][i] += jitter
		}
	})
	q := &optim.BoxQP{H: h, C: make([]float64, n), Upper: make([]float64, n), Steps: o.MaxSteps}
	for i := range q.C {
		q.C[i] = 1 - learner.Amount(o.Eps)
	}
	toRay(h, q.C[0], r.u)
	at := func(price float64) error {
		r.price = price
		for i, k := range rows {
			q.Upper[i] = price * s.count[k]
		}
		steps, _, err := q.Maximize(ctx, r.u, o.Accuracy)
		r.steps += steps
		var unbounded *optim.ErrUnbounded
		if errors.As(err, &unbounded) {
			return infeasible(s, rows, y, r.u)
		}
		return err
	}
	var err error
	switch o.Cost {
	case "margin":
		err = at(math.Inf(1))
	case "hinge":
		err = at(o.Price)
	default:
		err = r.byHinge(at, func() float64 { return r.hinge(s, h, q.C[0]) }, o.Hinge*total)
	}
	if err != nil {
		return nil, err
	}
	r.f = r.values(h)
	return r, nil
}

// toRay multiplies u by what is best for the dual on its ray. The multipliers of agents whose
// samples are alike add up to too much: each had to hold the margin alone.
func toRay(h [][]float64, margin float64, u []float64) {
	sum, square := 0.0, 0.0
	for i, v := range u {
		if v != 0 {
			sum += v
			square += v * gfloats.Dot(h[i], u)
		}
	}
	if square > 0 {
		gfloats.Scale(margin*sum/square, u)
	}
}

// mostSamples bounds the matrix of a pair at 3 GB.
const mostSamples = 20000

// values are the function at the samples.
func (r *solution) values(h [][]float64) []float64 {
	f := make([]float64, len(r.u))
	for j, v := range r.u {
		if v != 0 {
			gfloats.AddScaled(f, v, h[j])
		}
	}
	for i := range f {
		f[i] *= r.y[i]
	}
	return f
}

// hinge is the sum of hinge losses.
func (r *solution) hinge(s *samples, h [][]float64, margin float64) float64 {
	sum := 0.0
	for i, f := range r.values(h) {
		sum += s.count[r.rows[i]] * math.Max(0, margin-r.y[i]*f)
	}
	return sum
}

// byHinge finds the price at which the sum of hinge losses is the bound: the box machine is
// the dual of the joint constraint. The sum falls as the price grows.
func (r *solution) byHinge(at func(price float64) error, hinge func() float64, bound float64) error {
	low, high := 0.0, 1.0
	for {
		if err := at(high); err != nil {
			return err
		}
		if hinge() <= bound {
			break
		}
		if low = high; high > 1e6 {
			return fail(Infeasible, "", "the sum of hinge losses stays above %.4g, at a price of %.3g: samples of two classes coincide; allow more by the field hinge", bound, high)
		}
		high *= 4
	}
	for range 40 {
		if high-low <= 1e-4*high {
			break
		}
		mid := (low + high) / 2
		if low > 0 {
			mid = math.Sqrt(low * high)
		}
		if err := at(mid); err != nil {
			return err
		}
		if hinge() <= bound {
			high = mid
		} else {
			low = mid
		}
	}
	return at(high)
}

// infeasible names samples whose multipliers have run away.
func infeasible(s *samples, rows []int, y, u []float64) error {
	order := make([]int, len(u))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case u[a] > u[b]:
			return -1
		case u[a] < u[b]:
			return 1
		}
		return 0
	})
	names := ""
	for _, i := range order[:min(4, len(order))] {
		names += fmt.Sprintf(" %d (class %d)", rows[i]+1, s.class[rows[i]]+1)
	}
	return fail(Infeasible, "", "samples of two classes coincide, or nearly; the largest multipliers have the samples%s", names)
}

// critical marks the samples that have to do with the solution: those with multipliers, and
// those on the margin.
func (o *KernelOptions) critical(r *solution) []bool {
	top := 0.0
	for _, v := range r.u {
		top = math.Max(top, v)
	}
	out := make([]bool, len(r.u))
	for i, v := range r.u {
		slack := 1 - learner.Amount(o.Eps) - r.y[i]*r.f[i]
		out[i] = v > o.Tolerance*top || math.Abs(slack) <= o.MarginTolerance
	}
	return out
}

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
	// Points and Weight are of gamma above 0: centres with widths, and coefficients times cell
	// volumes by pair; X is then empty of use in prediction.
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

// Predict returns scores: of two classes the function, of more the votes of all pairs, with
// ties broken by the sum of the functions squashed into (-1/2, 1/2). O(rows·samples·columns).
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
