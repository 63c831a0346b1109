package sequence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Template says how one feature is read off the columns around a position. Its text form is that
// of CRF++ and of Wapiti, one template a line:
//
//	# blank lines and comments are skipped
//	U00:%x[-1,0]/%x[0,0]
//	B01:%x[0,1]
//	B
//	*suffix:%m[0,0,".?.?$"]
//
// The whole line, with the macros replaced, is the name of an attribute of the position. The part
// before the colon therefore keeps templates apart. An attribute of U is combined with the label of
// the position; one of B with the labels of the position and the one before; one of * both ways. A
// B without text is the label bigram itself, which every model of order 2 or more has anyway.
//
// Macros take a row relative to the position and a column, both counted from 0,
// a negative column from the end:
//
//	%x[r,c]      the field
//	%t[r,c,"e"]  true or false: whether the field matches the pattern e (see below)
//	%m[r,c,"e"]  the first part of the field that matches, or nothing
//	%X %T %M     the same in lower case
//	%l[r,c]      the field in lower case, as %X
//	%p3[r,c]     its first three characters (any number from 1 to 99), in lower case
//	%s3[r,c]     its last three
//	%h[r,c]      its shape: runs of capitals X, of other letters x, of digits 9; hyphens and full
//	             stops as they are; o for all else; 8 characters at most
//	%v[r,c]      nothing, but the field must be a number and multiplies the feature's value
//	%%           a percent sign
//
// A row @r counts from the first position, @1, or from the last one, @-1.
//
// A line is of Wapiti where it begins with u, b or *, or has @ or one of %t %m %X %T %M. Its first
// letter may then be of either case, and # begins a comment anywhere in it. Rows beyond the ends
// read _x-1 to _x-4 before the first position, _x+1 to _x+4 after the last, and _x-# and _x+#
// farther off. A line of CRF++ has %x and %% only; its rows read _B-1, _B-2 and so on, and _B+1. In
// a line with other macros, and in the presets, they read <s> and </s>, and 0 as %v.
//
// The patterns are those of Wapiti:
//
//	.    any character
//	\x   a class: \d digits, \a letters, \w both, \l small letters, \u capitals, \p punctuation
//	     and symbols, \s spaces; \D, \A and so on all others; before any other x, x itself
//	x?   x or nothing, x if what follows then matches
//	x*   any number of x, as few as do
//	^ $  at the front and at the end: there the field begins and ends
//
// The leftmost match counts. Characters and classes are those of Unicode, where Wapiti has bytes
// and ASCII. A match takes O(length of the field · length of the pattern) time.
type Template struct {
	single, pair bool // U, B; * is both
	marks        marks
	ascii        bool // %h knows no letters beyond ASCII, as in older model files
	text         string
	parts        []part
}

type part struct {
	literal  string // when kind is 0
	kind     byte   // x t m l p s h v
	lower    bool   // %X %T %M
	absolute bool   // @
	n        int    // characters, for p and s
	row      int
	column   int
	pattern  *pattern // of t and m
}

// marks says what rows beyond the ends read.
type marks string

const (
	sentenceMarks marks = ""       // <s> and </s>
	crfMarks      marks = "crf++"  // _B-1 …
	wapitiMarks   marks = "wapiti" // _x-1 …
)

// append appends what stands for the row that is so far before the first one (negative), or after
// the last one.
func (m marks) append(dst []byte, distance int) []byte {
	switch {
	case m == sentenceMarks && distance < 0:
		return append(dst, "<s>"...)
	case m == sentenceMarks:
		return append(dst, "</s>"...)
	case m == crfMarks:
		return fmt.Appendf(dst, "_B%+d", distance)
	case distance < -4:
		return append(dst, "_x-#"...)
	case distance > 4:
		return append(dst, "_x+#"...)
	}
	return fmt.Appendf(dst, "_x%+d", distance)
}

// maxOffset bounds the rows of macros: a template reads a window, not the whole input.
const maxOffset = 100

// maxAbsolute bounds rows that count from an end of the input.
const maxAbsolute = 1 << 30

// String returns the line that the template was parsed from.
func (t *Template) String() string { return t.text }

// Reads reports whether the template reads the given column, from 0, of lines with the given number
// of columns.
func (t *Template) Reads(column, columns int) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		return p.kind != 0 && (p.column == column || p.column+columns == column)
	})
}

// Single reports whether the attributes are combined with the label of the position.
func (t *Template) Single() bool { return t.single }

// Pair reports whether the attributes are combined with two labels.
func (t *Template) Pair() bool { return t.pair }

