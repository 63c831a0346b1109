package ops

import (
	"errors"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// matchedComposer is the Expander of A∘B with matchers, or that looks ahead. It is apart
// from Composer, whose loops have nothing to ask for each arc.
type matchedComposer[W semiring.Weight[W]] struct {
	a, b   matcherSide[W]
	filter Filter
	match  matchSide
	table  run.Triples
	meter  run.Meter
	arcs   int64 // handed out
	start  fst.StateID
	ahead  *lookAhead[W] // nil if none

	found []fst.Arc[W]
}

func newMatchedComposer[W semiring.Weight[W]](p *composePlan[W]) (*matchedComposer[W], error) {
	c := &matchedComposer[W]{filter: p.Filter, match: p.match, meter: p.Limits.meter("Compose"),
		start: fst.NoState,
		a:     newMatcherSide(p.a, p.First), b: newMatcherSide(p.b, p.Second)}
	var waiting []fst.Label
	for _, m := range []*Matcher{p.First, p.Second} {
		if m != nil && m.Kind == MatchEpsilons {
			waiting = append(waiting, m.Labels...)
		}
	}
	slices.Sort(waiting)
	c.a.epsilons = slices.Compact(waiting)
	c.b.epsilons = c.a.epsilons
	if p.LookAhead != nil {
		var err error
		if c.ahead, err = newLookAhead(p, p.LookAhead); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Start returns the pair of start states, NoState if one is missing.
func (c *matchedComposer[W]) Start() (fst.StateID, error) {
	s1, s2 := c.a.f.Start(), c.b.f.Start()
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return fst.NoState, err
	}
	if s1 == fst.NoState || s2 == fst.NoState {
		return fst.NoState, nil
	}
	if c.start == fst.NoState {
		c.start = c.table.ID(run.Triple(s1, s2, 0))
	}
	return c.start, nil
}

// matchedState is a state of the result that is being expanded.
type matchedState[W semiring.Weight[W]] struct {
	s1, s2       fst.StateID
	arcs1, arcs2 []fst.Arc[W]
	final        W
	moves        moves
	first        bool // the first machine is searched
	from         W    // the potential, where weights are pushed
	made         int  // arcs
	tried        int  // pairs of arcs since limits were looked at
}

// read finds what the expansion of q needs to know.
func (c *matchedComposer[W]) read(q fst.StateID) (x matchedState[W], err error) {
	var fs int8
	x.s1, x.s2, fs = run.Untriple(c.table.Keys[q])
	x.final = semiring.Zero[W]()
	x.arcs1, x.arcs2 = c.a.f.Arcs(x.s1), c.b.f.Arcs(x.s2)
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return x, err
	}
	info1, info2 := c.a.of(x.s1, x.arcs1), c.b.of(x.s2, x.arcs2)
	final1, err := c.a.final(x.s1)
	if err != nil {
		return x, err
	}
	if !semiring.IsZero(final1) {
		final2, err := c.b.final(x.s2)
		if err != nil {
			return x, err
		}
		if !semiring.IsZero(final2) {
			x.final = final1.Times(final2)
		}
	}
	x.first = c.match == matchFirst || c.match == matchEither && len(x.arcs1) > len(x.arcs2)
	need1, need2 := c.a.special(x.arcs1, info1&sideSorted != 0), c.b.special(x.arcs2, info2&sideSorted != 0)
	switch {
	case need1 && need2:
		return x, c.a.fail(x.s1, "state %d of the second one has %v at the same time as this one has %v", x.s2,
			c.b.m.Kind, c.a.m.Kind)
	case need1 || need2:
		x.first = need1
	}
	x.moves = c.filter.moves(fs, info1, info2)
	if x.first && info1&sideSorted == 0 {
		return x, c.a.unsorted(x.s1)
	}
	if !x.first && info2&sideSorted == 0 {
		return x, c.b.unsorted(x.s2)
	}
	x.from = c.ahead.potential(x.s1, x.s2, q == c.start)
	return x, nil
}

// add appends the arc that e of the iterated and f of the searched machine make; nil waits.
func (c *matchedComposer[W]) add(x *matchedState[W], dst []fst.Arc[W], e, f *fst.Arc[W],
	next int8) ([]fst.Arc[W], error) {
	if x.tried++; x.tried == checkEvery {
		x.tried = 0
		if err := c.check(x.made); err != nil {
			return dst, err
		}
	}
	if x.first {
		e, f = f, e
	}
	out := fst.Arc[W]{}
	t1, t2 := x.s1, x.s2
	switch {
	case f == nil:
		out.ILabel, out.Weight, t1 = e.ILabel, e.Weight, e.NextState
	case e == nil:
		out.OLabel, out.Weight, t2 = f.OLabel, f.Weight, f.NextState
	default:
		out.ILabel, out.OLabel, out.Weight, t1, t2 = e.ILabel, f.OLabel, e.Weight.Times(f.Weight), e.NextState,
			f.NextState
	}
	k := run.Triple(t1, t2, next)
	if c.ahead != nil {
		if !c.ahead.meets(t1, t2) {
			return dst, nil
		}
		if c.ahead.divide != nil {
			out.Weight = c.ahead.divide(x.from, out.Weight.Times(c.ahead.potential(t1, t2,
				k == c.table.Keys[c.start])))
		}
	}
	out.NextState = c.table.ID(k)
	x.made++
	return append(dst, out), nil
}

// Expand makes the arcs of q in the order of plain composition.
func (c *matchedComposer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	x, err := c.read(q)
	if err != nil {
		return x.final, dst, err
	}
	in, se, inArcs, seArcs, seState := &c.a, &c.b, x.arcs1, x.arcs2, x.s2
	inAlone, seAlone := x.moves.alone1, x.moves.alone2
	if x.first {
		in, se, inArcs, seArcs, seState = &c.b, &c.a, x.arcs2, x.arcs1, x.s1
		inAlone, seAlone = x.moves.alone2, x.moves.alone1
	}
	if seAlone != blocked {
		c.found = se.alone(seArcs, c.found[:0])
		for i := range c.found {
			if dst, err = c.add(&x, dst, nil, &c.found[i], seAlone); err != nil {
				return x.final, dst, err
			}
		}
	}
	for i := range inArcs {
		e := &inArcs[i]
		l := label(e, in.labels)
		next := int8(0)
		if in.waits(l) {
			if inAlone != blocked {
				if dst, err = c.add(&x, dst, e, nil, inAlone); err != nil {
					return x.final, dst, err
				}
			}
			if l != fst.Epsilon || x.moves.both == blocked {
				continue
			}
			c.found, next = append(c.found[:0], se.epsilonArcs(seArcs)...), x.moves.both
		} else if c.found, err = se.find(seState, seArcs, l, c.found[:0]); err != nil {
			return x.final, dst, err
		}
		for j := range c.found {
			if dst, err = c.add(&x, dst, e, &c.found[j], next); err != nil {
				return x.final, dst, err
			}
		}
		if (i+1)%checkEvery == 0 { // also where nothing is found
			if err := c.check(x.made); err != nil {
				return x.final, dst, err
			}
		}
	}
	if c.ahead != nil && c.ahead.divide != nil && !semiring.IsZero(x.final) {
		x.final = c.ahead.divide(x.from, x.final)
	}
	// States that were looked at ahead are read here, and nowhere else if nothing meets there.
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return x.final, dst, err
	}
	c.arcs += int64(x.made)
	return x.final, dst, c.check(0)
}

// check compares with the limits what has been built, with n arcs of the state at hand.
func (c *matchedComposer[W]) check(n int) error {
	p := run.SizeOf[W](c.table.Len(), c.arcs+int64(n))
	p.Bytes += int64(c.table.Len()) * tripleBytes
	if c.ahead != nil {
		p.Bytes += c.ahead.held
	}
	return c.meter.Check(p)
}

var _ fst.Retainer = (*matchedComposer[semiring.Tropical])(nil)

// Retain forgets all states but live. The start, with which weights are pushed, stays in the table.
func (c *matchedComposer[W]) Retain(live []fst.StateID) {
	old := c.table
	c.table, c.arcs = old.Only(live), 0
	if c.ahead != nil {
		c.ahead.forget()
	}
	if c.start != fst.NoState {
		c.start = c.table.ID(old.Keys[c.start])
	}
}
