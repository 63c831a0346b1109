package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// Queue is a queue discipline: the order in which states are relaxed. The choice never changes an
// exact shortest distance. It changes the time, and which of several equally short paths is found.
type Queue uint8

const (
	QueueAuto          Queue = iota // chosen from the machine, see below
	QueueFIFO                       // first in, first out: Bellman and Ford
	QueueLIFO                       // last in, first out
	QueueShortestFirst              // nearest first: Dijkstra; for weights with the path property
	QueueTopOrder                   // topological order; the machine must be acyclic
	QueueStateOrder                 // lowest state first; fit for topologically sorted machines
	QueueSCC                        // components in topological order, each with a queue of its own
)

var queueNames = [...]string{"auto", "fifo", "lifo", "shortest", "top", "state", "scc"}

func (q Queue) String() string {
	if int(q) < len(queueNames) {
		return queueNames[q]
	}
	return fmt.Sprintf("Queue(%d)", q)
}

// ParseQueue reads the names of queue disciplines that the tools use: auto,
// fifo, lifo, shortest, state, top, scc.
func ParseQueue(s string) (Queue, error) {
	for i, n := range queueNames {
		if n == s {
			return Queue(i), nil
		}
	}
	return 0, fmt.Errorf("unknown queue discipline %q; one of auto, fifo, lifo, shortest, state, top, scc is "+
		"expected", s)
}

// newQueue makes the queue of the discipline asked for, over the arcs that keep accepts (nil: all),
// unless the context of w is done. nearest makes queues by distance, for weights with the path
// property. better tells whether any arc is better than 1̄, so that a cycle may be improved for
// ever.
//
// QueueAuto chooses as OpenFst does, from the properties of f that are known without looking. It
// takes state order when sorted, topological order when acyclic, and last in first out when nothing
// is weighted and ⊕ is idempotent. Otherwise it goes by components. Within one it takes the
// shortest first, or first in first out where an arc is better than 1̄ or the weights have no path
// property.
func newQueue[W semiring.Weight[W]](op string, kind Queue, f fst.Expanded[W], known fst.Properties,
	keep func(*fst.Arc[W]) bool,
	alg *sums.AlgebraOf[W], nearest func(states int, moving bool) sums.Queue, w *run.Stopwatch) (q sums.Queue,
	better bool, err error) {
	n := f.NumStates()
	if kind == QueueAuto {
		switch {
		case known&fst.TopSorted != 0 || f.Start() == fst.NoState:
			kind = QueueStateOrder
		case known&fst.Acyclic != 0:
			kind = QueueTopOrder
		case known&fst.Unweighted != 0 && alg.Idempotent:
			kind = QueueLIFO
		}
	}
	switch kind {
	case QueueTopOrder:
		order, cycle := topOrder(f, keep)
		if cycle != nil {
			return nil, false, &CycleError{Op: op, Cycle: cycle, Err: errCyclicInOrder}
		}
		return sums.NewOrderQueue(sums.Positions(order), n), false, nil
	case QueueAuto, QueueSCC:
		c, _, err := graph.FindComponentsWithin(f, keep, 0, w)
		if err != nil {
			return nil, false, err
		}
		return sums.ComponentQueue(f, c, keep, alg, nearest, kind == QueueSCC, w)
	}
	if known&fst.Acyclic == 0 && alg.Path {
		better = sums.AnyBelowOne(f, alg)
	}
	switch kind {
	case QueueFIFO:
		q = &sums.FIFOQueue{}
	case QueueLIFO:
		q = &sums.LIFOQueue{}
	case QueueStateOrder:
		q = sums.NewOrderQueue(nil, n)
	case QueueShortestFirst:
		if !alg.Path {
			return nil, false, fmt.Errorf("ops: %s: the queue %q needs weights with the path property, %s has not",
				op, kind, weightName(alg.Zero))
		}
		q = nearest(n, true)
	default:
		return nil, false, fmt.Errorf("ops: %s: unknown queue discipline %d", op, kind)
	}
	return q, better, nil
}

