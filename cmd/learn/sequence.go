package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

// lossFlags choose a loss of sequences.
type lossFlags struct {
	loss        *string
	band, exact *int64
	n           *int64
	plus        *float64
	transducer  *string
}

var lossNames = []string{"hamming", "edit", "smith-waterman", "ngram", "transducer"}

func (l *lossFlags) define(fs *flags.Set) {
	l.loss = fs.Enum("loss", "hamming", lossNames, "Loss of margins and risk")
	l.band = fs.Int("band", 32, 2, "Alignments of edit and smith-waterman losses stay within so many positions of the diagonal, where a sequence is longer than --exact; 0 is exact for all, which grows exponentially with the length")
	l.exact = fs.Int("exact", 32, 8, "Sequences up to this length have the exact loss")
	l.n = fs.Int("ngram", 32, 2, "Labels of an n-gram")
	l.plus = fs.Float("ngram_plus", 1, "The n-gram loss is -log(common n-grams + this); 0 excludes what shares none. So with sums over a transducer's paths")
	l.transducer = fs.String("transducer", "", "Machine of the loss transducer: input side the prediction, output side the truth, labels by its symbol tables; over tropical weights the least cost, over real64 or log weights -log of the sum")
}

// value returns the loss of a name, over the labels of the examples; nil is Hamming's.
func (l *lossFlags) value(c *call, name string, examples []sequence.Example) (losses.Loss, error) {
	if *l.band < 0 || *l.exact < 0 || *l.n < 1 || *l.n > 16 || !(*l.plus >= 0) {
		return nil, errors.New("flags --band, --exact and --ngram_plus must not be negative, and --ngram is between 1 and 16")
	}
	edit := losses.Unit
	switch name {
	case "transducer":
		if *l.transducer == "" {
			return nil, errors.New("flag --transducer is needed: the machine of the loss")
		}
		return transducerLoss(c, *l.transducer, *l.plus, examples)
	case "hamming":
		return nil, nil
	case "ngram":
		return losses.NGram{N: int(*l.n), C: *l.plus}, nil
	case "smith-waterman":
		edit = losses.SmithWaterman
	}
	if *l.band == 0 {
		return edit, nil
	}
	return sequence.LongEdit{Edit: edit, Exact: max(1, int(*l.exact)), Band: int(*l.band)}, nil
}

// scored holds the flags that say what a sequence model looks at.
type scored struct {
	templates       *string
	order, minCount *int64
	observed        *bool
	solver          *string
	memory, batch   *int64
	rate, decay     *float64
	seed            *uint64
	machines        *int64
}

func (s *scored) define(fs *flags.Set) {
	s.templates = fs.String("templates", autoTemplates, "Features: a file of templates (as of CRF++), tagging, chunking, or auto: chunking for three or more columns, else tagging")
	s.order = fs.Int("order", 32, 2, "Labels of a window, 1 to 3")
	s.minCount = fs.Int("min_count", 32, 1, "Features seen less often in training are left out")
	s.observed = fs.Bool("observed", false, "Weights only for labels that a feature was seen with: a tenth of the size, often as good")
	s.solver = fs.Enum("solver", "lbfgs", []string{"lbfgs", "gonum-lbfgs", "sgd", "adagrad", "adam"}, "Optimiser")
	s.memory = fs.Int("memory", 32, 10, "Pairs that L-BFGS keeps")
	s.batch = fs.Int("batch", 32, 8, "Sequences of a minibatch")
	s.rate = fs.Float("rate", 0, "Learning rate of sgd, adagrad (0 is 0.1) and adam (0 is 0.001)")
	s.decay = fs.Float("decay", 0, "Decay of the rate of sgd; 0 is one over the minibatches of a pass")
	s.seed = fs.Uint("seed", 1, "Seed of all that is random")
	s.machines = fs.Int("machine_bytes", 64, 1<<30, "Memory for loss machines that are kept between passes")
}

