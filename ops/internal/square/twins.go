package square

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// differing is how many of the arcs of a component that alternatives returns are read. Any two of
// the first have different outputs on one side and the same on the other. That makes two delays,
// and others are not needed.
const differing = 2

// Delays is an algebra for how far the right one of two paths with the same
// labels is behind the left one.
type Delays[W, D any] interface {
	one() D
	Step(d D, left, right *fst.Arc[W]) D
	tooLong(d D) bool
	unweighted(d D) D // the outputs of d alone
	// heap is the number of bytes that a delay holds outside of itself.
	heap(d D) int64
	// key tells apart the delays with which a component must be looked at
	// separately; differ is false when one is as good as another.
	key(pair int32, d D) (k string, differ bool)
}

// WeightDelays is the quotient of the weights, for commutative semirings.
type WeightDelays[W semiring.Divisible[W]] struct{}

func NewWeightDelays[W semiring.Divisible[W]]() WeightDelays[W] { return WeightDelays[W]{} }

func (WeightDelays[W]) one() W { return semiring.One[W]() }
func (WeightDelays[W]) Step(d W, left, right *fst.Arc[W]) W {
	return left.Weight.DivideLeft(d.Times(right.Weight))
}
func (WeightDelays[W]) tooLong(W) bool              { return false }
func (WeightDelays[W]) unweighted(W) W              { return semiring.One[W]() }
func (WeightDelays[W]) heap(W) int64                { return 0 }
func (WeightDelays[W]) key(int32, W) (string, bool) { return "", false }

// OutputDelay is left⁻¹·right in the free group over the labels, reduced, with
// the quotient of the weights. Each label takes four bytes of the strings.
type OutputDelay[W any] struct {
	Left, Right string
	Weight      W
}

type OutputDelays[W semiring.Divisible[W]] struct{}

func NewOutputDelays[W semiring.Divisible[W]]() OutputDelays[W] { return OutputDelays[W]{} }

func (OutputDelays[W]) one() OutputDelay[W] { return OutputDelay[W]{Weight: semiring.One[W]()} }

func (OutputDelays[W]) Step(d OutputDelay[W], left, right *fst.Arc[W]) OutputDelay[W] {
	d.Left, d.Right = ReduceDelay(AppendLabel(d.Left, left.OLabel), AppendLabel(d.Right, right.OLabel))
	d.Weight = left.Weight.DivideLeft(d.Weight.Times(right.Weight))
	return d
}

func AppendLabel(s string, l fst.Label) string {
	if l == fst.Epsilon {
		return s
	}
	return s + string([]byte{byte(l), byte(l >> 8), byte(l >> 16), byte(l >> 24)})
}

// ReduceDelay drops the common prefix of whole labels.
func ReduceDelay(a, b string) (string, string) {
	n := 0
	for n+4 <= len(a) && n+4 <= len(b) && a[n:n+4] == b[n:n+4] {
		n += 4
	}
	return a[n:], b[n:]
}

// tooLong bounds what one search may hold: delays this long are looked at no
// further, and leave the question open.
func (OutputDelays[W]) tooLong(d OutputDelay[W]) bool { return len(d.Left)+len(d.Right) > 4<<12 }

func (OutputDelays[W]) unweighted(d OutputDelay[W]) OutputDelay[W] {
	d.Weight = semiring.One[W]()
	return d
}

func (OutputDelays[W]) heap(d OutputDelay[W]) int64 { return int64(len(d.Left) + len(d.Right)) }

func (OutputDelays[W]) key(p int32, d OutputDelay[W]) (string, bool) {
	n := len(d.Left) // tells where the one ends, which no label does: each may be any four bytes
	return string([]byte{byte(p), byte(p >> 8), byte(p >> 16), byte(p >> 24), byte(n), byte(n >> 8),
		byte(n >> 16), byte(n >> 24)}) + d.Left + d.Right, true
}

// twinsEntry is a way into a component of the square. It leads by step, out of the component
// entered by entry parent, to pair with the delay at.
type twinsEntry[D any] struct {
	pair   int32
	at     D
	step   Step
	parent int32
}

