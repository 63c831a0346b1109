package multi

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/run"
)

// Stumps is the learner of decision stumps with leaves ±1, including the constants ±1. It returns
// the exact maximiser of the edge Σ u h over all columns, thresholds (midway between neighbouring
// values) and signs. It is boost.Stumps for several directions at once. One pass over the columns
// fits a stump for every slot, and a column with one frequent value costs only its other entries.
//
// A categorical column is divided into one level and the rest, as if it had been
// written as columns of 0 and 1. Missing values go to the side that is better. Of
// equals (up to 1e-12 of the edge) the lowest column comes first, then the lowest
// threshold; a constant comes before all.
//
// Memory is one to four bytes a cell that does not have its column's most frequent
// value; a round costs O(entries·slots).
type Stumps struct{}

// Name is "multi.stumps": on categorical columns they are others than boost.Stumps.
func (Stumps) Name() string { return "multi.stumps" }

// SlotFitter is implemented by fitters that fit several directions in one pass: u[s] are the signed
// weights (-w g, see boost.Direction) of slot s. The result has a fit a slot, as separate calls of
// Fit would give.
type SlotFitter interface {
	boost.Fitter
	FitSlots(ctx context.Context, u [][]float64, round int) ([]*boost.Fit, error)
}

// stumpFitter holds columns as codes.
type stumpFitter struct {
	rows    int
	workers int
	columns []stumpColumn
	hists   [][]float64 // one a worker
	counts  [][]int32
	packed  []float64 // signed weights, by row and slot
}

