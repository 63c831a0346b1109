package ops_test

import (
	"fmt"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// What changes its first operand gets a fresh copy each time, the copying not timed.
func benchInPlace(b *testing.B, f *fst.Vector[semiring.Tropical], do func(*fst.Vector[semiring.Tropical]) error) {
	b.ReportAllocs()
	for range b.N {
		b.StopTimer()
		v := f.Clone()
		b.StartTimer()
		if err := do(v); err != nil {
			b.Fatal(err)
		}
	}
	perArc(b, f.NumArcs())
}

func BenchmarkUnion(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d/weight=tropical", arcs), func(b *testing.B) {
			f, g := benchMachine[semiring.Tropical](arcs, "acyclic"), benchMachine[semiring.Tropical](arcs, "cyclic")
			benchInPlace(b, f, func(v *fst.Vector[semiring.Tropical]) error { return ops.Union(v, g, ops.Limits{}) })
		})
	}
}

func BenchmarkConcat(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d/weight=tropical", arcs), func(b *testing.B) {
			f, g := benchMachine[semiring.Tropical](arcs, "acyclic"), benchMachine[semiring.Tropical](arcs, "cyclic")
			benchInPlace(b, f, func(v *fst.Vector[semiring.Tropical]) error { return ops.Concat(v, g, ops.Limits{}) })
		})
	}
}

func BenchmarkClosure(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d/weight=tropical", arcs), func(b *testing.B) {
			benchInPlace(b, benchMachine[semiring.Tropical](arcs, "acyclic"), func(v *fst.Vector[semiring.Tropical]) error {
				return ops.Closure(v, ops.Star, ops.Limits{})
			})
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, arcs := range benchSizes {
		for _, kind := range []ops.EncodeKind{ops.EncodeLabels, ops.EncodeLabels | ops.EncodeWeights} {
			b.Run(fmt.Sprintf("arcs=%d/weights=%v/weight=tropical", arcs, kind&ops.EncodeWeights != 0), func(b *testing.B) {
				benchInPlace(b, benchMachine[semiring.Tropical](arcs, "cyclic"), func(v *fst.Vector[semiring.Tropical]) error {
					ops.Encode(v, ops.NewEncodeTable[semiring.Tropical](kind))
					return nil
				})
			})
		}
	}
}

// A lexicon: words of eight arcs, of which two have no input, so that outputs wait for inputs. There is no
// cycle: round one with more outputs than inputs, ever more would have to wait.
func BenchmarkEpsNormalize(b *testing.B) {
	for _, arcs := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("arcs=%d/weight=tropical", arcs), func(b *testing.B) {
			f := fst.NewVector[semiring.Tropical](arcs + 1)
			f.AddStates(arcs + 1)
			end := fst.StateID(arcs)
			f.SetStart(0)
			f.SetFinal(end, 0)
			for q := range end {
				e := fst.Arc[semiring.Tropical]{ILabel: fst.Label(q*7%26) + 1, OLabel: fst.Label(q*11%26) + 1, Weight: semiring.Tropical(q % 5), NextState: q + 1}
				if q%4 == 1 {
					e.ILabel = fst.Epsilon
				}
				from := q
				if q%8 == 0 {
					from = 0
				}
				if q%8 == 7 {
					e.NextState = end
				}
				f.AddArc(from, e)
			}
			b.ReportAllocs()
			for b.Loop() {
				fsttest.Must(ops.EpsNormalize(f, ops.Input, ops.Limits{}))
			}
			perArc(b, arcs)
		})
	}
}

func BenchmarkEquivalent(b *testing.B) {
	for _, arcs := range benchSizes {
		b.Run(fmt.Sprintf("arcs=%d/weight=tropical", arcs), func(b *testing.B) {
			// Deterministic: a spine with loops back under other labels.
			n := arcs / 2
			f := fst.NewVector[semiring.Tropical](n)
			f.AddStates(n)
			f.SetStart(0)
			f.SetFinal(fst.StateID(n-1), 0)
			for q := range fst.StateID(n) {
				f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: 0.5, NextState: min(q+1, fst.StateID(n-1))})
				f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, Weight: 1, NextState: q / 2})
			}
			g := f.Clone()
			b.ReportAllocs()
			for b.Loop() {
				if same, err := ops.Equivalent[semiring.Tropical](f, g, 1e-3); err != nil || !same {
					b.Fatal(same, err)
				}
			}
			perArc(b, f.NumArcs())
		})
	}
}
