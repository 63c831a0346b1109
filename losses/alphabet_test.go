package losses

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
)

// Products over the absent symbols of a large alphabet give what the kernels of rows give, and what
// enumeration gives.
func TestLargeAlphabet(t *testing.T) {
	if !features.Lanes {
		t.Skip("no AVX-512 here")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		loss valued
		d, l int
	}{
		{Unit, 40, 3}, {Edit{Sub: 1, Ins: 1, Del: 1, Band: 1}, 40, 3}, {SmithWaterman, 33, 3},
		{Unit, 70, 7}, {SmithWaterman, 90, 5}, {Edit{Sub: 1.3, Ins: 1.7, Del: .9}, 50, 5}, {Unit, 200, 8},
	} {
		for _, gamma := range []float64{1, -.7} {
			ref := randomRef(rng, c.l, c.d)
			ref[0] = ref[len(ref)-1] // one class fewer than symbols
			p := publishedPotentials(rng.IntN(1<<20), c.d, c.l, 2)
			p.Theta[1] = append([]float64(nil), p.Theta[1]...)
			for i := range p.Theta[1] {
				if rng.IntN(20) == 0 {
					p.Theta[1][i] = math.Inf(-1)
				}
			}
			m, err := c.loss.Machine(ref, c.d, c.l)
			if err != nil {
				t.Fatal(err)
			}
			var got, want Result
			const asked = WantMarginals | WantExpected
			if err := new(Evaluator).Eval(m, p, gamma, asked, &got); err != nil {
				t.Fatal(err)
			}
			g, err := m.graph(2, Budget{})
			if err != nil {
				t.Fatal(err)
			}
			products := 0
			for s := range g.Layers {
				if g.Layers[s].Tails != nil {
					products++
				}
			}
			if products != c.l {
				t.Errorf("%+v, %d symbols: products at %d of %d positions", c.loss, c.d, products, c.l)
			}
			if c.l > 3 {
				features.Lanes = false
				err = new(Evaluator).Eval(m, p, gamma, asked, &want)
				features.Lanes = true
			} else {
				err = Naive(func(u []int) float64 { return m.Loss(u) }, p, gamma, asked, nil, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.LogZ-want.LogZ) > 1e-11*math.Abs(want.LogZ) {
				t.Errorf("%+v, %d symbols: log Z %v, want %v", c.loss, c.d, got.LogZ, want.LogZ)
			}
			for s := range want.Marginals {
				for i, x := range want.Marginals[s] {
					if math.Abs(got.Marginals[s][i]-x) > 1e-12 {
						t.Fatalf("%+v, %d symbols: marginal %d of position %d is %v, want %v", c.loss, c.d, i,
							s, got.Marginals[s][i], x)
					}
				}
			}
		}
	}
}

// Layers without columns of the tail, and an evaluation after another of other sizes, leave nothing
// behind in the buffers.
func TestLargeAlphabetsInTurn(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	var e Evaluator
	for range 12 {
		d, l := 30+rng.IntN(60), 1+rng.IntN(6)
		ref := randomRef(rng, l, d)
		p := publishedPotentials(rng.IntN(1<<20), d, l, 2)
		m, err := Unit.Machine(ref, d, l)
		if err != nil {
			t.Fatal(err)
		}
		var got, want Result
		if err := e.Eval(m, p, 1, WantMarginals, &got); err != nil {
			t.Fatal(err)
		}
		if err := new(Evaluator).Eval(m, p, 1, WantMarginals, &want); err != nil {
			t.Fatal(err)
		}
		if got.LogZ != want.LogZ {
			t.Fatalf("%d symbols, length %d: log Z %v, alone %v", d, l, got.LogZ, want.LogZ)
		}
		for s := range want.Marginals {
			sum := 0.0
			for i, x := range want.Marginals[s] {
				sum += x
				if got.Marginals[s][i] != x {
					t.Fatalf("%d symbols, length %d: marginal %d of position %d is %v, alone %v", d, l, i, s,
						got.Marginals[s][i], x)
				}
			}
			if math.Abs(sum-1) > 1e-10 {
				t.Errorf("%d symbols, length %d: marginals of position %d sum to %v", d, l, s, sum)
			}
		}
	}
}
