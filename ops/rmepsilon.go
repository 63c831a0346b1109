package ops

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// RmEpsilonOptions adjusts RmEpsilon; nil is the same as the zero value.
type RmEpsilonOptions struct {
	// Queue is the order in which ε-cycles are relaxed. Results do not depend on it without
	// Truncate; QueueTopOrder refuses ε-cycles, QueueShortestFirst weights without the path
	// property.
	Queue Queue

	KeepDead bool // keep the states that nothing but ε led to, and those that reach no final state

	// Delta is the least change of a sum round an ε-cycle that is passed on where
	// sums cannot be had exactly; zero is ShortestDelta.
	Delta      float64
	Truncation // of the sums of ε-paths, not for RmEpsilonLazy

	Limits
}

// RmEpsilon removes, in place, the arcs with ε on both sides, and keeps the relation of f. Each
// state gets the arcs and the final weight of all states that it reaches by ε, times the sum of the
// ways there. Arcs of one state that agree in labels and next state are summed. The result is
// trimmed unless KeepDead is set.
//
// States keep their numbers but for the trimming. The arcs of a state come in
// the reverse of the order in which they are found, which is OpenFst's.
//
// The weights must be k-closed for the ε-cycles. Sums over the ε-paths are exact where no cycle is
// reached, and over weights with the path property. With cycles they are as ShortestDistance has
// them: by elimination for weights with a Star, else to within Delta. A sum that diverges is an
// error around ErrNotClosed, a CycleError with a cycle. When an error or a limit stops it, f has
// its relation still, and ε-arcs left. Unless KeepDead is set, what is on no path from the start to
// a final state is not looked at, and no error.
//
// Cost: for each state the ε-closure and its arcs. States are taken in reverse
// topological order of the ε-arcs, so that most closures are one step deep.
//
// After M. Mohri, "Generic epsilon-removal and input epsilon-normalization
// algorithms for weighted transducers", Int. J. Foundations of Computer Science
// 13(1):129-143, 2002.
func RmEpsilon[W semiring.Approx[W]](f *fst.Vector[W], opts *RmEpsilonOptions) error {
	var o RmEpsilonOptions
	if opts != nil {
		o = *opts
	}
	if f.Start() == fst.NoState {
		return nil
	}
	keep := keepUseful
	if o.KeepDead {
		keep = keepAll
	}
	if o.Truncate {
		return removeEpsilons(f, &o, keep)
	}
	exact := o
	exact.Divergent = false
	var err error
	switch g := any(f).(type) {
	case *fst.Vector[semiring.Log]:
		err = removeWide[semiring.Log, semiring.Log64](g, &exact, keep)
	case *fst.Vector[sums.CarriedProduct]:
		err = removeWide[sums.CarriedProduct, sums.CarriedProduct64](g, &exact, keep)
	default:
		if o.Divergent && !sums.NewAlgebra[W]().Path {
			err = removeWide[W, W](f, &exact, keep) // on a copy, as it may have to begin again
		} else {
			err = removeEpsilons(f, &exact, keep)
		}
	}
	if o.Divergent && errors.Is(err, ErrNotClosed) {
		o.Truncate = true
		return removeEpsilons(f, &o, keep)
	}
	return err
}

// removeWide removes the ε-arcs of a copy of f whose weights are D. Arcs get the sums of ε-paths
// state by state, and those of one state are computed from those of the next. Rounding each time
// would accumulate errors, as in the distances of a long chain.
func removeWide[W semiring.Weight[W], D semiring.Approx[D]](f *fst.Vector[W], o *RmEpsilonOptions, keep epsilonKeep) error {
	m := o.Limits.workspace().meter("RmEpsilon")
	if err := m.CheckNow(run.SizeOf[D](f.NumStates(), int64(f.NumArcs()))); err != nil {
		return err
	}
	g := MapInto(f, sums.Widening[W, D]())
	if err := removeEpsilons(g, o, keep); err != nil {
		var cycle *CycleError
		if errors.As(err, &cycle) && cycle.Along != "" { // weights are shown as f has them
			cycle.Along = alongCycle(f, cycle.Cycle)
		}
		return err
	}
	replaceBy(f, g)
	return nil
}

