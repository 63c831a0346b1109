package minimax

import (
	"fmt"
	"math"
)

// Bound is what theory says of the loss on new data, with probability 1-Delta, for a
// linear model with |w| ≤ Radius (and losses in its own units).
type Bound struct {
	Delta      float64 `json:"delta"`
	Empirical  float64 `json:"empirical"`  // worst mixture on the training data
	Rademacher float64 `json:"rademacher"` // of the scores on the training data, at most this
	// Vertex bounds the worst mixture by a union over the p objectives, which is
	// enough since everything is linear in λ: max_k L_k + 2 M_k Rad + 3 B_k √(ln(2p/δ)/2m).
	Vertex float64 `json:"vertex"`
	// Cover is the bound as Theorem 5.3 prints it, with an ε-cover of the simplex and D_H
	// for the diameter.
	Cover   float64 `json:"cover"`
	Epsilon float64 `json:"epsilon"`
}

// BoundReport returns the bounds for a model that was fitted to data with a Radius.
// Losses must have finite Lipschitz constants and bounds; models with hidden layers have
// no report.
//
// The complexity of linear scores is at most Radius·√(Σ|x_i|²)/m; several outputs count
// with a factor √2 each, after the vector contraction of A. Maurer (ALT 2016), divided by
// their number since losses are means over them.
func BoundReport(data *Data, opts *Options, f *Fit, delta float64) (*Bound, error) {
	if !(delta > 0 && delta < 1) {
		return nil, fmt.Errorf("minimax: a probability of %v is not between 0 and 1", delta)
	}
	o, err := opts.withDefaults(data)
	if err != nil {
		return nil, err
	}
	if len(o.Hidden) > 0 {
		return nil, fmt.Errorf("minimax: no bound is known that says anything for a network")
	}
	if data.Weight != nil {
		return nil, fmt.Errorf("minimax: the bounds are for examples that count alike, not for weighted ones")
	}
	if o.Radius == 0 {
		return nil, fmt.Errorf("minimax: a bound needs a radius of the weights")
	}
	bound := o.ScoreBound
	if bound == 0 {
		bound = o.Radius * data.longest()
	}
	objectives, err := newObjectives(o.Losses, o.Normalization, o.ZeroOne, o.MultiClass, data.Outputs(), bound)
	if err != nil {
		return nil, err
	}
	sq := 0.0
	for _, v := range data.X {
		sq += v * v
	}
	sq += float64(data.Rows) // the constant feature of the bias
	m, p := float64(data.Rows), float64(len(objectives))
	b := &Bound{Delta: delta, Empirical: f.Worst, Rademacher: o.Radius * math.Sqrt(sq) / m, Vertex: math.Inf(-1), Epsilon: 0.01}
	outputs := float64(data.Outputs())
	contraction := 1.0
	if outputs > 1 {
		contraction = math.Sqrt2 * outputs
	}
	root := math.Sqrt(math.Log(2*p/delta) / (2 * m))
	most, lip := 0.0, 0.0
	for k := range objectives {
		u := f.Model.Objectives[k]
		c := u.Scale / objectives[k].scale // Baseline's units are known after training only
		mk, bk := objectives[k].lipschitz*c, objectives[k].bound*c
		if outputs > 1 && o.MultiClass == OneVsAll {
			mk *= objectives[k].factor / outputs // each output has its share of the mean
		}
		if !finite(mk, bk) {
			return nil, fmt.Errorf("minimax: %s has no finite Lipschitz constant or bound", u.Name)
		}
		b.Vertex = math.Max(b.Vertex, f.Values[k]+2*mk*contraction*b.Rademacher+3*bk*root)
		most, lip = math.Max(most, bk), math.Max(lip, mk)
	}
	// ln N of an ℓ1-cover is at most p ln(1+2/ε).
	cover := math.Sqrt((p*math.Log1p(2/b.Epsilon) - math.Log(delta)) / (2 * m))
	diameter := 2 * bound
	b.Cover = f.Worst + 2*lip*contraction*b.Rademacher + most*b.Epsilon + lip*diameter*cover
	return b, nil
}
