package ops

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// differing is how many of the arcs of a component that alternatives returns are looked at: any two of them that come first
// have different outputs on one side and the same on the other, so that there are two delays, and
// others are not needed.
const differing = 2

// delays is an algebra for how far the right one of two paths with the same
// labels is behind the left one.
type delays[W, D any] interface {
	one() D
	step(d D, left, right *fst.Arc[W]) D
	tooLong(d D) bool
	unweighted(d D) D // the outputs of d alone
	// heap is the number of bytes that a delay holds outside of itself.
	heap(d D) int64
	// key tells apart the delays with which a component must be looked at
	// separately; differ is false when one is as good as another.
	key(pair int32, d D) (k string, differ bool)
}

// weightDelays is the quotient of the weights, for commutative semirings.
type weightDelays[W semiring.Divisible[W]] struct{}

func newWeightDelays[W semiring.Divisible[W]]() weightDelays[W] { return weightDelays[W]{} }

func (weightDelays[W]) one() W { return semiring.One[W]() }
func (weightDelays[W]) step(d W, left, right *fst.Arc[W]) W {
	return left.Weight.DivideLeft(d.Times(right.Weight))
}
func (weightDelays[W]) tooLong(W) bool              { return false }
func (weightDelays[W]) unweighted(W) W              { return semiring.One[W]() }
func (weightDelays[W]) heap(W) int64                { return 0 }
func (weightDelays[W]) key(int32, W) (string, bool) { return "", false }

// outputDelay is left⁻¹·right in the free group over the labels, reduced, with
// the quotient of the weights. Each label takes four bytes of the strings.
type outputDelay[W any] struct {
	left, right string
	weight      W
}

type outputDelays[W semiring.Divisible[W]] struct{}

func newOutputDelays[W semiring.Divisible[W]]() outputDelays[W] { return outputDelays[W]{} }

func (outputDelays[W]) one() outputDelay[W] { return outputDelay[W]{weight: semiring.One[W]()} }

func (outputDelays[W]) step(d outputDelay[W], left, right *fst.Arc[W]) outputDelay[W] {
	d.left, d.right = reduceDelay(appendLabel(d.left, left.OLabel), appendLabel(d.right, right.OLabel))
	d.weight = left.Weight.DivideLeft(d.weight.Times(right.Weight))
	return d
}

func appendLabel(s string, l fst.Label) string {
	if l == fst.Epsilon {
		return s
	}
	return s + string([]byte{byte(l), byte(l >> 8), byte(l >> 16), byte(l >> 24)})
}

// reduceDelay drops the common prefix of whole labels.
func reduceDelay(a, b string) (string, string) {
	n := 0
	for n+4 <= len(a) && n+4 <= len(b) && a[n:n+4] == b[n:n+4] {
		n += 4
	}
	return a[n:], b[n:]
}

// tooLong bounds what one search may hold: delays this long are looked at no
// further, and leave the question open.
func (outputDelays[W]) tooLong(d outputDelay[W]) bool { return len(d.left)+len(d.right) > 4<<12 }

func (outputDelays[W]) unweighted(d outputDelay[W]) outputDelay[W] {
	d.weight = semiring.One[W]()
	return d
}

func (outputDelays[W]) heap(d outputDelay[W]) int64 { return int64(len(d.left) + len(d.right)) }