// RmEpsilonPrunedOptions adjusts RmEpsilonPruned: what Prune is asked for.
type RmEpsilonPrunedOptions[W any] struct {
	RmEpsilonOptions
	Prune PruneOptions[W]
}

// RmEpsilonPruned is RmEpsilon with Prune instead of the trimming. After an error f has its
// relation still.
func RmEpsilonPruned[W PathWeight[W]](f *fst.Vector[W], opts *RmEpsilonPrunedOptions[W]) error {
	var o RmEpsilonPrunedOptions[W]
	if opts != nil {
		o = *opts
	}
	if err := thresholdMember("RmEpsilonPruned", o.Prune.Threshold); err != nil {
		return err
	}
	if f.Start() == fst.NoState {
		return nil
	}
	if err := removeEpsilons(f, &o.RmEpsilonOptions, keepEntered); err != nil {
		return err
	}
	return Prune(f, &o.Prune)
}

// RmEpsilonLazy returns f without ε-arcs, to be computed where it is looked at; nothing is trimmed.
// f must not change meanwhile. States keep their numbers, so that there is no table of them to be
// forgotten, and Retain is false. What is held beside the cache is 16 bytes and a weight for each
// state of f that was met.
func RmEpsilonLazy[W semiring.Approx[W]](f fst.Fst[W], opts *RmEpsilonOptions, cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	var o RmEpsilonOptions
	if opts != nil {
		o = *opts
	}
	if o.Truncation != (Truncation{}) {
		return nil, errors.New("ops: RmEpsilonLazy: Truncation is for RmEpsilon")
	}
	if f, ok := any(f).(fst.Fst[semiring.Log]); ok {
		c, err := newEpsilonCloser[semiring.Log64](&inDoubles{f: f}, &o)
		if err != nil {
			return nil, err
		}
		lazy := fst.NewLazy[semiring.Log](&roundedCloser{c: c, f: f}, withSymbols(cache, f, f))
		return any(lazy).(*fst.Lazy[W]), nil
	}
	c, err := newEpsilonCloser(f, &o)
	if err != nil {
		return nil, err
	}
	return fst.NewLazy(c, withSymbols(cache, f, f)), nil
}

// roundedCloser rounds what comes of c, which reads f in doubles.
type roundedCloser struct {
	c    *epsilonCloser[semiring.Log64]
	f    fst.Fst[semiring.Log]
	arcs []fst.Arc[semiring.Log64]
}

func (r *roundedCloser) Start() (fst.StateID, error) { return r.f.Start(), fst.Err(r.f) }

func (r *roundedCloser) Expand(q fst.StateID, dst []fst.Arc[semiring.Log]) (semiring.Log, []fst.Arc[semiring.Log], error) {
	final, arcs, err := r.c.Expand(q, r.arcs[:0])
	r.arcs = arcs
	for _, e := range arcs {
		dst = append(dst, fst.Arc[semiring.Log]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: semiring.Log(e.Weight), NextState: e.NextState})
	}
	return semiring.Log(final), dst, err
}

func isEpsilon[W any](e *fst.Arc[W]) bool { return e.ILabel == fst.Epsilon && e.OLabel == fst.Epsilon }

// What removeEpsilons keeps.
type epsilonKeep int

const (
	keepAll     epsilonKeep = iota
	keepEntered             // not the arcs of states that only ε-arcs lead to: nothing will reach them
	keepUseful              // no states but those that Connect would leave
)

