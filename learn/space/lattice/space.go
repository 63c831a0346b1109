package lattice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/space"
	"github.com/tropica-fst/tropica/ops"
)

// Space is the space of lattices with features of Weights weights. Where NonZero, losses may be
// positive on right strings, and learners leave those out of the penalty.
type Space struct {
	Weights int
	NonZero bool
	Limits  ops.Limits // of searches for several strings
}

var (
	_ space.Complement[*Lattice, Path, *Annotation]  = Space{}
	_ space.Summing[*Lattice, Path, *Annotation]     = Space{}
	_ space.Remembering[*Lattice, Path, *Annotation] = Space{}
)

// Dim implements space.Space.
func (s Space) Dim() int { return s.Weights }

func (s Space) check(ctx context.Context, x *Lattice, w []float64, a *Annotation) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(w) != s.Weights || int(x.most) >= s.Weights:
		return fmt.Errorf("lattice: %d weights and features up to %d, in a space of %d", len(w), x.most, s.Weights)
	case a != nil && a.lattice != x:
		return errors.New("lattice: the annotation is of another lattice")
	}
	return nil
}

// scores returns the score of every feature vector.
func (x *Lattice) scores(w []float64) []float64 {
	out := make([]float64, len(x.features))
	for i, v := range x.features {
		for _, f := range v {
			out[i] += f.Value * w[f.At]
		}
	}
	return out
}

// solver is a graph with scores: tropical weights are their negatives, turned here alone.
type solver struct {
	g     *graph
	score []float64 // by feature vector; nil is 0
	loss  float64   // what losses are multiplied by
}

func (s *solver) of(vector int) float64 {
	if vector < len(s.score) {
		return s.score[vector]
	}
	return 0
}

// best returns the path of largest sign times score and loss; equals go to the larger loss.
func (s *solver) best(sign float64) (Path, float64, bool) {
	n := len(s.g.finals)
	if n == 0 {
		return Path{}, 0, false
	}
	value, loss := make([]float64, n), make([]float64, n)
	next := make([]int, n) // arc taken; -1 ends
	for i := n - 1; i >= 0; i-- {
		value[i], next[i] = math.Inf(-1), -2
		take := func(v, l float64, arc int) {
			if next[i] == -2 || v > value[i] || v == value[i] && l > loss[i] {
				value[i], loss[i], next[i] = v, l, arc
			}
		}
		if f := &s.g.finals[i]; f.is {
			take(sign*(s.of(f.vector)+s.loss*f.loss), f.loss, -1)
		}
		for k := range s.g.arcs[i] {
			e := &s.g.arcs[i][k]
			take(sign*(s.of(e.vector)+s.loss*e.loss)+value[e.to], e.loss+loss[e.to], k)
		}
	}
	p := Path{Labels: []fst.Label{}}
	for i := 0; ; {
		if next[i] == -1 {
			p.vectors = append(p.vectors, s.g.finals[i].vector)
			break
		}
		e := &s.g.arcs[i][next[i]]
		p.Labels, p.vectors = append(p.Labels, e.label), append(p.vectors, e.vector)
		i = e.to
	}
	return p, sign * value[0], true
}

// machine is the graph with tropical weights.
func (s *solver) machine(sign float64) *fst.Vector[weight] {
	m := states(len(s.g.finals))
	if len(s.g.finals) > 0 {
		m.SetStart(0)
	}
	for i, f := range s.g.finals {
		for _, e := range s.g.arcs[i] {
			m.AddArc(fst.StateID(i), fst.Arc[weight]{ILabel: e.label, OLabel: e.label,
				Weight: weight(-sign * (s.of(e.vector) + s.loss*e.loss)), NextState: fst.StateID(e.to)})
		}
		if f.is {
			m.SetFinal(fst.StateID(i), weight(-sign*(s.of(f.vector)+s.loss*f.loss)))
		}
	}
	return m
}

// strings returns the k best strings, best first.
func (s *solver) strings(k int, lim ops.Limits) ([][]fst.Label, error) {
	m, err := ops.ShortestPathUnique(fst.Expanded[weight](s.machine(1)),
		&ops.ShortestPathOptions[weight]{N: k, Delta: -1, Limits: lim})
	if err != nil || m.Start() == fst.NoState {
		return nil, err
	}
	if k == 1 { // a chain
		return [][]fst.Label{spell(m, m.Start())}, nil
	}
	var out [][]fst.Label
	if w := m.Final(m.Start()); !w.Equal(w.Zero()) && len(m.Arcs(m.Start())) == 0 {
		return [][]fst.Label{{}}, nil
	}
	for _, e := range m.Arcs(m.Start()) {
		labels := spell(m, e.NextState)
		if e.ILabel != fst.Epsilon {
			labels = append([]fst.Label{e.ILabel}, labels...)
		}
		out = append(out, labels)
	}
	return out, nil
}

