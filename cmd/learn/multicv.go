package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/metrics"
)

var multiCV = &command{
	name: "multiboost cv", args: "table", min: 1, max: 1,
	summary: "Cross-validates MULTIBOOST beside AdaBoost on each source and on all.",
	about: `
Nested cross-validation, every source divided for itself. In every fold the setting of
--grid that does best on inner folds of the training rows is trained on all of them and
tested. Best is the least largest error of a source, or with --choose=uniform the least mean.
AdaBoost with as many rounds is beside it. MULTIBOOST adds up to a term for each source and one
more in a round, so the table lists terms; --preset=equal adds one.

A long run should have --checkpoint: every fit is kept in that file as it comes, and the
same command with --resume continues from it, to the same table.

Example:

  learn multiboost cv data.csv --target class --source shop --grid "mu=2,5,20"`,
	setup: func(fs *flags.Set) func(*call) error {
		var t multiTable
		t.define(fs)
		t.defineAbsent(fs)
		apply := multiSettings(fs)
		grid := fs.String("grid", "", "Settings to choose from: flags with their values, such as mu=2,5,20 "+
			"q_lambda=0.001,0.01")
		var parts foldFlags
		parts.define(fs, 3)
		rule := fs.Enum("choose", "agnostic", []string{"agnostic", "uniform"}, "Error that settings are chosen by")
		picture := fs.String("plot", "", "File for a picture of the errors, as SVG")
		var log fitLog[evaluate.Fitted]
		log.define(fs)
		asJSON := fs.Bool("json", false, "Report as JSON")
		return func(c *call) error {
			if err := apart(places("the data", c.arg(0)),
				append(places("the picture", *picture), place{"the checkpoint", *log.name})); err != nil {
				return err
			}
			var base multi.Options
			if err := apply(&base); err != nil {
				return err
			}
			x, err := t.sources(c, c.arg(0))
			if err != nil {
				return err
			}
			if err := withSources(&base, x); err != nil {
				return err
			}
			entries, err := multiGrid(&base, *grid, x, fs)
			if err != nil {
				return fmt.Errorf("flag --grid: %w", err)
			}
			if _, err := multi.NewData(x, boost.Exponential{}); err != nil {
				return err
			}
			folds, inner, repeats, err := parts.numbers(len(entries) > 1)
			if err != nil {
				return err
			}
			trials, err := x.Stratified(folds, inner, repeats, *parts.seed)
			if err != nil {
				return err
			}
			o := &multi.CVOptions{Ctx: c.ctx, ByUniform: *rule == "uniform"}
			if o.Workers, err = t.workers(); err != nil {
				return err
			}
			r, err := logged(c, &log, "multiboost cv fits 2", fmt.Sprintf("%016x", x.Fingerprint(x.Target, x.Weight)),
				len(trials), func(fitted func(int, string, int)) (*multi.CVReport, error) {
					o.Known, o.Save, o.Done = log.known, log.save(), fitted
					return multi.CrossValidate(x, trials, entries, o)
				})
			if err != nil {
				return err
			}
			if *picture != "" {
				chart := multiErrorsChart(r)
				if err := c.Output(*picture, chart.Write); err != nil {
					return err
				}
			}
			if *asJSON {
				return c.json(r)
			}
			return writeMultiCV(c.Out, r)
		}
	},
}

// multiGrid makes a setting of every combination of values.
func multiGrid(base *multi.Options, text string, x *table.Table, given *flags.Set) ([]multi.Entry, error) {
	grid, err := gridSettings(text, func(flag string) error {
		if flag == "preset" || flag == "low" || flag == "high" || flag == "vertices" {
			return fmt.Errorf("%s is no part of a grid: it changes what is compared, or all the rest", flag)
		}
		return nil
	}, given)
	if err != nil {
		return nil, err
	}
	var out []multi.Entry
	for _, g := range grid {
		e := multi.Entry{Name: g.name, Options: *base}
		fs := newFlags()
		apply := multiSettings(fs)
		if _, err := fs.Parse(g.words); err != nil {
			return nil, err
		}
		if err := apply(&e.Options); err != nil {
			return nil, err
		}
		if err := withSources(&e.Options, x); err != nil {
			return nil, err
		}
		e.Settings = fmt.Sprintf("%#v", e.Options) // flags set no pointers: the same for the same setting
		out = append(out, e)
	}
	return out, nil
}

// meanSD writes mean and standard deviation in per cent.
func meanSD(v []float64) string { return metrics.FormatMeanSD(v, 100, 2) }

// writeMultiCV prints the comparison for a person.
func writeMultiCV(w io.Writer, r *multi.CVReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "model")
	for _, s := range r.Sources {
		fmt.Fprintf(t, "\t%s", s)
	}
	fmt.Fprint(t, "\tuniform\tagnostic\tterms\tdiff. uniform\tp\tone-tailed\tcorrected p\tdiff. "+
		"agnostic\tp\tone-tailed\tcorrected p\n")
	for _, m := range r.Models {
		fmt.Fprint(t, m.Name)
		for k := range r.Sources {
			var v []float64
			for _, e := range m.Domain {
				v = append(v, e[k])
			}
			fmt.Fprintf(t, "\t%s", meanSD(v))
		}
		terms, _ := metrics.MeanSD(m.Terms)
		fmt.Fprintf(t, "\t%s\t%s\t%.0f", meanSD(m.Uniform), meanSD(m.Agnostic), math.Round(terms))
		if m.UniformPlain != nil {
			for _, x := range [][2]*metrics.TTest{{m.UniformPlain, m.UniformCorrected},
				{m.AgnosticPlain, m.AgnosticCorrected}} {
				fmt.Fprintf(t, "\t%+.2f\t%s\t%s\t%s", 100*x[0].Mean, x[0].P.Text("%.3f"), x[0].OneTailed().Text("%.3f"),
					x[1].P.Text("%.3f"))
			}
		} else {
			fmt.Fprint(t, strings.Repeat("\t", 8))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d rows, %d trials; errors in per cent with standard deviations. Differences "+
		"are from adaboost-all. Tests are the plain paired t-test, two- and one-tailed (the latter is the "+
		"thesis' test), and the corrected resampled one, two-tailed, which accounts for overlap; - is "+
		"undefined. multiboost chose %s\n", r.Rows, r.Trials, tally(r.Models[0].Chosen))
	return err
}
