package ops

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// Relabel, Subtract, Replace, Synchronize and EpsNormalize against what they mean
// for relations, by enumeration.

func acceptedBy(p fsttest.Pair, f *fst.Vector[semiring.Log64]) bool {
	_, ok := fsttest.Relation[semiring.Log64](f, -1)[p]
	return ok
}

func TestSubtractAgainstRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	removed := 0
	for i := range 200 {
		a := fsttest.Random(rng, 1+rng.IntN(6), drawLog64, fsttest.Options{Acceptor: true, Epsilon: 0.2, Degree: 2.5, Labels: 2})
		b := fsttest.Random(rng, rng.IntN(6), drawLog64, fsttest.Options{Acceptor: true, Deterministic: true, Sorted: true, Labels: 2, Final: 0.7})
		RmWeight(b)
		got := fsttest.Must(Subtract[semiring.Log64](a, b, nil))
		want := fsttest.Relation[semiring.Log64](a, -1)
		for p := range want {
			if acceptedBy(p, b) {
				delete(want, p)
				removed++
			}
		}
		if diff := cmp.Diff(want, fsttest.Relation[semiring.Log64](got, -1), fsttest.Within[semiring.Log64](1e-9)); diff != "" {
			t.Fatalf("case %d (-want +got):\n%s", i, diff)
		}
		truthful(t, "Subtract", got)
	}
	if removed == 0 {
		t.Error("nothing was subtracted from anything")
	}
	two := fsttest.String[semiring.Log64](1)
	two.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: 1})
	for _, c := range []struct {
		b   func() *fst.Vector[semiring.Log64]
		err error
	}{
		{func() *fst.Vector[semiring.Log64] { return two }, ErrNotDeterministic},
		{func() *fst.Vector[semiring.Log64] {
			f := fsttest.String[semiring.Log64](1)
			f.MutableArcs(0)[0].OLabel = 2
			f.SetProperties(0, fst.AllProperties)
			return f
		}, ErrNotAcceptor},
		{func() *fst.Vector[semiring.Log64] {
			f := fsttest.String[semiring.Log64](2)
			f.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: 1})
			return f
		}, ErrNotSorted},
	} {
		if _, err := Subtract[semiring.Log64](fsttest.String[semiring.Log64](1), c.b(), nil); !errors.Is(err, c.err) {
			t.Errorf("error %v, not %v", err, c.err)
		}
	}
}

func TestRelabelAgainstRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 1))
	change := func(s, digits string) string { // label l becomes the l-th of digits
		var out []string
		for _, l := range strings.Fields(s) {
			n, _ := strconv.Atoi(l)
			if digits[n] != '0' {
				out = append(out, digits[n:n+1])
			}
		}
		return strings.Join(out, " ")
	}
	for i := range 100 {
		f := fsttest.Random(rng, 1+rng.IntN(6), drawLog64, fsttest.Options{Epsilon: 0.2})
		g := f.Clone()
		if err := Relabel(g, []fst.LabelPair{{From: 1, To: 2}, {From: 2, To: 1}, {From: 1, To: 9}}, []fst.LabelPair{{From: 3, To: 0}}); err != nil {
			t.Fatal(err)
		}
		want := fsttest.MapRelation(fsttest.Relation[semiring.Log64](f, -1), func(p fsttest.Pair) fsttest.Pair {
			return fsttest.Pair{In: change(p.In, "0213"), Out: change(p.Out, "0120")}
		})
		if diff := cmp.Diff(want, fsttest.Relation[semiring.Log64](g, -1), fsttest.Within[semiring.Log64](1e-9)); diff != "" {
			t.Fatalf("case %d (-want +got):\n%s", i, diff)
		}
		truthful(t, "Relabel", g)
	}
	f := fsttest.String[semiring.Log64](1, 2)
	err := Relabel(f, []fst.LabelPair{{From: 1, To: 5}, {From: 2, To: fst.NoLabel}}, nil)
	var at *StateError
	if !errors.Is(err, ErrNoTarget) || !errors.As(err, &at) || at.State != 1 || f.Arcs(0)[0].ILabel != 1 {
		t.Errorf("%v; label %d", err, f.Arcs(0)[0].ILabel)
	}
}

func TestSynchronizeAgainstRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 1))
	for i := range 200 {
		f := fsttest.Random(rng, 1+rng.IntN(6), drawLog64, fsttest.Options{Epsilon: 0.4, Labels: 2})
		g := fsttest.Must(Synchronize[semiring.Log64](f, Limits{}))
		if diff := cmp.Diff(fsttest.Relation[semiring.Log64](f, -1), fsttest.Relation[semiring.Log64](g, -1), fsttest.Within[semiring.Log64](1e-9)); diff != "" {
			t.Fatalf("case %d (-want +got):\n%s", i, diff)
		}
		truthful(t, "Synchronize", g)
		for p := range fst.Paths(g, nil) { // in step until one side is at its end
			in, out := true, true
			for _, e := range p.Arcs {
				if e.ILabel == fst.Epsilon && e.OLabel == fst.Epsilon {
					continue
				}
				if e.ILabel != fst.Epsilon && !in || e.OLabel != fst.Epsilon && !out {
					t.Fatalf("case %d: path %v is out of step", i, p.Arcs)
				}
				in, out = e.ILabel != fst.Epsilon, e.OLabel != fst.Epsilon
			}
		}
	}
	f := fst.NewVector[semiring.Log64](1) // the delay grows
	f.AddStates(1)
	f.SetStart(0)
	f.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1})
	if _, err := Synchronize[semiring.Log64](f, Limits{States: 50}); !errors.Is(err, ErrUnboundedDelay) {
		t.Error(err)
	}
}

func TestEpsNormalizeAgainstRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(74, 1))
	for i := range 200 {
		side := Side(i % 2)
		f := fsttest.Random(rng, 1+rng.IntN(6), drawLog64, fsttest.Options{Epsilon: 0.4, Labels: 2})
		g := fsttest.Must(EpsNormalize[semiring.Log64](f, side, Limits{}))
		if diff := cmp.Diff(fsttest.Relation[semiring.Log64](f, -1), fsttest.Relation[semiring.Log64](g, -1), fsttest.Within[semiring.Log64](1e-9)); diff != "" {
			t.Fatalf("case %d (-want +got):\n%s", i, diff)
		}
		truthful(t, "EpsNormalize", g)
		for p := range fst.Paths(g, nil) {
			seen := false
			for _, e := range p.Arcs {
				l := e.ILabel
				if side == Output {
					l = e.OLabel
				}
				if seen && l != fst.Epsilon {
					t.Fatalf("case %d: ε before a label on the %v of %v", i, side, p.Arcs)
				}
				seen = seen || l == fst.Epsilon
			}
		}
	}
	f := fst.NewVector[semiring.Log64](1)
	f.AddStates(1)
	f.SetStart(0)
	f.SetFinal(0, 0)
	f.AddArc(0, fst.Arc[semiring.Log64]{OLabel: 1, Weight: 1})
	if _, err := EpsNormalize[semiring.Log64](f, Input, Limits{}); !errors.Is(err, ErrNotClosed) {
		t.Error(err)
	}
	f.SetFinal(0, semiring.Zero[semiring.Log64]()) // no path uses it
	if _, err := EpsNormalize[semiring.Log64](f, Input, Limits{}); err != nil {
		t.Error(err)
	}
}

// Sums round cycles of ε on both sides are those of the inverse of I-A, also with outputs on the way there,
// and where cycles lose little; over an idempotent ⊕ they are the best path; what diverges is an error.
func TestEpsNormalizeSumsCycles(t *testing.T) {
	a := [2][2]float64{{0.26, 0.38}, {0.74, 0.4999}} // of I-A the determinant is 0.089
	f, g := fst.NewVector[semiring.Log64](3), fst.NewVector[semiring.Tropical](3)
	f.AddStates(3)
	g.AddStates(3)
	f.SetStart(0)
	g.SetStart(0)
	f.SetFinal(2, semiring.Log64(-math.Log(0.5)))
	g.SetFinal(2, 0.5)
	f.AddArc(0, fst.Arc[semiring.Log64]{OLabel: 7, NextState: 1})
	g.AddArc(0, fst.Arc[semiring.Tropical]{OLabel: 7, NextState: 1})
	for i := range 2 {
		for j := range 2 {
			f.AddArc(fst.StateID(1+i), fst.Arc[semiring.Log64]{Weight: semiring.Log64(-math.Log(a[i][j])), NextState: fst.StateID(1 + j)})
			g.AddArc(fst.StateID(1+i), fst.Arc[semiring.Tropical]{Weight: semiring.Tropical(1 + i + 2*j), NextState: fst.StateID(1 + j)})
		}
	}
	want := 0.5 * a[0][1] / ((1-a[0][0])*(1-a[1][1]) - a[0][1]*a[1][0])
	for p, w := range fsttest.Relation[semiring.Log64](fsttest.Must(EpsNormalize[semiring.Log64](f, Input, Limits{})), -1) {
		if p.In != "" || p.Out == "" || math.Abs(math.Exp(-float64(w))-want) > 1e-9*want {
			t.Errorf("%v: %v, want %v", p, math.Exp(-float64(w)), want)
		}
		want = math.NaN() // one path only
	}
	if !math.IsNaN(want) {
		t.Error("no path is left")
	}
	for p, w := range fsttest.Relation[semiring.Tropical](fsttest.Must(EpsNormalize[semiring.Tropical](g, Input, Limits{})), -1) {
		if w != 3.5 {
			t.Errorf("%v: %v, want 3.5", p, w)
		}
	}
	f.AddArc(2, fst.Arc[semiring.Log64]{Weight: 0.1, NextState: 2})
	var cycle *CycleError
	if _, err := EpsNormalize[semiring.Log64](f, Input, Limits{}); !errors.Is(err, ErrNotClosed) || !errors.As(err, &cycle) || !strings.HasPrefix(cycle.Along, "labels 0, weight 0.") {
		t.Errorf("a sum that diverges: %v", err)
	}
}

