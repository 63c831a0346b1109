package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// multiMeasure is how well a model does on rows with labels and sources.
type multiMeasure struct {
	Rows     int        `json:"rows"`
	Errors   []*float64 `json:"errors"` // per cent, by source; null where there are no rows
	Uniform  float64    `json:"uniform"`
	Agnostic float64    `json:"agnostic"`
	Loss     float64    `json:"loss"` // mean over the rows
}

func measureMulti(m *multi.Model, d *boost.Data, target *multi.TargetSet, workers,
	rounds int) (*multiMeasure, error) {
	f, err := m.Scores(d.X, &multi.PredictOptions{Workers: workers, Rounds: rounds})
	if err != nil {
		return nil, err
	}
	e, err := multi.ErrorRates(d, f, target)
	if err != nil {
		return nil, err
	}
	r := &multiMeasure{Rows: d.Rows(), Uniform: 100 * e.Uniform, Agnostic: 100 * e.Agnostic,
		Loss: score.Mean(m.Loss, d.Y, d.W, f, 1)}
	for _, v := range e.Domain {
		if math.IsNaN(v) {
			r.Errors = append(r.Errors, nil)
			continue
		}
		v *= 100
		r.Errors = append(r.Errors, &v)
	}
	return r, nil
}

func (r *multiMeasure) text(sources []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "error %.4g %% uniform, %.4g %% agnostic, loss %.5g;", r.Uniform, r.Agnostic, r.Loss)
	if len(r.Errors) > manySources {
		fmt.Fprintf(&b, " %d sources, --json has them all", len(r.Errors))
		return b.String()
	}
	for k, v := range r.Errors {
		if v == nil {
			fmt.Fprintf(&b, " %s: no rows", sources[k])
			continue
		}
		fmt.Fprintf(&b, " %s %.4g %%", sources[k], *v)
	}
	return b.String()
}

var multiPredict = &command{
	name: "multiboost predict", args: "[table]", min: 0, max: 1,
	summary: "Predicts the rows of a table with a model of MULTIBOOST.",
	about: `
The table has the model's columns, in any order. Target and source may be absent, and
are not used. The output has one line of CSV for each row: the columns of --id, if any, and the
class with its probability (roughly calibrated at best), the scores, or Q, the probability of
each source.

Example:

  learn multiboost predict new.csv --model my.model > classes.csv`,
	setup: func(fs *flags.Set) func(*call) error {
		var t multiTable
		t.define(fs)
		name := fs.String("model", "", "File with the model; needed")
		what := fs.Enum("output", "classes", []string{"classes", "probabilities", "scores", "sources"},
			"What to write")
		to := fs.String("predictions", "", "File for the predictions; standard output when not given")
		rounds := fs.Int("rounds", 32, 0, "Use the terms of this many rounds; 0 is all")
		return func(c *call) error {
			if err := apart([]place{{"the data", c.arg(0)}, {"the model", *name}},
				places("the output", *to)); err != nil {
				return err
			}
			m, err := c.multiPrefix(*name, *rounds)
			if err != nil {
				return err
			}
			x, err := t.likeMulti(c, c.arg(0), m.Table(), false, false)
			if err != nil {
				return err
			}
			workers, err := t.workers()
			if err != nil {
				return err
			}
			q, err := m.QOf(x, workers)
			if err != nil {
				return err
			}
			f, err := m.Scores(x, &multi.PredictOptions{Workers: workers, Rounds: int(*rounds), Q: q})
			if err != nil {
				return err
			}
			if err := c.ctx.Err(); err != nil {
				return &stopped{"nothing was written"}
			}
			k, form := &tableKind{what: what}, m.Table()
			p := &learner.Scores{Outputs: 1, Score: f}
			if *what == "sources" { // which are written as probabilities of classes are
				k.what, form.Classes, p.Probability = new("probabilities"), m.Sources, q
			} else {
				for _, v := range m.Probabilities(f) {
					p.Probability = append(p.Probability, 1-v, v)
				}
			}
			return c.Output(*to, func(w io.Writer) error { return k.write(w, form, x, p) })
		}
	},
}

var multiEval = &command{
	name: "multiboost eval", args: "table ...", min: 1, max: -1,
	summary: "Measures a model of MULTIBOOST on rows with labels and sources.",
	about: `
Prints error rates of the classes that predict names: of each source, their mean (uniform)
and the largest mixture (agnostic; over all mixtures, or those of --low, --high, --vertices).
Each table has one line.

Example:

  learn multiboost eval test.csv --model my.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t multiTable
		t.define(fs)
		name := fs.String("model", "", "File with the model; needed")
		rounds := fs.Int("rounds", 32, 0, "Use the terms of this many rounds; 0 is all")
		target := targetFlags(fs)
		asJSON := fs.Bool("json", false, "Report as JSON")
		return func(c *call) error {
			m, err := c.multiPrefix(*name, *rounds)
			if err != nil {
				return err
			}
			workers, err := t.workers()
			if err != nil {
				return err
			}
			set, err := target()
			if err != nil {
				return err
			}
			if err := set.Check(m.Domains()); err != nil {
				return err
			}
			var all []*multiMeasure
			for _, path := range c.args {
				x, err := t.likeMulti(c, path, m.Table(), true, true)
				if err != nil {
					return err
				}
				d, err := boost.NewData(x, m.Loss)
				if err != nil {
					return err
				}
				r, err := measureMulti(m, d, set, workers, int(*rounds))
				if err != nil {
					return err
				}
				all = append(all, r)
				if !*asJSON {
					fmt.Fprintf(c.Out, "%s: %d rows, %s\n", path, r.Rows, r.text(m.Sources))
				}
			}
			if *asJSON {
				return c.json(all)
			}
			return nil
		}
	},
}

// targetFlags defines the flags of a target set.
func targetFlags(fs *flags.Set) func() (*multi.TargetSet, error) {
	low := fs.String("low", "", "Least share of each source in the target mixture, separated by commas, in "+
		"the sources' order")
	high := fs.String("high", "", "Largest share of each source in the target mixture")
	vertices := fs.String("vertices", "", "Target mixtures, whose hull is the target set: shares separated "+
		"by commas, mixtures by semicolons")
	return func() (*multi.TargetSet, error) {
		s := &multi.TargetSet{}
		var err error
		if *low != "" {
			if s.Lo, err = numbers("low", *low); err != nil {
				return nil, err
			}
		}
		if *high != "" {
			if s.Hi, err = numbers("high", *high); err != nil {
				return nil, err
			}
		}
		if *vertices != "" {
			s.Vertices, err = points("vertices", *vertices)
		}
		return s, err
	}
}
