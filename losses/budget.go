package losses

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/ops"
)

// Budget bounds what the construction of a loss machine, or an evaluation, may
// take. The zero value allows DefaultBytes and any time.
type Budget struct {
	Ctx     context.Context // checked while columns are made and between layers of sweeps; nil is none
	Columns int             // most columns of a machine, all layers together; 0 is as many as Bytes hold
	Bytes   int64           // most bytes, as estimated while building; 0 is DefaultBytes, or none where Columns is set
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

	Columns int   // columns built
	Bytes   int64 // what they, those to come if that is certain, and their evaluation take at least, as estimated; at most 1000 Limit
	Limit   int64 // the bytes allowed; 0 when it was the columns that ran out
	Length  int   // l
	Layer   int   // the position at which it stopped
	Band    int   // a band that should fit the budget, see Edit.fitting and editOrigin.fitting; 0 where none does, or the loss has none

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
		size = fmt.Sprintf("as it would take more than %d bytes, its evaluation included, of the %d allowed", e.Bytes, e.Limit)
	}
	if e.Stage != "" {
		if e.Limit > 0 {
			size = fmt.Sprintf("%d bytes in all of the %d allowed", e.Bytes, e.Limit)
		} else if over := (*ops.LimitError)(nil); errors.As(e.cause, &over) {
			size = fmt.Sprintf("%d bytes in all, beyond %d %s", e.Bytes, over.Bound, over.Limit)
		}
		return fmt.Sprintf("losses: %v: general path: %s stopped with %d states, %s; %s", ErrBudget, e.Stage, e.Columns, size, advice)
	}
	return fmt.Sprintf("losses: %v: stopped at position %d of %d with %d columns, %s; %s",
		ErrBudget, e.Layer, e.Length, e.Columns, size, advice)
}

// Unwrap returns ErrBudget and, for a stage of the general path, the error of the operation: errors.As
// finds its *ops.LimitError.
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

// over returns the error of a build of length l whose size at layer t exceeds the budget, or of a
// context that is done. It returns nil while the build may continue.
func (b Budget) over(l, t, columns int, bytes int64) error {
	limit := b.allowance()
	switch {
	case b.Columns > 0 && columns > b.Columns:
		return &BudgetError{Columns: columns, Bytes: bytes, Length: l, Layer: t}
	case bytes > limit:
		return &BudgetError{Columns: columns, Bytes: bytes, Limit: limit, Length: l, Layer: t}
	}
	return b.stopped(l, t)
}

// outgrown returns the error of an exact build that is certain to exceed the bytes, as soon as that
// is known. Layer t+1 has the given number of columns, of the given number of bytes, and layer t
// the number before. Symbols are those of the alphabet, or classes of them.
//
// Columns grow until the middle of the shorter string, or two thirds of it over two symbols, ever
// more slowly. Here the logarithm of the growth falls in a straight line to 0 at the middle, or at
// .6. Later layers are not counted, or by half once a layer has enough columns to tell. That is
// less than all columns there are, mostly a fifth of them. Bands grow otherwise.
func (b Budget) outgrown(l, m, symbols, t, before, columns, total int, column int64) error {
	limit := b.allowance()
	peak := min(l, m) / 2
	if symbols <= 2 {
		peak = min(l, m) * 3 / 5
	}
	rest := peak - t - 1
	if columns < 1<<11 || rest <= 0 || columns <= before {
		return nil
	}
	growth := math.Log(float64(columns) / float64(before))
	ahead := 0.0
	for i := 1.0; i <= float64(rest); i++ {
		ahead += float64(columns) * math.Exp(growth*(i-i*i/float64(2*rest)))
	}
	if columns >= 1<<14 {
		ahead *= 1.5
	}
	all := float64(total) + ahead
	if size := all * float64(column); size > float64(limit) {
		// How far beyond the budget is neither needed nor known.
		return &BudgetError{Columns: total, Bytes: int64(min(size, 1000*float64(limit), 1<<62)), Limit: limit, Length: l, Layer: t + 1}
	}
	return nil
}

// stopped returns the error of a context that is done.
func (b Budget) stopped(l, t int) error {
	if b.Ctx != nil {
		if err := b.Ctx.Err(); err != nil {
			return fmt.Errorf("losses: stopped at position %d of %d: %w", t, l, err)
		}
	}
	return nil
}

// checkBudget refuses negative bounds.
func (b Budget) check(loss string) error {
	if b.Columns < 0 || b.Bytes < 0 {
		return fmt.Errorf("losses: %s: a budget of %d columns and %d bytes: neither may be negative", loss, b.Columns, b.Bytes)
	}
	return nil
}

// appendKey appends what decides whether a machine is made.
func (b Budget) appendKey(dst []byte) []byte { return appendInts(dst, int64(b.Columns), b.Bytes) }
