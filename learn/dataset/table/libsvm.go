package table

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// The names of what is not a feature in LIBSVM files; Options.Drop may have them.
const (
	LibSVMTarget = "label"
	LibSVMSource = "qid" // only with Options.Source
	LibSVMWeight = "weight"
)

// readLibSVM reads lines "label index:value index:value ... # comment", after the tools of C.-C.
// Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", 2011. Indices increase
// along a line. A feature that a line leaves out is 0, not missing, as LIBSVM has it, unless
// Options, or their Like, have AbsentMissing; "nan" is missing. The columns are named by their
// indices, "1" (or "0", if one line has it) to the largest that occurs. Options.Storage reports
// whether they are stored in full, rows·columns·4 bytes, or as a Sparse.
//
// "label:weight", as XGBoost writes it, gives the row a weight; it must be on all lines or on none.
// "qid:n" is the source if Options.Source says "qid", and skipped otherwise.
func readLibSVM(r io.Reader, name string, o *Options) (*Table, error) {
	if err := o.plainForm(name, "a LIBSVM file"); err != nil {
		return nil, err
	}
	p, err := newSVMParser(name, o)
	if err != nil {
		return nil, err
	}
	s := &blocks{r: r, name: name, max: o.MaxRecord, maxRead: o.MaxBytes}
	b := &builder{layout: &layout{out: p.out}, o: o, rule: p.rule, entries: true}
	sp := entries{low: math.MaxInt}
	err = pipeline(s, nil, o.Workers, p.parse, func(c *svmChunk) error {
		weights, rows := len(p.out.Weight), p.out.Rows
		if err := b.merge(&c.chunk); err != nil {
			return err
		}
		if c.rows > 0 && rows > 0 && (weights > 0) != (len(c.weights) > 0) {
			return &Error{Name: name, Line: p.out.LineOf(rows), Row: rows + 1, Column: LibSVMWeight, Err: ErrSyntax,
				Msg: "rows before have weights and this has none, or the other way round"}
		}
		return sp.add(c, p.out, o)
	})
	if err != nil {
		return nil, err
	}
	t := p.out
	if p.qid && o.Source == "" && sp.qid {
		t.warn(`"qid" fields were skipped; name "qid" as the source to use them`)
	}
	if o.Like == nil {
		n := 0
		if sp.high >= 0 && len(sp.index) > 0 {
			if sp.low == 0 {
				t.warn("an index is 0, so that columns are numbered from 0; LIBSVM numbers them from 1, and so must " +
					"every file that goes with this one (or none)")
			}
			sp.low = min(sp.low, 1)
			n = sp.high - sp.low + 1
		}
		if n > maxColumns {
			return nil, &Error{Name: name, Msg: fmt.Sprintf("indices up to %d are more than %d columns", sp.high,
				maxColumns), Err: ErrTooLarge}
		}
		t.Columns = make([]Column, n)
		for j := range t.Columns {
			t.Columns[j].Name = strconv.Itoa(sp.low + j)
		}
	}
	t.AbsentMissing = o.AbsentMissing
	if o.Like != nil {
		t.AbsentMissing = o.Like.AbsentMissing
	}
	if o.Like == nil {
		for k := range sp.index {
			sp.index[k] -= int32(sp.low)
		}
	}
	if err := sp.store(t, o); err != nil {
		return nil, err
	}
	b.start()
	return b.finish()
}

// entries is the features of all rows, row by row.
type entries struct {
	start     []int
	index     []int32
	value     []float32
	low, high int
	qid       bool
}

// store gives the table the features.
func (s *entries) store(t *Table, o *Options) error {
	cells := int64(len(t.Columns)) * int64(t.Rows)
	implicit := float32(0)
	if t.AbsentMissing {
		implicit = nan32
	}
	if !o.sparse(t.Rows, len(t.Columns), len(s.index)) {
		if int64(len(s.index)) <= cells/sparseShare {
			if err := dense(t.Name, t.Rows, len(t.Columns), len(s.index), 0); err != nil {
				return err
			}
		}
		if cells > o.MaxCells {
			return &Error{Name: t.Name, Msg: fmt.Sprintf("%d rows of %d columns are more than %d cells", t.Rows,
				len(t.Columns), o.MaxCells), Err: ErrTooLarge}
		}
		for j := range t.Columns {
			if err := o.cancelled(t.Name); err != nil {
				return err
			}
			t.Columns[j].Values = slices.Repeat([]float32{implicit}, t.Rows)
		}
		for i := range t.Rows {
			if i%4096 == 0 {
				if err := o.cancelled(t.Name); err != nil {
					return err
				}
			}
			for k := s.start[i]; k < s.start[i+1]; k++ {
				t.Columns[s.index[k]].Values[i] = s.value[k]
			}
		}
		return nil
	}
	// From rows to columns: count, then place. Entries of a column come in the order of the rows.
	sp := &Sparse{Implicit: implicit, Start: make([]int, len(t.Columns)+1)}
	for k, j := range s.index {
		if !sp.is(s.value[k]) {
			sp.Start[j+1]++
		}
	}
	for j := range t.Columns {
		sp.Start[j+1] += sp.Start[j]
	}
	n := sp.Start[len(t.Columns)]
	sp.Rows, sp.Values = make([]int32, n), make([]float32, n)
	at := slices.Clone(sp.Start)
	for i := range t.Rows {
		if i%4096 == 0 {
			if err := o.cancelled(t.Name); err != nil {
				return err
			}
		}
		for k := s.start[i]; k < s.start[i+1]; k++ {
			if v := s.value[k]; !sp.is(v) {
				p := &at[s.index[k]]
				sp.Rows[*p], sp.Values[*p] = int32(i), v
				*p++
			}
		}
	}
	t.Sparse = sp
	return nil
}

