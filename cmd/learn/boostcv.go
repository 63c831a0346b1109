package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
)

func boostCV(group, title string) *command {
	return &command{
		name: group + " cv", args: "table", min: 1, max: 1,
		summary: fmt.Sprintf("Cross-validates %s, with a grid of settings.", title),
		about: `
Nested cross-validation: in every fold the setting that does best on inner folds of
its training rows is trained on all of them and tested. --grid lists flags with their
values. --versus names other boosters, each with its own grid, which get the same
folds. Their errors are compared with the first one's by the plain paired t-test, two-
and one-tailed (the latter is the thesis' test), and by the corrected resampled one. Trust
the latter: it accounts for overlapping training parts.

A long run should have --checkpoint: every fit is kept in that file as it comes, and the
same command with --resume continues from it, to the same table.

Example:

  learn ` + group + ` cv data.csv --target class --repeats 2` + cvGrid(group) + ` --versus "gb depth=2,4,6 rate=0.03,0.1,0.3"`,
		setup: func(fs *flags.Set) func(*call) error {
			var t tableFlags
			t.define(fs)
			t.defineAbsent(fs)
			apply := settings(group, fs)
			grid := fs.String("grid", "", "Settings to choose from: flags with their values, such as rate=0.1,0.3 "+
				"columns=0.3,1. A value with commas of its own is written with + between: splits=4+8,16+32")
			versus := fs.String("versus", "", "Other boosters, separated by semicolons, with their own settings: "+
				"defaults but for the flags and values behind the name, such as gb depth=2,4;rgb preset=thesis rounds=50")
			var parts foldFlags
			parts.define(fs, 5)
			splits := fs.String("trials", "", "File with trials and inner folds, a line for each row and a "+
				"character for each trial: - for a test row, else its inner fold; in place of --folds")
			rule := fs.Enum("choose", "loss", []string{"loss", "error"},
				"What settings are chosen by; loss is steadier on small tables")
			picture := fs.String("plot", "", "File for a picture of the errors, as SVG")
			var log fitLog[boost.CVFit]
			log.define(fs)
			asJSON := fs.Bool("json", false, "Report as JSON")
			return func(c *call) error {
				if err := apart([]place{{"the data", c.arg(0)}, {"the trials", *splits}},
					append(places("the picture", *picture), place{"the checkpoint", *log.name})); err != nil {
					return err
				}
				x, err := t.labelled(c, c.arg(0))
				if err != nil {
					return err
				}
				o := &boost.CVOptions{Ctx: c.ctx}
				if o.Workers, err = t.workers(); err != nil {
					return err
				}
				if *rule == "error" {
					o.Choice = boost.ByError
				}
				base := &booster{group: group}
				if err := apply(base, x); err != nil {
					return err
				}
				contestants := []boost.Contestant{{Name: group}}
				if contestants[0].Grid, err = gridOf(base, *grid, x, fs); err != nil {
					return fmt.Errorf("flag --grid: %w", err)
				}
				for _, text := range strings.Split(*versus, ";") {
					name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
					if name == "" {
						continue
					}
					if !knownGroup(name) {
						return fmt.Errorf("flag --versus: there is no booster %q; there are rgb, adaboost, gb", name)
					}
					b := &booster{group: name}
					if err := settings(name, flags.New())(b, x); err != nil {
						return fmt.Errorf("flag --versus: %w", err)
					}
					if b.loss.Outputs() != base.loss.Outputs() { // --loss=softmax of two classes
						return fmt.Errorf("flag --versus: %s gives %d score a row, and with --loss=%s there are %d: no loss "+
							"judges both", name, b.loss.Outputs(), base.loss.Name(), base.loss.Outputs())
					}
					k := boost.Contestant{Name: name}
					for slices.ContainsFunc(contestants, func(c boost.Contestant) bool { return c.Name == k.Name }) {
						k.Name += " " + cmp.Or(strings.Join(strings.Fields(rest), " "), "again")
					}
					if k.Grid, err = gridOf(b, rest, x, nil); err != nil {
						return fmt.Errorf("flag --versus: %w", err)
					}
					contestants = append(contestants, k)
				}
				trials, err := trialsFor(x, *splits, &parts, contestants)
				if err != nil {
					return err
				}
				r, err := logged(c, &log, "cv fits 1", fmt.Sprintf("%016x %s", x.Fingerprint(x.Target, x.Weight),
					base.loss.Name()), len(trials), func(fitted func(int, string, int)) (*boost.CVReport, error) {
					o.Known, o.Save, o.Fitted = log.known, log.save(), fitted
					return boost.CrossValidate(x, base.loss, trials, contestants, o)
				})
				if err != nil {
					return err
				}
				if *picture != "" {
					chart := errorsChart(r)
					if err := c.Output(*picture, chart.Write); err != nil {
						return err
					}
				}
				if *asJSON {
					return c.json(r)
				}
				return writeCV(c.Out, r)
			}
		},
	}
}

