package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// DeterminizePrunedOptions adjusts DeterminizePruned; nil is the same as the
// zero value, which prunes nothing.
type DeterminizePrunedOptions[W any] struct {
	DeterminizeOptions
	Prune PruneOptions[W] // Distances are not looked at
}

// DividedPath is met by divisible weights with the path property.
type DividedPath[W any] interface {
	PathWeight[W]
	semiring.Divisible[W]
}

// DeterminizePruned determinizes f as far as the best paths need it: it returns
// what Prune would leave of Determinize(f), with states in the order in which
// they are found, best first. Of an acceptor only that part is built, so that a
// bound on states or a threshold brings even machines to an end that cannot be
// determinized; a transducer is determinized whole, and then pruned. Where neither does, since states that
// cost nothing differ by more and more, only Limits do.
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
	p := &lazyPruner[W]{d: d, o: &o.Prune, alg: newAlgebra[W]()}
	if g := d.m.guard; g != nil {
		// What cannot be determinized as a whole may well have an end here, and only a limit can tell that it has none.
		g.silent = o.Prune.States > 0 || o.Prune.Threshold != nil && p.alg.less(*o.Prune.Threshold, p.alg.zero)
	}
	d.m.added = func(subset []element[W]) {
		sum := p.alg.zero
		for _, e := range subset {
			sum = sum.Plus(e.residual.Times(in[e.state]))
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
	alg         algebraOf[W]
	alpha, beta []W // distances from the start, so far, and to the final states
	copies      []fst.StateID
	seen        []uint8
	queue       *heapQueue
}

func (p *lazyPruner[W]) grow(q fst.StateID) {
	for int(q) >= len(p.alpha) {
		p.alpha = append(p.alpha, p.alg.zero)
		p.copies = append(p.copies, fst.NoState)
		p.seen = append(p.seen, 0)
		p.queue.pos = append(p.queue.pos, 0)
	}
}

func (p *lazyPruner[W]) run() (*fst.Vector[W], error) {
	const (
		unseen = iota
		waiting
		visited
	)
	out := fst.NewVector[W](0)
	threshold := p.alg.zero
	if p.o.Threshold != nil {
		threshold = *p.o.Threshold
	}
	start, err := p.d.Start()
	if err != nil || start == fst.NoState || p.o.States < 0 || p.alg.less(threshold, p.alg.one) || p.beta[start].Equal(p.alg.zero) {
		return out, err
	}
	limit := p.beta[start].Times(threshold)
	p.queue = newHeapQueue(0, true, func(q, r fst.StateID) bool {
		return p.alg.less(p.alpha[q].Times(p.beta[q]), p.alpha[r].Times(p.beta[r]))
	})
	p.queue.pos = []int32{} // moving
	p.grow(start)
	p.alpha[start] = p.alg.one
	p.copies[start] = out.AddState()
	out.SetStart(0)
	p.seen[start] = waiting
	p.queue.push(start)
	var arcs []fst.Arc[W]
	for !p.queue.empty() {
		s := p.queue.pop()
		p.seen[s] = visited
		var final W
		if final, arcs, err = p.d.Expand(s, arcs[:0]); err != nil {
			return nil, err
		}
		as := p.alpha[s]
		if !p.alg.less(limit, as.Times(final)) {
			out.SetFinal(p.copies[s], final)
		}
		for _, e := range arcs {
			t := e.NextState
			w := as.Times(e.Weight)
			if p.alg.less(limit, w.Times(p.beta[t])) || p.o.States > 0 && out.NumStates() >= p.o.States {
				continue
			}
			p.grow(t)
			if p.alg.less(w, p.alpha[t]) {
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
				p.queue.push(t)
			case waiting:
				p.queue.update(t)
			}
		}
	}
	return out, nil
}