// spell reads the one string from q.
func spell(m *fst.Vector[weight], q fst.StateID) []fst.Label {
	out := []fst.Label{}
	for {
		arcs := m.Arcs(q)
		if len(arcs) == 0 {
			return out
		}
		if arcs[0].ILabel != fst.Epsilon {
			out = append(out, arcs[0].ILabel)
		}
		q = arcs[0].NextState
	}
}

// along returns the best path of one string.
func (s *solver) along(labels []fst.Label) (Path, float64, bool) {
	sub := &graph{}
	type state struct{ q, t int }
	number := map[state]int{{0, 0}: 0}
	list := []state{{0, 0}}
	for i := 0; i < len(list); i++ {
		at := list[i]
		var row []edge
		f := final{}
		if at.t == len(labels) {
			f = s.g.finals[at.q]
		} else {
			for _, e := range s.g.arcs[at.q] {
				if e.label != labels[at.t] {
					continue
				}
				to := state{e.to, at.t + 1}
				n, ok := number[to]
				if !ok {
					n = len(list)
					number[to] = n
					list = append(list, to)
				}
				e.to = n
				row = append(row, e)
			}
		}
		sub.arcs, sub.finals = append(sub.arcs, row), append(sub.finals, f)
	}
	sub.trim(func(i int) fst.StateID { return fst.StateID(list[i].t) })
	return (&solver{g: sub, score: s.score, loss: s.loss}).best(1)
}

func empty(g *graph, in bool) error {
	return &space.EmptyError{Within: in, Place: g.empty}
}

func (s Space) solve(ctx context.Context, x *Lattice, w []float64, a *Annotation, g *graph, loss float64,
	in bool) (space.Solution[Path], error) {
	if err := s.check(ctx, x, w, a); err != nil {
		return space.Solution[Path]{}, err
	}
	p, v, ok := (&solver{g: g, score: x.scores(w), loss: loss}).best(1)
	if !ok {
		return space.Solution[Path]{}, empty(g, in)
	}
	return space.Exact(p, v), nil
}

// Argmax implements space.Space.
func (s Space) Argmax(ctx context.Context, x *Lattice, w []float64) (space.Solution[Path], error) {
	return s.solve(ctx, x, w, nil, x.whole, 0, false)
}

// ArgmaxLoss implements space.Space. Of an annotation that rescores, the bound is not known.
func (s Space) ArgmaxLoss(ctx context.Context, x *Lattice, w []float64,
	a *Annotation) (space.Solution[Path], error) {
	if !a.zero && !s.NonZero && a.rescore == 0 && a.within.empty == "" {
		return space.Solution[Path]{}, errors.New("lattice: a right string has a loss above 0: say so by " +
			"Space.NonZero, or learners would take it for wrong")
	}
	if a.rescore == 0 {
		return s.solve(ctx, x, w, a, a.augmented, 1, false)
	}
	list, err := s.KBest(ctx, x, w, a.rescore)
	if err != nil {
		return space.Solution[Path]{}, err
	}
	best := space.Solution[Path]{Value: math.Inf(-1), UpperBound: math.Inf(1)}
	for _, y := range list {
		if v := y.Value + s.Delta(x, a, y.Y); v > best.Value && !math.IsInf(v, 1) {
			best.Y, best.Value = y.Y, v
		}
	}
	if math.IsInf(best.Value, -1) {
		return best, &space.EmptyError{Place: "none of the strings rescored has a finite loss"}
	}
	if len(list) < a.rescore { // these were all
		best.UpperBound, best.Optimal = best.Value, true
	}
	return best, nil
}

// ArgmaxWithin implements space.Space.
func (s Space) ArgmaxWithin(ctx context.Context, x *Lattice, w []float64,
	a *Annotation) (space.Solution[Path], error) {
	return s.solve(ctx, x, w, a, a.within, 0, true)
}

// ArgmaxLossOutside implements space.Complement.
func (s Space) ArgmaxLossOutside(ctx context.Context, x *Lattice, w []float64,
	a *Annotation) (space.Solution[Path], error) {
	if a.rescore > 0 {
		return space.Solution[Path]{}, errors.New("lattice: a loss that rescores has no complement")
	}
	return s.solve(ctx, x, w, a, a.outside, 1, false)
}

