package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/run"
)

func multiCommands() []*command {
	return []*command{multiTrain, multiPredict, multiEval, multiCV, multiExplain}
}

var multiTrain = &command{
	name: "multiboost train", args: "table", min: 1, max: 1,
	summary: "Trains one classifier for rows of several sources, good on every mixture of them.",
	about: `
MULTIBOOST: a boosted ensemble for each source, mixed by a classifier Q(k|x) of the
source that a row is likely to come from, so that the largest loss of a source is
small. --source names the column of sources; new rows need none. The default is a
softmax of the losses with a slot that all sources share, and a term in every slot a
round; --preset=equal adds one term a round; --preset=thesis is the literal
algorithm of figure 4.1, which is worse and can stall.

--unlabelled names a table of rows with sources, and perhaps without labels, that
train Q as well.

Example:

  learn multiboost train reviews.csv --target label --source shop --model my.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t multiTable
		t.define(fs)
		t.defineAbsent(fs)
		apply := multiSettings(fs)
		unlabelled := fs.String("unlabelled", "", "Table of rows with known sources for Q; a target in it is "+
			"not read")
		tr := training{workers: t.workers}
		tr.defineRounds(fs, "a table", "the largest loss of a source")
		picture := fs.String("plot", "", "File for a picture of the losses of the sources by round, as SVG")
		return func(c *call) error {
			inputs := places("the data", c.arg(0), *tr.valid, *unlabelled)
			if err := apart(inputs, append(tr.outputs(), place{"the picture", *picture})); err != nil {
				return err
			}
			return tr.run(c, "multiboost train", inputs, func(workers int, control run.Control) (*fitted, error) {
				var o multi.Options
				if err := apply(&o); err != nil {
					return nil, err
				}
				x, err := t.sources(c, c.arg(0))
				if err != nil {
					return nil, err
				}
				if err := withSources(&o, x); err != nil {
					return nil, err
				}
				control.Workers = workers
				loss := o.Loss
				if loss == nil {
					loss = boost.Exponential{}
				}
				d, err := multi.NewData(x, loss)
				if err != nil {
					return nil, err
				}
				if *unlabelled != "" {
					if o.Unlabelled, err = t.likeMulti(c, *unlabelled, x, false, true); err != nil {
						return nil, fmt.Errorf("flag --unlabelled: %w", err)
					}
				}
				if *tr.valid != "" {
					v, err := t.likeMulti(c, *tr.valid, x, true, true)
					if err == nil {
						o.Valid, err = multi.NewData(v, loss)
					}
					if err != nil {
						return nil, fmt.Errorf("flag --valid: %w", err)
					}
				}
				m, _, err := multi.Train(d, &o, &control)
				if err != nil {
					return nil, err
				}
				if *picture != "" {
					chart := lossesChart(m)
					if err := c.Output(*picture, chart.Write); err != nil {
						return nil, err
					}
				}
				report, err := newMultiReport(cmp.Or(*tr.model, "-"), &o, x, d, m, workers)
				return &fitted{write: m.Write, own: report}, err
			})
		}
	},
}

// multiReport is what training reports.
type multiReport struct {
	Model    string        `json:"model"`
	Loss     string        `json:"loss"`
	Rows     []int         `json:"rows"` // of each source
	Sources  []string      `json:"sources"`
	Columns  int           `json:"columns"`
	Rounds   int           `json:"rounds"`
	Terms    int           `json:"terms"`
	Losses   []float64     `json:"training_losses"`
	Training *multiMeasure `json:"training"`
	Valid    *multiMeasure `json:"validation,omitempty"`
	MeanQ    [][]float64   `json:"mean_q"`
	QLogLoss float64       `json:"q_log_loss,omitempty"`
	QLambda  float64       `json:"q_lambda,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Seconds  float64       `json:"seconds"`
}

// newMultiReport describes a training.
func newMultiReport(file string, o *multi.Options, x *table.Table, d *boost.Data, m *multi.Model,
	workers int) (*learner.Report, error) {
	r := &multiReport{Model: file, Loss: m.Loss.Name(), Rows: m.Rows, Sources: m.Sources,
		Columns: len(x.Columns), Rounds: m.Trained, Terms: m.Terms(), MeanQ: m.MeanQ, QLogLoss: m.QLogLoss,
		QLambda: m.QLambda, Warnings: m.Warnings, Seconds: m.Seconds}
	if n := len(m.History); n > 0 && m.Trained > 0 {
		r.Losses = m.History[m.Trained-1]
	}
	var err error
	if r.Training, err = measureMulti(m, d, &o.Target, workers, 0); err != nil {
		return nil, err
	}
	out := &learner.Report{Data: r, Lines: []string{fmt.Sprintf(
		"multiboost: %d rows of %d sources, %d columns; %d rounds, %d terms, %.1f s", d.Rows(), len(r.Sources),
		r.Columns,
		r.Rounds, r.Terms, r.Seconds), fmt.Sprintf("training: %s", r.Training.text(r.Sources))}}
	if o.Valid != nil {
		if r.Valid, err = measureMulti(m, o.Valid, &o.Target, workers, 0); err != nil {
			return nil, err
		}
		out.Lines = append(out.Lines, fmt.Sprintf("validation: %s", r.Valid.text(r.Sources)))
	}
	var q strings.Builder
	if err := writeMeanQ(&q, r.Sources, r.MeanQ); err != nil {
		return nil, err
	}
	out.Lines = append(out.Lines, strings.TrimSuffix(q.String(), "\n"))
	for _, v := range r.Warnings {
		out.Lines = append(out.Lines, "warning: "+v)
	}
	return out, nil
}
