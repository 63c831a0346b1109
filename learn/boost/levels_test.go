package boost

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// leveled draws rows of two informative columns and, where levels is not 0, one of that many levels
// with the given effects (nil: none).
func leveled(seed uint64, rows, levels int, effects []float64) *Data {
	rng := rand.New(rand.NewPCG(seed, 31))
	d := &Data{X: numeric(make([]float32, rows), make([]float32, rows)), Y: make([]float64, rows)}
	level := make([]float32, rows)
	for i := range rows {
		a, b, l := rng.NormFloat64(), rng.NormFloat64(), rng.IntN(max(levels, 1))
		d.X.Columns[0].Values[i], d.X.Columns[1].Values[i], level[i] = float32(a), float32(b), float32(l)
		if effects != nil {
			a += effects[l]
		}
		d.Y[i] = -1
		if rng.Float64() < 1/(1+math.Exp(-1.5*(a+a*b))) {
			d.Y[i] = 1
		}
	}
	if levels > 0 {
		d.X.Columns = append(d.X.Columns, table.Column{Name: "level", Kind: table.Categorical, Values: level,
			Levels: make([]string, levels)})
	}
	return d
}

// Columns of many levels that say nothing cost next to nothing on new rows; those that say
// something are made use of.
func TestManyLevels(t *testing.T) {
	effects := make([]float64, 60)
	rng := rand.New(rand.NewPCG(1, 32))
	for l := range effects {
		effects[l] = 1.5 * rng.NormFloat64()
	}
	for name, train := range map[string]func(*Data) (*Ensemble, error){
		"rgb": func(d *Data) (*Ensemble, error) { return trainRGB(d, &RGBOptions{Rounds: 60}) },
		"gb":  func(d *Data) (*Ensemble, error) { return trainGradient(d, &GradientOptions{Rounds: 60}) },
		"exact": func(d *Data) (*Ensemble, error) {
			return trainGradient(d, &GradientOptions{Rounds: 60, Exact: true, MinRows: 1, Depth: 5})
		},
		"adaboost": func(d *Data) (*Ensemble, error) { return trainAdaBoost(d, &AdaBoostOptions{Rounds: 60}) },
	} {
		fresh := func(levels int, effects []float64, drop bool) float64 {
			d, v := leveled(1, 1000, levels, effects), leveled(2, 4000, levels, effects)
			if drop {
				d.X.Columns, v.X.Columns = d.X.Columns[:2], v.X.Columns[:2]
			}
			e := must[*Ensemble](t)(train(d))
			f := must[[]float64](t)(e.Scores(v.X, nil))
			return score.ErrorRate(e.Loss, v.Y, nil, f)
		}
		for _, levels := range []int{20, 100, 250} {
			if with, without := fresh(levels, nil, false), fresh(levels, nil, true); with > without+0.02 {
				t.Errorf("%s: error %.4f with %d levels that say nothing, %.4f without", name, with, levels, without)
			}
		}
		if with, without := fresh(60, effects, false), fresh(60, effects, true); with > without-0.03 {
			t.Errorf("%s: error %.4f with 60 levels that say something, %.4f without", name, with, without)
		}
	}
}
