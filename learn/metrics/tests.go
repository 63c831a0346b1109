package metrics

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// TTest is the outcome of a paired t-test.
//
// When all differences equal one number other than 0 there is no spread to measure it by. The test
// is then inconclusive, and T and P are undefined. This happens with two or three folds of few
// rows, where an infinite T and a P of 0 would look like the strongest evidence.
type TTest struct {
	Mean float64 // of a-b
	SE   float64 // its standard error
	T    Maybe   // Mean/SE; 0 when all differences are 0
	DF   int     // degrees of freedom
	// two-sided: probability under no difference of a |T| at least this large; 1 when all differences
	// are 0
	P Maybe
}

// PairedT tests whether the mean of a_i - b_i is zero: a and b are the errors of
// two models on the same examples, or folds.
func PairedT(a, b []float64) (TTest, error) {
	if len(a) != len(b) || len(a) < 2 {
		return TTest{}, fmt.Errorf("metrics: PairedT: %d and %d values; two or more pairs are needed",
			len(a), len(b))
	}
	n := float64(len(a))
	mean, largest := 0.0, 0.0
	for i := range a {
		mean += (a[i] - b[i]) / n
		largest = max(largest, math.Abs(a[i]), math.Abs(b[i]))
	}
	sq := 0.0
	for i := range a {
		d := a[i] - b[i] - mean
		sq += d * d
	}
	r := TTest{Mean: mean, SE: math.Sqrt(sq / (n - 1) / n), DF: len(a) - 1}
	switch {
	case math.IsNaN(mean) || math.IsNaN(sq):
		return TTest{}, errors.New("metrics: PairedT: a value is NaN or infinite")
	case math.Sqrt(sq/n) <= 4*epsilon*largest: // 0.3-0.2 and 0.2-0.1 differ in their last bits
		r.SE = 0
	}
	r.judge()
	return r, nil
}

// epsilon is the spacing of float64 at 1.
const epsilon = 0x1p-52

// judge computes T and P from Mean and SE.
func (t *TTest) judge() {
	switch {
	case t.Mean == 0:
		t.T, t.P = 0, 1
	case t.SE == 0:
		t.T, t.P = Maybe(math.NaN()), Maybe(math.NaN())
	default:
		// P(|T| ≥ t) = I_{ν/(ν+t²)}(ν/2, 1/2): no cancellation in the tail.
		v, nu := t.Mean/t.SE, float64(t.DF)
		t.T, t.P = Maybe(v), Maybe(mathext.RegIncBeta(nu/2, 0.5, nu/(nu+v*v)))
	}
}

// McNemarTest compares two models on the same examples by those on which just
// one of them is right.
type McNemarTest struct {
	OnlyA, OnlyB int     // right by A alone, by B alone
	Exact        float64 // two-sided binomial P
	// (|OnlyA-OnlyB|-1)²/(OnlyA+OnlyB), with Yates' correction; 0 without discordant examples
	ChiSquare float64
	P         float64 // of ChiSquare with one degree of freedom; prefer Exact below 25 discordant examples
}

// McNemar tests whether both models are right equally often. The slices say, by
// example, whether a model was right.
func McNemar(a, b []bool) (McNemarTest, error) {
	if len(a) != len(b) {
		return McNemarTest{}, fmt.Errorf("metrics: McNemar: %d and %d outcomes", len(a), len(b))
	}
	var m McNemarTest
	for i := range a {
		switch {
		case a[i] && !b[i]:
			m.OnlyA++
		case b[i] && !a[i]:
			m.OnlyB++
		}
	}
	n, k := m.OnlyA+m.OnlyB, min(m.OnlyA, m.OnlyB)
	m.Exact, m.P = 1, 1
	if n == 0 {
		return m, nil
	}
	if 2*k < n {
		// P(X ≤ k), X ~ Bin(n, 1/2), is I_{1/2}(n-k, k+1).
		m.Exact = math.Min(1, 2*mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5))
	}
	d := math.Max(0, math.Abs(float64(m.OnlyA-m.OnlyB))-1)
	m.ChiSquare = d * d / float64(n)
	m.P = distuv.ChiSquared{K: 1}.Survival(m.ChiSquare)
	return m, nil
}

// Interval is a range of plausible values.
type Interval struct{ Low, High float64 }

// Bootstrap returns the percentile interval of the given level (0.95 is usual) for a statistic of n
// examples. It draws the given number of samples with replacement from rng. stat receives the
// numbers of the examples in a sample, which it must not keep (B. Efron, "Bootstrap methods:
// another look at the jackknife", 1979).
func Bootstrap(n, rounds int, level float64, rng *rand.Rand,
	stat func(sample []int) float64) (Interval, error) {
	if n < 1 || rounds < 1 || !(level > 0 && level < 1) {
		return Interval{}, fmt.Errorf("metrics: Bootstrap: impossible: %d examples, %d rounds, level %v",
			n, rounds, level)
	}
	sample, values := make([]int, n), make([]float64, rounds)
	for r := range values {
		for i := range sample {
			sample[i] = rng.IntN(n)
		}
		if values[r] = stat(sample); math.IsNaN(values[r]) {
			return Interval{}, errors.New("metrics: Bootstrap: the statistic is NaN on a sample")
		}
	}
	slices.Sort(values)
	// Linear interpolation between order statistics.
	quantile := func(p float64) float64 {
		h := p * float64(rounds-1)
		i := int(h)
		if i+1 >= rounds {
			return values[rounds-1]
		}
		return values[i] + (h-float64(i))*(values[i+1]-values[i])
	}
	return Interval{quantile((1 - level) / 2), quantile((1 + level) / 2)}, nil
}
