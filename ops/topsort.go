package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrCyclic reports a cycle where there must be none.
var ErrCyclic = errors.New("the machine is cyclic")

// errCyclicInOrder is ErrCyclic where a queue was asked for that needs an order.
var errCyclicInOrder = fmt.Errorf("%w, and the queue needs a topological order (another one does not: QueueAuto; --queue_type=auto)", ErrCyclic)

// ArcRef names an arc: number Arc among the arcs of State.
type ArcRef struct {
	State fst.StateID
	Arc   int
}

// CycleError carries a cycle as the evidence why an operation stopped. The arcs of Cycle are in
// order, each leading to the state of the next and the last to that of the first.
type CycleError struct {
	Op    string
	Cycle []ArcRef
	Err   error // ErrCyclic, or ErrNotClosed for a cycle whose powers do not settle
	// Along tells what is on the cycle, for ErrNotClosed: "labels 1 2, weight -0.5", and what
	// to do.
	Along string
}

// notClosed is the error of a cycle of f that improves for ever, or is among those whose sum
// diverges.
func notClosed[W semiring.Weight[W]](op string, f fst.Fst[W], cycle []ArcRef) *CycleError {
	return &CycleError{Op: op, Cycle: cycle, Err: ErrNotClosed, Along: alongCycle(f, cycle)}
}

// alongCycle prints the labels of a cycle of f, a pair where the two of an arc differ, and its
// weight, with what to do.
func alongCycle[W semiring.Weight[W]](f fst.Fst[W], cycle []ArcRef) string {
	isyms, osyms := fst.InputSymbols(f), fst.OutputSymbols(f)
	w := semiring.One[W]()
	var labels []string
	for _, r := range cycle {
		e := f.Arcs(r.State)[r.Arc]
		w = w.Times(e.Weight)
		text := symbolText(isyms, e.ILabel)
		if out := symbolText(osyms, e.OLabel); out != text {
			text += ":" + out
		}
		if len(labels) < shownArcs {
			labels = append(labels, text)
		}
	}
	if len(labels) < len(cycle) {
		labels = append(labels, "…")
	}
	advice := "each turn improves what goes round it: let it weigh no better than 1̄"
	if _, path := any(w).(semiring.Path[W]); !path {
		advice = "change weights on it, for all cycles through a state must together sum to less than 1̄"
	}
	return fmt.Sprintf("labels %s, weight %s; %s, which is %s", strings.Join(labels, " "), weightText(w), advice, weightText(w.One()))
}

// cycleThrough returns the arcs of a shortest cycle of f through q, on states that inside accepts.
// Of several it is the first in the order of arcs; it is nil if there is none. Arcs of weight 0̄
// lead nowhere. O(states + arcs) of what is inside.
func cycleThrough[W semiring.Weight[W]](f fst.Fst[W], q fst.StateID, inside func(fst.StateID) bool) []ArcRef {
	by := map[fst.StateID]ArcRef{} // the arc by which each state was reached
	queue := []fst.StateID{q}
	for head := 0; head < len(queue); head++ {
		p := queue[head]
		for i, e := range f.Arcs(p) {
			if _, seen := by[e.NextState]; seen || semiring.IsZero(e.Weight) || !inside(e.NextState) {
				continue
			}
			by[e.NextState] = ArcRef{p, i}
			if e.NextState != q {
				queue = append(queue, e.NextState)
				continue
			}
			cycle := []ArcRef{{p, i}}
			for ; p != q; p = by[p].State {
				cycle = append(cycle, by[p])
			}
			slices.Reverse(cycle)
			return cycle
		}
	}
	return nil
}

// shownArcs is how many arcs of a cycle an error shows.
const shownArcs = 8

func (e *CycleError) Error() string {
	var b strings.Builder
	for i, r := range e.Cycle {
		if i == shownArcs {
			fmt.Fprintf(&b, "… (%d arcs) ", len(e.Cycle))
			break
		}
		fmt.Fprintf(&b, "%d -> ", r.State)
	}
	text := fmt.Sprintf("ops: %s: %v: states %s%d", e.Op, e.Err, b.String(), e.Cycle[0].State)
	if e.Along != "" {
		text += ", " + e.Along
	}
	return text
}

func (e *CycleError) Unwrap() error { return e.Err }

// TopSort renumbers the states of f in place so that every arc goes from a lower to a higher state.
// The order is that in which a depth-first search, from the start state and then from the lowest
// state not yet seen, finishes states, reversed. So the start state comes after the states that it
// does not reach, and first when it reaches all. Arcs keep their order.
//
// When f has a cycle it is left as it is, and the error is a CycleError around
// ErrCyclic that holds one.
//
// Cost: O(states + arcs).
func TopSort[W semiring.Weight[W]](f *fst.Vector[W]) error {
	order, cycle := topOrder(f, nil)
	if cycle != nil {
		f.LearnProperties(fst.Cyclic | fst.NotTopSorted)
		return &CycleError{Op: "TopSort", Cycle: cycle, Err: ErrCyclic}
	}
	f.RenumberStates(order)
	yes := fst.Acyclic | fst.InitialAcyclic | fst.TopSorted
	f.SetProperties(yes, yes|fst.Cyclic|fst.InitialCyclic|fst.NotTopSorted)
	return nil
}

// topOrder returns the topological position of every state along the arcs that
// keep accepts (nil: all), or a cycle of such arcs.
func topOrder[W semiring.Weight[W]](f fst.Expanded[W], keep func(*fst.Arc[W]) bool) (order []fst.StateID, cycle []ArcRef) {
	order, found := graph.TopOrder(f, keep)
	for _, r := range found {
		cycle = append(cycle, ArcRef(r))
	}
	return order, cycle
}
