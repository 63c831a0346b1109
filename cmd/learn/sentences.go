package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// Formats of sentences.
const (
	autoFormat = "auto"
	columns    = "columns"
	tabs       = "tabs"
	conllu     = "conllu"
)

// sentences holds the flags that say how labelled sentences are read.
type sentences struct {
	format *string
	label  *string
}

func (s *sentences) define(fs *flags.Set, label string) {
	s.format = fs.Enum("format", autoFormat, []string{autoFormat, columns, tabs, conllu},
		"Form of the data; auto is conllu for names with .conllu, else columns. columns are separated by blanks or tabs, tabs by single tabs; gzip is recognised")
	s.label = fs.String("label", label, "Column with the labels, from 0, or from the end when negative; for conllu also upos, xpos or deprel")
}

func (s *sentences) formatOf(name string) string {
	if *s.format != autoFormat {
		return *s.format
	}
	if strings.Contains(name, ".conllu") {
		return conllu
	}
	return columns
}

// labelColumn returns the column of the labels out of n.
func (s *sentences) labelColumn(format string, n int) (int, error) {
	v := *s.label
	if v == "" {
		v = "-1"
		if format == conllu {
			v = "upos"
		}
	}
	if format == conllu {
		if k, ok := map[string]int{"upos": dataset.UPOS, "xpos": dataset.XPOS, "deprel": dataset.DepRel}[v]; ok {
			return k, nil
		}
	}
	k := 0
	if _, err := fmt.Sscanf(v+"\n", "%d\n", &k); err != nil {
		return 0, fmt.Errorf("flag --label: %q is no column", v)
	}
	if k < 0 {
		k += n
	}
	if k < 0 || k >= n {
		return 0, fmt.Errorf("flag --label: there is no column %s: tokens have %d, counted from 0", v, n)
	}
	return k, nil
}

// parse reads sentences; data without any is an error.
func parse(r io.Reader, shown, format string) ([]dataset.Sentence, error) {
	out, err := read(r, shown, format, 0)
	if err == nil && len(out) == 0 {
		err = noSentences(shown)
	}
	return out, err
}

func noSentences(shown string) error {
	return fmt.Errorf("%s: no sentences: the input is empty", shown)
}

// read reads sentences with so many columns; 0 is as many as the first token has.
func read(r io.Reader, shown, format string, width int) ([]dataset.Sentence, error) {
	if format == conllu {
		return dataset.ReadCoNLLU(r, shown, nil)
	}
	return dataset.ReadColumns(r, shown, &dataset.ColumnsOptions{Tabs: format == tabs, Columns: width})
}

// read reads examples from files, "" and - being standard input. All must have
// the same number of columns, which is returned with the format of the first.
//
// The label's column is blanked in the inputs: a template that reads it would
// learn the answer, and find nothing when the model is used.
func (s *sentences) read(c *call, names []string) (examples []sequence.Example, format string, width int, err error) {
	if len(names) == 0 {
		names = []string{""}
	}
	first := ""
	for i, name := range names {
		r, shown, err := c.OpenText(name)
		if err != nil {
			return nil, "", 0, err
		}
		f := s.formatOf(name)
		list, err := parse(r, shown, f)
		r.Close()
		if err != nil {
			return nil, "", 0, err
		}
		n := len(list[0].Tokens[0])
		if i == 0 {
			format, width, first = f, n, shown
		} else if n != width {
			return nil, "", 0, fmt.Errorf("%s has %d columns, %s has %d", shown, n, first, width)
		}
		label, err := s.labelColumn(f, n)
		if err != nil {
			return nil, "", 0, fmt.Errorf("%s: %w", shown, err)
		}
		for k := range list {
			e := sequence.Example{Labels: list[k].Column(label)}
			for t, row := range list[k].Tokens {
				if f == conllu && e.Labels[t] == "_" {
					return nil, "", 0, fmt.Errorf("%s:%d: word %d of the sentence that begins here has no label (_) in column %d", shown, list[k].Line, t+1, label+1)
				}
				row[label] = "_"
			}
			e.Columns = list[k].Tokens
			examples = append(examples, e)
		}
	}
	return examples, format, width, nil
}

// unlabelled is a part of an input to be labelled, with its text for output.
type unlabelled struct {
	shown  string
	list   []dataset.Sentence
	text   []byte
	format string
	label  int // column that output replaces; -1 appends one
}

// partSize is how much of an input is labelled at a time, when there is so much.
const partSize = 1 << 16