func (s *scored) options(c *call, format string, width, workers int) (*sequence.TrainOptions, error) {
	o := &sequence.TrainOptions{Order: int(*s.order), MinCount: int(*s.minCount), Observed: *s.observed, Memory: int(*s.memory),
		Rate: *s.rate, Decay: *s.decay, Batch: int(*s.batch), Seed: *s.seed, Workers: workers, MachineBytes: *s.machines}
	if *s.order < 1 || *s.minCount < 1 || *s.memory < 1 || *s.batch < 1 || *s.machines < 1 {
		return nil, errors.New("flags --order, --min_count, --memory, --batch and --machine_bytes must be at least 1")
	}
	var err error
	if o.Solver, err = sequence.ParseSolver(*s.solver); err != nil {
		return nil, err
	}
	o.Templates, err = c.templates(*s.templates, format, width)
	return o, err
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
Sentences come as CoNLL columns (a token a line, a blank line after each
sentence) or CoNLL-U. What training minimises is chosen by --objective and
--loss:

  cross-entropy   log Z - score of the labels: the conditional random field
  softmax-margin  the same with --gamma times the loss added to every score;
                  a negative --gamma gives reward-augmented likelihood
  max-margin      the best score with --gamma times the loss added; smooth
                  with --beta, else for the solvers sgd, adagrad and adam
  risk            the expected loss; not convex, start it with --init

plus --l2/2 times the squared and --l1 times the absolute weights.

Example: the labels of the sample in testdata, with the edit distance, exact
up to 8 tokens and within a band of 2 beyond:

  learn sequence train testdata/ud-english-ewt-sample/train.conllu.gz \
      --objective softmax-margin --loss edit --band 2 --model pos.model
  learn sequence eval testdata/ud-english-ewt-sample/test.conllu.gz --model pos.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t training
		var d sentences
		var s scored
		var l lossFlags
		t.define(fs, 100, 1e-5)
		d.define(fs, "")
		s.define(fs)
		objective := fs.Enum("objective", "cross-entropy", []string{"cross-entropy", "softmax-margin", "max-margin", "risk"}, "What training minimises")
		l.define(fs)
		gamma := fs.Float("gamma", 1, "Weight of the loss")
		beta := fs.Float("beta", 0, "Smoothing of max-margin; 0 is none")
		l2 := fs.Float("l2", 1, "Weight of the squares")
		l1 := fs.Float("l1", 0, "Weight of the absolute values")
		initial := fs.String("init", "", "Model whose weights to start from; needed for risk, as a rule")
		return func(c *call) error {
			return t.run(c, "sequence "+*objective, func(workers int, control optim.Control) (*fitted, error) {
				examples, format, width, err := d.read(c, c.args)
				if err != nil {
					return nil, err
				}
				o, err := s.options(c, format, width, workers)
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
				o.Gamma, o.Beta, o.L2, o.L1, o.Control = *gamma, *beta, amount(*l2), *l1, control
				if *l.transducer != "" && *l.loss != "transducer" {
					return nil, errors.New("flag --transducer: the loss is another; give --loss=transducer, too")
				}
				if o.Kind != sequence.CrossEntropy {
					if o.Loss, err = l.value(c, *l.loss, examples); err != nil {
						return nil, err
					}
				} else if c.flags.Given("loss") {
					return nil, errors.New("flag --loss: cross-entropy has none; give an --objective")
				}
				if *initial != "" {
					if o.Init, err = c.sequenceModel(*initial); err != nil {
						return nil, err
					}
				}
				m, r, err := sequence.Train(examples, o)
				if err != nil {
					return nil, err
				}
				weights, nonzero := m.Size()
				return &fitted{result: r, write: m.Write, details: map[string]any{
					"sequences": len(examples), "labels": len(m.Labels()), "weights": weights, "nonzero": nonzero, "training": m.Training()}}, nil
			})
		}
	},
}

// sequenceModel reads a model file.
func (c *call) sequenceModel(name string) (*sequence.Model, error) {
	if name == "" {
		return nil, errors.New("flag --model is needed: a file that `learn sequence train` wrote")
	}
	r, shown, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := sequence.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return m, nil
}

// decoder holds the flags that say which labelling is given out.
type decoder struct {
	decoding *string
	list     *int64
}

func (d *decoder) define(fs *flags.Set) {
	d.decoding = fs.Enum("decode", "viterbi", []string{"viterbi", "min-risk"}, "Labels of the best score, or of the least expected Hamming loss over the --list best")
	d.list = fs.Int("list", 32, 50, "Labellings that min-risk looks at")
}

func (d *decoder) labels(t *sequence.Tagger, in *sequence.Input) ([]string, error) {
	if *d.decoding == "viterbi" {
		return t.Viterbi(in)
	}
	u, _, err := t.MinRisk(in, &sequence.RiskOptions{List: int(*d.list)})
	return u, err
}

var sequencePredict = &command{
	name: "sequence predict", args: "[input [output]]", min: 0, max: 2,
	summary: "Labels sentences with a model.",
	about: `
Output is the input with the labels as one more column, or in place of the
column that --label names; for CoNLL-U in place of UPOS unless --label says
otherwise, everything else untouched. --nbest writes JSON lines instead: a line
for each sentence with its best labellings.

Example:

  learn sequence predict new.conllu labelled.conllu --model pos.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var s sentences
		var d decoder
		model := fs.String("model", "", "File of the model; needed")
		s.define(fs, "")
		d.define(fs)
		nbest := fs.Int("nbest", 32, 0, "Write the best labellings, at most so many, with scores and probabilities, as JSON lines")
		return func(c *call) error {
			m, err := c.sequenceModel(*model)
			if err != nil {
				return err
			}
			if *d.list < 1 || *nbest < 0 {
				return errors.New("flag --list must be at least 1, --nbest not negative")
			}
			u, err := s.readUnlabelled(c, c.arg(0))
			if err != nil {
				return err
			}
			t := m.Tagger()
			return c.Output(c.arg(1), func(w io.Writer) error {
				if *nbest > 0 {
					e := json.NewEncoder(w)
					e.SetEscapeHTML(false)
					for k := range u.list {
						list, err := t.NBest(&sequence.Input{Columns: u.list[k].Tokens}, int(*nbest))
						if err != nil {
							return sentenceError(c.arg(0), u.list[k].Line, err)
						}
						type entry struct {
							Labels      []string `json:"labels"`
							Score       float64  `json:"score"`
							Probability float64  `json:"probability"`
						}
						line := struct {
							Line int     `json:"line"`
							List []entry `json:"nbest"`
						}{Line: u.list[k].Line}
						for _, x := range list {
							line.List = append(line.List, entry{x.Labels, x.Score, x.Probability})
						}
						if err := e.Encode(line); err != nil {
							return err
						}
					}
					return nil
				}
				return u.write(w, func(k int) ([]string, error) {
					if err := c.ctx.Err(); err != nil {
						return nil, &stopped{"nothing was written"}
					}
					labels, err := d.labels(t, &sequence.Input{Columns: u.list[k].Tokens})
					if err != nil {
						return nil, sentenceError(c.arg(0), u.list[k].Line, err)
					}
					return labels, nil
				})
			})
		}
	},
}

func sentenceError(name string, line int, err error) error {
	if name == "" || name == "-" {
		name = "standard input"
	}
	return fmt.Errorf("%s:%d: %w", name, line, err)
}
