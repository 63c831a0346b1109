package ops_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func quarters(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(5)) / 4 }

// checkPath fails unless p is a path of f from the start, and returns whether it
// ends in a final state.
func checkPath[W semiring.Weight[W]](t *testing.T, f *fst.Vector[W], p *ops.Path) bool {
	t.Helper()
	if len(p.States) != len(p.ILabels)+1 || len(p.ILabels) != len(p.OLabels) || p.States[0] != f.Start() {
		t.Fatalf("not a path: %v", p)
	}
	for i, l := range p.ILabels {
		if !slices.ContainsFunc(f.Arcs(p.States[i]), func(e fst.Arc[W]) bool {
			return e.ILabel == l && e.OLabel == p.OLabels[i] && e.NextState == p.States[i+1]
		}) {
			t.Fatalf("no arc %d of %v", i, p)
		}
	}
	return fst.IsFinal[W](f, p.States[len(p.States)-1])
}

// paths calls visit for every accepting path of f of at most n arcs.
func paths[W semiring.Weight[W]](f *fst.Vector[W], n int, visit func(in, out []fst.Label)) {
	var walk func(q fst.StateID, in, out []fst.Label)
	walk = func(q fst.StateID, in, out []fst.Label) {
		if fst.IsFinal[W](f, q) {
			visit(in, out)
		}
		if len(in) == n {
			return
		}
		for _, e := range f.Arcs(q) {
			walk(e.NextState, append(in, e.ILabel), append(out, e.OLabel))
		}
	}
	if f.Start() != fst.NoState {
		walk(f.Start(), nil, nil)
	}
}

func key(l []fst.Label, epsilons bool) string {
	var b strings.Builder
	for _, x := range l {
		if x != 0 || epsilons {
			b.WriteRune(rune('a' + x))
		}
	}
	return b.String()
}

// multiply adds arcs beside some of f, a few of them with other outputs unless f is to stay an acceptor.
func multiply(rng *rand.Rand, f *fst.Vector[semiring.Tropical], acceptor bool) {
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range slices.Clone(f.Arcs(q)) {
			for rng.IntN(4) == 0 {
				if !acceptor && rng.IntN(2) == 0 {
					e.OLabel = fst.Label(rng.IntN(4))
				}
				e.Weight = quarters(rng)
				f.AddArc(q, e)
			}
		}
	}
}