// eachPart reads an input for prediction, and calls do for its sentences, some at a
// time: as many as make a part, or as have come when there is nothing more to read yet.
func (s *sentences) eachPart(c *call, name string, do func(*unlabelled) error) error {
	r, shown, err := c.OpenText(name)
	if err != nil {
		return err
	}
	defer r.Close()
	format := s.formatOf(name)
	in := bufio.NewReaderSize(r, partSize)
	width, line, sentences := 0, 0, 0
	for end := false; !end; {
		// A part begins with an empty line, so that only the input's first line may
		// have a byte order mark.
		u := &unlabelled{shown: shown, label: -1, format: format}
		prefix := 0
		if line > 0 {
			u.text, prefix = append(u.text, '\n'), 1
		}
		lines := 0
		for {
			from := len(u.text)
			for {
				b, err := in.ReadSlice('\n')
				u.text = append(u.text, b...)
				if err == bufio.ErrBufferFull && len(u.text)-from <= dataset.DefaultMaxLine {
					continue
				}
				if err == io.EOF {
					end = true
				} else if err != nil && err != bufio.ErrBufferFull {
					return fmt.Errorf("%s:%d: %w", shown, line+lines+1, err)
				}
				break
			}
			if end && len(u.text) == from {
				break
			}
			lines++
			blank := bytes.TrimRight(u.text[from:], "\r\n")
			if format != conllu {
				blank = bytes.Trim(blank, " \t")
			}
			if end || len(u.text)-from > dataset.DefaultMaxLine || len(blank) == 0 && (len(u.text) >= partSize || in.Buffered() == 0) {
				break
			}
		}
		if u.list, err = read(bytes.NewReader(u.text), shown, format, width); err != nil {
			return shifted(err, line-prefix)
		}
		u.text = u.text[prefix:]
		if len(u.list) > 0 {
			sentences += len(u.list)
			width = len(u.list[0].Tokens[0])
			if format == conllu || *s.label != "" {
				if u.label, err = s.labelColumn(format, width); err != nil {
					return fmt.Errorf("%s: %w", shown, err)
				}
			}
		}
		for k := range u.list {
			u.list[k].Line += line - prefix
			if u.label >= 0 {
				for _, row := range u.list[k].Tokens {
					row[u.label] = "_"
				}
			}
		}
		if err := do(u); err != nil {
			return err
		}
		line += lines
	}
	if sentences == 0 {
		return noSentences(shown)
	}
	return nil
}

// shifted moves an error of a part to its line in the whole.
func shifted(err error, by int) error {
	var e *dataset.SyntaxError
	if errors.As(err, &e) {
		moved := *e
		moved.Line += by
		return &moved
	}
	return err
}

// write writes the text with labels in their column; next returns those of
// sentence k. Comments, multiword tokens and blank lines stay as they are.
func (u *unlabelled) write(w io.Writer, next func(k int) ([]string, error)) error {
	sentence, word := -1, 0
	var labels []string
	for line := range bytes.Lines(u.text) {
		body := bytes.TrimRight(line, "\r\n")
		end := line[len(body):]
		if !u.isToken(body) {
			if _, err := w.Write(line); err != nil {
				return err
			}
			continue
		}
		if word == len(labels) { // no sentence is empty
			sentence, word = sentence+1, 0
			var err error
			if labels, err = next(sentence); err != nil {
				return err
			}
		}
		if len(end) == 0 {
			end = []byte("\n")
		}
		if _, err := w.Write(append(u.line(body, labels[word]), end...)); err != nil {
			return err
		}
		word++
	}
	return nil
}

// isToken tells lines that the readers take for tokens from all others.
func (u *unlabelled) isToken(body []byte) bool {
	if u.format != conllu {
		return len(bytes.Trim(body, " \t")) > 0
	}
	id, _, _ := bytes.Cut(body, []byte("\t"))
	return len(body) > 0 && body[0] != '#' && !bytes.ContainsAny(id, "-.")
}

// line puts a label into its column, or behind the last one, keeping what
// separates the columns.
func (u *unlabelled) line(body []byte, label string) []byte {
	separator := " \t"
	if u.format != columns {
		separator = "\t"
	}
	if u.label < 0 {
		end := separator[:1]
		if bytes.IndexByte(body, '\t') >= 0 {
			end = "\t"
		}
		return append(append(bytes.Clone(body), end...), label...)
	}
	from := 0
	for column := 0; ; column++ {
		if u.format == columns { // any run of blanks separates, and some may lead
			for from < len(body) && strings.IndexByte(separator, body[from]) >= 0 {
				from++
			}
		}
		to := bytes.IndexAny(body[from:], separator)
		if to < 0 {
			to = len(body) - from
		}
		if column == u.label {
			return append(append(bytes.Clone(body[:from]), label...), body[from+to:]...)
		}
		from = min(len(body), from+to+1)
	}
}
