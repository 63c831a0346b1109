package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

var experimentTable31 = &command{
	name: "experiment table31", args: "", min: 0, max: 0,
	summary: "Boosters on the data sets of table 3.1, beside XGBoost.",
	about: `
In every trial (five folds, twice) each booster chooses its setting on inner folds of
the training part. It is trained on all of that part for 100 rounds from the score 0, and
tested. The boosters are rgb (a grid around the default preset), rgb-default (the preset,
which chooses nothing), rgb-thesis (the literal setting), gb (plain gradient boosting by
the same code: the control) and adaboost. Grids are no larger than those of the XGBoost
runs on record, and use as many inner folds: five for small tables, two for medium ones, one
for MNIST. Both choices are reported, by inner loss and by inner error. Errors are
compared by the plain paired t-test, two-tailed and, as in the thesis, one-tailed. The
corrected resampled test accounts for overlapping training parts. XGBoost's errors are
compared only where rows and divisions are those of its runs.

--data is a folder with the tables, which the package comments of
cmd/learn/internal/experiment describe. Without it the small tables of testdata are used, with
small grids and two trials (--quick), which takes less than a minute.

A long run should have --checkpoint: results are kept in that file as they come, and
the same command continues from it. The file also serves runs with more sets,
trials or boosters.

Examples:

  learn experiment table31
  learn experiment table31 --data DIR --sets sonar,cancer,diabetes --checkpoint t31.json
  learn experiment table31 --data DIR --fresh 1 --boosters rgb,gb`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "", "Folder with the tables; without it testdata/tables, and --quick")
		names := fs.String("sets", "", "Data sets, separated by commas: "+strings.Join(experiment.Table31Names,
			", ")+", semeion-even; all of table 3.1 when not given")
		boosters := fs.String("boosters", strings.Join(experiment.BoosterNames, ","),
			"Boosters; the first is compared with the others")
		trials := fs.String("trials", "", "Numbers of trials, separated by commas, with ranges such as 0-4 (the "+
			"first shuffle: the thesis' protocol); all ten when not given")
		fresh := fs.String("fresh", "", "Draw other trials, by the same rule with this seed")
		seed := fs.Uint("seed", 1, "Seed of the boosters' draws")
		quick := fs.Bool("quick", false, "Small grids and trials 0,1, to see that it runs")
		hindsight := fs.Bool("hindsight", false, "Test every setting, for the figure that is not nested")
		checkpoint := fs.String("checkpoint", "", "File that keeps results as they come; if it exists, its "+
			"results are not made again. Remove it when the program or the data changed")
		peers := fs.String("peers", "", "File with errors of other programs by trial, to compare with beside "+
			"those on record: testdata/bench/boost/trials.py of the source tree makes one with XGBoost for any --fresh")
		csvName := fs.String("csv", "", "File for all results: a line for each set, trial and booster")
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			o := &experiment.AccuracyOptions{Boosters: list(*boosters), Fresh: *fresh, Seed: *seed, Quick: *quick,
				Hindsight: *hindsight}
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			if *seed == 0 {
				return errors.New("flag --seed must be at least 1")
			}
			if err := apart(places("the errors of others", *peers),
				[]place{{"the table", *csvName}, {"the checkpoint", *checkpoint}}); err != nil {
				return err
			}
			folder, wanted := *data, list(*names)
			if folder == "" {
				folder = smallTables
				if !fs.Given("quick") {
					o.Quick = true
				}
				if wanted == nil {
					wanted = []string{"sonar", "cancer", "semeion-even", "ocr49", "higgs"}
				}
			}
			if o.Trials, err = ranges("trials", *trials); err != nil {
				return err
			}
			if o.Trials == nil && o.Quick {
				o.Trials = []int{0, 1}
			}
			if err := isFolder(folder, *data != ""); err != nil {
				return err
			}
			if *peers != "" {
				f, err := os.Open(*peers)
				if err != nil {
					return fmt.Errorf("flag --peers: %w", err)
				}
				o.Record, err = experiment.ReadRecord(f)
				f.Close()
				if err != nil {
					return fmt.Errorf("flag --peers: %s: %w", *peers, err)
				}
			}
			sets, err := experiment.Table31Sets(os.DirFS(folder), wanted...)
			if err != nil {
				return err
			}
			if sets, err = c.present(sets, wanted != nil, folder); err != nil {
				return err
			}
			var kept results[experiment.Nested]
			if err := kept.open(*checkpoint, "table31 results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			bar := progress.Start(c.Err, c.prog)
			var mu sync.Mutex
			made, begin := 0, time.Now()
			o.Fitted = func(done, all int, set, booster string, trial int) {
				if bar == nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				made++
				left := time.Since(begin) / time.Duration(made) * time.Duration(max(0, all-done))
				bar.Set(done, all, "%s: %s, trial %d, about %v left", set, booster, trial, left.Round(time.Second))
			}
			begun := time.Now()
			out, err := experiment.Accuracy(c.ctx, sets, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return kept.interrupted("results")
			}
			if err != nil {
				return err
			}
			if *csvName != "" {
				if err := c.Output(*csvName,
					func(w io.Writer) error { return experiment.WriteAccuracyCSV(w, out) }); err != nil {
					return err
				}
			}
			if *asJSON {
				versus, err := experiment.Compare(out)
				if err != nil {
					return err
				}
				return c.json(map[string]any{"fresh": *fresh, "seed": *seed, "quick": o.Quick, "sets": out,
					"tests": versus, "seconds": time.Since(begun).Seconds()})
			}
			if err := experiment.WriteAccuracy(c.Out, out); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Out, "%.0f s\n", time.Since(begun).Seconds())
			return err
		}
	},
}

// smallTables is where the source tree has small tables of some sets, from its top.
const smallTables = "testdata/tables"

// isFolder refuses what is no folder of data; given says that the user named it.
func isFolder(name string, given bool) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if given {
		return fmt.Errorf("flag --data: %s is not a folder", name)
	}
	return fmt.Errorf("flag --data is needed here: without it the small tables of the source tree are used, "+
		"and there is no folder %s below the current one; run the command from the top of the source tree, or "+
		"name a folder of data (the package comments of cmd/learn/internal/experiment describe it)", name)
}

// present leaves sets out whose files are not there, with a warning; those that were
// named must be there.
func (c *call) present(sets []experiment.Set, named bool, folder string) ([]experiment.Set, error) {
	var out []experiment.Set
	for _, s := range sets {
		if len(s.Lacks) == 0 {
			out = append(out, s)
			continue
		}
		missing := fmt.Sprintf("%s: %s has no %s", s.Name, folder, strings.Join(s.Lacks, ", "))
		if named {
			return nil, errors.New(missing)
		}
		c.Warn(c.prog, "%s; left out", missing)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has none of the data sets", folder)
	}
	return out, nil
}

func setName(s experiment.Set) string { return s.Name }

// ranges reads numbers and ranges such as 0-4,7; "" is nil.
func ranges(name, value string) ([]int, error) {
	var out []int
	for _, s := range list(value) {
		from, to, isRange := strings.Cut(s, "-")
		a, err := strconv.ParseUint(from, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("flag --%s: %q is not a number or a range such as 0-4", name, s)
		}
		for i := a; i <= b; i++ {
			out = append(out, int(i))
		}
	}
	return out, nil
}
