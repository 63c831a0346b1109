package lattice

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// Constraint is an annotation: which strings are right, and how wrong others are.
type Constraint struct {
	// Right accepts the right strings; its weights are not read. It may be cyclic and not
	// deterministic: "a+ b+ c+" for labels known without their times. nil finds all strings right.
	Right fst.Expanded[weight]
	// Loss gives the loss of every string of the lattice: the least weight of its paths. nil is 0
	// for right strings and Wrong for others. Strings without a path are left out of the largest
	// loss-augmented score.
	Loss fst.Expanded[weight]
	// Through, if not nil, is composed between the lattice and Loss: the loss of string y is the
	// least weight of y ∘ Through ∘ Loss.
	Through fst.Expanded[weight]
	Wrong   float64 // zero is 1
	// Limits bound the determinization of losses and constraints.
	Limits ops.Limits
	// Rescore is how many of the best strings by score are used, with their losses, where the loss
	// exceeds Limits. The maximum is then not certified. Zero uses none, and exceeding Limits is an
	// error.
	Rescore int
}

// Annotation is a Constraint prepared for one lattice. It is immutable.
type Annotation struct {
	lattice     *Lattice
	loss, right *fst.Vector[weight]
	wrong       float64

	augmented, within, outside *graph
	zero                       bool // right strings have no loss
	complete                   bool

	rescore int
	through fst.Expanded[weight]
	least   fst.Expanded[weight]
}

// Annotate prepares a constraint. A constraint that no string satisfies is an error of
// ArgmaxWithin, not of Annotate.
func (l *Lattice) Annotate(c *Constraint) (*Annotation, error) {
	a := &Annotation{lattice: l, wrong: c.Wrong, through: c.Through, least: c.Loss}
	if a.wrong == 0 {
		a.wrong = 1
	}
	if a.wrong < 0 || a.wrong-a.wrong != 0 || c.Rescore < 0 {
		return nil, fmt.Errorf("lattice: a loss of %v for wrong strings, and %d to rescore: neither may be negative", c.Wrong, c.Rescore)
	}
	if c.Through != nil && c.Loss == nil {
		return nil, errors.New("lattice: a transducer without a loss behind it")
	}
	var err error
	if c.Right != nil {
		if a.right, err = deterministic(unweighted(c.Right), c.Limits); err != nil {
			return nil, fmt.Errorf("lattice: right strings: %w", err)
		}
	}
	if c.Loss != nil {
		a.loss, err = l.lossMachine(c)
		if err != nil && errors.Is(err, ops.ErrLimit) && c.Rescore > 0 {
			a.rescore, err = c.Rescore, nil
		}
		if err != nil {
			return nil, fmt.Errorf("lattice: loss: %w", err)
		}
	}
	a.within = l.pair(a.loss, a.right, within)
	if a.right != nil {
		a.outside = l.pair(a.loss, a.right, outside)
	} else {
		a.outside = &graph{empty: "all strings agree with the annotation"}
	}
	if a.loss == nil && a.rescore == 0 {
		// The membership is read off the final states.
		a.augmented = l.pair(nil, a.right, everything)
		if a.right != nil {
			a.augmented = l.membership(a.right, a.wrong)
			a.outside = l.pair(nil, a.right, outside)
			for i := range a.outside.finals {
				a.outside.finals[i].loss = a.wrong
			}
		}
	} else if a.rescore == 0 {
		a.augmented = l.pair(a.loss, nil, everything)
	}
	a.zero = a.rescore == 0 && a.within.most() <= 1e-12
	a.complete = l.single(a.within)
	return a, nil
}

// lossMachine returns the deterministic machine of a loss. With a transducer it is the
// determinization of what the lattice is related to.
func (l *Lattice) lossMachine(c *Constraint) (*fst.Vector[weight], error) {
	m := c.Loss
	if c.Through != nil {
		plain := unweighted(l.machine)
		o := &ops.ComposeOptions{Limits: c.Limits}
		first, err := ops.Compose(fst.Fst[weight](plain), fst.Fst[weight](c.Through), o)
		if err != nil {
			return nil, err
		}
		both, err := ops.Compose(fst.Fst[weight](first), fst.Fst[weight](c.Loss), o)
		if err != nil {
			return nil, err
		}
		ops.Project(both, ops.Input)
		m = both
	}
	return deterministic(m, c.Limits)
}

// unweighted copies an acceptor with weights of 1̄.
func unweighted(f fst.Expanded[weight]) *fst.Vector[weight] {
	m := states(f.NumStates())
	if f.Start() != fst.NoState {
		m.SetStart(f.Start())
	}
	for q := range f.NumStates() {
		s := fst.StateID(q)
		for _, e := range f.Arcs(s) {
			e.Weight = e.Weight.One()
			m.AddArc(s, e)
		}
		if w := f.Final(s); !w.Equal(w.Zero()) {
			m.SetFinal(s, w.One())
		}
	}
	return m
}

