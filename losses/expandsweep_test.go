package losses

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Through the shared evaluator, log Z, marginals, expected loss, risk and its
// gradient of random lattices agree with sums over all strings of labels, for
// expansions of length 0 to 3, with and without clamp and minimization.
func TestExpandEvaluated(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var b ExpandBuilder
	var e Evaluator
	var r Result
	worst := 0.0
	near := func(i int, what string, got, want, tol float64) {
		t.Helper()
		d := math.Abs(got-want) / max(1, math.Abs(want))
		worst = max(worst, d)
		if !(d <= tol) {
			t.Fatalf("case %d: %s is %v, want %v", i, what, got, want)
		}
	}
	for i := range 640 {
		ref, labels := randomExpansions(rng, 1+rng.IntN(4), 3)
		sizes := make([]int, len(labels))
		for s := range labels {
			sizes[s] = len(labels[s])
		}
		order := 1 + i%3
		p := NewLatticePotentials(sizes, order)
		for _, row := range p.Theta {
			for z := range row {
				row[z] = 2 * rng.NormFloat64()
				if rng.IntN(25) == 0 {
					row[z] = math.Inf(-1)
				}
			}
		}
		gamma := []float64{0, 1, -1, 4, 0.5}[rng.IntN(5)]
		opts := &ExpandOptions{NoClamp: i%4 == 1, NoMinimize: i%4 == 2}
		if i%5 == 4 {
			opts.Costs = &EditCosts{Insert: 1 + rng.IntN(3), Delete: 1 + rng.IntN(3), Substitute: rng.IntN(5),
				Match: -rng.IntN(2)}
		}
		costs := UnitCosts
		if opts.Costs != nil {
			costs = *opts.Costs
		}
		m, err := b.Build(ref, labels, opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Eval(m, p, gamma, WantMarginals|WantExpected|WantPlain|WantRisk|WantRiskGradient,
			&r); err != nil {
			t.Fatal(err)
		}
		// Sums over all strings.
		var z, z0, expected, risk float64
		q, q0, q0L := NewLatticePotentials(sizes, order), NewLatticePotentials(sizes,
			order), NewLatticePotentials(sizes, order)
		choices(labels, func(u, spelt []int) {
			score := p.Score(u)
			if math.IsInf(score, -1) {
				return
			}
			loss := float64(editByTable(spelt, ref, costs))
			w, w0 := math.Exp(score+gamma*loss), math.Exp(score)
			z, z0, expected, risk = z+w, z0+w0, expected+w*loss, risk+w0*loss
			for s := range u {
				at := p.Window(u, s)
				q.Theta[s][at] += w
				q0.Theta[s][at] += w0
				q0L.Theta[s][at] += w0 * loss
			}
		})
		if z == 0 {
			if !math.IsInf(r.LogZ, -1) {
				t.Fatalf("case %d: log Z is %v where no string is allowed", i, r.LogZ)
			}
			continue
		}
		near(i, "log Z", r.LogZ, math.Log(z), 1e-12)
		near(i, "log Z0", r.LogZ0, math.Log(z0), 1e-12)
		near(i, "expected loss", r.Expected, expected/z, 1e-11)
		near(i, "risk", r.Risk, risk/z0, 1e-11)
		for s := range q.Theta {
			for at := range q.Theta[s] {
				near(i, "marginal", r.Marginals[s][at], q.Theta[s][at]/z, 1e-12)
				near(i, "risk gradient", r.RiskGradient[s][at], (q0L.Theta[s][at]-q0.Theta[s][at]*risk/z0)/z0,
					1e-11)
			}
		}
	}
	t.Logf("largest difference %.1e", worst)
}
