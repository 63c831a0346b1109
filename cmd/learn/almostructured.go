package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// structuredFlags say which game is played over objectives of sequences.
type structuredFlags struct {
	objectives, units, mixture, picture, losses *string
	l2, gamma, gap                              *float64
	inner                                       *int64
	rows                                        gameRows
}

func (s *structuredFlags) define(fs *flags.Set, t *training) {
	t.define(fs, 30, 0)
	for _, f := range fs.Flags() {
		if f.Name == "iterations" {
			f.Usage = "Most rounds, each of --inner steps of L-BFGS"
		}
	}
	s.objectives = fs.String("objectives", strings.Join(experiment.StructuredNames(), ","),
		"Objectives: cross-entropy, and margins of wrong labels (hamming), of the edit distance (edit) and of bigrams")
	s.units = fs.Enum("units", "regret", []string{"regret", "baseline", "none"},
		"What objectives are measured in: their excess over what each reaches alone, their value at the start, "+
			"or nothing")
	s.mixture = fs.String("mixture", "", "Train on this mixture instead (a baseline), or on uniform")
	s.l2 = fs.Float("l2", 1, "Weight of the squares, beside the sum over examples")
	s.gamma = fs.Float("gamma", 2, "Weight of losses in margins")
	s.gap = fs.Float("gap", 1e-3, "Certified gap to stop at, in units of the objectives by example")
	s.inner = fs.Int("inner", 32, 200, "Steps of L-BFGS between certificates")
	s.picture = fs.String("plot", "",
		"File for a picture (SVG) of the weights of the objectives, round by round")
	s.losses = fs.String("plot_losses", "", "File for a picture (SVG) of the objectives")
}

// places are the files that are written beside the model.
func (s *structuredFlags) places() []place {
	return []place{{"the picture", *s.picture}, {"the picture of the losses", *s.losses}}
}

// train plays the game over parts. identity describes what the parts were made from, in words
// key=value. write makes the file of a model from its weights and a note on how it was trained.
func (s *structuredFlags) train(identity string, examples int, parts []saddle.Part, joint saddle.Joint,
	along []float64, workers int, control run.Control,
	write func(w []float64, training string) (func(io.Writer) error, error)) (*fitted, error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	o := &minimax.MixtureOptions{Beta1: *s.l2 / float64(examples), Gap: *s.gap, Absolute: true,
		Inner: int(*s.inner), Workers: workers, Rounds: control.Stop.Iterations, Joint: joint, Along: along,
		Memory: 10, Normalization: minimax.Normalization(*s.units)}
	switch *s.mixture {
	case "":
	case "uniform":
		o.Fixed = slices.Repeat([]float64{1 / float64(len(parts))}, len(parts))
	default:
		var err error
		if o.Fixed, err = numbers("mixture", *s.mixture); err != nil {
			return nil, err
		}
		if len(o.Fixed) != len(parts) {
			return nil, fmt.Errorf("flag --mixture: %d weights for the %d --objectives", len(o.Fixed), len(parts))
		}
	}
	what := fmt.Sprintf("%s objectives=%s units=%s l2=%v gamma=%v gap=%v inner=%d mixture=%s", identity,
		strings.Join(names, ","), *s.units, *s.l2, *s.gamma, *s.gap, *s.inner, *s.mixture)
	control = s.rows.watch(control, names)
	o.Control = control
	o.Control.Stop = run.Stop{}
	if k := control.Resume; k != nil {
		if err := k.BelongsTo(what); err != nil {
			return nil, err
		}
	}
	if control.Checkpoint != nil {
		o.Control.Checkpoint = func(k *run.Checkpoint) error { k.Problem = what; return control.Checkpoint(k) }
	}
	f, err := minimax.TrainMixture(parts, o)
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(map[string]any{"objectives": names, "units": *s.units, "lambda": f.Lambda,
		"gamma": *s.gamma, "l2": *s.l2})
	if err != nil {
		return nil, err
	}
	out, err := write(f.W, string(about))
	if err != nil {
		return nil, err
	}
	gap := math.Max(0, f.Result.Certificate.Gap())
	// Regrets count the penalty on both sides: without it they would be negative.
	penalty := 0.0
	for _, v := range f.W {
		penalty += o.Beta1 / 2 * v * v
	}
	for k := range f.Values {
		f.Values[k] += penalty
	}
	r := &optim.Result{F: f.Worst + penalty, Iterations: f.Result.Iterations, Evaluations: f.Result.Evaluations,
		Reason: f.Result.Reason, Note: fmt.Sprintf("certified: the worst mixture plus the penalty (value %.6g) "+
			"is within %.3g of the least possible", f.Worst+penalty, gap)}
	return &fitted{result: r, write: out, details: map[string]any{
		"examples": examples, "weights": len(f.W), "objectives": names, "values": f.Values, "raw": f.Raw,
		"lambda": f.Lambda, "worst": f.Worst + penalty, "penalty": penalty, "units": *s.units, "offsets": f.Offsets,
		"gap": gap}}, nil
}

// check refuses what is out of range.
func (s *structuredFlags) check() error {
	if !(*s.l2 > 0) || !(*s.gamma > 0) || !(*s.gap > 0) || *s.inner < 1 {
		return errors.New("flags --l2, --gamma, --gap and --inner must be positive")
	}
	if len(list(*s.objectives)) == 0 {
		return errors.New("flag --objectives: none given; one at least is needed")
	}
	for k, name := range list(*s.objectives) {
		if !slices.Contains(experiment.StructuredNames(), name) {
			return fmt.Errorf("flag --objectives: there is no objective %q; there are %s", name,
				strings.Join(experiment.StructuredNames(), ", "))
		}
		if slices.Contains(list(*s.objectives)[:k], name) {
			return fmt.Errorf("flag --objectives: %s is there twice", name)
		}
	}
	return nil
}

