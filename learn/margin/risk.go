package margin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// infer finds an output of one sample.
type infer[X, Y, A any] func(ctx context.Context, e *space.Sample[X, A],
	w []float64) (space.Solution[Y], error)

// risk is a mean over samples of largest scores, as solvers see it. Solvers work on
// u with w = scale∘u, where coordinates left out of the penalty have a large scale.
type risk[X, Y, A any] struct {
	s       space.Space[X, Y, A]
	data    []space.Sample[X, A]
	find    infer[X, Y, A]
	losses  bool      // the loss of outputs is part of the value
	less    []float64 // mean features that are subtracted; nil is none
	weight  float64   // multiplies the mean; zero is 1
	scale   []float64 // nil is 1
	ctx     context.Context
	workers int
	report  *Report

	memory *memory[X, Y, A] // nil keeps nothing

	w     []float64
	found []space.Solution[Y]
	loss  []float64 // of what was found
	at    []float64 // the weights that found is of
}

func newRisk[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *Options, r *run.Run,
	report *Report) *risk[X, Y, A] {
	return &risk[X, Y, A]{s: s, data: data, scale: o.scale(s.Dim()), ctx: r.Ctx,
		workers: r.Workers, report: report, weight: o.Weight}
}

// Dim implements optim.Risk.
func (r *risk[X, Y, A]) Dim() int { return r.s.Dim() }

// Tangent implements optim.Risk.
func (r *risk[X, Y, A]) Tangent(u, a []float64) (float64, error) {
	v, _, err := r.TangentBound(u, a)
	return v, err
}

// all infers every sample, side by side.
func (r *risk[X, Y, A]) all(u []float64) error {
	n := len(r.data)
	if r.found == nil {
		r.found, r.loss, r.w = make([]space.Solution[Y], n), make([]float64, n), make([]float64, len(u))
	}
	r.w = weights(r.w, u, r.scale)
	err := run.Each(r.workers, n, func(_, i int) error {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		y, err := r.find(r.ctx, &r.data[i], r.w)
		if err != nil {
			return fmt.Errorf("%s: %w", r.data[i].Label(i), err)
		}
		r.found[i] = y
		if r.losses {
			r.loss[i] = r.s.Delta(r.data[i].X, r.data[i].A, y.Y)
		}
		return nil
	})
	r.report.Calls += n
	return err
}

// TangentBound implements optim.BoundedRisk.
func (r *risk[X, Y, A]) TangentBound(u, a []float64) (value, upper float64, err error) {
	if err := r.all(u); err != nil {
		return math.NaN(), math.NaN(), err
	}
	share := r.share()
	satisfied := 0
	for i := range r.found {
		y := &r.found[i]
		value += share * y.Value
		bound := y.UpperBound
		if !y.Optimal {
			r.report.Inexact = true
			if math.IsInf(bound, 1) { // what was found stands for what is not known
				bound, r.report.Uncertified = y.Value, true
			}
		}
		upper += share * bound
		if r.loss[i] == 0 {
			satisfied++
		}
		r.s.AddPhi(a, share, r.data[i].X, y.Y)
	}
	if r.losses {
		r.report.Satisfied = float64(satisfied) / float64(len(r.found))
	}
	if r.memory != nil {
		r.at = append(r.at[:0], r.w...)
	}
	d := r.reference(a)
	return value - d, upper - d, nil
}

// Keep implements optim.Recaller.
func (r *risk[X, Y, A]) Keep() {
	if r.memory != nil {
		r.memory.keep(r.workers, r.at, r.found)
	}
}

