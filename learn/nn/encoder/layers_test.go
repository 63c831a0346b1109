package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ragged is a batch with sequences of one row, of none, and longer than the windows.
func ragged() *Batch { return &Batch{Starts: []int{0, 3, 4, 4, 11, 13}} }

func random[T Float](n int, rng *rand.Rand) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(rng.NormFloat64())
	}
	return v
}

// layersOf are all layers, of 5 inputs.
func layersOf[T Float]() map[string]func() Layer[T] {
	return map[string]func() Layer[T]{
		"linear":    func() Layer[T] { return NewLinear[T](5, 7) },
		"layernorm": func() Layer[T] { return NewLayerNorm[T](5) },
		"relu":      func() Layer[T] { return NewReLU[T](5) },
		"dropout":   func() Layer[T] { return NewDropout[T](5, .4) },
		"conv5":     func() Layer[T] { return NewConv1D[T](5, 4, 5) },
		"conv1":     func() Layer[T] { return NewConv1D[T](5, 9, 1) },
		"lstm":      func() Layer[T] { return NewBiLSTM[T](5, 3) },
		"residual": func() Layer[T] {
			return NewResidual(NewStack[T](NewLayerNorm[T](5), NewReLU[T](5), NewDropout[T](5, .3),
				NewConv1D[T](5, 5, 3)))
		},
		"recurrent": func() Layer[T] {
			return body[T](&Shape{Kind: Recurrence, Hidden: 3, Layers: 2,
				Dropout: .2}, 5)
		},
		"convolutional": func() Layer[T] {
			return body[T](&Shape{Kind: Convolution, Hidden: 8, Layers: 2,
				Reach: 3}, 5)
		},
	}
}

// Derivatives by parameters and inputs against central differences, in float64.
func TestLayersByDifferences(t *testing.T) {
	for name, build := range layersOf[float64]() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			l, b := build(), ragged()
			params := make([]float64, l.Dim())
			l.Start(params, rng)
			for i := range params {
				params[i] += 0.1 * rng.NormFloat64()
			}
			x := random[float64](b.Rows()*5, rng)
			out := random[float64](b.Rows()*l.Outputs(), rng)
			value := func() float64 {
				b.Drop = rand.New(rand.NewPCG(5, 5))
				v := 0.0
				for i, y := range l.Forward(params, x, b) {
					v += out[i] * y
				}
				return v
			}
			value()
			grad := random[float64](l.Dim(), rng)
			before := append([]float64{}, grad...)
			dx := append([]float64{}, l.Backward(params, out, grad, b)...)
			for i := range grad {
				grad[i] -= before[i]
			}
			for _, side := range []struct {
				name      string
				at, slope []float64
			}{{"parameter", params, grad}, {"input", x, dx}} {
				for i := range side.at {
					const h = 1e-5
					old := side.at[i]
					side.at[i] = old + h
					up := value()
					side.at[i] = old - h
					want := (up - value()) / (2 * h)
					side.at[i] = old
					if math.Abs(side.slope[i]-want) > 1e-7*(1+math.Abs(want)) {
						t.Fatalf("%s %d: derivative %v, difference %v", side.name, i, side.slope[i], want)
					}
				}
			}
		})
	}
}

