package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// scored holds the flags for the features of a sequence model.
type scored struct {
	templates       *string
	order, minCount *int64
	observed        *bool
	solver          *string
	gap             *float64
	memory, batch   *int64
	rate, decay     *float64
	seed            *uint64
	machines        *int64
}

func (s *scored) define(fs *flags.Set) {
	s.templates = fs.String("templates", autoTemplates, "Features: a file of templates (of CRF++ or Wapiti), "+
		"tagging, chunking, or auto: chunking for three or more columns, else tagging")
	s.order = fs.Int("order", 32, 2, "Labels of a window, 1 to 3")
	s.minCount = fs.Int("min_count", 32, 1, "Features seen less often in training are left out")
	s.observed = fs.Bool("observed", false, "Weights only for labels that a feature was seen with: a tenth "+
		"of the size, often as good")
	s.solver = fs.Enum("solver", "lbfgs", []string{"lbfgs", "gonum-lbfgs", "proximal", "sgd", "adagrad", "adam",
		"bundle"},
		"Optimiser; proximal is of accelerated steps along the gradient, bundle for margins without smoothing, "+
			"whose gap it certifies")
	s.gap = fs.Float("gap", 0, "Certified gap at which bundle stops, relative to the objective; 0 is 0.001. "+
		"With --partial, of the convex problems on the way, a sentence; 0 is 0.01")
	s.memory = fs.Int("memory", 32, 10, "Pairs that L-BFGS keeps")
	s.batch = fs.Int("batch", 32, 8, "Sequences of a minibatch")
	s.rate = fs.Float("rate", 0, "Learning rate of sgd, adagrad (0 is 0.1) and adam (0 is 0.001)")
	s.decay = fs.Float("decay", 0, "Decay of the rate of sgd; 0 is one over the minibatches of a pass")
	s.seed = fs.Uint("seed", 1,
		"Seed of all that is random: the order of minibatches, for sgd, adagrad and adam, and of a network its "+
			"start")
	s.machines = fs.Bytes("machine_bytes", 1<<30, "Memory for loss machines that are kept between passes")
}

func (s *scored) options(c *call, format sequence.Format, workers int) (*sequence.TrainOptions, error) {
	o := &sequence.TrainOptions{Format: format, Order: int(*s.order), MinCount: int(*s.minCount),
		Observed: *s.observed, Memory: int(*s.memory), Rate: *s.rate, Decay: *s.decay, Batch: int(*s.batch),
		Seed: *s.seed, Workers: workers, MachineBytes: *s.machines}
	if *s.order < 1 || *s.minCount < 1 || *s.memory < 1 || *s.batch < 1 || *s.machines < 1 {
		return nil, errors.New("flags --order, --min_count, --memory, --batch and --machine_bytes must be at least 1")
	}
	var err error
	if o.Solver, err = sequence.ParseSolver(*s.solver); err != nil {
		return nil, err
	}
	if *s.gap < 0 {
		return nil, errors.New("flag --gap must not be negative")
	}
	if o.Gap = *s.gap; o.Solver != sequence.Bundle {
		if err := c.idle("the solver is "+*s.solver, "gap"); err != nil {
			return nil, err
		}
	}
	if o.Solver < sequence.SGD {
		err = c.idle("the solver is "+*s.solver, "rate", "decay", "batch")
		if o.Solver == sequence.Proximal && err == nil {
			err = c.idle("the solver is proximal", "memory")
		}
	} else if o.Solver == sequence.Bundle {
		err = c.idle("the solver is bundle", "rate", "decay", "batch", "memory", "stop")
	} else {
		err = c.idle("the solver is "+*s.solver, "memory")
		if o.Solver != sequence.SGD && err == nil {
			err = c.idle("the solver is "+*s.solver, "decay")
		}
	}
	if err != nil {
		return nil, err
	}
	if o.Templates, err = c.templates(*s.templates, format); err != nil {
		return nil, err
	}
	for _, t := range o.Templates {
		if t.Reads(format.Label, format.Columns) {
			c.Warn(c.prog, "the template %q looks at column %d, which has the labels: it sees _ there, since the "+
				"answer is not to be learned from itself", t, format.Label+1)
		}
	}
	return o, nil
}

