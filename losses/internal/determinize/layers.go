package determinize

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// layeredAcceptor is an acyclic acceptor without ε by classes of states that strings lead to
// together: the form from which subsets.go makes subsets. Classes are in topological order, the
// start's first.
//
// It is made from the end backwards, so that an arc is written when its target is known. Arcs are
// led to the state that stands for their target, and those that do not matter are left out.
type layeredAcceptor struct {
	alg     LayerAlgebra
	Classes []layerClass
	start   int32 // place of the start state in its class
	bytes   int64 // of all that, as estimated
}

// layerClass is a set of states of the acceptor, closed under what one string leads to.
type layerClass struct {
	States  []fst.StateID // in order; the rest numbers states by their place in it
	final   []float64     // by state
	labels  []layerLabel  // by label
	groups  []layerGroup
	several bool // more than one string may lead here

	// by state: the one that stands for it, and the weight from here to there; nil is each for
	// itself
	same []layerArc
	D    []float64 // of costs: D(i, j) at i·len(states)+j; nil where nothing is known
}

// layerLabel is a label with its group: labels of one group do the same in every state of a class.
type layerLabel struct {
	label fst.Label
	group int32
}

// layerGroup has the arcs of one label: those of state i are arcs[ends[i]:ends[i+1]], by increasing
// target.
type layerGroup struct {
	next int32 // the class they lead to
	ends []int32
	arcs []layerArc
}

// layerArc is an arc, or a pair of a subset: a state with its residual.
type layerArc struct {
	To     int32 // in the class next
	Weight float64
}

func (g *layerGroup) of(i int) []layerArc { return g.arcs[g.ends[i]:g.ends[i+1]] }

// LayerAlgebra is what the weights of a layered acceptor mean: costs (clampedCosts), masses
// (Masses) or their negated logarithms (LogMasses).
type LayerAlgebra interface {
	zero() float64 // of no path
	one() float64  // of the empty path
	// by is the arc e led on to the state that stands for its target, or e itself where its weight
	// would not be exact.
	by(e, same layerArc) layerArc
	// join adds up the arcs of one state and one label that lead to one state of c. It leaves out
	// those that do not matter. They are ordered by target.
	join(c *layerClass, arcs []layerArc) []layerArc
	// learn finds out what there is to know of class r, later ones being known, and returns the
	// bytes that it takes. stop is asked now and then.
	learn(a *layeredAcceptor, r int, stop func() error) (int64, error)
	// gather adds to sums, by state, what the arcs of g lead a subset to, and returns the range of
	// states.
	gather(subset []layerArc, g *layerGroup, sums []float64) (lo, hi int32)
	// reduce leaves out pairs of a subset of c that do not matter, divides the others by what they
	// have in common, and returns that. Of what is left the divisor is a function up to a factor.
	reduce(c *layerClass, pairs []layerArc) (left []layerArc, divisor float64, err error)
	// end is the final weight of a subset.
	end(subset []layerArc, final []float64) float64
	// loss is what a weight adds to a loss.
	loss(w float64) float64
}

// errCycle reports an acceptor that is not acyclic.
var errCycle = errors.New("losses: the acceptor to determinize has a cycle")

// floatWeight is a weight that is a float64.
type floatWeight[W any] interface {
	~float64
	semiring.Weight[W]
}

// Layers prepares f, whose arcs are sorted by label, acyclic and without ε. stop is asked now and
// then, with the bytes taken so far, and its error returned.
func Layers[W floatWeight[W]](f *fst.Vector[W], alg LayerAlgebra,
	stop func(bytes int64) error) (*layeredAcceptor, error) {
	classOf, first := meetingClasses(f)
	order, cyclic := TopologicalStates[semiring.Tropical64](first.graph)
	if cyclic != fst.NoState {
		return nil, errCycle
	}
	// Number classes in that order, beginning with the start's; those that it does not reach are
	// left out.
	rank := make([]int32, len(order))
	for i := range rank {
		rank[i] = -1
	}
	n := 0
	reached := make([]int8, len(order)) // by how many ways, up to 2
	reached[first.start] = 1
	a := &layeredAcceptor{alg: alg}
	for _, c := range order {
		if reached[c] == 0 {
			continue
		}
		rank[c] = int32(n)
		n++
		a.Classes = append(a.Classes, layerClass{several: reached[c] > 1})
		for _, e := range first.graph.Arcs(c) {
			reached[e.NextState] = min(2, reached[e.NextState]+reached[c])
		}
	}
	place := make([]int32, f.NumStates())
	for q := range fst.StateID(f.NumStates()) {
		if r := rank[classOf[q]]; r >= 0 {
			c := &a.Classes[r]
			place[q] = int32(len(c.States))
			c.States = append(c.States, q)
			c.final = append(c.final, float64(f.Final(q)))
		}
	}
	a.start = place[f.Start()]
	for r := n - 1; r >= 0; r-- {
		c := &a.Classes[r]
		group(a, f, c, func(q fst.StateID) (int32, int32) { return rank[classOf[q]], place[q] })
		if err := stop(a.bytes + c.bytes()); err != nil {
			return nil, err
		}
		known, err := alg.learn(a, r, func() error { return stop(a.bytes + c.bytes()) })
		if err != nil {
			return nil, err
		}
		a.bytes += known + c.bytes()
	}
	return a, nil
}

// bytes is what the groups of c take.
func (c *layerClass) bytes() int64 {
	n := int64(0)
	for i := range c.groups {
		n += 4*int64(cap(c.groups[i].ends)) + 16*int64(cap(c.groups[i].arcs))
	}
	return n + 8*int64(len(c.labels))
}

