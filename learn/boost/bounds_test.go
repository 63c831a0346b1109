package boost

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
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
	if Confidence(2, 10000, 49, 0.5, 0.05) <= Confidence(1, 10000, 49, 0.5, 0.05) ||
		Confidence(1, 10000, 490, 0.5, 0.05) <= Confidence(1, 10000, 49, 0.5, 0.05) {
		t.Error("the confidence term does not grow with range and families")
	}
}

func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := randomData(rng, 400, 3, 0)
	o := Thesis()
	o.Families = Grid([]int{1, 2, 4}, []float64{0.1, 0.5})
	o.Rounds = 30
	e := must[*Ensemble](t)(trainRGB(d, o))
	r := must[*BoundReport](t)(Bounds(e, d, nil))
	sum := 0.0
	for _, f := range r.Families {
		near(t, f.Name, f.Omega, Omega(VCBound, f.Family.Splits, f.Family.Lambda, 3, 400), 1e-14)
		sum += f.Share
	}
	near(t, "shares", sum, 1, 1e-12)
	f := must[[]float64](t)(e.Scores(d.X, nil))
	near(t, "training error", r.TrainError, score.ErrorRate(e.Loss, d.Y, nil, f), 1e-15)
	spent := 0.0
	for i, terms := range r.Terms {
		spent += terms.Delta
		if terms.Rho != math.Ldexp(1, -i) || terms.Empirical < r.TrainError {
			t.Errorf("term %d: %+v", i, terms)
		}
		complexity := 0.0
		for _, f := range r.Families {
			complexity += 4 / terms.Rho * f.Part
		}
		near(t, "complexity", terms.Complexity, complexity, 1e-12)
		near(t, "confidence", terms.Confidence, Confidence(1, 400, 6, terms.Rho, 0.05/float64((i+1)*(i+2))), 1e-14)
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
	// The grid reaches the margins that the model has, however small its lambdas.
	if last := r.Terms[len(r.Terms)-1]; spent > 0.05 || last.Empirical > r.TrainError || last.Rho > 0.1 {
		t.Errorf("delta %v, last %+v", spent, last)
	}
	if !r.Vacuous || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "vacuous") {
		t.Errorf("400 rows cannot give a bound below 1: %+v", r.Warnings)
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "Theorem 3.2") ||
		strings.Contains(text.String(), "Margins reach") ||
		!strings.Contains(text.String(), "Warning: the bound is vacuous") {
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
	one := must[*BoundReport](t)(Bounds(must[*Ensemble](t)(trainRGB(d, o)), d,
		&BoundOptions{Rho: []float64{0.1}}))
	near(t, "one family", one.Terms[0].Sum, one.Terms[0].Empirical+2/0.1*Omega(VCBound, 2, 0.5, 3,
		400)+math.Sqrt(math.Log(20)/800), 1e-12)

	// The norm of the families is the model's own.
	inf := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Q: math.Inf(1),
		Families: Grid([]int{8}, []float64{0.5, 1}), Rounds: 5}))
	if again := must[*Ensemble](t)(Read(bytes.NewReader(saved(t, inf)))); normOf(again) != math.Inf(1) {
		t.Errorf("norm %v", normOf(again))
	}
	if _, err := Bounds(inf, d, nil); err != nil {
		t.Error(err)
	}
	if _, err := Bounds(inf, d, &BoundOptions{Q: 1}); !errors.Is(err, ErrBound) {
		t.Errorf("leaf vectors in another ball: %v", err)
	}

	// A start score is a constant tree.
	o.ZeroStart = false
	started := must[*BoundReport](t)(Bounds(must[*Ensemble](t)(trainRGB(d, o)), d, nil))
	if started.GridSize != 1 || len(started.Families) != 1 || started.Families[0].Terms != 31 {
		t.Errorf("%+v", started.Families)
	}

	// AdaBoost's class is that of its learner, also where the model uses less of it; one whose
	// leaves have no bound, as gradient boosting's, gets a grid made to fit.
	ada := must[*Ensemble](t)(trainAdaBoost(d, &AdaBoostOptions{Rounds: 20}))
	if r := must[*BoundReport](t)(Bounds(ada, d, nil)); r.GridSize != 1 || r.Range != 1 ||
		warns(r, "made to fit the trained model") || r.Families[0].Family.Splits != 1 {
		t.Errorf("%+v", r)
	}
	pure := &Data{X: d.X, Y: make([]float64, 400)}
	for i, v := range d.X.Columns[0].Values {
		pure.Y[i] = 1
		if v > 0 {
			pure.Y[i] = -1
		}
	}
	wide := must[*Ensemble](t)(trainAdaBoost(pure, &AdaBoostOptions{Rounds: 3, Learner: SignTrees{Splits: 31}}))
	for _, e := range []*Ensemble{wide, must[*Ensemble](t)(Read(bytes.NewReader(saved(t, wide))))} {
		r := must[*BoundReport](t)(Bounds(e, pure, nil))
		if n := e.Terms[0].Predictor.(Sized).Splits(); n != 1 || r.GridSize != 1 ||
			r.Families[0].Family.Splits != 31 || warns(r, "made to fit") {
			t.Errorf("a tree of %d splits, of 31 on offer: %+v", n, r.Families)
		}
		near(t, "Omega of the class", r.Families[0].Omega, Omega(VCBound, 31, 1, 3, 400), 1e-14)
	}
	gb := must[*Ensemble](t)(trainGradient(d, &GradientOptions{Rounds: 5}))
	if r := must[*BoundReport](t)(Bounds(gb, d, nil)); !warns(r, "made to fit the trained model") {
		t.Errorf("%q", r.Warnings)
	}
	for name, want := range map[string]int{"stumps": 1, "trees:0": 0, "trees:31": 31, "trees:031": -1,
		"trees:": -1, "trees:-1": -1, "forest": -1, "trees:1 | trees:2": -1} {
		if n, ok := SignTreesOf(name); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d %v", name, n, ok)
		}
	}
	// No margins are the default ones.
	if a, b := must[*BoundReport](t)(Bounds(ada, d, nil)),
		must[*BoundReport](t)(Bounds(ada, d, &BoundOptions{Rho: []float64{}})); len(a.Terms) != len(b.Terms) ||
		a.Bound != b.Bound {
		t.Errorf("%+v, of none %+v", a, b)
	}

	// Weighted rows void the assumptions.
	weighted := &Data{X: d.X, Y: d.Y, W: make([]float64, 400)}
	for i := range weighted.W {
		weighted.W[i] = 1
	}
	if r := must[*BoundReport](t)(Bounds(e, weighted, nil)); !strings.Contains(
		strings.Join(r.Warnings, " "), "weighted") {
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
	stump := must[*Ensemble](t)(trainAdaBoost(big, &AdaBoostOptions{Rounds: 1, Learner: Stumps{Bins: 255}}))
	tight := must[*BoundReport](t)(Bounds(stump, big,
		&BoundOptions{Grid: Grid([]int{1}, []float64{1}), Q: math.Inf(1), Rho: []float64{0.9}}))
	if tight.Vacuous || tight.Bound > 0.3 {
		t.Errorf("%+v", tight.Terms)
	}

	regression := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Loss: Squared{}, Rounds: 2}))
	if _, err := Bounds(regression, d, nil); !errors.Is(err, ErrBound) {
		t.Errorf("squared loss: %v", err)
	}
	if _, err := Bounds(e, d, &BoundOptions{Grid: Grid([]int{1}, []float64{1e-6})}); !errors.Is(err, ErrBound) {
		t.Errorf("terms outside the grid: %v", err)
	}
}

