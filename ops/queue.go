package ops

import (
	"fmt"

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
	return 0, fmt.Errorf("unknown queue discipline %q; one of auto, fifo, lifo, shortest, state, top, scc is expected", s)
}

// newQueue makes the queue of the discipline asked for, over the arcs that keep accepts (nil: all),
// unless the context of w is done. nearest makes queues by distance, for weights with the path
// property. better tells whether any arc is better than 1̄, so that a cycle may be improved for
// ever.
//
// QueueAuto chooses as OpenFst does, from what is known of f without looking (known): in state
// order when sorted, in topological order when acyclic, last in first out when nothing is weighted
// and ⊕ idempotent. Otherwise by components, each shortest first, or first in first out where an
// arc is better than 1̄ or the weights have no path property.
func newQueue[W semiring.Weight[W]](op string, kind Queue, f fst.Expanded[W], known fst.Properties, keep func(*fst.Arc[W]) bool,
	alg *sums.AlgebraOf[W], nearest func(states int, moving bool) sums.Queue, w *run.Stopwatch) (q sums.Queue, better bool, err error) {
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
			return nil, false, fmt.Errorf("ops: %s: the queue %q needs weights with the path property, %s has not", op, kind, weightName(alg.Zero))
		}
		q = nearest(n, true)
	default:
		return nil, false, fmt.Errorf("ops: %s: unknown queue discipline %d", op, kind)
	}
	return q, better, nil
}
