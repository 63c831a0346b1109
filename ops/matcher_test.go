package ops

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// special is the label with a meaning of its own in these tests, but for phi that is ε; others are 1 to 3.
const special = 9

// withSpecial draws a machine, one of whose sides has the special label here and there: for phi at
// most once a state, on arcs that lead to higher states or are loops. Where ε is phi there are no
// other ε-arcs.
func withSpecial[W semiring.Weight[W]](rng *rand.Rand, draw func(*rand.Rand) W, kind MatcherKind, side labels, special fst.Label) *fst.Vector[W] {
	epsilon := 0.15
	if special == fst.Epsilon {
		epsilon = 0
	}
	v := fsttest.Random(rng, 2+rng.IntN(4), draw, fsttest.Options{Epsilon: epsilon, Cyclic: rng.IntN(3) == 0, Acceptor: rng.IntN(2) == 0})
	acceptor := fst.PropertiesOf(v, fst.Acceptor).Has(fst.Acceptor)
	n := v.NumStates()
	for q := range n {
		if rng.IntN(2) == 0 {
			continue
		}
		for range 1 + rng.IntN(2) {
			to := q + rng.IntN(n-q)
			e := fst.Arc[W]{ILabel: special, OLabel: special, Weight: draw(rng), NextState: fst.StateID(to)}
			if !acceptor && rng.IntN(2) == 0 {
				if side == inputLabels {
					e.OLabel = fst.Label(rng.IntN(4))
				} else {
					e.ILabel = fst.Label(rng.IntN(4))
				}
			}
			v.AddArc(fst.StateID(q), e)
			if kind == MatchPhi {
				break
			}
		}
	}
	if side == inputLabels {
		return ArcSorted(v, Input)
	}
	return ArcSorted(v, Output)
}

// spelledOut is f with an arc for each of the labels 1 to 3 that the special one matches, and
// none with the special one: the definition of the matchers, recursively.
func spelledOut[W semiring.Weight[W]](f *fst.Vector[W], m *Matcher, side labels) *fst.Vector[W] {
	out := fst.NewVector[W](0)
	out.AddStates(f.NumStates())
	out.SetStart(f.Start())
	both := m.Rewrite == fst.RewriteAlways || m.Rewrite == fst.RewriteAuto && fst.PropertiesOf(f, fst.Acceptor).Has(fst.Acceptor)
	special := m.Label
	put := func(e fst.Arc[W], l fst.Label) fst.Arc[W] {
		if side == inputLabels || both && e.ILabel == special {
			e.ILabel = l
		}
		if side == outputLabels || both && e.OLabel == special {
			e.OLabel = l
		}
		return e
	}
	with := func(q fst.StateID, l fst.Label) (arcs []fst.Arc[W]) {
		for _, e := range f.Arcs(q) {
			if label(&e, side) == l {
				arcs = append(arcs, e)
			}
		}
		return arcs
	}
	var matches func(q fst.StateID, l fst.Label) []fst.Arc[W]
	matches = func(q fst.StateID, l fst.Label) []fst.Arc[W] {
		arcs := with(q, l)
		if m.Kind != MatchSigma && len(arcs) > 0 {
			return arcs
		}
		for _, e := range with(q, special) {
			if m.Kind != MatchPhi || e.NextState == q {
				arcs = append(arcs, put(e, l))
				continue
			}
			for _, x := range matches(e.NextState, l) {
				x.Weight = e.Weight.Times(x.Weight)
				arcs = append(arcs, x)
			}
		}
		return arcs
	}
	var final func(q fst.StateID) W
	final = func(q fst.StateID) W {
		w := f.Final(q)
		if m.Kind == MatchPhi && semiring.IsZero(w) {
			if e := with(q, special); len(e) == 1 && e[0].NextState != q {
				return e[0].Weight.Times(final(e[0].NextState))
			}
		}
		return w
	}
	for q := range fst.StateID(f.NumStates()) {
		out.SetFinal(q, final(q))
		for l := range fst.Label(4) {
			if l == fst.Epsilon {
				if special == fst.Epsilon {
					continue
				}
				for _, e := range with(q, l) {
					out.AddArc(q, e)
				}
				continue
			}
			for _, e := range matches(q, l) {
				out.AddArc(q, e)
			}
		}
	}
	return out
}

