package square

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// lassos looks for the shortest evidence that the twins property fails: an access and a loop. The
// access is a way from pair 0 of the square to a pair v. The loop is a closed walk at v that
// changes the delay with which the access arrives there. The shortest evidence has the fewest steps
// of access and loop together. That is the number of labels that each of the two paths reads, ε
// among them. Ties go to the fewest steps of access, then to the order of pairs and of their arcs.
//
// A loop at v is found breadth first, with two delays a pair. Others are not needed. Of two walks
// from v to u with different delays, a way on from u back to v cancels one at most. So with one of
// the first two the loop changes the delay, too, and is no longer. This takes time O(pairs + arcs)
// of the component of v.
//
// Pairs v come in the order of their accesses, as long as an access with a loop of one step may be
// shorter than the best so far. That best also bounds the loop. Where delays are weights, the
// access says nothing about which loops change them, and a loop may begin at any of its pairs. So a
// loop through an earlier pair is no better than what was found there. Such pairs are left out,
// with all that lies on no cycle without them, or on none that changes a delay. Delays of outputs
// depend on the access, so that each different one is searched.
//
// For weights the time is at worst O(pairs·(pairs + arcs)), on the components in which there is
// something to find, and no deeper than the best evidence. For outputs it is that for each delay of
// arrival.
//
// The two bounds of the search, effort and the length of delays, are told by
// whether the result is proved to be the shortest.
type lassos[W semiring.Divisible[W], D any, A Delays[W, D]] struct {
	s    *Square[W]
	alg  A
	near func(a, b D) bool
	comp []int32 // component of each pair

	accesses []access[D]
	best     int // steps of the best evidence
	at       int32
	loop     []Step

	effort int64 // steps that may be tried yet
	open   bool  // something was not looked at
	work   []onLoop[D]
	kept   [][2]int32 // of each pair the places in work of its two delays, plus one
	round  []int32    // the search for which kept is set
	rounds int32

	accessPath func(at int32) []Step

	// Where delays are weights:
	gone      []bool  // pairs that do not count any more
	in, out   []int32 // arcs to and from each pair, of those that do, within its component
	from      []int32 // from[fromFirst[p]:fromFirst[p+1]] are the pairs that arcs come from to p
	fromFirst []int64
	leaving   []int32 // those that are gone and were not yet taken off the others' arcs
}

// access is a way from pair 0 to a pair: by one step from another access.
type access[D any] struct {
	pair, from int32
	by         Arc
	steps      int32
	delay      D
}

// onLoop is a way from the pair at which a loop is to begin to another: by one step from one
// before.
type onLoop[D any] struct {
	pair, from int32
	by         Arc
	steps      int32
	delay      D
}

// accessArcs is how many of the arcs that lead with different outputs from one pair to another are
// tried as accesses.
const accessArcs = 1 << 16

// ShortestEffort is how many steps a search for the shortest evidence takes when no limit is given.
// A step takes 20 to 40 ns. For some millions of pairs on cycles, an answer after ten seconds that
// may not be the shortest is worth more than the shortest after days.
const ShortestEffort = 1 << 28

// shorten replaces found, evidence of findTwins on the square s with components comp, by the
// shortest there is. Shortest says whether that is proved: where memory or time is over before,
// there is an answer all the same.
func shorten[W semiring.Divisible[W], D any, A Delays[W, D]](s *Square[W], alg A, near func(a, b D) bool,
	comp []int32, components int, found *Breach, effort int64) (*Breach, error) {
	x := &lassos[W, D, A]{s: s, alg: alg, near: near, comp: comp, best: len(found.Access) + len(found.Cycle) +
		1, at: -1, effort: effort,
		kept: make([][2]int32, len(s.Pairs)), round: make([]int32, len(s.Pairs))}
	s.Held += int64(len(s.Pairs))*(12+4+4+4+8+1+8) + int64(len(s.List))*4
	err := s.Check()
	if _, differ := alg.key(0, alg.one()); err != nil {
		// as below
	} else if differ {
		err = x.byDelays(components)
	} else {
		err = x.byPairs(components)
	}
	if limit := run.Errors.LimitOf(err); limit == "bytes" || limit == "context" {
		x.open, err = true, nil // the limit is for the answer, which there is
	}
	if err != nil {
		return nil, err
	}
	if x.at < 0 { // only rounding makes found a breach, or it is of no use to look for a better one
		return found, nil
	}
	return &Breach{Access: x.accessPath(x.at), Cycle: x.loop, Shortest: !x.open}, nil
}

