package optim_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// x - log x is +Inf beyond 0, where a first step from afar may well lead.
func TestSolversRetreatFromInfinity(t *testing.T) {
	for name, m := range solvers {
		for _, start := range []float64{50, 1e-3, 1, 3, 1e6} {
			infinite := 0
			f := optim.Func{N: 2, F: func(x, g []float64) (float64, error) {
				v := 0.0
				for i, w := range x {
					if w <= 0 {
						infinite++
						if g != nil {
							g[i] = math.NaN() // means nothing there
						}
						return math.Inf(1), nil
					}
					c := float64(i*i*20 + 1)
					v += c * (w - math.Log(w))
					if g != nil {
						g[i] = c * (1 - 1/w)
					}
				}
				return v, nil
			}}
			r, err := m.Minimize(f, []float64{start, start}, nil)
			if err != nil || !r.Reason.Converged() || math.Abs(r.X[0]-1) > 1e-2 || math.Abs(r.X[1]-1) > 1e-2 || r.Evaluations > 300 {
				t.Errorf("%s from %v: %+v, %v (%d steps out of the domain)", name, start, r, err, infinite)
			}
			if start == 50 && infinite == 0 {
				t.Errorf("%s from 50 never met infinity: the test says nothing", name)
			}
		}
	}
}

func TestMisuse(t *testing.T) {
	f := rosenbrock(4)
	x0 := make([]float64, 4)
	for want, m := range map[string]minimizer{
		"LBFGS: Memory is -3": optim.LBFGS{Memory: -3},
		"OWLQN: Memory is -3": optim.OWLQN{Memory: -3},
		"L1 is -3":            optim.OWLQN{L1: -3},
		"L1 is NaN":           optim.OWLQN{L1: math.NaN()},
		"Penalty":             optim.OWLQN{L1: 1, Penalty: []float64{1, 1, -1, 1}},
		"length 3":            optim.OWLQN{L1: 1, Penalty: []float64{1, 1, 1}},
	} {
		if _, err := m.Minimize(f, x0, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, should say %q", m, err, want)
		}
	}
	l := newLogistic(1, 4, 10, 2)
	for want, m := range map[string]optim.Stochastic{
		"Rate -1":   {Rate: -1},
		"Decay NaN": {Decay: math.NaN()},
		"L2 +Inf":   {L2: math.Inf(1)},
		"Batch -1":  {Batch: -1},
		"newton":    {Method: "newton"},
	} {
		if _, err := m.Minimize(l, x0, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, should say %q", m, err, want)
		}
	}
}

// script gives out terms whose pass has the values of a list: what a stochastic
// solver sees of a noisy objective.
type script struct {
	values []float64
	calls  int
}

func (s *script) Dim() int             { return 1 }
func (s *script) Len() int             { return 1 }
func (s *script) Worker() optim.Worker { return s }
func (s *script) Eval(_ int, _ []float64, g *optim.Gradient) (float64, error) {
	v := s.values[min(s.calls, len(s.values)-1)]
	s.calls++
	g.Add(0, 0.1)
	return v, nil
}

// What has risen has not converged, wherever in the window it rose.
func TestARiseIsNoConvergence(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   run.Reason
		passes int
	}{
		{[]float64{100, 10, 30, 30, 30, 30, 30, 30}, run.IterationLimit, 40}, // settles above its best
		{[]float64{100, 50, 20, 10, 10, 10, 10, 10, 10}, run.ImprovementSmall, 9},
		{[]float64{100, 50, 49, 48, 47, 46, 60, 45, 48}, run.IterationLimit, 40}, // a rise in the window, then above the best
		{[]float64{100, 99, 98, 101, 102, 103, 104, 105}, run.Diverged, 40},      // ends above the first
		{[]float64{100, 300, 400, 500, 600, 700, 800, 900}, run.Diverged, 7},     // far above the first for a window
		{[]float64{-100, 10, 20, 30, 40, 50, 60, 70, 80}, run.Diverged, 7},       // negative values
		{[]float64{100, 300, 400, 500, 600, 700, 50, 50, 50}, run.ImprovementSmall, 12},
	} {
		r, err := optim.Stochastic{}.Minimize(&script{values: c.values}, []float64{0}, &run.Control{Stop: run.Stop{Iterations: 40, Relative: 1e-4}})
		if err != nil || r.Reason != c.want || r.Iterations != c.passes {
			t.Errorf("%v: %q after %d passes, %v; should be %q after %d", c.values, r.Reason, r.Iterations, err, c.want, c.passes)
		}
		if r.Reason.Converged() != (c.want == run.ImprovementSmall) {
			t.Errorf("%v: %q counts as converged: %v", c.values, r.Reason, r.Reason.Converged())
		}
	}
}

// A line search that fails sends OWLQN back to the steepest descent; the iteration is
// recorded once all the same.
func TestOWLQNRecordsAnIterationOnce(t *testing.T) {
	calls, failing := 0, false
	var rows []run.Row
	f := optim.Func{N: 4, F: func(x, g []float64) (float64, error) {
		calls++
		v, err := rosenbrock(4).Eval(x, g)
		if failing {
			v += 1e6 // nothing lower is found
		}
		return v, err
	}}
	r, err := optim.OWLQN{}.Minimize(f, make([]float64, 4), &run.Control{Recorder: run.RecorderFunc(func(row run.Row) error {
		rows = append(rows, row)
		failing = row.Iteration == 5
		return nil
	})})
	if err != nil || r.Reason != run.NoProgress {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, row := range rows {
		if row.Iteration != i {
			t.Fatalf("row %d is of iteration %d", i, row.Iteration)
		}
	}
	if len(rows) != 6 || calls < 80 {
		t.Fatalf("%d rows, %d evaluations: the search did not fail twice", len(rows), calls)
	}
}
