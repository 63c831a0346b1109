package optim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// lasso is |Ax - b|²/2 + l1·|x|₁.
type lasso struct {
	a  [][]float64
	b  []float64
	l1 float64
}

func (l lasso) Dim() int { return len(l.a[0]) }

func (l lasso) Eval(x, grad []float64) (float64, error) {
	v := 0.0
	clear(grad)
	for i, row := range l.a {
		r := -l.b[i]
		for j, a := range row {
			r += a * x[j]
		}
		v += r * r / 2
		for j := range grad {
			grad[j] += r * row[j]
		}
	}
	return v, nil
}

func (l lasso) Prox(x, step []float64) {
	for j, v := range x {
		x[j] = math.Copysign(math.Max(0, math.Abs(v)-l.l1*step[j%len(step)]), v)
	}
}

func (l lasso) Penalty(x []float64) float64 {
	v := 0.0
	for _, a := range x {
		v += l.l1 * math.Abs(a)
	}
	return v
}

// FISTA and decaying steps find the lasso's minimum, as OWLQN does.
func TestProximal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := lasso{l1: 3}
	for range 30 {
		row := make([]float64, 8)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		l.a, l.b = append(l.a, row), append(l.b, 2*row[0]-row[3]+0.3*rng.NormFloat64())
	}
	tight := &run.Control{Stop: run.Stop{Iterations: 3000, Relative: 1e-14, Gradient: 1e-10}}
	want, err := OWLQN{L1: l.l1}.Minimize(Func{8, l.Eval}, make([]float64, 8), tight)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Proximal{{}, {Step: []float64{0.03}, Decay: 100, Tail: 0.2}, {Step: []float64{0.03, 0.02, 0.01, 0.03, 0.03, 0.01, 0.01, 0.02}}} {
		got, err := m.Minimize(l, make([]float64, 8), tight)
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range want.X {
			if math.Abs(got.X[j]-v) > 1e-5 {
				t.Errorf("%+v: coordinate %d is %v, not %v", m, j, got.X[j], v)
			}
		}
	}
	box := Box{Lo: []float64{0}, Hi: []float64{1}}
	got, err := Proximal{}.Minimize(Within(Func{8, l.Eval}, box), make([]float64, 8), tight)
	if err != nil {
		t.Fatal(err)
	}
	// At the minimum of a box the gradient points outwards, or is zero.
	grad := make([]float64, 8)
	if _, err := l.Eval(got.X, grad); err != nil {
		t.Fatal(err)
	}
	for j, g := range grad {
		if x := got.X[j]; x > 0 && x < 1 && math.Abs(g) > 1e-4 || x == 0 && g < 0 || x == 1 && g > 0 {
			t.Errorf("coordinate %d is %v with slope %v", j, x, g)
		}
	}
}

// An interrupted run goes on to the same bits.
func TestProximalResumes(t *testing.T) {
	l := lasso{a: [][]float64{{1, 0.5}, {0.5, 1}, {0, 2}}, b: []float64{1, 2, 3}, l1: 0.1}
	for _, m := range []Proximal{{}, {Step: []float64{0.1}, Decay: 5, Tail: 0.5}} {
		whole, err := m.Minimize(l, []float64{0, 0}, &run.Control{Stop: run.Stop{Iterations: 20, Relative: -1}})
		if err != nil {
			t.Fatal(err)
		}
		var k *run.Checkpoint
		stop := run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 15 {
				return run.ErrOther
			}
			return nil
		})
		if _, err := m.Minimize(l, []float64{0, 0}, &run.Control{Stop: run.Stop{Iterations: 20, Relative: -1}, Recorder: stop, Checkpoint: func(c *run.Checkpoint) error { k = c; return nil }}); err == nil {
			t.Fatal("the run was not stopped")
		}
		got, err := m.Minimize(l, []float64{9, 9}, &run.Control{Stop: run.Stop{Iterations: 20, Relative: -1}, Resume: k})
		if err != nil {
			t.Fatal(err)
		}
		if got.X[0] != whole.X[0] || got.X[1] != whole.X[1] || got.Iterations != 20 {
			t.Errorf("%+v: %v after resuming, %v in one run", m, got.X, whole.X)
		}
	}
}
