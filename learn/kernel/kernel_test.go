package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func random(rng *rand.Rand, n, d int) *Matrix {
	x := NewMatrix(n, d, make([]float64, n*d))
	for i := range x.Data {
		if rng.IntN(3) > 0 {
			x.Data[i] = rng.NormFloat64()
		}
	}
	return x
}

// sparse is the same rows without their zeros.
func sparse(x *Matrix) *Matrix {
	out := &Matrix{Rows: x.Rows, Cols: x.Cols, Start: []int{0}}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v != 0 {
				out.Data, out.Index = append(out.Data, v), append(out.Index, int32(j))
			}
		}
		out.Start = append(out.Start, len(out.Data))
	}
	return out
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

// literal is every kernel as its definition says it.
func literal(k Vector, a, b []float64) float64 {
	plain := func(a, b []float64) float64 {
		s, d1, d2 := 0.0, 0.0, 0.0
		for j := range a {
			if k.Columns != nil && !slices.Contains(k.Columns, j) {
				continue
			}
			s += a[j] * b[j]
			d1 += math.Abs(a[j] - b[j])
			d2 += (a[j] - b[j]) * (a[j] - b[j])
		}
		w := k.Width
		if w == 0 {
			w = 1
		}
		switch k.Kind {
		case Linear:
			return s
		case Polynomial:
			return math.Pow(s/w+k.Offset, float64(k.degree()))
		case Gaussian:
			return math.Exp(-d2 / (2 * w * w))
		case Laplacian:
			return math.Exp(-d1 / w)
		case Constant:
			return 1
		}
		return math.Tanh(s/w + k.Offset)
	}
	v := plain(a, b)
	if k.Normal {
		v /= math.Sqrt(plain(a, a) * plain(b, b))
	}
	return v
}

var kinds = []Vector{
	{Kind: Linear}, {Kind: Linear, Normal: true}, {Kind: Linear, Columns: []int{4, 0, 2}},
	{Kind: Polynomial, Offset: 1}, {Kind: Polynomial, Degree: 3, Offset: 0.5, Width: 4},
	{Kind: Polynomial, Degree: 5, Offset: 1, Normal: true},
	{Kind: Gaussian}, {Kind: Gaussian, Width: 2.5}, {Kind: Gaussian, Width: 0.7, Columns: []int{1, 3}},
	{Kind: Laplacian, Width: 3}, {Kind: Laplacian, Columns: []int{5, 1}}, {Kind: Constant},
	{Kind: Sigmoid, Offset: 0.3, Width: 6},
}

// Every kernel has the values of its definition, on rows dense and sparse, in blocks and at
// their ends, and in both precisions.
func TestVectorKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := random(rng, 530, 6), random(rng, 21, 6)
	for i := range 6 { // rows far from zero, and a pair that is equal
		x.Data[i], x.Data[6+i] = 1, 1
		y.Data[i] = 1
	}
	for _, k := range kinds {
		t.Run(k.Name(), func(t *testing.T) {
			for _, form := range []string{"dense", "sparse"} {
				a, b := x, y
				if form == "sparse" {
					a, b = sparse(x), sparse(y)
				}
				got, err := Cross(k, a, b, &Options{Workers: 3})
				if err != nil {
					t.Fatal(err)
				}
				for i := range x.Rows {
					for j := range y.Rows {
						want := literal(k, x.Row(i), y.Row(j))
						if want != want { // a zero row under Normal
							want = 0
						}
						near(t, fmt.Sprintf("%s %d, %d", form, i, j), got[i*y.Rows+j], want, 1e-13)
					}
				}
				gram, err := Gram(k, a, &Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				again, _ := Gram(k, a, &Options{Workers: 4})
				if !slices.Equal(gram, again) {
					t.Error("workers change bits")
				}
				d, err := k.Diagonal(a)
				if err != nil {
					t.Fatal(err)
				}
				for i := range x.Rows {
					near(t, "diagonal", d[i], gram[i*x.Rows+i], 1e-13)
					for j := range i {
						if gram[i*x.Rows+j] != gram[j*x.Rows+i] {
							t.Fatalf("%d, %d: not symmetric", i, j)
						}
					}
				}
				for _, ij := range [][2]int{{529, 3}, {0, 1}, {515, 514}} {
					i, j := ij[0], ij[1]
					want := literal(k, x.Row(i), x.Row(j))
					if want != want {
						want = 0
					}
					near(t, "gram", gram[i*x.Rows+j], want, 1e-13)
				}
			}
			f, err := between[float32](k, x, y)
			if err != nil {
				t.Fatal(err)
			}
			dst := make([]float32, 4*3)
			f(dst, 3, 1, 5, 18, 21)
			for i := range 4 {
				for j := range 3 {
					want := literal(k, x.Row(1+i), y.Row(18+j))
					if want != want {
						want = 0
					}
					near(t, "float32", float64(dst[i*3+j]), want, 2e-5)
				}
			}
		})
	}
}

