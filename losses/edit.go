package losses

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Loss makes the machine of a loss for one reference. Edit, Local, NGram and
// Hamming implement it; a Cache keeps what it makes.
type Loss interface {
	// Machine prepares L(·, ref) for strings of l symbols 0 … alphabet-1.
	// Symbols of ref outside the alphabet match nothing. It does not keep ref.
	Machine(ref []int, alphabet, l int) (*Machine, error)
	// AppendKey appends bytes that are equal for equal losses only.
	AppendKey(dst []byte) []byte
}

// Edit is the least cost of an alignment of y with the reference. A symbol of y is deleted (Del), a
// symbol of the reference inserted (Ins), or two symbols are aligned (Match when equal, Sub
// otherwise). Costs are any finite numbers, negative ones included: since the lengths are fixed, a
// constant cost only shifts the score.
//
// What is exact: everything with Band = 0. The machine has one column for each set of prefixes that
// no continuation distinguishes up to a constant, as far as the clamp (align.Columns) detects.
// Their number grows exponentially with the length, about 2 per symbol for unit costs on random
// references. No exact method avoids this.
type Edit struct {
	// All four 0, and no table, is the unit distance: Edit{} and Edit{Band: 2} count edits. Where
	// one is set, the others are what they are. The loss 0 needs no machine: see Evaluator.Eval.
	Match, Sub, Ins, Del float64

	// Tables per symbol replace the constants where they are not nil:
	// SubTable[y][r] (matches included), InsTable[r], DelTable[y], indexed by
	// symbols 0 … alphabet-1.
	SubTable           [][]float64
	InsTable, DelTable []float64

	// Band > 0 restricts alignments to |j - t·m/l| ≤ Band, where t and j count the symbols read of
	// y and of the reference. That gives an upper bound on the loss, with columns linear in the
	// length. A band too narrow for any alignment of such lengths is widened to the least that has
	// one. 0 is the exact loss.
	Band int

	// Budget bounds the machine. Beyond it Machine returns a *BudgetError, or the
	// context's error.
	Budget
}

// Unit is the Levenshtein distance.
var Unit = Edit{Match: 0, Sub: 1, Ins: 1, Del: 1}

// SmithWaterman is the alignment score of figure 6.3(b) of the thesis: one
// state, match -2, all else 1. The alignment is global, so that this is an
// edit distance with other costs, and negative where strings agree. Local is
// the score with free ends.
var SmithWaterman = Edit{Match: -2, Sub: 1, Ins: 1, Del: 1}

// or returns e with its default in place.
func (e Edit) or() Edit {
	if e.Match == 0 && e.Sub == 0 && e.Ins == 0 && e.Del == 0 && e.SubTable == nil && e.InsTable == nil &&
		e.DelTable == nil {
		e.Sub, e.Ins, e.Del = 1, 1, 1
	}
	return e
}

// Machine implements Loss. Cost: one row of dynamic programming for each
// column and each distinct symbol of the reference.
func (e Edit) Machine(ref []int, alphabet, l int) (*Machine, error) {
	e = e.or()
	if err := e.Check(ref, alphabet, l); err != nil {
		return nil, err
	}
	// A table of gains, and the bounds of every cell, come before any column.
	if err := e.tooLarge(ref, alphabet, l); err != nil {
		return nil, err
	}
	if over := e.hopeless(ref, alphabet, l); over != nil {
		return nil, over
	}
	b := e.columns(ref, alphabet, l)
	m, err := built(b)
	var over *BudgetError
	switch {
	case errors.As(err, &over):
		over.Band = e.fitting(ref, alphabet, l)
	case err == nil && e.Band > 0:
		m.surrogate = e.certify(b.First, b.Last, ref, alphabet, m)
	}
	return m, err
}

// BandFor returns the band that alignments of l symbols with a reference of m are kept to:
// Band, or the least that has an alignment of them. 0 is none. O(l) time, times the
// logarithm of m/l where Band has none.
func (e Edit) BandFor(m, l int) int {
	if e.Band <= 0 || l <= 0 || m < 0 || e.Band >= l+m {
		return e.Band
	}
	_, _, used := align.WidenedWindows(l, m, e.Band)
	return used
}

// columns returns what builds the machine of e, which Check has passed.
func (e Edit) columns(ref []int, alphabet, l int) *align.Columns {
	e = e.or()
	return align.New(align.Problem{
		Ref: ref, Alphabet: alphabet, Length: l, Cost: e.cost, Tables: e.SubTable != nil || e.DelTable != nil,
		Band: e.Band, Limits: e.Budget.bounds(),
	})
}

// built returns the machine of b.
func built(b *align.Columns) (*Machine, error) {
	c, subtracts, err := b.Build()
	if err != nil {
		return nil, budgetError(err)
	}
	m := newMachine(c)
	if subtracts && c.Cancels > 0 {
		m.careful = &careful{builder: b.Careful()}
	}
	return m, nil
}

