package optim_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// The maximum of small programs against a fine search of the simplex by projected gradients.
func TestSimplexQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		n := 1 + rng.IntN(8)
		rank := 1 + rng.IntN(n) // singular ones too
		factor := make([][]float64, n)
		for i := range factor {
			factor[i] = normal(rng, rank)
		}
		q := &optim.SimplexQP{H: make([][]float64, n), C: normal(rng, n)}
		for i := range n {
			for j := range i + 1 {
				q.H[i] = append(q.H[i], floats.Dot(factor[i], factor[j]))
			}
		}
		if n > 2 && trial%2 == 0 {
			first := 1 + rng.IntN(n-1)
			q.Blocks = []int{first, n - first}
		}
		alpha := make([]float64, n)
		gap, err := q.Maximize(alpha, 1e-10)
		if err != nil || gap > 1e-10 {
			t.Fatalf("%v, gap %v", err, gap)
		}
		blocks := q.Blocks
		if blocks == nil {
			blocks = []int{n}
		}
		project := func(x []float64) {
			from := 0
			for _, size := range blocks {
				optim.Simplex{}.Project(x[from : from+size])
				from += size
			}
		}
		inside := slices.Clone(alpha)
		project(inside)
		for i := range inside {
			if math.Abs(inside[i]-alpha[i]) > 1e-12 {
				t.Fatalf("%v is no point of the simplices", alpha)
			}
		}
		x := make([]float64, n)
		project(x)
		for range 4000 {
			g := slices.Clone(q.C)
			for i := range g {
				for j := range x {
					g[i] -= x[j] * q.H[max(i, j)][min(i, j)]
				}
			}
			floats.AddScaled(x, 0.02, g)
			project(x)
		}
		if got, other := q.Value(alpha), q.Value(x); got < other-1e-9 || got > other+1e-3*(1+math.Abs(other)) {
			t.Errorf("trial %d: %v, by projected gradients %v", trial, got, other)
		}
	}
	if _, err := (&optim.SimplexQP{H: [][]float64{{math.NaN()}}, C: []float64{1}}).Maximize([]float64{1}, 1); !errors.Is(err, optim.ErrNotFinite) {
		t.Error(err)
	}
}

// hinge is the mean hinge loss of rows, on one of the sides of a plane through the origin.
type hinge struct {
	x [][]float64
	y []float64
	n int // tangents
}

func (h *hinge) Dim() int { return len(h.x[0]) }

func (h *hinge) Tangent(w, a []float64) (float64, error) {
	h.n++
	clear(a)
	sum := 0.0
	for i, x := range h.x {
		if z := 1 - h.y[i]*floats.Dot(w, x); z > 0 {
			sum += z / float64(len(h.x))
			floats.AddScaled(a, -h.y[i]/float64(len(h.x)), x)
		}
	}
	return sum, nil
}

func hinges(seed uint64, rows, dim int) *hinge {
	rng := rand.New(rand.NewPCG(seed, 3))
	h := &hinge{}
	to := normal(rng, dim)
	for range rows {
		x := normal(rng, dim)
		y := 1.0
		if floats.Dot(x, to)+0.7*rng.NormFloat64() < 0 {
			y = -1
		}
		h.x, h.y = append(h.x, x), append(h.y, y)
	}
	return h
}

func objective(h *hinge, lambda float64, linear, w []float64) float64 {
	r, _ := h.Tangent(w, make([]float64, len(w)))
	j := r + lambda/2*floats.Dot(w, w)
	if linear != nil {
		j += floats.Dot(linear, w)
	}
	return j
}

// The bounds hold: no point tried is below the lower one, and the result has the value that
// it says, with few planes kept too.
func TestBundle(t *testing.T) {
	for seed := range uint64(8) {
		h := hinges(seed, 60, 5)
		rng := rand.New(rand.NewPCG(seed, 9))
		var linear []float64
		if seed%2 == 1 {
			linear = normal(rng, 5)
			floats.Scale(0.05, linear)
		}
		for _, keep := range []int{0, 12} {
			const lambda = 0.01
			m := optim.Bundle{Lambda: lambda, Linear: linear, Gap: 1e-5, Keep: keep}
			last := math.Inf(-1)
			r, err := m.Minimize(h, make([]float64, 5), nil,
				&run.Control{Recorder: run.RecorderFunc(func(r run.Row) error {
					lower := r.Detail.(*optim.BundleRow).Lower
					if lower < last || r.Objective < lower-1e-9 {
						t.Errorf("step %d: objective %v, bound %v after %v", r.Iteration, r.Objective, lower, last)
					}
					last = lower
					return nil
				})})
			if err != nil || r.Reason != run.GapSmall {
				t.Fatalf("%v, %+v", err, r)
			}
			near(t, "J", objective(h, lambda, linear, r.X), r.F, 1e-12)
			if r.Gap() > 1e-5 || r.Gap() < -1e-9 {
				t.Errorf("gap %v", r.Gap())
			}
			if keep > 0 && len(r.Cuts.Planes) > keep+1 {
				t.Errorf("%d planes, %d are kept", len(r.Cuts.Planes), keep)
			}
			best := math.Inf(1)
			w := slices.Clone(r.X)
			for range 3000 {
				v := normal(rng, 5)
				floats.Scale(math.Exp(-6*rng.Float64()), v)
				floats.Add(v, w)
				best = math.Min(best, objective(h, lambda, linear, v))
			}
			if best < r.Lower-1e-9 {
				t.Errorf("seed %d: a point has %v, below the bound %v", seed, best, r.Lower)
			}
			// Every plane is below the risk.
			for range 50 {
				v := normal(rng, 5)
				risk, _ := h.Tangent(v, make([]float64, 5))
				for k := range r.Cuts.Planes {
					if p := r.Cuts.Planes[k].Value(v); p > risk+1e-9 {
						t.Fatalf("plane %d is at %v, the risk at %v", k, p, risk)
					}
				}
			}
		}
	}
}

