package losses

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// paddedBatch is a batch of strings of different lengths with strides of its own, its padding
// NaN: it must not be read.
func paddedBatch[F float32 | float64](rng *rand.Rand,
	n, length, alphabet, order int) (refs [][]int, theta Tensor[F]) {
	window := 1
	for range order {
		window *= alphabet
	}
	theta = Tensor[F]{Batch: n, Length: length, Window: window, RowStride: window + 3,
		BatchStride: length*(window+3) + 5}
	theta.Data = make([]F, n*theta.BatchStride)
	for i := range theta.Data {
		theta.Data[i] = F(math.NaN())
	}
	for b := range n {
		refs = append(refs, randomRef(rng, rng.IntN(length+1), alphabet))
		windows := 1
		for t := range refs[b] {
			if t < order {
				windows *= alphabet
			}
			for i := range windows {
				theta.Row(b, t)[i] = F(rng.NormFloat64())
			}
		}
	}
	return refs, theta
}

func testSoftmaxMargin[F float32 | float64](t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 4))
	for _, order := range []int{1, 2, 3} {
		for name, loss := range map[string]Loss{"none": nil, "edit": Unit, "hamming": Hamming{Scale: 1.5},
			"ngram": NGram{N: 2, C: 1}, "local": Local{Match: 1, Sub: -1, Ins: -1, Del: -1}} {
			for _, workers := range []int{1, 3} {
				refs, theta := paddedBatch[F](rng, 7, 5, 3, order)
				grad := theta
				grad.Data = make([]F, len(theta.Data))
				for i := range grad.Data {
					grad.Data[i] = 77
				}
				values := make([]float64, len(refs))
				s := SoftmaxMargin[F]{Loss: loss, Gamma: .7, Alphabet: 3, Order: order, Workers: workers}
				if err := s.Eval(context.Background(), refs, theta, values, &grad); err != nil {
					t.Fatal(err)
				}
				for b, ref := range refs {
					// By one evaluation.
					var p Potentials
					if err := theta.Potentials(&p, b, len(ref), 3, order); err != nil {
						t.Fatal(err)
					}
					var m *Machine
					gamma := 0.0
					if loss != nil {
						var err error
						if m, err = loss.Machine(ref, 3, len(ref)); err != nil {
							t.Fatal(err)
						}
						gamma = .7
					}
					var r Result
					if err := new(Evaluator).Eval(m, &p, gamma, WantMarginals, &r); err != nil {
						t.Fatal(err)
					}
					if got, want := values[b], r.LogZ-p.Score(ref); got != want {
						t.Errorf("%s q %d: value %d is %v, want %v", name, order, b, got, want)
					}
					for at := range theta.Length {
						for w, got := range grad.Row(b, at) {
							want := 0.0
							if at < len(ref) && w < len(r.Marginals[at]) {
								if want = r.Marginals[at][w]; w == p.Window(ref, at) {
									want--
								}
							}
							if got != F(want) {
								t.Errorf("%s q %d: gradient %d, %d, %d is %v, want %v", name, order, b, at, w,
									got, want)
							}
						}
					}
				}
				// Elements between rows belong to no row.
				if grad.Data[theta.Window] != 77 || grad.Data[len(grad.Data)-1] != 77 {
					t.Error("the gradient was written between rows")
				}
			}
		}
	}
}

// A batch has the values and gradients of single evaluations, to the bit, in zeros behind
// each string, whatever the strides.
func TestSoftmaxMargin(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testSoftmaxMargin[float64](t) })
	t.Run("float32", func(t *testing.T) { testSoftmaxMargin[float32](t) })
}