// hopeless returns the error of an exact loss that is too large already at a hundredth of its size.
// The bounds of all cells, which come before the first column, take seconds for thousands of
// symbols.
func (e Edit) hopeless(ref []int, alphabet, l int) *BudgetError {
	const part = 200
	m := len(ref)
	if e.Band > 0 || e.cells(m, l) <= 1<<20 {
		return nil
	}
	lead, head := min(l, part), min(m, part)
	if l > m {
		lead = proportion(l, head, max(1, m))
	} else {
		head = proportion(m, lead, l)
	}
	if lead*head > 64*part*part {
		return nil // one is so much longer that columns stay few
	}
	b := e.columns(ref[:head], alphabet, lead)
	var over *BudgetError
	if _, err := built(b); !errors.As(err, &over) {
		return nil
	}
	over.Length, over.Band = l, e.fitting(ref, alphabet, l)
	return over
}

// fitting returns a band below e.Band (any if that is 0) whose machine fits the
// budget of e by an estimate, 0 if none does.
//
// Columns grow by a factor of 5 to 60 from one band to the next, depending on costs, reference and
// alphabet. Estimates from the costs only named bands that were too wide (7 for unit costs and 60
// symbols, which fails). Bands are therefore tried, from 1 up, on the first part of the reference
// and with few columns in all. That takes some 0.1 s, where complete trials took 5 to 27. Layers of
// a band are of one size, up to chance, after a few band widths. The size of the others is then
// extrapolated, here with a margin of one half. A trial that stops early reports that its band does
// not fit, as the next one would not.
func (e Edit) fitting(ref []int, alphabet, l int) int {
	const part, most = 1 << 12, 1 << 16
	m := len(ref)
	top := max(l, m)
	if e.Band > 0 {
		top = min(top, e.Band-1)
	}
	lead := min(l, part)
	if m > 4*part { // few positions for this many symbols
		lead = min(lead, max(1, proportion(4*part, l, m)))
	}
	head := ref[:proportion(m, lead, max(1, l))]
	limit, columns := e.allowance(), e.Columns
	fits, left := 0, most
	for band := 1; band <= top && left > 0; band++ {
		trial := e
		trial.Band = band
		if trial.cells(m, l) > mostCells || trial.cells(len(head), lead) > 1<<20 {
			break
		}
		trial.Budget = Budget{Ctx: e.Ctx, Columns: left}
		b := trial.columns(head, alphabet, lead)
		made, err := built(b)
		total, bytes, layers := 0, int64(0), lead
		var over *BudgetError
		switch {
		case err == nil:
			total = made.TotalColumns()
			for t := range made.core.Layers {
				ly := &made.core.Layers[t]
				bytes += layered.WithGraph(len(ly.Narrow)+2*len(ly.Wide), ly.Columns)
			}
			if lead == l && bytes <= limit && (columns == 0 || total <= columns) {
				fits, left = band, left-total
				continue
			}
		case errors.As(err, &over) && over.Layer > 3*band:
			total, bytes, layers = over.Columns, over.Bytes, over.Layer
		default:
			return fits
		}
		more := 1.5 * float64(l) / float64(max(1, layers))
		if more*float64(bytes) > float64(limit) || columns > 0 && more*float64(total) > float64(columns) {
			break
		}
		fits, left = band, left-total
	}
	return fits
}

// proportion is a b / c, rounded down, where a b may exceed an int.
func proportion(a, b, c int) int { return int(int64(a) * int64(b) / int64(c)) }

// mostCells bounds the cells of all windows, mostGains the table of gains.
const mostCells, mostGains = 1 << 26, 1 << 26

// cells bounds the number of cells of all windows.
func (e Edit) cells(m, l int) int64 {
	if e.Band > 0 {
		return int64(l+1) * int64(min(m+1, 2*min(e.Band, m)+m/max(1, l)+2))
	}
	return int64(l+1) * int64(m+1)
}

// tooLarge returns an error when the work that precedes the columns would
// already exceed the budget.
func (e Edit) tooLarge(ref []int, alphabet, l int) error {
	m := len(ref)
	classes := min(alphabet, m+1)
	if e.SubTable != nil || e.DelTable != nil {
		classes = alphabet
	}
	if gains := int64(classes) * int64(m); gains > mostGains {
		return fmt.Errorf("losses: edit: %d kinds of symbols against a reference of %d: %w", classes, m,
			ErrBudget)
	}
	if cells := e.cells(m, l); cells > mostCells {
		return &BudgetError{Bytes: cells * 16, Limit: e.allowance(), Length: l,
			Band: e.fitting(ref, alphabet, l)}
	}
	return nil
}

func checkShape(ref []int, alphabet, l int) error {
	const most = 1 << 20
	switch {
	case alphabet < 0 || l < 0:
		return fmt.Errorf("losses: alphabet of %d symbols, length %d: neither may be negative", alphabet, l)
	case alphabet > most || l > most || len(ref) > most:
		return fmt.Errorf("losses: alphabet of %d symbols, lengths %d and %d: at most %d", alphabet, l,
			len(ref), most)
	}
	for j, r := range ref {
		if r < 0 {
			return fmt.Errorf("losses: symbol %d of the reference is %d", j, r)
		}
	}
	return nil
}

