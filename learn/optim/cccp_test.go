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

// latent is the mean over samples of the largest of some scores, ⟨w, phi⟩ + loss.
type latent struct {
	phi  [][][]float64
	loss [][]float64
	n    int // tangents
}

func (l *latent) Dim() int { return len(l.phi[0][0]) }

func (l *latent) Tangent(w, a []float64) (float64, error) {
	l.n++
	clear(a)
	sum := 0.0
	for i, list := range l.phi {
		at, most := 0, math.Inf(-1)
		for y, phi := range list {
			if v := floats.Dot(w, phi) + l.loss[i][y]; v > most {
				at, most = y, v
			}
		}
		sum += most / float64(len(l.phi))
		floats.AddScaled(a, 1/float64(len(l.phi)), list[at])
	}
	return sum, nil
}

// difference makes P over all outputs with losses, and R over the right ones, without.
func difference(seed uint64, samples, outputs, dim int) (p, r *latent) {
	rng := rand.New(rand.NewPCG(seed, 5))
	p, r = &latent{}, &latent{}
	to := normal(rng, dim)
	for range samples {
		var phi, right [][]float64
		var loss []float64
		best, at := math.Inf(-1), 0
		for y := range outputs {
			phi = append(phi, normal(rng, dim))
			if v := floats.Dot(to, phi[y]) + 2*rng.NormFloat64(); v > best {
				best, at = v, y
			}
		}
		for y := range outputs {
			if y == at || y == (at+1)%outputs {
				right, loss = append(right, phi[y]), append(loss, 0)
			} else {
				loss = append(loss, 1)
			}
		}
		p.phi, p.loss = append(p.phi, phi), append(p.loss, loss)
		r.phi, r.loss = append(r.phi, right), append(r.loss, make([]float64, len(right)))
	}
	return p, r
}

