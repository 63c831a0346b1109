package optim

import (
	"errors"
	"fmt"
	"math"
)

// SimplexQP is a concave quadratic program over a product of simplices: maximise ⟨C, α⟩ - αᵀHα/2
// over α ≥ 0 whose entries sum to 1 in each block. The duals of bundle methods are of this form.
type SimplexQP struct {
	H      [][]float64 // symmetric, positive semidefinite; only the lower triangle is read
	C      []float64
	Blocks []int // sizes of the blocks, one after the other; nil is one block of all
}

// ErrSteps reports that the limit of steps was reached before the requested accuracy.
var ErrSteps = errors.New("too many steps")

func (q *SimplexQP) h(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return q.H[i][j]
}

// Maximize improves alpha until it is within tol of the maximum. It returns a bound on the distance
// that remains: max_d in blocks ⟨∇, d - α⟩, valid by concavity. Blocks of alpha that are not points
// of their simplex start at its centre.
//
// Each step moves mass between two entries of a block, the pair of largest gain by second
// derivatives (R. Fan, P. Chen and C. Lin, "Working set selection using second order
// information for training support vector machines", JMLR 6, 2005), and costs O(n).
//
// Errors: entries that are not finite, and ErrSteps with the bound reached.
func (q *SimplexQP) Maximize(alpha []float64, tol float64) (gap float64, err error) {
	n := len(q.C)
	blocks := q.Blocks
	if blocks == nil {
		blocks = []int{n}
	}
	total := 0
	for d, size := range blocks {
		if size < 1 {
			return 0, fmt.Errorf("optim: SimplexQP: block %d has %d entries", d, size)
		}
		total += size
	}
	if n == 0 || total != n || len(alpha) != n || len(q.H) != n {
		return 0, fmt.Errorf("optim: SimplexQP: %d entries in blocks, %d in C, %d rows of H, %d of the start", total, n, len(q.H), len(alpha))
	}
	for i, row := range q.H {
		if len(row) <= i || FirstNotFinite(row[:i+1]) >= 0 || q.C[i]-q.C[i] != 0 {
			return 0, fmt.Errorf("optim: SimplexQP: row %d: %w", i, ErrNotFinite)
		}
	}
	from := 0
	for _, size := range blocks {
		center(alpha[from : from+size])
		from += size
	}
	grad := make([]float64, n)
	q.gradient(alpha, grad)
	limit := 1000*n + 1000000
	for step := range limit {
		if step%(20*n+1000) == 0 && step > 0 {
			q.gradient(alpha, grad) // rounding adds up
		}
		i, j := -1, -1
		gap, i, j = q.pair(alpha, grad, blocks)
		if gap <= tol || i < 0 {
			return gap, nil
		}
		// α_i grows and α_j shrinks by the step of largest gain, or all that j has.
		bend := q.h(i, i) + q.h(j, j) - 2*q.h(i, j)
		t := alpha[j]
		if slope := grad[i] - grad[j]; bend > 0 && slope < t*bend {
			t = slope / bend
		}
		if t == 0 {
			return gap, nil // no float is between
		}
		if alpha[j]-t < 0 || t == alpha[j] {
			t = alpha[j]
			alpha[j] = 0
		} else {
			alpha[j] -= t
		}
		alpha[i] += t
		for k := range grad {
			grad[k] -= t * (q.h(k, i) - q.h(k, j))
		}
	}
	return gap, fmt.Errorf("optim: SimplexQP: after %d steps the bound is %.3g, not %.3g: %w", limit, gap, tol, ErrSteps)
}

// center moves what is no point of the unit simplex to its centre, and takes rounding off
// what is one.
func center(a []float64) {
	sum, ok := 0.0, true
	for _, v := range a {
		ok = ok && v >= 0
		sum += v
	}
	if !ok || !(math.Abs(sum-1) <= 1e-6) {
		for i := range a {
			a[i] = 1 / float64(len(a))
		}
		return
	}
	for i := range a {
		a[i] /= sum
	}
}

func (q *SimplexQP) gradient(alpha, grad []float64) {
	copy(grad, q.C)
	for j, v := range alpha {
		if v != 0 {
			for k := range grad {
				grad[k] -= v * q.h(k, j)
			}
		}
	}
}

// pair returns the bound, and the entries that gain most by moving mass from j to i.
func (q *SimplexQP) pair(alpha, grad []float64, blocks []int) (gap float64, up, down int) {
	up, down = -1, -1
	most := 0.0
	from := 0
	for _, size := range blocks {
		i, mean := from, 0.0
		for k := from; k < from+size; k++ {
			mean += alpha[k] * grad[k]
			if grad[k] > grad[i] {
				i = k
			}
		}
		gap += grad[i] - mean
		for j := from; j < from+size; j++ {
			slope := grad[i] - grad[j]
			if alpha[j] == 0 || slope <= 0 {
				continue
			}
			bend := q.h(i, i) + q.h(j, j) - 2*q.h(i, j)
			gain := slope * alpha[j]
			if bend > 0 {
				if t := slope / bend; t < alpha[j] {
					gain = slope * t / 2
				} else {
					gain -= alpha[j] * alpha[j] * bend / 2
				}
			}
			if gain > most {
				most, up, down = gain, i, j
			}
		}
		from += size
	}
	return math.Max(gap, 0), up, down
}

// Value returns ⟨C, α⟩ - αᵀHα/2.
func (q *SimplexQP) Value(alpha []float64) float64 {
	v := 0.0
	for i, a := range alpha {
		v += a * q.C[i]
		for j, b := range alpha {
			v -= a * b * q.h(i, j) / 2
		}
	}
	return v
}