// amount makes a library's "zero is the default" of a flag's plain number.
func amount(v float64) float64 {
	if v == 0 {
		return -1
	}
	return v
}

var sequenceTrain = &command{
	name: "sequence train", args: "train.conll ...", min: 1, max: -1,
	summary: "Trains a labeller of sequences on sentences with labels.",
	about: `
Sentences are CoNLL columns (a token a line, a blank line after each
sentence) or CoNLL-U. --objective and --loss choose the training objective:

  cross-entropy   log Z - score of the labels: the conditional random field
  softmax-margin  the same with --gamma times the loss added to every score;
                  a negative --gamma gives reward-augmented likelihood
  max-margin      the best score with --gamma times the loss added: a
                  structured support vector machine. L-BFGS smooths it by
                  --beta; --solver bundle does not, and certifies its gap
  risk            the expected loss; not convex, start it with --init

plus --l2/2 times the squared and --l1 times the absolute weights. Training goes on until the
objective falls no more (--stop), or, with a development set (--dev), until --patience iterations
brought none with fewer wrong labels; the model is then that with the fewest.

--templates may name a file of templates as CRF++ and Wapiti have them. With --format crfsuite,
lines have a label and attributes instead, ready-made: label TAB name TAB name:value.

--network conv or lstm adds the scores of a network to those of the features. It reads the columns
that the templates read, and the characters of the words. Both are trained together by Adam, for
--epochs passes, under any objective. A risk starts from another model with --init, as before:

  learn sequence train train.conllu --network lstm --model first.model
  learn sequence train train.conllu --network lstm --objective risk --loss edit --init first.model \
      --model risk.model

--gradients sampled estimates those of edit, smith-waterman and local losses without
a band, for sequences of more than --exact labels, by Gibbs sampling: of softmax-margin,
risk, and max-margin with --beta, by sgd, adagrad or adam. Exact machines within a band
of 1 are some 50 times as fast, and mostly as good: see learn experiment sampled.

With --partial, labels that are ?, _ or empty are not known: the sentence may be
labelled in any way that agrees with the others. Cross-entropy is then the
likelihood of the known labels, and max-margin compares with the best labelling of
those. Losses count only the known labels.

Example: the labels of the sample in testdata, with the edit distance, exact
up to 8 tokens and within a band of 2 beyond:

  learn sequence train testdata/ud-english-ewt-sample/train.conllu.gz \
      --objective softmax-margin --loss edit --band 2 --model pos.model
  learn sequence eval testdata/ud-english-ewt-sample/test.conllu.gz --model pos.model

Chunks or names by the number of wrong ones, of labels such as B-NP, I-NP and O:
missing and spurious spans cost 1 each (--span_missing, --span_spurious), and one of
the right ends and another type --span_type:

  learn sequence train chunks.conll --objective softmax-margin --loss span \
      --model chunks.model
  learn sequence predict new.conll --model chunks.model --decode min-risk --loss span

The edit distance of the first example without a band:

  learn sequence train testdata/ud-english-ewt-sample/train.conllu.gz \
      --objective softmax-margin --loss edit --gradients sampled --solver adagrad \
      --iterations 5 --model whole.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t training
		var d sentences
		var s scored
		var l lossFlags
		t.define(fs, 1000, 1e-5)
		d.ready = true
		d.define(fs, "")
		s.define(fs)
		objective := fs.Enum("objective", "cross-entropy",
			[]string{"cross-entropy", "softmax-margin", "max-margin", "risk"}, "What training minimises")
		l.define(fs, "Loss of margins and risk")
		gamma := fs.Float("gamma", 1, "Weight of the loss")
		beta := fs.Float("beta", 0, "Sharpness of the smoothed maximum in max-margin; 0 is 3 for lbfgs, and no "+
			"smoothing for other solvers")
		drawn := sampledFlags(fs)
		d.partial = fs.Bool("partial", false, "Labels that are ?, _ or empty are not known: learn from the others")
		l2 := fs.Float("l2", 1, "Weight of the squares")
		l1 := fs.Float("l1", 0, "Weight of the absolute values")
		initial := fs.String("init", "", "Model whose weights to start from; needed for risk, as a rule")
		development := fs.String("dev", "", "Development set: its wrong labels are counted after every iteration, "+
			"and the model is that with the fewest. For lbfgs, sgd, adagrad and adam")
		patience := fs.Int("patience", 32, 10, "Stop after so many iterations without fewer; 0 is never")
		relaxation := resilientFlags(fs)
		var n networkFlags
		n.define(fs)
		return func(c *call) error {
			network, err := n.prepare(c, &t, &s)
			if err != nil {
				return err
			}
			passes := slices.Contains([]string{"sgd", "adagrad", "adam"}, *s.solver)
			if passes && network == nil && !c.flags.Given("iterations") {
				*t.iterations = 100
			}
			inputs := slices.Concat(places("the data", c.args...), places("the model to start from", *initial),
				places("the loss transducer", *l.transducer), places("the development set", *development))
			if !sequence.IsPreset(*s.templates) {
				inputs = append(inputs, place{"the templates", *s.templates})
			}
			return t.run(c, "sequence "+*objective, inputs, func(workers int, control run.Control) (*fitted, error) {
				examples, format, err := d.read(c, c.args)
				if err != nil {
					return nil, err
				}
				o, err := s.options(c, format, workers)
				if err != nil {
					return nil, err
				}
				if o.Kind, err = sequence.ParseKind(*objective); err != nil {
					return nil, err
				}
				if *l2 < 0 || *l1 < 0 || *beta < 0 {
					return nil, errors.New("flags --l2, --l1 and --beta must not be negative")
				}
				if *gamma == 0 && o.Kind != sequence.CrossEntropy && o.Kind != sequence.Risk {
					return nil, errors.New("flag --gamma: a weight of 0 leaves no loss; use --objective cross-entropy")
				}
				notes, err := d.known(c, examples)
				if err != nil {
					return nil, err
				}
				if o.Partial = *d.partial; o.Solver == sequence.Bundle && *beta > 0 &&
					o.Kind == sequence.MaxMargin && o.Partial {
					return nil, errors.New("flag --beta: with --partial and --solver bundle max-margin is not smoothed; " +
						"leave the flag out, or take lbfgs")
				}
				if o.Relax, o.RelaxFolds, err = relaxation(); err != nil {
					return nil, err
				}
				o.Gamma, o.Beta, o.L2, o.L1, o.Control = *gamma, *beta, amount(*l2), *l1, control
				if *l.transducer != "" && *l.loss != "transducer" {
					return nil, errors.New("flag --transducer: the loss is another; give --loss=transducer, too")
				}
				why := "the objective is " + *objective
				if o.Kind != sequence.MaxMargin {
					if err := c.idle(why, "beta"); err != nil {
						return nil, err
					}
				}
				switch o.Kind {
				case sequence.CrossEntropy:
					if c.flags.Given("loss") {
						return nil, errors.New("flag --loss: cross-entropy has none; give an --objective")
					}
					if err := l.unused(c); err != nil {
						return nil, err
					}
					if err := c.idle(why, "gamma"); err != nil {
						return nil, err
					}
				default:
					if err := l.unused(c, *l.loss); err != nil {
						return nil, err
					}
					if o.Kind == sequence.Risk {
						if err := c.idle(why, "gamma"); err != nil {
							return nil, err
						}
					}
					if o.Loss, err = l.value(c, *l.loss, examples); err != nil {
						return nil, err
					}
				}
				if o.Sampled, err = drawn(c, o.Kind); err != nil {
					return nil, err
				}
				if *initial != "" {
					if o.Init, err = c.sequenceModel(*initial); err != nil {
						return nil, err
					}
					if f := o.Init.Format(); f.Known() && (f.Columns != format.Columns || f.Label != format.Label) {
						return nil, fmt.Errorf("flag --init: %s was trained on other columns (%s) than these (%s): its "+
							"weights would be of other words", *initial, f, format)
					}
				}
				o.Network = network
				if *development == "" {
					err = c.idle("it needs --dev", "patience")
				} else if *patience < 0 {
					err = errors.New("flag --patience must not be negative")
				} else if o.Dev, _, err = d.read(c, []string{*development}); err == nil {
					o.Control.Stop.Patience = int(*patience)
					c.foreignLabels(o.Dev, labelsOf(examples), "the training data")
				}
				if err != nil {
					return nil, err
				}
				// Nearly all memory is taken while training is prepared, and kept.
				defer debug.SetGCPercent(debug.SetGCPercent(10))
				sequences := len(examples)
				m, r, err := sequence.Train(examples, o)
				if err != nil {
					return nil, err
				}
				weights, nonzero := m.Size()
				details := map[string]any{"sequences": sequences, "labels": len(m.Labels()), "weights": weights,
					"nonzero": nonzero, "training": m.Training()}
				if _, parameters, ok := m.Network(); ok {
					details["network_parameters"] = parameters
				}
				return &fitted{result: r, write: m.Write, notes: notes, details: details}, nil
			})
		}
	},
}

// sampledFlags defines the flags of sampled gradients; the function returns what they say, nil for
// exact machines.
func sampledFlags(fs *flags.Set) func(c *call, kind sequence.Kind) (*sequence.Sampling, error) {
	gradients := fs.Enum("gradients", "exact", []string{"exact", "sampled"}, "Gradients of losses by exact "+
		"machines, or without a band by Gibbs sampling")
	sweeps := fs.Int("sweeps", 32, 60, "Sweeps of 64 chains for a sampled gradient of a margin")
	passes := fs.Int("passes", 32, 16, "Samples of 64 labellings for a sampled gradient of the risk")
	return func(c *call, kind sequence.Kind) (*sequence.Sampling, error) {
		if *gradients == "exact" {
			return nil, c.idle("it needs --gradients sampled", "sweeps", "passes")
		}
		if *sweeps < 2 || *sweeps > 100_000 || *passes < 1 || *passes > 100_000 {
			return nil, errors.New("flags --sweeps and --passes are from 2 and 1 to 100000")
		}
		if err := c.idle("sampled gradients have no band", "band"); err != nil {
			return nil, err
		}
		unused := "passes"
		if kind == sequence.Risk {
			unused = "sweeps"
		}
		if err := c.idle("the objective is "+kind.String(), unused); err != nil {
			return nil, err
		}
		return &sequence.Sampling{Sweeps: int(*sweeps), Passes: int(*passes)}, nil
	}
}

// known says how many labels of examples are known, if only some may be; it warns where they
// look as if that was meant.
func (s *sentences) known(c *call, examples []sequence.Example) ([]string, error) {
	known, marks, all, whole := 0, 0, 0, 0
	for i := range examples {
		before := all - known
		for _, y := range examples[i].Labels {
			all++
			if y != "" {
				known++
			}
			if y == "?" {
				marks++
			}
		}
		if all-known == before {
			whole++
		}
	}
	if !s.some() {
		if marks > 0 {
			c.Warn(c.prog, "%d of %d tokens have the label ?, which is learnt like any other; with --partial it "+
				"says that the label is not known", marks, all)
		}
		return nil, nil
	}
	if known == 0 {
		return nil, fmt.Errorf("flag --partial: none of the %d tokens has a label that is known", all)
	}
	return []string{fmt.Sprintf("%d of %d tokens have a label that is known, and %d of %d sentences all of them",
		known, all, whole, len(examples))}, nil
}

// sequenceModel reads a model file.
func (c *call) sequenceModel(name string) (*sequence.Model, error) {
	m, _, err := load(c, name, "sequence train", sequence.Read)
	return m, err
}

// decoder holds the flags that say which labelling is given out.
type decoder struct {
	decoding *string
	list     *int64
	loss     lossFlags
}

// maxList bounds --list: min-risk compares every two of the list.
const maxList = 20000

func (d *decoder) define(fs *flags.Set) {
	d.decoding = fs.Enum("decode", "viterbi", []string{"viterbi", "min-risk"},
		"Labels of the best score, or of the least expected --loss over the --list best")
	d.list = fs.Int("list", 32, 50, "Labellings that min-risk looks at, at most 20000; its time grows with "+
		"their square")
	d.loss.define(fs, "Loss that min-risk expects")
}

// check refuses flags that are out of range or do nothing.
func (d *decoder) check(c *call) error {
	if *d.list < 1 || *d.list > maxList {
		return fmt.Errorf("flag --list: %d is not between 1 and %d", *d.list, maxList)
	}
	if *d.decoding == "viterbi" {
		return c.idle("it needs --decode min-risk", append([]string{"list", "loss"}, allLossFlags...)...)
	}
	if err := c.idle("min-risk takes the exact loss", "band", "exact", "columns"); err != nil {
		return err
	}
	return d.loss.unused(c, *d.loss.loss)
}

// labeller returns what labels inputs with a tagger of m.
func (d *decoder) labeller(c *call, m *sequence.Model) (func(t *sequence.Tagger,
	in *sequence.Input) ([]string, error), error) {
	if *d.decoding == "viterbi" {
		return (*sequence.Tagger).Viterbi, nil
	}
	o := &sequence.RiskOptions{List: int(*d.list), Ctx: c.ctx}
	var err error
	if *d.loss.loss == "transducer" {
		if err = d.loss.check(); err == nil {
			o.Transducer, err = d.loss.user(c, m.Labels(), "of the model")
		}
	} else {
		o.Places, err = d.loss.between(c, m.Labels())
	}
	if err != nil {
		return nil, err
	}
	return func(t *sequence.Tagger, in *sequence.Input) ([]string, error) {
		u, _, err := t.MinRisk(in, o)
		return u, err
	}, nil
}

var sequencePredict = &command{
	name: "sequence predict", args: "[input [output]]", min: 0, max: 2,
	summary: "Labels sentences with a model.",
	about: `
Output is the input with the labels as one more column, or replacing the column that
--label names. For CoNLL-U they replace UPOS unless --label says otherwise; everything
else is unchanged. --nbest writes JSON lines instead: a line for each sentence with its
best labellings. --marginals adds the probability of each label, as one more column (CoNLL-U: in
MISC; crfsuite: behind the label), and --marginals_all those of all labels. Input is
read and answered sentence by sentence, so it may be a pipe of any length.
Lines must have the columns that the model was trained on. That of the label may be
missing, and is not read.
A sentence with bytes that are not UTF-8, or a NUL, leaves empty lines in the output. All such
lines are named at the end, and the exit status is then not 0.

Example:

  learn sequence predict new.conllu labelled.conllu --model pos.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var s sentences
		var d decoder
		model := fs.String("model", "", "File of the model; needed")
		s.ready = true
		s.define(fs, "")
		d.define(fs)
		var p predicting
		p.marginals = fs.Bool("marginals", false, "Write the probability of each label behind it")
		p.all = fs.Bool("marginals_all", false, "Write those of all labels, too, as label:probability")
		p.nbest = fs.Int("nbest", 32, 0, "Write at most this many best labellings, with scores and "+
			"probabilities, as JSON lines")
		return func(c *call) error {
			m, err := c.sequenceModel(*model)
			if err != nil {
				return err
			}
			if err := d.check(c); err != nil {
				return err
			}
			if *p.nbest < 0 {
				return errors.New("flag --nbest must not be negative")
			}
			if *p.nbest > 0 {
				if err := c.idle("--nbest lists the labellings of best score", "decode"); err != nil {
					return err
				}
			}
			if err := apart([]place{{"the input", c.arg(0)}, {"the model", *model}},
				[]place{{"the output", c.arg(1)}}); err != nil {
				return err
			}
			label, err := d.labeller(c, m)
			if err != nil {
				return err
			}
			s.follow(m, *model)
			p.tagger, p.label, p.labels, p.number = m.Tagger(), label, m.Labels(), map[string]int{}
			for k, y := range p.labels {
				p.number[y] = k
			}
			wrong := wrongLines{what: "lines"}
			err = c.Output(c.arg(1), func(w io.Writer) error {
				return s.eachPart(c, c.arg(0), &wrong, func(u *unlabelled) error {
					if err := p.predict(c, w, u); err != nil {
						return err
					}
					if f, ok := w.(interface{ Flush() error }); ok {
						return f.Flush()
					}
					return nil
				})
			})
			if err != nil {
				return err
			}
			return wrong.err()
		}
	},
}

