package almo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Options say what game is played and how; zero fields are the defaults.
type Options struct {
	Losses  []string              `flag:"losses" default:"zero-one,smooth-hinge,cross-entropy" help:"Objectives: zero-one (by its surrogate), hinge, smooth-hinge, cross-entropy, squared-hinge, ramp:ρ, 1-norm-prob, and for numbers 1-norm (or any q-norm), squared, huber:δ. Those for numbers may be given for classes, but grow with the confidence of right answers, which costs errors; the thesis has zero-one,hinge,1-norm,cross-entropy"`
	Units   minimax.Normalization `flag:"units" default:"lipschitz" values:"lipschitz,bounded,baseline,regret,none" help:"Unit of objectives: their Lipschitz constant, their bound, their value at the start, their excess over what each reaches alone (including the penalty of linear models), or none"`
	ZeroOne minimax.ZeroOneMode   `flag:"zero_one" default:"surrogate" values:"surrogate,ramp,proxy,zero-grad" topic:"losses" help:"What the players see of zero-one. surrogate: both see the logarithmic loss that bounds it, which is sound. ramp: both see a ramp, which is not convex. proxy: the model sees that loss and the mixture the errors; this game is not zero-sum and has no certificate. zero-grad: as proxy, but errors have no gradient. That is unsound, since the mixture can move to an objective that the model cannot see; use it to reproduce only"`
	Classes minimax.MultiClass    `flag:"classes" default:"ova-mean" values:"ova-mean,softmax" topic:"losses" help:"Losses of more than two classes"`
	Min     []float64             `flag:"min" topic:"mixtures" help:"Least weights of the objectives, one or one each, separated by commas"`
	Max     []float64             `flag:"max" topic:"mixtures" help:"Greatest weights"`
	Ball    float64               `flag:"ball" min:"0" topic:"mixtures" help:"Bound of the norm of the weights of the objectives, from 1/√p for p of them; 0 is none"`

	Vertices string    `flag:"vertices" topic:"mixtures" help:"Mixtures whose hull the preferences are: weights separated by commas, mixtures by semicolons"`
	Offsets  []float64 `flag:"offsets" topic:"mixtures" help:"For --units regret: what each objective reaches alone, if known, separated by commas. Values are in Lipschitz units and include the penalty of linear models, as offsets in the report. They are then not computed again"`
	Mixture  string    `flag:"mixture" topic:"mixtures" help:"Train on this mixture instead (a baseline), or on uniform; weights are divided by their sum"`

	L2         float64         `flag:"l2" default:"1e-4" min:"0" help:"Weight of the squares of the parameters, halved"`
	Norm       bool            `flag:"norm" topic:"penalties" help:"--l2 weighs the norm, not its square"`
	Beta2      float64         `flag:"beta2" min:"0" topic:"penalties" help:"Weight of the mixture's Lipschitz constant"`
	Penalty    minimax.Penalty `flag:"penalty" default:"handicap" values:"handicap,shy,constraint" topic:"penalties" help:"What --beta2 does: added to objectives, taken from them, or a bound for mixtures"`
	Radius     float64         `flag:"radius" min:"0" topic:"penalties" help:"Bound of the norm of the parameters; 0 is none"`
	ScoreBound float64         `flag:"score_bound" min:"0" topic:"penalties" help:"Assumed bound on the size of scores, for losses whose units depend on it, such as squared, and for --units bounded. It is not enforced. 0 is what --radius implies"`
	Bias       float64         `flag:"bias" min:"0" topic:"penalties" help:"For linear models without --radius: exempt biases from --l2, and bound their size by this; 0 counts them among the weights"`

	Hidden  []int         `flag:"hidden" min:"1" help:"Sizes of hidden layers, as 1024,512,128; none is a linear model. --steps of networks are constant, or decreasing with the root of the pass (auto)"`
	Scaling dense.Scaling `flag:"scaling" default:"standard" values:"standard,largest,none" topic:"table" help:"Numeric columns: less their mean by their standard deviation, by the largest value of all, or as they are"`

	Solver     string  `flag:"solver" default:"auto" values:"auto,mirror-prox,gda,alternating,smoothed,dual-ascent,newton" help:"Optimiser. auto is gda for networks. For linear models it is mirror-prox, then dual-ascent, until the gap is certified; newton takes over where that is slow and rows and features are few, smoothed for softmax and losses without kinks"`
	Steps      string  `flag:"steps" default:"auto" values:"auto,constant,theorem,decreasing,adaptive,backtracked" topic:"steps" help:"Lengths of steps"`
	Rate       float64 `flag:"rate" min:"0" topic:"steps" help:"Step of the parameters (a radius for adaptive steps); 0 is the solver's"`
	LambdaRate float64 `flag:"lambda_rate" min:"0" topic:"steps" help:"Step of the weights of objectives"`
	Entropic   bool    `flag:"entropic" topic:"steps" help:"Weights of objectives move by factors"`
	All        bool    `flag:"average_all" topic:"steps" help:"Average all steps, not the last half"`
	Batch      int     `flag:"batch" default:"128" min:"0" topic:"steps" help:"Rows of a minibatch; 0 is all"`
	Gap        float64 `flag:"gap" default:"1e-3" min:"0" help:"Certified gap to stop at, relative to the value (to 0.01, if that is more); for linear models. 0 goes on to the last iteration"`

	Method   string  `flag:"optimizer" default:"sgd" values:"sgd,adagrad,adam" topic:"networks" help:"Steps of networks"`
	Momentum float64 `flag:"momentum" default:"0.9" min:"0" topic:"networks" help:"Momentum of sgd for networks"`
	Heldout  float64 `flag:"heldout" min:"0" max:"0.999999" topic:"networks" help:"Share of the rows held out from training: of a network, the pass with the least worst objective on them is kept"`
	Seed     int64   `flag:"seed" default:"1" min:"0" help:"Seed of all that is random"`

	NoPolish bool // leaves out the second part of solver auto, which proves the gap
}