// Recall implements optim.Recaller.
func (r *risk[X, Y, A]) Recall(u, a []float64) (value float64, ok bool, err error) {
	m := r.memory
	if m == nil || m.time == 0 {
		return 0, false, nil
	}
	r.w = weights(r.w, u, r.scale)
	n := len(r.data)
	at, values := make([]int, n), make([]float64, n)
	err = run.Each(r.workers, n, func(_, i int) error {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		at[i], values[i] = m.best(i, r.w)
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	clear(a)
	share := r.share()
	for i := range at {
		if at[i] < 0 {
			return 0, false, nil
		}
		value += share * values[i]
		r.s.AddPhi(a, share, r.data[i].X, m.kept[i][at[i]].y)
	}
	return value - r.reference(a), true, nil
}

// reference subtracts what stands for the right outputs from a slope, brings it to the solver's
// coordinates, and returns its value at the weights w.
func (r *risk[X, Y, A]) reference(a []float64) float64 {
	d := 0.0
	for j, v := range r.less {
		a[j] -= v
		d += v * r.w[j]
	}
	for j := range r.scale {
		a[j] *= r.scale[j]
	}
	return d
}

func (r *risk[X, Y, A]) share() float64 {
	share := 1 / float64(len(r.data))
	if r.weight != 0 {
		share *= r.weight
	}
	return share
}

// weights stores scale∘u, and returns u itself without a scale.
func weights(dst, u, scale []float64) []float64 {
	if scale == nil {
		return u
	}
	for j, v := range u {
		dst[j] = v * scale[j]
	}
	return dst
}

// hinge makes the risk of complete annotations: the reference of a sample is the one output
// that agrees with it.
func hinge[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *Options, r *run.Run,
	report *Report) (*risk[X, Y, A], error) {
	for i := range data {
		if !s.Complete(data[i].X, data[i].A) {
			return nil, fmt.Errorf("%s: several outputs agree with the annotation, or none: complete ones are "+
				"needed here, Partial takes others", data[i].Label(i))
		}
	}
	h := newRisk(s, data, o, r, report)
	h.losses, h.memory = true, newMemory(s, data, o.Remember)
	h.find = func(ctx context.Context, e *space.Sample[X, A], w []float64) (space.Solution[Y], error) {
		return s.ArgmaxLoss(ctx, e.X, w, e.A)
	}
	right := within(s, data, o, r, report)
	if err := right.all(make([]float64, s.Dim())); err != nil {
		return nil, err
	}
	h.less = make([]float64, s.Dim())
	for i := range data {
		s.AddPhi(h.less, h.share(), data[i].X, right.found[i].Y)
	}
	return h, nil
}

// within makes the mean of the largest scores that agree with the annotations.
func within[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *Options, r *run.Run,
	report *Report) *risk[X, Y, A] {
	in := newRisk(s, data, o, r, report)
	in.find = func(ctx context.Context, e *space.Sample[X, A], w []float64) (space.Solution[Y], error) {
		return s.ArgmaxWithin(ctx, e.X, w, e.A)
	}
	return in
}

// penalty makes the mean of max(p, r) with p the largest score and loss of outputs that do not
// agree with the annotation, and r the largest score of those that do. Beside -r it is the
// bridge loss max(0, p - r). Where losses are zero on outputs that agree, it is the largest
// score and loss of all.
func penalty[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *Options, r *run.Run,
	report *Report) (*risk[X, Y, A], error) {
	p := newRisk(s, data, o, r, report)
	p.losses, p.memory = true, newMemory(s, data, o.Remember)
	if s.LossZeroOnCompatible() {
		p.find = func(ctx context.Context, e *space.Sample[X, A], w []float64) (space.Solution[Y], error) {
			return s.ArgmaxLoss(ctx, e.X, w, e.A)
		}
		return p, nil
	}
	outside, ok := s.(space.Complement[X, Y, A])
	if !ok {
		return nil, errors.New("the loss is positive on outputs that agree with an annotation, and the space " +
			"cannot leave those out")
	}
	p.find = func(ctx context.Context, e *space.Sample[X, A], w []float64) (space.Solution[Y], error) {
		in, err := s.ArgmaxWithin(ctx, e.X, w, e.A)
		if err != nil {
			return in, err
		}
		out, err := outside.ArgmaxLossOutside(ctx, e.X, w, e.A)
		if errors.Is(err, space.ErrEmpty) {
			return in, nil
		}
		if err != nil {
			return out, err
		}
		upper := math.Max(in.UpperBound, out.UpperBound)
		optimal := in.Optimal && out.Optimal
		if in.Value > out.Value {
			out = in
		}
		out.UpperBound, out.Optimal = upper, optimal
		return out, nil
	}
	return p, nil
}

// scale returns what weights are multiplied by, nil for nothing.
func (o *Options) scale(dim int) []float64 {
	if len(o.Free) == 0 {
		return nil
	}
	s := slices.Repeat([]float64{1}, dim)
	for _, j := range o.Free {
		if o.norm() == optim.L1 {
			s[j] = o.Lambda / tiny
		} else {
			s[j] = math.Sqrt(o.Lambda / tiny)
		}
	}
	return s
}

// tiny is the penalty of weights that have none, which keeps the models of solvers bounded.
const tiny = 1e-8
