package ops

import (
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// Two sides go along chains of ε-arcs in one order, and not in all the orders in which they could.
func TestFunctionalDeepChain(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	const n = 20_000
	f := fst.NewVector[semiring.Tropical](0)
	f.AddStates(n + 1)
	f.SetStart(0)
	for q := range fst.StateID(n) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{OLabel: fst.Label(q%3) + 1, NextState: q + 1})
	}
	f.SetFinal(n, 0)
	opts := &SearchOptions{Limits: Limits{States: 3 * n, Arcs: 3 * n}}
	if found, err := Functional[semiring.Tropical](f, opts); found != nil || err != nil {
		t.Errorf("one chain: %v, %v", found, err)
	}
	// A second chain from the start, with another output at its end.
	last := fst.StateID(0)
	for q := range n {
		next := f.AddState()
		f.AddArc(last, fst.Arc[semiring.Tropical]{OLabel: fst.Label(q%3) + 1 + fst.Label(q/(n-1)), NextState: next})
		last = next
	}
	f.SetFinal(last, 0)
	opts.States, opts.Arcs = 10*n, 10*n
	found, err := Functional[semiring.Tropical](f, opts)
	if found == nil || err != nil {
		t.Fatalf("two chains: %v, %v", found, err)
	}
	if len(found.Left.ILabels) != n || len(found.Right.ILabels) != n {
		t.Errorf("two chains: paths of %d and %d arcs", len(found.Left.ILabels), len(found.Right.ILabels))
	}
}

// Arcs that are alike are no new pairs: of a hundred thousand from one state to itself, a few are looked at.
func TestSquareOfParallelArcs(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](0)
	f.AddState()
	f.SetStart(0)
	f.SetFinal(0, 0)
	for i := range fst.Label(100_000) {
		f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: i%10 + 1, OLabel: i%7 + 1})
	}
	lim := Limits{Arcs: 10 * 7 * 7}
	ambiguous, err := Unambiguous[semiring.Tropical](f, &SearchOptions{Limits: lim})
	if ambiguous == nil || err != nil || len(ambiguous.Left.ILabels) != 1 {
		t.Errorf("Unambiguous: %v, %v", ambiguous, err)
	}
	functional, err := Functional[semiring.Tropical](f, &SearchOptions{Limits: lim})
	if functional == nil || err != nil || len(functional.Left.ILabels) != 1 {
		t.Errorf("Functional: %v, %v", functional, err)
	}
	twins, err := Twins[semiring.Tropical](f, &TwinsOptions{Limits: lim})
	if twins == nil || err != nil || len(twins.Left.ILabels) != 1 || twins.Exact {
		t.Errorf("Twins: %v, %v", twins, err)
	}
	// Alike in all but the weight: parallel arcs count as one, with the sum of their weights, the least.
	for text, want := range map[string]bool{
		"0 0 1 1 1\n0 0 1 1 2\n0\n":                                 true,
		"0 1 3 3\n0 2 3 3\n1 1 1 1 1\n1 1 1 1 1\n2 2 1 1 1\n1\n2\n": true,
		"0 1 3 3\n0 2 3 3\n1 1 1 1 1\n1 1 1 1 2\n2 2 1 1 1\n1\n2\n": true,
		"0 1 3 3\n0 2 3 3\n1 1 1 1 1\n1 1 1 1 2\n2 2 1 1 2\n1\n2\n": false,
	} {
		f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(text), nil))
		if twins, err := Twins[semiring.Tropical](f, nil); err != nil || (twins == nil) != want {
			t.Errorf("%q: %v, %v", text, twins, err)
		}
		if ambiguous, err := Unambiguous[semiring.Tropical](f, nil); err != nil || ambiguous == nil {
			t.Errorf("%q: %v, %v", text, ambiguous, err)
		}
	}
}

// Where the cycles have the same outputs, it is said what differs.
func TestTwinsErrorSaysWhatDiffers(t *testing.T) {
	f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 1\n0 2 1 2\n1 1 2 2\n2 2 2 2\n1\n2\n"), nil))
	twins := fsttest.Must(Twins[semiring.Tropical](f, nil))
	if twins == nil {
		t.Fatal("no breach")
	}
	if want := "both factors 0 with output [2], but with outputs [1] and [2] on the way in"; !strings.Contains(twins.Error(), want) {
		t.Errorf("%v\nwant: %s", twins, want)
	}
}

// Arcs from one state to another with one input label and as many outputs as there are arcs are one step of the
// square, and a fan to as many states is no pair of them where the evidence is at hand.
func TestSquareOfOutputs(t *testing.T) {
	const n = 20_000
	build := func(fanned bool) *fst.Vector[semiring.Tropical] {
		f := fst.NewVector[semiring.Tropical](0)
		f.AddStates(n + 1)
		f.SetStart(0)
		for i := range fst.Label(n) {
			to := fst.StateID(1)
			if fanned {
				to += fst.StateID(i)
			}
			f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: i + 2, NextState: to})
			f.SetFinal(to, 0)
		}
		return f
	}
	for _, fanned := range []bool{false, true} {
		f := build(fanned)
		lim := Limits{States: 3 * n, Arcs: 3 * n, Bytes: 1 << 26}
		ambiguous, err := Unambiguous[semiring.Tropical](f, &SearchOptions{Limits: lim})
		if err != nil || ambiguous == nil || ambiguous.Left.OLabels[0] != 2 || ambiguous.Right.OLabels[0] != 3 {
			t.Errorf("Unambiguous: %v, %v", ambiguous, err)
		}
		functional, err := Functional[semiring.Tropical](f, &SearchOptions{Limits: lim})
		if err != nil || functional == nil || functional.Left.OLabels[0] != 2 || functional.Right.OLabels[0] != 3 {
			t.Errorf("Functional: %v, %v", functional, err)
		}
	}
	f := build(false)
	if twins, err := Twins[semiring.Tropical](f, &TwinsOptions{Limits: Limits{Arcs: 10}}); twins != nil || err != nil {
		t.Errorf("Twins: %v, %v", twins, err)
	}
	var functional *FunctionalError
	if _, err := Disambiguate[semiring.Tropical](f, &DisambiguateOptions{Limits: Limits{Bytes: 1 << 26}}); !errors.As(err, &functional) {
		t.Errorf("Disambiguate: %v", err)
	}
	f.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 0})
	twins, err := Twins[semiring.Tropical](f, &TwinsOptions{Limits: Limits{Arcs: 10}})
	if err != nil || twins == nil || len(twins.Left.ILabels) != 2 {
		t.Errorf("Twins with a cycle: %v, %v", twins, err)
	}
}
