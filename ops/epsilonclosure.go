package ops

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

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
		so := &ShortestDistanceOptions{Queue: o.Queue, Delta: o.Delta, Truncation: o.Truncation,
			Limits: o.Limits.workspace()}
		var err error
		if c.truncated, err = newRelaxation("RmEpsilon", f.(fst.Expanded[W]), knownProperties(f), &c.alg, false,
			so, isEpsilon[W]); err != nil {
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

// isClosed reports whether p has its final arcs, all different.
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
			if err := c.heap.Step(c.built, d, arcs, func(e *fst.Arc[W]) bool { return !isEpsilon(e) },
				c.f.Final(p)); err != nil {
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
	c.built.Bytes = c.built.Arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) +
		int64(workers)*int64(len(c.stamp))*(16+int64(unsafe.Sizeof(c.zero))) + 24*int64(c.built.States)
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

// relax computes sums with cycles over weights with the path property, first in first out. No state
// improves more often than there are states, unless a cycle improves for ever.
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
		return &StateError{Op: "RmEpsilon", State: c.closure[state.State], Err: fmt.Errorf("ε-cycle: %w",
			state.Err)}
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
