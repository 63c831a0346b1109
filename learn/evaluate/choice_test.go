package evaluate_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/evaluate"
)

// fixed is a setting whose measures say nothing of the examples but which part is tested on.
func fixed(name string, count *atomic.Int64, measures func(fold dataset.Fold) []float64) evaluate.Setting {
	return evaluate.Setting{Name: name, Print: name,
		Fit: func(_ context.Context, fold dataset.Fold) ([]float64, error) {
			count.Add(1)
			return measures(fold), nil
		}}
}

// twoTrials divides seven examples: inner folds of one example and of two.
func twoTrials() []evaluate.Trial {
	inner := []dataset.Fold{{Train: []int{1, 2}, Test: []int{0}}, {Train: []int{0}, Test: []int{1, 2}}}
	return []evaluate.Trial{{Fold: dataset.Fold{Train: []int{0, 1, 2}, Test: []int{3, 4}}, Inner: inner},
		{Fold: dataset.Fold{Train: []int{0, 1, 2}, Test: []int{5, 6}}, Inner: inner}}
}

// One grid makes two choices of the same fits, by one measure or the other, and neither by the
// test parts; what both choose is fitted once.
func TestChoicesShareFits(t *testing.T) {
	for _, hindsight := range []bool{false, true} {
		var count atomic.Int64
		at := func(inner, outer []float64) func(fold dataset.Fold) []float64 {
			return func(fold dataset.Fold) []float64 {
				if len(fold.Train) == 3 {
					return outer
				}
				return inner
			}
		}
		grid := []evaluate.Setting{
			fixed("a", &count, at([]float64{1, 9, 0}, []float64{10, 11, 12})),
			fixed("b", &count, at([]float64{2, 3, 5}, []float64{20, 21, 22})),
			fixed("c", &count, at([]float64{2, 3, 4}, []float64{5, 31, 32})),
		}
		p := &evaluate.Plan{Measures: []string{"x", "y", "z"}, Trials: twoTrials(), Hindsight: hindsight, BestBy: 1,
			Contestants: []evaluate.Contestant{
				{Name: "by x", Grid: grid, By: []int{0}}, {Name: "by y", As: "by x", By: []int{1}},
				{Name: "by y z", As: "by y", By: []int{1, 2}}, {Name: "as by y", As: "by y"}}}
		r, err := p.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := []struct {
			setting string
			values  []float64
			inner   float64 // of y
		}{{"a", []float64{10, 11, 12}, 9}, {"b", []float64{20, 21, 22}, 3}, {"c", []float64{5, 31, 32}, 3},
			{"b", []float64{20, 21, 22}, 3}}
		for c, w := range want {
			s := r.Standings[c]
			for trial := range p.Trials {
				got := []float64{s.Values[0][trial], s.Values[1][trial], s.Values[2][trial]}
				if s.Chosen[trial] != w.setting || !slices.Equal(got, w.values) || s.Inner[1][trial] != w.inner {
					t.Errorf("%s: %s with %v, inner %v; want %+v", s.Name, s.Chosen[trial], got, s.Inner[1][trial], w)
				}
			}
			if hindsight && (s.Best != "a" || !slices.Equal(s.BestValues, []float64{11, 11}) ||
				s.Settings[2][0][1] != 5) {
				t.Errorf("%s: best %s %v, %v", s.Name, s.Best, s.BestValues, s.Settings)
			}
		}
		if n := count.Load(); n != 2*(3*2+3) {
			t.Errorf("%d fits", n)
		}
	}
}

// An inner fold of two examples counts twice one of one, unless folds are equal.
func TestEqualFolds(t *testing.T) {
	var count atomic.Int64
	grid := []evaluate.Setting{
		fixed("good on one", &count, func(f dataset.Fold) []float64 { return []float64{float64(len(f.Test)) - 1} }),
		fixed("good on two", &count,
			func(f dataset.Fold) []float64 { return []float64{1.2 * (2 - float64(len(f.Test)))} }),
	}
	for equal, want := range map[bool]string{false: "good on two", true: "good on one"} {
		p := &evaluate.Plan{Measures: []string{"x"}, Trials: twoTrials(), EqualFolds: equal,
			Contestants: []evaluate.Contestant{{Name: "it", Grid: grid}}}
		if r, err := p.Run(context.Background()); err != nil || r.Standings[0].Chosen[0] != want {
			t.Errorf("equal %v: %+v, %v", equal, r, err)
		}
	}
}

// Tests are against the contestant named, need not be defined, and then are no error.
func TestAgainst(t *testing.T) {
	var count atomic.Int64
	one := func(name string, v ...float64) evaluate.Contestant {
		return evaluate.Contestant{Name: name, Grid: []evaluate.Setting{
			fixed(name, &count, func(dataset.Fold) []float64 { return v })}}
	}
	p := &evaluate.Plan{Measures: []string{"x", "y"}, Trials: twoTrials(), Against: "second",
		Contestants: []evaluate.Contestant{one("first", 0.5, 1), one("second", 0.25, 1),
			one("third", 0.25, math.Inf(1))}}
	r, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	first, third := r.Standings[0], r.Standings[2]
	if r.Standings[1].Plain != nil || first.Plain[0].Mean != 0.25 || third.Plain[0].P != 1 ||
		!math.IsNaN(float64(third.Plain[1].P)) || !math.IsNaN(third.Corrected[1].Mean) {
		t.Errorf("%+v", r.Standings)
	}
	// All differences are equal: JSON holds the report.
	if _, err := json.Marshal(first); err != nil {
		t.Error(err)
	}
	p.Against = "fourth"
	if _, err := p.Run(context.Background()); err == nil {
		t.Error("tests against nobody were made")
	}
	p.Against, p.Contestants[1].By = "", []int{2}
	if _, err := p.Run(context.Background()); err == nil {
		t.Error("a choice by the third of two measures was made")
	}
	p.Contestants[1].By, p.BestBy = nil, -1
	if _, err := p.Run(context.Background()); err == nil {
		t.Error("the best by no measure was looked for")
	}
}

// After an error of Save there is no further call, whatever is in progress; an error of a fit
// says which.
func TestFirstErrorOfSaveIsTheLast(t *testing.T) {
	y := numbers(41)
	var count atomic.Int64
	p := plan(t, y, &count)
	p.Workers = 8
	broken := errors.New("broken")
	var calls atomic.Int64
	p.Save = func(*evaluate.Fitted) error {
		calls.Add(1)
		for count.Load() < 8 { // until every worker has a fit to save
			runtime.Gosched()
		}
		return broken
	}
	_, err := p.Run(context.Background())
	if !errors.Is(err, broken) || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	var fit *evaluate.FitError
	if !errors.As(err, &fit) {
		t.Fatal(err)
	}
	if diff := cmp.Diff("shrunk", fit.Contestant); diff != "" {
		t.Error(diff)
	}
}
