package dataset

import (
	"bytes"
	"io"
)

// Sentence is a sequence of tokens, each with the same number of columns.
type Sentence struct {
	Line   int        // of the first token in the input, from 1
	Tokens [][]string // Tokens[t][c] is column c of token t
}

// Column returns column c of all tokens; c counts from the end when negative.
func (s *Sentence) Column(c int) []string {
	out := make([]string, len(s.Tokens))
	for t, row := range s.Tokens {
		k := c
		if k < 0 {
			k += len(row)
		}
		out[t] = row[k]
	}
	return out
}

// ColumnsOptions adjusts ReadColumns; nil is the same as the zero value.
type ColumnsOptions struct {
	Columns int    // of every token; zero is as many as the first token has
	Comment string // lines that begin with it are skipped; empty is none, since # may be a token
	// columns end at each single tab, may hold blanks but not be empty; else any run of blanks and
	// tabs ends them
	Tabs    bool
	Empty   bool // with Tabs, columns may be empty after all
	MaxLine int  // bytes; zero is DefaultMaxLine
}

// ReadColumns reads CoNLL columns: a token a line, its columns separated, and a
// blank line after each sentence. name is that of the input in errors.
func ReadColumns(r io.Reader, name string, opts *ColumnsOptions) ([]Sentence, error) {
	if opts == nil {
		opts = &ColumnsOptions{}
	}
	l := newLines(r, name, opts.MaxLine)
	want, first, comment := opts.Columns, 0, false // comment: the first line looks like one
	var out []Sentence
	var cur Sentence
	pool := map[string]string{} // words recur: one copy of each
	for {
		b, err := l.next()
		if err == io.EOF {
			if len(cur.Tokens) > 0 {
				out = append(out, cur)
			}
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.Trim(b, " \t")) == 0 {
			if len(cur.Tokens) > 0 {
				out = append(out, cur)
				cur = Sentence{}
			}
			continue
		}
		if opts.Comment != "" && bytes.HasPrefix(b, []byte(opts.Comment)) {
			continue
		}
		row := make([]string, 0, want)
		for at := 0; at <= len(b); {
			end := at
			if opts.Tabs {
				if i := bytes.IndexByte(b[at:], '\t'); i >= 0 {
					end += i
				} else {
					end = len(b)
				}
				if end == at && !opts.Empty {
					return nil, l.failAt(b, at, "column %d is empty", len(row)+1)
				}
			} else {
				for end < len(b) && b[end] != ' ' && b[end] != '\t' {
					end++
				}
			}
			if end > at || opts.Tabs {
				s, ok := pool[string(b[at:end])]
				if !ok {
					s = string(b[at:end])
					pool[s] = s
				}
				row = append(row, s)
			}
			at = end + 1
		}
		if want == 0 {
			want, first, comment = len(row), l.line, b[0] == '#'
		}
		if len(row) != want {
			if first > 0 {
				hint := ""
				if comment {
					hint = " and begins with #, as comments of CoNLL-U do, which is another form of data"
				}
				return nil, l.fail(0, "%d columns, line %d has %d%s", len(row), first, want, hint)
			}
			return nil, l.fail(0, "%d columns, expected %d", len(row), want)
		}
		if len(cur.Tokens) == 0 {
			cur.Line = l.line
		}
		cur.Tokens = append(cur.Tokens, row)
	}
}
