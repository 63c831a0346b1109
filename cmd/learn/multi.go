package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
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
MULTIBOOST: a boosted ensemble for each source, mixed by a classifier Q(k|x) that says
which source a row is likely to come from, so that the largest loss of a source is
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
		apply := multiSettings(fs)
		name := fs.String("model", "", "File for the model; needed")
		unlabelled := fs.String("unlabelled", "", "Table of rows with known sources for Q; a target in it is not read")
		valid := fs.String("valid", "", "Table on which the largest loss of a source is watched; the model is the prefix of rounds with the least")
		patience := fs.Int("patience", 32, 0, "Stop when so many rounds brought no lower validation loss; 0 is never")
		checkpoint := fs.String("checkpoint", "", "File for the state of the run, written while it lasts. Without it, the state is written when the run is interrupted, to the model's name with .checkpoint")
		every := fs.Int("checkpoint_every", 32, 10, "Rounds between checkpoints")
		resume := fs.Bool("resume", false, "Go on from the checkpoint; the data and all other flags must be as they were")
		history := fs.String("csv", "", "File for the history of the run: a line for each round")
		asJSON := fs.Bool("json", false, "Report as JSON")
		return func(c *call) error {
			switch {
			case *name == "":
				return errors.New("flag --model is needed: the file for the model")
			case cli.IsStandard(*name) && (*asJSON || *history == "-"):
				return errors.New("flag --model: standard output cannot hold the model and a report; name a file")
			case *every < 1 || *patience < 0:
				return errors.New("flags --checkpoint_every and --patience: the first must be at least 1, the second not negative")
			case *patience > 0 && *valid == "":
				return errors.New("flag --patience: it counts rounds without a lower validation loss; --valid names the table")
			}
			var o multi.Options
			if err := apply(&o); err != nil {
				return err
			}
			x, err := t.sources(c, c.arg(0))
			if err != nil {
				return err
			}
			withSources(&o, x)
			if o.Workers, err = t.workers(); err != nil {
				return err
			}
			o.Ctx, o.CheckpointEvery, o.Patience = c.ctx, int(*every), int(*patience)
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
			if *valid != "" {
				v, err := t.likeMulti(c, *valid, like, true, true)
				if err != nil {
					return fmt.Errorf("flag --valid: %w", err)
				}
				if o.Valid, err = multi.NewData(v, loss); err != nil {
					return fmt.Errorf("flag --valid: %w", err)
				}
			}
			s := &multiRun{c: c, o: &o, model: *name, checkpoint: *checkpoint, resume: *resume, history: *history, json: *asJSON}
			return s.run(x, d)
		}
	},
}

