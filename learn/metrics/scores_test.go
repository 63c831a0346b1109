package metrics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/metrics"
)

func near(t *testing.T, what string, got, want, delta float64) {
	t.Helper()
	if !(math.Abs(got-want) <= delta) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// AUC by its definition: all pairs.
func TestAUC(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		n := 2 + rng.IntN(30)
		score, target, weight := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			score[i], target[i], weight[i] = float64(rng.IntN(8)), float64(rng.IntN(2)), float64(rng.IntN(4))
		}
		target[0], target[1], weight[0], weight[1] = 0, 1, 1, 1
		for _, w := range [][]float64{nil, weight} {
			won, all := 0.0, 0.0
			for i := range n {
				for j := range n {
					if target[i] == 1 && target[j] == 0 {
						f := 1.0
						if w != nil {
							f = w[i] * w[j]
						}
						all += f
						if score[i] > score[j] {
							won += f
						} else if score[i] == score[j] {
							won += f / 2
						}
					}
				}
			}
			near(t, "AUC", metrics.AUC(score, target, w), won/all, 1e-12)
		}
	}
	if v := metrics.AUC([]float64{1, 2}, []float64{1, 1}, nil); v == v {
		t.Error("the AUC of one class is", v)
	}
	if v := metrics.AUC([]float64{1, math.NaN()}, []float64{1, 0}, nil); v == v {
		t.Error("the AUC of NaN is", v)
	}
	// Three classes; the last has no rows.
	score := []float64{3, 1, 0, 2, 5, 0, 1, 0, 9}
	near(t, "MeanAUC", metrics.MeanAUC(score, []float64{0, 1, 1}, nil, 3), (1+.5)/2, 1e-12)
}

func TestScores(t *testing.T) {
	if r := metrics.Signs([]float64{1, -1, 0, 0, 2, math.NaN()}, []float64{1, 0, 0, 1, 0, 1}); r != (metrics.Rate{Errors: 4, Base: 6}) {
		t.Error(r)
	}
	near(t, "WeightedError", metrics.WeightedError([]float64{0, 1, 2}, []float64{0, 1, 1}, []float64{1, 1, 2}), .5, 0)
	near(t, "LogLoss", metrics.LogLoss([]float64{.8, .4}, []float64{1, 0}, nil, 1), -(math.Log(.8)+math.Log(.6))/2, 1e-15)
	near(t, "LogLoss of classes", metrics.LogLoss([]float64{.8, .1, .1, .2, .5, .3}, []float64{0, 2}, []float64{3, 1}, 3), -(3*math.Log(.8)+math.Log(.3))/4, 1e-15)
	near(t, "LogLoss of certainty", metrics.LogLoss([]float64{0}, []float64{1}, nil, 1), 52*math.Ln2, 1e-12)
	near(t, "RMSE", metrics.RMSE([]float64{1, 2}, []float64{1, 5}, []float64{2, 1}), math.Sqrt(3), 1e-15)
	near(t, "MAE", metrics.MAE([]float64{1, 2}, []float64{1, 5}, nil), 1.5, 0)
	c := metrics.NewConfusion([]int{0, 1, 1, 2, 0}, []int{0, 1, 0, 2, 2}, 3)
	c.Add(metrics.NewConfusion([]int{1}, []int{1}, 3))
	if r := c.Rate(); r != (metrics.Rate{Errors: 2, Base: 6}) {
		t.Error(r, c)
	}
	near(t, "recall", c.Recall(2), .5, 0)
	near(t, "precision", c.Precision(1), 2./3, 1e-15)
	near(t, "F1", c.F1(1), .8, 1e-15)
	mean, sd := metrics.MeanSD([]float64{1e9 + 1, 1e9 + 2, 1e9 + 4})
	near(t, "mean", mean, 1e9+7./3, 1e-6)
	near(t, "sd", sd, math.Sqrt(7./3), 1e-6)
	if s := metrics.FormatMeanSD([]float64{.25, .27}, 100, 2); s != "26.00 (1.41)" {
		t.Error(s)
	}
	if s := metrics.FormatMeanSD([]float64{.25}, 100, 2); s != "25.00" {
		t.Errorf("one number has the standard deviation %s", s)
	}
}

func TestOneSided(t *testing.T) {
	d := []float64{0.02, 0.01, 0.03, -0.005, 0.015}
	zero := make([]float64, len(d))
	r, err := metrics.PairedT(d, zero)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "t", float64(r.T), 2.4188315916, 1e-9)
	near(t, "greater", r.Greater(), 0.0364275298, 1e-9)
	near(t, "less", r.Less(), 1-0.0364275298, 1e-9)
	if r, _ = metrics.PairedT(zero, d); math.Abs(r.Less()-0.0364275298) > 1e-9 {
		t.Error(r)
	}
	// With 5 folds the variance is multiplied by 1/5 + 1/4 in place of 1/5.
	c, err := metrics.CorrectedT(d, zero, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "corrected t", float64(c.T), 2.4188315916/math.Sqrt(2.25), 1e-9)
	near(t, "corrected P", float64(c.P), 0.182136298928, 1e-9)
	if c, err := metrics.CorrectedT(d, d, 1, 4); err != nil || c.P != 1 {
		t.Error(c, err)
	}
	if _, err := metrics.CorrectedT(d, d[1:], 1, 4); err == nil {
		t.Error("unequal lengths")
	}
	if _, err := metrics.CorrectedT(d, d, 0, 4); err == nil {
		t.Error("no test rows")
	}
}