func cvGrid(group string) string {
	return map[string]string{"rgb": ` --grid "rate=0.1,0.3 columns=0.3,1"`,
		"adaboost": ` --grid "rounds=50,100,200"`, "gb": ` --grid "depth=2,4,6 rate=0.03,0.1,0.3"`}[group]
}

func knownGroup(name string) bool {
	for _, g := range boostGroups {
		if g.name == name {
			return true
		}
	}
	return false
}

// trialsFor reads or draws the divisions.
func trialsFor(x *table.Table, file string, parts *foldFlags,
	contestants []boost.Contestant) ([]table.Trial, error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("flag --trials: %w", err)
		}
		defer f.Close()
		return table.ReadTrials(f, file, x.Rows)
	}
	folds, inner, repeats, err := parts.numbers(slices.ContainsFunc(contestants,
		func(c boost.Contestant) bool { return len(c.Grid) > 1 }))
	if err != nil {
		return nil, err
	}
	return x.Stratified(folds, inner, repeats, *parts.seed)
}

// gridOf makes a trainer of every combination of values. Flags that are given beside the grid
// (nil: none are) and in it would be overruled in every setting.
func gridOf(base *booster, text string, x *table.Table, given *flags.Set) ([]boost.Trainer, error) {
	grid, err := gridSettings(text, func(flag string) error {
		if flag == "preset" && given != nil { // it would undo the flags beside the grid
			return errors.New("preset is no part of a grid: give --preset, or compare the presets with --versus")
		}
		return nil
	}, given)
	if err != nil {
		return nil, err
	}
	var out []boost.Trainer
	for _, g := range grid {
		b := *base
		fs := newFlags()
		apply := settings(base.group, fs)
		if _, err := fs.Parse(g.words); err != nil {
			return nil, err
		}
		loss := b.loss
		if err := apply(&b, x); err != nil {
			return nil, err
		}
		if b.group != "adaboost" && b.loss.Name() != loss.Name() {
			return nil, errors.New("loss is no part of a grid: settings with other losses cannot be compared by it")
		}
		out = append(out, boost.Trainer{Name: g.name, Train: b.train, Settings: b.spelt()})
	}
	return out, nil
}

// writeCV prints the comparison for a person.
func writeCV(w io.Writer, r *boost.CVReport) error {
	scale, unit := 100.0, "error %"
	if !r.Classify {
		scale, unit = 1, "RMSE"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "booster\t%s\tloss\tdifference\tt\tp\tone-tailed p\tcorrected t\tp\tbest by hindsight\n",
		unit)
	for _, c := range r.Contestants {
		fmt.Fprintf(t, "%s\t%s\t%s", c.Name, metrics.FormatMeanSD(c.Error, scale, 2),
			metrics.FormatMeanSD(c.Loss, 1, 4))
		if c.Plain != nil {
			fmt.Fprintf(t, "\t%+.2f\t%s\t%s\t%s\t%s\t%s", scale*c.Plain.Mean, c.Plain.T.Text("%+.2f"),
				c.Plain.P.Text("%.3f"), c.Plain.OneTailed().Text("%.3f"), c.Corrected.T.Text("%+.2f"),
				c.Corrected.P.Text("%.3f"))
		} else {
			fmt.Fprint(t, "\t\t\t\t\t\t")
		}
		fmt.Fprintf(t, "\t%s (%s)\n", metrics.FormatMeanSD(c.BestError, scale, 2), c.Best)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Contestants) > 1 {
		fmt.Fprintln(w, "p are two-tailed but where it says one-tailed, which is the test of the thesis; - is "+
			"undefined: all trials differ by the same number, and nothing can be said by so few.")
	}
	fmt.Fprintf(w, "%d rows, %d trials; means with standard deviations. The last column is not nested: its "+
		"setting was chosen on the test parts.\n", r.Rows, r.Trials)
	for _, c := range r.Contestants {
		fmt.Fprintf(w, "%s chose %s\n", c.Name, tally(c.Chosen))
	}
	return nil
}
