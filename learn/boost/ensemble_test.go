package boost

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Staged scores are those of the prefixes, and the last is Scores.
func TestStaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := mixed(rng, 700) // above one block, so that the packed forest predicts
	for _, o := range []*RGBOptions{{Rounds: 12}, {Rounds: 6, Loss: SoftMax{Classes: 2}}} {
		if o.Loss != nil {
			for i, y := range d.Y {
				d.Y[i] = (y + 1) / 2
			}
		}
		e := must[*Ensemble](t)(trainRGB(d, o))
		seen := 0
		if err := e.Staged(d.X, func(rounds int, f []float64) bool {
			seen++
			want := must[[]float64](t)(e.Scores(d.X, &PredictOptions{Rounds: rounds}))
			if !slices.Equal(f, want) {
				t.Errorf("round %d: other scores than the prefix", rounds)
			}
			return rounds < 5
		}); err != nil || seen != 5 {
			t.Errorf("%d stages, %v", seen, err)
		}
		whole := must[[]float64](t)(e.Scores(d.X, nil))
		slow := make([]float64, len(whole))
		e.addTo(slow, d.X, 0)
		if !slices.Equal(whole, slow) {
			t.Error("the packed forest gives other scores")
		}
		if e.Rounds() != e.Prefix(1000).Rounds() || len(e.Prefix(0).Terms) != 0 {
			t.Error("prefixes of wrong size")
		}
		classes := e.Classes(whole)
		wrong := 0.0
		for i, c := range classes {
			y := d.Y[i]
			if e.Outputs() == 1 {
				y = (y + 1) / 2
			}
			if float64(c) != y {
				wrong++
			}
		}
		near(t, "error rate", score.ErrorRate(e.Loss, d.Y, nil, whole), wrong/700, 1e-12)
	}
}

