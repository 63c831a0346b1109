package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// benchMachine is a machine of the given number of arcs, 4 a state: a spine of
// short arcs, and arcs forward within 50 states (acyclic) or anywhere (cyclic).
// States are numbered as they first appear in a text of it, so an acyclic one is
// not sorted.
func benchMachine[W realWeight[W]](arcs int, kind string) *fst.Vector[W] {
	rng := rand.New(rand.NewPCG(uint64(arcs), 7))
	n := max(2, arcs/4)
	if kind == "sparse" { // half of the states reach no final state
		n = arcs / 2
	}
	out := make([][]int, n)
	if kind != "sparse" {
		for t := 1; t < n; t++ {
			s := max(0, t-50)
			s += rng.IntN(t - s)
			out[s] = append(out[s], t)
		}
		for range arcs - n + 1 {
			s, t := rng.IntN(n-1), rng.IntN(n)
			if kind != "cyclic" {
				t = min(n-1, s+1+rng.IntN(50))
			}
			out[s] = append(out[s], t)
		}
	} else {
		for range arcs {
			s := rng.IntN(n)
			out[s] = append(out[s], rng.IntN(n))
		}
	}
	id := make([]fst.StateID, n)
	next := fst.StateID(1)
	name := func(s int) fst.StateID {
		if s > 0 && id[s] == 0 {
			id[s] = next
			next++
		}
		return id[s]
	}
	f := fst.NewVector[W](n)
	f.AddStates(n)
	f.SetStart(0)
	for s := range out {
		for _, t := range out[s] {
			l := fst.Label(1 + rng.IntN(100))
			p, q := name(s), name(t)
			f.AddArc(p, fst.Arc[W]{ILabel: l, OLabel: l, Weight: W(float64(1+rng.IntN(10240)) / 1024), NextState: q})
		}
	}
	for s := range out {
		if s == n-1 || kind != "lattice" && kind != "sparse" && rng.IntN(20) == 0 || kind == "sparse" && rng.IntN(10000) == 0 {
			f.SetFinal(name(s), W(float64(rng.IntN(4096))/1024))
		}
	}
	return f
}

func perArc(b *testing.B, arcs int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(arcs), "ns/arc")
}

var benchSizes = []int{10_000, 1_000_000}

func BenchmarkShortestDistance(b *testing.B) {
	for _, arcs := range benchSizes {
		for _, kind := range []string{"acyclic", "cyclic"} {
			b.Run(fmt.Sprintf("arcs=%d/machine=%s/weight=tropical", arcs, kind), func(b *testing.B) {
				benchDistance(b, benchMachine[semiring.Tropical](arcs, kind), nil)
			})
		}
		b.Run(fmt.Sprintf("arcs=%d/machine=acyclic/weight=tropical/reverse", arcs), func(b *testing.B) {
			benchDistance(b, benchMachine[semiring.Tropical](arcs, "acyclic"), &ops.ShortestDistanceOptions{Reverse: true})
		})
		b.Run(fmt.Sprintf("arcs=%d/machine=acyclic/weight=log", arcs), func(b *testing.B) {
			benchDistance(b, benchMachine[semiring.Log](arcs, "acyclic"), nil)
		})
		b.Run(fmt.Sprintf("arcs=%d/machine=acyclic/weight=log/reverse", arcs), func(b *testing.B) {
			benchDistance(b, benchMachine[semiring.Log](arcs, "acyclic"), &ops.ShortestDistanceOptions{Reverse: true})
		})
	}
}

func benchDistance[W semiring.Approx[W]](b *testing.B, f *fst.Vector[W], o *ops.ShortestDistanceOptions) {
	for b.Loop() {
		if _, err := ops.ShortestDistance(f, o); err != nil {
			b.Fatal(err)
		}
	}
	perArc(b, f.NumArcs())
}

func BenchmarkForwardBackward(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d/weight=log64", arcs), func(b *testing.B) {
			f := benchMachine[semiring.Log64](arcs, "acyclic")
			for b.Loop() {
				if _, _, _, err := ops.ExpectedCounts(f, nil); err != nil {
					b.Fatal(err)
				}
			}
			perArc(b, arcs)
		})
	}
}

func BenchmarkShortestPath(b *testing.B) {
	for _, c := range []struct{ arcs, n int }{{1_000_000, 1}, {100_000, 100}} {
		b.Run(fmt.Sprintf("arcs=%d/n=%d", c.arcs, c.n), func(b *testing.B) {
			f := benchMachine[semiring.Tropical](c.arcs, "lattice")
			for b.Loop() {
				if _, err := ops.ShortestPath(f, &ops.ShortestPathOptions[semiring.Tropical]{N: c.n}); err != nil {
					b.Fatal(err)
				}
			}
			perArc(b, c.arcs)
		})
	}
	b.Run("arcs=100000/n=100/unique", func(b *testing.B) {
		f := benchMachine[semiring.Tropical](100_000, "lattice")
		for b.Loop() {
			if _, err := ops.ShortestPathUnique(f, &ops.ShortestPathOptions[semiring.Tropical]{N: 100}); err != nil {
				b.Fatal(err)
			}
		}
		perArc(b, 100_000)
	})
}

// inPlace times an operation on copies made outside the clock.
func inPlace(b *testing.B, f *fst.Vector[semiring.Tropical], op func(*fst.Vector[semiring.Tropical]) error) {
	for range b.N {
		b.StopTimer()
		g := f.Clone()
		b.StartTimer()
		if err := op(g); err != nil {
			b.Fatal(err)
		}
	}
	perArc(b, f.NumArcs())
}

func BenchmarkConnect(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d", arcs), func(b *testing.B) {
			inPlace(b, benchMachine[semiring.Tropical](arcs, "sparse"), func(f *fst.Vector[semiring.Tropical]) error { ops.Connect(f); return nil })
		})
	}
}

func BenchmarkTopSort(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d", arcs), func(b *testing.B) {
			inPlace(b, benchMachine[semiring.Tropical](arcs, "acyclic"), ops.TopSort[semiring.Tropical])
		})
	}
}

func BenchmarkPrune(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d", arcs), func(b *testing.B) {
			threshold := semiring.Tropical(10)
			inPlace(b, benchMachine[semiring.Tropical](arcs, "lattice"), func(f *fst.Vector[semiring.Tropical]) error {
				return ops.Prune(f, &ops.PruneOptions[semiring.Tropical]{Threshold: &threshold})
			})
		})
	}
}
