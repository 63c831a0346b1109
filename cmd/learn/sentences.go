package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// Formats of sentences.
const (
	autoFormat = "auto"
	columns    = sequence.Columns
	tabs       = sequence.Tabs
	conllu     = sequence.CoNLLU
	attributes = sequence.CRFsuite
)

// sentences holds the flags that say how labelled sentences are read.
type sentences struct {
	format *string
	label  *string

	// like is the format of earlier input, or of a model, with its origin; later input must have
	// the same.
	like  sequence.Format
	who   string
	reads []string // columns that the model's templates read, from 1

	ready bool // attributes may be ready-made

	partial *bool // labels of ?, _ or nothing are not known; nil is as false
}

func (s *sentences) define(fs *flags.Set, label string) {
	forms, more, auto := []string{autoFormat, columns, tabs, conllu}, "", ""
	if s.ready {
		forms = append(forms, attributes)
		auto = ", crfsuite for names with .crfsuite"
		more = "; crfsuite has a label and attributes name:value, ready-made"
	}
	s.format = fs.Enum("format", autoFormat, forms,
		"Form of the data; auto is conllu for names with .conllu"+auto+", else that of the model's training "+
			"data, else columns. columns are separated by blanks or tabs, tabs by single tabs"+more+"; gzip is "+
			"recognised")
	s.label = fs.String("label", label, "Column with the labels, from 0, or from the end when negative; for "+
		"conllu also upos, xpos or deprel. Of a model, that of training")
}

// follow has what is read from now on be like the training data of a model. Files of older
// models say nothing of it.
func (s *sentences) follow(m *sequence.Model, name string) {
	s.like, s.who, s.reads = m.Format(), "the training data of "+name, nil
	for k := range s.like.Columns {
		if slices.ContainsFunc(m.Templates(),
			func(t *sequence.Template) bool { return t.Reads(k, s.like.Columns) }) {
			s.reads = append(s.reads, fmt.Sprint(k+1))
		}
	}
}

func (s *sentences) formatOf(name string) string {
	switch {
	case *s.format != autoFormat:
		return *s.format
	case strings.Contains(name, ".conllu"):
		return conllu
	case s.ready && strings.Contains(name, ".crfsuite"):
		return attributes
	case s.like.Known():
		return s.like.Form
	}
	return columns
}

// labelColumn returns the column of the labels out of n.
func (s *sentences) labelColumn(format string, n int) (int, error) {
	k, err := sequence.LabelColumn(*s.label, format, n)
	if err != nil {
		return 0, fmt.Errorf("flag --label: %w", err)
	}
	return k, nil
}

// labelled returns the label's column of data that have one, of n columns.
func (s *sentences) labelled(format string, n int) (int, error) {
	if !s.like.Known() {
		return s.labelColumn(format, n)
	}
	if *s.label != "" {
		k, err := s.labelColumn(format, n)
		if err != nil {
			return 0, err
		}
		if k != s.like.Label {
			return 0, fmt.Errorf("flag --label: column %d, but %s has its labels in column %d (counted from 1)", k+1,
				s.who, s.like.Label+1)
		}
	}
	return s.like.Label, nil
}

// misfit is the error of a line with n columns where others were asked for.
func (s *sentences) misfit(shown, format string, line, n int) error {
	msg := fmt.Sprintf("%s, but %s has %s (%s)", columnsOf(n), s.who, columnsOf(s.like.Columns), s.like)
	if len(s.reads) > 0 {
		msg += ", and its templates read column " + strings.Join(s.reads, ", ")
	}
	if format != s.like.Form && (format == conllu || s.like.Form == conllu) {
		msg += fmt.Sprintf("; this was read as %s, since its name or --format says so", format)
	}
	return &dataset.SyntaxError{Name: shown, Line: line, Msg: msg}
}

func columnsOf(n int) string {
	if n == 1 {
		return "1 column"
	}
	return fmt.Sprintf("%d columns", n)
}

// parse reads sentences; data without any is an error.
func parse(r io.Reader, shown, format string, empty bool) ([]dataset.Sentence, error) {
	out, err := read(r, shown, format, 0, empty)
	if err == nil && len(out) == 0 {
		err = noSentences(shown)
	}
	return out, err
}

func noSentences(shown string) error {
	return fmt.Errorf("%s: no sentences: the input is empty", shown)
}

// read reads sentences with the given number of columns; 0 is that of the first token.
func read(r io.Reader, shown, format string, width int, empty bool) ([]dataset.Sentence, error) {
	return sequence.ReadSentences(r, shown, format, width, empty)
}

// some reports whether only some labels are known.
func (s *sentences) some() bool { return s.partial != nil && *s.partial }