func TestCCCP(t *testing.T) {
	tangents, plainly := 0, 0
	for seed := range uint64(6) {
		p, r := difference(seed, 60, 6, 5)
		rng := rand.New(rand.NewPCG(seed, 6))
		start := normal(rng, 5)
		j := func(lambda float64, norm optim.Norm, w []float64) float64 {
			a := make([]float64, 5)
			up, _ := p.Tangent(w, a)
			down, _ := r.Tangent(w, a)
			if norm == optim.L1 {
				return lambda*floats.Norm(w, 1) + up - down
			}
			return lambda/2*floats.Dot(w, w) + up - down
		}
		for _, norm := range []optim.Norm{optim.L2, optim.L1} {
			const lambda = 0.02
			m := optim.CCCP{Lambda: lambda, Norm: norm, Above: true, Gap: 1e-3}
			p.n = 0
			got, err := m.Minimize(p, r, start, nil, nil)
			if err != nil || got.Reason != run.ImprovementSmall {
				t.Fatalf("%v, %+v", err, got)
			}
			tangents += p.n
			near(t, "J", j(lambda, norm, got.X), got.F, 1e-9)
			last := j(lambda, norm, start)
			for _, o := range got.Outer {
				if o.J > last+1e-9 {
					t.Errorf("seed %d, %s: J rose from %v to %v", seed, norm, last, o.J)
				}
				last = o.J
			}
			// Without recycled planes and coarse beginnings the same takes more tangents.
			plain := m
			plain.NoRecycle, plain.NoAdaptive = true, true
			p.n = 0
			other, err := plain.Minimize(p, r, start, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			plainly += p.n
			if math.Abs(other.F-got.F) > 0.05*math.Abs(got.F)+4e-3 {
				t.Logf("seed %d, %s: J %v, plainly %v: another local minimum", seed, norm, got.F, other.F)
			}
		}
	}
	if tangents >= plainly {
		t.Errorf("%d tangents, plainly %d", tangents, plainly)
	}
}

func TestCCCPResumes(t *testing.T) {
	p, r := difference(3, 60, 6, 5)
	m := optim.CCCP{Lambda: 0.01, Above: true, Gap: 1e-4, Pull: 0.3}
	start := []float64{1, 0, 0, -1, 0}
	want, err := m.Minimize(p, r, start, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{1, want.Iterations / 3, want.Iterations / 2, want.Iterations - 1} {
		ctx, cancel := context.WithCancel(context.Background())
		var file bytes.Buffer
		_, err = m.Minimize(p, r, start, nil, &run.Control{Ctx: ctx, Checkpoint: func(k *run.Checkpoint) error { file.Reset(); return k.Write(&file) },
			Recorder: run.RecorderFunc(func(r run.Row) error {
				if r.Iteration == stop {
					cancel()
				}
				return nil
			})})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		k, err := run.ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Minimize(p, r, nil, nil, &run.Control{Resume: k})
		if err != nil || got.F != want.F || !slices.Equal(got.X, want.X) || got.Iterations != want.Iterations || !slices.Equal(got.Outer, want.Outer) {
			t.Errorf("stop %d: %v: %v after %d steps, unbroken %v after %d", stop, err, got.F, got.Iterations, want.F, want.Iterations)
		}
	}
}

// Of l1, against a smooth risk that OWLQN solves.
func TestBundleL1(t *testing.T) {
	for seed := range uint64(4) {
		l := newLogistic(seed, 12, 200, 4)
		f := optim.NewSum(l, &optim.SumOptions{Scale: 1.0 / 200})
		lambda := []float64{0.003, 0.02, 0.1, 10}[seed]
		want, err := optim.OWLQN{L1: lambda}.Minimize(f, make([]float64, 12), &run.Control{Stop: run.Stop{Iterations: 2000, Relative: 1e-13, Gradient: 1e-10}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := optim.Bundle{Lambda: lambda, Norm: optim.L1, Gap: 1e-5, Keep: 40}.Minimize(smoothRisk{f}, make([]float64, 12), nil, nil)
		if err != nil || r.Reason != run.GapSmall {
			t.Fatal(err, r)
		}
		if r.F < want.F-1e-8 || r.F > want.F+1e-5 || r.Lower > want.F+1e-8 || r.Gap() < -1e-12 {
			t.Errorf("lambda %v: %v to %v, the least is %v", lambda, r.Lower, r.F, want.F)
		}
	}
	if _, err := (optim.Bundle{Lambda: 1, Norm: optim.L1, Least: math.Inf(-1)}).Minimize(hinges(1, 5, 2), []float64{0, 0}, nil, nil); err == nil {
		t.Error("l1 without a bound of the risk was taken")
	}
}

// The limits of coupled tasks.
func TestCoupled(t *testing.T) {
	one, two := hinges(1, 40, 4), hinges(2, 60, 4)
	risks := []optim.Risk{one, two}
	start := make([]float64, 4)
	solve := func(m optim.Coupled, risks ...optim.Risk) *optim.BundleResult {
		t.Helper()
		m.Gap = 1e-7
		r, err := m.Minimize(risks, start, nil)
		if err != nil || r.Reason != run.GapSmall {
			t.Fatalf("%v, %+v", err, r)
		}
		return r
	}
	alone := func(lambda float64, risk optim.Risk) *optim.BundleResult {
		t.Helper()
		r, err := optim.Bundle{Lambda: lambda, Gap: 1e-7}.Minimize(risk, start, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	close := func(what string, a, b []float64, tol float64) {
		t.Helper()
		if floats.Distance(a, b, math.Inf(1)) > tol {
			t.Errorf("%s: %v and %v", what, a, b)
		}
	}
	const lambda, rho = 0.1, 0.3
	r := solve(optim.Coupled{Lambda: lambda, Rho: rho}, risks...)
	primal := lambda / 2 * floats.Dot(r.Shared, r.Shared)
	for d, h := range []*hinge{one, two} {
		gap := slices.Clone(r.Tasks[d])
		floats.Sub(gap, r.Shared)
		risk, _ := h.Tangent(r.Tasks[d], make([]float64, 4))
		primal += rho/2*floats.Dot(gap, gap) + risk
	}
	near(t, "primal", r.F, primal, 1e-10)
	near(t, "dual", r.Lower, primal, 1e-7)

	r = solve(optim.Coupled{Lambda: lambda, Rho: 1e8}, risks...)
	union := alone(lambda, sumOf{one, two})
	close("one weight", r.Tasks[0], r.Tasks[1], 1e-6)
	close("the union", r.Tasks[0], union.X, 2e-3)
	near(t, "the union's objective", r.F, union.F, 1e-6)

	r = solve(optim.Coupled{Lambda: 1e8, Rho: rho}, risks...)
	for d, h := range risks {
		close("alone", r.Tasks[d], alone(rho, h).X, 2e-3)
	}
	r = solve(optim.Coupled{Lambda: lambda, Rho: rho}, one)
	near(t, "one task", r.F, alone(rho*lambda/(rho+lambda), one).F, 1e-6)

	r = solve(optim.Coupled{Lambda: lambda, Rho: rho}, one, one, one)
	close("identical tasks", r.Tasks[0], r.Tasks[1], 2e-3)
	close("identical tasks", r.Tasks[1], r.Tasks[2], 2e-3)
	if _, err := (optim.Coupled{Lambda: 1}).Minimize(risks, start, nil); err == nil {
		t.Error("a rho of zero was taken")
	}
}

type sumOf []*hinge

func (s sumOf) Dim() int { return s[0].Dim() }
func (s sumOf) Tangent(w, a []float64) (float64, error) {
	total, b := 0.0, make([]float64, len(a))
	clear(a)
	for _, h := range s {
		v, _ := h.Tangent(w, b)
		total += v
		floats.Add(a, b)
	}
	return total, nil
}

// vague is a risk that knows its value up to 0.01 alone.
type vague struct{ *hinge }

func (v vague) TangentBound(w, a []float64) (value, upper float64, err error) {
	value, err = v.Tangent(w, a)
	return value, value + 0.01, err
}

// A risk that is not known exactly has no gap below what it is known to.
func TestBundleOfABoundedRisk(t *testing.T) {
	h := hinges(4, 60, 5)
	r, err := optim.Bundle{Lambda: 0.05, Gap: 0.02}.Minimize(vague{h}, make([]float64, 5), nil, nil)
	if err != nil || r.Reason != run.GapSmall || r.Gap() < 0.01 || r.F < objective(h, 0.05, nil, r.X)+0.01-1e-12 {
		t.Errorf("%v, %+v", err, r)
	}
	r, err = optim.Bundle{Lambda: 0.05, Gap: 1e-4}.Minimize(vague{h}, make([]float64, 5), nil, &run.Control{Stop: run.Stop{Iterations: 60}})
	if err != nil || r.Reason != run.IterationLimit {
		t.Errorf("%v, %+v", err, r)
	}
}

// Tangents between the model's minimum and the best point come to the same.
func TestBundlePulls(t *testing.T) {
	h := hinges(7, 200, 20)
	var steps []int
	for _, pull := range []float64{0, 0.5} {
		r, err := optim.Bundle{Lambda: 1e-3, Gap: 1e-4, Pull: pull}.Minimize(h, make([]float64, 20), nil, nil)
		if err != nil || r.Reason != run.GapSmall {
			t.Fatal(err, r)
		}
		steps = append(steps, r.Iterations)
	}
	if steps[1] >= steps[0] {
		t.Errorf("%d steps with a pull, %d without", steps[1], steps[0])
	}
}

// One task, and identical ones, of CCCP with coupled weights.
func TestCCCPTasks(t *testing.T) {
	p, r := difference(2, 40, 5, 4)
	start := []float64{1, -1, 0.5, 0}
	const lambda, rho = 0.1, 0.3
	one, err := optim.CCCP{Lambda: rho * lambda / (rho + lambda), Above: true, Gap: 1e-5}.Minimize(p, r, start, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := optim.CCCP{Lambda: lambda, Rho: rho, Above: true, Gap: 1e-5}
	got, err := m.MinimizeTasks([]optim.Risk{p}, []optim.Risk{r}, start, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "one task", got.F, one.F, 1e-4)
	got, err = m.MinimizeTasks([]optim.Risk{p, p}, []optim.Risk{r, r}, start, nil)
	if err != nil || floats.Distance(got.Tasks[0], got.Tasks[1], 2) > 0.02 {
		t.Errorf("identical tasks: %v, %v", err, got.Tasks)
	}
	if _, err := (optim.CCCP{Lambda: 1, Above: true}).MinimizeTasks([]optim.Risk{p}, []optim.Risk{r}, start, nil); err == nil {
		t.Error("a rho of zero was taken")
	}
}
