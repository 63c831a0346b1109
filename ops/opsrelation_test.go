package ops_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Generators of weights whose sums and quotients stay far from rounding.
func logWeight(rng *rand.Rand) semiring.Log64 { return semiring.Log64(1 + 3*rng.Float64()) }
func probability(rng *rand.Rand) semiring.Probability {
	return semiring.Probability(0.05 + 0.2*rng.Float64())
}

func deterministic[W semiring.Weight[W]](t *testing.T, f *fst.Vector[W]) {
	t.Helper()
	for q := range fst.StateID(f.NumStates()) {
		seen := map[fst.Label]bool{}
		for _, e := range f.Arcs(q) {
			if seen[e.ILabel] {
				t.Fatalf("state %d has two arcs with label %d", q, e.ILabel)
			}
			seen[e.ILabel] = true
		}
	}
}

// walk compares a lazy machine with an eager one, state by state.
func walk[W semiring.Weight[W]](t *testing.T, eager *fst.Vector[W], lazy *fst.Lazy[W]) {
	t.Helper()
	if eager.Start() != lazy.Start() {
		t.Fatalf("start %d, lazily %d", eager.Start(), lazy.Start())
	}
	for q := range fst.StateID(eager.NumStates()) {
		a, b := eager.Arcs(q), lazy.Arcs(q)
		if !eager.Final(q).Equal(lazy.Final(q)) || !slices.EqualFunc(a, b, func(x, y fst.Arc[W]) bool {
			return x.ILabel == y.ILabel && x.OLabel == y.OLabel && x.NextState == y.NextState && x.Weight.Equal(y.Weight)
		}) {
			t.Fatalf("state %d: %v, lazily %v", q, a, b)
		}
	}
	if err := lazy.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestDeterminizeKeepsRelation(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { determinizeKeepsRelation(t, quarters, 0) })
	t.Run("log64", func(t *testing.T) { determinizeKeepsRelation(t, logWeight, 1e-9) })
	t.Run("probability", func(t *testing.T) { determinizeKeepsRelation(t, probability, 1e-12) })
}

