package ops

import (
	"context"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/ops/internal/subsets"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// DeterminizePrunedOptions adjusts DeterminizePruned; nil is the same as the
// zero value, which prunes nothing.
type DeterminizePrunedOptions[W any] struct {
	DeterminizeOptions
	Prune PruneOptions[W] // Distances are not looked at
}

// DividedPath is implemented by divisible weights with the path property.
type DividedPath[W any] interface {
	PathWeight[W]
	semiring.Divisible[W]
}

// DeterminizePruned determinizes f as far as the best paths need it. It returns what Prune would
// leave of Determinize(f), with states in the order in which they are found, best first. Of an
// acceptor only that part is built. So a bound on states or a threshold brings even machines to an
// end that cannot be determinized. A transducer is determinized whole, and then pruned.
//
// A threshold does not end every construction. Suppose that a string within the threshold leads to
// two cycles with the same labels, and only one of them costs nothing. Then states of equal cost
// differ more and more. Such cycles are searched for, and are a TwinsError, as with Determinize: at
// once by a proof, and as a suspicion at a million states. Over Tropical and Tropical64 the
// construction ends if there are no such cycles. Over other weights any breach of the twins
// property is a suspicion.
//
// Cost: a shortest distance of f, the subsets that are kept and one step beyond,
// and the logarithm of their number for each arc.
//
// Weights without the path property cannot be pruned: bound Determinize by its
// Limits instead.
func DeterminizePruned[W DividedPath[W]](f fst.Expanded[W], opts *DeterminizePrunedOptions[W]) (*fst.Vector[W], error) {
	var o DeterminizePrunedOptions[W]
	if opts != nil {
		o = *opts
	}
	if err := thresholdMember("DeterminizePruned", o.Prune.Threshold); err != nil {
		return nil, err
	}
	if fst.PropertiesOf[W](f, fst.Acceptor)&fst.Acceptor == 0 {
		out, err := Determinize(f, &o.DeterminizeOptions)
		if err != nil {
			return nil, err
		}
		o.Prune.Distances = nil
		return out, Prune(out, &o.Prune)
	}
	so := ShortestDistanceOptions{Limits: Limits{Ctx: o.Ctx}}
	if o.Prune.Delta > 0 { // as OpenFst has it, with its own for these distances
		so.Delta = ShortestDelta
	}
	in, err := distancesToFinal[W, W](f, &so)
	if err != nil {
		return nil, renamed(err, "DeterminizePruned")
	}
	d, err := newAcceptorDeterminizer[W](f, &o.DeterminizeOptions)
	if err != nil {
		return nil, err
	}
	p := &lazyPruner[W]{d: d, o: &o.Prune, alg: sums.NewAlgebra[W]()}
	if g := d.m.guard; g != nil {
		g.silent = o.Prune.States > 0
		if start := f.Start(); start != fst.NoState && o.Prune.Threshold != nil &&
			p.alg.Less(*o.Prune.Threshold, p.alg.Zero) {
			limit := in[start].Times(*o.Prune.Threshold)
			g.whole = g.search
			g.search = func(ctx context.Context, op string, budget int64) (*TwinsError, error) {
				if leastCosts[W]() == nil { // a cycle may cost something and never come to the threshold
					b, err := g.whole(ctx, op, budget)
					if b != nil {
						b.Exact = false
					}
					return b, err
				}
				return findCheapTwins(op, f, in, limit, o.Delta, Limits{Bytes: o.Bytes / 2, Ctx: ctx}, budget)
			}
			g.pruned = func(subset, q fst.StateID) bool {
				for _, e := range d.m.table.Of(subset) {
					if e.State == q && int(subset) < len(p.alpha) {
						return !p.alg.Less(limit, p.alpha[subset].Times(e.Residual).Times(in[q]))
					}
				}
				return false
			}
		}
	}
	d.m.added = func(subset []subsets.Element[W]) {
		sum := p.alg.Zero
		for _, e := range subset {
			sum = sum.Plus(e.Residual.Times(in[e.State]))
		}
		p.beta = append(p.beta, sum)
	}
	out, err := p.run()
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	out.LearnProperties(fst.Acceptor | fst.Accessible)
	return out, nil
}

// lazyPruner builds the best part of a machine while that is computed.
type lazyPruner[W DividedPath[W]] struct {
	d           *acceptorDeterminizer[W]
	o           *PruneOptions[W]
	alg         sums.AlgebraOf[W]
	alpha, beta []W // distances from the start, so far, and to the final states
	copies      []fst.StateID
	seen        []uint8
	queue       *run.StateHeap
}

func (p *lazyPruner[W]) grow(q fst.StateID) {
	for int(q) >= len(p.alpha) {
		p.alpha = append(p.alpha, p.alg.Zero)
		p.copies = append(p.copies, fst.NoState)
		p.seen = append(p.seen, 0)
		p.queue.Pos = append(p.queue.Pos, 0)
	}
}

func (p *lazyPruner[W]) run() (*fst.Vector[W], error) {
	const (
		unseen = iota
		waiting
		visited
	)
	out := fst.NewVector[W](0)
	threshold := p.alg.Zero
	if p.o.Threshold != nil {
		threshold = *p.o.Threshold
	}
	start, err := p.d.Start()
	if err != nil || start == fst.NoState || p.o.States < 0 || p.alg.Less(threshold, p.alg.One) ||
		p.beta[start].Equal(p.alg.Zero) {
		return out, err
	}
	limit := p.beta[start].Times(threshold)
	p.queue = run.NewStateHeap(0, true, func(q, r fst.StateID) bool {
		return p.alg.Less(p.alpha[q].Times(p.beta[q]), p.alpha[r].Times(p.beta[r]))
	})
	p.queue.Pos = []int32{} // moving
	p.grow(start)
	p.alpha[start] = p.alg.One
	p.copies[start] = out.AddState()
	out.SetStart(0)
	p.seen[start] = waiting
	p.queue.Push(start)
	var arcs []fst.Arc[W]
	for !p.queue.Empty() {
		s := p.queue.Pop()
		p.seen[s] = visited
		var final W
		if final, arcs, err = p.d.Expand(s, arcs[:0]); err != nil {
			return nil, err
		}
		as := p.alpha[s]
		if !p.alg.Less(limit, as.Times(final)) {
			out.SetFinal(p.copies[s], final)
		}
		for _, e := range arcs {
			t := e.NextState
			w := as.Times(e.Weight)
			if p.alg.Less(limit, w.Times(p.beta[t])) || p.o.States > 0 && out.NumStates() >= p.o.States {
				continue
			}
			p.grow(t)
			if p.alg.Less(w, p.alpha[t]) {
				p.alpha[t] = w
			}
			if p.copies[t] == fst.NoState {
				p.copies[t] = out.AddState()
			}
			e.NextState = p.copies[t]
			out.AddArc(p.copies[s], e)
			switch p.seen[t] {
			case unseen:
				p.seen[t] = waiting
				p.queue.Push(t)
			case waiting:
				p.queue.Update(t)
			}
		}
	}
	return out, nil
}

// findCheapTwins returns a breach of the twins property that pruning leaves: the left path comes
// within limit before its cycle, and the cycle costs nothing. beta are the distances to the final
// states.
//
// A pruned construction without end has an infinite string all of whose subsets have a path within
// limit. From somewhere on these paths have one cost, since finitely many sums of non-negative
// costs lie below a bound. Elements with bounded residuals are finitely many too, so some residuals
// are unbounded. Take the pairs of a state on the cheapest path and a state on a path to such an
// element. Along the string a pair comes again with the same cost on the left and another on the
// right, which is a cycle of this kind. So without such a cycle the construction ends.
func findCheapTwins[W DividedPath[W]](op string, f fst.Expanded[W], beta []W, limit W, delta float64, lim Limits, budget int64) (*TwinsError, error) {
	w := &run.Stopwatch{Op: op, Ctx: lim.Ctx}
	f, held, err := summed(f, w)
	if err != nil {
		return nil, err
	}
	s, err := square.New(f, false, budget, w)
	if err != nil {
		return nil, err
	}
	const perPair = 64 // cost, place in the queue, step, component, delay
	s.Held, s.PerPair, s.Meter = held, perPair, lim.meter(op)
	if err := s.Explore(); err != nil || len(s.Pairs) == 0 {
		return nil, err
	}
	alg, unlike := sums.NewAlgebra[W](), unlikeRounding(f)
	left := func(p int32) fst.StateID { l, _ := s.States(p); return l }
	// The cheapest ways to pairs, by their left sides.
	alpha := slices.Repeat([]W{alg.Zero}, len(s.Pairs))
	via := make([]square.Step, len(s.Pairs))
	through := func(p int32, a W) W { return a.Times(beta[left(p)]) }
	queue := run.NewStateHeap(len(s.Pairs), true, func(p, q fst.StateID) bool {
		return alg.Less(through(int32(p), alpha[p]), through(int32(q), alpha[q]))
	})
	const (
		unseen = iota
		waiting
		visited
	)
	seen := make([]uint8, len(s.Pairs))
	gone := slices.Repeat([]bool{true}, len(s.Pairs))
	cheap := *s // with the arcs alone whose left sides cost nothing, on what is reached within limit
	cheap.First, cheap.List = make([]int64, len(s.Pairs)+1), nil
	alpha[0], seen[0] = alg.One, waiting
	queue.Push(0)
	for !queue.Empty() {
		p := int32(queue.Pop())
		if err := s.Check(); err != nil {
			return nil, err
		}
		seen[p], gone[p] = visited, false
		for _, e := range s.Out(p) {
			l, _ := s.Arcs(p, e)
			a := alpha[p].Times(l.Weight)
			if seen[e.To] == visited || alg.Less(limit, through(e.To, a)) || semiring.IsZero(through(e.To, a)) ||
				seen[e.To] == waiting && !alg.Less(a, alpha[e.To]) {
				continue
			}
			alpha[e.To], via[e.To] = a, square.Step{Pair: p, Arc: e}
			if seen[e.To] == unseen {
				seen[e.To] = waiting
				queue.Push(fst.StateID(e.To))
			} else {
				queue.Update(fst.StateID(e.To))
			}
		}
	}
	for p := range int32(len(s.Pairs)) {
		for _, e := range s.Out(p) {
			if l, _ := s.Arcs(p, e); !gone[p] && !gone[e.To] && !unlike(beta[left(p)],
				l.Weight.Times(beta[left(e.To)])) {
				cheap.List = append(cheap.List, e)
			}
		}
		cheap.First[p+1] = int64(len(cheap.List))
	}
	comp, _ := cheap.Components(gone)
	delays := square.NewWeightDelays[W]()
	near := func(a, b W) bool { return !unlike(a, b) }
	delay, known := make([]W, len(s.Pairs)), make([]bool, len(s.Pairs))
	var pairs []int32
	for root := range int32(len(s.Pairs)) {
		if known[root] || gone[root] {
			continue
		}
		delay[root], known[root] = alg.One, true
		pairs = append(pairs[:0], root)
		for head := 0; head < len(pairs); head++ {
			p := pairs[head]
			if err := s.Check(); err != nil {
				return nil, err
			}
			for _, e := range cheap.Out(p) {
				if comp[e.To] != comp[p] {
					continue
				}
				l, r := s.Arcs(p, e)
				d := delays.Step(delay[p], l, r)
				if !known[e.To] {
					delay[e.To], known[e.To] = d, true
					pairs = append(pairs, e.To)
					continue
				}
				if near(delay[e.To], d) {
					continue
				}
				cycle := square.ChangingCycle(&cheap, delays, near, comp, root, alg.One, square.Step{Pair: p, Arc: e})
				if cycle == nil {
					continue
				}
				var access []square.Step
				for t := root; t != 0; t = via[t].Pair {
					access = append(access, via[t])
				}
				slices.Reverse(access)
				b := twinsError(op, s, &square.Breach{Access: access, Cycle: cycle}, false)
				b.Exact = b.Exact && provesPruned(s, cycle, delta)
				return b, nil
			}
		}
	}
	return nil, nil
}

// provesPruned reports whether the left side of a cycle costs exactly nothing and the right side
// more than rounding can make up for.
func provesPruned[W semiring.Weight[W]](s *square.Square[W], cycle []square.Step, delta float64) bool {
	cost := leastCosts[W]()
	var left, right float64
	for _, st := range cycle {
		l, r := s.Arcs(st.Pair, st.Arc)
		left, right = left+cost(l.Weight), right+cost(r.Weight)
	}
	return left == 0 && driftsApart(left, right, len(cycle), delta)
}
