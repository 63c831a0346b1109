package metrics_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/metrics"
)

func TestRates(t *testing.T) {
	a, b := strings.Split("a b c d", " "), strings.Split("a x c d", " ")
	if got := metrics.Symbols(a, b); got != (metrics.Rate{Errors: 1, Base: 4}) {
		t.Error(got)
	}
	if got := metrics.Strings(a, b).Add(metrics.Strings(a, a)).Add(metrics.Strings(a, a[:3])); got != (metrics.Rate{Errors: 2, Base: 3}) {
		t.Error(got)
	}
	if got := metrics.Edits([]rune("kitten"), []rune("sitting")); got != (metrics.Rate{Errors: 3, Base: 7}) {
		t.Error(got)
	}
	if v := (metrics.Rate{}).Value(); v != 0 {
		t.Error(v)
	}
	if v := metrics.Edits([]rune("ab"), nil).Value(); v != 1 {
		t.Error(v)
	}
}

// The distance by its recursion, without any table.
func slow(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	c := slow(a[1:], b[1:])
	if a[0] != b[0] {
		c++
	}
	return min(c, slow(a[1:], b)+1, slow(a, b[1:])+1)
}

func TestEditDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() []byte {
		s := make([]byte, rng.IntN(7))
		for i := range s {
			s[i] = byte('a' + rng.IntN(3))
		}
		return s
	}
	for range 500 {
		a, b := draw(), draw()
		if got, want := metrics.EditDistance(a, b), slow(a, b); got != want {
			t.Fatalf("%q %q: %d, want %d", a, b, got, want)
		}
	}
}

func TestChunks(t *testing.T) {
	for tags, want := range map[string]string{
		"":                              "",
		"O O":                           "",
		"B-NP I-NP O B-NP B-NP":         "0-2NP 3-4NP 4-5NP",
		"I-NP I-NP O I-NP B-NP I-VP":    "0-2NP 3-4NP 4-5NP 5-6VP", // IOB1, and a change of type
		"I-NP E-NP E-NP O E-NP":         "0-2NP 2-3NP 4-5NP",       // IOE
		"B-X E-X S-X B-X I-X E-X S-Y O": "0-2X 2-3X 3-6X 6-7Y",     // IOBES
		"E-X B-X E-X":                   "0-1X 1-3X",
		"B I O I":                       "0-2 3-4",
		"B-A-B I-A-B":                   "0-2A-B",
		"S-X I-X":                       "0-1X 1-2X",
	} {
		var got []string
		for _, c := range metrics.FindChunks(strings.Fields(tags)) {
			got = append(got, fmt.Sprintf("%d-%d%s", c.From, c.To, c.Type))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", tags, diff)
		}
	}
	p := strings.Fields("B-NP I-NP O B-VP I-VP B-NP")
	r := strings.Fields("B-NP I-NP O B-VP B-VP I-NP")
	c := metrics.Chunks(p, r).Add(metrics.Chunks(r, r))
	if c != (metrics.ChunkCounts{Correct: 6, Predicted: 7, Reference: 8}) {
		t.Errorf("%+v", c)
	}
	if f := c.F1(); math.Abs(f-2*(6./7)*(6./8)/(6./7+6./8)) > 1e-15 {
		t.Error(f)
	}
}

