package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// almoFlags say what game is played and how.
type almoFlags struct {
	losses, normalization, zeroOne, multi, penalty, solver, steps, scaling, hidden, method *string
	lo, hi, fixed, vertices, inequalities, offsets                                         *string
	beta1, beta2, radius, ball, bound, bias, stepW, stepL, gap, momentum, heldout          *float64
	norm, entropic, all, polish                                                            *bool
	batch                                                                                  *int64
	seed                                                                                   *uint64
}

func (a *almoFlags) define(fs *flags.Set) {
	a.losses = fs.String("losses", "zero-one,smooth-hinge,cross-entropy", "Objectives: zero-one (by its surrogate), hinge, smooth-hinge, cross-entropy, squared-hinge, ramp:ρ, 1-norm-prob, and for numbers 1-norm (or any q-norm), squared, huber:δ. Those for numbers may be given for classes, but grow with the confidence of right answers, which costs errors; the thesis has zero-one,hinge,1-norm,cross-entropy")
	a.normalization = fs.Enum("units", "lipschitz", []string{"lipschitz", "bounded", "baseline", "regret", "none"}, "What objectives are measured in: their Lipschitz constant, their bound, their value at the start, their excess over what each reaches alone (the penalty of linear models counted), or nothing")
	a.zeroOne = fs.Enum("zero_one", "surrogate", []string{"surrogate", "ramp", "proxy", "zero-grad"}, "What the players see of zero-one. surrogate: both the logarithmic loss that bounds it, which is sound; ramp: both a ramp, which is not convex; proxy: the model that loss and the mixture the errors themselves, a game that is not zero-sum, without a certificate; zero-grad: as proxy, but errors have no gradient, which is unsound (the mixture can move to an objective that the model cannot see): to reproduce only")
	a.multi = fs.Enum("classes", "ova-mean", []string{"ova-mean", "softmax"}, "Losses of more than two classes")
	a.lo = fs.String("min", "", "Least weights of the objectives, one or one each, separated by commas")
	a.hi = fs.String("max", "", "Greatest weights")
	a.ball = fs.Float("ball", 0, "Bound of the norm of the weights of the objectives, from 1/√p for p of them; 0 is none")
	a.inequalities = fs.String("inequalities", "", "File of inequalities that the weights of the objectives meet: on each line a factor for each objective, <= or >=, and the bound, as 1 -2 0 0 <= 0.1; # begins a remark")
	a.vertices = fs.String("vertices", "", "Mixtures whose hull the preferences are: weights separated by commas, mixtures by semicolons")
	a.offsets = fs.String("offsets", "", "For --units regret: what each objective reaches alone, in its Lipschitz units, the penalty of linear models counted, separated by commas, where that is known (the report has it as offsets): it is not sought again")
	a.fixed = fs.String("mixture", "", "Train on this mixture instead (a baseline), or on uniform; weights are divided by their sum")
	a.beta1 = fs.Float("l2", 1e-4, "Weight of the squares of the parameters, halved")
	a.norm = fs.Bool("norm", false, "--l2 weighs the norm, not its square")
	a.beta2 = fs.Float("beta2", 0, "Weight of the mixture's Lipschitz constant")
	a.penalty = fs.Enum("penalty", "handicap", []string{"handicap", "shy", "constraint"}, "What --beta2 does: added to objectives, taken from them, or a bound for mixtures")
	a.radius = fs.Float("radius", 0, "Bound of the norm of the parameters; 0 is none")
	a.bound = fs.Float("score_bound", 0, "What scores are taken not to exceed in size where the units of a loss depend on it, as those of squared, and --units bounded; nothing enforces it. 0 is what --radius implies")
	a.bias = fs.Float("bias", 0, "For linear models without --radius: --l2 leaves out biases, which are at most this in size; 0 counts them among the weights")
	a.hidden = fs.String("hidden", "", "Sizes of hidden layers, as 1024,512,128; none is a linear model. --steps of networks are constant, or decreasing with the root of the pass (auto)")
	a.scaling = fs.Enum("scaling", "standard", []string{"standard", "largest", "none"}, "Numeric columns: less their mean by their standard deviation, by the largest value of all, or as they are")
	a.solver = fs.Enum("solver", "auto", []string{"auto", "mirror-prox", "gda", "alternating", "smoothed", "dual-ascent", "newton"}, "Optimiser; auto is mirror-prox, then dual-ascent, and newton where that takes long and rows and features are few, until the gap is certified (smoothed for softmax and for losses without kinks), and gda for networks")
	a.steps = fs.Enum("steps", "auto", []string{"auto", "constant", "theorem", "decreasing", "adaptive", "backtracked"}, "Lengths of steps")
	a.stepW = fs.Float("rate", 0, "Step of the parameters (a radius for adaptive steps); 0 is the solver's")
	a.stepL = fs.Float("lambda_rate", 0, "Step of the weights of objectives")
	a.entropic = fs.Bool("entropic", false, "Weights of objectives move by factors")
	a.all = fs.Bool("average_all", false, "Average all steps, not the last half")
	a.polish = fs.Bool("polish", true, "The second part of --solver auto, which proves the gap; without it the first ends after its --iterations")
	a.batch = fs.Int("batch", 32, 128, "Rows of a minibatch; 0 is all")
	a.gap = fs.Float("gap", 1e-3, "Certified gap to stop at, relative to the value (to 0.01, if that is more); for linear models")
	a.method = fs.Enum("optimizer", "sgd", []string{"sgd", "adagrad", "adam"}, "Steps of networks")
	a.momentum = fs.Float("momentum", 0.9, "Momentum of sgd for networks")
	a.heldout = fs.Float("heldout", 0, "Share of the rows held out from training: of a network, the pass with the least worst objective on them is kept")
	a.seed = fs.Uint("seed", 1, "Seed of all that is random")
}

