package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// lexicon is a transducer from spellings over 26 letters to word numbers, one
// chain a word, all out of the start state: what determinization meets in a
// pronunciation dictionary.
func lexicon[W interface {
	semiring.Weight[W]
	~float32 | ~float64
}](words int, transducer bool) *fst.Vector[W] {
	rng := rand.New(rand.NewPCG(5, uint64(words)))
	f := fst.NewVector[W](words * 6)
	f.AddState()
	f.SetStart(0)
	for w := range words {
		q := fst.StateID(0)
		n := 3 + rng.IntN(6)
		spelling := rand.New(rand.NewPCG(6, uint64(w/2))) // pairs of words share a prefix
		for i := range n {
			l := fst.Label(1 + spelling.IntN(26))
			e := fst.Arc[W]{ILabel: l, OLabel: l, NextState: f.AddState()}
			if transducer {
				if e.OLabel = 0; i == 0 {
					e.OLabel = fst.Label(w + 1)
				}
				if i == n-1 {
					e.ILabel = fst.Label(100 + w) // disambiguates the words of one spelling
				}
			} else {
				e.Weight = W(rng.IntN(4)) / 4
			}
			f.AddArc(q, e)
			q = e.NextState
		}
		f.SetFinal(q, semiring.One[W]())
	}
	return f
}

// mesh is a layered acceptor, each state with arcs to many of the next layer:
// like a word lattice, its subsets are large.
func mesh[W interface {
	semiring.Weight[W]
	~float32 | ~float64
}](layers, width, arcs int) *fst.Vector[W] {
	rng := rand.New(rand.NewPCG(5, 7))
	f := fst.NewVector[W](layers * width)
	f.AddStates(layers*width + 1)
	f.SetStart(0)
	for q := range layers * width {
		next := (q/width+1)*width + rng.IntN(width)
		for i := range arcs {
			l := fst.Label(1 + rng.IntN(4))
			to := min(next+i%3-i%3%2, layers*width)
			f.AddArc(fst.StateID(q), fst.Arc[W]{ILabel: l, OLabel: l, Weight: W(rng.IntN(8)) / 4, NextState: fst.StateID(to)})
		}
	}
	f.SetFinal(fst.StateID(layers*width), semiring.One[W]())
	return f
}

func BenchmarkDeterminize(b *testing.B) {
	for _, words := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("machine=lexicon/words=%d/weight=tropical", words), func(b *testing.B) {
			benchmarkDeterminize(b, lexicon[semiring.Tropical](words, false))
		})
		b.Run(fmt.Sprintf("machine=transducer/words=%d/weight=tropical", words), func(b *testing.B) {
			benchmarkDeterminize(b, lexicon[semiring.Tropical](words, true))
		})
	}
	b.Run("machine=mesh/layers=6/weight=tropical", func(b *testing.B) { benchmarkDeterminize(b, mesh[semiring.Tropical](6, 12, 8)) })
	b.Run("machine=mesh/layers=6/weight=log64", func(b *testing.B) { benchmarkDeterminize(b, mesh[semiring.Log64](6, 12, 8)) })
}

func benchmarkDeterminize[W semiring.Divisible[W]](b *testing.B, f *fst.Vector[W]) {
	b.ReportAllocs()
	states := 0
	for b.Loop() {
		det, err := ops.Determinize(f, &ops.DeterminizeOptions{Delta: openfstDelta})
		if err != nil {
			b.Fatal(err)
		}
		states = det.NumStates()
	}
	perArc(b, f.NumArcs())
	b.ReportMetric(float64(states), "states")
}

func BenchmarkMinimize(b *testing.B) {
	det, err := ops.Determinize(lexicon[semiring.Tropical](20000, false), nil)
	if err != nil {
		b.Fatal(err)
	}
	plain := det.Clone()
	ops.RmWeight(plain)
	for _, c := range []struct {
		name string
		f    *fst.Vector[semiring.Tropical]
	}{{"weight=tropical", det}, {"weight=none", plain}} {
		b.Run("machine=lexicon/words=20000/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ops.Minimize(c.f, nil); err != nil {
					b.Fatal(err)
				}
			}
			perArc(b, c.f.NumArcs())
		})
	}
	cyclic := plain.Clone()
	for q := range fst.StateID(cyclic.NumStates()) {
		if fst.IsFinal[semiring.Tropical](cyclic, q) {
			cyclic.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 99, OLabel: 99, NextState: cyclic.Start()})
		}
	}
	b.Run("machine=cyclic/words=20000/weight=none", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ops.Minimize(cyclic, nil); err != nil {
				b.Fatal(err)
			}
		}
		perArc(b, cyclic.NumArcs())
	})
}

func BenchmarkRmEpsilon(b *testing.B) {
	f := mesh[semiring.Tropical](1000, 20, 4)
	rng := rand.New(rand.NewPCG(5, 8))
	for q := range fst.StateID(f.NumStates()) {
		for i, arcs := 0, f.MutableArcs(q); i < len(arcs); i++ {
			if rng.IntN(5) == 0 {
				arcs[i].ILabel, arcs[i].OLabel = 0, 0
			}
		}
	}
	b.Run("machine=mesh/states=20k/weight=tropical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g := f.Clone()
			if err := ops.RmEpsilon(g, nil); err != nil {
				b.Fatal(err)
			}
		}
		perArc(b, f.NumArcs())
	})
}

func BenchmarkPush(b *testing.B) {
	f := mesh[semiring.Tropical](1000, 20, 4)
	b.Run("machine=mesh/states=20k/weight=tropical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := ops.PushWeights(f.Clone(), nil); err != nil {
				b.Fatal(err)
			}
		}
		perArc(b, f.NumArcs())
	})
}

func BenchmarkTwins(b *testing.B) {
	f := mesh[semiring.Tropical](50, 10, 3)
	b.Run("machine=mesh/states=500/weight=tropical", func(b *testing.B) {
		for b.Loop() {
			if _, err := ops.Twins(f, nil); err != nil {
				b.Fatal(err)
			}
		}
		perArc(b, f.NumArcs())
	})
}
