package structured

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/kernel"
)

var ctx = context.Background()

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

// signs are the ways in which random weights are drawn.
var signs = []string{"positive", "mixed", "negative"}

// draw draws n weights.
func draw(rng *rand.Rand, n int, sign string) []float64 {
	out := make([]float64, n)
	for i := range out {
		switch v := rng.NormFloat64(); sign {
		case "positive":
			out[i] = math.Abs(v)
		case "negative":
			out[i] = -math.Abs(v)
		default:
			out[i] = v
		}
	}
	return out
}

// proved fails unless a decoded value is F of the output, and the claims about it hold against
// the least value that enumeration found.
func proved[Y any](t testing.TB, what string, d Decoded[Y], f, least float64) {
	t.Helper()
	near(t, what+": value", d.Value, f, 1e-9)
	if d.LowerBound > least+1e-9*(1+math.Abs(least)) {
		t.Errorf("%s: lower bound %v is above the least value %v", what, d.LowerBound, least)
	}
	if (d.Exact == ExactOverSpace || d.Exact == ExactOverCandidates) &&
		math.Abs(f-least) > 1e-9*(1+math.Abs(least)) {
		t.Errorf("%s: %v claims to be %s, with value %v; the least is %v", what, d.Output, d.Exact, f, least)
	}
	if f < least-1e-9*(1+math.Abs(least)) {
		t.Errorf("%s: value %v below the least %v", what, f, least)
	}
}

// points draws rows of normal numbers.
func points(rng *rand.Rand, n, d int) *kernel.Matrix {
	x := kernel.NewMatrix(n, d, make([]float64, n*d))
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	return x
}

var gauss = kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: 1.5})

func subset(x *kernel.Matrix, rows []int) *kernel.Matrix { return x.Subset(rows) }

func fit(t testing.TB, k kernel.Kernel[*kernel.Matrix], x *kernel.Matrix, lambda float64,
	o *WeightOptions) *WeightModel[*kernel.Matrix] {
	t.Helper()
	return must(NewWeights(k, x, nil, lambda, subset, o))(t)
}
