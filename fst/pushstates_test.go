package fst

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// States pushed in rows are those pushed one by one: of no arcs, of more than a slab, at the ends of
// slabs, behind room that was made beforehand, and when the machine is changed afterwards.
func TestPushStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	for i := range 40 {
		got, want := NewVector[semiring.Tropical](0), NewVector[semiring.Tropical](0)
		if i%4 == 3 {
			got.ReserveArcs(rng.IntN(5000))
		}
		most := []int{2, 9, 700, 3 * slabSize}[i%4]
		for range rng.IntN(60) {
			var finals []semiring.Tropical
			var ends []int
			var arcs []Arc[semiring.Tropical]
			for range rng.IntN(20) {
				begin := len(arcs)
				if rng.IntN(3) > 0 && len(arcs) < 4*slabSize {
					for range rng.IntN(most) {
						arcs = append(arcs, Arc[semiring.Tropical]{ILabel: Label(len(arcs)), NextState: StateID(rng.IntN(9))})
					}
				}
				finals = append(finals, semiring.Tropical(rng.IntN(3)))
				ends = append(ends, len(arcs))
				want.PushState(finals[len(finals)-1], arcs[begin:])
			}
			got.SetStart(NoState) // something is known, which must be forgotten
			got.SetProperties(Acceptor, AllProperties)
			known := got.KnownProperties()
			got.PushStates(finals, ends, arcs)
			if len(finals) > 0 {
				known = want.KnownProperties()
			}
			if got.KnownProperties() != known {
				t.Fatalf("case %d: properties %v after %d states", i, got.KnownProperties(), len(finals))
			}
			if n := want.NumStates(); n > 0 && rng.IntN(4) == 0 {
				q, e := StateID(rng.IntN(n)), Arc[semiring.Tropical]{ILabel: 5, NextState: 1}
				want.AddArc(q, e)
				got.AddArc(q, e)
			}
			clear(arcs) // they were copied
		}
		if got.NumStates() != want.NumStates() || got.NumArcs() != want.NumArcs() {
			t.Fatalf("case %d: %d states, %d arcs; want %d, %d", i, got.NumStates(), got.NumArcs(), want.NumStates(), want.NumArcs())
		}
		for q := range StateID(want.NumStates()) {
			if got.Final(q) != want.Final(q) || !slices.Equal(got.Arcs(q), want.Arcs(q)) {
				t.Fatalf("case %d: state %d differs", i, q)
			}
		}
	}
}
