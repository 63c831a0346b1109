package minimax

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Bound is a generalisation bound that holds with probability 1-Delta, for a linear model with |w|
// ≤ Radius (and losses in their own units).
type Bound struct {
	Delta      float64 `json:"delta"`
	Radius     float64 `json:"radius"`
	Empirical  float64 `json:"empirical"`  // worst mixture on the training data
	Rademacher float64 `json:"rademacher"` // of the scores on the training data, at most this
	// Vertex bounds the worst mixture by a union bound over the p objectives, since everything is
	// linear in λ: max_k L_k + 2 M_k Rad + 3 B_k √(ln(2p/δ)/2m).
	Vertex float64 `json:"vertex"`
	// Cover is the bound as Theorem 5.3 prints it, with an ε-cover of the simplex and D_H
	// for the diameter.
	Cover   float64 `json:"cover"`
	Epsilon float64 `json:"epsilon"`
}

// Bound returns the generalisation bounds of a linear model among those with |w| ≤ radius, biases
// included. The model was trained on data, and s is its evaluation there (Evaluate). Choose the
// radius, and delta, the chance that the bounds fail, before looking at the data. Losses must have
// a finite Lipschitz constant and bound for scores up to radius·max|x_i|, and numeric targets up to
// the largest |y_i|. All named losses have these, whatever the units of training. New rows are
// assumed to be no longer, and their targets no larger. Units and offsets, such as those of
// regrets, may come from the data: they do the same to both sides. Models with hidden layers have
// no report, and neither have weighted examples.
//
// The complexity of linear scores is at most radius·√(Σ|x_i|²)/m. Several outputs multiply it by √2
// each, after the vector contraction of A. Maurer (ALT 2016), and divide it by their number, since
// losses are means over outputs.
func (m *Model) Bound(data *Data, s *Scored, radius, delta float64, custom ...Loss) (*Bound, error) {
	if !(delta > 0 && delta < 1) {
		return nil, fmt.Errorf("minimax: a probability of %v is not between 0 and 1", delta)
	}
	if len(m.Sizes) > 2 {
		return nil, fmt.Errorf("minimax: no bound is known that says anything for a network")
	}
	if data.Weight != nil {
		return nil, fmt.Errorf("minimax: the bounds are for examples that count alike, not for weighted ones")
	}
	if data.Features != m.Sizes[0] || data.Outputs() != m.Outputs() || len(s.Values) != len(m.Objectives) {
		return nil, fmt.Errorf("minimax: data of %d features and %d outputs for a model of %d and %d",
			data.Features, data.Outputs(), m.Sizes[0], m.Outputs())
	}
	norm := floats.Norm(m.Params, 2)
	if !(radius > 0) || math.IsInf(radius, 1) || norm > radius*(1+1e-9) {
		return nil, fmt.Errorf("minimax: a bound for models with parameters of norm at most %v says nothing of "+
			"one with %.6g; train within a radius", radius, norm)
	}
	own, err := m.losses(custom)
	if err != nil {
		return nil, err
	}
	var losses []Loss
	for _, o := range own {
		losses = append(losses, o.Loss)
	}
	bound := radius * data.Longest()
	objectives, err := newObjectives(losses, Raw, m.ZeroOne, m.MultiClass, data.Outputs(), bound+beyond(data))
	if err != nil {
		return nil, err
	}
	sq := 0.0
	for _, v := range data.X {
		sq += v * v
	}
	sq += float64(data.Rows) // the constant feature of the bias
	rows, p := float64(data.Rows), float64(len(objectives))
	b := &Bound{Delta: delta, Empirical: s.Worst, Radius: radius, Rademacher: radius * math.Sqrt(sq) / rows,
		Vertex: math.Inf(-1), Epsilon: 0.01}
	outputs := float64(data.Outputs())
	contraction := 1.0
	if outputs > 1 {
		contraction = math.Sqrt2 * outputs
	}
	root := math.Sqrt(math.Log(2*p/delta) / (2 * rows))
	most, lip := 0.0, 0.0
	for k := range objectives {
		u := m.Objectives[k]
		mk, bk := objectives[k].lipschitz*u.Scale, objectives[k].bound*u.Scale
		if outputs > 1 && m.MultiClass == OneVsAll {
			mk /= outputs // each output has its share of the mean
		}
		if !finite(mk, bk) {
			return nil, fmt.Errorf("minimax: %s has the Lipschitz constant %v and the bound %v on scores up to "+
				"%.4g: the report needs both finite", u.Name, mk, bk, bound)
		}
		b.Vertex = math.Max(b.Vertex, s.Values[k]+2*mk*contraction*b.Rademacher+3*bk*root)
		most, lip = math.Max(most, bk), math.Max(lip, mk)
	}
	// ln N of an ℓ1-cover is at most p ln(1+2/ε).
	cover := math.Sqrt((p*math.Log1p(2/b.Epsilon) - math.Log(delta)) / (2 * rows))
	b.Cover = s.Worst + 2*lip*contraction*b.Rademacher + most*b.Epsilon + lip*(2*bound)*cover
	return b, nil
}
