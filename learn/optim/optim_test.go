package optim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/optimtest"
	"github.com/tropica-fst/tropica/learn/run"
)

func normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	l := newLogistic(1, 40, 120, 5)
	for _, opts := range []*optim.SumOptions{nil, {Workers: 1}, {Workers: 3, Scale: 0.25}, {Workers: 2, Dense: true}} {
		optimtest.CheckGradient(t, optim.Ridge(optim.NewSum(l, opts), 0.3), normal(rng, 40), 1e-8)
	}
}

func TestScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	const n = 3000
	curvature, scale := make([]float64, n), make([]float64, n)
	for i := range curvature {
		curvature[i] = math.Exp(3 * rng.NormFloat64())
		scale[i] = 1 / math.Sqrt(curvature[i])
	}
	f := optim.Func{N: n, F: func(x, g []float64) (float64, error) {
		v := 0.0
		for i, c := range curvature {
			d := x[i] - float64(i%7)
			v += c / 2 * d * d
			if g != nil {
				g[i] = c * d
			}
		}
		return v, nil
	}}
	optimtest.CheckGradient(t, optim.Scaled(f, scale, 2), normal(rng, n), 1e-6)
	plain, err := optim.OWLQN{}.Minimize(f, make([]float64, n), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := optim.OWLQN{}.Minimize(optim.Scaled(f, scale, 2), make([]float64, n), nil)
	if err != nil || r.Iterations >= plain.Iterations/2 {
		t.Fatalf("%d iterations scaled, %d plain, %v", r.Iterations, plain.Iterations, err)
	}
	for i, z := range r.X {
		if math.Abs(scale[i]*z-float64(i%7)) > 1e-3 {
			t.Fatalf("x[%d] = %v", i, scale[i]*z)
		}
	}
}

// Rows may cross the stripes of the log.
type rows struct{ dim int }

func (r rows) Dim() int             { return r.dim }
func (r rows) Len() int             { return 500 }
func (r rows) Worker() optim.Worker { return r }
func (r rows) Eval(i int, x []float64, g *optim.Gradient) (float64, error) {
	rng := rand.New(rand.NewPCG(uint64(i), 9))
	v := 0.0
	for range 4 {
		row := normal(rng, 1+rng.IntN(r.dim/2))
		at := rng.IntN(r.dim - len(row) + 1)
		for k, a := range row {
			v += a * x[at+k]
		}
		if g != nil {
			g.AddRow(at, row)
		}
	}
	return v, nil
}

func TestSumHasTheSameBitsForAnyWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for name, terms := range map[string]optim.Terms{"logistic": newLogistic(2, 1000, 1111, 9), "rows": rows{333}, "tiny": rows{2}} {
		for _, dense := range []bool{false, true} {
			x := normal(rng, terms.Dim())
			want := make([]float64, terms.Dim())
			wantV, err := optim.NewSum(terms, &optim.SumOptions{Workers: 1, Dense: dense}).Eval(x, want)
			if err != nil {
				t.Fatal(err)
			}
			if !dense { // the plain loop, written again
				serial := make([]float64, terms.Dim())
				one := make([]float64, terms.Dim())
				for i := range terms.Len() {
					single := optim.NewSum(only{terms, i}, &optim.SumOptions{Workers: 1})
					if _, err := single.Eval(x, one); err != nil {
						t.Fatal(err)
					}
					for j, v := range one {
						serial[j] += v
					}
				}
				for j := range serial { // one's own sums round differently within an example
					if math.Abs(serial[j]-want[j]) > 1e-11*(1+math.Abs(want[j])) {
						t.Fatalf("%s: gradient[%d] = %v, serial loop %v", name, j, want[j], serial[j])
					}
				}
			}
			for _, workers := range []int{2, 3, 8, 64} {
				got := make([]float64, terms.Dim())
				s := optim.NewSum(terms, &optim.SumOptions{Workers: workers, Dense: dense})
				for range 2 { // work space is used again
					v, err := s.Eval(x, got)
					if err != nil {
						t.Fatal(err)
					}
					plain, err := s.Eval(x, nil)
					if err != nil || v != wantV || plain != wantV {
						t.Fatalf("%s: value %v and %v with %d workers, %v with one (%v)", name, v, plain, workers, wantV, err)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%s, dense=%v: gradient differs with %d workers", name, dense, workers)
					}
				}
			}
		}
	}
}

