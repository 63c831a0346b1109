package ops

import (
	"errors"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotClosed reports a sum over paths that did not settle.
var ErrNotClosed = errors.New("weights are not k-closed on this machine, sums round a cycle do not settle")

// ShortestDelta is how close counts as settled by default where sums are reached in
// the limit only, and in OpenFst's tools over all weights.
const ShortestDelta = 1e-6

// ErrNoSource reports a source that is no state of the machine.
var ErrNoSource = errors.New("no such source state")

// Truncation says which sums over weights without the path property are OpenFst's, for comparisons
// with it; the zero value is none. OpenFst relaxes in the order of a queue and drops each change of
// at most Delta, on acyclic machines too. So its sums depend on Delta and on the order of states.
type Truncation struct {
	Truncate  bool // all sums; those that diverge are errors still
	Divergent bool // sums that diverge: what they are once their changes are as small, instead of an error
}

// ShortestDistanceOptions adjusts ShortestDistance; nil is the same as the zero
// value.
type ShortestDistanceOptions struct {
	Queue   Queue         // zero is QueueAuto; over weights without the path property it has no effect unless Truncate is set
	Sources []fst.StateID // where paths begin; nil is the start state
	Reverse bool          // distances to the final states, final weights included; Sources must be nil
	// Delta is the least change of a distance that is passed on, negative none too
	// small. Zero is that, too, over weights with the path property, where distances
	// are then exact, and else ShortestDelta.
	Delta float64
	Truncation
	// FirstPath stops at the first final state that leaves the queue. That state is a nearest
	// one when the queue is QueueShortestFirst, no arc is better than 1̄ and all final weights
	// are equal. It asks for the path property.
	FirstPath bool
	// MaxVisits bounds how often states are relaxed in all before the answer is ErrNotClosed. Zero
	// is a million and a thousand for each state, with Truncate 32 million more. It is no bound
	// where relaxation is known to end: on an acyclic machine, and over weights with the path
	// property.
	MaxVisits int64
	// Touched, if not nil, receives one more than the highest state that a
	// relaxation came to: what OpenFst's vector of distances would be long.
	Touched *int
	// Limits has Ctx, which stops a long computation, and Bytes for distances that are strings. For
	// ShortestDistanceLazy, Bytes holds for everything besides the machine, and States for the
	// states that it meets. Arcs mean nothing, as no machine is made.
	Limits
}

func (o *ShortestDistanceOptions) delta(path bool) float64 {
	switch {
	case o.Delta == 0 && !path:
		return ShortestDelta
	case o.Delta <= 0:
		return 0
	}
	return o.Delta
}

func (o *ShortestDistanceOptions) maxVisits(states int) int64 {
	if o.MaxVisits != 0 {
		return o.MaxVisits
	}
	bound := 1_000_000 + 1000*int64(states)
	if o.Truncate {
		// A float32 that falls by a constant at each turn comes to rest after 2²⁴ of them,
		// as OpenFst's do.
		bound += 1 << 25
	}
	return bound
}

// ShortestDistance returns d with d[q] = ⊕ w(π) over all paths π from the start state (or
// opts.Sources) to q. In reverse the paths lead from q to a final state and include its final
// weight; d[q] is 0̄ where there are none.
//
// The weights must be k-closed for f. Every acyclic f qualifies. So does, over the tropical
// semirings, every f in which no cycle has a negative weight. Over Log and Probability every f does
// whose cycles sum to less than one; the sum is reached in the limit.
//
// Otherwise the error is ErrNotClosed, in a CycleError. Over weights with the path property it has
// a cycle that improves for ever. That is found in time O(states·arcs), since QueueAuto takes first
// in first out for such components. Over others it has the shortest cycle through a state of a
// component whose sums diverge. If MaxVisits is given and reached first, it is a StateError.
// Distances that are no members of the semiring are ErrNotMember in a StateError, with an ArcError
// inside if a weight of the machine is none.
//
// Which algorithm runs:
//   - weights with the path property, and any others with Truncate:
//     relaxation in the order of the queue, where a change of at most Delta is
//     not passed on. With the path property this gives OpenFst's numbers to the
//     last digit.
//   - other weights: component by component in topological order.
//     States on no cycle are summed once, exactly; components of up to 64
//     states whose weights have a Star are solved exactly by elimination;
//     greater ones over Log and Probability by sweeps until nothing changes in
//     float64, else by elimination where it adds few arcs, else by more sweeps (up to
//     MaxVisits, when the last change is within Delta and shows that there is a sum);
//     what remains by relaxation within Delta. Over Log all of this is in float64, and each distance is rounded once.
//     OpenFst skips updates below delta in all of these, and so differs in the fourth digit.
//
// Cost: O(states + arcs) when acyclic, O(arcs + states·log states) when no arc is better than 1̄
// (nearest first), O(states·arcs) otherwise over the tropical semirings. Elimination costs n³/3 in
// a component of n states. Memory: a distance and at most 24 bytes a state. Components of more than
// 64 states over weights without the path property take up to 24 bytes an arc more. In reverse,
// weights with the path property take a copy of the arcs.
//
// The relaxation is Gen-Single-Source of M. Mohri, "Semiring frameworks and
// algorithms for shortest-distance problems", J. Automata, Languages and
// Combinatorics 7(3), 2002, and the elimination Gen-All-Pairs there.
func ShortestDistance[W semiring.Approx[W]](f fst.Expanded[W], opts *ShortestDistanceOptions) ([]W, error) {
	var o ShortestDistanceOptions
	if opts != nil {
		o = *opts
	}
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		return roundedDistances[W, semiring.Log, semiring.Log64](f, &o)
	case fst.Expanded[sums.CarriedProduct]:
		return roundedDistances[W, sums.CarriedProduct, sums.CarriedProduct64](f, &o)
	}
	return shortestDistance[W, W](f, &o)
}

