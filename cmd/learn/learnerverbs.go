package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// kind tells the verbs of learners how to read, divide, judge and write examples D with predictions
// P.
type kind[D, P any] interface {
	// phrases names the examples in usage lines and help.
	phrases() phrases
	// about describes the files.
	about() string
	// define defines the flags for reading examples, with training also those for training ones.
	define(fs *flags.Set, training bool)
	// defineWriting defines the flags that say what predict writes.
	defineWriting(fs *flags.Set)
	workers() (int, error)
	// read reads examples to learn from.
	read(c *call, name string) (D, error)
	// like reads examples of a form, a model's or that of others; those to be judged must be
	// labelled.
	like(c *call, name string, form D, labelled bool) (D, error)
	// write writes the predictions of examples; form is the model's, which names classes.
	write(w io.Writer, form, x D, p P) error
	// judge measures predictions of labelled examples. The measure that chooses settings, where
	// less is better, comes first.
	judge(x D, p P) []measured
	// chosenBy lists the names of the measures that cv can choose by, the default first.
	chosenBy(x D) []string
	subset(x D, examples []int) D
	trials(x D, file string, folds, inner, repeats int, seed uint64) ([]evaluate.Trial, error)
	weight(x D, example int) float64
	// fingerprint tells examples with their labels from others.
	fingerprint(x D) string
	size(x D) string
}

// phrases are how help speaks of examples.
type phrases struct {
	file     string // the argument: table
	one      string // a table
	form     string // The table has
	training string // flags of an example of training: --target class
	grid     string // settings of an example of cross-validation: l2=0.1,1,10
}

var ofTables = phrases{"table", "a table", "The table has", "--target class", "l2=0.1,1,10"}

// measured is one figure of an evaluation.
type measured struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // "%" or none
}

func (m measured) String() string {
	unit := ""
	if m.Unit != "" {
		unit = " " + m.Unit
	}
	return fmt.Sprintf("%s %.5g%s", m.Name, m.Value, unit)
}

// contestants are the learners that a cross-validation may set beside one another.
type contestants[D, P any] []learner.Learner[D, P]

// learnerCommands are the verbs of a learner. others are those of its kind, itself included;
// fresh makes a kind, whose flags are its own.
func learnerCommands[D, P any](l learner.Learner[D, P], others contestants[D, P],
	fresh func() kind[D, P]) []*command {
	return []*command{learnerTrain(l, fresh), learnerPredict(l, fresh), learnerEval(l, fresh),
		learnerCV(l, others, fresh), learnerExplain(l, fresh)}
}

