package minimax

import (
	"fmt"
	"slices"
)

// series trains on one fixed mixture after another, and, where one is nil, the robust model. What
// each objective reaches alone is sought once.
func series(data *Data, o Options, mixtures [][]float64) ([]*Fit, error) {
	var out []*Fit
	for _, fixed := range mixtures {
		o.Fixed = fixed
		f, err := Train(data, &o)
		if err != nil {
			return out, err
		}
		if o.Normalization == Regret {
			o.Offsets = f.known()
		}
		out = append(out, f)
	}
	return out, nil
}

// given returns a copy of the options, and one with their defaults, for checked data.
func given(data *Data, opts *Options) (o, full Options, err error) {
	if err = data.Check(); err == nil {
		full, err = opts.withDefaults(data)
	}
	if opts != nil {
		o = *opts
	}
	return o, full, err
}

// Baselines trains the models to compare a robust one with, by the same solver and budget: one on
// each objective, and one on their even mixture (last). Their Worst is over the preferences, as the
// robust model's is.
func Baselines(data *Data, opts *Options) ([]*Fit, error) {
	o, full, err := given(data, opts)
	if err != nil {
		return nil, err
	}
	p := len(full.Losses)
	var mixtures [][]float64
	for k := range p {
		mixtures = append(mixtures, make([]float64, p))
		mixtures[k][k] = 1
	}
	return series(data, o, append(mixtures, slices.Repeat([]float64{1 / float64(p)}, p)))
}

// TradePoint is a model on the curve of two objectives.
type TradePoint struct {
	Lambda float64 // of the first of the two
	Values [2]float64
	Fit    *Fit
}

// TradeOff trains the robust model, and models on mixtures of two objectives, from the second only
// to the first only in the given number of even steps. It is figure 5.1 on data. For convex
// problems the curve bounds what is attainable. The robust model is where it meets the diagonal,
// unless one objective is larger everywhere.
func TradeOff(data *Data, opts *Options, first, second, steps int) (curve []TradePoint, robust TradePoint,
	err error) {
	o, full, err := given(data, opts)
	if err != nil {
		return nil, robust, err
	}
	p := len(full.Losses)
	if first < 0 || second < 0 || first >= p || second >= p || first == second || steps < 1 {
		return nil, robust, fmt.Errorf("minimax: no trade-off between objectives %d and %d of %d in %d steps",
			first, second, p, steps)
	}
	o.Losses, o.Preferences = []Loss{full.Losses[first], full.Losses[second]}, Preferences{}
	var mixtures [][]float64
	for i := range steps + 1 {
		a := float64(i) / float64(steps)
		mixtures = append(mixtures, []float64{a, 1 - a})
	}
	fits, err := series(data, o, append(mixtures, nil))
	for _, f := range fits {
		curve = append(curve, TradePoint{f.Lambda[0], [2]float64{f.Values[0], f.Values[1]}, f})
	}
	if err != nil {
		return curve, robust, err
	}
	return curve[:steps+1], curve[steps+1], nil
}
