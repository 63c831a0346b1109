package boost

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost/tree"
)

// With several scores all trees of a round move together, and the diagonal of the Hessian is
// doubled to bound it: a single leaf is -G/(2 Σ p(1-p) + L2).
func TestSeveralScoresDoubleTheHessian(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 2, 3, 4, 5, 6}), Y: []float64{0, 0, 0, 1, 1, 2}}
	for _, l2 := range []float64{1, -1} {
		e := must[*Ensemble](t)(trainGradient(d, &GradientOptions{Loss: SoftMax{Classes: 3}, Rounds: 1,
			LearningRate: 1, MinRows: 6, L2: l2, Start: []float64{0, 0, 0}}))
		if len(e.Terms) != 3 {
			t.Fatalf("%d terms", len(e.Terms))
		}
		for c, count := range []float64{3, 2, 1} {
			g, h := 6.0/3-count, 6*(1.0/3)*(2.0/3)
			leaves := e.Terms[c].Predictor.(*tree.Tree).Leaves()
			if len(leaves) != 1 {
				t.Fatalf("%d leaves", len(leaves))
			}
			near(t, "leaf", leaves[0], -g/(2*h+max(l2, 0)), 1e-12)
		}
	}
}

// told is a learner of constants that keeps what it was asked to fit.
type told struct {
	values []float64
	asked  *[][]float64
}

func (told) Name() string                             { return "told" }
func (l told) Prepare(d *Data, _ int) (Fitter, error) { return l, nil }
func (l told) Fit(_ context.Context, p *Direction) (*Fit, error) {
	*l.asked = append(*l.asked, slices.Clone(p.G))
	v := l.values[p.Round]
	return &Fit{Predictor: leaf(v), Values: slices.Repeat([]float64{v}, len(p.G))}, nil
}

// LogitBoost's working responses are those of Newton's step, however small a probability is: cut
// off at 4 they would make a rare class ever rarer (TestNoWorseThanAConstant).
func TestLogitNewtonResponses(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 2}), Y: []float64{1, -1}}
	var asked [][]float64
	must[*Ensemble](t)(trainAdaBoost(d, &AdaBoostOptions{Variant: LogitNewton, Rounds: 3,
		Learner: told{[]float64{-1, -2, 0}, &asked}}))
	p := func(f float64) float64 { return 1 / (1 + math.Exp(-f)) }
	for round, want := range [][]float64{
		{-2, 2}, // at score 0 the responses are 1/p and -1/(1-p)
		{-1 / p(-1), 1 / p(1)},
		{-1 / p(-3), 1 / p(3)}, // 21 for the first
	} {
		for i, v := range want {
			near(t, "response", asked[round][i], v, 1e-12)
		}
	}
}