func learnerTrain[D, P any](l learner.Learner[D, P], fresh func() kind[D, P]) *command {
	k := fresh()
	return &command{
		name: l.Name() + " train", args: k.phrases().file, min: 1, max: 1,
		summary: fmt.Sprintf("Trains a model on %s: %s.", k.phrases().one, l.Title()),
		about: l.About() + "\n" + k.about() + "\nExample:\n\n  learn " + l.Name() +
			" train train.csv " + k.phrases().training + " --model my.model",
		setup: func(fs *flags.Set) func(*call) error {
			k := fresh()
			k.define(fs, true)
			options := chosenOptions(fs, l.Options)
			t := training{workers: k.workers}
			watched, rounds := l.(learner.Watched[D, P])
			var picture *string
			if rounds {
				t.defineRounds(fs, k.phrases().one, watched.Watches())
				picture = fs.String("plot", "", "File for a picture of the losses by round, as SVG")
			} else {
				settled := 1e-9
				if s, ok := any(l).(learner.Settling); ok {
					settled = s.Settled()
				}
				t.define(fs, 1000, settled)
			}
			return func(c *call) error {
				inputs := places("the data", c.arg(0))
				if rounds {
					inputs = places("the data", c.arg(0), *t.valid)
					if err := apart(inputs, append(t.outputs(), places("the picture", *picture)...)); err != nil {
						return err
					}
				}
				return t.run(c, l.Name()+" train", inputs,
					func(workers int, control run.Control) (*fitted, error) {
						o, err := options()
						if err != nil {
							return nil, err
						}
						x, err := k.read(c, c.arg(0))
						if err != nil {
							return nil, err
						}
						control.Workers = workers
						f := &fitted{}
						control.Warn = func(s string) { c.Warn(c.prog, "%s", s) }
						if rounds { // which say it of the data or the model, not of what happens meanwhile
							control.Warn = func(s string) { f.said = append(f.said, s) }
						}
						var m learner.Model[D, P]
						var r *optim.Result
						var valid D
						if !rounds {
							m, r, err = l.Train(x, o, &control)
						} else if *t.valid != "" {
							if valid, err = k.like(c, *t.valid, x, true); err != nil {
								return nil, fmt.Errorf("flag --valid: %w", err)
							}
						}
						if rounds {
							m, r, err = watched.TrainWatched(x, valid, o, &control)
						}
						if err != nil {
							return f, ofFlag(err, optionNames(l.Options))
						}
						f.write = m.Write
						if own, ok := m.(learner.Reporter[D]); ok {
							f.own, err = own.Report(c.ctx, *t.model, x, valid, workers)
							if err == nil && picture != nil && *picture != "" {
								err = c.Output(*picture, chartOf(f.own.Picture).Write)
							}
							return f, err
						}
						p, err := m.Predict(c.ctx, x, workers)
						if err != nil {
							return f, err
						}
						var texts []string
						figures := k.judge(x, p)
						for _, v := range figures {
							texts = append(texts, v.String())
						}
						f.result, f.details = r, map[string]any{"training": figures}
						f.notes = []string{fmt.Sprintf("on %s, as trained: %s", k.size(x), strings.Join(texts, ", "))}
						return f, nil
					})
			}
		},
	}
}

// ofFlag has an error that begins with the name of an option begin with its flag.
func ofFlag(err error, names []string) error {
	first, _, _ := strings.Cut(err.Error(), " ")
	if slices.Contains(names, strings.TrimSuffix(first, ":")) {
		return fmt.Errorf("flag --%w", err)
	}
	return err
}

// learnt reads the model that a flag names.
func learnt[D, P any](c *call, l learner.Learner[D, P], name string) (learner.Model[D, P], error) {
	m, shown, err := load(c, name, l.Name()+" train", l.Read)
	if made, ok := any(m).(learner.Made); ok && err == nil && made.Maker() != "" && made.Maker() != l.Name() {
		c.Warn(c.prog, "%s: the model is one of %s, not of %s; it is used as it is", shown, made.Maker(), l.Name())
	}
	return m, err
}

// stagedFlag defines --rounds for learners whose models are made round by round. It returns a
// function that returns the model of that many rounds.
func stagedFlag[D, P any](fs *flags.Set, l learner.Learner[D, P]) func(*call,
	learner.Model[D, P]) (learner.Model[D, P], error) {
	if _, ok := l.(learner.Watched[D, P]); !ok {
		return func(_ *call, m learner.Model[D, P]) (learner.Model[D, P], error) { return m, nil }
	}
	rounds := fs.Int("rounds", 32, 0, "Use the terms of this many rounds; 0 is all")
	return func(c *call, m learner.Model[D, P]) (learner.Model[D, P], error) {
		staged, ok := m.(learner.Staged[D, P])
		switch {
		case *rounds < 0:
			return nil, errors.New("flag --rounds: it must not be negative")
		case *rounds == 0 || !ok:
			return m, nil
		case *rounds > int64(staged.Rounds()):
			c.Warn(c.prog, "flag --rounds: the model has %d rounds, and all are used", staged.Rounds())
			return m, nil
		}
		first, err := staged.First(int(*rounds))
		if err != nil {
			return nil, fmt.Errorf("flag --rounds: %w", err)
		}
		return first, nil
	}
}