// Rows far from zero lose nothing: the mean is taken off before products are.
func TestGaussianFarFromZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x := random(rng, 40, 3)
	far := NewMatrix(40, 3, slices.Clone(x.Data))
	for i := range far.Data {
		far.Data[i] += 1 << 20 // keeps 32 bits behind the point
		x.Data[i] = far.Data[i] - 1<<20
	}
	k := Vector{Kind: Gaussian, Width: 0.5}
	a, err := Gram(k, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Gram(k, far, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		near(t, "kernel", b[i], a[i], 1e-12)
	}
}

func TestNames(t *testing.T) {
	for _, k := range kinds {
		got, err := ParseVector(k.Name())
		if err != nil {
			t.Errorf("%s: %v", k.Name(), err)
			continue
		}
		if got.Name() != k.Name() {
			t.Errorf("%s is read as %s", k.Name(), got.Name())
		}
	}
	want := Vector{Kind: Gaussian, Width: 2, Columns: []int{0, 1, 2, 6}}
	if got, _ := ParseVector("gaussian:2@1-3+7"); cmp.Diff(got, want) != "" {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		"cubic": "there is no kernel", "gaussian:x": "no number", "gaussian:0": "above 0",
		"gaussian:1:2": "takes 1 numbers", "polynomial:0": "above 0",
		"polynomial:2:-1": "not negative", "linear@0": "no column", "linear@3-1": "no column",
		"linear@1-99999999999": "no column", "linear@2+1-3": "listed twice", "gaussian:Inf": "finite",
		"gaussian:NaN": "above 0",
	} {
		if _, err := ParseVector(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	x, y := NewMatrix(3, 2, []float64{1, 2, 3, 4, 5, math.NaN()}), NewMatrix(1, 3, make([]float64, 3))
	g := Vector{Kind: Gaussian}
	if _, err := Cross(g, x, y, nil); err == nil || !strings.Contains(err.Error(),
		"2 columns beside rows of 3") {
		t.Error(err)
	}
	if _, err := Gram(g, x, nil); err == nil || !strings.Contains(err.Error(), "of examples 1 and 3") &&
		!strings.Contains(err.Error(), "is NaN") {
		t.Error(err)
	}
	if err := x.Check(); err == nil || !strings.Contains(err.Error(), "row 3, column 2: NaN") {
		t.Error(err)
	}
	if _, err := Gram(Vector{Kind: Linear, Columns: []int{5}}, x, nil); err == nil ||
		!strings.Contains(err.Error(), "column 6 of 2") {
		t.Error(err)
	}
	s := sparse(NewMatrix(2, 3, []float64{0, 1, 0, 2, 0, 3}))
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	s.Index[2] = 3
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "row 2: column 4 of 3") {
		t.Error(err)
	}
	s.Index[2], s.Data[0] = 0, math.Inf(1)
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "row 1, column 2") {
		t.Error(err)
	}
	s.Data[0] = 1
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "not ascending") {
		t.Error(err)
	}
	if _, err := Cross(g, s, y, nil); err == nil || !strings.Contains(err.Error(), "sparse rows beside dense") {
		t.Error(err)
	}
	var memory *MemoryError
	_, err := Gram(g, &Matrix{Rows: 1000}, &Options{MaxBytes: 1 << 20})
	if !errors.As(err, &memory) || !errors.Is(err, ErrMemory) {
		t.Fatal(err)
	}
	// n·c + 2c² numbers fit, and one landmark more does not.
	n, c := 1000, memory.Landmarks
	if used := func(c int) int { return 8 * (n*c + 2*c*c) }; used(c) > 1<<20 || used(c+1) <= 1<<20 {
		t.Errorf("%d landmarks", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Gram(g, random(rand.New(rand.NewPCG(1, 1)), 5, 2), &Options{Ctx: ctx}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}

// Centring agrees with subtracting means of explicit features, for new rows too.
func TestCentring(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x, y := random(rng, 30, 4), random(rng, 7, 4)
	k := Vector{Kind: Linear}
	gram, _ := Gram(k, x, nil)
	cross, _ := Cross(k, y, x, nil)
	c := NewCentring(gram, 30)
	c.Gram(gram)
	c.Cross(cross)
	m := x.means()
	want, _ := Gram(k, x.minus(m), nil)
	wantCross, _ := Cross(k, y.minus(m), x.minus(m), nil)
	for i := range want {
		near(t, "gram", gram[i], want[i], 1e-12)
	}
	for i := range wantCross {
		near(t, "cross", cross[i], wantCross[i], 1e-12)
	}
}

func TestMedianDistance(t *testing.T) {
	x := NewMatrix(4, 2, []float64{0, 0, 3, 4, 0, 0, 1, 0}) // distances 5, 1 twice each and √20 and 0
	for _, c := range []struct {
		kind    Kind
		columns []int
		want    float64
	}{{Gaussian, nil, math.Sqrt(20)}, {Laplacian, nil, 6}, {Gaussian, []int{0}, 2}} {
		for _, p := range []*Matrix{x, sparse(x)} {
			got, err := MedianDistance(p, c.kind, c.columns, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			near(t, string(c.kind), got, c.want, 1e-12)
		}
	}
	if _, err := MedianDistance(NewMatrix(2, 1, []float64{1e9, 1e9}), Gaussian, nil, 0, 1); err == nil {
		t.Error("equal rows have a distance")
	}
	rng := rand.New(rand.NewPCG(9, 9))
	y := random(rng, 3000, 3)
	a, _ := MedianDistance(y, Gaussian, nil, 0, 1)
	b, _ := MedianDistance(y, Gaussian, nil, 3000, 1)
	near(t, "sampled", a, b, 0.03)
}

// Counting n-grams is the rational kernel of the transducer that counts them.
func TestNGramIsRational(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	draw := func(n int) Strings {
		out := make(Strings, n)
		for i := range out {
			for range rng.IntN(9) {
				out[i] = append(out[i], rng.IntN(3))
			}
		}
		return out
	}
	x, y := draw(8), draw(5)
	for _, k := range []NGram{{}, {Least: 2, Order: 2}, {Least: 1, Order: 4, Decay: 0.5},
		{Least: 2, Order: 3, Decay: 2, Normal: true}} {
		f := k.filled()
		r := Rational{Transducer: NGramCounter(3, f.Least, f.Order, f.Decay), Normal: k.Normal}
		for _, pair := range [][2]Strings{{x, y}, {x, x}} {
			a, err := Cross(k, pair[0], pair[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Cross(r, pair[0], pair[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range a {
				near(t, k.Name(), a[i], b[i], 1e-12)
			}
		}
		a, _ := k.Diagonal(x)
		b, _ := r.Diagonal(x)
		for i := range a {
			near(t, "diagonal", a[i], b[i], 1e-12)
		}
	}
	// By hand: abab and ab share a 2·1, b 2·1, ab 2·1.
	if got, _ := Cross(NGram{Order: 2}, Strings{{0, 1, 0, 1}}, Strings{{0, 1}}, nil); got[0] != 6 {
		t.Errorf("%v, want 6", got[0])
	}
	if _, err := Gram(NGram{Alphabet: 2}, Strings{{0, 1}, {1, 2}}, nil); err == nil ||
		!strings.Contains(err.Error(), "string 2: symbol 2 at place 2") {
		t.Error(err)
	}
	if _, err := Gram(NGram{}, Strings{{0, -1}}, nil); err == nil ||
		!strings.Contains(err.Error(), "no symbol") {
		t.Error(err)
	}
}