func (a *almoFlags) options(c *call) (*minimax.Options, error) {
	o := &minimax.Options{
		Normalization: minimax.Normalization(*a.normalization), ZeroOne: minimax.ZeroOneMode(*a.zeroOne), MultiClass: minimax.MultiClass(*a.multi),
		Penalty: minimax.Penalty(*a.penalty), Beta1: *a.beta1, Beta2: *a.beta2, Norm: *a.norm, Radius: *a.radius, StepW: *a.stepW, StepLambda: *a.stepL,
		Entropic: *a.entropic, All: *a.all, Batch: int(*a.batch), Gap: *a.gap, Seed: *a.seed,
		ScoreBound: *a.bound, Bias: *a.bias, NoPolish: !*a.polish,
	}
	if o.Gap == 0 {
		o.Gap = -1
	}
	if o.Batch == 0 {
		o.Batch = -1
	}
	if *a.solver != "auto" {
		o.Solver = minimax.Solver(*a.solver)
	}
	// In this order: what is wrong with a flag is said before what two of them say together.
	for _, part := range []func(*call, *minimax.Options) error{a.check, a.objectives, a.stepRule, a.mixtures, a.layers} {
		if err := part(c, o); err != nil {
			return nil, err
		}
	}
	if ownRounds(o.Solver) {
		if err := c.idle(fmt.Sprintf("--solver %s takes all rows at once, and no steps along gradients", o.Solver), "batch", "steps", "rate", "lambda_rate", "entropic", "average_all"); err != nil {
			return nil, err
		}
	}
	if len(o.Hidden) > 0 {
		return o, a.network(c, o)
	}
	return o, c.idle("it is for networks (--hidden), and this is a linear model", "optimizer", "momentum", "heldout")
}

// check refuses numbers and pairs of flags that mean nothing.
func (a *almoFlags) check(c *call, _ *minimax.Options) error {
	if err := within(c.flags, positive("ball", a.ball), positive("score_bound", a.bound), positive("bias", a.bias)); err != nil {
		return err
	}
	switch {
	case *a.radius > 0 && *a.bias > 0:
		return errors.New("flags --bias and --radius: a radius holds biases too; give one of the two")
	case !*a.polish && *a.solver != "auto":
		return errors.New("flag --polish is of --solver auto")
	case *a.gap < 0:
		return errors.New("flag --gap must not be negative; 0 goes on to the last iteration")
	case *a.batch < 0:
		return errors.New("flag --batch must not be negative")
	}
	return nil
}

// objectives sets the losses.
func (a *almoFlags) objectives(_ *call, o *minimax.Options) error {
	if len(list(*a.losses)) == 0 {
		return errors.New("flag --losses: none given; one at least is needed")
	}
	for _, name := range list(*a.losses) {
		l, err := score.ParsePointwise(name)
		if err != nil {
			return fmt.Errorf("flag --losses: %w", err)
		}
		o.Losses = append(o.Losses, l)
	}
	return nil
}

// stepRule sets the steps of linear models; network sets its own.
func (a *almoFlags) stepRule(_ *call, o *minimax.Options) (err error) {
	if *a.steps == "auto" {
		return nil
	}
	if o.Steps, err = saddle.ParseStepRule(*a.steps); err != nil {
		return err
	}
	if o.Steps == saddle.ConstantSteps && o.StepW == 0 && *a.hidden == "" {
		return errors.New("flag --steps: constant steps need a --rate")
	}
	return nil
}