func warns(r *BoundReport, text string) bool {
	return strings.Contains(strings.Join(r.Warnings, "\n"), text)
}

// A tree belongs to a family only if its leaf vector is in the family's ball, and rho
// to the range of margins.
func TestBoundsCharge(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(3, 1)), 50, 1, 0)
	stump := leaf(0)
	stump.Feature, stump.Threshold = []int32{0, -1, -1}, []float64{0, 0, 0}
	stump.Left, stump.Right, stump.Flags = []int32{1, -1, -1}, []int32{2, -1, -1}, make([]uint8, 3)
	stump.Value, stump.Gain, stump.Cover, stump.Count = []float64{0, 0.9, -0.9}, make([]float64, 3),
		make([]float64, 3), make([]int32, 3)
	e := &Ensemble{Loss: Logistic{}, Schema: SchemaOf(d.X), Start: []float64{0},
		Terms: []Term{{Weight: 3, Predictor: stump, Family: 0}}}
	for _, c := range []struct{ q, lambda float64 }{{2, 1.3}, {1, 2}, {math.Inf(1), 1}} {
		r := must[*BoundReport](t)(Bounds(e, d, &BoundOptions{Grid: Grid([]int{1, 2}, []float64{0.5, 1, 1.3, 2}),
			Q: c.q, Rho: []float64{0.5, 2}}))
		if len(r.Families) != 1 || r.Families[0].Family.Splits != 1 || r.Families[0].Family.Lambda != c.lambda ||
			r.Families[0].Terms != 1 || r.WeightSum != 3 {
			t.Errorf("q = %v: charged to %+v", c.q, r.Families)
		}
		var text strings.Builder
		if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "Margins reach B = 2 here") {
			t.Errorf("%v: %s", err, text.String())
		}
		if !warns(r, "does not say how many rows") {
			t.Errorf("warnings %q", r.Warnings)
		}
	}
	for _, rho := range []float64{0, -1, 2.1, 100, math.NaN(), math.Inf(1)} {
		if _, err := Bounds(e, d, &BoundOptions{Grid: Grid([]int{1}, []float64{2}),
			Rho: []float64{rho}}); err == nil || !strings.Contains(err.Error(), "rho") {
			t.Errorf("rho %v: %v", rho, err)
		}
	}
}

