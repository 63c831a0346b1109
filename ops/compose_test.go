package ops

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/semiring"
)

// Weights of the tests: multiples of 1/4, so that Tropical sums are exact.
func drawTropical(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(13)) / 4 }
func drawLog64(rng *rand.Rand) semiring.Log64       { return semiring.Log64(rng.IntN(13)) / 4 }
func drawProbability(rng *rand.Rand) semiring.Probability {
	return semiring.Probability(1+rng.IntN(8)) / 8
}
func drawBoolean(*rand.Rand) semiring.Boolean { return true }

// sortedSides returns a and b sorted for composition: a by output (1), b by
// input (2), or both (3).
func sortedSides[W semiring.Weight[W]](a, b *fst.Vector[W], sides int) (*fst.Vector[W], *fst.Vector[W]) {
	if sides&1 != 0 {
		a = ArcSorted(a, Output)
	}
	if sides&2 != 0 {
		b = ArcSorted(b, Input)
	}
	return a, b
}

// By definition, (A∘B)(x, z) = ⊕_y A(x, y) ⊗ B(y, z).
func composeAgainstRelation[W semiring.Approx[W]](t *testing.T, draw func(*rand.Rand) W, filters []Filter) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		// Strings between the two are no longer than A has states; B may cycle.
		const maxLen = 4
		oa := fsttest.Options{Epsilon: []float64{0, 0.3, 0.6}[i%3], Labels: 2}
		ob := fsttest.Options{Epsilon: []float64{0.3, 0.6, 0}[i/3%3], Labels: 2, Degree: 1.3, Cyclic: i%2 == 0, Acceptor: i%5 == 0}
		a := fsttest.Random(rng, 1+rng.IntN(maxLen), draw, oa)
		b := fsttest.Random(rng, 1+rng.IntN(4), draw, ob)
		want := fsttest.Restrict(fsttest.ComposeRelations(fsttest.Relation[W](a, maxLen), fsttest.Relation[W](b, maxLen)), maxLen)
		x, y := sortedSides(a, b, 1+i%3)
		f := filters[i%len(filters)]
		got := fsttest.Must(Compose[W](x, y, &ComposeOptions{Filter: f, KeepDead: i%4 == 0}))
		if diff := cmp.Diff(want, fsttest.Relation[W](got, maxLen), fsttest.Within[W](1e-9)); diff != "" {
			t.Fatalf("case %d, filter %v: mismatch (-want +got):\n%s", i, f, diff)
		}
		known, all := got.KnownProperties(), fst.Properties(0)
		if all, _ = fst.Compute[W](got, fst.AllProperties); known&^all != 0 && got.NumStates() > 0 {
			t.Fatalf("case %d: known properties %x are not all true: %x", i, known, all)
		}
	}
}

func TestComposeAgainstRelation(t *testing.T) {
	exact := []Filter{AutoFilter, SequenceFilter, AltSequenceFilter, MatchFilter}
	idempotent := append(slices.Clone(exact), NoMatchFilter, TrivialFilter)
	t.Run("tropical", func(t *testing.T) { composeAgainstRelation(t, drawTropical, idempotent) })
	t.Run("boolean", func(t *testing.T) { composeAgainstRelation(t, drawBoolean, idempotent) })
	t.Run("log64", func(t *testing.T) { composeAgainstRelation(t, drawLog64, exact) })
	t.Run("probability", func(t *testing.T) { composeAgainstRelation(t, drawProbability, exact) })
}

// The three forms of composition give the same machine, also over operands that
// are themselves computed on demand, and with a cache too small for anything.
func TestComposeLazyIsEager(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range 400 {
		a := drawMachine(rng, drawShape(rng), func(x float64) semiring.Tropical { return semiring.Tropical(x) })
		b := drawMachine(rng, drawShape(rng), func(x float64) semiring.Tropical { return semiring.Tropical(x) })
		x, y := sortedSides(a, b, 1+i%3)
		opts := &ComposeOptions{Filter: Filter(i % len(filterNames)), KeepDead: true}
		eager := fsttest.Must(Compose[semiring.Tropical](x, y, opts))
		c := fsttest.Must(NewComposer[semiring.Tropical](x, y, opts))
		whole := fsttest.Must(Materialize[semiring.Tropical](c, Limits{}))
		if d := Compare[semiring.Tropical](eager, whole, 0); d != nil {
			t.Fatalf("case %d: Compose against Materialize: %v", i, d)
		}
		lazy := fsttest.Must(ComposeLazy[semiring.Tropical](x, y, opts, &fst.LazyOptions{CacheBytes: 1}))
		for q := range eager.NumStates() {
			s := fst.StateID(q)
			if lazy.Start() != eager.Start() || lazy.Final(s) != eager.Final(s) || !slices.Equal(lazy.Arcs(s), eager.Arcs(s)) {
				t.Fatalf("case %d: lazy state %d differs", i, q)
			}
		}
		for q := range eager.NumStates() {
			s1, s2, fs := c.Tuple(fst.StateID(q))
			if int(s1) >= x.NumStates() || int(s2) >= y.NumStates() || fs > 2 {
				t.Fatalf("case %d: state %d is made of %d, %d, %d", i, q, s1, s2, fs)
			}
		}
	}
}

