package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// boostGroups are the boosters in the order of the overview.
var boostGroups = []struct{ name, title, about string }{
	{"rgb", "regularised gradient boosting", `
Each round draws families of trees (at most n internal nodes, leaf vector of norm at
most lambda), fits a tree of each to the gradient, and adds the one of least loss
plus beta times complexity. The default setting samples rows and columns, takes Newton
steps, and compares candidates on the rows that were left out; --preset=thesis is
the literal algorithm. The flags worth a cross-validation are --rate (0.1, 0.3) and
--columns (0.3, 1).`},
	{"adaboost", "AdaBoost and LogitBoost", `
Weighted majority votes of stumps or small trees, by coordinate descent on the
exponential loss (plain; l1 and deep with penalties) or the logistic loss (logit-cd,
logit-newton).`},
	{"gb", "gradient boosting", `
Trees fitted to the gradient in turn, by Newton steps or least squares.`},
}

func boostCommands() []*command {
	var out []*command
	for _, g := range boostGroups {
		out = append(out, boostTrain(g.name, g.title, g.about), boostPredict(g.name, g.title), boostEval(g.name, g.title), boostCV(g.name, g.title), boostExplain(g.name, g.title))
	}
	return out
}

func boostTrain(group, title, about string) *command {
	return &command{
		name: group + " train", args: "table", min: 1, max: 1,
		summary: fmt.Sprintf("Trains a model on a table: %s.", title),
		about: about + `

The table is CSV, TSV, LIBSVM or IDX, compressed or not; - is standard input. Words
make a column categorical, and blanks, ? and NA are missing values. A target of
words or of few integers is a class (--task says otherwise).

Example:

  learn ` + group + ` train train.csv --target class --valid valid.csv --patience 20 --model my.model`,
		setup: func(fs *flags.Set) func(*call) error {
			var t tableFlags
			t.define(fs)
			apply := settings(group, fs)
			name := fs.String("model", "", "File for the model; needed")
			valid := fs.String("valid", "", "Table on which the loss is watched; the model is the prefix of rounds with the least")
			patience := fs.Int("patience", 32, 0, "Stop when so many rounds brought no lower validation loss; 0 is never")
			checkpoint := fs.String("checkpoint", "", "File for the state of the run, written while it lasts. Without it, the state is written when the run is interrupted, to the model's name with .checkpoint")
			every := fs.Int("checkpoint_every", 32, 10, "Rounds between checkpoints")
			resume := fs.Bool("resume", false, "Go on from the checkpoint; the data and all other flags must be as they were")
			history := fs.String("csv", "", "File for the history of the run: a line for each round")
			picture := fs.String("plot", "", "File for a picture of the losses by round, as SVG")
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
				state := *checkpoint
				if state == "" && !cli.IsStandard(*name) {
					state = *name + ".checkpoint"
				}
				if err := apart(places("the data", c.arg(0), *valid), []place{{"the model", *name}, {"the history", *history}, {"the picture", *picture}, {"the checkpoint", state}}); err != nil {
					return err
				}
				x, err := t.read(c, c.arg(0))
				if err != nil {
					return err
				}
				b := &booster{group: group}
				if err := apply(b, x); err != nil {
					return err
				}
				d, err := boost.NewData(x, b.loss)
				if err != nil {
					return err
				}
				control := boost.Control{Ctx: c.ctx, CheckpointEvery: int(*every), Patience: int(*patience)}
				if control.Workers, err = t.workers(); err != nil {
					return err
				}
				if *valid != "" {
					schema := boost.SchemaOf(x)
					v, err := t.like(c, *valid, &boost.Ensemble{Schema: schema}, true)
					if err != nil {
						return err
					}
					if control.Valid, err = boost.NewData(v, b.loss); err != nil {
						return err
					}
				}
				s := &boostRun{c: c, b: b, model: *name, checkpoint: *checkpoint, resume: *resume, history: *history, picture: *picture, json: *asJSON}
				return s.run(x, d, control)
			}
		},
	}
}

// boostRun is one training with its files.
type boostRun struct {
	c                 *call
	b                 *booster
	model, checkpoint string
	resume, json      bool
	history, picture  string
}

// boostReport is what training reports.
type boostReport struct {
	Model     string  `json:"model"`
	Algorithm string  `json:"algorithm"`
	Loss      string  `json:"loss"`
	Rows      int     `json:"rows"`
	Columns   int     `json:"columns"`
	Rounds    int     `json:"rounds"`
	Terms     int     `json:"terms"`
	Objective float64 `json:"objective"`
	Training  float64 `json:"training_loss"`
	Error     float64 `json:"training_error"`  // per cent; root of the mean squared error for regression
	Valid     any     `json:"validation_loss"` // of the model; null without validation rows
	Seconds   float64 `json:"seconds"`
}