// multiRun is one training with its files.
type multiRun struct {
	c                 *call
	o                 *multi.Options
	model, checkpoint string
	resume, json      bool
	history           string
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

func (s *multiRun) run(x *table.Table, d *boost.Data) error {
	c, o := s.c, s.o
	path := s.checkpoint
	if path == "" && !cli.IsStandard(s.model) {
		path = s.model + ".checkpoint"
	}
	if s.resume {
		k, err := readMultiCheckpoint(path)
		if err != nil {
			return err
		}
		o.Resume = k
	}
	saved := false
	if path != "" {
		o.Checkpoint = func(k *multi.Checkpoint) error {
			if s.checkpoint == "" && c.ctx.Err() == nil {
				return nil
			}
			if err := c.Output(path, k.Write); err != nil {
				return err
			}
			saved = true
			return nil
		}
	}
	// Both files are opened before the work: a name that cannot be written should
	// say so now.
	out, err := output.Create(s.model, c.Out)
	if err != nil {
		return err
	}
	defer out.Abort()
	var hist *output.File
	var write func(*multi.Progress) error
	if s.history != "" {
		if hist, err = output.Create(s.history, c.Out); err != nil {
			return err
		}
		defer hist.Abort()
		write = multiHistory(hist, x.Sources)
	}
	bar := progress.Start(c.Err, c.prog)
	begin := time.Now()
	total := o.Rounds
	if total == 0 {
		total = 100
	}
	first := 0
	var last multi.Progress
	o.Watch = func(p *multi.Progress) error {
		if first == 0 {
			first, begin = p.Round, time.Now() // Q, which takes its own time, is trained by then
		}
		last = *p
		if write != nil {
			if err := write(p); err != nil {
				return err
			}
		}
		left := time.Duration(0)
		if done := p.Round - first; done > 0 {
			left = time.Since(begin) / time.Duration(done) * time.Duration(max(total-p.Round, 0))
		}
		bar.Set(p.Round, total, "round %d, largest loss %.5g, about %v left", p.Round, p.Max, left.Round(time.Second))
		return nil
	}
	bar.Set(0, total, "domain classifier")
	m, err := multi.Train(d, o)
	bar.Stop()
	if err != nil && c.ctx.Err() != nil {
		if hist != nil && last.Round > 0 {
			if e := hist.Commit(); e != nil {
				return errors.Join(&stopped{"no model was written"}, e)
			}
		}
		if !saved {
			return &stopped{"no round was finished, and nothing written"}
		}
		flag := ""
		if s.checkpoint != "" {
			flag = " --checkpoint " + path
		}
		return &stopped{fmt.Sprintf("no model was written; the state is in %s. To go on, give the same command with --resume%s", path, flag)}
	}
	if err != nil {
		return err
	}
	if err := m.Save(out); err != nil {
		return err
	}
	if hist != nil {
		if err := hist.Commit(); err != nil {
			return err
		}
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if s.checkpoint == "" && s.resume {
		os.Remove(path) // it served its purpose, and was not asked for by name
	}
	return s.report(x, d, m, out.Name(), last.Seconds)
}

func (s *multiRun) report(x *table.Table, d *boost.Data, m *multi.Model, name string, seconds float64) error {
	c, o := s.c, s.o
	r := multiReport{Model: name, Loss: m.Loss.Name(), Rows: m.Rows, Sources: m.Sources, Columns: len(x.Columns), Rounds: m.Trained, Terms: m.Terms(), MeanQ: m.MeanQ, QLogLoss: m.QLogLoss, QLambda: m.QLambda, Warnings: m.Warnings, Seconds: seconds}
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
	if s.json {
		return c.json(r)
	}
	w := c.Out
	if cli.IsStandard(s.model) {
		w = c.Err // standard output has the model
	}
	fmt.Fprintf(w, "multiboost: %d rows of %d sources, %d columns; %d rounds, %d terms, %.1f s\n", d.Rows(), len(r.Sources), r.Columns, r.Rounds, r.Terms, r.Seconds)
	fmt.Fprintf(w, "training: %s\n", r.Training.text(r.Sources))
	if r.Valid != nil {
		fmt.Fprintf(w, "validation: %s\n", r.Valid.text(r.Sources))
	}
	if err := multi.WriteMeanQ(w, r.Sources, r.MeanQ); err != nil {
		return err
	}
	for _, v := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", v)
	}
	fmt.Fprintf(w, "model: %s\n", r.Model)
	return nil
}

// multiHistory writes a header, then a line for each round: losses of the sources, slots
// and steps of the terms.
func multiHistory(w io.Writer, sources []string) func(*multi.Progress) error {
	out := csv.NewWriter(w)
	begun := false
	g := func(v float64) string {
		if v != v {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return func(p *multi.Progress) error {
		if !begun {
			begun = true
			head := []string{"round", "max_loss", "objective", "validation_max", "terms", "slots", "steps", "qbar", "rescued", "seconds"}
			for _, s := range sources {
				head = append(head, "loss "+s)
			}
			if err := out.Write(head); err != nil {
				return err
			}
		}
		var slots, steps, qbar []string
		for _, t := range p.Terms {
			slots, steps, qbar = append(slots, strconv.Itoa(t.Slot+1)), append(steps, g(t.Step)), append(qbar, strconv.FormatFloat(t.Qbar, 'g', 4, 64))
		}
		row := []string{strconv.Itoa(p.Round), g(p.Max), g(p.Objective), g(p.Valid), strconv.Itoa(len(p.Terms)),
			strings.Join(slots, " "), strings.Join(steps, " "), strings.Join(qbar, " "), p.Rescued, strconv.FormatFloat(p.Seconds, 'f', 6, 64)}
		for _, f := range p.Losses {
			row = append(row, g(f))
		}
		if err := out.Write(row); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	}
}
