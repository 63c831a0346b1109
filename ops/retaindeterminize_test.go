package ops

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// A subset that was kept is found again where residuals are compared by factors: 2 leads to what 1 leads to, but for a
// factor that is less than rounding errors make. So it is before states are forgotten.
func TestRetainFindsSubsetsByFactors(t *testing.T) {
	type W = semiring.Probability
	arcs := func(f *fst.Vector[W], label fst.Label, left, right W) {
		f.AddArc(0, fst.Arc[W]{ILabel: label, OLabel: label, Weight: left, NextState: 1})
		f.AddArc(0, fst.Arc[W]{ILabel: label, OLabel: label, Weight: right, NextState: 2})
	}
	for _, tiny := range []W{1e-13, -1e-13, 1e-12} {
		f := fst.NewVector[W](3)
		f.AddStates(3)
		f.SetStart(0)
		arcs(f, 1, 0.5, 1e-9)
		arcs(f, 2, 0.5, 1e-9*(1+tiny))
		for q := range fst.StateID(2) {
			f.SetFinal(q+1, 0.5)
			f.AddArc(q+1, fst.Arc[W]{ILabel: 3, OLabel: 3, Weight: 0.5, NextState: q + 1})
		}
		for _, g := range []fst.Fst[W]{f, struct{ fst.Fst[W] }{f}} {
			lazy := fsttest.Must(DeterminizeLazy(g, &DeterminizeOptions{Delta: FactorDelta}, nil))
			a := lazy.Arcs(lazy.Start())
			if len(a) != 2 || a[0].NextState != a[1].NextState {
				t.Fatalf("two states before anything is forgotten: %v", a)
			}
			kept := a[0].NextState
			if !lazy.Retain([]fst.StateID{kept}) {
				t.Fatal("cannot forget")
			}
			if a = lazy.Arcs(lazy.Start()); a[0].NextState != kept || a[1].NextState != kept {
				t.Errorf("%v: state %d was kept, and arcs lead to %v", tiny, kept, a)
			}
		}
	}
}

// A subset of one state, whose residual is 1̄ but for a rounding error, is one whether the number of input states is known or not.
func TestSubsetsOfOneStateByFactors(t *testing.T) {
	type W = semiring.Expectation
	f := fst.NewVector[W](2)
	f.AddStates(2)
	f.SetStart(0)
	f.SetFinal(1, W{P: 1})
	for l, w := range []W{{P: 0.5, R: 0.15}, {P: 0.25, R: 0.075 + 1e-16}, {P: 0.25, R: 0.075}} {
		f.AddArc(0, fst.Arc[W]{ILabel: fst.Label(l + 1), OLabel: fst.Label(l + 1), Weight: w, NextState: 1})
	}
	f.AddArc(1, fst.Arc[W]{ILabel: 1, OLabel: 1, Weight: W{P: 0.5, R: 1}, NextState: 1})
	o := &DeterminizeOptions{Delta: FactorDelta, Limits: Limits{States: 50}}
	known, err := Determinize[W](f, o)
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := Determinize[W](struct{ fst.Fst[W] }{f}, o)
	if err != nil {
		t.Fatal(err)
	}
	if known.NumStates() != 2 || unknown.NumStates() != 2 {
		t.Errorf("%d and %d states, not 2", known.NumStates(), unknown.NumStates())
	}
}

