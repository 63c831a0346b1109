package table

import (
	"fmt"
	"math"
	"slices"
)

// Sparse is the features of a table in which most cells have one value, Implicit: it has the
// others only, column by column. A table has it or Values in its columns, never both, and
// all columns are then Numeric.
type Sparse struct {
	Implicit float32   // of cells that are not there: 0, or NaN where they are missing
	Start    []int     // column j has the entries Start[j] to Start[j+1]; one more than there are columns
	Rows     []int32   // of the entries, ascending within a column
	Values   []float32 // none is Implicit
}

// Column returns the entries of column j. They must not be changed.
func (s *Sparse) Column(j int) (rows []int32, values []float32) {
	from, to := s.Start[j], s.Start[j+1]
	return s.Rows[from:to:to], s.Values[from:to:to]
}

// At returns the value of row i in column j. O(log entries of the column).
func (s *Sparse) At(i, j int) float32 {
	rows, values := s.Column(j)
	if k, ok := slices.BinarySearch(rows, int32(i)); ok {
		return values[k]
	}
	return s.Implicit
}

// is reports whether v is the implicit value.
func (s *Sparse) is(v float32) bool { return v == s.Implicit || v != v && s.Implicit != s.Implicit }

// Storage says how a table keeps its features.
type Storage string

const (
	// AutoStorage keeps large LIBSVM files of few entries sparse, and all else dense.
	AutoStorage   Storage = ""
	DenseStorage  Storage = "dense"
	SparseStorage Storage = "sparse" // of LIBSVM files only
)

const (
	sparseCells = 1 << 22 // tables of at most this many cells are dense: they are small and fast
	sparseShare = 8       // sparse tables have at most one entry in this many cells

	// DenseCells is how many cells a table of few entries may have where it is needed dense: 512
	// MiB.
	DenseCells = 1 << 27
)

// sparse decides whether a table with the given number of entries is kept sparse.
func (o *Options) sparse(rows, columns, entries int) bool {
	cells := int64(rows) * int64(columns)
	return o.Storage == SparseStorage || o.Storage == AutoStorage && cells > sparseCells &&
		int64(entries) <= cells/sparseShare
}

// Fill stores the values of column j in the rows from, from+1, … in dst, whichever way the table
// keeps them.
func (t *Table) Fill(dst []float32, j, from int) {
	if t.Sparse == nil {
		copy(dst, t.Columns[j].Values[from:from+len(dst)])
		return
	}
	for i := range dst {
		dst[i] = t.Sparse.Implicit
	}
	rows, values := t.Sparse.Column(j)
	k, _ := slices.BinarySearch(rows, int32(from))
	for ; k < len(rows) && int(rows[k]) < from+len(dst); k++ {
		dst[int(rows[k])-from] = values[k]
	}
}

// Dense returns the table with Values in its columns: itself, where it has them. A sparse table
// of more than most cells (0 is DenseCells) is an error, which says what memory it would take.
func (t *Table) Dense(most int64) (*Table, error) {
	if t.Sparse == nil {
		return t, nil
	}
	if err := dense(t.Name, t.Rows, len(t.Columns), len(t.Sparse.Rows), most); err != nil {
		return nil, err
	}
	out := *t
	out.Sparse, out.Columns = nil, slices.Clone(t.Columns)
	for j := range out.Columns {
		out.Columns[j].Values = make([]float32, t.Rows)
		t.Fill(out.Columns[j].Values, j, 0)
	}
	return &out, nil
}

// dense is an error where a table of few entries has more than most cells.
func dense(name string, rows, columns, entries int, most int64) error {
	if most == 0 {
		most = DenseCells
	}
	cells := int64(rows) * int64(columns)
	if cells <= most {
		return nil
	}
	return &Error{Name: name, Err: ErrTooLarge, Msg: fmt.Sprintf(
		"%d rows of %d columns are %s when every cell is kept, and only %d cells have a value; this learner "+
			"needs every cell, which gradient boosting (gb, rgb) on histograms does not: use that, or write fewer columns", rows, columns, bytesText(4*cells), entries)}
}

func bytesText(n int64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.0f GB", float64(n)/1e9)
}

