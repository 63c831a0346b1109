package square

import (
	"errors"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrUndecided is ops.ErrUndecided.
var ErrUndecided = errors.New("the search stopped at its limit before it knew")

// Square is the squared machine. Its states are the pairs of states that some label string reaches
// both of. Its arcs are the pairs of arcs with one input label. The twins property, ambiguity and
// functionality are decided on it.
type Square[W semiring.Weight[W]] struct {
	F       fst.Expanded[W]
	Live    []bool    // states to keep; nil is all
	rest    []int32   // arcs from each state to the nearest final one, where live is set
	fans    []*fan    // of each state; nil is not known yet
	silent  []int8    // states that read ε before all else, 1, and others, -1; 0 is not known yet
	epsFree bool      // input ε does not move one side alone
	budget  int64     // bound on pairs and their arcs; zero is none
	Meter   run.Meter // what the caller allows the square to take
	PerPair int64     // bytes that the search takes for each pair,
	Held    int64     // and what it holds besides
	looked  int64     // arcs of the square that were looked at and are not in list
	some    []Arc     // see alternatives
	Shared  bool      // drop what leads to no pair from which one string takes both sides to final states

	Pairs []uint64 // left<<32 | right, in the order in which they were reached
	ids   *fst.Table[uint64]
	First []int64 // arcs of pair p: list[first[p]:first[p+1]]
	List  []Arc

	// single is true when no two paths lead from the start to one state with
	// the same labels.
	Single bool
	// manifold is true when there are arcs from one state to another with one input label and
	// different outputs.
	manifold bool
}

// Arc is an arc of the square: arc number left of the left state and right of the right one. -1
// means that a state stays while the other reads ε. One arc of the list stands for all with the
// same next states and label (see fan and alternatives).
type Arc struct{ To, Left, Right int32 }

// Step is an arc of the square with the pair that it leaves.
type Step struct {
	Pair int32
	Arc  Arc
}

// New prepares the square of f, with ε as an ordinary label. If trim is set, it is on the states
// that lie on a path from the start to a final state.
func New[W semiring.Weight[W]](f fst.Expanded[W], trim bool, budget int64,
	w *run.Stopwatch) (*Square[W], error) {
	s := &Square[W]{F: f, budget: budget, Single: true, epsFree: true}
	if trim {
		var err error
		if s.rest, err = stepsToFinal(f, w); err != nil {
			return nil, err
		}
		s.Live = make([]bool, len(s.rest))
		for q, n := range s.rest {
			s.Live[q] = n >= 0
		}
	}
	s.fans = make([]*fan, f.NumStates())
	return s, nil
}

func PairKey(l, r fst.StateID) uint64 { return uint64(uint32(l))<<32 | uint64(uint32(r)) }

func (s *Square[W]) States(p int32) (left, right fst.StateID) {
	k := s.Pairs[p]
	return fst.StateID(uint32(k >> 32)), fst.StateID(uint32(k))
}

// Arcs returns the two arcs of f that make e; nil for a side that stays.
func (s *Square[W]) Arcs(p int32, e Arc) (left, right *fst.Arc[W]) {
	l, r := s.States(p)
	if e.Left >= 0 {
		left = &s.F.Arcs(l)[e.Left]
	}
	if e.Right >= 0 {
		right = &s.F.Arcs(r)[e.Right]
	}
	return left, right
}

func (s *Square[W]) Out(p int32) []Arc { return s.List[s.First[p]:s.First[p+1]] }

// Explore builds the square, pairs in breadth-first order from that of the start
// state with itself, number 0.
func (s *Square[W]) Explore() error {
	start := s.F.Start()
	s.ids = fst.NewTable(fst.Mix)
	s.Pairs, s.First, s.List = nil, []int64{0}, nil
	if start == fst.NoState || s.Live != nil && !s.Live[start] {
		return nil
	}
	s.id(start, start)
	for p := int32(0); int(p) < len(s.Pairs); p++ {
		if err := s.expand(p); err != nil {
			return err
		}
		s.First = append(s.First, int64(len(s.List)))
		if err := s.Check(); err != nil {
			return err
		}
	}
	if s.Shared {
		s.trimPairs()
	}
	return nil
}

// Check holds the square against its budget and its caller's limits, which count
// its pairs as states and their arcs as arcs.
func (s *Square[W]) Check() error {
	arcs := int64(len(s.List)) + s.looked
	if s.budget > 0 && int64(len(s.Pairs))+arcs > s.budget || len(s.Pairs) >= 1<<31-1 {
		return ErrUndecided
	}
	return s.Meter.Check(run.Progress{States: len(s.Pairs), Arcs: arcs,
		Bytes: int64(len(s.Pairs))*(pairBytes+s.PerPair) + int64(len(s.List))*pairArcBytes + s.Held})
}

// look is check that looks at the context now, for loops whose rounds are long.
func (s *Square[W]) look() error {
	s.Meter = s.Meter.AtOnce()
	return s.Check()
}

// Sizes of a pair in the list of pairs, the table and the ends of its arcs, and of an arc. They
// include room to grow, and what the search backwards from final pairs takes.
const (
	pairBytes    = 64
	pairArcBytes = 24
)

// trimPairs drops the arcs that lead to pairs that are not coaccessible.
func (s *Square[W]) trimPairs() {
	rest := s.finalDistances()
	kept := s.List[:0]
	at := int64(0)
	for p := range s.Pairs {
		for _, e := range s.List[at:s.First[p+1]] {
			if rest[e.To] >= 0 {
				kept = append(kept, e)
			}
		}
		at = s.First[p+1]
		s.First[p+1] = int64(len(kept))
	}
	s.List = kept
}

func (s *Square[W]) id(l, r fst.StateID) int32 {
	k := PairKey(l, r)
	id, isNew := s.ids.ID(k)
	if isNew {
		s.Pairs = append(s.Pairs, k)
	}
	return int32(id)
}

// checkPairArcs is how many pairs of arcs expand reads between two checks. One pair of states with
// k arcs each has k², far more than the limits may allow.
const checkPairArcs = 4096

// expand appends the arcs of pair p; its errors are those of check.
//
// Where ε moves one side alone, moves of the two sides may come in any order. Of a state that is
// not final and has no other arcs, some arc will be next on its side. What the other side does on ε
// meanwhile can as well come after it. So that move comes first, with no other pairs for the orders
// in which two chains of ε-arcs can be gone along together.
func (s *Square[W]) expand(p int32) error {
	l, r := s.States(p)
	left, right := s.F.Arcs(l), s.F.Arcs(r)
	lo, ro := s.fan(l), s.fan(r)
	if lo.others != nil {
		s.manifold = true
	}
	if l == r && lo.twice != nil {
		s.Single = false
	}
	if !s.epsFree {
		leftFirst := s.readsSilence(l)
		if leftFirst || !s.readsSilence(r) {
			for _, i := range lo.first {
				if left[i].ILabel == fst.Epsilon {
					s.List = append(s.List, Arc{s.id(left[i].NextState, r), i, -1})
				}
			}
		}
		if leftFirst {
			return nil
		}
		for _, k := range ro.first {
			if right[k].ILabel == fst.Epsilon {
				s.List = append(s.List, Arc{s.id(l, right[k].NextState), -1, k})
			}
		}
	}
	seen := 0
	return s.eachLabel(l, r, func(label fst.Label, lo, ro []int32) error {
		if label == fst.Epsilon && !s.epsFree {
			return nil
		}
		for _, i := range lo {
			t := left[i].NextState
			for _, k := range ro {
				if seen++; seen%checkPairArcs == 0 {
					if err := s.look(); err != nil {
						return err
					}
				}
				if t == right[k].NextState && l != r {
					s.Single = false
				}
				s.List = append(s.List, Arc{s.id(t, right[k].NextState), i, k})
			}
		}
		return nil
	})
}

// readsSilence reports whether q is not final and all that leaves it reads ε.
func (s *Square[W]) readsSilence(q fst.StateID) bool {
	if s.silent == nil {
		s.silent = make([]int8, s.F.NumStates())
	}
	if s.silent[q] == 0 {
		s.silent[q] = 1
		arcs := s.F.Arcs(q)
		if fst.IsFinal[W](s.F, q) || slices.ContainsFunc(s.fan(q).first,
			func(k int32) bool { return arcs[k].ILabel != fst.Epsilon }) {
			s.silent[q] = -1
		}
	}
	return s.silent[q] > 0
}

func (s *Square[W]) keep(e *fst.Arc[W]) bool {
	return (s.Live == nil || s.Live[e.NextState]) && !semiring.IsZero(e.Weight)
}

// Components numbers the strongly connected components of the square, without the pairs that are
// gone (nil: none). Arcs go to the same or a higher number. It is Tarjan's algorithm on a stack of
// its own.
func (s *Square[W]) Components(gone []bool) (comp []int32, n int) {
	size := len(s.Pairs)
	comp = make([]int32, size)
	low := make([]int32, size) // 0: not seen
	for i := range comp {
		comp[i] = -1
	}
	type open struct {
		p    int32
		next int64
	}
	var path []open
	var held []int32
	index := int32(0)
	visit := func(p int32) {
		index++
		low[p] = index
		path = append(path, open{p, s.First[p]})
		held = append(held, p)
	}
	number := make([]int32, size) // order of discovery
	for root := range size {
		if low[root] != 0 {
			continue
		}
		visit(int32(root))
		number[root] = index
		for len(path) > 0 {
			top := &path[len(path)-1]
			p := top.p
			if top.next < s.First[p+1] {
				t := s.List[top.next].To
				top.next++
				if gone != nil && (gone[p] || gone[t]) {
					continue
				}
				if low[t] == 0 {
					visit(t)
					number[t] = index
				} else if comp[t] < 0 {
					low[p] = min(low[p], number[t])
				}
				continue
			}
			path = path[:len(path)-1]
			if low[p] == number[p] {
				for {
					t := held[len(held)-1]
					held = held[:len(held)-1]
					comp[t] = int32(n)
					if t == p {
						break
					}
				}
				n++
			}
			if len(path) > 0 {
				q := path[len(path)-1].p
				low[q] = min(low[q], low[p])
			}
		}
	}
	for p := range comp {
		comp[p] = int32(n) - 1 - comp[p]
	}
	return comp, n
}

// path returns a shortest path of the square between two pairs, through pairs
// that inside accepts (nil: all). There must be one.
func (s *Square[W]) path(from, to int32, inside func(int32) bool) []Step {
	if from == to {
		return nil
	}
	via := make(map[int32]Step)
	queue := []int32{from}
	for head := 0; head < len(queue); head++ {
		p := queue[head]
		for _, e := range s.Out(p) {
			if _, seen := via[e.To]; seen || e.To == from || inside != nil && !inside(e.To) {
				continue
			}
			via[e.To] = Step{p, e}
			if e.To == to {
				var steps []Step
				for t := to; t != from; t = via[t].Pair {
					steps = append(steps, via[t])
				}
				slices.Reverse(steps)
				return steps
			}
			queue = append(queue, e.To)
		}
	}
	return nil
}

// distances returns the number of steps to each pair from pair 0.
func (s *Square[W]) distances() []int32 {
	d := make([]int32, len(s.Pairs))
	for p := range int32(len(s.Pairs)) { // in breadth-first order
		for _, e := range s.Out(p) {
			if e.To != 0 && d[e.To] == 0 {
				d[e.To] = d[p] + 1
			}
		}
	}
	return d
}

// finalDistances returns, for each pair, the number of steps on which both sides reach final states
// by one string, -1 where there are none.
func (s *Square[W]) finalDistances() []int32 {
	n := len(s.Pairs)
	first := make([]int64, n+2)
	for _, e := range s.List {
		first[e.To+2]++
	}
	for p := range n {
		first[p+2] += first[p+1]
	}
	from := make([]int32, len(s.List))
	for p := range n {
		for _, e := range s.Out(int32(p)) {
			from[first[e.To+1]] = int32(p)
			first[e.To+1]++
		}
	}
	d := make([]int32, n)
	var queue []int32
	for p := range n {
		d[p] = -1
		l, r := s.States(int32(p))
		if fst.IsFinal[W](s.F, l) && fst.IsFinal[W](s.F, r) {
			d[p] = 0
			queue = append(queue, int32(p))
		}
	}
	for head := 0; head < len(queue); head++ {
		p := queue[head]
		for _, t := range from[first[p]:first[p+1]] {
			if d[t] < 0 {
				d[t] = d[p] + 1
				queue = append(queue, t)
			}
		}
	}
	return d
}
