package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/run"
)

// pronouncer answers a stream of words.
type pronouncer struct {
	m        *g2p.Model
	decode   *g2p.DecodeOptions
	nbest    int         // pronunciations of each word, as JSON lines; 0 is one, as text
	lookup   *g2p.Lookup // known words; nil is none
	variants bool        // all pronunciations of a known word, a line each
	workers  int
	shown    string // the input, in messages
}

// batchLines is how many lines are answered at a time at most. A stream that has fewer ready
// is answered at once.
const batchLines = 4096

// readLine is a line of the input and what is wrong with it.
type readLine struct {
	dataset.Line
	err error
}

// answer is the output for a line.
type answer struct {
	text   bytes.Buffer
	unseen []rune // letters of the word that training did not have
	word   string
	err    error // of this word alone
}

// run reads words from r and writes their pronunciations to w in the same order, computed by
// several goroutines. wrong receives what is wrong with single lines; other errors end the run.
func (p *pronouncer) run(c *call, r io.Reader, w io.Writer, unseen *unseenLetters, wrong *wrongLines) error {
	lines := make(chan readLine, 2*batchLines)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(lines)
		for line, err := range dataset.AllLines(r, p.shown) {
			select {
			case lines <- readLine{line, err}:
			case <-done:
				return
			}
		}
	}()
	var batch []readLine
	answers := make([]answer, batchLines)
	for more := true; more; {
		batch = batch[:0]
		more = nextBatch(c, lines, &batch)
		if c.ctx.Err() != nil {
			return &stopped{"the output is not complete"}
		}
		run.Blocks(p.workers, len(batch), 16, func(_, lo, hi int) {
			for i := lo; i < hi && c.ctx.Err() == nil; i++ {
				p.answer(&batch[i], &answers[i])
			}
		})
		if c.ctx.Err() != nil {
			return &stopped{"the output is not complete"}
		}
		for i := range batch {
			var syntax *dataset.SyntaxError
			a := &answers[i]
			switch {
			case a.err == nil:
			case batch[i].err == nil || errors.As(a.err, &syntax):
				wrong.add(a.err)
			default:
				return a.err
			}
			if len(a.unseen) > 0 {
				unseen.note(c, p.m, fmt.Sprintf("%s:%d", p.shown, batch[i].Line.Line), a.word, a.unseen)
			}
			if _, err := w.Write(a.text.Bytes()); err != nil {
				return err
			}
		}
		if f, ok := w.(interface{ Flush() error }); ok && len(lines) == 0 {
			if err := f.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextBatch appends to batch the next line and those that are ready behind it. It reports whether
// there may be more.
func nextBatch(c *call, lines <-chan readLine, batch *[]readLine) bool {
	select {
	case line, ok := <-lines:
		if !ok {
			return false
		}
		*batch = append(*batch, line)
	case <-c.ctx.Done():
		return false
	}
	for len(*batch) < batchLines {
		select {
		case line, ok := <-lines:
			if !ok {
				return false
			}
			*batch = append(*batch, line)
		default:
			return true
		}
	}
	return true
}

// spoken is a line of output as JSON.
type spoken struct {
	Word  string           `json:"word"`
	Known [][]string       `json:"known,omitempty"`
	List  []g2p.Hypothesis `json:"nbest"`
	Error string           `json:"error,omitempty"`
}

// answer pronounces the word of a line. What is wrong with it is in a.err, and the output then has
// an empty line, or JSON that says so.
func (p *pronouncer) answer(line *readLine, a *answer) {
	a.text.Reset()
	a.unseen, a.err = nil, line.err
	a.word, _, _ = strings.Cut(line.Text, "\t")
	out := spoken{Word: a.word}
	var text []string // pronunciations
	if blank := strings.TrimSpace(a.word) == ""; blank {
		out.Word = ""
	}
	if a.err == nil && out.Word != "" {
		out.Known = p.lookup.Find(a.word)
		text, out.List, a.err = p.pronounce(a.word, out.Known)
		if a.err != nil {
			a.err = fmt.Errorf("%s:%d: %w", p.shown, line.Line.Line, a.err)
		}
		if len(out.Known) == 0 || p.nbest > 0 {
			a.unseen = p.m.Inventory.Unseen(a.word)
		}
	}
	if p.nbest == 0 {
		for _, phones := range text {
			fmt.Fprintf(&a.text, "%s\t%s\n", a.word, phones)
		}
		if len(text) == 0 {
			a.text.WriteByte('\n')
		}
		return
	}
	if a.err != nil {
		out.Error = a.err.Error()
	}
	if out.List == nil {
		out.List = []g2p.Hypothesis{}
	}
	e := json.NewEncoder(&a.text)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil { // cannot be: log-probabilities are finite
		a.err = errors.Join(a.err, err)
	}
}

// pronounce returns the pronunciations of a word as text, those that are known first of all, or
// the n best.
func (p *pronouncer) pronounce(word string, known [][]string) (text []string, list []g2p.Hypothesis,
	err error) {
	switch {
	case p.nbest > 0:
		list, err = p.m.NBest(word, p.decode)
		return nil, list[:min(len(list), p.nbest)], err
	case len(known) > 0:
		if !p.variants {
			known = known[:1]
		}
		for _, k := range known {
			text = append(text, strings.Join(k, " "))
		}
		return text, nil, nil
	}
	phones, err := p.m.Predict(word, p.decode)
	if err != nil {
		return nil, nil, err
	}
	return []string{strings.Join(phones, " ")}, nil, nil
}