func TestComposeLazyOperands(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range 200 {
		a := fsttest.Random(rng, 1+rng.IntN(4), drawLog64)
		b := fsttest.Random(rng, 1+rng.IntN(4), drawLog64)
		c := fsttest.Random(rng, 1+rng.IntN(4), drawLog64, fsttest.Options{Epsilon: 0.3, Sorted: true})
		b = ArcSorted(b, Input)
		ab := fsttest.Must(ComposeLazy[semiring.Log64](a, b, nil, nil))
		got := fsttest.Must(Compose[semiring.Log64](ab, c, nil))
		want := fsttest.ComposeRelations(fsttest.ComposeRelations(
			fsttest.Relation[semiring.Log64](a, -1), fsttest.Relation[semiring.Log64](b, -1)), fsttest.Relation[semiring.Log64](c, -1))
		if diff := cmp.Diff(want, fsttest.Relation[semiring.Log64](got, -1), fsttest.Within[semiring.Log64](1e-9)); diff != "" {
			t.Fatalf("case %d (-want +got):\n%s", i, diff)
		}
	}
}

// A machine that is computed on demand is taken for sorted where nothing else
// can be matched on, and what then turns out not to be is an error.
func TestComposeLazyUnsorted(t *testing.T) {
	a := unsortedFst()
	lazyA := fsttest.Must(ComposeLazy[semiring.Tropical](a, ArcSorted(unsortedFst(), Input), nil, nil))
	bad := unsortedFst()
	c := fsttest.Must(ComposeLazy[semiring.Tropical](lazyA, bad, nil, nil))
	c.Arcs(c.Start())
	if err := c.Err(); !errors.Is(err, ErrNotSorted) {
		t.Fatalf("error is %v, want ErrNotSorted", err)
	}
	if _, err := Compose[semiring.Tropical](lazyA, bad, nil); !errors.Is(err, ErrNotSorted) {
		t.Fatalf("eager: error is %v, want ErrNotSorted", err)
	}
}

// unsortedFst is sorted on neither side.
func unsortedFst() *fst.Vector[semiring.Tropical] {
	a := fst.NewVector[semiring.Tropical](0)
	a.AddStates(2)
	a.SetStart(0)
	a.SetFinal(1, 0)
	a.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 8, OLabel: 8, NextState: 1})
	a.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 7, OLabel: 7, NextState: 1})
	return a
}

// (A∘B)∘C and A∘(B∘C) are the same relation, and so are (A∘B)⁻¹ and B⁻¹∘A⁻¹,
// A∘B and A∘(B∪B') without B', the input side of A∘B and of A∘π₁(B).
func TestComposeIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	type W = semiring.Log64
	near := fsttest.Within[W](1e-9)
	compose := func(a, b *fst.Vector[W]) *fst.Vector[W] {
		return fsttest.Must(Compose[W](ArcSorted(a, Output), b, nil))
	}
	for i := range 150 {
		a := fsttest.Random(rng, 1+rng.IntN(4), drawLog64)
		b := fsttest.Random(rng, 1+rng.IntN(4), drawLog64)
		c := fsttest.Random(rng, 1+rng.IntN(4), drawLog64)
		same := func(law string, x, y map[fsttest.Pair]W) {
			t.Helper()
			if diff := cmp.Diff(x, y, near); diff != "" {
				t.Fatalf("case %d: %s:\n%s", i, law, diff)
			}
		}
		rel := func(f *fst.Vector[W]) map[fsttest.Pair]W { return fsttest.Relation[W](f, -1) }
		same("(AB)C = A(BC)", rel(compose(compose(a, b), c)), rel(compose(a, compose(b, c))))
		same("(AB)⁻¹ = B⁻¹A⁻¹", rel(Inverted(compose(a, b))), rel(compose(Inverted(b), Inverted(a))))
		u := b.Clone()
		if err := Union[W](u, c, Limits{}); err != nil {
			t.Fatal(err)
		}
		same("A(B∪C) = AB ∪ AC", rel(compose(a, u)), fsttest.UnionRelations(rel(compose(a, b)), rel(compose(a, c))))
		same("π₁(AB) = π₁(A π₁(B))", rel(Projected(compose(a, b), Input)), rel(Projected(compose(a, Projected(b, Input)), Input)))
		x, y := Projected(a, Input), Projected(b, Output)
		same("X∩Y = Y∩X", rel(fsttest.Must(Intersect[W](ArcSorted(x, Output), y, nil))), rel(fsttest.Must(Intersect[W](ArcSorted(y, Output), x, nil))))
	}
}

