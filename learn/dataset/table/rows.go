package table

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// dialect is how records are divided into fields.
type dialect struct {
	sep    byte
	quotes bool
}

// field returns the field that begins at b[i], without surrounding blanks and without its quotes.
// It also returns the position of the separator or newline that ends it, and the number of newlines
// in it. Quotes inside are undoubled into scratch. b ends in a newline.
func (d dialect) field(b []byte, i int, scratch *[]byte) (f []byte, end, lines int, fault string) {
	for b[i] == ' ' || b[i] == '\t' && d.sep != '\t' {
		i++
	}
	if !d.quotes || b[i] != '"' {
		end = i
		for b[end] != d.sep && b[end] != '\n' {
			if b[end] == '"' && d.quotes {
				return nil, end, 0, "a quote inside a field without quotes; put the field in quotes and double those inside"
			}
			end++
		}
		return trim(b[i:end]), end, 0, ""
	}
	i++
	from := i
	plain := true
	*scratch = (*scratch)[:0]
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return nil, i, 0, "a quote is not closed"
		}
		i += n
		if i+1 < len(b) && b[i+1] == '"' {
			*scratch = append(*scratch, b[from:i+1]...)
			plain = false
			i += 2
			from = i
			continue
		}
		break
	}
	if plain {
		f = b[from:i]
	} else {
		*scratch = append(*scratch, b[from:i]...)
		f = *scratch
	}
	lines = bytes.Count(f, newline)
	for i++; i < len(b) && (b[i] == ' ' || b[i] == '\t' && d.sep != '\t' || b[i] == '\r' && i+1 < len(b) &&
		b[i+1] == '\n'); {
		i++
	}
	if i == len(b) || b[i] != d.sep && b[i] != '\n' {
		return nil, i, lines, "text after the closing quote of a field"
	}
	return f, i, lines, ""
}

// trim takes blanks off both ends, and the \r of a line that ends in CRLF.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// record reads all fields of the record at b[i], for headers and samples. It
// copies them.
func (d dialect) record(b []byte, i int) (fields [][]byte, next, lines int, fault string) {
	var scratch []byte
	lines = 1
	for {
		f, end, n, fault := d.field(b, i, &scratch)
		lines += n
		if fault != "" {
			return nil, end, lines, fault
		}
		fields = append(fields, bytes.Clone(f))
		if len(fields) > maxColumns {
			return nil, end, lines, fmt.Sprintf("more than %d fields", maxColumns)
		}
		i = end + 1
		if b[end] == '\n' {
			return fields, i, lines, ""
		}
	}
}

// blank returns the length of an empty line at b[i], 0 if there is none.
func blank(b []byte, i int) int {
	if b[i] == '\n' {
		return 1
	}
	if b[i] == '\r' && b[i+1] == '\n' {
		return 2
	}
	return 0
}

// dictionary numbers texts in the order in which they come.
type dictionary struct {
	index map[string]int32
	names []string
	first []int32 // row of the chunk in which a name came first
}

// code numbers a text; false when there are already most others.
func (d *dictionary) code(b []byte, row, most int) (int32, bool) {
	if k, ok := d.index[string(b)]; ok {
		return k, true
	}
	if len(d.names) >= most {
		return -1, false
	}
	if d.index == nil {
		d.index = make(map[string]int32)
	}
	k := int32(len(d.names))
	s := string(b)
	d.index[s] = k
	d.names, d.first = append(d.names, s), append(d.first, int32(row))
	return k, true
}

// chunk is what a parser makes of one block.
type chunk struct {
	rows   int
	lines  []int32 // of each row, from 0 at the start of the block
	height int     // lines of the block
	vals   []float32
	stride int // rows that there is room for: column j begins at j·stride
	dicts  []dictionary
	unseen []unseen // by column: values that Options.Like does not have
	large  []large  // by column: values at which float32 is coarse; nil when there are none

	classes  dictionary
	classOf  []int32
	overflow bool // more classes than a class target may have: classOf is no longer filled
	numbers  []float64
	sources  dictionary
	sourceOf []int32
	weights  []float64
	ids      [][]string // by place in Table.ID

	err *Error // Line and Row are relative to the block, both from 0
}

