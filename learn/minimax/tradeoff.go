package minimax

import (
	"fmt"
	"slices"
)

// TradePoint is a model on the curve of two objectives.
type TradePoint struct {
	Lambda float64 // of the first of the two
	Values [2]float64
	Fit    *Fit
}

// TradeOff trains models on mixtures of two objectives, from the second alone to the
// first alone in the given number of even steps, and the robust model: figure 5.1 on
// data. For convex problems the curve bounds what can be had, and the robust model is
// where it meets the diagonal, unless one objective is the larger all along.
func TradeOff(data *Data, opts *Options, first, second, steps int) (curve []TradePoint, robust TradePoint, err error) {
	if err := data.Check(); err != nil {
		return nil, robust, err
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	d, err := o.withDefaults(data)
	if err != nil {
		return nil, robust, err
	}
	p := len(d.Losses)
	if first < 0 || second < 0 || first >= p || second >= p || first == second || steps < 1 {
		return nil, robust, fmt.Errorf("minimax: no trade-off between objectives %d and %d of %d in %d steps", first, second, p, steps)
	}
	o.Losses = slices.Clone([]Loss{d.Losses[first], d.Losses[second]})
	o.Preferences = Preferences{}
	point := func(fixed []float64) (TradePoint, error) {
		o.Fixed = fixed
		f, err := Train(data, &o)
		if err != nil {
			return TradePoint{}, err
		}
		if d.Normalization == Regret {
			o.Offsets = f.known()
		}
		return TradePoint{f.Lambda[0], [2]float64{f.Values[0], f.Values[1]}, f}, nil
	}
	for i := range steps + 1 {
		a := float64(i) / float64(steps)
		t, err := point([]float64{a, 1 - a})
		if err != nil {
			return curve, robust, err
		}
		curve = append(curve, t)
	}
	robust, err = point(nil)
	return curve, robust, err
}