// Every output arc is the product of the two arcs that the trace names, and its
// target the pair of their targets.
func TestComposeTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for i := range 400 {
		number := func(x float64) semiring.Tropical { return semiring.Tropical(x) }
		a, b := sortedSides(drawMachine(rng, drawShape(rng), number), drawMachine(rng, drawShape(rng), number), 1+i%3)
		var tr Trace
		r := fsttest.Must(Compose[semiring.Tropical](a, b, &ComposeOptions{Filter: Filter(i % len(filterNames)), KeepDead: i%2 == 0, Trace: &tr}))
		if tr.NumStates() != r.NumStates() {
			t.Fatalf("case %d: trace of %d states, machine of %d", i, tr.NumStates(), r.NumStates())
		}
		for q := range fst.StateID(r.NumStates()) {
			s1, s2 := tr.States(q)
			pos1, pos2 := tr.Arcs(q)
			arcs := r.Arcs(q)
			if len(pos1) != len(arcs) || len(pos2) != len(arcs) {
				t.Fatalf("case %d: trace of %d and %d arcs at state %d, which has %d", i, len(pos1), len(pos2), q, len(arcs))
			}
			for k, got := range arcs {
				want := fst.Arc[semiring.Tropical]{NextState: got.NextState}
				t1, t2 := s1, s2
				if pos1[k] >= 0 {
					e := a.Arcs(s1)[pos1[k]]
					want.ILabel, want.Weight, t1 = e.ILabel, e.Weight, e.NextState
				}
				if pos2[k] >= 0 {
					e := b.Arcs(s2)[pos2[k]]
					want.OLabel, want.Weight, t2 = e.OLabel, want.Weight.Times(e.Weight), e.NextState
				}
				n1, n2 := tr.States(got.NextState)
				if got != want || t1 != n1 || t2 != n2 {
					t.Fatalf("case %d: state %d arc %d is %v to (%d, %d); the trace says %v to (%d, %d)", i, q, k, got, n1, n2, want, t1, t2)
				}
			}
		}
	}
}

func TestComposeErrors(t *testing.T) {
	type W = semiring.Tropical
	a := unsortedFst()
	if _, err := Compose[W](a, a, nil); !errors.Is(err, ErrNotSorted) {
		t.Errorf("unsorted: %v", err)
	}
	if _, err := Compose[W](a, a, &ComposeOptions{Filter: 99}); err == nil {
		t.Error("unknown filter: no error")
	}
	x, y := fsttest.String[W](1), fsttest.String[W](1)
	x.SetOutputSymbols(fst.SymbolsOf("a", "b"))
	y.SetInputSymbols(fst.SymbolsOf("a", "c"))
	if _, err := Compose[W](x, y, nil); !errors.Is(err, ErrSymbols) {
		t.Errorf("symbols: %v", err)
	}
	transducer := fst.NewVector[W](0)
	transducer.AddStates(1)
	transducer.SetStart(0)
	transducer.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 2})
	if _, err := Intersect[W](x, transducer, nil); !errors.Is(err, ErrNotAcceptor) {
		t.Errorf("intersect: %v", err)
	}
	empty := fst.NewVector[W](0)
	for _, pair := range [][2]*fst.Vector[W]{{empty, x}, {x, empty}, {empty, empty}} {
		if r, err := Compose[W](pair[0], pair[1], nil); err != nil || r.NumStates() != 0 || r.Start() != fst.NoState {
			t.Errorf("empty operand: %v, %v", r, err)
		}
	}
}

