package margin

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
	"github.com/tropica-fst/tropica/learn/space/spacetest"
)

type (
	input  = spacetest.Input
	finite = spacetest.Finite
	sample = space.Sample[*input, []int]
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// objective is J by enumeration.
func objective(data []sample, lambda float64, norm string, w []float64) float64 {
	total := 0.0
	for _, e := range data {
		p, r := math.Inf(-1), math.Inf(-1)
		for y, phi := range e.X.Phi {
			f := floats.Dot(w, phi)
			if slices.Contains(e.A, y) {
				r = math.Max(r, f)
			} else {
				p = math.Max(p, f+e.X.Loss[y])
			}
		}
		total += math.Max(0, p-r) / float64(len(data))
	}
	if norm == "l1" {
		return total + lambda*floats.Norm(w, 1)
	}
	return total + lambda/2*floats.Dot(w, w)
}

func TestMaxMargin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 10 {
		s := finite{N: 4}
		data := spacetest.RandomFinite(rng, s, 30, 5, 0)
		for _, norm := range []string{"l2", "l1"} {
			m, r, err := MaxMargin(s, data, &Options{Lambda: 0.05, Norm: norm, Gap: 1e-5}, nil)
			if err != nil || r.Reason != run.GapSmall {
				t.Fatal(err, r)
			}
			near(t, "J", objective(data, 0.05, norm, m.W), r.F, 1e-9)
			if m.Report.Lower > r.F || r.F-m.Report.Lower > 1e-5 || m.Report.Inexact {
				t.Errorf("trial %d, %s: %+v", trial, norm, m.Report)
			}
			for range 500 {
				v := slices.Clone(m.W)
				for j := range v {
					v[j] += math.Exp(-5*rng.Float64()) * rng.NormFloat64()
				}
				if j := objective(data, 0.05, norm, v); j < m.Report.Lower-1e-9 {
					t.Fatalf("trial %d, %s: a point has %v, below the bound %v", trial, norm, j, m.Report.Lower)
				}
			}
		}
	}
}

