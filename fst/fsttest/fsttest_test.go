package fsttest

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

func tropical(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(8)) / 2 }

func TestRelation(t *testing.T) {
	v := fst.NewVector[semiring.Tropical](3)
	v.AddStates(3)
	v.SetStart(0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, Weight: 1, NextState: 1})
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 0, Weight: 3, NextState: 2})
	v.AddArc(2, fst.Arc[semiring.Tropical]{ILabel: 0, OLabel: 2, Weight: -4, NextState: 1})
	v.SetFinal(1, 2)
	want := map[Pair]semiring.Tropical{{"1", "2"}: 1}
	if diff := cmp.Diff(want, Relation[semiring.Tropical](v, -1), Exactly[semiring.Tropical]()); diff != "" {
		t.Fatal(diff)
	}
	v.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 3, OLabel: 3, Weight: 1, NextState: 1})
	want[Pair{"1 3", "2 3"}] = 2
	want[Pair{"1 3 3", "2 3 3"}] = 3
	if diff := cmp.Diff(want, Relation[semiring.Tropical](v, 3), Exactly[semiring.Tropical]()); diff != "" {
		t.Fatal(diff)
	}
	mustPanic(t, func() { Relation[semiring.Tropical](v, -1) })
	v.AddArc(1, fst.Arc[semiring.Tropical]{NextState: 2})
	mustPanic(t, func() { v.AddArc(2, fst.Arc[semiring.Tropical]{NextState: 1}); Relation[semiring.Tropical](v, 2) })
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	f()
}

func TestRelationAlgebra(t *testing.T) {
	a := map[Pair]semiring.Tropical{{"1", "2"}: 1, {"", "2"}: 5, {"1 2", ""}: 0}
	b := map[Pair]semiring.Tropical{{"2", "3"}: 2, {"", "4"}: 1}
	for _, c := range []struct {
		name      string
		got, want map[Pair]semiring.Tropical
	}{
		{"compose", ComposeRelations(a, b), map[Pair]semiring.Tropical{{"1", "3"}: 3, {"", "3"}: 7, {"1 2", "4"}: 1}},
		{"union", UnionRelations(a, map[Pair]semiring.Tropical{{"1", "2"}: 0.5, {"7", ""}: 1}),
			map[Pair]semiring.Tropical{{"1", "2"}: 0.5, {"", "2"}: 5, {"1 2", ""}: 0, {"7", ""}: 1}},
		{"concat", ConcatRelations(a, b), map[Pair]semiring.Tropical{
			{"1 2", "2 3"}: 3, {"1", "2 4"}: 2, {"2", "2 3"}: 7, {"", "2 4"}: 6, {"1 2 2", "3"}: 2, {"1 2", "4"}: 1}},
		{"project", MapRelation(a, func(p Pair) Pair { return Pair{p.Out, p.Out} }), map[Pair]semiring.Tropical{{"2", "2"}: 1, {"", ""}: 0}},
		{"restrict", Restrict(a, 1), map[Pair]semiring.Tropical{{"1", "2"}: 1, {"", "2"}: 5}},
	} {
		if diff := cmp.Diff(c.want, c.got, Exactly[semiring.Tropical]()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestRandomKeepsItsPromises(t *testing.T) {
	seen := fst.Properties(0)
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		o := Options{Epsilon: 0.3, Cyclic: seed&1 > 0, Acceptor: seed&2 > 0, Deterministic: seed&4 > 0, Sorted: seed&8 > 0}
		v := Random(rng, rng.IntN(7), tropical, o)
		p, _ := fst.Compute(v, fst.AllProperties)
		seen |= p
		if !o.Cyclic && !p.Has(fst.Acyclic) || o.Acceptor && !p.Has(fst.Acceptor) ||
			o.Deterministic && !p.Has(fst.IDeterministic|fst.NoIEpsilons) || o.Sorted && !p.Has(fst.ILabelSorted) {
			t.Fatalf("seed %d: %+v gives %x", seed, o, p)
		}
		Relation[semiring.Tropical](v, 3) // must end
	}
	for _, p := range []fst.Properties{fst.Cyclic, fst.Epsilons, fst.NotAcceptor, fst.NonIDeterministic, fst.NotILabelSorted, fst.Weighted, fst.NotAccessible} {
		if !seen.Has(p) {
			t.Errorf("never %x", p)
		}
	}
}

func TestOpenFstTools(t *testing.T) {
	o := OpenFst(t)
	f := o.Text("0 1 1 2 0.5\n1\n")
	out := o.File()
	o.Do("fstcompile", f, out)
	if got := o.Do("fstprint", out); got != "0\t1\t1\t2\t0.5\n1\n" {
		t.Fatalf("fstprint: %q", got)
	}
	if r := o.Run("fstprint", f); r.Exit != 1 {
		t.Fatalf("fstprint of text: %+v", r)
	}
}
