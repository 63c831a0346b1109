package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/transduce"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// transduceLearners are those of pairs of strings.
var transduceLearners = contestants[*transduce.Data, *transduce.Predictions]{transduce.Learner{}}

func transduceCommands() []*command {
	return learnerCommands(transduceLearners[0], transduceLearners,
		func() kind[*transduce.Data, *transduce.Predictions] { return &pairsKind{} })
}

// pairsKind is the kind of pairs of strings.
type pairsKind struct {
	format, lexicon, decoding, apart *string
	counts                           *bool
	candidates, nbest                *int64
	beam                             *float64
	work                             func() (int, error)
	warn                             func(format string, args ...any) // of the call that reads, for write
}

var _ kind[*transduce.Data, *transduce.Predictions] = &pairsKind{}

func (*pairsKind) phrases() phrases {
	return phrases{"pairs", "pairs of strings", "The file has", "--gamma 1", "gamma=0.5,1,2 l2=0.1,0.3"}
}

func (*pairsKind) about() string {
	return `
A line has the columns

  columns          input, output and, if you like, tags (the default)
  sigmorphon       lemma, form, tags: the inflection tasks from 2016 to 2022
  sigmorphon-2023  lemma, tags, form

with tabs between them. Tags are separated by semicolons, as V;PST;3;SG. A file to predict
may have the input alone, or input and tags.

--lexicon is a list of words, one a line, or an acceptor as fst makes it. The labels of the
acceptor are code points, or symbols of one character in its symbol table. Its weights are
costs. With --lexicon_counts a word is followed by a tab and how often it occurs, and costs
the negative logarithm of its share.
`
}

func (k *pairsKind) define(fs *flags.Set, training bool) {
	var names []string
	for _, f := range transduce.Formats() {
		names = append(names, string(f))
	}
	k.format = fs.Enum("format", names[0], names, "Columns of the file")
	k.lexicon = fs.String("lexicon", "",
		"File of the words, or the machine of the strings, that outputs are among; "+
			"a model keeps that of its training")
	k.counts = fs.Bool("lexicon_counts", false, "The words of --lexicon are followed by their counts")
	names = nil
	for _, d := range transduce.Decodings() {
		names = append(names, string(d))
	}
	k.decoding = fs.Enum("decoding", names[0], names,
		"The output is that of the best alignment, that of the greatest "+
			"probability over alignments, or that of the least expected edit distance")
	k.candidates = fs.Int("candidates", 32, 20, "Outputs that min-risk chooses from")
	k.beam = new(float64)
	if !training {
		k.beam = fs.Float("beam", 0,
			"Alignments count if the channel has them within exp of this of the best one; "+
				"0 is as in training")
	}
	k.nbest, k.apart = new(int64), new(string)
	if training {
		k.apart = fs.Enum("apart", "pairs", []string{"pairs", "inputs", "outputs"},
			"What cv keeps in one fold: pairs, "+
				"or all pairs of an input or of an output")
	}
	k.work = workersFlag(fs)
}

func (k *pairsKind) defineWriting(fs *flags.Set) {
	k.nbest = fs.Int("nbest", 32, 0,
		"Outputs to write for an input, each with its log-probability; 0 is the best alone, without")
}

func (k *pairsKind) workers() (int, error) { return k.work() }

func (k *pairsKind) data(c *call, name string, o *transduce.ReadOptions) (*transduce.Data, error) {
	if *k.nbest < 0 || *k.candidates < 1 || !(*k.beam >= 0) || math.IsInf(*k.beam, 1) {
		return nil, errors.New("flags --nbest and --beam must not be negative, and --candidates at least 1")
	}
	d := &transduce.Data{Decode: transduce.DecodeOptions{Decoding: transduce.Decoding(*k.decoding),
		Candidates: int(*k.candidates), NBest: int(*k.nbest), Beam: *k.beam}}
	var err error
	if *k.lexicon != "" {
		if d.Lexicon, err = k.readLexicon(c); err != nil {
			return nil, err
		}
	} else if *k.counts {
		return nil, errors.New("flag --lexicon_counts has no effect without --lexicon")
	}
	o.Format = transduce.Format(*k.format)
	r, shown, err := c.OpenText(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if d.Pairs, err = transduce.ReadPairs(r, shown, o); err != nil {
		return nil, err
	}
	if len(d.Pairs) == 0 {
		return nil, fmt.Errorf("%s: there is no pair", shown)
	}
	d.Labelled = !o.Unlabelled
	return d, nil
}

func (k *pairsKind) read(c *call, name string) (*transduce.Data, error) {
	return k.data(c, name, &transduce.ReadOptions{})
}

func (k *pairsKind) like(c *call, name string, form *transduce.Data, labelled bool) (*transduce.Data, error) {
	k.warn = func(format string, args ...any) { c.Warn(c.prog, format, args...) }
	return k.data(c, name, &transduce.ReadOptions{Unlabelled: !labelled, Tagged: form.Tagged})
}

// fstMagic begins every binary machine.
const fstMagic = "\xd6\xfd\xb2\x7e"

// readLexicon reads words or a machine.
func (k *pairsKind) readLexicon(c *call) (x *transduce.Lexicon, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("flag --lexicon: %w", err)
		}
	}()
	r, shown, err := c.OpenText(*k.lexicon)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := bufio.NewReader(r)
	if head, _ := b.Peek(len(fstMagic)); string(head) == fstMagic {
		if *k.counts {
			return nil, errors.New("--lexicon_counts is for words; a machine has its costs")
		}
		return readAcceptor(b, shown)
	}
	var entries []transduce.Entry
	total := 0.0
	for line, err := range dataset.Lines(b, shown) {
		if err != nil {
			return nil, err
		}
		if c.ctx.Err() != nil {
			return nil, &stopped{"nothing was written"}
		}
		word, rest, tab := strings.Cut(line.Text, "\t")
		if word == "" {
			continue
		}
		e := transduce.Entry{Word: word}
		if *k.counts {
			field, _, _ := strings.Cut(rest, "\t")
			n, err := strconv.ParseFloat(field, 64)
			if !tab || err != nil || !(n > 0) || math.IsInf(n, 1) {
				return nil, &dataset.SyntaxError{Name: shown, Line: line.Line,
					Msg: fmt.Sprintf("%.60q is followed by %.30q, not by a tab and a positive count", word, field)}
			}
			total += n
			e.Cost = -math.Log(n)
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s has no word", shown)
	}
	if *k.counts {
		for i := range entries {
			entries[i].Cost += math.Log(total)
		}
	}
	return transduce.NewLexicon(entries)
}

