package ops_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestConnectAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range machines(t, 20) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		want := fsttest.Apply(p, "fstconnect", nil, fst.Expanded[semiring.Tropical](f))
		in := f.Clone()
		ops.Connect(f)
		checkSame(t, fmt.Sprintf("machine %d: Connect", i), in, f, want)
	}
}

func TestTopSortAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range machines(t, 20) {
		s := randomShape(rng)
		s.acyclic = rng.IntN(4) > 0
		f := draw[semiring.Tropical](rng, s)
		want := fsttest.Apply(p, "fsttopsort", nil, fst.Expanded[semiring.Tropical](f))
		in := f.Clone()
		if err := ops.TopSort(f); err != nil && !errors.Is(err, ops.ErrCyclic) {
			t.Fatal(err)
		}
		checkSame(t, fmt.Sprintf("machine %d: TopSort", i), in, f, want)
	}
}

// Connect keeps what lies on a path from the start to a final state: reachable
// from the start, and from which a final state is reached, both by closure. DeadEnd is the first
// that fails the second alone.
func TestConnectByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 500 {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		n := f.NumStates()
		reach := make([][]bool, n)
		for q := range n {
			reach[q] = make([]bool, n)
			reach[q][q] = true
			for _, e := range f.Arcs(fst.StateID(q)) {
				reach[q][e.NextState] = true
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		want := f.Clone()
		end := fst.NoState
		dead := make([]bool, n)
		for q := range n {
			co := false
			for r := range n {
				co = co || reach[q][r] && fst.IsFinal(f, fst.StateID(r))
			}
			dead[q] = !co || !reach[f.Start()][q]
			if !co && reach[f.Start()][q] && end == fst.NoState {
				end = fst.StateID(q)
			}
		}
		if got := ops.DeadEnd[semiring.Tropical](f); got != end {
			t.Fatalf("dead end %d, want %d of\n%s", got, end, printText(f))
		}
		want.DeleteStates(dead)
		ops.Connect(f)
		if got, want := printText(f), printText(want); got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
		if p := f.KnownProperties(); !p.Has(fst.Accessible | fst.CoAccessible) {
			t.Fatalf("properties %#x lack accessible and coaccessible", p)
		}
	}
}

func TestTopSortFindsACycle(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	cyclic, sorted := 0, 0
	for range 500 {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		err := ops.TopSort(f)
		if err == nil {
			sorted++
			for q := range fst.StateID(f.NumStates()) {
				for _, e := range f.Arcs(q) {
					if e.NextState <= q {
						t.Fatalf("arc %d -> %d after TopSort", q, e.NextState)
					}
				}
			}
			continue
		}
		cyclic++
		var c *ops.CycleError
		if !errors.As(err, &c) || !errors.Is(err, ops.ErrCyclic) {
			t.Fatalf("error %v is not a CycleError around ErrCyclic", err)
		}
		checkCycle(t, f, c.Cycle)
	}
	if cyclic < 50 || sorted < 50 {
		t.Fatalf("%d cyclic and %d acyclic machines: the test sees too little", cyclic, sorted)
	}
}

// checkCycle follows the arcs of a cycle and returns their product.
func checkCycle[W semiring.Weight[W]](t *testing.T, f fst.Expanded[W], cycle []ops.ArcRef) W {
	t.Helper()
	w := semiring.One[W]()
	if len(cycle) == 0 {
		t.Fatal("the cycle is empty")
	}
	for i, r := range cycle {
		e := f.Arcs(r.State)[r.Arc]
		if next := cycle[(i+1)%len(cycle)].State; e.NextState != next {
			t.Fatalf("arc %d of state %d leads to %d, the cycle continues at %d", r.Arc, r.State, e.NextState, next)
		}
		w = w.Times(e.Weight)
	}
	return w
}

// No depth of the call stack may grow with the input.
func TestDeepChain(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	const n = 5_000_000
	f := fst.NewVector[semiring.Tropical](n)
	for q := range fst.StateID(n - 1) { // from the last state down to the first
		var arcs []fst.Arc[semiring.Tropical]
		if q > 0 {
			arcs = []fst.Arc[semiring.Tropical]{{ILabel: 1, OLabel: 1, Weight: 1, NextState: q - 1}}
		}
		f.PushState(semiring.Zero[semiring.Tropical](), arcs)
	}
	f.PushState(semiring.Zero[semiring.Tropical](), []fst.Arc[semiring.Tropical]{{ILabel: 1, OLabel: 1, Weight: 1, NextState: n - 2}})
	f.SetStart(n - 1)
	f.SetFinal(0, 0)
	ops.Connect(f)
	if f.NumStates() != n {
		t.Fatalf("%d states left of %d", f.NumStates(), n)
	}
	d, err := ops.ShortestDistance(f, nil)
	if err != nil || d[0] != n-1 {
		t.Fatalf("distance %v of the end, error %v; want %d", d[0], err, n-1)
	}
	if err := ops.TopSort(f); err != nil {
		t.Fatal(err)
	}
	if f.Start() != 0 || f.Arcs(0)[0].NextState != 1 {
		t.Fatalf("sorted chain starts at %d", f.Start())
	}
}
