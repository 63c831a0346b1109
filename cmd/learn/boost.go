package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// boostGroups are the boosters in the order of the overview.
var boostGroups = []struct{ name, title, about string }{
	{"rgb", "regularised gradient boosting", `
Each round draws families of trees (at most n internal nodes, leaf vector of norm at
most lambda) and fits a tree of each to the gradient. It adds the one of least loss
plus beta times complexity. The default setting samples rows and columns, takes Newton
steps, and compares candidates on the left-out rows; --preset=thesis is the literal
algorithm. A run begins at the best constant. Unless --rounds is given, it has the
number of rounds with the least loss on held-out rows. The flags worth a cross-validation
are --rate (0.1, 0.3) and --columns (0.3, 1).`},
	{"adaboost", "AdaBoost and LogitBoost", `
Weighted majority votes of stumps or small trees, by coordinate descent on the
exponential loss (plain; l1 and deep with penalties) or the logistic loss (logit-cd,
logit-newton). Every threshold of every column is searched. On large tables (from some
100000 rows on) --bins 255 searches those of histograms, several times faster and hardly
worse.`},
	{"gb", "gradient boosting", `
Trees fitted to the gradient in turn, by Newton steps or least squares. Unless --rounds is
given, it has the number of rounds with the least loss on held-out rows.`},
}

func boostCommands() []*command {
	var out []*command
	for _, g := range boostGroups {
		out = append(out, boostTrain(g.name, g.title, g.about), boostPredict(g.name, g.title),
			boostEval(g.name, g.title), boostCV(g.name, g.title), boostExplain(g.name, g.title))
		if g.name == "gb" {
			out = append(out, boostImport, boostExport)
		}
	}
	return out
}

func boostTrain(group, title, about string) *command {
	return &command{
		name: group + " train", args: "table", min: 1, max: 1,
		summary: fmt.Sprintf("Trains a model on a table: %s.", title),
		about: about + `

The table is CSV, TSV, LIBSVM or IDX, compressed or not; - is standard input. Words
make a column categorical, and blanks, ? and NA are missing values. Numbers are float32,
of some 7 digits; values that this makes equal give a warning. A target of
words or of few integers is a class (--task says otherwise). A column of numbers or dates
in another notation (1,5 $12 45% 31.12.2024) is an error that names the flag which
reads it; the model keeps these flags. LIBSVM files of few entries stay sparse and cost
only their entries, except where all thresholds are searched.

Example:

  learn ` + group + ` train train.csv --target class --valid valid.csv --patience 20 --model my.model`,
		setup: func(fs *flags.Set) func(*call) error {
			var t tableFlags
			t.define(fs)
			t.defineAbsent(fs)
			apply := settings(group, fs)
			var f roundFlags
			f.define(fs, "the loss")
			picture := fs.String("plot", "", "File for a picture of the losses by round, as SVG")
			return func(c *call) error {
				if err := f.check(c, places("the data", c.arg(0), *f.valid), place{"the picture", *picture}); err != nil {
					return err
				}
				x, err := t.labelled(c, c.arg(0))
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
				control := boost.Control{Ctx: c.ctx, CheckpointEvery: int(*f.every), Patience: int(*f.patience)}
				if control.Workers, err = t.workers(); err != nil {
					return err
				}
				if *f.valid != "" {
					schema := boost.SchemaOf(x)
					v, err := t.like(c, *f.valid, &boost.Ensemble{Schema: schema}, true)
					if err != nil {
						return err
					}
					if control.Valid, err = boost.NewData(v, b.loss); err != nil {
						return err
					}
				}
				return f.boost(c, b, x, d, control, *picture)
			}
		},
	}
}

// boostReport is what training reports.
type boostReport struct {
	Model     string `json:"model"`
	Algorithm string `json:"algorithm"`
	Loss      string `json:"loss"`
	Rows      int    `json:"rows"`
	Columns   int    `json:"columns"`
	Rounds    int    `json:"rounds"`
	Chosen    bool   `json:"rounds_chosen"` // on held-out rows, --rounds being 0 and --valid not given
	Terms     int    `json:"terms"`
	// null where the rounds of the model were made before it was resumed from a checkpoint of an
	// earlier program
	Objective any     `json:"objective"`
	Training  float64 `json:"training_loss"`
	Error     float64 `json:"training_error"`   // per cent; root of the mean squared error for regression
	Valid     any     `json:"validation_loss"`  // of the model; null without validation rows
	Seconds   float64 `json:"seconds"`          // of the rounds of the model
	Choosing  float64 `json:"choosing_seconds"` // before these: of the choice of their number
}

