package sums

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Sums over the paths of machines with cycles, component by component. Outside of components the
// machine is acyclic, and inside x = b ⊕ x·A is solved.

// eliminationStates is the size of the largest component that is solved by elimination. At 64
// states that is some 90,000 steps. Sparse components of more states mostly settle sooner by
// sweeps.
const eliminationStates = 64

// InnerArc is an arc inside a component, states numbered within it.
type InnerArc[W any] struct {
	From, To int32
	W        W
}

// Options adjusts componentSums.
type Options struct {
	Op      string
	Ctx     context.Context
	Bytes   int64                  // that weights may hold; zero is no bound
	Sources []fst.StateID          // nil is the start state
	Reverse bool                   // sums from each state to final ones
	Delta   float64                // changes up to it end an iteration
	Visits  func(states int) int64 // how many steps an iteration over that many states may take
}

// Divergence is the error of a component whose sums were not found.
type Divergence[W semiring.Weight[W], D any] struct {
	Machine   fst.Expanded[W]
	Sums      []D     // so far; those of the component are what enters it
	Component []int32 // of each state
	State     fst.StateID
}

func (e *Divergence[W, D]) Error() string { return fmt.Sprintf("sums diverge at state %d", e.State) }

// ByComponents returns the sums over the paths of f, component by component. It does not look
// whether they are members. The error is a *divergence or that of a limit.
func ByComponents[W semiring.Weight[W], D semiring.Approx[D]](f fst.Expanded[W], o *Options) ([]D, error) {
	op := o.Op
	n := f.NumStates()
	heap := run.HeapOf[D]()
	if o.Bytes <= 0 {
		heap = nil
	}
	w := &run.Stopwatch{Op: op, Ctx: o.Ctx}
	sources := o.Sources
	if sources == nil {
		sources = []fst.StateID{f.Start()}
	}
	if IsTopSorted(f) {
		if heap != nil {
			return sweepSized[W, D](op, f, nil, sources, o.Reverse, o.Bytes, w)
		}
		if o.Reverse {
			return SweepReverse[W, D](f, nil, w)
		}
		return SweepForward[W, D](f, nil, o.Sources, w)
	}
	c, _, err := graph.FindComponentsWithin(f, nil, 0, w)
	if err != nil {
		return nil, err
	}
	if c.N == n && !hasLoop(f) {
		order := make([]fst.StateID, n)
		for q, k := range c.Of {
			order[k] = fst.StateID(q)
		}
		if heap != nil {
			return sweepSized[W, D](op, f, order, sources, o.Reverse, o.Bytes, w)
		}
		if o.Reverse {
			return SweepReverse[W, D](f, order, w)
		}
		return SweepForward[W, D](f, order, o.Sources, w)
	}
	if ways, some := withoutZerosOf(f); some {
		d, err := ByComponents[W, D](ways, o)
		if err != nil {
			return nil, err
		}
		return d[:n], nil
	}
	s := &componentSolver[W, D]{system: system[D]{op: op, o: o}, f: f, c: c,
		d: slices.Repeat([]D{semiring.Zero[D]()}, n), local: make([]int32, n),
		rows: RowsOf[W, D](), wide: Widening[W, D]()}
	list, first := c.Members()
	held := int64(0)
	within := func(members []fst.StateID) error {
		if err := w.Spend(8 * len(members)); err != nil {
			return err
		}
		if heap == nil {
			return nil
		}
		for _, q := range members {
			held += heap(&s.d[q])
		}
		if held > o.Bytes {
			return run.Errors.Limit(run.Exceeded{Op: op, Limit: "bytes", Bound: o.Bytes,
				Built: run.Progress{Bytes: held}, Cause: run.ErrLimit})
		}
		return nil
	}
	if o.Reverse {
		for k := c.N - 1; k >= 0 && err == nil; k-- {
			members := list[first[k]:first[k+1]]
			if err = s.reverse(int32(k), members); err == nil {
				err = within(members)
			}
		}
	} else {
		sums := newPathSums[W](s.d)
		for _, q := range slices.Compact(slices.Sorted(slices.Values(sources))) {
			sums.add(q, s.d[0].One())
		}
		for k := 0; k < c.N && err == nil; k++ {
			members := list[first[k]:first[k+1]]
			if err = s.forward(int32(k), members, sums); err == nil {
				err = within(members)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return s.d, nil
}

// withoutZeros is a machine whose arcs of weight 0̄ lead to one more state, which leads nowhere.
// They keep their places among the arcs of their states. An arc of weight 0̄ reaches nothing, and a
// cycle with one is no cycle. So such arcs must not join states into components. The sum of such a
// component could count as divergent because of a cycle that nothing reaches.
type withoutZeros[W semiring.Weight[W]] struct {
	fst.Expanded[W]
	rows map[fst.StateID][]fst.Arc[W] // of states that have such arcs
	n    int
}

// withoutZerosOf also reports whether f has arcs of weight 0̄ that lead to a state of its own.
// O(arcs) time.
func withoutZerosOf[W semiring.Weight[W]](f fst.Expanded[W]) (withoutZeros[W], bool) {
	z := withoutZeros[W]{Expanded: f, n: f.NumStates()}
	if _, done := f.(withoutZeros[W]); done {
		return z, false
	}
	zero := semiring.Zero[W]()
	for q := range fst.StateID(z.n) {
		arcs := f.Arcs(q)
		if !slices.ContainsFunc(arcs, func(e fst.Arc[W]) bool { return e.Weight.Equal(zero) }) {
			continue
		}
		arcs = slices.Clone(arcs)
		for i := range arcs {
			if arcs[i].Weight.Equal(zero) {
				arcs[i].NextState = fst.StateID(z.n)
			}
		}
		if z.rows == nil {
			z.rows = map[fst.StateID][]fst.Arc[W]{}
		}
		z.rows[q] = arcs
	}
	return z, z.rows != nil
}

func (z withoutZeros[W]) NumStates() int { return z.n + 1 }

func (z withoutZeros[W]) Final(q fst.StateID) W {
	if int(q) == z.n {
		return semiring.Zero[W]()
	}
	return z.Expanded.Final(q)
}

func (z withoutZeros[W]) Arcs(q fst.StateID) []fst.Arc[W] {
	if int(q) == z.n {
		return nil
	}
	if arcs, some := z.rows[q]; some {
		return arcs
	}
	return z.Expanded.Arcs(q)
}

func (z withoutZeros[W]) OutDegree(q fst.StateID) int { return len(z.Arcs(q)) }

func (z withoutZeros[W]) InputSymbols() *fst.SymbolTable  { return fst.InputSymbols(z.Expanded) }
func (z withoutZeros[W]) OutputSymbols() *fst.SymbolTable { return fst.OutputSymbols(z.Expanded) }

// hasLoop reports whether an arc leads to the state that it leaves.
func hasLoop[W any](f fst.Expanded[W]) bool {
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i := range arcs {
			if arcs[i].NextState == q {
				return true
			}
		}
	}
	return false
}

// pathSums gathers what arrives at each state.
type pathSums[W, D any] struct {
	add   func(q fst.StateID, w D)
	push  func(x D, e *fst.Arc[W]) // add x⊗w at the end of e
	value func(q fst.StateID) D
}

func newPathSums[W semiring.Weight[W], D semiring.Weight[D]](d []D) pathSums[W, D] {
	wide := Widening[W, D]()
	s := pathSums[W, D]{
		add:   func(q fst.StateID, w D) { d[q] = d[q].Plus(w) },
		push:  func(x D, e *fst.Arc[W]) { d[e.NextState] = d[e.NextState].Plus(x.Times(wide(e.Weight))) },
		value: func(q fst.StateID) D { return d[q] },
	}
	switch s := any(&s).(type) {
	case *pathSums[semiring.Log, semiring.Log64]:
		*s = logPathSums[semiring.Log](len(d))
	case *pathSums[semiring.Log64, semiring.Log64]:
		*s = logPathSums[semiring.Log64](len(d))
	}
	return s
}

func logPathSums[T Float](n int) pathSums[T, semiring.Log64] {
	sums := make([]semiring.LogSum, n)
	return pathSums[T, semiring.Log64]{
		add:   func(q fst.StateID, w semiring.Log64) { sums[q].Add(float64(w)) },
		push:  func(x semiring.Log64, e *fst.Arc[T]) { sums[e.NextState].Add(float64(x) + float64(e.Weight)) },
		value: func(q fst.StateID) semiring.Log64 { return semiring.Log64(sums[q].Sum()) },
	}
}

// system is x = b ⊕ x·A over the states of a component, or x = b ⊕ A·x in reverse.
type system[D semiring.Approx[D]] struct {
	op   string
	o    *Options
	arcs []InnerArc[D] // A
}

type componentSolver[W semiring.Weight[W], D semiring.Approx[D]] struct {
	system[D]
	f     fst.Expanded[W]
	c     graph.Components
	d     []D
	local []int32 // number of each state within its component
	out   []fst.Arc[W]
	rows  rows[W, D]
	wide  func(W) D
}

func (s *componentSolver[W, D]) forward(k int32, members []fst.StateID, sums pathSums[W, D]) error {
	zero := semiring.Zero[D]()
	reached := false
	for i, q := range members {
		s.local[q] = int32(i)
		s.d[q] = sums.value(q)
		reached = reached || !s.d[q].Equal(zero)
	}
	if !reached {
		return nil // and whatever its cycles sum to does not matter
	}
	s.makeRoom(k, members)
	for i, q := range members {
		for _, e := range s.f.Arcs(q) {
			if s.c.Of[e.NextState] == k {
				s.arcs = append(s.arcs, InnerArc[D]{int32(i), s.local[e.NextState], s.wide(e.Weight)})
			}
		}
	}
	if err := s.solve(members); err != nil {
		return err
	}
	for _, q := range members {
		if s.d[q].Equal(zero) {
			continue
		}
		arcs := s.f.Arcs(q)
		for i := range arcs {
			if s.c.Of[arcs[i].NextState] != k {
				sums.push(s.d[q], &arcs[i])
			}
		}
	}
	return nil
}

// makeRoom empties arcs, with room for those of component k: as an array grows, the old ones are
// there, too.
func (s *componentSolver[W, D]) makeRoom(k int32, members []fst.StateID) {
	s.arcs = s.arcs[:0]
	if len(members) <= eliminationStates {
		return
	}
	n := 0
	for _, q := range members {
		arcs := s.f.Arcs(q)
		for i := range arcs {
			if s.c.Of[arcs[i].NextState] == k {
				n++
			}
		}
	}
	if n > cap(s.arcs) {
		s.arcs = make([]InnerArc[D], 0, n)
	}
}

func (s *componentSolver[W, D]) reverse(k int32, members []fst.StateID) error {
	for i, q := range members {
		s.local[q] = int32(i)
	}
	zero := semiring.Zero[D]()
	reached := false
	s.makeRoom(k, members)
	for i, q := range members {
		s.out = s.out[:0]
		for _, e := range s.f.Arcs(q) {
			if s.c.Of[e.NextState] == k {
				s.arcs = append(s.arcs, InnerArc[D]{int32(i), s.local[e.NextState], s.wide(e.Weight)})
			} else {
				s.out = append(s.out, e)
			}
		}
		s.d[q] = s.rows.Sum(s.d, s.out, s.f.Final(q))
		reached = reached || !s.d[q].Equal(zero)
	}
	if !reached {
		return nil
	}
	return s.solve(members)
}

// solve replaces d at the members, which is b, by the solution of the system.
func (s *componentSolver[W, D]) solve(members []fst.StateID) error {
	if len(s.arcs) == 0 {
		return nil
	}
	b := make([]D, len(members))
	for i, q := range members {
		b[i] = s.d[q]
	}
	if bad := OutsideOf[D]()(b); bad >= 0 {
		return s.failure(members, bad)
	}
	bad := s.solveReal(b)
	if bad == NotTried {
		if bad = s.eliminate(b); bad == NotTried {
			var err error
			if bad, err = s.iterate(b); err != nil {
				return err
			}
		}
	}
	if bad == interrupted {
		return run.Cancelled(s.o.Op, s.o.Ctx)
	}
	if bad >= 0 {
		return s.failure(members, bad)
	}
	for i, q := range members {
		s.d[q] = b[i]
	}
	return nil
}

// failure is the error of a component that is not solved because of the state members[bad].
func (s *componentSolver[W, D]) failure(members []fst.StateID, bad int) error {
	return &Divergence[W, D]{Machine: s.f, Sums: s.d, Component: s.c.Of, State: members[bad]}
}

// What a solver returns besides the state at which the sum diverges.
const (
	Solved      = -1
	NotTried    = -2
	interrupted = -3 // by the context
)

// eliminate solves by elimination of one state after the other, for weights
// with a Star, but for sets of strings with idempotent weights.
func (s *system[D]) eliminate(b []D) int {
	n := len(b)
	if _, ok := any(b[0]).(semiring.Star[D]); !ok || n > eliminationStates {
		return NotTried
	}
	if s, ok := any(b[0]).(interface {
		Len() int // a set
		IdempotentWeights() bool
	}); ok && s.IdempotentWeights() {
		return NotTried // relaxation comes to an end, with weights rounded as along a path
	}
	zero := semiring.Zero[D]()
	a := slices.Repeat([]D{zero}, n*n)
	for _, e := range s.arcs {
		k := int(e.From)*n + int(e.To)
		a[k] = a[k].Plus(e.W)
	}
	star := make([]D, n)
	for p := range n {
		w, ok := any(a[p*n+p]).(semiring.Star[D]).Star()
		if !ok {
			return p
		}
		star[p] = w
		for i := p + 1; i < n; i++ {
			aip := a[i*n+p]
			if aip.Equal(zero) {
				continue
			}
			through := aip.Times(w)
			for j := p + 1; j < n; j++ {
				if apj := a[p*n+j]; !apj.Equal(zero) {
					a[i*n+j] = a[i*n+j].Plus(through.Times(apj))
				}
			}
			if s.o.Reverse {
				b[i] = b[i].Plus(through.Times(b[p]))
			}
		}
		if !s.o.Reverse {
			through := b[p].Times(w)
			for j := p + 1; j < n; j++ {
				b[j] = b[j].Plus(through.Times(a[p*n+j]))
			}
		}
	}
	for p := n - 1; p >= 0; p-- {
		x := b[p]
		for i := p + 1; i < n; i++ {
			if s.o.Reverse {
				x = x.Plus(a[p*n+i].Times(b[i]))
			} else {
				x = x.Plus(b[i].Times(a[i*n+p]))
			}
		}
		if s.o.Reverse {
			b[p] = star[p].Times(x)
		} else {
			b[p] = x.Times(star[p])
		}
	}
	return Solved
}

// stringed is implemented by pairs of a string and a weight.
type stringed[W any] interface{ WithStringOf(W) W }

// factorsOut reports whether strings that differ only further on may be passed on as what they have
// in common. That is so where arcs multiply on the side on which ⊗ distributes.
func (s *system[D]) factorsOut() bool {
	switch any(semiring.Zero[D]()).(type) {
	case interface {
		stringed[D]
		LeftOnly()
	}:
		return s.o.Reverse
	case interface {
		stringed[D]
		RightOnly()
	}:
		return !s.o.Reverse
	}
	return false
}

// iterate solves by relaxation first in, first out.
//
// Over pairs of a string and a weight, what is passed on has the string of the sum so far, not that
// of what is new. Otherwise the strings of more and more turns round a cycle would grow, and the
// time would be quadratic in the visits, though the sum needs only their common part. So no string
// is longer than the first that came to a state.
func (s *system[D]) iterate(b []D) (int, error) {
	n := len(b)
	first := make([]int32, n+2)
	from := func(e *InnerArc[D]) (int32, int32) {
		if s.o.Reverse {
			return e.To, e.From
		}
		return e.From, e.To
	}
	for i := range s.arcs {
		p, _ := from(&s.arcs[i])
		first[p+2]++
	}
	for p := range n {
		first[p+2] += first[p+1]
	}
	type step struct {
		to int32
		w  D
	}
	steps := make([]step, len(s.arcs))
	for i := range s.arcs {
		p, q := from(&s.arcs[i])
		steps[first[p+1]] = step{q, s.arcs[i].W}
		first[p+1]++
	}
	add := slices.Clone(b)
	waiting := make([]bool, n)
	var queue FIFOQueue
	zero := semiring.Zero[D]()
	for p := range n {
		if !b[p].Equal(zero) {
			waiting[p] = true
			queue.Push(fst.StateID(p))
		}
	}
	factorsOut := s.factorsOut()
	delta, limit := s.o.Delta, s.o.Visits(n)
	for visits := int64(0); !queue.Empty(); visits++ {
		p := queue.Pop()
		if visits == limit {
			return int(p), nil
		}
		if visits&63 == 0 {
			if err := run.Cancelled(s.o.Op, s.o.Ctx); err != nil {
				return 0, err
			}
		}
		waiting[p] = false
		x := add[p]
		if factorsOut {
			x = any(x).(stringed[D]).WithStringOf(b[p])
		}
		add[p] = zero
		for _, e := range steps[first[p]:first[p+1]] {
			w := x.Times(e.w)
			if s.o.Reverse {
				w = e.w.Times(x)
			}
			// What is too small to be passed on is kept all the same: it costs
			// nothing, and the sum is the better for it.
			sum := b[e.to].Plus(w)
			settled := b[e.to].Near(sum, delta)
			b[e.to], add[e.to] = sum, add[e.to].Plus(w)
			if !sum.Member() {
				return int(e.to), nil
			}
			if !settled && !waiting[e.to] {
				waiting[e.to] = true
				queue.Push(fst.StateID(e.to))
			}
		}
	}
	return Solved, nil
}

// solveReal solves over Log64 and Probability in real arithmetic, scaled so that the greatest of b
// is 1. It takes elimination, or sweeps when the component is large. Over the log semirings numbers
// that could leave the range of float64 get a scale for each state.
func (s *system[D]) solveReal(b []D) int {
	switch s := any(s).(type) {
	case *system[semiring.Log64]:
		return solveLog(s, any(b).([]semiring.Log64))
	case *system[semiring.Probability]:
		b := any(b).([]semiring.Probability)
		scale := float64(slices.Max(b))
		x := make([]float64, len(b))
		for i := range b {
			x[i] = float64(b[i]) / scale
		}
		bad := SolveLinear(s.real(func(w semiring.Probability) float64 { return float64(w) }), x, 0, s.o)
		for i := range b {
			b[i] = semiring.Probability(x[i] * scale)
			if bad == Solved && !b[i].Member() {
				bad = i
			}
		}
		return bad
	}
	return NotTried
}

// RealArcs are the arcs of a component with real numbers, made from its own where they are looked
// at: there may be millions.
type RealArcs struct {
	n    int
	ends func(i int) (from, to int32)
	real func(i int) float64
}

// real gives the arcs as real numbers, turned round in reverse.
func (s *system[D]) real(real func(D) float64) RealArcs {
	arcs := s.arcs
	r := RealArcs{
		n:    len(arcs),
		ends: func(i int) (from, to int32) { return arcs[i].From, arcs[i].To },
		real: func(i int) float64 { return real(arcs[i].W) },
	}
	if s.o.Reverse {
		r.ends = func(i int) (from, to int32) { return arcs[i].To, arcs[i].From }
	}
	return r
}

// list returns the arcs themselves.
func (r RealArcs) list() []InnerArc[float64] {
	arcs := make([]InnerArc[float64], r.n)
	for i := range arcs {
		from, to := r.ends(i)
		arcs[i] = InnerArc[float64]{from, to, r.real(i)}
	}
	return arcs
}

// RealList is list the other way round.
func RealList(arcs []InnerArc[float64]) RealArcs {
	return RealArcs{
		n:    len(arcs),
		ends: func(i int) (from, to int32) { return arcs[i].From, arcs[i].To },
		real: func(i int) float64 { return arcs[i].W },
	}
}

// solveLog solves with the least of b as the scale of all states. Where that leaves the range of
// float64, large components have an exponent for each number. Small ones, which have fewer paths,
// scale each state by the cost of the best path to it.
func solveLog(s *system[semiring.Log64], b []semiring.Log64) int {
	const far = 300 // e^±300 times what a sum of products makes of it stays in range, or is found out below
	least := float64(slices.Min(b))
	if !(math.Abs(least) <= math.MaxFloat64) {
		return NotTried
	}
	direct, inRange := true, true
	for i := range s.arcs {
		if w := float64(s.arcs[i].W); !(w >= -far) || w > far && !math.IsInf(w, 1) {
			if !(w >= -math.MaxFloat64) {
				return int(s.arcs[i].From) // no member
			}
			direct = false
			inRange = inRange && w >= -farthest && (w <= farthest || math.IsInf(w, 1))
		}
	}
	x := make([]float64, len(b))
	for i := range b {
		x[i] = math.Exp(least - float64(b[i]))
		direct = direct && (x[i] > 1e-130 || math.IsInf(float64(b[i]), 1))
		inRange = inRange && (float64(b[i]) <= farthest || math.IsInf(float64(b[i]), 1))
	}
	inRange = inRange && least >= -farthest
	if direct {
		const tiny = 1e-200
		bad := SolveLinear(s.real(func(w semiring.Log64) float64 { return math.Exp(-float64(w)) }), x, tiny, s.o)
		if bad == interrupted {
			return bad
		}
		inside := !slices.ContainsFunc(x, func(x float64) bool { return !(x > tiny && x < 1/tiny) })
		if bad == Solved && inside {
			for i := range x {
				b[i] = semiring.Log64(least - math.Log(x[i]))
			}
		}
		if inside || bad != Solved && len(b) <= eliminationStates {
			return bad
		}
	}
	if len(b) > eliminationStates && inRange {
		return SweepCosts(s.real(func(w semiring.Log64) float64 { return float64(w) }), b, s.o)
	}
	return solveScaled(s, b, x)
}

// solveScaled divides the unknowns by e^-d(q), where d(q) is the cost of the best path to q. Then
// y(q) = x(q)·e^d(q) solves the system in which an arc from p to q weighs e^-(w+d(p)-d(q)). Each of
// these is at most 1, and each y is at least 1. The best paths exist when the sums do: a cycle of
// negative cost sums to more than one.
func solveScaled(s *system[semiring.Log64], b []semiring.Log64, x []float64) int {
	arcs := s.real(func(w semiring.Log64) float64 { return float64(w) }).list()
	d := make([]float64, len(b))
	for i := range b {
		d[i] = float64(b[i])
	}
	for round := 0; ; round++ { // Bellman and Ford
		if s.o.Ctx != nil && s.o.Ctx.Err() != nil {
			return interrupted
		}
		changed := Solved
		for _, e := range arcs {
			// A change by rounding alone is none: a cycle of cost about 0 is left
			// to the solver, which finds it to diverge.
			if c := d[e.From] + e.W; c < d[e.To]-1e-12*math.Abs(d[e.To]) || c < d[e.To] && math.IsInf(d[e.To], 1) {
				d[e.To] = c
				changed = int(e.To)
			}
		}
		if changed == Solved {
			break
		}
		if round > len(b) {
			return changed
		}
	}
	reached := arcs[:0]
	for _, e := range arcs {
		if !math.IsInf(d[e.From], 1) && !math.IsInf(e.W, 1) {
			e.W = math.Exp(-(e.W + d[e.From] - d[e.To]))
			reached = append(reached, e)
		}
	}
	for i := range x {
		x[i] = ExpNeg(float64(b[i]) - d[i])
	}
	bad := SolveLinear(RealList(reached), x, 0, s.o)
	if bad == Solved {
		for i := range x {
			if !math.IsInf(d[i], 1) {
				b[i] = semiring.Log64(d[i] - math.Log(x[i]))
			}
		}
	}
	return bad
}

// SolveLinear solves x = b + x·A for non-negative A, with b given in x. It returns solved, or a
// state at which the sum diverges or, for large components, is less than least.
func SolveLinear(arcs RealArcs, x []float64, least float64, o *Options) int {
	n := len(x)
	if n > eliminationStates {
		return SweepLinear(arcs, x, least, o)
	}
	a := make([]float64, n*n)
	for i := range arcs.n {
		from, to := arcs.ends(i)
		a[int(from)*n+int(to)] += arcs.real(i)
	}
	// No difference is ever taken but 1-a on the diagonal, so that errors stay
	// relative: W. Grassmann, M. Taksar and D. Heyman, "Regenerative analysis
	// and steady state distributions for Markov chains", Operations Research
	// 33(5), 1985.
	for p := range n {
		if !(a[p*n+p] < 1) {
			return p
		}
		row, star := a[p*n:p*n+n], 1/(1-a[p*n+p])
		for i := p + 1; i < n; i++ {
			if a[i*n+p] == 0 {
				continue
			}
			w := a[i*n+p] * star
			to := a[i*n : i*n+n]
			for j := p + 1; j < n; j++ {
				to[j] += w * row[j]
			}
		}
		w := x[p] * star
		for j := p + 1; j < n; j++ {
			x[j] += w * row[j]
		}
	}
	for p := n - 1; p >= 0; p-- {
		for i := p + 1; i < n; i++ {
			x[p] += x[i] * a[i*n+p]
		}
		x[p] /= 1 - a[p*n+p]
	}
	return Solved
}