// only is one term of a sum.
type only struct {
	optim.Terms
	i int
}

func (o only) Len() int             { return 1 }
func (o only) Worker() optim.Worker { return onlyWorker{o.Terms.Worker(), o.i} }

type onlyWorker struct {
	optim.Worker
	i int
}

func (o onlyWorker) Eval(_ int, x []float64, g *optim.Gradient) (float64, error) {
	return o.Worker.Eval(o.i, x, g)
}

func rosenbrock(n int) optim.Objective {
	return optim.Func{N: n, F: func(x, g []float64) (float64, error) {
		v := 0.0
		clear(g)
		for i := range n - 1 {
			a, b := 1-x[i], x[i+1]-x[i]*x[i]
			v += a*a + 100*b*b
			if g != nil {
				g[i] += -2*a - 400*x[i]*b
				g[i+1] += 200 * b
			}
		}
		return v, nil
	}}
}

type minimizer interface {
	Minimize(optim.Objective, []float64, *run.Control) (*optim.Result, error)
}

var solvers = map[string]minimizer{"LBFGS": optim.LBFGS{}, "OWLQN": optim.OWLQN{}, "OWLQN in single precision": optim.OWLQN{Single: true}}

func TestSolversReachTheMinimum(t *testing.T) {
	for name, m := range solvers {
		f := rosenbrock(10)
		optimtest.CheckGradient(t, f, normal(rand.New(rand.NewPCG(3, 3)), 10), 1e-7)
		var rows []run.Row
		r, err := m.Minimize(f, make([]float64, 10), &run.Control{
			Stop:     run.Stop{Gradient: 1e-9, Relative: -1},
			Recorder: run.RecorderFunc(func(row run.Row) error { rows = append(rows, row); return nil }),
		})
		if err != nil || !r.Reason.Converged() {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		for i, v := range r.X {
			if math.Abs(v-1) > 1e-6 {
				t.Errorf("%s: x[%d] = %v", name, i, v)
			}
		}
		for i := 1; i < len(rows); i++ {
			if rows[i].Objective > rows[i-1].Objective || rows[i].Iteration != i || rows[i].Evaluations <= rows[i-1].Evaluations {
				t.Errorf("%s: row %d: %+v after %+v", name, i, rows[i], rows[i-1])
			}
		}
		if last := rows[len(rows)-1]; last.Objective != r.F || last.GradNorm != r.GradNorm || r.Iterations != last.Iteration || r.Evaluations > 3*r.Iterations {
			t.Errorf("%s: last row %+v, result %+v", name, last, r)
		}
	}
}

func TestStoppingRules(t *testing.T) {
	f := rosenbrock(4)
	x0 := make([]float64, 4)
	for name, m := range solvers {
		for want, stop := range map[run.Reason]run.Stop{
			run.IterationLimit:   {Iterations: 3},
			run.EvaluationLimit:  {Evaluations: 4},
			run.TimeLimit:        {Time: 1},
			run.GradientSmall:    {Gradient: 1e6},
			run.ImprovementSmall: {Relative: 0.9, Window: 2},
		} {
			r, err := m.Minimize(f, x0, &run.Control{Stop: stop})
			if err != nil || r.Reason != want {
				t.Errorf("%s: %+v: stopped for %q, %v", name, stop, r.Reason, err)
			}
		}
		// Rules that are far from holding stop nothing.
		r, err := m.Minimize(f, x0, &run.Control{Stop: run.Stop{Time: time.Hour, Iterations: 1000, Evaluations: 10000, Gradient: 1e-6, Relative: -1}})
		if err != nil || r.Reason != run.GradientSmall {
			t.Errorf("%s: with an hour to go: %q, %v", name, r.Reason, err)
		}
		r, err = m.Minimize(optim.Func{N: 0, F: func(_, _ []float64) (float64, error) { return 7, nil }}, nil, nil)
		if err != nil || r.F != 7 {
			t.Errorf("%s: dimension zero: %+v, %v", name, r, err)
		}
		if _, err := m.Minimize(f, x0[:3], nil); err == nil {
			t.Errorf("%s: a start of the wrong length was taken", name)
		}
	}
}

func TestErrorsStopASolver(t *testing.T) {
	bad := errors.New("bad example")
	for name, m := range solvers {
		for at := 1; at < 6; at++ {
			calls := 0
			f := optim.Func{N: 4, F: func(x, g []float64) (float64, error) {
				if calls++; calls == at {
					return 0, bad
				}
				return rosenbrock(4).Eval(x, g)
			}}
			r, err := m.Minimize(f, make([]float64, 4), nil)
			if !errors.Is(err, bad) || r.Reason != run.Interrupted || calls != at || len(r.X) != 4 {
				t.Errorf("%s: error at evaluation %d: %v, %+v, %d calls", name, at, err, r, calls)
			}
			calls = 0
			nan := optim.Func{N: 4, F: func(x, g []float64) (float64, error) {
				v, err := rosenbrock(4).Eval(x, g)
				if calls++; calls == at {
					g[2] = math.NaN()
				}
				return v, err
			}}
			if _, err := m.Minimize(nan, make([]float64, 4), nil); !errors.Is(err, optim.ErrNotFinite) {
				t.Errorf("%s: NaN at evaluation %d: %v", name, at, err)
			}
		}
		stop := errors.New("disk full")
		_, err := m.Minimize(rosenbrock(4), make([]float64, 4), &run.Control{Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 2 {
				return stop
			}
			return nil
		})})
		if !errors.Is(err, stop) {
			t.Errorf("%s: recorder's error: %v", name, err)
		}
	}
}

