package sequence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/optimtest"
)

func build(t testing.TB, examples []Example, opts TrainOptions, workers int) (*Model, *corpus, *objective, TrainOptions) {
	t.Helper()
	o, err := opts.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m, c, err := prepare(examples, &o)
	if err != nil {
		t.Fatal(err)
	}
	return m, c, newObjective(m.layout, c, newLossOf(&o, m.layout, c), o.L2, workers), o
}

// Every training objective, at every order: its value by enumeration of all
// label sequences, its gradient by differences, both again through the terms
// that the stochastic solvers see.
func TestObjectives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			examples := randomExamples(rng, 7, 3, rng.IntN(2) == 0)
			m, c, f, o := build(t, examples, s.opts, 2)
			w := random(rng, f.Dim())
			if o.Kind == MaxMargin && o.Beta == 0 {
				for i := range w { // keeps the kinks away from where the differences are taken
					w[i] *= 30
				}
			}
			grad := make([]float64, f.Dim())
			got, err := f.Eval(w, grad)
			if err != nil {
				t.Fatal(err)
			}
			want := enumerated(t, m, c, &o, w)
			if !(math.Abs(got-want) <= 1e-10*(1+math.Abs(want))) {
				t.Fatalf("value %v, by enumeration %v", got, want)
			}
			optimtest.CheckGradient(t, f, w, 1e-7)

			sum := optim.Ridge(optim.NewSum(&terms{layout: m.layout, corpus: c, loss: newLossOf(&o, m.layout, c)}, nil), o.L2)
			again := make([]float64, f.Dim())
			v, err := sum.Eval(w, again)
			if err != nil || math.Abs(v-got) > 1e-10*(1+math.Abs(got)) || !near(again, grad, 1e-9) {
				t.Fatalf("as a sum of terms: value %v for %v, %v", v, got, err)
			}
			if v, err = sum.Eval(w, nil); err != nil || math.Abs(v-got) > 1e-10*(1+math.Abs(got)) {
				t.Fatalf("without gradient: %v", v)
			}
		})
	}
}

func TestObjectiveHasTheSameBitsForAnyWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	examples := randomExamples(rng, 300, 5, true)
	for _, s := range settings(t) {
		if s.opts.Order == 3 && s.opts.Kind != CrossEntropy {
			continue // the same code as at order 2
		}
		var value float64
		var grad []float64
		for _, workers := range []int{1, 2, 7} {
			_, _, f, _ := build(t, examples, s.opts, workers)
			w := random(rand.New(rand.NewPCG(5, 5)), f.Dim())
			g := make([]float64, f.Dim())
			for range 2 {
				v, err := f.Eval(w, g)
				if err != nil {
					t.Fatal(err)
				}
				if grad == nil {
					value, grad = v, slices.Clone(g)
				}
				if v != value || !slices.Equal(g, grad) {
					t.Fatalf("%s: another result with %d workers", s.name, workers)
				}
			}
		}
	}
}

// Rounds of the pair attributes are cut by size; cut small, they give the same.
func TestRoundsOfPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	examples := randomExamples(rng, 200, 4, true)
	opts := TrainOptions{Templates: templates(t, "B0:%x[0,0]", "B1:%x[-1,0]"), L2: 0.1}
	_, c, f, _ := build(t, examples, opts, 3)
	w := random(rng, f.Dim())
	want := make([]float64, f.Dim())
	v, err := f.Eval(w, want)
	if err != nil {
		t.Fatal(err)
	}
	f.rounds = []int{0, 1, 17, 18, 90, 91, 150, c.sequences()}
	got := make([]float64, f.Dim())
	u, err := f.Eval(w, got)
	if err != nil || u != v || !slices.Equal(got, want) {
		t.Fatalf("cut into rounds: %v for %v, %v", u, v, err)
	}
}

