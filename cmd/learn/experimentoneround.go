package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

var experimentOneRound = &command{
	name: "experiment oneround", args: "", min: 0, max: 0,
	summary: "Experiments S1 and S2 in kind: one round beside the centralised model and averaging.",
	about: `
Learns two ellipses among nine agents, and walking against jogging by person, from three features
and from all, on random rows and on held-out persons. For each it runs the centralised kernel
model, the agents' own, one round without and with repair, and federated averaging of a linear and
a kernel model at 1, 10 and 100 rounds. It prints accuracy, rows and bytes sent, and violations of
the certificate. Width and price are chosen on a quarter of the training agents.

--data is the folder of data sets. With --checkpoint results are kept as they come, and the
same command continues from them. --plot draws accuracy against bytes, of one set.

Example:

  learn experiment oneround --data DIR --sets "walking 3 people" --trials 3 --plot bytes.svg`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "", "Folder with the data; needed")
		sets := fs.String("sets", "",
			"Sets, separated by commas: ellipses N, ellipses gamma G, walking 3 rows, walking 3 people, walking 43 "+
				"rows, walking 43 people; all when not given")
		trials := fs.Int("trials", 32, 10, "Divisions")
		seed := fs.Uint("seed", 1, "Seed of the divisions")
		checkpoint := fs.String("checkpoint", "",
			"File that keeps results as they come; if it exists, its results are not made again. Remove it when "+
				"the program changed")
		picture := fs.String("plot", "", "File for a picture of accuracy against bytes (SVG), of one set")
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if err := isFolder(*data, true); err != nil {
				return err
			}
			if *trials < 1 {
				return errors.New("flag --trials must be at least 1")
			}
			o := &experiment.RoundOptions{Ctx: c.ctx, Trials: int(*trials), Seed: *seed}
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			list, err := experiment.RoundSets(os.DirFS(*data), list(*sets)...)
			if err != nil {
				return err
			}
			if *picture != "" && len(list) != 1 {
				return errors.New("flag --plot is for one set (--sets)")
			}
			var kept results[experiment.RoundTrial]
			if err := kept.open(*checkpoint, "oneround results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			var last *experiment.RoundReport
			err = perSet(c, list, func(s experiment.RoundSet) string { return s.Name }, *asJSON,
				func() error { return kept.interrupted("results") },
				func(s experiment.RoundSet, done func(int, string, ...any)) (*experiment.RoundReport, error) {
					o.Fitted = func(all int, name string, trial int) { done(all, "trial %d: %s", trial+1, name) }
					last, err = experiment.OneRound(s, o)
					return last, err
				}, experiment.WriteOneRound)
			if err != nil || *picture == "" {
				return err
			}
			return c.Output(*picture, roundChart(last).Write)
		}
	},
}

// roundChart draws accuracy against bytes on the wire. Methods that differ in how much they send
// are one series.
func roundChart(r *experiment.RoundReport) plot.Chart {
	out := plot.Chart{Title: "Accuracy and bytes on the wire", Subtitle: r.Set, XLabel: "bytes, both ways",
		YLabel: "accuracy, %", LogX: true, Legend: true}
	for _, m := range r.Methods() {
		bytes, accuracy := r.Points(m)
		if m == "central" || m == "local" {
			out.HRules = append(out.HRules, plot.Rule{At: 100 * accuracy, Label: m})
			continue
		}
		name := roundSeries(m)
		i := slices.IndexFunc(out.Series, func(s plot.Series) bool { return s.Name == name })
		if i < 0 {
			i = len(out.Series)
			out.Series = append(out.Series, plot.Series{Name: name, Kind: plot.Points})
		}
		s := &out.Series[i]
		s.X, s.Y = append(s.X, bytes), append(s.Y, 100*accuracy)
	}
	return out
}

// roundSeries names the series of a method.
func roundSeries(method string) string {
	for _, s := range []struct{ prefix, name string }{
		{"averaging, linear", "averaging, linear: 1, 10, 100 rounds"},
		{"averaging, kernel", "averaging, kernel: 1, 10, 100 rounds"},
		{"one round, with counts, price", "one round, with counts, agents' price times 100"},
		{"one round, with counts", "one round, with counts: all that are critical, at most 16 and 28 %"},
		{"one round", "one round: as it is, repaired once, repaired"},
	} {
		if strings.HasPrefix(method, s.prefix) {
			return s.name
		}
	}
	return method
}