// deterministic returns an equal machine without ε, with one path a string and arcs by label.
func deterministic(f fst.Expanded[weight], lim ops.Limits) (*fst.Vector[weight], error) {
	m := states(f.NumStates())
	if f.Start() != fst.NoState {
		m.SetStart(f.Start())
	}
	for q := range f.NumStates() {
		for _, e := range f.Arcs(fst.StateID(q)) {
			m.AddArc(fst.StateID(q), e)
		}
		m.SetFinal(fst.StateID(q), f.Final(fst.StateID(q)))
	}
	if err := ops.RmEpsilon(m, &ops.RmEpsilonOptions{Limits: lim}); err != nil {
		return nil, err
	}
	d, err := ops.Determinize(fst.Fst[weight](m), &ops.DeterminizeOptions{Limits: lim})
	if err != nil {
		return nil, err
	}
	for q := range d.NumStates() {
		s := fst.StateID(q)
		arcs := slices.Clone(d.Arcs(s))
		slices.SortFunc(arcs, func(a, b fst.Arc[weight]) int { return int(a.ILabel) - int(b.ILabel) })
		d.DeleteArcs(s)
		for _, e := range arcs {
			d.AddArc(s, e)
		}
	}
	return d, nil
}

// membership is the graph of all strings, with the loss wrong at the end of those that are not
// right.
func (l *Lattice) membership(right *fst.Vector[weight], wrong float64) *graph {
	// The whole language as a complement of nothing: states of right tell at the end.
	in, out := l.pair(nil, right, within), l.pair(nil, right, outside)
	for i := range out.finals {
		out.finals[i].loss = wrong
	}
	return join(in, out)
}

// join returns the union of two graphs of disjoint strings from a common start: state 0 of
// both is the start.
func join(a, b *graph) *graph {
	switch {
	case len(a.finals) == 0:
		return b
	case len(b.finals) == 0:
		return a
	}
	g := &graph{}
	n := len(a.finals)
	shift := func(list []edge, by int) []edge {
		out := slices.Clone(list)
		for i := range out {
			out[i].to += by
		}
		return out
	}
	// The start has the arcs of both; at most one of them is final, since strings are disjoint.
	g.arcs = append(g.arcs, append(shift(a.arcs[0], 0), shift(b.arcs[0], n-1)...))
	start := a.finals[0]
	if b.finals[0].is {
		start = b.finals[0]
	}
	g.finals = append(g.finals, start)
	for i := 1; i < n; i++ {
		g.arcs, g.finals = append(g.arcs, shift(a.arcs[i], 0)), append(g.finals, a.finals[i])
	}
	for i := 1; i < len(b.finals); i++ {
		g.arcs, g.finals = append(g.arcs, shift(b.arcs[i], n-1)), append(g.finals, b.finals[i])
	}
	return g
}

// most returns the largest loss of a path.
func (g *graph) most() float64 {
	s := solver{g: g, loss: 1}
	_, v, ok := s.best(1)
	if !ok {
		return 0
	}
	return v
}

// single reports whether a graph has exactly one string.
func (l *Lattice) single(g *graph) bool {
	if len(g.finals) == 0 {
		return false
	}
	if l.unique {
		paths := make([]int, len(g.finals))
		for i := len(paths) - 1; i >= 0; i-- {
			if g.finals[i].is {
				paths[i] = 1
			}
			for _, e := range g.arcs[i] {
				paths[i] = min(2, paths[i]+paths[e.to])
			}
		}
		return paths[0] == 1
	}
	list, err := (&solver{g: g}).strings(2, ops.Limits{})
	return err == nil && len(list) == 1
}

// Positions returns the constraint of labels known at some positions of strings of length n.
// allowed lists the labels that are right at a position, none where it is not annotated. The loss
// is the share of annotated positions with another label. labels are those of the lattice.
func Positions(n int, allowed map[int][]fst.Label, labels []fst.Label) (*Constraint, error) {
	right, loss := states(n+1), states(n+1)
	right.SetStart(0)
	loss.SetStart(0)
	for t := range allowed {
		if t < 0 || t >= n {
			return nil, fmt.Errorf("lattice: an annotation of position %d, of %d", t+1, n)
		}
	}
	for t := range n {
		some := allowed[t]
		for _, y := range labels {
			e := fst.Arc[weight]{ILabel: y, OLabel: y, NextState: fst.StateID(t + 1)}
			wrong := len(some) > 0 && !slices.Contains(some, y)
			if !wrong {
				right.AddArc(fst.StateID(t), e)
			} else {
				e.Weight = weight(1 / float64(len(allowed)))
			}
			loss.AddArc(fst.StateID(t), e)
		}
	}
	right.SetFinal(fst.StateID(n), 0)
	loss.SetFinal(fst.StateID(n), 0)
	return &Constraint{Right: right, Loss: loss}, nil
}

// Transduced returns the constraint of one right string, with the loss of a transducer between the
// output and it. The loss is a minimum over alignments, such as an edit distance (losses.Edit has
// its transducer).
func Transduced(right []fst.Label, through fst.Expanded[weight]) *Constraint {
	m := fst.FromLabels[weight](right)
	return &Constraint{Right: m, Loss: m, Through: through}
}
