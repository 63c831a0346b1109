package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// linearText is a model as text: a vocabulary and files of features.
type linearText struct {
	classifier bool
	vocabulary string
	features   []string
}

// drawLinear draws a model. Contexts of a file mostly have one shape, as templates have.
func drawLinear(rng *rand.Rand) linearText {
	t := linearText{classifier: rng.IntN(3) == 0}
	files := 1 + rng.IntN(3)
	pick := func(xs ...string) string { return xs[rng.IntN(len(xs))] }
	feature := func(file int) string { return fmt.Sprintf("f%d.%d", file, rng.IntN(3)) }
	output := func() string { return pick("X", "Y", "Z") }
	list := func(n int, item func() string) string {
		if n == 0 {
			return "<empty>"
		}
		s := make([]string, n)
		for i := range s {
			s[i] = item()
		}
		return strings.Join(s, "|")
	}
	for i := range 1 + rng.IntN(5) {
		var fs []string
		for f := range files {
			if rng.IntN(4) > 0 {
				fs = append(fs, feature(f))
			}
		}
		outputs := "<empty>"
		if !t.classifier && rng.IntN(3) == 0 {
			outputs = list(1+rng.IntN(2), output)
		}
		k := 0
		t.vocabulary += fmt.Sprintf("w%d %s %s\n", i, list(len(fs), func() string { k++; return fs[k-1] }), outputs)
	}
	for f := range files {
		future := 0
		if !t.classifier {
			future = rng.IntN(3)
		}
		text := fmt.Sprintf("%d\n", future)
		ins, outs := future+rng.IntN(3), 1+rng.IntN(2)
		for range 1 + rng.IntN(6) {
			if rng.IntN(6) == 0 {
				ins, outs = future+rng.IntN(3), 1+rng.IntN(3)
			}
			in := strings.Split(list(ins, func() string { return feature(f) }), "|")
			out := strings.Split(list(outs, output), "|")
			if rng.IntN(4) == 0 {
				in[0] = "<s>"
			}
			if rng.IntN(4) == 0 {
				in[len(in)-1] = "</s>"
			}
			if rng.IntN(8) == 0 && len(in) > 1 {
				in[len(in)-2] = in[len(in)-1]
			}
			if rng.IntN(5) == 0 {
				out[0] = "<s>"
			}
			if rng.IntN(5) == 0 {
				out[len(out)-1] = "</s>"
			}
			if t.classifier {
				out = []string{output()}
			}
			text += fmt.Sprintf("%s\t%s %v\n", strings.Join(in, "|"), strings.Join(out, "|"), float64(rng.IntN(16))/4)
		}
		t.features = append(t.features, text)
	}
	return t
}

func (t linearText) build(warn func(error)) (*fst.LinearModel[semiring.Tropical], *fst.LinearBuilder[semiring.Tropical], error) {
	b := fst.NewLinearBuilder[semiring.Tropical](&fst.LinearOptions{Classifier: t.classifier, Warn: warn})
	if err := b.ReadVocabulary(strings.NewReader(t.vocabulary), "vocabulary"); err != nil {
		return nil, nil, err
	}
	for i, f := range t.features {
		if err := b.ReadFeatures(strings.NewReader(f), fmt.Sprint("features ", i)); err != nil {
			return nil, nil, err
		}
	}
	m, err := b.Model()
	return m, b, err
}

func linearBytes(tb testing.TB, m *fst.LinearModel[semiring.Tropical]) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := fst.WriteLinear(&out, m); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func readLinear(b []byte) (*fst.LinearModel[semiring.Tropical], error) {
	s := fst.NewStream(bytes.NewReader(b), nil)
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	return fst.ReadLinear[semiring.Tropical](s, h)
}