// roundedDistances is shortestDistance with sums rounded to V, which is W.
func roundedDistances[W any, V semiring.Approx[V], D semiring.Approx[D]](f fst.Expanded[V], o *ShortestDistanceOptions) ([]W, error) {
	sums, err := shortestDistance[V, D](f, o)
	if err != nil {
		return nil, err
	}
	d, err := rounded[V]("ShortestDistance", sums)
	if err != nil {
		return nil, err
	}
	return any(d).([]W), nil
}

// ShortestDistanceLog64 is ShortestDistance over Log without the rounding: sums are float64. On a
// long machine these are the potentials to take differences of, as ReweightLog does.
func ShortestDistanceLog64(f fst.Expanded[semiring.Log], opts *ShortestDistanceOptions) ([]semiring.Log64, error) {
	var o ShortestDistanceOptions
	if opts != nil {
		o = *opts
	}
	return shortestDistance[semiring.Log, semiring.Log64](f, &o)
}

// shortestDistance is ShortestDistance with sums carried in D.
func shortestDistance[W semiring.Approx[W], D semiring.Approx[D]](f fst.Expanded[W], o *ShortestDistanceOptions) ([]D, error) {
	const op = "ShortestDistance"
	alg := sums.NewAlgebra[W]()
	if o.FirstPath && !alg.Path {
		return nil, errors.New("ops: ShortestDistance: FirstPath needs weights with the path property")
	}
	if o.Reverse && o.Sources != nil {
		return nil, errors.New("ops: ShortestDistance: Sources cannot be combined with Reverse")
	}
	n := f.NumStates()
	if f.Start() == fst.NoState && o.Sources == nil && !o.Reverse {
		o.touched(0)
		return slices.Repeat([]D{semiring.Zero[D]()}, n), nil
	}
	for _, s := range o.Sources {
		if s < 0 || int(s) >= n {
			return nil, &StateError{Op: op, State: s, Err: ErrNoSource}
		}
	}
	if !alg.Path && !o.Truncate {
		if err := mayOrder(op, o.Queue, f, &alg); err != nil {
			return nil, err
		}
		d, err := sumByComponents[W, D](op, f, o)
		if err == nil && o.Touched != nil {
			o.touched(touchedBySums(f, d, o))
		}
		if !o.Divergent || !errors.Is(err, ErrNotClosed) {
			return d, err
		}
		truncated := *o
		truncated.Truncate = true
		o = &truncated
	} else if !alg.Path && !o.Divergent && !sums.IsTopSorted(f) {
		// Relaxation comes to an end where sums diverge, too: round a cycle that sums to 1
		// the k-th turn adds 1/k.
		if _, err := sumByComponents[W, D](op, f, o); errors.Is(err, ErrNotClosed) || isCancelled(err) {
			return nil, err
		}
	}
	if o.Reverse {
		r, err := reversed(f, &run.Stopwatch{Op: op, Ctx: o.Ctx})
		if err != nil {
			return nil, err
		}
		d, err := relax(op, r, knownReversed(r), &alg, []fst.StateID{0}, true, o)
		if err != nil {
			return nil, unreverse(f, err)
		}
		if o.Touched != nil && *o.Touched > 0 {
			*o.Touched--
		}
		return sums.WidenedAll[W, D](d[1:]), nil
	}
	sources := o.Sources
	if sources == nil {
		sources = []fst.StateID{f.Start()}
	}
	d, err := relax(op, f, knownProperties(f), &alg, sources, false, o)
	return sums.WidenedAll[W, D](d), err
}

