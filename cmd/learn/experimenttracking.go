package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/tracking"
)

var experimentTracking = &command{
	name: "experiment tracking", args: "", min: 0, max: 0,
	summary: "Compares ways to link cells, on simulated and real movies.",
	about: `
Methods are nearest neighbour, assignment by distance tuned on the training movies, the same
tuned on the test movies (optimistic), weights by hand, single events by logistic regression,
and margins with penalties l1 and l2. Penalties are chosen on parts of the training movies.

--tasks are presets of the simulator (default, hard, clean, shifted), with a trial for each
seed, and, of the folder --data, sim:STRIDE (Fluo-N2DH-SIM+, whose frames are cut into four
parts, each tested once), gowt1, hela and psc (one sequence teaches for the other; the last
two have no parents, and moves alone are learnt).

A long run should have --checkpoint: the same command continues from it.

Example:

  learn experiment tracking --tasks default,hard --seeds 5
  learn experiment tracking --tasks sim:5,sim:8 --data tracking`,
	setup: func(fs *flags.Set) func(*call) error {
		names := fs.String("tasks", "default,hard", "Tasks")
		data := fs.String("data", "", "Folder with the real movies, for sim, gowt1, hela and psc")
		o := &experiment.TrackingOptions{}
		options.Define(fs, o)
		seeds := fs.Int("seeds", 32, 5, "Seeds of simulated movies")
		seed := fs.Uint("seed", 1, "First seed")
		movies := fs.Int("movies", 32, 4, "Simulated movies to learn from, and as many to test on")
		checkpoint := fs.String("checkpoint", "", "File that keeps results as they come; if it exists, those "+
			"are not made again. Remove it when the program changed")
		csv := fs.String("csv", "", "File for all results, as CSV")
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if *seeds < 1 || *movies < 2 {
				return errors.New("flags --seeds and --movies: at least 1 and 2")
			}
			if err := apart(nil, append(places("the table", *csv), places("the checkpoint",
				*checkpoint)...)); err != nil {
				return err
			}
			if err := learner.Complete(o, o); err != nil {
				return err
			}
			o.Tolerance = max(o.Tolerance, 0)
			asked, err := tasks("tasks", *names)
			if err != nil {
				return err
			}
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			var all []experiment.TrackingTask
			for _, name := range asked {
				t, err := trackingTask(c, name, *data, int(*seeds), int(*movies), *seed)
				if err != nil {
					return fmt.Errorf("flag --tasks: %w", err)
				}
				all = append(all, t)
			}
			var kept results[experiment.TrackingCell]
			if err := kept.open(*checkpoint, "tracking results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			bar := progress.Start(c.Err, "tracking")
			done := bar.Counter()
			n, total := 0, 0
			for _, t := range all {
				total += len(t.Trials) * len(o.Methods)
			}
			o.Done = func(task string, trial int, method string) {
				n++
				done(n, "of %d: %s, trial %d, %s", total, task, trial, method)
			}
			r, err := experiment.Tracking(c.ctx, all, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return kept.interrupted("results")
			}
			if err != nil {
				return err
			}
			if *csv != "" {
				if err := c.Output(*csv, r.WriteCSV); err != nil {
					return err
				}
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}

// trackingTask makes a task of its name.
func trackingTask(c *call, name, data string, seeds, movies int,
	seed uint64) (experiment.TrackingTask, error) {
	if _, ok := tracking.Presets[name]; ok {
		return experiment.TrackingGenerated(name, seeds, movies, seed)
	}
	what, number, _ := strings.Cut(name, ":")
	stride := 1
	if number != "" {
		var err error
		if stride, err = strconv.Atoi(number); err != nil || stride < 1 {
			return experiment.TrackingTask{}, fmt.Errorf("%q: %q is no stride", name, number)
		}
	}
	files := map[string][3]string{ // detections, lineage, series
		"sim":   {"fluo-n2dh-sim-01-objects.tsv.gz", "fluo-n2dh-sim-01-lineage.tsv", ""},
		"gowt1": {"fluo-n2dh-gowt1-objects.tsv.gz", "fluo-n2dh-gowt1-lineage.tsv", ""},
		"hela":  {"fluo-n2dl-hela.tsv.gz", "", "ST-SEG"},
		"psc":   {"phc-c2dl-psc.tsv.gz", "", "ST-SEG"},
	}
	f, ok := files[what]
	if !ok {
		return experiment.TrackingTask{}, fmt.Errorf("there is no task %q; there are default, hard, clean, "+
			"shifted, sim:STRIDE, gowt1, hela, psc", name)
	}
	if data == "" {
		return experiment.TrackingTask{}, fmt.Errorf("%s needs --data, the folder with %s", what, f[0])
	}
	k := &trackingKind{}
	o := &tracking.ReadOptions{Series: f[2], AllowEmpty: true}
	if f[1] != "" {
		if err := k.readFile(c, filepath.Join(data, f[1]), func(r io.Reader, shown string) (err error) {
			o.Parents, err = tracking.ReadLineage(r, shown)
			return err
		}); err != nil {
			return experiment.TrackingTask{}, err
		}
	}
	var list []*tracking.Movie
	if err := k.readFile(c, filepath.Join(data, f[0]), func(r io.Reader, shown string) (err error) {
		list, err = tracking.ReadMovies(r, shown, o)
		return err
	}); err != nil {
		return experiment.TrackingTask{}, err
	}
	switch {
	case len(list) == 1:
		return experiment.TrackingParts(name, list[0], stride, 4)
	case len(list) < 2:
		return experiment.TrackingTask{}, fmt.Errorf("%s has %d sequences", f[0], len(list))
	}
	kinds := ""
	if f[1] == "" {
		kinds = "moves"
	}
	return experiment.TrackingHeldOut(name, list[0], list[1], stride, kinds)
}