func determinizeKeepsRelation[W interface {
	semiring.Divisible[W]
	semiring.Approx[W]
}](t *testing.T, weight func(*rand.Rand) W, tolerance float64) {
	rng := rand.New(rand.NewPCG(4, 1))
	compared := 0
	for i := range 600 {
		o := fsttest.Options{Labels: 2, Degree: 1.5, Acceptor: i%2 == 0, Cyclic: i%3 == 0, Epsilon: 0.1}
		f := fsttest.Random(rng, 2+rng.IntN(5), weight, o)
		d := &ops.DeterminizeOptions{Limits: ops.Limits{States: 400, Bytes: 1 << 20}}
		if !o.Acceptor {
			d.Type = ops.DeterminizeNonFunctional
			if e, _ := ops.Functional(f, nil); e == nil && rng.IntN(2) == 0 {
				d.Type = ops.DeterminizeFunctional
			}
			if rng.IntN(2) == 0 {
				d.SubsequentialLabel, d.IncrementSubsequentialLabel = 0, true
			}
		}
		got, err := ops.Determinize(f, d)
		if errors.Is(err, ops.ErrLimit) || errors.Is(err, ops.ErrTwins) || errors.Is(err, ops.ErrNotFunctional) {
			continue // the last where two paths differ in ε alone
		}
		if err != nil {
			t.Fatal(err)
		}
		compared++
		if o.Acceptor {
			deterministic(t, got)
		}
		want := fsttest.Relation(f, 4)
		if d.IncrementSubsequentialLabel && d.Type == ops.DeterminizeNonFunctional {
			continue // the final arcs read labels that the input has not
		}
		if diff := cmp.Diff(want, fsttest.Relation(got, 4), fsttest.Within[W](tolerance)); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", d, diff)
		}
		lazy, err := ops.DeterminizeLazy(f, d, &fst.LazyOptions{CacheBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		walk(t, got, lazy)
	}
	if compared < 300 {
		t.Fatalf("only %d machines compared", compared)
	}
}

// Disambiguation keeps, for each input, the least weight, with one output that
// has it.
func TestDeterminizeDisambiguates(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	several := 0
	for range 500 {
		f := fsttest.Random(rng, 2+rng.IntN(5), quarters, fsttest.Options{Labels: 2, Degree: 2})
		got, err := ops.Determinize(f, &ops.DeterminizeOptions{Type: ops.DeterminizeDisambiguate})
		if err != nil {
			t.Fatal(err)
		}
		all, least := fsttest.Relation(f, -1), map[string]semiring.Tropical{}
		for p, w := range all {
			if old, ok := least[p.In]; !ok || w < old {
				least[p.In] = w
			}
		}
		seen := map[string]bool{}
		for p, w := range fsttest.Relation(got, -1) {
			if seen[p.In] || w != least[p.In] || all[p] != w {
				t.Fatalf("%v weighs %v: least is %v, in the input it weighs %v", p, w, least[p.In], all[p])
			}
			seen[p.In] = true
		}
		if len(seen) != len(least) {
			t.Fatalf("%d inputs, want %d", len(seen), len(least))
		}
		if len(all) > len(least) {
			several++
		}
	}
	if several < 100 {
		t.Fatalf("only %d machines with several outputs", several)
	}
}

// A minimal machine has as many states as there are different residual
// functions: what a live state accepts, weights divided by their least.
func TestMinimizeIsMinimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	merged := 0
	for i := range 800 {
		weight := quarters
		if i%2 == 0 {
			weight = func(*rand.Rand) semiring.Tropical { return 0 }
		}
		o := fsttest.Options{Labels: 2, Degree: 2, Acceptor: true, Deterministic: true, Cyclic: i%4 == 0}
		f := fsttest.Random(rng, 2+rng.IntN(8), weight, o)
		got, err := ops.Minimize(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		deterministic(t, got)
		length := -1
		if o.Cyclic {
			length = 9 // more than there are states: it tells all of them apart
		}
		if diff := cmp.Diff(fsttest.Relation(f, length), fsttest.Relation(got, length), fsttest.Within[semiring.Tropical](1e-4)); diff != "" {
			t.Fatalf("relation changed (-want +got):\n%s", diff)
		}
		live := f.Clone()
		ops.Connect(live)
		functions := map[string]bool{}
		for q := range fst.StateID(live.NumStates()) {
			g := live.Clone()
			g.SetStart(q)
			r := fsttest.Relation(g, length)
			low := semiring.Tropical(math.Inf(1))
			for _, w := range r {
				low = min(low, w)
			}
			if q == live.Start() {
				low = 0 // the total weight stays at the start
			}
			var lines []string
			for p, w := range r {
				lines = append(lines, fmt.Sprintf("%q:%.3f", p.In, w-low))
			}
			slices.Sort(lines)
			functions[fmt.Sprint(lines)] = true
		}
		if got.NumStates() != len(functions) {
			t.Fatalf("%d states, %d residual functions\n%s", got.NumStates(), len(functions), printText(f))
		}
		if got.NumStates() < live.NumStates() {
			merged++
		}
	}
	if merged < 30 {
		t.Fatalf("states were merged in %d machines only", merged)
	}
}

// The machine on which OpenFst's fstminimize --allow_nondet accepts a string too
// many: states 1 and 2 differ in a part of a class that was split late.
func TestMinimizeNondeterministic(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](9)
	f.AddStates(9)
	f.SetStart(7)
	for _, a := range [][3]int{{7, 0, 9}, {7, 1, 3}, {7, 2, 4}, {1, 3, 1}, {1, 5, 1}, {2, 3, 1}, {3, 0, 2}, {4, 0, 2}, {5, 4, 2}, {6, 4, 2}, {8, 4, 2}, {7, 6, 5}, {7, 8, 6}} {
		f.AddArc(fst.StateID(a[0]), fst.Arc[semiring.Tropical]{ILabel: fst.Label(a[2]), OLabel: fst.Label(a[2]), NextState: fst.StateID(a[1])})
	}
	f.SetFinal(0, 0)
	if _, err := ops.Minimize(f, nil); !errors.Is(err, ops.ErrNotDeterministic) {
		t.Fatalf("Minimize: %v, want ErrNotDeterministic", err)
	}
	got, err := ops.Minimize(f, &ops.MinimizeOptions{AllowNondet: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fsttest.Relation(f, 5), fsttest.Relation(got, 5)); diff != "" {
		t.Fatalf("relation changed (-want +got):\n%s", diff)
	}
	if got.NumStates() != 6 {
		t.Errorf("%d states, want 6", got.NumStates())
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		f := fsttest.Random(rng, 2+rng.IntN(8), func(*rand.Rand) semiring.Tropical { return 0 }, fsttest.Options{Labels: 2, Degree: 2, Acceptor: true, Cyclic: true})
		got, err := ops.Minimize(f, &ops.MinimizeOptions{AllowNondet: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fsttest.Relation(f, 6), fsttest.Relation(got, 6)); diff != "" {
			t.Fatalf("relation changed (-want +got):\n%s", diff)
		}
	}
}

func TestMinimizeTransducerKeepsRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for range 300 {
		f := fsttest.Random(rng, 2+rng.IntN(6), logWeight, fsttest.Options{Labels: 3, Degree: 2, Deterministic: true})
		got, err := ops.Minimize(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := fsttest.Relation(f, -1)
		if diff := cmp.Diff(want, fsttest.Relation(got, -1), fsttest.Within[semiring.Log64](1e-4)); diff != "" {
			t.Fatalf("Minimize (-want +got):\n%s", diff)
		}
		main, strings, err := ops.MinimizeFactored(f, nil)
		if errors.Is(err, ops.ErrAcceptor) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ops.ArcSort(strings, ops.Input)
		both, err := ops.Compose(main, strings, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, fsttest.Relation(both, -1), fsttest.Within[semiring.Log64](1e-4)); diff != "" {
			t.Fatalf("MinimizeFactored (-want +got):\n%s", diff)
		}
	}
}

func TestPushKeepsRelation(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { pushKeepsRelation(t, quarters, 1e-5) })
	t.Run("log64", func(t *testing.T) { pushKeepsRelation(t, logWeight, 1e-9) })
	t.Run("probability", func(t *testing.T) { pushKeepsRelation(t, probability, 1e-12) })
}

func pushKeepsRelation[W semiring.Component[W]](t *testing.T, weight func(*rand.Rand) W, tolerance float64) {
	rng := rand.New(rand.NewPCG(4, 6))
	one := semiring.One[W]()
	_, path := any(one).(semiring.Path[W])
	for i := range 400 {
		// Elsewhere the cycles would have to sum to less than one.
		f := fsttest.Random(rng, 2+rng.IntN(6), weight, fsttest.Options{Labels: 2, Degree: 1.5, Epsilon: 0.2, Cyclic: path && i%3 == 0})
		o := &ops.PushOptions{ToFinal: rng.IntN(2) == 0, Labels: rng.IntN(2) == 0}
		o.KeepWeights = o.Labels && rng.IntN(2) == 0
		got, err := ops.Push(f, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fsttest.Relation(f, 3), fsttest.Relation(got, 3), fsttest.Within[W](tolerance)); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", o, diff)
		}
		if o.ToFinal || o.Labels {
			continue
		}
		// Everything that leaves a live state but the start sums to 1̄.
		live := got.Clone()
		ops.Connect(live)
		for q := range fst.StateID(live.NumStates()) {
			sum := live.Final(q)
			for _, e := range live.Arcs(q) {
				sum = sum.Plus(e.Weight)
			}
			if q != live.Start() && !sum.Near(one, 1e-5) {
				t.Fatalf("state %d: what leaves it sums to %v", q, sum)
			}
		}
	}
}

