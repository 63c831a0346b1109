package boost

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// What is wrong with a setting is said by its name, value and range.
func TestSettingsAreNamed(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(22, 1)), 20, 2, 0)
	gb := func(o GradientOptions) error { _, err := trainGradient(d, &o); return err }
	rgb := func(o RGBOptions) error { _, err := trainRGB(d, &o); return err }
	ada := func(o AdaBoostOptions) error { _, err := trainAdaBoost(d, &o); return err }
	for want, err := range map[string]error{
		"boost: gb: rounds: -2 is out of range: it must be at least 0": gb(GradientOptions{Rounds: -2}),
		"boost: gb: min_rows: -1 is out of range: it must be at least 0": gb(
			GradientOptions{MinRows: -1}),
		"boost: gb: leaves: -3 is out of range: it must be at least 0 and at most 1048577": gb(
			GradientOptions{Leaves: -3}),
		"boost: gb: columns_by_node: 2 is out of range: it must be above 0 and at most 1": gb(
			GradientOptions{ColumnsByNode: 2}),
		"boost: gb: l2: NaN is no number":                                   gb(GradientOptions{L2: math.NaN()}),
		"boost: gb: gamma: -1 is out of range: it must be at least 0":       gb(GradientOptions{Gamma: -1}),
		"boost: rgb: candidates: -1 is out of range: it must be at least 1": rgb(RGBOptions{Candidates: -1}),
		"boost: rgb: min_gain: -1 is out of range: it must be above 0":      rgb(RGBOptions{MinGain: -1}),
		"boost: rgb: bins: 1 is out of range: it must be at least 2 and at most 255": rgb(
			RGBOptions{Bins: 1}),
		`boost: rgb: hoelder: "3,3" is none of exact, 1,inf, inf,1, 2,2`: rgb(RGBOptions{Hoelder: "3,3"}),
		"boost: adaboost: rounds: -1 is out of range: it must be at least 1": ada(
			AdaBoostOptions{Rounds: -1}),
		"boost: adaboost: lambda: -1 is out of range: it must be at least 0": ada(
			AdaBoostOptions{Variant: L1, Lambda: -1}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A table that was built in memory has no name, and messages have no hole for it; no table at
// all is an error.
func TestMessagesWithoutNames(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(22, 2)), 20, 2, 0)
	d.X.Name = ""
	e := must[*Ensemble](t)(trainGradient(d, &GradientOptions{Rounds: 1}))
	if _, err := e.Scores(nil, nil); !errors.Is(err, ErrData) {
		t.Errorf("%v", err)
	}
	if _, err := e.Probabilities(nil, nil); !errors.Is(err, ErrData) {
		t.Errorf("%v", err)
	}
	if err := e.Staged(nil, nil); !errors.Is(err, ErrData) {
		t.Errorf("%v", err)
	}
	if _, err := NewData(nil, Logistic{}); !errors.Is(err, ErrData) {
		t.Errorf("%v", err)
	}
	d.Y[1] = 7
	_, label := trainGradient(d, nil)
	d.Y[1] = 1
	d.X.Columns[1].Values[3] = float32(math.Inf(1))
	_, cell := trainGradient(d, nil)
	_, scores := e.Scores(numeric([]float32{1}), nil)
	other := &table.Table{Rows: 1, Columns: []table.Column{{Name: "z", Values: []float32{1}}}}
	_, column := e.Scores(other, nil)
	for want, err := range map[string]error{"the table: row 2": label, "the table: row 4": cell,
		"test: ": scores, "boost: the table: ": column} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ": :") {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