func TestResumeLBFGS(t *testing.T) {
	for name, m := range solvers {
		ctx, cancel := context.WithCancel(context.Background())
		var saved bytes.Buffer
		r, err := m.Minimize(rosenbrock(10), make([]float64, 10), &run.Control{
			Ctx: ctx,
			Recorder: run.RecorderFunc(func(r run.Row) error {
				if r.Iteration == 7 {
					cancel()
				}
				return nil
			}),
			Checkpoint: func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) },
		})
		if !errors.Is(err, context.Canceled) || r.Reason != run.Interrupted || r.Iterations != 7 {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		k, err := run.ReadCheckpoint(&saved)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(k.X, r.X) || k.Iteration != 7 {
			t.Fatalf("%s: checkpoint %+v", name, k)
		}
		end, err := m.Minimize(rosenbrock(10), nil, &run.Control{Resume: k, Stop: run.Stop{Gradient: 1e-9, Relative: -1}})
		if err != nil || !end.Reason.Converged() || end.F > 1e-12 || end.Iterations <= 7 || end.Note == "" {
			t.Errorf("%s: resumed: %v, %+v", name, err, end)
		}
		if _, err := m.Minimize(rosenbrock(9), nil, &run.Control{Resume: k}); err == nil {
			t.Errorf("%s: a checkpoint of another dimension was taken", name)
		}
	}
}

// With l1, compare with cyclic coordinate descent by bisection on the
// subdifferential, and check the optimality conditions themselves.
func TestOWLQN(t *testing.T) {
	for seed := range uint64(5) {
		l := newLogistic(seed, 15, 80, 4)
		f := optim.Ridge(optim.NewSum(l, nil), 0.1)
		const c = 3.0
		penalty := slices.Repeat([]float64{1}, 15)
		penalty[2] = 0
		stop := run.Stop{Gradient: 1e-8, Relative: -1}
		r, err := optim.OWLQN{L1: c, Penalty: penalty, Workers: 2}.Minimize(f, make([]float64, 15), &run.Control{Stop: stop})
		if err != nil || !r.Reason.Converged() {
			t.Fatalf("%v, %+v", err, r)
		}
		g := make([]float64, 15)
		if _, err := f.Eval(r.X, g); err != nil {
			t.Fatal(err)
		}
		zeros := 0
		for j, w := range r.X {
			lambda := c * penalty[j]
			if w == 0 {
				zeros++
				if math.Abs(g[j]) > lambda+1e-5 {
					t.Errorf("seed %d: w[%d] = 0 with gradient %v beyond %v", seed, j, g[j], lambda)
				}
			} else if math.Abs(g[j]+math.Copysign(lambda, w)) > 1e-5 {
				t.Errorf("seed %d: w[%d] = %v with gradient %v", seed, j, w, g[j])
			}
		}
		if zeros == 0 || zeros == 15 {
			t.Errorf("seed %d: %d zeros say nothing", seed, zeros)
		}
	}
}