// removeEpsilons does the work.
func removeEpsilons[W semiring.Approx[W]](f *fst.Vector[W], o *RmEpsilonOptions, keep epsilonKeep) error {
	c, err := newEpsilonCloser[W](f, o)
	if err != nil {
		return err
	}
	if o.Queue == QueueTopOrder {
		if _, cycle := topOrder(f, isEpsilon[W]); cycle != nil {
			return &CycleError{Op: "RmEpsilon", Cycle: cycle, Err: errCyclicInOrder}
		}
	}
	// One worker where products of weights have to be asked how large they will be.
	if n := f.NumStates(); o.Workers > 1 && n >= run.AloneStates && c.heap == nil && c.truncated == nil {
		return closeSideBySide(f, o, keep)
	}
	order, _, err := epsilonOrder(f, &run.Stopwatch{Op: "RmEpsilon", Ctx: o.Ctx})
	if err != nil {
		return err
	}
	plan := planRemoval(f, keep, 1)
	c.status = plan.status
	c.live = plan.gone
	p := f.KnownProperties()
	for i := len(order) - 1; i >= 0; i-- {
		q := order[i]
		if plan.status[q] != epsilonOpen {
			continue
		}
		final, arcs, err := c.Expand(q, c.scratch[:0])
		c.scratch = arcs
		if err != nil {
			return err
		}
		f.SetFinal(q, final)
		f.SetArcs(q, arcs)
		plan.status[q] = epsilonClosed
	}
	c.status = nil
	if plan.kept != nil {
		dead := plan.kept
		for q, k := range plan.kept {
			dead[q] = !k
		}
		f.DeleteStates(dead)
	} else {
		for q, s := range plan.status {
			if s != epsilonClosed {
				f.DeleteArcs(fst.StateID(q))
			}
		}
	}
	finishRemoval(f, p, keep, c.lost, o)
	return nil
}

// finishRemoval sets the properties of f, which had p, and trims it if that has not been done. lost
// tells that something sums to 0̄ that was not.
func finishRemoval[W semiring.Weight[W]](f *fst.Vector[W], p fst.Properties, keep epsilonKeep, lost bool, o *RmEpsilonOptions) {
	const kept = fst.Acceptor | fst.Acyclic | fst.InitialAcyclic | fst.TopSorted
	known := p&kept | fst.NoEpsilons
	if known.Has(fst.Acceptor) {
		known |= fst.NoIEpsilons | fst.NoOEpsilons
	}
	f.SetProperties(known, fst.AllProperties)
	switch {
	case keep != keepUseful:
	case lost:
		ConnectWorkers(f, o.Workers)
	default:
		f.SetProperties(fst.Accessible|fst.CoAccessible, fst.Accessible|fst.CoAccessible)
	}
}

// removalPlan is what becomes of each state, found out before any is touched.
type removalPlan struct {
	status []uint32
	gone   bool   // some are epsilonGone
	kept   []bool // whether a state is in the result; nil is all
}

// The status of a state during removal.
const (
	epsilonOpen   = iota // to be closed
	epsilonRaw           // stays as it is and is read: only ε-arcs lead to it
	epsilonClosed        // has its final arcs
	epsilonGone          // on no path from the start to a final state: not looked at
	epsilonMark          // and above: to be closed, in the component of states with the same mark
)

// planRemoval finds the states that are to be closed.
//
// What Connect would leave is known beforehand. After removal, p has an arc to t exactly if an arc
// with a label leads to t from a state that p reaches by ε. So t is reached from the start exactly
// if an arc with a label leads to it from a state that was reached. And t reaches a final state if
// it did before, unless all the weights that it gets as a final state sum to 0̄. The closer reports
// that. Arcs to states that reached no final state are never made. That is work on the arcs before
// removal, which may be many times fewer.
//
// Some states have arcs into them only from unreached states, besides ε-arcs. They are closed all
// the same: the order of arcs depends on it, and is OpenFst's.
func planRemoval[W semiring.Weight[W]](f *fst.Vector[W], keep epsilonKeep, workers int) removalPlan {
	n := f.NumStates()
	p := removalPlan{status: make([]uint32, n)}
	if keep == keepAll {
		return p
	}
	var dead []bool
	if keep == keepUseful {
		dead = graph.Useless(f, workers)
	}
	entered := enteredStates(f, dead, workers)
	drop := dead != nil
	for q, e := range entered {
		switch {
		case dead != nil && dead[q]:
			p.status[q], entered[q] = epsilonGone, false
		case !e:
			p.status[q] = epsilonRaw
			drop = true
		}
	}
	if p.gone = dead != nil; p.gone {
		for q, d := range dead {
			if !d {
				continue
			}
			arcs := f.Arcs(fst.StateID(q))
			for i := range arcs {
				if t := arcs[i].NextState; p.status[t] == epsilonRaw && !isEpsilon(&arcs[i]) {
					p.status[t] = epsilonOpen
				}
			}
		}
	}
	if drop && keep == keepUseful {
		p.kept = entered
	}
	return p
}