type unseen struct {
	count int
	row   int // the first
	text  string
}

func (c *chunk) fail(row, line int, column string, err error, format string, args ...any) {
	c.err = &Error{Row: row, Line: line, Column: column, Msg: fmt.Sprintf(format, args...), Err: err}
}

// rowParser turns blocks into chunks. It is shared by the workers and not changed
// by them.
type rowParser struct {
	*layout
	dialect
	missing   func([]byte) bool
	maxLevels int
	target    *targetRule
	sources   map[string]int32 // of Options.Like; nil when any will do
	like      bool
}

func (p *rowParser) parse(b []byte) *chunk {
	nf := len(p.roles)
	// A record has at least a separator or newline for each field. Memory allocated here therefore
	// never exceeds the block, whatever the header says.
	stride := min(bytes.Count(b, newline), len(b)/nf+1)
	cols := len(p.out.Columns)
	c := &chunk{stride: stride, vals: make([]float32, stride*cols), lines: make([]int32, 0, stride),
		dicts: make([]dictionary, cols)}
	if p.like {
		c.unseen = make([]unseen, cols)
	}
	short := p.reading.plain()
	var scratch []byte
	line, i := 0, 0
	for i < len(b) {
		if n := blank(b, i); n > 0 {
			line++
			i += n
			continue
		}
		r := c.rows
		start := line
		for f := range nf {
			role := p.roles[f]
			if short && role == roleNumeric && !p.date[f] {
				// The common case first: a plain number right up to the separator.
				if d, end, ok := scan(b, i); ok {
					if v, ok := d.float32(); ok {
						e := b[end]
						if isCoarse(v) {
							if x, ok := d.float64(); ok {
								c.note(p.dest[f], r, x)
							}
						}
						if f < nf-1 && e == p.sep {
							c.vals[p.dest[f]*stride+r] = v
							i = end + 1
							continue
						}
						if f == nf-1 && (e == '\n' || e == '\r' && b[end+1] == '\n') {
							c.vals[p.dest[f]*stride+r] = v
							i = end
							continue
						}
					}
				}
			}
			text, end, n, fault := p.field(b, i, &scratch)
			if fault != "" {
				c.fail(r, line, p.names[f], ErrSyntax, "%s", fault)
				return c
			}
			if ended := b[end] == '\n'; ended != (f == nf-1) {
				p.ragged(c, b, r, start, f, end, &scratch)
				return c
			}
			i = end
			if f < nf-1 {
				i++
			}
			if role != roleDrop && !p.store(c, r, f, role, text) {
				c.err.Line += start
				return c
			}
			if also := p.also[f]; also != roleDrop && !p.store(c, r, f, also, text) {
				c.err.Line += start
				return c
			}
			line += n
		}
		if b[i] == '\r' {
			i++
		}
		i++ // the newline
		line++
		c.lines = append(c.lines, int32(start))
		c.rows++
	}
	c.height = line
	return c
}

// ragged counts the fields of a record that has too few or too many.
func (p *rowParser) ragged(c *chunk, b []byte, r, line, f, end int, scratch *[]byte) {
	n := f + 1
	for b[end] != '\n' {
		var fault string
		if _, end, _, fault = p.field(b, end+1, scratch); fault != "" {
			break
		}
		n++
	}
	c.fail(r, line, "", ErrSyntax, "%d fields where there should be %d", n, len(p.roles))
}

