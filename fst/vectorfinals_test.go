package fst_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/semiring"
)

func TestJoinFinals(t *testing.T) {
	t.Run("float32", func(t *testing.T) {
		testJoinFinals(t, func(r *rand.Rand) semiring.Tropical { return semiring.Tropical(r.IntN(9)) })
	})
	t.Run("float64", func(t *testing.T) {
		testJoinFinals(t, func(r *rand.Rand) semiring.Log64 { return semiring.Log64(r.IntN(9)) })
	})
	t.Run("bool", func(t *testing.T) {
		testJoinFinals(t, func(*rand.Rand) semiring.Boolean { return true })
	})
}

// JoinFinals does what Final and AddArc do, wherever a state's arcs lie, and however many there
// are.
func testJoinFinals[W semiring.Codec[W]](t *testing.T, weight func(*rand.Rand) W) {
	r := rand.New(rand.NewPCG(7, 1))
	for round := range 30 {
		f := fst.NewVector[W](0)
		n := r.IntN(400)
		f.AddStates(n)
		for q := range n {
			k := r.IntN(5)
			if r.IntN(60) == 0 {
				k = 3000
			}
			for range k { // some end in the middle of the slabs, some have room left
				f.AddArc(fst.StateID(q), fst.Arc[W]{ILabel: fst.Label(r.IntN(5)), Weight: weight(r), NextState: fst.StateID(r.IntN(n))})
			}
			if r.IntN(3) == 0 {
				f.SetFinal(fst.StateID(q), weight(r))
			}
			if back := fst.StateID(r.IntN(q + 1)); r.IntN(4) == 0 {
				f.AddArc(back, fst.Arc[W]{OLabel: 3, Weight: weight(r), NextState: back})
			}
		}
		want := f.Clone()
		finals := 0
		for q := range fst.StateID(n) {
			if fst.IsFinal(want, q) {
				want.AddArc(q, fst.Arc[W]{Weight: want.Final(q), NextState: 0})
				finals++
			}
		}
		if got := f.NumFinals(); got != finals {
			t.Fatalf("round %d: %d final states, want %d", round, got, finals)
		}
		set := make([]uint64, (n+63)/64)
		f.Engine(engine.Key{}).MarkFinals(set)
		for q := range n {
			if is := set[q/64]>>(q%64)&1 != 0; is != fst.IsFinal(f, fst.StateID(q)) {
				t.Fatalf("round %d, state %d: marked as final is %v", round, q, is)
			}
		}
		if got := f.Engine(engine.Key{}).JoinFinals(0); got != finals || f.NumArcs() != want.NumArcs() {
			t.Fatalf("round %d: %d arcs more, %d in all; want %d, %d", round, got, f.NumArcs(), finals, want.NumArcs())
		}
		for q := range fst.StateID(n) {
			a, b := f.Arcs(q), want.Arcs(q)
			if len(a) != len(b) || !f.Final(q).Equal(want.Final(q)) {
				t.Fatalf("round %d, state %d: %d arcs, want %d", round, q, len(a), len(b))
			}
			for i := range a {
				if a[i].ILabel != b[i].ILabel || a[i].OLabel != b[i].OLabel || a[i].NextState != b[i].NextState || !a[i].Weight.Equal(b[i].Weight) {
					t.Fatalf("round %d, state %d, arc %d: %v, want %v", round, q, i, a[i], b[i])
				}
			}
		}
	}
}