// enteredStates marks the start and the states that an arc with a label leads to from a state
// not among dead (nil is none).
func enteredStates[W semiring.Weight[W]](f *fst.Vector[W], dead []bool, workers int) []bool {
	n := f.NumStates()
	workers = Limits{Workers: workers}.workers(n/run.AloneStates + 1)
	marks := make([][]bool, workers)
	for k := range marks {
		marks[k] = make([]bool, n)
	}
	run.InBlocks(n, run.AloneStates, workers, func(k, lo, hi int) {
		entered := marks[k]
		for q := lo; q < hi; q++ {
			if dead != nil && dead[q] {
				continue
			}
			arcs := f.Arcs(fst.StateID(q))
			for i := range arcs {
				if !isEpsilon(&arcs[i]) {
					entered[arcs[i].NextState] = true
				}
			}
		}
	})
	entered := marks[0]
	for _, other := range marks[1:] {
		for q, e := range other {
			entered[q] = entered[q] || e
		}
	}
	entered[f.Start()] = true
	return entered
}

// epsilonOrder lists the states so that ε-arcs go to the right, but inside
// components of the ε-graph, where the order is that of OpenFst. Component k is
// order[first[k]:first[k+1]]; where first is nil, each state is one.
func epsilonOrder[W semiring.Weight[W]](f fst.Expanded[W],
	w *run.Stopwatch) (order []fst.StateID, first []int32, err error) {
	n := f.NumStates()
	order = make([]fst.StateID, n)
	switch p := knownProperties(f); {
	case p&fst.TopSorted != 0:
		for q := range order {
			order[q] = fst.StateID(q)
		}
		return order, nil, nil
	case p&fst.Acyclic != 0:
		position, _ := topOrder(f, isEpsilon[W])
		for q, k := range position {
			order[k] = fst.StateID(q)
		}
		return order, nil, nil
	}
	c, _, err := graph.FindComponentsWithin(f, isEpsilon[W], 0, w)
	if err != nil {
		return nil, nil, err
	}
	order, first = c.Members()
	for k := range c.N {
		slices.Reverse(order[first[k]:first[k+1]])
	}
	return order, first, nil
}

const (
	closeBlock = 128 // states that a worker takes at once, but for components that straddle the end
	closeLater = 4 * closeBlock
)

