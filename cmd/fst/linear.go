package main

import (
	"errors"
	"io"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "linear", args: "features1.txt [features2.txt ...]", min: 1, max: -1,
	looks: true, without: noLimits[:2], // a model has tables, and no states before it is composed
	summary: "Makes a log-linear tagger or classifier of sequences from features and their weights.", about: `
A tagger outputs a tag for each word, a classifier one class before it reads. The weight of a
path is the product of the weights of the features that fire.

A line of --vocab has a word, its features, and the tags it may have (<empty>: any). The first
line of a file of features is the number of words that its window looks ahead. The other lines have
a context of features, the newest last, one of outputs, and a weight. Lists are divided by |. A
word has at most one feature in a file, and contexts of one file must fall back to one another in
one way: put each template into a file of its own.

  fst linear --vocab=words.txt --out=tagger.fst unigrams.txt bigrams.txt
  fst compose sentence.fst tagger.fst tagged.fst

Time O(lines), and words times files for the result. The machine has an arc for each word and tag
at each state; composition makes those that it needs.`,
	setup: func(fs *flags.Set) func(*call) error {
		arcType := fs.String("arc_type", "standard", "Type of weights")
		fs.Choose("arc_type", arctypes.Names()...)
		out := fs.String("out", "", "File for the model; none is standard output")
		vocab := fs.String("vocab", "", "File with the words, their features and possible tags")
		classifier := fs.Bool("classifier", false, "Make a classifier instead of a tagger")
		delimiter := fs.String("delimiter", "|", "Character between the features or tags of a list")
		empty := fs.String("empty_symbol", "<empty>", "What stands for an empty list")
		start := fs.String("start_symbol", "<s>", "What stands for the start of a sentence")
		end := fs.String("end_symbol", "</s>", "What stands for its end; if it is the same, the place decides")
		epsilon := fs.String("epsilon_symbol", "<eps>", "Symbol of label 0")
		unknown := fs.String("unknown_symbol", "<unk>", "Symbol of label 1, of unknown words")
		saves := []*string{
			fs.String("save_isymbols", "", "File for the table of words"),
			fs.String("save_fsymbols", "", "File for the table of features"),
			fs.String("save_osymbols", "", "File for the table of tags"),
		}
		return func(c *call) error {
			s, err := arctypes.Of(*arcType)
			if err != nil {
				return err
			}
			switch {
			case *vocab == "":
				return errors.New("no words are given: --vocab=FILE")
			case *delimiter == "":
				return errors.New("flag --delimiter: one character divides lists")
			case len(*delimiter) > 1:
				c.Warn(c.prog, "flag --delimiter: %q divides lists, and the rest of %q does not",
					(*delimiter)[:1], *delimiter)
			}
			if err := c.distinct(result(*out), *saves[0], *saves[1], *saves[2]); err != nil {
				return err
			}
			// No field has a blank: what no field can be is what nothing shall stand for.
			mark := func(s string) string {
				if s == "" {
					return " "
				}
				return s
			}
			b := s.BuildLinear(&fst.LinearOptions{Classifier: *classifier, Delimiter: (*delimiter)[0],
				Empty: mark(*empty), Start: mark(*start), End: mark(*end), Epsilon: *epsilon, Unknown: *unknown,
				Verbatim: true, Format: c.format(), Warn: func(err error) { c.Warn(c.prog, "%v", err) }})
			if err := c.readLines(*vocab, b.ReadVocabulary); err != nil {
				return err
			}
			for _, name := range c.args {
				if err := c.readLines(name, b.ReadFeatures); err != nil {
					return err
				}
			}
			if err := c.Output(*out, func(w io.Writer) error { return s.WriteLinear(w, b) }); err != nil {
				return err
			}
			for i, table := range []*fst.SymbolTable{b.InputSymbols(), b.FeatureSymbols(), b.OutputSymbols()} {
				if *saves[i] == "" {
					continue
				}
				o := &fst.SymbolTextOptions{Name: *saves[i], Separators: *c.lib.fieldSeparator}
				if err := c.Output(*saves[i], func(w io.Writer) error { return table.WriteText(w, o) }); err != nil {
					return err
				}
			}
			return nil
		}
	}})

// readLines opens a file for a reader of text.
func (c *call) readLines(name string, read func(io.Reader, string) error) error {
	r, shown, err := c.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return read(&limitedReader{r, c, shown}, shown)
}

var _ = offer(&tool{name: "loglinearapply", args: "in.fst linear.fst [out.fst]", min: 2, max: 3,
	summary: "Applies a log-linear model of conditional probabilities to a machine.", about: `
Where the first has P(x, y) and the second unnormalized Q(z|y), the result has
P(x, y) · Q(z|y) / Σ Q for each path of x and z. These are posterior probabilities, as negative
logarithms. --normalize=false omits the division, which leaves a composition.

  fst loglinearapply sentence.fst tagger.fst tagged.fst

Time that of a composition; with the division also that of determinizing its input side, which
is exponential at worst.`,
	setup: func(fs *flags.Set) func(*call) error {
		normalize := fs.Bool("normalize", true, "Divide by the sum, so that the result has posterior probabilities")
		return func(c *call) error {
			c.models = true
			a, b, err := c.twoMachines()
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := c.composeModel(a, b, &ops.ComposeOptions{Limits: lim})
			if err != nil {
				return err
			}
			if *normalize {
				if m, err = a.NormalizeLinear(a.m, m, lim); err != nil {
					return err
				}
			}
			return c.writeMachine(2, a, m, "")
		}
	}})

// composeModel composes a with b, which may be a linear model that has not been expanded.
func (c *call) composeModel(a, b *typed, o *ops.ComposeOptions) (machine, error) {
	if err := c.expandModel(a, o.Limits); err != nil {
		return nil, err
	}
	simple := o.First == nil && o.Second == nil && o.LookAhead == nil
	if b.model != nil && simple {
		return a.ComposeLinear(a.m, b.model, o)
	}
	if err := c.expandModel(b, o.Limits); err != nil {
		return nil, err
	}
	return a.Compose(a.m, b.m, o)
}

// expandModel makes a machine of a model that is none yet.
func (c *call) expandModel(t *typed, lim ops.Limits) (err error) {
	if t.model != nil && t.m == nil {
		t.m, err = t.ExpandLinear(t.model, lim)
	}
	return err
}
