package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// StateError reports the state at which an operation gave up; fst.NoState where it had come to
// none.
type StateError struct {
	Op    string
	State fst.StateID
	Err   error
}

func (e *StateError) Error() string {
	if e.State < 0 {
		return fmt.Sprintf("ops: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("ops: %s: state %d: %v", e.Op, e.State, e.Err)
}
func (e *StateError) Unwrap() error { return e.Err }

// ArcError, within a StateError, says which arc of the state is meant.
type ArcError struct {
	Arc    int    // its position among the arcs of the state; -1 is the final weight
	Weight string // in text
	Err    error
}

func (e *ArcError) Error() string {
	if e.Arc < 0 {
		return fmt.Sprintf("the final weight %s: %v", e.Weight, e.Err)
	}
	return fmt.Sprintf("arc %d, of weight %s: %v", e.Arc, e.Weight, e.Err)
}
func (e *ArcError) Unwrap() error { return e.Err }

func init() { run.Errors.Renamed = renamed }

// renamed gives an error of a part the name of the whole.
func renamed(err error, op string) error { return asWhole(err, op, func(*LimitError) {}) }

// asWhole is the error of a part under the name of the whole, with change applied to a LimitError.
// It copies the error first: an operand that is computed on demand keeps its error, and gives it to
// others too.
func asWhole(err error, op string, change func(*LimitError)) error {
	switch e := err.(type) {
	case *StateError:
		c := *e
		c.Op = op
		return &c
	case *CycleError:
		c := *e
		c.Op = op
		return &c
	case *LimitError:
		return limitAsWhole(e, op, change)
	case *DeterminizeError:
		c := *e
		c.Limit = limitAsWhole(e.Limit, op, change)
		return &c
	}
	return err
}

func limitAsWhole(e *LimitError, op string, change func(*LimitError)) *LimitError {
	c := *e
	c.Op, c.Cause = op, renamed(e.Cause, op)
	change(&c)
	return &c
}

// ErrSymbols reports that two symbol tables which must agree do not.
var ErrSymbols = errors.New("symbol tables do not agree")

// compatibleSymbols returns an error that wraps ErrSymbols unless x and y agree. A missing table
// agrees with any. Two tables agree if they map the same labels to the same symbols.
func compatibleSymbols(op, nameX, nameY string, x, y *fst.SymbolTable) error {
	if fst.Compatible(x, y) {
		return nil
	}
	return fmt.Errorf("ops: %s: %s (%q, %d symbols) against %s (%q, %d symbols): %w: %s",
		op, nameX, x.Name(), x.Len(), nameY, y.Name(), y.Len(), ErrSymbols, fst.Disagreement(x, y))
}

// CompatibleSymbols returns an error of op that wraps ErrSymbols unless the input tables of a and b
// agree, and the output tables too. An operation that puts two machines side by side asks for that.
// A missing table agrees with any; the names of tables and the order of symbols do not matter.
func CompatibleSymbols(op string, a, b any) error {
	if err := compatibleSymbols(op, "input symbols of the first machine", "input symbols of the second",
		fst.InputSymbols(a), fst.InputSymbols(b)); err != nil {
		return err
	}
	return compatibleSymbols(op, "output symbols of the first machine", "output symbols of the second",
		fst.OutputSymbols(a), fst.OutputSymbols(b))
}

// ErrNotMember reports a weight outside its semiring: one of the machine, which an ArcError names,
// or one that was computed.
var ErrNotMember = errors.New("a weight or a sum of weights is outside its semiring (NaN, or a number out " +
	"of range)")

// Inner loops do not ask whether weights are members: what is none, and not annihilated by a 0̄,
// remains in sums. The sums are looked at in the end, and only then is it searched for.

// membersOnly returns the error of distances that are no members. It names the arc or final weight
// that is none and took part in them, or else the first state whose distance went out of range.
func membersOnly[W semiring.Weight[W], D semiring.Weight[D]](op string, f fst.Expanded[W], d []D,
	reverse bool) error {
	bad := sums.OutsideOf[D]()(d)
	if bad < 0 {
		return nil
	}
	zero := semiring.Zero[D]()
	if err := notMember(op, f, reverse, func(q fst.StateID) bool { return !d[q].Equal(zero) }); err != nil {
		return err
	}
	return &StateError{Op: op, State: fst.StateID(bad), Err: ErrNotMember}
}

// notMember returns the error of the first arc whose weight is no member, and in reverse also of
// final weights. It looks at arcs that leave a live state or, in reverse, lead to one. It returns
// nil if there are none.
func notMember[W semiring.Weight[W]](op string, f fst.Expanded[W], reverse bool,
	live func(fst.StateID) bool) error {
	for q := range fst.StateID(f.NumStates()) {
		if !reverse && !live(q) {
			continue
		}
		for i, e := range f.Arcs(q) {
			if !e.Weight.Member() && (!reverse || live(e.NextState)) {
				return arcNotMember(op, q, i, e.Weight)
			}
		}
		if w := f.Final(q); reverse && !w.Member() {
			return arcNotMember(op, q, -1, w)
		}
	}
	return nil
}

func arcNotMember[W semiring.Weight[W]](op string, q fst.StateID, arc int, w W) error {
	return &StateError{Op: op, State: q, Err: &ArcError{Arc: arc, Weight: weightText(w), Err: ErrNotMember}}
}

// thresholdMember returns the error of a threshold, nil if there is none, that is no member. What
// it leaves of a machine would be nothing, or all, as comparisons with NaN happen to be written.
func thresholdMember[W semiring.Weight[W]](op string, threshold *W) error {
	if threshold == nil || (*threshold).Member() {
		return nil
	}
	return fmt.Errorf("ops: %s: Threshold %s: %w", op, weightText(*threshold), ErrNotMember)
}
