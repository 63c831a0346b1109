package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/learner"
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
		o := &experiment.SKPCAOptions{}
		options.Define(fs, o)
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
					o.Ranks = []int{2, 5}
				}
				if !fs.Given("trials") {
					o.Trials = 1
				}
			}
			if err := isFolder(*data, fs.Given("data")); err != nil {
				return err
			}
			if err := learner.Complete(o, o); err != nil {
				return err
			}
			o.Ctx = c.ctx
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			sets, err := experiment.SKPCASets(os.DirFS(*data), list(*names)...)
			if err != nil {
				return err
			}
			if sets, err = c.present(sets, *names != "", *data); err != nil {
				return err
			}
			if err := log.open("learn experiment skpca 1", ""); err != nil {
				return err
			}
			defer log.close()
			o.Known, o.Save = log.known, log.save()
			err = perSet(c, sets, setName, *asJSON,
				log.interrupted,
				func(s experiment.Set, done func(int, string, ...any)) (*experiment.SKPCAReport, error) {
					o.Done = func(all int, name string, trial int) { done(all, "trial %d: %s", trial+1, name) }
					return experiment.Projections(s, o)
				}, func(w io.Writer, r *experiment.SKPCAReport) error {
					defer fmt.Fprintln(w)
					return experiment.WriteSKPCA(w, r)
				})
			if err != nil {
				return err
			}
			return log.close()
		}
	},
}
