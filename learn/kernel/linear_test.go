package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// withSpectrum returns a symmetric matrix of the given eigenvalues and its eigenvectors,
// one a row, from random reflections.
func withSpectrum(rng *rand.Rand, values []float64) (a []float64, vectors [][]float64) {
	n := len(values)
	for i := range n {
		v := make([]float64, n)
		v[i] = 1
		vectors = append(vectors, v)
	}
	for range 3 {
		u := make([]float64, n)
		sq := 0.0
		for i := range u {
			u[i] = rng.NormFloat64()
			sq += u[i] * u[i]
		}
		for _, v := range vectors {
			axpy(-2*dot(u, v)/sq, u, v)
		}
	}
	a = make([]float64, n*n)
	for c, v := range vectors {
		for i := range n {
			axpy(values[c]*v[i], v, a[i*n:(i+1)*n])
		}
	}
	for i := range n {
		for j := range i {
			a[j*n+i] = a[i*n+j]
		}
	}
	return a, vectors
}

// All methods find the largest eigenpairs that the matrix was made of. Spectra fall fast, slowly or
// in steps, have negative ends, or are of low rank.
func TestTop(t *testing.T) {
	const n = 300
	spectra := map[string]func(i int) float64{
		"fast":  func(i int) float64 { return math.Exp(-float64(i) / 3) },
		"slow":  func(i int) float64 { return 1 / float64(1+i) },
		"even":  func(i int) float64 { return 2 - float64(i)/n },
		"steps": func(i int) float64 { return float64(4 - min(3, i/5)) },
		"rank": func(i int) float64 {
			if i < 12 {
				return float64(20 - i)
			}
			return 0
		},
		"indefinite": func(i int) float64 { return 3 - float64(i)/20 },
		"one":        func(int) float64 { return 1 },
	}
	for name, f := range spectra {
		values := make([]float64, n)
		for i := range values {
			values[i] = f(i)
		}
		a, _ := withSpectrum(rand.New(rand.NewPCG(1, 5)), values)
		for _, r := range []int{1, 7, 20, 120, n} {
			s, err := Top(a, n, r, nil)
			if err != nil {
				t.Errorf("%s, r=%d: %v", name, r, err)
				continue
			}
			other, _ := Top(a, n, r, &Options{Workers: 1})
			if !slices.Equal(s.Vectors, other.Vectors) {
				t.Errorf("%s, r=%d: workers change bits", name, r)
			}
			trace := 0.0
			for _, v := range values {
				trace += v
			}
			near(t, "trace", s.Trace, trace, 1e-10)
			for c, v := range s.Values {
				near(t, fmt.Sprintf("%s, r=%d: eigenvalue %d", name, r, c), v, values[c], 1e-10)
			}
			// Vectors are orthonormal, and each lies in the space of its eigenvalue.
			for c := range r {
				v := column(s, c)
				for d := range c + 1 {
					want := 0.0
					if c == d {
						want = 1
					}
					near(t, "product", dot(v, column(s, d)), want, 1e-8)
				}
				image := make([]float64, n)
				for i := range n {
					image[i] = dot(a[i*n:(i+1)*n], v)
				}
				axpy(-s.Values[c], v, image)
				if d := math.Sqrt(dot(image, image)); d > 1e-6*max(math.Abs(s.Values[c]), 1e-6*values[0]) &&
					r < 100 || d > 1e-10*values[0] && r > 100 {
					t.Errorf("%s, r=%d: residual %g of pair %d", name, r, d, c)
				}
				largest := 0.0
				for _, x := range v {
					if math.Abs(x) > math.Abs(largest)*(1+1e-6) {
						largest = x
					}
				}
				if largest < 0 {
					t.Errorf("%s: the sign of vector %d", name, c)
				}
			}
		}
	}
}

func column(s *Spectrum, c int) []float64 {
	out := make([]float64, s.N)
	for i := range out {
		out[i] = s.Vectors[i*len(s.Values)+c]
	}
	return out
}

func TestShare(t *testing.T) {
	s := Spectrum{Values: []float64{5, 3, 1}, Trace: 10}
	near(t, "share", s.Share(2), 0.8, 1e-15)
	if r, ok := s.Components(0.8); r != 2 || !ok {
		t.Error(r, ok)
	}
	if r, ok := s.Components(0.95); r != 3 || ok {
		t.Error(r, ok)
	}
}