// meetings is the graph of classes: an arc for each label.
type meetings struct {
	graph *fst.Vector[semiring.Tropical64]
	start fst.StateID
}

// meetingClasses returns by state of f the class that it is in. It is the finest partition in which
// states that one string leads to are in one class. So are the targets of a class by a label. It
// merges targets as Hopcroft and Karp's test of equivalence does, O(|Q| labels + |E|) in all.
//
// Each class is part of the states that a state of the strings is paired with, for those are
// another such partition. So its graph has no cycle.
func meetingClasses[W semiring.Weight[W]](f *fst.Vector[W]) (classOf []fst.StateID, m meetings) {
	n := f.NumStates()
	parent := make([]fst.StateID, n)
	for q := range parent {
		parent[q] = fst.StateID(q)
	}
	find := func(q fst.StateID) fst.StateID {
		for parent[q] != q {
			parent[q] = parent[parent[q]]
			q = parent[q]
		}
		return q
	}
	type move struct {
		label fst.Label
		to    fst.StateID
	}
	var meet [][2]fst.StateID
	moves := make([][]move, n)
	for q := range fst.StateID(n) {
		for _, e := range f.Arcs(q) {
			own := moves[q]
			if k := len(own) - 1; k >= 0 && own[k].label == e.ILabel {
				meet = append(meet, [2]fst.StateID{own[k].to, e.NextState})
				continue
			}
			moves[q] = append(own, move{e.ILabel, e.NextState})
		}
	}
	var merged []move
	for len(meet) > 0 {
		p, q := find(meet[len(meet)-1][0]), find(meet[len(meet)-1][1])
		meet = meet[:len(meet)-1]
		if p == q {
			continue
		}
		if q < p {
			p, q = q, p
		}
		parent[q] = p
		merged = merged[:0]
		x, y := moves[p], moves[q]
		for len(x) > 0 && len(y) > 0 {
			switch {
			case x[0].label < y[0].label:
				merged, x = append(merged, x[0]), x[1:]
			case x[0].label > y[0].label:
				merged, y = append(merged, y[0]), y[1:]
			default:
				meet = append(meet, [2]fst.StateID{x[0].to, y[0].to})
				merged, x, y = append(merged, x[0]), x[1:], y[1:]
			}
		}
		merged = append(append(merged, x...), y...)
		moves[p], moves[q] = append(moves[p][:0], merged...), nil
	}
	m.graph = fst.NewVector[semiring.Tropical64](0)
	classOf = make([]fst.StateID, n)
	for q := range fst.StateID(n) {
		if parent[q] == q {
			classOf[q] = m.graph.AddState()
		} else {
			classOf[q] = classOf[find(q)] // a root is the least of its class
		}
	}
	for q := range fst.StateID(n) {
		for _, e := range moves[q] {
			if parent[q] == q {
				m.graph.AddArc(classOf[q], fst.Arc[semiring.Tropical64]{ILabel: e.label, OLabel: e.label,
					NextState: classOf[e.to]})
			}
		}
	}
	m.start = classOf[f.Start()]
	return classOf, m
}

// group fills the labels and groups of c with its arcs. find tells the class and the place of a
// state.
func group[W floatWeight[W]](a *layeredAcceptor, f *fst.Vector[W], c *layerClass,
	find func(fst.StateID) (int32, int32)) {
	arcs := make([][]fst.Arc[W], len(c.States)) // those still to be read
	for i, q := range c.States {
		arcs[i] = f.Arcs(q)
	}
	zero := a.alg.zero()
	known := map[string]int32{}
	var key []byte
	g := layerGroup{ends: make([]int32, 1, len(arcs)+1)}
	for {
		label, more := fst.Label(math.MaxInt32), false
		for _, x := range arcs {
			if len(x) > 0 {
				label, more = min(label, x[0].ILabel), true
			}
		}
		if !more {
			return
		}
		g.next, g.ends, g.arcs = -1, g.ends[:1], g.arcs[:0]
		for i, x := range arcs {
			begin := len(g.arcs)
			for len(x) > 0 && x[0].ILabel == label {
				if w := float64(x[0].Weight); w != zero {
					next, to := find(x[0].NextState)
					e := layerArc{to, w}
					if same := a.Classes[next].same; same != nil {
						e = a.alg.by(e, same[to])
					}
					g.next = next
					g.arcs = append(g.arcs, e)
				}
				x = x[1:]
			}
			arcs[i] = x
			if len(g.arcs) > begin {
				g.arcs = g.arcs[:begin+len(a.alg.join(&a.Classes[g.next], g.arcs[begin:]))]
			}
			g.ends = append(g.ends, int32(len(g.arcs)))
		}
		if g.next < 0 {
			continue // all of the label's weights are those of no path
		}
		key = g.appendKey(key[:0])
		id, ok := known[string(key)]
		if !ok {
			id = int32(len(c.groups))
			known[string(key)] = id
			c.groups = append(c.groups, layerGroup{g.next, slices.Clone(g.ends), slices.Clone(g.arcs)})
		}
		c.labels = append(c.labels, layerLabel{label, id})
	}
}

// appendKey appends what g does: equal bytes are equal arcs.
func (g *layerGroup) appendKey(key []byte) []byte {
	key = binary.LittleEndian.AppendUint32(key, uint32(g.next))
	for _, end := range g.ends {
		key = binary.LittleEndian.AppendUint32(key, uint32(end))
	}
	for _, e := range g.arcs {
		key = binary.LittleEndian.AppendUint32(key, uint32(e.To))
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(e.Weight+0))
	}
	return key
}
