package minimax_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// What β_2 adds is of the constants as they are when every unit has been found: a unit of
// one objective must not change what is taken off the next.
func TestBaselineUnitsWithBeta2(t *testing.T) {
	d := blobs(40, 3, 2, 1)
	names := []string{"huber:0.5", "squared", "1.5-norm"}
	for _, penalty := range []minimax.Penalty{minimax.Handicap, minimax.Shy} {
		f, err := minimax.Train(d, &minimax.Options{Losses: all(t, names...), Normalization: minimax.Baseline,
			Radius: 2, Beta1: 0.01, Beta2: 0.5, Penalty: penalty})
		if err != nil {
			t.Fatal(err)
		}
		for k, l := range all(t, names...) {
			at := 0.0
			for _, y := range []float64{-1, 1} {
				v, _ := l.At(0, y) // the same for both
				at += v / 2
			}
			near(t, string(penalty)+": "+names[k]+" in units of its value at zero", f.Values[k], f.Raw[k]/at, 1e-12)
		}
	}
}

// The value of equation 5.10 is the certificate's upper bound and what β_2 adds to all alike.
func TestSharedHandicap(t *testing.T) {
	d := blobs(40, 3, 2, 1)
	for name, o := range map[string]minimax.Options{
		"one objective":   {Losses: all(t, "cross-entropy"), Beta1: 0.1, Beta2: 0.7},
		"equal constants": {Losses: all(t, "cross-entropy", "hinge"), Beta1: 0.1, Beta2: 0.7},
		"unequal constants": {Losses: all(t, "cross-entropy", "squared"), Normalization: minimax.Raw, ScoreBound: 1,
			Beta1: 0.1, Beta2: 0.1},
		"shy": {Losses: all(t, "cross-entropy", "squared"), Normalization: minimax.Raw, ScoreBound: 1,
			Beta1: 0.1, Beta2: 0.1, Penalty: minimax.Shy},
		"without": {Losses: all(t, "cross-entropy", "hinge"), Beta1: 0.1},
	} {
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		sign := 1.0
		if o.Penalty == minimax.Shy {
			sign = -1
		}
		worst := math.Inf(-1)
		for k, v := range f.Values {
			worst = math.Max(worst, v+sign*o.Beta2*f.Model.Objectives[k].Lipschitz)
		}
		near(t, name, f.Certificate.Upper+f.Shared, worst+f.Penalty, 1e-12)
	}
}

// What rows say is proved is in the same measure as what the fit does: with all that β_2 adds.
func TestRowsWithBeta2(t *testing.T) {
	d := blobs(40, 3, 2, 1)
	for _, penalty := range []minimax.Penalty{minimax.Handicap, minimax.Shy} {
		var last *saddle.Row
		o := minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 0.1, Beta2: 0.7, Penalty: penalty}
		o.Control.Recorder = run.RecorderFunc(func(r run.Row) error { last = saddle.RowOf(r); return nil })
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		if f.Shared == 0 || last == nil {
			t.Fatalf("%s: nothing to look at", penalty)
		}
		near(t, string(penalty)+": upper", last.Upper, f.Certificate.Upper+f.Shared, 1e-12)
		near(t, string(penalty)+": lower", last.Lower, f.Certificate.Lower+f.Shared, 1e-12)
	}
}

// A constant that is too large to be written is not laid to scores that have no bound.
func TestConstantThatOverflows(t *testing.T) {
	d := blobs(40, 3, 2, 1)
	for _, o := range []minimax.Options{{Losses: minimax.ThesisLosses(), Radius: 5},
		{Losses: minimax.ThesisLosses(), Radius: 5, Beta2: 1, Normalization: minimax.Raw}} {
		o.Losses = all(t, "400-norm")
		if _, err := minimax.Train(d, &o); err == nil || strings.Contains(err.Error(), "unbounded") ||
			!strings.Contains(err.Error(), "may be as large as") {
			t.Errorf("%v", err)
		}
	}
	o := minimax.Options{Losses: all(t, "squared"), Beta1: 1}
	if _, err := minimax.Train(d, &o); err == nil || !strings.Contains(err.Error(), "scores are unbounded") {
		t.Errorf("%v", err)
	}
}
