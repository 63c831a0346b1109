package dataset

import (
	"bytes"
	"io"
	"strings"
)

// TSVOptions adjusts ReadTSV; nil is the same as the zero value.
type TSVOptions struct {
	Fields  int    // fields of every line; zero is as many as the first line has
	Comment string // lines that begin with it are skipped; empty is none
	Header  bool   // the first line is a header and is skipped (after its number of fields was noted)
	Empty   bool   // fields may be empty; by default that is an error
	MaxLine int    // bytes; zero is DefaultMaxLine
}

// Record is one line of a table.
type Record struct {
	Line   int // in the input, from 1
	Fields []string
}

// ReadTSV reads tab-separated fields. Blank lines are skipped; quotes have no
// meaning. name is that of the input in errors.
func ReadTSV(r io.Reader, name string, opts *TSVOptions) ([]Record, error) {
	if opts == nil {
		opts = &TSVOptions{}
	}
	l := newLines(r, name, opts.MaxLine)
	want, header := opts.Fields, opts.Header
	var out []Record
	for {
		b, err := l.next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == 0 || opts.Comment != "" && bytes.HasPrefix(b, []byte(opts.Comment)) {
			continue
		}
		fields := strings.Split(string(b), "\t")
		if want == 0 {
			want = len(fields)
		}
		if len(fields) != want {
			return nil, l.fail(0, "%d tab-separated fields, expected %d", len(fields), want)
		}
		if header {
			header = false
			continue
		}
		if !opts.Empty {
			at := 0
			for i, f := range fields {
				if f == "" {
					return nil, l.failAt(b, at, "field %d is empty", i+1)
				}
				at += len(f) + 1
			}
		}
		out = append(out, Record{l.line, fields})
	}
}
