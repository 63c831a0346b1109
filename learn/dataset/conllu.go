package dataset

import (
	"io"
	"strconv"
	"strings"
)

// The columns of CoNLL-U.
const (
	ID = iota
	Form
	Lemma
	UPOS
	XPOS
	Feats
	Head
	DepRel
	Deps
	Misc
)

// CoNLLUOptions adjusts ReadCoNLLU; nil is the same as the zero value.
type CoNLLUOptions struct {
	MaxLine int // bytes; zero is DefaultMaxLine
}

// ReadCoNLLU reads the CoNLL-U format (universaldependencies.org/format.html):
// ten columns at single tabs, comments from #, a blank line after each sentence.
// Only syntactic words are kept: lines of multiword tokens (1-2) and of empty
// nodes (1.1) are checked and skipped. Words must be numbered 1, 2, … in each
// sentence, and no column may be empty.
func ReadCoNLLU(r io.Reader, name string, opts *CoNLLUOptions) ([]Sentence, error) {
	if opts == nil {
		opts = &CoNLLUOptions{}
	}
	l := newLines(r, name, opts.MaxLine)
	var out []Sentence
	var cur Sentence
	pool := map[string]string{}
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
		if len(b) == 0 {
			if len(cur.Tokens) > 0 {
				out = append(out, cur)
				cur = Sentence{}
			}
			continue
		}
		if b[0] == '#' {
			continue
		}
		fields := strings.Split(string(b), "\t")
		if len(fields) != Misc+1 {
			return nil, l.fail(0, "%d tab-separated columns, CoNLL-U has %d", len(fields), Misc+1)
		}
		at := 0
		for i, f := range fields {
			if f == "" {
				return nil, l.failAt(b, at, "column %d is empty; CoNLL-U writes _ there", i+1)
			}
			at += len(f) + 1
		}
		id := fields[ID]
		if from, to, ok := strings.Cut(id, "-"); ok {
			if m, n := number(from), number(to); m < 1 || n < m {
				return nil, l.fail(1, "%q is no range of words", id)
			}
			continue
		}
		if word, node, ok := strings.Cut(id, "."); ok {
			if number(word) < 0 || number(node) < 1 {
				return nil, l.fail(1, "%q is no empty node", id)
			}
			continue
		}
		if n := number(id); n != len(cur.Tokens)+1 {
			return nil, l.fail(1, "word number %q, expected %d", id, len(cur.Tokens)+1)
		}
		if len(cur.Tokens) == 0 {
			cur.Line = l.line
		}
		for i, f := range fields {
			s, ok := pool[f]
			if !ok {
				s = strings.Clone(f) // else every kept word would keep its whole line
				pool[s] = s
			}
			fields[i] = s
		}
		cur.Tokens = append(cur.Tokens, fields)
	}
}

// number reads a decimal number; -1 when s is none.
func number(s string) int {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
