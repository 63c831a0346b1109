package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

var experimentSKPCA = &command{
	name: "experiment skpca", args: "", min: 0, max: 0,
	summary: "Compares supervised kernel projections with unsupervised ones at the same number of features.",
	about: `
For each data set and rank: the best unsupervised projection (kernel PCA of each kernel,
centred or not, and a logistic classifier), of any kernel, groups of columns included, and of
kernels of all columns alone; kernel PCA of the mean of all kernels; all kernels side by side
with equal weights; the coupled method, and that with single kernels to choose from too (skpca).
Each chooses kernels and penalty on the inner folds of every trial. nuisance-S and mnist49-patch
are sets in which directions of much variance say nothing.

--data is a folder with files of the names that cmd/learn/internal/experiment.SKPCASets lists; sets
whose files are not there are left out with a word, unless --sets asks for them. Without
--data one trial of sonar and of nuisance-5 at ranks 2 and 5 is made: half a minute.

A long run should have --checkpoint: the same command continues from it, to the same result.
Trials are made one after the other, so one that was stopped has whole trials to report: give
their number as --trials.

Examples:

  learn experiment skpca
  learn experiment skpca --data DIR --sets sonar,ocr49 --ranks 2,5,10,20`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "", "Folder with the data; without it testdata/tables")
		names := fs.String("sets", "", "Data sets, separated by commas: sonar, cancer, diabetes, semeion-even, "+
			"ocr49, nuisance-1, nuisance-2, nuisance-5, nuisance-10, mnist49-patch; all when not given")
		ranks := fs.String("ranks", "2,5,10,20", "Numbers of features")
		nus := fs.String("nu", "Inf", "Bounds on the inverse weights to choose from, see learn skpca train")
		trials := fs.Int("trials", 32, 0, "Run only this many trials, the first ones; 0 is all")
		fresh := fs.String("fresh", "", "Seed of other trials, made by the same rule")
		limit := fs.Int("max_rows", 32, 0, "Rows of each training part at most; 0 is all")
		whole := fs.Bool("whole", false, "Compare with machines of all features too: of the best single kernel, "+
			"and of all kernels with weights that fit the labels")
		var log fitLog[experiment.ProjectionFit]
		log.defineAlone(fs)
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if *data == "" {
				*data = smallTables
				if *names == "" {
					*names = "sonar,nuisance-5"
				}
				if !fs.Given("ranks") {
					*ranks = "2,5"
				}
				if !fs.Given("trials") {
					*trials = 1
				}
			}
			if err := isFolder(*data, fs.Given("data")); err != nil {
				return err
			}
			if *trials < 0 || *limit < 0 {
				return errors.New("flags --trials and --max_rows must not be negative")
			}
			o := &experiment.SKPCAOptions{Ctx: c.ctx, Trials: int(*trials), Fresh: *fresh, MaxRows: int(*limit),
				Whole: *whole}
			for _, word := range list(*ranks) {
				r, err := strconv.Atoi(word)
				if err != nil || r < 1 {
					return fmt.Errorf("flag --ranks: %q is no number of features", word)
				}
				o.Ranks = append(o.Ranks, r)
			}
			for _, word := range list(*nus) {
				nu, err := strconv.ParseFloat(word, 64)
				if err != nil || !(nu >= 1) {
					return fmt.Errorf("flag --nu: %q is no number from 1 on", word)
				}
				o.Nu = append(o.Nu, nu)
			}
			if len(o.Ranks) == 0 {
				return errors.New("flag --ranks: no number of features")
			}
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			sets, err := experiment.SKPCASets(os.DirFS(*data), list(*names)...)
			if err != nil {
				return err
			}
			if err := log.open("learn experiment skpca 1", ""); err != nil {
				return err
			}
			defer log.close()
			o.Known, o.Save = log.known, log.save()
			var reports []*experiment.SKPCAReport
			for _, s := range sets {
				if len(s.Lacks) > 0 && *names == "" {
					c.Warn(c.prog, "%s is left out: the folder has no %s", s.Name, s.Lacks[0])
					continue
				}
				bar := progress.Start(c.Err, s.Name)
				done := bar.Counter()
				o.Done = func(all int, name string, trial int) { done(all, "trial %d: %s", trial+1, name) }
				r, err := experiment.Projections(s, o)
				bar.Stop()
				if c.ctx.Err() != nil {
					return log.interrupted()
				}
				if err != nil {
					return err
				}
				reports = append(reports, r)
				if !*asJSON {
					if err := experiment.WriteSKPCA(c.Out, r); err != nil {
						return err
					}
					fmt.Fprintln(c.Out)
				}
			}
			if err := log.close(); err != nil {
				return err
			}
			if *asJSON {
				return c.json(reports)
			}
			return nil
		}
	},
}
