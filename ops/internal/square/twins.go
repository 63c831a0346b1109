package square

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// differing is how many of the arcs of a component that alternatives returns are looked at: any two
// of them that come first have different outputs on one side and the same on the other, so that
// there are two delays, and others are not needed.
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
	return string([]byte{byte(p), byte(p >> 8), byte(p >> 16), byte(p >> 24), byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) + d.Left + d.Right, true
}

// twinsEntry is a way into a component of the square: by step, out of the
// component entered by entry parent, to pair with the delay at.
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

// Twins looks for a cycle of the square round which the delay changes, and then for the
// shortest breach, for which it tries as many steps as effort says at most.
func Twins[W semiring.Divisible[W], D any, A Delays[W, D]](s *Square[W], alg A, near func(a, b D) bool, effort int64) (*Breach, error) {
	// A pair's delay, components, entries and place in the queue, as below. What its delays
	// hold outside of themselves is counted from when they come up until others take their
	// place.
	entry := int64(unsafe.Sizeof(twinsEntry[D]{}))
	s.PerPair = entry + 64
	if err := s.Explore(); err != nil || len(s.Pairs) == 0 {
		return nil, err
	}
	comp, n := s.Components(nil)
	leads := s.leadToCycles(comp, n)
	if !leads[comp[0]] {
		return nil, nil
	}
	delay := make([]D, len(s.Pairs))
	seen := make([]int32, len(s.Pairs)) // the entry for which delay is set, biased by one
	entries := []twinsEntry[D]{{at: alg.one(), parent: -1}}
	into := make([][]int32, n) // entries of each component
	into[comp[0]] = []int32{0}
	keys := make([]map[string]bool, n) // what distinguishes them
	undecided := false
	var queue []int32

	// Components come in topological order, so all entries of one are known.
	for k := range n {
		keys[k] = nil
		for _, id := range into[k] {
			root := entries[id].pair
			queue = append(queue[:0], root)
			s.Held += alg.heap(entries[id].at) - alg.heap(delay[root])
			delay[root], seen[root] = entries[id].at, id+1
			for head := 0; head < len(queue); head++ {
				if err := s.Check(); err != nil {
					return nil, err
				}
				p := queue[head]
				for _, group := range s.Out(p) {
					if !leads[comp[group.To]] {
						continue // delays there may be as many as there are paths
					}
					most := differing
					if comp[group.To] != comp[p] {
						if most = 8*len(s.Pairs) + 1<<16 - len(entries); most < 1 {
							undecided = true
							continue
						}
					}
					list, more := s.alternatives(p, group, most)
					undecided = undecided || more && comp[group.To] != comp[p]
					for _, e := range list {
						l, r := s.Arcs(p, e)
						d := alg.Step(delay[p], l, r)
						t := e.To
						switch {
						case alg.tooLong(d):
							undecided = true
						case comp[t] != comp[p]:
							if into[comp[t]] != nil {
								key, differ := alg.key(t, d)
								if !differ || keys[comp[t]][key] {
									continue
								}
							}
							s.Held += 2*entry + alg.heap(d)
							if key, differ := alg.key(t, d); differ {
								s.Held += int64(len(key)) + 64
								if keys[comp[t]] == nil {
									keys[comp[t]] = map[string]bool{}
								}
								keys[comp[t]][key] = true
							}
							into[comp[t]] = append(into[comp[t]], int32(len(entries)))
							entries = append(entries, twinsEntry[D]{t, d, Step{p, e}, id})
						case seen[t] != id+1:
							s.Held += alg.heap(d) - alg.heap(delay[t])
							delay[t], seen[t] = d, id+1
							queue = append(queue, t)
						case !near(delay[t], d):
							if b := breachBy(s, alg, near, comp, entries, id, Step{p, e}); b != nil {
								return shorten(s, alg, near, comp, n, b, effort)
							}
						}
					}
				}
			}
		}
	}
	if undecided {
		return nil, ErrUndecided
	}
	return nil, nil
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

// breachBy makes the evidence: of the two cycles through the pair of an entry, one
// by the last step and one by the path that the search took to the same pair,
// at least one changes the delay. It returns nil when only rounding made the
// two ways differ.
func breachBy[W semiring.Divisible[W], D any, A Delays[W, D]](s *Square[W], alg A, near func(a, b D) bool, comp []int32, entries []twinsEntry[D], id int32, last Step) *Breach {
	cycle := ChangingCycle(s, alg, near, comp, entries[id].pair, entries[id].at, last)
	if cycle == nil {
		return nil
	}
	// The way in: the delays inside the components on it did not depend on
	// the path, so any will do.
	var access []Step
	for e := id; e > 0; e = entries[e].parent {
		in := append(s.pathWithin(comp, entries[entries[e].parent].pair, entries[e].step.Pair), entries[e].step)
		access = append(in, access...)
	}
	return &Breach{Access: access, Cycle: cycle}
}

// ChangingCycle returns the cycle through root, which is entered with the delay at, that changes
// it: that with the last step, or that with the path that the search took to the same pair.
func ChangingCycle[W semiring.Divisible[W], D any, A Delays[W, D]](s *Square[W], alg A, near func(a, b D) bool, comp []int32, root int32, at D, last Step) []Step {
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