// A rule's machine takes the place of its label: the relation is that of the root
// with the rule's strings put in.
func TestReplaceAgainstRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 1))
	const call = 3
	calls := 0
	for i := range 150 {
		root := fsttest.Random(rng, 1+rng.IntN(5), drawLog64, fsttest.Options{Epsilon: 0.2, Labels: call})
		rule := fsttest.Random(rng, rng.IntN(4), drawLog64, fsttest.Options{Epsilon: 0.2, Labels: 2})
		got := fsttest.Must(Replace([]Rule[semiring.Log64]{{Label: 100, F: root}, {Label: call, F: rule}}, 100, nil))
		inner := fsttest.Relation[semiring.Log64](rule, -1)
		// By hand: for each path of the root, each choice of strings for its calls.
		want := map[fsttest.Pair]semiring.Log64{}
		for p := range fst.Paths(root, nil) {
			partial := map[fsttest.Pair]semiring.Log64{{}: root.Final(endOf(p, root.Start()))}
			for _, e := range p.Arcs {
				step := map[fsttest.Pair]semiring.Log64{{In: text(e.ILabel), Out: text(e.OLabel)}: e.Weight}
				if e.OLabel == call { // the call keeps its input label
					calls++
					step = fsttest.ConcatRelations(map[fsttest.Pair]semiring.Log64{{In: text(e.ILabel)}: e.Weight}, inner)
				}
				partial = fsttest.ConcatRelations(partial, step)
			}
			want = fsttest.UnionRelations(want, partial)
		}
		if diff := cmp.Diff(want, fsttest.Relation[semiring.Log64](got, -1), fsttest.Within[semiring.Log64](1e-9)); diff != "" {
			t.Fatalf("case %d (-want +got):\n%s", i, diff)
		}
		truthful(t, "Replace", got)
	}
	if calls == 0 {
		t.Error("no rule was called")
	}
	loop := fsttest.String[semiring.Log64](100)
	if _, err := Replace([]Rule[semiring.Log64]{{100, loop}}, 100, nil); !errors.Is(err, ErrRecursion) {
		t.Error(err)
	}
	if _, err := Replace([]Rule[semiring.Log64]{{100, loop}}, 5, nil); err == nil {
		t.Error("no error for a root without a rule")
	}
}

func text(l fst.Label) string {
	if l == fst.Epsilon {
		return ""
	}
	return strconv.Itoa(int(l))
}

func endOf(p fst.Path[semiring.Log64], start fst.StateID) fst.StateID {
	if len(p.Arcs) == 0 {
		return start
	}
	return p.Arcs[len(p.Arcs)-1].NextState
}

// countdown is a context whose time is over when it has been asked so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Wherever the time ends, the error says what was stopped and how far it had come, and tells of no state that there is not.
func TestRandEquivalentStopped(t *testing.T) {
	f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 1 1\n0 1 2 2 2\n1 2 1 1\n2\n"), nil))
	for left := range 60 {
		_, err := RandEquivalent[semiring.Tropical](f, f, rand.New(rand.NewPCG(1, 2)),
			&RandEquivalentOptions{NPath: 1 << 30, Limits: Limits{Ctx: &countdown{context.Background(), left}}})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ops: RandEquivalent: stopped (context deadline exceeded) after ") {
			t.Errorf("after %d looks: %v", left, err)
		}
	}
	// Nor do the parts, asked for alone.
	_, err := ShortestDistance[semiring.Tropical](f, &ShortestDistanceOptions{Limits: Limits{Ctx: &countdown{context.Background(), 0}}})
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "state -1") {
		t.Error(err)
	}
}

