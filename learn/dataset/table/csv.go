package table

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// sampleRows is how many rows, at most, decide what kind a column is. They are
// taken from the first block, so that no part of the input is read twice or kept.
const sampleRows = 1000

// likeData reports whether a header of the given number of names looks like a row of data, given
// the names that are numbers. That is when all are, or at least half, unless these are integers in
// ascending order, as years and numbers of pixels are.
func likeData(numbered []float64, names int) bool {
	if 2*len(numbered) < names || len(numbered) == 0 {
		return false
	}
	if len(numbered) == names {
		return true
	}
	for i, v := range numbered {
		if v != math.Trunc(v) || i > 0 && v <= numbered[i-1] {
			return true
		}
	}
	return false
}

// readDelimited reads comma- or tab-separated values.
func readDelimited(r io.Reader, name string, o *Options, d dialect) (*Table, error) {
	s := &blocks{r: r, name: name, quotes: d.quotes, max: o.MaxRecord, maxRead: o.MaxBytes}
	first, err := s.next()
	if err == io.EOF {
		return nil, &Error{Name: name, Msg: "the input is empty", Err: ErrUseless}
	}
	if err != nil {
		return nil, err
	}
	// The header, or the number of fields of the first row.
	i, line := 0, 0
	for i < len(first) && blank(first, i) > 0 {
		i += blank(first, i)
		line++
	}
	if i == len(first) {
		return nil, &Error{Name: name, Msg: "the input has no rows, only empty lines", Err: ErrUseless}
	}
	header, next, lines, fault := d.record(first, i)
	if fault != "" {
		return nil, &Error{Name: name, Line: line + 1, Msg: fault, Err: ErrSyntax}
	}
	noHeader := o.NoHeader || o.Like != nil && o.Like.Reading.NoHeader
	fields := make([]string, len(header))
	var numbered []float64 // the names that are numbers
	for k, h := range header {
		if v, f := parseNumber(h, 64); f != numberBad {
			numbered = append(numbered, v)
		}
		if noHeader || len(h) == 0 {
			fields[k] = fmt.Sprintf("#%d", k+1)
			continue
		}
		if !utf8.Valid(h) || bytes.ContainsAny(h, "\x00\r\n") {
			return nil, &Error{Name: name, Line: line + 1, Column: fmt.Sprintf("#%d", k+1),
				Msg: fmt.Sprintf("the name %s is not plain text in UTF-8 on one line ended by LF or CRLF",
					quote(string(h))), Err: ErrSyntax}
		}
		fields[k] = string(h)
	}
	l, err := newLayout(o, name, fields)
	if err != nil {
		return nil, err
	}
	if !noHeader && likeData(numbered, len(header)) {
		which := "all"
		if n := len(numbered); n < len(header) {
			which = fmt.Sprintf("%d of %d", n, len(header))
		}
		l.out.warnFix([]Fix{{Option: "NoHeader", Value: "true", Effect: "if the first line is data"}},
			"the names of %s columns are numbers", which)
	}
	if !noHeader {
		i = next
		line += lines
	}
	b := &builder{layout: l, o: o, line: line}
	missing := missingIn(l.reading.Missing)
	if err := l.sample(o, d, first, i, line, missing); err != nil {
		return nil, err
	}
	b.rule = newTargetRule(o)
	b.rule.reading = &l.reading
	for i, r := range l.roles {
		b.rule.date = b.rule.date || r == roleTarget && l.date[i]
	}
	p := &rowParser{layout: l, dialect: d, missing: missing, maxLevels: o.MaxLevels, target: b.rule,
		like: o.Like != nil}
	if o.Like != nil && o.Like.Sources != nil {
		p.sources = make(map[string]int32)
		for k, v := range o.Like.Sources {
			p.sources[v] = int32(k)
		}
	}
	b.start()
	if i < len(first) {
		err = pipeline(s, first[i:], o.Workers, p.parse, b.merge)
	} else {
		err = pipeline(s, nil, o.Workers, p.parse, b.merge)
	}
	if err != nil {
		return nil, err
	}
	if err := b.assemble(); err != nil {
		return nil, err
	}
	l.out.Reading = l.reading
	return b.finish()
}

// sample looks at the first rows to decide the kinds of the columns. A row that
// is malformed ends the sample: the parser will report it.
func (l *layout) sample(o *Options, d dialect, b []byte, i, line int, missing func([]byte) bool) error {
	var rows [][][]byte
	var at []int
	for cells := 0; i < len(b) && len(rows) < sampleRows && cells < 1<<20; {
		if n := blank(b, i); n > 0 {
			i += n
			line++
			continue
		}
		row, next, lines, fault := d.record(b, i)
		if fault != "" || len(row) != len(l.names) {
			break
		}
		rows, at = append(rows, row), append(at, line+1)
		cells += len(row)
		i = next
		line += lines
	}
	return l.infer(o, rows, at, missing)
}

// missingIn returns a test for the texts that stand for a missing value.
func missingIn(texts []string) func([]byte) bool {
	if texts == nil {
		texts = DefaultMissing
	}
	set := make(map[string]bool, len(texts))
	longest := 0
	for _, t := range texts {
		set[t] = true
		longest = max(longest, len(t))
	}
	return func(b []byte) bool {
		return len(b) == 0 || len(b) <= longest && set[string(b)]
	}
}
