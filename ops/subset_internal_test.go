package ops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/run"
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
	pairs, err := toGallic(f, pair, &run.Stopwatch{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := newAcceptorDeterminizer(pairs, &DeterminizeOptions{Limits: lim})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.m.start(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.m.start(); err != nil {
		t.Fatal(err)
	}
	for q := fst.StateID(0); int(q) < d.m.table.Len(); q++ {
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
	return d.m.table.Len() == g.m.table.Len()
}

func sameTerms(a, b []outputTerm[semiring.Tropical]) bool {
	return slices.EqualFunc(a, b, func(x, y outputTerm[semiring.Tropical]) bool {
		return slices.Equal(x.labels, y.labels) && x.weight == y.weight
	})
}

// What is fetched ahead changes nothing: a lexicon that is large enough is determinized as its
// constant form, of which nothing is fetched, in order and in any other.
func TestSubsetsAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	f := fst.NewVector[semiring.Tropical](2 * warmFrom)
	f.SetStart(f.AddState())
	f.SetFinal(f.AddState(), semiring.One[semiring.Tropical]())
	for f.NumStates() < 2*warmFrom {
		q := fst.StateID(0)
		for left := 1 + rng.IntN(8); left >= 0; left-- {
			next := fst.StateID(1)
			if left > 0 {
				next = f.AddState()
			}
			l := fst.Label(1 + rng.IntN(4))
			f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, Weight: semiring.Tropical(rng.IntN(8)), NextState: next})
			q = next
		}
	}
	lim := &DeterminizeOptions{Limits: Limits{States: 4 * warmFrom}}
	want, err := Determinize[semiring.Tropical](fst.NewConst[semiring.Tropical](f), lim)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Determinize[semiring.Tropical](f, lim); err != nil || !Equal[semiring.Tropical](got, want, 0) {
		t.Fatalf("another result with fetching ahead (error %v)", err)
	}
	lazy, err := DeterminizeLazy[semiring.Tropical](f, lim, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		for p, q := lazy.Start(), want.Start(); ; {
			a, b := lazy.Arcs(p), want.Arcs(q)
			if lazy.Final(p) != want.Final(q) || len(a) != len(b) {
				t.Fatalf("state %d on demand: final %v and %d arcs, want %v and %d", p, lazy.Final(p), len(a), want.Final(q), len(b))
			}
			if len(a) == 0 {
				break
			}
			k := rng.IntN(len(a))
			if a[k].ILabel != b[k].ILabel || a[k].Weight != b[k].Weight {
				t.Fatalf("arc %d of state %d on demand: %v, want %v", k, p, a[k], b[k])
			}
			p, q = a[k].NextState, b[k].NextState
		}
	}
	if err := lazy.Err(); err != nil {
		t.Fatal(err)
	}
}
