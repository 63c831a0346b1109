package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A sum has the weighted sum of the Gram matrices, and other eigenvalues than its kernels side by
// side.
func TestSum(t *testing.T) {
	x := random(rand.New(rand.NewPCG(5, 6)), 40, 3)
	kernels := []Kernel[*Matrix]{Vector{Kind: Gaussian, Width: 2}, Vector{Kind: Linear, Columns: []int{1}},
		Vector{Kind: Polynomial, Offset: 1}}
	k := Sum[*Matrix]{kernels, []float64{0.5, 0, 0.25}}
	got, err := Gram[*Matrix](k, x, &Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	want, trace := make([]float64, 1600), 0.0
	var side []float64 // eigenvalues of both kernels
	for i, one := range kernels {
		g, err := Gram(one, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		for at := range g {
			g[at] *= k.Weight[i] / 40
			want[at] += 40 * g[at]
		}
		s, err := Top(g, 40, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		side = append(side, s.Values...)
	}
	for at := range want {
		near(t, "gram", got[at], want[at], 1e-13)
	}
	d, err := k.Diagonal(x)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range d {
		near(t, "diagonal", v, want[i*41], 1e-13)
		trace += v / 40
	}
	p, err := Project[*Matrix](k, x, 3, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "trace", p.Trace, trace, 1e-12)
	for _, v := range side {
		if math.Abs(p.Values[0]-v) < 1e-3*v {
			t.Errorf("the first eigenvalue of the sum, %v, is one of a kernel's", p.Values[0])
		}
	}
	for _, bad := range []Sum[*Matrix]{{kernels, []float64{1, 2}}, {kernels[:1], []float64{-1}},
		{kernels[:1], []float64{math.NaN()}}, {nil, nil}} {
		if _, err := bad.Between(x, x); err == nil || !strings.Contains(err.Error(), "weight") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