// Breach is a lasso of pairs from pair 0: the access, and a cycle round which the delay changes.
type Breach struct {
	Access, Cycle []Step
	Shortest      bool // proved to have the fewest steps
}

// Twins looks for a cycle of the square round which the delay changes. Then it looks for the
// shortest breach, in at most effort steps.
func Twins[W semiring.Divisible[W], D any, A Delays[W, D]](s *Square[W], alg A, near func(a, b D) bool,
	effort int64) (*Breach, error) {
	// A pair's delay, components, entries and place in the queue, as in twinsSearch. What its
	// delays hold outside of themselves is counted from when they come up until others take their
	// place.
	s.PerPair = int64(unsafe.Sizeof(twinsEntry[D]{})) + 64
	if err := s.Explore(); err != nil || len(s.Pairs) == 0 {
		return nil, err
	}
	comp, n := s.Components(nil)
	t := &twinsSearch[W, D, A]{s: s, alg: alg, near: near, comp: comp, leads: s.leadToCycles(comp, n)}
	if !t.leads[comp[0]] {
		return nil, nil
	}
	t.delay, t.seen = make([]D, len(s.Pairs)), make([]int32, len(s.Pairs))
	t.entries = []twinsEntry[D]{{at: alg.one(), parent: -1}}
	t.into, t.keys = make([][]int32, n), make([]map[string]bool, n)
	t.into[comp[0]] = []int32{0}
	// Components come in topological order, so all entries of one are known.
	for k := range n {
		t.keys[k] = nil
		for _, id := range t.into[k] {
			b, err := t.from(id)
			if err != nil {
				return nil, err
			}
			if b != nil {
				return shorten(s, alg, near, comp, n, b, effort)
			}
		}
	}
	if t.undecided {
		return nil, ErrUndecided
	}
	return nil, nil
}

// twinsSearch goes through the components of the square, one after the other, with each delay by
// which one is entered.
type twinsSearch[W semiring.Divisible[W], D any, A Delays[W, D]] struct {
	s     *Square[W]
	alg   A
	near  func(a, b D) bool
	comp  []int32 // of each pair
	leads []bool  // of each component: to a cycle

	delay     []D     // of each pair,
	seen      []int32 // by this entry, biased by one
	queue     []int32
	entries   []twinsEntry[D]
	into      [][]int32         // entries of each component
	keys      []map[string]bool // what tells them apart
	undecided bool
}

// from searches a component from one entry. It returns a breach if the delay at some pair depends
// on the way there.
func (t *twinsSearch[W, D, A]) from(id int32) (*Breach, error) {
	root := t.entries[id].pair
	t.queue = append(t.queue[:0], root)
	t.set(root, t.entries[id].at, id)
	for head := 0; head < len(t.queue); head++ {
		if err := t.s.Check(); err != nil {
			return nil, err
		}
		p := t.queue[head]
		for _, group := range t.s.Out(p) {
			if !t.leads[t.comp[group.To]] {
				continue // delays there may be as many as there are paths
			}
			if b := t.follow(id, p, group); b != nil {
				return b, nil
			}
		}
	}
	return nil, nil
}

// set gives a pair the delay d, by an entry.
func (t *twinsSearch[W, D, A]) set(pair int32, d D, id int32) {
	t.s.Held += t.alg.heap(d) - t.alg.heap(t.delay[pair])
	t.delay[pair], t.seen[pair] = d, id+1
}

// follow takes the arcs of a group out of pair p.
func (t *twinsSearch[W, D, A]) follow(id, p int32, group Arc) *Breach {
	most, leaves := differing, t.comp[group.To] != t.comp[p]
	if leaves {
		if most = 8*len(t.s.Pairs) + 1<<16 - len(t.entries); most < 1 {
			t.undecided = true
			return nil
		}
	}
	list, more := t.s.alternatives(p, group, most)
	t.undecided = t.undecided || more && leaves
	for _, e := range list {
		l, r := t.s.Arcs(p, e)
		d, step := t.alg.Step(t.delay[p], l, r), Step{p, e}
		switch {
		case t.alg.tooLong(d):
			t.undecided = true
		case leaves:
			t.enter(d, step, id)
		case t.seen[e.To] != id+1:
			t.set(e.To, d, id)
			t.queue = append(t.queue, e.To)
		case !t.near(t.delay[e.To], d):
			if b := t.breach(id, step); b != nil {
				return b
			}
		}
	}
	return nil
}

