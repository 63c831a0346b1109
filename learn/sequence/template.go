package sequence

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Template says how one feature is read off the columns around a position. Its
// text form is that of CRF++, one template a line:
//
//	# blank lines and comments are skipped
//	U00:%x[-1,0]/%x[0,0]
//	B01:%x[0,1]
//	B
//
// The whole line, with the macros replaced, is the name of an attribute of the position. The part
// before the colon therefore keeps templates apart. An attribute of U is combined with the label of
// the position; one of B with the labels of the position and the one before. A B without text is
// the label bigram itself, which every model of order 2 or more has anyway.
//
// Macros take a row relative to the position and a column, both counted from 0,
// a negative column from the end:
//
//	%x[r,c]   the field
//	%l[r,c]   in lower case
//	%p3[r,c]  its first three characters (any number from 1 to 99), in lower case
//	%s3[r,c]  its last three
//	%h[r,c]   its shape: runs of capitals X, of small letters x, of digits 9;
//	          hyphens and full stops as they are; o for all else; 8 characters at most
//	%v[r,c]   nothing, but the field must be a number and multiplies the feature's value
//	%%        a percent sign
//
// Rows before the beginning read <s>, rows after the end </s>; as %v, 0. (CRF++
// has a mark for each distance instead.)
type Template struct {
	pair  bool // B
	text  string
	parts []part
}

type part struct {
	literal string // when kind is 0
	kind    byte   // x l p s h v
	n       int    // characters, for p and s
	row     int
	column  int
}

// maxOffset bounds the rows of macros: a template reads a window, not the whole input.
const maxOffset = 100

// String returns the line that the template was parsed from.
func (t *Template) String() string { return t.text }

// Reads reports whether the template reads the given column, from 0, of lines with the given number
// of columns.
func (t *Template) Reads(column, columns int) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		return p.kind != 0 && (p.column == column || p.column+columns == column)
	})
}

// Pair reports whether the attributes are combined with two labels.
func (t *Template) Pair() bool { return t.pair }

// ParseTemplate reads one line.
func ParseTemplate(line string) (*Template, error) {
	t := &Template{text: line}
	switch {
	case line == "":
		return nil, fmt.Errorf("sequence: an empty template")
	case !utf8.ValidString(line):
		return nil, fmt.Errorf("sequence: template %q is not UTF-8", line)
	case line[0] == 'B':
		t.pair = true
	case line[0] != 'U':
		return nil, fmt.Errorf("sequence: template %q begins with neither U nor B", line)
	}
	var literal strings.Builder
	for at := 0; at < len(line); {
		i := strings.IndexByte(line[at:], '%')
		if i < 0 {
			literal.WriteString(line[at:])
			break
		}
		literal.WriteString(line[at : at+i])
		at += i
		if strings.HasPrefix(line[at:], "%%") {
			literal.WriteByte('%')
			at += 2
			continue
		}
		p, n, err := parseMacro(line[at:])
		if err != nil {
			return nil, fmt.Errorf("sequence: template %q, character %d: %w", line, utf8.RuneCountInString(line[:at])+1, err)
		}
		if literal.Len() > 0 {
			t.parts = append(t.parts, part{literal: literal.String()})
			literal.Reset()
		}
		t.parts = append(t.parts, p)
		at += n
	}
	if literal.Len() > 0 {
		t.parts = append(t.parts, part{literal: literal.String()})
	}
	return t, nil
}

