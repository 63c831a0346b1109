package losses

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// GradientReport says how far a gradient is from finite differences.
type GradientReport struct {
	Checked    int     // coordinates compared
	Coordinate int     // the one that is furthest off
	Gradient   float64 // what the function says there
	Difference float64 // what its values say
	Error      float64 // how far they are apart there, relative to the greater of them and 1
}

// Err returns an error that names the worst coordinate where that is off by more than tolerance.
func (r GradientReport) Err(tolerance float64) error {
	if r.Error <= tolerance {
		return nil
	}
	return fmt.Errorf("losses: the gradient is %v at coordinate %d where differences give %v: off by %.3g, "+
		"beyond %.3g, the worst of %d coordinates",
		r.Gradient, r.Coordinate, r.Difference, r.Error, tolerance, r.Checked)
}

// CheckGradient compares the gradient that f stores with central differences of its values, at n
// coordinates of x drawn without repetition. n = 0 is all of them. f must not keep x or grad, and
// need not store a gradient where grad is nil. x is as before afterwards.
//
// Differences of two steps are extrapolated. For functions of moderate size computed in float64
// they are good to about 1e-9; values rounded to float32 spoil them.
func CheckGradient(f func(x, grad []float64) (float64, error), x []float64, n int,
	rng *rand.Rand) (GradientReport, error) {
	var r GradientReport
	if n < 0 {
		return r, fmt.Errorf("losses: CheckGradient: %d coordinates", n)
	}
	if n > 0 && n < len(x) && rng == nil {
		return r, errors.New("losses: CheckGradient: the source of randomness is nil; give a *rand.Rand, " +
			"or n = 0 for all coordinates")
	}
	grad := make([]float64, len(x))
	if _, err := f(x, grad); err != nil {
		return r, err
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	if n > 0 && n < len(x) {
		for i := range n {
			j := i + rng.IntN(len(x)-i)
			order[i], order[j] = order[j], order[i]
		}
		order = order[:n]
	}
	for _, i := range order {
		at := x[i]
		slope := func(h float64) (float64, error) {
			up, down := at+h, at-h
			defer func() { x[i] = at }()
			x[i] = up
			a, err := f(x, nil)
			if err != nil {
				return 0, err
			}
			x[i] = down
			b, err := f(x, nil)
			return (a - b) / (up - down), err
		}
		h := 2e-3 * max(1, math.Abs(at))
		wide, err := slope(h)
		if err != nil {
			return r, fmt.Errorf("losses: CheckGradient: coordinate %d: %w", i, err)
		}
		narrow, err := slope(h / 2)
		if err != nil {
			return r, fmt.Errorf("losses: CheckGradient: coordinate %d: %w", i, err)
		}
		d := (4*narrow - wide) / 3
		off := math.Abs(grad[i]-d) / max(1, math.Abs(grad[i]), math.Abs(d))
		if math.IsNaN(off) {
			off = math.Inf(1)
		}
		if r.Checked++; r.Checked == 1 || off > r.Error {
			r.Coordinate, r.Gradient, r.Difference, r.Error = i, grad[i], d, off
		}
	}
	return r, nil
}
