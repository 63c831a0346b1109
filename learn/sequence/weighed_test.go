package sequence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// Relaxed sequences, at every objective and order: the value from enumerated losses, the gradient
// by differences and through the terms of stochastic solvers, the same bits for any number of
// workers.
func TestWeighed(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			examples := randomExamples(rng, 7, 3, rng.IntN(2) == 0)
			m, c, f, o := build(t, examples, s.opts, 2)
			w := random(rng, f.Dim())
			if o.Kind == MaxMargin && o.Beta == 0 {
				for i := range w {
					w[i] *= 30
				}
			}
			// Values of single sequences are tested by enumeration in TestObjectives.
			if _, err := f.Eval(w, nil); err != nil {
				t.Fatal(err)
			}
			h := resilient.Huber{Delta: 1.3}
			want := 0.0
			for _, v := range w {
				want += o.L2 / 2 * v * v
			}
			for i, v := range f.values {
				if n := float64(examples[i].Len()); n > 0 {
					want += n * h.Value(max(v/n, 0))
				}
			}
			relaxed, err := resilient.NewObjective(f, h)
			if err != nil {
				t.Fatal(err)
			}
			grad := make([]float64, f.Dim())
			got, err := relaxed.Eval(w, grad)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
				t.Fatalf("value %v, from single sequences %v", got, want)
			}
			for range 25 {
				j := rng.IntN(len(w))
				const e = 1e-5
				at := func(d float64) float64 {
					x := slices.Clone(w)
					x[j] += d
					v, err := relaxed.Eval(x, nil)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				if d := (at(e) - at(-e)) / (2 * e); math.Abs(d-grad[j]) > 1e-5*(1+math.Abs(d)) {
					t.Fatalf("derivative %d is %v, by differences %v", j, grad[j], d)
				}
			}
			sum := optim.Ridge(optim.NewSum(&terms{layout: m.layout, corpus: c, loss: newLossOf(&o, m.layout, c), weigh: resilient.Weighing(h)}, nil), o.L2)
			again := make([]float64, f.Dim())
			v, err := sum.Eval(w, again)
			if err != nil || math.Abs(v-got) > 1e-10*(1+math.Abs(got)) || !near(again, grad, 1e-8) {
				t.Fatalf("as a sum of terms: value %v for %v, %v", v, got, err)
			}
			_, _, other, _ := build(t, examples, s.opts, 5)
			another, _ := resilient.NewObjective(other, h)
			if _, err := another.Eval(w, again); err != nil || !slices.Equal(again, grad) {
				t.Fatalf("other bits for other workers (%v)", err)
			}
		})
	}
}
