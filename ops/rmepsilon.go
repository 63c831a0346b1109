package ops

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
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
// state by state, and those of one state are made of those of the next: rounded each time they
// would go wrong as the distances of a long chain do.
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
// if an arc with a label leads to it from a state that was; and t reaches a final state if it did,
// unless all the weights that it gets as a final state sum to 0̄, of which the closer tells. Arcs
// to states that reached no final state are never made. That is work on the arcs before removal,
// which may be many times fewer.
//
// The states that nothing but an arc from an unreached state leads to, besides ε-arcs, are closed
// all the same: the order of arcs depends on it, and is OpenFst's.
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
func epsilonOrder[W semiring.Weight[W]](f fst.Expanded[W], w *run.Stopwatch) (order []fst.StateID, first []int32, err error) {
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

// epsilonCloser is the Expander of ε-removal. Its arrays are indexed by state of
// f, and what they hold counts where stamp is that of the present source.
type epsilonCloser[W semiring.Approx[W]] struct {
	f          fst.Fst[W]
	o          *RmEpsilonOptions
	path       bool // ⊕ chooses
	idempotent bool
	zero       W
	round      int32
	stamp      []int32
	state      []epsilonState
	d          []W
	closure    []fst.StateID // in the order in which their arcs are taken
	most       int           // arcs of that state of the closure which has most
	total      int           // arcs of all of its states
	stack      []fst.StateID
	queue      sums.FIFOQueue
	merge      arcMerger
	scratch    []fst.Arc[W]
	meter      run.Meter
	built      run.Progress
	heap       *run.HeapGuard[W] // nil where weights hold nothing outside of themselves
	truncated  *relaxation[W]    // nil where sums are not to be truncated
	alg        sums.AlgebraOf[W]

	// sumAll adds many weights at once; nil unless sums take time in the size of their terms,
	// as sets of strings do. ofStates and ofArcs hold the terms that wait, by state and by arc
	// of the current state.
	sumAll   func([]W) W
	ofStates map[fst.StateID][]W
	ofArcs   map[int32][]W

	// For removal in place; nil or zero when computed on demand.
	status []uint32      // of each state
	live   bool          // some are epsilonGone
	mark   uint32        // epsilonMark and above: wait for open states of other components
	number []fst.StateID // the number that a state will have, if that is to be written at once
	lost   bool          // a state has lost what made it final
}

// epsilonState is what is known of a state in the present closure.
type epsilonState struct {
	into    int32 // ε-arcs from the closure not yet followed
	visited bool
	waiting bool
}

func newEpsilonCloser[W semiring.Approx[W]](f fst.Fst[W], o *RmEpsilonOptions) (*epsilonCloser[W], error) {
	c := &epsilonCloser[W]{f: f, o: o, zero: semiring.Zero[W]()}
	_, c.path = any(c.zero).(semiring.Path[W])
	_, c.idempotent = any(c.zero).(semiring.Idempotent[W])
	if o.Queue == QueueShortestFirst && !c.path {
		return nil, capabilityError[W]("RmEpsilon: the queue shortest", "the path property")
	}
	if o.Queue > QueueSCC {
		return nil, fmt.Errorf("ops: RmEpsilon: unknown queue discipline %d", o.Queue)
	}
	if o.Truncate && !c.path {
		c.alg = sums.NewAlgebra[W]()
		so := &ShortestDistanceOptions{Queue: o.Queue, Delta: o.Delta, Truncation: o.Truncation, Limits: o.Limits.workspace()}
		var err error
		if c.truncated, err = newRelaxation("RmEpsilon", f.(fst.Expanded[W]), knownProperties(f), &c.alg, false, so, isEpsilon[W]); err != nil {
			return nil, err
		}
		c.truncated.keep = c.follows
	}
	c.meter = o.Limits.meter("RmEpsilon")
	c.heap = run.NewHeapGuard[W](&c.meter)
	if w, ok := any(c.zero).(summable[W]); ok {
		c.sumAll, c.ofStates, c.ofArcs = w.Sum, map[fst.StateID][]W{}, map[int32][]W{}
	}
	return c, nil
}

// summable is implemented by weights that sum many at once in less time than one by one.
type summable[W any] interface{ Sum([]W) W }

// Start returns the start state of f: states keep their numbers.
func (c *epsilonCloser[W]) Start() (fst.StateID, error) { return c.f.Start(), fst.Err(c.f) }

// follows reports whether e is an ε-arc to be followed.
func (c *epsilonCloser[W]) follows(e *fst.Arc[W]) bool {
	return isEpsilon(e) && !(c.live && atomic.LoadUint32(&c.status[e.NextState]) == epsilonGone)
}

// isClosed reports whether p has its final arcs, no two of which agree.
func (c *epsilonCloser[W]) isClosed(p fst.StateID) bool {
	return c.status != nil && atomic.LoadUint32(&c.status[p]) == epsilonClosed
}

// waits reports whether the closure of q must wait until t is closed.
func (c *epsilonCloser[W]) waits(q, t fst.StateID) bool {
	s := atomic.LoadUint32(&c.status[t])
	return s == epsilonOpen && t != q || s >= epsilonMark && s != c.mark
}

// errWait is returned by Expand for a state that others have to be closed before.
var errWait = errors.New("ops: RmEpsilon: a state is not closed yet")

// enter makes q a member of the present round.
func (c *epsilonCloser[W]) enter(q fst.StateID) {
	if int(q) >= len(c.stamp) {
		n := max(int(q)+1, 2*len(c.stamp))
		if e, ok := c.f.(fst.Expanded[W]); ok {
			n = e.NumStates()
		}
		c.stamp = append(c.stamp, make([]int32, n-len(c.stamp))...)
		c.state = append(c.state, make([]epsilonState, n-len(c.state))...)
		c.d = append(c.d, make([]W, n-len(c.d))...)
	}
	if c.stamp[q] != c.round {
		c.stamp[q], c.state[q], c.d[q] = c.round, epsilonState{}, c.zero
	}
}

// Expand returns the final weight and the arcs of q after removal.
func (c *epsilonCloser[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	if c.round++; c.round < 0 {
		clear(c.stamp)
		c.round = 1
	}
	if !c.gather(q) {
		return c.zero, dst, errWait
	}
	if err := c.sum(q); err != nil {
		return c.zero, dst, err
	}
	base := len(dst)
	final, ended := c.zero, false
	last := c.closure[len(c.closure)-1]
	lastArcs := c.f.Arcs(last)
	// What no later arc can agree with need not be found again. The arcs of a closed state all
	// differ.
	enterLast := !c.isClosed(last) && !orderedStrictly(lastArcs)
	entered := c.total
	if !enterLast {
		entered -= len(lastArcs)
	}
	c.merge.begin(min(entered, c.most))
	if c.most > manyArcs { // growth would leave as much again to the collector
		dst = slices.Grow(dst, c.most)
	}
	for _, p := range c.closure {
		d := c.d[p]
		arcs := c.f.Arcs(p)
		enter := p != last || enterLast
		// The arcs of a closed state lead to what is kept, by their new numbers if there
		// are any.
		raw := (c.live || c.number != nil) && !c.isClosed(p)
		if c.heap != nil {
			if err := c.heap.Step(c.built, d, arcs, func(e *fst.Arc[W]) bool { return !isEpsilon(e) }, c.f.Final(p)); err != nil {
				return c.zero, dst, err
			}
		}
		for i := range arcs {
			e := &arcs[i]
			if isEpsilon(e) {
				continue
			}
			next := e.NextState
			if raw {
				if c.live && atomic.LoadUint32(&c.status[next]) == epsilonGone {
					continue
				}
				if c.number != nil {
					next = c.number[next]
				}
			}
			w := d.Times(e.Weight)
			k, found := int32(0), false
			if enter {
				k, found = c.merge.find(e.ILabel, e.OLabel, next, int32(len(dst)-base))
			} else if len(c.closure) > 1 {
				k, found = c.merge.look(e.ILabel, e.OLabel, next)
			}
			switch {
			case found && c.sumAll != nil:
				if c.ofArcs[k] == nil {
					c.ofArcs[k] = append(c.ofArcs[k], dst[base+int(k)].Weight)
				}
				c.ofArcs[k] = append(c.ofArcs[k], w)
			case found:
				dst[base+int(k)].Weight = dst[base+int(k)].Weight.Plus(w)
			default:
				dst = append(dst, fst.Arc[W]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: w, NextState: next})
			}
		}
		if w := c.f.Final(p); !w.Equal(c.zero) {
			if ended = true; c.sumAll != nil {
				c.ofArcs[-1] = append(c.ofArcs[-1], d.Times(w))
			} else {
				final = final.Plus(d.Times(w))
			}
		}
	}
	if len(c.ofArcs) > 0 {
		for k, ws := range c.ofArcs {
			if k < 0 {
				final = c.sumAll(ws)
			} else {
				dst[base+int(k)].Weight = c.sumAll(ws)
			}
		}
		clear(c.ofArcs)
	}
	c.lost = c.lost || ended && final.Equal(c.zero)
	if err := fst.Err(c.f); err != nil {
		return c.zero, dst, err
	}
	slices.Reverse(dst[base:])
	if c.heap != nil {
		was := c.f.Final(q)
		c.heap.Finish(run.HeapOfArcs(c.heap.Heap, c.f.Arcs(q))+c.heap.Heap(&was), dst[base:], final)
	}
	return final, dst, c.count(1, len(dst)-base, 1)
}

// orderedStrictly reports whether the input labels of arcs grow, or fall, from each to the next, so
// that no two are alike.
func orderedStrictly[W any](arcs []fst.Arc[W]) bool {
	if len(arcs) < 2 {
		return true
	}
	grow, fall := true, true
	for i := range arcs[1:] {
		grow = grow && arcs[i].ILabel < arcs[i+1].ILabel
		fall = fall && arcs[i].ILabel > arcs[i+1].ILabel
		if !grow && !fall {
			return false
		}
	}
	return true
}

// manyArcs is from how many arcs of one state on room is taken for all at once: few of those will
// agree.
const manyArcs = 1 << 16

// count looks at the limits when states have been closed, and got arcs.
func (c *epsilonCloser[W]) count(states, arcs, workers int) error {
	c.built.States += states
	c.built.Arcs += int64(arcs)
	c.built.Bytes = c.built.Arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(workers)*int64(len(c.stamp))*(16+int64(unsafe.Sizeof(c.zero))) + 24*int64(c.built.States)
	built := c.built
	if c.heap != nil {
		built.Bytes += c.heap.Done
	}
	return c.meter.Check(built)
}

// gather finds the ε-closure of q: from the last found to the first, as a stack
// gives them, and counts the ε-arcs into each member. It returns false if it has to wait.
func (c *epsilonCloser[W]) gather(q fst.StateID) bool {
	c.closure, c.most, c.total = c.closure[:0], 0, 0
	c.stack = append(c.stack[:0], q)
	c.enter(q)
	for len(c.stack) > 0 {
		p := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		if c.state[p].visited {
			continue
		}
		c.state[p].visited = true
		c.closure = append(c.closure, p)
		arcs := c.f.Arcs(p)
		c.most = max(c.most, len(arcs))
		c.total += len(arcs)
		for i := range arcs {
			if c.follows(&arcs[i]) {
				t := arcs[i].NextState
				if c.mark != 0 && c.waits(q, t) {
					return false
				}
				c.enter(t)
				c.state[t].into++
				if !c.state[t].visited {
					c.stack = append(c.stack, t)
				}
			}
		}
	}
	return true
}

// sum computes the sums d of the ε-paths from q to the states of its closure.
func (c *epsilonCloser[W]) sum(q fst.StateID) error {
	c.d[q] = c.zero.One()
	if len(c.closure) == 1 && c.state[q].into == 0 {
		return nil
	}
	if c.truncated != nil {
		if !c.o.Divergent {
			if err := c.exactly(q); err != nil {
				return err
			}
		}
		return c.truncate(q)
	}
	return c.exactly(q)
}

// truncate computes the sums as OpenFst does.
func (c *epsilonCloser[W]) truncate(q fst.StateID) error {
	r := c.truncated
	if s, ok := r.queue.(*sums.SCCQueue); ok {
		s.Restart()
	}
	r.enter(q, &c.alg)
	if err := relaxAll(r, &c.alg); err != nil {
		return err
	}
	for _, p := range c.closure {
		c.d[p] = r.d[p]
		r.forget(p, &c.alg)
	}
	return nil
}

// exactly computes the sums, or finds a cycle on which there are none.
func (c *epsilonCloser[W]) exactly(q fst.StateID) error {
	// In topological order, if there is one: no sum is passed on too early.
	done := 0
	if c.state[q].into == 0 {
		c.stack = append(c.stack[:0], q)
		for len(c.stack) > 0 {
			p := c.stack[len(c.stack)-1]
			c.stack = c.stack[:len(c.stack)-1]
			done++
			arcs := c.f.Arcs(p)
			if c.heap != nil {
				if err := c.heap.Step(c.built, c.d[p], arcs, c.follows, c.zero); err != nil {
					return err
				}
			}
			for i := range arcs {
				if e := &arcs[i]; c.follows(e) {
					t := e.NextState
					if c.sumAll != nil {
						c.ofStates[t] = append(c.ofStates[t], c.d[p].Times(e.Weight))
					} else {
						c.d[t] = c.d[t].Plus(c.d[p].Times(e.Weight))
					}
					if c.state[t].into--; c.state[t].into == 0 {
						if c.sumAll != nil {
							c.d[t] = c.sumAll(c.ofStates[t])
							delete(c.ofStates, t)
						}
						c.stack = append(c.stack, t)
					}
				}
			}
		}
	}
	clear(c.ofStates)
	if done == len(c.closure) {
		return nil
	}
	if c.path {
		return c.relax(q)
	}
	return c.solve(q)
}

// relax computes sums with cycles over weights with the path property, first in
// first out: no state is improved more often than there are states, unless a
// cycle improves for ever.
func (c *epsilonCloser[W]) relax(q fst.StateID) error {
	for _, p := range c.closure {
		c.d[p] = c.zero
	}
	c.d[q] = c.zero.One()
	c.queue.Push(q)
	c.state[q].waiting = true
	limit := int64(len(c.closure))*int64(len(c.closure)) + 1
	for visits := int64(0); !c.queue.Empty(); visits++ {
		if visits > limit {
			c.queue = sums.FIFOQueue{}
			return c.solve(q) // which finds the cycle
		}
		if visits&0xfff == 0xfff {
			if err := c.meter.CheckNow(c.built); err != nil {
				c.queue = sums.FIFOQueue{}
				return err
			}
		}
		p := c.queue.Pop()
		c.state[p].waiting = false
		arcs := c.f.Arcs(p)
		for i := range arcs {
			e := &arcs[i]
			if !c.follows(e) {
				continue
			}
			t := e.NextState
			if sum := c.d[t].Plus(c.d[p].Times(e.Weight)); !sum.Equal(c.d[t]) {
				c.d[t] = sum
				if !c.state[t].waiting {
					c.state[t].waiting = true
					c.queue.Push(t)
				}
			}
		}
	}
	return nil
}

// solve hands the ε-arcs of the closure to ShortestDistance as a machine of
// their own, which solves them exactly where it can.
func (c *epsilonCloser[W]) solve(q fst.StateID) error {
	local := make(map[fst.StateID]fst.StateID, len(c.closure))
	for i, p := range c.closure {
		local[p] = fst.StateID(i)
	}
	g := fst.NewVector[W](len(c.closure))
	var arcs []fst.Arc[W]
	var place []int32 // among the arcs of f
	var first []int32
	for _, p := range c.closure {
		arcs = arcs[:0]
		first = append(first, int32(len(place)))
		for i, e := range c.f.Arcs(p) {
			if c.follows(&e) {
				e.NextState = local[e.NextState]
				arcs = append(arcs, e)
				place = append(place, int32(i))
			}
		}
		g.PushState(c.zero, arcs)
	}
	g.SetStart(local[q])
	d, err := ShortestDistance[W](g, &ShortestDistanceOptions{Delta: c.o.Delta, Limits: c.o.workspace()})
	if err != nil {
		return c.located(err, first, place)
	}
	for i, p := range c.closure {
		c.d[p] = d[i]
	}
	return nil
}

// located translates the states and arcs of an error of solve to those of f.
func (c *epsilonCloser[W]) located(err error, first, place []int32) error {
	var cycle *CycleError
	var state *StateError
	switch {
	case errors.As(err, &cycle):
		out := &CycleError{Op: "RmEpsilon", Err: cycle.Err}
		for _, r := range cycle.Cycle {
			out.Cycle = append(out.Cycle, ArcRef{c.closure[r.State], int(place[int(first[r.State])+r.Arc])})
		}
		if cycle.Along != "" {
			out.Along = alongCycle(c.f, out.Cycle)
		}
		return out
	case errors.As(err, &state):
		return &StateError{Op: "RmEpsilon", State: c.closure[state.State], Err: fmt.Errorf("ε-cycle: %w", state.Err)}
	}
	return renamed(err, "RmEpsilon")
}

// arcMerger finds an arc of the current state with the same labels and next state. It is an
// open-addressing table; slots of earlier rounds count as free, so starting a state costs nothing.
type arcMerger struct {
	slots []mergeSlot
	round uint32
	n     int
}

type mergeSlot struct {
	ilabel, olabel fst.Label
	next           fst.StateID
	at             int32
	round          uint32
}

// begin starts a new source state. Of the arcs to come, ofOne leave a single state, so duplicates
// among them are rare.
func (m *arcMerger) begin(ofOne int) {
	m.n = 0
	if m.round++; m.round == 0 {
		clear(m.slots)
		m.round = 1
	}
	if need := max(64, 1<<bits.Len(uint(2*ofOne))); need > len(m.slots) {
		m.slots = make([]mergeSlot, need) // growth would leave as much again to the collector
	}
}

func mergeHash(il, ol fst.Label, q fst.StateID) uint64 {
	return fst.Mix(uint64(uint32(il))<<32|uint64(uint32(q))) + uint64(uint32(ol))*0x9e3779b97f4a7c15
}

// find returns the place of the arc, or enters it with place at.
func (m *arcMerger) find(il, ol fst.Label, q fst.StateID, at int32) (int32, bool) {
	if 2*m.n >= len(m.slots) {
		m.grow()
	}
	mask := uint64(len(m.slots) - 1)
	for i := mergeHash(il, ol, q) >> 7 & mask; ; i = (i + 1) & mask {
		s := &m.slots[i]
		if s.round != m.round {
			*s = mergeSlot{il, ol, q, at, m.round}
			m.n++
			return at, false
		}
		if s.next == q && s.ilabel == il && s.olabel == ol {
			return s.at, true
		}
	}
}

// look returns the place of the arc, which it does not enter.
func (m *arcMerger) look(il, ol fst.Label, q fst.StateID) (int32, bool) {
	mask := uint64(len(m.slots) - 1)
	for i := mergeHash(il, ol, q) >> 7 & mask; ; i = (i + 1) & mask {
		s := &m.slots[i]
		if s.round != m.round {
			return 0, false
		}
		if s.next == q && s.ilabel == il && s.olabel == ol {
			return s.at, true
		}
	}
}

func (m *arcMerger) grow() {
	old := m.slots
	m.slots = make([]mergeSlot, 2*len(old))
	mask := uint64(len(m.slots) - 1)
	for _, s := range old {
		if s.round == m.round {
			i := mergeHash(s.ilabel, s.olabel, s.next) >> 7 & mask
			for m.slots[i].round == m.round {
				i = (i + 1) & mask
			}
			m.slots[i] = s
		}
	}
}
