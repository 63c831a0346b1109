package ops

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// benchmarkMachine has degree arcs a state, over a hundred labels; a tenth of the
// labels is ε.
func benchmarkMachine[W semiring.Weight[W]](states, degree int, w func(float64) W) *fst.Vector[W] {
	rng := rand.New(rand.NewPCG(31, uint64(states)))
	f := fst.NewVector[W](states)
	label := func() fst.Label {
		if rng.IntN(10) == 0 {
			return fst.Epsilon
		}
		return fst.Label(1 + rng.IntN(100))
	}
	for q := range states {
		arcs := make([]fst.Arc[W], degree)
		for i := range arcs {
			arcs[i] = fst.Arc[W]{ILabel: label(), OLabel: label(), Weight: w(rng.Float64()), NextState: fst.StateID(rng.IntN(states))}
		}
		final := semiring.Zero[W]()
		if q%20 == 0 {
			final = semiring.One[W]()
		}
		f.PushState(final, arcs)
	}
	f.SetStart(0)
	return f
}

func benchmarkCompose[W semiring.Weight[W]](b *testing.B, name string, w func(float64) W) {
	for _, size := range []struct {
		name string
		n    int
	}{{"1k", 250}, {"10k", 2500}, {"100k", 25000}} {
		x := benchmarkMachine(size.n, 4, w)
		y := ArcSorted(benchmarkMachine(4, 40, w), Input)
		for _, filter := range []Filter{SequenceFilter, MatchFilter} {
			b.Run(fmt.Sprintf("arcs=%s/filter=%v/weight=%s", size.name, filter, name), func(b *testing.B) {
				b.ReportAllocs()
				arcs := 0
				for range b.N {
					r := fsttest.Must(Compose[W](x, y, &ComposeOptions{Filter: filter}))
					arcs += r.NumArcs()
				}
				if arcs < size.n*b.N {
					b.Fatalf("the result has only %d arcs", arcs/b.N)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(arcs), "ns/arc")
			})
		}
	}
}

func BenchmarkCompose(b *testing.B) {
	benchmarkCompose(b, "tropical", func(x float64) semiring.Tropical { return semiring.Tropical(x) })
	benchmarkCompose(b, "log64", func(x float64) semiring.Log64 { return semiring.Log64(x) })
}

func BenchmarkArcSort(b *testing.B) {
	for _, degree := range []int{4, 16, 1000} {
		b.Run(fmt.Sprintf("degree=%d/weight=tropical", degree), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(32, 1))
			f := fst.NewVector[semiring.Tropical](0)
			arcs := make([]fst.Arc[semiring.Tropical], degree)
			for range 100000 / degree {
				for i := range arcs {
					arcs[i] = fst.Arc[semiring.Tropical]{ILabel: fst.Label(rng.IntN(10000)), OLabel: fst.Label(rng.IntN(10000))}
				}
				f.PushState(0, arcs)
			}
			f.SetStart(0)
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				g := f.Clone()
				b.StartTimer()
				ArcSort(g, Input)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*f.NumArcs()), "ns/arc")
		})
	}
}

func BenchmarkReverse(b *testing.B) {
	f := benchmarkMachine(25000, 4, func(x float64) semiring.Tropical { return semiring.Tropical(x) })
	b.Run("arcs=100k/weight=tropical", func(b *testing.B) {
		for range b.N {
			fsttest.Must(Reverse[semiring.Tropical](f, nil))
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*f.NumArcs()), "ns/arc")
	})
}
