package losses

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Factored potentials give what the same potentials give in the dense form, for machines of every
// kind and for scores far apart.
func TestFactored(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	var e, other Evaluator
	var r, want Result
	swept := 0
	for trial := range 400 {
		spread := []float64{1, 10, 60, 1000}[trial%4]
		f := &Factored{Pairs: &PairScores{}}
		left := 1
		for range 1 + rng.IntN(6) {
			n := 1 + rng.IntN(5)
			f.Sizes, f.At = append(f.Sizes, n), append(f.At, len(f.Pairs.Scores))
			for range left * n {
				f.Pairs.Scores = append(f.Pairs.Scores, spread*rng.NormFloat64()/2)
			}
			for range n {
				f.Unary = append(f.Unary, spread*rng.NormFloat64())
			}
			left = n
		}
		if trial%7 == 0 {
			f.Unary[len(f.Unary)-1] = math.Inf(-1)
		}
		f.Pairs.Set()
		p := NewLatticePotentials(f.Sizes, 2)
		u, left := 0, 1
		for s, n := range f.Sizes {
			for i := range left * n {
				p.Theta[s][i] = f.Pairs.Scores[f.At[s]+i] + f.Unary[u+i%n]
			}
			u, left = u+n, n
		}
		if err := e.SetFactored(f); err != nil {
			t.Fatal(err)
		}
		if e.given.ok {
			swept++
		}
		for _, excluded := range []bool{false, true} {
			var b Builder
			values := []uint32{b.Value(0), b.Value(1), b.Value(-1), b.Value(0.5)}
			b.SetBase(2)
			columns := 1
			for s, n := range f.Sizes {
				following := 1
				if s+1 < len(f.Sizes) {
					following = 1 + rng.IntN(3)
				}
				l := Layer{Labels: n, Columns: columns}
				if trial%3 > 0 { // a class for every label
					l.Classes, l.Class = n, layered.Counting[:n]
				}
				for i := range columns * n {
					v := values[rng.IntN(4)]
					if excluded && i%n > 0 && rng.IntN(3) == 0 {
						v = Excluded
					}
					l.Next, l.Off = append(l.Next, uint32(rng.IntN(following))), append(l.Off, v)
				}
				if err := b.Layer(l); err != nil {
					t.Fatal(err)
				}
				columns = following
			}
			m, err := b.Finish([]uint32{values[1]})
			if err != nil {
				t.Fatal(err)
			}
			for _, ask := range []Want{0, WantMarginals, WantMarginals | WantRisk | WantRiskGradient,
				WantExpected | WantPlain, WantMaxAug | WantMarginals} {
				for _, gamma := range []float64{0, 4, -2, 300} {
					for _, machine := range []*Machine{m, nil} {
						if err := e.SetFactored(f); err != nil {
							t.Fatal(err)
						}
						if err := other.Eval(machine, p, gamma, ask, &want); err != nil {
							t.Fatal(err)
						}
						// Twice: what the first leaves must serve the second.
						for range 2 {
							if err := e.EvalFactored(machine, gamma, ask, &r); err != nil {
								t.Fatal(err)
							}
							same := func(name string, a, b float64) {
								if a != b && !(math.IsNaN(a) && math.IsNaN(b)) &&
									!(math.Abs(a-b) <= 1e-9*max(1, math.Abs(b))) {
									t.Fatalf("trial %d, γ %v, want %b: %s %v, dense %v", trial, gamma, ask,
										name, a, b)
								}
							}
							same("log Z", r.LogZ, want.LogZ)
							if ask&WantRisk != 0 {
								same("risk", r.Risk, want.Risk)
							}
							if ask&WantExpected != 0 {
								same("expected", r.Expected, want.Expected)
							}
							if ask&WantMaxAug != 0 {
								same("greatest", r.MaxAug, want.MaxAug)
							}
							if ask&WantPlain != 0 {
								same("plain log Z", r.LogZ0, want.LogZ0)
							}
							for s := range f.Sizes {
								if ask&WantMarginals != 0 {
									for i, x := range want.Marginals[s] {
										same("marginal", r.Marginals[s][i], x)
									}
								}
								if ask&WantRiskGradient != 0 {
									for i, x := range want.RiskGradient[s] {
										same("gradient", r.RiskGradient[s][i], x)
									}
								}
							}
						}
					}
				}
			}
		}
	}
	if swept < 100 || swept > 350 {
		t.Errorf("%d of 400 were swept in factored form", swept)
	}
}