func TestUnambiguous(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	var yes, no int
	for range 2000 {
		f := fsttest.Random(rng, 1+rng.IntN(4), quarters, fsttest.Options{
			Labels: 2, Degree: 1.2, Cyclic: rng.IntN(2) == 0, Acceptor: rng.IntN(2) == 0, Epsilon: 0.1})
		if rng.IntN(4) == 0 {
			multiply(rng, f, false)
		}
		got, err := ops.Unambiguous(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got != nil {
			no++
			if !checkPath(t, f, &got.Left) || !checkPath(t, f, &got.Right) {
				t.Fatalf("not accepting: %v", got)
			}
			if !slices.Equal(got.Left.ILabels, got.Right.ILabels) {
				t.Fatalf("labels differ: %v", got)
			}
			if slices.Equal(got.Left.States, got.Right.States) && got.Left.Weight == got.Right.Weight && parallelArcs(f) == 0 {
				t.Fatalf("one path twice: %v", got)
			}
			seen := map[string]bool{}
			paths(f, min(len(got.Left.ILabels)-1, 8), func(in, _ []fst.Label) {
				if k := key(in, true); seen[k] {
					t.Fatalf("shorter than %v: %q\n%s", got, k, printText(f))
				} else {
					seen[k] = true
				}
			})
			continue
		}
		yes++
		seen := map[string]bool{}
		paths(f, 7, func(in, _ []fst.Label) {
			if k := key(in, true); seen[k] {
				t.Fatalf("two paths accept %q:\n%s", k, printText(f))
			} else {
				seen[k] = true
			}
		})
	}
	if yes < 200 || no < 200 {
		t.Fatalf("%d unambiguous, %d ambiguous: one-sided", yes, no)
	}
}

func parallelArcs[W semiring.Weight[W]](f *fst.Vector[W]) (n int) {
	for q := range fst.StateID(f.NumStates()) {
		for i, e := range f.Arcs(q) {
			for _, g := range f.Arcs(q)[:i] {
				if e.ILabel == g.ILabel && e.NextState == g.NextState {
					n++
				}
			}
		}
	}
	return n
}

func TestFunctional(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var yes, no int
	for range 2000 {
		f := fsttest.Random(rng, 1+rng.IntN(4), quarters, fsttest.Options{
			Labels: 2, Degree: 1, Cyclic: rng.IntN(2) == 0, Epsilon: 0.3, EpsilonCycles: true})
		if rng.IntN(2) == 0 {
			multiply(rng, f, false)
		}
		got, err := ops.Functional(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got != nil {
			no++
			if !checkPath(t, f, &got.Left) || !checkPath(t, f, &got.Right) || key(got.Left.ILabels, false) != key(got.Right.ILabels, false) ||
				slices.Equal(got.Left.Output(), got.Right.Output()) {
				t.Fatalf("no evidence: %v", got)
			}
			// No two paths of fewer steps are evidence.
			epsilons := func(in []fst.Label) (n int) {
				for _, l := range in {
					if l == fst.Epsilon {
						n++
					}
				}
				return n
			}
			steps := len(got.Left.ILabels) + epsilons(got.Right.ILabels)
			least := map[string]map[string]int{} // of each input and output, the fewest ε on a path
			paths(f, min(steps-1, 7), func(in, out []fst.Label) {
				x, y, n := key(in, false), key(out, false), epsilons(in)
				if least[x] == nil {
					least[x] = map[string]int{}
				}
				if m, ok := least[x][y]; !ok || n < m {
					least[x][y] = n
				}
				for z, m := range least[x] {
					if z != y && len(in)+m < steps {
						t.Fatalf("fewer steps than %v: %q gives %q and %q\n%s", got, x, y, z, printText(f))
					}
				}
			})
			continue
		}
		yes++
		outputs := map[string]string{}
		paths(f, 6, func(in, out []fst.Label) {
			x, y := key(in, false), key(out, false)
			if z, ok := outputs[x]; ok && z != y {
				t.Fatalf("%q gives %q and %q:\n%s", x, y, z, printText(f))
			}
			outputs[x] = y
		})
	}
	if yes < 300 || no < 300 {
		t.Fatalf("%d functional, %d not: one-sided", yes, no)
	}
}

// On trim unambiguous machines the twins property decides: with it Determinize
// comes to an end, without it Determinize says so of itself, without limits.
func TestTwinsDecides(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	var yes, no int
	for yes < 60 || no < 60 {
		f := fsttest.Random(rng, 2+rng.IntN(5), quarters, fsttest.Options{
			Labels: 2, Degree: 1.5, Cyclic: true, Acceptor: rng.IntN(2) == 0, Epsilon: 0.1})
		ops.Connect(f)
		if a, err := ops.Unambiguous(f, nil); a != nil || err != nil {
			continue
		}
		if a, err := ops.Functional(f, nil); a != nil || err != nil {
			continue
		}
		breach, err := ops.Twins(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		det, err := ops.Determinize(f, nil)
		if breach == nil {
			yes++
			if err != nil {
				t.Fatalf("twins hold, Determinize: %v\n%s", err, printText(f))
			}
			continue
		}
		no++
		var e *ops.TwinsError
		if !errors.As(err, &e) || !errors.Is(err, ops.ErrTwins) {
			t.Fatalf("no twins (%v), Determinize: %v, %v", breach, det, err)
		}
		if !e.Exact || e.States > 10000 {
			t.Fatalf("not a proof, or too late: %v", e)
		}
		for _, b := range []*ops.TwinsError{breach, e} {
			checkPath(t, f, &b.Left)
			checkPath(t, f, &b.Right)
			n := len(b.Left.States) - 1
			if !slices.Equal(b.Left.ILabels, b.Right.ILabels) || b.Cycle >= n ||
				b.Left.States[b.Cycle] != b.Left.States[n] || b.Right.States[b.Cycle] != b.Right.States[n] || b.LeftFactor == b.RightFactor && !conjugate(b) {
				t.Fatalf("no evidence: %v", b)
			}
			if b.Error() == "" {
				t.Fatal("an error without words")
			}
		}
	}
}

// conjugate: cycles with one weight and the same outputs may still change the
// lead, when the outputs before them do not commute with them.
func conjugate(b *ops.TwinsError) bool {
	n := len(b.Left.OLabels)
	out := func(p *ops.Path, to int) string { return key(p.OLabels[:to], false) }
	l0, r0 := out(&b.Left, b.Cycle), out(&b.Right, b.Cycle)
	l1, r1 := out(&b.Left, n), out(&b.Right, n)
	lead := func(x, y string) [2]string {
		for x != "" && y != "" && x[0] == y[0] {
			x, y = x[1:], y[1:]
		}
		return [2]string{x, y}
	}
	return lead(l0, r0) != lead(l1, r1)
}

// An ambiguous machine whose subsets grow for ever, over weights for which that is not proved, stops without limits, with
// the breach as a suspicion; with a limit, the limit's error carries it.
func TestDeterminizeSuspects(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	// a*b, each a for 0 or 1 on the two branches; ambiguity at the branch 2.
	f := fst.NewVector[semiring.Log](5)
	f.AddStates(5)
	f.SetStart(0)
	arc := func(p, q fst.StateID, l fst.Label, w semiring.Log) {
		f.AddArc(p, fst.Arc[semiring.Log]{ILabel: l, OLabel: l, Weight: w, NextState: q})
	}
	arc(0, 1, 1, 0)
	arc(0, 2, 1, 0)
	arc(0, 4, 1, 0)
	arc(4, 2, 1, 3)
	arc(1, 1, 1, 0)
	arc(2, 2, 1, 1)
	arc(1, 3, 2, 0)
	arc(2, 3, 3, 0)
	f.SetFinal(3, 0)
	_, err := ops.Determinize(f, nil)
	var twins *ops.TwinsError
	if !errors.As(err, &twins) || twins.Exact || twins.States < 1<<18 {
		t.Fatalf("Determinize: %v", err)
	}
	_, err = ops.Determinize(f, &ops.DeterminizeOptions{Limits: ops.Limits{States: 50}})
	var limit *ops.LimitError
	var d *ops.DeterminizeError
	if !errors.As(err, &limit) || !errors.As(err, &twins) || !errors.As(err, &d) || d.Growing == nil || len(d.Growing.States) != 3 {
		t.Fatalf("Determinize with a limit: %v", err)
	}
	for _, want := range []string{"stopped", "twins", "largest", "50 states"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

func TestDeterminizeReportsTwoOutputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	n := 0
	for range 3000 {
		f := fsttest.Random(rng, 2+rng.IntN(5), quarters, fsttest.Options{Labels: 2, Degree: 1.5, Epsilon: 0.2})
		_, err := ops.Determinize(f, nil)
		var e *ops.FunctionalError
		if !errors.As(err, &e) {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		n++
		l, r := checkPath(t, f, &e.Left), checkPath(t, f, &e.Right)
		if !slices.Equal(e.Left.ILabels, e.Right.ILabels) || slices.Equal(e.Left.Output(), e.Right.Output()) || e.Final != (l && r) {
			t.Fatalf("no evidence: %v\n%s", err, printText(f))
		}
	}
	if n < 100 {
		t.Fatalf("only %d machines with two outputs", n)
	}
}

// Arcs of weight 0̄ put nothing out: with them a transducer has two outputs just if it has without, the
// evidence is without them, and the relation is the same.
func TestDeterminizeWithArcsOfZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 11))
	twoOutputs, compared := 0, 0
	for range 4000 {
		f := fsttest.Random(rng, 2+rng.IntN(4), func(rng *rand.Rand) semiring.Tropical {
			if rng.IntN(3) == 0 {
				return semiring.Zero[semiring.Tropical]()
			}
			return quarters(rng)
		}, fsttest.Options{Labels: 2, Degree: 2, Epsilon: 0.2})
		without := f.Clone()
		for q := range fst.StateID(f.NumStates()) {
			without.SetArcs(q, slices.DeleteFunc(slices.Clone(f.Arcs(q)), func(e fst.Arc[semiring.Tropical]) bool {
				return semiring.IsZero(e.Weight)
			}))
		}
		o := &ops.DeterminizeOptions{Limits: ops.Limits{States: 400}}
		d, err := ops.Determinize(f, o)
		_, want := ops.Determinize(without, o)
		var e *ops.FunctionalError
		if errors.As(err, &e) != errors.Is(want, ops.ErrNotFunctional) {
			t.Fatalf("%v, without arcs of weight 0̄ %v\n%s", err, want, printText(f))
		}
		switch {
		case e != nil:
			twoOutputs++
			l, r := checkPath(t, without, &e.Left), checkPath(t, without, &e.Right)
			if !slices.Equal(e.Left.ILabels, e.Right.ILabels) || slices.Equal(e.Left.Output(), e.Right.Output()) || e.Final != (l && r) {
				t.Fatalf("no evidence: %v\n%s", err, printText(f))
			}
		case err == nil:
			compared++
			if diff := cmp.Diff(fsttest.Relation(f, 4), fsttest.Relation(d, 4)); diff != "" {
				t.Fatalf("(-want +got):\n%s\n%s", diff, printText(f))
			}
		}
	}
	if twoOutputs < 100 || compared < 1000 {
		t.Fatalf("only %d machines with two outputs, %d compared", twoOutputs, compared)
	}
}