// mixtures sets which weights of the objectives count, what values are measured from, and the mixture
// to train on where that is fixed.
func (a *almoFlags) mixtures(c *call, o *minimax.Options) (err error) {
	if o.Preferences.Lo, err = a.bounds("min", *a.lo, o); err != nil {
		return err
	}
	if o.Preferences.Hi, err = a.bounds("max", *a.hi, o); err != nil {
		return err
	}
	if *a.offsets != "" {
		if o.Normalization != minimax.Regret || len(o.Losses) != strings.Count(*a.offsets, ",")+1 {
			return fmt.Errorf("flag --offsets: they are for --units regret, one for each of the %d --losses", len(o.Losses))
		}
		if o.Offsets, err = numbers("offsets", *a.offsets); err != nil {
			return err
		}
	}
	o.Preferences.Radius = *a.ball
	if *a.inequalities != "" {
		if o.Preferences.A, o.Preferences.B, err = c.inequalities(*a.inequalities, len(o.Losses)); err != nil {
			return err
		}
	}
	if *a.vertices != "" {
		for _, v := range strings.Split(*a.vertices, ";") {
			x, err := numbers("vertices", v)
			if err != nil {
				return err
			}
			o.Preferences.Vertices = append(o.Preferences.Vertices, x)
		}
	}
	switch *a.fixed {
	case "":
	case "uniform":
		o.Fixed = slices.Repeat([]float64{1 / float64(len(o.Losses))}, len(o.Losses))
	default:
		o.Fixed, err = numbers("mixture", *a.fixed)
	}
	return err
}

// bounds reads a bound for the weight of each objective, nil where there are none.
func (a *almoFlags) bounds(name, text string, o *minimax.Options) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	x, err := numbers(name, text)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(x, func(v float64) bool { return v < 0 }); i >= 0 {
		of := "objectives"
		if len(x) == len(o.Losses) {
			of = o.Losses[i].Name
		}
		return nil, fmt.Errorf("flag --%s: the weight of %s is %v; weights of a mixture are from 0 to 1", name, of, x[i])
	}
	return x, nil
}

// layers sets the sizes of hidden layers.
func (a *almoFlags) layers(_ *call, o *minimax.Options) error {
	for _, h := range list(*a.hidden) {
		n, err := strconv.Atoi(h)
		if err != nil || n < 1 {
			return fmt.Errorf("flag --hidden: %q is no size of a layer", h)
		}
		o.Hidden = append(o.Hidden, n)
	}
	return nil
}

// network sets how a network is trained.
func (a *almoFlags) network(c *call, o *minimax.Options) error {
	if err := c.idle("it is for linear models, and this is a network (--hidden)", "gap", "norm", "average_all", "entropic", "bias", "polish"); err != nil {
		return err
	}
	switch *a.steps {
	case "auto", "decreasing":
	case "constant":
		o.Network.Constant = true
	default:
		return fmt.Errorf("flag --steps: those of networks (--hidden) are constant or decreasing, not %s", *a.steps)
	}
	o.Steps = saddle.ConstantSteps // the rule of linear models
	o.Network.Method = map[string]optim.Method{"sgd": optim.SGD, "adagrad": optim.AdaGrad, "adam": optim.Adam}[*a.method]
	if o.Network.Momentum = *a.momentum; *a.momentum == 0 {
		o.Network.Momentum = -1
	}
	if o.Network.Method != optim.SGD {
		if c.flags.Given("momentum") {
			return errors.New("flag --momentum is of --optimizer sgd")
		}
		o.Network.Momentum = 0
	}
	if !(*a.heldout >= 0 && *a.heldout < 1) {
		return errors.New("flag --heldout: the share is from 0 to below 1")
	}
	return nil
}

// ownRounds reports whether a solver has no steps and minibatches, and as many rounds as it
// makes progress by where no iterations are asked for.
func ownRounds(s minimax.Solver) bool {
	return s == minimax.DualAscent || s == minimax.Newton || s == minimax.Smoothed
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

// notes say what is to be known of the game that was chosen.
func (a *almoFlags) notes(o *minimax.Options) []string {
	if !slices.ContainsFunc(o.Losses, func(l minimax.Loss) bool { return l.Name == score.ZeroOne().Name }) {
		return nil
	}
	switch o.ZeroOne {
	case minimax.Proxy:
		return []string{"--zero_one proxy: the game is not zero-sum: each player has no regret in its own loss, and there is no certificate"}
	case minimax.ZeroGradient:
		return []string{"--zero_one zero-grad is unsound: the mixture can move to errors, of which the model sees no gradient; use it to reproduce results only"}
	case minimax.RampSurrogate:
		return []string{"--zero_one ramp: the ramp is not convex: there is no certificate"}
	}
	return nil
}
