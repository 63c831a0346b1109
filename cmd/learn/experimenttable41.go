package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
)

var experimentTable41 = &command{
	name: "experiment table41", args: "", min: 0, max: 0,
	summary: "Reruns table 4.1 of the thesis: MULTIBOOST on data of several sources.",
	about: `
For each data set and trial it trains AdaBoost with stumps on each source and on all, and
MULTIBOOST with its default setting, T rounds each. At equal terms it trains AdaBoost-all with
as many rounds as MULTIBOOST has terms, and MULTIBOOST with one term a round. The penalty
of the domain classifier is chosen on a fold of the training rows. The table has the thesis'
numbers and those of another program's AdaBoost on the same trials beside ours.

--data is a folder with files of the names that cmd/learn/internal/experiment.Table41Sets lists. Sets
whose files are missing are left out with a message, unless --sets lists them. Folds
come from the folder's splits, or are made by their rule; --fresh makes others. Without
--data it uses the small sets of testdata, three trials of the first 500 rows of each
source, in 15 s of processor time.

A long run should have --checkpoint: trials are kept in that file as they come, and the
same command continues from it.

Examples:

  learn experiment table41
  learn experiment table41 --data DIR --sets adult,fashion-sub --folds 3`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "", "Folder with the data; without it testdata/tables, --folds 3 and "+
			"--max_rows 500")
		names := fs.String("sets", "", "Data sets, separated by commas: sentiment, digits49, digits17, fashion, "+
			"adult, adult-noedu, fashion-sub; those of the thesis that are there when not given")
		folds := fs.Int("folds", 32, 0, "Run only this many trials, the first ones; 0 is all ten")
		fresh := fs.String("fresh", "", "Seed of other trials, made by the same rule")
		literal := fs.Bool("figure", false, "Run the literal algorithm of figure 4.1 too")
		limit := fs.Int("max_rows", 32, 0, "Use only this many rows of each source, the first ones, for a quick "+
			"test; 0 is all")
		checkpoint := fs.String("checkpoint", "", "File that keeps trials as they come; if it exists, its "+
			"trials are not made again. Remove it when the program changed")
		apply := multiSettings(fs)
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if err := apart(nil, places("the checkpoint", *checkpoint)); err != nil {
				return err
			}
			if *data == "" {
				*data = smallTables
				if *names == "" {
					*names = "fashion,adult-noedu"
				}
				if !fs.Given("folds") {
					*folds = 3
				}
				if !fs.Given("max_rows") {
					*limit = 500
				}
			}
			if err := isFolder(*data, fs.Given("data")); err != nil {
				return err
			}
			if *folds < 0 || *limit < 0 {
				return errors.New("flags --folds and --max_rows must not be negative")
			}
			o := &experiment.SourceOptions{Ctx: c.ctx, Folds: int(*folds), Fresh: *fresh, Literal: *literal,
				MaxRows: int(*limit)}
			if err := apply(&o.Options); err != nil {
				return err
			}
			if o.Options.Loss != nil && o.Options.Loss != (boost.Exponential{}) || o.Options.Learner != nil {
				return errors.New("flags --loss and --splits: table 4.1 is with the exponential loss and stumps")
			}
			if _, uniform := o.Options.Q.(multi.Uniform); uniform {
				return errors.New("flag --q: table 4.1 is with the trained domain classifier")
			}
			o.Rounds = o.Options.Rounds
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			sets, err := experiment.Table41Sets(os.DirFS(*data), list(*names)...)
			if err != nil {
				return err
			}
			var kept results[experiment.SourceTrial]
			if err := kept.open(*checkpoint, "table41 results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			if sets, err = c.present(sets, *names != "", *data); err != nil {
				return err
			}
			return perSet(c, sets, setName, *asJSON, func() error { return kept.interrupted("trials") },
				func(s experiment.Set, done func(int, string, ...any)) (*experiment.SourceReport, error) {
					o.Fitted = func(all int, name string, fold int) { done(all, "trial %d: %s", fold+1, name) }
					return experiment.Sources(s, o)
				}, func(w io.Writer, r *experiment.SourceReport) error {
					defer fmt.Fprintln(w)
					return experiment.WriteTable41(w, []*experiment.SourceReport{r})
				})
		}
	},
}