// Pushing labels puts each output out as early as the input determines it.
func TestPushLabelsEarly(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](4)
	f.AddStates(4)
	f.SetStart(0)
	for i, o := range []fst.Label{0, 0, 7} {
		f.AddArc(fst.StateID(i), fst.Arc[semiring.Tropical]{ILabel: fst.Label(i + 1), OLabel: o, NextState: fst.StateID(i + 1)})
	}
	f.SetFinal(3, 0)
	got, err := ops.Push(f, &ops.PushOptions{Labels: true})
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Arcs(got.Start())[0]; e.OLabel != 7 {
		t.Fatalf("the first arc puts out %d, want 7", e.OLabel)
	}
}

func TestRmEpsilonKeepsRelation(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	t.Run("tropical", func(t *testing.T) { rmEpsilonKeepsRelation(t, quarters, 0) })
	t.Run("log64", func(t *testing.T) { rmEpsilonKeepsRelation(t, logWeight, 1e-9) })
	t.Run("probability", func(t *testing.T) { rmEpsilonKeepsRelation(t, probability, 1e-12) })
}

func rmEpsilonKeepsRelation[W semiring.Approx[W]](t *testing.T, weight func(*rand.Rand) W, tolerance float64) {
	rng := rand.New(rand.NewPCG(4, 7))
	for i := range 500 {
		f := fsttest.Random(rng, 2+rng.IntN(6), weight, fsttest.Options{Labels: 2, Degree: 1.7, Epsilon: 0.5, Cyclic: i%2 == 0, Acceptor: i%3 == 0})
		want := fsttest.Relation(f, 4)
		for _, dead := range []bool{false, true} {
			g := f.Clone()
			if err := ops.RmEpsilon(g, &ops.RmEpsilonOptions{KeepDead: dead}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fsttest.Relation(g, 4), fsttest.Within[W](tolerance)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			for q := range fst.StateID(g.NumStates()) {
				for _, e := range g.Arcs(q) {
					if e.ILabel == 0 && e.OLabel == 0 {
						t.Fatalf("state %d has an ε-arc", q)
					}
				}
			}
		}
		lazy, err := ops.RmEpsilonLazy(f, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, fsttest.Relation(lazy, 4), fsttest.Within[W](tolerance)); diff != "" {
			t.Fatalf("lazily (-want +got):\n%s", diff)
		}
	}
}

// Sums round ε-cycles: from 0, two states that lead to each other with ε, a way
// out of each. With p and q on the cycle the sum of the ways round is 1/(1-pq).
func TestRmEpsilonCycles(t *testing.T) {
	loop := func(p, q semiring.Probability) *fst.Vector[semiring.Probability] {
		f := fst.NewVector[semiring.Probability](3)
		f.AddStates(3)
		f.SetStart(0)
		arc := func(s, d fst.StateID, l fst.Label, w semiring.Probability) {
			f.AddArc(s, fst.Arc[semiring.Probability]{ILabel: l, OLabel: l, Weight: w, NextState: d})
		}
		arc(0, 1, 0, p)
		arc(1, 0, 0, q)
		arc(0, 2, 1, 0.25)
		arc(1, 2, 2, 0.5)
		f.SetFinal(2, 1)
		return f
	}
	f := loop(0.9, 0.999999)
	if err := ops.RmEpsilon(f, nil); err != nil {
		t.Fatal(err)
	}
	round := 1 / (1 - 0.9*0.999999)
	want := map[fsttest.Pair]semiring.Probability{{In: "1", Out: "1"}: semiring.Probability(0.25 * round), {In: "2", Out: "2"}: semiring.Probability(0.9 * 0.5 * round)}
	if diff := cmp.Diff(want, fsttest.Relation(f, 2), fsttest.Within[semiring.Probability](1e-12)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if err := ops.RmEpsilon(loop(1, 1), nil); !errors.Is(err, ops.ErrNotClosed) {
		t.Fatalf("a cycle of probability 1: %v, want ErrNotClosed", err)
	}
	g := fst.NewVector[semiring.Tropical](3)
	g.AddStates(3)
	g.SetStart(0)
	for _, e := range []fst.Arc[semiring.Tropical]{{ILabel: 1, OLabel: 1, NextState: 1}, {Weight: 1, NextState: 1}} {
		g.AddArc(0, e)
	}
	g.AddArc(1, fst.Arc[semiring.Tropical]{Weight: 1, NextState: 2})
	g.AddArc(2, fst.Arc[semiring.Tropical]{Weight: -3, NextState: 1})
	g.SetFinal(2, 0)
	err := ops.RmEpsilon(g, nil)
	var cycle *ops.CycleError
	if !errors.As(err, &cycle) || !errors.Is(err, ops.ErrNotClosed) || len(cycle.Cycle) != 2 {
		t.Fatalf("a negative ε-cycle: %v", err)
	}
	for i, r := range cycle.Cycle {
		if e := g.Arcs(r.State)[r.Arc]; e.NextState != cycle.Cycle[(i+1)%2].State || e.ILabel != 0 {
			t.Fatalf("arc %v of the cycle leads to %d", r, e.NextState)
		}
	}
	if err := ops.RmEpsilon(loop(0.5, 0.5), &ops.RmEpsilonOptions{Queue: ops.QueueTopOrder}); !errors.Is(err, ops.ErrCyclic) {
		t.Fatalf("in topological order: %v, want ErrCyclic", err)
	}
	if err := ops.RmEpsilon(loop(0.5, 0.5), &ops.RmEpsilonOptions{Queue: ops.QueueShortestFirst}); !errors.Is(err, ops.ErrCapability) {
		t.Fatalf("shortest first: %v, want ErrCapability", err)
	}
}

func TestEquivalent(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(4, 8))
	var yes, no int
	for i := range 1000 {
		f := fsttest.Random(rng, 2+rng.IntN(6), quarters, fsttest.Options{Labels: 2, Degree: 2, Acceptor: true, Deterministic: true, Cyclic: i%2 == 0})
		g, err := ops.Push(f, &ops.PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if g.NumStates() > f.NumStates() {
			continue // an ε-arc in front
		}
		if rng.IntN(2) == 0 {
			q := fst.StateID(rng.IntN(g.NumStates()))
			if arcs := g.MutableArcs(q); len(arcs) > 0 && rng.IntN(2) == 0 {
				arcs[rng.IntN(len(arcs))].Weight += 0.5
			} else {
				g.SetFinal(q, quarters(rng))
			}
			g.SetProperties(0, fst.Weighted|fst.Unweighted)
		}
		want := cmp.Equal(fsttest.Relation(f, 12), fsttest.Relation(g, 12), fsttest.Within[semiring.Tropical](1e-3))
		got, err := ops.Equivalent(f, g, openfstDelta)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("Equivalent: %v, want %v\n%s\n%s", got, want, printText(f), printText(g))
		}
		d, err := ops.Distinguish(f, g, openfstDelta)
		if err != nil || (d == nil) != want {
			t.Fatalf("Distinguish: %v, %v", d, err)
		}
		if want {
			yes++
			continue
		}
		no++
		if d.Unknown || d.A == d.B || d.String() == "" {
			t.Fatalf("no evidence: %+v\n%s\n%s", d, printText(f), printText(g))
		}
		pair := fsttest.Pair{In: labelText(d.Labels), Out: labelText(d.Labels)}
		for i, m := range []*fst.Vector[semiring.Tropical]{f, g} {
			w, ok := fsttest.Relation(m, len(d.Labels))[pair]
			if !ok {
				w = semiring.Tropical(math.Inf(1))
			}
			if said := []string{d.A, d.B}[i]; said != string(w.AppendText(nil)) {
				t.Fatalf("machine %d gives %v to %v, the evidence says %s", i, w, d.Labels, said)
			}
		}
	}
	if yes < 100 || no < 100 {
		t.Fatalf("%d equivalent, %d not: one-sided", yes, no)
	}
}

func labelText(l []fst.Label) string {
	s := ""
	for i, x := range l {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprint(x)
	}
	return s
}

func TestEquivalentAsOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(4, 9))
	for range machines(t, 10) {
		s := randomShape(rng)
		s.acceptor, s.epsilons = true, rng.IntN(8) == 0
		f, g := drawDeterministic[semiring.Tropical](rng, s), drawDeterministic[semiring.Tropical](rng, s)
		if rng.IntN(2) == 0 {
			g = f.Clone()
			ops.Connect(g)
			if n := g.NumStates(); n > 0 && rng.IntN(2) == 0 {
				g.SetFinal(fst.StateID(rng.IntN(n)), semiring.Tropical(rng.IntN(3)))
			}
		}
		write(p, "a", f)
		write(p, "b", g)
		want := p.code("fstequivalent", "a", "b")
		same, err := ops.Equivalent(f, g, openfstDelta)
		got := map[bool]int{true: 0, false: 2}[same]
		if err != nil {
			got = 1
		}
		if got != want {
			t.Fatalf("exit code %d, fstequivalent %d (%v)\n%s", got, want, err, p.show("a", "b"))
		}
	}
}

func TestFactorWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 10))
	for range 200 {
		f := fsttest.Random(rng, 2+rng.IntN(5), quarters, fsttest.Options{Labels: 2, Degree: 1.5, Epsilon: 0.1})
		o := &ops.FactorWeightOptions{KeepFinals: true}
		got, err := ops.FactorWeight(f, ops.FactorOne[semiring.Tropical], o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fsttest.Relation(f, -1), fsttest.Relation(got, -1)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for q := range fst.StateID(got.NumStates()) {
			for _, e := range got.Arcs(q) {
				if e.Weight != 0 {
					t.Fatalf("an arc of state %d weighs %v", q, e.Weight)
				}
			}
		}
		lazy, err := ops.FactorWeightLazy(f, ops.FactorOne[semiring.Tropical], o, nil)
		if err != nil {
			t.Fatal(err)
		}
		walk(t, got, lazy)
	}
}

// Every operation here stops at its limits and at a cancelled context.
func TestSubsetLimits(t *testing.T) {
	f := fsttest.Random(rand.New(rand.NewPCG(4, 11)), 40, quarters, fsttest.Options{Labels: 2, Degree: 3, Acceptor: true})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	var limit *ops.LimitError
	for _, lim := range []ops.Limits{{States: 3}, {Arcs: 3}, {Bytes: 100}} {
		if _, err := ops.Determinize(f, &ops.DeterminizeOptions{Limits: lim}); !errors.As(err, &limit) || !errors.Is(err, ops.ErrLimit) {
			t.Errorf("Determinize %+v: %v", lim, err)
		}
		if _, err := ops.FactorWeight(f, ops.FactorOne[semiring.Tropical], &ops.FactorWeightOptions{KeepFinals: true, Limits: lim}); !errors.As(err, &limit) {
			t.Errorf("FactorWeight %+v: %v", lim, err)
		}
		if err := ops.RmEpsilon(f.Clone(), &ops.RmEpsilonOptions{Limits: lim}); !errors.As(err, &limit) {
			t.Errorf("RmEpsilon %+v: %v", lim, err)
		}
	}
	det, err := ops.Determinize(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ops.Minimize(det, &ops.MinimizeOptions{Limits: ops.Limits{Ctx: cancelled}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Minimize: %v", err)
	}
	if _, err := ops.Determinize(f, &ops.DeterminizeOptions{Limits: ops.Limits{Ctx: cancelled}}); det.NumStates() > 256 && !errors.Is(err, context.Canceled) {
		t.Errorf("Determinize: %v", err)
	}
}

func TestDeterminizeCapabilities(t *testing.T) {
	f := fsttest.Random(rand.New(rand.NewPCG(4, 12)), 5, logWeight)
	if _, err := ops.Determinize(f, &ops.DeterminizeOptions{Type: ops.DeterminizeDisambiguate}); !errors.Is(err, ops.ErrCapability) {
		t.Errorf("disambiguating over log: %v, want ErrCapability", err)
	}
	if _, err := ops.Determinize(f, &ops.DeterminizeOptions{Type: 9}); err == nil {
		t.Error("type 9 is accepted")
	}
	empty := fst.NewVector[semiring.Tropical](0)
	if got, err := ops.Determinize(empty, nil); err != nil || got.NumStates() != 0 {
		t.Errorf("the empty machine: %v, %v", got, err)
	}
}