func drawMatcher(rng *rand.Rand, kind MatcherKind) *Matcher {
	return &Matcher{Kind: kind, Label: special, Rewrite: fst.Rewrite(rng.IntN(3))}
}

func matchersAgainstDefinition[W semiring.Approx[W]](t *testing.T, draw func(*rand.Rand) W) {
	rng := rand.New(rand.NewPCG(3, 3))
	for trial := range 900 {
		kind := MatchPhi + MatcherKind(trial%3)
		m := drawMatcher(rng, kind)
		if kind == MatchPhi && rng.IntN(3) == 0 {
			m.Label = fst.Epsilon
		}
		plain := fsttest.Random(rng, 1+rng.IntN(4), draw, fsttest.Options{Epsilon: 0.2})
		o := &ComposeOptions{Filter: []Filter{SequenceFilter, AltSequenceFilter, MatchFilter}[rng.IntN(3)]}
		var a, b, x, y *fst.Vector[W]
		if trial%2 == 0 {
			o.First, a, b = m, withSpecial(rng, draw, kind, outputLabels, m.Label), plain
			x, y = ArcSorted(spelledOut(a, m, outputLabels), Output), b
		} else {
			o.Second, a, b = m, plain, withSpecial(rng, draw, kind, inputLabels, m.Label)
			x, y = a, ArcSorted(spelledOut(b, m, inputLabels), Input)
		}
		if rng.IntN(2) == 0 {
			a, b = ArcSorted(a, Output), ArcSorted(b, Input)
		}
		// The plain machine has ε-cycles in no case, and is acyclic: the relation is finite on it.
		want := fsttest.Relation(fsttest.Must(Compose[W](x, y, nil)), 4)
		eager, err := Compose[W](a, b, o)
		if err != nil {
			t.Fatalf("trial %d (%v): %v", trial, kind, err)
		}
		lazy, err := ComposeLazy[W](a, b, o, &fst.LazyOptions{CacheBytes: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []fst.Fst[W]{eager, lazy} {
			if diff := cmp.Diff(want, fsttest.Relation(got, 4), fsttest.Within[W](1e-9)); diff != "" {
				t.Fatalf("trial %d: %v, %+v: mismatch (-want +got):\n%s", trial, kind, m, diff)
			}
		}
	}
}

func TestMatchersAgainstDefinition(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { matchersAgainstDefinition(t, drawTropical) })
	t.Run("log64", func(t *testing.T) { matchersAgainstDefinition(t, drawLog64) })
}

// Labels that nothing matches behave as ε does where they are made ε on that side, and
// the result is no other for it.
func TestMatchEpsilons(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for trial := range 300 {
		a, b := fsttest.Random(rng, 4, drawLog64), fsttest.Random(rng, 4, drawLog64)
		eps := func(f *fst.Vector[semiring.Log64], side labels) *fst.Vector[semiring.Log64] {
			f = copyOf[semiring.Log64](f)
			for q := range fst.StateID(f.NumStates()) {
				arcs := f.MutableArcs(q)
				for i := range arcs {
					if l := &arcs[i].ILabel; side == inputLabels && *l > 1 {
						*l = 0
					}
					if l := &arcs[i].OLabel; side == outputLabels && *l > 1 {
						*l = 0
					}
				}
			}
			f.SetProperties(0, fst.AllProperties)
			return f
		}
		m := &Matcher{Kind: MatchEpsilons, Labels: []fst.Label{2, 3}}
		for _, filter := range []Filter{SequenceFilter, AltSequenceFilter} {
			want := fsttest.Relation(fsttest.Must(Compose[semiring.Log64](ArcSorted(eps(a, outputLabels), Output), eps(b, inputLabels), &ComposeOptions{Filter: filter})), 5)
			for _, o := range []*ComposeOptions{{First: m, Filter: filter}, {Second: m, Filter: filter}} {
				got := fsttest.Relation(fsttest.Must(Compose[semiring.Log64](ArcSorted(a, Output), ArcSorted(b, Input), o)), 5)
				if diff := cmp.Diff(want, got, fsttest.Within[semiring.Log64](1e-9)); diff != "" {
					t.Fatalf("trial %d, %v: mismatch (-want +got):\n%s", trial, filter, diff)
				}
			}
		}
	}
}

func TestMatcherErrors(t *testing.T) {
	read := func(text string) *fst.Vector[semiring.Tropical] {
		return ArcSorted(fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(text), nil)), Input)
	}
	phi := &Matcher{Kind: MatchPhi, Label: special}
	one := read("0 1 1 1\n1\n")
	for _, c := range []struct {
		name string
		a, b string
		o    *ComposeOptions
		want error
	}{
		{"circle", "0 1 1 1\n1\n", "0 1 9 9\n1 2 9 9\n2 1 9 9\n2 2 5 5\n2\n", &ComposeOptions{Second: phi}, ErrMatcher},
		{"loop", "0 1 1 1\n1\n", "0 0 9 9\n0\n", &ComposeOptions{Second: &Matcher{Kind: MatchPhi, Label: special, NoLoop: true}}, ErrMatcher},
		{"two failures", "0 1 1 1\n1\n", "0 1 9 9\n0 2 9 9\n2 1 1 1\n1\n2\n", &ComposeOptions{Second: phi}, ErrMatcher},
		{"phi in the other machine", "0 1 9 9\n1\n", "0 1 9 9\n0 1 1 1\n1\n", &ComposeOptions{Second: phi}, ErrMatcher},
		{"both", "0 1 9 9\n1\n", "0 1 9 9\n1\n", &ComposeOptions{First: phi, Second: phi}, ErrMatcher},
		{"unsorted", "0 1 1 1\n1\n", "0 1 9 9\n0 1 1 1\n1\n", &ComposeOptions{First: &Matcher{Kind: MatchRho, Label: 3}, Second: nil}, nil},
		{"ε as rho", "0 1 1 1\n1\n", "0\n", &ComposeOptions{Second: &Matcher{Kind: MatchRho}}, ErrMatcher},
		{"no kind", "0 1 1 1\n1\n", "0\n", &ComposeOptions{Second: &Matcher{}}, nil},
	} {
		a, b := read(c.a), read(c.b)
		if c.name == "unsorted" {
			a = fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 2\n0 1 2 1\n1\n"), nil))
			c.want = ErrNotSorted
		}
		_, err := Compose[semiring.Tropical](a, b, c.o)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := Compose[semiring.Tropical](one, one, &ComposeOptions{Second: phi, Trace: new(Trace)}); err == nil {
		t.Error("a trace of a composition with a matcher, without an error")
	}
	if _, err := NewComposer[semiring.Tropical](one, one, &ComposeOptions{Second: phi}); err == nil {
		t.Error("NewComposer takes a matcher, which it does not use")
	}
	_, err := Compose[semiring.Tropical](one, one, &ComposeOptions{Second: phi, Limits: Limits{States: 1}})
	if !errors.Is(err, ErrLimit) {
		t.Errorf("error %v, want a limit", err)
	}
}

