package fst

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/semiring"
)

// A machine made of rows that several goroutines wrote is the one made arc by arc, also when it is
// changed afterwards; rows stay where they are while others are written.
func TestRowSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 2))
	for i := range 12 {
		n, writers := 1+rng.IntN(400), 1+i%3
		want := NewVector[semiring.Tropical](n)
		arcs := make([][]Arc[semiring.Tropical], n)
		finals := make([]semiring.Tropical, n)
		for q := range n {
			degree := rng.IntN(4)
			switch {
			case i%2 == 0:
				degree = rng.IntN(900)
			case q == n/2:
				degree = 3*slabSize + 5
			}
			for range degree {
				arcs[q] = append(arcs[q], Arc[semiring.Tropical]{ILabel: Label(rng.IntN(9)), NextState: StateID(rng.IntN(n))})
			}
			finals[q] = semiring.Tropical(rng.IntN(3))
			want.PushState(finals[q], arcs[q])
		}
		s := NewRowSet[semiring.Tropical](writers)
		rows := make([]Row, n)
		var wg sync.WaitGroup
		for k := range writers {
			wg.Go(func() {
				for q := k; q < n; q += writers {
					rows[q] = s.Put(k, arcs[q])
					if p := k + (q-k)/2/writers*writers; !slices.Equal(s.At(rows[p]), arcs[p]) {
						t.Errorf("case %d: row %d has changed", i, p)
					}
				}
			})
		}
		wg.Wait()
		got := NewVector[semiring.Tropical](3)
		got.AddStates(3) // all of which go
		got.AddArc(1, Arc[semiring.Tropical]{})
		got.Engine(engine.Key{}).SetRows(s, finals, rows)
		same := func() {
			t.Helper()
			if got.NumStates() != want.NumStates() || got.NumArcs() != want.NumArcs() || got.Start() != NoState {
				t.Fatalf("case %d: %d states, %d arcs, start %d; want %d, %d", i, got.NumStates(), got.NumArcs(), got.Start(), want.NumStates(), want.NumArcs())
			}
			for q := range StateID(n) {
				if got.Final(q) != want.Final(q) || !slices.Equal(got.Arcs(q), want.Arcs(q)) {
					t.Fatalf("case %d: state %d differs", i, q)
				}
			}
		}
		same()
		for range 300 {
			q, e := StateID(rng.IntN(n)), Arc[semiring.Tropical]{ILabel: Label(rng.IntN(9)), NextState: StateID(rng.IntN(n))}
			got.AddArc(q, e)
			want.AddArc(q, e)
		}
		same()
	}
}
