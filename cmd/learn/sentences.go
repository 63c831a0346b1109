package main

import (
	"bytes"
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
	var out []dataset.Sentence
	var err error
	switch format {
	case conllu:
		out, err = dataset.ReadCoNLLU(r, shown, nil)
	default:
		out, err = dataset.ReadColumns(r, shown, &dataset.ColumnsOptions{Tabs: format == tabs})
	}
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s: no sentences: the input is empty", shown)
	}
	return out, err
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

// unlabelled is an input to be labelled, with its text for output.
type unlabelled struct {
	list   []dataset.Sentence
	text   []byte
	format string
	label  int // column that output replaces; -1 appends one
}

// readUnlabelled reads an input for prediction.
func (s *sentences) readUnlabelled(c *call, name string) (*unlabelled, error) {
	r, shown, err := c.OpenText(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	u := &unlabelled{label: -1, format: s.formatOf(name)}
	if u.text, err = io.ReadAll(r); err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if u.list, err = parse(bytes.NewReader(u.text), shown, u.format); err != nil {
		return nil, err
	}
	if u.format == conllu || *s.label != "" {
		if u.label, err = s.labelColumn(u.format, len(u.list[0].Tokens[0])); err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
		for k := range u.list {
			for _, row := range u.list[k].Tokens {
				row[u.label] = "_"
			}
		}
	}
	return u, nil
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
