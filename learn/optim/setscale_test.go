package optim_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
)

// The nearest point z of an lq ball to a point a outside has Σ (z_i/r)^q = 1 and
// a_i - z_i in proportion to z_i^{q-1}, for any exponent.
func TestBallOfAnyExponent(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, q := range []float64{1 + 1e-9, 1.001, 1.3, 2.5, 4, 20, 100, 150, 200, 1000, 1e5, 1e9, 1e17, 1e300} {
		for trial := range 60 {
			n := 1 + rng.IntN(8)
			radius := math.Exp(3 * rng.NormFloat64())
			a := normal(rng, n)
			spread := []float64{0.01, 1, 20}[trial%3]
			for i := range a {
				a[i] = radius * math.Copysign(math.Exp(spread*a[i]), a[i])
				if rng.IntN(6) == 0 {
					a[i] = 0
				}
				if i > 0 && rng.IntN(6) == 0 {
					a[i] = -a[i-1]
				}
			}
			z := slices.Clone(a)
			optim.Ball{Q: q, Radius: radius}.Project(z)
			if slices.Equal(a, z) { // inside
				sum := 0.0
				for _, v := range a {
					sum += math.Pow(math.Abs(v)/radius, q)
				}
				if sum > 1+1e-9*math.Min(q, 1e6) && q < 1e12 {
					t.Fatalf("q %v radius %v: %v, which is outside, stayed", q, radius, a)
				}
				continue
			}
			size, k := 0.0, 0
			for i, v := range z {
				if !(math.Abs(v) <= math.Abs(a[i])) || v*a[i] < 0 || a[i] != 0 && v != v {
					t.Fatalf("q %v radius %v: %v to %v: entry %d grew", q, radius, a, z, i)
				}
				size += math.Exp(q * math.Log(math.Abs(v)/radius))
				if math.Abs(v) > math.Abs(z[k]) {
					k = i
				}
			}
			// One rounding of z moves z^q by q of them.
			if tol := 1e-12 + 1e-15*q; tol < 0.5 && math.Abs(size-1) > tol {
				t.Fatalf("q %v radius %v: %v to %v: the sum of powers is %v", q, radius, a, z, size)
			}
			for i := range z {
				if z[i] == 0 { // or so small that floats have it as zero
					most := math.Exp((q - 1) * (math.Log(math.SmallestNonzeroFloat64) - math.Log(math.Abs(z[k]))))
					if math.Abs(a[i]) > (math.Abs(a[k])-math.Abs(z[k]))*most*(1+1e-12) {
						t.Fatalf("q %v radius %v: %v to %v: entry %d should not be zero", q, radius, a, z, i)
					}
					continue
				}
				ratio := math.Exp((q - 1) * math.Log(math.Abs(z[i]/z[k])))
				want := (math.Abs(a[k]) - math.Abs(z[k])) * ratio
				got := math.Abs(a[i]) - math.Abs(z[i])
				tol := 1e-11*(math.Abs(a[i])+math.Abs(z[k])) + 1e-14*math.Min(q, 1e12)*want + 1e-14*math.Abs(a[k])
				if q > 1e9 {
					continue // the ratio is lost in the rounding of z
				}
				if math.Abs(got-want) > tol {
					t.Fatalf("q %v radius %v: %v to %v: entry %d moved by %v, should by %v", q, radius, a, z, i, got, want)
				}
			}
		}
	}
}

// Against the definition in arithmetic of 2000 bits: the threshold of a simplex by
// trying each number of positive entries.
func TestSimplexOfAnyMagnitude(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	exact := func(x []float64, sum float64) []float64 {
		u := slices.Clone(x)
		slices.Sort(u)
		slices.Reverse(u)
		newFloat := func(v float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(v) }
		total, best := newFloat(-sum), newFloat(0)
		for i, v := range u {
			total.Add(total, newFloat(v))
			theta := new(big.Float).Quo(total, newFloat(float64(i+1)))
			if newFloat(v).Cmp(theta) > 0 {
				best = theta
			}
		}
		out := make([]float64, len(x))
		for i, v := range x {
			d, _ := newFloat(0).Sub(newFloat(v), best).Float64()
			out[i] = math.Max(d, 0)
		}
		return out
	}
	for trial := range 3000 {
		n := 1 + rng.IntN(7)
		sum := math.Pow(10, float64(rng.IntN(13)-6))
		shift := math.Pow(10, float64(rng.IntN(40)-20)) * []float64{0, 1, -1}[trial%3]
		scale := math.Pow(10, float64(rng.IntN(40)-20))
		x := normal(rng, n)
		for i := range x {
			x[i] = x[i]*scale + shift
			if i > 0 && rng.IntN(4) == 0 {
				x[i] = x[i-1]
			}
		}
		check := func(name string, p, want []float64) {
			t.Helper()
			for i := range p {
				if !(math.Abs(p[i]-want[i]) <= 1e-14*sum) {
					t.Fatalf("%s of %v: %v to %v, should be %v", name, sum, x, p, want)
				}
			}
		}
		p := slices.Clone(x)
		optim.Simplex{Sum: sum}.Project(p)
		check("simplex", p, exact(x, sum))

		a, norm := make([]float64, n), 0.0
		for i, v := range x {
			a[i] = math.Abs(v)
			norm += a[i]
		}
		p = slices.Clone(x)
		optim.Ball{Q: 1, Radius: sum}.Project(p)
		want := slices.Clone(a)
		if norm > sum {
			want = exact(a, sum)
		}
		for i, v := range x {
			want[i] = math.Copysign(want[i], v)
		}
		check("l1 ball", p, want)
	}
}

