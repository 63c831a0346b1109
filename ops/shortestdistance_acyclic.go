package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

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
func sumAcyclic[W semiring.Weight[W], D semiring.Weight[D]](f fst.Expanded[W], order []fst.StateID, reverse bool) (d []W, err error) {
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
