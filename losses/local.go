package losses

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/losses/internal/units"
)

// Local is the negated score of the best local alignment. The score is the greatest sum of gains of
// an alignment of a piece of y with a piece of the reference. The empty alignment has 0. Symbols
// before and after cost nothing, on both sides. Match is a gain, hence positive. Sub, Ins and Del
// are gains too, hence negative (Ins and Del must not be positive).
//
// As a transducer it has three states (skip, align, skip), and it is another
// loss than SmithWaterman, which the thesis draws with one state.
//
// Exact. A column has the best score of an alignment that ends at each cell and the best score so
// far, M. Entries that cannot exceed M any more count as fresh starts, and M itself is forgotten
// once no fresh start can reach it.
//
// No deterministic machine for it is linear in the length, however narrow the band. Take only the
// diagonal, with gains +1 and -1. After t of l symbols let h be the score of the alignment that
// ends there (0 is a fresh start) and M the best. If j mismatches and then k matches follow, M
// grows by max(0, max(h-j, 0) + k - M). With j = 0 that determines M - h. From j = h on one more
// mismatch makes no difference, which determines h, if l - t exceeds h + M. So for t between l/4
// and l/2 all pairs 0 ≤ h ≤ M ≤ t/2 need states of their own. These are of the order of l² a layer,
// l³ in all. (TestLeastLocalMachine: the least machines of l = 20, 40, 80 and 160 have 252, 1575,
// 10962 and 81675 states.)
type Local struct {
	// All four 0 are 1 for a match and -1 for all else, the defaults of Local{}.
	Match, Sub, Ins, Del float64

	// Band > 0 restricts alignments to |j - t·m/l| ≤ Band, as Edit.Band does. Each step of the
	// alignment of the two pieces ends there. Skipped parts before and after are not restricted.
	// That gains no more, and is an upper bound on the loss. 0 is the exact loss.
	Band int

	// Budget is as in Edit. Columns of Local are many, and take a dynamic program for each symbol.
	// 24 random symbols of 15 fit the default and take half a minute.
	Budget
}

// or returns x with its default in place.
func (x Local) or() Local {
	if x.Match == 0 && x.Sub == 0 && x.Ins == 0 && x.Del == 0 {
		x.Match, x.Sub, x.Ins, x.Del = 1, -1, -1, -1
	}
	return x
}

// localAdvice is what to do about a machine that is too large, where no band is known to help.
const localAdvice = "take a band (narrower, if there is one), or shorter strings, or Edit or SmithWaterman " +
	"with a band (kind or loss edit), or raise the budget"

// fitting returns a band, narrower than that of x if it has one, whose machine fits its budget. It
// returns 0 where none is found among machines of some ten thousands of columns in all.
func (x Local) fitting(ref []int, alphabet, l int) int {
	top := l + len(ref)
	if x.Band > 0 {
		top = x.Band - 1
	}
	trial, found, left := x, 0, 1<<16
	for trial.Band = 1; trial.Band <= top && left > 0; trial.Band++ {
		trial.Columns = left
		if x.Columns > 0 {
			trial.Columns = min(left, x.Columns)
		}
		m, err := trial.build(ref, alphabet, l)
		if err != nil {
			break
		}
		found, left = trial.Band, left-m.TotalColumns()
	}
	return found
}

// BandFor is as Edit.BandFor.
func (x Local) BandFor(m, l int) int { return Edit{Band: x.Band}.BandFor(m, l) }

// AppendKey implements Loss.
func (x Local) AppendKey(dst []byte) []byte {
	x = x.or()
	return appendInts(x.Budget.appendKey(appendFloats(append(dst, 'l'), x.Match, x.Sub, x.Ins, x.Del)),
		x.Band)
}

func (x Local) check() error {
	for _, v := range []float64{x.Match, x.Sub, x.Ins, x.Del} {
		if math.IsNaN(v) || math.Abs(v) > maxCost {
			return fmt.Errorf("losses: local: gain %v is not a finite number of moderate size", v)
		}
	}
	if x.Ins > 0 || x.Del > 0 {
		return fmt.Errorf("losses: local: insertions gain %v and deletions %v: neither may be positive",
			x.Ins, x.Del)
	}
	return nil
}