// Mistakes in a program are reported at once, by name.
func TestSetsThatAreNone(t *testing.T) {
	for want, s := range map[string]optim.Set{
		"Lo has 0 bounds for 2": optim.Box{Lo: []float64{}},
		"Hi has 3 bounds for 2": optim.Box{Hi: []float64{1, 2, 3}},
		"Q 0.5":                 optim.Ball{Q: 0.5, Radius: 1},
		"Q NaN":                 optim.Ball{Q: math.NaN(), Radius: 1},
		"Radius -1":             optim.Ball{Radius: -1},
		"Radius NaN":            optim.Ball{Radius: math.NaN()},
		"simplex of sum -1":     optim.Simplex{Sum: -1},
	} {
		func() {
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r), want) || !strings.HasPrefix(fmt.Sprint(r), "optim: ") {
					t.Errorf("%+v: panic %v, should say %q", s, r, want)
				}
			}()
			s.Project([]float64{3, 4})
		}()
	}
}

// Coordinates near the greatest float64 project as smaller ones in proportion do.
func TestProjectionsOfTheLargest(t *testing.T) {
	const big = math.MaxFloat64
	for _, q := range []float64{1, 1.5, 2, 3, 20, math.Inf(1)} {
		for _, x := range [][]float64{{big, big, big}, {big, -big / 2, big / 4, 0}, {-big}, {big, 1, 1e-300}} {
			for _, radius := range []float64{1e-3, 1, 1e150, big / 16, big} {
				p := slices.Clone(x)
				optim.Ball{Q: q, Radius: radius}.Project(p)
				small, r := slices.Clone(x), radius*0x1p-400
				for i := range small {
					small[i] *= 0x1p-400
				}
				optim.Ball{Q: q, Radius: r}.Project(small)
				for i, v := range p {
					want := small[i] * 0x1p400
					if !(math.Abs(v-want) <= 1e-12*radius) || v*x[i] < 0 {
						t.Errorf("q %v, radius %v: %v to %v, should be %v at %d", q, radius, x, p, want, i)
						break
					}
				}
			}
		}
	}
	p := []float64{big, big, -big}
	optim.Simplex{Sum: big / 2}.Project(p)
	if want := big / 4; math.Abs(p[0]-want) > 1e-12*want || p[0] != p[1] || p[2] != 0 {
		t.Errorf("simplex: %v", p)
	}
}

// However far away a point is, its projection keeps the sum and the bounds, and is the nearest:
// where z_i may fall and z_j may rise, x_i - z_i ≥ x_j - z_j.
func TestBoxSimplexOfAnyMagnitude(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for trial := range 20000 {
		n := 2 + rng.IntN(5)
		lo, hi := make([]float64, n), make([]float64, n)
		for i := range lo {
			if rng.IntN(4) > 0 {
				lo[i] = rng.Float64() / float64(n)
			}
			hi[i] = lo[i] + rng.Float64()
			if rng.IntN(6) == 0 {
				hi[i] = lo[i]
			}
		}
		s, err := optim.NewBoxSimplex(n, lo, hi, 0)
		if err != nil {
			continue
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Ldexp(float64(rng.IntN(9)-4), rng.IntN(2000)-1000)
			if trial%2 == 0 {
				x[i] = math.Ldexp(float64(rng.IntN(9)-4), trial%100-30)
			}
		}
		z := slices.Clone(x)
		s.Project(z)
		sum := 0.0
		for i, v := range z {
			sum += v
			if !(v >= lo[i] && v <= hi[i]) {
				t.Fatalf("%v within %v and %v: %v", x, lo, hi, z)
			}
			for j := range z {
				if v > lo[i] && z[j] < hi[j] && x[i]-x[j] < v-z[j]-1e-12 {
					t.Fatalf("%v within %v and %v: %v is not the nearest: %d and %d", x, lo, hi, z, i, j)
				}
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("%v within %v and %v: %v has the sum %v", x, lo, hi, z, sum)
		}
	}
}