func (outputDelays[W]) key(p int32, d outputDelay[W]) (string, bool) {
	n := len(d.left) // tells where the one ends, which no label does: each may be any four bytes
	return string([]byte{byte(p), byte(p >> 8), byte(p >> 16), byte(p >> 24), byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) + d.left + d.right, true
}

// twinsEntry is a way into a component of the square: by step, out of the
// component entered by entry parent, to pair with the delay at.
type twinsEntry[D any] struct {
	pair   int32
	at     D
	step   pairStep
	parent int32
}

// breach is a lasso of pairs from pair 0: the access, and a cycle round which the delay changes.
type breach struct {
	access, cycle []pairStep
	shortest      bool // proved to have the fewest steps
}

// findTwins looks for a cycle of the square round which the delay changes, and then for the
// shortest breach, for which it tries as many steps as effort says at most.
func findTwins[W semiring.Divisible[W], D any, A delays[W, D]](s *square[W], alg A, near func(a, b D) bool, effort int64) (*breach, error) {
	// A pair's delay, components, entries and place in the queue, as below. What its delays hold outside of
	// themselves is counted from when they come up until others take their place.
	entry := int64(unsafe.Sizeof(twinsEntry[D]{}))
	s.perPair = entry + 64
	if err := s.explore(); err != nil || len(s.pairs) == 0 {
		return nil, err
	}
	comp, n := s.components(nil)
	leads := s.leadToCycles(comp, n)
	if !leads[comp[0]] {
		return nil, nil
	}
	delay := make([]D, len(s.pairs))
	seen := make([]int32, len(s.pairs)) // the entry for which delay is set, biased by one
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
			s.held += alg.heap(entries[id].at) - alg.heap(delay[root])
			delay[root], seen[root] = entries[id].at, id+1
			for head := 0; head < len(queue); head++ {
				if err := s.check(); err != nil {
					return nil, err
				}
				p := queue[head]
				for _, group := range s.out(p) {
					if !leads[comp[group.to]] {
						continue // delays there may be as many as there are paths
					}
					most := differing
					if comp[group.to] != comp[p] {
						if most = 8*len(s.pairs) + 1<<16 - len(entries); most < 1 {
							undecided = true
							continue
						}
					}
					list, more := s.alternatives(p, group, most)
					undecided = undecided || more && comp[group.to] != comp[p]
					for _, e := range list {
						l, r := s.arcs(p, e)
						d := alg.step(delay[p], l, r)
						t := e.to
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
							s.held += 2*entry + alg.heap(d)
							if key, differ := alg.key(t, d); differ {
								s.held += int64(len(key)) + 64
								if keys[comp[t]] == nil {
									keys[comp[t]] = map[string]bool{}
								}
								keys[comp[t]][key] = true
							}
							into[comp[t]] = append(into[comp[t]], int32(len(entries)))
							entries = append(entries, twinsEntry[D]{t, d, pairStep{p, e}, id})
						case seen[t] != id+1:
							s.held += alg.heap(d) - alg.heap(delay[t])
							delay[t], seen[t] = d, id+1
							queue = append(queue, t)
						case !near(delay[t], d):
							if b := breachBy(s, alg, near, comp, entries, id, pairStep{p, e}); b != nil {
								return shorten(s, alg, near, comp, n, b, effort)
							}
						}
					}
				}
			}
		}
	}
	if undecided {
		return nil, errUndecided
	}
	return nil, nil
}

// leadToCycles reports of each of n components of pairs, which are numbered along the arcs, whether a cycle is in it or behind it.
func (s *square[W]) leadToCycles(comp []int32, n int) []bool {
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
		for _, e := range s.out(p) {
			leads[k] = leads[k] || comp[e.to] == k || leads[comp[e.to]]
		}
	}
	return leads
}

// breachBy makes the evidence: of the two cycles through the pair of an entry, one
// by the last step and one by the path that the search took to the same pair,
// at least one changes the delay. It returns nil when only rounding made the
// two ways differ.
func breachBy[W semiring.Divisible[W], D any, A delays[W, D]](s *square[W], alg A, near func(a, b D) bool, comp []int32, entries []twinsEntry[D], id int32, last pairStep) *breach {
	cycle := changingCycle(s, alg, near, comp, entries[id].pair, entries[id].at, last)
	if cycle == nil {
		return nil
	}
	// The way in: the delays inside the components on it did not depend on
	// the path, so any will do.
	var access []pairStep
	for e := id; e > 0; e = entries[e].parent {
		in := append(s.pathWithin(comp, entries[entries[e].parent].pair, entries[e].step.pair), entries[e].step)
		access = append(in, access...)
	}
	return &breach{access: access, cycle: cycle}
}

// changingCycle returns the cycle through root, which is entered with the delay at, that changes it: that with the last step, or that with
// the path that the search took to the same pair.
func changingCycle[W semiring.Divisible[W], D any, A delays[W, D]](s *square[W], alg A, near func(a, b D) bool, comp []int32, root int32, at D, last pairStep) []pairStep {
	back := s.pathWithin(comp, last.arc.to, root)
	for _, cycle := range [][]pairStep{
		slices.Concat(s.pathWithin(comp, root, last.pair), []pairStep{last}, back),
		slices.Concat(s.pathWithin(comp, root, last.arc.to), back),
	} {
		d := at
		for _, st := range cycle {
			l, r := s.arcs(st.pair, st.arc)
			d = alg.step(d, l, r)
		}
		if !near(d, at) {
			return cycle
		}
	}
	return nil
}

// pathWithin returns a shortest path between two pairs of one component.
func (s *square[W]) pathWithin(comp []int32, from, to int32) []pairStep {
	return s.path(from, to, func(u int32) bool { return comp[u] == comp[from] })
}