// What makes the method orthant-wise: wherever it looks from a point, no coordinate
// under the penalty has moved against the steepest descent there, nor beyond zero.
func TestOWLQNKeepsToTheOrthant(t *testing.T) {
	const c = 3.0
	aligned, crossed := 0, 0
	for seed := range uint64(8) {
		l := newLogistic(seed, 15, 80, 4)
		smooth := optim.Ridge(optim.NewSum(l, nil), 0.1)
		penalty := slices.Repeat([]float64{1}, 15)
		penalty[2] = 0
		at, last := make([]float64, 15), make([]float64, 15) // the point of the iteration, and what was evaluated last
		slope := make([]float64, 15)
		f := optim.Func{N: 15, F: func(x, g []float64) (float64, error) {
			copy(last, x)
			for i, v := range x {
				if penalty[i] == 0 || slope[i] == 0 && at[i] == v {
					continue
				}
				if (v-at[i])*slope[i] > 0 {
					t.Fatalf("seed %d: coordinate %d goes from %v to %v, where the slope is %v", seed, i, at[i], v, slope[i])
				}
				if v*at[i] < 0 || at[i] == 0 && v*slope[i] > 0 {
					t.Fatalf("seed %d: coordinate %d goes from %v to %v: another orthant", seed, i, at[i], v)
				}
				switch {
				case at[i] != 0 && v == 0:
					crossed++
				case v == at[i]:
					aligned++
				}
			}
			return smooth.Eval(x, g)
		}}
		record := run.RecorderFunc(func(run.Row) error {
			copy(at, last)
			g := make([]float64, 15)
			if _, err := smooth.Eval(at, g); err != nil {
				return err
			}
			for i, w := range at {
				lambda := c * penalty[i]
				switch {
				case w != 0:
					slope[i] = g[i] + math.Copysign(lambda, w)
				default:
					slope[i] = math.Copysign(math.Max(math.Abs(g[i])-lambda, 0), g[i])
				}
			}
			return nil
		})
		if _, err := (optim.OWLQN{L1: c, Penalty: penalty}).Minimize(f, make([]float64, 15), &run.Control{Recorder: record}); err != nil {
			t.Fatal(err)
		}
	}
	if aligned == 0 || crossed == 0 {
		t.Fatalf("%d coordinates stayed for their direction, %d at zero: the test says nothing", aligned, crossed)
	}
}

func TestOWLQNWorkers(t *testing.T) {
	const n = 30000 // several stripes
	l := newLogistic(4, n, 2000, 30)
	for _, m := range []optim.OWLQN{{}, {Single: true}, {Single: true, L1: 0.1}} {
		var first []float64
		for _, workers := range []int{1, 2, 7} {
			f := optim.Ridge(optim.NewSum(l, &optim.SumOptions{Workers: workers}), 1)
			m.Workers = workers
			r, err := m.Minimize(f, make([]float64, n), &run.Control{Stop: run.Stop{Iterations: 12}})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = r.X
			} else if !slices.Equal(first, r.X) {
				t.Fatalf("%+v: %d workers give another result than one", m, workers)
			}
		}
	}
}

