package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// rowOf draws a row with infinite weights and distances among the others.
func rowOf[T, D sums.Float](rng *rand.Rand, n int, special float64) (d []D, arcs []fst.Arc[T]) {
	w := func() float64 {
		if rng.Float64() < special {
			return math.Inf(1)
		}
		return float64(float32(rng.Float64()*20 - 5))
	}
	for range 8 {
		d = append(d, D(w()))
	}
	for range n {
		arcs = append(arcs, fst.Arc[T]{Weight: T(w()), NextState: fst.StateID(rng.IntN(8))})
	}
	return d, arcs
}

func checkRows[W interface {
	sums.Float
	semiring.Weight[W]
}, D interface {
	sums.Float
	semiring.Weight[D]
}](t *testing.T, tol float64, real bool) {
	rng := rand.New(rand.NewPCG(61, 1))
	r, generic := sums.RowsOf[W, D](), sums.RowsAny[W, D]()
	for range 2000 {
		d, arcs := rowOf[W, D](rng, rng.IntN(6), 0.2)
		if real {
			for i := range d {
				d[i] = D(math.Exp(-float64(d[i])))
			}
			for i := range arcs {
				arcs[i].Weight = W(math.Exp(-float64(arcs[i].Weight)))
			}
		}
		final := W(d[rng.IntN(8)])
		close := func(a, b D) bool {
			return a == b || math.Abs(float64(a)-float64(b)) <= tol*max(1, math.Abs(float64(b)))
		}
		if got, want := r.Sum(d, arcs, final), generic.Sum(d, arcs, final); !close(got, want) {
			t.Fatalf("%T: sum %v, want %v", got, got, want)
		}
		e := append([]D(nil), d...)
		dq := d[rng.IntN(8)]
		r.Relax(d, dq, arcs)
		generic.Relax(e, dq, arcs)
		for i := range d {
			if !close(d[i], e[i]) {
				t.Fatalf("%T: relaxed to %v, want %v", d[i], d[i], e[i])
			}
		}
	}
}

func TestRowKernels(t *testing.T) {
	checkRows[semiring.Tropical, semiring.Tropical](t, 0, false)
	checkRows[semiring.Tropical64, semiring.Tropical64](t, 0, false)
	checkRows[semiring.Log, semiring.Log64](t, 1e-12, false)
	checkRows[semiring.Log64, semiring.Log64](t, 1e-12, false)
	checkRows[semiring.Probability, semiring.Probability](t, 1e-13, true)
}

func benchRows[W interface {
	sums.Float
	semiring.Weight[W]
}](b *testing.B, name string) {
	d, arcs := rowOf[W, W](rand.New(rand.NewPCG(63, 1)), 4, 0)
	for _, k := range []struct {
		name string
		sum  func([]W, []fst.Arc[W], W) W
	}{{"kernel", sums.RowsOf[W, W]().Sum}, {"generic", sums.RowsAny[W, W]().Sum}} {
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
