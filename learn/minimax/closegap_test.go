package minimax_test

import (
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/run"
)

// Whoever asks for more gets more: a gap of 1e-8, or the least that there is, and not what is
// left when Newton's method has given up on it.
func TestCloseGaps(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := blobs(150, 20, 2, 4)
	last := math.Inf(1)
	for _, gap := range []float64{1e-3, 1e-6, 1e-8, -1} {
		f, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 1e-4, Gap: gap})
		if err != nil {
			t.Fatal(err)
		}
		if most := max(gap, 1e-9) * f.Certificate.Upper; !(f.Gap() <= most) || f.Gap() > last {
			t.Errorf("gap %g asked: %g of %g, after %g (%v)", gap, f.Gap(), f.Certificate.Upper, last, f.Reason)
		}
		last = f.Gap()
	}
	// The norm itself is not proved as near; what is asked for beyond that must not take away
	// what was proved.
	for _, gap := range []float64{1e-3, 1e-8, -1} {
		f, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 1e-3,
			Norm: true, Gap: gap})
		if err != nil {
			t.Fatal(err)
		}
		if most := max(gap, 1e-4) * f.Certificate.Upper; !(f.Gap() <= most) {
			t.Errorf("norm, gap %g asked: %g of %g (%v)", gap, f.Gap(), f.Certificate.Upper, f.Reason)
		}
	}
}

// The norm itself where losses are of whole rows, which Newton's method is not for: L-BFGS, which
// proves next to nothing at small weights of the norm, is followed by what does.
func TestNormOfSoftmax(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := blobs(100, 15, 3, 1)
	for _, o := range []minimax.Options{{Losses: minimax.ThesisLosses(), Beta1: 1e-4},
		{Losses: minimax.ThesisLosses(), Beta1: 1e-3, Preferences: minimax.Preferences{Lo: []float64{0.1}}}} {
		o.Norm, o.MultiClass = true, minimax.Softmax
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		if !(f.Gap() <= 1e-3*f.Certificate.Upper) || f.Reason != run.GapSmall {
			t.Errorf("%v|w|: a gap of %g of %g (%v)", o.Beta1, f.Gap(), f.Certificate.Upper, f.Reason)
		}
		if o.Beta1 < 1e-3 {
			continue
		}
		o.Gap = 1e-4 // which bounds what the first may have proved
		g, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		if f.Certificate.Lower > g.Certificate.Upper || g.Certificate.Lower > f.Certificate.Upper {
			t.Errorf("%v|w|: the value is in [%v, %v], and in [%v, %v]", o.Beta1, f.Certificate.Lower,
				f.Certificate.Upper, g.Certificate.Lower, g.Certificate.Upper)
		}
	}
}

// A radius is certified where it holds something back, where it barely does, and where it does not.
func TestRadiusOfAnySize(t *testing.T) {
	d := blobs(150, 20, 2, 4)
	free, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	norm := 0.0
	for _, v := range free.Model.Params {
		norm = math.Hypot(norm, v)
	}
	for _, radius := range []float64{0.9 * norm, 3 * norm, 1e5 * norm} {
		for _, beta := range []float64{0, 1e-4} {
			if beta > 0 && radius > norm {
				continue // an ordinary game
			}
			f, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: beta, Radius: radius})
			if err != nil {
				t.Fatal(err)
			}
			if !(f.Gap() <= 1e-3*f.Certificate.Upper) || f.Reason != run.GapSmall {
				t.Errorf("radius %g, β %g: a gap of %g of %g (%v)", radius, beta, f.Gap(), f.Certificate.Upper, f.Reason)
			}
			if reached := free.Worst + beta/2*norm*norm; radius > norm && f.Certificate.Lower > reached {
				t.Errorf("radius %g, β %g: a lower bound of %g, and %g is reached", radius, beta,
					f.Certificate.Lower, reached)
			}
			size := 0.0
			for _, v := range f.Model.Params {
				size = math.Hypot(size, v)
			}
			if size > radius*(1+1e-9) {
				t.Errorf("radius %g: a model of norm %g", radius, size)
			}
		}
	}
}