// A conflict of outputs that is found behind what was forgotten has evidence that begins at a state that was kept, and says so.
func TestRetainConflict(t *testing.T) {
	type W = semiring.Tropical
	rng := rand.New(rand.NewPCG(31, 7))
	var kept, whole int
	for range 3000 {
		f := fsttest.Random(rng, 3+rng.IntN(6), drawTropical, fsttest.Options{Labels: 2, Degree: 2, Start: true})
		lazy := fsttest.Must(DeterminizeLazy[W](f, nil, nil))
		q := lazy.Start()
		var read []fst.Label    // from the start to q
		var roots [][]fst.Label // what was read when states were forgotten
		for range 12 {
			arcs := lazy.Arcs(q)
			if len(arcs) == 0 {
				break
			}
			e := arcs[rng.IntN(len(arcs))]
			if q = e.NextState; e.ILabel == fst.Epsilon && len(lazy.Arcs(q)) == 0 {
				break // the rest of an output
			}
			read = append(read, e.ILabel)
			if rng.IntN(2) == 0 {
				if lazy.Retain([]fst.StateID{q}) {
					roots = append(roots, slices.Clone(read))
				}
			}
		}
		var conflict *FunctionalError
		if err := lazy.Err(); err == nil || !errors.As(err, &conflict) {
			continue
		}
		isPath(t, f, &conflict.Left)
		isPath(t, f, &conflict.Right)
		left, right := conflict.Left.States, conflict.Right.States
		last := func(p *Path) fst.StateID { return p.States[len(p.States)-1] }
		if x, y := last(&conflict.Left), last(&conflict.Right); conflict.Final && (!fst.IsFinal[W](f, x) || !fst.IsFinal[W](f, y)) || !conflict.Final && x != y {
			t.Fatalf("%v does not end so", conflict)
		}
		outputs := [2][]fst.Label{slices.Concat(conflict.LeftBefore, conflict.Left.Output()), slices.Concat(conflict.RightBefore, conflict.Right.Output())}
		if !slices.Equal(conflict.Left.ILabels, conflict.Right.ILabels) || slices.Equal(outputs[0], outputs[1]) {
			t.Fatalf("%v is no conflict", conflict)
		}
		if !conflict.Kept {
			whole++
			if left[0] != f.Start() || right[0] != f.Start() || conflict.LeftBefore != nil || conflict.RightBefore != nil {
				t.Fatalf("%v does not begin at the start", conflict)
			}
			continue
		}
		kept++
		if !strings.Contains(conflict.Error(), "Retain") {
			t.Fatalf("%v does not say that it begins at a state that was kept", conflict)
		}
		// One of the strings that were read when states were forgotten takes the start to both, with outputs that end so.
		if !slices.ContainsFunc(roots, func(in []fst.Label) bool {
			a, b := outputsTo(f, in, left[0]), outputsTo(f, in, right[0])
			for _, x := range a {
				for _, y := range b {
					u, okU := cutSuffix(x, conflict.LeftBefore)
					v, okV := cutSuffix(y, conflict.RightBefore)
					if okU && okV && slices.Equal(u, v) {
						return true
					}
				}
			}
			return false
		}) {
			t.Fatalf("%v: no string of %v leads to its beginnings", conflict, roots)
		}
	}
	if kept < 50 || whole < 50 {
		t.Errorf("only %d conflicts behind what was forgotten, and %d others", kept, whole)
	}
}

func cutSuffix(s, suffix []fst.Label) ([]fst.Label, bool) {
	n := len(s) - len(suffix)
	if n < 0 || !slices.Equal(s[n:], suffix) {
		return nil, false
	}
	return s[:n], true
}

// isPath fails where p is not a path of f.
func isPath(t *testing.T, f *fst.Vector[semiring.Tropical], p *Path) {
	t.Helper()
	for i, l := range p.ILabels {
		if !slices.ContainsFunc(f.Arcs(p.States[i]), func(e fst.Arc[semiring.Tropical]) bool {
			return e.ILabel == l && e.OLabel == p.OLabels[i] && e.NextState == p.States[i+1]
		}) {
			t.Fatalf("%v is no path", p)
		}
	}
}

// outputsTo returns the outputs of the paths from the start to q on the given input.
func outputsTo(f *fst.Vector[semiring.Tropical], in []fst.Label, q fst.StateID) (outputs [][]fst.Label) {
	var follow func(p fst.StateID, i int, out []fst.Label)
	follow = func(p fst.StateID, i int, out []fst.Label) {
		if i == len(in) {
			if p == q {
				outputs = append(outputs, slices.Clone(out))
			}
			return
		}
		for _, e := range f.Arcs(p) {
			if e.ILabel == in[i] {
				if e.OLabel == fst.Epsilon {
					follow(e.NextState, i+1, out)
				} else {
					follow(e.NextState, i+1, append(out, e.OLabel))
				}
			}
		}
	}
	follow(f.Start(), 0, nil)
	return outputs
}

// Strings that are kept say the same where they have come to lie, and each label that several of them share lies there once.
func TestRetainMovesStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 11))
	for range 2000 {
		a := &outputResiduals[semiring.Tropical]{}
		for range retainedLeast + 1 + rng.IntN(100) {
			a.kept = append(a.kept, fst.Label(rng.IntN(1000)))
		}
		var strings []outResidual[semiring.Tropical]
		var want [][]fst.Label
		needed := map[int32]bool{}
		for range rng.IntN(12) {
			r := outResidual[semiring.Tropical]{s: outString{n: int32(rng.IntN(12)) - 1}}
			switch {
			case r.s.n == 1:
				r.s.at = 7
			case r.s.n > 1:
				r.s.at = int32(rng.IntN(len(a.kept) - int(r.s.n) + 1))
				for i := range r.s.n {
					needed[r.s.at+i] = true
				}
			}
			strings = append(strings, r)
			want = append(want, slices.Clone(a.outputBefore(r)))
		}
		a.only(func(yield func(*outResidual[semiring.Tropical]) bool) {
			for i := range strings {
				if !yield(&strings[i]) {
					return
				}
			}
		})
		for i, r := range strings {
			if got := a.outputBefore(r); !slices.Equal(got, want[i]) {
				t.Fatalf("string %d is %v, and was %v", i, got, want[i])
			}
		}
		if len(a.kept) != len(needed) {
			t.Fatalf("%d labels are kept, %d needed", len(a.kept), len(needed))
		}
	}
}
