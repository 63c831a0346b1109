package structured

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/kernel"
	"gonum.org/v1/gonum/mat"
)

// Test 1 of the specification, against a dense inverse.
func TestWeightsAgainstInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, q := points(rng, 30, 3), points(rng, 7, 3)
	w := fit(t, gauss, x, 0.01, nil)
	gram, cross := must(kernel.Gram(gauss, x, nil))(t), must(kernel.Cross(gauss, q, x, nil))(t)
	g := mat.NewDense(30, 30, gram)
	for i := range 30 {
		g.Set(i, i, g.At(i, i)+w.C)
	}
	var inverse, want mat.Dense
	if err := inverse.Inverse(g); err != nil {
		t.Fatal(err)
	}
	want.Mul(mat.NewDense(7, 30, cross), &inverse)
	got := must(w.Weights(ctx, q, 2))(t)
	for i, v := range want.RawMatrix().Data {
		near(t, "weight", got[i], v, 1e-9)
	}
	if one := must(w.Weights(ctx, q.Subset([]int{3}), 1))(t); !slices.Equal(one, got[3*30:4*30]) {
		t.Error("weights of a query depend on the others, or on the workers")
	}
}

// As lambda goes to 0, the weights of a training input are those of its output alone.
func TestInterpolation(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	x := points(rng, 25, 3)
	w := fit(t, gauss, x, 1e-13, nil)
	y := make([]float64, 25)
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	s := must(NewScalar(y, Absolute, nil))(t)
	alpha := must(w.Weights(ctx, x, 1))(t)
	for i := range 25 {
		for j, a := range alpha[i*25:][:25] {
			want := 0.0
			if i == j {
				want = 1
			}
			near(t, "weight", a, want, 1e-4)
		}
		if d := must(s.Decode(ctx, alpha[i*25:][:25]))(t); d.Output != y[i] {
			t.Errorf("f(x_%d) = %v, its output is %v", i, d.Output, y[i])
		}
	}
}

// Test 2: weights of examples left out are those of fits without them, at the same C.
func TestLeaveOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n = 24
	x := points(rng, n, 2)
	for _, estimator := range []Estimator{Ridge, Nystrom} {
		o := &WeightOptions{Estimator: estimator, Landmarks: n}
		w := fit(t, gauss, x, 0.02, o)
		h := must(w.Held())(t)
		for _, block := range [][]int{{0}, {5}, {23}, {1, 7, 8}, {0, 23}} {
			got := must(h.Weights(block))(t)
			var rest []int
			for i := range n {
				if !slices.Contains(block, i) {
					rest = append(rest, i)
				}
			}
			// The same C, not the same lambda.
			refit := fit(t, gauss, x.Subset(rest), w.C/float64(len(rest)), nil)
			want := must(refit.Weights(ctx, x.Subset(block), 1))(t)
			tolerance := 1e-10
			if estimator == Nystrom {
				tolerance = 1e-6 // jitter of the landmarks
			}
			for r := range block {
				for k, i := range rest {
					near(t, string(estimator), got[r*n+i], want[r*len(rest)+k], tolerance)
				}
				for _, i := range block {
					if got[r*n+i] != 0 {
						t.Errorf("an example that was left out has the weight %v", got[r*n+i])
					}
				}
			}
		}
	}
}

func TestSurrogateLOO(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const n = 20
	x, y := points(rng, n, 2), points(rng, n, 3)
	w := fit(t, gauss, x, 0.05, nil)
	h := must(w.Held())(t)
	want := 0.0
	for i := range n {
		alpha := must(h.Weights([]int{i}))(t)
		sum := make([]float64, 3)
		for k, a := range alpha {
			for j, v := range y.Row(k) {
				sum[j] += a * v
			}
		}
		want += squaredDistance(sum, y.Row(i)) / n
	}
	linear := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Linear})
	near(t, "surrogate", h.SurrogateLOO(must(kernel.Gram(linear, y, nil))(t), 1), want, 1e-10)
}

