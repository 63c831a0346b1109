package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// riskCase is a random case of a length at which strings are not enumerated.
func riskCase(rng *rand.Rand, l, q int) (p *Potentials, v [][]float64) {
	p, v = NewPotentials(4, l, q), NewPotentials(4, l, q).Theta
	for t, row := range p.Theta {
		for i := range row {
			row[i], v[t][i] = rng.NormFloat64(), rng.NormFloat64()
		}
	}
	return p, v
}

// The risk's Hessian is symmetric, and constants that are added to V at a position change nothing,
// however large they are beside the product.
func TestRiskHessian(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 3))
	for _, loss := range []valued{Unit, Local{}, NGram{N: 2, C: 1}, NGram{N: 2}, Hamming{}} {
		for q := 1; q <= 3; q++ {
			const l = 12
			p, v := riskCase(rng, l, q)
			_, u := riskCase(rng, l, q)
			m, err := loss.Machine(randomRef(rng, l, 4), 4, l)
			if err != nil {
				t.Fatal(err)
			}
			product := func(v [][]float64, logs bool) [][]float64 {
				t.Helper()
				var r Result
				if err := (&Evaluator{Direction: v, logOnly: logs}).Eval(m, p, 1, WantRiskHVP,
					&r); err != nil {
					t.Fatal(err)
				}
				return r.RiskHVP
			}
			hv, hu := product(v, false), product(u, false)
			name := fmt.Sprintf("%T%+v q %d", loss, loss, q)
			var a, b, size float64
			for t := range v {
				for i := range v[t] {
					a += u[t][i] * hv[t][i]
					b += v[t][i] * hu[t][i]
					size += math.Abs(u[t][i] * hv[t][i])
				}
			}
			if !(size > 0) || math.Abs(a-b) > 1e-12*size {
				t.Errorf("%s: u'Hv = %v, v'Hu = %v", name, a, b)
			}
			if err := compareRows(name+": in logarithms", product(v, true), hv); err != nil {
				t.Error(err)
			}
			const far = 1 << 20 // exact to add
			moved := NewPotentials(4, l, q).Theta
			for t := range v {
				for i, x := range v[t] {
					moved[t][i] = math.Round(x*1024)/1024 + far
					v[t][i] = moved[t][i] - far
				}
			}
			hv = product(v, false)
			for t, row := range product(moved, false) {
				for i, x := range row {
					hv[t][i] -= x
					size = max(size, math.Abs(x))
				}
			}
			for s := range hv {
				for i, x := range hv[s] {
					if math.Abs(x) > 1e-9*max(1, size) {
						t.Fatalf("%s: V moved by %d: position %d, window %d moves by %v", name, far, s, i, x)
					}
				}
			}
		}
	}
}

// Where nearly no allowed string has a weight, the product comes from logarithms by itself.
func TestRiskHessianFallsBack(t *testing.T) {
	const l = 4
	loss := NGram{N: 1} // strings without a common symbol are left out
	ref := []int{0, 0, 0, 0}
	m, err := loss.Machine(ref, 3, l)
	if err != nil {
		t.Fatal(err)
	}
	p, rng := NewPotentials(3, l, 2), rand.New(rand.NewPCG(1, 2))
	v := NewPotentials(3, l, 2).Theta
	for s, row := range p.Theta {
		for i := range row {
			row[i], v[s][i] = rng.NormFloat64(), rng.NormFloat64()
			if i%3 == 0 && (s == 0 || i > 0) {
				row[i] -= 700 // the reference's symbol, unless behind another
			}
		}
	}
	var got, want Result
	if err := (&Evaluator{Direction: v}).Eval(m, p, 1, WantRiskHVP, &got); err != nil {
		t.Fatal(err)
	}
	if err := Naive(func(u []int) float64 { return loss.Value(u, ref) }, p, 1, WantRiskHVP, v,
		&want); err != nil {
		t.Fatal(err)
	}
	if err := compareRows("product", got.RiskHVP, want.RiskHVP); err != nil {
		t.Error(err)
	}
	size := 0.0
	for _, row := range want.RiskHVP {
		for _, x := range row {
			size = max(size, math.Abs(x))
		}
	}
	if size < 1e-3 {
		t.Errorf("the greatest entry is %v: this tests nothing", size)
	}
}

// BenchmarkRiskHessian compares the product with a risk and its gradient.
func BenchmarkRiskHessian(b *testing.B) {
	for _, want := range []struct {
		name string
		want Want
	}{{"gradient", WantRisk | WantRiskGradient}, {"product", WantRiskHVP}, {"logz-product", WantHVP}} {
		b.Run("loss=edit/l=14/D=10/q=2/want="+want.name, func(b *testing.B) {
			p, ref := publishedPotentials(1, 10, 14, 2), publishedRef(0, 14)
			m, err := Unit.Machine(ref, 10, 14)
			if err != nil {
				b.Fatal(err)
			}
			e := Evaluator{Direction: p.Theta}
			var r Result
			for b.Loop() {
				if err := e.Eval(m, p, 0, want.want, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
