package ops

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/semiring"
)

// shortestDelay returns the number of arcs of the shortest way to a cycle with a delay and of that
// together, over the states allowed, 0 if there is none: a search of states with delays of up to
// the number of states from each state, since a simple cycle has no more.
func shortestDelay(f *fst.Vector[semiring.Tropical], allowed func(fst.StateID) bool) int {
	n := f.NumStates()
	type place struct {
		q     fst.StateID
		delay int
	}
	search := func(from fst.StateID, bound int) map[place]int {
		seen := map[place]int{{from, 0}: 0}
		todo := []place{{from, 0}}
		for ; len(todo) > 0; todo = todo[1:] {
			at := todo[0]
			for _, e := range f.Arcs(at.q) {
				to := place{e.NextState, at.delay}
				if bound > 0 {
					to.delay += int(delayOf(&e))
				}
				if _, ok := seen[to]; !ok && to.delay <= bound && to.delay >= -bound {
					seen[to] = seen[at] + 1
					todo = append(todo, to)
				}
			}
		}
		return seen
	}
	best := 0
	for at, way := range search(f.Start(), 0) {
		if !allowed(at.q) {
			continue
		}
		for to, cycle := range search(at.q, n) {
			if to.q == at.q && to.delay != 0 && (best == 0 || way+cycle < best) {
				best = way + cycle
			}
		}
	}
	return best
}

// The verdict is compared with what happens without it, and the evidence with a search of all.
func TestBoundedDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(4, 77))
	count := map[string]int{}
	for i := range 3000 {
		f := fsttest.Random(rng, 1+rng.IntN(6), func(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(4)) },
			fsttest.Options{Epsilon: []float64{0.1, 0.3, 0.6}[i%3], Labels: 2, Degree: []float64{0.8, 1.2, 2}[rng.IntN(3)],
				Cyclic: true, EpsilonCycles: i%2 == 0, Final: 0.2, Start: i%5 == 0})
		if f.Start() == fst.NoState {
			continue
		}
		// An arc that is its own delay backwards: more cycles without one.
		for q := range fst.StateID(f.NumStates()) {
			for _, e := range slices.Clone(f.Arcs(q)) {
				if e.ILabel == 0 != (e.OLabel == 0) && rng.IntN(2) == 0 && i%4 == 0 {
					f.AddArc(e.NextState, fst.Arc[semiring.Tropical]{ILabel: e.OLabel, OLabel: e.ILabel, NextState: q})
				}
			}
		}
		_, co := graph.FindComponents(fst.Expanded[semiring.Tropical](f), nil, graph.FromStart|graph.WantCoaccess)
		want := shortestDelay(f, func(q fst.StateID) bool { return co[q] })
		dead := want == 0
		if dead {
			want = shortestDelay(f, func(fst.StateID) bool { return true })
		}
		got, err := Synchronize[semiring.Tropical](f, Limits{})
		_, how := Materialize[semiring.Tropical](newSynchronizer[semiring.Tropical](f), Limits{States: 2000})
		if (err == nil) != (want == 0) || (how == nil) != (want == 0) || (got == nil) != (err != nil) {
			t.Fatalf("case %d: %v; without looking first: %v; evidence has %d arcs", i, err, how, want)
		}
		if err == nil {
			count["bounded"]++
			continue
		}
		var e *DelayError
		if !errors.As(err, &e) || !errors.Is(err, ErrUnboundedDelay) || e.Dead != dead || !e.Shortest || len(e.Path.ILabels) != want {
			t.Fatalf("case %d: %v, want one of %d arcs, dead %v", i, err, want, dead)
		}
		checkDelay(t, f, e)
		if dead {
			count["dead"]++
		} else {
			count["live"]++
		}
	}
	if count["bounded"] < 300 || count["dead"] < 100 || count["live"] < 300 {
		t.Errorf("drawn: %v", count)
	}
}