// subset picks rows: a row that is named twice gets its entries twice.
func (s *Sparse) subset(rows []int, of int) *Sparse {
	// The new places of each row, as lists: first[i], then next.
	first, next := slices.Repeat([]int32{-1}, of), make([]int32, len(rows))
	ascending := true
	for k := len(rows) - 1; k >= 0; k-- {
		next[k], first[rows[k]] = first[rows[k]], int32(k)
		ascending = ascending && (k == 0 || rows[k-1] <= rows[k])
	}
	out := &Sparse{Implicit: s.Implicit, Start: make([]int, len(s.Start))}
	n := 0
	for _, i := range s.Rows {
		for k := first[i]; k >= 0; k = next[k] {
			n++
		}
	}
	out.Rows, out.Values = make([]int32, 0, n), make([]float32, 0, n)
	var order []int
	for j := range len(s.Start) - 1 {
		from := len(out.Rows)
		for e := s.Start[j]; e < s.Start[j+1]; e++ {
			for k := first[s.Rows[e]]; k >= 0; k = next[k] {
				out.Rows, out.Values = append(out.Rows, k), append(out.Values, s.Values[e])
			}
		}
		if !ascending {
			r, v := slices.Clone(out.Rows[from:]), slices.Clone(out.Values[from:])
			order = order[:0]
			for k := range r {
				order = append(order, k)
			}
			slices.SortFunc(order, func(a, b int) int { return int(r[a]) - int(r[b]) })
			for k, o := range order {
				out.Rows[from+k], out.Values[from+k] = r[o], v[o]
			}
		}
		out.Start[j+1] = len(out.Rows)
	}
	return out
}

// WithColumn returns the table with other values in column j, one a row. Columns that are not
// changed are shared.
func (t *Table) WithColumn(j int, values []float32) *Table {
	out := *t
	if t.Sparse == nil {
		out.Columns = slices.Clone(t.Columns)
		out.Columns[j].Values = values
		return &out
	}
	s := t.Sparse
	n := &Sparse{Implicit: s.Implicit, Start: slices.Clone(s.Start)}
	var rows []int32
	var kept []float32
	for i, v := range values {
		if !s.is(v) {
			rows, kept = append(rows, int32(i)), append(kept, v)
		}
	}
	n.Rows = slices.Concat(s.Rows[:s.Start[j]], rows, s.Rows[s.Start[j+1]:])
	n.Values = slices.Concat(s.Values[:s.Start[j]], kept, s.Values[s.Start[j+1]:])
	for k := j + 1; k < len(n.Start); k++ {
		n.Start[k] += len(rows) - (s.Start[j+1] - s.Start[j])
	}
	out.Sparse = n
	return &out
}

// Varies reports whether column j has two different values; missing counts as one.
func (t *Table) Varies(j int) bool {
	values, first := t.Columns[j].Values, float32(0)
	switch {
	case t.Sparse == nil && len(values) == 0:
		return false
	case t.Sparse == nil:
		first = values[0]
	default:
		rows, kept := t.Sparse.Column(j)
		if len(rows) == 0 {
			return false
		}
		if len(rows) < t.Rows {
			return true // no entry is implicit
		}
		values, first = kept, kept[0]
	}
	for _, v := range values {
		if v != first && (v == v || first == first) {
			return true
		}
	}
	return false
}

// HasMissing reports whether a value of column j is missing.
func (t *Table) HasMissing(j int) bool {
	values := t.Columns[j].Values
	if t.Sparse != nil {
		var rows []int32
		rows, values = t.Sparse.Column(j)
		if t.Sparse.Implicit != t.Sparse.Implicit {
			return len(rows) < t.Rows
		}
	}
	return slices.ContainsFunc(values, func(v float32) bool { return v != v })
}

// CheckSparse returns an error unless the parts of a sparse table fit each other.
func (t *Table) CheckSparse() error {
	s := t.Sparse
	if s == nil {
		return nil
	}
	bad := func(format string, args ...any) error {
		return &Error{Name: t.Title(), Msg: fmt.Sprintf(format, args...), Err: ErrSyntax}
	}
	if len(s.Start) != len(t.Columns)+1 || len(s.Rows) != len(s.Values) || s.Start[0] != 0 ||
		s.Start[len(s.Start)-1] != len(s.Rows) {
		return bad("sparse features of %d columns, %d rows and %d values for %d columns", len(s.Start)-1,
			len(s.Rows), len(s.Values), len(t.Columns))
	}
	for j := range t.Columns {
		if c := &t.Columns[j]; c.Kind != Numeric || c.Values != nil || s.Start[j+1] < s.Start[j] {
			return bad("column %s of a sparse table is not numeric, has values of its own, or ends before it begins",
				quote(c.Name))
		}
		rows, values := s.Column(j)
		last := int32(-1)
		for k, i := range rows {
			if i <= last || int(i) >= t.Rows || s.is(values[k]) || math.IsInf(float64(values[k]), 0) {
				return bad("column %s: entry %d is of row %d with the value %v: rows must ascend, and values be "+
					"finite and not %v", quote(t.Columns[j].Name), k, i, values[k], s.Implicit)
			}
			last = i
		}
	}
	return nil
}
