package table

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// SetPositive makes a class of two the positive one: Classes[1], target 1.
func (t *Table) SetPositive(class string) error {
	if len(t.Classes) != 2 {
		return &Error{Name: t.Name, Column: t.TargetName, Msg: fmt.Sprintf("%d classes; only one of two can be "+
			"positive", len(t.Classes)), Err: ErrColumns}
	}
	switch slices.Index(t.Classes, class) {
	case 1:
		return nil
	case 0:
		t.Classes = []string{t.Classes[1], t.Classes[0]}
		t.Target = slices.Clone(t.Target) // a subset's may be shared
		for i, y := range t.Target {
			t.Target[i] = 1 - y
		}
		return nil
	}
	return &Error{Name: t.Name, Column: t.TargetName,
		Msg: fmt.Sprintf("there is no class %s (the classes are %s)", quote(class), names(t.Classes)),
		Err: ErrColumns}
}

// Concat puts the rows of tables with the same columns one after the other. Levels,
// classes and sources become those of any of them, sorted as Read sorts them. The result
// is dense.
func Concat(tables ...*Table) (*Table, error) {
	if len(tables) == 0 {
		return nil, &Error{Name: "Concat", Msg: "no tables", Err: ErrUseless}
	}
	if slices.ContainsFunc(tables, func(t *Table) bool { return t.Sparse != nil }) {
		tables = slices.Clone(tables)
		for k, t := range tables {
			var err error
			if tables[k], err = t.Dense(0); err != nil {
				return nil, err
			}
		}
	}
	a := tables[0]
	out := a.Schema()
	var classes, sources dictionary
	levels := make([]dictionary, len(a.Columns))
	for _, t := range tables {
		fail := func(column, msg string) error {
			return &Error{Name: t.Name, Column: column, Msg: msg + " in " + a.Name, Err: ErrColumns}
		}
		if len(t.Columns) != len(a.Columns) {
			return nil, fail("", fmt.Sprintf("%d columns, but %d", len(t.Columns), len(a.Columns)))
		}
		for j, c := range t.Columns {
			if c.Name != a.Columns[j].Name || c.Kind != a.Columns[j].Kind {
				return nil, fail(c.Name, fmt.Sprintf("is %v; the column at its place is %s, %v,", c.Kind,
					quote(a.Columns[j].Name), a.Columns[j].Kind))
			}
			levels[j].join(&dictionary{names: c.Levels, first: make([]int32, len(c.Levels))}, math.MaxInt)
		}
		if (t.Target == nil) != (a.Target == nil) || (t.Classes == nil) != (a.Classes == nil) {
			return nil, fail(t.TargetName, "the target is not of the kind that it is")
		}
		if (t.Source == nil) != (a.Source == nil) || (t.Weight == nil) != (a.Weight == nil) {
			return nil, fail("", "sources or weights are not here, or not")
		}
		classes.join(&dictionary{names: t.Classes, first: make([]int32, len(t.Classes))}, math.MaxInt)
		sources.join(&dictionary{names: t.Sources, first: make([]int32, len(t.Sources))}, math.MaxInt)
		out.Rows += t.Rows
	}
	// place gives the new number of each old one.
	place := func(old, all []string) []int {
		to := make([]int, len(old))
		at := make(map[string]int, len(all))
		for i, s := range all {
			at[s] = i
		}
		for i, s := range old {
			to[i] = at[s]
		}
		return to
	}
	if a.Classes != nil {
		out.Classes, _ = sorted(classes.names)
	}
	if a.Sources != nil {
		out.Sources, _ = sorted(sources.names)
	}
	for j := range out.Columns {
		c := &out.Columns[j]
		c.Values = make([]float32, 0, out.Rows)
		if c.Kind == Categorical {
			c.Levels, _ = sorted(levels[j].names)
		}
		for _, t := range tables {
			from := len(c.Values)
			c.Values = append(c.Values, t.Columns[j].Values...)
			if c.Kind == Categorical {
				to := place(t.Columns[j].Levels, c.Levels)
				for i, v := range c.Values[from:] {
					if v == v {
						c.Values[from+i] = float32(to[int(v)])
					}
				}
			}
		}
	}
	for _, t := range tables {
		toClass, toSource := place(t.Classes, out.Classes), place(t.Sources, out.Sources)
		for _, y := range t.Target {
			if t.Classes != nil {
				y = float64(toClass[int(y)])
			}
			out.Target = append(out.Target, y)
		}
		for _, s := range t.Source {
			out.Source = append(out.Source, int32(toSource[s]))
		}
		out.Weight = append(out.Weight, t.Weight...)
	}
	return out, nil
}