// Where scores are far apart the recursion works in logarithms; on scores of
// moderate size both must agree, and on extreme ones the logarithms must be right.
func TestChainInLogs(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, d := range []int{1, 2, 5, 9} {
		for _, size := range []float64{1, 30, 2000} {
			for _, n := range []int{1, 2, 5} {
				c := newChain(d)
				pair := random(rng, d*d)
				for i := range pair {
					pair[i] *= size
				}
				if d == 9 {
					pair = nil
				}
				c.transitions(pair)
				node := c.begin(n)
				for t := range n {
					for y := range d {
						node[t*c.stride+y] = size * rng.NormFloat64()
					}
				}
				scaled := pairSums{scaled: newPairs(d, c.stride)}
				post := make([]float64, n*c.stride)
				z := c.marginals(post, &scaled)
				inLogs := pairSums{scaled: newPairs(d, c.stride)}
				logPost := make([]float64, n*c.stride)
				logZ := c.inLogs(logPost, &inLogs)
				if math.Abs(z-logZ) > 1e-9*(1+math.Abs(z)) || !near(post, logPost, 1e-9) {
					t.Fatalf("d=%d size=%v n=%d: %v in logarithms %v", d, size, n, z, logZ)
				}
				a, b := make([]float64, d*d), make([]float64, d*d)
				c.finish(a, &scaled)
				c.finish(b, &inLogs)
				if pair != nil && !near(a, b, 1e-9) {
					t.Fatalf("d=%d size=%v n=%d: pairs differ", d, size, n)
				}
				// Against the sum over all sequences.
				var scores []float64
				expect := make([]float64, n*c.stride)
				score := func(u []int) float64 {
					s := 0.0
					for t, y := range u {
						s += node[t*c.stride+y]
						if t > 0 && pair != nil {
							s += pair[u[t-1]*d+y]
						}
					}
					return s
				}
				if math.Pow(float64(d), float64(n)) > 1e4 {
					continue
				}
				all(n, d, func(u []int) { scores = append(scores, score(u)) })
				total := logSum(scores)
				all(n, d, func(u []int) {
					p := math.Exp(score(u) - total)
					for t, y := range u {
						expect[t*c.stride+y] += p
					}
				})
				if math.Abs(z-total) > 1e-9*(1+math.Abs(z)) || !near(post, expect, 1e-9) {
					t.Fatalf("d=%d size=%v n=%d: %v, by enumeration %v", d, size, n, z, total)
				}
			}
		}
	}
}

// A label that nothing in the past supports, and everything in the future, by
// amounts no float can hold together.
func TestChainFindsWhatForwardMassForgot(t *testing.T) {
	const n = 40
	c := newChain(2)
	c.transitions([]float64{0, -5000, -5000, 0})
	node := c.begin(n)
	node[0] = 790 // label 0 ahead by e^790 at first, label 1 by e^20 everywhere after
	for t := 1; t < n; t++ {
		node[t*c.stride+1] = 20.5
	}
	post := make([]float64, n*c.stride)
	z := c.marginals(post, &pairSums{scaled: newPairs(2, c.stride)})
	want := logSum([]float64{790, 20.5 * (n - 1)})
	if math.Abs(z-want) > 1e-9*want || math.Abs(post[0]-math.Exp(790-want)) > 1e-9 {
		t.Errorf("log Z %v, want %v; first label %v", z, want, post[:2])
	}
}

// Attributes that are frequent enough to be summed in groups have the gradient, bit
// for bit, that they have one at a time.
func TestFrequentAttributes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, valued := range []bool{false, true} {
		examples := randomExamples(rng, 1500, 5, valued)
		_, c, f, _ := build(t, examples, TrainOptions{Order: 2, Templates: templates(t, "U0:%x[0,0]", "U1:%x[-1,0]", "U2:"), L2: 1}, 2)
		if len(f.frequent) == 0 || len(f.frequent[0].runs) <= len(f.frequent[0].ids) {
			t.Fatalf("no frequent attributes among %d positions: nothing is tested", c.positions())
		}
		w := random(rng, f.Dim())
		grouped, single := make([]float64, f.Dim()), make([]float64, f.Dim())
		a, err := f.Eval(w, grouped)
		if err != nil {
			t.Fatal(err)
		}
		f.frequent, f.squares, f.byID = nil, f.squares[:len(f.ranges)-1], c.single.transposed(f.layout.single)
		clear(f.isFrequent)
		b, err := f.Eval(w, single)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(grouped, single) || math.Abs(a-b) > 1e-12*math.Abs(b) {
			t.Errorf("values %v and %v, gradients equal: %v", a, b, slices.Equal(grouped, single))
		}
	}
}

// The objective of scaled weights is that of the weights, by the chain rule.
func TestPrecondition(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	for _, s := range settings(t) {
		for _, observed := range []bool{false, true} {
			opts := s.opts
			opts.Observed = observed
			examples := randomExamples(rng, 40, 4, true)
			_, _, plain, _ := build(t, examples, opts, 2)
			_, _, f, _ := build(t, examples, opts, 3)
			scale := f.precondition(0.3)
			w := random(rng, f.Dim())
			z, want, got := make([]float64, f.Dim()), make([]float64, f.Dim()), make([]float64, f.Dim())
			for i := range z {
				z[i] = w[i] / scale[i]
			}
			v, err := plain.Eval(w, want)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				want[i] *= scale[i]
			}
			for _, g := range [][]float64{got, nil} {
				u, err := f.Eval(z, g)
				if err != nil || math.Abs(u-v) > 1e-9*(1+math.Abs(v)) {
					t.Fatalf("%s, observed %v: value %v of scaled weights, %v of the weights; %v", s.name, observed, u, v, err)
				}
			}
			if !near(got, want, 1e-8) {
				t.Fatalf("%s, observed %v: gradients differ", s.name, observed)
			}
		}
	}
}