func (s *entries) add(c *svmChunk, t *Table, o *Options) error {
	if int64(len(s.index)+len(c.index)) > o.MaxCells {
		return &Error{Name: t.Name, Msg: fmt.Sprintf("more than %d values", o.MaxCells), Err: ErrTooLarge}
	}
	if s.start == nil {
		s.start = []int{0}
	}
	for _, n := range c.count {
		s.start = append(s.start, s.start[len(s.start)-1]+int(n))
	}
	s.index, s.value = append(s.index, c.index...), append(s.value, c.value...)
	if len(c.index) > 0 {
		s.low, s.high = min(s.low, int(slices.Min(c.index))), max(s.high, int(slices.Max(c.index)))
	}
	s.qid = s.qid || c.qid
	return nil
}

// svmChunk is what a parser makes of one block. index has places in Like's columns if there is a
// Like, else the indices of the file.
type svmChunk struct {
	chunk
	count []int32
	index []int32
	value []float32
	qid   bool
}

type svmParser struct {
	out     *Table
	rule    *targetRule
	qid     bool
	label   bool // labels are wanted
	columns map[int]int32
	sources map[string]int32
	most    int
}

func newSVMParser(name string, o *Options) (*svmParser, error) {
	p := &svmParser{out: &Table{Name: name, TargetName: LibSVMTarget}, rule: newTargetRule(o),
		label: !slices.Contains(o.Drop, LibSVMTarget) && !slices.Contains(o.Unread, LibSVMTarget), qid: true,
		most: o.MaxLevels}
	if o.Target != "" && o.Target != LibSVMTarget && o.Target != "#1" {
		return nil, &Error{Name: name, Column: o.Target, Msg: fmt.Sprintf("the target of a LIBSVM file is its "+
			"first field, called %q", LibSVMTarget), Err: ErrColumns}
	}
	if o.Source != "" && o.Source != LibSVMSource {
		return nil, &Error{Name: name, Column: o.Source, Msg: fmt.Sprintf("the only source that a LIBSVM file "+
			"can have is %q", LibSVMSource), Err: ErrColumns}
	}
	if o.Weight != "" && o.Weight != LibSVMWeight {
		return nil, &Error{Name: name, Column: o.Weight, Msg: "the weight of a row of a LIBSVM file stands " +
			"after its label, as in 1:0.5", Err: ErrColumns}
	}
	for _, d := range o.Drop {
		if d != LibSVMTarget && d != LibSVMWeight && d != LibSVMSource {
			return nil, &Error{Name: name, Column: d, Msg: "columns of a LIBSVM file cannot be left out",
				Err: ErrColumns}
		}
	}
	if len(o.Categorical) > 0 {
		return nil, &Error{Name: name, Column: o.Categorical[0], Msg: "a LIBSVM file has numbers only, no " +
			"categorical columns", Err: ErrColumns}
	}
	if !p.label {
		p.out.TargetName = ""
		p.rule = &targetRule{}
	}
	if o.Source != "" {
		p.out.SourceName = LibSVMSource
		if o.Like != nil && o.Like.Sources != nil {
			p.sources = make(map[string]int32)
			for k, v := range o.Like.Sources {
				p.sources[v] = int32(k)
			}
		}
	}
	if o.Like != nil {
		p.out.Columns = o.Like.Schema().Columns
		p.columns = make(map[int]int32, len(p.out.Columns))
		for j, c := range p.out.Columns {
			k, err := strconv.Atoi(c.Name)
			if err != nil || k < 0 || c.Kind != Numeric {
				return nil, &Error{Name: name, Column: c.Name, Msg: "the model was trained on named columns; a LIBSVM " +
					"file has numbered ones only", Err: ErrColumns}
			}
			p.columns[k] = int32(j)
		}
	}
	return p, nil
}

