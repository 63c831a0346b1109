package optim

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// bowl is Σ exp(a_i·x) + ½|x|², smooth and strictly convex.
type bowl struct {
	a [][]float64
	n int
}

func (b *bowl) Dim() int { return b.n }

func (b *bowl) Curve(x, grad, hess []float64) float64 {
	v := 0.0
	for i, t := range x {
		v += t * t / 2
		if grad != nil {
			grad[i] += t
			hess[i*b.n+i]++
		}
	}
	for _, a := range b.a {
		s := 0.0
		for i, t := range x {
			s += a[i] * t
		}
		e := math.Exp(s)
		v += e
		if grad == nil {
			continue
		}
		for i := range x {
			grad[i] += e * a[i]
			for j := range i + 1 {
				hess[i*b.n+j] += e * a[i] * a[j]
			}
		}
	}
	return v
}

func TestNewton(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 20 {
		b := &bowl{n: 5}
		for range 8 {
			a := make([]float64, 5)
			for i := range a {
				a[i] = rng.NormFloat64()
			}
			b.a = append(b.a, a)
		}
		x := []float64{3, -2, 5, 1, -4}
		v, above, err := Newton{Tolerance: 1e-14}.Minimize(b, x)
		if err != nil {
			t.Fatal(err)
		}
		g, h := make([]float64, 5), make([]float64, 25)
		b.Curve(x, g, h)
		if MaxAbs(g) > 1e-6 || above > 1e-12*v {
			t.Errorf("gradient %g, above %g", MaxAbs(g), above)
		}
	}
	if _, _, err := (Newton{}).Minimize(&Reciprocals{A: []float64{1}}, []float64{-1}); !errors.Is(err, ErrNotFinite) {
		t.Error(err)
	}
	if _, _, err := (Newton{Steps: 1}).Minimize(&bowl{a: [][]float64{{1}}, n: 1}, []float64{50}); !errors.Is(err, ErrSteps) {
		t.Error(err)
	}
}

// Sums of reciprocals have closed forms under one budget, and under two.
func TestInterior(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for range 30 {
		n := 1 + rng.IntN(6)
		a, s := make([]float64, n), make([]float64, n)
		all := make([]int, n)
		ones := make([]float64, n)
		roots := 0.0
		for i := range n {
			a[i], s[i], all[i], ones[i] = rng.ExpFloat64(), 0.2+rng.Float64(), i, 1
			roots += math.Sqrt(a[i])
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = 0.5 / float64(n)
		}
		p := &Interior{F: &Reciprocals{A: a}, Constraints: []Inside{&Linear{all, ones, 1}}, Gap: 1e-12}
		if _, _, err := p.Minimize(x); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if want := math.Sqrt(a[i]) / roots; math.Abs(x[i]-want) > 1e-5 {
				t.Errorf("x_%d is %g, want %g", i, x[i], want)
			}
		}
		// With a second budget and a bound on Σ 1/x the optimum is √((a+t3)/(t1+t2 s)) for
		// multipliers t that the conditions determine: here they are drawn, and the bounds
		// are what they lead to.
		t1, t2, t3 := rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()
		want := make([]float64, n)
		sum, kyfan, inverse := 0.0, 0.0, 0.0
		for i := range want {
			want[i] = math.Sqrt((a[i] + t3) / (t1 + t2*s[i]))
			sum, kyfan, inverse = sum+want[i], kyfan+s[i]*want[i], inverse+1/want[i]
			x[i] = want[i]
		}
		if n < 3 {
			continue // the three bounds leave one point
		}
		p.Constraints = []Inside{&Linear{all, ones, sum * 0.99}}
		if _, _, err := p.Minimize(x); !errors.Is(err, ErrOutside) {
			t.Errorf("a start outside: %v", err)
		}
		for i := range x {
			x[i] = 0.5 * want[i]
		}
		p = &Interior{F: &Reciprocals{A: a}, Constraints: []Inside{&Linear{all, ones, sum}, &Linear{all, s, kyfan}, Harmonic{inverse * (1 + 1e-9)}}, Gap: 1e-12}
		start := starter(t, p.Constraints[:2], inverse*(1+1e-9), x)
		if _, _, err := p.Minimize(start); err != nil {
			t.Fatal(err)
		}
		for i := range start {
			if math.Abs(start[i]-want[i]) > 1e-3*want[i] {
				t.Errorf("x_%d is %g, want %g", i, start[i], want[i])
			}
		}
	}
}

