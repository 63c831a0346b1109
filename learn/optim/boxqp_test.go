package optim

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomBoxQP(rng *rand.Rand, n, rank int) *BoxQP {
	a := make([][]float64, n)
	for i := range a {
		for range rank {
			a[i] = append(a[i], rng.NormFloat64())
		}
	}
	q := &BoxQP{Upper: make([]float64, n)}
	for i := range n {
		row := make([]float64, n)
		for j := range n {
			for k := range rank {
				row[j] += a[i][k] * a[j][k]
			}
		}
		row[i] += 1e-3
		q.H, q.C = append(q.H, row), append(q.C, rng.NormFloat64()+0.5)
		q.Upper[i] = 0.1 + rng.Float64()
	}
	return q
}

// The conditions of Karush, Kuhn and Tucker hold, and no point of a grid is better.
func TestBoxQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 200 {
		n := 1 + rng.IntN(12)
		q := randomBoxQP(rng, n, 1+rng.IntN(n))
		if trial%3 == 0 {
			q.Upper = nil
			for i := range q.H {
				q.H[i][i] += 1
			}
		}
		u := make([]float64, n)
		for i := range u {
			u[i] = rng.NormFloat64()
		}
		if _, _, err := q.Maximize(context.Background(), u, 1e-9); err != nil {
			t.Fatal(err)
		}
		value := func(u []float64) float64 {
			v := 0.0
			for i, a := range u {
				v += q.C[i] * a
				for j, b := range u {
					v -= a * b * q.H[i][j] / 2
				}
			}
			return v
		}
		best := value(u)
		for i := range u {
			g := q.C[i]
			for j := range u {
				g -= q.H[i][j] * u[j]
			}
			low, high := u[i] == 0, q.Upper != nil && u[i] == q.Upper[i]
			if g > 1e-8 && !high || g < -1e-8 && !low {
				t.Fatalf("trial %d: entry %d is %v with gradient %v", trial, i, u[i], g)
			}
		}
		for range 200 {
			w := slices.Clone(u)
			for i := range w {
				w[i] = math.Max(0, w[i]+0.1*rng.NormFloat64())
				if q.Upper != nil {
					w[i] = math.Min(w[i], q.Upper[i])
				}
			}
			if v := value(w); v > best+1e-8 {
				t.Fatalf("trial %d: %v is better than %v", trial, v, best)
			}
		}
	}
}

// A start at the solution takes no step, and one near it fewer than none.
func TestBoxQPWarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	q := randomBoxQP(rng, 60, 10)
	u := make([]float64, 60)
	cold, _, err := q.Maximize(context.Background(), u, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	again := slices.Clone(u)
	if steps, _, err := q.Maximize(context.Background(), again, 1e-7); err != nil || steps > 1 || cold < 10 {
		t.Errorf("%d steps from the solution, %d from 0, %v", steps, cold, err)
	}
	if !slices.Equal(again, u) {
		t.Error("the solution moved")
	}
}

func TestBoxQPRefuses(t *testing.T) {
	unbounded := &BoxQP{H: [][]float64{{1, -1}, {-1, 1}}, C: []float64{1, 1}} // along (1, 1)
	var e *ErrUnbounded
	if _, _, err := unbounded.Maximize(context.Background(), make([]float64, 2), 1e-6); !errors.As(err, &e) {
		t.Errorf("unbounded: %v", err)
	}
	unbounded.Steps = 3
	if _, _, err := unbounded.Maximize(context.Background(), make([]float64, 2), 1e-6); !errors.Is(err, ErrSteps) {
		t.Errorf("steps: %v", err)
	}
	nan := &BoxQP{H: [][]float64{{math.NaN()}}, C: []float64{1}}
	if _, _, err := nan.Maximize(context.Background(), make([]float64, 1), 1e-6); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ok := &BoxQP{H: [][]float64{{1}}, C: []float64{1}}
	if _, _, err := ok.Maximize(ctx, make([]float64, 1), 1e-6); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Kernels of many near points are nearly singular, and prices are high: single entries would need
// far more steps than this limit.
func TestBoxQPNearlySingular(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const n = 300
	x, y := make([][2]float64, n), make([]float64, n)
	for i := range x {
		x[i] = [2]float64{rng.NormFloat64(), rng.NormFloat64()}
		y[i] = 1
		if x[i][0]*x[i][1]+0.3*rng.NormFloat64() < 0 {
			y[i] = -1
		}
	}
	q := &BoxQP{C: slices.Repeat([]float64{1}, n), Upper: slices.Repeat([]float64{1000}, n), Steps: 200 * n}
	for i := range x {
		row := make([]float64, n)
		for j := range x {
			d := (x[i][0]-x[j][0])*(x[i][0]-x[j][0]) + (x[i][1]-x[j][1])*(x[i][1]-x[j][1])
			row[j] = y[i] * y[j] * math.Exp(-d/4)
		}
		row[i] += 1e-12
		q.H = append(q.H, row)
	}
	u := make([]float64, n)
	steps, violation, err := q.Maximize(context.Background(), u, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps", steps)
	for i := range u {
		g := q.C[i]
		for j := range u {
			g -= q.H[i][j] * u[j]
		}
		if u[i] < 0 || u[i] > 1000 || g > 2e-6 && u[i] < 1000 || g < -2e-6 && u[i] > 0 {
			t.Fatalf("entry %d is %v with gradient %v (violation %v)", i, u[i], g, violation)
		}
	}
}