// parseMacro reads a macro at the front of s, and returns how long it is.
func parseMacro(s string) (part, int, error) {
	usage := fmt.Errorf("expected a macro like %%x[-1,0], with one of x, l, p1 to p99, s1 to s99, h, v")
	open, end := strings.IndexByte(s, '['), strings.IndexByte(s, ']')
	if open < 2 || end < open {
		return part{}, 0, usage
	}
	p := part{kind: s[1]}
	var err error
	switch p.kind {
	case 'x', 'l', 'h', 'v':
		if open != 2 {
			return part{}, 0, usage
		}
	case 'p', 's':
		if p.n, err = strconv.Atoi(s[2:open]); err != nil || p.n < 1 || p.n > 99 {
			return part{}, 0, usage
		}
	default:
		return part{}, 0, usage
	}
	row, column, ok := strings.Cut(s[open+1:end], ",")
	if !ok {
		return part{}, 0, usage
	}
	if p.row, err = strconv.Atoi(row); err != nil || p.row < -maxOffset || p.row > maxOffset {
		return part{}, 0, fmt.Errorf("%q is no row between %d and %d", row, -maxOffset, maxOffset)
	}
	if p.column, err = strconv.Atoi(column); err != nil || p.column < -1<<20 || p.column > 1<<20 {
		return part{}, 0, fmt.Errorf("%q is no column", column)
	}
	return p, end + 1, nil
}

// ParseTemplates reads a file of templates; name is that of the input in errors.
func ParseTemplates(r io.Reader, name string) ([]*Template, error) {
	var out []*Template
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for line := 1; sc.Scan(); line++ {
		s := strings.TrimSpace(sc.Text())
		if s == "" || s[0] == '#' {
			continue
		}
		t, err := ParseTemplate(s)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		out = append(out, t)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// append appends the name of the attribute at position at of columns to dst and
// returns it with the attribute's value.
func (t *Template) append(dst []byte, columns [][]string, at int) ([]byte, float64, error) {
	value := 1.0
	for i := range t.parts {
		p := &t.parts[i]
		if p.kind == 0 {
			dst = append(dst, p.literal...)
			continue
		}
		r := at + p.row
		if r < 0 || r >= len(columns) {
			switch {
			case p.kind == 'v':
				value = 0
			case r < 0:
				dst = append(dst, "<s>"...)
			default:
				dst = append(dst, "</s>"...)
			}
			continue
		}
		c := p.column
		if c < 0 {
			c += len(columns[r])
		}
		if c < 0 || c >= len(columns[r]) {
			if p.column < 0 {
				return dst, 0, fmt.Errorf("template %q reads column %d from the end, the line has %d", t.text, -p.column, len(columns[r]))
			}
			return dst, 0, fmt.Errorf("template %q reads column %d (templates count from 0), the line has %d", t.text, p.column+1, len(columns[r]))
		}
		field := columns[r][c]
		switch p.kind {
		case 'x':
			dst = append(dst, field...)
		case 'l':
			dst = append(dst, strings.ToLower(field)...)
		case 'p':
			dst = append(dst, prefix(strings.ToLower(field), p.n)...)
		case 's':
			dst = append(dst, suffix(strings.ToLower(field), p.n)...)
		case 'h':
			dst = appendShape(dst, field)
		case 'v':
			v, err := strconv.ParseFloat(field, 64)
			if err != nil || v-v != 0 {
				return dst, 0, fmt.Errorf("template %q: column %d holds %q, which is no number", t.text, c+1, field)
			}
			if value *= v; math.IsInf(value, 0) {
				return dst, 0, fmt.Errorf("template %q: with %q of column %d the product of its numbers is beyond float64", t.text, field, c+1)
			}
		}
	}
	return dst, value, nil
}

func prefix(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func suffix(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, k := utf8.DecodeLastRuneInString(s[:i])
		i -= k
	}
	return s[i:]
}

func appendShape(dst []byte, s string) []byte {
	n, last := 0, byte(0)
	for _, r := range s {
		c := byte('o')
		switch {
		case r >= 'a' && r <= 'z':
			c = 'x'
		case r >= 'A' && r <= 'Z':
			c = 'X'
		case r >= '0' && r <= '9':
			c = '9'
		case r == '-' || r == '.':
			c = byte(r)
		}
		if c == last && (c == 'x' || c == 'X' || c == '9') {
			continue
		}
		if n == 8 {
			break
		}
		dst = append(dst, c)
		last = c
		n++
	}
	return dst
}
