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

// The delayed forms of replacement, synchronization, intersection and difference are what the eager ones make,
// state for state, with a cache that holds hardly a state too; Collect makes a machine of them.
func TestLazyForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	tiny := &fst.LazyOptions{CacheBytes: 1}
	same := func(what string, want *fst.Vector[semiring.Tropical], lazy fst.Fst[semiring.Tropical], err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := Collect(lazy, Limits{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if d := Compare[semiring.Tropical](want, got, 0); d != nil {
			t.Fatalf("%s: %v\nwant %v\ngot %v", what, d, want, got)
		}
		if fst.InputSymbols(got) != fst.InputSymbols(want) || fst.OutputSymbols(got) != fst.OutputSymbols(want) {
			t.Fatalf("%s: other symbol tables", what)
		}
	}
	draw := func(o fsttest.Options) *fst.Vector[semiring.Tropical] {
		f := fsttest.Random(rng, 1+rng.IntN(5), drawTropical, o)
		f.SetInputSymbols(names)
		f.SetOutputSymbols(names)
		return f
	}
	for range 200 {
		a := draw(fsttest.Options{Epsilon: 0.2})
		b := draw(fsttest.Options{Epsilon: 0.2, Cyclic: true})
		sync, err := Synchronize[semiring.Tropical](a, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		same("synchronize", sync, SynchronizeLazy[semiring.Tropical](a, tiny), nil)

		rules := []Rule[semiring.Tropical]{{Label: 3, F: a}, {Label: 77, F: b}}
		if rng.IntN(2) == 0 { // one call of the other
			arcs := a.MutableArcs(a.Start())
			for i := range arcs {
				arcs[i].OLabel = 77
			}
		}
		if made, err := Replace(rules, 3, nil); err == nil {
			lazy, err := ReplaceLazy(rules, 3, nil, tiny)
			same("replace", made, lazy, err)
		}

		x, y := Projected[semiring.Tropical](a, Input), ArcSorted[semiring.Tropical](Projected[semiring.Tropical](b, Input), Input)
		keep := &ComposeOptions{KeepDead: true}
		both, err := Intersect[semiring.Tropical](x, y, keep)
		if err != nil {
			t.Fatal(err)
		}
		lazy, err := IntersectLazy[semiring.Tropical](x, y, nil, tiny)
		same("intersect", both, lazy, err)

		plain, err := Determinize[semiring.Boolean](fsttest.Must(Convert[semiring.Boolean](x)), nil)
		if err != nil {
			t.Fatal(err)
		}
		RmEpsilon(plain, nil)
		if plain, err = Determinize[semiring.Boolean](plain, nil); err != nil {
			t.Fatal(err)
		}
		ArcSort(plain, Input)
		z := fsttest.Must(Convert[semiring.Tropical](plain))
		z.CopySymbols(x)
		less, err := Subtract[semiring.Tropical](y, z, keep)
		if err != nil {
			t.Fatal(err)
		}
		lazy, err = SubtractLazy[semiring.Tropical](fst.Fst[semiring.Tropical](y), z, tiny)
		same("subtract", less, lazy, err)
		// Of an operand that is computed on demand, too.
		lazy, err = SubtractLazy[semiring.Tropical](fst.NewLazy[semiring.Tropical](newRational([]fst.Fst[semiring.Tropical]{y}), withSymbols(tiny, y, y)), z, tiny)
		same("subtract from a delayed machine", less, lazy, err)
	}
}

var names = func() *fst.SymbolTable {
	t := fst.NewSymbolTable("names")
	t.Add("<eps>")
	return t
}()

// A grammar that calls itself, S → a S b | ε, is infinite: the delayed form is looked at as far as it is asked for.
func TestReplaceLazyRecursion(t *testing.T) {
	const s, a, b = 10, 1, 2
	v := fst.NewVector[semiring.Tropical](4)
	v.AddStates(4)
	v.SetStart(0)
	v.SetFinal(3, 0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{NextState: 3})
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: a, OLabel: a, Weight: 1, NextState: 1})
	v.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: s, OLabel: s, NextState: 2})
	v.AddArc(2, fst.Arc[semiring.Tropical]{ILabel: b, OLabel: b, NextState: 3})
	rules := []Rule[semiring.Tropical]{{Label: s, F: v}}
	if _, err := Replace(rules, s, nil); !errors.Is(err, ErrRecursion) {
		t.Errorf("error %v", err)
	}
	lazy, err := ReplaceLazy(rules, s, &ReplaceOptions{Call: LabelNeither}, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(labels ...fst.Label) fst.Fst[semiring.Tropical] {
		f, err := ComposeLazy[semiring.Tropical](fsttest.String[semiring.Tropical](labels...), lazy, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		word  []fst.Label
		total semiring.Tropical
	}{{nil, 0}, {[]fst.Label{a, b}, 1}, {[]fst.Label{a, a, a, b, b, b}, 3}, {[]fst.Label{a, b, b}, semiring.Zero[semiring.Tropical]()}} {
		path, err := ShortestPathLazy(of(c.word...), Limits{States: 1000})
		if err != nil {
			t.Fatal(err)
		}
		got := semiring.Zero[semiring.Tropical]()
		for _, w := range fsttest.Relation[semiring.Tropical](path, -1) {
			got = got.Plus(w)
		}
		if got != c.total {
			t.Errorf("%v: %v, want %v", c.word, got, c.total)
		}
	}
	var limit *LimitError
	if _, err := Collect[semiring.Tropical](lazy, Limits{States: 1000}); !errors.As(err, &limit) {
		t.Errorf("all of it: error %v", err)
	}
	bounded, err := ReplaceLazy(rules, s, &ReplaceOptions{Limits: Limits{States: 50}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Collect[semiring.Tropical](bounded, Limits{}); !errors.As(err, &limit) || limit.Op != "ReplaceLazy" {
		t.Errorf("of itself: error %v", err)
	}
	if _, err := ReplaceLazy(rules, 5, nil, nil); err == nil {
		t.Error("no rule for the root")
	}
}

// scattered numbers states in no order at all.
type scattered struct{ *fst.Vector[semiring.Tropical] }

func (scattered) NumStates() {} // no Expanded

func TestCollect(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 300 {
		f := fsttest.Random(rng, 1+rng.IntN(12), drawTropical, fsttest.Options{Epsilon: 0.2, Cyclic: true, EpsilonCycles: true})
		f.SetStart(fst.StateID(rng.IntN(f.NumStates())))
		got, err := Collect[semiring.Tropical](scattered{f}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		// What is reached is there under its number, and nothing else has arcs.
		reached := map[fst.StateID]bool{f.Start(): true}
		for todo := []fst.StateID{f.Start()}; len(todo) > 0; todo = todo[1:] {
			for _, e := range f.Arcs(todo[0]) {
				if !reached[e.NextState] {
					reached[e.NextState] = true
					todo = append(todo, e.NextState)
				}
			}
		}
		if got.Start() != f.Start() {
			t.Fatalf("start %d, want %d", got.Start(), f.Start())
		}
		for q := range fst.StateID(f.NumStates()) {
			switch {
			case reached[q]:
				if diff := cmp.Diff(f.Arcs(q), got.Arcs(q)); diff != "" || f.Final(q) != got.Final(q) {
					t.Fatalf("state %d: %s\n%v, %v", q, diff, f.Final(q), got.Final(q))
				}
			case int(q) < got.NumStates() && (len(got.Arcs(q)) > 0 || !semiring.IsZero(got.Final(q))):
				t.Fatalf("state %d is not reached", q)
			}
		}
	}
	empty, err := Collect[semiring.Tropical](fst.NewVector[semiring.Tropical](0), Limits{})
	if err != nil || empty.NumStates() != 0 || empty.Start() != fst.NoState {
		t.Errorf("%v, error %v", empty, err)
	}
	broken, err := IntersectLazy[semiring.Tropical](delayedTransducer(t), fsttest.String[semiring.Tropical](1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Collect[semiring.Tropical](broken, Limits{}); !errors.Is(err, ErrNotAcceptor) {
		t.Errorf("error %v", err)
	}
}

// delayedTransducer is a delayed machine that turns out to be no acceptor.
func delayedTransducer(t *testing.T) fst.Fst[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](2)
	v.AddStates(2)
	v.SetStart(0)
	v.SetFinal(1, 0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: 1})
	return fsttest.Must(UnionLazy(nil, fst.Fst[semiring.Tropical](v)))
}