// What OpenFst's matchers make of machines, states and arcs in order: testdata/matchers.txt has
// cases drawn by this test with TROPICA_MATCHERS=DRIVER, where DRIVER is a program over
// OpenFst's headers that reads lines "name kind side label loop rewrite" and composes name.a and name.b
// with SequenceComposeFilter into name.c.
func TestMatchersAsOpenFst(t *testing.T) {
	path := filepath.Join("testdata", "matchers.txt")
	if driver := os.Getenv("TROPICA_MATCHERS"); driver != "" {
		if err := os.WriteFile(path, drawMatcherCases(t, driver), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSpace(string(b)), "\n\n")
	if len(cases) < 50 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, text := range cases {
		part := strings.Split(text, "\n--\n")
		if len(part) != 4 {
			t.Fatalf("case %d: %d parts", i, len(part))
		}
		var kind string
		var side, l, loop, rewrite int
		if _, err := fmt.Sscan(part[0], &kind, &side, &l, &loop, &rewrite); err != nil {
			t.Fatal(err)
		}
		m := &Matcher{Kind: MatcherKind(slices.Index(matcherNames[:], kind)), Label: fst.Label(l), NoLoop: loop == 0, Rewrite: fst.Rewrite(rewrite)}
		o := &ComposeOptions{First: m, KeepDead: true}
		if side == 2 {
			o.First, o.Second = nil, m
		}
		read := func(s string) *fst.Vector[semiring.Tropical] {
			return fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(s), &fst.ReadTextOptions{KeepStateNumbering: true}))
		}
		a, b := read(part[1]), read(part[2])
		fst.PropertiesOf(a, fst.OLabelSorted|fst.ILabelSorted)
		fst.PropertiesOf(b, fst.OLabelSorted|fst.ILabelSorted)
		got, err := Compose[semiring.Tropical](a, b, o)
		if err != nil {
			t.Fatalf("case %d: %v\n%s", i, err, text)
		}
		var out bytes.Buffer
		if err := fst.WriteText(&out, got, nil); err != nil {
			t.Fatal(err)
		}
		if want := part[3]; strings.TrimSpace(out.String()) != strings.TrimSpace(want) {
			t.Errorf("case %d:\n%s\n-- got\n%s", i, text, out.String())
		}
	}
}

