package nn_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// terms is a least-squares problem for optim.Stochastic.
type terms struct {
	x [][]float64
	y []float64
}

func (t terms) Dim() int             { return len(t.x[0]) }
func (t terms) Len() int             { return len(t.x) }
func (t terms) Worker() optim.Worker { return t }
func (t terms) Eval(i int, w []float64, g *optim.Gradient) (float64, error) {
	r := -t.y[i]
	for j, v := range t.x[i] {
		r += v * w[j]
	}
	if g != nil {
		d := make([]float64, len(w))
		for j, v := range t.x[i] {
			d[j] = r * v
		}
		g.AddRow(0, d)
	}
	return r * r / 2, nil
}

// The steps are those of optim.Stochastic, penalty included, whose minibatch here is
// all the terms.
func TestOptimizerAgainstStochastic(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	problem := terms{y: random[float64](rng, 30)}
	for range 30 {
		problem.x = append(problem.x, random[float64](rng, 13))
	}
	for _, m := range []optim.Method{optim.SGD, optim.AdaGrad, optim.Adam} {
		for _, l2 := range []float64{0, 3} {
			const passes = 40
			start := random[float64](rng, 13)
			// SGD's default rate falls by one a pass there
			opts := &nn.OptimizerOptions{Method: m, Rate: 0.05, L2: l2 / 30}
			if m == optim.SGD {
				opts.Decay = 1
			}
			opt := must(nn.NewOptimizer[float64](13, opts))
			c := &run.Control{}
			c.Stop.Iterations = passes
			want := must(optim.Stochastic{Method: m, Rate: 0.05, Batch: 30, L2: l2}.Minimize(problem, start, c)).X
			got := slices.Clone(start)
			for range passes {
				g := make([]float64, 13)
				for i, x := range problem.x {
					r := -problem.y[i]
					for j, v := range x {
						r += v * got[j]
					}
					for j, v := range x {
						g[j] += r * v / 30
					}
				}
				if err := opt.Step(got, g); err != nil {
					t.Fatal(err)
				}
			}
			for j := range got {
				if !(math.Abs(got[j]-want[j]) <= 1e-9) {
					t.Fatalf("%v, L2=%v: after %d steps x[%d] = %v, optim.Stochastic has %v", m, l2, passes,
						j, got[j], want[j])
				}
			}
		}
	}
}

func TestOptimizer(t *testing.T) {
	for _, bad := range []nn.OptimizerOptions{
		{Method: "seven"}, {Rate: -1}, {Rate: math.NaN()}, {Momentum: 1}, {Method: optim.Adam, Momentum: 0.5},
		{L2: -1},
		{L2: math.Inf(1)},
		{Penalised: []nn.Span{{0, 200}}}, {Penalised: []nn.Span{{5, 7}, {6, 8}}}, {Penalised: []nn.Span{{5, 4}}},
	} {
		if _, err := nn.NewOptimizer[float32](100, &bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	// Polyak's momentum, and a penalty on some coordinates, by hand.
	opt := must(nn.NewOptimizer[float64](3, &nn.OptimizerOptions{Rate: 0.5, Momentum: 0.5, L2: 2,
		Penalised: []nn.Span{{1, 2}}}))
	w := []float64{1, 1, 1}
	for range 2 {
		if err := opt.Step(w, []float64{1, 1, 0}); err != nil {
			t.Fatal(err)
		}
	}
	// coordinate 0: v = 1, 1.5; coordinate 1 is halved by 1/(1+0.5·2) after each step
	if want := []float64{1 - 0.5 - 0.75, ((1-0.5)/2 - 0.75) / 2, 1}; !slices.Equal(w, want) {
		t.Errorf("two steps with momentum: %v, want %v", w, want)
	}
	// A gradient that is not finite changes nothing and is named.
	for _, n := range []int{5, 100_000} {
		for _, at := range []int{0, n / 2, n - 1} {
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
				opt := must(nn.NewOptimizer[float32](n, &nn.OptimizerOptions{Workers: 2}))
				w, g := make([]float32, n), slices.Repeat([]float32{1}, n)
				g[at] = v
				err := opt.Step(w, g)
				if !errors.Is(err, optim.ErrNotFinite) ||
					!strings.Contains(fmt.Sprint(err), fmt.Sprintf("gradient[%d]", at)) || opt.Steps() != 0 {
					t.Fatalf("error %v", err)
				}
				if i := slices.IndexFunc(w, func(x float32) bool { return x != 0 }); i >= 0 {
					t.Fatalf("coordinate %d moved", i)
				}
			}
		}
	}
}

// A run taken up from a state goes on as if it had not stopped; another number of
// workers changes no bit.
func TestOptimizerState(t *testing.T) {
	const n = 70_001
	for _, o := range []nn.OptimizerOptions{{Decay: 0.1}, {Momentum: 0.9}, {Method: optim.AdaGrad},
		{Method: optim.Adam, L2: 0.1}} {
		rng := rand.New(rand.NewPCG(9, 9))
		start := random[float32](rng, n)
		gradients := [][]float32{random[float32](rng, n), random[float32](rng, n), random[float32](rng, n)}
		run := func(workers int, interrupt bool) []float32 {
			o := o
			o.Workers = workers
			opt := must(nn.NewOptimizer[float32](n, &o))
			w := slices.Clone(start)
			for i, g := range gradients {
				if interrupt && i == 2 {
					state := opt.State()
					opt = must(nn.NewOptimizer[float32](n, &o))
					if err := opt.Restore(state); err != nil {
						t.Fatal(err)
					}
				}
				if err := opt.Step(w, g); err != nil {
					t.Fatal(err)
				}
			}
			return w
		}
		want := run(1, false)
		if !slices.Equal(run(3, true), want) {
			t.Errorf("%+v: interrupted, on three workers, another result", o)
		}
	}
	opt := must(nn.NewOptimizer[float32](3, &nn.OptimizerOptions{Method: optim.Adam}))
	if opt.Restore(nn.OptimizerState[float32]{A: make([]float32, 3)}) == nil ||
		opt.Restore(nn.OptimizerState[float32]{A: make([]float32, 3),
			B: []float32{0, 0, float32(math.NaN())}}) == nil {
		t.Error("a wrong state is accepted")
	}
}