// mayOrder returns the error of a queue that f, or its weights, have no order for, where the order
// changes nothing.
func mayOrder[W semiring.Weight[W]](op string, q Queue, f fst.Expanded[W], alg *sums.AlgebraOf[W]) error {
	switch q {
	case QueueAuto, QueueFIFO, QueueLIFO, QueueStateOrder, QueueSCC:
		return nil
	}
	_, _, err := newQueue(op, q, f, knownProperties(f), nil, alg, nil, &run.Stopwatch{Op: op})
	return err
}

// distancesToFinal is shortestDistance in reverse for callers that need only states that the start
// leads to. A cycle elsewhere whose sums do not settle is no error, and neither is a weight there
// outside the semiring. All states elsewhere then have 0̄.
func distancesToFinal[W semiring.Approx[W], D semiring.Approx[D]](f fst.Expanded[W], o *ShortestDistanceOptions) ([]D, error) {
	o.Reverse = true
	divergent := o.Divergent
	o.Divergent = false
	d, err := shortestDistance[W, D](f, o)
	if errors.Is(err, ErrNotClosed) || errors.Is(err, ErrNotMember) {
		if part, less := reachedPartOf(f); less {
			d, err = shortestDistance[W, D](part, o)
		}
	}
	if o.Divergent = divergent; divergent && errors.Is(err, ErrNotClosed) {
		return shortestDistance[W, D](f, o)
	}
	return d, err
}

// reachedPart is a machine without the arcs and final weights of states that its start does not
// lead to.
type reachedPart[W semiring.Weight[W]] struct {
	fst.Expanded[W]
	component []int32 // of states that it leads to, -1 of the others
}

// reachedPartOf also reports whether that is less than f.
func reachedPartOf[W semiring.Weight[W]](f fst.Expanded[W]) (reachedPart[W], bool) {
	c, _ := graph.FindComponents(f, nil, graph.FromStart)
	return reachedPart[W]{f, c.Of}, slices.ContainsFunc(c.Of, func(of int32) bool { return of < 0 })
}

func (p reachedPart[W]) Final(q fst.StateID) W {
	if p.component[q] < 0 {
		return semiring.Zero[W]()
	}
	return p.Expanded.Final(q)
}

func (p reachedPart[W]) Arcs(q fst.StateID) []fst.Arc[W] {
	if p.component[q] < 0 {
		return nil
	}
	return p.Expanded.Arcs(q)
}

func (o *ShortestDistanceOptions) touched(n int) {
	if o.Touched != nil {
		*o.Touched = n
	}
}

// touchedBySums returns Touched where no relaxation ran. It is one more than the highest state that
// an arc leads to from a state with a distance. In reverse, it is one more than the highest state
// that is final or has an arc to a state with a distance.
func touchedBySums[W semiring.Weight[W], D semiring.Weight[D]](f fst.Expanded[W], d []D, o *ShortestDistanceOptions) int {
	top := fst.NoState
	zero := semiring.Zero[D]()
	if !o.Reverse {
		top = f.Start()
		if o.Sources != nil {
			top = slices.Max(append([]fst.StateID{fst.NoState}, o.Sources...))
		}
	}
	for q := range fst.StateID(len(d)) {
		live := !d[q].Equal(zero)
		if o.Reverse {
			if live || slices.ContainsFunc(f.Arcs(q), func(e fst.Arc[W]) bool { return !d[e.NextState].Equal(zero) }) {
				top = q
			}
			continue
		}
		if live {
			for _, e := range f.Arcs(q) {
				top = max(top, e.NextState)
			}
		}
	}
	return int(top) + 1
}