const aboutStructured = `
Minimises the largest mixture of the --objectives, each measured by its excess over
what it reaches alone (--units). All are convex, and the result comes with a proof of
how far it is from the best possible (gap).
`

var almoG2P = &command{
	name: "almo g2p", args: "train.tsv ...", min: 1, max: -1,
	summary: "Trains one model of pronunciation for many objectives, robust to every mixture of them.",
	about: aboutStructured + `
The model is one of ` + "`learn g2p predict` and `learn g2p eval`" + `; data are as of ` + "`learn g2p train`" + `.

Example:

  learn almo g2p testdata/g2p/ice_train.tsv --model ice.model --plot lambda.svg
  learn g2p eval testdata/g2p/ice_test.tsv --model ice.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t training
		var p preparation
		var s structuredFlags
		s.define(fs, &t)
		p.define(fs)
		return func(c *call) error {
			if err := s.check(); err != nil {
				return err
			}
			if err := apart(slices.Concat(places("the data", c.args...), places("the model", *t.model)),
				s.places()); err != nil {
				return err
			}
			err := t.run(c, "almo g2p", places("the data", c.args...),
				func(workers int, control run.Control) (*fitted, error) {
					problem, pairs, notes, err := p.problem(c, workers, control.Live, func() g2p.Kind { return g2p.Mixture })
					if err != nil {
						return nil, err
					}
					parts, err := experiment.PronouncingObjectives(c.ctx, problem, *s.gamma, list(*s.objectives)...)
					if err != nil {
						return nil, err
					}
					identity := fmt.Sprintf("almo-g2p %s words=%d data=%s", p.identity(), problem.Words(), digestOf(pairs))
					f, err := s.train(identity, problem.Words(), parts, nil, nil, workers, control,
						func(w []float64, _ string) (func(io.Writer) error, error) {
							return problem.Model(g2p.Objective{Kind: g2p.Mixture, Gamma: *s.gamma, L2: *s.l2}, w).Write, nil
						})
					if err != nil {
						return nil, err
					}
					n := problem.Stats
					f.notes = append(f.notes, notes...)
					if cut := max(n.Restricted, n.RestrictedNGram); cut > 0 {
						f.notes = append(f.notes, fmt.Sprintf("%d of %d words have a lattice cut to --max_edges", cut,
							problem.Words()))
					}
					f.details["problem"] = n
					return f, nil
				})
			if err != nil {
				return err
			}
			return s.rows.pictures(c, *s.picture, *s.losses)
		}
	},
}

var almoSequence = &command{
	name: "almo sequence", args: "train.conll ...", min: 1, max: -1,
	summary: "Trains one labeller of sequences for many objectives, robust to every mixture of them.",
	about: aboutStructured + `
The model is one of ` + "`learn sequence predict` and `learn sequence eval`" + `; data are as of
` + "`learn sequence train`" + `. The edit distance is exact up to 4 tokens, and within a band of 1 beyond.

Example:

  learn almo sequence testdata/ud-english-ewt-sample/train.conllu.gz --model pos.model
  learn sequence eval testdata/ud-english-ewt-sample/test.conllu.gz --model pos.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t training
		var d sentences
		var s structuredFlags
		s.define(fs, &t)
		d.define(fs, "")
		templates := fs.String("templates", autoTemplates, "Features: a file of templates (as of CRF++), "+
			"tagging, chunking, or auto")
		minCount := fs.Int("min_count", 32, 1, "Features seen less often in training are left out")
		return func(c *call) error {
			if err := s.check(); err != nil {
				return err
			}
			if *minCount < 1 {
				return errors.New("flag --min_count must be at least 1")
			}
			inputs := places("the data", c.args...)
			if !sequence.IsPreset(*templates) {
				inputs = append(inputs, place{"the templates", *templates})
			}
			if err := apart(slices.Concat(inputs, places("the model", *t.model)), s.places()); err != nil {
				return err
			}
			err := t.run(c, "almo sequence", inputs, func(workers int, control run.Control) (*fitted, error) {
				examples, format, err := d.read(c, c.args)
				if err != nil {
					return nil, err
				}
				o := &sequence.TrainOptions{MinCount: int(*minCount), Workers: workers, Format: format}
				if o.Templates, err = c.templates(*templates, format); err != nil {
					return nil, err
				}
				problem, err := sequence.Prepare(examples, o)
				if err != nil {
					return nil, err
				}
				parts, joint, err := experiment.TaggingObjectives(c.ctx, problem, *s.gamma, list(*s.objectives)...)
				if err != nil {
					return nil, err
				}
				h := sha256.New()
				for _, x := range o.Templates {
					fmt.Fprintf(h, "%q\n", x.String())
				}
				for i := range examples {
					fmt.Fprintf(h, "%q %q\n", examples[i].Columns, examples[i].Labels)
				}
				identity := fmt.Sprintf("almo-sequence min_count=%d sequences=%d data=%s", *minCount, len(examples),
					hex.EncodeToString(h.Sum(nil)[:8]))
				return s.train(identity, problem.Examples(), parts, joint, joint.Scale(*s.l2), workers, control,
					func(w []float64, training string) (func(io.Writer) error, error) {
						m, err := problem.Model(w, training)
						if err != nil {
							return nil, err
						}
						return m.Write, nil
					})
			})
			if err != nil {
				return err
			}
			return s.rows.pictures(c, *s.picture, *s.losses)
		}
	},
}
