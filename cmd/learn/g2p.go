package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// kindNames are the objectives, with the names that people may expect beside the
// library's.
func kindNames() []string {
	names := []string{"cross-entropy"}
	for _, k := range g2p.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func kindOf(name string) (g2p.Kind, error) {
	if name == "cross-entropy" {
		return g2p.CrossEntropy, nil
	}
	if !slices.Contains(g2p.Kinds(), g2p.Kind(name)) {
		return "", fmt.Errorf("there is no objective %q; there are %s", name, strings.Join(kindNames(), ", "))
	}
	return g2p.Kind(name), nil
}

// preparation holds the flags of alignment, features and loss machines.
type preparation struct {
	g2p.Preparation
	constraint *string
	adjust     func(pairs int, o *g2p.Options) error // says how so many pairs are prepared otherwise; may be nil
	stress     func([]g2p.Pair) []g2p.Pair
}

func (p *preparation) define(fs *flags.Set) {
	options.Define(fs, &p.Preparation)
	p.constraint = fs.String("constraint", "", constraintHelp)
	p.stress = stressFlag(fs)
}

// stressFlag defines --stress; the function returns pairs as it says.
func stressFlag(fs *flags.Set) func([]g2p.Pair) []g2p.Pair {
	stress := fs.Enum("stress", "on", []string{"on", "off"}, "With off, digits behind phones are left out, "+
		"which mark "+
		"stress in the CMU dictionary, and pronunciations that become equal are one")
	return func(pairs []g2p.Pair) []g2p.Pair {
		if *stress == "off" {
			return g2p.WithoutStress(pairs)
		}
		return pairs
	}
}

// options fills in defaults, and returns how so many pairs are prepared.
func (p *preparation) options(pairs, workers int) (*g2p.Options, error) {
	if err := learner.Complete(&p.Preparation, &p.Preparation); err != nil {
		return nil, fmt.Errorf("flag --%w", err)
	}
	o, err := p.Options(pairs)
	if err != nil {
		return nil, err
	}
	o.Workers = workers
	if p.adjust != nil {
		err = p.adjust(pairs, o)
	}
	return o, err
}

// identity spells the settings for checkpoints.
func (p *preparation) identity() string {
	return fmt.Sprintf("max_phones=%d align_iterations=%d align_min_count=%v align_min_prob=%v widen=%d "+
		"window=%d "+
		"damping=%v min_count=%d max_edges=%d history=%d phone_history=%d history_min_count=%d history_damping=%v "+
		"marks=%q", p.MaxPhones, p.AlignIterations, learner.Amount(p.AlignMinCount),
		p.AlignMinProb, p.Widen, p.Window, p.Damping, p.MinCount, max(p.MaxEdges, 0), p.History, p.PhoneHistory,
		p.HistoryMinCount, p.HistoryDamping, p.Marks)
}

// mostMarked is how many pairs have their marks counted by default, under objectives that have no
// loss machines: lattices of 20000 words take about half a gigabyte.
const mostMarked = 20000

// problem reads the words that a command is to train on, and prepares them. The notes say
// how they were read, and what was left out. kind is asked for once the words are read.
func (p *preparation) problem(c *call, workers int, live run.Recorder,
	kind func() g2p.Kind) (problem *g2p.Problem, pairs []g2p.Pair,
	notes []string, err error) {
	pairs, notes, err = c.lexicons(c.args)
	if err != nil {
		return nil, nil, nil, err
	}
	pairs = p.stress(pairs)
	opts, err := p.options(len(pairs), workers)
	if err != nil {
		return nil, nil, nil, err
	}
	if opts.Views.Constraint, err = c.constraint(*p.constraint); err != nil {
		return nil, nil, nil, err
	}
	plain := slices.Contains([]g2p.Kind{g2p.CrossEntropy, g2p.HammingMargin}, kind())
	if p.Marks == "" && plain && len(pairs) <= mostMarked {
		opts.Views.Marks = []string{g2p.AutoMarks}
	}
	opts.Live = live
	if rare, n := g2p.RareCase(pairs); n > 0 {
		where := ""
		if rare.Source != "" {
			where = rare.Source + ": "
		}
		c.Warn(c.prog, "%s%q has letters in a case that only %d of %d entries have: predict then takes capitals "+
			"and small letters for different ones; write all words in one case unless that is meant",
			where, rare.Word, n, len(pairs))
	}
	if problem, err = g2p.Prepare(c.ctx, pairs, opts); err != nil {
		return nil, nil, nil, err
	}
	if n := problem.Stats; n.Unaligned > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pairs were left out, with no letters or more than 64 phones "+
			"a letter%s", n.Unaligned, n.Pairs, g2p.ListLost(n.Lost)))
	}
	if list := problem.Stats.Rejected; len(list) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pairs were left out, whose phones --constraint does not "+
			"accept%s",
			len(list), problem.Stats.Pairs, g2p.ListLost(list)))
	}
	if n := problem.Stats; n.Irregular > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d words have letters that stand for phones rarer than "+
			"--align_min_prob, or for more than --max_phones; what these letters of these words emit is for back-off",
			n.Irregular, problem.Words()))
	}
	return problem, pairs, notes, nil
}

