package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// MedianDistance returns the median of the distances between pairs of different rows, by |·|₁ for
// the Laplacian kernel and by |·|₂ for all others. It is the usual initial width. columns are those
// that count; nil is all. With more than most rows (zero is 1000) it uses that many, drawn by the
// seed. Half of most² distances.
//
// Distances of zero, between equal rows, do not count; all of them is an error.
func MedianDistance(x *Matrix, kind Kind, columns []int, most int, seed uint64) (float64, error) {
	if err := (Vector{Kind: kind, Columns: columns}).fits(x.Cols, x.Cols); err != nil {
		return 0, err
	}
	if most <= 0 {
		most = 1000
	}
	if x.Rows > most {
		x = x.Subset(Draw(x.Rows, most, seed))
	}
	x = x.columns(columns)
	n := x.Rows
	d := make([]float64, 0, n*(n-1)/2)
	if kind == Laplacian {
		for i := range n {
			for j := range i {
				if v := distance1(x, i, x, j); v > 0 {
					d = append(d, v)
				}
			}
		}
	} else {
		if x.Start == nil {
			x = x.minus(x.means())
		}
		dots, squares := make([]float64, n*n), x.squares(0, n)
		products(dots, n, x, 0, n, x, 0, n)
		for i := range n {
			for j := range i {
				// What rounding leaves of nothing is no distance.
				if v := squares[i] + squares[j] - 2*dots[i*n+j]; v > 1e-14*(squares[i]+squares[j]) {
					d = append(d, v)
				}
			}
		}
	}
	if len(d) == 0 {
		return 0, errors.New("kernel: no two rows differ: there is no median distance")
	}
	slices.Sort(d)
	v := d[len(d)/2]
	if len(d)%2 == 0 {
		v = (v + d[len(d)/2-1]) / 2
	}
	if kind != Laplacian {
		v = math.Sqrt(v)
	}
	return v, nil
}

// Draw returns count of the numbers below n, ascending, each set of them equally likely.
// The seed decides. It panics where there are fewer.
func Draw(n, count int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x6b65726e656c)) // the second word is any constant
	list := rng.Perm(n)[:count]
	slices.Sort(list)
	return list
}
