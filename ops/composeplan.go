package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// composePlan is how A∘B is made. It is decided once, from the options and from what the machines,
// and the files that they come from, say.
type composePlan[W semiring.Weight[W]] struct {
	ComposeOptions // First and Second are also those that files ask for
	a, b           side[W]
	mode           composeMode
	match          matchSide
	first          bool // composePushing: the first machine looks, at the second
	byFile         bool // composePushing: as the file of the machine that looks asks
}

// composeMode is which Expander makes the result.
type composeMode uint8

const (
	composePlainly  composeMode = iota // Composer, whose loops have nothing to ask for each arc
	composeMatching                    // matchedComposer: labels with a meaning of their own, or looking ahead
	composePushing                     // pushComposer: looking ahead, with labels and weights pushed
)

// planCompose returns the plan of A∘B, or the error of what cannot be composed.
func planCompose[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions) (*composePlan[W], error) {
	p := &composePlan[W]{}
	if opts != nil {
		p.ComposeOptions = *opts
	}
	if p.First == nil {
		p.First = matcherOf(a, outputLabels)
	}
	if p.Second == nil {
		p.Second = matcherOf(b, inputLabels)
	}
	if err := p.chooseMode(a, b); err != nil {
		return nil, err
	}
	if err := compatibleSymbols("Compose", "output symbols of the first machine", "input symbols of the second",
		fst.OutputSymbols(a), fst.InputSymbols(b)); err != nil {
		return nil, err
	}
	if err := errors.Join(p.First.check("first"), p.Second.check("second")); err != nil {
		return nil, err
	}
	if err := p.chooseMatch(a, b); err != nil {
		return nil, &partError{"Compose", err}
	}
	// Only now: the choice may have found out what the machines know of themselves.
	p.a, p.b = newSide(a, outputLabels), newSide(b, inputLabels)
	return p, nil
}

// chooseMode decides by labels, by matchers, or by looking ahead.
func (p *composePlan[W]) chooseMode(a, b fst.Fst[W]) error {
	matchers := p.First != nil || p.Second != nil
	switch {
	case int(p.Filter) >= len(filterNames):
		return fmt.Errorf("ops: Compose: unknown filter %v", p.Filter)
	case p.LookAhead != nil && p.LookAhead.Side > LookAheadSecond:
		return fmt.Errorf("ops: Compose: unknown side %d to look ahead from", p.LookAhead.Side)
	case p.LookAhead != nil && matchers:
		return fmt.Errorf("ops: Compose: looking ahead and matchers at once: %w", ErrMatcher)
	case p.LookAhead != nil && p.LookAhead.PushLabels:
		if p.Trace != nil {
			return errors.New("ops: Compose: where labels are pushed, an arc of the result may come from several " +
				"of an operand, so that there is no Trace")
		}
		p.mode, p.first = composePushing, firstLooks(a, b, p.LookAhead.Side)
		want := SequenceFilter
		if p.first {
			want = AltSequenceFilter
		}
		if p.Filter != AutoFilter && p.Filter != want {
			return fmt.Errorf("ops: Compose: labels can be pushed with the filter %v here, not with %v", want,
				p.Filter)
		}
	case matchers || p.LookAhead != nil:
		if p.Trace != nil {
			return errors.New("ops: Compose: with matchers, an arc of the result may come from several of an " +
				"operand, so that there is no Trace")
		}
		p.mode = composeMatching
	case p.Filter == AutoFilter && p.Trace == nil:
		// Where neither side can look ahead it goes by labels alone, as OpenFst.
		if p.first, p.byFile = lookAheadFile(a, b); p.byFile {
			p.mode = composePushing
		}
	}
	return nil
}

// chooseMatch decides on which machine labels are searched: on one that has a matcher, which must
// be sorted, and otherwise as chooseSide.
func (p *composePlan[W]) chooseMatch(a, b fst.Fst[W]) (err error) {
	if p.First == nil && p.Second == nil {
		p.match, err = chooseSide(a, b)
		return err
	}
	if p.First != nil {
		if err := sortedForMatcher(a, outputLabels, "first machine"); err != nil {
			return err
		}
	}
	if p.Second != nil {
		if err := sortedForMatcher(b, inputLabels, "second machine"); err != nil {
			return err
		}
	}
	sortedA, _ := knownSorted(a, outputLabels)
	sortedB, _ := knownSorted(b, inputLabels)
	switch {
	case p.First != nil && p.Second != nil || sortedA && sortedB:
		p.match = matchEither
	case p.First != nil:
		p.match = matchFirst
	default:
		p.match = matchSecond
	}
	return nil
}

// sortedForMatcher returns an error around ErrNotSorted for a machine with a matcher that is not
// sorted. Of a machine computed on demand each state is checked when it is met.
func sortedForMatcher[W semiring.Weight[W]](f fst.Fst[W], l labels, name string) error {
	sorted, known := knownSorted(f, l)
	if _, whole := f.(fst.Expanded[W]); whole && !known {
		sorted = fst.PropertiesOf(f, l.sorted()).Has(l.sorted())
	} else if !known {
		sorted = true
	}
	if !sorted {
		return fmt.Errorf("the %s has a matcher, and its arcs are not sorted: %w", name, ErrNotSorted)
	}
	return nil
}

// expander returns the Expander of the plan.
func (p *composePlan[W]) expander() (fst.Expander[W], error) {
	switch p.mode {
	case composeMatching:
		return newMatchedComposer(p)
	case composePushing:
		return newPushComposer(p)
	}
	return newComposer(p), nil
}

// materialize is Compose where the plan is not composePlainly.
func (p *composePlan[W]) materialize() (*fst.Vector[W], error) {
	c, err := p.expander()
	if err != nil {
		return nil, err
	}
	out, err := Materialize(c, Limits{}) // c has them
	if err != nil {
		return nil, err
	}
	out.SetInputSymbols(fst.InputSymbols(p.a.f))
	out.SetOutputSymbols(fst.OutputSymbols(p.b.f))
	if !p.KeepDead {
		trim(out, nil, 1)
	}
	return out, nil
}
