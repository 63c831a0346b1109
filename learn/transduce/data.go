package transduce

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Pair is an input string and the string that it becomes.
type Pair struct {
	Input  string
	Output string
	Tags   []string // what else the output depends on, such as the features of an inflected form
	Source string   // where it was read, as "words.tsv:12", for messages; may be empty
}

// where names pair i, from 0, in messages.
func (p *Pair) where(i int) string {
	if p.Source != "" {
		return p.Source
	}
	return fmt.Sprintf("pair %d", i+1)
}

// Data are examples, and what restricts and decodes their outputs.
type Data struct {
	Pairs    []Pair
	Labelled bool     // the pairs have outputs
	Tagged   bool     // the pairs have tags
	Lexicon  *Lexicon // if not nil, outputs are among its strings
	Decode   DecodeOptions
}

// Subset returns the pairs of the given numbers, with the same lexicon and decoding.
func (d *Data) Subset(numbers []int) *Data {
	out := *d
	out.Pairs = dataset.Pick(d.Pairs, numbers)
	return &out
}

// Fingerprint identifies the pairs and the lexicon by 64 bits in hexadecimal.
func (d *Data) Fingerprint() string {
	h := fnv.New64a()
	field := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for i := range d.Pairs {
		p := &d.Pairs[i]
		field(p.Input)
		field(p.Output)
		for _, t := range p.Tags {
			field(t)
		}
		h.Write([]byte{0})
	}
	fmt.Fprintf(h, "%016x", d.Lexicon.fingerprint())
	return fmt.Sprintf("%016x", h.Sum64())
}

// Format names an order of columns.
type Format string

const (
	// Columns is input TAB output, and perhaps TAB tags. The default.
	Columns Format = "columns"
	// Sigmorphon is lemma TAB form TAB tags, as the inflection tasks from 2016 to 2022 have them.
	Sigmorphon Format = "sigmorphon"
	// TagsBefore is lemma TAB tags TAB form, as the inflection task of 2023 has them.
	TagsBefore Format = "sigmorphon-2023"
)

// Formats lists the formats, the default first.
func Formats() []Format { return []Format{Columns, Sigmorphon, TagsBefore} }

// ReadOptions adjusts ReadPairs; nil is all defaults.
type ReadOptions struct {
	Format Format // "" is Columns

	// Unlabelled pairs need no output. A line may then have an input alone, or, where Tagged is
	// set, an input and its tags; an output in its place is not read.
	Unlabelled bool
	Tagged     bool // pairs must have tags
}

// ReadPairs reads one pair a line, with tabs between its columns. Tags are separated by semicolons.
// Blank lines are skipped. A string may be empty, an input not. name is that of the input in
// errors, which give the line.
func ReadPairs(r io.Reader, name string, opts *ReadOptions) ([]Pair, error) {
	var o ReadOptions
	if opts != nil {
		o = *opts
	}
	output, tags := 1, 2
	switch o.Format {
	case "", Columns, Sigmorphon:
	case TagsBefore:
		output, tags = 2, 1
	default:
		return nil, fmt.Errorf("transduce: there is no format %q; there are %v", o.Format, Formats())
	}
	tagged := o.Tagged || o.Format == Sigmorphon || o.Format == TagsBefore
	var out []Pair
	columns := 0 // of the first line
	for line, err := range dataset.Lines(r, name) {
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line.Text) == "" && !strings.Contains(line.Text, "\t") {
			continue
		}
		fail := func(format string, args ...any) ([]Pair, error) {
			return nil, &dataset.SyntaxError{Name: name, Line: line.Line, Msg: fmt.Sprintf(format, args...)}
		}
		fields := strings.Split(line.Text, "\t")
		p := Pair{Input: fields[0], Source: fmt.Sprintf("%s:%d", name, line.Line)}
		n := len(fields)
		if columns == 0 {
			columns = n
		}
		switch {
		case n != columns:
			return fail("%d tab-separated fields; the first line has %d", n, columns)
		case n > 3:
			return fail("%d tab-separated fields; there are 3 at most: input, output, tags", n)
		case p.Input == "":
			return fail("there is no input before the first tab")
		case !o.Unlabelled && n == 1:
			return fail("there is no output: a tab separates it from the input")
		case tagged && n < 3 && !(o.Unlabelled && n == 2):
			return fail("there are no tags: expected 3 tab-separated fields, found %d", n)
		}
		var list string
		switch {
		case n == 3:
			p.Output, list = fields[output], fields[tags]
		case n == 2 && tagged:
			list = fields[1]
		case n == 2:
			p.Output = fields[1]
		}
		if list != "" {
			p.Tags = strings.Split(list, ";")
			for _, t := range p.Tags {
				if strings.TrimSpace(t) == "" {
					return fail("an empty tag in %.60q", list)
				}
			}
		}
		if o.Unlabelled {
			p.Output = ""
		}
		out = append(out, p)
	}
	return out, nil
}
