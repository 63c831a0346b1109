package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/structured"
)

// Robust compares regressions of a sine with noise and outliers, as in section 3.1 of Ciliberto,
// Rudi and Rosasco. x is uniform on [-1, 1] and y = sin(6πx) + ε + ζ. ε is normal of variance 0.1;
// ζ is uniform on [-3, 3] with probability 0.1 and else 0. Algorithm 1 and Nadaraya-Watson weights
// decode the Cauchy loss; kernel ridge regression predicts the mean. The measure is the mean
// absolute distance to the sine at 1000 points.
//
// Kernel widths, penalties and the scale of the loss are chosen by five-fold cross-validation.
// Robust methods are judged by the median absolute error, ridge regression by the mean squared one.
func Robust(ctx context.Context, o *PredictionOptions) (*PredictionReport, error) {
	sizes, repetitions := []int{50, 100, 200, 500, 1000}, 100
	if o.Quick {
		sizes, repetitions = []int{50, 100, 200}, 5
	}
	var parts []string
	size := map[string]int{}
	for _, n := range sizes {
		part := fmt.Sprintf("n = %d", n)
		parts = append(parts, part)
		size[part] = n
	}
	return o.repeat(ctx, "Robust regression: mean absolute distance to the noiseless function",
		[]string{"distance"}, parts, repetitions, func(ctx context.Context, part string,
			rng *rand.Rand) ([]PredictionMethod, error) {
			return robustTrial(ctx, size[part], rng, o.Workers)
		})
}

var (
	robustWidths  = []float64{0.015, 0.025, 0.04, 0.065, 0.1}
	robustLambdas = []float64{1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2} // of kernels of diagonal 1
	robustScales  = []float64{0.3, 1}                                   // of the Cauchy loss
)

// robustGrid is how many points the choice of settings tries, a prediction refines.
const robustGrid = 256

func robustTrial(ctx context.Context, n int, rng *rand.Rand, workers int) ([]PredictionMethod, error) {
	clean := func(x float64) float64 { return math.Sin(6 * math.Pi * x) }
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 2*rng.Float64() - 1
		y[i] = clean(x[i]) + math.Sqrt(0.1)*rng.NormFloat64()
		if rng.Float64() < 0.1 {
			y[i] += 6*rng.Float64() - 3
		}
	}
	blocks := heldBlocks(n, 5, rng)
	test := make([]float64, 1000)
	for i := range test {
		test[i] = 2*rng.Float64() - 1
	}
	train, queries := kernel.NewMatrix(n, 1, x), kernel.NewMatrix(len(test), 1, test)
	bound := 0.0
	for _, v := range y {
		bound = math.Max(bound, math.Abs(v))
	}
	points := make([]float64, robustGrid)
	for k := range points {
		points[k] = bound * (2*float64(k)/(robustGrid-1) - 1)
	}
	var grids []*structured.Finite
	for _, c := range robustScales {
		f, err := structured.NewFinite(structured.Losses(
			points, y, func(p, t float64) float64 { return structured.Cauchy.Of(p, t, c) }, workers), n, false)
		if err != nil {
			return nil, err
		}
		grids = append(grids, f)
	}
	type setting struct {
		width, lambda, scale float64
		score                float64
	}
	best := map[string]setting{}
	offer := func(method string, s setting) {
		if b, ok := best[method]; !ok || s.score < b.score {
			best[method] = s
		}
	}
	// judge offers what weights of all examples, each left out, come to.
	judge := func(method string, alpha []float64, width, lambda float64) error {
		if method == "kernel ridge" {
			sum := 0.0
			for i := range y {
				p := dotOf(alpha[i*n:][:n], y)
				sum += (p - y[i]) * (p - y[i])
			}
			offer(method, setting{width, lambda, 0, sum})
			return nil
		}
		for k, c := range robustScales {
			d, err := grids[k].DecodeAll(alpha, n, workers)
			if err != nil {
				return err
			}
			errors := make([]float64, n)
			for i := range d {
				errors[i] = math.Abs(points[d[i].Output] - y[i])
			}
			offer(method, setting{width, lambda, c, median(errors)})
		}
		return nil
	}
	for _, width := range robustWidths {
		k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: width})
		gram, err := kernel.Gram(k, train, &kernel.Options{Ctx: ctx, Workers: workers})
		if err != nil {
			return nil, err
		}
		left := slices.Clone(gram) // Nadaraya-Watson: kernel values of other folds
		for _, b := range blocks {
			for _, i := range b {
				for _, j := range b {
					left[i*n+j] = 0
				}
			}
		}
		if err := judge("Nadaraya-Watson", left, width, 0); err != nil {
			return nil, err
		}
		for _, lambda := range robustLambdas {
			w, err := structured.NewWeights(k, train, gram, lambda, nil,
				&structured.WeightOptions{Options: kernel.Options{Ctx: ctx, Workers: workers}})
			if err != nil {
				return nil, err
			}
			alpha, err := leftOut(w, blocks)
			if err != nil {
				return nil, err
			}
			for _, method := range []string{"Algorithm 1", "kernel ridge"} {
				if err := judge(method, alpha, width, lambda); err != nil {
					return nil, err
				}
			}
		}
	}
	var out []PredictionMethod
	for _, method := range []string{"Algorithm 1", "Nadaraya-Watson", "kernel ridge"} {
		s := best[method]
		estimator := structured.Ridge
		if method == "Nadaraya-Watson" {
			estimator = structured.NadarayaWatson
		}
		k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: s.width})
		w, err := structured.NewWeights(k, train, nil, math.Max(s.lambda, 1e-300), nil,
			&structured.WeightOptions{Estimator: estimator, Options: kernel.Options{Ctx: ctx, Workers: workers}})
		if err != nil {
			return nil, err
		}
		alpha, err := w.Weights(ctx, queries, workers)
		if err != nil {
			return nil, err
		}
		var decoder *structured.Scalar
		if s.scale > 0 {
			if decoder, err = structured.NewScalar(y, structured.Cauchy,
				&structured.ScalarOptions{C: s.scale}); err != nil {
				return nil, err
			}
		}
		sum := 0.0
		for i, v := range test {
			a := alpha[i*n:][:n]
			p := dotOf(a, y)
			if decoder != nil {
				d, err := structured.Decode(ctx, decoder, a)
				if err != nil {
					return nil, err
				}
				p = d.Output
			}
			sum += math.Abs(p - clean(v))
		}
		out = append(out, PredictionMethod{method, []float64{sum / float64(len(test))},
			fmt.Sprintf("width=%g lambda=%g scale=%g", s.width, s.lambda, s.scale)})
	}
	return out, nil
}

// leftOut returns the weights of all examples, each block left out: n by n.
func leftOut[P any](w *structured.WeightModel[P], blocks [][]int) ([]float64, error) {
	h, err := w.Held()
	if err != nil {
		return nil, err
	}
	n := w.Len()
	out := make([]float64, n*n)
	for _, b := range blocks {
		alpha, err := h.Weights(b)
		if err != nil {
			return nil, err
		}
		for r, i := range b {
			copy(out[i*n:], alpha[r*n:][:n])
		}
	}
	return out, nil
}

func dotOf(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
