package main

import (
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/semiring"
)

// within returns a loss with the budget of the flags.
func (o *lossOptions) within(loss losses.Loss) losses.Loss {
	switch x := loss.(type) {
	case losses.Edit:
		x.Budget = o.budget()
		return x
	case losses.Local:
		x.Budget = o.budget()
		return x
	case losses.NGram:
		x.Budget = o.budget()
		return x
	}
	return loss
}

// inFile adds the file of a loss that is read from one.
func inFile(s *lossspec.Spec, err error) error {
	if err != nil && s.File != "" {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	return err
}

// automaton prepares the loss along the general path.
func automaton(s *lossspec.Spec, y fst.Expanded[semiring.Log64], u machine, c *lossCase,
	opts *losses.GeneralOptions) (*losses.Automaton, error) {
	switch x := s.Direct.(type) {
	case nil:
		if s.Rational {
			switch f := u.(type) {
			case fst.Expanded[semiring.Probability]:
				return losses.RationalAutomaton(y, f, c.yi, s.C, opts)
			case fst.Expanded[semiring.Log64]:
				return losses.RationalAutomaton(y, f, c.yi, s.C, opts)
			case fst.Expanded[semiring.Log]:
				return losses.RationalAutomaton(y, f, c.yi, s.C, opts)
			}
			return nil, fmt.Errorf("a rational loss over %T", u)
		}
		f, err := over[semiring.Tropical64](u)
		if err != nil {
			return nil, err
		}
		return losses.TropicalAutomaton(y, f, c.yi, opts)
	case interface {
		Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
			opts *losses.GeneralOptions) (*losses.Automaton, error)
	}:
		return x.Automaton(y, c.yi, c.alphabet, opts)
	}
	return nil, fmt.Errorf("a loss of type %T has no transducer", s.Direct)
}
