package minimax_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Every convex loss of table C.1 and its kin, alone and beside one with a kink, in every
// units that it has, comes with a certificate by the default solver: also where powers are
// steep, and those of first steps beyond what can be written.
func TestEveryConvexLossIsCertified(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := blobs(70, 4, 2, 3)
	bases := []string{"zero-one", "hinge", "smooth-hinge", "cross-entropy", "squared-hinge", "squared",
		"huber:0.5", "1-norm", "1.5-norm", "2-norm", "3-norm", "4-norm", "8-norm", "50-norm"}
	for _, base := range bases {
		for _, units := range []minimax.Normalization{minimax.Raw, minimax.Baseline, minimax.Lipschitz,
			minimax.Regret} {
			for _, names := range [][]string{{base}, {base, "hinge"}} {
				if len(names) > 1 && (base == "hinge" || units == minimax.Regret) {
					continue // twice the same; and the longest of them, on no other path
				}
				for _, o := range []minimax.Options{{Losses: minimax.ThesisLosses(), Beta1: 1e-4},
					{Losses: minimax.ThesisLosses(), Radius: 1}} {
					if units == minimax.Regret && o.Radius > 0 {
						continue
					}
					o.Losses, o.Normalization, o.Passes, o.Seed = all(t, names...), units, 5, 1
					if units == minimax.Lipschitz && o.Radius == 0 {
						o.ScoreBound = 2
					}
					f, err := minimax.Train(d, &o)
					name := fmt.Sprintf("%v in units %s, radius %g", names, units, o.Radius)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					} else if !(f.Gap() <= 1e-3*math.Max(0.01, math.Abs(f.Certificate.Upper))) {
						t.Errorf("%s: a gap of %v at %v (%s)", name, f.Gap(), f.Certificate.Upper, f.Reason)
					}
				}
			}
		}
	}
}

// Dual ascent by itself ends: at the passes it is given, and where it makes no progress. Its
// bounds hold there as well.
func TestDualAscentEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := blobs(120, 5, 2, 3)
	o := minimax.Options{Losses: all(t, "8-norm", "hinge"), Normalization: minimax.Raw, Beta1: 1e-4, Gap: 1e-4}
	best, err := minimax.Train(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	o.Solver = minimax.DualAscent
	last := math.Inf(1)
	for _, passes := range []int{1, 20, 200, 0} {
		o.Passes = passes
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatalf("%d passes: %v", passes, err)
		}
		if passes > 0 && f.Reason != run.IterationLimit || passes == 0 && f.Reason != run.GapMissed &&
			f.Reason != run.RoundLimit && f.Reason != run.GapSmall {
			t.Errorf("%d passes: ended for %s", passes, f.Reason)
		}
		if f.Gap() > last {
			t.Errorf("%d passes: gap %v, with fewer %v", passes, f.Gap(), last)
		}
		last = f.Gap()
		if f.Certified && (f.Certificate.Lower > best.Certificate.Upper+1e-9 ||
			f.Certificate.Upper < best.Certificate.Lower-1e-9) {
			t.Errorf("%d passes: %+v excludes %+v", passes, f.Certificate, best.Certificate)
		}
	}
}

// So do losses of whole rows, the hinge with its maximum among them.
func TestSoftmaxIsCertified(t *testing.T) {
	d := blobs(300, 4, 3, 3)
	for _, names := range [][]string{{"hinge"}, {"hinge", "cross-entropy"},
		{"zero-one", "hinge", "1-norm", "cross-entropy"}} {
		for _, o := range []minimax.Options{{Losses: minimax.ThesisLosses(), Beta1: 1e-4},
			{Losses: minimax.ThesisLosses(), Beta1: 0.1}, {Losses: minimax.ThesisLosses(), Radius: 0.5}} {
			o.Losses, o.MultiClass, o.Passes = all(t, names...), minimax.Softmax, 5
			f, err := minimax.Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			if !(f.Gap() <= 1e-3*f.Certificate.Upper) || f.Gap() < -1e-12 {
				t.Errorf("%v, β_1 %g, radius %g: a gap of %v at %v", names, o.Beta1, o.Radius, f.Gap(),
					f.Certificate.Upper)
			}
		}
	}
}

// A gap beyond rounding is not blamed on the iterations, which have no part in it.
func TestGapBeyondReach(t *testing.T) {
	d := blobs(120, 5, 2, 3)
	f, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 1e-4, Gap: 1e-15})
	if err != nil || f.Reason == run.IterationLimit || !(f.Gap() < 1e-6) {
		t.Errorf("gap %v, %v, %v", f.Gap(), f.Reason, err)
	}
}

// Values that cannot be written at all are named, by dual ascent with advice that applies.
func TestOverflow(t *testing.T) {
	d := blobs(40, 2, 2, 3)
	steep := all(t, "hinge")[0]
	hinge := steep.At
	steep.Name, steep.Relax = "steep", nil
	steep.At = func(s, y float64) (float64,
		float64) {
		v, g := hinge(s, y)
		return 1e308 * v * 10, 1e308 * g * 10
	}
	for _, solver := range []minimax.Solver{minimax.Auto, minimax.DualAscent, minimax.Smoothed} {
		_, err := minimax.Train(d, &minimax.Options{Losses: append(all(t, "cross-entropy"), steep), Beta1: 1e-4,
			Normalization: minimax.Raw, Solver: solver})
		if !errors.Is(err, optim.ErrNotFinite) {
			t.Errorf("%q: %v", solver, err)
		} else if solver == minimax.DualAscent && !strings.Contains(err.Error(), "choose smoothed") {
			t.Errorf("%q: %v", solver, err)
		}
	}
}