// KBest implements space.Space: the n shortest unique strings.
func (s Space) KBest(ctx context.Context, x *Lattice, w []float64, k int) ([]space.Solution[Path], error) {
	if err := s.check(ctx, x, w, nil); err != nil {
		return nil, err
	}
	if len(x.whole.finals) == 0 {
		return nil, empty(x.whole, false)
	}
	v := &solver{g: x.whole, score: x.scores(w)}
	lim := s.Limits
	lim.Ctx = ctx
	list, err := v.strings(k, lim)
	if err != nil {
		return nil, fmt.Errorf("lattice: %w", err)
	}
	var out []space.Solution[Path]
	for _, labels := range list {
		p, value, ok := v.along(labels)
		if !ok {
			return nil, fmt.Errorf("lattice: the string %v is not in its lattice", labels)
		}
		out = append(out, space.Exact(p, value))
	}
	return out, nil
}

// Argmin implements space.Space. Where strings have several paths, the lattice is determinized
// first: the score of a string is that of its best path.
func (s Space) Argmin(ctx context.Context, x *Lattice, w []float64) (space.Solution[Path], error) {
	if err := s.check(ctx, x, w, nil); err != nil {
		return space.Solution[Path]{}, err
	}
	v := &solver{g: x.whole, score: x.scores(w)}
	if x.unique {
		p, value, ok := v.best(-1)
		if !ok {
			return space.Solution[Path]{}, empty(x.whole, false)
		}
		return space.Exact(p, value), nil
	}
	lim := s.Limits
	lim.Ctx = ctx
	d, err := ops.Determinize(fst.Fst[weight](v.machine(1)), &ops.DeterminizeOptions{Limits: lim})
	if err != nil {
		return space.Solution[Path]{}, fmt.Errorf("lattice: %w", err)
	}
	if err := ops.TopSort(d); err != nil {
		return space.Solution[Path]{}, fmt.Errorf("lattice: %w", err)
	}
	g := &graph{}
	for q := range d.NumStates() {
		var row []edge
		for _, e := range d.Arcs(fst.StateID(q)) {
			row = append(row, edge{to: int(e.NextState), label: e.ILabel, loss: float64(e.Weight)})
		}
		f := d.Final(fst.StateID(q))
		g.arcs, g.finals = append(g.arcs, row), append(g.finals, final{is: !f.Equal(f.Zero()), loss: float64(f)})
	}
	worst, _, ok := (&solver{g: g, loss: 1}).best(1) // the largest cost
	if !ok {
		return space.Solution[Path]{}, empty(x.whole, false)
	}
	p, value, ok := v.along(worst.Labels)
	if !ok {
		return space.Solution[Path]{}, fmt.Errorf("lattice: the string %v is not in its lattice", worst.Labels)
	}
	return space.Exact(p, value), nil
}

// AddPhi implements space.Space.
func (s Space) AddPhi(dst []float64, scale float64, x *Lattice, y Path) {
	for _, v := range y.vectors {
		for _, f := range x.features[v] {
			dst[f.At] += scale * f.Value
		}
	}
}

// Delta implements space.Space. A string that the loss has no path for has an infinite one.
func (s Space) Delta(x *Lattice, a *Annotation, y Path) float64 {
	switch {
	case a.loss != nil:
		v, ok := run(a.loss, y.Labels)
		if !ok {
			return math.Inf(1)
		}
		return v
	case a.rescore > 0:
		one := &Constraint{Loss: a.least, Through: a.through}
		b := NewBuilder(len(y.Labels) + 1)
		for t, label := range y.Labels {
			b.Arc(t, t+1, label)
		}
		b.Final(len(y.Labels))
		l, err := b.Lattice()
		if err != nil {
			return math.Inf(1)
		}
		m, err := l.lossMachine(one)
		if err != nil {
			return math.Inf(1)
		}
		if v, ok := run(m, y.Labels); ok {
			return v
		}
		return math.Inf(1)
	case a.right != nil:
		if _, ok := run(a.right, y.Labels); !ok {
			return a.wrong
		}
	}
	return 0
}

