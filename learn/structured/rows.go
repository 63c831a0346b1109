package structured

import (
	"math"

	"github.com/tropica-fst/tropica/losses"
)

// rows computes an alignment loss of a growing string against many references at once: for
// each reference one row of the table of dynamic programming.
//
// Under an edit loss a row has the costs of aligning what was read with each prefix of the
// reference. Under a local one it has the gain of the best alignment that ends at each prefix. At
// its end it has the best gain so far.
type rows struct {
	match, sub, ins, del float64
	subTable             [][]float64
	insTable, delTable   []float64
	local                bool

	refs  [][]int
	alpha []float64
	at    []int // where the row of a reference begins
	width int   // of all rows

	least, most    float64 // cost of an aligned pair
	delMin, delMax float64
	insMin, insMax float64
	bounds         map[[2]int32]*ends
}

// ends bound what is still to come, by the symbols left of a reference.
type ends struct{ lo, hi []float64 }

// newRows prepares references that have weights; ok is false where the loss has no rows.
func newRows(loss StringLoss, refs [][]int, alpha []float64) (r *rows, ok bool) {
	switch e := loss.(type) {
	case losses.Edit:
		if e.Band != 0 {
			return nil, false
		}
		r = &rows{match: e.Match, sub: e.Sub, ins: e.Ins, del: e.Del, subTable: e.SubTable, insTable: e.InsTable,
			delTable: e.DelTable}
		if e.Match == 0 && e.Sub == 0 && e.Ins == 0 && e.Del == 0 && e.SubTable == nil && e.InsTable == nil &&
			e.DelTable == nil {
			r.sub, r.ins, r.del = 1, 1, 1
		}
	case losses.Local:
		if e.Band != 0 {
			return nil, false
		}
		r = &rows{match: e.Match, sub: e.Sub, ins: e.Ins, del: e.Del, local: true}
		if e.Match == 0 && e.Sub == 0 && e.Ins == 0 && e.Del == 0 {
			r.match, r.sub, r.ins, r.del = 1, -1, -1, -1
		}
	default:
		return nil, false
	}
	r.refs, r.alpha = refs, alpha
	for _, ref := range refs {
		r.at = append(r.at, r.width)
		r.width += len(ref) + 1
		if r.local {
			r.width++
		}
	}
	r.extremes()
	r.bounds = map[[2]int32]*ends{}
	return r, true
}

func (r *rows) extremes() {
	over := func(low, high *float64, constant float64, table []float64) {
		*low, *high = constant, constant
		for i, v := range table {
			if i == 0 {
				*low, *high = v, v
			}
			*low, *high = math.Min(*low, v), math.Max(*high, v)
		}
	}
	over(&r.delMin, &r.delMax, r.del, r.delTable)
	over(&r.insMin, &r.insMax, r.ins, r.insTable)
	r.least, r.most = math.Min(r.match, r.sub), math.Max(r.match, r.sub)
	for i, row := range r.subTable {
		for j, v := range row {
			if i == 0 && j == 0 {
				r.least, r.most = v, v
			}
			r.least, r.most = math.Min(r.least, v), math.Max(r.most, v)
		}
	}
}

// start stores the rows of the empty string.
func (r *rows) start(row []float64) {
	clear(row)
	if r.local {
		return
	}
	for k, ref := range r.refs {
		d := row[r.at[k]:]
		for j, b := range ref {
			d[j+1] = d[j] + r.insertion(b)
		}
	}
}

func (r *rows) insertion(b int) float64 {
	if r.insTable != nil {
		return r.insTable[b]
	}
	return r.ins
}

func (r *rows) deletion(a int) float64 {
	if r.delTable != nil {
		return r.delTable[a]
	}
	return r.del
}

