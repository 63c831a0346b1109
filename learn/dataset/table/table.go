package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind says how to interpret the values of a column.
type Kind uint8

const (
	Numeric     Kind = iota // numbers with an order
	Categorical             // one of finitely many levels, without an order
)

func (k Kind) String() string {
	switch k {
	case Numeric:
		return "numeric"
	case Categorical:
		return "categorical"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Column is one feature of every row.
type Column struct {
	Name string
	Kind Kind
	// Values has one entry a row. NaN is missing; for a categorical column the
	// entry is the index of the level. Infinite values do not occur in what the
	// readers return.
	Values []float32
	Levels []string // of a categorical column, sorted; nil for a numeric one
}

// Text is a column that is carried along as it is written: an identifier of each row.
type Text struct {
	Name   string
	Values []string // one a row
}

// Warning is something odd in a table that can be used all the same.
type Warning struct {
	Msg   string
	Fixes []Fix // options that would read it differently
}

// String is the message, with the fields of Options that would help.
func (w Warning) String() string { return w.Msg + Advice(w.Fixes, Fix.String) }

// Table is rows of features, what is to be predicted from them, and where they
// come from. The slices that are not nil all have Rows entries.
type Table struct {
	Columns []Column
	Rows    int
	Sparse  *Sparse // the features, where most cells have one value; Columns have no Values then

	Target     []float64 // class index or real value, finite; nil if there is none
	TargetName string
	Classes    []string // names of the classes; nil for regression

	Source     []int32 // the domain of each row, an index of Sources; nil if there is none
	Sources    []string
	SourceName string

	Weight     []float64 // finite, not negative, some positive; nil: all 1
	WeightName string

	// AbsentMissing reports that values left out of LIBSVM lines were read as missing, as XGBoost
	// reads them, not as 0. In Options.Like it requires reading them so.
	AbsentMissing bool

	Reading Reading // how texts were read; of Options.Like, how to read them
	ID      []Text  // columns that are carried along and are no features

	Name     string    // of the input, for messages
	Warnings []Warning // what is odd but usable: constant columns, levels unseen in training, ...

	// Line has the line of each row in the input, from 1. It is nil where it can be
	// derived: row i stands at FirstLine+i. Ask LineOf.
	Line      []int
	FirstLine int
}

// LineOf returns the line of the input that row i began on; 0 when the input has
// no lines (IDX files).
func (t *Table) LineOf(i int) int {
	if t.Line != nil {
		return t.Line[i]
	}
	if t.FirstLine == 0 {
		return 0
	}
	return t.FirstLine + i
}

// Title names the table for messages: its name, or "the table" for one that was built without.
func (t *Table) Title() string {
	if t.Name == "" {
		return "the table"
	}
	return t.Name
}

// At names row i for messages: "data.csv:12 (row 11)", both counted from 1.
func (t *Table) At(i int) string {
	if n := t.LineOf(i); n > 0 {
		return fmt.Sprintf("%s:%d (row %d)", t.Title(), n, i+1)
	}
	return fmt.Sprintf("%s: row %d", t.Title(), i+1)
}

// Show says in some words what row i is: its identifiers, its target, and its first few features.
func (t *Table) Show(i int) string {
	const most = 6
	var words []string
	for _, id := range t.ID {
		words = append(words, id.Name+"="+id.Values[i])
	}
	if t.Target != nil {
		value := strconv.FormatFloat(t.Target[i], 'g', 6, 64)
		if t.Classes != nil {
			value = t.Classes[int(t.Target[i])]
		}
		words = append(words, t.TargetName+"="+value)
	}
	for j := range t.Columns[:min(most, len(t.Columns))] {
		c := &t.Columns[j]
		var v float32
		if t.Sparse != nil {
			v = t.Sparse.At(i, j)
		} else {
			v = c.Values[i]
		}
		value := "?"
		switch {
		case v != v:
		case c.Kind == Categorical && int(v) < len(c.Levels):
			value = c.Levels[int(v)]
		default:
			value = strconv.FormatFloat(float64(v), 'g', 4, 32)
		}
		words = append(words, c.Name+"="+value)
	}
	return strings.Join(words, " ")
}

// Column returns the index of the column of that name, -1 without one.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Row stores the features of row i in dst, which must have room for all columns,
// and returns it.
func (t *Table) Row(i int, dst []float32) []float32 {
	dst = dst[:len(t.Columns)]
	for j := range t.Columns {
		if t.Sparse != nil {
			dst[j] = t.Sparse.At(i, j)
			continue
		}
		dst[j] = t.Columns[j].Values[i]
	}
	return dst
}

// Subset returns a table of the given rows, in that order; a row may occur more
// than once. Values are copied; names, levels, classes and sources are shared
// and stay as they are even where no row has them. O(len(rows)·columns), or of a
// sparse table the number of entries.
func (t *Table) Subset(rows []int) *Table {
	s := t.Schema()
	s.Rows = len(rows)
	if t.Sparse != nil {
		s.Sparse = t.Sparse.subset(rows, t.Rows)
	} else {
		for j := range t.Columns {
			s.Columns[j].Values = pick(t.Columns[j].Values, rows)
		}
	}
	s.Target, s.Source, s.Weight = pick(t.Target, rows), pick(t.Source, rows), pick(t.Weight, rows)
	for _, id := range t.ID {
		s.ID = append(s.ID, Text{id.Name, pick(id.Values, rows)})
	}
	if t.LineOf(0) > 0 || t.Line != nil {
		s.Line = make([]int, len(rows))
		for k, i := range rows {
			s.Line[k] = t.LineOf(i)
		}
	}
	return s
}

func pick[T any](xs []T, rows []int) []T {
	if xs == nil {
		return nil
	}
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = xs[i]
	}
	return out
}

// Schema returns the table without its rows: what Options.Like needs to read
// further data of the same form, and what a model should keep.
func (t *Table) Schema() *Table {
	s := &Table{TargetName: t.TargetName, Classes: t.Classes, Sources: t.Sources, SourceName: t.SourceName,
		WeightName: t.WeightName, Name: t.Name, AbsentMissing: t.AbsentMissing, Reading: t.Reading}
	s.Columns = make([]Column, len(t.Columns))
	for j, c := range t.Columns {
		s.Columns[j] = Column{Name: c.Name, Kind: c.Kind, Levels: c.Levels}
	}
	return s
}

// Classification reports whether the target is a class.
func (t *Table) Classification() bool { return t.Classes != nil }

// DescribeTarget says what the target has: "3 classes", or "numbers".
func (t *Table) DescribeTarget() string {
	if t.Classes == nil {
		return "numbers"
	}
	return fmt.Sprintf("%d classes", len(t.Classes))
}

// ClassCounts returns the number of rows of each class.
func (t *Table) ClassCounts() []int {
	n := make([]int, len(t.Classes))
	for _, y := range t.Target {
		if t.Classes != nil {
			n[int(y)]++
		}
	}
	return n
}

// SourceCounts returns the number of rows of each source.
func (t *Table) SourceCounts() []int {
	n := make([]int, len(t.Sources))
	for _, k := range t.Source {
		n[k]++
	}
	return n
}

// Missing returns the number of missing cells.
func (t *Table) Missing() int {
	n := 0
	if s := t.Sparse; s != nil {
		if s.Implicit != s.Implicit {
			n = t.Rows*len(t.Columns) - len(s.Rows)
		}
		for _, v := range s.Values {
			if v != v {
				n++
			}
		}
	}
	for j := range t.Columns {
		for _, v := range t.Columns[j].Values {
			if v != v {
				n++
			}
		}
	}
	return n
}

var nan32 = float32(math.NaN())
