package boost

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Each round's trees split on its sample of columns and on no others, and rounds have different
// samples.
func TestRGBSamplesColumns(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(8, 1)), 300, 10, 0)
	for _, share := range []float64{0.3, 1} {
		e := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 30, ColumnSample: share,
			Families: Grid([]int{32}, []float64{4}), MinHessian: -1}))
		most, all := 0, map[int32]bool{}
		for i := range e.Terms {
			used := map[int32]bool{}
			for _, j := range e.Terms[i].Predictor.(*tree.Tree).Feature {
				if j >= 0 {
					used[j], all[j] = true, true
				}
			}
			most = max(most, len(used))
		}
		if share == 0.3 && (most != 3 || len(all) != 10) || share == 1 && most != 10 {
			t.Errorf("share %v: a tree has up to %d of 10 columns, all together %d", share, most, len(all))
		}
	}
}

// blind knows the training rows, in each round another of its lists, and says nothing of others.
type blind [][]float64

func (blind) Name() string                                 { return "blind" }
func (b blind) Prepare(*Data, int) (Fitter, error)         { return b, nil }
func (blind) Predict(dst []float64, _ *table.Table, _ int) { clear(dst) }
func (b blind) Fit(_ context.Context, p *Direction) (*Fit, error) {
	return &Fit{Predictor: b, Values: slices.Clone(b[p.Round%len(b)]), Complexity: math.NaN()}, nil
}

// A loss on the validation rows that stays what it was is no improvement: patience runs out, and
// the model is that of the first round that had it, here of none.
func TestEqualValidationLossIsNoImprovement(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 2, 3, 4}), Y: []float64{1, 1, -1, 1}}
	valid := &Data{X: numeric([]float32{5, 6}), Y: []float64{1, -1}}
	rounds := 0
	e := must[*Ensemble](t)(trainAdaBoost(d, &AdaBoostOptions{Learner: blind{{1, 1, 1, 1}, {1, 1, -1, -1}},
		Variant: LogitCD, Rounds: 50}, control{Valid: valid, Patience: 3, Watch: func(p *Progress) error {
		rounds++
		near(t, "validation loss", p.Valid, math.Ln2, 1e-15)
		return nil
	}}))
	if rounds != 3 || len(e.Terms) != 0 {
		t.Errorf("%d rounds, %d terms", rounds, len(e.Terms))
	}
}