// ParseTemplate reads one line. A comment of Wapiti at its end is not part of the template.
func ParseTemplate(line string) (*Template, error) {
	t := &Template{text: line}
	if isWapiti(line) {
		t.marks = wapitiMarks
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimRight(line, " \t\r")
		t.text = line
	}
	switch {
	case line == "":
		return nil, fmt.Errorf("sequence: an empty template")
	case !utf8.ValidString(line):
		return nil, fmt.Errorf("sequence: template %q is not UTF-8", line)
	}
	switch line[0] {
	case 'U', 'u':
		t.single = true
	case 'B', 'b':
		t.pair = true
	case '*':
		t.single, t.pair = true, true
	default:
		return nil, fmt.Errorf("sequence: template %q begins with none of U, B and *, in either case", line)
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
	if t.marks == sentenceMarks && !slices.ContainsFunc(t.parts, func(p part) bool {
		return p.kind != 0 &&
			p.kind != 'x'
	}) {
		t.marks = crfMarks
	}
	return t, nil
}

// isWapiti tells lines of Wapiti from others.
func isWapiti(line string) bool {
	if line == "" {
		return false
	}
	if strings.IndexByte("ub*", line[0]) >= 0 {
		return true
	}
	for at := 0; at+1 < len(line); at++ {
		if line[at] != '%' {
			continue
		}
		at++
		if strings.IndexByte("tmXTM", line[at]) >= 0 || strings.HasPrefix(line[at:], "x[@") {
			return true
		}
	}
	return false
}

// bare reports whether the template is no more than its first letter: of B, the label bigram.
func (t *Template) bare() bool { return len(t.text) == 1 }

// parseMacro reads a macro at the front of s, and returns how long it is.
func parseMacro(s string) (part, int, error) {
	usage := fmt.Errorf(`expected a macro like %%x[-1,0] or %%t[0,0,"^\\u"], with one of x, t, m, X, T, M, l, p1 to p99, s1 to s99, h, v`)
	open := strings.IndexByte(s, '[')
	if open < 2 {
		return part{}, 0, usage
	}
	p := part{kind: s[1]}
	var err error
	switch p.kind {
	case 'X', 'T', 'M':
		p.kind, p.lower = p.kind-'A'+'a', true
		fallthrough
	case 'x', 't', 'm', 'l', 'h', 'v':
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
	row, rest, ok := strings.Cut(s[open+1:], ",")
	end := strings.IndexAny(rest, ",]")
	if !ok || end < 0 || strings.IndexByte(row, ']') >= 0 {
		return part{}, 0, usage
	}
	column := strings.TrimSpace(rest[:end])
	rest = rest[end:]
	if row = strings.TrimSpace(row); strings.HasPrefix(row, "@") {
		row, p.absolute = row[1:], true
	}
	if p.row, err = strconv.Atoi(row); err != nil || !p.absolute && (p.row < -maxOffset || p.row > maxOffset) {
		return part{}, 0, fmt.Errorf("%q is no row between %d and %d", row, -maxOffset, maxOffset)
	}
	if p.absolute && (p.row == 0 || p.row < -maxAbsolute || p.row > maxAbsolute) {
		return part{}, 0, fmt.Errorf("@%s is no row: they count from @1, and from the end from @-1", row)
	}
	if p.column, err = strconv.Atoi(column); err != nil || p.column < -1<<20 || p.column > 1<<20 {
		return part{}, 0, fmt.Errorf("%q is no column", column)
	}
	if p.kind == 't' || p.kind == 'm' {
		if !strings.HasPrefix(rest, `,"`) {
			return part{}, 0, fmt.Errorf(`%%%c needs a pattern behind the column, as in %%%c[0,0,"^\u"]`, s[1], s[1])
		}
		text := rest[2:]
		n := 0
		for n < len(text) && text[n] != '"' {
			if text[n] == '\\' {
				n++
			}
			n++
		}
		if n >= len(text) {
			return part{}, 0, errors.New(`the pattern has no end: a second " is missing`)
		}
		if p.pattern, err = parsePattern(text[:n]); err != nil {
			return part{}, 0, fmt.Errorf("pattern %q: %w", text[:n], err)
		}
		rest = text[n+1:]
	}
	if !strings.HasPrefix(rest, "]") {
		return part{}, 0, usage
	}
	return p, len(s) - len(rest) + 1, nil
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
		switch {
		case p.absolute && p.row < 0:
			r = len(columns) + p.row
		case p.absolute:
			r = p.row - 1
		}
		if r < 0 || r >= len(columns) {
			distance := r
			if r >= 0 {
				distance = r - len(columns) + 1
			}
			switch p.kind {
			case 'v':
				value = 0
			case 't', 'm':
				dst = p.matched(dst, string(t.marks.append(nil, distance)))
			default:
				dst = t.marks.append(dst, distance)
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
			if p.lower {
				field = strings.ToLower(field)
			}
			dst = append(dst, field...)
		case 't', 'm':
			dst = p.matched(dst, field)
		case 'l':
			dst = append(dst, strings.ToLower(field)...)
		case 'p':
			dst = append(dst, prefix(strings.ToLower(field), p.n)...)
		case 's':
			dst = append(dst, suffix(strings.ToLower(field), p.n)...)
		case 'h':
			dst = appendShape(dst, field, t.ascii)
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

// matched appends what %t or %m makes of a field.
func (p *part) matched(dst []byte, field string) []byte {
	from, to := p.pattern.find(field)
	switch {
	case p.kind == 't':
		return strconv.AppendBool(dst, from >= 0)
	case from < 0:
		return dst
	case p.lower:
		return append(dst, strings.ToLower(field[from:to])...)
	}
	return append(dst, field[from:to]...)
}

// appendShape appends the shape of a word, which knows only the letters and digits of ASCII if so
// asked.
func appendShape(dst []byte, s string, ascii bool) []byte {
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
		case r < utf8.RuneSelf || ascii:
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			c = 'X'
		case unicode.IsLetter(r):
			c = 'x'
		case unicode.IsMark(r) && (last == 'x' || last == 'X'):
			continue // an accent of the letter before
		case unicode.IsDigit(r):
			c = '9'
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