// What a model was trained with, and on, voids assumptions of the theorem.
func TestBoundsWarnings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	d := randomData(rng, 200, 3, 0)
	train := func(d *Data) *Ensemble {
		return must[*Ensemble](t)(trainRGB(d, &RGBOptions{
			Rounds: 8, Families: Grid([]int{2, 4}, []float64{0.01, 4})}))
	}
	e := train(d)
	r := must[*BoundReport](t)(Bounds(e, d, nil))
	if !warns(r, "share 0.6 of the rows") || warns(r, "stopped early") || warns(r, "levels") ||
		warns(r, "no grid") || warns(r, "weighted") {
		t.Errorf("%q", r.Warnings)
	}
	if r := must[*BoundReport](t)(Bounds(e.Prefix(5), d, nil)); !warns(r, "stopped early, after 5 of 8") {
		t.Errorf("%q", r.Warnings)
	}
	if r := must[*BoundReport](t)(Bounds(e, d, &BoundOptions{Sampled: true, LabelledBins: true})); !warns(
		r, "weighted or selected") || !warns(r, "help of labels") {
		t.Errorf("%q", r.Warnings)
	}
	e.Schema.Weight = "w" // trained on weights that the caller does not give now
	if r := must[*BoundReport](t)(Bounds(e, d, nil)); !warns(r, "weighted or selected") {
		t.Errorf("%q", r.Warnings)
	}
	// Columns with gaps, and columns of levels.
	gaps := randomData(rng, 200, 3, 0)
	for j := range gaps.X.Columns {
		gaps.X.Columns[j].Values[7] = float32(math.NaN())
	}
	// They count: three columns with gaps are six of thresholds.
	if r := must[*BoundReport](t)(Bounds(train(gaps), gaps, nil)); math.Abs(
		r.Families[0].Omega-Omega(VCBound, r.Families[0].Family.Splits, r.Families[0].Family.Lambda,
			6, 200)) > 1e-12 {
		t.Errorf("%+v", r.Families[0])
	}
	levels := randomData(rng, 200, 1, 0)
	c := &levels.X.Columns[0]
	c.Kind, c.Levels = table.Categorical, []string{"a", "b", "c", "d", "e", "f"}
	for i, y := range levels.Y {
		c.Values[i] = float32(rng.IntN(3))
		if y > 0 {
			c.Values[i] += 3
		}
	}
	// Six levels are 31 columns of 0 and 1.
	if r := must[*BoundReport](t)(Bounds(train(levels), levels, nil)); math.Abs(
		r.Families[0].Omega-Omega(VCBound, r.Families[0].Family.Splits, r.Families[0].Family.Lambda, 31,
			200)) > 1e-12 || warns(r, "levels") {
		t.Errorf("%+v %q", r.Families[0], r.Warnings)
	}
	for len(c.Levels) < 10 {
		c.Levels = append(c.Levels, string(rune('g'+len(c.Levels))))
	}
	if r := must[*BoundReport](t)(Bounds(train(levels), levels, nil)); !warns(r, "has 10 levels") {
		t.Errorf("%q", r.Warnings)
	}
	// DeepBoost's trees lie in its own families.
	deep := must[*Ensemble](t)(trainAdaBoost(d, &AdaBoostOptions{Variant: Deep, Rounds: 5}))
	if r := must[*BoundReport](t)(Bounds(deep, d, nil)); r.GridSize != 4 || warns(r, "no grid") {
		t.Errorf("%+v", r)
	}
	// The advice names the largest part: of labels that are noise, the error.
	hard := randomData(rng, 500, 1, 0)
	for i := range hard.Y {
		hard.Y[i] = float64(2*rng.IntN(2) - 1)
	}
	wild := must[*Ensemble](t)(trainAdaBoost(hard, &AdaBoostOptions{Rounds: 1}))
	wild.Terms[0].Weight = -1
	if r := must[*BoundReport](t)(Bounds(wild, hard, nil)); !warns(r, "training error alone") {
		t.Errorf("%q", r.Warnings)
	}
	few := randomData(rng, 60, 3, 0)
	if r := must[*BoundReport](t)(Bounds(train(few), few,
		&BoundOptions{Bound: CountBound, Grid: Grid([]int{1, 2, 3, 4}, []float64{4, 1e6})})); !warns(
		r, "confidence part") {
		t.Errorf("%q", r.Warnings)
	}
	if r := must[*BoundReport](t)(Bounds(train(few), few,
		&BoundOptions{Grid: Grid([]int{4}, []float64{4})})); !warns(r, "complexity of the families") {
		t.Errorf("%q", r.Warnings)
	}
}
