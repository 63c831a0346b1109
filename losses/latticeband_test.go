package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// What a band costs on a lattice, behind an expansion, under a cap and with a user's transducer:
// where it is a bound it is the exact difference, and an estimate is close to that.
func TestLatticeBandError(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(95, 1))
	const alphabet = 3
	kinds, low := map[ErrorKind]int{}, 0
	// A user's transducer: edits, and two symbols in the other order.
	swaps, err := Edit{Sub: 1.5, Ins: 1, Del: 0.8}.Transducer(alphabet)
	if err != nil {
		t.Fatal(err)
	}
	for x := fst.Label(1); x <= alphabet; x++ {
		for y := fst.Label(1); y <= alphabet; y++ {
			if x != y {
				q := swaps.AddState()
				swaps.AddArc(swaps.Start(), fst.Arc[semiring.Tropical64]{ILabel: x, OLabel: y, Weight: 0.6,
					NextState: q})
				swaps.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: y, OLabel: x, NextState: swaps.Start()})
			}
		}
	}
	for i := range 120 {
		a := sausage(rng, 4+rng.IntN(7), 1+rng.IntN(3), alphabet)
		ref := randomRef(rng, 3+rng.IntN(9), alphabet)
		opts := GeneralOptions{}
		name := fmt.Sprint(i)
		if i%4 == 1 {
			e := fst.NewVector[semiring.Tropical64](1)
			e.SetStart(e.AddState())
			e.SetFinal(0, 0)
			for k := fst.Label(1); k <= alphabet; k++ {
				e.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: k, OLabel: fst.Label(rng.IntN(alphabet + 1)),
					NextState: 0})
				e.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: k, OLabel: k, NextState: 0})
			}
			opts.Expand, name = e, name+" expanded"
		}
		if i%4 == 2 {
			most := 2.5
			opts.Cap, name = &most, name+" capped"
		}
		automaton := func(band int) *Automaton {
			o := opts
			o.Band = band
			var b *Automaton
			var err error
			if i%5 == 4 {
				b, err = TropicalAutomaton(a, swaps, ref, &o)
			} else if i%3 == 0 {
				b, err = Local{Match: 2, Sub: -1, Ins: -1, Del: -1}.Automaton(a, ref, alphabet, &o)
			} else {
				b, err = Edit{Sub: 1.5, Ins: 1, Del: 0.8}.Automaton(a, ref, alphabet, &o)
			}
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		gamma := []float64{1, 0.5, -1, 0}[rng.IntN(4)]
		eval := func(b *Automaton) *LatticeResult {
			r, err := (&Lattice{A: a}).Eval(b, gamma, WantError, ops.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		exact, banded := eval(automaton(0)), eval(automaton(1))
		if exact.LogZErrorKind != ErrorExact || exact.LogZError != 0 {
			t.Errorf("%s: error %v (%v) without a band", name, exact.LogZError, exact.LogZErrorKind)
		}
		d := math.Abs(banded.LogZ - exact.LogZ)
		kinds[banded.LogZErrorKind]++
		switch banded.LogZErrorKind {
		case ErrorBound:
			if math.Abs(banded.LogZError-d) > 1e-8 {
				t.Errorf("%s: γ = %v: bound %v, the error is %v", name, gamma, banded.LogZError, d)
			}
		case ErrorEstimate:
			if banded.LogZError < d-1e-8 {
				low++
			}
			if banded.LogZError < 0.5*d || banded.LogZError > 2*d+0.1 {
				t.Errorf("%s: γ = %v: estimate %v, the error is %v", name, gamma, banded.LogZError, d)
			}
		default:
			t.Errorf("%s: no error of a band", name)
		}
	}
	if kinds[ErrorBound] < 20 || kinds[ErrorEstimate] < 20 {
		t.Errorf("of all kinds too few: %v", kinds)
	}
	if low > kinds[ErrorEstimate]/10 { // the upper end of a 95 % interval
		t.Errorf("%d of %d estimates are below the error", low, kinds[ErrorEstimate])
	}
}