// checkDelay follows the path of the evidence.
func checkDelay(t *testing.T, f *fst.Vector[semiring.Tropical], e *DelayError) {
	t.Helper()
	p := e.Path
	in, out := 0, 0
	for i := range p.ILabels {
		found := false
		for _, a := range f.Arcs(p.States[i]) {
			found = found || a.ILabel == p.ILabels[i] && a.OLabel == p.OLabels[i] && a.NextState == p.States[i+1]
		}
		if !found {
			t.Fatalf("%v: no such arc as number %d", e, i)
		}
		if i >= e.Cycle && p.ILabels[i] != 0 {
			in++
		}
		if i >= e.Cycle && p.OLabels[i] != 0 {
			out++
		}
	}
	if p.States[0] != f.Start() || p.States[e.Cycle] != p.States[len(p.States)-1] || in == out || in != e.Inputs || out != e.Outputs {
		t.Fatalf("%v: %d and %d labels on the cycle", e, in, out)
	}
}

// Evidence has the machine's symbols, and says where the cycle leads nowhere; a machine computed on
// demand is looked at, too.
func TestDelayErrorText(t *testing.T) {
	syms := fst.NewSymbolTable("s")
	syms.AddLabel("<eps>", 0)
	syms.AddLabel("a", 1)
	f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 1\n1 2 1 0\n2 1 1 1\n1 3 1 1\n3\n"), nil))
	f.SetInputSymbols(syms)
	const want = "ops: Synchronize: the delay between input and output has no bound: the cycle from arc 1 of [0 -a:1-> 1 -a:0-> 2 -a:1-> 1 / 0] on, at state 1, has 2 labels on the input and 1 on the output, so that one side is further ahead each time round"
	_, err := Synchronize[semiring.Tropical](f, Limits{})
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, lazily := Synchronize[semiring.Tropical](ClosureLazy[semiring.Tropical](f, Plus, nil), Limits{}); !errors.Is(lazily, ErrUnboundedDelay) {
		t.Errorf("of a machine computed on demand: %v", lazily)
	}
	f.SetFinal(3, semiring.Zero[semiring.Tropical]())
	if _, err := Synchronize[semiring.Tropical](f, Limits{}); err == nil || !strings.HasSuffix(err.Error(), "; no final state is reached from there, and without what leads to none (Connect) the delay is bounded") {
		t.Errorf("where no final state is reached: %v", err)
	}
}

// A delayed machine of many states is looked at within its limits.
func TestDelayOfMachinesOnDemand(t *testing.T) {
	f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 0 1 0\n0\n"), nil))
	var limit *LimitError
	if _, err := Synchronize[semiring.Tropical](SynchronizeLazy[semiring.Tropical](f, nil), Limits{States: 100}); !errors.As(err, &limit) || limit.Op != "Synchronize" {
		t.Errorf("of a machine without end: %v", err)
	}
}

// A delay that grows along a chain, and ends, takes memory for the chain, not for its square.
func TestSynchronizeSharesStrings(t *testing.T) {
	const n = 5000
	f := fst.NewVector[semiring.Tropical](2*n + 1)
	f.AddStates(2*n + 1)
	f.SetStart(0)
	f.SetFinal(2*n, 0)
	for q := range fst.StateID(2 * n) {
		e := fst.Arc[semiring.Tropical]{ILabel: 1 + fst.Label(q%7), NextState: q + 1}
		if q >= n {
			e.ILabel, e.OLabel = fst.Epsilon, 1+fst.Label(q%5)
		}
		f.AddArc(q, e)
	}
	s := newSynchronizer[semiring.Tropical](f)
	out, err := Materialize[semiring.Tropical](s, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(2 * n * 200); s.Bytes() > most {
		t.Errorf("%d bytes for a chain of %d, want at most %d", s.Bytes(), 2*n, most)
	}
	if out.NumStates() != 2*n+1 {
		t.Errorf("%d states, want %d", out.NumStates(), 2*n+1)
	}
	for q := range fst.StateID(n) { // n ε-arcs, and then pairs
		e := out.Arcs(n + q)[0]
		if e.ILabel != 1+fst.Label(q%7) || e.OLabel != 1+fst.Label((n+q)%5) {
			t.Fatalf("state %d has the labels %d:%d", n+q, e.ILabel, e.OLabel)
		}
	}
}
