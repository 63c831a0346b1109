package minimax_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
)

// No default punishes confidence in right answers.
func TestDefaultLosses(t *testing.T) {
	for _, l := range minimax.DefaultLosses() {
		if l.PunishesConfidence() {
			t.Errorf("%s is a default, and punishes confident right answers", l.Name)
		}
	}
}

// counts is a table as of words in mail: few columns of a row are not zero, those are skewed,
// and some give the class away.
func counts(rows int, seed uint64) *minimax.Data {
	rng := rand.New(rand.NewPCG(seed, 5))
	const features = 30
	d := &minimax.Data{X: make([]float64, rows*features), Rows: rows, Features: features,
		Class: make([]int32, rows), Classes: 2}
	for i := range rows {
		y := rng.IntN(2)
		d.Class[i] = int32(y)
		for j := range features {
			p := 0.15
			if j%2 == y {
				p = 0.25
			}
			if rng.Float64() < p {
				d.X[i*features+j] = math.Exp(1.5*rng.NormFloat64()) / 3
			}
		}
	}
	return d
}

// Robust to all mixtures of the default losses, a model has hardly more errors than one of
// the cross-entropy alone, on new rows. With the thesis' losses it has many.
func TestRobustnessCostsLittleError(t *testing.T) {
	train, test := counts(1500, 1), counts(4000, 2)
	errorOf := func(losses []minimax.Loss) float64 {
		f, err := minimax.Train(train, &minimax.Options{Losses: losses, Beta1: 1e-4, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Model.Evaluate(test, 1)
		if err != nil {
			t.Fatal(err)
		}
		return 100 * s.Error
	}
	alone, robust, thesis := errorOf(all(t, "cross-entropy")), errorOf(nil), errorOf(minimax.ThesisLosses())
	t.Logf("errors in per cent: cross-entropy %.2f, default losses %.2f, thesis' %.2f", alone, robust, thesis)
	if robust > alone+1 || thesis < robust+2 {
		t.Errorf("errors in per cent: cross-entropy alone %.2f, default losses %.2f, the thesis' %.2f",
			alone, robust, thesis)
	}
}