// unreverse translates an error over the reversed f. Its states get the numbers of f, and its arc
// the place of that of f (see outside).
func unreverse[W semiring.Weight[W]](f fst.Expanded[W], err error) error {
	var s *StateError
	var c *CycleError
	switch {
	case errors.As(err, &s):
		s.State--
		var a *ArcError
		if errors.As(err, &a) && errors.Is(err, ErrNotMember) {
			to := fst.StateID(a.Arc - 1)
			a.Arc = slices.IndexFunc(f.Arcs(s.State), func(e fst.Arc[W]) bool { return e.NextState == to && !e.Weight.Member() }) // -1 for a final weight
		}
	case errors.As(err, &c):
		n := len(c.Cycle)
		cycle := make([]ArcRef, n)
		for i := range n { // from the state after c.Cycle[i] back to its own
			p, q := c.Cycle[(i+1)%n].State-1, c.Cycle[i].State-1
			cycle[n-1-i] = ArcRef{p, bestArc[W](f, p, q)}
		}
		c.Cycle = cycle
		if c.Along != "" {
			c.Along = alongCycle[W](f, cycle)
		}
	}
	return err
}

// TotalWeight returns ⊕ w(π) over all successful paths of f: what
// ShortestDistance gives, times the final weights, summed in the order of
// states. Errors are those of ShortestDistance.
func TotalWeight[W semiring.Approx[W]](f fst.Expanded[W], opts *ShortestDistanceOptions) (W, error) {
	var o ShortestDistanceOptions
	if opts != nil {
		o = *opts
	}
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		total, err := sumOfAll[semiring.Log, semiring.Log64](f, &o)
		return any(semiring.Log(total)).(W), err
	case fst.Expanded[sums.CarriedProduct]:
		total, err := sumOfAll[sums.CarriedProduct, sums.CarriedProduct64](f, &o)
		return any(sums.Narrowing[sums.CarriedProduct, sums.CarriedProduct64]()(total)).(W), err
	}
	return sumOfAll[W, W](f, &o)
}

// sumOfAll is TotalWeight with sums carried in D.
func sumOfAll[W semiring.Approx[W], D semiring.Approx[D]](f fst.Expanded[W], o *ShortestDistanceOptions) (D, error) {
	d, err := shortestDistance[W, D](f, o)
	if err != nil {
		return semiring.Zero[D](), err
	}
	total := totalWeight(f, d, o.Reverse)
	if o.Reverse || total.Member() {
		return total, nil
	}
	for q := range fst.StateID(f.NumStates()) {
		if w := f.Final(q); !w.Member() && !semiring.IsZero(d[q]) {
			return total, arcNotMember("TotalWeight", q, -1, w)
		}
	}
	return total, &StateError{Op: "TotalWeight", State: fst.NoState, Err: ErrNotMember}
}

// totalWeight is the sum of all accepting paths, from the distances d from the start, or to the
// final states.
func totalWeight[W semiring.Weight[W], D semiring.Weight[D]](f fst.Expanded[W], d []D, reverse bool) D {
	zero := semiring.Zero[D]()
	if reverse {
		if s := f.Start(); s != fst.NoState {
			return d[s]
		}
		return zero
	}
	// One row: an arc with the distance of each state and its final weight.
	wide := sums.Widening[W, D]()
	terms := make([]fst.Arc[D], 0, len(d))
	for q := range d {
		if w := f.Final(fst.StateID(q)); !semiring.IsZero(w) && !d[q].Equal(zero) {
			terms = append(terms, fst.Arc[D]{Weight: d[q].Times(wide(w))})
		}
	}
	return sums.RowsOf[D, D]().Sum([]D{zero.One()}, terms, zero)
}