// Value returns the loss of y by the usual dynamic program.
func (x Local) Value(y, ref []int) float64 {
	x = x.or()
	l, m := len(y), len(ref)
	h, next := make([]float64, m+1), make([]float64, m+1)
	best := 0.0
	first, last := align.BandWindows(l, m, x.Band)
	for t, s := range y {
		// Cells outside the window of their layer end no step of an alignment.
		for j := first[t+1]; j <= last[t+1]; j++ {
			v := 0.0
			if j > first[t+1] {
				v = max(v, next[j-1]+x.Ins)
			}
			if j >= first[t] && j <= last[t] {
				v = max(v, h[j]+x.Del)
			}
			if j > 0 {
				gain := x.Sub
				if s == ref[j-1] {
					gain = x.Match
				}
				if j-1 >= first[t] && j-1 <= last[t] {
					gain += h[j-1]
				}
				v = max(v, gain)
			}
			next[j] = v
			best = max(best, v)
		}
		h, next = next, h
	}
	return 0 - best
}

// units returns a unit and the gains as multiples of it.
//
// A loss below all that can be gained ends an alignment whatever it is exactly, so
// that none counts for more. What is left is rounded relative to the greatest
// gain, which is the least score but 0 where only one kind of pair gains
// anything. Two gains of very different sizes must be exact.
func (x Local) units(l, m int) (float64, []int64, error) {
	step := max(x.Match, x.Sub, 0)
	most := 2 * step * float64(min(l, m))
	gains := []float64{x.Match, x.Sub, x.Ins, x.Del}
	for i := range gains {
		gains[i] = max(gains[i], -most)
	}
	if unit, multiples, ok := units.Grid(gains); ok &&
		bits.Len64(uint64(step/unit))+bits.Len(uint(l+m)) < 60 {
		return unit, multiples, nil
	}
	if least := min(x.Match, x.Sub); step >= 0x1p-1000 && (least <= 0 || least >= step/4096) {
		_, e := math.Frexp(step)
		n := min(50, 60-bits.Len(uint(l+m+2)))
		multiples := make([]int64, len(gains))
		for i, g := range gains {
			multiples[i] = int64(math.Round(math.Ldexp(g, n-e)))
		}
		return math.Ldexp(1, e-n), multiples, nil
	}
	exponent, exact := units.Dyadic(gains)
	multiples := make([]int64, len(gains))
	for i, g := range exact {
		if g.BitLen()+bits.Len(uint(l+m+2)) > 61 {
			return 0, nil, fmt.Errorf("losses: local: gains %v and %v are of too different sizes to be "+
				"added exactly", x.Match, x.Sub)
		}
		multiples[i] = g.Int64()
	}
	return math.Ldexp(1, exponent), multiples, nil
}

// Check is as for Edit.
func (x Local) Check(ref []int, alphabet, l int) error {
	if err := checkShape(ref, alphabet, l); err != nil {
		return err
	}
	if x.Band < 0 {
		return fmt.Errorf("losses: local: band %d is negative", x.Band)
	}
	if err := x.Budget.check("local"); err != nil {
		return err
	}
	return x.check()
}

// Machine implements Loss. With a band, columns are as wide as the band. They have two more numbers
// that grow with the length: how far their cells are behind the best score, and that score where it
// matters.
func (x Local) Machine(ref []int, alphabet, l int) (*Machine, error) {
	x = x.or()
	if err := x.Check(ref, alphabet, l); err != nil {
		return nil, err
	}
	if x.Bytes == 0 && x.Columns == 0 {
		x.Bytes = DefaultBytes
	}
	made, err := x.build(ref, alphabet, l)
	var over *BudgetError
	switch {
	case errors.As(err, &over):
		if over.Band = x.fitting(ref, alphabet, l); over.Band == 0 {
			over.advice = localAdvice
		}
	case err == nil && x.Band > 0:
		made.surrogate = &banded{local: &x, ref: slices.Clone(ref), harmless: x.Band >= len(ref)}
	}
	return made, err
}

// build is Machine without what its errors and its surrogate say.
func (x Local) build(ref []int, alphabet, l int) (*Machine, error) {
	unit, gains, err := x.units(l, len(ref))
	if err != nil {
		return nil, err
	}
	p := align.LocalProblem{
		Ref: ref, Alphabet: alphabet, Length: l, Unit: unit,
		Match: gains[0], Sub: gains[1], Ins: gains[2], Del: gains[3],
		Band: x.Band, Limits: x.bounds(),
	}
	c, err := p.Build()
	if err != nil {
		return nil, budgetError(err)
	}
	return newMachine(c), nil
}