// Test 11: a single training pair.
func TestSinglePair(t *testing.T) {
	linear := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Linear})
	x := kernel.NewMatrix(1, 1, []float64{2})
	w := fit(t, linear, x, 0.5, nil)
	f := must(NewFinite([]float64{0, 1, 5}, 1, true))(t) // candidate 0 is the output, 2 is farthest
	for _, c := range []struct {
		x    float64
		want int
	}{{1, 0}, {-1, 2}} {
		alpha := must(w.Weights(ctx, kernel.NewMatrix(1, 1, []float64{c.x}), 1))(t)
		near(t, "weight", alpha[0], 2*c.x/(4+0.5), 1e-14)
		if d := must(f.Decode(ctx, alpha))(t); d.Output != c.want {
			t.Errorf("kernel value %v: output %d, want %d", 2*c.x, d.Output, c.want)
		}
	}
}

// Test 12: copies of a training point share its weight, and F stays as it was.
func TestDuplicates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	x, q := points(rng, 12, 2), points(rng, 5, 2)
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 4}
	twice := x.Subset(rows)
	// The copy makes example 4 count twice, as half the penalty on it would: with the limit of no
	// penalty nothing is left of that.
	a := must(fit(t, gauss, x, 1e-9, nil).Weights(ctx, q, 1))(t)
	b := must(fit(t, gauss, twice, 1e-9, nil).Weights(ctx, q, 1))(t)
	for r := range 5 {
		if b[r*13+4] != b[r*13+12] && math.Abs(b[r*13+4]-b[r*13+12]) > 1e-5 {
			t.Errorf("copies weigh %v and %v", b[r*13+4], b[r*13+12])
		}
		near(t, "together", b[r*13+4]+b[r*13+12], a[r*12+4], 1e-4)
		for i := range 4 {
			near(t, "others", b[r*13+i], a[r*12+i], 1e-4)
		}
	}
}

// Test 13: Nystrom on all inputs is the ridge.
func TestNystromOnAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	x, q := points(rng, 40, 3), points(rng, 6, 3)
	want := must(fit(t, gauss, x, 0.01, nil).Weights(ctx, q, 1))(t)
	got := must(fit(t, gauss, x, 0.01, &WeightOptions{Estimator: Nystrom, Landmarks: 40}).Weights(ctx, q, 1))(t)
	for i := range want {
		near(t, "weight", got[i], want[i], 1e-7)
	}
}

// Conjugate gradients have the weights of Cholesky, with the matrix kept and without, up to what
// the residual allows.
func TestConjugate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const n, q = 60, 5
	x, z := points(rng, n, 3), points(rng, q, 3)
	full := fit(t, gauss, x, 1e-3, nil)
	want := must(full.Weights(ctx, z, 1))(t)
	cross := must(kernel.Cross(gauss, z, x, nil))(t)
	for _, relative := range []float64{1e-12, 1e-3} {
		for _, limit := range []int64{0, 8*n*n - 1} {
			o := &WeightOptions{Estimator: Conjugate, Landmarks: 20, Relative: relative,
				Options: kernel.Options{MaxBytes: limit}}
			w := fit(t, gauss, x, 1e-3, o)
			if (w.gram == nil) != (limit > 0) {
				t.Error("the matrix is kept beyond the limit, or not within")
			}
			got := must(w.Weights(ctx, z, 1))(t)
			for r := range q {
				off, size := 0.0, 0.0
				for i := range n {
					off += math.Abs(got[r*n+i] - want[r*n+i])
					size += cross[r*n+i] * cross[r*n+i]
				}
				if bound := math.Sqrt(n) * relative * math.Sqrt(size) / w.C; off > bound+1e-9 {
					t.Errorf("weights off by %v, the residual allows %v", off, bound)
				}
			}
			if s := w.Solved(); s.Iterations == 0 || s.Residual > relative {
				t.Errorf("%+v", s)
			}
		}
	}
	if _, err := fit(t, gauss, x, 1e-3, &WeightOptions{Estimator: Conjugate}).Held(); err == nil {
		t.Error("conjugate gradients leave examples out in closed form")
	}
}

