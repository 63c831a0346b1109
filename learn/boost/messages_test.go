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
	gb := func(o GradientOptions) error { _, err := TrainGradient(d, &o); return err }
	rgb := func(o RGBOptions) error { _, err := TrainRGB(d, &o); return err }
	ada := func(o AdaBoostOptions) error { _, err := TrainAdaBoost(d, &o); return err }
	for want, err := range map[string]error{
		"boost: gb: Rounds is -2; it must be at least 1, or 0 for a number chosen on held-out rows": gb(
			GradientOptions{Rounds: -2}),
		"boost: gb: MinRows is -1; it must be at least 1": gb(
			GradientOptions{MinRows: -1}),
		"boost: gb: Leaves is -3; it must be between 0 (level by level) and 1048577": gb(
			GradientOptions{Leaves: -3}),
		"boost: gb: ColumnsByNode is 2; it must be a share, above 0 and at most 1": gb(
			GradientOptions{ColumnsByNode: 2}),
		"boost: gb: L2 is NaN; it must be finite (negative is none)":         gb(GradientOptions{L2: math.NaN()}),
		"boost: gb: Gamma is -1; it must be finite and not negative":         gb(GradientOptions{Gamma: -1}),
		"boost: rgb: Candidates is -1; it must be at least 1":                rgb(RGBOptions{Candidates: -1}),
		"boost: rgb: MinGain is -1; it must be finite and not negative":      rgb(RGBOptions{MinGain: -1}),
		"boost: rgb: Bins is 1; it must be between 2 and 255":                rgb(RGBOptions{Bins: 1}),
		"boost: adaboost: Rounds is -1; it must be at least 1, or 0 for 100": ada(AdaBoostOptions{Rounds: -1}),
		"boost: adaboost: Lambda is -1; it must be finite and not negative": ada(
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
	e := must[*Ensemble](t)(TrainGradient(d, &GradientOptions{Rounds: 1}))
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
	_, label := TrainGradient(d, nil)
	d.Y[1] = 1
	d.X.Columns[1].Values[3] = float32(math.Inf(1))
	_, cell := TrainGradient(d, nil)
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