// The gradient of a batch is that of its values, by central differences.
func TestSoftmaxMarginDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 5))
	for _, order := range []int{1, 2, 3} {
		refs := [][]int{{0, 1, 2, 1}, {2}, {}, {1, 1, 0}}
		theta := Tensor[float64]{Batch: 4, Length: 4, Window: []int{0, 3, 9, 27}[order]}
		grad := theta
		theta.Data, grad.Data = make([]float64, 16*theta.Window), make([]float64, 16*theta.Window)
		for i := range theta.Data {
			theta.Data[i] = rng.NormFloat64()
		}
		s := SoftmaxMargin[float64]{Loss: Unit, Alphabet: 3, Order: order}
		values := make([]float64, 4)
		f := func(x, g []float64) (float64, error) {
			theta.Data = x
			to := &grad
			if to.Data = g; g == nil {
				to = nil
			}
			err := s.Eval(context.Background(), refs, theta, values, to)
			return values[0] + values[1] + values[2] + values[3], err
		}
		x := append([]float64(nil), theta.Data...)
		report, err := CheckGradient(f, x, 60, rng)
		if err != nil || report.Checked != min(60, len(x)) {
			t.Fatal(report, err)
		}
		if err := report.Err(1e-8); err != nil {
			t.Error(err)
		}
	}
}

// The values and gradients of the golden cases with an objective.
func TestGoldenSoftmaxMargin(t *testing.T) {
	n := 0
	for _, c := range readGolden(t) {
		if c.Out.F == nil || c.Gamma == 0 || c.Alphabet < 1 {
			continue
		}
		p := c.potentials()
		window := 1
		for range c.Q {
			window *= c.Alphabet
		}
		theta := Tensor[float64]{Batch: 1, Length: c.L, Window: window, Data: make([]float64, c.L*window)}
		for t, row := range p.Theta {
			copy(theta.Row(0, t), row)
		}
		grad := theta
		grad.Data = make([]float64, len(theta.Data))
		values := make([]float64, 1)
		s := SoftmaxMargin[float64]{Loss: c.loss(t), Gamma: c.Gamma, Alphabet: c.Alphabet, Order: c.Q}
		if err := s.Eval(context.Background(), [][]int{c.Yi}, theta, values, &grad); err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if !near(values[0], *c.Out.F) {
			t.Errorf("%s: F = %v, want %v", c.Name, values[0], *c.Out.F)
		}
		for at, row := range c.Out.Q {
			for w, q := range row {
				if w == p.Window(c.Yi, at) {
					q--
				}
				if got := grad.Row(0, at)[w]; !(math.Abs(got-q) <= 1e-9) {
					t.Errorf("%s: gradient %d of row %d is %v, want %v", c.Name, w, at, got, q)
				}
			}
		}
		n++
	}
	if n < 10 {
		t.Errorf("only %d golden cases", n)
	}
}

