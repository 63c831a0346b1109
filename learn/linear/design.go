package linear

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Feature is one standardised input: (x - Mean)·Scale for a numeric column, 1 or 0 for a
// level of a categorical one, likewise shifted and scaled. What is missing is the mean.
type Feature struct {
	Column int
	Level  int // -1 for a numeric column
	Mean   float64
	Scale  float64
}

// Name is that of its column in a table's form, with its level if it is of one.
func (f *Feature) Name(form *boost.Schema) string {
	c := &form.Columns[f.Column]
	if f.Level < 0 {
		return c.Name
	}
	return c.Name + "=" + c.Levels[f.Level]
}

// rowBlock rows are laid out together.
const rowBlock = 4096

// rareShare is the share of ones up to which a column of zeros and ones is not standardised.
// Otherwise a word in ten reviews would weigh as much as one in half of them.
const rareShare = 0.1

// Features standardises the columns of x to mean 0 and variance 1 with row weights w, which
// sum to 1. Columns and levels that are the same in every row of positive weight give none.
// O(rows·columns).
func Features(x *table.Table, w []float64, workers int) []Feature {
	parts := make([][]Feature, len(x.Columns))
	run.Blocks(workers, len(x.Columns), 1, func(_, j, _ int) {
		if x.Sparse != nil {
			parts[j] = sparseFeature(x, j, w)
			return
		}
		c := &x.Columns[j]
		if c.Kind == table.Categorical {
			mass := make([]float64, len(c.Levels))
			for i, v := range c.Values {
				if v == v && int(v) < len(mass) {
					mass[int(v)] += w[i]
				}
			}
			for l, m := range mass {
				if m > 0 && m < 1 {
					parts[j] = append(parts[j], standard(j, l, m, m*(1-m), m < rareShare))
				}
			}
			return
		}
		total, mean, sq := 0.0, 0.0, 0.0
		binary := true
		for i, v := range c.Values {
			if v != v || w[i] == 0 {
				continue
			}
			binary = binary && (v == 0 || v == 1)
			total += w[i]
			d := float64(v) - mean
			mean += d * w[i] / total
			sq += w[i] * d * (float64(v) - mean)
		}
		if total > 0 && sq/total > 1e-12*mean*mean && sq > 0 {
			parts[j] = append(parts[j], standard(j, -1, mean, sq/total, binary && mean < rareShare))
		}
	})
	var out []Feature
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Standardised is Features with weights of any unit (nil: all 1); raw leaves columns as they are. A
// table whose rows are all alike is an error.
func Standardised(x *table.Table, weights []float64, raw bool, workers int) ([]Feature, error) {
	fs := Features(x, shares(x.Rows, weights), workers)
	if len(fs) == 0 {
		return nil, fmt.Errorf("linear: %s: no column tells two rows apart", x.Title())
	}
	if raw {
		for j := range fs {
			fs[j].Scale = 1
		}
	}
	return fs, nil
}

// shares returns weights with sum 1.
func shares(n int, weights []float64) []float64 {
	w := make([]float64, n)
	total := 0.0
	for i := range w {
		w[i] = score.Weight(weights, i)
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

// sparseFeature is Features for a column of a sparse table. What has no entry counts as 0,
// also where it is missing: else no cell would be zero.
func sparseFeature(x *table.Table, j int, w []float64) []Feature {
	rows, values := x.Sparse.Column(j)
	mean, mass, binary := 0.0, 0.0, true
	for k, i := range rows {
		if v := values[k]; v == v {
			mean += w[i] * float64(v)
			mass += w[i]
			binary = binary && v == 1
		}
	}
	variance := (1 - mass) * mean * mean
	for k, i := range rows {
		if d := float64(values[k]) - mean; d == d {
			variance += w[i] * d * d
		}
	}
	if !(variance > 1e-12*mean*mean) {
		return nil
	}
	return []Feature{standard(j, -1, mean, variance, binary && mean < rareShare)}
}

func standard(column, level int, mean, variance float64, leave bool) Feature {
	if leave {
		return Feature{column, level, 0, 1}
	}
	return Feature{column, level, mean, 1 / math.Sqrt(variance)}
}

// Design holds the scaled features of rows, x·Scale, without the shift: it is made up for
// by the constant, and so zeros stay zeros. Rows are dense, or lists of what is not
// zero when that is at most three fifths.
type Design struct {
	n, d  int
	dense []float32
	start []int
	index []int32
	value []float32
}

// Cell returns feature f of row i before the shift.
func (f *Feature) Cell(x *table.Table, i int) float64 {
	var v float32
	if x.Sparse != nil {
		if v = x.Sparse.At(i, f.Column); v != v {
			return 0
		}
	} else {
		v = x.Columns[f.Column].Values[i]
	}
	switch {
	case v != v:
		return f.Mean
	case f.Level < 0:
		return float64(v)
	case int(v) == f.Level:
		return 1
	}
	return 0
}

// NewDesign lays out the features of all rows of x. O(rows·features) time; memory is 4 bytes a
// feature and row, or 8 for each that is not zero.
func NewDesign(x *table.Table, fs []Feature, workers int) *Design {
	d := &Design{n: x.Rows, d: len(fs)}
	if x.Sparse != nil {
		d.sparse(x, fs)
		return d
	}
	nonzero := make([]int, len(fs))
	run.Blocks(workers, len(fs), 1, func(_, j, _ int) {
		f := &fs[j]
		for i := range x.Rows {
			if f.Cell(x, i) != 0 {
				nonzero[j]++
			}
		}
	})
	total := 0
	for _, n := range nonzero {
		total += n
	}
	if 5*total > 3*d.n*d.d {
		d.dense = make([]float32, d.n*d.d)
		run.Blocks(workers, d.n, rowBlock, func(_, from, to int) {
			for j := range fs {
				f := &fs[j]
				for i := from; i < to; i++ {
					d.dense[i*d.d+j] = float32(f.Cell(x, i) * f.Scale)
				}
			}
		})
		return d
	}
	// Columns are counted, then written, so that the table is read in its own order.
	d.start = make([]int, d.n+1)
	for j := range fs {
		for i := range x.Rows {
			if fs[j].Cell(x, i) != 0 {
				d.start[i+1]++
			}
		}
	}
	for i := range d.n {
		d.start[i+1] += d.start[i]
	}
	d.index, d.value = make([]int32, total), make([]float32, total)
	at := slices.Clone(d.start[:d.n])
	for j := range fs {
		f := &fs[j]
		for i := range x.Rows {
			if v := f.Cell(x, i); v != 0 {
				d.index[at[i]], d.value[at[i]] = int32(j), float32(v*f.Scale)
				at[i]++
			}
		}
	}
	return d
}

// sparse lays out a sparse table: its entries, row by row.
func (d *Design) sparse(x *table.Table, fs []Feature) {
	d.start = make([]int, d.n+1)
	each := func(f func(j int, i int32, v float32)) {
		for j := range fs {
			rows, values := x.Sparse.Column(fs[j].Column)
			for k, i := range rows {
				if v := values[k]; v == v && v != 0 {
					f(j, i, v)
				}
			}
		}
	}
	each(func(_ int, i int32, _ float32) { d.start[i+1]++ })
	for i := range d.n {
		d.start[i+1] += d.start[i]
	}
	d.index, d.value = make([]int32, d.start[d.n]), make([]float32, d.start[d.n])
	at := slices.Clone(d.start[:d.n])
	each(func(j int, i int32, v float32) {
		d.index[at[i]], d.value[at[i]] = int32(j), float32(float64(v)*fs[j].Scale)
		at[i]++
	})
}

// Times adds Σ_j row_ij w[j·p+k] to s[k].
func (d *Design) Times(s []float64, i int, w []float64) {
	p := len(s)
	if d.dense != nil {
		row := d.dense[i*d.d:][:d.d]
		if p == 3 {
			a, b, c := s[0], s[1], s[2]
			for j, v := range row {
				if v == 0 {
					continue
				}
				x, y := float64(v), w[j*3:][:3:3]
				a += x * y[0]
				b += x * y[1]
				c += x * y[2]
			}
			s[0], s[1], s[2] = a, b, c
			return
		}
		for j, v := range row {
			if v != 0 {
				x, y := float64(v), w[j*p:][:p]
				for k := range s {
					s[k] += x * y[k]
				}
			}
		}
		return
	}
	if p == 3 {
		a, b, c := s[0], s[1], s[2]
		value := d.value[d.start[i]:d.start[i+1]]
		for k, j := range d.index[d.start[i]:d.start[i+1]][:len(value)] {
			x, y := float64(value[k]), w[int(j)*3:][:3:3]
			a += x * y[0]
			b += x * y[1]
			c += x * y[2]
		}
		s[0], s[1], s[2] = a, b, c
		return
	}
	for at := d.start[i]; at < d.start[i+1]; at++ {
		x, y := float64(d.value[at]), w[int(d.index[at])*p:][:p]
		for k := range s {
			s[k] += x * y[k]
		}
	}
}

// Add adds row_ij r[k] to g[j·p+k].
func (d *Design) Add(g []float64, i int, r []float64) {
	p := len(r)
	if d.dense != nil {
		row := d.dense[i*d.d:][:d.d]
		if p == 3 {
			a, b, c := r[0], r[1], r[2]
			for j, v := range row {
				if v == 0 {
					continue
				}
				x, y := float64(v), g[j*3:][:3:3]
				y[0] += x * a
				y[1] += x * b
				y[2] += x * c
			}
			return
		}
		for j, v := range row {
			if v != 0 {
				x, y := float64(v), g[j*p:][:p]
				for k := range r {
					y[k] += x * r[k]
				}
			}
		}
		return
	}
	if p == 3 {
		a, b, c := r[0], r[1], r[2]
		value := d.value[d.start[i]:d.start[i+1]]
		for k, j := range d.index[d.start[i]:d.start[i+1]][:len(value)] {
			x, y := float64(value[k]), g[int(j)*3:][:3:3]
			y[0] += x * a
			y[1] += x * b
			y[2] += x * c
		}
		return
	}
	for at := d.start[i]; at < d.start[i+1]; at++ {
		x, y := float64(d.value[at]), g[int(d.index[at])*p:][:p]
		for k := range r {
			y[k] += x * r[k]
		}
	}
}

// Shifts returns Mean·Scale of each feature, which Design leaves out.
func Shifts(fs []Feature) []float64 {
	out := make([]float64, len(fs))
	for j, f := range fs {
		out[j] = f.Mean * f.Scale
	}
	return out
}
