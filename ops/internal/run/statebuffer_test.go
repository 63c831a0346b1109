package run

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// What is collected in parts is the machine made state by state: with states of more arcs than a
// part holds, or of just as many, with more states than are buffered, and from a buffer used
// before.
func TestStateBufferParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	var b StateBuffer[semiring.Tropical]
	wide := make([]fst.Arc[semiring.Tropical], 2*PartArcs)
	for i := range wide {
		wide[i] = fst.Arc[semiring.Tropical]{ILabel: fst.Label(i), OLabel: fst.Label(rng.IntN(9)), NextState: 0}
	}
	for i, states := range []int{0, 1, 40, BufferedStates - 1, BufferedStates, 2*BufferedStates + 5, 30} {
		want := fst.NewVector[semiring.Tropical](0)
		for q := range states {
			n := rng.IntN(12)
			if states <= 40 {
				n = []int{0, 700, PartArcs - 1, PartArcs, PartArcs + 1, 2 * PartArcs}[rng.IntN(6)]
			}
			arcs := wide[:n]
			b.PushPart(semiring.Tropical(q), arcs)
			want.PushState(semiring.Tropical(q), arcs)
		}
		got := b.Machine()
		if got.NumStates() != want.NumStates() || got.NumArcs() != want.NumArcs() {
			t.Fatalf("case %d: %d states, %d arcs; want %d, %d", i, got.NumStates(), got.NumArcs(), want.NumStates(),
				want.NumArcs())
		}
		for q := range fst.StateID(states) {
			if got.Final(q) != want.Final(q) || !slices.Equal(got.Arcs(q), want.Arcs(q)) {
				t.Fatalf("case %d: state %d differs", i, q)
			}
		}
	}
}
