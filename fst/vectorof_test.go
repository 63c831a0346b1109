package fst

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// A machine made of arrays is the one made arc by arc, also when it is changed
// afterwards, with arcs in many slabs and states that straddle them.
func TestVectorOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for i := range 20 {
		n := 1 + rng.IntN(200)
		var finals []semiring.Tropical
		var ends []int64
		var arcs []Arc[semiring.Tropical]
		want := NewVector[semiring.Tropical](n)
		for q := range n {
			finals = append(finals, semiring.Tropical(rng.IntN(3)))
			degree := rng.IntN(4)
			if i%2 == 0 {
				degree = rng.IntN(1000)
			}
			begin := len(arcs)
			for range degree {
				arcs = append(arcs, Arc[semiring.Tropical]{ILabel: Label(rng.IntN(9)), NextState: StateID(rng.IntN(n))})
			}
			ends = append(ends, int64(len(arcs)))
			want.PushState(finals[q], arcs[begin:])
		}
		got := VectorOf(finals, ends, arcs)
		same := func() {
			t.Helper()
			if got.NumStates() != want.NumStates() || got.NumArcs() != want.NumArcs() || got.Start() != want.Start() {
				t.Fatalf("case %d: %d states, %d arcs, start %d; want %d, %d, %d", i,
					got.NumStates(), got.NumArcs(), got.Start(), want.NumStates(), want.NumArcs(), want.Start())
			}
			for q := range StateID(want.NumStates()) {
				if got.Final(q) != want.Final(q) || !slices.Equal(got.Arcs(q), want.Arcs(q)) {
					t.Fatalf("case %d: state %d differs", i, q)
				}
			}
		}
		same()
		for range 300 {
			q := StateID(rng.IntN(n))
			e := Arc[semiring.Tropical]{ILabel: Label(rng.IntN(9)), NextState: StateID(rng.IntN(n))}
			got.AddArc(q, e)
			want.AddArc(q, e)
		}
		same()
		dead := make([]bool, n)
		for q := range dead {
			dead[q] = rng.IntN(3) == 0
		}
		got.DeleteStates(dead)
		want.DeleteStates(dead)
		same()
	}
	empty := VectorOf[semiring.Tropical](nil, nil, nil)
	if empty.NumStates() != 0 || empty.Start() != NoState {
		t.Error("the empty machine is not empty")
	}
}