func TestOtherEstimators(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	x, q := points(rng, 20, 2), points(rng, 4, 2)
	cross := must(kernel.Cross(gauss, q, x, nil))(t)
	if got := must(fit(t, gauss, x, 1, &WeightOptions{Estimator: NadarayaWatson}).Weights(
		ctx, q, 1))(t); !slices.Equal(got, cross) {
		t.Error("Nadaraya-Watson weights are no kernel values")
	}
	got := must(fit(t, gauss, x, 1, &WeightOptions{Estimator: Neighbours, Neighbours: 3}).Weights(ctx, q, 1))(t)
	for r := range 4 {
		row := got[r*20:][:20]
		for i, a := range row {
			closer := 0
			for j := range row {
				if cross[r*20+j] > cross[r*20+i] {
					closer++
				}
			}
			if want := 0.0; closer < 3 && a != 1.0/3 || closer >= 3 && a != want {
				t.Errorf("neighbour of rank %d weighs %v", closer, a)
			}
		}
	}
}

// A kernel that is not positive semidefinite is refused with its eigenvalue, or clipped.
func TestNotPositive(t *testing.T) {
	x := kernel.NewMatrix(3, 1, []float64{0, 1, 2})
	gram := []float64{1, 2, 0, 2, 1, 2, 0, 2, 1} // smallest eigenvalue 1 - 2√2
	_, err := NewWeights(gauss, x, slices.Clone(gram), 1e-3, subset, nil)
	var odd *kernel.NotPositiveError
	if !errors.As(err, &odd) || !strings.Contains(err.Error(), "clip") {
		t.Fatalf("error %v", err)
	}
	near(t, "eigenvalue", odd.Smallest, 1-2*math.Sqrt2, 1e-6)
	if _, err := NewWeights(gauss, x, slices.Clone(gram), 1e-3, subset, &WeightOptions{Clip: true}); err != nil {
		t.Error(err)
	}
	// Equal rows: singular, and saved by a jitter that is reported.
	same := kernel.NewMatrix(3, 1, []float64{1, 1, 1})
	if w := fit(t, gauss, same, 1e-300, nil); w.Jitter == 0 {
		t.Error("no jitter is reported")
	}
}

func TestTruncate(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 50 {
		// The excess over the least F is at most the range of losses times what was dropped.
		n := 12
		loss := make([]float64, 6*n)
		for i := range loss {
			loss[i] = rng.Float64()
		}
		f := must(NewFinite(loss, n, true))(t)
		alpha := draw(rng, n, "mixed")
		short := slices.Clone(alpha)
		dropped := Truncate(short, 0.3)
		if dropped > 0.3*norm1(alpha) || math.Abs(norm1(alpha)-norm1(short)-dropped) > 1e-12 {
			t.Fatalf("dropped %v of %v", dropped, norm1(alpha))
		}
		all := f.Values(alpha, 1, 1)
		d := must(f.Decode(ctx, short))(t)
		if excess := all[d.Output] - slices.Min(all); excess > dropped {
			t.Errorf("excess %v, bound %v", excess, dropped)
		}
	}
}

// Examples that are added or removed leave the weights of a new fit with the same C.
func TestAppendRemove(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	x, q := points(rng, 20, 3), points(rng, 4, 3)
	first := make([]int, 12)
	for i := range first {
		first[i] = i
	}
	w := fit(t, gauss, x.Subset(first), 0.02, nil)
	c := w.C
	check := func(of *kernel.Matrix) {
		t.Helper()
		want := must(fit(t, gauss, of, c/float64(of.Rows), nil).Weights(ctx, q, 1))(t)
		for i, v := range must(w.Weights(ctx, q, 1))(t) {
			near(t, "weight", v, want[i], 1e-10)
		}
	}
	if err := w.Append(x); err != nil {
		t.Fatal(err)
	}
	check(x)
	var rest []int
	for i := range 20 {
		if i != 5 {
			rest = append(rest, i)
		}
	}
	if err := w.Remove(5, x.Subset(rest)); err != nil {
		t.Fatal(err)
	}
	check(x.Subset(rest))
	if w.Append(x.Subset(first)) == nil || w.Remove(0, x) == nil ||
		fit(t, gauss, x, 0, &WeightOptions{Estimator: NadarayaWatson}).Append(x) == nil {
		t.Error("fewer inputs, too many left, or weights without a ridge: no error")
	}
}
