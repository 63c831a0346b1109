package main

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// tableCommand repeats table 5.1 or 5.2.
func tableCommand(name, model, about string, hidden []int, passes int64) *command {
	return &command{
		name: "experiment " + name, args: "", min: 0, max: 0,
		summary: "Repeats table 5." + name[len(name)-1:] + " of the thesis: " + model +
			" robust to mixtures of four losses.",
		about: about,
		setup: func(fs *flags.Set) func(*call) error {
			data := fs.String("data", "testdata/tables", "Folder with mnist, fashion-mnist and uci")
			sets := fs.String("sets", "", "Data sets: mnist, fashion-mnist, adult; all by default")
			seeds := fs.Int("seeds", 32, 3, "Seeds")
			seed := fs.Uint("seed", 0, "First seed")
			epochs := fs.Int("passes", 32, passes, "Passes over the training rows")
			beta1 := fs.Float("l2", 1e-4, "Weight of the squares of the parameters, halved")
			gap := fs.Float("gap", 1e-3, "Certified gap of linear models, relative to the value (to 0.01, if that "+
				"is more)")
			singles := fs.Bool("singles", true, "Train on each loss alone as well")
			regrets := fs.Bool("regrets", len(hidden) == 0, "Train on regrets as well")
			layers := fs.String("hidden", fmt.Sprint(hidden), "Sizes of hidden layers")
			rate := fs.Float("rate", 0, "Step of the parameters; 0 is the solver's")
			lambdaRate := fs.Float("lambda_rate", 0, "Step of the weights of objectives; 0 is the solver's")
			validation := fs.Float("validation", 0, "Share of the training rows on which hyper-parameters are "+
				"chosen, for each model by its largest loss there; 0 chooses nothing. The thesis has 0.2")
			trials := fs.Int("trials", 32, 50, "Settings that --validation tries: of linear models the weight of "+
				"--l2, of networks the steps, minibatches and passes too")
			checkpoint := fs.String("checkpoint", "", "File that keeps trained models' figures as they come; if it "+
				"exists, those are not made again. Remove it when the program or the data changed")
			asJSON := fs.Bool("json", false, "Report as JSON")
			workersOf := workersFlag(fs)
			return func(c *call) error {
				if *seeds < 1 || *epochs < 1 || !(*gap > 0) || !(*beta1 > 0) {
					return errors.New("flags --seeds and --passes must be at least 1, --gap and --l2 positive")
				}
				if !(*validation >= 0 && *validation < 1) || *trials < 1 {
					return errors.New("flags --validation and --trials: a share from 0 to below 1, and at least one setting")
				}
				if *regrets && !*singles && c.flags.Given("regrets") {
					return errors.New("flag --regrets: regrets are measured from the models of single losses, and " +
						"--singles=false leaves those out; give one of the two")
				}
				if *validation == 0 {
					if err := c.idle("it is of --validation", "trials"); err != nil {
						return err
					}
				}
				workers, err := workersOf()
				if err != nil {
					return err
				}
				// The command shown is a short demonstration. It takes 49 (table51) and 32
				// (table52) processor seconds. With the defaults of the flags both take minutes,
				// mostly for the last digit of the gap on a few images.
				if !c.flags.Given("data") && !c.flags.Given("sets") {
					if !c.flags.Given("seeds") {
						*seeds = 1
					}
					if !c.flags.Given("gap") {
						*gap = 1e-2
					}
					if !c.flags.Given("regrets") {
						*regrets = false
					}
					if len(hidden) > 0 && !c.flags.Given("passes") {
						*epochs = 3
					}
				}
				o := &experiment.AlmoOptions{Seeds: int(*seeds), Seed: *seed, Passes: int(*epochs), Beta1: *beta1,
					Gap: *gap, Singles: *singles, Regrets: *regrets && *singles, StepW: *rate, StepL: *lambdaRate,
					Workers: workers, Hidden: hidden, Validation: *validation, Trials: int(*trials)}
				if c.flags.Given("hidden") {
					o.Hidden = nil
					sizes, err := numbers("hidden", *layers)
					if err != nil {
						return err
					}
					for _, v := range sizes {
						if v != float64(int(v)) || v < 1 {
							return fmt.Errorf("flag --hidden: %v is no size of a layer", v)
						}
						o.Hidden = append(o.Hidden, int(v))
					}
				}
				folder, err := tables.Folder(*data)
				if err != nil {
					return fmt.Errorf("flag --data: %w", err)
				}
				list, err := experiment.Table5Sets(folder, list(*sets)...)
				if err != nil {
					return err
				}
				var kept results[experiment.AlmoCell]
				if *checkpoint != "" {
					if err := apart(nil, []place{{"the checkpoint", *checkpoint}}); err != nil {
						return err
					}
				}
				if err := kept.open(*checkpoint, "table5 results 1"); err != nil {
					return err
				}
				o.Known, o.Save = kept.keeper(c)
				bar := progress.Start(c.Err, name)
				total, done := len(list)*o.Models()*o.Seeds, 0
				o.Done = func(*experiment.AlmoCell) { done++ }
				o.Watch = func(set, model string, seed int, row run.Row) {
					bar.Set(done, total, "%s, %s, seed %d, pass %d: losses %.4f, λ %.2f", set, model, seed+1, row.Iteration,
						saddle.RowOf(row).Values, saddle.RowOf(row).Lambda)
				}
				r, err := experiment.Almo(c.ctx, list, o)
				bar.Stop()
				if c.ctx.Err() != nil {
					return kept.interrupted("results")
				}
				if err != nil {
					return err
				}
				return c.report(*asJSON, r, r.WriteTable)
			}
		},
	}
}

var experimentTable51 = tableCommand("table51", "linear models", `
Trains, on each data set, the robust model (almo), the even mixture (uniform), each
loss alone, and the robust model of regrets. It reports their losses on the test rows
beside the thesis' figures and those of an independent implementation. Both used all data;
the table says where ours are a part of it. All models are trained by the same solver.
"worst" is the largest normalised training loss, which almo minimises. gap bounds how far
a model is from the best possible for its training objective.

The default data are small; --data takes a folder of the same shape with all of MNIST
and Fashion-MNIST. With neither --data nor --sets it runs for less than a minute, with
one seed, a gap of 0.01, no regrets, and three passes of networks, unless flags say
otherwise.

Hyper-parameters are those of the flags, for all models. The thesis chose among 50 settings
on a fifth of the training rows; --validation 0.2 does so.

A long run should have --checkpoint: the same command continues from it, with other
--sets or more --seeds if you like.

Examples:

  learn experiment table51 --data DIR --sets mnist --checkpoint t51.json
  learn experiment table51 --sets adult --seeds 3
  learn experiment table51 --sets adult --validation 0.2 --checkpoint chosen.json`, nil, 20)

var experimentTable52 = tableCommand("table52", "networks", `
As table51, with networks of layers of 1024, 512 and 128 units (--hidden): nothing
is certified.

Example:

  learn experiment table52 --sets mnist --hidden 64,32 --passes 5`, []int{1024, 512, 128}, 10)
