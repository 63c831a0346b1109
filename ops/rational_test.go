package ops

import (
	stdcmp "cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// truthful fails the test if v claims to know something that is not so.
func truthful[W semiring.Weight[W]](t *testing.T, op string, v *fst.Vector[W]) {
	t.Helper()
	all, _ := fst.Compute[W](v, fst.AllProperties)
	if wrong := v.KnownProperties() &^ all &^ fst.Mutable; v.NumStates() > 0 && wrong != 0 {
		t.Fatalf("%s: known properties %x are wrong in %x", op, wrong, v.KnownProperties())
	}
}

// Each operation against its definition on relations, with properties known,
// tested or not at all.
func rationalAgainstRelation[W semiring.Approx[W]](t *testing.T, draw func(*rand.Rand) W, reverse func(*fst.Vector[W], bool) *fst.Vector[W]) {
	rng := rand.New(rand.NewPCG(8, 1))
	near := fsttest.Within[W](1e-9)
	for i := range 300 {
		opts := fsttest.Options{Epsilon: []float64{0, 0.3, 0.7}[i%3], Labels: 2, Degree: 1.5, Cyclic: i%4 == 0, Start: i%5 == 0, Acceptor: i%7 == 0}
		maxLen := -1
		if opts.Cyclic {
			maxLen = 4
		}
		a := fsttest.Random(rng, rng.IntN(5), draw, opts)
		b := fsttest.Random(rng, rng.IntN(5), draw, opts)
		switch i / 2 % 3 {
		case 1:
			fst.PropertiesOf[W](a, fst.AllProperties)
			fst.PropertiesOf[W](b, fst.AllProperties)
		case 2:
			a.SetProperties(0, fst.AllProperties)
			b.SetProperties(0, fst.AllProperties)
		}
		relA, relB := fsttest.Relation[W](a, maxLen), fsttest.Relation[W](b, maxLen)
		check := func(op string, v *fst.Vector[W], want map[fsttest.Pair]W) {
			t.Helper()
			if maxLen >= 0 {
				want = fsttest.Restrict(want, maxLen)
			}
			if diff := cmp.Diff(want, fsttest.Relation[W](v, maxLen), near); diff != "" {
				t.Fatalf("case %d: %s (-want +got):\n%s", i, op, diff)
			}
			truthful(t, op, v)
		}
		u := a.Clone()
		if err := Union[W](u, b, Limits{}); err != nil {
			t.Fatal(err)
		}
		check("a ∪ b", u, fsttest.UnionRelations(relA, relB))
		u = a.Clone()
		if err := Union[W](u, u, Limits{}); err != nil {
			t.Fatal(err)
		}
		check("a ∪ a", u, fsttest.UnionRelations(relA, relA))
		c := a.Clone()
		if err := Concat[W](c, b, Limits{}); err != nil {
			t.Fatal(err)
		}
		check("ab", c, fsttest.ConcatRelations(relA, relB))
		c = a.Clone()
		if err := Concat[W](c, c, Limits{}); err != nil {
			t.Fatal(err)
		}
		check("aa", c, fsttest.ConcatRelations(relA, relA))
		check("a⁻¹", Inverted[W](a), fsttest.MapRelation(relA, func(p fsttest.Pair) fsttest.Pair { return fsttest.Pair{In: p.Out, Out: p.In} }))
		for _, super := range []bool{true, false} {
			check("aᴿ", reverse(a, super), fsttest.MapRelation(relA, func(p fsttest.Pair) fsttest.Pair {
				return fsttest.Pair{In: backwards(p.In), Out: backwards(p.Out)}
			}))
		}
		if maxLen < 0 { // else a pair with a short side may stand for one with a long one
			check("π₁", Projected[W](a, Input), fsttest.MapRelation(relA, func(p fsttest.Pair) fsttest.Pair { return fsttest.Pair{In: p.In, Out: p.In} }))
			check("π₂", Projected[W](a, Output), fsttest.MapRelation(relA, func(p fsttest.Pair) fsttest.Pair { return fsttest.Pair{In: p.Out, Out: p.Out} }))
			for _, side := range []Side{Input, Output} {
				e := a.Clone()
				EpsilonLabels(e, side)
				check("ε labels", e, fsttest.MapRelation(relA, func(p fsttest.Pair) fsttest.Pair {
					if side == Input {
						p.In = ""
					} else {
						p.Out = ""
					}
					return p
				}))
			}
		}
		for _, side := range []Side{Input, Output} {
			s := ArcSorted[W](a, side)
			check("sorted by "+side.String(), s, relA)
			p, _ := fst.Compute[W](s, fst.AllProperties)
			if side == Input && !p.Has(fst.ILabelSorted) || side == Output && !p.Has(fst.OLabelSorted) {
				t.Fatalf("case %d: not sorted by %v", i, side)
			}
		}
		s := a.Clone()
		ArcSum(s)
		check("arc sum", s, relA)
		s = a.Clone()
		SuperFinal(s, fst.Epsilon)
		check("super-final", s, relA)
		for kind := EncodeKind(0); kind <= EncodeLabels|EncodeWeights; kind++ {
			e, table := a.Clone(), NewEncodeTable[W](kind)
			Encode(e, table)
			truthful(t, "encode", e)
			p, _ := fst.Compute[W](e, fst.AllProperties)
			if kind&EncodeLabels != 0 && !p.Has(fst.Acceptor) || kind&EncodeWeights != 0 && !p.Has(fst.Unweighted) {
				t.Fatalf("case %d: encoded machine has properties %x", i, p)
			}
			if kind == 0 {
				continue // output labels of the triples are not restored from 0
			}
			if err := Decode(e, table); err != nil {
				t.Fatal(err)
			}
			check("decode(encode)", e, relA)
		}
	}
}

func backwards(s string) string {
	f := strings.Fields(s)
	slices.Reverse(f)
	return strings.Join(f, " ")
}

func TestRationalAgainstRelation(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	t.Run("log64", func(t *testing.T) {
		rationalAgainstRelation(t, drawLog64, func(a *fst.Vector[semiring.Log64], super bool) *fst.Vector[semiring.Log64] {
			return fsttest.Must(Reverse[semiring.Log64](a, &ReverseOptions{NoSuperInitial: !super}))
		})
	})
	t.Run("tropical", func(t *testing.T) {
		rationalAgainstRelation(t, drawTropical, func(a *fst.Vector[semiring.Tropical], super bool) *fst.Vector[semiring.Tropical] {
			return fsttest.Must(Reverse[semiring.Tropical](a, &ReverseOptions{NoSuperInitial: !super}))
		})
	})
	t.Run("probability", func(t *testing.T) {
		rationalAgainstRelation(t, drawProbability, func(a *fst.Vector[semiring.Probability], super bool) *fst.Vector[semiring.Probability] {
			return fsttest.Must(Reverse[semiring.Probability](a, &ReverseOptions{NoSuperInitial: !super}))
		})
	})
}

// a⁺ up to a length is a ∪ aa ∪ aaa …, and a* adds ε, when a has no ε-strings.
func TestClosureAgainstRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for i := range 100 {
		const maxLen = 4
		a := fsttest.Random(rng, 2+rng.IntN(3), drawLog64, fsttest.Options{Labels: 2, Degree: 1.5})
		if a.Final(a.Start()); fst.IsFinal[semiring.Log64](a, 0) {
			a.SetFinal(0, semiring.Zero[semiring.Log64]())
		}
		rel := fsttest.Relation[semiring.Log64](a, maxLen)
		power, want := rel, rel
		for range maxLen {
			power = fsttest.Restrict(fsttest.ConcatRelations(power, rel), maxLen)
			want = fsttest.UnionRelations(want, power)
		}
		near := fsttest.Within[semiring.Log64](1e-9)
		plus := a.Clone()
		if err := Closure(plus, Plus, Limits{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, fsttest.Relation[semiring.Log64](plus, maxLen), near); diff != "" {
			t.Fatalf("case %d: plus (-want +got):\n%s", i, diff)
		}
		truthful(t, "plus", plus)
		star := a.Clone()
		if err := Closure(star, Star, Limits{}); err != nil {
			t.Fatal(err)
		}
		want = fsttest.UnionRelations(want, map[fsttest.Pair]semiring.Log64{{}: 0})
		if diff := cmp.Diff(want, fsttest.Relation[semiring.Log64](star, maxLen), near); diff != "" {
			t.Fatalf("case %d: star (-want +got):\n%s", i, diff)
		}
		truthful(t, "star", star)
	}
}

// What is known of the first machine decides the shape of a union.
func TestUnionShape(t *testing.T) {
	a, b := fsttest.String[semiring.Tropical](1), fsttest.String[semiring.Tropical](2)
	known := a.Clone()
	fst.PropertiesOf[semiring.Tropical](known, fst.InitialAcyclic)
	unknown := a.Clone()
	unknown.SetProperties(0, fst.AllProperties)
	for _, c := range []struct {
		name   string
		a      *fst.Vector[semiring.Tropical]
		states int
		start  fst.StateID
	}{{"known", known, 4, 0}, {"unknown", unknown, 5, 4}} {
		if err := Union[semiring.Tropical](c.a, b, Limits{}); err != nil {
			t.Fatal(err)
		}
		if c.a.NumStates() != c.states || c.a.Start() != c.start {
			t.Errorf("%s: %d states, start %d; want %d, %d", c.name, c.a.NumStates(), c.a.Start(), c.states, c.start)
		}
	}
}

func TestRationalErrors(t *testing.T) {
	type W = semiring.Tropical
	a, b := fsttest.String[W](1), fsttest.String[W](2)
	a.SetInputSymbols(fst.SymbolsOf("<eps>", "a"))
	b.SetInputSymbols(fst.SymbolsOf("<eps>", "b"))
	before := a.Clone()
	if err := Union[W](a, b, Limits{}); !errors.Is(err, ErrSymbols) {
		t.Errorf("Union: %v", err)
	}
	if err := Concat[W](a, b, Limits{}); !errors.Is(err, ErrSymbols) {
		t.Errorf("Concat: %v", err)
	}
	b.SetInputSymbols(nil)
	if err := Union[W](a, b, Limits{States: 3}); !errors.Is(err, ErrLimit) {
		t.Errorf("Union: %v", err)
	}
	if err := Concat[W](a, b, Limits{Arcs: 1}); !errors.Is(err, ErrLimit) {
		t.Errorf("Concat: %v", err)
	}
	if _, err := Reverse[W](a, &ReverseOptions{Limits: Limits{States: 2}}); !errors.Is(err, ErrLimit) {
		t.Errorf("Reverse: %v", err)
	}
	if d := Compare[W](a, before, 0); d != nil {
		t.Errorf("a failed operation changed its operand: %v", d)
	}
	table := NewEncodeTable[W](EncodeLabels)
	if err := Decode(a, table); !errors.Is(err, ErrEncoding) {
		t.Errorf("Decode: %v", err)
	}
	var se *StateError
	if err := Decode(a, table); !errors.As(err, &se) || se.State != 0 {
		t.Errorf("Decode: %v does not name the state", err)
	}
}

// arcs that tie come out as std::sort leaves them: stable up to 16 arcs, and
// sorted whatever the order and number. The order of longer ties is compared
// with OpenFst's tools elsewhere.
func TestArcSortSorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	for i := range 300 {
		n := rng.IntN(20)
		if i%3 == 0 {
			n = rng.IntN(3000)
		}
		v := fst.NewVector[semiring.Tropical](1)
		v.AddStates(1)
		v.SetStart(0)
		for k := range n {
			l := fst.Label(rng.IntN(1 + rng.IntN(1000)))
			switch i % 4 {
			case 1:
				l = fst.Label(k / 7) // sorted, with ties
			case 2:
				l = fst.Label(-k)
			}
			v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: fst.Label(rng.IntN(3)), Weight: semiring.Tropical(k)})
		}
		want := slices.Clone(v.Arcs(0))
		slices.SortStableFunc(want, func(a, b fst.Arc[semiring.Tropical]) int {
			return stdcmp.Or(stdcmp.Compare(a.ILabel, b.ILabel), stdcmp.Compare(a.OLabel, b.OLabel))
		})
		ArcSort(v, Input)
		got := v.Arcs(0)
		if n <= 16 && !slices.Equal(got, want) {
			t.Fatalf("case %d: %v, want %v", i, got, want)
		}
		for k := range got {
			if got[k].ILabel != want[k].ILabel || got[k].OLabel != want[k].OLabel {
				t.Fatalf("case %d: arc %d is %v, want %v", i, k, got[k], want[k])
			}
		}
		slices.SortFunc(got, func(a, b fst.Arc[semiring.Tropical]) int { return stdcmp.Compare(a.Weight, b.Weight) })
		for k := range got {
			if got[k].Weight != semiring.Tropical(k) {
				t.Fatalf("case %d: arc %d is lost", i, k)
			}
		}
	}
}
