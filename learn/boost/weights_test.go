package boost

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// The unit of weights does not matter: what a leaf needs and the penalties are in units of the
// mean weight. Powers of two keep the bits.
func TestWeightsInAnyUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := mixed(rng, 300)
	runs := map[string]func(d *Data) (*Ensemble, error){
		"rgb": func(d *Data) (*Ensemble, error) { return trainRGB(d, &RGBOptions{Rounds: 8}) },
		"gb": func(d *Data) (*Ensemble, error) {
			return trainGradient(d, &GradientOptions{Rounds: 8, L1: 0.1, Gamma: 0.05})
		},
		"least squares": func(d *Data) (*Ensemble, error) {
			return trainGradient(d, &GradientOptions{Rounds: 8, LeastSquares: true, MinWeight: 6, L2: 2})
		},
	}
	for _, v := range []Variant{Plain, LogitCD, LogitNewton} {
		runs[string(v)] = func(d *Data) (*Ensemble, error) {
			o := &AdaBoostOptions{Variant: v, Rounds: 8}
			if v == LogitNewton {
				o.Learner = RegressionTrees{Splits: 5}
			}
			return trainAdaBoost(d, o)
		}
	}
	for name, train := range runs {
		want := must[[]float64](t)(must[*Ensemble](t)(train(d)).Scores(d.X, nil))
		if !slices.ContainsFunc(want, func(v float64) bool { return v != want[0] }) {
			t.Fatalf("%s: a constant model", name)
		}
		for _, unit := range []float64{1, 0x1p-10, 0x1p-40, 0x1p-330, 4, 0x1p20, 0x1p330} {
			w := &Data{X: d.X, Y: d.Y, W: slices.Repeat([]float64{unit}, d.Rows())}
			got := must[[]float64](t)(must[*Ensemble](t)(train(w)).Scores(d.X, nil))
			if !slices.Equal(got, want) {
				t.Errorf("%s: weights of %v give another model", name, unit)
			}
		}
	}
	for name, train := range runs {
		for _, unit := range []float64{5e-324, 1e-200, 1e101, 1e307} {
			w := &Data{X: d.X, Y: d.Y, W: slices.Repeat([]float64{unit}, d.Rows())}
			if _, err := train(w); !errors.Is(err, ErrData) {
				t.Errorf("%s: weights of %v: %v", name, unit, err)
			}
		}
	}
	x := d.X.Subset([]int{0, 1})
	x.Target, x.Weight = []float64{0, 1}, []float64{1e-200, 1e-200}
	if _, err := NewData(x, Squared{}); !errors.Is(err, ErrData) {
		t.Errorf("a table with weights of 1e-200: %v", err)
	}
	// Weights that differ, in units that are no powers of two.
	d.W = make([]float64, d.Rows())
	for i := range d.W {
		d.W[i] = 0.5 + rng.Float64()
	}
	for name, train := range runs {
		want := must[[]float64](t)(must[*Ensemble](t)(train(d)).Scores(d.X, nil))
		for _, unit := range []float64{1e-6, 0.3, 7, 1000, 3e12} {
			w := &Data{X: d.X, Y: d.Y}
			for _, v := range d.W {
				w.W = append(w.W, v*unit)
			}
			got := must[[]float64](t)(must[*Ensemble](t)(train(w)).Scores(d.X, nil))
			if gap := maxGap(got, want); gap > 1e-9 {
				t.Errorf("%s: weights times %v: scores differ by %v", name, unit, gap)
			}
		}
	}
}

// Users hear of trees that say nothing, and of levels that trees cannot tell apart.
func TestWarn(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	d := randomData(rng, 60, 2, 0)
	var heard []string
	control := control{Warn: func(s string) { heard = append(heard, s) }}
	for name, train := range map[string]func() (*Ensemble, error){
		"gb": func() (*Ensemble, error) {
			return trainGradient(d, &GradientOptions{Rounds: 3, MinWeight: 1e6}, control)
		},
		"rgb": func() (*Ensemble, error) {
			return trainRGB(d, &RGBOptions{Rounds: 3, MinHessian: 1e6, Score: Training, RowSample: 0.4}, control)
		},
	} {
		heard = nil
		e := must[*Ensemble](t)(train())
		if len(e.Terms) == 0 {
			continue // nothing to say of: no step was taken
		}
		if len(heard) != 1 || !strings.Contains(heard[0], "no tree has a split") {
			t.Errorf("%s: %q", name, heard)
		}
	}
	heard = nil
	must[*Ensemble](t)(trainGradient(d, &GradientOptions{Rounds: 3}, control))
	if len(heard) != 0 {
		t.Errorf("%q", heard)
	}
	// 300 levels of a row each, and one of 40: 46 are too many.
	many := &Data{X: numeric(make([]float32, 342)), Y: make([]float64, 342)}
	c := &many.X.Columns[0]
	c.Kind = table.Categorical
	for l := range 301 {
		c.Levels = append(c.Levels, fmt.Sprint("level ", l))
	}
	for i := range many.Y {
		many.Y[i] = float64(2*(i%2) - 1)
		c.Values[i] = float32(min(i, 300))
	}
	c.Values[341] = float32(math.NaN())
	want := `column "x0" has 301 levels and trees tell %d apart: the %d of least weight, in %[2]d rows, count as missing`
	for _, bins := range []int{255, 100} {
		heard = nil
		must[*Ensemble](t)(trainGradient(many, &GradientOptions{Rounds: 1, Bins: bins}, control))
		if text := fmt.Sprintf(want, bins, 301-bins); len(heard) == 0 || !strings.HasPrefix(heard[0], text) {
			t.Errorf("%d bins: %q, want %q", bins, heard, text)
		}
	}
	if w := ColumnWarnings(&Data{X: many.X, Y: many.Y,
		W: append(slices.Repeat([]float64{0.5}, 300), slices.Repeat([]float64{1}, 42)...)}, 0); len(w) != 1 ||
		!strings.Contains(w[0], "the 46 of least weight, in 46 rows") {
		t.Errorf("%q", w)
	}
	for i := range c.Values {
		c.Values[i] = float32(i % 255) // of 301 levels in the schema 255 occur
	}
	if w := ColumnWarnings(many, 0); w != nil {
		t.Errorf("%q", w)
	}
}