func TestPositive(t *testing.T) {
	for _, n := range []int{50, 300} {
		values := make([]float64, n)
		for i := range values {
			values[i] = 1 / float64(1+i)
		}
		values[n-1] = 0
		a, _ := withSpectrum(rand.New(rand.NewPCG(2, 5)), values)
		if err := CheckPositive("k", a, n, nil); err != nil {
			t.Error(err)
		}
		if _, err := NewPrecomputed(a, n, "", nil); err != nil {
			t.Error(err)
		}
		values[n-1] = -1e-4
		a, _ = withSpectrum(rand.New(rand.NewPCG(2, 5)), values)
		var e *NotPositiveError
		if err := CheckPositive("k", a, n, nil); !errors.As(err, &e) || !errors.Is(err, ErrNotPositive) {
			t.Errorf("n=%d: %v", n, err)
		} else {
			near(t, "smallest", 1e4*e.Smallest, -1, 1e-3)
			near(t, "largest", e.Largest, 1, 1e-9)
			if !strings.Contains(err.Error(), "k has the eigenvalue -0.0001") {
				t.Error(err)
			}
		}
		if _, err := NewRidge(a, n, 1e-6, nil); !errors.Is(err, ErrNotPositive) ||
			!strings.Contains(err.Error(), "larger penalty") {
			t.Error(err)
		}
		a[1] += 1
		if _, err := NewPrecomputed(a, n, "", nil); err == nil || !strings.Contains(err.Error(), "not symmetric") {
			t.Error(err)
		}
	}
	p := Precomputed{N: 3, K: []float64{1, 2, 3, 2, 5, 6, 3, 6, 9}}
	got, err := Cross(&p, Places{2, 0}, Places{1}, nil)
	if err != nil || got[0] != 6 || got[1] != 2 {
		t.Error(got, err)
	}
	if _, err := Gram(&p, Places{3}, nil); err == nil || !strings.Contains(err.Error(), "no example 4") {
		t.Error(err)
	}
}

// Weights solve the system; leaving one example or several out agrees with fits without
// them.
func TestRidge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const n, m, c = 150, 3, 0.3
	k := Vector{Kind: Gaussian, Width: 2}
	x := random(rng, n, 4)
	gram, _ := Gram(k, x, nil)
	y := make([]float64, n*m)
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	r, err := NewRidge(gram, n, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	alpha := slices.Clone(y)
	if err := r.Solve(alpha, m); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for o := range m {
			s := c * alpha[i*m+o]
			for j := range n {
				s += gram[i*n+j] * alpha[j*m+o]
			}
			near(t, "K α + c α", s, y[i*m+o], 1e-10)
		}
	}
	without := func(list []int) []float64 { // predictions of those listed by the others
		var rest []int
		for i := range n {
			if !slices.Contains(list, i) {
				rest = append(rest, i)
			}
		}
		g, _ := Gram(k, x.Subset(rest), nil)
		f, err := NewRidge(g, len(rest), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := make([]float64, 0, len(rest)*m)
		for _, i := range rest {
			a = append(a, y[i*m:(i+1)*m]...)
		}
		if err := f.Solve(a, m); err != nil {
			t.Fatal(err)
		}
		cross, _ := Cross(k, x.Subset(list), x.Subset(rest), nil)
		out := make([]float64, len(list)*m)
		for i := range list {
			for j := range rest {
				axpy(cross[i*len(rest)+j], a[j*m:(j+1)*m], out[i*m:(i+1)*m])
			}
		}
		return out
	}
	loo, err := r.LeaveOneOut(y, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 77, 128, 149} {
		for o, want := range without([]int{i}) {
			near(t, "leave one out", loo[i*m+o], want, 1e-9)
		}
	}
	list := []int{140, 3, 4, 90}
	block, err := r.LeaveBlockOut(y, m, list)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range without(list) {
		near(t, "leave a block out", block[i], want, 1e-9)
	}
	if _, err := r.LeaveBlockOut(y, m, []int{1, 1}); err == nil {
		t.Error("an example was left out twice")
	}
	y[4] = math.NaN()
	if err := r.Solve(y, m); err == nil || !strings.Contains(err.Error(), "example 2 has the label NaN") {
		t.Error(err)
	}
}
