package ops

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// Lazy unions, concatenations and closures have the relations of the eager ones, also
// of machines that are lazy, and with a cache that holds hardly a state.
func TestRationalLazy(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	tiny := &fst.LazyOptions{CacheBytes: 100}
	same := func(what string, want *fst.Vector[semiring.Probability], got fst.Fst[semiring.Probability]) {
		t.Helper()
		if diff := cmp.Diff(fsttest.Relation[semiring.Probability](want, 5), fsttest.Relation(got, 5), fsttest.Within[semiring.Probability](1e-9)); diff != "" {
			t.Fatalf("%s: mismatch (-want +got):\n%s", what, diff)
		}
	}
	for trial := range 200 {
		a := fsttest.Random(rng, 1+rng.IntN(4), drawProbability, fsttest.Options{Epsilon: 0.2, Start: true})
		b := fsttest.Random(rng, 1+rng.IntN(4), drawProbability, fsttest.Options{Epsilon: 0.2})
		if trial%20 == 0 {
			a = fst.NewVector[semiring.Probability](0)
		}
		lazy := fst.Fst[semiring.Probability](a)
		if a.Start() != fst.NoState {
			lazy = ClosureLazy[semiring.Probability](ArcSorted(b, Input), Plus, tiny)
			want := copyOf[semiring.Probability](b)
			if fst.PropertiesOf(b, fst.NoIEpsilons).Has(fst.NoIEpsilons) && semiring.IsZero(b.Final(b.Start())) {
				if err := Closure(want, Plus, Limits{}); err != nil {
					t.Fatal(err)
				}
				same("closure", want, lazy)
				star := copyOf[semiring.Probability](b)
				if err := Closure(star, Star, Limits{}); err != nil {
					t.Fatal(err)
				}
				same("star", star, ClosureLazy[semiring.Probability](b, Star, nil))
			}
			lazy = fst.Fst[semiring.Probability](a)
		}
		union := copyOf[semiring.Probability](a)
		if err := Union(union, b, Limits{}); err != nil {
			t.Fatal(err)
		}
		u, err := UnionLazy(tiny, lazy, fst.Fst[semiring.Probability](b))
		if err != nil {
			t.Fatal(err)
		}
		same("union", union, u)
		concat := copyOf[semiring.Probability](union)
		if err := Concat(concat, a, Limits{}); err != nil {
			t.Fatal(err)
		}
		c, err := ConcatLazy(tiny, fst.Fst[semiring.Probability](u), fst.Fst[semiring.Probability](a))
		if err != nil {
			t.Fatal(err)
		}
		same("concatenation", concat, c)
	}
}

func TestRationalLazyErrors(t *testing.T) {
	if _, err := ConcatLazy[semiring.Log](nil); err == nil {
		t.Error("the product of nothing")
	}
	u, err := UnionLazy[semiring.Log](nil)
	if err != nil || len(u.Arcs(u.Start())) != 0 {
		t.Errorf("the union of nothing: %v", err)
	}
	x, y := fst.NewSymbolTable("x"), fst.NewSymbolTable("y")
	x.Add("a")
	y.Add("b")
	a, b := fst.NewVector[semiring.Log](0), fst.NewVector[semiring.Log](0)
	a.SetInputSymbols(x)
	b.SetInputSymbols(y)
	if _, err := UnionLazy[semiring.Log](nil, a, b); !errors.Is(err, ErrSymbols) {
		t.Errorf("error %v, want one of symbols", err)
	}
	// The error of a machine computed on demand is the error of what is made of it.
	c, err := ConcatLazy[semiring.Log](nil, fst.NewLazy[semiring.Log](failing{}, nil), fsttest.String[semiring.Log](1))
	if err != nil {
		t.Fatal(err)
	}
	if c.Arcs(c.Start()); !errors.Is(c.Err(), errFailing) {
		t.Errorf("error %v, want that of the first machine", c.Err())
	}
}

var errFailing = errors.New("nothing here")

// failing is an Expander that has a start and nothing more.
type failing struct{}

func (failing) Start() (fst.StateID, error) { return 0, nil }
func (failing) Expand(fst.StateID, []fst.Arc[semiring.Log]) (semiring.Log, []fst.Arc[semiring.Log], error) {
	return semiring.Zero[semiring.Log](), nil, errFailing
}