// Derivatives in float32 are those of float64.
func TestLayersInSinglePrecision(t *testing.T) {
	double := layersOf[float64]()
	for name, build := range layersOf[float32]() {
		t.Run(name, func(t *testing.T) {
			y1, dx1, g1 := evaluateLayer(build())
			y2, dx2, g2 := evaluateLayer(double[name]())
			near := cmpopts.EquateApprox(2e-5, 2e-5)
			for _, pair := range [][2][]float64{{y1, y2}, {dx1, dx2}, {g1, g2}} {
				if diff := cmp.Diff(pair[1], pair[0], near); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

func evaluateLayer[T Float](l Layer[T]) (y, dx, grad []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := ragged()
	params := make([]T, l.Dim())
	l.Start(params, rng)
	rng = rand.New(rand.NewPCG(3, 4)) // starts may round to other numbers of draws
	b.Drop = rand.New(rand.NewPCG(5, 5))
	wide := func(v []T) []float64 {
		w := make([]float64, len(v))
		for i := range v {
			w[i] = float64(v[i])
		}
		return w
	}
	x, out, g := random[T](b.Rows()*5, rng), random[T](b.Rows()*l.Outputs(), rng), make([]T, l.Dim())
	y = wide(l.Forward(params, x, b))
	return y, wide(l.Backward(params, out, g, b)), wide(g)
}

// A sequence has the same rows in a batch and alone.
func TestRaggedIsOneByOne(t *testing.T) {
	for name, build := range layersOf[float64]() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			l, b := build(), ragged()
			params := make([]float64, l.Dim())
			l.Start(params, rng)
			x := random[float64](b.Rows()*5, rng)
			dy := random[float64](b.Rows()*l.Outputs(), rng)
			all := append([]float64{}, l.Forward(params, x, b)...)
			grad, apart := make([]float64, l.Dim()), make([]float64, l.Dim())
			dx := append([]float64{}, l.Backward(params, dy, grad, b)...)
			near := cmpopts.EquateApprox(1e-12, 1e-12)
			for i := range len(b.Starts) - 1 {
				from, to := b.Starts[i], b.Starts[i+1]
				one := &Batch{Starts: []int{0, to - from}}
				y := l.Forward(params, x[from*5:to*5], one)
				n := l.Outputs()
				if diff := cmp.Diff(all[from*n:to*n], y[:(to-from)*n], near, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("sequence %d: %s", i, diff)
				}
				d := l.Backward(params, dy[from*n:to*n], apart, one)
				if diff := cmp.Diff(dx[from*5:to*5], d[:(to-from)*5], near, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("sequence %d, derivatives: %s", i, diff)
				}
			}
			if diff := cmp.Diff(grad, apart, near); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// Convolutions of more rows than are laid out at a time, against the sum of the definition.
func TestLongConvolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := NewConv1D[float64](2, 3, 5)
	b := &Batch{Starts: []int{0, stretch - 1, stretch + 1, 3*stretch + 7}}
	params := random[float64](l.Dim(), rng)
	x := random[float64](b.Rows()*2, rng)
	y := l.Forward(params, x, b)
	dy := random[float64](b.Rows()*3, rng)
	grad, dGrad := make([]float64, l.Dim()), make([]float64, l.Dim())
	dx, want := l.Backward(params, dy, grad, b), make([]float64, len(x))
	for s := range len(b.Starts) - 1 {
		for r := b.Starts[s]; r < b.Starts[s+1]; r++ {
			for o := range 3 {
				v := params[30+o]
				dGrad[30+o] += dy[r*3+o]
				for j := range 5 {
					u := r + j - 2
					if u < b.Starts[s] || u >= b.Starts[s+1] {
						continue
					}
					for i := range 2 {
						v += x[u*2+i] * params[(j*2+i)*3+o]
						dGrad[(j*2+i)*3+o] += x[u*2+i] * dy[r*3+o]
						want[u*2+i] += params[(j*2+i)*3+o] * dy[r*3+o]
					}
				}
				if math.Abs(v-y[r*3+o]) > 1e-12 {
					t.Fatalf("row %d: %v, by definition %v", r, y[r*3+o], v)
				}
			}
		}
	}
	near := cmpopts.EquateApprox(1e-10, 1e-10)
	if diff := cmp.Diff(want, dx, near); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(dGrad, grad, near); diff != "" {
		t.Fatal(diff)
	}
}

// Dropout keeps the share asked for, and the mean; another source drops others.
func TestDropoutCounts(t *testing.T) {
	const width, rows = 101, 4000 // not a multiple of four
	x := make([]float32, width*rows)
	for i := range x {
		x[i] = 1
	}
	for _, share := range []float64{.1, .4, .9} {
		l := NewDropout[float32](width, share)
		b := &Batch{Starts: []int{0, rows}, Drop: rand.New(rand.NewPCG(1, 1))}
		y := append([]float32{}, l.Forward(nil, x, b)...)
		zeros, pairs := 0.0, 0.0
		for i, v := range y {
			if v == 0 {
				zeros++
				if i > 0 && y[i-1] == 0 {
					pairs++
				}
			} else if math.Abs(float64(v)*(1-share)-1) > 1e-4 {
				t.Fatalf("share %v: an entry of 1 became %v", share, v)
			}
		}
		n := float64(len(y))
		if d := math.Abs(zeros/n - share); d > 5*math.Sqrt(share*(1-share)/n) {
			t.Errorf("share %v: %v were dropped", share, zeros/n)
		}
		if d := math.Abs(pairs/n - share*share); d > 5*math.Sqrt(share*share/n) {
			t.Errorf("share %v: %v neighbours were dropped together", share, pairs/n)
		}
		same := &Batch{Starts: b.Starts, Drop: rand.New(rand.NewPCG(1, 1))}
		if !slices.Equal(y, l.Forward(nil, x, same)) {
			t.Error("the same source dropped others")
		}
		if slices.Equal(y, l.Forward(nil, x, same)) {
			t.Error("the next batch dropped the same")
		}
		same.Drop = nil
		if got := l.Forward(nil, x, same); !slices.Equal(got, x) {
			t.Error("without a source, entries changed")
		}
		if got := l.Backward(nil, x, nil, same); !slices.Equal(got, x) {
			t.Error("without a source, derivatives changed")
		}
	}
}

// The formulas of long short-term memory, with loops.
func TestLSTMByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const in, n = 3, 2
	l := NewBiLSTM[float64](in, n)
	params := random[float64](l.Dim(), rng)
	x := random[float64](4*in, rng)
	y := l.Forward(params, x, &Batch{Starts: []int{0, 4}})
	sigma := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for d := range 2 {
		p := params[d*4*n*(in+n+1):]
		h, c := make([]float64, n), make([]float64, n)
		for step := range 4 {
			r := step
			if d == 1 {
				r = 3 - step
			}
			gate := func(block, k int) float64 {
				column := block*n + k
				v := p[4*n*(in+n)+column]
				for i := range in {
					v += x[r*in+i] * p[i*4*n+column]
				}
				for i := range n {
					v += h[i] * p[4*n*in+i*4*n+column]
				}
				return v
			}
			nh, nc := make([]float64, n), make([]float64, n)
			for k := range n {
				nc[k] = sigma(gate(1, k))*c[k] + sigma(gate(0, k))*math.Tanh(gate(3, k))
				nh[k] = sigma(gate(2, k)) * math.Tanh(nc[k])
			}
			h, c = nh, nc
			for k := range n {
				if got := y[r*2*n+d*n+k]; math.Abs(got-h[k]) > 1e-14 {
					t.Fatalf("direction %d, row %d: %v, by definition %v", d, r, got, h[k])
				}
			}
		}
	}
}

func TestBadSizesPanic(t *testing.T) {
	for i, f := range []func(){
		func() { NewConv1D[float32](3, 3, 4) }, func() { NewLinear[float32](0, 3) },
		func() { NewDropout[float32](3, 1) }, func() { NewStack[float32]() },
		func() { NewStack[float32](NewLinear[float32](3, 4), NewLinear[float32](3, 4)) },
		func() { NewResidual[float32](NewLinear[float32](3, 4)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(fmt.Sprint("case ", i, " did not panic"))
				}
			}()
			f()
		}()
	}
}