// store puts one field of row r where it belongs. On an error it sets c.err and
// returns false.
func (p *rowParser) store(c *chunk, r, f int, role role, text []byte) bool {
	name := p.names[f]
	switch role {
	case roleNumeric:
		j := p.dest[f]
		if p.missing(text) {
			c.vals[j*c.stride+r] = nan32
			return true
		}
		x, fault := p.reading.value(text, 32, p.date[f])
		if fault != numberFine {
			p.notNumber(c, r, f, text, fault, 32)
			return false
		}
		c.vals[j*c.stride+r] = float32(x)
		if isCoarse(float32(x)) || p.date[f] && float64(float32(x)) != x {
			if exact, fault := p.reading.value(text, 64, p.date[f]); fault == numberFine {
				c.note(j, r, exact)
			}
		}
	case roleCategorical:
		j := p.dest[f]
		if p.missing(text) {
			c.vals[j*c.stride+r] = nan32
			return true
		}
		if p.like {
			k, ok := p.levels[j][string(text)]
			if !ok {
				u := &c.unseen[j]
				if u.count == 0 {
					u.row, u.text = r, string(text)
				}
				u.count++
				c.vals[j*c.stride+r] = nan32
				return true
			}
			c.vals[j*c.stride+r] = float32(k)
			return true
		}
		k, ok := c.dicts[j].code(text, r, p.maxLevels)
		if !ok {
			c.fail(r, 0, name, ErrTooLarge, "more than %d levels, as identifiers have", p.maxLevels)
			c.err.Fixes = tooManyLevels(name)
			return false
		}
		if !utf8.Valid(text) {
			c.fail(r, 0, name, ErrSyntax, "%s is not UTF-8; convert the input first", quote(string(text)))
			return false
		}
		c.vals[j*c.stride+r] = float32(k)
	case roleTarget:
		if p.missing(text) && !p.target.known(text) {
			c.fail(r, 0, name, ErrValue, "the target is missing (%s); leave such rows out", quote(string(text)))
			return false
		}
		return p.target.store(c, r, name, text)
	case roleSource:
		if p.sources != nil {
			k, ok := p.sources[string(text)]
			if !ok {
				c.fail(r, 0, name, ErrValue, "%s is not a source of the training data", quote(string(text)))
				return false
			}
			c.sourceOf = append(c.sourceOf, k)
			return true
		}
		if p.missing(text) {
			c.fail(r, 0, name, ErrValue, "the source is missing (%s)", quote(string(text)))
			return false
		}
		k, ok := c.sources.code(text, r, p.maxLevels)
		if !ok {
			c.fail(r, 0, name, ErrTooLarge, "more than %d sources; is it an identifier?", p.maxLevels)
			return false
		}
		if !utf8.Valid(text) {
			c.fail(r, 0, name, ErrSyntax, "%s is not UTF-8; convert the input first", quote(string(text)))
			return false
		}
		c.sourceOf = append(c.sourceOf, k)
	case roleWeight:
		return storeWeight(c, r, name, text, &p.reading)
	case roleID:
		if !utf8.Valid(text) {
			c.fail(r, 0, name, ErrSyntax, "%s is not UTF-8; convert the input first", quote(string(text)))
			return false
		}
		for len(c.ids) <= p.dest[f] {
			c.ids = append(c.ids, nil)
		}
		c.ids[p.dest[f]] = append(c.ids[p.dest[f]], string(text))
	}
	return true
}

// notNumber reports a text that is no number, in a column of numbers, and what would read it.
func (p *rowParser) notNumber(c *chunk, r, f int, text []byte, fault numberFault, bits int) {
	msg := fault.describe(text, bits)
	if p.date[f] {
		msg = quote(string(text)) + " is not a date in the order " + p.reading.Dates
	}
	var fixes []Fix
	if fault == numberBad {
		msg += "; correct it"
		if d, ok := p.reading.unmask([][]byte{text}); ok {
			fixes = d.fixes(string(text))
		}
		fixes = append(fixes, Fix{Option: "Missing", Value: string(text),
			Effect: "if it means that the value is missing"})
		if !p.like {
			fixes = append(fixes, Fix{Option: "Categorical", Value: p.names[f], Effect: "if these are names"})
		}
	}
	c.fail(r, 0, p.names[f], ErrValue, "%s", msg)
	c.err.Fixes = fixes
}

func storeWeight(c *chunk, r int, name string, text []byte, reading *Reading) bool {
	x, fault := reading.number(text, 64)
	switch {
	case len(text) == 0:
		c.fail(r, 0, name, ErrValue, "the weight is missing")
	case fault != numberFine:
		c.fail(r, 0, name, ErrValue, "the weight %s", fault.describe(text, 64))
	case x < 0:
		c.fail(r, 0, name, ErrValue, "the weight %v is negative; weights are 0 or more", x)
	default:
		c.weights = append(c.weights, x+0)
		return true
	}
	return false
}
