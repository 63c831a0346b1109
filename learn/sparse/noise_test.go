package sparse

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// noisy are rows of two columns, whose classes overlap, or numbers whose noise is as large as what
// there is to learn. Rows 0 and 1 are equal, but for the target.
func noisy(rng *rand.Rand, rows int, classes bool) (t *table.Table, truth []float64) {
	t = &table.Table{Name: "noisy", Rows: rows, TargetName: "y", Target: make([]float64, rows)}
	a, b := make([]float32, rows), make([]float32, rows)
	for i := range rows {
		a[i], b[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		if i == 1 {
			a[1], b[1] = a[0], b[0]
		}
		v := math.Sin(2*float64(a[i])) + 0.3*float64(b[i])
		t.Target[i] = v + rng.NormFloat64()
		if classes {
			if t.Target[i] = 0; rng.Float64() < 1/(1+math.Exp(-3*v)) {
				t.Target[i] = 1
			}
		}
		truth = append(truth, v)
	}
	if classes {
		t.Classes = []string{"no", "yes"}
		t.Target[0], t.Target[1] = 0, 1
	} else {
		t.Target[1] = t.Target[0] + 5
	}
	t.Columns = []table.Column{{Name: "a", Values: a}, {Name: "b", Values: b}}
	return t, truth
}

// By default every bound gives a model that predicts new rows about as well as can be. Numbers are
// judged against the truth, classes against the sign of the odds.
func TestNoisyRows(t *testing.T) {
	for _, c := range []struct {
		bound   string
		classes bool
		most    float64
	}{{"tube", false, 0.15}, {"hinge", true, 0.12}, {"margin", true, 0.12}} {
		rng := rand.New(rand.NewPCG(21, 22))
		x, _ := noisy(rng, 300, c.classes)
		test, truth := noisy(rng, 1000, c.classes)
		m, r, err := Train(x, &Options{Bound: c.bound, Centres: 40}, &run.Control{Workers: 1})
		if err != nil || !r.Converged() {
			t.Errorf("%s: %v, %v", c.bound, err, r)
			continue
		}
		s, err := m.Predict(context.Background(), test, 1)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0.0
		for i, v := range truth {
			switch {
			case !c.classes:
				wrong += (s.Score[i] - v) * (s.Score[i] - v) / float64(len(truth))
			case (v > 0) != (s.Class(i) == 1):
				wrong += 1 / float64(len(truth))
			}
		}
		t.Logf("%s: error %.3f with %d kernels", c.bound, wrong, m.Kernels())
		if wrong > c.most {
			t.Errorf("%s: error %.3f, at most %v wanted, with %d kernels", c.bound, wrong, c.most, m.Kernels())
		}
		// A bound that is asked for is not relaxed.
		if _, _, err := Train(x, &Options{Bound: c.bound, Eps: 1e-3, Centres: 40}, nil); err == nil ||
			!strings.Contains(err.Error(), "row ") {
			t.Errorf("%s: a bound of 0.001: %v", c.bound, err)
		}
	}
}