// What is wrong is named with its example; the others have their answers.
func TestSoftmaxMarginErrors(t *testing.T) {
	theta := Tensor[float64]{Batch: 2, Length: 2, Window: 3, Data: make([]float64, 12)}
	short, bad := theta, theta
	short.Data = short.Data[:11]
	bad.Data = append([]float64(nil), theta.Data...)
	bad.Data[1] = math.NaN()
	forbidden := theta
	forbidden.Data = append([]float64(nil), theta.Data...)
	forbidden.Data[0] = math.Inf(-1)
	overlap := theta
	overlap.RowStride = 2
	other := Tensor[float64]{Batch: 2, Length: 1, Window: 3, Data: make([]float64, 12)}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	refs := [][]int{{0, 1}, {2}}
	for _, c := range []struct {
		name  string
		ctx   context.Context
		s     SoftmaxMargin[float64]
		refs  [][]int
		theta Tensor[float64]
		grad  *Tensor[float64]
		want  string
	}{
		{"too few numbers", nil, SoftmaxMargin[float64]{Alphabet: 3}, refs, short, nil, "needs 12 numbers"},
		{"overlap", nil, SoftmaxMargin[float64]{Alphabet: 3}, refs, overlap, nil, "overlap"},
		{"alphabet", nil, SoftmaxMargin[float64]{Alphabet: 4}, refs, theta, nil, "3 windows"},
		{"no alphabet", nil, SoftmaxMargin[float64]{}, refs, theta, nil, "alphabet"},
		{"order", nil, SoftmaxMargin[float64]{Alphabet: 3, Order: 4}, refs, theta, nil, "order 4"},
		{"references", nil, SoftmaxMargin[float64]{Alphabet: 3}, refs[:1], theta, nil, "1 references"},
		{"label", nil, SoftmaxMargin[float64]{Alphabet: 3}, [][]int{{0}, {3}}, theta, nil,
			"example 1: label 0"},
		{"long", nil, SoftmaxMargin[float64]{Alphabet: 3}, [][]int{{0}, {1, 1, 1}}, theta, nil, "example 1"},
		{"gradient", nil, SoftmaxMargin[float64]{Alphabet: 3}, refs, theta, &other, "gradient has the shape"},
		{"NaN", nil, SoftmaxMargin[float64]{Alphabet: 3, Loss: Unit}, refs, bad, nil, "example 0"},
		{"forbidden", nil, SoftmaxMargin[float64]{Alphabet: 3, Loss: Unit}, refs, forbidden, nil,
			"forbid the reference"},
		{"budget", nil, SoftmaxMargin[float64]{Alphabet: 3,
			Loss: Edit{Sub: 1, Ins: 1, Del: 1, Budget: Budget{Columns: 1}}}, refs, theta, nil, "budget"},
		{"context", done, SoftmaxMargin[float64]{Alphabet: 3}, refs, theta, nil, "canceled"},
	} {
		values := make([]float64, 2)
		if err := c.s.Eval(c.ctx, c.refs, c.theta, values, c.grad); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if c.name == "NaN" && (!math.IsNaN(values[0]) || !(values[1] > 0)) {
			t.Errorf("%s: values %v", c.name, values)
		}
		if c.name == "context" {
			err := c.s.Eval(c.ctx, c.refs, c.theta, values, c.grad)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
}

// Nothing is allocated after the first call.
func TestSoftmaxMarginAllocatesNothing(t *testing.T) {
	refs, theta := paddedBatch[float32](rand.New(rand.NewPCG(1, 1)), 5, 6, 4, 2)
	grad, values := theta, make([]float64, 5)
	grad.Data = make([]float32, len(theta.Data))
	s := SoftmaxMargin[float32]{Loss: Unit, Alphabet: 4, Order: 2, Workers: 1}
	run := func() {
		if err := s.Eval(context.Background(), refs, theta, values, &grad); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// A wrong gradient is found, and named.
func TestCheckGradient(t *testing.T) {
	wrong := 0.0
	f := func(x, g []float64) (float64, error) {
		sum := 0.0
		for i, v := range x {
			sum += math.Sin(v) * float64(i+1)
			if g != nil {
				g[i] = math.Cos(v) * float64(i+1)
			}
		}
		if g != nil {
			g[3] += wrong
		}
		return sum, nil
	}
	x := []float64{1, -2, .5, 100, 7}
	for _, n := range []int{0, 5, 9} {
		r, err := CheckGradient(f, x, n, rand.New(rand.NewPCG(1, 1)))
		if err != nil || r.Checked != 5 {
			t.Fatal(r, err)
		}
	}
	x[3] = 2
	if r, err := CheckGradient(f, x, 0, nil); err != nil || r.Err(1e-8) != nil {
		t.Error(r, err)
	}
	wrong = 1e-3
	r, err := CheckGradient(f, x, 0, nil)
	if err != nil || r.Coordinate != 3 || r.Err(1e-8) == nil {
		t.Error(r, err)
	}
	if fmt.Sprint(x) != "[1 -2 0.5 2 7]" {
		t.Errorf("x is %v", x)
	}
	if _, err := CheckGradient(f, x, 2, nil); err == nil {
		t.Error("no error without a source of randomness")
	}
}
