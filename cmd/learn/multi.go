package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
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
		var f roundFlags
		f.define(fs, "the largest loss of a source")
		picture := fs.String("plot", "", "File for a picture of the losses of the sources by round, as SVG")
		return func(c *call) error {
			if err := f.check(c, places("the data", c.arg(0), *f.valid, *unlabelled),
				place{"the picture", *picture}); err != nil {
				return err
			}
			var o multi.Options
			if err := apply(&o); err != nil {
				return err
			}
			x, err := t.sources(c, c.arg(0))
			if err != nil {
				return err
			}
			if err := withSources(&o, x); err != nil {
				return err
			}
			if o.Workers, err = t.workers(); err != nil {
				return err
			}
			o.Ctx, o.CheckpointEvery, o.Patience = c.ctx, int(*f.every), int(*f.patience)
			loss := o.Loss
			if loss == nil {
				loss = boost.Exponential{}
			}
			d, err := multi.NewData(x, loss)
			if err != nil {
				return err
			}
			like := x.Schema()
			if *unlabelled != "" {
				if o.Unlabelled, err = t.likeMulti(c, *unlabelled, like, false, true); err != nil {
					return fmt.Errorf("flag --unlabelled: %w", err)
				}
			}
			if *f.valid != "" {
				v, err := t.likeMulti(c, *f.valid, like, true, true)
				if err != nil {
					return fmt.Errorf("flag --valid: %w", err)
				}
				if o.Valid, err = multi.NewData(v, loss); err != nil {
					return fmt.Errorf("flag --valid: %w", err)
				}
			}
			return f.multi(c, &o, x, d, *picture)
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

// multi trains MULTIBOOST, with all its files.
func (f *roundFlags) multi(c *call, o *multi.Options, x *table.Table, d *boost.Data, picture string) error {
	var err error
	if o.Resume, err = earlier(&f.runFlags, multi.ReadCheckpoint); err != nil {
		return err
	}
	total := o.Rounds
	if total == 0 {
		total = 100
	}
	r, err := f.begin(c, total)
	if err != nil {
		return err
	}
	defer r.abort()
	if f.state() != "" {
		o.Checkpoint = func(k *multi.Checkpoint) error { return r.keep(k.Write) }
	}
	seconds := 0.0
	valid := plot.Series{Name: "largest, validation"}
	if k := o.Resume; k != nil { // which may have nothing left to do
		seconds = k.Seconds
		for i, v := range k.ValidHistory {
			valid.X, valid.Y = append(valid.X, float64(k.Round-len(k.ValidHistory)+i+1)), append(valid.Y, v)
		}
	}
	o.Watch = func(p *multi.Progress) error {
		seconds = p.Seconds
		if p.Valid == p.Valid { // NaN without validation rows
			valid.X, valid.Y = append(valid.X, float64(p.Round)), append(valid.Y, p.Valid)
		}
		return r.watch(p.Round, func() []string { return multiHistoryHeader(x.Sources) },
			func() []string { return multiHistoryLine(p) }, fmt.Sprintf("largest loss %.5g", p.Max))
	}
	r.bar.Set(0, total, "domain classifier")
	m, err := multi.Train(d, o)
	if err := r.end(err, func(w io.Writer) error { return m.Write(w) }); err != nil {
		return err
	}
	if picture != "" {
		chart := lossesChart(m)
		if len(valid.X) > 0 {
			chart.Series = append(chart.Series, valid)
		}
		if err := c.Output(picture, chart.Write); err != nil {
			return err
		}
	}
	return r.multiReport(o, x, d, m, seconds)
}

func (run *rounds) multiReport(o *multi.Options, x *table.Table, d *boost.Data, m *multi.Model,
	seconds float64) error {
	c := run.call
	r := multiReport{Model: run.out.Name(), Loss: m.Loss.Name(), Rows: m.Rows, Sources: m.Sources,
		Columns: len(x.Columns), Rounds: m.Trained, Terms: m.Terms(), MeanQ: m.MeanQ, QLogLoss: m.QLogLoss,
		QLambda: m.QLambda, Warnings: m.Warnings, Seconds: seconds}
	if n := len(m.History); n > 0 && m.Trained > 0 {
		r.Losses = m.History[m.Trained-1]
	}
	var err error
	if r.Training, err = measureMulti(m, d, &o.Target, o.Workers, 0); err != nil {
		return err
	}
	if o.Valid != nil {
		if r.Valid, err = measureMulti(m, o.Valid, &o.Target, o.Workers, 0); err != nil {
			return err
		}
	}
	if *run.asJSON {
		return c.json(r)
	}
	w := run.people()
	fmt.Fprintf(w, "multiboost: %d rows of %d sources, %d columns; %d rounds, %d terms, %.1f s\n", d.Rows(),
		len(r.Sources), r.Columns, r.Rounds, r.Terms, r.Seconds)
	fmt.Fprintf(w, "training: %s\n", r.Training.text(r.Sources))
	if r.Valid != nil {
		fmt.Fprintf(w, "validation: %s\n", r.Valid.text(r.Sources))
	}
	if err := writeMeanQ(w, r.Sources, r.MeanQ); err != nil {
		return err
	}
	for _, v := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", v)
	}
	fmt.Fprintf(w, "model: %s\n", r.Model)
	return nil
}

// A history has a line for each round: losses of the sources, slots and steps of the terms.
func multiHistoryHeader(sources []string) []string {
	head := []string{"round", "max_loss", "objective", "validation_max", "terms", "slots", "steps", "qbar",
		"rescued", "seconds"}
	for _, s := range sources {
		head = append(head, "loss "+s)
	}
	return head
}

func multiHistoryLine(p *multi.Progress) []string {
	var slots, steps, qbar []string
	for _, t := range p.Terms {
		slots, steps, qbar = append(slots, strconv.Itoa(t.Slot+1)), append(steps, cellOf(t.Step)),
			append(qbar, strconv.FormatFloat(t.Qbar, 'g', 4, 64))
	}
	line := []string{strconv.Itoa(p.Round), cellOf(p.Max), cellOf(p.Objective), cellOf(p.Valid),
		strconv.Itoa(len(p.Terms)), strings.Join(slots, " "), strings.Join(steps, " "), strings.Join(qbar, " "),
		p.Rescued, strconv.FormatFloat(p.Seconds, 'f', 6, 64)}
	for _, f := range p.Losses {
		line = append(line, cellOf(f))
	}
	return line
}
