package ops

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

const (
	closeAlone = 2048 // states of a machine, or of a level, that are not worth sharing out
	closeBlock = 64   // states that a worker takes at once
	closeWave  = 64   // blocks between two times that results are put in place
)

// epsilonBlock is what a worker made of some states.
type epsilonBlock[W any] struct {
	finals []W
	ends   []int
	arcs   []fst.Arc[W]
	err    error
}

// closeByLevels does the loop of removeEpsilons with several workers. The level of a
// component of the ε-graph is the length of the longest way out of it: states of one
// level need nothing of each other, unless they are in one component, and everything of
// the levels before. So a level's states are closed side by side, and those of greater
// components one by one, as ever. What a state gets is what it gets from one worker;
// only of several errors another may be the one that is met.
//
// entered, if not nil, tells which states are to be closed.
func closeByLevels[W semiring.Approx[W]](f *fst.Vector[W], c *epsilonCloser[W], order []fst.StateID, first []int32, entered []bool) error {
	single, circular := epsilonLevels(f, order, first, entered)
	put := func(q fst.StateID, final W, arcs []fst.Arc[W]) {
		f.SetFinal(q, final)
		f.SetArcs(q, arcs)
	}
	alone := func(q fst.StateID) error {
		final, arcs, err := c.Expand(q, c.scratch[:0])
		if c.scratch = arcs; err == nil {
			put(q, final, arcs)
		}
		return err
	}
	w := c.o.Workers
	closers := make([]*epsilonCloser[W], w)
	lim := *c.o
	lim.Limits = Limits{Ctx: c.o.Ctx} // the others are looked at where results come together
	var blocks [closeWave]epsilonBlock[W]
	for l := range single {
		for _, q := range circular[l] {
			if err := alone(q); err != nil {
				return err
			}
		}
		states := single[l]
		if len(states) < closeAlone {
			for _, q := range states {
				if err := alone(q); err != nil {
					return err
				}
			}
			continue
		}
		for len(states) > 0 {
			wave := states[:min(len(states), closeWave*closeBlock)]
			states = states[len(wave):]
			inBlocks(len(wave), closeBlock, w, func(k, lo, hi int) {
				b := &blocks[lo/closeBlock]
				b.finals, b.ends, b.arcs, b.err = b.finals[:0], b.ends[:0], b.arcs[:0], nil
				if closers[k] == nil {
					if closers[k], b.err = newEpsilonCloser[W](f, &lim); b.err != nil {
						return
					}
				}
				for _, q := range wave[lo:hi] {
					final, arcs, err := closers[k].Expand(q, b.arcs)
					if err != nil {
						b.err = err
						return
					}
					b.finals, b.ends, b.arcs = append(b.finals, final), append(b.ends, len(arcs)), arcs
				}
			})
			for lo := 0; lo < len(wave); lo += closeBlock {
				b := &blocks[lo/closeBlock]
				begin := 0
				for i, end := range b.ends {
					put(wave[lo+i], b.finals[i], b.arcs[begin:end])
					begin = end
				}
				if b.err != nil {
					return b.err
				}
				if err := c.count(len(b.ends), len(b.arcs), w); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// epsilonLevels lists, level by level, the states that are a component by themselves,
// and those that are not, in reverse order.
func epsilonLevels[W semiring.Weight[W]](f *fst.Vector[W], order []fst.StateID, first []int32, entered []bool) (single, circular [][]fst.StateID) {
	level := make([]int32, f.NumStates())
	for i := range level {
		level[i] = -1 // until its component is done
	}
	groups := len(order)
	if first != nil {
		groups = len(first) - 1
	}
	for g := groups - 1; g >= 0; g-- {
		group := order[g : g+1]
		if first != nil {
			group = order[first[g]:first[g+1]]
		}
		l := int32(0)
		for _, q := range group {
			arcs := f.Arcs(q)
			for i := range arcs {
				if e := &arcs[i]; isEpsilon(e) {
					l = max(l, level[e.NextState]+1)
				}
			}
		}
		for _, q := range group {
			level[q] = l
		}
		for int(l) >= len(single) {
			single, circular = append(single, nil), append(circular, nil)
		}
		for _, q := range slices.Backward(group) {
			switch {
			case entered != nil && !entered[q]:
			case len(group) == 1:
				single[l] = append(single[l], q)
			default:
				circular[l] = append(circular[l], q)
			}
		}
	}
	return single, circular
}
