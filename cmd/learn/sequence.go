package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/metrics"
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
}

var lossNames = []string{"hamming", "edit", "smith-waterman", "ngram"}

func (l *lossFlags) define(fs *flags.Set) {
	l.loss = fs.Enum("loss", "hamming", lossNames, "Loss of margins and risk")
	l.band = fs.Int("band", 32, 2, "Alignments of edit and smith-waterman losses stay within so many positions of the diagonal, where a sequence is longer than --exact; 0 is exact for all, which grows exponentially with the length")
	l.exact = fs.Int("exact", 32, 8, "Sequences up to this length have the exact loss")
	l.n = fs.Int("ngram", 32, 2, "Labels of an n-gram")
	l.plus = fs.Float("ngram_plus", 1, "The n-gram loss is -log(common n-grams + this); 0 excludes what shares none")
}

// value returns the loss of a name; nil is Hamming's.
func (l *lossFlags) value(name string) (losses.Loss, error) {
	if *l.band < 0 || *l.exact < 0 || *l.n < 1 || *l.n > 16 || !(*l.plus >= 0) {
		return nil, errors.New("flags --band, --exact and --ngram_plus must not be negative, and --ngram is between 1 and 16")
	}
	edit := losses.Unit
	switch name {
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
				if o.Kind != sequence.CrossEntropy {
					if o.Loss, err = l.value(*l.loss); err != nil {
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

// tagged are a model's labels for examples, with its errors.
type tagged struct {
	Symbols metrics.Rate
	Strings metrics.Rate
	Edits   metrics.Rate
	Chunks  metrics.ChunkCounts
	wrong   []float64 // positions, by example
	edits   []float64
	right   []bool // by example
}

func (d *decoder) tag(c *call, m *sequence.Model, examples []sequence.Example, workers int) (*tagged, error) {
	predictions := make([][]string, len(examples))
	taggers := make([]*sequence.Tagger, workers)
	err := optim.Parallel(workers, len(examples), func(w, i int) error {
		if err := c.ctx.Err(); err != nil {
			return &stopped{"nothing was written"}
		}
		if taggers[w] == nil {
			taggers[w] = m.Tagger()
		}
		var err error
		predictions[i], err = d.labels(taggers[w], &examples[i].Input)
		return err
	})
	if err != nil {
		return nil, err
	}
	return count(predictions, examples), nil
}

// count counts the errors of predictions.
func count(predictions [][]string, examples []sequence.Example) *tagged {
	r := &tagged{}
	for i, p := range predictions {
		truth := examples[i].Labels
		wrong, edits := metrics.Symbols(p, truth), metrics.Edits(p, truth)
		r.Symbols, r.Edits = r.Symbols.Add(wrong), r.Edits.Add(edits)
		r.Strings = r.Strings.Add(metrics.Strings(p, truth))
		r.Chunks = r.Chunks.Add(metrics.Chunks(p, truth))
		r.wrong, r.edits = append(r.wrong, float64(wrong.Errors)), append(r.edits, float64(edits.Errors))
		r.right = append(r.right, wrong.Errors == 0)
	}
	return r
}

// areChunks tells labels such as B-NP and O from others.
func areChunks(labels []string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(l, "B-") || strings.HasPrefix(l, "I-") })
}

// evalScore is one model's result in a report.
type evalScore struct {
	Model         string            `json:"model"`
	Tokens        int               `json:"tokens"`
	Sequences     int               `json:"sequences"`
	TokenError    float64           `json:"token_error"`    // per cent
	SequenceError float64           `json:"sequence_error"` // per cent
	EditRate      float64           `json:"edit_rate"`      // edits by labels, per cent
	ChunkF1       *float64          `json:"chunk_f1,omitempty"`
	Converged     *bool             `json:"converged,omitempty"` // of models trained by the same command
	Versus        []evalDifferences `json:"versus,omitempty"`
}

// evalDifferences compares a model with another on the same sequences.
type evalDifferences struct {
	Model    string  `json:"model"`
	TokensP  float64 `json:"p_tokens"` // paired t over sequences, of wrong positions
	EditsP   float64 `json:"p_edits"`
	Fixed    int     `json:"fixed"` // sequences that only this model has right
	Broken   int     `json:"broken"`
	McNemarP float64 `json:"p_sequences"` // exact
}

func newEvalScore(name string, t *tagged, chunks bool) evalScore {
	s := evalScore{Model: name, Tokens: t.Symbols.Base, Sequences: t.Strings.Base, TokenError: 100 * t.Symbols.Value(),
		SequenceError: 100 * t.Strings.Value(), EditRate: 100 * t.Edits.Value()}
	if chunks {
		f := 100 * t.Chunks.F1()
		s.ChunkF1 = &f
	}
	return s
}

// against compares t with an earlier model.
func (s *evalScore) against(name string, t, other *tagged) {
	d := evalDifferences{Model: name, TokensP: 1, EditsP: 1, McNemarP: 1}
	if r, err := metrics.PairedT(t.wrong, other.wrong); err == nil {
		d.TokensP = r.P
	}
	if r, err := metrics.PairedT(t.edits, other.edits); err == nil {
		d.EditsP = r.P
	}
	if r, err := metrics.McNemar(other.right, t.right); err == nil {
		d.Fixed, d.Broken, d.McNemarP = r.OnlyB, r.OnlyA, r.Exact
	}
	s.Versus = append(s.Versus, d)
}

func writeScores(w io.Writer, scores []evalScore) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "model\ttokens wrong %\tsequences wrong %\tedit rate %")
	chunks := scores[0].ChunkF1 != nil
	if chunks {
		fmt.Fprint(t, "\tchunk F1")
	}
	if len(scores) > 1 {
		fmt.Fprint(t, "\tp (tokens)\tp (edits)\tsequences fixed/broken\tp (sequences)")
	}
	fmt.Fprintln(t)
	for _, s := range scores {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f", s.Model, s.TokenError, s.SequenceError, s.EditRate)
		if chunks && s.ChunkF1 != nil {
			fmt.Fprintf(t, "\t%.2f", *s.ChunkF1)
		}
		if len(s.Versus) > 0 {
			v := s.Versus[0]
			fmt.Fprintf(t, "\t%.2g\t%.2g\t%d/%d\t%.2g", v.TokensP, v.EditsP, v.Fixed, v.Broken, v.McNemarP)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d sequences, %d tokens%s\n", scores[0].Sequences, scores[0].Tokens,
		map[bool]string{true: "; tests are paired by sequence, against the first model"}[len(scores) > 1])
	return err
}

var sequenceEval = &command{
	name: "sequence eval", args: "test.conll ...", min: 0, max: -1,
	summary: "Counts a model's errors on labelled sentences, and compares models.",
	about: `
Errors are counted by token, by sequence, by edit distance, and by chunks (as
the conlleval script counts them) when labels look like B-NP. --model may name
several files, separated by commas: each is then compared with the first, by a
paired t-test over sequences and McNemar's test.

Example:

  learn sequence eval test.conllu --model crf.model,edit.model --json`,
	setup: func(fs *flags.Set) func(*call) error {
		var s sentences
		var d decoder
		models := fs.String("model", "", "Files of models, separated by commas; needed")
		s.define(fs, "")
		d.define(fs)
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			workers, err := workersOf()
			if err != nil {
				return err
			}
			if *d.list < 1 {
				return errors.New("flag --list must be at least 1")
			}
			var list []*sequence.Model
			names := strings.Split(*models, ",")
			for _, name := range names {
				m, err := c.sequenceModel(name)
				if err != nil {
					return err
				}
				list = append(list, m)
			}
			examples, _, _, err := s.read(c, c.args)
			if err != nil {
				return err
			}
			chunks := slices.ContainsFunc(list, func(m *sequence.Model) bool { return areChunks(m.Labels()) })
			var results []*tagged
			var scores []evalScore
			for i, m := range list {
				t, err := d.tag(c, m, examples, workers)
				if err != nil {
					return err
				}
				results = append(results, t)
				x := newEvalScore(names[i], t, chunks)
				for k := range i {
					x.against(names[k], t, results[k])
				}
				scores = append(scores, x)
			}
			if *asJSON {
				return c.json(map[string]any{"models": scores})
			}
			return writeScores(c.Out, scores)
		}
	},
}