func (p *svmParser) parse(b []byte) *svmChunk {
	c := &svmChunk{}
	line := 0
	for i := 0; i < len(b); line++ {
		end := i + bytes.IndexByte(b[i:], '\n') // there is one: b ends in it
		text := b[i:end]
		i = end + 1
		if k := bytes.IndexByte(text, '#'); k >= 0 {
			text = text[:k]
		}
		if text = trim(text); len(text) == 0 {
			continue
		}
		if !p.row(c, text) {
			c.err.Line = line
			return c
		}
		c.lines = append(c.lines, int32(line))
		c.rows++
	}
	c.height = line
	return c
}

var nanText = []byte("nan")

// token cuts off the first field.
func token(text []byte) (first, rest []byte) {
	k := bytes.IndexAny(text, " \t")
	if k < 0 {
		return text, nil
	}
	return text[:k], trim(text[k:])
}

func (p *svmParser) row(c *svmChunk, text []byte) bool {
	r := c.rows
	label, rest := token(text)
	label, weight, weighted := bytes.Cut(label, []byte{':'})
	if weighted != (len(c.weights) > 0) && r > 0 {
		c.fail(r, 0, LibSVMWeight, ErrSyntax, "rows before have weights and this has none, or the other way round")
		return false
	}
	if weighted && !storeWeight(&c.chunk, r, LibSVMWeight, weight, &Reading{}) {
		return false
	}
	if p.label {
		if bytes.IndexByte(label, ',') >= 0 {
			c.fail(r, 0, LibSVMTarget, ErrValue, "%s: several labels for one row are not understood",
				quote(string(label)))
			return false
		}
		if _, fault := parseNumber(label, 64); fault != numberFine && p.rule.fixed == nil {
			c.fail(r, 0, LibSVMTarget, ErrValue, "the label %s", fault.describe(label, 64))
			return false
		}
		if !p.rule.store(&c.chunk, r, LibSVMTarget, label) {
			return false
		}
	}
	last, from := -1, len(c.index)
	sourced := false
	for len(rest) > 0 {
		var f []byte
		f, rest = token(rest)
		key, val, ok := bytes.Cut(f, []byte{':'})
		if !ok {
			c.fail(r, 0, "", ErrSyntax, "%s is not index:value", quote(string(f)))
			return false
		}
		if string(key) == LibSVMSource {
			if !p.group(c, r, val, sourced) {
				return false
			}
			sourced = true
			continue
		}
		k, fault := index(key)
		if fault != "" {
			c.fail(r, 0, "", ErrSyntax, "%s: %s", quote(string(f)), fault)
			return false
		}
		if k <= last {
			c.fail(r, 0, string(key), ErrSyntax, "comes after index %d; indices increase along a line", last)
			return false
		}
		last = k
		if p.columns != nil {
			j, ok := p.columns[k]
			if !ok {
				c.fail(r, 0, string(key), ErrColumns, "the model was not trained on this column")
				return false
			}
			k = int(j)
		}
		x, bad := float64(nan32), numberFine
		if !bytes.EqualFold(val, nanText) {
			x, bad = parseNumber(val, 32)
		}
		if bad != numberFine {
			c.fail(r, 0, string(key), ErrValue, "%s", bad.describe(val, 32))
			return false
		}
		c.index, c.value = append(c.index, int32(k)), append(c.value, float32(x))
	}
	if p.out.SourceName != "" && !sourced {
		c.fail(r, 0, LibSVMSource, ErrValue, `no "qid" says which source the row is from`)
		return false
	}
	c.count = append(c.count, int32(len(c.index)-from))
	return true
}

// group takes the qid of a row.
func (p *svmParser) group(c *svmChunk, r int, val []byte, again bool) bool {
	c.qid = true
	if p.out.SourceName == "" {
		return true
	}
	if again || len(val) == 0 {
		c.fail(r, 0, LibSVMSource, ErrSyntax, "stands twice on the line, or is empty")
		return false
	}
	if p.sources != nil {
		k, ok := p.sources[string(val)]
		if !ok {
			c.fail(r, 0, LibSVMSource, ErrValue, "%s is not a source of the training data", quote(string(val)))
			return false
		}
		c.sourceOf = append(c.sourceOf, k)
		return true
	}
	k, ok := c.sources.code(val, r, p.most)
	if !ok {
		c.fail(r, 0, LibSVMSource, ErrTooLarge, "more than %d sources", p.most)
		return false
	}
	c.sourceOf = append(c.sourceOf, k)
	return true
}

// index reads the number of a column.
func index(b []byte) (int, string) {
	k := 0
	for _, c := range b {
		if c-'0' > 9 {
			return 0, "an index is a number from 0"
		}
		if k = 10*k + int(c-'0'); k >= 1<<30 {
			return 0, "the index is too large"
		}
	}
	if len(b) == 0 {
		return 0, "an index is a number from 0"
	}
	return k, ""
}