// sumByComponents is ShortestDistance for QueueAuto over weights without the
// path property.
func sumByComponents[W semiring.Weight[W], D semiring.Approx[D]](op string, f fst.Expanded[W],
	o *ShortestDistanceOptions) ([]D, error) {
	d, err := sums.ByComponents[W, D](f, o.sums(op))
	if err == nil {
		err = membersOnly(op, f, d, o.Reverse)
	}
	var diverges *sums.Divergence[W, D]
	if errors.As(err, &diverges) {
		err = diverged(op, diverges, o.Reverse)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// sums is o for componentSums.
func (o *ShortestDistanceOptions) sums(op string) *sums.Options {
	return &sums.Options{Op: op, Ctx: o.Ctx, Bytes: o.Bytes, Sources: o.Sources, Reverse: o.Reverse,
		Delta: o.delta(false), Visits: o.maxVisits}
}

// diverged explains a divergence. The reason is a weight outside the semiring, if the component or
// what leads to it has one. Otherwise the error is ErrNotClosed with a cycle through the state.
func diverged[W semiring.Weight[W], D semiring.Weight[D]](op string, e *sums.Divergence[W, D],
	reverse bool) error {
	inside := func(p fst.StateID) bool { return e.Component[p] == e.Component[e.State] }
	live := func(p fst.StateID) bool { return inside(p) || !semiring.IsZero(e.Sums[p]) }
	if err := notMember(op, e.Machine, reverse, live); err != nil {
		return err
	}
	if err := membersOnly(op, e.Machine, e.Sums, reverse); err != nil {
		return err
	}
	if cycle := cycleThrough[W](e.Machine, e.State, inside); cycle != nil {
		return notClosed(op, e.Machine, cycle)
	}
	return &StateError{Op: op, State: e.State, Err: ErrNotClosed}
}

// ShortestDistanceAcyclic returns d with d[q] = ⊕ w(π) over all paths π from the start state to q.
// With reverse the paths lead from q to a final state, final weight included; d[q] is 0̄ where
// there are none.
//
// f must be acyclic; else the error is a CycleError around ErrCyclic. Nothing else is asked of the
// weights: ⊕-sums are finite. Distances that are no members of the semiring are ErrNotMember, as
// for ShortestDistance. Going forward needs ⊗ to distribute over sums on its left, (a⊕b)⊗c; in
// reverse, over sums on its right.
//
// Cost: O(states + arcs): a depth-first search for the order, unless f is known
// or seen to be sorted, and one ⊕ and ⊗ an arc. Over Log and Log64 the sum of a
// state is a scaled sum of exponentials, at one exp an arc
// and one log a state. Over Log sums are float64 along the whole of a path, and are
// rounded once, in the result. They run in a fixed order and do not depend on how the
// states are numbered but for rounding.
//
// This is the shortest-distance algorithm for acyclic graphs of M. Mohri,
// "Semiring frameworks and algorithms for shortest-distance problems", J.
// Automata, Languages and Combinatorics 7(3), 2002, section 3.
func ShortestDistanceAcyclic[W semiring.Weight[W]](f fst.Expanded[W], reverse bool) ([]W, error) {
	order, err := acyclicOrder("ShortestDistanceAcyclic", f)
	if err != nil {
		return nil, err
	}
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		d, err := sumAcyclic[semiring.Log, semiring.Log64](f, order, reverse)
		w, _ := any(d).([]W)
		return w, err
	case fst.Expanded[sums.CarriedProduct]:
		d, err := sumAcyclic[sums.CarriedProduct, sums.CarriedProduct64](f, order, reverse)
		w, _ := any(d).([]W)
		return w, err
	}
	return sumAcyclic[W, W](f, order, reverse)
}

// sumAcyclic is ShortestDistanceAcyclic with sums carried in D.
func sumAcyclic[W semiring.Weight[W], D semiring.Weight[D]](f fst.Expanded[W], order []fst.StateID,
	reverse bool) (d []W, err error) {
	const op = "ShortestDistanceAcyclic"
	var total []D
	if reverse {
		total, err = sums.SweepReverse[W, D](f, order, &run.Stopwatch{})
	} else {
		total, err = sums.SweepForward[W, D](f, order, nil, &run.Stopwatch{})
	}
	if err != nil {
		return nil, err
	}
	if err := membersOnly(op, f, total, reverse); err != nil {
		return nil, err
	}
	return rounded[W](op, total)
}

// acyclicOrder lists the states in topological order; nil is the order of ids.
func acyclicOrder[W semiring.Weight[W]](op string, f fst.Expanded[W]) ([]fst.StateID, error) {
	if sums.IsTopSorted(f) {
		return nil, nil
	}
	order, cycle := topOrder(f, nil)
	if cycle != nil {
		return nil, &CycleError{Op: op, Cycle: cycle, Err: ErrCyclic}
	}
	list := make([]fst.StateID, len(order))
	for q, k := range order {
		list[k] = fst.StateID(q)
	}
	return list, nil
}
