package fst

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// TextError reports what is wrong in a text file and where.
type TextError struct {
	Source string // the file's name as the caller gave it
	Line   int    // from 1
	Field  int    // column from 1; zero when the whole line is meant
	Err    error
}

func (e *TextError) Error() string {
	src := e.Source
	if src == "" {
		src = "input"
	}
	if e.Field > 0 {
		return fmt.Sprintf("%s, line %d, field %d: %v", src, e.Line, e.Field, e.Err)
	}
	return fmt.Sprintf("%s, line %d: %v", src, e.Line, e.Err)
}
func (e *TextError) Unwrap() error { return e.Err }

// DefaultSeparators are the characters that split fields unless an option says
// otherwise; what is written uses the first.
const DefaultSeparators = "\t "

// longestLine is how many bytes a line may have: no text of a machine or table has lines of such
// length, but what is no text, or has no end, may have. OpenFst ends lines after 8096 bytes,
// without a word.
const longestLine = 16 << 20

// lineReader cuts a stream into lines of up to longestLine. Its buffer grows with the
// longest line that arrived, never with what a file claims.
type lineReader struct {
	r        io.Reader
	buf      []byte
	pos, end int
	line     int   // lines returned so far
	read     int64 // bytes read so far
	eof      bool
	err      error
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: make([]byte, 64<<10)}
}

// next returns the next line without its end ("\n" or "\r\n"), and the first without a byte-order
// mark, valid until the following call; false at the end of the stream and after an error.
func (l *lineReader) next() ([]byte, bool) {
	scanned := l.pos
	for {
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\n'); i >= 0 {
			s := l.buf[l.pos : scanned+i]
			l.pos = scanned + i + 1
			return l.content(s), true
		}
		if l.eof {
			if l.pos == l.end || l.err != nil {
				return nil, false
			}
			s := l.buf[l.pos:l.end]
			l.pos = l.end
			return l.content(s), true
		}
		scanned = l.end - l.pos
		l.fill()
	}
}

// content counts the line s, and returns it without a carriage return, and if it is the first
// without a byte-order mark.
func (l *lineReader) content(s []byte) []byte {
	if l.line++; l.line == 1 {
		s = bytes.TrimPrefix(s, []byte("\ufeff"))
	}
	if n := len(s); n > 0 && s[n-1] == '\r' {
		return s[:n-1]
	}
	return s
}

// fill moves what is left to the front and reads more behind it.
func (l *lineReader) fill() {
	l.end = copy(l.buf, l.buf[l.pos:l.end])
	l.pos = 0
	if l.end == len(l.buf) {
		if l.end >= longestLine {
			l.eof, l.err = true, fmt.Errorf("more than %d bytes without the end of a line: not a text file?", longestLine)
			return
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.read += int64(n)
		if err != nil {
			l.eof = true
			if err != io.EOF {
				l.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	l.eof, l.err = true, io.ErrNoProgress
}

// separators is a set of bytes.
type separators [256]bool

func newSeparators(s string) (set *separators, first byte) {
	if s == "" {
		s = DefaultSeparators
	}
	set = new(separators)
	for i := range len(s) {
		set[s[i]] = true
	}
	return set, s[0]
}

// split cuts line into at most len(cols) fields, skipping empty ones, and
// returns how many there are in all.
func (set *separators) split(line []byte, cols [][]byte) int {
	n := 0
	for i := 0; i < len(line); {
		for i < len(line) && set[line[i]] {
			i++
		}
		if i == len(line) {
			break
		}
		j := i + 1
		for j < len(line) && !set[line[j]] {
			j++
		}
		if n < len(cols) {
			cols[n] = line[i:j]
		}
		n++
		i = j
	}
	return n
}

// parseInt reads s as a base-10 integer with an optional sign. It never
// overflows: digits beyond 18 are left to the caller's range check by way of
// big = true.
func parseInt(s []byte) (x int64, big, ok bool) {
	i := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		i = 1
	}
	if i == len(s) {
		return 0, false, false
	}
	for _, c := range s[i:] {
		d := c - '0'
		if d > 9 {
			return 0, false, false
		}
		if x > (1<<62)/10 {
			big = true
			continue
		}
		x = 10*x + int64(d)
	}
	if s[0] == '-' {
		x = -x
	}
	return x, big, true
}

var errNotInteger = errors.New("not an integer")

// parseLabel reads s as a label; what names its kind in errors.
func parseLabel(s []byte, what string, negative bool) (Label, error) {
	// The common case first: up to nine digits.
	if uint(len(s)-1) < 9 {
		x := uint32(0)
		for _, c := range s {
			d := c - '0'
			if d > 9 {
				goto slow
			}
			x = 10*x + uint32(d)
		}
		return Label(x), nil
	}
slow:
	// C's strtoll, which reads these numbers elsewhere, skips space before them;
	// there is some when only commas, say, separate fields.
	x, big, ok := parseInt(bytes.TrimLeft(s, " \t\v\f"))
	switch {
	case !ok:
		return 0, fmt.Errorf("bad %s %q: %w", what, clip(s), errNotInteger)
	case big || x > 1<<31-1 || x < -1<<31:
		return 0, fmt.Errorf("bad %s %s: outside the range of 32-bit integers", what, clip(s))
	case x < 0 && !negative:
		return 0, fmt.Errorf("bad %s %d: negative labels are not allowed here", what, x)
	}
	return Label(x), nil
}

// parseKey reads s as a key of a symbol table.
func parseKey(s []byte, negative bool) (int64, error) {
	if l, err := parseLabel(s, "label", negative); err == nil {
		return int64(l), nil
	}
	key, err := strconv.ParseInt(string(bytes.TrimLeft(s, " \t\v\f")), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("bad label %s: outside the range of 64-bit integers", clip(s))
	case err != nil:
		return 0, fmt.Errorf("bad label %q: not an integer", clip(s))
	case key < 0 && !negative:
		return 0, fmt.Errorf("bad label %d: negative labels are not allowed here", key)
	}
	return key, nil
}

// clip shortens what an error quotes.
func clip(s []byte) string {
	const n = 60
	if len(s) > n {
		return string(s[:n]) + "…"
	}
	return string(s)
}
