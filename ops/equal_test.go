package ops

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

func TestCompare(t *testing.T) {
	type W = semiring.Tropical
	base := func() *fst.Vector[W] { return fsttest.String[W](1, 2, 3) }
	for want, change := range map[string]func(f *fst.Vector[W]){
		"start state: 0 against 1":                      func(f *fst.Vector[W]) { f.SetStart(1) },
		"number of states: 4 against 5":                 func(f *fst.Vector[W]) { f.AddState() },
		"final weight of state 3: 0 against 0.5":        func(f *fst.Vector[W]) { f.SetFinal(3, 0.5) },
		"input label of arc 0 of state 1: 2 against 7":  func(f *fst.Vector[W]) { f.MutableArcs(1)[0].ILabel = 7 },
		"output label of arc 0 of state 1: 2 against 7": func(f *fst.Vector[W]) { f.MutableArcs(1)[0].OLabel = 7 },
		"weight of arc 0 of state 2: 0 against 1":       func(f *fst.Vector[W]) { f.MutableArcs(2)[0].Weight = 1 },
		"next state of arc 0 of state 2: 3 against 0":   func(f *fst.Vector[W]) { f.MutableArcs(2)[0].NextState = 0 },
		"number of arcs of state 2: 1 against 0":        func(f *fst.Vector[W]) { f.DeleteArcs(2) },
	} {
		f := base()
		change(f)
		if d := Compare[W](base(), f, DefaultDelta); d == nil || d.String() != want {
			t.Errorf("difference is %v, want %q", d, want)
		}
		if Equal[W](base(), f, DefaultDelta) {
			t.Errorf("Equal does not see: %s", want)
		}
	}
	f := base()
	f.MutableArcs(0)[0].Weight = 1.0 / 2048
	if !Equal[W](base(), f, DefaultDelta) || Equal[W](base(), f, 0) {
		t.Error("delta is not heeded")
	}
}

// Renumbered machines are isomorphic; an arc moved, a weight or a label changed
// makes them not so, or leaves the question open where arcs are ambiguous.
func TestIsomorphic(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for i := range 300 {
		a := fsttest.Random(rng, 1+rng.IntN(8), drawTropical, fsttest.Options{Deterministic: true, Cyclic: true, Labels: 4})
		Connect(a)
		b := shuffled(rng, a)
		if ok, err := Isomorphic[semiring.Tropical](a, b, 0); !ok || err != nil {
			t.Fatalf("case %d: %v, %v for the same machine", i, ok, err)
		}
		if a.NumStates() == 0 {
			continue
		}
		q := fst.StateID(rng.IntN(b.NumStates()))
		if b.Final(q).Equal(b.Final(q).Zero()) {
			b.SetFinal(q, 1)
		} else {
			b.SetFinal(q, b.Final(q)+1)
		}
		if ok, err := Isomorphic[semiring.Tropical](a, b, 0); ok || err != nil {
			t.Fatalf("case %d: %v, %v after a final weight changed", i, ok, err)
		}
	}
	// Two arcs with one label, to states that differ only further on.
	make := func(swap bool) *fst.Vector[semiring.Tropical] {
		v := fst.NewVector[semiring.Tropical](3)
		v.AddStates(3)
		v.SetStart(0)
		for q := range fst.StateID(2) {
			v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
		}
		v.SetFinal(1, 0)
		if swap {
			v.SetFinal(1, v.Final(2))
			v.SetFinal(2, 0)
		}
		return v
	}
	ok, err := Isomorphic[semiring.Tropical](make(false), make(true), 0)
	if ok || !errors.Is(err, ErrAmbiguousArcs) || !strings.Contains(err.Error(), "state") {
		t.Errorf("ambiguous arcs: %v, %v", ok, err)
	}
	// Two states that nothing tells apart are not one.
	fork := func(second fst.StateID) *fst.Vector[semiring.Tropical] {
		v := fst.NewVector[semiring.Tropical](3)
		v.AddStates(int(second) + 1)
		v.SetStart(0)
		v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 1})
		v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: second})
		v.SetFinal(1, 0)
		v.SetFinal(second, 0)
		return v
	}
	for _, c := range []struct {
		a, b fst.StateID
		want bool
	}{{2, 1, false}, {1, 2, false}, {1, 1, true}, {2, 2, true}} {
		if ok, err := Isomorphic[semiring.Tropical](fork(c.a), fork(c.b), 0); ok != c.want || err != nil {
			t.Errorf("arcs to %d state(s) and to %d: %v, %v", c.a, c.b, ok, err)
		}
	}
}

