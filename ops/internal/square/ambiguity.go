package square

import (
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// TwoPaths returns the steps of two accepting paths of s.f with one input, of the fewest arcs; nil
// when there are none.
func TwoPaths[W semiring.Weight[W]](s *Square[W]) ([]Step, error) {
	start := s.F.Start()
	if start == fst.NoState || !s.Live[start] {
		return nil, nil
	}
	x := &ambiguity[W]{Square: s, bound: math.MaxInt32, fewest: math.MaxInt32, through: -1}
	s.PerPair = 24 // root and parent, with room to grow
	s.ids = fst.NewTable(fst.Mix)
	x.id(start, start)
	x.root, x.parent = []int32{-1}, []int32{-1}
	if err := x.search(); err != nil {
		return nil, err
	}
	if x.through < 0 {
		return nil, nil
	}
	return x.evidence(), nil
}

// ambiguity is the search of Unambiguous, breadth first, from the pair of the start state with
// itself. Its evidence parts at a pair, the root. Either two arcs of one state lead to the root, a
// pair of different states, or the root is one state with parallel arcs. From the root the two
// paths go on to a pair of final states. Or they come to one state again, and go from there to the
// nearest final state. So evidence is known when the search comes to its end, or to where the paths
// meet. Each pair counts the steps to it and those from each of its states to a final one. Beyond
// the fewest known there is nothing to look for.
//
// It returns the evidence of fewest arcs, and of that the one with the least root. What passes
// through a later root need not be found, and neither need the later of two roots of the same
// states.
type ambiguity[W semiring.Weight[W]] struct {
	*Square[W]
	root   []int32 // of each pair of different states, the least on shortest ways to it
	parent []int32 // the pair that each was reached from

	bound   int32 // evidence has so few arcs, or fewer
	fewest  int32 // arcs of the evidence so far,
	through int32 // and its root, a pair of one state for parallel arcs
}

// found is called when there is evidence of so many arcs through a root.
func (x *ambiguity[W]) found(arcs, root int32) {
	x.bound = min(x.bound, arcs)
	if arcs < x.fewest || arcs == x.fewest && root < x.through {
		x.fewest, x.through = arcs, root
	}
}

// least is the number of arcs that two paths from the states of a pair have to final ones at least.
func (x *ambiguity[W]) least(l, r fst.StateID) int32 { return max(x.rest[l], x.rest[r]) }

func (x *ambiguity[W]) search() error {
	if err := x.Check(); err != nil {
		return err
	}
	depth, next := int32(0), len(x.Pairs) // pairs from next on are further from the start
	for p := int32(0); int(p) < len(x.Pairs); p++ {
		if int(p) == next {
			depth++
			next = len(x.Pairs)
		}
		l, r := x.States(p)
		if depth+x.least(l, r) > x.bound {
			continue
		}
		if l != r && x.rest[l] == 0 && x.rest[r] == 0 {
			x.found(depth, x.root[p])
			continue // all that comes after is longer
		}
		if l == r {
			for _, e := range x.fan(l).twice {
				x.found(depth+1+x.rest[x.F.Arcs(l)[e[0]].NextState], p)
			}
		}
		if err := x.expand(p, depth, next); err != nil {
			return err
		}
		if err := x.Check(); err != nil {
			return err
		}
	}
	return nil
}

// expand takes up the pairs that one label leads to from p, which is depth steps from the start.
// Pairs from next on are one step further.
func (x *ambiguity[W]) expand(p, depth int32, next int) error {
	l, r := x.States(p)
	left, right := x.F.Arcs(l), x.F.Arcs(r)
	depth++
	return x.eachLabel(l, r, func(_ fst.Label, lo, ro []int32) error {
		for n, i := range lo {
			t := left[i].NextState
			if depth+x.rest[t] > x.bound {
				continue
			}
			if l == r {
				x.looked++
				if _, isNew := x.id(t, t); isNew {
					x.root, x.parent = append(x.root, -1), append(x.parent, p)
				}
				ro = lo[n+1:]
			}
		others:
			for _, k := range ro {
				if x.looked++; x.looked%checkPairArcs == 0 {
					if err := x.Check(); err != nil {
						return err
					}
				}
				u := right[k].NextState
				steps := depth + x.least(t, u)
				switch {
				case steps > x.bound:
					continue
				case l == r && steps >= x.fewest: // a root after that of the evidence
					if depth >= x.fewest {
						break others
					}
					continue
				case t == u: // a pair of one state is reached from others of one state first
					x.found(steps, x.root[p])
					continue
				}
				id, isNew := x.id(t, u)
				root := x.root[p]
				if l == r {
					root = id
				}
				if isNew {
					x.root, x.parent = append(x.root, root), append(x.parent, p)
				} else if int(id) >= next {
					x.root[id] = min(x.root[id], root)
				}
				if x.rest[t] == 0 && x.rest[u] == 0 {
					x.found(depth, x.root[id])
				}
			}
		}
		return nil
	})
}

func (x *ambiguity[W]) id(l, r fst.StateID) (int32, bool) {
	id, isNew := x.ids.ID(PairKey(l, r))
	if isNew {
		x.Pairs = append(x.Pairs, PairKey(l, r))
	}
	return int32(id), isNew
}

// evidence returns the two paths of the evidence that was found, with the first arcs that lead
// along them.
func (x *ambiguity[W]) evidence() []Step {
	var way []int32
	for p := x.through; p >= 0; p = x.parent[p] {
		way = append(way, p)
	}
	slices.Reverse(way)
	var steps []Step
	for i, p := range way[1:] {
		l, r := x.States(p)
		steps = append(steps, Step{way[i], x.arcTo(way[i], l, r)})
	}
	l, r := x.States(x.through)
	if l != r {
		return append(steps, x.toFinal(l, r, x.fewest-int32(len(steps)))...)
	}
	arcs := x.F.Arcs(l)
	for _, e := range x.fan(l).twice {
		t := arcs[e[0]].NextState
		if int32(len(steps))+1+x.rest[t] == x.fewest {
			steps = append(steps, Step{x.through, Arc{Left: e[0], Right: e[1]}})
			return append(steps, x.toFinal(t, t, x.rest[t])...)
		}
	}
	panic("ops: Unambiguous: no parallel arcs where some were")
}

// arcTo returns the first arc of the square from pair p to the pair of l and r.
func (x *ambiguity[W]) arcTo(p int32, l, r fst.StateID) (e Arc) {
	a, b := x.States(p)
	left, right := x.F.Arcs(a), x.F.Arcs(b)
	done := errors.New("found")
	_ = x.eachLabel(a, b, func(_ fst.Label, lo, ro []int32) error {
		i := slices.IndexFunc(lo, func(i int32) bool { return left[i].NextState == l })
		k := slices.IndexFunc(ro, func(k int32) bool { return right[k].NextState == r })
		if i < 0 || k < 0 {
			return nil
		}
		e = Arc{Left: lo[i], Right: ro[k]}
		return done
	})
	return e
}

// toFinal returns the first of the shortest ways from the states l and r to final ones, in at most
// the given number of steps. First means in the order of pairs and of their arcs. From one state
// the two go the same way.
func (x *ambiguity[W]) toFinal(l, r fst.StateID, most int32) []Step {
	type place struct {
		pair, from int32
		by         Arc
		steps      int32
	}
	ids := fst.NewTable(fst.Mix)
	ids.ID(PairKey(l, r))
	reached := []place{{from: -1}}
	for head := 0; ; head++ { // there is such a way
		at := reached[head]
		k := ids.Key(fst.StateID(at.pair))
		l, r := fst.StateID(uint32(k>>32)), fst.StateID(uint32(k))
		if x.rest[l] == 0 && x.rest[r] == 0 {
			var steps []Step
			for ; at.from >= 0; at = reached[at.from] {
				steps = append(steps, Step{Arc: at.by})
			}
			slices.Reverse(steps)
			return steps
		}
		left, right := x.F.Arcs(l), x.F.Arcs(r)
		_ = x.eachLabel(l, r, func(_ fst.Label, lo, ro []int32) error {
			for n, i := range lo {
				t := left[i].NextState
				if at.steps+1+x.rest[t] > most {
					continue
				}
				if l == r {
					ro = lo[n : n+1]
				}
				for _, k := range ro {
					u := right[k].NextState
					if at.steps+1+x.rest[u] > most {
						continue
					}
					if id, isNew := ids.ID(PairKey(t, u)); isNew {
						reached = append(reached, place{int32(id), int32(head), Arc{Left: i, Right: k}, at.steps + 1})
					}
				}
			}
			return nil
		})
	}
}
