package boost

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestConfidenceGolden(t *testing.T) {
	near(t, "m=98050", Confidence(1, 98050, 49, 0.5, 0.05), 0.0998714382, 1e-9)
	near(t, "m=1000", Confidence(1, 1000, 49, 0.5, 0.05), 0.7619794285, 1e-9)
	if v := Confidence(1, 100, 1, 0.5, 0.05); math.Abs(v-math.Sqrt(math.Log(20)/200)) > 1e-15 {
		t.Errorf("one family: %v", v)
	}
	if v := Confidence(4, 2, 49, 0.001, 0.05); math.IsNaN(v) || v < 1 {
		t.Errorf("rho² m < ln K: %v", v)
	}
	last := math.Inf(1)
	for _, m := range []int{10, 100, 1000, 100000, 10000000} {
		v := Confidence(1, m, 49, 0.5, 0.05)
		if v >= last {
			t.Errorf("m=%d: %v is not below %v", m, v, last)
		}
		last = v
	}
	if Confidence(2, 10000, 49, 0.5, 0.05) <= Confidence(1, 10000, 49, 0.5, 0.05) || Confidence(1, 10000, 490, 0.5, 0.05) <= Confidence(1, 10000, 49, 0.5, 0.05) {
		t.Error("the confidence term does not grow with range and families")
	}
}

func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := randomData(rng, 400, 3, 0)
	o := Thesis()
	o.Families = Grid([]int{1, 2, 4}, []float64{0.1, 0.5})
	o.Rounds = 30
	e := must[*Ensemble](t)(TrainRGB(d, o))
	r := must[*BoundReport](t)(Bounds(e, d, nil))
	sum := 0.0
	for _, f := range r.Families {
		near(t, f.Name, f.Omega, Omega(VCBound, f.Family.Splits, f.Family.Lambda, 3, 400), 1e-14)
		sum += f.Share
	}
	near(t, "shares", sum, 1, 1e-12)
	f := must[[]float64](t)(e.Scores(d.X, nil))
	near(t, "training error", r.TrainError, ErrorRate(e.Loss, d.Y, nil, f), 1e-15)
	for _, terms := range r.Terms {
		complexity := 0.0
		for _, f := range r.Families {
			complexity += 4 / terms.Rho * f.Part
		}
		near(t, "complexity", terms.Complexity, complexity, 1e-12)
		near(t, "confidence", terms.Confidence, Confidence(1, 400, 6, terms.Rho, 0.05/6), 1e-14)
		count := 0.0
		for i, y := range d.Y {
			if y*f[i]/r.WeightSum <= terms.Rho {
				count++
			}
		}
		near(t, "empirical", terms.Empirical, count/400, 1e-15)
		if terms.Bound > 1 || r.Terms[r.Best].Sum > terms.Sum {
			t.Errorf("%+v is not above the best, %+v", terms, r.Terms[r.Best])
		}
	}
	if !r.Vacuous || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "vacuous") {
		t.Errorf("400 rows cannot give a bound below 1: %+v", r.Warnings)
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "Theorem 3.2") || !strings.Contains(text.String(), "Warning: the bound is vacuous") {
		t.Errorf("%v: %s", err, text.String())
	}

	// All weights times a constant: nothing changes.
	scaled := *e
	scaled.Terms = append([]Term(nil), e.Terms...)
	for i := range scaled.Terms {
		scaled.Terms[i].Weight *= 8
	}
	again := must[*BoundReport](t)(Bounds(&scaled, d, nil))
	near(t, "scaled weights", again.Terms[again.Best].Sum, r.Terms[r.Best].Sum, 1e-12)

	// One family: no NaN, the simpler bound.
	o.Families = Grid([]int{2}, []float64{0.5})
	one := must[*BoundReport](t)(Bounds(must[*Ensemble](t)(TrainRGB(d, o)), d, &BoundOptions{Rho: []float64{0.1}}))
	near(t, "one family", one.Terms[0].Sum, one.Terms[0].Empirical+2/0.1*Omega(VCBound, 2, 0.5, 3, 400)+math.Sqrt(math.Log(20)/800), 1e-12)

	// The norm of the families is the model's own.
	inf := must[*Ensemble](t)(TrainRGB(d, &RGBOptions{Q: math.Inf(1), Families: Grid([]int{8}, []float64{0.5, 1}), Rounds: 5}))
	if again := must[*Ensemble](t)(Load(bytes.NewReader(saved(t, inf)))); normOf(again) != math.Inf(1) {
		t.Errorf("norm %v", normOf(again))
	}
	if _, err := Bounds(inf, d, nil); err != nil {
		t.Error(err)
	}
	if _, err := Bounds(inf, d, &BoundOptions{Q: 1}); !errors.Is(err, ErrBound) {
		t.Errorf("leaf vectors in another ball: %v", err)
	}

	// A start score is a constant tree.
	o.BestStart = true
	started := must[*BoundReport](t)(Bounds(must[*Ensemble](t)(TrainRGB(d, o)), d, nil))
	if started.GridSize != 1 || len(started.Families) != 1 || started.Families[0].Terms != 31 {
		t.Errorf("%+v", started.Families)
	}

	// AdaBoost's model has no grid of its own: one is made.
	ada := must[*Ensemble](t)(TrainAdaBoost(d, &AdaBoostOptions{Rounds: 20}))
	if r := must[*BoundReport](t)(Bounds(ada, d, nil)); r.GridSize < 1 || r.Range < math.Sqrt2 {
		t.Errorf("%+v", r)
	}

	// Weighted rows void the assumptions.
	weighted := &Data{X: d.X, Y: d.Y, W: make([]float64, 400)}
	for i := range weighted.W {
		weighted.W[i] = 1
	}
	if r := must[*BoundReport](t)(Bounds(e, weighted, nil)); !strings.Contains(strings.Join(r.Warnings, " "), "weighted") {
		t.Errorf("%v", r.Warnings)
	}

	// A tight enough case is not vacuous: many rows, one stump.
	big := randomData(rng, 60000, 1, 0)
	for i, v := range big.X.Columns[0].Values {
		big.Y[i] = 1
		if v > 0.3 {
			big.Y[i] = -1
		}
	}
	stump := must[*Ensemble](t)(TrainAdaBoost(big, &AdaBoostOptions{Rounds: 1, Learner: Stumps{Bins: 255}}))
	tight := must[*BoundReport](t)(Bounds(stump, big, &BoundOptions{Grid: Grid([]int{1}, []float64{1}), Q: math.Inf(1), Rho: []float64{0.9}}))
	if tight.Vacuous || tight.Bound > 0.3 {
		t.Errorf("%+v", tight.Terms)
	}

	regression := must[*Ensemble](t)(TrainRGB(d, &RGBOptions{Loss: Squared{}, Rounds: 2}))
	if _, err := Bounds(regression, d, nil); !errors.Is(err, ErrBound) {
		t.Errorf("squared loss: %v", err)
	}
	if _, err := Bounds(e, d, &BoundOptions{Grid: Grid([]int{1}, []float64{1e-6})}); !errors.Is(err, ErrBound) {
		t.Errorf("terms outside the grid: %v", err)
	}
}