func drawMatcherCases(t *testing.T, driver string) []byte {
	rng := rand.New(rand.NewPCG(5, 5))
	dir := t.TempDir()
	type drawn struct{ head, a, b string }
	var all []drawn
	var input strings.Builder
	text := func(f fst.Fst[semiring.Tropical]) string {
		var b bytes.Buffer
		if err := fst.WriteText(&b, f, nil); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(b.String())
	}
	for i := range 240 {
		kind := MatchPhi + MatcherKind(i%3)
		m := drawMatcher(rng, kind)
		if kind == MatchPhi && rng.IntN(3) == 0 {
			m.Label = fst.Epsilon
		}
		plain := fsttest.Random(rng, 1+rng.IntN(4), drawTropical, fsttest.Options{Epsilon: 0.2, Cyclic: true})
		a, b, side := plain, plain, 1+rng.IntN(2)
		if side == 1 {
			a = withSpecial(rng, drawTropical, kind, outputLabels, special)
		} else {
			b = withSpecial(rng, drawTropical, kind, inputLabels, special)
		}
		if rng.IntN(2) == 0 {
			a, b = ArcSorted(a, Output), ArcSorted(b, Input)
		}
		name := filepath.Join(dir, fmt.Sprint(i))
		for ext, f := range map[string]*fst.Vector[semiring.Tropical]{".a": a, ".b": b} {
			var buf bytes.Buffer
			f.SetProperties(0, fst.AllProperties)
			fst.PropertiesOf(f, fst.OLabelSorted|fst.ILabelSorted|fst.Acceptor)
			if err := fst.Write(&buf, f, nil); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name+ext, buf.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		head := fmt.Sprint(kind, " ", side, " ", special, " 1 ", int(m.Rewrite))
		fmt.Fprintf(&input, "%s %s\n", name, head)
		all = append(all, drawn{head, text(a), text(b)})
	}
	cmd := exec.Command(driver)
	cmd.Stdin = strings.NewReader(input.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	for i, d := range all {
		f, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)+".c"))
		if err != nil {
			continue // what OpenFst refuses
		}
		c, err := fst.Read[semiring.Tropical](bytes.NewReader(f), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.a == "" || d.b == "" || text(c) == "" {
			continue
		}
		fmt.Fprintf(&out, "%s\n--\n%s\n--\n%s\n--\n%s\n\n", d.head, d.a, d.b, text(c))
	}
	return out.Bytes()
}

// Files have the special label on both sides, and their type says on which it is one.
func TestMatcherOfFile(t *testing.T) {
	v := ArcSorted(fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 1 9 9\n1\n"), nil)), Input)
	word := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 1\n1\n"), nil))
	for fstType, matches := range map[string][2]bool{"rho": {true, true}, "input_rho": {false, true}, "output_rho": {true, false}, "sigma": {true, true}, "input_sigma": {false, true}, "output_sigma": {true, false}} {
		var b bytes.Buffer
		if err := fst.Write(&b, v, &fst.WriteOptions{Type: fstType, Special: &fst.SpecialLabel{Label: 9}}); err != nil {
			t.Fatal(err)
		}
		f := fsttest.Must(fst.Read[semiring.Tropical](&b, nil))
		for i, operands := range [][2]fst.Expanded[semiring.Tropical]{{f, word}, {word, f}} {
			c := fsttest.Must(Compose[semiring.Tropical](operands[0], operands[1], nil))
			if got := c.NumStates() > 0; got != matches[i] {
				t.Errorf("%s as machine %d: matches %v, want %v", fstType, i+1, got, matches[i])
			}
		}
	}
}
