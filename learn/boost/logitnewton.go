package boost

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Friedman, Hastie and Tibshirani bound the working response by 4. With that bound, a class of less
// than a fifth of the rows becomes rarer every round. The response of its rows, 1/p, is cut, and
// the mean of the remainder keeps falling. Here the bound is therefore one of the fit's values.
const (
	leastVariance = 1e-10
	largestValue  = 4
)

// trainLogitNewton is LogitBoost (Friedman, Hastie and Tibshirani, "Additive logistic
// regression", Annals of Statistics 28:337–407, 2000, algorithm 3): each round fits
// the working response z = (y* - p)/(p(1-p)), y* in {0, 1}, by least squares with
// weights p(1-p), and adds half of the fit, F being half the log-odds there. The
// scores of the model are F in that convention doubled, the log-odds, so that the
// logistic loss and its probabilities apply to them.
func trainLogitNewton(d *Data, o *AdaBoostOptions, c *run.Control) (*Ensemble, *optim.Result, error) {
	settings, err := json.Marshal(o)
	if err != nil {
		return nil, nil, fmt.Errorf("boost: settings: %w", err)
	}
	r, err := newRun("adaboost-"+string(o.Variant), string(settings), d, Logistic{}, []float64{0}, o.Valid, c)
	if err != nil {
		return nil, nil, err
	}
	learner := o.Learner
	if learner == nil {
		learner = RegressionTrees{Splits: 1}
	}
	fitter, err := learner.Prepare(r.d, r.Workers)
	if err != nil {
		return nil, nil, fmt.Errorf("boost: %s: learner %s: %w", r.e.Algorithm, learner.Name(), err)
	}
	m := d.Rows()
	g, w := make([]float64, m), make([]float64, m)
	r.one = func() (*Progress, error) {
		for i, y := range d.Y {
			p := score.Sigmoid(r.scores[i])
			v := max(p*(1-p), leastVariance)
			residual := -p
			if y > 0 {
				residual = score.Sigmoid(-r.scores[i]) // 1-p, without cancellation
			}
			g[i] = -residual / v
			w[i] = score.Weight(d.W, i) * v
		}
		fit, err := fitter.Fit(r.Ctx, &Direction{G: g, W: w, Round: r.Steps()})
		if err != nil {
			return nil, fmt.Errorf("boost: %s: round %d: %w", r.e.Algorithm, r.Steps()+1, err)
		}
		if len(fit.Values) != m {
			return nil, fmt.Errorf("boost: %s: round %d: the base predictor has %d values for %d rows", r.e.Algorithm,
				r.Steps()+1, len(fit.Values), m)
		}
		bounded(fit)
		p := &Progress{Family: -1, Step: 1, Splits: splitsOf(fit.Predictor)}
		for i, v := range fit.Values {
			if v-v != 0 {
				return nil, fmt.Errorf("boost: %s: round %d: %w: the base predictor gives %v at %s", r.e.Algorithm,
					r.Steps()+1, ErrRange, v, d.X.At(i))
			}
			p.Derivative += score.Weight(d.W, i) * (score.Sigmoid(r.scores[i]) - (d.Y[i]+1)/2) * v / r.total
			r.scores[i] += v
		}
		t := Term{Weight: 1, Predictor: fit.Predictor, Family: -1, Round: r.Steps()}
		r.e.Terms = append(r.e.Terms, t)
		r.addValid(&t)
		p.Loss = score.Mean(r.e.Loss, d.Y, d.W, r.scores, r.Workers)
		p.Objective = p.Loss
		return p, nil
	}
	return r.rounds()
}

// bounded brings the values of a fit within ±largestValue: those of a tree's leaves one by one,
// another predictor as a whole.
func bounded(fit *Fit) {
	size := Norm(fit.Values, math.Inf(1))
	if !(size > largestValue) || math.IsInf(size, 1) {
		return
	}
	if t, ok := fit.Predictor.(*tree.Tree); ok {
		for at := range t.Value {
			t.Value[at] = min(max(t.Value[at], -largestValue), largestValue)
		}
		for i := range fit.Values {
			fit.Values[i] = min(max(fit.Values[i], -largestValue), largestValue)
		}
		return
	}
	fit.Predictor = scaled(fit.Predictor, largestValue/size)
	for i := range fit.Values {
		fit.Values[i] *= largestValue / size
	}
}