// closeSideBySide is removeEpsilons by several workers. What a state gets is what it gets from one
// worker, to the bit.
//
// A state needs the closures of the states that it has ε-arcs to, unless they are of its component.
// In the order of closing these come before it. Workers take blocks of that order. A worker that
// meets a state for which it would have to wait puts it aside until after the block. Most of these
// are at the end of another worker's block. No two workers wait for each other: the first state in
// order that is not closed needs no other such state.
//
// Results go to a RowSet, where they stay. Nothing is copied again, f is as it was until all is
// done, and so it is after an error.
func closeSideBySide[W semiring.Approx[W]](f *fst.Vector[W], o *RmEpsilonOptions, keep epsilonKeep) error {
	n := f.NumStates()
	s := &closing[W]{f: f, o: o, finals: make([]W, n), rows: make([]fst.Row, n),
		set: fst.NewRowSet[W](o.Workers)}
	s.failed.Store(-1)
	var plan removalPlan
	var late error
	run.Together(2, func() {}, func(k int) {
		if k == 1 {
			s.order, s.first, late = epsilonOrder(f, &run.Stopwatch{Op: "RmEpsilon", Ctx: o.Ctx})
		} else {
			plan = planRemoval(f, keep, o.Workers)
		}
	})
	if late != nil {
		return late
	}
	s.status, s.live = plan.status, plan.gone
	kept := n
	if plan.kept != nil {
		kept = 0
		s.number = make([]fst.StateID, n)
		for q, keep := range plan.kept {
			s.number[q] = fst.NoState
			if keep {
				s.number[q] = fst.StateID(kept)
				kept++
			}
		}
	}
	run.Together(o.Workers, func() { s.fail(nowhere, errWait) }, s.work) // errWait is not told: a panic goes on
	if s.err != nil {
		return s.err
	}
	p, start := f.KnownProperties(), f.Start()
	if s.number != nil {
		for q, t := range s.number {
			if t != fst.NoState {
				s.finals[t], s.rows[t] = s.finals[q], s.rows[q]
			}
		}
		start = s.number[start]
	} else {
		for q, status := range plan.status {
			if status != epsilonClosed {
				s.finals[q] = f.Final(fst.StateID(q))
			}
		}
	}
	if s.finals = s.finals[:kept]; kept < n/2 {
		s.finals = slices.Clone(s.finals)
	}
	f.Engine(engine.Key{}).SetRows(s.set, s.finals, s.rows[:kept])
	f.SetStart(start)
	finishRemoval(f, p, keep, s.lost, o)
	return nil
}

// closing is the work of several closers on f, and f as they see it: closed where it is.
type closing[W semiring.Approx[W]] struct {
	f      *fst.Vector[W]
	o      *RmEpsilonOptions
	order  []fst.StateID // closed from the last to the first
	first  []int32       // of each component in order; nil where each state is one
	status []uint32
	live   bool
	number []fst.StateID
	finals []W // these three where the status is epsilonClosed
	rows   []fst.Row
	set    *fst.RowSet[W]

	taken        atomic.Int64 // blocks
	states, arcs atomic.Int64 // done
	failed       atomic.Int64 // the place in order of the first that failed: what comes later, down from there, is left out

	mu   sync.Mutex
	err  error // of the state at failed
	lost bool
}

// nowhere is later than no place: all is left out.
const nowhere = math.MaxInt64

// fail notes the error of the state at a place.
func (s *closing[W]) fail(place int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place > s.failed.Load() {
		s.err = err
		s.failed.Store(place)
	}
}

// Start returns the start state of f.
func (s *closing[W]) Start() fst.StateID { return s.f.Start() }

// NumStates returns the number of states of f.
func (s *closing[W]) NumStates() int { return s.f.NumStates() }

func (s *closing[W]) closed(q fst.StateID) bool {
	return atomic.LoadUint32(&s.status[q]) == epsilonClosed
}

// Final returns what q has as a final state by now.
func (s *closing[W]) Final(q fst.StateID) W {
	if s.closed(q) {
		return s.finals[q]
	}
	return s.f.Final(q)
}

// Arcs returns what q has by now.
func (s *closing[W]) Arcs(q fst.StateID) []fst.Arc[W] {
	if s.closed(q) {
		return s.set.At(s.rows[q])
	}
	return s.f.Arcs(q)
}

// boundary is the first place from i on down at which a component begins.
func (s *closing[W]) boundary(i int) int {
	if s.first == nil || i <= 0 || i >= len(s.order) {
		return max(0, min(i, len(s.order)))
	}
	return int(s.first[s.component(i)])
}

// component is the component of the state at place i.
func (s *closing[W]) component(i int) int {
	return sort.Search(len(s.first), func(k int) bool { return int(s.first[k]) > i }) - 1
}

// stretch is a part of a component, of places lo ≤ i < hi, that is still to be closed.
type stretch struct{ lo, hi int }

// mark is the status of the states of the component while they are being closed. They read one
// another, and no other state may read them.
func (r stretch) mark() uint32 { return epsilonMark + uint32(r.lo) }