// relaxation is the state of one run.
type relaxation[W semiring.Weight[W]] struct {
	op       string
	f        fst.Expanded[W]
	queue    sums.Queue
	d        []W
	waiting  []bool
	o        *ShortestDistanceOptions
	delta    float64
	visits   int64
	left     int64 // visits until the next look at limits
	limit    int64 // of visits; 0 before the first look
	touched  fst.StateID
	better   bool          // a cycle may improve for ever
	pred     []fst.StateID // the state that improved each last; kept if better, and for paths
	predArc  []int32       // and by which of its arcs, for paths
	reversed bool          // f is reversed: factors go the other way round

	// Without the path property: what reached each state since it was last relaxed.
	add []W
	// Over the log semirings instead: that, and d, before they are rounded.
	logAdd, logSums []semiring.Log64
	keep            func(*fst.Arc[W]) bool // the arcs that count; nil: all
}

// newRelaxation returns a relaxation in which no state has been reached.
func newRelaxation[W semiring.Approx[W]](op string, f fst.Expanded[W], known fst.Properties,
	alg *sums.AlgebraOf[W], reversed bool,
	o *ShortestDistanceOptions, keep func(*fst.Arc[W]) bool) (*relaxation[W], error) {
	n := f.NumStates()
	r := &relaxation[W]{op: op, f: f, o: o, delta: o.delta(alg.Path), reversed: reversed, touched: -1,
		keep: keep}
	r.d = slices.Repeat([]W{alg.Zero}, n)
	q, better, err := newQueue(op, o.Queue, f, known, keep, alg, sums.Nearest(r.d, alg),
		&run.Stopwatch{Op: op, Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	r.queue = q
	r.waiting = make([]bool, n)
	r.better = better
	if better {
		r.pred = slices.Repeat([]fst.StateID{fst.NoState}, n)
	}
	switch any(alg.Zero).(type) {
	case semiring.Log, semiring.Log64:
		r.logAdd = slices.Repeat([]semiring.Log64{semiring.Zero[semiring.Log64]()}, n)
		r.logSums = slices.Clone(r.logAdd)
	default:
		if !alg.Path {
			r.add = slices.Clone(r.d)
		}
	}
	return r, nil
}

// forget makes q a state that has not been reached.
func (r *relaxation[W]) forget(q fst.StateID, alg *sums.AlgebraOf[W]) {
	r.d[q] = alg.Zero
	if r.add != nil {
		r.add[q] = alg.Zero
	}
	if r.logAdd != nil {
		inf := semiring.Zero[semiring.Log64]()
		r.logAdd[q], r.logSums[q] = inf, inf
	}
}

// enter makes q a source.
func (r *relaxation[W]) enter(q fst.StateID, alg *sums.AlgebraOf[W]) {
	if r.waiting[q] {
		return
	}
	r.d[q] = alg.One
	if r.add != nil {
		r.add[q] = alg.One
	}
	if r.logAdd != nil {
		r.logAdd[q], r.logSums[q] = 0, 0
	}
	r.waiting[q] = true
	r.touched = max(r.touched, q)
	r.queue.Push(q)
}

// relaxAll relaxes until the queue is empty.
func relaxAll[W semiring.Approx[W]](r *relaxation[W], alg *sums.AlgebraOf[W]) error {
	r.visits, r.left, r.limit = 0, 0, 0
	switch r := any(r).(type) {
	case *relaxation[semiring.Tropical]:
		return relaxFloats(r)
	case *relaxation[semiring.Tropical64]:
		return relaxFloats(r)
	case *relaxation[semiring.Log]:
		return relaxLogs(r)
	case *relaxation[semiring.Log64]:
		return relaxLogs(r)
	}
	return relaxGeneric(r, alg)
}

// relax returns the distances from the sources.
func relax[W semiring.Approx[W]](op string, f fst.Expanded[W], known fst.Properties, alg *sums.AlgebraOf[W],
	sources []fst.StateID,
	reversed bool, o *ShortestDistanceOptions) ([]W, error) {
	r, err := newRelaxation(op, f, known, alg, reversed, o, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		r.enter(s, alg)
	}
	err = relaxAll(r, alg)
	o.touched(int(r.touched) + 1)
	if err != nil {
		return nil, err
	}
	return r.d, nil
}

// relaxGeneric is the loop for any weights. add[q] is what reached q since q
// was last relaxed; with the path property it would always be d[q].
func relaxGeneric[W semiring.Approx[W]](r *relaxation[W], alg *sums.AlgebraOf[W]) error {
	add := r.add
	var heap func(*W) int64
	held := int64(0)
	if r.o.Bytes > 0 {
		heap = run.HeapOf[W]()
	}
	for !r.queue.Empty() {
		s := r.queue.Pop()
		if r.o.FirstPath && !r.f.Final(s).Equal(alg.Zero) {
			return nil
		}
		if r.left--; r.left < 0 {
			if err := r.look(s); err != nil {
				return err
			}
		}
		r.waiting[s] = false
		ds := r.d[s]
		if add != nil {
			ds, add[s] = add[s], alg.Zero
		}
		arcs := r.f.Arcs(s)
		for i := range arcs {
			e := &arcs[i]
			if r.keep != nil && !r.keep(e) {
				continue
			}
			t := e.NextState
			r.touched = max(r.touched, t)
			var w W
			if r.reversed {
				w = e.Weight.Times(ds)
			} else {
				w = ds.Times(e.Weight)
			}
			// Close enough is the caller's choice: over Log a cycle converges
			// only in the limit.
			sum := r.d[t].Plus(w)
			if r.d[t].Near(sum, r.delta) {
				continue
			}
			if !sum.Member() {
				return r.outside(s, i)
			}
			if heap != nil {
				if held += heap(&sum) - heap(&r.d[t]); held > r.o.Bytes {
					return &LimitError{Op: r.op, Limit: "bytes", Bound: r.o.Bytes, Built: Progress{Bytes: held},
						Cause: ErrLimit}
				}
			}
			r.d[t] = sum
			if add != nil {
				add[t] = add[t].Plus(w)
			}
			if r.pred != nil {
				r.pred[t] = s
			}
			if r.waiting[t] {
				r.queue.Update(t)
			} else {
				r.waiting[t] = true
				r.queue.Push(t)
			}
		}
	}
	return nil
}

// relaxFloats is relaxGeneric for the tropical semirings, with OpenFst's comparison in the
// arithmetic of T. Weights a and b are close when a ≤ b+δ and b ≤ a+δ.
func relaxFloats[T interface {
	sums.Float
	semiring.Weight[T]
}](r *relaxation[T]) error {
	d, waiting, delta := r.d, r.waiting, T(r.delta)
	inf := T(math.Inf(1))
	near := sums.ByCost[T](r.queue)
	for {
		var s fst.StateID
		if near != nil {
			if s = near.Pop(); s == fst.NoState {
				break
			}
		} else if r.queue.Empty() {
			break
		} else {
			s = r.queue.Pop()
		}
		if r.o.FirstPath && r.f.Final(s) != inf {
			return nil
		}
		if r.left--; r.left < 0 {
			if err := r.look(s); err != nil {
				return err
			}
		}
		waiting[s] = false
		ds := d[s]
		arcs := r.f.Arcs(s)
		touched := r.touched
		for i := range arcs {
			e := &arcs[i]
			t := e.NextState
			touched = max(touched, t)
			w := ds + e.Weight
			if !(w < d[t]) || d[t] <= w+delta {
				if w != w && ds != inf && e.Weight != inf {
					return r.outside(s, i)
				}
				continue
			}
			if w == -inf {
				return r.outside(s, i)
			}
			d[t] = w
			if r.pred != nil {
				r.pred[t] = s
			}
			switch {
			case near == nil && waiting[t]:
				r.queue.Update(t)
			case waiting[t]:
				// Nothing moves in its heaps.
			case near != nil:
				waiting[t] = true
				near.Push(t)
			default:
				waiting[t] = true
				r.queue.Push(t)
			}
		}
		r.touched = touched
	}
	return nil
}

// relaxLogs is relaxGeneric for the log semirings, with OpenFst's arithmetic. Weights and
// comparisons are in T, and sums are carried in float64.
func relaxLogs[T interface {
	sums.Float
	semiring.Weight[T]
}](r *relaxation[T]) error {
	d, waiting := r.d, r.waiting
	near := sums.NearCost[T](r.delta)
	inf := T(math.Inf(1))
	add, sums := r.logAdd, r.logSums
	for !r.queue.Empty() {
		s := r.queue.Pop()
		if r.left--; r.left < 0 {
			if err := r.look(s); err != nil {
				return err
			}
		}
		waiting[s] = false
		x := T(add[s])
		add[s] = semiring.Log64(inf)
		arcs := r.f.Arcs(s)
		for i := range arcs {
			e := &arcs[i]
			if r.keep != nil && !r.keep(e) {
				continue
			}
			t := e.NextState
			r.touched = max(r.touched, t)
			if x == inf || e.Weight == inf {
				continue
			}
			w := x + e.Weight
			if !(w > -inf) {
				return r.outside(s, i)
			}
			if near(d[t], addedLog(d[t], w)) {
				continue
			}
			sums[t] = sums[t].Plus(semiring.Log64(w))
			d[t] = T(sums[t])
			add[t] = add[t].Plus(semiring.Log64(w))
			if waiting[t] {
				r.queue.Update(t)
			} else {
				waiting[t] = true
				r.queue.Push(t)
			}
		}
	}
	return nil
}

// addedLog is a ⊕ b with the difference of a and b rounded to T. It decides what is dropped, where
// one unit in the last place matters.
func addedLog[T sums.Float](a, b T) T {
	if a > b {
		a, b = b, a
	}
	if d := float64(b - a); d < 746 {
		return T(float64(a) - math.Log1p(math.Exp(-d)))
	}
	return a
}

// outside is the error of arc i of s, by which a distance leaves the semiring.
func (r *relaxation[W]) outside(s fst.StateID, i int) error {
	e := &r.f.Arcs(s)[i]
	switch {
	case e.Weight.Member():
		return &StateError{Op: r.op, State: e.NextState, Err: ErrNotMember}
	case r.reversed: // unreverse finds the arc of the machine itself, which leads to s
		return arcNotMember(r.op, e.NextState, int(s), e.Weight)
	}
	return arcNotMember(r.op, s, i, e.Weight)
}

// look is called now and then: at the bound on visits, at the context, and for a cycle among the
// last improvements. Such a cycle is better than 1̄ and would improve for ever. When there is one
// in the machine, one shows up after finitely many visits (B. Cherkassky and A. Goldberg,
// "Negative-cycle detection algorithms", Mathematical Programming 85, 1999). Looking costs
// O(states), so it is done once in as many visits.
func (r *relaxation[W]) look(s fst.StateID) error {
	if r.limit == 0 {
		r.limit = r.o.maxVisits(len(r.d))
	}
	if r.visits > r.limit {
		if r.o.MaxVisits != 0 || !r.ends() {
			return &StateError{Op: r.op, State: s, Err: ErrNotClosed}
		}
		r.limit = math.MaxInt64
	}
	if err := run.Cancelled(r.op, r.o.Ctx); err != nil {
		return err
	}
	step := int64(1024)
	if r.better {
		if r.visits > 0 {
			if cycle := predCycle[W](r.f, r.pred); cycle != nil {
				return notClosed[W](r.op, r.f, cycle)
			}
		}
		step = max(64, int64(len(r.d)))
	}
	r.left = min(step, r.limit-r.visits+1)
	r.visits += r.left
	return nil
}

// ends reports whether relaxation ends, be it after exponentially many visits, as with the
// last-in-first-out queue on a chain of diamonds. It ends without a cycle. It ends where ⊕ chooses,
// since a cycle that is better than 1̄ is found.
func (r *relaxation[W]) ends() bool {
	return sums.NewAlgebra[W]().Path || fst.PropertiesOf(r.f, fst.Acyclic).Has(fst.Acyclic)
}

// predCycle finds a cycle of pred, by which each state of f was improved last; nil is none.
func predCycle[W semiring.Weight[W]](f fst.Fst[W], pred []fst.StateID) []ArcRef {
	mark := make([]int32, len(pred))
	for q := range pred {
		s := fst.StateID(q)
		for s != fst.NoState && mark[s] == 0 {
			mark[s] = int32(q) + 1
			s = pred[s]
		}
		if s == fst.NoState || mark[s] != int32(q)+1 {
			continue
		}
		var cycle []ArcRef
		for t := s; ; {
			p := pred[t]
			cycle = append(cycle, ArcRef{p, bestArc(f, p, t)})
			if t = p; t == s {
				break
			}
		}
		slices.Reverse(cycle)
		return cycle
	}
	return nil
}

// bestArc returns the position of the best arc from p to q.
func bestArc[W semiring.Weight[W]](f fst.Fst[W], p, q fst.StateID) int {
	best := -1
	arcs := f.Arcs(p)
	for i := range arcs {
		if arcs[i].NextState == q && (best < 0 || !arcs[best].Weight.Equal(arcs[best].Weight.Plus(arcs[i].Weight))) {
			best = i
		}
	}
	return best
}