// applied reads the examples of argument 0, in the form of a model's and perhaps without labels. It
// returns them with the result of do.
func applied[D, P, R any](c *call, k kind[D, P], form D,
	do func(ctx context.Context, x D, workers int) (R, error)) (x D, r R, err error) {
	workers, err := k.workers()
	if err != nil {
		return x, r, err
	}
	if x, err = k.like(c, c.arg(0), form, false); err != nil {
		return x, r, err
	}
	if r, err = do(c.ctx, x, workers); c.ctx.Err() != nil {
		err = &stopped{"nothing was written"}
	}
	return x, r, err
}

func learnerPredict[D, P any](l learner.Learner[D, P], fresh func() kind[D, P]) *command {
	k := fresh()
	return &command{
		name: l.Name() + " predict", args: "[" + k.phrases().file + "]", min: 0, max: 1,
		summary: fmt.Sprintf("Predicts with a model of %s.", l.Title()),
		about: `
` + k.phrases().form + ` the form of the training data; labels may be absent.

Example:

  learn ` + l.Name() + ` predict new.csv --model my.model > predicted.csv`,
		setup: func(fs *flags.Set) func(*call) error {
			k := fresh()
			k.define(fs, false)
			k.defineWriting(fs)
			name := fs.String("model", "", "File with the model; needed")
			to := fs.String("predictions", "", "File for the predictions; standard output when not given")
			first := stagedFlag(fs, l)
			return func(c *call) error {
				if err := apart([]place{{"the data", c.arg(0)}, {"the model", *name}},
					places("the output", *to)); err != nil {
					return err
				}
				m, err := learnt(c, l, *name)
				if err == nil {
					m, err = first(c, m)
				}
				if err != nil {
					return err
				}
				x, p, err := applied(c, k, m.Form(), m.Predict)
				if err != nil {
					return err
				}
				return c.Output(*to, func(w io.Writer) error { return k.write(w, m.Form(), x, p) })
			}
		},
	}
}

// judged is the result of eval for one file.
type judged struct {
	Data    string     `json:"data"`
	Size    string     `json:"size"`
	Figures []measured `json:"measures"`
}

func learnerEval[D, P any](l learner.Learner[D, P], fresh func() kind[D, P]) *command {
	k := fresh()
	return &command{
		name: l.Name() + " eval", args: k.phrases().file + " ...", min: 1, max: -1,
		summary: fmt.Sprintf("Measures a model of %s on labelled data.", l.Title()),
		about: `
One line for each file.

Example:

  learn ` + l.Name() + ` eval test.csv --model my.model`,
		setup: func(fs *flags.Set) func(*call) error {
			k := fresh()
			k.define(fs, false)
			name := fs.String("model", "", "File with the model; needed")
			asJSON := fs.Bool("json", false, "Report as JSON")
			return func(c *call) error {
				m, err := learnt(c, l, *name)
				if err != nil {
					return err
				}
				workers, err := k.workers()
				if err != nil {
					return err
				}
				var all []judged
				for _, path := range c.args {
					x, err := k.like(c, path, m.Form(), true)
					if err != nil {
						return err
					}
					p, err := m.Predict(c.ctx, x, workers)
					if c.ctx.Err() != nil {
						return &stopped{"not all data were measured"}
					}
					if err != nil {
						return err
					}
					all = append(all, judged{path, k.size(x), k.judge(x, p)})
				}
				if *asJSON {
					return c.json(all)
				}
				for _, j := range all {
					fmt.Fprintf(c.Out, "%s: %s", j.Data, j.Size)
					for _, f := range j.Figures {
						fmt.Fprintf(c.Out, ", %v", f)
					}
					fmt.Fprintln(c.Out)
				}
				return nil
			}
		},
	}
}

