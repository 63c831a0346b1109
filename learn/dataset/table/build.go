package table

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// builder joins chunks, in the order of the input, to a table.
type builder struct {
	*layout
	o    *Options
	rule *targetRule

	entries bool // the features are not in the chunks' vals: the number of cells says nothing of memory
	line    int  // lines of the input before the next chunk
	parts   []part
	columns []dictionary
	unseen  []unseen
	merged  []merged
	classes dictionary
	classOf []int32
	over    bool // classOf was given up: more classes than a class target may have
	sources dictionary
}

func (b *builder) start() {
	b.columns = make([]dictionary, len(b.out.Columns))
	b.unseen = make([]unseen, len(b.out.Columns))
	b.merged = make([]merged, len(b.out.Columns))
}

func (t *Table) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, Warning{Msg: fmt.Sprintf(format, args...)})
}

// warnFix is warn with options that would have the input read otherwise.
func (t *Table) warnFix(fixes []Fix, format string, args ...any) {
	t.Warnings = append(t.Warnings, Warning{fmt.Sprintf(format, args...), fixes})
}

// place makes the relative place of a chunk's error one of the input.
func (b *builder) place(e *Error) *Error {
	p := *e
	p.Name = b.out.Name
	p.Row += b.out.Rows + 1
	p.Line += b.line + 1
	return &p
}

// merge appends a chunk.
func (b *builder) merge(c *chunk) error {
	t := b.out
	// What the rows before an error still say comes first: it is nearer the start.
	if err := b.mergeTexts(c); err != nil {
		return err
	}
	if c.err != nil {
		return b.place(c.err)
	}
	if b.o.MaxRows > 0 && t.Rows+c.rows > b.o.MaxRows {
		return &Error{Name: t.Name, Msg: fmt.Sprintf("more than %d rows", b.o.MaxRows), Err: ErrTooLarge}
	}
	if cells := int64(t.Rows+c.rows) * int64(len(t.Columns)+1); cells > b.o.MaxCells && !b.entries {
		return &Error{Name: t.Name, Msg: fmt.Sprintf("more than %d cells in %d columns", b.o.MaxCells,
			len(t.Columns)), Err: ErrTooLarge, Fixes: []Fix{
			{Option: "Drop", Value: "COLUMNS", Effect: "to leave columns out"},
			{Option: "MaxCells", Value: "N", Effect: "to allow more"}}}
	}
	b.parts = append(b.parts, part{c.vals, c.stride, c.rows})
	t.Target = append(t.Target, c.numbers...)
	t.Weight = append(t.Weight, c.weights...)
	for k := range c.ids {
		t.ID[k].Values = append(t.ID[k].Values, c.ids[k][:c.rows]...)
	}
	b.mergeLarge(c)
	b.mergeLines(c)
	t.Rows += c.rows
	b.line += c.height
	return nil
}

// part is the features of one chunk.
type part struct {
	vals         []float32
	stride, rows int
}

// assemble makes columns of the parts. They are kept until the number of rows is known. A column
// that grows as parts arrive is copied five times over, which made reading a third slower.
func (b *builder) assemble() error {
	t := b.out
	err := run.Each(b.o.Workers, len(t.Columns), func(_, j int) error {
		v := make([]float32, 0, t.Rows)
		for _, p := range b.parts {
			v = append(v, p.vals[j*p.stride:j*p.stride+p.rows]...)
		}
		t.Columns[j].Values = v
		return b.o.cancelled(t.Name)
	})
	b.parts = nil
	return err
}

// mergeTexts turns the numbers that a chunk gave its texts into the table's.
func (b *builder) mergeTexts(c *chunk) error {
	t := b.out
	for j := range c.dicts {
		d := &c.dicts[j]
		if len(d.names) == 0 {
			continue
		}
		to, bad := b.columns[j].join(d, b.o.MaxLevels)
		if bad >= 0 {
			return b.place(&Error{Row: bad, Line: c.lineOf(bad), Column: t.Columns[j].Name, Err: ErrTooLarge,
				Msg:   fmt.Sprintf("more than %d levels, as identifiers have", b.o.MaxLevels),
				Fixes: tooManyLevels(t.Columns[j].Name)})
		}
		v := c.vals[j*c.stride : j*c.stride+c.rows]
		for i, x := range v {
			if x == x {
				v[i] = float32(to[int(x)])
			}
		}
	}
	for j := range c.unseen {
		if u := c.unseen[j]; u.count > 0 {
			if b.unseen[j].count == 0 {
				b.unseen[j] = unseen{row: b.line + 1 + c.lineOf(u.row), text: u.text}
			}
			b.unseen[j].count += u.count
		}
	}
	if b.rule.classes && !b.over {
		to, bad := b.classes.join(&c.classes, b.rule.most)
		if bad >= 0 || c.overflow {
			if !b.rule.numbers {
				return b.tooManyClasses()
			}
			b.over, b.classOf = true, nil
		} else {
			for _, k := range c.classOf {
				b.classOf = append(b.classOf, to[k])
			}
		}
	}
	if len(c.sources.names) > 0 {
		to, bad := b.sources.join(&c.sources, b.o.MaxLevels)
		if bad >= 0 {
			return b.place(&Error{Row: bad, Line: c.lineOf(bad), Column: t.SourceName, Err: ErrTooLarge,
				Msg: fmt.Sprintf("more than %d sources; is it an identifier?", b.o.MaxLevels)})
		}
		for i, k := range c.sourceOf {
			c.sourceOf[i] = to[k]
		}
	}
	t.Source = append(t.Source, c.sourceOf...)
	return nil
}