// A penalised run changes the weights of earlier terms: its model is the one that its last
// round left, and there is no other.
func TestJointHasNoPrefix(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(8, 1)), 120, 3, 2)
	for _, o := range []AdaBoostOptions{{Variant: L1, Lambda: 0.01}, {Variant: Deep, Lambda: 0.002},
		{Variant: LogitCD, Lambda: 0.01}, {Variant: LogitCD}} {
		o.Rounds = 40
		var kept []*run.Checkpoint
		e := must[*Ensemble](t)(trainAdaBoost(d, &o, control{CheckpointEvery: 1,
			Checkpoint: func(c *run.Checkpoint) error { kept = append(kept, c); return nil }}))
		e = must[*Ensemble](t)(Read(bytes.NewReader(saved(t, e))))
		whole := must[[]float64](t)(e.Scores(d.X, nil))
		if n := e.Rounds(); n != len(kept) || e.Joint != (o.Lambda > 0) || len(e.Terms) == n == e.Joint {
			t.Errorf("%s, lambda %v: %d rounds of %d, %d terms, joint %v", o.Variant, o.Lambda, n, len(kept),
				len(e.Terms), e.Joint)
		}
		stages := 0
		if err := e.Staged(d.X, func(rounds int, f []float64) bool {
			stages++
			// The scores that training had after this round.
			for i, v := range kept[rounds-1].Arrays[partScores] {
				near(t, "staged score", f[i], v, 1e-9)
			}
			if rounds == e.Rounds() && !slices.Equal(f, whole) {
				t.Errorf("%s: the last stage is not the model", o.Variant)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for _, rounds := range []int{1, e.Rounds() - 1, e.Rounds(), e.Rounds() + 1} {
			f, err := e.Scores(d.X, &PredictOptions{Rounds: rounds})
			switch {
			case e.Joint && rounds < e.Rounds():
				if !errors.Is(err, ErrPrefix) {
					t.Errorf("%s: scores of %d rounds: %v", o.Variant, rounds, err)
				}
			case err != nil:
				t.Errorf("%s: scores of %d rounds: %v", o.Variant, rounds, err)
			case rounds >= e.Rounds() && !slices.Equal(f, whole):
				t.Errorf("%s: scores of all rounds are not the model's", o.Variant)
			}
		}
		if want := map[bool]int{true: 1, false: e.Rounds()}[e.Joint]; stages != want {
			t.Errorf("%s, lambda %v: %d stages, want %d", o.Variant, o.Lambda, stages, want)
		}
	}
}

// Errors are those of the predicted classes: a score of zero predicts the first of two, a tie
// the first of the highest.
func TestTies(t *testing.T) {
	if r := score.ErrorRate(Logistic{}, []float64{1, -1}, []float64{3, 1}, []float64{0, 0}); r != 0.75 {
		t.Errorf("scores of zero: error %v", r)
	}
	if r := score.ErrorRate(SoftMax{Classes: 3}, []float64{0, 1, 2}, []float64{1, 1, 2},
		[]float64{1, 1, 0, 0, 2, 1, 3, 3, 4}); r != 0 {
		t.Errorf("a tie of two classes: error %v", r)
	}
	if r := score.ErrorRate(SoftMax{Classes: 3}, []float64{1, 0}, nil,
		[]float64{1, 1, 0, math.NaN(), 0, 0}); r != 1 {
		t.Errorf("the second of a tie, and NaN: error %v", r)
	}
}

// The columns that make the label are the important ones, by every measure; a
// column of noise costs nothing, one that is not used exactly nothing.
func TestImportance(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	d := randomData(rng, 500, 4, 0) // columns 0 and 3 matter
	for i := range d.X.Columns[2].Values {
		d.X.Columns[2].Values[i] = 7
	}
	e := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 30}))
	imp := e.Importance()
	splits := 0
	for i := range e.Terms {
		splits += splitsOf(e.Terms[i].Predictor)
	}
	if total := imp[0].Splits + imp[1].Splits + imp[2].Splits + imp[3].Splits; total != splits {
		t.Errorf("%d splits counted of %d", total, splits)
	}
	if imp[2] != (Importance{Column: "x2"}) || imp[0].Gain < 3*imp[1].Gain || imp[3].Gain < imp[1].Gain {
		t.Errorf("%+v", imp)
	}
	test := randomData(rng, 500, 4, 0)
	a := must[[]Permuted](t)(e.Permutation(test, &PermutationOptions{Seed: 3, Workers: 1}))
	b := must[[]Permuted](t)(e.Permutation(test, &PermutationOptions{Seed: 3, Workers: 4}))
	if !slices.Equal(a, b) {
		t.Errorf("%+v, with other workers %+v", a, b)
	}
	if a[2] != (Permuted{Column: "x2"}) || a[0].Error < 0.1 || a[0].Loss < 0.1 || a[3].Loss < a[1].Loss ||
		math.Abs(a[1].Loss) > 0.05 {
		t.Errorf("%+v", a)
	}
}

// NewData translates classes and leaves out what has no weight; its errors name
// the row.
func TestNewData(t *testing.T) {
	x := numeric([]float32{1, 2, 3})
	x.Target, x.Classes, x.TargetName = []float64{0, 1, 1}, []string{"no", "yes"}, "class"
	x.Weight = []float64{1, 0, 2}
	d := must[*Data](t)(NewData(x, Logistic{}))
	if !slices.Equal(d.Y, []float64{-1, 1}) || !slices.Equal(d.W, []float64{1, 2}) ||
		!slices.Equal(d.X.Columns[0].Values, []float32{1, 3}) {
		t.Errorf("%+v", d)
	}
	d = must[*Data](t)(NewData(x, SoftMax{Classes: 2}))
	if !slices.Equal(d.Y, []float64{0, 1}) {
		t.Errorf("%v", d.Y)
	}
	for name, change := range map[string]func(x *table.Table){
		"negative weight": func(x *table.Table) { x.Weight[1] = -1 },
		"nan weight":      func(x *table.Table) { x.Weight[1] = math.NaN() },
		"no weight":       func(x *table.Table) { x.Weight = make([]float64, 3) },
		"no target":       func(x *table.Table) { x.Target = nil },
		"short target":    func(x *table.Table) { x.Target = x.Target[:1]; x.Weight = nil },
		"three classes":   func(x *table.Table) { x.Classes = []string{"a", "b", "c"} },
		"no class":        func(x *table.Table) { x.Target[0] = 2 },
		"no columns":      func(x *table.Table) { x.Columns = nil },
	} {
		y := x.Subset([]int{0, 1, 2})
		change(y)
		if _, err := NewData(y, Logistic{}); err == nil || !errors.Is(err, ErrData) && !errors.Is(err, ErrLabel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
