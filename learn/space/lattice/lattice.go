package lattice

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

type weight = semiring.Tropical64

// Feature is an entry of a sparse feature vector.
type Feature struct {
	At    int32
	Value float64
}

// Builder makes a Lattice.
type Builder struct {
	arcs    []arc
	finals  map[int]int // features of a final state, by number
	states  int
	vectors [][]Feature
	err     error
}

type arc struct {
	from, to int
	label    fst.Label
	features int // number of the vector
}

// NewBuilder returns a builder with the given number of states, where 0 is the start. More are
// added as arcs name them.
func NewBuilder(states int) *Builder {
	return &Builder{states: states, finals: map[int]int{}, vectors: [][]Feature{nil}}
}

// Arc adds an arc. Labels are from 1 on: remove ε before, as with ops.RmEpsilon.
func (b *Builder) Arc(from, to int, label fst.Label, features ...Feature) {
	if b.err == nil && (from < 0 || to < 0 || label < 1) {
		b.err = fmt.Errorf("lattice: an arc from %d to %d with label %d: states are from 0, labels from 1 on",
			from, to, label)
	}
	b.states = max(b.states, from+1, to+1)
	b.arcs = append(b.arcs, arc{from, to, label, b.vector(features)})
}

// Final makes a state final; strings that end there have the features too.
func (b *Builder) Final(state int, features ...Feature) {
	if b.err == nil && state < 0 {
		b.err = fmt.Errorf("lattice: final state %d", state)
	}
	b.states = max(b.states, state+1)
	b.finals[state] = b.vector(features)
}

func (b *Builder) vector(f []Feature) int {
	if len(f) == 0 {
		return 0
	}
	for _, x := range f {
		if b.err == nil && (x.At < 0 || x.Value-x.Value != 0) {
			b.err = fmt.Errorf("lattice: feature %d has the value %v", x.At, x.Value)
		}
	}
	b.vectors = append(b.vectors, slices.Clone(f))
	return len(b.vectors) - 1
}

// Lattice is an acyclic acceptor with features on its arcs. It is immutable.
type Lattice struct {
	machine  *fst.Vector[weight] // trimmed, in topological order; an arc has its number as weight
	whole    *graph
	unique   bool // no string has two paths
	features [][]Feature
	labels   []fst.Label // ascending
	most     int32       // the largest feature
}

// Lattice returns what was built, without arcs and states that are on no path. The error says
// what a lattice cannot be: cyclic, or of labels and features out of range. One without any
// path is no error: ArgmaxLoss and others say so.
func (b *Builder) Lattice() (*Lattice, error) {
	if b.err != nil {
		return nil, b.err
	}
	m := states(b.states)
	if b.states > 0 {
		m.SetStart(0)
	}
	l := &Lattice{features: b.vectors, most: -1}
	for _, e := range b.arcs {
		// Numbers of vectors are exact in a float64, and no operation here adds them.
		m.AddArc(fst.StateID(e.from), fst.Arc[weight]{ILabel: e.label, OLabel: e.label, Weight: weight(e.features),
			NextState: fst.StateID(e.to)})
		l.labels = append(l.labels, e.label)
	}
	for q, f := range b.finals {
		m.SetFinal(fst.StateID(q), weight(f))
	}
	ops.Connect(m)
	if err := ops.TopSort(m); err != nil {
		if errors.Is(err, ops.ErrCyclic) {
			return nil, fmt.Errorf("lattice: %w: its strings would have no end", err)
		}
		return nil, fmt.Errorf("lattice: %w", err)
	}
	slices.Sort(l.labels)
	l.labels = slices.Compact(l.labels)
	for _, v := range l.features {
		for _, x := range v {
			l.most = max(l.most, x.At)
		}
	}
	l.machine = m
	l.unique = true
	for q := range m.NumStates() {
		seen := map[fst.Label]bool{}
		for _, e := range m.Arcs(fst.StateID(q)) {
			l.unique = l.unique && !seen[e.ILabel]
			seen[e.ILabel] = true
		}
	}
	l.whole = l.pair(nil, nil, everything)
	return l, nil
}

// Labels returns the labels on the arcs, ascending.
func (l *Lattice) Labels() []fst.Label { return slices.Clone(l.labels) }

// Chain returns the lattice of a linear-chain tagger over n positions with labels 1 … labels. node
// gives the features of a label at a position, and pair those of a label after another one; either
// may be nil.
func Chain(n, labels int, node func(t int, y fst.Label) []Feature,
	pair func(t int, before, y fst.Label) []Feature) (*Lattice, error) {
	if n < 1 || labels < 1 {
		return nil, fmt.Errorf("lattice: a chain of %d positions and %d labels", n, labels)
	}
	b := NewBuilder(1 + n*labels)
	state := func(t int, y fst.Label) int { return 1 + t*labels + int(y) - 1 }
	for t := range n {
		for y := fst.Label(1); int(y) <= labels; y++ {
			var f []Feature
			if node != nil {
				f = node(t, y)
			}
			if t == 0 {
				b.Arc(0, state(0, y), y, f...)
				continue
			}
			for before := fst.Label(1); int(before) <= labels; before++ {
				g := f
				if pair != nil {
					g = slices.Concat(f, pair(t, before, y))
				}
				b.Arc(state(t-1, before), state(t, y), y, g...)
			}
		}
	}
	for y := fst.Label(1); int(y) <= labels; y++ {
		b.Final(state(n-1, y))
	}
	return b.Lattice()
}

