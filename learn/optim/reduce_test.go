package optim_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
)

// quadratics are parts f_k(x) = Σ_j a_kj (x_j - b_kj)².
type quadratics struct {
	a, b [][]float64
	fail int // part that fails; -1 is none
}

func newQuadratics(parts, dim int) *quadratics {
	rng := rand.New(rand.NewPCG(7, uint64(parts)))
	q := &quadratics{fail: -1}
	for range parts {
		a, b := make([]float64, dim), make([]float64, dim)
		for j := range a {
			a[j], b[j] = rng.Float64()*math.Pow(10, float64(rng.IntN(8))), rng.NormFloat64()
		}
		q.a, q.b = append(q.a, a), append(q.b, b)
	}
	return q
}

var errPart = errors.New("a part failed")

func (q *quadratics) Dim() int   { return len(q.a[0]) }
func (q *quadratics) Parts() int { return len(q.a) }
func (q *quadratics) Part(_, k int, x, grad []float64) (float64, error) {
	if k == q.fail {
		return 0, errPart
	}
	v := 0.0
	for j, a := range q.a[k] {
		d := x[j] - q.b[k][j]
		v += a * d * d
		if grad != nil {
			grad[j] += 2 * a * d
		}
	}
	return v, nil
}

// A Reducer has the bits of the loop over the parts in their order, for any number of workers.
func TestReducer(t *testing.T) {
	const dim = 3000
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, dim)
	for j := range x {
		x[j] = rng.NormFloat64()
	}
	for _, parts := range []int{1, 2, 15, 16, 17, 40} {
		q := newQuadratics(parts, dim)
		value, want := 0.0, make([]float64, dim)
		for k := range parts {
			g := make([]float64, dim)
			v, _ := q.Part(0, k, x, g)
			value += v
			optim.AddParts(want, g)
		}
		for _, workers := range []int{1, 2, 5} {
			r := optim.NewReducer(q, &optim.ReducerOptions{Workers: workers})
			for range 2 { // its room is used again
				got := make([]float64, dim)
				got[0] = math.NaN()
				v, err := r.Eval(x, got)
				if err != nil || v != value {
					t.Fatalf("%d parts, %d workers: value %v, want %v (%v)", parts, workers, v, value, err)
				}
				for j := range got {
					if math.Float64bits(got[j]) != math.Float64bits(want[j]) {
						t.Fatalf("%d parts, %d workers: gradient[%d] is %v, want %v", parts, workers, j, got[j], want[j])
					}
				}
			}
			if v, err := r.Eval(x, nil); v != value || err != nil {
				t.Errorf("%d parts, %d workers: without a gradient %v, want %v (%v)", parts, workers, v, value, err)
			}
			tree := optim.NewReducer(q, &optim.ReducerOptions{Workers: workers, Tree: true})
			got := make([]float64, dim)
			if _, err := tree.Eval(x, got); err != nil {
				t.Fatal(err)
			}
			for j := range got {
				if math.Abs(got[j]-want[j]) > 1e-12*1e8 {
					t.Fatalf("tree of %d parts: gradient[%d] is %v, want %v", parts, j, got[j], want[j])
				}
			}
		}
		q.fail = parts / 2
		if _, err := optim.NewReducer(q, nil).Eval(x, make([]float64, dim)); !errors.Is(err, errPart) {
			t.Errorf("%d parts: the error is %v", parts, err)
		}
	}
}

func TestAddPartsOfOtherLength(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("vectors of two lengths were added")
		}
	}()
	optim.AddParts(make([]float64, 2), make([]float64, 3))
}