// Check returns the error that Machine has for a loss, reference and shape that are meaningless,
// whatever the budget. Enumeration and the general path return it too.
func (e Edit) Check(ref []int, alphabet, l int) error {
	if err := checkShape(ref, alphabet, l); err != nil {
		return err
	}
	if e.Band < 0 {
		return fmt.Errorf("losses: edit: band %d is negative", e.Band)
	}
	if err := e.Budget.check("edit"); err != nil {
		return err
	}
	return e.check(ref, alphabet)
}

// maxCost bounds costs so that no sum of as many as the longest strings allow
// overflows.
const maxCost = 1e300

// check refuses tables of the wrong size and costs that are not finite.
func (e Edit) check(ref []int, alphabet int) error {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) > maxCost }
	for _, x := range []float64{e.Match, e.Sub, e.Ins, e.Del} {
		if bad(x) {
			return fmt.Errorf("losses: edit: cost %v is not a finite number of moderate size", x)
		}
	}
	table := func(name string, n int, row []float64) error {
		if len(row) != n {
			return fmt.Errorf("losses: edit: %s has %d costs for %d symbols", name, len(row), n)
		}
		for i, x := range row {
			if bad(x) {
				return fmt.Errorf("losses: edit: %s[%d] = %v is not a finite number of moderate size", name,
					i, x)
			}
		}
		return nil
	}
	if e.SubTable == nil && e.InsTable == nil && e.DelTable == nil {
		return nil
	}
	for j, r := range ref {
		if r >= alphabet {
			return fmt.Errorf("losses: edit: symbol %d of the reference is %d, but the cost tables have %d "+
				"symbols", j, r, alphabet)
		}
	}
	if e.SubTable != nil {
		if len(e.SubTable) != alphabet {
			return fmt.Errorf("losses: edit: the substitution table has %d rows for %d symbols",
				len(e.SubTable), alphabet)
		}
		for y, row := range e.SubTable {
			if err := table(fmt.Sprintf("substitution row %d", y), alphabet, row); err != nil {
				return err
			}
		}
	}
	if e.InsTable != nil {
		if err := table("insertions", alphabet, e.InsTable); err != nil {
			return err
		}
	}
	if e.DelTable != nil {
		return table("deletions", alphabet, e.DelTable)
	}
	return nil
}

// AppendKey implements Loss.
func (e Edit) AppendKey(dst []byte) []byte {
	e = e.or()
	dst = e.Budget.appendKey(append(dst, 'e'))
	dst = appendFloats(dst, e.Match, e.Sub, e.Ins, e.Del)
	dst = appendInts(dst, e.Band, len(e.SubTable), len(e.InsTable), len(e.DelTable))
	for _, row := range e.SubTable {
		dst = appendFloats(appendInts(dst, len(row)), row...)
	}
	dst = appendFloats(dst, e.InsTable...)
	return appendFloats(dst, e.DelTable...)
}

var infinity = math.Inf(1)

// Value returns the loss of y by dynamic programming over alignments, as it is
// defined: O(len(y) len(ref)), or O(len(y) Band + len(ref)) within a band. y and ref
// must suit the cost tables.
func (e Edit) Value(y, ref []int) float64 {
	e = e.or()
	l, m := len(y), len(ref)
	var first, last []int
	if e.Band > 0 {
		first, last = align.BandWindows(l, m, e.Band)
	}
	var small [64]float64 // no allocation for words: enumeration calls this for every string
	row := small[:]
	if m >= len(small) {
		row = make([]float64, m+1)
	}
	row = row[:m+1]
	lo, hi := 0, m
	if e.Band > 0 {
		lo, hi = first[0], last[0]
	}
	row[0] = 0
	for j := 1; j <= m; j++ {
		row[j] = row[j-1] + e.insert(ref[j-1])
		if j > hi {
			row[j] = infinity // and remains so until a window has it
		}
	}
	for t, s := range y {
		del := e.Del
		if e.DelTable != nil {
			del = e.DelTable[s]
		}
		before := lo
		if e.Band > 0 {
			lo, hi = first[t+1], last[t+1]
		}
		// Cells before the window are never read again, except for the one next to it.
		var diagonal float64
		if lo > 0 {
			diagonal = row[lo-1]
			if before < lo {
				row[lo-1] = infinity
			}
		} else {
			diagonal = row[0]
			row[0] += del
		}
		for j := max(1, lo); j <= hi; j++ {
			r := ref[j-1]
			sub := e.Sub
			switch {
			case e.SubTable != nil:
				sub = e.SubTable[s][r]
			case s == r:
				sub = e.Match
			}
			v := min(row[j]+del, diagonal+sub, row[j-1]+e.insert(r))
			diagonal, row[j] = row[j], v
		}
	}
	return row[m]
}

func (e *Edit) insert(r int) float64 {
	if e.InsTable != nil {
		return e.InsTable[r]
	}
	return e.Ins
}
