package boost

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Importance says how much a model uses a column.
type Importance struct {
	Column string  `json:"column"`
	Gain   float64 `json:"gain"`   // total gain of the splits on it
	Splits int     `json:"splits"` // their number
	Rows   float64 `json:"rows"`   // training rows that they divided, in all
}

// Importance returns, for every column in the order of the schema, its use in the splits of the
// model's trees. Gains are in the units of the criterion that the trees were grown by, so they
// compare columns of one model, not models. Predictors other than trees do not count.
func (e *Ensemble) Importance() []Importance {
	out := make([]Importance, len(e.Schema.Columns))
	for j, c := range e.Schema.Columns {
		out[j].Column = c.Name
	}
	for i := range e.Terms {
		p := e.Terms[i].Predictor
		if s, ok := p.(Scaled); ok {
			p = s.Of
		}
		t, ok := p.(*tree.Tree)
		if !ok {
			continue
		}
		for at, f := range t.Feature {
			if f >= 0 {
				out[f].Gain += t.Gain[at]
				out[f].Splits++
				out[f].Rows += float64(t.Count[at])
			}
		}
	}
	return out
}

// PermutationOptions adjusts Permutation; nil is the zero value.
type PermutationOptions struct {
	Repeats int // shuffles of each column; 0 is 5
	Seed    uint64
	Workers int // goroutines; 0 is GOMAXPROCS. Results do not depend on it

	Ctx context.Context // when it is cancelled, the work ends with its error; nil is never cancelled
}

// Permuted says what the loss of a column's values would cost.
type Permuted struct {
	Column   string  `json:"column"`
	Loss     float64 `json:"loss"`     // mean rise of the mean loss when its values are shuffled
	LossStd  float64 `json:"loss_std"` // standard deviation over the shuffles
	Error    float64 `json:"error"`    // mean rise of the error rate; 0 for regression
	ErrorStd float64 `json:"error_std"`
}

// Permutation shuffles one column at a time and measures how much worse the model
// gets on d, best on rows that it was not trained on (L. Breiman, "Random forests",
// Machine Learning 45:5–32, 2001). Columns that stand in for each other all look
// unimportant. It costs Repeats predictions for each column that the model uses.
func (e *Ensemble) Permutation(d *Data, o *PermutationOptions) ([]Permuted, error) {
	if o == nil {
		o = &PermutationOptions{}
	}
	repeats := o.Repeats
	if repeats == 0 {
		repeats = 5
	}
	if repeats < 1 {
		return nil, fmt.Errorf("boost: permutation importance: %d repeats", repeats)
	}
	if err := d.check(e.Loss); err != nil {
		return nil, err
	}
	classes := score.HasMargin(e.Loss) || e.Outputs() > 1
	measure := func(x *table.Table) (loss, wrong float64, err error) {
		f, err := e.Scores(x, &PredictOptions{Workers: o.Workers, Ctx: o.Ctx})
		if err != nil {
			return 0, 0, err
		}
		if classes {
			wrong = score.ErrorRate(e.Loss, d.Y, d.W, f)
		}
		return score.Mean(e.Loss, d.Y, d.W, f, 1), wrong, nil
	}
	loss, wrong, err := measure(d.X)
	if err != nil {
		return nil, err
	}
	used := e.used()
	out := make([]Permuted, len(e.Schema.Columns))
	for j, c := range e.Schema.Columns {
		out[j].Column = c.Name
		if used != nil && !used[j] {
			continue
		}
		values := make([]float32, d.X.Rows)
		d.X.Fill(values, j, 0)
		rng := rand.New(rand.NewPCG(o.Seed, uint64(j)))
		losses, errors := make([]float64, repeats), make([]float64, repeats)
		for r := range repeats {
			rng.Shuffle(len(values), func(a, b int) { values[a], values[b] = values[b], values[a] })
			l, w, err := measure(d.X.WithColumn(j, values))
			if err != nil {
				return nil, err
			}
			losses[r], errors[r] = l-loss, w-wrong
		}
		out[j].Loss, out[j].LossStd = meanStd(losses)
		out[j].Error, out[j].ErrorStd = meanStd(errors)
	}
	return out, nil
}

// used tells which columns the model reads; nil when that is not known.
func (e *Ensemble) used() []bool {
	used := make([]bool, len(e.Schema.Columns))
	for i := range e.Terms {
		p := e.Terms[i].Predictor
		if s, ok := p.(Scaled); ok {
			p = s.Of
		}
		t, ok := p.(*tree.Tree)
		if !ok {
			return nil
		}
		for _, f := range t.Feature {
			if f >= 0 {
				used[f] = true
			}
		}
	}
	return used
}

// meanStd returns the mean and the standard deviation (n-1), 0 for one value.
func meanStd(x []float64) (mean, std float64) {
	mean = sum(x) / float64(len(x))
	for _, v := range x {
		std += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(std / float64(max(len(x)-1, 1)))
}
