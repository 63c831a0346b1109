package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// SyntaxError reports input that violates the format.
type SyntaxError struct {
	Name   string // of the input, as given by the caller
	Line   int    // from 1
	Column int    // in characters, from 1; zero when the whole line is meant
	Msg    string
}

func (e *SyntaxError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Msg)
}

// DefaultMaxLine is the longest line that is read unless options say otherwise,
// in bytes.
const DefaultMaxLine = 16 << 20

// lines reads text line by line.
type lines struct {
	r    *bufio.Reader
	name string
	max  int
	line int    // number of the line read last
	buf  []byte // the line read last, for lines longer than the reader's buffer
	cut  bool   // the line read last was too long, and its rest was not read
}

func newLines(r io.Reader, name string, maxLine int) *lines {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &lines{r: bufio.NewReaderSize(r, 1<<16), name: name, max: maxLine}
}

// next returns the next line without its end; io.EOF after the last. The slice
// is valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.cut = false
	b, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.buf = append(l.buf[:0], b...)
		for err == bufio.ErrBufferFull && len(l.buf) <= l.max {
			b, err = l.r.ReadSlice('\n')
			l.buf = append(l.buf, b...)
		}
		b = l.buf
	}
	if err == io.EOF && len(b) == 0 {
		return nil, io.EOF
	}
	l.line++
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, fmt.Errorf("%s:%d: %w", l.name, l.line, err)
	}
	l.cut = err == bufio.ErrBufferFull
	b = bytes.TrimSuffix(b, []byte("\n"))
	b = bytes.TrimSuffix(b, []byte("\r"))
	if len(b) > l.max {
		return nil, l.fail(0, "the line is longer than %d bytes", l.max)
	}
	if l.line == 1 {
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		return nil, l.failAt(b, i, "a carriage return inside the line; lines end in LF or CRLF")
	}
	if !utf8.Valid(b) {
		at := 0
		for at < len(b) {
			r, n := utf8.DecodeRune(b[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, l.failAt(b, at, "byte %#02x is not UTF-8; convert the input first, as with iconv -f latin1 "+
			"-t utf-8", b[at])
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return nil, l.failAt(b, i, "a NUL byte, which no text has")
	}
	return b, nil
}

func (l *lines) fail(column int, format string, args ...any) error {
	return &SyntaxError{l.name, l.line, column, fmt.Sprintf(format, args...)}
}

// failAt names the character at a byte offset of the line.
func (l *lines) failAt(b []byte, offset int, format string, args ...any) error {
	return l.fail(utf8.RuneCount(b[:offset])+1, format, args...)
}

// Line is a line of text.
type Line struct {
	Line int // its number, from 1
	Text string
}

// Lines reads text a line at a time, for input that is answered as it comes. Each
// line is checked as the other readers do; after an error there is no more.
func Lines(r io.Reader, name string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		l := newLines(r, name, 0)
		for {
			b, err := l.next()
			if err == io.EOF {
				return
			}
			if !yield(Line{l.line, string(b)}, err) || err != nil {
				return
			}
		}
	}
}

// AllLines is Lines that goes on behind lines which are not text: those with bytes that are not
// UTF-8, a NUL, a carriage return, or too many bytes. Such a line has a *SyntaxError. After other
// errors there is no more.
func AllLines(r io.Reader, name string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		l := newLines(r, name, 0)
		for {
			b, err := l.next()
			if err == io.EOF {
				return
			}
			var wrong *SyntaxError
			if err != nil && !errors.As(err, &wrong) {
				yield(Line{Line: l.line}, err)
				return
			}
			if err != nil {
				b = nil
			}
			if !yield(Line{l.line, string(b)}, err) {
				return
			}
			if l.cut {
				if err := l.skip(); err != nil && err != io.EOF {
					yield(Line{Line: l.line}, fmt.Errorf("%s:%d: %w", l.name, l.line, err))
					return
				}
			}
		}
	}
}

// skip reads up to the end of a line that was too long.
func (l *lines) skip() error {
	for {
		if _, err := l.r.ReadSlice('\n'); err != bufio.ErrBufferFull {
			return err
		}
	}
}
