package main

import (
	"errors"
	"os"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

var experimentResilient = &command{
	name: "experiment resilient", args: "", min: 0, max: 0,
	summary: "Trains on corrupted images, sentences and words: resilient learning beside what else is done.",
	about: `
For each task, draws of the data are left clean, or get each corruption at each level. Training
is ordinary, on the correct examples only (oracle), with early stopping, by leaving out the
examples of large loss (itlm, trim), or by the quadratic, Huber's or the CVaR relaxation. Of
images, chosen takes ordinary training or a strength of Huber's relaxation by rows left out, and
chosen rate a rate of ordinary training. It prints test errors, their rise from clean data with
paired tests, and the area under the ROC of finding corrupted examples. They are found by the
multipliers, by the losses of the other methods, and by the self-confidence of ordinary models
on examples that they did not see.

--data is a folder with the files of the tasks: fashion-mnist/ and cifar10/ in IDX,
chunking/conll2000-train.txt.gz and -test, g2p/dut_train.tsv and dut_test.tsv. Tasks whose
files are missing are left out with a message, unless --tasks lists them. --plots writes
box plots, a picture for each task and corruption. The package comment of
cmd/learn/internal/experiment, and that of Corrupted, describe the corruptions.

A long run should have --checkpoint: draws are kept in that file as they come, and the same
command continues from it. All defaults take about an hour of processor time.

Example:

  learn experiment resilient --data DIR --tasks g2p --repeats 2`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "", "Folder with the data; needed")
		tasks := fs.String("tasks", "",
			"Tasks, separated by commas, of "+strings.Join(experiment.CorruptedTasks(),
				", ")+"; those that are there when not given")
		kinds := fs.String("corruptions", "",
			"Corruptions, separated by commas: flips, derangement, blur 0.7, blur 1.5, annotation; all that a task "+
				"has when not given")
		o := &experiment.CorruptedOptions{}
		options.Define(fs, o)
		plots := fs.String("plots", "",
			"Beginning of the names of files for box plots: X gives X-fashion-flips.svg")
		checkpoint := fs.String("checkpoint", "",
			"File that keeps draws as they come; if it exists, its draws are not made again. Remove it when the "+
				"program changed")
		asJSON := fs.Bool("json", false, "Report as JSON")
		table, writeTable := tableFlag(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			outputs := append(places("the checkpoint", *checkpoint), places("the table", *table)...)
			if err := apart(nil, outputs); err != nil {
				return err
			}
			if *data == "" {
				return errors.New("flag --data is needed: the folder with the data")
			}
			if err := isFolder(*data, true); err != nil {
				return err
			}
			if o.Train != 0 && o.Train < 50 {
				return errors.New("flag --train must be 0 or at least 50")
			}
			o.Tasks, o.Kinds = list(*tasks), list(*kinds)
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			var kept results[experiment.CorruptedDraw]
			if err := kept.open(*checkpoint, "resilient results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			bar := progress.Start(c.Err, "resilient")
			done := bar.Counter()
			o.Done = func(all int, what string) { done(all, "%s", what) }
			r, err := experiment.Corrupted(c.ctx, os.DirFS(*data), o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return kept.interrupted("draws")
			}
			if err != nil {
				return err
			}
			for _, m := range r.Missing {
				c.Warn(c.prog, "left out: %s", m)
			}
			if err := writeTable(c, r.WriteCSV); err != nil {
				return err
			}
			if *plots != "" {
				names, charts := r.Charts()
				for i, chart := range charts {
					if err := c.Output(*plots+"-"+names[i]+".svg", chart.Write); err != nil {
						return err
					}
				}
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}