func readAcceptor(r io.Reader, shown string) (*transduce.Lexicon, error) {
	s := fst.NewStream(r, &fst.ReadOptions{Name: shown})
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	switch h.ArcType {
	case "standard":
		return acceptorOf[semiring.Tropical](s, h, shown)
	case "tropical64":
		return acceptorOf[semiring.Tropical64](s, h, shown)
	}
	return nil, fmt.Errorf("%s: arc type %s: a lexicon has standard or tropical64, whose weights are costs",
		shown, h.ArcType)
}

// acceptorOf reads the rest of a machine, and names its labels by code points where it has
// symbols.
func acceptorOf[W semiring.Codec[W]](s *fst.Stream, h *fst.Header, shown string) (*transduce.Lexicon, error) {
	f, err := fst.ReadBody[W](s, h)
	if err != nil {
		return nil, err
	}
	g, err := ops.Convert[semiring.Tropical64](f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	symbols := g.InputSymbols()
	if symbols == nil {
		return transduce.LexiconOf(g)
	}
	for q := range fst.StateID(g.NumStates()) {
		arcs := slices.Clone(g.Arcs(q))
		for i := range arcs {
			e := &arcs[i]
			if e.ILabel != e.OLabel {
				return nil,
					fmt.Errorf("%s: arc %d of state %d reads and writes different symbols; a lexicon is an acceptor",
						shown, i, q)
			}
			if e.ILabel == fst.Epsilon {
				continue
			}
			name, ok := symbols.Symbol(e.ILabel)
			c, size := utf8.DecodeRuneInString(name)
			if !ok || size == 0 || size != len(name) {
				return nil, fmt.Errorf("%s: label %d is the symbol %.60q, not one character", shown, e.ILabel, name)
			}
			e.ILabel, e.OLabel = fst.Label(c), fst.Label(c)
		}
		g.SetArcs(q, arcs)
	}
	return transduce.LexiconOf(g)
}

func (k *pairsKind) write(w io.Writer, _, x *transduce.Data, p *transduce.Predictions) error {
	b := bufio.NewWriterSize(w, 1<<16)
	without, first := 0, 0
	for i := range p.Each {
		if !p.Each[i].Found {
			if without++; without == 1 {
				first = i
			}
		}
		in, tags := x.Pairs[i].Input, ""
		if list := x.Pairs[i].Tags; len(list) > 0 {
			tags = "\t" + strings.Join(list, ";")
		}
		if *k.nbest == 0 {
			fmt.Fprintf(b, "%s\t%s%s\n", in, p.Each[i].Output, tags)
			continue
		}
		for _, h := range p.Each[i].NBest {
			fmt.Fprintf(b, "%s\t%s%s\t%.6g\n", in, h.Output, tags, h.LogProb)
		}
	}
	if without > 0 {
		k.warn("%d of %d inputs have no output within the beam, such as %.60q: with a lexicon none of its strings; "+
			"try a wider --beam", without, len(p.Each), x.Pairs[first].Input)
	}
	return b.Flush()
}

func (*pairsKind) judge(x *transduce.Data, p *transduce.Predictions) []measured {
	var out []measured
	for _, m := range p.Judge(x) {
		out = append(out, measured(m))
	}
	return out
}

func (*pairsKind) chosenBy(*transduce.Data) []string { return transduce.MeasureNames() }

func (*pairsKind) subset(x *transduce.Data, numbers []int) *transduce.Data { return x.Subset(numbers) }

func (*pairsKind) weight(*transduce.Data, int) float64 { return 1 }

func (*pairsKind) fingerprint(x *transduce.Data) string { return x.Fingerprint() }

func (*pairsKind) size(x *transduce.Data) string { return fmt.Sprintf("%d pairs", len(x.Pairs)) }

// trials divides pairs, or the groups of them that --apart names.
func (k *pairsKind) trials(x *transduce.Data, file string, folds, inner, repeats int,
	seed uint64) ([]evaluate.Trial, error) {
	if file != "" {
		return nil, errors.New("flag --trials: pairs are divided by --folds")
	}
	group, number := make([]int, len(x.Pairs)), map[string]int{}
	for i := range x.Pairs {
		name := strconv.Itoa(i)
		switch *k.apart {
		case "inputs":
			name = x.Pairs[i].Input
		case "outputs":
			name = x.Pairs[i].Output
		}
		if _, ok := number[name]; !ok {
			number[name] = len(number)
		}
		group[i] = number[name]
	}
	return evaluate.Grouped(group, folds, inner, repeats, seed)
}
