package losses

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/chunks"
	"github.com/tropica-fst/tropica/ops"
)

var spanLabels = strings.Fields("O B-a I-a B-b I-b E-a S-b ]-a")

// wrongSpans counts errors by the sets of spans, as evaluations do.
func wrongSpans(y, ref []string, c SpanCosts) float64 {
	a, b := chunks.Find(y), chunks.Find(ref)
	sum := 0.0
	for _, x := range a {
		if slices.Contains(b, x) {
			continue
		}
		sum += c.Spurious
		if slices.ContainsFunc(b, func(r chunks.Chunk) bool { return r.From == x.From && r.To == x.To }) {
			sum += c.Type - c.Spurious - c.Missing
		}
	}
	for _, r := range b {
		if !slices.Contains(a, r) {
			sum += c.Missing
		}
	}
	return sum
}

func named(u []int) []string {
	out := make([]string, len(u))
	for i, k := range u {
		out[i] = spanLabels[k]
	}
	return out
}

// The loss of every pair of short strings, by Value, by the machine and by the transducer, is the
// count of wrong spans.
func TestSpanCounts(t *testing.T) {
	d := len(spanLabels)
	for _, c := range []struct{ given, full SpanCosts }{
		{SpanCosts{}, SpanCosts{1, 1, 2}},
		{SpanCosts{Missing: 2, Spurious: 0.5}, SpanCosts{2, 0.5, 2.5}},
		{SpanCosts{Missing: 1, Spurious: 1, Type: 0.5}, SpanCosts{1, 1, 0.5}},
		{SpanCosts{Missing: 1, Spurious: 3, Type: -1}, SpanCosts{1, 3, 0}},
	} {
		s, err := NewSpan(spanLabels, c.given)
		if err != nil {
			t.Fatal(err)
		}
		strings := [][]int{{}}
		for l := range 3 {
			if l > 0 {
				var longer [][]int
				for _, u := range strings {
					for k := range d {
						longer = append(longer, append(slices.Clone(u), k))
					}
				}
				strings = longer
			}
			for _, ref := range strings {
				m, err := s.Machine(ref, d, l)
				if err != nil {
					t.Fatal(err)
				}
				a, err := s.Automaton(Strings(d, l), ref, d, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range strings {
					want := wrongSpans(named(u), named(ref), c.full)
					if x, y, z := s.Value(u, ref), m.Loss(u), a.Loss(u); !near(x, want) || !near(y, want) || !near(z, want) {
						t.Fatalf("%+v: %v for %v: Value %v, machine %v, transducer %v, want %v", c.given, named(u), named(ref),
							x, y, z, want)
					}
				}
			}
		}
		// Longer strings, at random.
		rng := rand.New(rand.NewPCG(7, 7))
		u, ref := make([]int, 12), make([]int, 12)
		for range 400 {
			for i := range u {
				ref[i], u[i] = rng.IntN(d), rng.IntN(d)
				if rng.IntN(3) > 0 {
					u[i] = ref[i]
				}
			}
			m, err := s.Machine(ref, d, len(ref))
			if err != nil {
				t.Fatal(err)
			}
			want := wrongSpans(named(u), named(ref), c.full)
			if x, y := s.Value(u, ref), m.Loss(u); !near(x, want) || !near(y, want) {
				t.Fatalf("%+v: %v for %v: Value %v, machine %v, want %v", c.given, named(u), named(ref), x, y, want)
			}
		}
	}
}

// Everything that an evaluation computes, against enumeration and the general path.
func TestSpanAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	want := WantMarginals | WantExpected | WantPlain | WantRisk | WantRiskGradient | WantMaxAug | WantViterbi
	for i := range 40 {
		d, l := 2+rng.IntN(len(spanLabels)-1), 1+rng.IntN(4)
		s, err := NewSpan(spanLabels, []SpanCosts{{}, {Missing: 1, Spurious: 2, Type: 1.5}}[i%2])
		if err != nil {
			t.Fatal(err)
		}
		ref := make([]int, l)
		for j := range ref {
			ref[j] = rng.IntN(len(spanLabels))
		}
		sizes := slices.Repeat([]int{d}, l)
		p := randomPotentials(rng, sizes, 1+rng.IntN(3))
		gamma := []float64{1, -0.7, 3}[rng.IntN(3)]
		var r, ref0 Result
		if err := Naive(func(u []int) float64 { return s.Value(u, ref) }, p, gamma, want, nil, &ref0); err != nil {
			t.Fatal(err)
		}
		m, err := s.Machine(ref, d, l)
		if err != nil {
			t.Fatal(err)
		}
		var e Evaluator
		if err := e.Eval(m, p, gamma, want, &r); err != nil {
			t.Fatal(err)
		}
		if err := compareResults(&r, &ref0, want); err != nil {
			t.Fatalf("%d labels, reference %v, γ %v: %v", d, named(ref), gamma, err)
		}
		a, err := s.Automaton(Strings(d, l), ref, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := EvalGeneral(p, a, gamma, WantMarginals, nil, ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !near(g.LogZ, ref0.LogZ) {
			t.Fatalf("general path: log Z %v, want %v", g.LogZ, ref0.LogZ)
		}
		if err := compareRows("marginals of the general path", g.Marginals, ref0.Marginals); err != nil {
			t.Fatal(err)
		}
	}
}

// The transducer is a loss like any that a user writes, with the same machine sizes.
func TestSpanTransducer(t *testing.T) {
	s, err := NewSpan(spanLabels, SpanCosts{})
	if err != nil {
		t.Fatal(err)
	}
	d := len(spanLabels)
	u, err := s.Transducer(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := fst.Verify(u, nil); err != nil {
		t.Fatal(err)
	}
	loss, err := TropicalTransducer(u)
	if err != nil {
		t.Fatal(err)
	}
	ref := []int{1, 2, 0, 3, 4, 4, 0, 1, 2, 5}
	m, err := loss.Machine(ref, d, len(ref))
	if err != nil {
		t.Fatal(err)
	}
	own, err := s.Machine(ref, d, len(ref))
	if err != nil {
		t.Fatal(err)
	}
	if own.TotalColumns() > m.TotalColumns() {
		t.Errorf("%d columns, and %d of the transducer's machine", own.TotalColumns(), m.TotalColumns())
	}
	rng := rand.New(rand.NewPCG(1, 9))
	y := make([]int, len(ref))
	for range 300 {
		for i := range y {
			y[i] = rng.IntN(d)
		}
		if a, b := m.Loss(y), own.Loss(y); !near(a, b) {
			t.Fatalf("%v: %v by the transducer, %v", named(y), a, b)
		}
	}
}

func TestSpanErrors(t *testing.T) {
	for _, c := range []struct {
		labels []string
		costs  SpanCosts
		want   string
	}{
		{[]string{"O", "NN"}, SpanCosts{}, `the label "NN"`},
		{[]string{"O", "."}, SpanCosts{}, "no label belongs to a span"},
		{spanLabels, SpanCosts{Missing: -1}, "cost -1"},
		{spanLabels, SpanCosts{Spurious: infinity}, "cost +Inf"},
	} {
		if _, err := NewSpan(c.labels, c.costs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.labels, err, c.want)
		}
	}
	s, err := NewSpan(spanLabels, SpanCosts{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ref         []int
		alphabet, l int
		want        string
	}{
		{[]int{0}, 2, 2, "1 symbols, the strings 2"},
		{[]int{99}, 2, 1, "is 99"},
		{[]int{0}, 99, 1, "alphabet of 99"},
		{[]int{-1}, 2, 1, "is -1"},
	} {
		if _, err := s.Machine(c.ref, c.alphabet, c.l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.ref, err, c.want)
		}
	}
}