// predicting is what predict writes, and by what.
type predicting struct {
	nbest          *int64
	marginals, all *bool
	tagger         *sequence.Tagger
	label          func(*sequence.Tagger, *sequence.Input) ([]string, error)
	labels         []string       // of the model
	number         map[string]int // their places
}

// predict writes a part of the input with labels, or their n-best lists.
func (p *predicting) predict(c *call, w io.Writer, u *unlabelled) error {
	if *p.nbest > 0 {
		return p.lists(c, w, u)
	}
	return u.write(w, func(k int) (tokens, error) {
		if err := c.ctx.Err(); err != nil {
			return tokens{}, &stopped{"the output is not complete"}
		}
		of, err := p.tokens(u.input(k))
		if err != nil && c.ctx.Err() != nil {
			err = &stopped{"the output is not complete"}
		}
		return of, err
	})
}

// tokens labels a sentence.
func (p *predicting) tokens(in *sequence.Input) (of tokens, err error) {
	if of.labels, err = p.label(p.tagger, in); err != nil || !*p.marginals && !*p.all {
		return of, err
	}
	m, err := p.tagger.Marginals(in)
	if err != nil {
		return of, err
	}
	for t, y := range of.labels {
		text := fmt.Appendf(nil, "%.6f", m.P[t][p.number[y]])
		if *p.all {
			for j, q := range m.P[t] {
				text = dataset.AppendEscaped(append(text, '\t'), p.labels[j])
				text = fmt.Appendf(text, ":%.6f", q)
			}
		}
		of.more = append(of.more, string(text))
	}
	return of, nil
}

