package boost

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

func TestOmegaGolden(t *testing.T) {
	for _, x := range []struct {
		n         int
		lambda    float64
		d, m      int
		vc, count float64
	}{
		{2, 1, 9, 699, 0.5694036542, 0.2407890845},
		{8, 0.5, 60, 208, 1.1401313786, 0.4623334037},
		{32, 2, 28, 98050, 0.5468929884, 0.2090932924},
		{256, 4, 400, 15170, 9.4934485459, 3.0886578731},
	} {
		near(t, "Theorem 3.1", Omega(VCBound, x.n, x.lambda, x.d, x.m), x.vc, 1e-10)
		near(t, "count", Omega(CountBound, x.n, x.lambda, x.d, x.m), x.count, 1e-9)
	}
}

func TestNormalisedOmega(t *testing.T) {
	grid := Grid(ThesisSplits, ThesisLambdas)
	a := NormalisedOmega(grid, ByMaximum, VCBound, 9, 699)
	b := NormalisedOmega(grid, ByMaximum, VCBound, 400, 15170)
	for k := range a {
		near(t, "independent of d and m", a[k], b[k], 1e-14)
		f := grid[k]
		near(t, "closed form", a[k], f.Lambda*math.Sqrt(float64(4*f.Splits+2))/(4*math.Sqrt(4*256+2)), 1e-14)
		if !(a[k] > 0 && a[k] <= 1) {
			t.Errorf("family %d: %v", k, a[k])
		}
	}
	for _, how := range []Normalisation{ByMaximum, MinMax} {
		if one := NormalisedOmega(grid[:1], how, VCBound, 9, 699); one[0] != 1 {
			t.Errorf("one family: %v", one)
		}
		if inf := NormalisedOmega([]Family{{Splits: 4, Lambda: math.Inf(1)}, {Splits: 2, Lambda: 1}}, how, VCBound,
			9, 699); inf[0] != 1 || inf[1] != inf[1] {
			t.Errorf("unbounded family: %v", inf)
		}
	}
	c := NormalisedOmega(grid, MinMax, VCBound, 9, 699)
	if c[0] != 0 || c[len(c)-1] != 1 {
		t.Errorf("min-max runs from %v to %v", c[0], c[len(c)-1])
	}
}

func TestSamplingGolden(t *testing.T) {
	p := ByLambda.Probabilities(Grid(ThesisSplits, ThesisLambdas))
	want := []float64{0.000131, 0.001314, 0.013139, 0.065694, 0.131389, 0.262778, 0.525555}
	for j := range want {
		mass := 0.0
		for n := range ThesisSplits {
			mass += p[n*len(want)+j]
		}
		near(t, "mass", mass, want[j], 1e-6)
	}
	q := ByLambdaSquared.Probabilities([]Family{{Lambda: 1}, {Lambda: 3}})
	near(t, "lambda squared", q[1], 0.9, 1e-15)
	inf := ByLambda.Probabilities([]Family{{Lambda: 1}, {Lambda: math.Inf(1)}, {Lambda: math.Inf(1)}})
	if inf[0] != 0 || inf[1] != 0.5 || inf[2] != 0.5 {
		t.Errorf("unbounded: %v", inf)
	}
}

// 10^5 draws of the round's own streams match the probabilities.
func TestFamilyFrequencies(t *testing.T) {
	grid := Grid([]int{2, 8}, []float64{0.1, 0.5, 1, 4})
	p := ByLambda.Probabilities(grid)
	r := &rgbRun{training: &training{Run: run.Begin("rgb", nil, 1)}, o: &RGBOptions{Seed: 3}}
	s := newSampler(p)
	counts := make([]float64, len(grid))
	for range 20000 {
		rng := r.rng(familyStream)
		for range 5 {
			counts[s.draw(rng.Float64())]++
		}
		r.TakeUp(&run.Checkpoint{Iteration: r.Steps() + 1})
	}
	chi := 0.0
	for k, c := range counts {
		chi += (c - 1e5*p[k]) * (c - 1e5*p[k]) / (1e5 * p[k])
	}
	if chi > 24.3 { // 0.1 % of chi-square with 7 degrees of freedom
		t.Errorf("chi-square %v: %v", chi, counts)
	}
	if s.draw(0) != 0 || s.draw(math.Nextafter(1, 0)) != len(p)-1 {
		t.Error("the ends of the range are not drawn")
	}
}

// The Rademacher complexity of stumps by all 2^m sign vectors lies below both
// formulas, for every norm of the leaf vector.
func TestRademacherBruteForce(t *testing.T) {
	near(t, "count", Omega(CountBound, 1, 1, 2, 8), 1.0117, 5e-5)
	near(t, "Theorem 3.1", Omega(VCBound, 1, 1, 2, 8), 1.8154, 5e-5)
	rng := rand.New(rand.NewPCG(1, 5))
	const m = 8
	for range 5 {
		x := [2][m]float64{}
		for j := range x {
			for i := range x[j] {
				x[j][i] = rng.NormFloat64()
			}
		}
		var parts [][m]bool // left sides of all stumps
		for j := range x {
			for i := range m {
				var left [m]bool
				for k := range m {
					left[k] = x[j][k] <= x[j][i]
				}
				parts = append(parts, left)
			}
		}
		last := 0.0
		for _, q := range []float64{1, 2, math.Inf(1)} {
			total := 0.0
			for bits := range 1 << m {
				best := 0.0
				for _, left := range parts {
					a, b := 0.0, 0.0
					for i := range m {
						s := float64(bits>>i&1)*2 - 1
						if left[i] {
							a += s
						} else {
							b += s
						}
					}
					best = max(best, Norm([]float64{a, b}, dualExponent(q)))
				}
				total += best
			}
			got := total / (1 << m) / m
			if got < last || got > Omega(CountBound, 1, 1, 2, m) || got > Omega(VCBound, 1, 1, 2, m) {
				t.Errorf("q=%v: %v", q, got)
			}
			last = got
		}
		if last < 0.4 || last > 0.9 { // 0.662 on the design of the specification
			t.Errorf("q=Inf: %v", last)
		}
	}
}
