package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// A conversion there and back is the identity, up to the rounding of the
// narrower type, between any two of the numeric semirings.
func TestConvertRoundTrip(t *testing.T) {
	roundTrip[semiring.Tropical, semiring.Log64](t, drawTropical, 0)
	roundTrip[semiring.Tropical, semiring.Log](t, drawTropical, 0)
	roundTrip[semiring.Tropical, semiring.Tropical64](t, drawTropical, 0)
	roundTrip[semiring.Tropical, semiring.Tropical](t, drawTropical, 0)
	roundTrip[semiring.Log64, semiring.Probability](t, drawLog64, 1e-12)
	roundTrip[semiring.Log64, semiring.Tropical](t, drawLog64, 1e-6)
	roundTrip[semiring.Probability, semiring.Log](t, drawProbability, 1e-6)
	roundTrip[semiring.Boolean, semiring.Tropical](t, drawBoolean, 0)
}

func roundTrip[W semiring.Approx[W], V semiring.Weight[V]](t *testing.T, draw func(*rand.Rand) W, delta float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(12, 1))
	for range 50 {
		a := fsttest.Random(rng, rng.IntN(8), draw, fsttest.Options{Cyclic: true})
		fst.PropertiesOf[W](a, fst.AllProperties)
		v := fsttest.Must(Convert[V, W](a))
		truthful(t, "Convert", v)
		back := fsttest.Must(Convert[W, V](v))
		truthful(t, "Convert", back)
		if d := Compare[W](a, back, delta); d != nil {
			t.Fatalf("there and back: %v", d)
		}
	}
}

func TestConvertValues(t *testing.T) {
	half := fst.NewVector[semiring.Probability](2)
	half.AddStates(2)
	half.SetStart(0)
	half.AddArc(0, fst.Arc[semiring.Probability]{ILabel: 1, OLabel: 1, Weight: 0.5, NextState: 1})
	half.SetFinal(1, 1)
	log := fsttest.Must(Convert[semiring.Log64, semiring.Probability](half))
	if w := log.Arcs(0)[0].Weight; math.Abs(float64(w)-math.Ln2) > 1e-15 {
		t.Errorf("0.5 is %v", w)
	}
	if fst.IsFinal[semiring.Log64](log, 0) || log.Final(1) != 0 {
		t.Errorf("final weights %v, %v", log.Final(0), log.Final(1))
	}
	// What underflows is no longer final, nor known to be reached back from.
	small := fsttest.String[semiring.Log64](1)
	small.SetFinal(1, 1e4)
	fst.PropertiesOf[semiring.Log64](small, fst.AllProperties)
	truthful(t, "Convert", fsttest.Must(Convert[semiring.Probability, semiring.Log64](small)))
	if _, err := Convert[semiring.GallicLeft[semiring.Tropical], semiring.Probability](half); err == nil {
		t.Error("no error for a conversion that is not defined")
	}
}

func TestPowerOfZero(t *testing.T) {
	f := fsttest.String[semiring.Tropical](1)
	PowerWeights(f, 0)
	if f.Final(0) != 0 {
		t.Errorf("0̄ to the power 0 is %v, want 1̄", f.Final(0))
	}
	truthful(t, "power 0", f)
	f = fsttest.String[semiring.Tropical](1)
	PowerWeights(f, -1)
	if fst.IsFinal[semiring.Tropical](f, 0) {
		t.Errorf("0̄ to the power -1 is %v", f.Final(0))
	}
}
