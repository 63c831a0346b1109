package margin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/space"
)

// Measure is how little a model knows of an input: the larger, the sooner it is asked about.
type Measure string

// The measures. All but Random and Entropy are exp of the negated number named.
const (
	Random       Measure = "random"
	Scoring      Measure = "scoring"        // the largest score
	BestVsWorst  Measure = "best-vs-worst"  // the largest score less the smallest
	BestVsSecond Measure = "best-vs-second" // the largest score less that of the second output
	Entropy      Measure = "entropy"        // of the distribution exp(score)/Z; the space must be Summing
)

// Measures lists them.
var Measures = []Measure{Random, Scoring, BestVsWorst, BestVsSecond, Entropy}

// uncertainty returns the measure's number, by which inputs are ranked, and what its mean is
// taken of. Where one output is possible alone, both say that nothing is unknown: -Inf and 0.
func uncertainty[X, Y, A any](ctx context.Context, s space.Space[X, Y, A], m Measure, x X, w []float64,
	norm float64) (rank, q float64, err error) {
	if norm == 0 {
		norm = 1
	}
	switch m {
	case Scoring:
		y, err := s.Argmax(ctx, x, w)
		return -y.Value / norm, clamped(-y.Value / norm), err
	case BestVsWorst:
		y, err := s.Argmax(ctx, x, w)
		if err != nil {
			return 0, 0, err
		}
		z, err := s.Argmin(ctx, x, w)
		return (z.Value - y.Value) / norm, clamped((z.Value - y.Value) / norm), err
	case BestVsSecond:
		list, err := s.KBest(ctx, x, w, 2)
		if err != nil {
			return 0, 0, err
		}
		if len(list) < 2 {
			return math.Inf(-1), 0, nil
		}
		d := (list[1].Value - list[0].Value) / norm
		return d, clamped(d), nil
	case Entropy:
		sum, ok := s.(space.Summing[X, Y, A])
		if !ok {
			return 0, 0, errors.New("the space cannot sum over its outputs, which the measure entropy needs")
		}
		h, err := sum.Entropy(ctx, x, w)
		return h, h, err
	}
	return 0, 0, fmt.Errorf("there is no measure %q", m)
}

// clamped is exp(v), of a v that is not so large that means overflow.
func clamped(v float64) float64 { return math.Exp(math.Min(v, 600)) }

// robustMean returns the mean of the elements between the quantiles of 10 and 90 %, both
// included; quantiles interpolate between order statistics (type 7 of R. Hyndman and Y. Fan,
// "Sample quantiles in statistical packages", American Statistician 50, 1996).
func robustMean(v []float64) float64 {
	sorted := slices.Clone(v)
	slices.Sort(sorted)
	quantile := func(p float64) float64 {
		h := p * float64(len(sorted)-1)
		i := int(h)
		if i+1 >= len(sorted) {
			return sorted[i]
		}
		return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
	}
	low, high := quantile(0.1), quantile(0.9)
	sum, n := 0.0, 0
	for _, x := range sorted {
		if low <= x && x <= high {
			sum += x
			n++
		}
	}
	if n == 0 {
		return low // two elements, or rounding between equals
	}
	return sum / float64(n)
}

// change returns how far the robust mean of the last window values is from that of the window
// one before; NaN until there are more than window.
func change(means []float64, window int) float64 {
	t := len(means)
	if t <= window {
		return math.NaN()
	}
	return math.Abs(robustMean(means[t-window:]) - robustMean(means[t-window-1:t-1]))
}
