package semiring

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLogSum compares with a sum in which nothing is scaled.
func TestLogSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		var s LogSum
		sum := 0.0
		for range n {
			x := rng.NormFloat64() * 20
			s.Add(x)
			sum += math.Exp(-x)
		}
		if got, want := s.Sum(), -math.Log(sum); !near(got, want, 1e-12*max(1, math.Abs(want))) {
			t.Errorf("%d terms: %v, want %v", n, got, want)
		}
	}
	inf := math.Inf(1)
	for _, c := range []struct {
		terms []float64
		want  float64
	}{
		{nil, inf}, {[]float64{inf}, inf}, {[]float64{inf, 2, inf}, 2}, {[]float64{1e6, -1e6}, -1e6}, {[]float64{0, 0, 0, 0}, -2 * math.Ln2},
		{[]float64{-inf}, -inf}, {[]float64{-inf, -inf, 3, inf}, -inf}, {[]float64{3, -inf, inf}, -inf}, {[]float64{900, 900}, 900 - math.Ln2},
	} {
		var s LogSum
		for _, x := range c.terms {
			s.Add(x)
		}
		if got := s.Sum(); got != c.want {
			t.Errorf("%v: %v, want %v", c.terms, got, c.want)
		}
	}
	for _, terms := range [][]float64{{math.NaN()}, {1, math.NaN()}, {math.NaN(), 1}, {-inf, math.NaN(), 1}} {
		var s LogSum
		for _, x := range terms {
			s.Add(x)
		}
		if got := s.Sum(); got == got {
			t.Errorf("%v: %v, want NaN", terms, got)
		}
	}
}

// TestNoSilentNaN: of members and -∞, which is none in these, no sum, product
// or quotient is NaN, but for quotients by 0̄; and NaN stays NaN.
func TestNoSilentNaN(t *testing.T) {
	inf := math.Inf(1)
	values := []float64{-inf, -1, math.Copysign(0, -1), 0, 1, inf}
	for _, a := range values {
		for _, b := range values {
			noNaN(t, Tropical(a), Tropical(b))
			noNaN(t, Tropical64(a), Tropical64(b))
			noNaN(t, Log(a), Log(b))
			noNaN(t, Log64(a), Log64(b))
		}
		nan(t, Tropical(a), Tropical(math.NaN()))
		nan(t, Tropical64(a), Tropical64(math.NaN()))
		nan(t, Log(a), Log(math.NaN()))
		nan(t, Log64(a), Log64(math.NaN()))
		nan(t, Probability(a), Probability(math.NaN()))
		nan(t, MinMax(a), MinMax(math.NaN()))
	}
	if p := Probability(0).Times(Probability(inf)); p != 0 {
		t.Errorf("0·∞ is %v", p)
	}
	for _, p := range []Probability{-1, Probability(inf), Probability(-inf), Probability(math.NaN())} {
		if p.Member() {
			t.Errorf("%v is a member", p)
		}
	}
	if Tropical(-inf).Member() || Tropical64(-inf).Member() || Log(-inf).Member() || Log64(-inf).Member() {
		t.Errorf("-∞ is a member")
	}
}

func noNaN[W Divisible[W]](t *testing.T, a, b W) {
	t.Helper()
	for _, w := range []W{a.Plus(b), a.Times(b)} {
		if !w.Equal(w) {
			t.Errorf("%v, %v: NaN", a, b)
		}
	}
	if q := a.DivideLeft(b); !q.Equal(q) && !IsZero(a) {
		t.Errorf("%v divided by %v: NaN", b, a)
	}
	if !IsZero(a.Times(Zero[W]())) || !IsZero(Zero[W]().Times(a)) {
		t.Errorf("0̄ does not annihilate %v", a)
	}
}

func nan[W Weight[W]](t *testing.T, a, n W) {
	t.Helper()
	for _, w := range []W{a.Plus(n), n.Plus(a), a.Times(n), n.Times(a)} {
		if w.Equal(w) || w.Member() {
			t.Errorf("%v and %v give %v", a, n, w)
		}
	}
}

// BenchmarkPlus sums 1024 weights one to another, and as a row.
func BenchmarkPlus(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, spread := range []struct {
		name  string
		scale float64
	}{{"near", 1}, {"far", 100}} {
		xs := make([]float64, 1024)
		for i := range xs {
			xs[i] = 10 + spread.scale*rng.Float64()
		}
		b.Run("weight=log64/spread="+spread.name, func(b *testing.B) { benchPlus[Log64](b, xs) })
		b.Run("weight=log/spread="+spread.name, func(b *testing.B) { benchPlus[Log](b, xs) })
		b.Run("weight=tropical/spread="+spread.name, func(b *testing.B) { benchPlus[Tropical](b, xs) })
		b.Run("weight=log64/row/spread="+spread.name, func(b *testing.B) {
			total := 0.0
			for b.Loop() {
				var s LogSum
				for _, x := range xs {
					s.Add(x)
				}
				total += s.Sum()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(xs)), "ns/term")
		})
	}
}

func benchPlus[W interface {
	~float32 | ~float64
	Weight[W]
}](b *testing.B, xs []float64) {
	for b.Loop() {
		sum := Zero[W]()
		for _, x := range xs {
			sum = sum.Plus(W(x))
		}
		if !sum.Member() {
			b.Fatal(sum)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(xs)), "ns/term")
}

// BenchmarkTropical is the relaxation d ⊕ (w ⊗ e) where the type is known, as
// row kernels have it.
func BenchmarkTropical(b *testing.B) {
	ws := make([]Tropical, 1024)
	for i := range ws {
		ws[i] = Tropical(i*7919%1024) / 8
	}
	for b.Loop() {
		d := Zero[Tropical]()
		for _, w := range ws {
			d = d.Plus(w.Times(0.5))
		}
		if d != 0.5 {
			b.Fatal(d)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ws)), "ns/term")
}