// work is what worker k does.
func (s *closing[W]) work(k int) {
	lim := *s.o
	lim.Limits = Limits{Ctx: s.o.Ctx} // the others are looked at for all workers together
	c, err := newEpsilonCloser[W](s, &lim)
	if err != nil {
		s.fail(nowhere, err)
		return
	}
	c.status, c.live, c.number = s.status, s.live, s.number
	limits := s.o.Limits.meter("RmEpsilon")
	var later []stretch // put aside, in order
	idle := 0
	more := true
	for more || len(later) > 0 {
		before := c.built
		if more && len(later) < closeLater {
			hi := len(s.order) - int(s.taken.Add(1)-1)*closeBlock
			if more = hi > 0 && int64(hi-1) > s.failed.Load(); more {
				lo := s.boundary(hi - closeBlock)
				if hi = s.boundary(hi); hi > lo {
					later = s.closeBlock(c, k, lo, hi, later)
				}
			}
		}
		waiting := later
		later = later[:0]
		for _, r := range waiting {
			if int64(r.hi-1) > s.failed.Load() {
				later = s.closeStretch(c, k, r, later)
			}
		}
		// The limits are those of all workers' work.
		if states := c.built.States - before.States; states > 0 {
			idle = 0
			built := run.Progress{States: int(s.states.Add(int64(states))),
				Arcs: s.arcs.Add(c.built.Arcs - before.Arcs)}
			built.Bytes = closingBytes[W](built, s.o.Workers*len(c.stamp))
			if err := limits.Check(built); err != nil {
				s.fail(nowhere, err)
			}
		} else if !more || len(later) >= closeLater {
			// Others are at what this one waits for.
			if idle++; idle < 64 {
				runtime.Gosched()
			} else {
				time.Sleep(20 * time.Microsecond)
			}
		}
	}
	if c.lost {
		s.mu.Lock()
		s.lost = true
		s.mu.Unlock()
	}
}

// closingBytes estimates what has been built, and what is in use for stamped states.
func closingBytes[W any](built run.Progress, stamped int) int64 {
	var w W
	return built.Arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(stamped)*(16+int64(unsafe.Sizeof(w))) +
		24*int64(built.States)
}

// closeBlock closes the places lo ≤ i < hi, component by component, and returns later with what has
// to wait.
func (s *closing[W]) closeBlock(c *epsilonCloser[W], k, lo, hi int, later []stretch) []stretch {
	if s.first == nil {
		for i := hi - 1; i >= lo; i-- {
			later = s.closeStretch(c, k, stretch{i, i + 1}, later)
		}
		return later
	}
	for g := s.component(hi - 1); g >= 0 && int(s.first[g]) >= lo; g-- {
		r := stretch{int(s.first[g]), int(s.first[g+1])}
		if r.hi-r.lo > 1 {
			for _, q := range s.order[r.lo:r.hi] {
				if s.status[q] == epsilonOpen {
					atomic.StoreUint32(&s.status[q], r.mark())
				}
			}
		}
		later = s.closeStretch(c, k, r, later)
	}
	return later
}

// closeStretch closes the states of a component, and appends to later what has to wait.
func (s *closing[W]) closeStretch(c *epsilonCloser[W], k int, r stretch, later []stretch) []stretch {
	c.mark = r.mark()
	for i := r.hi - 1; i >= r.lo; i-- {
		q := s.order[i]
		if status := atomic.LoadUint32(&s.status[q]); status == epsilonRaw || status == epsilonGone {
			continue
		}
		final, arcs, err := c.Expand(q, c.scratch[:0])
		c.scratch = arcs
		switch {
		case errors.Is(err, errWait):
			return append(later, stretch{r.lo, i + 1})
		case err != nil:
			s.fail(int64(i), err)
			return later
		}
		s.finals[q], s.rows[q] = final, s.set.Put(k, arcs)
		atomic.StoreUint32(&s.status[q], epsilonClosed)
	}
	return later
}