// cycles reports for each component whether it has arcs within.
func (x *lassos[W, D, A]) cycles(components int) []bool {
	has := make([]bool, components)
	for p := range int32(len(x.s.Pairs)) {
		for _, e := range x.s.Out(p) {
			if x.comp[e.To] == x.comp[p] {
				has[x.comp[p]] = true
			}
		}
	}
	return has
}

// byPairs is the search for delays that are weights.
func (x *lassos[W, D, A]) byPairs(components int) error {
	s := x.s
	n := int32(len(s.Pairs))
	x.gone = make([]bool, n)
	x.in, x.out = make([]int32, n), make([]int32, n)
	x.fromFirst = make([]int64, n+2)
	for _, e := range s.List {
		x.fromFirst[e.To+2]++
	}
	for p := range n {
		x.fromFirst[p+2] += x.fromFirst[p+1]
	}
	x.from = make([]int32, len(s.List))
	for p := range n {
		for _, e := range s.Out(p) {
			x.from[x.fromFirst[e.To+1]] = p
			x.fromFirst[e.To+1]++
		}
	}
	changes := x.changing(components)
	there := s.distances()
	x.accessPath = func(at int32) []Step { return s.path(0, at, nil) }
	look := x.effort - int64(len(s.Pairs)+len(s.List))
	for p := range n {
		if p > 0 && there[p] == 0 || x.gone[p] || !changes[x.comp[p]] { // not reached, or of no use
			continue
		}
		if int(there[p])+1 >= x.best {
			break // pairs are in breadth-first order
		}
		if err := x.loopAt(p, there[p], x.alg.one(), p); err != nil || x.effort <= 0 {
			return err
		}
		x.remove(p)
		if x.effort < look { // what is left may have come apart, and have nothing to find any more
			x.comp, components = s.Components(x.gone)
			changes = x.changing(components)
			if !slices.Contains(changes, true) {
				break
			}
			look = x.effort - int64(len(s.Pairs)+len(s.List))
		}
	}
	return nil
}

// changing reports for each component whether it has closed walks that change a delay; they then do
// so at any of its pairs. It counts the arcs within to and from each pair. For weights only.
func (x *lassos[W, D, A]) changing(components int) []bool {
	s := x.s
	changes := make([]bool, components)
	delay, seen := make([]D, len(s.Pairs)), make([]bool, len(s.Pairs))
	var queue []int32
	clear(x.in)
	clear(x.out)
	for root := range int32(len(s.Pairs)) {
		if seen[root] || x.gone[root] {
			continue
		}
		delay[root], seen[root] = x.alg.one(), true
		queue = append(queue[:0], root)
		for head := 0; head < len(queue); head++ {
			p := queue[head]
			for _, e := range s.Out(p) {
				if x.gone[e.To] || x.comp[e.To] != x.comp[p] {
					continue
				}
				x.out[p]++
				x.in[e.To]++
				l, r := s.Arcs(p, e)
				d := x.alg.Step(delay[p], l, r)
				if !seen[e.To] {
					delay[e.To], seen[e.To] = d, true
					queue = append(queue, e.To)
				} else if !x.near(delay[e.To], d) {
					changes[x.comp[p]] = true
				}
			}
		}
	}
	return changes
}

// remove takes pair p out of the search, and what lies on no cycle without it.
func (x *lassos[W, D, A]) remove(p int32) {
	x.gone[p] = true
	x.leaving = append(x.leaving[:0], p)
	for len(x.leaving) > 0 {
		p := x.leaving[len(x.leaving)-1]
		x.leaving = x.leaving[:len(x.leaving)-1]
		lose := func(t int32, degree []int32) {
			if x.gone[t] || x.comp[t] != x.comp[p] {
				return
			}
			if degree[t]--; degree[t] == 0 {
				x.gone[t] = true
				x.leaving = append(x.leaving, t)
			}
		}
		for _, e := range x.s.Out(p) {
			lose(e.To, x.in)
		}
		for _, t := range x.from[x.fromFirst[p]:x.fromFirst[p+1]] {
			lose(t, x.out)
		}
	}
}