func tooManyLevels(column string) []Fix {
	return []Fix{{Option: "ID", Value: column, Effect: "to carry it along and learn nothing from it"},
		{Option: "Drop", Value: column, Effect: "to leave it out"},
		{Option: "MaxLevels", Value: "N", Effect: "to allow more"}}
}

func (c *chunk) lineOf(row int) int {
	if row < len(c.lines) {
		return int(c.lines[row])
	}
	return max(0, c.height-1)
}

// join adds the names of d and returns their numbers here, or the row of the
// first for which there is no room, else -1.
func (g *dictionary) join(d *dictionary, most int) (to []int32, bad int) {
	to = make([]int32, len(d.names))
	for i, s := range d.names {
		k, ok := g.index[s]
		if !ok {
			if len(g.names) >= most {
				return nil, int(d.first[i])
			}
			if g.index == nil {
				g.index = make(map[string]int32)
			}
			k = int32(len(g.names))
			g.index[s] = k
			g.names = append(g.names, s)
		}
		to[i] = k
	}
	return to, -1
}

// mergeLines keeps the lines of rows only where they do not follow one another.
func (b *builder) mergeLines(c *chunk) {
	t := b.out
	if c.rows == 0 {
		return
	}
	if t.Rows == 0 {
		t.FirstLine = b.line + 1 + int(c.lines[0])
	}
	if t.Line == nil {
		regular := t.FirstLine+t.Rows == b.line+1+int(c.lines[0]) && int(c.lines[c.rows-1]-c.lines[0]) == c.rows-1
		if regular { // lines increase, so the ends tell
			return
		}
		t.Line = make([]int, t.Rows, 2*(t.Rows+c.rows))
		for i := range t.Line {
			t.Line[i] = t.FirstLine + i
		}
	}
	for _, l := range c.lines[:c.rows] {
		t.Line = append(t.Line, b.line+1+int(l))
	}
}

// finish sorts levels, classes and sources, and looks at what the table is worth.
func (b *builder) finish() (*Table, error) {
	t := b.out
	if t.Rows == 0 {
		return nil, &Error{Name: t.Name, Msg: "there are no rows", Err: ErrUseless}
	}
	for j := range t.Columns {
		if err := b.o.cancelled(t.Name); err != nil {
			return nil, err
		}
		c := &t.Columns[j]
		if b.levels == nil && c.Kind == Categorical {
			var rank []int32
			c.Levels, rank = sorted(b.columns[j].names)
			for i, v := range c.Values {
				if v == v {
					c.Values[i] = float32(rank[int(v)])
				}
			}
		}
		if u := b.unseen[j]; u.count > 0 {
			t.warn("column %s: %d values are levels that the training data do not have (first: %s on line %d); "+
				"they count as missing", quote(c.Name), u.count, quote(u.text), u.row)
		}
	}
	b.warnMerged()
	if like := b.o.Like; like != nil {
		if t.Source != nil && like.Sources != nil {
			t.Sources = like.Sources
		}
	}
	classes, known := b.o.known()
	if known && t.Target != nil {
		t.Classes = classes
	}
	if t.Source != nil && t.Sources == nil {
		var rank []int32
		t.Sources, rank = sorted(b.sources.names)
		for i, k := range t.Source {
			t.Source[i] = rank[k]
		}
	}
	if !known {
		if err := b.decideTarget(); err != nil {
			return nil, err
		}
	}
	if err := t.usable(known); err != nil {
		return nil, err
	}
	if b.o.Like == nil {
		t.describe(b.o)
	}
	return t, b.o.cancelled(t.Name)
}

// sorted returns the names in order, and the place of each. Names that are all
// numbers are in the order of the numbers.
func sorted(list []string) ([]string, []int32) {
	values := make([]float64, len(list))
	numeric := true
	for i, s := range list {
		x, fault := parseNumber([]byte(s), 64)
		numeric = numeric && fault == numberFine
		values[i] = x
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if numeric && values[a] != values[b] {
			return cmp.Compare(values[a], values[b])
		}
		return cmp.Compare(list[a], list[b])
	})
	out, rank := make([]string, len(list)), make([]int32, len(list))
	for k, i := range order {
		out[k], rank[i] = list[i], int32(k)
	}
	return out, rank
}

// sortedNumbers is sorted for classes that are all numbers. Equal numbers are one class however
// they are written: 1, +1 and 1.0. The shortest form gives the name.
func sortedNumbers(list []string, values []float64) ([]string, []int32) {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(len(list[a]), len(list[b])),
			cmp.Compare(list[a], list[b]))
	})
	var out []string
	rank := make([]int32, len(list))
	for k, i := range order {
		if k == 0 || values[i] != values[order[k-1]] {
			out = append(out, list[i])
		}
		rank[i] = int32(len(out) - 1)
	}
	return out, rank
}