func TestStochasticReachesTheMinimum(t *testing.T) {
	l := newLogistic(7, 20, 400, 4)
	f := optim.NewSum(l, nil)
	for _, l1 := range []float64{0, 4} {
		best, err := optim.OWLQN{L1: l1}.Minimize(optim.Ridge(f, 2), make([]float64, 20), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []optim.Stochastic{
			{Method: optim.SGD, Rate: 1, Batch: 8},
			{Method: optim.AdaGrad, Rate: 0.5, Batch: 8},
			{Method: optim.Adam, Rate: 0.002, Batch: 8},
		} {
			m.L1, m.L2, m.Seed = l1, 2, 5
			r, err := m.Minimize(l, make([]float64, 20), &run.Control{Stop: run.Stop{Iterations: 200, Relative: -1}})
			if err != nil {
				t.Fatal(err)
			}
			v, err := optim.Ridge(f, 2).Eval(r.X, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range r.X {
				v += l1 * math.Abs(w)
			}
			if !(v <= best.F*1.01) {
				t.Errorf("%v, l1 %v: %v, the minimum is %v", m.Method, l1, v, best.F)
			}
			if math.Abs(r.F-v) > 0.05*v {
				t.Errorf("%v: running estimate %v of %v", m.Method, r.F, v)
			}
		}
	}
}

// unsupported hides Support, so that penalties act on all coordinates at once.
type unsupported struct{ optim.Terms }

func TestLazyPenaltiesAreTheEagerOnes(t *testing.T) {
	l := newLogistic(8, 200, 150, 3)
	x0 := normal(rand.New(rand.NewPCG(4, 4)), 200)
	for _, m := range []optim.Stochastic{{Method: optim.SGD}, {Method: optim.AdaGrad}, {Method: optim.Adam, Rate: 0.01}} {
		m.L1, m.L2, m.Batch, m.Rate = 0.5, 30, 4, 0.3
		c := &run.Control{Stop: run.Stop{Iterations: 3}}
		lazy, err := m.Minimize(l, x0, c)
		if err != nil {
			t.Fatal(err)
		}
		eager, err := m.Minimize(unsupported{l}, x0, c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(eager.X, lazy.X, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })); diff != "" {
			t.Errorf("%v: %s", m.Method, diff)
		}
	}
}

func TestStochasticResumesExactly(t *testing.T) {
	l := newLogistic(9, 100, 230, 5)
	for _, method := range []optim.Method{optim.SGD, optim.AdaGrad, optim.Adam} {
		m := optim.Stochastic{Method: method, Batch: 7, Seed: 11, L1: 0.1, L2: 1, Workers: 3}
		if method == optim.Adam {
			m.Rate = 0.02 // settles within the passes
		}
		stop := run.Stop{Iterations: 12, Relative: 0.02, Window: 3} // the history must survive, too
		want, err := m.Minimize(l, make([]float64, 100), &run.Control{Stop: stop})
		if err != nil {
			t.Fatal(err)
		}
		if want.Reason != run.ImprovementSmall || want.Iterations < 4 {
			t.Fatalf("%v: %s after %d passes: what a lost history would change is not seen", method, want.Reason, want.Iterations)
		}
		m.Workers = 1
		last := (want.Iterations - 1) * l.Len()                                              // of the last pass: with the history of it alone, three more would follow
		for _, kill := range []int{1, 100, 229, 230, 231, 500, last, last + 1, last + 100} { // evaluations of a term
			ctx, cancel := context.WithCancel(context.Background())
			var saved bytes.Buffer
			_, err := m.Minimize(&killer{l, kill, cancel}, make([]float64, 100), &run.Control{
				Ctx: ctx, Stop: stop, CheckpointEvery: 1000,
				Checkpoint: func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) },
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%v: killed at %d: %v", method, kill, err)
			}
			k, err := run.ReadCheckpoint(&saved)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Minimize(l, nil, &run.Control{Stop: stop, Resume: k})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.X, want.X) || got.F != want.F || got.Iterations != want.Iterations || got.Reason != want.Reason {
				t.Errorf("%v: killed after %d terms, resumed: %d iterations, %s; %d, %s without", method, kill, got.Iterations, got.Reason, want.Iterations, want.Reason)
			}
		}
		k := &run.Checkpoint{Solver: "Adam", X: make([]float64, 100)}
		if _, err := (optim.Stochastic{}).Minimize(l, nil, &run.Control{Resume: k}); err == nil {
			t.Error("another solver's checkpoint was taken")
		}
	}
}

// A checkpoint of other minibatches, drawn otherwise or of other terms is not taken: its position
// means nothing here.
func TestStochasticRefusesOtherRuns(t *testing.T) {
	l := newLogistic(9, 20, 50, 5)
	m := optim.Stochastic{Method: optim.AdaGrad, Batch: 7, Seed: 11}
	var k *run.Checkpoint
	_, err := m.Minimize(l, make([]float64, 20), &run.Control{Stop: run.Stop{Iterations: 2}, CheckpointEvery: 1,
		Checkpoint: func(c *run.Checkpoint) error { k = c; return nil }})
	if err != nil || k == nil {
		t.Fatalf("checkpoint %v, error %v", k, err)
	}
	if _, err := m.Minimize(l, nil, &run.Control{Stop: run.Stop{Iterations: 3}, Resume: k}); err != nil {
		t.Fatal(err)
	}
	seed, batch := m, m
	seed.Seed++
	batch.Batch++
	for name, other := range map[string]struct {
		m optim.Stochastic
		l *logistic
	}{"seed": {seed, l}, "batch": {batch, l}, "terms": {m, newLogistic(9, 20, 49, 5)}} {
		if _, err := other.m.Minimize(other.l, nil, &run.Control{Resume: k}); err == nil || !strings.Contains(err.Error(), "written with "+name) {
			t.Errorf("another %s: error %v", name, err)
		}
	}
}