// read reads examples from files, "" and - being standard input. All must have the
// number of columns and the label's column of what s is to be like, or of the first, whose
// format is returned.
//
// The label's column is blanked in the inputs: a template that reads it would
// learn the answer, and find nothing when the model is used.
func (s *sentences) read(c *call, names []string) (examples []sequence.Example,
	format sequence.Format, err error) {
	if len(names) == 0 {
		names = []string{""}
	}
	for i, name := range names {
		r, shown, err := c.OpenText(name)
		if err != nil {
			return nil, format, err
		}
		f := s.formatOf(name)
		if err := s.alike(shown, f); err != nil {
			r.Close()
			return nil, format, err
		}
		if f == attributes {
			more, _, err := sequence.ReadAttributes(r, shown, s.some())
			r.Close()
			if err == nil && len(more) == 0 {
				err = noSentences(shown)
			}
			if err != nil {
				return nil, format, err
			}
			if format = sequence.AttributesFormat; !s.like.Known() {
				s.like, s.who = format, shown
			}
			examples = append(examples, more...)
			continue
		}
		list, err := parse(r, shown, f, s.some())
		r.Close()
		if err != nil {
			return nil, format, s.hinted(err, f)
		}
		n := len(list[0].Tokens[0])
		if s.like.Known() && n != s.like.Columns {
			return nil, format, s.misfit(shown, f, list[0].Line, n)
		}
		label, err := s.labelled(f, n)
		if err != nil {
			return nil, format, fmt.Errorf("%s: %w", shown, err)
		}
		if i == 0 {
			format = sequence.Format{Form: f, Columns: n, Label: label}
		}
		if !s.like.Known() {
			s.like, s.who = format, shown
		}
		more, err := sequence.ExamplesOf(list, shown, sequence.Format{Form: f, Columns: n, Label: label}, s.some())
		if err != nil {
			return nil, format, err
		}
		examples = append(examples, more...)
	}
	return examples, format, nil
}

// alike refuses columns where the attributes of other data are ready-made, and the reverse.
func (s *sentences) alike(shown, form string) error {
	if s.like.Known() && (form == attributes) != (s.like.Form == attributes) {
		return fmt.Errorf("%s: the form is %s, and that of %s is %s: features of the one are none of the other; "+
			"--format says otherwise", shown, form, s.who, s.like.Form)
	}
	if form == attributes && *s.label != "" {
		return errors.New("flag --label has no effect: in the form crfsuite the label is the first field")
	}
	return nil
}

// hinted adds to an error of reading a form that was taken from s.like what it was taken
// from.
func (s *sentences) hinted(err error, form string) error {
	var e *dataset.SyntaxError
	if !s.like.Known() || *s.format != autoFormat || form != s.like.Form || !errors.As(err, &e) {
		return err
	}
	more := *e
	more.Msg += fmt.Sprintf("; it was read like %s (%s): --format says otherwise", s.who, s.like)
	return &more
}

// unlabelled is a part of an input to be labelled, with its text for output.
type unlabelled struct {
	shown  string
	list   []dataset.Sentence
	text   []byte
	format string
	label  int // column that output replaces; -1 appends one

	// Of the form crfsuite, instead of list.
	ready []sequence.Example
	lines []int // in which they begin
}

// len returns the number of sentences.
func (u *unlabelled) len() int { return len(u.list) + len(u.ready) }

// lineOf returns the line in which sentence k begins.
func (u *unlabelled) lineOf(k int) int {
	if u.ready != nil {
		return u.lines[k]
	}
	return u.list[k].Line
}

// fit gives the rows of sentences the columns of training, with nothing in that of the
// label, and sets the label's column of output. Lines may have the label's column or not.
func (s *sentences) fit(u *unlabelled) error {
	n := len(u.list[0].Tokens[0])
	missing := s.like.Known() && n == s.like.Columns-1
	if s.like.Known() && n != s.like.Columns && !missing {
		return s.misfit(u.shown, u.format, u.list[0].Line, n)
	}
	var err error
	switch {
	case missing && *s.label != "":
		return fmt.Errorf("%s: flag --label: lines have %s, without that of the label, which has none to stand "+
			"in: leave the flag out, and labels follow the other columns", u.shown, columnsOf(n))
	case *s.label == "" && s.like.Known() && u.format == conllu && !missing:
		u.label = s.like.Label
	case u.format == conllu && !missing || *s.label != "":
		if u.label, err = s.labelColumn(u.format, n); err != nil {
			return fmt.Errorf("%s: %w", u.shown, err)
		}
	}
	blank := u.label
	if s.like.Known() {
		blank = s.like.Label
	}
	for k := range u.list {
		for t, row := range u.list[k].Tokens {
			switch {
			case missing:
				u.list[k].Tokens[t] = slices.Insert(row, blank, "_")
			case blank >= 0:
				row[blank] = "_"
			}
		}
	}
	return nil
}

// partSize is the largest part of an input that is labelled at a time.
const partSize = 1 << 16