// Two outputs ±: a linear support vector machine without a bias. The dual coordinate descent of
// C.-J. Hsieh et al. (ICML 2008) is the independent solver.
func TestMaxMarginIsASupportVectorMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, dim, lambda = 60, 3, 0.1
	s := finite{N: dim}
	var data []sample
	var x [][]float64 // y x
	for range n {
		v := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		if v[0]+0.5*rng.NormFloat64() < 0 {
			floats.Scale(-1, v)
		}
		x = append(x, v)
		plus, minus := slices.Clone(v), slices.Clone(v)
		floats.Scale(0.5, plus)
		floats.Scale(-0.5, minus)
		data = append(data, sample{X: &input{Phi: [][]float64{plus, minus}, Loss: []float64{0, 1}}, A: []int{0}})
	}
	m, r, err := MaxMargin(s, data, &Options{Lambda: lambda, Gap: 1e-7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, alpha := make([]float64, dim), make([]float64, n)
	for range 3000 {
		for i, v := range x {
			next := math.Min(math.Max(alpha[i]-(floats.Dot(w, v)-1)/floats.Dot(v, v), 0), 1/(lambda*n))
			floats.AddScaled(w, next-alpha[i], v)
			alpha[i] = next
		}
	}
	near(t, "objective", r.F, objective(data, lambda, "l2", w), 1e-6)
	if d := floats.Distance(w, m.W, 2); d > 2e-3 {
		t.Errorf("%v, by coordinates %v", m.W, w)
	}
}

// planted returns samples that hidden weights separate by a margin.
func planted(rng *rand.Rand, s finite, n int, margin float64) []sample {
	hidden := make([]float64, s.N)
	for j := range hidden {
		hidden[j] = rng.NormFloat64()
	}
	var out []sample
	for len(out) < n {
		e := spacetest.RandomFinite(rng, s, 1, 5, 0)[0]
		list, _ := s.KBest(context.Background(), e.X, hidden, 2)
		if list[0].Value-list[1].Value < margin {
			continue
		}
		e.A = []int{list[0].Y}
		for y := range e.X.Loss {
			e.X.Loss[y] = 1
		}
		e.X.Loss[list[0].Y] = 0
		out = append(out, e)
	}
	return out
}

func TestPlanted(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := finite{N: 5}
	data := planted(rng, s, 40, 0.5)
	m, _, err := MaxMargin(s, data, &Options{Lambda: 1e-4, Gap: 1e-4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Report.Satisfied < 0.9 {
		t.Errorf("%v of the samples are satisfied", m.Report.Satisfied)
	}
	for _, w := range [][]float64{m.W, perceptronOf(t, s, data)} {
		for i, e := range data {
			if y, _ := s.Argmax(context.Background(), e.X, w); y.Y != e.A[0] {
				t.Errorf("sample %d is %d, not %d", i, y.Y, e.A[0])
			}
		}
	}
	const c = 3.0
	for _, e := range data {
		floats.Scale(c, e.X.Loss)
	}
	b, _, err := MaxMargin(s, data, &Options{Lambda: 0.02, Gap: 1e-8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// J(w; cΔ, λ) is least at c times the least point of J(·; Δ, cλ).
	f, _, err := MaxMargin(s, unscaledLosses(data, c), &Options{Lambda: 0.02 * c, Gap: 1e-8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	floats.Scale(c, f.W)
	if d := floats.Distance(b.W, f.W, 2); d > 1e-2 {
		t.Errorf("losses times %v: %v, want %v", c, b.W, f.W)
	}
	// A large penalty leaves a step against the subgradient at zero. There is one only where the
	// losses of outputs differ.
	for _, e := range data {
		for y := range e.X.Loss {
			if y != e.A[0] {
				e.X.Loss[y] = c + float64(y)
			}
		}
	}
	const large = 1e4
	g, _, err := MaxMargin(s, data, &Options{Lambda: large, Gap: 1e-12, Pull: learner.None}, nil)
	if err != nil {
		t.Fatal(err)
	}
	step := make([]float64, s.N)
	for _, e := range data {
		y, _ := s.ArgmaxLoss(context.Background(), e.X, make([]float64, s.N), e.A)
		s.AddPhi(step, -1/float64(len(data))/large, e.X, y.Y)
		s.AddPhi(step, 1/float64(len(data))/large, e.X, e.A[0])
	}
	if d := floats.Distance(g.W, step, 2); d > 1e-5*floats.Norm(step, 2) {
		t.Errorf("weights %v, want %v", g.W, step)
	}
}

func unscaledLosses(data []sample, c float64) []sample {
	var out []sample
	for _, e := range data {
		x := &input{Phi: e.X.Phi, Loss: slices.Clone(e.X.Loss)}
		floats.Scale(1/c, x.Loss)
		out = append(out, sample{X: x, A: e.A})
	}
	return out
}

func perceptronOf(t *testing.T, s finite, data []sample) []float64 {
	t.Helper()
	m, r, err := Perceptron(s, data, &PerceptronOptions{Passes: 500}, nil)
	if err != nil || r.Reason != run.Exhausted {
		t.Fatal(err, r)
	}
	return m.W
}

func TestPartial(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 12 {
		s := finite{N: 4, NonZero: trial%3 == 2}
		data := spacetest.RandomFinite(rng, s, 30, 6, 0.3)
		o := &PartialOptions{Options: Options{Lambda: 0.02, Gap: 1e-3}}
		if trial%2 == 1 {
			o.Norm = "l1"
		}
		norm := cmpOr(o.Norm, "l2")
		w0 := []float64{1, -1, 0.5, 0}
		o.Init = w0
		m, r, err := Partial(s, data, o, nil)
		if err != nil || r.Reason != run.ImprovementSmall {
			t.Fatal(err, r)
		}
		near(t, "J", r.F, objective(data, 0.02, norm, m.W), 1e-9)
		last := objective(data, 0.02, norm, w0)
		for _, step := range m.Report.Outer {
			if step.J > last+1e-9 {
				t.Errorf("trial %d: J rose from %v to %v", trial, last, step.J)
			}
			last = step.J
		}
		// Neither planes kept nor a coarse beginning changes what a start leads to by much
		// more than the accuracy, and both save inferences.
		plain := *o
		plain.Forget, plain.Precise = true, true
		p, pr, err := Partial(s, data, &plain, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Report.Calls < m.Report.Calls {
			t.Errorf("trial %d: %d inferences, plainly %d", trial, m.Report.Calls, p.Report.Calls)
		}
		if pr.F < r.F-0.1*math.Abs(r.F)-2e-3 || r.F < pr.F-0.1*math.Abs(pr.F)-2e-3 {
			t.Logf("trial %d: J %v, plainly %v: another local minimum", trial, r.F, pr.F)
		}
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// Of complete annotations the second outer step changes nothing, and the result is MaxMargin's.
func TestPartialOfCompleteAnnotations(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	s := finite{N: 4}
	data := spacetest.RandomFinite(rng, s, 40, 5, 0)
	o := &PartialOptions{Options: Options{Lambda: 0.02, Gap: 1e-6}, Precise: true, Start: "zero"}
	m, r, err := Partial(s, data, o, nil)
	if err != nil || len(m.Report.Outer) != 2 || m.Report.Outer[0].Tangents != m.Report.Outer[1].Tangents {
		t.Fatalf("%v, %+v", err, m.Report)
	}
	want, wr, err := MaxMargin(s, data, &o.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "J", r.F, wr.F, 2e-6)
	if d := floats.Distance(m.W, want.W, 2); d > 2e-2 {
		t.Errorf("%v, by MaxMargin %v", m.W, want.W)
	}
	// No annotation: nothing to learn.
	for i := range data {
		data[i].A = nil
		for y := range data[i].X.Phi {
			data[i].A = append(data[i].A, y)
		}
		clear(data[i].X.Loss)
	}
	o.Gap = 1e-4
	o.Init = []float64{1, 1, 1, 1}
	m, r, err = Partial(s, data, o, nil)
	if err != nil || r.F > 1e-3 || floats.Norm(m.W, 2) > 0.3 {
		t.Errorf("%v, J %v, weights %v", err, r.F, m.W)
	}
}

// max(p, r) - r is the bridge loss, and the largest of all outputs where right ones have no loss.
func TestBridgeLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for trial := range 40 {
		s := finite{N: 3, NonZero: trial%2 == 1}
		data := spacetest.RandomFinite(rng, s, 5, 6, 0.4)
		r := run.Begin("test", nil, 1)
		o := &Options{Lambda: 1}
		p, err := penalty(s, data, o, r, &Report{})
		if err != nil {
			t.Fatal(err)
		}
		in := within(s, data, o, r, &Report{})
		w := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		up, err := p.Tangent(w, make([]float64, 3))
		if err != nil {
			t.Fatal(err)
		}
		down, err := in.Tangent(w, make([]float64, 3))
		if err != nil {
			t.Fatal(err)
		}
		near(t, "bridge loss", up-down, objective(data, 0, "l2", w), 1e-12)
		// A larger set of right outputs has no smaller best one.
		more := slices.Clone(data)
		for i := range more {
			more[i].A = append(slices.Clone(more[i].A), len(more[i].X.Phi)-1)
		}
		wider, _ := within(s, more, o, r, &Report{}).Tangent(w, make([]float64, 3))
		if wider < down-1e-12 {
			t.Errorf("%v with more annotations, %v with fewer", wider, down)
		}
	}
}

// Planes lie below the risk, and touch it.
func TestTangents(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	s := finite{N: 3}
	data := spacetest.RandomFinite(rng, s, 20, 5, 0)
	h, err := hinge(s, data, &Options{Lambda: 1, Free: []int{1}}, run.Begin("test", nil, 1), &Report{})
	if err != nil {
		t.Fatal(err)
	}
	point := func() []float64 {
		return []float64{rng.NormFloat64(), rng.NormFloat64() / h.scale[1], rng.NormFloat64()}
	}
	for range 20 {
		at, a := point(), make([]float64, 3)
		value, err := h.Tangent(at, a)
		if err != nil {
			t.Fatal(err)
		}
		b := value - floats.Dot(a, at)
		for range 50 {
			v := point()
			other, _ := h.Tangent(v, make([]float64, 3))
			if plane := floats.Dot(a, v) + b; plane > other+1e-9 {
				t.Fatalf("the plane is at %v, the risk at %v", plane, other)
			}
		}
	}
}

// Free weights are hardly penalised.
func TestFree(t *testing.T) {
	s := finite{N: 2}
	var data []sample
	for range 10 {
		data = append(data, sample{X: &input{Phi: [][]float64{{0, 0.01}, {0, 0}}, Loss: []float64{0, 1}},
			A: []int{0}})
	}
	m, r, err := MaxMargin(s, data, &Options{Lambda: 1, Free: []int{1}, Gap: 1e-4}, nil)
	if err != nil || r.F > 1e-3 || math.Abs(m.W[1]-100) > 2 {
		t.Errorf("%v, %v, J %v", err, m, r.F)
	}
}

func TestRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	s := finite{N: 3}
	data := spacetest.RandomFinite(rng, s, 4, 5, 0)
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "margin: ") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	_, _, err := MaxMargin(s, data, &Options{Lambda: -2}, nil)
	refused("lambda", err, "lambda: -2 is out of range")
	_, _, err = MaxMargin(s, data, &Options{Free: []int{3}}, nil)
	refused("free", err, "there is no weight 3 of 3")
	_, _, err = MaxMargin[*input, int, []int](s, nil, nil, nil)
	refused("samples", err, "no samples")
	data[2].A, data[2].Name = []int{0, 1}, "words.txt:7"
	_, _, err = MaxMargin(s, data, nil, nil)
	refused("partial", err, "words.txt:7: several outputs agree")
	data[2].A = nil
	_, _, err = Partial(s, data, nil, nil)
	refused("contradiction", err, "words.txt:7: no output agrees with the annotation")
	if !errors.Is(err, space.ErrEmpty) {
		t.Error(err)
	}
	_, _, _, err = Transfer(s, [][]sample{data[:1], data[:1]}, &TransferOptions{Rho: learner.None}, nil)
	refused("rho", err, "rho: -1 is out of range")
}

// A run that is broken and resumed ends as if it had not been, for any number of workers.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	s := finite{N: 4}
	complete, partial := spacetest.RandomFinite(rng, s, 30, 5, 0), spacetest.RandomFinite(rng, s, 30, 5, 0.3)
	answers := Simulation[[]int]{}
	var pool []*input
	for _, e := range complete {
		pool, answers = append(pool, e.X), append(answers, e.A)
	}
	for name, train := range map[string]func(c *run.Control) ([]float64, *optim.Result, error){
		"max-margin": func(c *run.Control) ([]float64, *optim.Result, error) {
			m, r, err := MaxMargin(s, complete, &Options{Lambda: 0.01, Gap: 1e-4}, c)
			return weightsOf(m), r, err
		},
		"partial": func(c *run.Control) ([]float64, *optim.Result, error) {
			m, r, err := Partial(s, partial, &PartialOptions{Options: Options{Lambda: 0.01, Gap: 1e-4}, Starts: 2}, c)
			return weightsOf(m), r, err
		},
		"perceptron": func(c *run.Control) ([]float64, *optim.Result, error) {
			m, r, err := Perceptron(s, complete, &PerceptronOptions{Passes: 12, Averaged: true}, c)
			return weightsOf(m), r, err
		},
		"active": func(c *run.Control) ([]float64, *optim.Result, error) {
			m, r, err := Active(s, pool, nil, Annotator[[]int](answers), &ActiveOptions{Queries: 15, Batch: 3}, c)
			if m == nil {
				return nil, r, err
			}
			return m.Perceptron.W, r, err
		},
		"transfer": func(c *run.Control) ([]float64, *optim.Result, error) {
			m, _, r, err := Transfer(s, [][]sample{complete, complete[:10]},
				&TransferOptions{Lambda: 0.1, Rho: 0.1, Gap: 1e-4}, c)
			return weightsOf(m), r, err
		},
		"likelihood": func(c *run.Control) ([]float64, *optim.Result, error) {
			m, r, err := Likelihood(s, partial, nil, c)
			if c != nil && c.Resume != nil || r == nil {
				return nil, r, err // L-BFGS starts its history afresh
			}
			return m.W, r, err
		},
	} {
		want, wr, err := train(&run.Control{Workers: 3, Problem: "test"})
		if err != nil {
			t.Fatal(name, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var file bytes.Buffer
		steps := 0
		_, _, err = train(&run.Control{Ctx: ctx, Problem: "test", Workers: 1,
			Checkpoint: func(k *run.Checkpoint) error { file.Reset(); return k.Write(&file) },
			Recorder: run.RecorderFunc(func(r run.Row) error {
				if steps++; steps == max(1, wr.Iterations/2) {
					cancel()
				}
				return nil
			})})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v after %d steps of %+v", name, err, steps, wr)
			continue
		}
		k, err := run.ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(name, err)
		}
		got, _, err := train(&run.Control{Resume: k, Problem: "test"})
		if err != nil || got != nil && !slices.Equal(got, want) {
			t.Errorf("%s: %v: %v, unbroken %v", name, err, got, want)
		}
		if _, _, err := train(&run.Control{Resume: k, Problem: "other"}); !errors.Is(err, run.ErrOther) {
			t.Errorf("%s: a checkpoint of another problem: %v", name, err)
		}
	}
}

func weightsOf(m *Linear) []float64 {
	if m == nil {
		return nil
	}
	return m.W
}

func TestTransfer(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 1))
	s := finite{N: 3}
	one, two := spacetest.RandomFinite(rng, s, 20, 4, 0), spacetest.RandomFinite(rng, s, 30, 4, 0)
	const lambda, rho = 0.1, 0.4
	shared, per, r, err := Transfer(s, [][]sample{one, two},
		&TransferOptions{Lambda: lambda, Rho: rho, Gap: 1e-7, Weights: []float64{1, 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := lambda / 2 * floats.Dot(shared.W, shared.W)
	for d, data := range [][]sample{one, two} {
		j += rho/2*math.Pow(floats.Distance(shared.W, per[d].W, 2), 2) + float64(d+1)*objective(
			data, 0, "l2", per[d].W)
	}
	near(t, "primal", r.F, j, 1e-9)
	near(t, "dual", shared.Report.Lower, j, 1e-6)
	// Partial annotations: the result is the objective at its weights.
	partial := [][]sample{spacetest.RandomFinite(rng, s, 25, 5, 0.4), spacetest.RandomFinite(rng, s, 15, 5, 0.4)}
	shared, per, r, err = Transfer(s, partial, &TransferOptions{Lambda: lambda, Rho: rho, Gap: 1e-5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	j = lambda / 2 * floats.Dot(shared.W, shared.W)
	for d, data := range partial {
		j += rho/2*math.Pow(floats.Distance(shared.W, per[d].W, 2), 2) + objective(data, 0, "l2", per[d].W)
	}
	near(t, "objective of partial annotations", r.F, j, 1e-9)
}

// At complete annotations the likelihood is convex, and its gradient zero at the end.
func TestLikelihood(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	s := finite{N: 3}
	for _, partial := range []float64{0, 0.4} {
		data := spacetest.RandomFinite(rng, s, 25, 5, partial)
		m, r, err := Likelihood(s, data, &LikelihoodOptions{Lambda: 0.1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		value := func(w []float64) float64 {
			v := 0.05 * floats.Dot(w, w)
			for _, e := range data {
				a, _ := s.LogZ(context.Background(), e.X, w, nil, 0)
				b, _ := s.LogZWithin(context.Background(), e.X, w, e.A, nil, 0)
				v += (a - b) / float64(len(data))
			}
			return v
		}
		near(t, "objective", r.F, value(m.W), 1e-9)
		for j := range m.W {
			up, down := slices.Clone(m.W), slices.Clone(m.W)
			up[j] += 1e-5
			down[j] -= 1e-5
			near(t, "derivative", (value(up)-value(down))/2e-5, 0, 2e-3)
		}
	}
}

// Planes serve the next penalty.
func TestPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	s := finite{N: 5}
	data := spacetest.RandomFinite(rng, s, 50, 5, 0)
	lambdas := []float64{0.1, 0.05, 0.02}
	path, err := Path(s, data, lambdas, &Options{Gap: 1e-4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	alone, along := 0, 0
	for i, m := range path {
		one, r, err := MaxMargin(s, data, &Options{Lambda: lambdas[i], Gap: 1e-4}, nil)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "J", objective(data, lambdas[i], "l2", m.W), r.F, 1e-4)
		alone, along = alone+one.Report.Calls, along+m.Report.Calls
	}
	if along >= alone {
		t.Errorf("%d inferences along the path, %d without", along, alone)
	}
}

// The convex problem of an outer step is nowhere below the objective, and touches it where it
// was made.
func TestLinearisationLiesAbove(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	for trial := range 10 {
		s := finite{N: 3, NonZero: trial%2 == 1}
		data := spacetest.RandomFinite(rng, s, 15, 6, 0.4)
		r, o := run.Begin("test", nil, 1), &Options{Lambda: 1}
		p, err := penalty(s, data, o, r, &Report{})
		if err != nil {
			t.Fatal(err)
		}
		in := within(s, data, o, r, &Report{})
		at, v := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}, make([]float64, 3)
		if _, err := in.Tangent(at, v); err != nil {
			t.Fatal(err)
		}
		convex := func(w []float64) float64 {
			up, err := p.Tangent(w, make([]float64, 3))
			if err != nil {
				t.Fatal(err)
			}
			return up - floats.Dot(v, w)
		}
		near(t, "where it was made", convex(at), objective(data, 0, "l2", at), 1e-12)
		for range 200 {
			w := []float64{3 * rng.NormFloat64(), 3 * rng.NormFloat64(), 3 * rng.NormFloat64()}
			if c, j := convex(w), objective(data, 0, "l2", w); c < j-1e-9 {
				t.Fatalf("%v, below the objective of %v", c, j)
			}
		}
	}
}

// What is remembered is below the risk everywhere, touches it where it was found, and saves
// inferences. The certified objective is the same.
func TestMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	for trial := range 10 {
		s := finite{N: 4, NonZero: trial%2 == 1}
		data := spacetest.RandomFinite(rng, s, 40, 12, 0.3)
		o := &Options{Lambda: 0.01, Remember: 3, Free: []int{trial % 4}}
		p, err := penalty(s, data, o, run.Begin("test", nil, 1), &Report{})
		if err != nil {
			t.Fatal(err)
		}
		point := func() []float64 {
			u := make([]float64, 4)
			for j := range u {
				u[j] = 2 * rng.NormFloat64() / at(p.scale, j)
			}
			return u
		}
		a := make([]float64, 4)
		if _, ok, _ := p.Recall(point(), a); ok {
			t.Error("an empty memory recalls something")
		}
		for range 6 {
			w := point()
			value, err := p.Tangent(w, make([]float64, 4))
			if err != nil {
				t.Fatal(err)
			}
			p.Keep()
			got, ok, err := p.Recall(w, a)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			near(t, "what was just kept", got, value, 1e-9)
			for range 20 {
				v := point()
				least, _, err := p.Recall(v, a)
				if err != nil {
					t.Fatal(err)
				}
				most, _ := p.Tangent(v, make([]float64, 4))
				if least > most+1e-9 {
					t.Fatalf("%v is recalled, the risk is %v", least, most)
				}
				// The plane touches there, and is below the risk elsewhere.
				x := point()
				other, _ := p.Tangent(x, make([]float64, 4))
				if plane := least + floats.Dot(a, x) - floats.Dot(a, v); plane > other+1e-9 {
					t.Fatalf("the plane is at %v, the risk at %v", plane, other)
				}
			}
		}
		for i, list := range p.memory.kept {
			if len(list) > 3 {
				t.Errorf("%d outputs of sample %d are kept", len(list), i)
			}
		}
	}
	s := finite{N: 6}
	data := spacetest.RandomFinite(rng, s, 80, 30, 0)
	calls := map[int]int{}
	var values []float64
	for _, most := range []int{learner.None, 0} {
		m, r, err := MaxMargin(s, data, &Options{Lambda: 3e-3, Gap: 1e-4, Remember: most}, nil)
		if err != nil || r.Reason != run.GapSmall {
			t.Fatal(err, r)
		}
		near(t, "J", r.F, objective(data, 3e-3, "l2", m.W), 1e-9)
		calls[most], values = m.Report.Calls, append(values, r.F)
	}
	near(t, "J with memory", values[1], values[0], 1e-4)
	if 2*calls[0] > calls[learner.None] {
		t.Errorf("%d inferences with memory, %d without", calls[0], calls[learner.None])
	}
}

// Where annotations leave little open, all ways lead to one minimum. Keeping planes and outputs
// saves inferences, and so does a coarse beginning beside it.
func TestRecyclingAndPrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 1))
	s := finite{N: 5}
	data := spacetest.RandomFinite(rng, s, 120, 8, 0.05)
	const gap, fall = 2e-3, 2e-3
	calls, values := map[string]int{}, map[string]float64{}
	for _, v := range []struct {
		name            string
		forget, precise bool
	}{{"both", false, false}, {"recycling", false, true}, {"adaptive", true, false}, {"neither", true, true}} {
		m, r, err := Partial(s, data, &PartialOptions{Options: Options{Lambda: 0.01, Gap: gap}, Fall: fall,
			Forget: v.forget, Precise: v.precise}, nil)
		if err != nil || r.Reason != run.ImprovementSmall {
			t.Fatal(v.name, err, r)
		}
		calls[v.name], values[v.name] = m.Report.Calls, r.F
	}
	for name, f := range values {
		near(t, name, f, values["neither"], gap+fall)
	}
	if calls["recycling"] >= calls["neither"] || 2*calls["both"] >= calls["neither"] {
		t.Errorf("inferences: %v", calls)
	}
}