// A line search that is stuck where the gradient is not small has not converged.
func TestStuckHasNotConverged(t *testing.T) {
	for _, c := range []struct {
		r    optim.Result
		want bool
	}{
		{optim.Result{Reason: run.NoProgress, F: 2, GradNorm: 1e-3}, true},
		{optim.Result{Reason: run.NoProgress, F: 2, GradNorm: 3e-3}, false},
		{optim.Result{Reason: run.NoProgress, F: -1000, GradNorm: 0.5}, true},
		{optim.Result{Reason: run.NoProgress, F: 0, GradNorm: 2e-3}, false},
		{optim.Result{Reason: run.GradientSmall, F: 2, First: &optim.Result{Reason: run.NoProgress, GradNorm: 1}}, false},
	} {
		if got := c.r.Converged(); got != c.want {
			t.Errorf("%+v: converged %v", c.r, got)
		}
	}
}

// killer cancels the run when a number of terms have been evaluated.
type killer struct {
	*logistic
	left   int
	cancel func()
}

func (k *killer) Worker() optim.Worker { return k }
func (k *killer) Eval(i int, x []float64, g *optim.Gradient) (float64, error) {
	if k.left--; k.left == 0 {
		k.cancel()
	}
	return k.logistic.Eval(i, x, g)
}

func TestStochasticOnASet(t *testing.T) {
	l := newLogistic(10, 10, 300, 4)
	set := optim.Simplex{}
	r, err := optim.Stochastic{Method: optim.SGD, Batch: 10, Rate: 0.5, Set: set}.Minimize(l, make([]float64, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := optim.NewSum(l, nil)
	g := make([]float64, 10)
	at, err := f.Eval(r.X, g)
	if err != nil {
		t.Fatal(err)
	}
	// The gap of a convex function over the simplex: max_z ⟨g, x-z⟩.
	gap := -slices.Min(g)
	for i, v := range r.X {
		gap += g[i] * v
	}
	if !(gap < 0.02*at) {
		t.Errorf("duality gap %v at value %v", gap, at)
	}
	l.err = map[int]error{17: errors.New("torn page")}
	if _, err := (optim.Stochastic{Batch: 5, Workers: 2}).Minimize(l, make([]float64, 10), nil); !errors.Is(err, l.err[17]) {
		t.Errorf("error of an example: %v", err)
	}
	if _, err := f.Eval(r.X, g); !errors.Is(err, l.err[17]) {
		t.Errorf("error of an example in Sum: %v", err)
	}
}

func ExampleLBFGS() {
	f := optim.Func{N: 2, F: func(x, grad []float64) (float64, error) {
		a, b := x[0]-3, x[1]+1
		if grad != nil {
			grad[0], grad[1] = 2*a, 8*b
		}
		return a*a + 4*b*b, nil
	}}
	r, err := optim.LBFGS{}.Minimize(f, []float64{0, 0}, nil)
	fmt.Printf("%.3f %.3f %v %v\n", r.X[0], r.X[1], r.Reason.Converged(), err)
	// Output: 3.000 -1.000 true <nil>
}

// softmax stands for a tagger: each example reads and adds 200 rows of 22 weights.
type softmax struct{ dim int }

func (s softmax) Dim() int             { return s.dim }
func (s softmax) Len() int             { return 4000 }
func (s softmax) Worker() optim.Worker { return s }
func (s softmax) Eval(i int, x []float64, g *optim.Gradient) (float64, error) {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	var p [22]float64
	v := 0.0
	for range 10 {
		clear(p[:])
		var at [20]int
		for k := range at {
			at[k] = rng.IntN(s.dim/22) * 22
			for j, w := range x[at[k] : at[k]+22] {
				p[j] += w
			}
		}
		z := 0.0
		for j := range p {
			p[j] = math.Exp(p[j])
			z += p[j]
		}
		v += math.Log(z)
		for j := range p {
			p[j] /= z
		}
		for _, a := range at {
			g.AddRow(a, p[:])
		}
	}
	return v, nil
}

func BenchmarkSum(b *testing.B) {
	f := softmax{1_000_000}
	x, g := make([]float64, f.dim), make([]float64, f.dim)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			s := optim.NewSum(f, &optim.SumOptions{Workers: workers})
			for b.Loop() {
				if _, err := s.Eval(x, g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