// eachPart reads an input for prediction, and calls do for its sentences, some at a time. A part is
// full, or has all that has arrived when nothing more can be read yet. Sentences with lines that
// are not text go to wrong, and leave empty lines.
func (s *sentences) eachPart(c *call, name string, wrong *wrongLines, do func(*unlabelled) error) error {
	r, shown, err := c.OpenText(name)
	if err != nil {
		return err
	}
	defer r.Close()
	format := s.formatOf(name)
	if err := s.alike(shown, format); err != nil {
		return err
	}
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
			if end || len(u.text)-from > dataset.DefaultMaxLine || len(blank) == 0 &&
				(len(u.text) >= partSize || in.Buffered() == 0) {
				break
			}
		}
		u.text = append(u.text[:prefix:prefix], clean(u.text[prefix:], shown, line, format, wrong)...)
		if format == attributes {
			if u.ready, u.lines, err = sequence.ReadAttributes(bytes.NewReader(u.text), shown, false); err != nil {
				return shifted(err, line-prefix)
			}
			for k := range u.lines {
				u.lines[k] += line - prefix
			}
		} else if u.list, err = read(bytes.NewReader(u.text), shown, format, width, false); err != nil {
			return shifted(s.hinted(err, format), line-prefix)
		}
		u.text = u.text[prefix:]
		for k := range u.list {
			u.list[k].Line += line - prefix
		}
		if len(u.list) > 0 {
			sentences += len(u.list)
			width = len(u.list[0].Tokens[0])
			if err := s.fit(u); err != nil {
				return err
			}
		}
		sentences += len(u.ready)
		if err := do(u); err != nil {
			return err
		}
		line += lines
	}
	if sentences == 0 && wrong.n == 0 {
		return noSentences(shown)
	}
	return nil
}

// clean empties the lines of sentences that have a line which is not text, for its bytes, and adds
// what is wrong to wrong. before is how many lines lie before the text.
func clean(text []byte, shown string, before int, format string, wrong *wrongLines) []byte {
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return text
	}
	var out, sentence, empty []byte // empty is the sentence without its words
	bad := false
	end := func() {
		if bad {
			sentence = empty
		}
		out = append(out, sentence...)
		sentence, empty, bad = nil, nil, false
	}
	n := before
	for line := range bytes.Lines(text) {
		n++
		body := bytes.TrimRight(line, "\r\n")
		sentence, empty = append(sentence, line...), append(empty, line[len(body):]...)
		if format != conllu {
			body = bytes.Trim(body, " \t")
		}
		switch {
		case len(body) == 0:
			end()
		case !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0:
			bad = true
			for _, err := range dataset.AllLines(bytes.NewReader(line), shown) {
				wrong.add(shifted(err, n-1))
			}
		}
	}
	end()
	return out
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

// tokens are the labels of a sentence, and what is said of each of them; more may be nil.
type tokens struct{ labels, more []string }

// write writes the text with labels in their column; next returns those of
// sentence k. Comments, multiword tokens and blank lines stay as they are.
func (u *unlabelled) write(w io.Writer, next func(k int) (tokens, error)) error {
	sentence, word := -1, 0
	var of tokens
	for line := range bytes.Lines(u.text) {
		body := bytes.TrimRight(line, "\r\n")
		end := line[len(body):]
		if !u.isToken(body) {
			if _, err := w.Write(line); err != nil {
				return err
			}
			continue
		}
		if word == len(of.labels) { // no sentence is empty
			sentence, word = sentence+1, 0
			var err error
			if of, err = next(sentence); err != nil {
				return err
			}
		}
		if len(end) == 0 {
			end = []byte("\n")
		}
		more := ""
		if of.more != nil {
			more = of.more[word]
		}
		if _, err := w.Write(append(u.line(body, of.labels[word], more), end...)); err != nil {
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

// line puts a label into its column, or behind the last one, keeping what separates the columns.
// What more is to be said follows as further columns; in the form conllu it joins the last one.
func (u *unlabelled) line(body []byte, label, more string) []byte {
	if u.format == attributes {
		return u.attributesLine(body, label, more)
	}
	separator := " \t"
	if u.format != columns {
		separator = "\t"
	}
	end := separator[:1]
	if bytes.IndexByte(body, '\t') >= 0 {
		end = "\t"
	}
	tail := ""
	switch {
	case more == "":
	case u.format == conllu:
		if more = "Prob=" + strings.ReplaceAll(more, "\t", ","); bytes.HasSuffix(body, []byte("\t_")) {
			body = body[:len(body)-1]
		} else {
			more = "|" + more
		}
		tail = more
	default:
		tail = end + strings.ReplaceAll(more, "\t", end)
	}
	if u.label < 0 {
		return append(append(append(bytes.Clone(body), end...), label...), tail...)
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
			return append(append(append(bytes.Clone(body[:from]), label...), body[from+to:]...), tail...)
		}
		from = min(len(body), from+to+1)
	}
}

// attributesLine puts a label in the place of the first field, with its probability, if there is
// one, as CRFsuite writes it. Probabilities of all labels take the place of the attributes.
func (u *unlabelled) attributesLine(body []byte, label, more string) []byte {
	body = bytes.TrimLeft(body, "\t")
	rest := body[len(body):]
	if i := bytes.IndexByte(body, '\t'); i >= 0 {
		rest = body[i:]
	}
	out := dataset.AppendEscaped(nil, label)
	first, all, _ := strings.Cut(more, "\t")
	if more != "" {
		out = append(append(out, ':'), first...)
	}
	if all != "" {
		return append(append(out, '\t'), all...)
	}
	return append(out, rest...)
}