// Minimax returns the options of package minimax, without those of a run. Errors begin with the
// name of an option.
func (o *Options) Minimax() (*minimax.Options, error) {
	var full Options
	if err := learner.Complete(&full, o); err != nil {
		return nil, err
	}
	m := &minimax.Options{Normalization: full.Units, ZeroOne: full.ZeroOne, MultiClass: full.Classes,
		Penalty: full.Penalty, Beta1: learner.Amount(full.L2), Beta2: full.Beta2, Norm: full.Norm,
		Radius: full.Radius, StepW: full.Rate, StepLambda: full.LambdaRate, Entropic: full.Entropic, All: full.All,
		Batch: full.Batch, Gap: full.Gap, Seed: uint64(max(full.Seed, 0)), ScoreBound: full.ScoreBound,
		Bias: full.Bias, NoPolish: full.NoPolish, Offsets: full.Offsets, Hidden: full.Hidden}
	if full.Solver != "auto" {
		m.Solver = minimax.Solver(full.Solver)
	}
	m.Preferences = minimax.Preferences{Lo: full.Min, Hi: full.Max, Radius: full.Ball}
	for _, name := range full.Losses {
		if name == "" {
			continue
		}
		l, err := score.ParsePointwise(name)
		if err != nil {
			return nil, fmt.Errorf("losses: %w", err)
		}
		m.Losses = append(m.Losses, l)
	}
	for _, part := range []func(*minimax.Options) error{full.check, full.mixtures, full.steps} {
		if err := part(m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// check refuses options that mean nothing together.
func (o *Options) check(m *minimax.Options) error {
	switch {
	case len(m.Losses) == 0:
		return errors.New("losses: none given; one at least is needed")
	case o.Radius > 0 && o.Bias > 0:
		return errors.New("bias: a radius holds biases too; give one of the two")
	case o.Offsets != nil && (m.Normalization != minimax.Regret || len(m.Losses) != len(o.Offsets)):
		return fmt.Errorf("offsets: they are for --units regret, one for each of the %d --losses", len(m.Losses))
	}
	for name, bounds := range map[string][]float64{"min": o.Min, "max": o.Max} {
		if i := slices.IndexFunc(bounds, func(v float64) bool { return v < 0 }); i >= 0 {
			of := "objectives"
			if len(bounds) == len(m.Losses) {
				of = m.Losses[i].Name
			}
			return fmt.Errorf("%s: the weight of %s is %v; weights of a mixture are from 0 to 1", name, of, bounds[i])
		}
	}
	return nil
}

// mixtures sets the hull that counts, and the mixture to train on where that is fixed.
func (o *Options) mixtures(m *minimax.Options) (err error) {
	for v := range strings.SplitSeq(o.Vertices, ";") {
		if o.Vertices == "" {
			break
		}
		x, err := numbers("vertices", v)
		if err != nil {
			return err
		}
		m.Preferences.Vertices = append(m.Preferences.Vertices, x)
	}
	switch o.Mixture {
	case "":
	case "uniform":
		m.Fixed = slices.Repeat([]float64{1 / float64(len(m.Losses))}, len(m.Losses))
	default:
		m.Fixed, err = numbers("mixture", o.Mixture)
	}
	return err
}

func numbers(name, text string) ([]float64, error) {
	var out []float64
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || v-v != 0 {
			return nil, fmt.Errorf("%s: %q is not a finite number", name, word)
		}
		out = append(out, v)
	}
	return out, nil
}

// steps sets the rule of linear models, and how networks are trained.
func (o *Options) steps(m *minimax.Options) (err error) {
	if len(o.Hidden) == 0 {
		if o.Steps == "auto" {
			return nil
		}
		if m.Steps, err = saddle.ParseStepRule(o.Steps); err == nil &&
			m.Steps == saddle.ConstantSteps && m.StepW == 0 {
			err = errors.New("steps: constant steps need a --rate")
		}
		return err
	}
	switch o.Steps {
	case "auto", "decreasing":
	case "constant":
		m.Network.Constant = true
	default:
		return fmt.Errorf("steps: those of networks (--hidden) are constant or decreasing, not %s", o.Steps)
	}
	m.Network.Method = map[string]optim.Method{"sgd": optim.SGD, "adagrad": optim.AdaGrad,
		"adam": optim.Adam}[o.Method]
	if m.Network.Method == optim.SGD {
		m.Network.Momentum = o.Momentum
	}
	return nil
}

// OwnRounds reports whether a solver has no steps and minibatches. Without a number of iterations
// it then runs as many rounds as make progress.
func OwnRounds(s minimax.Solver) bool {
	return s == minimax.DualAscent || s == minimax.Newton || s == minimax.Smoothed
}
