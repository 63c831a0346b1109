package pdt

import (
	"fmt"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// endless tells, where the stack is not bounded, whether paths within a limit go up for ever,
// before they do.
//
// A place is a state together with the state from which the enclosing parentheses are to be closed,
// if there are any. An ordinary arc leads to another place with the same end. A call, which is an
// opening parenthesis and the one that closes it, leads over what is between, or into it. The
// number of places is finite. So where stacks within the limit grow without end, some path comes to
// a place again, higher than before. What was put around the place in between is free: it adds
// nothing to the weight of a path. Otherwise each turn would add at least the weight of the least
// such circle, and the limit would end the growth. Conversely, what is free can be repeated any
// number of times.
//
// Each step tells by itself whether it may be part of a free circle. Where no arc is better than
// 1̄, every step of such a circle has the weight 1̄. If ⊗ is idempotent, its weight is one that is
// no worse than the limit. Where some arcs are better, a step is free by comparison: the best path
// from its place to the end is as long as the step and the best path from the next place. With
// weights whose sums are rounded these may differ where they should be equal; then the limits of
// the options stop the expansion.
type endless[W ops.PathWeight[W]] struct {
	p       *pruner[W]
	compare bool // some arcs are better than 1̄
	clean   map[station]bool
}

// stationBytes is about what a place takes in clean.
const stationBytes = 32

// station is a place: a state, and the one where what it is within is to be closed, or reachedEnd.
type station struct{ q, end fst.StateID }

func newEndless[W ops.PathWeight[W]](p *pruner[W]) *endless[W] {
	x := &endless[W]{p: p, clean: map[station]bool{}}
	for q := range fst.StateID(p.f.NumStates()) {
		for _, a := range p.f.Arcs(q) {
			x.compare = x.compare || a.Weight.Less(p.one)
		}
	}
	return x
}

// free reports that a weight adds nothing to that of a path within the limit.
func (x *endless[W]) free(w W) bool {
	limit := x.p.limit
	return w.Equal(x.p.one) || limit.Times(limit).Equal(limit) && !limit.Equal(x.p.zero) && !limit.Less(w)
}

// step is what leads to a place, higher up if so it is.
type step struct {
	to      int32
	opening fst.Label
	up      bool
}

// look ends with an error around ErrUnbounded if free steps lead from a place within the limit to a
// free circle that goes up. It looks at each place once.
func (x *endless[W]) look(q, end fst.StateID) error {
	root := station{q, end}
	if x.clean[root] {
		return nil
	}
	found := []station{root}
	number := map[station]int32{root: 0}
	var steps [][]step // of those of found that were looked at
	work := int64(0)   // bytes
	defer func() { x.p.held -= work }()
	for known := 8; len(steps) < len(found); {
		var here []step
		err := x.steps(found[len(steps)], func(to station, opening fst.Label, up bool) {
			if x.clean[to] {
				return // what is beyond is clean, too
			}
			n, ok := number[to]
			if !ok {
				n = int32(len(found))
				number[to] = n
				found = append(found, to)
			}
			here = append(here, step{n, opening, up})
		})
		if err != nil {
			return err
		}
		steps = append(steps, here)
		bytes := 2*stationBytes + int64(cap(here))*int64(unsafe.Sizeof(step{}))
		x.p.held, work = x.p.held+bytes, work+bytes
		// A circle is looked for when there are twice as many places as before, which so
		// costs no more than to find them.
		if len(steps) == 2*known {
			known = len(steps)
			if err := x.circle(found, steps); err != nil {
				return err
			}
		}
	}
	if err := x.circle(found, steps); err != nil {
		return err
	}
	for _, p := range found {
		x.clean[p] = true
	}
	x.p.held += stationBytes * int64(len(found))
	return nil
}

// circle ends with the error if there is a circle that goes up.
func (x *endless[W]) circle(found []station, steps [][]step) error {
	next := make([][]int32, len(found))
	for i, here := range steps {
		for _, s := range here {
			next[i] = append(next[i], s.to)
		}
	}
	of, _ := connected(next)
	for i, here := range steps {
		for _, s := range here {
			if s.up && of[s.to] == of[i] {
				return &ops.StateError{Op: x.p.op, State: found[s.to].q,
					Err: fmt.Errorf("parenthesis %d leads back to this state on top of itself, at no cost to a path within the threshold, so that %w", s.opening, ErrUnbounded)}
			}
		}
	}
	return nil
}

// steps yields the free steps from a place.
func (x *endless[W]) steps(from station, yield func(to station, opening fst.Label, up bool)) error {
	p := x.p
	best := p.between(from.q, from.end)
	for _, a := range p.f.Arcs(from.q) {
		id, opens := p.stack.of(a.ILabel)
		if id == noParen {
			rest := p.between(a.NextState, from.end)
			if !rest.Equal(p.zero) && x.isFree(best, a.Weight.Times(rest), a.Weight) {
				yield(station{a.NextState, from.end}, fst.Epsilon, false)
			}
			continue
		}
		if !opens || !x.compare && !x.free(a.Weight) {
			continue
		}
		for _, closes := range p.body(id, a.NextState).closes {
			inside := p.between(a.NextState, closes)
			for _, b := range p.f.Arcs(closes) {
				if p.steps++; p.steps >= stepsPerLook {
					if err := p.check(); err != nil {
						return err
					}
				}
				rest := p.between(b.NextState, from.end)
				if b.ILabel != p.stack.pairs[id].To || inside.Equal(p.zero) || rest.Equal(p.zero) {
					continue
				}
				whole := rest.Times(b.Weight).Times(inside.Times(a.Weight)) // as the searches sum up
				if x.isFree(best, whole, a.Weight, inside, b.Weight) {
					yield(station{b.NextState, from.end}, a.ILabel, false)
				}
				if x.isFree(best, whole, a.Weight, b.Weight, rest) {
					yield(station{a.NextState, closes}, a.ILabel, true)
				}
			}
		}
	}
	return nil
}

// isFree reports that a step is free, which consists of what has the weights parts. The best path
// from its place weighs best, and that by way of the step whole.
func (x *endless[W]) isFree(best, whole W, parts ...W) bool {
	if x.compare {
		return whole.Equal(best)
	}
	for _, w := range parts {
		if !x.free(w) {
			return false
		}
	}
	return true
}