// starter lowers Σ 1/x until it is below the bound.
func starter(t *testing.T, c []Inside, bound float64, x []float64) []float64 {
	t.Helper()
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	h := Harmonic{bound}
	p := &Interior{F: &Reciprocals{A: ones}, Constraints: c, Gap: 1e-12, Enough: func(x []float64) bool { return h.Slack(x) > 0 }}
	if _, _, err := p.Minimize(x); err != nil {
		t.Fatal(err)
	}
	return x
}

// Barriers have the derivatives of what they are.
func TestBarriers(t *testing.T) {
	x := []float64{0.3, 0.2, 0.4}
	for name, c := range map[string]Inside{"linear": &Linear{[]int{2, 0}, []float64{1, -0.5}, 1}, "harmonic": Harmonic{20}} {
		value := func(x []float64) float64 { return -math.Log(c.Slack(x)) }
		grad, hess := make([]float64, 3), make([]float64, 9)
		c.AddBarrier(x, 1, grad, hess)
		for i := range 3 {
			e := 1e-5
			at := func(i int, d float64) []float64 {
				y := append([]float64(nil), x...)
				y[i] += d
				return y
			}
			if want := (value(at(i, e)) - value(at(i, -e))) / (2 * e); math.Abs(grad[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: gradient %d is %g, by differences %g", name, i, grad[i], want)
			}
			for j := range i + 1 {
				gp, gm, scratch := make([]float64, 3), make([]float64, 3), make([]float64, 9)
				c.AddBarrier(at(j, e), 1, gp, scratch)
				c.AddBarrier(at(j, -e), 1, gm, scratch)
				if want := (gp[i] - gm[i]) / (2 * e); math.Abs(hess[i*3+j]-want) > 1e-4*(1+math.Abs(want)) {
					t.Errorf("%s: second derivative %d, %d is %g, by differences %g", name, i, j, hess[i*3+j], want)
				}
			}
		}
	}
}

// The minimum of a support vector machine meets its conditions, with and without a free
// constant, separable or not; one in one dimension is known.
func TestHinge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for trial := range 20 {
		n, d := 30+rng.IntN(40), 2+rng.IntN(4)
		h := &Hinge{X: make([]float64, n*d), Y: make([]float64, n), C: make([]float64, n), Penalty: make([]float64, d)}
		for j := range d {
			h.Penalty[j] = 0.01 + rng.Float64()
		}
		if trial%2 == 0 {
			h.Penalty[d-1] = 0
		}
		for i := range n {
			h.Y[i], h.C[i] = 1-2*float64(i%2), 0.5+rng.Float64()
			for j := range d {
				h.X[i*d+j] = rng.NormFloat64()
			}
			h.X[i*d] += h.Y[i] * float64(trial%5)
			if trial%2 == 0 {
				h.X[i*d+d-1] = 1
			}
		}
		value := func(v []float64) float64 {
			s := 0.0
			for i := range n {
				t := 0.0
				for j := range d {
					t += h.X[i*d+j] * v[j]
				}
				s += h.C[i] * max(0, 1-h.Y[i]*t)
			}
			for j, p := range h.Penalty {
				s += p * v[j] * v[j] / 2
			}
			return s
		}
		v, f, gap, err := h.Minimize()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(value(v)-f) > 1e-12*(1+f) || gap > 1e-8*f {
			t.Errorf("value %g is given as %g; gap %g", value(v), f, gap)
		}
		for range 200 {
			w := append([]float64(nil), v...)
			for j := range w {
				w[j] += 0.05 * rng.NormFloat64()
			}
			if value(w) < f-gap-1e-12 {
				t.Errorf("%g nearby, %g at the minimum", value(w), f)
			}
		}
	}
	// max(0, 1-v)·2 + max(0, 1+v) + v²/2 is least at v = 1: 2 + 1/2.
	v, f, _, err := (&Hinge{X: []float64{1, 1}, Y: []float64{1, -1}, C: []float64{2, 1}, Penalty: []float64{1}}).Minimize()
	if err != nil || math.Abs(v[0]-1) > 1e-3 || math.Abs(f-2.5) > 1e-8 {
		t.Error(v, f, err)
	}
}