// Against L-BFGS on a smooth risk.
type smoothRisk struct{ f optim.Objective }

func (s smoothRisk) Dim() int                                { return s.f.Dim() }
func (s smoothRisk) Tangent(w, a []float64) (float64, error) { return s.f.Eval(w, a) }

func TestBundleOnASmoothRisk(t *testing.T) {
	l := newLogistic(4, 8, 200, 4)
	f := optim.NewSum(l, &optim.SumOptions{Scale: 1.0 / 200})
	want, err := optim.LBFGS{}.Minimize(optim.Ridge(f, 0.05), make([]float64, 8), &run.Control{Stop: run.Stop{Relative: 1e-12, Gradient: 1e-10}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := optim.Bundle{Lambda: 0.05, Gap: 1e-6}.Minimize(smoothRisk{f}, make([]float64, 8), nil, nil)
	if err != nil || r.Reason != run.GapSmall {
		t.Fatal(err, r)
	}
	if r.F < want.F-1e-9 || r.F > want.F+1e-6 || r.Lower > want.F+1e-9 {
		t.Errorf("%v to %v, the least is %v", r.Lower, r.F, want.F)
	}
}

// Planes serve the next problem: it needs fewer tangents, and its bounds hold.
func TestBundleRecycles(t *testing.T) {
	h := hinges(5, 80, 6)
	m := optim.Bundle{Lambda: 0.01, Gap: 1e-4}
	first, err := m.Minimize(h, make([]float64, 6), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Linear = make([]float64, 6)
	m.Linear[2] = 0.02
	h.n = 0
	afresh, err := m.Minimize(h, make([]float64, 6), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	alone := h.n
	h.n = 0
	again, err := m.Minimize(h, first.X, first.Cuts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.n >= alone {
		t.Errorf("%d tangents with planes, %d without", h.n, alone)
	}
	if math.Abs(again.F-afresh.F) > 2e-4 {
		t.Errorf("%v with planes, %v without", again.F, afresh.F)
	}
}

func TestBundleResumes(t *testing.T) {
	h := hinges(6, 80, 6)
	m := optim.Bundle{Lambda: 0.003, Gap: 1e-5, Keep: 20}
	want, err := m.Minimize(h, make([]float64, 6), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var file bytes.Buffer
	_, err = m.Minimize(h, make([]float64, 6), nil, &run.Control{Ctx: ctx, Checkpoint: func(k *run.Checkpoint) error { file.Reset(); return k.Write(&file) },
		Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == want.Iterations/2 {
				cancel()
			}
			return nil
		})})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	k, err := run.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Minimize(h, nil, nil, &run.Control{Resume: k})
	if err != nil || got.F != want.F || got.Lower != want.Lower || !slices.Equal(got.X, want.X) || got.Iterations != want.Iterations {
		t.Errorf("%v: %v to %v after %d steps, unbroken %v to %v after %d", err, got.Lower, got.F, got.Iterations, want.Lower, want.F, want.Iterations)
	}
}

func TestBundleRefuses(t *testing.T) {
	h := hinges(1, 5, 2)
	for _, m := range []optim.Bundle{{}, {Lambda: 1, Gap: -1}, {Lambda: 1, Linear: []float64{1}}, {Lambda: math.Inf(1)}} {
		if _, err := m.Minimize(h, []float64{0, 0}, nil, nil); err == nil {
			t.Errorf("%+v was taken", m)
		}
	}
	bad := smoothRisk{optim.Func{N: 2, F: func(_, a []float64) (float64, error) { a[0] = math.NaN(); return 1, nil }}}
	if _, err := (optim.Bundle{Lambda: 1}).Minimize(bad, []float64{0, 0}, nil, nil); !errors.Is(err, optim.ErrNotFinite) {
		t.Error(err)
	}
}
