package minimax_test

import (
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
)

// Whoever asks for more gets more: a gap of 1e-8, or the least that there is, and not what is
// left when Newton's method has given up on it.
func TestCloseGaps(t *testing.T) {
	d := blobs(150, 20, 2, 4)
	last := math.Inf(1)
	for _, gap := range []float64{1e-3, 1e-6, 1e-8, -1} {
		f, err := minimax.Train(d, &minimax.Options{Beta1: 1e-4, Gap: gap})
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
		f, err := minimax.Train(d, &minimax.Options{Beta1: 1e-3, Norm: true, Gap: gap})
		if err != nil {
			t.Fatal(err)
		}
		if most := max(gap, 1e-4) * f.Certificate.Upper; !(f.Gap() <= most) {
			t.Errorf("norm, gap %g asked: %g of %g (%v)", gap, f.Gap(), f.Certificate.Upper, f.Reason)
		}
	}
}