func learnerExplain[D, P any](l learner.Learner[D, P], fresh func() kind[D, P]) *command {
	return &command{
		name: l.Name() + " explain", args: "", min: 0, max: 0,
		summary: fmt.Sprintf("Says what a model of %s has learnt.", l.Title()),
		about: `
Example:

  learn ` + l.Name() + ` explain --model my.model --top 10`,
		setup: func(fs *flags.Set) func(*call) error {
			name := fs.String("model", "", "File with the model; needed")
			top := fs.Int("top", 32, 20, "Rows of each list; 0 is all")
			asJSON := fs.Bool("json", false, "Report as JSON, whole")
			draw := pictureFlags(fs, l)
			return func(c *call) error {
				if *top < 0 {
					return errors.New("flag --top must not be negative")
				}
				m, err := learnt(c, l, *name)
				if err != nil {
					return err
				}
				if err := draw(c, m, *name); err != nil {
					return err
				}
				return c.sections(m.Explain(), int(*top), *asJSON)
			}
		},
	}
}

// sections writes what a model says of itself.
func (c *call) sections(list []learner.Section, top int, asJSON bool) error {
	if asJSON {
		return c.json(list)
	}
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		if err := writeSection(c.Out, &s, top); err != nil {
			return err
		}
	}
	return nil
}

