package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/almo"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// almoFlags say what game is played and how: the learner's options, and what reads a file.
type almoFlags struct {
	*almo.Options
	polish       *bool
	inequalities *string
}

func (a *almoFlags) define(fs *flags.Set) {
	a.Options = learnerFlags(fs, almo.Learner{}.Options)().(*almo.Options)
	a.inequalities = fs.String("inequalities", "", "File of inequalities that the weights of the objectives "+
		"meet: on each line a factor for each objective, <= or >=, and the bound, as 1 -2 0 0 <= 0.1; # begins "+
		"a remark")
	a.polish = fs.Bool("polish", true, "The second part of --solver auto, which proves the gap; without it "+
		"the first ends after its --iterations")
}

// options returns those of package minimax.
func (a *almoFlags) options(c *call) (*minimax.Options, error) {
	a.NoPolish = !*a.polish
	o, err := a.Minimax()
	if err != nil {
		return nil, fmt.Errorf("flag --%w", err)
	}
	if a.NoPolish && o.Solver != minimax.Auto {
		return nil, errors.New("flag --polish is of --solver auto")
	}
	if *a.inequalities != "" {
		if o.Preferences.A, o.Preferences.B, err = c.inequalities(*a.inequalities, len(o.Losses)); err != nil {
			return nil, err
		}
	}
	if almo.OwnRounds(o.Solver) {
		if err := c.idle(fmt.Sprintf("--solver %s takes all rows at once, and no steps along gradients", o.Solver),
			"batch", "steps", "rate", "lambda_rate", "entropic", "average_all"); err != nil {
			return nil, err
		}
	}
	if len(o.Hidden) == 0 {
		return o, c.idle("it is for networks (--hidden), and this is a linear model", "optimizer",
			"momentum", "heldout")
	}
	if a.Method != "" && a.Method != "sgd" {
		if err := c.idle("it is of --optimizer sgd", "momentum"); err != nil {
			return nil, err
		}
	}
	return o, c.idle("it is for linear models, and this is a network (--hidden)", "gap", "norm", "average_all",
		"entropic", "bias", "polish")
}

// inputs are the files that training reads.
func (a *almoFlags) inputs(c *call) []place {
	inputs := places("the data", c.args...)
	if *a.inequalities != "" {
		inputs = append(inputs, place{"the inequalities", *a.inequalities})
	}
	return inputs
}

// flagged names the flag that an error of the library asks for.
func flagged(err error) error {
	const asked = "give a bound of the scores"
	if text := err.Error(); strings.Contains(text, asked) {
		return errors.New(strings.Replace(text, asked, asked+" (--score_bound)", 1))
	}
	return err
}

// readingNotes say what is to be known of the reading of zero-one that was chosen.
func readingNotes(o *minimax.Options) []string {
	said := map[minimax.ZeroOneMode]string{
		minimax.Proxy: "--zero_one proxy: the game is not zero-sum: each player has no regret in its " +
			"own loss, and there is no certificate",
		minimax.ZeroGradient: "--zero_one zero-grad is unsound: the mixture can move to errors, for which the " +
			"model has no gradient; use it to reproduce results only",
		minimax.RampSurrogate: "--zero_one ramp: the ramp is not convex: there is no certificate",
	}[o.ZeroOne]
	for _, l := range o.Losses {
		if l.Name == score.ZeroOne().Name && said != "" {
			return []string{said}
		}
	}
	return nil
}