// Counting through sets agrees with the merge, on random tags.
func TestChunksAgainstSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	alphabet := strings.Fields("O B-A I-A B-B I-B E-A S-B E-B")
	for range 500 {
		a, b := make([]string, 8), make([]string, 8)
		for i := range a {
			a[i] = alphabet[rng.IntN(len(alphabet))]
			b[i] = a[i]
			if rng.IntN(3) == 0 {
				b[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		fa, fb := metrics.FindChunks(a), metrics.FindChunks(b)
		common := 0
		for _, c := range fa {
			if slices.Contains(fb, c) {
				common++
			}
		}
		if got := metrics.Chunks(a, b); got != (metrics.ChunkCounts{Correct: common, Predicted: len(fa), Reference: len(fb)}) {
			t.Fatalf("%v %v: %+v, common %d", a, b, got, common)
		}
		covered := 0
		for i, c := range fa {
			if c.To <= c.From || i > 0 && fa[i-1].To > c.From {
				t.Fatalf("%v: %v", a, fa)
			}
			covered += c.To - c.From
		}
		inside := 0
		for _, s := range a {
			if s != "O" {
				inside++
			}
		}
		if covered != inside {
			t.Fatalf("%v: chunks cover %d of %d", a, covered, inside)
		}
	}
}

// Counts by type add up to those of all, and are those of tags whose other types are blanked.
func TestChunksByType(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	tags := []string{"O", "B-X", "I-X", "B-Y", "I-Y"}
	for range 300 {
		p, r := make([]string, 8), make([]string, 8)
		for i := range p {
			p[i], r[i] = tags[rng.IntN(len(tags))], tags[rng.IntN(len(tags))]
		}
		var sum metrics.ChunkCounts
		by := metrics.ChunksByType(p, r)
		for _, kind := range []string{"X", "Y"} {
			sum = sum.Add(by[kind])
			only := func(tags []string) []string {
				out := make([]string, len(tags))
				for i, y := range tags {
					if out[i] = y; y[len(y)-1:] != kind {
						out[i] = "O"
					}
				}
				return out
			}
			if want := metrics.Chunks(only(p), only(r)); by[kind] != want {
				t.Fatalf("%v and %v: %v of %s, want %v", p, r, by[kind], kind, want)
			}
		}
		if want := metrics.Chunks(p, r); sum != want {
			t.Fatalf("%v and %v: %v by type, %v in all", p, r, sum, want)
		}
	}
}

func TestPairedT(t *testing.T) {
	// Student's sleep data (Gosset 1908): t = -4.0621, 9 degrees of freedom, p = 0.002833.
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	r, err := metrics.PairedT(a, b)
	if err != nil || math.Abs(float64(r.T)+4.0621) > 5e-5 || r.DF != 9 || math.Abs(float64(r.P)-0.002833) > 5e-7 || math.Abs(r.Mean+1.58) > 1e-12 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := metrics.PairedT(a, a); err != nil || r.P != 1 || r.T != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := metrics.PairedT(a[:1], b[:1]); err == nil {
		t.Error("one pair was taken")
	}
}

// Two trials with the same difference are no evidence, whatever the last bits of the
// difference are: T and P are undefined, in JSON and in tables too. Two trials without a
// difference are none of one, and P is 1.
func TestPairedTWithoutSpread(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		none bool
	}{
		{[]float64{0.25, 0.5}, []float64{0, 0.25}, true}, {[]float64{0.3, 0.2}, []float64{0.2, 0.1}, true},
		{[]float64{0.7, 0.8, 0.4}, []float64{0.8, 0.9, 0.5}, true}, {[]float64{1000.1, 0.1}, []float64{1000, 0}, true},
		{[]float64{0.1, 0.2}, []float64{0.1, 0.2}, false}, {[]float64{0.1, 0.2}, []float64{0.2, 0.1}, false},
	} {
		plain, err := metrics.PairedT(c.a, c.b)
		if err != nil {
			t.Fatal(err)
		}
		corrected, err := metrics.CorrectedT(c.a, c.b, 1, 4)
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]metrics.TTest{"plain": plain, "corrected": corrected} {
			if undefined := r.T != r.T && r.P != r.P; undefined != c.none || !c.none && (r.P != 1 || r.T != 0) {
				t.Errorf("%s, %v against %v: %+v", name, c.a, c.b, r)
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var back metrics.TTest
			if err := json.Unmarshal(b, &back); err != nil || (back.P != back.P) != c.none || (r.Less() != r.Less()) != c.none {
				t.Errorf("%s: %+v, %v", b, back, err)
			}
			if text := r.P.Text("%.3f"); c.none != (text == "-") {
				t.Errorf("P is written %q", text)
			}
		}
	}
	// A little spread is some.
	if r, err := metrics.PairedT([]float64{0.1, 0.2}, []float64{0.05, 0.1499}); err != nil || !(r.P > 0 && r.P < 0.01) || math.Abs(float64(r.OneTailed()-r.P/2)) > 0 || r.Greater() != float64(r.OneTailed()) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMcNemar(t *testing.T) {
	outcomes := func(both, onlyA, onlyB int) (a, b []bool) {
		add := func(n int, x, y bool) {
			for range n {
				a, b = append(a, x), append(b, y)
			}
		}
		add(both, true, true)
		add(onlyA, true, false)
		add(onlyB, false, true)
		return
	}
	for _, k := range [][2]int{{0, 0}, {1, 0}, {3, 3}, {2, 9}, {26, 10}, {40, 41}} {
		m, err := metrics.McNemar(outcomes(5, k[0], k[1]))
		if err != nil {
			t.Fatal(err)
		}
		n := k[0] + k[1]
		tail, binomial := 0.0, math.Pow(0.5, float64(n))
		for i := 0; i <= min(k[0], k[1]); i++ {
			tail += binomial
			binomial *= float64(n-i) / float64(i+1)
		}
		if want := math.Min(1, 2*tail); math.Abs(m.Exact-want) > 1e-12 || m.OnlyA != k[0] || m.OnlyB != k[1] {
			t.Errorf("%v: exact %v, want %v", k, m.Exact, want)
		}
	}
	// Agresti, Categorical Data Analysis: prime minister approval, 150 and 86 discordant.
	m, err := metrics.McNemar(outcomes(0, 150, 86))
	if err != nil || math.Abs(m.ChiSquare-63.*63/236) > 1e-12 || math.Abs(m.P-4.114562e-05) > 1e-9 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestBootstrap(t *testing.T) {
	x := make([]float64, 400)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = 5 + rng.NormFloat64()
	}
	mean := func(s []int) float64 {
		sum := 0.0
		for _, i := range s {
			sum += x[i]
		}
		return sum / float64(len(s))
	}
	iv, err := metrics.Bootstrap(len(x), 2000, 0.95, rng, mean)
	all := make([]int, len(x))
	for i := range all {
		all[i] = i
	}
	m := mean(all) // the interval is m ± 1.96·s/√400 ≈ m ± 0.098
	if err != nil || math.Abs(m-iv.Low-0.098) > 0.02 || math.Abs(iv.High-m-0.098) > 0.02 {
		t.Errorf("%v around %v, %v", iv, m, err)
	}
	// Each end by itself: of an even statistic the quantiles are known, to within the
	// spread of 20000 draws (0.0011 at a level of 2.5 %).
	iv, err = metrics.Bootstrap(100, 20000, 0.95, rng, func(s []int) float64 { return float64(s[0]*100+s[1]) / 10000 })
	if err != nil || math.Abs(iv.Low-0.025) > 0.006 || math.Abs(iv.High-0.975) > 0.006 {
		t.Errorf("the middle 95 %% of even draws are %v, %v", iv, err)
	}
	if _, err := metrics.Bootstrap(0, 10, 0.95, rng, mean); err == nil {
		t.Error("no examples were taken")
	}
}

func ExampleChunks() {
	reference := strings.Fields("B-NP I-NP B-VP B-NP")
	prediction := strings.Fields("B-NP I-NP B-VP O")
	c := metrics.Chunks(prediction, reference)
	fmt.Printf("precision %.2f, recall %.2f, F1 %.2f\n", c.Precision(), c.Recall(), c.F1())
	// Output: precision 1.00, recall 0.67, F1 0.80
}
