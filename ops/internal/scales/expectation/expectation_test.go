// Package expectation tests operations over expectations of any size.
package expectation

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/internal/scales"
	"github.com/tropica-fst/tropica/semiring"
)

func TestKeepsScaledRelations(t *testing.T) {
	for _, scale := range []float64{1e-30, 1, 1e30} {
		scales.Keep(t, scales.DrawValue(scale), scales.InUnits(scale))
	}
}

func TestDeterminizeFactorsHasNoEnd(t *testing.T) {
	scales.HaveNoEnd(t, func(w semiring.Probability) semiring.Expectation {
		return semiring.Expectation{P: float64(w), R: float64(w)}
	})
}

// Two copies of a machine, with the weights of each moved along its arcs by factors from 1e-30 to 1e30, have
// cycles of equal weights, but for rounding: what they are determinized into ends, and long strings
// have the weight that they had.
func TestDeterminizeScaledCycles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(1, 8))
	moved := func(f *fst.Vector[semiring.Expectation]) *fst.Vector[semiring.Expectation] {
		f = f.Clone()
		v := make([]semiring.Expectation, f.NumStates())
		for q := range v {
			v[q] = scales.DrawValue(0.3)(rng)
		}
		for q := range fst.StateID(f.NumStates()) {
			arcs := f.MutableArcs(q)
			for i := range arcs {
				arcs[i].Weight = v[q].DivideLeft(arcs[i].Weight.Times(v[arcs[i].NextState]))
			}
			if fst.IsFinal[semiring.Expectation](f, q) {
				f.SetFinal(q, v[q].DivideLeft(f.Final(q)))
			}
		}
		return f
	}
	long := 0
	for range 60 {
		one := fsttest.Random(rng, 2+rng.IntN(4), func(rng *rand.Rand) semiring.Expectation {
			p := 0.2 + rng.Float64()/4
			return semiring.Expectation{P: p, R: p * (rng.Float64() - 0.3)}
		}, fsttest.Options{Labels: 2, Cyclic: true, Acceptor: true, Deterministic: true, Degree: 3})
		f := moved(one)
		if err := ops.Union(f, moved(one), ops.Limits{}); err != nil {
			t.Fatal(err)
		}
		if err := ops.RmEpsilon(f, nil); err != nil {
			t.Fatal(err)
		}
		long += scales.Compare(t, rng, f, 2*one.NumStates()+4, 1e-6)
		real := ops.MapInto(f, func(w semiring.Expectation) semiring.Probability { return semiring.Probability(w.P) })
		long += scales.Compare(t, rng, real, 2*one.NumStates()+4, 1e-6)
	}
	if long < 100 {
		t.Errorf("%d long strings only", long)
	}
}
