package multi

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// stumpColumn is a column as codes: the rank of a value among the column's distinct ones, or the
// place of a level among those that occur. The number of codes stands for missing values.
//
// Where one code is most of the column, only the rows with another one are kept: rows
// and their codes. The sum of the frequent code is what the others leave of the total.
type stumpColumn struct {
	categorical bool
	distinct    []float32 // ascending
	count       []int32   // rows of each code, then those that are missing
	common      int       // the code that is not kept; -1 when all are
	rows        []int32   // of the codes below; nil when all are kept
	code8       []uint8   // one of the three is in use
	code16      []uint16
	code32      []int32
}

func (c *stumpColumn) codes() int { return len(c.distinct) }

// sparseShare of the rows with one value make a column sparse: below it the numbers of
// rows cost more than the codes they save.
const sparseShare = 0.7

func (c *stumpColumn) prepare(x *table.Table, j int) error {
	in := &x.Columns[j]
	c.categorical = in.Kind == table.Categorical
	for i, v := range in.Values {
		if math.IsInf(float64(v), 0) || c.categorical && v == v &&
			!(v >= 0 && v == float32(int32(v)) && v < tree.MaxLevel) {
			return fmt.Errorf("multi: %s: %w: column %q has %v, which is neither a finite number nor a level", x.At(i),
				boost.ErrData, in.Name, v)
		}
	}
	c.distinct = distinctValues(in.Values)
	c.count = make([]int32, len(c.distinct)+1)
	codes := make([]int32, len(in.Values))
	rank := newRanks(c.distinct)
	for i, v := range in.Values {
		codes[i] = rank.of(v)
		c.count[codes[i]]++
	}
	c.common = -1
	top := 0
	for code := range c.count {
		if c.count[code] > c.count[top] {
			top = code
		}
	}
	keep := codes
	if float64(c.count[top]) >= sparseShare*float64(len(codes)) {
		c.common = top
		c.rows = make([]int32, 0, len(codes)-int(c.count[top]))
		keep = make([]int32, 0, len(codes)-int(c.count[top]))
		for i, code := range codes {
			if int(code) != top {
				c.rows = append(c.rows, int32(i))
				keep = append(keep, code)
			}
		}
	}
	most := len(c.distinct) // the largest code in use
	if c.count[most] == 0 {
		most-- // so that pixels, of 256 values, have codes of a byte
	}
	switch {
	case most < 1<<8:
		c.code8 = narrow[uint8](keep)
	case most < 1<<16:
		c.code16 = narrow[uint16](keep)
	default:
		c.code32 = keep
	}
	return nil
}

func narrow[C uint8 | uint16](codes []int32) []C {
	out := make([]C, len(codes))
	for i, c := range codes {
		out[i] = C(c)
	}
	return out
}

// distinctValues returns the values that occur, ascending, without what is missing.
// A few distinct values, as pixels have, are found without sorting all.
func distinctValues(values []float32) []float32 {
	const few = 512
	set := map[float32]struct{}{}
	last := float32(math.NaN())
	for _, v := range values {
		if v == last || v != v {
			continue
		}
		last = v
		set[v+0] = struct{}{} // -0 is 0
		if len(set) > few {
			all := slices.DeleteFunc(slices.Clone(values), func(v float32) bool { return v != v })
			slices.Sort(all)
			return slices.Clip(slices.Compact(all))
		}
	}
	out := make([]float32, 0, len(set))
	for v := range set {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// ranks finds the place of a value: small integers by a table, others by bisection.
type ranks struct {
	distinct []float32
	small    []int32
}

func newRanks(distinct []float32) *ranks {
	r := &ranks{distinct: distinct}
	const most = 1 << 12
	for _, v := range distinct {
		if !(v >= 0 && v < most && v == float32(int32(v))) {
			return r
		}
	}
	r.small = make([]int32, most)
	for k, v := range distinct {
		r.small[int32(v)] = int32(k)
	}
	return r
}

func (r *ranks) of(v float32) int32 {
	if v != v {
		return int32(len(r.distinct))
	}
	if r.small != nil {
		return r.small[int32(v)]
	}
	k, _ := slices.BinarySearch(r.distinct, v)
	return int32(k)
}

// sum adds the weights of the column's rows to the histogram: hist[code·slots+s]. u is by
// row and slot.
func (c *stumpColumn) sum(hist, u []float64, slots int, total []float64) {
	switch {
	case c.code8 != nil:
		sumCodes(hist, u, slots, c.rows, c.code8)
	case c.code16 != nil:
		sumCodes(hist, u, slots, c.rows, c.code16)
	default:
		sumCodes(hist, u, slots, c.rows, c.code32)
	}
	if c.common < 0 {
		return
	}
	for s := range slots {
		rest := total[s]
		for code := range c.codes() + 1 {
			if code != c.common {
				rest -= hist[code*slots+s]
			}
		}
		hist[c.common*slots+s] = rest
	}
}

// sumCodes is the inner loop. Four slots, three domains and a shared one, have a loop of their own:
// 8 ns a cell against 28 in the general loop for five slots. Most of that is reading weights from
// the second-level cache, once a column.
func sumCodes[C uint8 | uint16 | int32](hist, u []float64, slots int, rows []int32, codes []C) {
	switch {
	case slots == 1 && rows == nil:
		for i, c := range codes {
			hist[c] += u[i]
		}
	case slots == 1:
		for k, c := range codes {
			hist[c] += u[rows[k]]
		}
	case slots == 4 && rows == nil:
		for i, c := range codes {
			h, v := (*[4]float64)(hist[int(c)*4:]), (*[4]float64)(u[i*4:])
			h[0] += v[0]
			h[1] += v[1]
			h[2] += v[2]
			h[3] += v[3]
		}
	case slots == 4:
		for k, c := range codes {
			h, v := (*[4]float64)(hist[int(c)*4:]), (*[4]float64)(u[int(rows[k])*4:])
			h[0] += v[0]
			h[1] += v[1]
			h[2] += v[2]
			h[3] += v[3]
		}
	default:
		for k, c := range codes {
			i := k
			if rows != nil {
				i = int(rows[k])
			}
			h, v := hist[int(c)*slots:][:slots], u[i*slots:][:slots]
			for s, x := range v {
				h[s] += x
			}
		}
	}
}

// countIn counts the codes of the rows that are in; rows is the number of these.
func (c *stumpColumn) countIn(counts []int32, in []bool, rows int) {
	clear(counts)
	rest := int32(rows)
	c.each(func(i int, code int) {
		if in[i] {
			counts[code]++
			rest--
		}
	})
	if c.common >= 0 {
		counts[c.common] = rest
	}
}

// values stores what each code has in dst, by row.
func (c *stumpColumn) values(dst, ofCode []float64) {
	if c.common >= 0 {
		for i := range dst {
			dst[i] = ofCode[c.common]
		}
	}
	c.each(func(i, code int) { dst[i] = ofCode[code] })
}

// each calls f with the rows and codes that are kept.
func (c *stumpColumn) each(f func(row, code int)) {
	at := func(k int) int {
		if c.common >= 0 {
			return int(c.rows[k])
		}
		return k
	}
	for k, code := range c.code8 {
		f(at(k), int(code))
	}
	for k, code := range c.code16 {
		f(at(k), int(code))
	}
	for k, code := range c.code32 {
		f(at(k), int(code))
	}
}