// expandLinear is the text of the machine of m, or of its first states where there are many.
func expandLinear(tb testing.TB, m *fst.LinearModel[semiring.Tropical], most int) string {
	tb.Helper()
	x := m.Expander()
	var b strings.Builder
	last, err := x.Start()
	for q := fst.StateID(0); err == nil && q <= last && int(q) < most; q++ {
		var arcs []fst.Arc[semiring.Tropical]
		var final semiring.Tropical
		if final, arcs, err = x.Expand(q, nil); err != nil {
			break
		}
		for _, e := range arcs {
			fmt.Fprintln(&b, q, e.NextState, e.ILabel, e.OLabel, e.Weight)
			last = max(last, e.NextState)
		}
		if !semiring.IsZero(final) {
			fmt.Fprintln(&b, q, final)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// Models as OpenFst's fstlinear makes them: it accepts the same texts, and its files hold the
// same tables, which are compared to the byte once the edges are in our order.
func TestLinearAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(22, 1))
	made, warned := 0, 0
	for trial := range 300 {
		text := drawLinear(rng)
		out, symbols := o.File(), [3]string{o.File(), o.File(), o.File()}
		args := []string{"--vocab=" + o.Text(text.vocabulary), "--out=" + out, "--save_isymbols=" + symbols[0], "--save_osymbols=" + symbols[1], "--save_fsymbols=" + symbols[2]}
		if text.classifier {
			args = append(args, "--classifier")
		}
		for _, f := range text.features {
			args = append(args, o.Text(f))
		}
		theirs := o.Run("fstlinear", args...)
		warnings := 0
		m, b, err := text.build(func(error) { warnings++ })
		if (err != nil) != (theirs.Exit != 0) {
			t.Fatalf("trial %d: %v; OpenFst exits with %d: %s\n%+v", trial, err, theirs.Exit, theirs.Stderr, text)
		}
		if err != nil {
			continue
		}
		if n := strings.Count(theirs.Stderr, "Ignored: "); n != warnings {
			t.Fatalf("trial %d: %d warnings, OpenFst's are\n%s\n%+v", trial, warnings, theirs.Stderr, text)
		}
		made, warned = made+1, warned+warnings
		file := fsttest.Must(os.ReadFile(out))
		read, err := readLinear(file)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		ours := linearBytes(t, m)
		if !bytes.Equal(linearBytes(t, read), ours) || len(file) != len(ours) {
			t.Fatalf("trial %d: other tables than OpenFst's:\n%x\n%x\n%+v", trial, ours, linearBytes(t, read), text)
		}
		for i, table := range []*fst.SymbolTable{b.InputSymbols(), b.OutputSymbols(), b.FeatureSymbols()} {
			var w bytes.Buffer
			if err := table.WriteText(&w, nil); err != nil {
				t.Fatal(err)
			}
			if want := string(fsttest.Must(os.ReadFile(symbols[i]))); w.String() != want {
				t.Fatalf("trial %d: symbols %q, OpenFst's %q", trial, w.String(), want)
			}
		}
	}
	if made < 100 || warned < 50 {
		t.Errorf("%d models, %d warnings: too few to tell", made, warned)
	}
}

// The machines of models, as OpenFst's classes LinearTaggerFst and LinearClassifierFst expand
// them: testdata/linear has the models as text and what fstprint makes of them.
func TestLinearMachines(t *testing.T) {
	names, _ := filepath.Glob("testdata/linear/*.print")
	if len(names) < 10 {
		t.Fatalf("only %d models", len(names))
	}
	for _, name := range names {
		text := readLinearText(t, strings.TrimSuffix(name, ".print")+".model")
		m, _, err := text.build(nil)
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := readLinear(linearBytes(t, m))
		if err != nil {
			t.Fatal(name, err)
		}
		want := strings.ReplaceAll(string(fsttest.Must(os.ReadFile(name))), "\t", " ")
		for _, m := range []*fst.LinearModel[semiring.Tropical]{m, again} {
			x := m.Expander()
			v := fst.NewVector[semiring.Tropical](0)
			start := fsttest.Must(x.Start())
			for q := fst.StateID(0); q <= start || int(q) < known(v); q++ {
				final, arcs, err := x.Expand(q, nil)
				if err != nil {
					t.Fatal(err)
				}
				v.PushState(final, arcs)
			}
			v.SetStart(start)
			got := strings.ReplaceAll(textOf(t, v, nil), "\t", " ")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// known is one more than the highest state that v mentions.
func known(v *fst.Vector[semiring.Tropical]) int {
	n := 0
	for q := range fst.StateID(v.NumStates()) {
		for _, e := range v.Arcs(q) {
			n = max(n, int(e.NextState)+1)
		}
	}
	return n
}

// readLinearText reads a model of testdata: its parts begin with lines of = and a name.
func readLinearText(tb testing.TB, name string) linearText {
	tb.Helper()
	parts := strings.Split("\n"+string(fsttest.Must(os.ReadFile(name))), "\n= ")
	t := linearText{}
	for _, p := range parts[1:] {
		head, body, _ := strings.Cut(p, "\n")
		body = strings.TrimSuffix(body, "\n")
		switch head {
		case "tagger", "classifier":
			t.classifier = head == "classifier"
		case "vocabulary":
			t.vocabulary = body + "\n"
		case "features":
			t.features = append(t.features, body+"\n")
		}
	}
	return t
}

// Matching finds what expansion has under a label, in the same order.
func TestLinearMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 2))
	for range 100 {
		m, _, err := drawLinear(rng).build(nil)
		if err != nil {
			continue
		}
		x := m.Expander()
		last := fsttest.Must(x.Start())
		for q := fst.StateID(0); q <= last && q < 50; q++ {
			_, arcs, err := x.Expand(q, nil)
			if err != nil {
				t.Fatal(err)
			}
			var matched []fst.Arc[semiring.Tropical]
			for l := fst.Label(-1); l <= m.Words()+1; l++ {
				if matched, err = x.Match(q, l, matched); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(arcs, matched); diff != "" {
				t.Fatal(diff)
			}
			for _, e := range arcs {
				last = max(last, e.NextState)
			}
		}
	}
}

func TestLinearErrors(t *testing.T) {
	good := linearText{vocabulary: "a f <empty>\n", features: []string{"0\nf X 1\n"}}
	for _, c := range []struct {
		change func(*linearText)
		want   string
	}{
		{func(t *linearText) { t.vocabulary = "a f\n" }, "vocabulary, line 1: 2 fields where three belong"},
		{func(t *linearText) { t.vocabulary = "a f <empty>\na f <empty>\n" }, `vocabulary, line 2: word "a" is there twice`},
		{func(t *linearText) { t.vocabulary = "<eps> f <empty>\n" }, "vocabulary, line 1: ε is no word"},
		{func(t *linearText) { t.vocabulary = "a <eps> <empty>\n" }, `vocabulary, line 1: word "a": "<eps>" is no feature of words`},
		{func(t *linearText) { t.vocabulary = "a <s> <empty>\n" }, `start of sentence is no feature`},
		{func(t *linearText) { t.vocabulary = "a f|g <empty>\n"; t.features[0] += "g X 1\n" }, `features 0: word "a" has two of its features, "f" and "g"`},
		{func(t *linearText) { t.features[0] = "" }, "features 0, line 1: an empty file"},
		{func(t *linearText) { t.features[0] = "x\n" }, `features 0, line 1, field 1: "x" where the number`},
		{func(t *linearText) { t.features[0] = "-1\n" }, "a window of -1 words"},
		{func(t *linearText) { t.features[0] = "99999999999999999999\n" }, "where the number of words to look ahead belongs"},
		{func(t *linearText) { t.features[0] = "1000000\n" }, "a window of 1000000 words"},
		{func(t *linearText) { t.features[0] += "f X\n" }, "features 0, line 3: 2 fields"},
		{func(t *linearText) { t.features[0] += "f X one\n" }, "features 0, line 3, field 3: "},
		{func(t *linearText) { t.features[0] += "f X nan\n" }, "features 0, line 3, field 3: "},
		{func(t *linearText) { t.features[0] += "f <empty> 1\n" }, "features 0, line 3, field 2: no output"},
		{func(t *linearText) { t.features[0] += "<eps> X 1\n" }, "features 0, line 3: ε is no feature"},
		{func(t *linearText) { t.features[0] += "f <eps> 1\n" }, "features 0, line 3: ε is no output"},
		{func(t *linearText) { t.features[0] += "f|f X 1\nf X|X 1\nf|f X|X 1\n" }, `features 0: the context [("f", "X")] could fall back to [("f", *)] and to [(*, "X")]`},
		{func(t *linearText) { t.classifier = true; t.features[0] = "0\n" }, "a classifier without a class"},
		{func(t *linearText) { t.classifier = true; t.features[0] = "1\nf X 1\n" }, "a classifier has none"},
		{func(t *linearText) { t.classifier = true; t.features[0] += "f X|Y 1\n" }, `features 0, line 3, field 2: "X|Y", where one class belongs`},
		{func(t *linearText) { t.classifier = true; t.features[0] += "f <s> 1\n" }, `field 2: "<s>" is no class`},
		{func(t *linearText) { t.classifier = true; t.vocabulary = "a f X\n" }, "vocabulary, line 1, field 3: possible outputs"},
	} {
		text := good
		text.features = []string{good.features[0]}
		c.change(&text)
		if _, _, err := text.build(nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", text, err, c.want)
		}
	}
	if _, _, err := good.build(nil); err != nil {
		t.Error(err)
	}
}

// Where start and end are one symbol, the place decides; alone it may be either.
func TestLinearBoundary(t *testing.T) {
	build := func(o *fst.LinearOptions, features string) []byte {
		b := fst.NewLinearBuilder[semiring.Tropical](o)
		if err := errors.Join(b.ReadVocabulary(strings.NewReader("a f <empty>\nb g <empty>\n"), ""), b.ReadFeatures(strings.NewReader(features), "")); err != nil {
			t.Fatal(err)
		}
		return linearBytes(t, fsttest.Must(b.Model()))
	}
	for _, c := range []struct{ one, two string }{
		{"0\n#|f X 1\n", "0\n<s>|f X 1\n"},
		{"1\nf|# X 1\n", "1\nf|</s> X 1\n"},
		{"0\nf #|X 1\n", "0\nf <s>|X 1\n"},
		{"1\n# X 1\n", "1\n<s> X 1\n</s> X 1\n"},
	} {
		if !bytes.Equal(build(&fst.LinearOptions{Start: "#", End: "#"}, c.one), build(nil, c.two)) {
			t.Errorf("%q is not %q", c.one, c.two)
		}
	}
}

// FuzzReadLinear: whatever a file holds, it is refused or expands without a panic, and is
// written as it is read.
func FuzzReadLinear(f *testing.F) {
	rng := rand.New(rand.NewPCG(22, 3))
	for range 12 {
		if m, _, err := drawLinear(rng).build(nil); err == nil {
			f.Add(linearBytes(f, m))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := readLinear(file)
		if err != nil {
			return
		}
		again, err := readLinear(linearBytes(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if m.Words() > 1000 || m.Groups() > 1000 {
			return
		}
		if a, b := expandLinear(t, m, 5), expandLinear(t, again, 5); a != b {
			t.Fatalf("%q, written and read %q", a, b)
		}
	})
}

// FuzzLinearText: whatever the text, it is refused with a place or makes a model that expands.
func FuzzLinearText(f *testing.F) {
	rng := rand.New(rand.NewPCG(22, 4))
	for range 20 {
		t := drawLinear(rng)
		f.Add(t.vocabulary, t.features[0], t.classifier, false)
	}
	f.Add("a f <empty>\n", "1\n# X|# 1\n##|#|# #|# 0\n", false, true)
	f.Fuzz(func(t *testing.T, vocabulary, features string, classifier, same bool) {
		o := &fst.LinearOptions{Classifier: classifier, Warn: func(error) {}}
		if same {
			o.Start, o.End = "#", "#"
		}
		b := fst.NewLinearBuilder[semiring.Tropical](o)
		if err := errors.Join(b.ReadVocabulary(strings.NewReader(vocabulary), "v"), b.ReadFeatures(strings.NewReader(features), "f")); err != nil {
			return
		}
		m, err := b.Model()
		if err != nil {
			return
		}
		again, err := readLinear(linearBytes(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if x, y := expandLinear(t, m, 5), expandLinear(t, again, 5); x != y {
			t.Fatalf("%q, written and read %q", x, y)
		}
	})
}
