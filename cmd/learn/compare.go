package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

var sequenceCompare = &command{
	name: "sequence compare", args: "train.conll ...", min: 1, max: -1,
	summary: "Compares objectives and losses on sentences with labels.",
	about: `
Trains a model for each of --objectives, all to the same stopping rule. Each uses the l2 and
gamma that do best on a part of the training sentences set apart (or on
--heldout_data). With these constants it is fitted again to all
training sentences, including that part (but not --heldout_data, which leaves
all training sentences to the first fit). It is tested on --test, with tests
paired by sentence against the first.

  cross-entropy   the conditional random field
  hamming, edit, smith-waterman, local, ngram, transducer
                  softmax-margin with gamma times that loss
  risk-hamming, risk-edit, ...
                  the expected loss, started from the cross-entropy model

Example, on the sample of English in testdata:

  learn sequence compare testdata/ud-english-ewt-sample/train.conllu.gz \
      --test testdata/ud-english-ewt-sample/test.conllu.gz \
      --objectives cross-entropy,hamming,ngram,edit`,
	setup: func(fs *flags.Set) func(*call) error {
		var d sentences
		var s scored
		var l lossFlags
		testNames := fs.String("test", "", "Files of test sentences, separated by commas; needed")
		heldoutNames := fs.String("heldout_data", "", "Files of sentences that choose constants; without any, a "+
			"part of the training sentences does")
		share := fs.Float("heldout", 0.2, "Part of the training sentences that chooses constants; trained on "+
			"when these are chosen")
		objectives := fs.String("objectives", "cross-entropy,hamming,ngram,edit",
			"Objectives; the others are compared with the first")
		l2 := fs.String("l2", "0.1,0.3,1", "Values of l2 to choose from")
		gamma := fs.String("gamma", "1,3", "Values of gamma to choose from")
		measure := fs.Enum("measure", "tokens", []string{"tokens", "sequences", "edits"},
			"Errors that choose constants")
		iterations := fs.Int("iterations", 32, 200, "Most iterations of a fit")
		relative := fs.Float("stop", 1e-4, "Stop a fit when the objective fell by at most this fraction over "+
			"five iterations")
		asJSON := fs.Bool("json", false, "Report as JSON")
		table, writeTable := tableFlag(fs)
		workersOf := workersFlag(fs)
		d.ready = true
		d.define(fs, "")
		s.define(fs)
		l.constants(fs)
		return func(c *call) error {
			workers, err := workersOf()
			if err != nil {
				return err
			}
			if *testNames == "" {
				return errors.New("flag --test is needed: sentences to test on")
			}
			if *iterations < 1 || !(*share > 0) || *share >= 1 {
				return errors.New("flag --iterations must be at least 1, --heldout between 0 and 1")
			}
			inputs := slices.Concat(places("the data", c.args...), places("the test data", list(*testNames)...),
				places("the held-out data", list(*heldoutNames)...))
			if err := apart(inputs, places("the table", *table)); err != nil {
				return err
			}
			contest := experiment.Contest{Workers: workers, Refit: *heldoutNames == ""}
			switch *measure {
			case "tokens":
				contest.Measure = func(u, truth []string) float64 { return float64(metrics.Symbols(u, truth).Errors) }
			case "sequences":
				contest.Measure = func(u, truth []string) float64 { return float64(metrics.Strings(u, truth).Errors) }
			default:
				contest.Measure = func(u, truth []string) float64 { return float64(metrics.Edits(u, truth).Errors) }
			}
			trial := experiment.Trial{}
			train, format, err := d.read(c, c.args)
			if err != nil {
				return err
			}
			if *heldoutNames != "" {
				trial.Train = train
				if trial.Heldout, _, err = d.read(c, list(*heldoutNames)); err != nil {
					return err
				}
			} else {
				n := max(1, int(*share*float64(len(train))))
				f, err := dataset.Split(len(train), n, rand.New(rand.NewPCG(*s.seed, 1)))
				if err != nil {
					return err
				}
				if len(f.Train) == 0 {
					return errors.New("one sentence cannot be divided; give --heldout_data")
				}
				trial.Train, trial.Heldout = dataset.Pick(train, f.Train), dataset.Pick(train, f.Test)
			}
			if trial.Test, _, err = d.read(c, list(*testNames)); err != nil {
				return err
			}
			base, err := s.options(c, format, 1)
			if err != nil {
				return err
			}
			base.Control.Stop = run.Stop{Iterations: int(*iterations), Relative: amount(*relative)}
			l2s, err := numbers("l2", *l2)
			if err != nil {
				return err
			}
			gammas, err := numbers("gamma", *gamma)
			if err != nil {
				return err
			}
			if slices.Contains(gammas, 0) || slices.ContainsFunc(l2s, func(v float64) bool { return v < 0 }) {
				return errors.New("flags --l2 and --gamma: l2 must not be negative, gamma not 0")
			}
			var used []string
			for _, name := range list(*objectives) {
				used = append(used, strings.TrimPrefix(name, "risk-"))
			}
			if err := l.unused(c, used...); err != nil {
				return err
			}
			for _, name := range list(*objectives) {
				e := experiment.Entry{Name: name, Options: *base, L2: l2s}
				loss, risk := strings.CutPrefix(name, "risk-")
				switch {
				case name == "cross-entropy":
				case !slices.Contains(lossNames, loss):
					return fmt.Errorf("flag --objectives: there is no objective %q; there are cross-entropy, %s, and "+
						"these after risk-", name, strings.Join(lossNames, ", "))
				default:
					e.Options.Kind = sequence.Risk
					if !risk {
						e.Options.Kind, e.Gamma = sequence.SoftmaxMargin, gammas
					}
					if e.Options.Loss, err = l.value(c, loss,
						slices.Concat(trial.Train, trial.Heldout, trial.Test)); err != nil {
						return err
					}
				}
				contest.Entries = append(contest.Entries, e)
			}
			if *heldoutNames != "" {
				if err := c.idle("--heldout_data chooses constants", "heldout"); err != nil {
					return err
				}
			}
			if len(contest.Entries) == 0 {
				return errors.New("flag --objectives: none given")
			}
			bar := progress.Start(c.Err, "sequence compare")
			done := bar.Counter()
			contest.Fitted = func(_ int, e *experiment.Entry, k experiment.Constants, heldout float64, fits int) {
				done(fits, "%s with %v: %.3f held-out errors a sentence", e.Name, k, heldout)
			}
			out, err := contest.Run(c.ctx, []experiment.Trial{trial})
			bar.Stop()
			if c.ctx.Err() != nil {
				return &stopped{"a comparison has no state to keep; start it again, with fewer constants if it takes " +
					"too long"}
			}
			if err != nil {
				return err
			}
			return c.compared(&contest, out[0], trial.Test, writeTable, *asJSON)
		}
	},
}