// run returns the weight of a string in a deterministic machine.
func run(m *fst.Vector[weight], labels []fst.Label) (float64, bool) {
	q, v := m.Start(), 0.0
	if q == fst.NoState {
		return 0, false
	}
	for _, y := range labels {
		arcs := m.Arcs(q)
		i, ok := slices.BinarySearchFunc(arcs, y, func(e fst.Arc[weight],
			y fst.Label) int {
			return int(e.ILabel) - int(y)
		})
		if !ok {
			return 0, false
		}
		q, v = arcs[i].NextState, v+float64(arcs[i].Weight)
	}
	w := m.Final(q)
	return v + float64(w), !w.Equal(w.Zero())
}

// LossZeroOnCompatible implements space.Space.
func (s Space) LossZeroOnCompatible() bool { return !s.NonZero }

// Complete implements space.Space.
func (s Space) Complete(_ *Lattice, a *Annotation) bool { return a.complete }

// LogZ implements space.Summing, over paths.
func (s Space) LogZ(ctx context.Context, x *Lattice, w, dst []float64, scale float64) (float64, error) {
	z, _, err := s.sum(ctx, x, w, nil, x.whole, dst, scale)
	return z, err
}

// LogZWithin implements space.Summing, over paths.
func (s Space) LogZWithin(ctx context.Context, x *Lattice, w []float64, a *Annotation, dst []float64,
	scale float64) (float64, error) {
	z, _, err := s.sum(ctx, x, w, a, a.within, dst, scale)
	return z, err
}

// Entropy implements space.Summing, of paths.
func (s Space) Entropy(ctx context.Context, x *Lattice, w []float64) (float64, error) {
	z, mean, err := s.sum(ctx, x, w, nil, x.whole, nil, 0)
	return z - mean, err
}

// sum runs forward and backward in logarithms, and returns log Z and the mean score.
func (s Space) sum(ctx context.Context, x *Lattice, w []float64, a *Annotation, g *graph, dst []float64,
	scale float64) (z, mean float64, err error) {
	if err := s.check(ctx, x, w, a); err != nil {
		return 0, 0, err
	}
	n := len(g.finals)
	if n == 0 {
		return 0, 0, empty(g, a != nil)
	}
	score := x.scores(w)
	beta := make([]float64, n) // log sum of the paths from a state on
	var terms []float64
	for i := n - 1; i >= 0; i-- {
		terms = terms[:0]
		if f := &g.finals[i]; f.is {
			terms = append(terms, score[f.vector])
		}
		for k := range g.arcs[i] {
			e := &g.arcs[i][k]
			terms = append(terms, score[e.vector]+beta[e.to])
		}
		beta[i] = logSum(terms)
	}
	mass := make([]float64, n) // probability of passing a state
	mass[0] = 1
	add := func(vector int, p float64) {
		mean += p * score[vector]
		if dst != nil {
			for _, f := range x.features[vector] {
				dst[f.At] += scale * p * f.Value
			}
		}
	}
	for i := range n {
		if f := &g.finals[i]; f.is {
			add(f.vector, mass[i]*math.Exp(score[f.vector]-beta[i]))
		}
		for k := range g.arcs[i] {
			e := &g.arcs[i][k]
			p := mass[i] * math.Exp(score[e.vector]+beta[e.to]-beta[i])
			mass[e.to] += p
			add(e.vector, p)
		}
	}
	return beta[0], mean, nil
}

func logSum(v []float64) float64 {
	top := slices.Max(v)
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

// Score implements space.Remembering.
func (s Space) Score(x *Lattice, w []float64, y Path) float64 {
	score := 0.0
	for _, v := range y.vectors {
		for _, f := range x.features[v] {
			score += f.Value * w[f.At]
		}
	}
	return score
}

// AppendOutput implements space.Remembering.
func (s Space) AppendOutput(dst []byte, _ *Lattice, y Path) []byte {
	labels := make([]int, len(y.Labels))
	for i, l := range y.Labels {
		labels[i] = int(l)
	}
	return space.AppendNumbers(space.AppendNumbers(dst, labels), y.vectors)
}

// ReadOutput implements space.Remembering.
func (s Space) ReadOutput(src []byte, x *Lattice) (Path, []byte, error) {
	states := len(x.whole.finals)
	labels, src, err := space.ReadNumbers(src, states, math.MaxInt32)
	if err != nil {
		return Path{}, nil, err
	}
	p := Path{Labels: []fst.Label{}}
	for _, l := range labels {
		p.Labels = append(p.Labels, fst.Label(l))
	}
	p.vectors, src, err = space.ReadNumbers(src, states, len(x.features))
	if err == nil && len(p.vectors) != len(p.Labels)+1 {
		err = space.ErrOutput
	}
	return p, src, err
}
