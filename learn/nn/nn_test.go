package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

func must[E any](e E, err error) E {
	if err != nil {
		panic(err)
	}
	return e
}

func random[T nn.Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

func labels(rng *rand.Rand, n, classes int) []float64 {
	l := make([]float64, n)
	for i := range l {
		l[i] = float64(rng.IntN(classes))
	}
	return l
}

var shapes = [][]int{{3, 1}, {1, 1, 1}, {5, 4}, {7, 9, 3}, {20, 33, 18, 10}, {4, 70, 66, 65, 2}}

// By definition: y = max(xW + b, 0) layer by layer, and the last without the maximum.
func TestForward(t *testing.T) {
	for _, sizes := range shapes {
		rng := rand.New(rand.NewPCG(1, 1))
		net := must(nn.New(sizes...))
		w := random[float64](rng, net.Dim())
		pass := nn.NewPass[float64](net, 9, nil)
		for _, rows := range []int{9, 1, 0, 5} {
			x := random[float64](rng, rows*net.Inputs())
			got := pass.Forward(w, x, rows)
			for i := range rows {
				in := x[i*net.Inputs():][:net.Inputs()]
				for l := range net.Layers() {
					weights, biases := nn.Layer(net, l, w)
					out := slices.Clone(biases)
					for j := range out {
						for k, v := range in {
							out[j] += v * weights[k*len(out)+j]
						}
						if l+1 < net.Layers() {
							out[j] = max(out[j], 0)
						}
					}
					in = out
				}
				for j, want := range in {
					if v := got[i*net.Outputs()+j]; !(math.Abs(v-want) <= 1e-12*(1+math.Abs(want))) {
						t.Fatalf("%v: row %d, output %d: %v, want %v", sizes, i, j, v, want)
					}
				}
			}
		}
	}
}

// lossOf is the sum of a loss as a function of scores alone.
type lossOf func(scores []float64, grad []float64) float64

func losses(rng *rand.Rand, rows, classes int) map[string]lossOf {
	class, signs, targets := labels(rng, rows, classes), make([]float64, rows*classes),
		random[float64](rng, rows*classes)
	for i := range signs {
		signs[i] = float64(2*rng.IntN(2) - 1)
	}
	of := func(l score.Loss, y []float64) lossOf {
		return func(s, g []float64) float64 {
			if g != nil {
				l.Gradients(g, nil, y, s)
			}
			return float64(len(y)) * score.Mean(l, y, nil, s, 1)
		}
	}
	return map[string]lossOf{"softmax": of(score.SoftMax{Classes: classes}, class),
		"logistic": of(score.Logistic{}, signs), "squared": of(score.Squared{}, targets)}
}

// softmax stores the gradient of the cross-entropy of scores of any width in d, times scale.
type softmax[T nn.Float] struct{ wide, grad []float64 }

func (c *softmax[T]) gradient(scores []T, labels []float64, scale float64, d []T) {
	c.wide, c.grad = c.wide[:0], append(c.grad[:0], make([]float64, len(scores))...)
	for _, v := range scores {
		c.wide = append(c.wide, float64(v))
	}
	score.SoftMax{Classes: len(scores) / len(labels)}.Gradients(c.grad, nil, labels, c.wide)
	for i, g := range c.grad {
		d[i] = T(scale * g)
	}
}

// Gradients of every loss through every layer, against central differences: all
// coordinates of the small networks, and some of each layer of the others.
func TestGradient(t *testing.T) {
	for _, sizes := range shapes {
		rng := rand.New(rand.NewPCG(2, uint64(len(sizes))))
		net := must(nn.New(sizes...))
		const rows = 6
		pass := nn.NewPass[float64](net, rows, nil)
		x := random[float64](rng, rows*net.Inputs())
		for name, loss := range losses(rng, rows, net.Outputs()) {
			w := nn.He[float64](net, 3)
			for l := range net.Layers() { // biases away from the kinks
				_, b := nn.Layer(net, l, w)
				copy(b, random[float64](rng, len(b)))
			}
			d, grad := make([]float64, rows*net.Outputs()), make([]float64, net.Dim())
			for i := range grad {
				grad[i] = math.NaN() // must be overwritten
			}
			loss(pass.Forward(w, x, rows), d)
			pass.Backward(w, d, grad)
			worst := 0.0
			for j := 0; j < net.Dim(); j += 1 + net.Dim()/300 {
				at := func(h float64) float64 {
					old := w[j]
					defer func() { w[j] = old }()
					w[j] += h
					return loss(pass.Forward(w, x, rows), nil)
				}
				const h = 1e-6
				want := (at(h) - at(-h)) / (2 * h)
				worst = max(worst, math.Abs(grad[j]-want)/(1+math.Abs(want)))
			}
			if !(worst <= 1e-6) {
				t.Errorf("%v, %s: gradient off by %v", sizes, name, worst)
			}
		}
	}
}

// float32 gives the same as float64 but for rounding, and any number of workers and
// gonum's kernels the same values, workers to the bit.
func TestWorkersAndKernels(t *testing.T) {
	net := must(nn.New(100, 300, 257, 10))
	const rows = 128
	rng := rand.New(rand.NewPCG(4, 4))
	x, l := random[float64](rng, rows*100), labels(rng, rows, 10)
	narrow := func(v []float64) []float32 {
		out := make([]float32, len(v))
		for i := range v {
			out[i] = float32(v[i])
		}
		return out
	}
	w := nn.He[float64](net, 5)
	if !slices.Equal(narrow(w), nn.He[float32](net, 5)) {
		t.Error("float32 parameters are not the float64 ones, rounded")
	}
	grad64 := func(opts *nn.Options[float64]) []float64 {
		p := nn.NewPass(net, rows, opts)
		d, g := make([]float64, rows*10), make([]float64, net.Dim())
		new(softmax[float64]).gradient(p.Forward(w, x, rows), l, 1, d)
		p.Backward(w, d, g)
		return g
	}
	grad32 := func(workers int) []float32 {
		p := nn.NewPass(net, rows, &nn.Options[float32]{Workers: workers})
		d, g := make([]float32, rows*10), make([]float32, net.Dim())
		new(softmax[float32]).gradient(p.Forward(narrow(w), narrow(x), rows), l, 1, d)
		p.Backward(narrow(w), d, g)
		return g
	}
	one, single := grad64(&nn.Options[float64]{Workers: 1}), grad32(1)
	for workers := 2; workers <= 5; workers++ {
		if !slices.Equal(grad64(&nn.Options[float64]{Workers: workers}), one) ||
			!slices.Equal(grad32(workers), single) {
			t.Errorf("%d workers give other bits than one", workers)
		}
	}
	native := grad64(&nn.Options[float64]{Product: func(tA, tB blas.Transpose, m, n, k int, a []float64, lda int,
		b []float64, ldb int, beta float64, c []float64, ldc int) {
		gonum.Implementation{}.Dgemm(tA, tB, m, n, k, 1, a, lda, b, ldb, beta, c, ldc)
	}})
	for j := range one {
		if math.Abs(native[j]-one[j]) > 1e-11 || math.Abs(float64(single[j])-one[j]) > 1e-4 {
			t.Fatalf("gradient[%d]: %v, on gonum's kernels %v, in float32 %v", j, one[j], native[j], single[j])
		}
	}
}

// The sum over disjoint batches is the gradient of the whole.
func TestBatches(t *testing.T) {
	net := must(nn.New(6, 8, 3))
	const rows = 23
	rng := rand.New(rand.NewPCG(6, 6))
	x, l, w := random[float64](rng, rows*6), labels(rng, rows, 3), nn.He[float64](net, 1)
	pass := nn.NewPass[float64](net, rows, nil)
	gradient := func(at, to int) []float64 {
		d, g := make([]float64, rows*3), make([]float64, net.Dim())
		d = d[:(to-at)*3]
		new(softmax[float64]).gradient(pass.Forward(w, x[at*6:], to-at), l[at:to], 1, d)
		pass.Backward(w, d, g)
		return g
	}
	want, got := gradient(0, rows), make([]float64, net.Dim())
	for at := 0; at < rows; at += 5 {
		for j, v := range gradient(at, min(rows, at+5)) {
			got[j] += v
		}
	}
	for j := range got {
		if math.Abs(got[j]-want[j]) > 1e-12 {
			t.Fatalf("gradient[%d]: %v in batches, %v at once", j, got[j], want[j])
		}
	}
}

func TestNew(t *testing.T) {
	for _, sizes := range [][]int{nil, {3}, {3, 0}, {-1, 2}, {1 << 20, 1 << 20},
		{math.MaxInt/2 + 1, math.MaxInt/2 + 1}, {1, math.MaxInt}, {2, 1 << 29, 1}} {
		if n, err := nn.New(sizes...); err == nil {
			t.Errorf("New(%v) has %d parameters, want an error", sizes, n.Dim())
		}
	}
	n := must(nn.New(4, 3, 2))
	if n.Dim() != 15+8 || n.Weights(1) != (nn.Span{15, 21}) || n.Biases(1) != (nn.Span{21, 23}) ||
		n.Inputs() != 4 || n.Outputs() != 2 {
		t.Errorf("layout of 4-3-2: %d parameters, last weights %v, last biases %v", n.Dim(),
			n.Weights(1), n.Biases(1))
	}
}

// He's weights have the variance they should, and the seed decides.
func TestHe(t *testing.T) {
	n := must(nn.New(300, 200, 10))
	v := nn.He[float64](n, 1)
	w, b := nn.Layer(n, 0, v)
	sq := 0.0
	for _, x := range w {
		sq += x * x
	}
	if got := sq / float64(len(w)) * 300 / 2; math.Abs(got-1) > 0.03 { // deviation √(2/60000) = 0.006
		t.Errorf("variance is %v times 2/inputs", got)
	}
	if slices.ContainsFunc(b, func(x float64) bool { return x != 0 }) {
		t.Error("biases do not start at zero")
	}
	if !slices.Equal(v, nn.He[float64](n, 1)) || slices.Equal(v, nn.He[float64](n, 2)) {
		t.Error("the seed does not decide")
	}
}

func TestArgmax(t *testing.T) {
	if nn.Argmax([]float32{1, 3, 3, 2}) != 1 {
		t.Error("argmax is not the first of the largest")
	}
}

// NaN in the parameters reaches the scores, whichever layer it is in.
func TestNaNShows(t *testing.T) {
	net := must(nn.New(40, 30, 20, 10))
	x := slices.Repeat([]float32{1}, 40)
	for l := range net.Layers() {
		w := nn.He[float32](net, 1)
		weights, _ := nn.Layer(net, l, w)
		for i := range weights {
			weights[i] = float32(math.NaN())
		}
		out := nn.NewPass[float32](net, 1, nil).Forward(w, x, 1)
		if slices.ContainsFunc(out, func(v float32) bool { return v == v }) {
			t.Errorf("scores %v with NaN in layer %d", out, l)
		}
	}
}

func TestPanics(t *testing.T) {
	net := must(nn.New(4, 3, 2))
	pass := nn.NewPass[float64](net, 3, nil)
	w, x := make([]float64, net.Dim()), make([]float64, 12)
	pass.Forward(w, x, 3)
	for name, f := range map[string]func(){
		"rows":     func() { pass.Forward(w, x, 4) },
		"inputs":   func() { pass.Forward(w, x[:11], 3) },
		"params":   func() { pass.Forward(w[1:], x, 3) },
		"outputs":  func() { pass.Backward(w, x[:5], w) },
		"gradient": func() { pass.Backward(w, x[:6], w[1:]) },
		"batch":    func() { nn.NewPass[float64](net, 0, nil) },
	} {
		func() {
			defer func() {
				if s := fmt.Sprint(recover()); !strings.HasPrefix(s, "nn: ") {
					t.Errorf("%s: %s", name, s)
				}
			}()
			f()
		}()
	}
}

// A batch allocates nothing: forward, loss, backward and step.
func TestNoAllocation(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector empties pools at random")
	}
	net := must(nn.New(100, 300, 10))
	rng := rand.New(rand.NewPCG(7, 7))
	data, rows, l := random[float32](rng, 500*100), rng.Perm(500)[:128], labels(rng, 128, 10)
	x, d := make([]float32, 128*100), make([]float32, 128*10)
	w, g := nn.He[float32](net, 1), make([]float32, net.Dim())
	pass := nn.NewPass(net, 128, &nn.Options[float32]{Workers: 2})
	var loss softmax[float32]
	for _, m := range []optim.Method{optim.SGD, optim.Adam, optim.AdaGrad} {
		opt := must(nn.NewOptimizer[float32](net.Dim(),
			&nn.OptimizerOptions{Method: m, L2: 1e-4, Penalised: net.AllWeights(), Workers: 2}))
		if n := testing.AllocsPerRun(20, func() {
			nn.Gather(x, data, 100, rows)
			loss.gradient(pass.Forward(w, x, 128), l, 1./128, d)
			pass.Backward(w, d, g)
			if err := opt.Step(w, g); err != nil {
				t.Fatal(err)
			}
		}); n >= 1 {
			t.Errorf("%v: a batch allocates %v times", m, n)
		}
	}
}

// The network learns what a linear one cannot: the exclusive or of two bits.
func ExampleNetwork() {
	net, _ := nn.New(2, 8, 2)
	x := []float64{0, 0, 0, 1, 1, 0, 1, 1}
	labels := []float64{0, 1, 1, 0}
	w, grad, d := nn.He[float64](net, 1), make([]float64, net.Dim()), make([]float64, 8)
	pass := nn.NewPass[float64](net, 4, nil)
	opt, _ := nn.NewOptimizer[float64](net.Dim(), &nn.OptimizerOptions{Rate: 0.125})
	for range 500 {
		score.SoftMax{Classes: 2}.Gradients(d, nil, labels, pass.Forward(w, x, 4))
		pass.Backward(w, d, grad)
		if err := opt.Step(w, grad); err != nil {
			fmt.Println(err)
		}
	}
	scores := pass.Forward(w, x, 4)
	for i := range labels {
		fmt.Print(nn.Argmax(scores[2*i:2*i+2]), " ")
	}
	// Output: 0 1 1 0
}
