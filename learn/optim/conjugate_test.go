package optim

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Conjugate gradients have the solution of a dense solver, in at most as many steps as there
// are rows and fewer with a preconditioner.
func TestConjugateGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	const n, m = 30, 4
	root := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			root.Set(i, j, rng.NormFloat64())
		}
	}
	var a mat.Dense
	a.Mul(root, root.T())
	for i := range n {
		a.Set(i, i, a.At(i, i)+math.Pow(10, 4*rng.Float64()))
	}
	b := make([]float64, n*m)
	for i := range b {
		b[i] = rng.NormFloat64()
	}
	for i := range n {
		b[i*m+3] = 0 // a column that is solved already
	}
	var want mat.Dense
	if err := want.Solve(&a, mat.NewDense(n, m, b)); err != nil {
		t.Fatal(err)
	}
	apply := func(dst, v []float64) error {
		out := mat.NewDense(n, m, dst)
		out.Mul(&a, mat.NewDense(n, m, append([]float64(nil), v...)))
		return nil
	}
	diagonal := func(dst, v []float64) error {
		for i := range n {
			for j := range m {
				dst[i*m+j] = v[i*m+j] / a.At(i, i)
			}
		}
		return nil
	}
	var steps []int
	for _, precondition := range []func(dst, v []float64) error{nil, diagonal} {
		x := make([]float64, n*m)
		r, err := ConjugateGradient{Relative: 1e-12, Iterations: 200}.Solve(context.Background(), n, m, b, x, apply, precondition)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want.RawMatrix().Data {
			if math.Abs(x[i]-v) > 1e-9*math.Max(1, math.Abs(v)) {
				t.Errorf("x[%d] = %v, want %v", i, x[i], v)
			}
		}
		if r.Residual > 1e-12 {
			t.Errorf("residual %v", r.Residual)
		}
		steps = append(steps, r.Iterations)
	}
	if steps[1] >= steps[0] {
		t.Errorf("%d steps with a preconditioner, %d without", steps[1], steps[0])
	}
	negative := func(dst, v []float64) error {
		for i := range v {
			dst[i] = -v[i]
		}
		return nil
	}
	x := make([]float64, n*m)
	if _, err := (ConjugateGradient{}).Solve(context.Background(), n, m, b, x, negative, nil); err == nil {
		t.Error("a negative matrix passes")
	}
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (ConjugateGradient{}).Solve(stop, n, m, b, x, apply, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := (ConjugateGradient{}).Solve(context.Background(), n, m, b[1:], x, apply, nil); err == nil {
		t.Error("sizes that do not fit pass")
	}
}
