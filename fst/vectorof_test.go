package fst

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst/engine"
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
		var parts [][]Arc[semiring.Tropical]
		switch begin := int64(0); i % 4 {
		case 0, 1:
			parts = append(parts, arcs)
		default: // in parts with a few states each, some of them empty
			for q, end := range ends {
				if rng.IntN(20) == 0 || q == n-1 {
					parts = append(parts, slices.Clone(arcs[begin:end]))
					begin = end
				}
			}
		}
		got := VectorOf(finals, ends, parts...)
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

// Deleting by several workers, in blocks that are more than one, leaves what one leaves as one
// block.
func TestDeleteStateSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for i, share := range []int{0, 2, 10, 1000} {
		n := 3*deleteAtOnce + rng.IntN(deleteAtOnce)
		v := NewVector[semiring.Tropical](n)
		v.AddStates(n)
		v.SetStart(StateID(n - 1))
		for q := range StateID(n) {
			v.SetFinal(q, semiring.Tropical(q))
			for range rng.IntN(4) {
				v.AddArc(q, Arc[semiring.Tropical]{ILabel: Label(q), NextState: StateID(rng.IntN(n))})
			}
		}
		dead := make([]bool, n)
		for q := range dead {
			dead[q] = share == 0 || rng.IntN(share) == 0
		}
		set := make([]uint64, (n+63)/64)
		for q, d := range dead {
			if d {
				set[q/64] |= 1 << (q % 64)
			}
		}
		if n%64 != 0 && i%2 == 0 {
			set[n/64] |= 1 << 63 // beyond the last state
		}
		want := v.Clone()
		want.DeleteStates(dead)
		if left := want.NumStates(); share == 0 && left > 0 || share > 2 && left <= 2*deleteAtOnce {
			t.Fatalf("case %d: %d states of %d are left", i, left, n)
		}
		for _, w := range []int{1, 2, 3, 7} {
			got := v.Clone()
			got.Engine(engine.Key{}).DeleteStateSet(set, w)
			if got.NumStates() != want.NumStates() || got.NumArcs() != want.NumArcs() || got.Start() != want.Start() || got.KnownProperties() != want.KnownProperties() {
				t.Fatalf("case %d, %d workers: %d states, %d arcs, start %d; want %d, %d, %d", i, w,
					got.NumStates(), got.NumArcs(), got.Start(), want.NumStates(), want.NumArcs(), want.Start())
			}
			for q := range StateID(want.NumStates()) {
				if got.Final(q) != want.Final(q) || !slices.Equal(got.Arcs(q), want.Arcs(q)) {
					t.Fatalf("case %d, %d workers: state %d differs", i, w, q)
				}
			}
		}
	}
}