// Prepare codes the columns. Infinite values and levels out of range are errors.
func (Stumps) Prepare(d *boost.Data, workers int) (boost.Fitter, error) {
	t := &stumpFitter{rows: d.Rows(), workers: workers, columns: make([]stumpColumn, len(d.X.Columns))}
	errs := make([]error, len(d.X.Columns))
	run.Jobs(workers, len(d.X.Columns), func(_, j int) { errs[j] = t.columns[j].prepare(d.X, j) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	n := run.WorkersOf(workers)
	t.hists, t.counts = make([][]float64, n), make([][]int32, n)
	return t, nil
}

// stump is a split, or a constant where column is negative.
type stump struct {
	column      int
	code        int // the last that goes left; the level that goes left
	next        int // the first occupied code after it; the number of codes when there is none
	missingLeft bool
	sign        float64 // on the left
	edge        float64
}

// tied is the relative difference up to which two edges are equal, so that rounding
// does not choose.
const tied = 1e-12

// Fit fits one stump to the rows that the direction names.
func (t *stumpFitter) Fit(ctx context.Context, p *boost.Direction) (*boost.Fit, error) {
	u := make([]float64, t.rows)
	var in []bool
	if p.Rows != nil {
		in = make([]bool, t.rows)
		for _, i := range p.Rows {
			in[i] = true
			u[i] = p.SignedWeight(int(i))
		}
	} else {
		for i := range u {
			u[i] = p.SignedWeight(i)
		}
	}
	fits, err := t.fit(ctx, [][]float64{u}, in)
	if err != nil {
		return nil, err
	}
	return fits[0], nil
}

// FitSlots fits a stump to each list of signed weights, in one pass.
func (t *stumpFitter) FitSlots(ctx context.Context, u [][]float64, _ int) ([]*boost.Fit, error) {
	return t.fit(ctx, u, nil)
}

// fit looks for the best stump of each slot on the rows that are in (nil: all).
func (t *stumpFitter) fit(ctx context.Context, u [][]float64, in []bool) ([]*boost.Fit, error) {
	slots := len(u)
	width := slots // of a row's weights and of a histogram's cell
	if 1 < width && width < 4 {
		width = 4 // which has a loop of its own
	}
	for s, list := range u {
		if len(list) != t.rows {
			return nil, fmt.Errorf("multi: stumps: slot %d has %d weights for %d rows", s, len(list), t.rows)
		}
	}
	if slots == 1 {
		t.packed = append(t.packed[:0], u[0]...)
	} else {
		if len(t.packed) != width*t.rows {
			t.packed = make([]float64, width*t.rows)
		}
		for s, list := range u {
			for i, v := range list {
				t.packed[i*width+s] = v
			}
		}
	}
	total := make([]float64, width)
	for i := 0; i < len(t.packed); i += width {
		for s := range total {
			total[s] += t.packed[i+s]
		}
	}
	rows := t.rows
	if in != nil {
		rows = 0
		for _, b := range in {
			if b {
				rows++
			}
		}
	}
	found := make([]stump, len(t.columns)*slots)
	run.Jobs(t.workers, len(t.columns), func(w, j int) {
		if ctx != nil && ctx.Err() != nil {
			return
		}
		c := &t.columns[j]
		need := (c.codes() + 1) * width
		if cap(t.hists[w]) < need {
			t.hists[w] = make([]float64, need)
		}
		hist := t.hists[w][:need]
		clear(hist)
		c.sum(hist, t.packed, width, total)
		counts := c.count
		if in != nil {
			if cap(t.counts[w]) < c.codes()+1 {
				t.counts[w] = make([]int32, c.codes()+1)
			}
			counts = t.counts[w][:c.codes()+1]
			c.countIn(counts, in, rows)
		}
		for s := range slots {
			found[j*slots+s] = c.search(hist, counts, width, s, total[s])
		}
	})
	if ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := make([]*boost.Fit, slots)
	for s := range out {
		best := stump{column: -1, sign: 1, edge: math.Abs(total[s])}
		if total[s] < 0 {
			best.sign = -1
		}
		for j := range t.columns {
			if f := &found[j*slots+s]; f.edge > best.edge*(1+tied) {
				best = *f
				best.column = j
			}
		}
		out[s] = t.make(best, rows, math.Abs(total[s]))
	}
	return out, nil
}

// make writes a stump as a tree with its values on all rows.
func (t *stumpFitter) make(b stump, rows int, constant float64) *boost.Fit {
	fit := &boost.Fit{Values: make([]float64, t.rows), Complexity: math.NaN()}
	if b.column < 0 {
		fit.Predictor = &tree.Tree{Feature: []int32{-1}, Threshold: []float64{0}, Left: []int32{-1},
			Right: []int32{-1}, Flags: []uint8{0}, Value: []float64{b.sign}, Gain: []float64{0},
			Cover: []float64{float64(rows)}, Count: []int32{int32(rows)}}
		for i := range fit.Values {
			fit.Values[i] = b.sign
		}
		return fit
	}
	c := &t.columns[b.column]
	ofCode := make([]float64, c.codes()+1)
	for code := range ofCode {
		goes := code <= b.code
		switch {
		case code == c.codes():
			goes = b.missingLeft
		case c.categorical:
			goes = code == b.code
		}
		ofCode[code] = -b.sign
		if goes {
			ofCode[code] = b.sign
		}
	}
	c.values(fit.Values, ofCode)
	n := int32(0)
	for _, v := range fit.Values {
		if v == b.sign {
			n++
		}
	}
	fit.Predictor = c.tree(b, int32(t.rows), n, b.edge-constant)
	return fit
}

// tree writes the split as a tree of three nodes.
func (c *stumpColumn) tree(b stump, rows, left int32, gain float64) *tree.Tree {
	out := &tree.Tree{Feature: []int32{int32(b.column), -1, -1}, Threshold: []float64{0, 0, 0},
		Left: []int32{1, -1, -1}, Right: []int32{2, -1, -1}, Flags: []uint8{0, 0, 0},
		Value: []float64{0, b.sign, -b.sign}, Gain: []float64{gain, 0, 0},
		Cover: []float64{float64(rows), float64(left), float64(rows - left)},
		Count: []int32{rows, left, rows - left}}
	if b.missingLeft {
		out.Flags[0] |= tree.MissingLeft
	}
	if c.categorical {
		level := int(c.distinct[b.code])
		set := make([]uint64, level/64+1)
		set[level/64] |= 1 << (level % 64)
		out.SetLevels(0, set)
		return out
	}
	out.Threshold[0] = beyond
	if b.next < c.codes() {
		// Half of each, not half of the sum, which may overflow.
		out.Threshold[0] = float64(c.distinct[b.code])/2 + float64(c.distinct[b.next])/2
	}
	return out
}

// beyond is the threshold after the last value: what is present is below it.
var beyond = float64(math.Nextafter32(math.MaxFloat32, 0))

// search looks for the best split of one slot. hist has the signed weights by code and
// slot, those that are missing last.
func (c *stumpColumn) search(hist []float64, counts []int32, width, s int, total float64) (best stump) {
	n := c.codes()
	missing := hist[n*width+s]
	some := counts[n] > 0
	all, before := int64(0), int64(0)
	for _, k := range counts {
		all += int64(k)
	}
	try := func(left float64, code, next int, missingLeft bool) {
		e := 2*left - total
		sign := 1.0
		if e < 0 {
			e, sign = -e, -1
		}
		if e > best.edge*(1+tied) {
			best = stump{code: code, next: next, missingLeft: missingLeft, sign: sign, edge: e}
		}
	}
	if c.categorical {
		for code := range n {
			if counts[code] == 0 {
				continue
			}
			x := hist[code*width+s]
			// Where nothing is missing, what will be joins the larger side.
			try(x, code, n, !some && 2*int64(counts[code]) >= all)
			if some {
				try(x+missing, code, n, true)
			}
		}
		return best
	}
	left := 0.0
	for code := 0; code < n; {
		next := code + 1
		for next < n && counts[next] == 0 {
			next++
		}
		if counts[code] > 0 {
			left += hist[code*width+s]
			before += int64(counts[code])
			if next < n {
				try(left, code, next, !some && 2*before >= all)
				if some {
					try(left+missing, code, next, true)
				}
			} else if some {
				try(left, code, n, false) // what is present against what is not
			}
		}
		code = next
	}
	return best
}
