package fst

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/semiring"
)

// VerifyOptions adjusts Verify; nil is the same as the zero value.
type VerifyOptions struct {
	NegativeLabels bool // allow labels below zero
	IgnoreSymbols  bool // allow labels that the machine's symbol tables lack
}

// VerifyError reports what makes a machine ill-formed, and where.
type VerifyError struct {
	State StateID // NoState when the machine as a whole is meant
	Arc   int     // position among the state's arcs; -1 when none is meant
	Err   error
}

func (e *VerifyError) Error() string {
	switch {
	case e.State == NoState:
		return fmt.Sprintf("fst: ill-formed machine: %v", e.Err)
	case e.Arc < 0:
		return fmt.Sprintf("fst: ill-formed machine: state %d: %v", e.State, e.Err)
	}
	return fmt.Sprintf("fst: ill-formed machine: state %d, arc %d: %v", e.State, e.Arc, e.Err)
}
func (e *VerifyError) Unwrap() error { return e.Err }

// Verify checks that f is well formed: a start state if there are any states,
// start and next states in range, labels not negative and in the symbol tables
// that f carries, weights members of the semiring; and that of each known
// property at most one side is set. It returns a VerifyError for the first
// defect. Cost: O(|Q| + |E|).
func Verify[W semiring.Weight[W]](f Expanded[W], opts *VerifyOptions) error {
	var o VerifyOptions
	if opts != nil {
		o = *opts
	}
	n := f.NumStates()
	switch s := f.Start(); {
	case s == NoState && n > 0:
		return &VerifyError{NoState, -1, fmt.Errorf("no start state among %d states", n)}
	case s < NoState || int(s) >= n:
		if s != NoState {
			return &VerifyError{NoState, -1, fmt.Errorf("start state %d of %d", s, n)}
		}
	}
	var tables [2]*SymbolTable
	if !o.IgnoreSymbols {
		tables = [2]*SymbolTable{InputSymbols(f), OutputSymbols(f)}
	}
	for q := range StateID(n) {
		for i, e := range f.Arcs(q) {
			var err error
			for side, l := range [2]Label{e.ILabel, e.OLabel} {
				name := [2]string{"input", "output"}[side]
				if l < 0 && !o.NegativeLabels {
					err = fmt.Errorf("the %s label %d is negative", name, l)
				} else if tables[side] != nil && !tables[side].Has(l) {
					err = fmt.Errorf("the %s label %d is not in %s", name, l, tables[side].shown())
				}
				if err != nil {
					return &VerifyError{q, i, err}
				}
			}
			if !e.Weight.Member() {
				return &VerifyError{q, i, fmt.Errorf("the weight %v is not in the semiring", e.Weight)}
			}
			if uint(e.NextState) >= uint(n) {
				return &VerifyError{q, i, fmt.Errorf("the next state is %d of %d", e.NextState, n)}
			}
		}
		if w := f.Final(q); !w.Member() {
			return &VerifyError{q, -1, fmt.Errorf("the final weight %v is not in the semiring", w)}
		}
	}
	if g, ok := f.(Propertied); ok {
		p := g.KnownProperties()
		if p.Has(Error) {
			return &VerifyError{NoState, -1, errors.New("the machine carries the error property: what made it failed")}
		}
		if both := p & positiveProperties & (p & negativeProperties >> 1); both != 0 {
			return &VerifyError{NoState, -1, fmt.Errorf("properties %#x are said to hold and not to hold", uint64(both))}
		}
	}
	return nil
}
