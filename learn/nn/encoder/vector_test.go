package encoder

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The loops in use, in float32, against those of float64, which have one form. Lengths are those of
// registers and others, and what lies behind the vectors stays.
func TestVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 50; n++ {
		const arrays = 13
		var a, b [][]float32
		var wide [][]float64
		for range arrays {
			v := random[float32](n+1, rng)
			for i := range v {
				if rng.IntN(8) == 0 {
					v[i] = 0
				}
			}
			a, b = append(a, v), append(b, append([]float32{}, v...))
			w := make([]float64, n+1)
			for i := range w {
				w[i] = float64(v[i])
			}
			wide = append(wide, w)
		}
		gates32, gates64 := random[float32](4*n, rng), make([]float64, 4*n)
		for i, v := range gates32 {
			gates64[i] = float64(v)
		}
		d32, d64 := make([]float32, 4*n), make([]float64, 4*n)
		got, want := loops(a, gates32, d32, n), loops(wide, gates64, d64, n)
		near := func(name string, got float32, want float64) {
			if math.Abs(float64(got)-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("n=%d: %s is %v, not %v", n, name, got, want)
			}
		}
		for k := range got {
			near("a result", float32(got[k]), want[k])
		}
		for k := range a {
			for i := range n {
				near("an array", a[k][i], wide[k][i])
			}
			if a[k][n] != b[k][n] {
				t.Fatalf("n=%d: array %d was written behind its end", n, k)
			}
		}
		for i := range d32 {
			near("a gate", gates32[i], gates64[i])
			near("a derivative", d32[i], d64[i])
		}
	}
}

// loops calls every loop once.
func loops[T Float](v [][]T, gates, d []T, n int) []float64 {
	at := func(k int) []T { return v[k][:n] }
	var out []float64
	add(at(0), at(1))
	sum(at(1), at(2), at(3))
	product(at(2), at(0), at(3))
	scale(at(3), 0.75)
	out = append(out, squared(at(3)))
	rectify(at(4), at(5))
	maskPositive(at(5), at(6), at(4))
	inverse := normalise(at(6), at(7))
	scaleShift(at(7), at(6), at(8), at(9))
	out = append(out, float64(inverse))
	if n > 1 { // one entry has no deviation
		normaliseBack(at(9), at(0), at(6), at(8), at(7), at(3), inverse)
	}
	cell(gates, at(10), at(11), at(12), at(8))
	cellBack(d, gates, at(10), at(12), at(0), at(2))
	return out
}

// Not a number passes, and is not hidden by a bound.
func TestVectorsPassNaN(t *testing.T) {
	nan := float32(math.NaN())
	for _, n := range []int{1, 8} {
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = nan
		}
		if rectify(y, x); y[0] == y[0] {
			t.Errorf("n=%d: the rectifier hides NaN", n)
		}
		gates := make([]float32, 4*n)
		for i := range gates {
			gates[i] = nan
		}
		c, th, h := make([]float32, n), make([]float32, n), make([]float32, n)
		if cell(gates, make([]float32, n), c, th, h); c[0] == c[0] || h[0] == h[0] {
			t.Errorf("n=%d: a cell hides NaN", n)
		}
	}
}

// tanh of every tenth float32 from 2^-30 to 20, both ways it is computed.
func TestHyperbolic(t *testing.T) {
	const n = 8
	worst := 0.0
	zero, c, th, h, gates := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n),
		make([]float32, 4*n)
	for bits := math.Float32bits(0x1p-30); bits < math.Float32bits(20); bits += 1001 {
		x := math.Float32frombits(bits)
		for _, s := range []float32{x, -x} {
			want := math.Tanh(float64(s))
			for i := range gates {
				gates[i] = s
			}
			cell(gates, zero, c, th, h)
			if gates[3*n] != hyperbolic(s) || gates[0] != sigmoid(s) {
				t.Fatalf("tanh %v is %v in a cell, %v by itself", s, gates[3*n], hyperbolic(s))
			}
			worst = max(worst, math.Abs(float64(hyperbolic(s))/want-1))
			if d := math.Abs(float64(sigmoid(s)) - 1/(1+math.Exp(-float64(s)))); d > 2e-7 {
				t.Fatalf("sigmoid of %v is %v off", s, d)
			}
		}
	}
	if worst > 4e-7 {
		t.Errorf("tanh is off by %v of itself", worst)
	}
}