// pairs reads words with phones from files, which must have some.
func (c *call) pairs(names []string) ([]g2p.Pair, error) {
	pairs, _, err := c.lexicons(names)
	return pairs, err
}

// lexicons is pairs with notes on how files were read where that is not beyond doubt.
func (c *call) lexicons(names []string) (pairs []g2p.Pair, notes []string, err error) {
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		r, shown, err := c.OpenText(name)
		if err != nil {
			return nil, nil, err
		}
		l, err := g2p.ReadLexicon(r, shown)
		r.Close()
		if err != nil {
			return nil, nil, err
		}
		if len(l.Pairs) == 0 {
			return nil, nil, fmt.Errorf("%s: no words: the input is empty", shown)
		}
		if l.Blanks {
			note := fmt.Sprintf("%s was read as the CMU dictionary is: a word, then its phones, separated by blanks",
				shown)
			if l.Remarks > 0 {
				note += fmt.Sprintf("; what follows a # was left out of %d lines", l.Remarks)
			}
			notes = append(notes, note)
		}
		pairs = append(pairs, l.Pairs...)
	}
	return pairs, notes, nil
}

var g2pTrain = &command{
	name: "g2p train", args: "train.tsv ...", min: 1, max: -1,
	summary: "Trains a model from spelling to pronunciation on its own error rate.",
	about: `
A line of the data is a word, a tab, and its phones separated by blanks, or a word
and its phones all separated by blanks, as in the CMU dictionary. In the latter form
the text after a # is a remark. Lines that begin with # or ;;; are comments, and word(2)
is another pronunciation of word. A word may have several, a line each: all are trained on.

Letters and phones are aligned first. A model is an ensemble of networks over the letters whose scores
are added to those of label bigrams, or with --network none a linear model of letter n-grams. Networks
have --widen 5, and up to 10000 words --marks auto, unless these flags say otherwise. The objectives:

  cross-entropy (ce)  the conditional random field over the aligned labels
  hamming             softmax-margin with gamma times the labels that differ: the
                      default with networks
  margin              softmax-margin with gamma times the edit distance of the
                      phones
  ngram               softmax-margin with gamma times the n-gram loss -log(1+U), U
                      the bigrams of phones that the reference has too
  latent              margin with every alignment of the right phones as the
                      truth: the default without networks
  maxmargin           smoothed maximum margin (--beta)
  risk                --mix of expected edit distance, the rest cross-entropy

plus --l2/2 times the squared weights of features. Networks begin with passes of hamming
where the objective is another but cross-entropy.

--marks counts the accents or stresses of a word, so that it has neither two nor none;
phones without such marks cost nothing. --history and --phone_history score n-grams of
labels or phones that training saw, with back-off to shorter ones. --constraint restricts
outputs. These need time for every label string of a word that they tell apart.

For a dictionary of 100000 words take --objective hamming --min_count 2: it needs no loss machines,
which take gigabytes, and a few minutes. Above 20000 entries an n-gram model of letters and labels is
kept beside the linear one (--ngrams), whose scores predict adds.

Example:

  learn g2p train testdata/g2p/ice_train.tsv --model ice.model
  learn g2p train testdata/g2p/ice_train.tsv --network none --model linear.model
  learn g2p eval testdata/g2p/ice_test.tsv --model ice.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t training
		var p preparation
		t.define(fs, 1000, 2e-4)
		p.define(fs)
		var n letterNetworkFlags
		n.define(fs)
		objective := fs.Enum("objective", "auto", append([]string{"auto"}, kindNames()...),
			"What training minimises; auto is hamming with networks, and latent without")
		gamma := fs.Float("gamma", 4, "Weight of the loss; with networks it is 1 unless given")
		l2 := fs.Float("l2", 0.3, "Weight of the squares")
		beta := fs.Float("beta", 6, "Sharpness of maxmargin")
		mix := fs.Float("mix", 0.5, "Share of the expected loss in risk")
		solver := fs.Enum("solver", "lbfgs", []string{"lbfgs", "proximal"},
			"Optimiser: lbfgs, or accelerated proximal steps along the gradient")
		memory := fs.Int("memory", 32, 6, "Pairs that L-BFGS keeps")
		seed := fs.Uint("seed", 1, "Seed of the networks' starts, the order of words, and dropout; nothing else "+
			"is random")
		ngrams := fs.Int("ngrams", 32, -1, "Order of an n-gram model of letters and labels beside the "+
			"linear one, which "+
			"predict adds to it; 0 is none, -1 is 8 for more than 20000 entries and else none")
		keep := fs.Bool("keep_words", false, "Keep the words in the model file, for `g2p predict --known`")
		relaxation := resilientFlags(fs)
		objectiveOf := func(c *call, networks bool) (o g2p.Objective, err error) {
			name := *objective
			if name == "auto" {
				if name = string(g2p.LatentMargin); networks {
					name = string(g2p.HammingMargin)
				}
			}
			kind, err := kindOf(name)
			if err != nil {
				return o, err
			}
			o = g2p.DefaultObjective(kind)
			if o.L2 = *l2; networks && o.Gamma != 0 {
				o.Gamma = 1
			}
			why := "the objective is " + name
			if o.Gamma != 0 { // it has one
				if !networks || c.flags.Given("gamma") {
					o.Gamma = *gamma
				}
			} else if err := c.idle(why, "gamma"); err != nil {
				return o, err
			}
			if kind == g2p.MaxMargin {
				if !(*beta > 0) {
					return o, errors.New("flag --beta must be positive")
				}
				o.Beta = *beta
			} else if err := c.idle(why, "beta"); err != nil {
				return o, err
			}
			if kind == g2p.RiskMix {
				if !(*mix > 0 && *mix <= 1) {
					return o, errors.New("flag --mix is above 0 and at most 1; --objective cross-entropy is what 0 " +
						"would be")
				}
				o.Mix = *mix
			} else if err := c.idle(why, "mix"); err != nil {
				return o, err
			}
			if kind == g2p.CrossEntropy || kind == g2p.HammingMargin {
				if err := c.idle(why+", which has no loss machines", "max_edges"); err != nil {
					return o, err
				}
			}
			return o, nil
		}
		return func(c *call) error {
			name := "g2p"
			if *objective != "auto" {
				name += " " + *objective
			}
			return t.run(c, name, places("the data", c.args...),
				func(workers int, control run.Control) (*fitted, error) {
					if !(*l2 >= 0) || *memory < 1 {
						return nil, errors.New("flag --l2 must not be negative, --memory at least 1")
					}
					if *ngrams < -1 {
						return nil, errors.New("flag --ngrams must not be below -1")
					}
					h, folds, err := relaxation()
					if err != nil {
						return nil, err
					}
					var o g2p.Objective
					networks := false
					p.adjust = func(pairs int, prepare *g2p.Options) (err error) {
						n.Seed = *seed
						if networks, err = n.check(c, pairs, h); err == nil && networks {
							n.prepare(c, pairs, prepare)
						}
						if err == nil {
							o, err = objectiveOf(c, networks)
						}
						return err
					}
					problem, pairs, notes, err := p.problem(c, workers, control.Live, func() g2p.Kind { return o.Kind })
					if err != nil {
						return nil, err
					}
					kind := o.Kind
					what := fmt.Sprintf("g2p objective=%s gamma=%v l2=%v beta=%v mix=%v %s words=%d weights=%d data=%s",
						o.Kind, o.Gamma, o.L2, o.Beta, o.Mix, p.identity(), problem.Words(), problem.Stats.Trained,
						digestOf(pairs))
					if h != nil {
						what += " resilient=" + h.Name()
					}
					if id := problem.ConstraintID(); id != "" {
						what += " constraint=" + id
					}
					if networks {
						if *ngrams > 0 {
							return nil, errors.New("flag --ngrams: they stand beside linear models: leave it out, or give " +
								"--network none")
						}
						t.planned = run.Stop{Iterations: n.Passes(problem.Words()), Relative: -1}
						m, f, err := n.fit(problem, o, what, workers, control)
						if err == nil {
							if *keep {
								m.Lookup = g2p.NewLookup(pairs)
							}
							f.notes = notes
							f.details = map[string]any{"objective": o, "problem": problem.Stats, "networks": n.NetworkOptions}
						}
						return f, err
					}
					fit := &g2p.FitOptions{Relax: h, RelaxFolds: folds, Stop: control.Stop, Recorder: control.Recorder,
						Workers: workers, Memory: int(*memory), Solver: optim.Solver(*solver),
						CheckpointEvery: control.CheckpointEvery, Resume: control.Resume}
					if fit.Resume != nil {
						if err := fit.Resume.BelongsTo(what); err != nil {
							return nil, err
						}
					}
					if control.Checkpoint != nil {
						fit.Checkpoint = func(k *run.Checkpoint) error { k.Problem = what; return control.Checkpoint(k) }
					}
					m, r, err := problem.Fit(c.ctx, o, fit)
					if err != nil {
						return nil, err
					}
					order := int(*ngrams)
					if order < 0 && len(pairs) > manyEntries {
						order = 8
					}
					if order > 0 {
						if m.Ngrams, err = problem.Joint(c.ctx, order); err != nil {
							return nil, fmt.Errorf("flag --ngrams: %w", err)
						}
					}
					if *keep {
						m.Lookup = g2p.NewLookup(pairs)
					}
					n := problem.Stats
					if kind == g2p.NGramMargin {
						n.Restricted = n.RestrictedNGram
					}
					if n.Restricted > 0 {
						notes = append(notes, fmt.Sprintf("%d of %d words have a lattice cut to --max_edges", n.Restricted,
							problem.Words()))
					}
					if n.Restricted > 0 && r.Iterations == 0 {
						return nil, fmt.Errorf("flag --max_edges: %d cut the lattices of %d of %d words, and left nothing "+
							"to learn: the default is 40000", p.MaxEdges, n.Restricted, problem.Words())
					}
					if 10*n.Restricted > problem.Words() {
						c.Warn(c.prog, "--max_edges %d cut the lattices of %d of %d words: what was cut never competes",
							p.MaxEdges, n.Restricted, problem.Words())
					}
					return &fitted{result: r, write: m.Write, notes: notes,
						details: map[string]any{"objective": o, "problem": problem.Stats}}, nil
				})
		}
	},
}

// manyEntries is above how many entries of a lexicon an n-gram model is kept beside the linear one.
const manyEntries = 20000

// digestOf tells lists of pairs apart.
func digestOf(pairs []g2p.Pair) string {
	h := sha256.New()
	for _, p := range pairs {
		fmt.Fprintf(h, "%q %q\n", p.Word, p.Phones)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// g2pModel reads a model file.
func (c *call) g2pModel(name string) (*g2p.Model, error) {
	m, _, err := load(c, name, "g2p train", g2p.Read)
	return m, err
}

// decodeFlags defines the flags that say which output is given out.
func decodeFlags(fs *flags.Set) func(c *call, nbest bool) (*g2p.DecodeOptions, error) {
	decoding := fs.Enum("decode", "auto", []string{"auto", "viterbi", "merged", "min-risk", "pooled", "ngrams"},
		"The phones of the best labels, of the most probable phone string, or of least expected edit distance: "+
			"under the mean of the networks' scores, or pooled over the best strings of each network. Or the best "+
			"labels with the model's n-grams, which auto takes for models that have them; else it is viterbi")
	weight := fs.Float("ngram_weight", 3, "Weight of the n-grams")
	best := fs.Int("best", 32, 50, "Label strings that merged and min-risk look at")
	candidates := fs.Int("candidates", 32, 20, "Phone strings that min-risk chooses from")
	return func(c *call, nbest bool) (*g2p.DecodeOptions, error) {
		if *decoding != "min-risk" && *decoding != "pooled" {
			if err := c.idle("it needs --decode min-risk or pooled", "candidates"); err != nil {
				return nil, err
			}
		}
		listed := slices.Contains([]string{"merged", "min-risk", "pooled"}, *decoding)
		if !listed && !nbest {
			if err := c.idle("it needs --decode merged, min-risk or pooled", "best"); err != nil {
				return nil, err
			}
		}
		if *best < 1 || *candidates < 1 {
			return nil, errors.New("flags --best and --candidates must be at least 1")
		}
		if !(*weight > 0) || math.IsInf(*weight, 1) {
			return nil, errors.New("flag --ngram_weight must be positive and finite")
		}
		kind := g2p.Decoding(*decoding)
		if kind == "auto" {
			kind = ""
		}
		return &g2p.DecodeOptions{Decoding: kind, Best: int(*best), Candidates: int(*candidates),
			NgramWeight: *weight}, nil
	}
}

var g2pPredict = &command{
	name: "g2p predict", args: "[words [output]]", min: 0, max: 2,
	summary: "Gives the pronunciation of words.",
	about: `
Reads a word a line; columns after a tab are not used. Writes a word, a tab and
its phones a line, and a blank line for a blank line. With --nbest it writes JSON
lines: the word and its pronunciations with log probabilities. That of a phone string
is exact: the sum over all ways in which the letters spell it.

Words that are in the lexicon --lookup, or were kept in the model by train --keep_words
for --known, have their first pronunciation from there, all of them with --variants, and
with --nbest in "known".

A model whose training words had no capitals reads capitals as small letters, and the
other way round. Other letters that training did not have emit nothing. A warning names
the first word with each of them, and at the end the number of words with any.

--constraint composes the outputs with a machine over phones, such as one that accepts
at most one accent a word. A word without an output that it accepts may use labels that
training did not see at its letters. If even these give none, it has the best output of
all, with a warning.

A line that is not text, for bytes that are not UTF-8 or a NUL, has a blank line in the
output. All such lines are named at the end, and the exit status is then not 0.

Example:

  echo hestur | learn g2p predict --model ice.model`,
	setup: func(fs *flags.Set) func(*call) error {
		model := fs.String("model", "", "File of the model; needed")
		nbest := fs.Int("nbest", 32, 0, "Write at most this many pronunciations of each word, as JSON lines")
		constraint := fs.String("constraint", "", constraintHelp)
		lookup := fs.String("lookup", "", "Lexicon whose words are looked up, in the form of training data")
		known := fs.Bool("known", false, "Look words up among those that the model was trained on with "+
			"--keep_words")
		variants := fs.Bool("variants", false, "Write a line for each pronunciation of a word that is looked up")
		workersOf := workersFlag(fs)
		decode := decodeFlags(fs)
		return func(c *call) error {
			d, err := decode(c, *nbest > 0)
			if err != nil {
				return err
			}
			if *nbest < 0 {
				return errors.New("flag --nbest must not be negative")
			}
			if *lookup != "" && *known {
				return errors.New("flags --lookup and --known: words are looked up in one place; give one of them")
			}
			if *lookup != "" && cli.IsStandard(*lookup) && cli.IsStandard(c.arg(0)) {
				return errors.New("flag --lookup: the words are read from standard input, so the lexicon cannot be; " +
					"give one of them as a file")
			}
			if *lookup == "" && !*known {
				if err := c.idle("it needs --lookup or --known", "variants"); err != nil {
					return err
				}
			}
			if *nbest > 0 {
				if err := c.idle("--nbest lists all pronunciations", "variants"); err != nil {
					return err
				}
				d.Best, d.Strings = max(d.Best, int(*nbest)), int(*nbest)
			}
			if err := apart([]place{{"the input", c.arg(0)}, {"the model", *model}, {"the lexicon", *lookup},
				{"the constraint", *constraint}},
				[]place{{"the output", c.arg(1)}}); err != nil {
				return err
			}
			p := &pronouncer{decode: d, nbest: int(*nbest), variants: *variants}
			if p.workers, err = workersOf(); err != nil {
				return err
			}
			if p.m, err = c.g2pModel(*model); err != nil {
				return err
			}
			if p.m, err = c.constrained(p.m, *constraint); err != nil {
				return err
			}
			var fallen fallbacks
			defer fallen.report(c)
			d.Report = func(word string, how g2p.Fallback) { fallen.note(c, word, how) }
			switch {
			case *lookup != "":
				pairs, err := c.pairs([]string{*lookup})
				if err != nil {
					return fmt.Errorf("flag --lookup: %w", err)
				}
				p.lookup = g2p.NewLookup(pairs)
			case *known && p.m.Lookup == nil:
				return fmt.Errorf("flag --known: %s keeps no words; train it with --keep_words, or give --lookup and a "+
					"lexicon", *model)
			case *known:
				p.lookup = p.m.Lookup
			}
			r, shown, err := c.OpenText(c.arg(0))
			if err != nil {
				return err
			}
			defer r.Close()
			p.shown = shown
			unseen := unseenLetters{seen: map[rune]bool{}}
			defer unseen.report(c)
			wrong := wrongLines{what: "words"}
			err = c.Output(c.arg(1), func(w io.Writer) error { return p.run(c, r, w, &unseen, &wrong) })
			if err != nil {
				return err
			}
			return wrong.err()
		}
	},
}

// unseenLetters warns of letters that a model does not know.
type unseenLetters struct {
	seen  map[rune]bool // those that were warned of
	words int
}

// maxUnseen bounds the letters that are warned of one by one.
const maxUnseen = 20

// note warns of the letters of a word that training did not have.
func (u *unseenLetters) note(c *call, m *g2p.Model, where, word string, letters []rune) {
	u.words++
	for _, r := range letters {
		if u.seen[r] || len(u.seen) == maxUnseen {
			continue
		}
		u.seen[r] = true
		hint := ""
		if unicode.Is(unicode.M, r) {
			hint = "; the text may be decomposed: bring it to the normalization form of the training words"
		}
		if m.Inventory.InOtherCase(r) {
			hint = ", though its other case is; case is not folded, because some training words have both"
		}
		c.Warn(c.prog, "%s: the letter %q (%U) of %q is not among those of training, and emits nothing%s", where,
			r, r, word, hint)
	}
}

func (u *unseenLetters) report(c *call) {
	if u.words > 1 {
		c.Warn(c.prog, "%d words have letters that training did not have", u.words)
	}
}

var g2pEval = &command{
	name: "g2p eval", args: "test.tsv ...", min: 0, max: -1,
	summary: "Counts a model's phone and word errors, and compares models.",
	about: `
A word with several pronunciations, a line each, is one word: it is right when the
output is any of them, and edits are counted to the nearest. The phone error rate
(PER) is all edits by the phones of these nearest pronunciations.

--model may name several files, separated by commas; each is then compared with
those before it, by a paired t-test of the edits of each word and McNemar's test
of the words.

Example:

  learn g2p eval testdata/g2p/ice_test.tsv --model ce.model,latent.model`,
	setup: func(fs *flags.Set) func(*call) error {
		models := fs.String("model", "", "Files of models, separated by commas; needed")
		asJSON := fs.Bool("json", false, "Report as JSON")
		constraint := fs.String("constraint", "", constraintHelp)
		table, writeTable := tableFlag(fs)
		decode := decodeFlags(fs)
		stress := stressFlag(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			workers, err := workersOf()
			if err != nil {
				return err
			}
			d, err := decode(c, false)
			if err != nil {
				return err
			}
			_, list, err := loadAll(c, *models, *table, c.g2pModel)
			if err != nil {
				return err
			}
			for i := range list {
				if list[i], err = c.constrained(list[i], *constraint); err != nil {
					return err
				}
			}
			pairs, err := c.pairs(c.args)
			if err != nil {
				return err
			}
			pairs = stress(pairs)
			name := "standard input"
			if len(c.args) > 0 && !cli.IsStandard(c.args[0]) {
				name = strings.Join(c.args, " ")
			}
			r, err := g2p.Evaluate(name, list, pairs, d, workers)
			if err != nil {
				return err
			}
			if err := writeTable(c, r.WriteCSV); err != nil {
				return err
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}
