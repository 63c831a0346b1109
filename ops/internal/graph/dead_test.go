package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Of machines large enough for workers to share, with few final states, Useless marks what a search
// forwards and a closure backwards leave out, for any number of workers: random ones, whose states
// mostly wait for each other, and chains, of which there is never more than one state to wake.
func TestUselessWorkers(t *testing.T) {
	type W = semiring.Tropical
	rng := rand.New(rand.NewPCG(8, 2))
	rounds := 12
	if testing.Short() { // with the race detector: each shape once
		rounds = 6
	}
	for i := range rounds {
		n := 2*run.AloneStates + rng.IntN(20000)
		v := fst.NewVector[W](n)
		v.AddStates(n)
		v.SetStart(fst.StateID(rng.IntN(n)))
		add := func(p, q int) {
			v.AddArc(fst.StateID(p), fst.Arc[W]{ILabel: 1, OLabel: 1,
				NextState: fst.StateID(q)})
		}
		switch i % 6 {
		case 4: // and arcs to states near by, which are decided from the highest down
			v.SetStart(fst.StateID(n / 10))
			v.SetFinal(fst.StateID(n-n/10), 0)
			for q := range n - 1 {
				add(q, q+1)
				add(q, min(n-1, q+1+rng.IntN(50)))
			}
		case 5:
			v.SetFinal(fst.StateID(n-1), 0)
			for q := range n - 1 {
				if q%1000 != 999 {
					add(q, min(n-1, q+1+rng.IntN(2000)))
				}
				add(q, rng.IntN(n))
			}
		case 3:
			v.SetStart(fst.StateID(n - 1))
			for q := range n - 1 {
				add(q+1, q)
			}
		default:
			for range (2 + i%6) * n {
				add(rng.IntN(n), rng.IntN(n))
			}
		}
		for range 3 {
			v.SetFinal(fst.StateID(rng.IntN(n)), 0)
		}
		want := make([]bool, n)
		live := make([]bool, n)
		for q := range live {
			live[q] = fst.IsFinal(v, fst.StateID(q))
		}
		for changed := true; changed; {
			changed = false
			visit := func(q int) {
				for _, e := range v.Arcs(fst.StateID(q)) {
					if live[e.NextState] && !live[q] {
						live[q], changed = true, true
					}
				}
			}
			for q := range n {
				visit(q)
			}
		}
		reached := Reached(v, 1)
		for q := range want {
			want[q] = !live[q] || !reached.Has(fst.StateID(q))
		}
		if k := len(want) - countTrue(want); k < 2 || k == n {
			t.Fatalf("case %d: %d of %d states are left: the test sees too little", i, k, n)
		}
		for _, w := range []int{0, 1, 2, 3, 8} {
			if got := Useless(v, w); !slices.Equal(got, want) {
				t.Fatalf("case %d, %d states, %d workers: %d Useless, want %d", i, n, w, countTrue(got), countTrue(want))
			}
			for q, d := range DeadStates(v, w) {
				if d == live[q] {
					t.Fatalf("case %d, %d workers: dead is %v of state %d", i, w, d, q)
				}
			}
		}
		v.SetStart(0)
		for q := range n {
			add(0, q)
			v.SetFinal(fst.StateID(q), 1)
		}
		if got := Useless(v, 2); got != nil {
			t.Fatalf("case %d: %d Useless of a machine that is connected", i, countTrue(got))
		}
	}
}

func countTrue(s []bool) (n int) {
	for _, b := range s {
		if b {
			n++
		}
	}
	return n
}