func TestComposeLimits(t *testing.T) {
	type W = semiring.Tropical
	loop := fst.NewVector[W](0)
	loop.AddStates(1)
	loop.SetStart(0)
	loop.SetFinal(0, 0)
	for range 2000 {
		loop.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1})
	}
	long := fsttest.String[W](slices.Repeat([]fst.Label{1}, 3000)...)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		a, b *fst.Vector[W]
		lim  Limits
		want string
	}{
		"states":  {long, loop, Limits{States: 100}, "states"},
		"arcs":    {loop, loop, Limits{Arcs: 1e5}, "arcs"}, // inside one state of 4 million arcs
		"bytes":   {long, loop, Limits{Bytes: 1 << 20}, "bytes"},
		"context": {long, loop, Limits{Ctx: gone}, "context"},
	} {
		_, err := Compose[W](c.a, c.b, &ComposeOptions{Limits: c.lim})
		var le *LimitError
		if !errors.As(err, &le) || le.Limit != c.want || le.Op != "Compose" {
			t.Errorf("%s: error is %v", name, err)
			continue
		}
		if le.Built.Arcs > 8e5+1e5 {
			t.Errorf("%s: stopped only at %+v", name, le.Built)
		}
	}
	if _, err := Compose[W](long, ArcSorted(loop, Input), &ComposeOptions{Limits: Limits{States: 3001, Arcs: 6e6}}); err != nil {
		t.Errorf("within its limits: %v", err)
	}
}

// graph.DeadStates agrees with a search from every state, on machines whose live
// states are found by sweeps and on such as need the search backwards.
func TestDeadStates(t *testing.T) {
	type W = semiring.Tropical
	rng := rand.New(rand.NewPCG(6, 1))
	for i := range 200 {
		n := 1 + rng.IntN(40)
		v := fst.NewVector[W](n)
		v.AddStates(n)
		v.SetStart(0)
		for range rng.IntN(2 * n) {
			v.AddArc(fst.StateID(rng.IntN(n)), fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: fst.StateID(rng.IntN(n))})
		}
		if i%2 == 0 { // a long chain downwards, which sweeps climb one by one
			for q := 1; q < n; q++ {
				if rng.IntN(8) > 0 {
					v.AddArc(fst.StateID(q), fst.Arc[W]{NextState: fst.StateID(q - 1)})
				}
			}
		}
		v.SetFinal(fst.StateID(rng.IntN(n)), 0)
		var reached graph.StateSet // now all of them, now those from the start
		got := graph.DeadStates(v, 1)
		if i%3 == 0 {
			reached = graph.Reached(v, 1)
			got = graph.Useless(v, 1)
		}
		for q := range n {
			want := !reachesFinal(v, fst.StateID(q)) || reached != nil && !reached.Has(fst.StateID(q))
			if is := got != nil && got[q]; is != want {
				t.Fatalf("case %d: state %d of %d: dead is %v, want %v", i, q, n, is, want)
			}
		}
	}
}

func reachesFinal(v *fst.Vector[semiring.Tropical], q fst.StateID) bool {
	seen := map[fst.StateID]bool{q: true}
	for todo := []fst.StateID{q}; len(todo) > 0; todo = todo[1:] {
		if fst.IsFinal[semiring.Tropical](v, todo[0]) {
			return true
		}
		for _, e := range v.Arcs(todo[0]) {
			if !seen[e.NextState] {
				seen[e.NextState] = true
				todo = append(todo, e.NextState)
			}
		}
	}
	return false
}

// seek finds what a look at every label finds, from every starting point.
func TestSeek(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 300 {
		arcs := make([]fst.Arc[semiring.Tropical], rng.IntN(40))
		for i := range arcs {
			arcs[i].ILabel = fst.Label(rng.IntN(12) - 2)
		}
		slices.SortFunc(arcs, func(a, b fst.Arc[semiring.Tropical]) int { return stdcmp.Compare(a.ILabel, b.ILabel) })
		for from := 0; from <= len(arcs); from++ {
			for want := fst.Label(-3); want < 12; want++ {
				i := from
				for i < len(arcs) && arcs[i].ILabel < want {
					i++
				}
				if got := seek(arcs, inputLabels, from, want); got != i {
					t.Fatalf("seek(%d labels, from %d, %d) = %d, want %d", len(arcs), from, want, got, i)
				}
			}
		}
	}
}

func TestFilterNames(t *testing.T) {
	for f := range Filter(len(filterNames)) {
		if g, err := ParseFilter(f.String()); err != nil || g != f {
			t.Errorf("ParseFilter(%q) = %v, %v", f, g, err)
		}
	}
	if _, err := ParseFilter("bogus"); err == nil {
		t.Error("no error for an unknown filter")
	}
	if s := fmt.Sprint(Filter(200)); s != "Filter(200)" {
		t.Errorf("unknown filter prints as %q", s)
	}
}