// compared reports a contest.
func (c *call) compared(contest *experiment.Contest, out []experiment.Outcome, test []sequence.Example,
	writeTable func(*call, func(io.Writer) error) error, asJSON bool) error {
	var results []*tagged
	var scores []evalScore
	for i := range out {
		o := &out[i]
		t := count(o.Predictions, test)
		results = append(results, t)
		x := newEvalScore(fmt.Sprintf("%s %v", contest.Entries[i].Name, o.Chosen), t,
			areChunks(out[0].Model.Labels()))
		x.Converged = &o.Converged
		for k := range i {
			x.against(scores[k].Model, t, results[k])
		}
		scores = append(scores, x)
	}
	if err := writeTable(c, func(w io.Writer) error { return writeScoresCSV(w, scores) }); err != nil {
		return err
	}
	if asJSON {
		return c.json(map[string]any{"models": scores})
	}
	if err := writeScores(c.Out, scores); err != nil {
		return err
	}
	for i := range out {
		if !out[i].Converged {
			fmt.Fprintf(c.Out, "%s: the fit did not converge; more --iterations would change it\n", scores[i].Model)
		}
		if out[i].Edge {
			fmt.Fprintf(c.Out, "%s: chosen at the end of a list of --l2 or --gamma; better ones may lie beyond\n",
				scores[i].Model)
		}
	}
	return nil
}
