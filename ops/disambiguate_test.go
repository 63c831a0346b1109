package ops_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// pathsByInput counts the accepting paths of at most n arcs by the labels of their
// inputs, ε left out.
func pathsByInput[W semiring.Weight[W]](f fst.Expanded[W], n int) map[string]int {
	counts := map[string]int{}
	var walk func(q fst.StateID, in string, left int)
	walk = func(q fst.StateID, in string, left int) {
		if fst.IsFinal(f, q) {
			counts[in]++
		}
		if left == 0 {
			return
		}
		for _, e := range f.Arcs(q) {
			next := in
			if e.ILabel != fst.Epsilon {
				next += fmt.Sprint(e.ILabel, " ")
			}
			walk(e.NextState, next, left-1)
		}
	}
	if f.Start() != fst.NoState {
		walk(f.Start(), "", n)
	}
	return counts
}

// The result has the relation of the input, and one path for each string.
func TestDisambiguateKeepsRelation(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { disambiguateKeepsRelation(t, quarters, 0) })
	t.Run("log64", func(t *testing.T) { disambiguateKeepsRelation(t, logWeight, 1e-9) })
	t.Run("probability", func(t *testing.T) { disambiguateKeepsRelation(t, probability, 1e-12) })
}

func disambiguateKeepsRelation[W interface {
	semiring.Divisible[W]
	semiring.Approx[W]
}](t *testing.T, weight func(*rand.Rand) W, tolerance float64) {
	rng := rand.New(rand.NewPCG(4, 31))
	var compared, transducers, ambiguous, undeterminizable int
	for i := range 1500 {
		o := fsttest.Options{Labels: 2, Degree: 1.7, Acceptor: i%2 == 0, Cyclic: i%3 == 0}
		f := fsttest.Random(rng, 2+rng.IntN(5), weight, o)
		if !o.Acceptor { // few transducers with two paths for a string are functional
			for q := range fst.StateID(f.NumStates()) {
				arcs := f.MutableArcs(q)
				for k := range arcs {
					arcs[k].OLabel = arcs[k].ILabel
					if rng.IntN(6) == 0 {
						arcs[k].OLabel = fst.Label(rng.IntN(3))
					}
				}
			}
			f.SetProperties(0, fst.AllProperties)
		}
		lim := ops.Limits{States: 400, Bytes: 1 << 20}
		got, err := ops.Disambiguate(f, &ops.DisambiguateOptions{Limits: lim})
		if errors.Is(err, ops.ErrNotFunctional) {
			if e, _ := ops.Functional(f, nil); e == nil {
				t.Fatalf("%v, where two paths with one input have one output", err)
			}
			continue
		}
		if errors.Is(err, ops.ErrLimit) || errors.Is(err, ops.ErrTwins) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		compared++
		if !o.Acceptor {
			transducers++
		}
		for in, n := range pathsByInput[W](got, 6) {
			if n > 1 {
				t.Fatalf("machine %d: %d paths for input %q", i, n, in)
			}
		}
		if e, _ := ops.Unambiguous(got, nil); e != nil {
			t.Fatal(e)
		}
		if e, _ := ops.Unambiguous(f, nil); e != nil {
			ambiguous++
		}
		if o.Acceptor {
			if _, err := ops.Determinize(f, &ops.DeterminizeOptions{Limits: lim}); err != nil {
				undeterminizable++
			}
		}
		if diff := cmp.Diff(fsttest.Relation(f, 5), fsttest.Relation(got, 5), fsttest.Within[W](tolerance)); diff != "" {
			t.Fatalf("machine %d (-want +got):\n%s", i, diff)
		}
	}
	if compared < 900 || ambiguous < 100 || transducers < 300 || undeterminizable < 5 {
		t.Fatalf("only %d machines compared, %d of them ambiguous, %d transducers, %d that cannot be determinized", compared, ambiguous, transducers, undeterminizable)
	}
}

// Pruned machines are unambiguous too, and have a part of the relation with the
// best string.
func TestDisambiguatePruned(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 32))
	smaller := 0
	for i := range 400 {
		f := fsttest.Random(rng, 2+rng.IntN(5), quarters, fsttest.Options{Labels: 2, Degree: 1.7, Acceptor: true})
		limit := semiring.Tropical(rng.IntN(4)) / 2
		var o ops.DisambiguatePrunedOptions[semiring.Tropical]
		o.Prune.Threshold = &limit
		got, err := ops.DisambiguatePruned(f, &o)
		if err != nil {
			t.Fatal(err)
		}
		for in, n := range pathsByInput[semiring.Tropical](got, 8) {
			if n > 1 {
				t.Fatalf("machine %d: %d paths for input %q", i, n, in)
			}
		}
		want, have := fsttest.Relation(f, -1), fsttest.Relation(got, -1)
		best := semiring.Zero[semiring.Tropical]()
		for _, w := range want {
			best = best.Plus(w)
		}
		for p, w := range have {
			if want[p] != w {
				t.Fatalf("machine %d: %v has weight %v, not %v", i, p, w, want[p])
			}
		}
		for p, w := range want {
			if _, ok := have[p]; !ok && w <= best+limit {
				t.Fatalf("machine %d: %v, of weight %v, is gone (best %v, limit %v)", i, p, w, best, limit)
			}
		}
		if len(have) < len(want) {
			smaller++
		}
	}
	if smaller < 50 {
		t.Fatalf("only %d machines were pruned", smaller)
	}
}

func TestDisambiguateLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	// 1 reads a with weight 1, 2 with weight 2, and both end by b: they share a future.
	f := fst.NewVector[semiring.Tropical](4)
	f.AddStates(5)
	f.SetStart(0)
	arc := func(from fst.StateID, l fst.Label, w semiring.Tropical, to fst.StateID) {
		f.AddArc(from, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, Weight: w, NextState: to})
	}
	arc(0, 1, 0, 2)
	arc(0, 1, 0, 3)
	arc(2, 1, 1, 2)
	arc(3, 1, 2, 3)
	arc(2, 2, 5, 4)
	arc(3, 2, 0, 4)
	f.SetFinal(4, 0)
	_, err := ops.Disambiguate(f, nil)
	var twins *ops.TwinsError
	if !errors.As(err, &twins) {
		t.Fatalf("no end, and the error is %v", err)
	}
	for i, q := range twins.Left.States[twins.Cycle:] {
		if q != 2 && q != 3 || twins.Right.States[twins.Cycle+i] == q {
			t.Fatalf("cycles at states %v and %v; 2 and 3 are the only ones", twins.Left.States, twins.Right.States)
		}
	}
	if _, err := ops.Disambiguate(f, &ops.DisambiguateOptions{Limits: ops.Limits{States: 20}}); !errors.Is(err, ops.ErrLimit) || !errors.Is(err, ops.ErrTwins) {
		t.Fatalf("with a limit: %v", err)
	}
	// Without the shared future there is nothing to do, though it cannot be determinized.
	f.MutableArcs(3)[1].ILabel, f.MutableArcs(3)[1].OLabel = 3, 3
	f.SetProperties(0, fst.AllProperties)
	got, err := ops.Disambiguate(f, nil)
	if err != nil || got.NumStates() != 4 || got.NumArcs() != 6 {
		t.Fatalf("%v, %v", got, err)
	}
	if empty, err := ops.Disambiguate(fst.NewVector[semiring.Tropical](0), nil); err != nil || empty.NumStates() != 0 {
		t.Fatalf("of the empty machine: %v, %v", empty, err)
	}
}

func TestDisambiguateAsOpenFst(t *testing.T) {
	t.Run("tropical", disambiguateAsOpenFst[semiring.Tropical])
	t.Run("log", disambiguateAsOpenFst[semiring.Log])
	t.Run("log64", disambiguateAsOpenFst[semiring.Log64])
}

func disambiguateAsOpenFst[W numeric[W]](t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 41))
	done := 0
	for n, tried := machines(t, 15), 0; done < n && tried < 20*n; tried++ {
		s := randomShape(rng)
		s.acceptor = rng.IntN(4) != 0
		f := draw[W](rng, s)
		got, err := ops.Disambiguate(f, &ops.DisambiguateOptions{Delta: openfstDelta, Limits: ops.Limits{States: 200}})
		if errors.Is(err, ops.ErrLimit) || errors.Is(err, ops.ErrTwins) || errors.Is(err, ops.ErrNotFunctional) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if fst.PropertiesOf[W](f, fst.Acceptor)&fst.Acceptor == 0 {
			// Where outputs are left over, OpenFst's numbers of heads are wrong.
			if d, err := ops.Determinize(f, nil); err != nil || hasRest[W](f, d) {
				continue
			}
		}
		done++
		write(p, "in", f)
		p.must("fstdisambiguate", "in", "out")
		if !sameAs(p, "out", got, 1e-3) {
			t.Fatalf("machine %d:\n%s", tried, p.show("in", "out", "ours"))
		}
	}
	if done < 10 {
		t.Fatalf("only %d machines compared", done)
	}
}

// hasRest reports whether d, f determinized, puts out labels at final states.
func hasRest[W semiring.Weight[W]](f, d fst.Expanded[W]) bool {
	p, _ := fst.Compute(fst.Fst[W](d), fst.IEpsilons)
	q, _ := fst.Compute(fst.Fst[W](f), fst.IEpsilons)
	return p&fst.IEpsilons != 0 || q&fst.IEpsilons != 0
}