// Nondeterministic machines against the definition, over all pairings of states: true
// is right, and so is false where no state has two arcs with one label.
func TestIsomorphicOfNondeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 3))
	var yes, no, undecided, missed int
	for i := range 1500 {
		n := 1 + rng.IntN(4)
		draw := func() *fst.Vector[semiring.Tropical] {
			v := fst.NewVector[semiring.Tropical](n)
			v.AddStates(n)
			v.SetStart(0)
			for q := range fst.StateID(n) {
				for range rng.IntN(4) {
					l := fst.Label(1 + rng.IntN(2))
					v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, NextState: fst.StateID(rng.IntN(n))})
				}
				if rng.IntN(2) == 0 {
					v.SetFinal(q, 0)
				}
			}
			Connect(v)
			return v
		}
		a := draw()
		b := draw()
		if i%2 == 0 {
			b = shuffled(rng, a)
		}
		got, err := Isomorphic[semiring.Tropical](a, b, 0)
		want := isomorphicByPermutations(a, b)
		choice := !fst.PropertiesOf(a, fst.IDeterministic).Has(fst.IDeterministic)
		switch {
		case errors.Is(err, ErrAmbiguousArcs) && choice:
			undecided++
		case !got && want && err == nil && choice:
			missed++
		case err != nil || got != want:
			t.Fatalf("case %d: %v, %v; by the definition %v", i, got, err, want)
		case got:
			yes++
		default:
			no++
		}
	}
	if yes < 300 || no < 300 || undecided < 20 || missed > 100 {
		t.Errorf("%d isomorphic, %d not, %d undecided, %d missed: too few to say much, or too many missed", yes, no, undecided, missed)
	}
}

// A state that is taken is no reason to say that there is no isomorphism while arcs can be paired
// otherwise: 1, 2 and 3 are the ends of all arcs with label 2, and label 1 leads to 3 here, to 1 there.
func TestIsomorphicTakenByChoice(t *testing.T) {
	star := func(first fst.StateID) *fst.Vector[semiring.Tropical] {
		v := fst.NewVector[semiring.Tropical](4)
		v.AddStates(4)
		v.SetStart(0)
		v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: first})
		for q := fst.StateID(1); q < 4; q++ {
			v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: q})
			v.SetFinal(q, 0)
		}
		return v
	}
	if ok, err := Isomorphic[semiring.Tropical](star(3), star(1), 0); ok || !errors.Is(err, ErrAmbiguousArcs) {
		t.Errorf("%v, %v; what was tried is one pairing of several", ok, err)
	}
}

// isomorphicByPermutations is the definition for machines in which all states are
// reached from the start.
func isomorphicByPermutations(a, b *fst.Vector[semiring.Tropical]) bool {
	n := a.NumStates()
	if n != b.NumStates() {
		return false
	}
	if n == 0 {
		return true
	}
	arcs := func(f *fst.Vector[semiring.Tropical], q fst.StateID, image []fst.StateID) []string {
		var out []string
		for _, e := range f.Arcs(q) {
			to := e.NextState
			if image != nil {
				to = image[to]
			}
			out = append(out, fmt.Sprint(e.ILabel, e.OLabel, e.Weight, to))
		}
		slices.Sort(out)
		return out
	}
	image := make([]fst.StateID, 0, n)
	var try func() bool
	try = func() bool {
		if len(image) == n {
			for p := range fst.StateID(n) {
				if !a.Final(p).Equal(b.Final(image[p])) || !slices.Equal(arcs(a, p, image), arcs(b, image[p], nil)) {
					return false
				}
			}
			return image[a.Start()] == b.Start()
		}
		for q := range fst.StateID(n) {
			if !slices.Contains(image, q) {
				image = append(image, q)
				if try() {
					return true
				}
				image = image[:len(image)-1]
			}
		}
		return false
	}
	return try()
}