// Machines with the same relation are never told apart; a weight changed on a path
// that all others are as likely as is found soon.
func TestRandEquivalent(t *testing.T) {
	rng := rand.New(rand.NewPCG(76, 1))
	found := 0
	for range 40 {
		f := fsttest.Random(rng, 2+rng.IntN(5), drawLog64, fsttest.Options{Epsilon: 0.2})
		g := fsttest.Must(Synchronize[semiring.Log64](f, Limits{}))
		if d := fsttest.Must(RandEquivalent[semiring.Log64](f, g, rng, &RandEquivalentOptions{NPath: 10, Delta: 1e-6})); d != nil {
			t.Fatalf("told apart: %v", d)
		}
		Connect(g)
		if g.Start() == fst.NoState {
			continue
		}
		for q := range fst.StateID(g.NumStates()) {
			if w := g.Final(q); !semiring.IsZero(w) {
				g.SetFinal(q, w+1)
			}
		}
		d := fsttest.Must(RandEquivalent[semiring.Log64](f, g, rng, &RandEquivalentOptions{NPath: 10, Delta: 1e-6}))
		if d == nil {
			t.Fatal("not told apart, though all weights differ")
		}
		found++
	}
	if found == 0 {
		t.Error("nothing compared")
	}
}

// Tables come back from files as they were, and no cut or changed file is taken.
func TestEncodeTableFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(77, 1))
	f := fsttest.Random(rng, 6, drawLog64, fsttest.Options{Epsilon: 0.2, Degree: 3})
	f.SetInputSymbols(fst.SymbolsOf("<eps>", "a", "b", "c"))
	f.SetOutputSymbols(fst.SymbolsOf("<eps>", "x"))
	for kind := EncodeLabels; kind <= EncodeLabels|EncodeWeights; kind++ {
		g, table := f.Clone(), NewEncodeTable[semiring.Log64](kind)
		Encode(g, table)
		var b bytes.Buffer
		if err := WriteEncodeTable(&b, table); err != nil {
			t.Fatal(err)
		}
		back, err := ReadEncodeTable[semiring.Log64](bytes.NewReader(b.Bytes()), "m")
		if err != nil {
			t.Fatal(err)
		}
		if err := Decode(g, back); err != nil {
			t.Fatal(err)
		}
		if kind == EncodeLabels {
			if d := Compare[semiring.Log64](f, g, 0); d != nil {
				t.Fatalf("kind %d: %v", kind, d)
			}
		}
		if !fst.Compatible(f.InputSymbols(), g.InputSymbols()) || g.OutputSymbols().Len() != 2 {
			t.Fatalf("kind %d: symbols are lost", kind)
		}
		for n := range b.Len() {
			if _, err := ReadEncodeTable[semiring.Log64](bytes.NewReader(b.Bytes()[:n]), "m"); err == nil {
				t.Fatalf("kind %d: no error at %d of %d bytes", kind, n, b.Len())
			}
		}
		if _, err := ReadEncodeTable[semiring.Log](bytes.NewReader(b.Bytes()), "m"); err == nil {
			t.Fatal("read over another arc type")
		}
		big := slices.Clone(b.Bytes())
		copy(big[4+4+5+1:], []byte{0xff, 0xff, 0xff, 0x7f})
		if _, err := ReadEncodeTable[semiring.Log64](bytes.NewReader(big), "m"); err == nil {
			t.Fatal("an absurd count is taken")
		}
	}
}

func TestDescribe(t *testing.T) {
	f := fst.NewVector[semiring.Log64](5)
	f.AddStates(5)
	f.SetStart(0)
	f.SetFinal(2, 0)
	f.SetFinal(4, 1)
	for _, a := range []struct{ p, q, in, out int }{{0, 1, 1, 1}, {0, 2, 1, 0}, {1, 0, 0, 0}, {3, 4, 0, 5}} {
		f.AddArc(fst.StateID(a.p), fst.Arc[semiring.Log64]{ILabel: fst.Label(a.in), OLabel: fst.Label(a.out), NextState: fst.StateID(a.q)})
	}
	d := Describe[semiring.Log64](f, nil)
	d.Properties = 0
	want := &Description{States: 5, Arcs: 4, Finals: 2, Start: 0, Epsilons: 1, IEpsilons: 2, OEpsilons: 2, IMultiplicity: 1.5, OMultiplicity: 1,
		Accessible: 3, CoAccessible: 5, Useful: 3, Components: 2, StrongComponents: 4}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d = Describe[semiring.Log64](f, &DescribeOptions{SizeOnly: true})
	if diff := cmp.Diff(&Description{States: 5, Arcs: 4, Finals: 2, Start: 0, Properties: f.KnownProperties()}, d); diff != "" {
		t.Errorf("sizes alone (-want +got):\n%s", diff)
	}
	d = Describe[semiring.Log64](f, &DescribeOptions{Along: IEpsilonArc})
	if d.Accessible != 1 || d.CoAccessible != 3 || d.Useful != 0 || d.Components != 3 || d.StrongComponents != 5 {
		t.Errorf("along input ε: %+v", d)
	}
}
