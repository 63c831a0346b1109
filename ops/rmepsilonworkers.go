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
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

const (
	closeBlock = 128 // states that a worker takes at once, but for components that straddle the end
	closeLater = 4 * closeBlock
)

// closeSideBySide is removeEpsilons by several workers. What a state gets is what it gets from one
// worker, to the bit.
//
// A state needs the states that it has ε-arcs to, closed, unless they are of its component. In the
// order in which states are closed these come before it, so workers take blocks of that order, and
// one that meets a state for which it would have to wait puts it aside, for after the block. Most
// of these are at the end of another's block. No two wait for each other: of all states not closed,
// the first in order needs none of the others. (Before, states were sorted into levels, of which
// one was closed after the other; on a random machine of a million arcs the sorting took a seventh
// of what closing did, the results were copied by one worker, and two workers took as long as one.)
//
// Results go to a RowSet, where they stay. Nothing is copied again, f is as it was until all is
// done, and so it is after an error.
func closeSideBySide[W semiring.Approx[W]](f *fst.Vector[W], o *RmEpsilonOptions, keep epsilonKeep) error {
	n := f.NumStates()
	s := &closing[W]{f: f, o: o, finals: make([]W, n), rows: make([]fst.Row, n), set: fst.NewRowSet[W](o.Workers)}
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

// mark is the status of the states of the component, while they are to be closed. They read one
// another, as they are by then, and nobody else may.
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
			built := run.Progress{States: int(s.states.Add(int64(states))), Arcs: s.arcs.Add(c.built.Arcs - before.Arcs)}
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
	return built.Arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(stamped)*(16+int64(unsafe.Sizeof(w))) + 24*int64(built.States)
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
