package losses

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The rule integrates x^{c-1} x^k exactly up to its degree.
func TestGaussJacobi(t *testing.T) {
	for _, c := range []float64{0.05, 0.5, 1, 2.75} {
		for _, n := range []int{1, 2, 5, 18, 60} {
			x, w := gaussJacobi(n, c)
			for k := range 2 * n {
				sum := 0.0
				for i := range x {
					if w[i] <= 0 || x[i] < 0 || x[i] > 1 {
						t.Fatalf("n %d c %v: node %v, weight %v", n, c, x[i], w[i])
					}
					sum += w[i] * math.Pow(x[i], float64(k))
				}
				if want := 1 / (float64(k) + c); math.Abs(sum-want) > 1e-12*want {
					t.Errorf("n %d c %v: moment %d is %v, want %v", n, c, k, sum, want)
				}
			}
		}
	}
}

// Enough nodes give what the sum over counts gives.
func TestQuadrature(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for i := range 60 {
		loss := NGram{N: 1 + i%2, C: []float64{0.3, 1, 4}[i%3]}
		alphabet, l := 2+rng.IntN(10), 1+rng.IntN(30)
		ref := randomRef(rng, rng.IntN(31), alphabet)
		p := publishedPotentials(i, alphabet, l, 1+rng.IntN(2))
		m, err := loss.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatal(err)
		}
		const want = WantMarginals | WantPlain
		var r, s Result
		var e Evaluator
		if err := e.Eval(m, p, 1, want, &r); err != nil {
			t.Fatal(err)
		}
		e.Nodes = 1400
		if err := e.Eval(m, p, 1, want, &s); err != nil {
			t.Fatal(err)
		}
		if err := compareResults(&s, &r, want); err != nil {
			t.Errorf("case %d, exact: %v", i, err)
		}
		if m.ngram.top <= 8 && e.ngram.ruleN != m.ngram.exactNodes() {
			t.Errorf("case %d: a rule of %d nodes, not %d", i, e.ngram.ruleN, m.ngram.exactNodes())
		}
	}
}

// On the published instances fourteen nodes give all digits.
func TestFewNodes(t *testing.T) {
	for seed := range 3 {
		p, ref := publishedPotentials(seed+1, 10, 30, 2), publishedRef(seed, 30)
		m, err := NGram{N: 2, C: 1}.Machine(ref, 10, 30)
		if err != nil {
			t.Fatal(err)
		}
		var r, s Result
		var e Evaluator
		if err := e.Eval(m, p, 1, WantMarginals, &r); err != nil {
			t.Fatal(err)
		}
		e.Nodes = 14
		if err := e.Eval(m, p, 1, WantMarginals, &s); err != nil {
			t.Fatal(err)
		}
		if e.ngram.ruleN != 14 || math.Abs(s.LogZ-r.LogZ) > 1e-11 {
			t.Errorf("seed %d, %d nodes: log Z %v, want %v", seed+1, e.ngram.ruleN, s.LogZ, r.LogZ)
		}
		if err := compareResults(&s, &r, WantMarginals); err != nil {
			t.Errorf("seed %d: %v", seed+1, err)
		}
	}
}