// OneHot returns the table with a column of 0 and 1 in place of each level of each
// categorical column, named "column=level". Where the value is missing all are 0.
// Numeric columns are shared, not copied.
func (t *Table) OneHot() *Table {
	out := *t
	if t.Sparse != nil {
		return &out // which has numeric columns only
	}
	out.Columns = nil
	for _, c := range t.Columns {
		if c.Kind == Numeric {
			out.Columns = append(out.Columns, c)
			continue
		}
		from := len(out.Columns)
		for _, l := range c.Levels {
			out.Columns = append(out.Columns, Column{Name: c.Name + "=" + l, Values: make([]float32, t.Rows)})
		}
		for i, v := range c.Values {
			if v == v {
				out.Columns[from+int(v)].Values[i] = 1
			}
		}
	}
	return &out
}

// Standardizer shifts and scales numeric columns to mean 0 and standard deviation 1.
type Standardizer struct {
	Mean, SD []float64 // by column; SD is 1 where the column is constant or not scaled
}

// NewStandardizer computes means and standard deviations (dividing by n) of the given columns, of
// all numeric ones if nil. Missing values do not count.
func NewStandardizer(t *Table, columns []int) *Standardizer {
	z := &Standardizer{Mean: make([]float64, len(t.Columns)), SD: make([]float64, len(t.Columns))}
	for j := range t.Columns {
		z.SD[j] = 1
		if t.Columns[j].Kind != Numeric || columns != nil && !slices.Contains(columns, j) {
			continue
		}
		n, mean, sq := 0.0, 0.0, 0.0
		values := t.Columns[j].Values
		if t.Sparse != nil {
			values = make([]float32, t.Rows)
			t.Fill(values, j, 0)
		}
		for _, v := range values {
			if v == v { // Welford's update
				n++
				d := float64(v) - mean
				mean += d / n
				sq += d * (float64(v) - mean)
			}
		}
		if n > 0 {
			z.Mean[j] = mean
			if sd := math.Sqrt(sq / n); sd > 0 {
				z.SD[j] = sd
			}
		}
	}
	return z
}

// Apply returns the table with its columns shifted and scaled; what is missing stays so. The
// result is dense.
func (z *Standardizer) Apply(t *Table) *Table {
	out := *t
	out.Columns, out.Sparse = slices.Clone(t.Columns), nil
	for j := range out.Columns {
		if z.Mean[j] == 0 && z.SD[j] == 1 && t.Sparse == nil {
			continue
		}
		v := make([]float32, t.Rows)
		t.Fill(v, j, 0)
		for i, x := range v {
			v[i] = float32((float64(x) - z.Mean[j]) / z.SD[j])
		}
		out.Columns[j].Values = v
	}
	return &out
}

// ReadIDXBytes reads an IDX file of unsigned bytes, perhaps compressed, without conversion. That
// takes a quarter of the memory of a table, for images that will be cut or scaled. It takes at most
// limit elements; zero is 2³⁰.
func ReadIDXBytes(r io.Reader, name string, limit int64) (dims []int, data []byte, err error) {
	if limit <= 0 {
		limit = 1 << 30
	}
	in, err := open(r, name)
	if err != nil {
		return nil, nil, err
	}
	h, err := readIDXHeader(in, name, limit)
	if err != nil {
		return nil, nil, err
	}
	if h.kind != 0x08 {
		return nil, nil, &Error{Name: name, Msg: fmt.Sprintf("elements are of type %#02x, not unsigned bytes",
			h.kind), Err: ErrSyntax}
	}
	want := h.dims[0] * h.each
	// ReadAll grows with what comes: a header alone cannot ask for memory.
	data, err = io.ReadAll(io.LimitReader(in, int64(want)+1))
	switch {
	case err != nil && err != io.ErrUnexpectedEOF:
		return nil, nil, &Error{Name: name, Msg: "reading: " + err.Error(), Err: err}
	case err != nil || len(data) < want:
		return nil, nil, &Error{Name: name, Row: len(data)/h.each + 1,
			Msg: fmt.Sprintf("the input ends here, but the header promises %d rows; is the file cut short?",
				h.dims[0]), Err: io.ErrUnexpectedEOF}
	case len(data) > want:
		return nil, nil, &Error{Name: name, Msg: fmt.Sprintf("there is more after the %d rows that the header "+
			"promises", h.dims[0]), Err: ErrSyntax}
	}
	return h.dims, data, nil
}