// boost trains a booster, with all its files.
func (f *roundFlags) boost(c *call, b *booster, x *table.Table, d *boost.Data, control boost.Control,
	picture string) error {
	var err error
	if control.Resume, err = earlier(&f.runFlags, boost.ReadCheckpoint); err != nil {
		return err
	}
	r, err := f.begin(c, 0)
	if err != nil {
		return err
	}
	defer r.abort()
	if f.state() != "" {
		control.Checkpoint = func(k *boost.Checkpoint) error { return r.keep(k.Write) }
	}
	round, seconds, chosenIn, start := 0, 0.0, 0.0, time.Now()
	var history []boost.Progress
	if k := control.Resume; k != nil { // which may have nothing left to do
		round, seconds, history = k.Round, k.Seconds, slices.Clone(k.History)
	}
	control.Watch = func(p *boost.Progress) error {
		if p.Trial {
			chosenIn = time.Since(start).Seconds()
			r.trial(p.Round, p.Of, fmt.Sprintf("loss of held-out rows %.5g", p.Valid))
			return nil
		}
		r.total = p.Of
		round, seconds, history = p.Round, p.Seconds, append(history, *p)
		return r.watch(p.Round, boostHistoryHeader, func() []string { return boostHistoryLine(p) },
			fmt.Sprintf("loss %.5g", p.Loss))
	}
	var said []string // when the progress line is gone
	control.Warn = func(s string) { said = append(said, s) }
	e, err := b.train(d, control)
	r.stopBar()
	for _, s := range said {
		c.Warn(c.prog, "%s: %s", x.Name, s)
	}
	if err := r.end(err, func(w io.Writer) error { return e.Write(w) }); err != nil {
		return err
	}
	if picture != "" {
		chart := roundsChart(e.Algorithm, e.Loss.Name(), history)
		if err := c.Output(picture, chart.Write); err != nil {
			return err
		}
	}
	m, err := measure(c.ctx, e, d, control.Workers)
	if err != nil {
		return err
	}
	report := boostReport{Model: r.out.Name(), Algorithm: e.Algorithm, Loss: e.Loss.Name(), Rows: d.Rows(),
		Columns: len(x.Columns), Rounds: e.Rounds(), Chosen: b.open() && control.Valid == nil, Terms: len(e.Terms),
		Training: m.Loss, Error: m.Error, Seconds: seconds, Choosing: chosenIn}
	for _, p := range history {
		if p.Round == e.Rounds() { // early stopping leaves out the last rounds
			report.Objective = p.Objective
		}
	}
	if control.Valid != nil {
		v, err := measure(c.ctx, e, control.Valid, control.Workers)
		if err != nil {
			return err
		}
		report.Valid = v.Loss
	}
	if *f.asJSON {
		return c.json(report)
	}
	w := r.people()
	chosen := ""
	if report.Chosen {
		chosen = " (chosen on held-out rows)"
		if chosenIn > 0 { // else they were chosen before a run that was resumed
			chosen = fmt.Sprintf(" (chosen on held-out rows in %.1f s)", chosenIn)
		}
	}
	fmt.Fprintf(w, "%s: %d rows, %d columns; %d rounds%s, %d terms, %.1f s\n", report.Algorithm, report.Rows,
		report.Columns, report.Rounds, chosen, report.Terms, report.Seconds)
	fmt.Fprintf(w, "training: loss (%s) %.5g, %s\n", report.Loss, report.Training, m.errorText())
	if report.Valid != nil {
		fmt.Fprintf(w, "validation: loss %.5g after the best %d of %d rounds\n", report.Valid, report.Rounds, round)
	}
	fmt.Fprintf(w, "model: %s\n", report.Model)
	return nil
}

func boostHistoryHeader() []string {
	return []string{"round", "loss", "objective", "validation_loss", "derivative", "curvature", "step", "family",
		"splits", "seconds"}
}

func boostHistoryLine(p *boost.Progress) []string {
	g := cellOf
	return []string{strconv.Itoa(p.Round), g(p.Loss), g(p.Objective), g(p.Valid), g(p.Derivative),
		g(p.Curvature), g(p.Step), strconv.Itoa(p.Family), strconv.Itoa(p.Splits),
		strconv.FormatFloat(p.Seconds, 'f', 6, 64)}
}