// byDelays is the search for delays with outputs.
func (x *lassos[W, D, A]) byDelays(components int) error {
	s := x.s
	cycles := x.cycles(components)
	x.accesses = append(x.accesses, access[D]{from: -1, delay: x.alg.one()})
	first, _ := x.alg.key(0, x.alg.one())
	known := map[string]bool{first: true}
	x.accessPath = func(at int32) []Step {
		var steps []Step
		for a := x.accesses[at]; a.from >= 0; a = x.accesses[a.from] {
			steps = append(steps, Step{x.accesses[a.from].pair, a.by})
		}
		slices.Reverse(steps)
		return steps
	}
	for head := 0; head < len(x.accesses); head++ {
		a := x.accesses[head]
		if int(a.steps)+1 >= x.best {
			break
		}
		if cycles[x.comp[a.pair]] {
			if err := x.loopAt(a.pair, a.steps, a.delay, int32(head)); err != nil || x.effort <= 0 {
				return err
			}
		}
		for _, group := range s.Out(a.pair) {
			list, more := s.alternatives(a.pair, group, accessArcs)
			x.open = x.open || more
			for _, e := range list {
				if x.effort--; x.effort <= 0 {
					x.open = true
					return nil
				}
				if x.effort&4095 == 0 {
					if err := s.look(); err != nil {
						return err
					}
				}
				l, r := s.Arcs(a.pair, e)
				d := x.alg.unweighted(x.alg.Step(a.delay, l, r))
				if x.alg.tooLong(d) {
					x.open = true
					continue
				}
				if k, _ := x.alg.key(e.To, d); !known[k] {
					known[k] = true
					s.Held += int64(len(k)) + 64 + x.alg.heap(d) + 2*int64(unsafe.Sizeof(a))
					x.accesses = append(x.accesses, access[D]{e.To, int32(head), e, a.steps + 1, d})
				}
			}
		}
		if err := s.Check(); err != nil {
			return err
		}
	}
	return nil
}

// loopAt looks for a loop at pair v that makes the best evidence. The given steps lead to v with
// delay d. at is then the start of the loop.
func (x *lassos[W, D, A]) loopAt(v, steps int32, d D, at int32) error {
	s := x.s
	x.rounds++
	x.work = append(x.work[:0], onLoop[D]{pair: v, from: -1, delay: d})
	x.round[v], x.kept[v] = x.rounds, [2]int32{1}
	grown := cap(x.work)
	for head := int32(0); int(head) < len(x.work); head++ {
		w := x.work[head]
		if int(steps+w.steps)+1 >= x.best {
			return nil
		}
		for _, group := range s.Out(w.pair) {
			t := group.To
			if x.comp[t] != x.comp[v] || x.gone != nil && x.gone[t] {
				continue
			}
			list, _ := s.alternatives(w.pair, group, differing)
			for _, e := range list {
				if x.effort--; x.effort <= 0 {
					x.open = true
					return nil
				}
				if x.effort&4095 == 0 {
					if err := s.look(); err != nil {
						return err
					}
				}
				l, r := s.Arcs(w.pair, e)
				next := x.alg.Step(w.delay, l, r)
				if t == v {
					if !x.near(next, d) {
						x.best, x.at = int(steps+w.steps)+1, at
						x.loop = append(x.loop[:0], Step{w.pair, e})
						for ; w.from >= 0; w = x.work[w.from] {
							x.loop = append(x.loop, Step{x.work[w.from].pair, w.by})
						}
						slices.Reverse(x.loop)
						return nil
					}
					continue
				}
				if x.alg.tooLong(next) {
					x.open = true
					continue
				}
				if x.round[t] != x.rounds {
					x.round[t], x.kept[t] = x.rounds, [2]int32{}
				}
				k := &x.kept[t]
				i := slices.Index(k[:], 0)
				if i < 0 || i == 1 && x.near(x.work[k[0]-1].delay, next) {
					continue
				}
				x.work = append(x.work, onLoop[D]{t, head, e, w.steps + 1, next})
				k[i] = int32(len(x.work))
			}
		}
		if c := cap(x.work); c != grown {
			s.Held += int64(c-grown) * int64(unsafe.Sizeof(w))
			grown = c
		}
	}
	return nil
}
