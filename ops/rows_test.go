package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// rowOf draws a row with infinite weights and distances among the others.
func rowOf[T float](rng *rand.Rand, n int, special float64) (d []T, arcs []fst.Arc[T]) {
	w := func() T {
		if rng.Float64() < special {
			return T(math.Inf(1))
		}
		return T(rng.Float64()*20 - 5)
	}
	for range 8 {
		d = append(d, w())
	}
	for range n {
		arcs = append(arcs, fst.Arc[T]{Weight: w(), NextState: fst.StateID(rng.IntN(8))})
	}
	return d, arcs
}

func checkRows[W interface {
	float
	semiring.Weight[W]
}](t *testing.T, tol float64, real bool) {
	rng := rand.New(rand.NewPCG(61, 1))
	r := rowsOf[W]()
	for range 2000 {
		d, arcs := rowOf[W](rng, rng.IntN(6), 0.2)
		if real {
			for i := range d {
				d[i] = W(math.Exp(-float64(d[i])))
			}
			for i := range arcs {
				arcs[i].Weight = W(math.Exp(-float64(arcs[i].Weight)))
			}
		}
		final := d[rng.IntN(8)]
		close := func(a, b W) bool {
			return a == b || math.Abs(float64(a)-float64(b)) <= tol*max(1, math.Abs(float64(b)))
		}
		if got, want := r.sum(d, arcs, final), sumAny(d, arcs, final); !close(got, want) {
			t.Fatalf("%T: sum %v, want %v", got, got, want)
		}
		e := append([]W(nil), d...)
		dq := d[rng.IntN(8)]
		r.relax(d, dq, arcs)
		relaxAny(e, dq, arcs)
		for i := range d {
			if !close(d[i], e[i]) {
				t.Fatalf("%T: relaxed to %v, want %v", d[i], d[i], e[i])
			}
		}
	}
}

func TestRowKernels(t *testing.T) {
	checkRows[semiring.Tropical](t, 0, false)
	checkRows[semiring.Tropical64](t, 0, false)
	checkRows[semiring.Log](t, 1e-5, false)
	checkRows[semiring.Log64](t, 1e-12, false)
	checkRows[semiring.Probability](t, 1e-13, true)
}

func benchRows[W interface {
	float
	semiring.Weight[W]
}](b *testing.B, name string) {
	d, arcs := rowOf[W](rand.New(rand.NewPCG(63, 1)), 4, 0)
	for _, k := range []struct {
		name string
		sum  func([]W, []fst.Arc[W], W) W
	}{{"kernel", rowsOf[W]().sum}, {"generic", sumAny[W]}} {
		b.Run("weight="+name+"/loop="+k.name, func(b *testing.B) {
			final := d[0]
			for b.Loop() {
				k.sum(d, arcs, final)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(arcs)), "ns/arc")
		})
	}
}

func BenchmarkRows(b *testing.B) {
	benchRows[semiring.Tropical](b, "tropical")
	benchRows[semiring.Log64](b, "log64")
	benchRows[semiring.Probability](b, "probability")
}