// step stores in next the rows of one symbol more.
func (r *rows) step(next, row []float64, a int) {
	del := r.deletion(a)
	for k, ref := range r.refs {
		at := r.at[k]
		m := len(ref)
		d, n := row[at:at+m+1], next[at:at+m+1]
		if r.local {
			best := row[at+m+1]
			n[0] = 0
			for j, b := range ref {
				v := math.Max(d[j]+r.pairCost(a, b), 0)
				v = math.Max(v, math.Max(d[j+1]+del, n[j]+r.ins))
				n[j+1] = v
				best = math.Max(best, v)
			}
			next[at+m+1] = best
			continue
		}
		left := d[0] + del
		n[0] = left
		diagonal := d[0]
		if r.subTable == nil && r.insTable == nil {
			match, sub, ins := r.match, r.sub, r.ins
			for j, b := range ref {
				v := diagonal + sub
				if a == b {
					v = diagonal + match
				}
				diagonal = d[j+1]
				if u := diagonal + del; u < v {
					v = u
				}
				if u := left + ins; u < v {
					v = u
				}
				n[j+1], left = v, v
			}
			continue
		}
		for j, b := range ref {
			v := math.Min(diagonal+r.pairCost(a, b), math.Min(d[j+1]+del, left+r.insertion(b)))
			diagonal = d[j+1]
			n[j+1], left = v, v
		}
	}
}

func (r *rows) pairCost(a, b int) float64 {
	switch {
	case r.subTable != nil:
		return r.subTable[a][b]
	case a == b:
		return r.match
	}
	return r.sub
}

// value returns Σ_i α_i of the losses of what was read.
func (r *rows) value(row []float64) float64 {
	f := 0.0
	for k, ref := range r.refs {
		f += r.alpha[k] * r.loss(row, k, len(ref))
	}
	return f
}

// loss returns the loss against reference k, of m symbols.
func (r *rows) loss(row []float64, k, m int) float64 {
	if r.local {
		return 0 - row[r.at[k]+m+1]
	}
	return row[r.at[k]+m]
}

// endsOf returns the least and the most that an alignment of short to long symbols with j
// symbols of a reference can add, up to the longest reference. For edit losses, lo is the
// least over all alignments of any symbols; hi is the cost of one alignment that always
// exists, with the dearest symbols.
func (r *rows) endsOf(short, long int32) *ends {
	key := [2]int32{short, long}
	if e := r.bounds[key]; e != nil {
		return e
	}
	top := 0
	for _, ref := range r.refs {
		top = max(top, len(ref))
	}
	e := &ends{make([]float64, top+1), make([]float64, top+1)}
	for j := range top + 1 {
		if r.local {
			// The gain: each aligned pair adds a match at best. Never less than nothing.
			e.hi[j] = float64(min(int(long), j)) * math.Max(0, math.Max(r.match, r.sub))
			continue
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		// Both are piecewise linear in the number of symbols, with a bend at j.
		for _, l := range [3]int{int(short), int(long), max(int(short), min(j, int(long)))} {
			pairs := min(l, j)
			del, ins := float64(l), float64(j)
			lo = math.Min(lo, math.Min(del*r.delMin+ins*r.insMin,
				float64(pairs)*r.least+float64(l-pairs)*r.delMin+float64(j-pairs)*r.insMin))
			hi = math.Max(hi, float64(pairs)*r.most+float64(l-pairs)*r.delMax+float64(j-pairs)*r.insMax)
		}
		e.lo[j], e.hi[j] = lo, hi
	}
	r.bounds[key] = e
	return e
}

// bound returns a lower bound on Σ_i α_i of the losses of all strings that go on from what was
// read by short to long symbols.
func (r *rows) bound(row []float64, short, long int32) float64 {
	e := r.endsOf(short, long)
	f := 0.0
	for k, ref := range r.refs {
		m := len(ref)
		d := row[r.at[k] : r.at[k]+m+1]
		a := r.alpha[k]
		if r.local {
			best := row[r.at[k]+m+1]
			if a > 0 { // the most that can be gained
				most := best
				for j, v := range d {
					most = math.Max(most, v+e.hi[m-j])
				}
				f -= a * most
			} else {
				f -= a * best
			}
			continue
		}
		to := e.lo
		if a < 0 {
			to = e.hi
		}
		least := math.Inf(1)
		for j, v := range d {
			if u := v + to[m-j]; u < least {
				least = u
			}
		}
		f += a * least
	}
	return f
}
