package ops

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ShortestDistanceLazy returns d with d[q] = ⊕ w(π) over all paths π from the start (or
// opts.Sources) to q, for a machine computed on demand. Sources must be states that the machine has
// issued; d covers the states that are reached. It holds d and a queue, and asks for states one by
// one. The machine's own cache is all that there is of its arcs, where ShortestDistance wants them
// whole.
//
// Options and errors are those of ShortestDistance, except that the machine cannot be read in
// Reverse and the Queue is QueueFIFO, which QueueAuto takes here. Sums that are reached only in the
// limit are within Delta. Divergence is told from them as there: round a cycle that sums to 1 the
// k-th turn adds 1/k. So a state is visited again unless what it received since the last time is
// less than half of that, however large Delta is.
//
// Cost: O(states · arcs) at worst, and O(states + arcs) where states are met in topological order.
// This is Gen-Single-Source with a queue of M. Mohri, "Semiring frameworks and algorithms for
// shortest-distance problems", J. Automata, Languages and Combinatorics 7(3):321-350, 2002.
func ShortestDistanceLazy[W semiring.Approx[W]](f fst.Fst[W], opts *ShortestDistanceOptions) ([]W, error) {
	const op = "ShortestDistance"
	var o ShortestDistanceOptions
	if opts != nil {
		o = *opts
	}
	alg := sums.NewAlgebra[W]()
	switch {
	case o.Reverse:
		return nil, errors.New("ops: ShortestDistanceLazy: Reverse needs a machine in memory: Collect it, for ShortestDistance")
	case o.Queue != QueueAuto && o.Queue != QueueFIFO:
		return nil, fmt.Errorf("ops: ShortestDistanceLazy: the queue %q needs a machine in memory: Collect it, for ShortestDistance", o.Queue)
	case o.FirstPath && !alg.Path:
		return nil, errors.New("ops: ShortestDistanceLazy: FirstPath needs weights with the path property")
	}
	sources := o.Sources
	if sources == nil {
		s := f.Start()
		if s == fst.NoState {
			o.touched(0)
			return nil, fst.Err(f)
		}
		sources = []fst.StateID{s}
	}
	known := -1 // how many states there are, where that is known
	if x, ok := f.(fst.Expanded[W]); ok {
		known = x.NumStates()
	}
	for _, s := range sources {
		if s < 0 || known >= 0 && int(s) >= known {
			return nil, &StateError{Op: op, State: s, Err: ErrNoSource}
		}
	}
	if g, ok := any(f).(fst.Fst[semiring.Log]); ok {
		// Beside a sum of 24 bits what the hundred-thousandth turn round a cycle adds is
		// nothing.
		wide, err := relaxLazily[semiring.Log64](op, &inDoubles{f: g}, &o, sources)
		if err != nil {
			return nil, err
		}
		d := make([]semiring.Log, len(wide))
		for q, w := range wide {
			if d[q] = semiring.Log(w); !d[q].Member() {
				return nil, &StateError{Op: op, State: fst.StateID(q), Err: ErrNotMember}
			}
		}
		return any(d).([]W), nil
	}
	return relaxLazily(op, f, &o, sources)
}

// relaxLazily is ShortestDistanceLazy after its arguments have been looked at.
func relaxLazily[W semiring.Approx[W]](op string, f fst.Fst[W], o *ShortestDistanceOptions, sources []fst.StateID) ([]W, error) {
	alg := sums.NewAlgebra[W]()
	r := lazyRelaxation[W]{op: op, f: f, o: o, alg: &alg, delta: o.delta(alg.Path), m: o.Limits.meter(op)}
	for _, s := range sources {
		r.mention(s)
		r.d[s], r.add[s] = alg.One, alg.One
		r.enqueue(s)
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	o.touched(len(r.d))
	return r.d, nil
}

// inDoubles is a machine over Log64 with the weights of one over Log.
type inDoubles struct {
	f    fst.Fst[semiring.Log]
	arcs []fst.Arc[semiring.Log64]
}

func (x *inDoubles) Start() fst.StateID                 { return x.f.Start() }
func (x *inDoubles) Final(q fst.StateID) semiring.Log64 { return semiring.Log64(x.f.Final(q)) }
func (x *inDoubles) Err() error                         { return fst.Err(x.f) }

// Arcs returns arcs that are valid until the next call.
func (x *inDoubles) Arcs(q fst.StateID) []fst.Arc[semiring.Log64] {
	x.arcs = x.arcs[:0]
	for _, e := range x.f.Arcs(q) {
		x.arcs = append(x.arcs, fst.Arc[semiring.Log64]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: semiring.Log64(e.Weight), NextState: e.NextState})
	}
	return x.arcs
}

// lazyRelaxation is relaxation with as many states as have been met.
type lazyRelaxation[W semiring.Approx[W]] struct {
	op      string
	f       fst.Fst[W]
	o       *ShortestDistanceOptions
	alg     *sums.AlgebraOf[W]
	delta   float64
	m       run.Meter
	d, add  []W // add: of what reached a state since it was last visited
	sent    []W // d of each state when it was last visited, without the path property
	waiting []bool
	queue   sums.FIFOQueue
	pred    []fst.StateID // with the path property: the state that improved each last
	visits  []uint32      // of each state, without it
}

func (r *lazyRelaxation[W]) mention(q fst.StateID) {
	for int(q) >= len(r.d) {
		r.d, r.add, r.waiting = append(r.d, r.alg.Zero), append(r.add, r.alg.Zero), append(r.waiting, false)
		if r.alg.Path {
			r.pred = append(r.pred, fst.NoState)
		} else {
			r.sent, r.visits = append(r.sent, r.alg.Zero), append(r.visits, 0)
		}
	}
}

func (r *lazyRelaxation[W]) enqueue(q fst.StateID) {
	if !r.waiting[q] {
		r.waiting[q] = true
		r.queue.Push(q)
	}
}

func (r *lazyRelaxation[W]) run() error {
	look := int64(1024) // visits until the next look for a cycle
	for visits := int64(1); !r.queue.Empty(); visits++ {
		q := r.queue.Pop()
		r.waiting[q] = false
		if bound := r.o.maxVisits(len(r.d)); visits > bound && (r.o.MaxVisits != 0 || !r.alg.Path) {
			return &StateError{Op: r.op, State: q, Err: ErrNotClosed}
		}
		if look--; r.alg.Path && look == 0 {
			if cycle := predCycle(r.f, r.pred); cycle != nil {
				return notClosed(r.op, r.f, cycle)
			}
			look = max(1024, int64(len(r.d)))
		}
		held := int64(cap(r.d)+cap(r.add)+cap(r.sent))*int64(unsafe.Sizeof(r.alg.Zero)) + int64(cap(r.waiting)) +
			4*int64(cap(r.pred)+cap(r.visits)+len(r.queue.Ring))
		if err := r.m.Check(run.Progress{States: len(r.d), Bytes: held}); err != nil {
			return err
		}
		if r.o.FirstPath && !r.f.Final(q).Equal(r.alg.Zero) {
			return fst.Err(r.f)
		}
		x := r.add[q]
		r.add[q] = r.alg.Zero
		if !r.alg.Path {
			r.sent[q] = r.d[q]
			r.visits[q]++
		}
		for i, e := range r.f.Arcs(q) {
			n, w := e.NextState, x.Times(e.Weight)
			r.mention(n)
			sum, add := r.d[n], r.add[n].Plus(w)
			if r.alg.Path {
				sum = sum.Plus(w)
			} else {
				// What has come since the last visit is summed separately. Beside a large sum each
				// arc may be lost to rounding, where all of them together are not.
				sum = r.sent[n].Plus(add)
			}
			settled := r.settles(n, sum)
			if settled && r.alg.Path {
				continue
			}
			if !sum.Member() {
				if !e.Weight.Member() {
					return arcNotMember(r.op, q, i, e.Weight)
				}
				return &StateError{Op: r.op, State: n, Err: ErrNotMember}
			}
			// Without the path property what is too small to be passed on is kept all
			// the same: the sum is the better for it.
			r.d[n], r.add[n] = sum, add
			if settled {
				continue
			}
			if r.alg.Path {
				r.pred[n] = q
			}
			r.enqueue(n)
		}
		if err := fst.Err(r.f); err != nil {
			return err
		}
	}
	return nil
}

// settles reports whether a sum at n is near enough to what was passed on from there, so that
// nothing more need be passed on yet. It counts all that has come since: with several arcs round a
// cycle, each adds less than a turn does.
func (r *lazyRelaxation[W]) settles(n fst.StateID, sum W) bool {
	if r.alg.Path {
		return r.d[n].Near(sum, r.delta)
	}
	delta := r.delta
	if k := r.visits[n]; k > 0 {
		delta = min(delta, 0.5/float64(k))
	}
	return r.sent[n].Near(sum, delta)
}