// Path is an output: a string of the lattice, and which feature vectors its path has.
type Path struct {
	Labels  []fst.Label
	vectors []int
}

// String returns the labels.
func (p Path) String() string { return fmt.Sprint(p.Labels) }

// graph is a machine whose arcs come from a lattice's, in topological order, with losses.
type graph struct {
	arcs   [][]edge // by state
	finals []final  // by state
	// empty says why there is no path: at which position the last of them died.
	empty string
}

type edge struct {
	to, vector int
	label      fst.Label
	loss       float64
}

type final struct {
	is     bool
	vector int
	loss   float64
}

// side says which strings a graph has, by whether an annotation finds them right.
type side int

const (
	everything side = iota
	within
	outside
)

// pair intersects the lattice with a deterministic loss, nil for none, and a deterministic
// acceptor of right strings, nil for all. O(states of the product · arcs of the lattice).
func (l *Lattice) pair(loss, right *fst.Vector[weight], which side) *graph {
	type state struct{ q, b, c fst.StateID }
	const dead = fst.StateID(-1) // of right
	if l.machine.Start() == fst.NoState {
		return &graph{empty: "the lattice is empty"}
	}
	follow := func(m *fst.Vector[weight], q fst.StateID, y fst.Label) (fst.StateID, float64, bool) {
		arcs := m.Arcs(q) // sorted by label
		i, ok := slices.BinarySearchFunc(arcs, y, func(e fst.Arc[weight],
			y fst.Label) int {
			return int(e.ILabel) - int(y)
		})
		if !ok {
			return 0, 0, false
		}
		return arcs[i].NextState, float64(arcs[i].Weight), true
	}
	start := state{q: l.machine.Start()}
	if loss != nil {
		if start.b = loss.Start(); start.b == fst.NoState {
			return &graph{empty: "no string has a finite loss"}
		}
	}
	if right != nil {
		if start.c = right.Start(); start.c == fst.NoState {
			start.c = dead
		}
	}
	g := &graph{}
	number := map[state]int{start: 0}
	list := []state{start}
	depth := []int{0}
	deepest, last := 0, ""
	for i := 0; i < len(list); i++ {
		s := list[i]
		var row []edge
		for _, e := range l.machine.Arcs(s.q) {
			x := edge{vector: int(e.Weight), label: e.ILabel}
			to := state{q: e.NextState}
			if loss != nil {
				var ok bool
				if to.b, x.loss, ok = follow(loss, s.b, e.ILabel); !ok {
					continue
				}
			}
			if right != nil {
				to.c = dead
				if s.c != dead {
					if c, _, ok := follow(right, s.c, e.ILabel); ok {
						to.c = c
					}
				}
				if to.c == dead && which == within {
					if depth[i] >= deepest {
						deepest, last = depth[i], fmt.Sprintf("position %d: label %d is ruled out", depth[i]+1, e.ILabel)
					}
					continue
				}
			}
			n, ok := number[to]
			if !ok {
				n = len(list)
				number[to] = n
				list, depth = append(list, to), append(depth, depth[i]+1)
			}
			x.to = n
			row = append(row, x)
		}
		f := final{}
		if v := l.machine.Final(s.q); !v.Equal(v.Zero()) {
			f = final{is: true, vector: int(v)}
			if loss != nil {
				w := loss.Final(s.b)
				f.is, f.loss = !w.Equal(w.Zero()), float64(w)
			}
			if right != nil && which != everything {
				in := false
				if s.c != dead {
					w := right.Final(s.c)
					in = !w.Equal(w.Zero())
				}
				if which == within && !in && depth[i] >= deepest {
					deepest, last = depth[i], fmt.Sprintf("position %d: the annotation goes on where the lattice ends",
						depth[i]+1)
				}
				f.is = f.is && in == (which == within)
			}
		}
		g.arcs, g.finals = append(g.arcs, row), append(g.finals, f)
	}
	g.trim(func(i int) fst.StateID { return list[i].q })
	if len(g.finals) == 0 {
		g.empty = last
	}
	return g
}

// trim drops states that reach no final one, and orders the others by their states of the
// lattice, which are in topological order.
func (g *graph) trim(of func(int) fst.StateID) {
	n := len(g.arcs)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(of(i)) - int(of(j)) })
	alive := make([]bool, n)
	for k := n - 1; k >= 0; k-- {
		i := order[k]
		alive[i] = g.finals[i].is
		for _, e := range g.arcs[i] {
			alive[i] = alive[i] || alive[e.to]
		}
	}
	place := make([]int, n)
	var arcs [][]edge
	var finals []final
	for _, i := range order {
		if alive[i] {
			place[i] = len(arcs)
			arcs, finals = append(arcs, g.arcs[i]), append(finals, g.finals[i])
		}
	}
	for i := range arcs {
		kept := arcs[i][:0]
		for _, e := range arcs[i] {
			if alive[e.to] {
				e.to = place[e.to]
				kept = append(kept, e)
			}
		}
		arcs[i] = kept
	}
	g.arcs, g.finals = arcs, finals
}

// states returns a machine of n states without arcs.
func states(n int) *fst.Vector[weight] {
	m := fst.NewVector[weight](n)
	m.AddStates(n)
	return m
}