// writeSection writes a list for people.
func writeSection(w io.Writer, s *learner.Section, top int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(s.Columns, "\t"))
	for i, row := range s.Rows {
		if top > 0 && i == top {
			break
		}
		for j, cell := range row {
			if j > 0 {
				fmt.Fprint(t, "\t")
			}
			if v, ok := cell.(float64); ok {
				fmt.Fprintf(t, "%.5g", v)
			} else {
				fmt.Fprint(t, cell)
			}
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if top > 0 && len(s.Rows) > top {
		fmt.Fprintf(w, "(%d more; --top 0 lists all)\n", len(s.Rows)-top)
	}
	if s.Note != "" {
		fmt.Fprintf(w, "(%s)\n", s.Note)
	}
	return nil
}

func learnerCV[D, P any](l learner.Learner[D, P], others contestants[D, P],
	fresh func() kind[D, P]) *command {
	k := fresh()
	var names []string
	for _, o := range others {
		names = append(names, o.Name())
	}
	return &command{
		name: l.Name() + " cv", args: k.phrases().file, min: 1, max: 1,
		summary: fmt.Sprintf("Cross-validates %s, with a grid of settings.", l.Title()),
		about: `
Nested cross-validation: in every fold the setting that does best on inner folds of its
training part is trained on all of it and tested. --grid lists options with their values.
--versus names other learners (` + strings.Join(names, ", ") + `), each with its own grid, which get the
same folds. They are compared with the first one's by the plain paired t-test and
by the corrected resampled one, which accounts for overlapping training parts.

A long run should have --checkpoint: every fit is kept in that file as it comes, and the
same command with --resume continues from it, to the same table.

Example:

  learn ` + l.Name() + ` cv data.csv ` + k.phrases().training + ` --grid "` + k.phrases().grid + `"`,
		setup: func(fs *flags.Set) func(*call) error {
			k := fresh()
			k.define(fs, true)
			learnerFlags(fs, l.Options)
			grid := fs.String("grid", "", "Settings to choose from: options with their values, such as "+
				"l2=0.1,1,10. A value with commas of its own is written with + between")
			versus := fs.String("versus", "", "Other learners, separated by semicolons, each with its own grid "+
				"behind the name")
			var parts foldFlags
			parts.define(fs, 5)
			file := fs.String("trials", "", "File with trials and inner folds, in place of --folds")
			choose := fs.String("choose", "", "Figure that settings are chosen by, and that is tested; when not "+
				"given, error or RMSE is tested")
			table := fs.String("table", "", "File for the figures of every trial, as CSV")
			picture := fs.String("plot", "", "File for a picture of the errors, as SVG")
			var log fitLog[evaluate.Fitted]
			log.define(fs)
			asJSON := fs.Bool("json", false, "Report as JSON")
			return func(c *call) error {
				if err := apart([]place{{"the data", c.arg(0)}, {"the trials", *file}},
					append(places("the table", *table), place{"the picture", *picture},
						place{"the checkpoint", *log.name})); err != nil {
					return err
				}
				if _, _, _, err := parts.numbers(false); err != nil {
					return err
				}
				workers, err := k.workers()
				if err != nil {
					return err
				}
				x, err := k.read(c, c.arg(0))
				if err != nil {
					return err
				}
				measures := slices.DeleteFunc(k.chosenBy(x), func(name string) bool {
					return lacks(l, name) || slices.ContainsFunc(others, func(o learner.Learner[D, P]) bool {
						return lacks(o, name) && compared(*versus, o.Name())
					})
				})
				var by []int // measures that settings are chosen by; nil is their order
				if own, ok := l.(learner.Choosing); ok && *choose == "" {
					if i := slices.Index(measures, own.ChooseBy()); i > 0 {
						for j := range measures {
							by = append(by, (i+j)%len(measures))
						}
					}
				}
				if *choose != "" {
					i := slices.Index(measures, *choose)
					if i < 0 {
						return fmt.Errorf("flag --choose: %q is none of %s", *choose, strings.Join(measures, ", "))
					}
					measures[0], measures[i] = measures[i], measures[0]
				}
				plan := &evaluate.Plan{Measures: measures, Workers: workers, Hindsight: true,
					Weight: func(i int) float64 { return k.weight(x, i) }}
				var base []string
				for _, n := range optionNames(l.Options) {
					if fs.Given(n) {
						base = append(base, n+"="+fs.Value(n))
					}
				}
				if err := enter(plan, k, x, l, by, base, *grid, fs); err != nil {
					return fmt.Errorf("flag --grid: %w", err)
				}
				for text := range strings.SplitSeq(*versus, ";") {
					name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
					if name == "" {
						continue
					}
					i := slices.IndexFunc(others, func(o learner.Learner[D, P]) bool { return o.Name() == name })
					if i < 0 {
						return fmt.Errorf("flag --versus: there is no learner %q; there are %s", name,
							strings.Join(names, ", "))
					}
					if err := enter(plan, k, x, others[i], by, nil, rest, nil); err != nil {
						return fmt.Errorf("flag --versus: %w", err)
					}
				}
				choice := slices.ContainsFunc(plan.Contestants,
					func(c evaluate.Contestant) bool { return len(c.Grid) > 1 })
				folds, inner, repeats, err := parts.numbers(choice)
				if err != nil {
					return err
				}
				if plan.Trials, err = k.trials(x, *file, folds, inner, repeats, *parts.seed); err != nil {
					return err
				}
				r, err := logged(c, &log, "learner cv fits 1", k.fingerprint(x)+" "+strings.Join(measures, ","),
					len(plan.Trials), func(fitted func(int, string, int)) (*evaluate.Report, error) {
						plan.Known, plan.Save, plan.Done = log.known, log.save(), fitted
						return plan.Run(c.ctx)
					})
				if err != nil {
					return err
				}
				if *table != "" {
					if err := c.Output(*table, func(w io.Writer) error { return writeTrials(w, r) }); err != nil {
						return err
					}
				}
				if *picture != "" {
					if err := c.Output(*picture, errorsChart(r).Write); err != nil {
						return err
					}
				}
				if *asJSON {
					return c.json(r)
				}
				return writeComparison(c.Out, r, k.size(x))
			}
		},
	}
}

// enter adds a learner with a grid to a comparison. Fits run side by side, each on one
// goroutine.
func enter[D, P any](plan *evaluate.Plan, k kind[D, P], x D, l learner.Learner[D, P], by []int, base []string,
	grid string, given *flags.Set) error {
	settings, err := optionGrid(l.Options, base, grid, given)
	if err != nil {
		return err
	}
	name := l.Name()
	for slices.ContainsFunc(plan.Contestants, func(c evaluate.Contestant) bool { return c.Name == name }) {
		name += " " + cmp.Or(strings.Join(strings.Fields(grid), " "), "again")
	}
	e := evaluate.Contestant{Name: name, By: by}
	for _, s := range settings {
		e.Grid = append(e.Grid, evaluate.Setting{Name: s.name, Print: l.Name() + " " + learner.Settings(s.options),
			Fit: func(ctx context.Context, fold dataset.Fold) ([]float64, error) {
				m, _, err := l.Train(k.subset(x, fold.Train), s.options, &run.Control{Ctx: ctx, Workers: 1})
				if err != nil {
					return nil, err
				}
				test := k.subset(x, fold.Test)
				p, err := m.Predict(ctx, test, 1)
				if err != nil {
					return nil, err
				}
				figures := k.judge(test, p)
				values := make([]float64, len(plan.Measures))
				for i, name := range plan.Measures {
					at := slices.IndexFunc(figures, func(f measured) bool { return f.Name == name })
					if at < 0 {
						return nil, fmt.Errorf("%s has no %s", l.Name(), name)
					}
					values[i] = figures[at].Value
				}
				return values, nil
			}})
	}
	plan.Contestants = append(plan.Contestants, e)
	return nil
}

// lacks reports whether the predictions of a learner have no such measure.
func lacks(l any, measure string) bool {
	o, ok := l.(learner.Lacking)
	return ok && slices.Contains(o.Lacks(), measure)
}

// compared reports whether the value of --versus names a learner.
func compared(versus, name string) bool {
	return slices.ContainsFunc(strings.Split(versus, ";"), func(text string) bool {
		first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		return first == name
	})
}

// writeComparison prints a comparison for a person.
func writeComparison(w io.Writer, r *evaluate.Report, size string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "learner\t%s\tdifference\tt\tp\tone-tailed p\tcorrected t\tp\tbest by hindsight\n",
		strings.Join(r.Measures, "\t"))
	for _, s := range r.Standings {
		fmt.Fprint(t, s.Name)
		for _, v := range s.Values {
			fmt.Fprintf(t, "\t%s", metrics.FormatMeanSD(v, 1, 4))
		}
		if s.Plain != nil {
			a, b := &s.Plain[0], &s.Corrected[0]
			fmt.Fprintf(t, "\t%+.4f\t%s\t%s\t%s\t%s\t%s", a.Mean, a.T.Text("%+.2f"), a.P.Text("%.3f"),
				a.OneTailed().Text("%.3f"), b.T.Text("%+.2f"), b.P.Text("%.3f"))
		} else {
			fmt.Fprint(t, "\t\t\t\t\t\t")
		}
		fmt.Fprintf(t, "\t%s (%s)\n", metrics.FormatMeanSD(s.BestValues, 1, 4), s.Best)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, %d trials; means with standard deviations. Tests are of %s against the first "+
		"learner, two-tailed unless it says one-tailed; - is undefined. The last column is not nested: its "+
		"setting was chosen on the test parts.\n", size,
		r.Trials, r.Measures[0])
	for _, s := range r.Standings {
		fmt.Fprintf(w, "%s chose %s\n", s.Name, tally(s.Chosen))
	}
	return nil
}

// writeTrials writes a line for each learner and trial.
func writeTrials(w io.Writer, r *evaluate.Report) error {
	out := csv.NewWriter(w)
	if err := out.Write(append([]string{"learner", "trial", "setting"}, r.Measures...)); err != nil {
		return err
	}
	for _, s := range r.Standings {
		for t, setting := range s.Chosen {
			line := []string{s.Name, strconv.Itoa(t + 1), setting}
			for _, v := range s.Values {
				line = append(line, strconv.FormatFloat(v[t], 'g', -1, 64))
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