// lists writes the n-best lists of a part of the input, a line of JSON for each sentence.
func (p *predicting) lists(c *call, w io.Writer, u *unlabelled) error {
	type entry struct {
		Labels      []string  `json:"labels"`
		Score       float64   `json:"score"`
		Probability float64   `json:"probability"`
		Posterior   *float64  `json:"posterior,omitempty"` // among all labellings
		Marginals   []float64 `json:"marginals,omitempty"` // of its labels
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for k := range u.len() {
		if err := c.ctx.Err(); err != nil {
			return &stopped{"the output is not complete"}
		}
		list, err := p.tagger.NBest(u.input(k), int(*p.nbest))
		if err != nil {
			return err
		}
		line := struct {
			Line      int                  `json:"line"`
			List      []entry              `json:"nbest"`
			Marginals []map[string]float64 `json:"marginals,omitempty"` // of all labels, by token
		}{Line: u.lineOf(k)}
		var m *sequence.Marginals
		if *p.marginals || *p.all {
			if m, err = p.tagger.Marginals(u.input(k)); err != nil {
				return err
			}
		}
		for _, x := range list {
			one := entry{Labels: x.Labels, Score: x.Score, Probability: x.Probability}
			if m != nil {
				posterior := math.Min(1, math.Exp(x.Score-m.LogZ))
				one.Posterior = &posterior
				for t, y := range x.Labels {
					one.Marginals = append(one.Marginals, m.P[t][p.number[y]])
				}
			}
			line.List = append(line.List, one)
		}
		if *p.all {
			for _, row := range m.P {
				of := map[string]float64{}
				for j, q := range row {
					of[p.labels[j]] = q
				}
				line.Marginals = append(line.Marginals, of)
			}
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// input is sentence k.
func (u *unlabelled) input(k int) *sequence.Input {
	source := fmt.Sprintf("%s:%d", u.shown, u.lineOf(k))
	if u.ready != nil {
		return &sequence.Input{Attributes: u.ready[k].Attributes, Source: source}
	}
	return &sequence.Input{Columns: u.list[k].Tokens, Source: source}
}

// labelsOf returns the labels of examples, sorted.
func labelsOf(examples []sequence.Example) []string {
	seen := map[string]bool{}
	for i := range examples {
		for _, y := range examples[i].Labels {
			seen[y] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// foreignLabels warns of labels that are not among those known, which can only be wrong.
func (c *call) foreignLabels(examples []sequence.Example, known []string, of string) {
	has := map[string]bool{"": true} // what is not known is no label
	for _, y := range known {
		has[y] = true
	}
	count, first, all := map[string]int{}, "", 0
	for i := range examples {
		for t, y := range examples[i].Labels {
			if has[y] {
				continue
			}
			if all++; first == "" {
				first = fmt.Sprintf("%q in the sentence at %s, token %d", y, examples[i].Source, t+1)
			}
			count[y]++
		}
	}
	if all == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(count))
	const most = 10
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	c.Warn(c.prog, "%d tokens have labels that %s does not know (%s%s), first %s: they count as wrong", all, of,
		strings.Join(names, ", "), more, first)
}
