package losses

import (
	"context"
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/ops"
)

// Budget bounds what the construction of a loss machine, or an evaluation, may
// take. The zero value allows DefaultBytes and any time.
type Budget struct {
	Ctx     context.Context // checked while columns are made and between layers of sweeps; nil is none
	Columns int             // most columns of a machine, all layers together; 0 is as many as Bytes hold
	// most bytes, as estimated while building; 0 is DefaultBytes, or none where Columns is set.
	// Bytes that are given refuse early what certainly exceeds them; the default also what is
	// likely to, by the growth of its columns, so that a hopeless build ends within milliseconds.
	Bytes int64
}

// DefaultBytes is the budget of a machine that states none.
const DefaultBytes = 2 << 30

// ErrBudget is the reason of every BudgetError.
var ErrBudget = errors.New("the exact loss machine exceeds its budget")

// BudgetError reports that a loss machine, or one on the way to it, would be larger than allowed.
type BudgetError struct {
	// Stage is the operation of the general path that stopped; Columns then are the states of its
	// result, and Length and Layer 0. It is empty for a direct construction.
	Stage string

	Columns int // columns built
	// what they, those to come if that is certain, and their evaluation take at least, as
	// estimated; or what they are likely to take (Likely), within a factor of about two, and more
	// for references with a pattern; at most 1000 Limit
	Bytes  int64
	Likely bool
	Limit  int64 // the bytes allowed; 0 when it was the columns that ran out
	Length int   // l
	Layer  int   // the position at which it stopped
	// a band that should fit the budget, see Edit.fitting and editOrigin.fitting; 0 where none
	// does, or the loss has none
	Band int

	advice string // instead of a band
	cause  error  // of a stage: what the operation said; may be nil
}

func (e *BudgetError) Error() string {
	advice := "raise the budget"
	switch {
	case e.advice != "":
		advice = e.advice
	case e.Band > 0:
		advice = fmt.Sprintf("try band %d (an upper bound on the loss), or raise the budget", e.Band)
	}
	size := fmt.Sprintf("%d bytes", e.Bytes)
	if e.Limit > 0 {
		size = fmt.Sprintf("as it would take more than %d bytes, its evaluation included, of the %d allowed",
			e.Bytes, e.Limit)
	}
	if e.Likely {
		size = fmt.Sprintf("as it would likely take %d bytes, its evaluation included, of the %d allowed",
			e.Bytes, e.Limit)
	}
	if e.Stage != "" {
		if e.Limit > 0 {
			size = fmt.Sprintf("%d bytes in all of the %d allowed", e.Bytes, e.Limit)
		} else if over := (*ops.LimitError)(nil); errors.As(e.cause, &over) {
			size = fmt.Sprintf("%d bytes in all, beyond %d %s", e.Bytes, over.Bound, over.Limit)
		}
		return fmt.Sprintf("losses: %v: general path: %s stopped with %d states, %s; %s", ErrBudget, e.Stage,
			e.Columns, size, advice)
	}
	return fmt.Sprintf("losses: %v: stopped at position %d of %d with %d columns, %s; %s",
		ErrBudget, e.Layer, e.Length, e.Columns, size, advice)
}

// Unwrap returns ErrBudget and, for a stage of the general path, the error of the operation:
// errors.As finds its *ops.LimitError.
func (e *BudgetError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrBudget}
	}
	return []error{ErrBudget, e.cause}
}

// allowance is Bytes with its default in place.
func (b Budget) allowance() int64 {
	switch {
	case b.Bytes > 0:
		return b.Bytes
	case b.Columns > 0:
		return 1 << 62
	}
	return DefaultBytes
}

// bounds returns the limits of a construction, with the default in place.
func (b Budget) bounds() layered.Limits {
	return layered.Limits{Ctx: b.Ctx, Columns: b.Columns, Bytes: b.allowance(),
		Likely: b.Bytes == 0 && b.Columns == 0}
}

// budgetError makes a *BudgetError of the error of a machine beyond its limits. Others stay as they
// are.
func budgetError(err error) error {
	var over *layered.Oversize
	if !errors.As(err, &over) {
		return err
	}
	return &BudgetError{Columns: over.Columns, Bytes: over.Bytes, Limit: over.Limit, Length: over.Length,
		Layer: over.Layer, Likely: over.Likely}
}

// over returns the error of a build of length l whose size at layer t exceeds the budget, or of a
// context that is done. It returns nil while the build may continue.
func (b Budget) over(l, t, columns int, bytes int64) error {
	return budgetError(b.bounds().Over(l, t, columns, bytes))
}

// stopped returns the error of a context that is done.
func (b Budget) stopped(l, t int) error { return layered.Limits{Ctx: b.Ctx}.Stopped(l, t) }

// check refuses negative bounds.
func (b Budget) check(loss string) error {
	if b.Columns < 0 || b.Bytes < 0 {
		return fmt.Errorf("losses: %s: a budget of %d columns and %d bytes: neither may be negative", loss,
			b.Columns, b.Bytes)
	}
	return nil
}

// appendKey appends what decides whether a machine is made.
func (b Budget) appendKey(dst []byte) []byte { return appendInts(dst, int64(b.Columns), b.Bytes) }