// enter notes a way into another component, unless it has been entered in the same way.
func (t *twinsSearch[W, D, A]) enter(d D, by Step, parent int32) {
	k := t.comp[by.Arc.To]
	key, differ := t.alg.key(by.Arc.To, d)
	if t.into[k] != nil && (!differ || t.keys[k][key]) {
		return
	}
	t.s.Held += 2*int64(unsafe.Sizeof(twinsEntry[D]{})) + t.alg.heap(d)
	if differ {
		t.s.Held += int64(len(key)) + 64
		if t.keys[k] == nil {
			t.keys[k] = map[string]bool{}
		}
		t.keys[k][key] = true
	}
	t.into[k] = append(t.into[k], int32(len(t.entries)))
	t.entries = append(t.entries, twinsEntry[D]{by.Arc.To, d, by, parent})
}

// breach makes the evidence. Two cycles go through the pair of an entry: one by the last step, and
// one by the path that the search took to the same pair. At least one of them changes the delay. It
// returns nil when only rounding made the two ways differ.
func (t *twinsSearch[W, D, A]) breach(id int32, last Step) *Breach {
	cycle := ChangingCycle(t.s, t.alg, t.near, t.comp, t.entries[id].pair, t.entries[id].at, last)
	if cycle == nil {
		return nil
	}
	// The way in: the delays inside the components on it did not depend on the path, so any will
	// do.
	var access []Step
	for e := id; e > 0; e = t.entries[e].parent {
		in := t.s.pathWithin(t.comp, t.entries[t.entries[e].parent].pair, t.entries[e].step.Pair)
		access = slices.Concat(in, []Step{t.entries[e].step}, access)
	}
	return &Breach{Access: access, Cycle: cycle}
}

// leadToCycles reports of each of n components of pairs, which are numbered along the arcs, whether
// a cycle is in it or behind it.
func (s *Square[W]) leadToCycles(comp []int32, n int) []bool {
	first := make([]int32, n+1)
	for _, k := range comp {
		first[k+1]++
	}
	for k := range n {
		first[k+1] += first[k]
	}
	order := make([]int32, len(comp))
	for p, k := range comp {
		order[first[k]] = int32(p)
		first[k]++
	}
	leads := make([]bool, n)
	for _, p := range slices.Backward(order) {
		k := comp[p]
		for _, e := range s.Out(p) {
			leads[k] = leads[k] || comp[e.To] == k || leads[comp[e.To]]
		}
	}
	return leads
}

// ChangingCycle returns the cycle through root that changes the delay at with which root is
// entered. It is the one with the last step, or the one with the path that the search took to the
// same pair.
func ChangingCycle[W semiring.Divisible[W], D any, A Delays[W, D]](s *Square[W], alg A,
	near func(a, b D) bool, comp []int32, root int32, at D, last Step) []Step {
	back := s.pathWithin(comp, last.Arc.To, root)
	for _, cycle := range [][]Step{
		slices.Concat(s.pathWithin(comp, root, last.Pair), []Step{last}, back),
		slices.Concat(s.pathWithin(comp, root, last.Arc.To), back),
	} {
		d := at
		for _, st := range cycle {
			l, r := s.Arcs(st.Pair, st.Arc)
			d = alg.Step(d, l, r)
		}
		if !near(d, at) {
			return cycle
		}
	}
	return nil
}

// pathWithin returns a shortest path between two pairs of one component.
func (s *Square[W]) pathWithin(comp []int32, from, to int32) []Step {
	return s.path(from, to, func(u int32) bool { return comp[u] == comp[from] })
}
