package ops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// A transducer determinized with strings in slabs has the subsets and arcs that
// the construction has over the semiring's own pairs of strings and weights.
func TestOutputsAgainstGallic(t *testing.T) {
	weight := func(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(5)) / 4 }
	rng := rand.New(rand.NewPCG(3, 1))
	type restricted = semiring.GallicRestricted[semiring.Tropical]
	type least = semiring.GallicMin[semiring.Tropical]
	type union = semiring.GallicUnion[semiring.Tropical]
	str := func(l fst.Label) (s semiring.StringRestricted) {
		if l == fst.Epsilon {
			return s
		}
		return semiring.NewStringRestricted(int32(l))
	}
	var functional, compared int
	for range 800 {
		f := fsttest.Random(rng, 2+rng.IntN(6), weight, fsttest.Options{Labels: 2, Degree: 1.5, Epsilon: 0.3, Cyclic: rng.IntN(3) == 0})
		if fst.PropertiesOf[semiring.Tropical](f, fst.Acceptor)&fst.Acceptor != 0 {
			continue
		}
		if e, err := Functional(f, nil); e == nil && err == nil {
			ok := againstGallic(t, f, DeterminizeFunctional, &outputResiduals[semiring.Tropical]{},
				func(l fst.Label, w semiring.Tropical) restricted { return restricted{String: str(l), Weight: w} },
				func(g restricted) []outputTerm[semiring.Tropical] { return gallicTerms(g) })
			if ok {
				functional++
			}
		}
		if againstGallic(t, f, DeterminizeNonFunctional, &outputSets[semiring.Tropical]{},
			func(l fst.Label, w semiring.Tropical) union {
				return semiring.NewGallicUnion(restricted{String: str(l), Weight: w})
			},
			func(g union) (terms []outputTerm[semiring.Tropical]) {
				for i := range g.Len() {
					terms = append(terms, gallicTerms(g.At(i))...)
				}
				return terms
			}) {
			compared++
		}
		againstGallic(t, f, DeterminizeDisambiguate, &outputResiduals[semiring.Tropical]{least: true},
			func(l fst.Label, w semiring.Tropical) least { return least{String: str(l), Weight: w} },
			func(g least) []outputTerm[semiring.Tropical] {
				return gallicTerms(restricted(g))
			})
	}
	if functional < 100 || compared < 250 {
		t.Fatalf("only %d functional and %d others compared", functional, compared)
	}
}

func gallicTerms(g semiring.GallicRestricted[semiring.Tropical]) []outputTerm[semiring.Tropical] {
	if semiring.IsZero(g.Weight) {
		return nil
	}
	var l []fst.Label
	for i := range g.String.Len() {
		l = append(l, fst.Label(g.String.At(i)))
	}
	return []outputTerm[semiring.Tropical]{{l, g.Weight}}
}

func againstGallic[R any, A outputAlgebra[semiring.Tropical, R], G semiring.Divisible[G]](t *testing.T, f *fst.Vector[semiring.Tropical], kind DeterminizeType, alg A,
	pair func(fst.Label, semiring.Tropical) G, terms func(G) []outputTerm[semiring.Tropical]) bool {
	t.Helper()
	lim := Limits{States: 300, Bytes: 1 << 19}
	x, err := newOutputDeterminizer(f, &DeterminizeOptions{Type: kind, Limits: lim}, alg)
	if err != nil {
		t.Fatal(err)
	}
	d := x.(*outputDeterminizer[semiring.Tropical, R, A])
	g, err := newAcceptorDeterminizer(toGallic(f, pair), &DeterminizeOptions{Limits: lim})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.m.start(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.m.start(); err != nil {
		t.Fatal(err)
	}
	for q := fst.StateID(0); int(q) < d.m.table.len(); q++ {
		final, arcs, err := d.m.expand(q)
		if err != nil {
			return false // a limit, or a subset that grows
		}
		gfinal, garcs, err := g.m.expand(q)
		if err != nil {
			t.Fatalf("pairs fail alone: %v", err)
		}
		if !sameTerms(alg.terms(final), terms(gfinal)) || len(arcs) != len(garcs) {
			t.Fatalf("subset %d: final %v against %v, %d arcs against %d", q, alg.terms(final), terms(gfinal), len(arcs), len(garcs))
		}
		for i, e := range arcs {
			h := garcs[i]
			var l []fst.Label
			if x := alg.label(e.weight); x != fst.Epsilon {
				l = []fst.Label{x}
			}
			if e.label != h.label || e.next != h.next || !sameTerms([]outputTerm[semiring.Tropical]{{l, alg.weight(e.weight)}}, terms(h.weight)) {
				t.Fatalf("subset %d, arc %d: %v against %v", q, i, e, h)
			}
		}
	}
	return d.m.table.len() == g.m.table.len()
}

func sameTerms(a, b []outputTerm[semiring.Tropical]) bool {
	return slices.EqualFunc(a, b, func(x, y outputTerm[semiring.Tropical]) bool {
		return slices.Equal(x.labels, y.labels) && x.weight == y.weight
	})
}
