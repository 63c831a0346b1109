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
	c := &matchedComposer[W]{filter: p.Filter, match: p.match, meter: p.Limits.meter("Compose"), start: fst.NoState,
		a: newMatcherSide(p.a, p.First), b: newMatcherSide(p.b, p.Second)}
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

// Expand makes the arcs of q in the order of plain composition.
func (c *matchedComposer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	key := c.table.Keys[q]
	s1, s2, fs := run.Untriple(key)
	final = semiring.Zero[W]()
	arcs1, arcs2 := c.a.f.Arcs(s1), c.b.f.Arcs(s2)
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return final, dst, err
	}
	info1, info2 := c.a.of(s1, arcs1), c.b.of(s2, arcs2)
	final1, err := c.a.final(s1)
	if err != nil {
		return final, dst, err
	}
	if !semiring.IsZero(final1) {
		final2, err := c.b.final(s2)
		if err != nil {
			return final, dst, err
		}
		if !semiring.IsZero(final2) {
			final = final1.Times(final2)
		}
	}
	base := len(dst)
	first := c.match == matchFirst || c.match == matchEither && len(arcs1) > len(arcs2)
	if need1, need2 := c.a.special(arcs1, info1&sideSorted != 0), c.b.special(arcs2, info2&sideSorted != 0); need1 && need2 {
		return final, dst, c.a.fail(s1, "state %d of the second one has %v at the same time as this one has %v", s2, c.b.m.Kind, c.a.m.Kind)
	} else if need1 || need2 {
		first = need1
	}
	m := c.filter.moves(fs, info1, info2)
	in, se, inArcs, seArcs, seState := &c.a, &c.b, arcs1, arcs2, s2
	inAlone, seAlone := m.alone1, m.alone2
	if first {
		in, se, inArcs, seArcs, seState = &c.b, &c.a, arcs2, arcs1, s1
		inAlone, seAlone = m.alone2, m.alone1
	}
	if se.of(seState, seArcs)&sideSorted == 0 {
		return final, dst, se.unsorted(seState)
	}
	from := c.ahead.potential(s1, s2, q == c.start)
	tried := 0 // pairs of arcs since limits were looked at
	// add appends the arc that e of the iterated and f of the searched machine make; nil waits.
	add := func(e, f *fst.Arc[W], next int8) error {
		if tried++; tried == checkEvery {
			tried = 0
			if err := c.check(len(dst) - base); err != nil {
				return err
			}
		}
		x, y := e, f
		if first {
			x, y = f, e
		}
		out := fst.Arc[W]{}
		t1, t2 := s1, s2
		switch {
		case y == nil:
			out.ILabel, out.Weight, t1 = x.ILabel, x.Weight, x.NextState
		case x == nil:
			out.OLabel, out.Weight, t2 = y.OLabel, y.Weight, y.NextState
		default:
			out.ILabel, out.OLabel, out.Weight, t1, t2 = x.ILabel, y.OLabel, x.Weight.Times(y.Weight), x.NextState, y.NextState
		}
		k := run.Triple(t1, t2, next)
		if c.ahead != nil {
			if !c.ahead.meets(t1, t2) {
				return nil
			}
			if c.ahead.divide != nil {
				out.Weight = c.ahead.divide(from, out.Weight.Times(c.ahead.potential(t1, t2, k == c.table.Keys[c.start])))
			}
		}
		out.NextState = c.table.ID(k)
		dst = append(dst, out)
		return nil
	}
	if seAlone != blocked {
		c.found = se.alone(seArcs, c.found[:0])
		for i := range c.found {
			if err := add(nil, &c.found[i], seAlone); err != nil {
				return final, dst, err
			}
		}
	}
	for i := range inArcs {
		e := &inArcs[i]
		l := label(e, in.labels)
		next := int8(0)
		if in.waits(l) {
			if inAlone != blocked {
				if err := add(e, nil, inAlone); err != nil {
					return final, dst, err
				}
			}
			if l != fst.Epsilon || m.both == blocked {
				continue
			}
			c.found, next = append(c.found[:0], se.epsilonArcs(seArcs)...), m.both
		} else if c.found, err = se.find(seState, seArcs, l, c.found[:0]); err != nil {
			return final, dst, err
		}
		for j := range c.found {
			if err := add(e, &c.found[j], next); err != nil {
				return final, dst, err
			}
		}
		if (i+1)%checkEvery == 0 { // also where nothing is found
			if err := c.check(len(dst) - base); err != nil {
				return final, dst, err
			}
		}
	}
	if c.ahead != nil && c.ahead.divide != nil && !semiring.IsZero(final) {
		final = c.ahead.divide(from, final)
	}
	// States that were looked at ahead are read here, and nowhere else if nothing meets there.
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return final, dst, err
	}
	c.arcs += int64(len(dst) - base)
	return final, dst, c.check(0)
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
