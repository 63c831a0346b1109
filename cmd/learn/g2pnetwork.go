package main

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// letterNetworkFlags are the flags of networks in pronunciation models.
type letterNetworkFlags struct{ g2p.NetworkOptions }

func (n *letterNetworkFlags) define(fs *flags.Set) { options.Define(fs, &n.NetworkOptions) }

// networkOnly are the flags of networks that linear models do not have; --seed is accepted by all.
var networkOnly = []string{"members", "epochs", "hidden", "dropout", "rate", "batch", "features",
	"first_epochs"}

// linearOnly are the flags of L-BFGS and of resilient training.
var linearOnly = []string{"solver", "memory", "iterations", "stop"}

// letterFeatures are the flags of the features of letter n-grams.
var letterFeatures = []string{"window", "damping", "min_count"}

// check completes the options, and says whether so many words are trained with networks, 0 for any
// number. It refuses flags that have no effect then.
func (n *letterNetworkFlags) check(c *call, words int, h resilient.Relaxation) (networks bool, err error) {
	if err := learner.Complete(&n.NetworkOptions, &n.NetworkOptions); err != nil {
		return false, fmt.Errorf("flag --%w", err)
	}
	kind := n.Networks.For(words)
	if words > 0 { // else each training has its own
		n.Networks = kind
	}
	if kind == g2p.NoNetwork {
		why := "the model has no network"
		if !c.flags.Given("network") {
			why = fmt.Sprintf("more than %d words are trained without networks unless --network says otherwise",
				g2p.MostWords)
		}
		return false, c.idle(why, networkOnly...)
	}
	if h != nil {
		return false, errors.New("flag --resilient needs --network none: networks are trained on all words alike")
	}
	if err := c.idle("networks are trained by Adam for --epochs; --network none has it",
		linearOnly...); err != nil {
		return false, err
	}
	if !n.Features {
		err = c.idle("it is of the features of letters, which --network none or --features has",
			append([]string{"l2"}, letterFeatures...)...)
	}
	return true, err
}

// prepare sets what networks have otherwise in the preparation of so many pairs.
func (n *letterNetworkFlags) prepare(c *call, pairs int, o *g2p.Options) {
	widen, marks := o.Align.Widen, o.Views.Marks
	n.Recipe(pairs, o)
	if c.flags.Given("widen") {
		o.Align.Widen = widen
	}
	if c.flags.Given("marks") {
		o.Views.Marks = marks
	}
}

// identity spells the options for checkpoints.
func (n *letterNetworkFlags) identity() string {
	return fmt.Sprintf("seed=%d %s", n.Seed, learner.Settings(&n.NetworkOptions))
}

// fit trains the networks.
func (n *letterNetworkFlags) fit(problem *g2p.Problem, o g2p.Objective, what string, workers int,
	control run.Control) (*g2p.Model, *fitted, error) {
	control.Workers, control.Problem = workers, what+" "+n.identity()
	m, r, err := problem.FitNetworks(o, &n.NetworkOptions, &control)
	if err != nil {
		return nil, nil, err
	}
	return m, &fitted{result: r, write: m.Write}, nil
}

// cross sets up networks for all objectives of a cross-validation. The default is none there:
// networks take minutes for what linear models do in seconds.
func (n *letterNetworkFlags) cross(c *call, o *g2p.CompareOptions, gammas []float64) error {
	if networks, err := n.check(c, 0, nil); err != nil || !networks {
		return err
	}
	if err := c.idle("networks have nothing to choose", "inner_folds", "inner_use"); err != nil {
		return err
	}
	gamma := 1.0
	if c.flags.Given("gamma") {
		if len(gammas) != 1 {
			return errors.New("flag --gamma: networks have nothing to choose: give one value")
		}
		gamma = gammas[0]
	}
	n.Seed = o.Seed
	for i := range o.Objectives {
		if k := &o.Objectives[i]; k.Gamma != 0 {
			k.Gamma = gamma
		}
		o.Networks = append(o.Networks, &n.NetworkOptions)
	}
	o.Grid = nil
	n.prepare(c, 0, &o.Options)
	return nil
}