func (s *boostRun) run(x *table.Table, d *boost.Data, control boost.Control) error {
	c := s.c
	path := s.checkpoint
	if path == "" && !cli.IsStandard(s.model) {
		path = s.model + ".checkpoint"
	}
	if s.resume {
		k, err := readBoostCheckpoint(path)
		if err != nil {
			return err
		}
		control.Resume = k
	}
	saved := false
	if path != "" {
		control.Checkpoint = func(k *boost.Checkpoint) error {
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
	var write func(*boost.Progress) error
	if s.history != "" {
		if hist, err = output.Create(s.history, c.Out); err != nil {
			return err
		}
		defer hist.Abort()
		write = boostHistory(hist)
	}
	bar := progress.Start(c.Err, c.prog)
	begin := time.Now()
	var last boost.Progress
	var curve []boost.Progress // of this run: a resumed one has no earlier rounds
	first, total := 0, s.b.rounds()
	control.Watch = func(p *boost.Progress) error {
		if first == 0 {
			first = p.Round
			begin = begin.Add(-time.Duration(p.Seconds*float64(time.Second)) / time.Duration(p.Round)) // the first round counts too
		}
		last = *p
		if s.picture != "" {
			curve = append(curve, *p)
		}
		if write != nil {
			if err := write(p); err != nil {
				return err
			}
		}
		left := time.Since(begin) / time.Duration(p.Round-first+1) * time.Duration(max(total-p.Round, 0))
		bar.Set(p.Round, total, "round %d, loss %.5g, about %v left", p.Round, p.Loss, left.Round(time.Second))
		return nil
	}
	e, err := s.b.train(d, control)
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
	if err := e.Save(out); err != nil {
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
	if s.picture != "" {
		chart := roundsChart(e.Algorithm, e.Loss.Name(), curve)
		if err := c.Output(s.picture, chart.Write); err != nil {
			return err
		}
	}
	if s.checkpoint == "" && s.resume {
		os.Remove(path) // it served its purpose, and was not asked for by name
	}
	m, err := measure(e, d, control.Workers)
	if err != nil {
		return err
	}
	r := boostReport{Model: out.Name(), Algorithm: e.Algorithm, Loss: e.Loss.Name(), Rows: d.Rows(), Columns: len(x.Columns), Rounds: e.Rounds(), Terms: len(e.Terms),
		Objective: last.Objective, Training: m.Loss, Error: m.Error, Seconds: last.Seconds}
	if control.Valid != nil {
		v, err := measure(e, control.Valid, control.Workers)
		if err != nil {
			return err
		}
		r.Valid = v.Loss
	}
	if s.json {
		return c.json(r)
	}
	w := c.Out
	if cli.IsStandard(s.model) {
		w = c.Err // standard output has the model
	}
	fmt.Fprintf(w, "%s: %d rows, %d columns; %d rounds, %d terms, %.1f s\n", r.Algorithm, r.Rows, r.Columns, r.Rounds, r.Terms, r.Seconds)
	fmt.Fprintf(w, "training: loss (%s) %.5g, %s\n", r.Loss, r.Training, m.errorText())
	if r.Valid != nil {
		fmt.Fprintf(w, "validation: loss %.5g after the best %d of %d rounds\n", r.Valid, r.Rounds, last.Round)
	}
	fmt.Fprintf(w, "model: %s\n", r.Model)
	return nil
}

func readBoostCheckpoint(path string) (*boost.Checkpoint, error) {
	if path == "" {
		return nil, errors.New("flag --resume: --checkpoint names no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("flag --resume: %w", err)
	}
	defer f.Close()
	k, err := boost.ReadCheckpoint(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// boostHistory writes a header, then a line for each round.
func boostHistory(w io.Writer) func(*boost.Progress) error {
	out := csv.NewWriter(w)
	begun := false
	g := func(v float64) string {
		if v != v {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return func(p *boost.Progress) error {
		if !begun {
			begun = true
			if err := out.Write([]string{"round", "loss", "objective", "validation_loss", "derivative", "curvature", "step", "family", "splits", "seconds"}); err != nil {
				return err
			}
		}
		if err := out.Write([]string{strconv.Itoa(p.Round), g(p.Loss), g(p.Objective), g(p.Valid), g(p.Derivative), g(p.Curvature), g(p.Step),
			strconv.Itoa(p.Family), strconv.Itoa(p.Splits), strconv.FormatFloat(p.Seconds, 'f', 6, 64)}); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	}
}
