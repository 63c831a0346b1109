package minimax_test

import (
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
)

// What β_2 adds is of the constants as they are when every unit has been found: a unit of
// one objective must not change what is taken off the next.
func TestBaselineUnitsWithBeta2(t *testing.T) {
	d := blobs(40, 3, 2, 1)
	names := []string{"huber:0.5", "squared", "1.5-norm"}
	for _, penalty := range []minimax.Penalty{minimax.Handicap, minimax.Shy} {
		f, err := minimax.Train(d, &minimax.Options{Losses: all(t, names...), Normalization: minimax.Baseline, Radius: 2, Beta1: 0.01, Beta2: 0.5, Penalty: penalty})
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
		"one objective":     {Losses: all(t, "cross-entropy"), Beta1: 0.1, Beta2: 0.7},
		"equal constants":   {Losses: all(t, "cross-entropy", "hinge"), Beta1: 0.1, Beta2: 0.7},
		"unequal constants": {Losses: all(t, "cross-entropy", "squared"), Normalization: minimax.Raw, ScoreBound: 1, Beta1: 0.1, Beta2: 0.1},
		"shy":               {Losses: all(t, "cross-entropy", "squared"), Normalization: minimax.Raw, ScoreBound: 1, Beta1: 0.1, Beta2: 0.1, Penalty: minimax.Shy},
		"without":           {Losses: all(t, "cross-entropy", "hinge"), Beta1: 0.1},
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
