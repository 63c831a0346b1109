package structured

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/emirpasic/gods/v2/queues/priorityqueue"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// kBest enumerates strings by a machine B below F, and takes the best by F itself: once the
// next B is no lower than that, nothing better can come.
//
// B is the intersection of the machines of a few large positive weights. Every other training
// output adds the least loss of any candidate, or the largest for negative weights.
func (s *Strings) kBest(ctx context.Context, l *Lattice, w *weighted, d *Decoded[[]int]) error {
	s.seed(l, w, d)
	order := make([]int, 0, len(w.refs))
	for k := range w.refs {
		if w.alpha[k] > 0 {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.alpha[b], w.alpha[a]) })
	order = order[:min(len(order), s.o.Machines)]
	var b *fst.Vector[semiring.Tropical64]
	for {
		var refs [][]int
		var alpha []float64
		for _, k := range order {
			refs, alpha = append(refs, w.refs[k]), append(alpha, w.alpha[k])
		}
		var err error
		if b, err = s.product(ctx, l, refs, alpha); err == nil {
			break
		}
		var large *losses.BudgetError
		if ctx.Err() != nil || len(order) == 0 || !errors.As(err, &large) && !errors.Is(err, ops.ErrLimit) {
			return fmt.Errorf("structured: the bounding machine: %w", err)
		}
		order = order[:len(order)-1] // fewer machines are a looser bound
	}
	rest := 0.0
	for k, ref := range w.refs {
		if slices.Contains(order, k) {
			continue
		}
		low, err := s.extreme(ctx, l, ref, w.alpha[k])
		if err != nil {
			return err
		}
		rest += low
	}
	return rescore(ctx, b, s.o.Budget, s.o.Bytes, func(f float64) float64 { return f + rest },
		func(y []int) float64 { return s.value(w, y) }, d)
}

// extreme returns the least α Δ(y, ref) over the strings of a lattice. It uses lengths and costs of
// an alignment, or the shortest path of a machine where the loss has no rows.
func (s *Strings) extreme(ctx context.Context, l *Lattice, ref []int, alpha float64) (float64, error) {
	if r, ok := newRows(s.loss, [][]int{ref}, []float64{alpha}); ok {
		row := make([]float64, r.width)
		r.start(row)
		return r.bound(row, l.short[0], l.long[0]), nil
	}
	m, err := s.machine(ctx, l.Acceptor(), ref, alpha)
	if err != nil {
		return 0, fmt.Errorf("structured: the bounding machine: %w", err)
	}
	_, f, err := shortest(m)
	return f, err
}

// rescore goes through the strings of b from the best on, at most budget of them. bound turns a
// weight of b into a lower bound on F of that string and all after it.
func rescore(ctx context.Context, b *fst.Vector[semiring.Tropical64], budget int, bytes int64,
	bound func(float64) float64, value func(y []int) float64, d *Decoded[[]int]) error {
	for f, y := range inOrder(b, bytes) {
		low := bound(f)
		// Weights of paths are sums of rounded weights.
		slack := 1e-9 * (math.Abs(low) + math.Abs(f))
		if low-slack >= d.Value {
			d.LowerBound = math.Max(d.LowerBound, d.Value)
			return nil
		}
		if y == nil || d.Steps >= budget { // no room or no time for more
			d.LowerBound = math.Max(d.LowerBound, math.Min(d.Value, low-slack))
			return nil
		}
		if d.Steps%64 == 0 && ctx.Err() != nil {
			return nil
		}
		d.Steps++
		offer(d, y, value(y))
	}
	d.LowerBound = math.Max(d.LowerBound, d.Value) // that were all strings
	return nil
}

// inOrder yields the paths of an acyclic deterministic machine by weight: A* with the exact
// distances to the end, so that each is found after as many steps as it has arcs, times their
// number a state. Beyond the memory given it yields a nil string with the next weight, and
// ends.
func inOrder(b *fst.Vector[semiring.Tropical64], bytes int64) func(yield func(float64, []int) bool) {
	return func(yield func(float64, []int) bool) {
		if b.Start() == fst.NoState {
			return
		}
		rest, err := ops.ShortestDistanceAcyclic(b, true)
		if err != nil {
			yield(math.Inf(-1), nil)
			return
		}
		type node struct {
			total  float64 // weight so far and the best way on
			so     float64
			state  fst.StateID // NoState behind a final weight
			parent int32
			label  int32 // -1 for none
			depth  int32
		}
		var nodes []node
		open := priorityqueue.NewWith(func(x, y int32) int {
			return cmp.Or(cmp.Compare(nodes[x].total, nodes[y].total), cmp.Compare(nodes[y].depth, nodes[x].depth),
				cmp.Compare(x, y))
		})
		push := func(n node) {
			if math.IsInf(n.total, 1) {
				return
			}
			nodes = append(nodes, n)
			open.Enqueue(int32(len(nodes) - 1))
		}
		push(node{float64(rest[b.Start()]), 0, b.Start(), -1, -1, 0})
		for {
			id, ok := open.Dequeue()
			if !ok {
				return
			}
			n := nodes[id]
			if n.state == fst.NoState {
				y := []int{}
				for k := id; k >= 0; k = nodes[k].parent {
					if nodes[k].label >= 0 {
						y = append(y, int(nodes[k].label))
					}
				}
				slices.Reverse(y)
				if !yield(n.total, y) {
					return
				}
				continue
			}
			if int64(len(nodes))*48 > bytes {
				yield(n.total, nil)
				return
			}
			if f := float64(b.Final(n.state)); !math.IsInf(f, 1) {
				push(node{n.so + f, n.so + f, fst.NoState, id, -1, n.depth + 1})
			}
			for _, e := range b.Arcs(n.state) {
				so := n.so + float64(e.Weight)
				push(node{so + float64(rest[e.NextState]), so, e.NextState, id, int32(e.ILabel) - 1, n.depth + 1})
			}
		}
	}
}
