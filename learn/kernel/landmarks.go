package kernel

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Spread draws m of the examples of x far from one another in the feature space, and returns their
// numbers in the order drawn. It is the seeding of k-means++ (D. Arthur and S. Vassilvitskii, SODA
// 2007) under the distance k(x,x) - 2k(x,y) + k(y,y). It stops early when every example coincides
// with one drawn. n·m values of the kernel.
func Spread[P any](k Kernel[P], x P, m int, seed uint64, opts *Options) ([]int, error) {
	o := opts.filled()
	n := k.Len(x)
	if m < 1 || m > n {
		return nil, fmt.Errorf("kernel: %d landmarks of %d examples", m, n)
	}
	d, err := k.Diagonal(x)
	if err != nil {
		return nil, err
	}
	fill, err := k.Between(x, x)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x73707265)) // the second word is any constant
	away := make([]float64, n)                     // squared distance to the nearest one drawn
	for i := range away {
		away[i] = math.Inf(1)
	}
	at := rng.IntN(n)
	out := []int{at}
	column := make([]float64, n)
	for {
		if o.Ctx.Err() != nil {
			return nil, context.Cause(o.Ctx)
		}
		run.Blocks(o.Workers, n, 4*tile, func(_, i0, i1 int) { fill(column[i0:], 1, i0, i1, at, at+1) })
		total := 0.0
		for i, v := range column {
			distance := max(0, d[i]-2*v+d[at])
			if distance <= 1e-12*(d[i]+d[at]) {
				distance = 0 // rounding
			}
			away[i] = min(away[i], distance)
			total += away[i]
		}
		away[at] = 0
		if !(total > 0) || len(out) == m {
			return out, nil
		}
		at = drawn(rng, away, total)
		out = append(out, at)
	}
}

// drawn draws a number by weight.
func drawn(rng *rand.Rand, weight []float64, total float64) int {
	u, last := rng.Float64()*total, 0
	for i, w := range weight {
		if w > 0 {
			last = i
			if u -= w; u < 0 {
				return i
			}
		}
	}
	return last
}

// Leverage returns approximate ridge leverage scores (K(K+cI)⁻¹)_ii, from the examples in
// pilot, which were drawn evenly: (k(x,x) - k_xᵀ(K_pp + c·p/n I)⁻¹ k_x)/c, the estimate of
// A. Rudi, D. Calandriello, L. Carratino and L. Rosasco, "On fast leverage score sampling and
// optimal learning", NeurIPS 2018. Their sum estimates the effective dimension. at has the
// numbers of the pilot's examples in x: each stands for n/p examples, but for itself once.
// n·p² operations.
func Leverage[P any](k Kernel[P], x, pilot P, at []int, c float64, opts *Options) ([]float64, error) {
	o := opts.filled()
	n, p := k.Len(x), k.Len(pilot)
	if p < 1 || !(c > 0) || len(at) != p {
		return nil, fmt.Errorf("kernel: leverage: a pilot of %d examples and the penalty %v; both must be "+
			"above 0", p, c)
	}
	g, err := Gram(k, pilot, &o)
	if err != nil {
		return nil, err
	}
	r, err := NewRidge(g, p, c*float64(p)/float64(n), &o)
	if err != nil {
		return nil, err
	}
	out, err := k.Diagonal(x)
	if err != nil {
		return nil, err
	}
	err = stream(k, x, pilot, &o, func(i0, i1 int, rows []float64) {
		gemm.TriangularSolveRows(o.Workers, i1-i0, p, r.factor, p, rows, p)
		for i := i0; i < i1; i++ {
			l := rows[(i-i0)*p:][:p] // |L⁻¹ k_x|² is k_xᵀ(K_pp + ...)⁻¹k_x
			out[i] -= dot(l, l)
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = max(0, out[i]/c)
	}
	for _, i := range at {
		if d := 1 - (float64(n)/float64(p)-1)*out[i]; d > 0 {
			out[i] /= d
		} else {
			out[i] = 1
		}
	}
	for i := range out {
		out[i] = min(1, out[i])
	}
	return out, nil
}

// DrawWeighted returns m different numbers, ascending, drawn one after the other by weight:
// those with the largest u^(1/w) (P. Efraimidis and P. Spirakis, 2006). Fewer come where
// fewer have weight.
func DrawWeighted(weight []float64, m int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x77656967))
	key := make([]float64, len(weight))
	var list []int
	for i, w := range weight {
		if u := rng.Float64(); w > 0 {
			key[i] = math.Log(u) / w
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		switch {
		case key[a] > key[b]:
			return -1
		case key[a] < key[b]:
			return 1
		}
		return a - b
	})
	list = list[:min(m, len(list))]
	slices.Sort(list)
	return list
}

// streamRows is how many rows of a kernel matrix are held at a time.
const streamRows = 2048

// stream computes the kernel of x with y some rows at a time. It hands each block to use: rows i0
// to i1, with a number for each example of y. Blocks come in order.
func stream[P any](k Kernel[P], x, y P, o *Options, use func(i0, i1 int, rows []float64)) error {
	fill, err := k.Between(x, y)
	if err != nil {
		return err
	}
	return streamed(k.Name(), fill, k.Len(x), k.Len(y), o, use)
}

func streamed[T gemm.Float](name string, fill func(dst []T, stride, i0, i1, j0, j1 int), n, m int,
	o *Options, use func(i0, i1 int, rows []T)) error {
	rows := make([]T, min(n, streamRows)*m)
	for i0 := 0; i0 < n; i0 += streamRows {
		if o.Ctx.Err() != nil {
			return context.Cause(o.Ctx)
		}
		i1 := min(n, i0+streamRows)
		run.Blocks(o.Workers, i1-i0, tile/2, func(_, from, to int) {
			if o.Ctx.Err() != nil {
				return
			}
			fill(rows[from*m:], m, i0+from, i0+to, 0, m)
		})
		if o.Ctx.Err() != nil {
			return context.Cause(o.Ctx)
		}
		for at, v := range rows[:(i1-i0)*m] {
			if v-v != 0 {
				return fmt.Errorf("kernel: %s of example %d and landmark %d is %v", name, i0+at/m+1, at%m+1, v)
			}
		}
		if err := run.Breakable(o.Ctx, func() { use(i0, i1, rows[:(i1-i0)*m]) }); err != nil {
			return err
		}
	}
	return nil
}

// KMeans returns k centres of dense rows by Lloyd's algorithm from the seeding of k-means++,
// and the centre of each row. It ends when no row changes its centre, or after rounds (zero is
// 25). Centres that lose all their rows stay where they are. O(rounds·n·k·d).
func KMeans(x *Matrix, k int, seed uint64, rounds int, opts *Options) (*Matrix, []int, error) {
	o := opts.filled()
	if x.Start != nil {
		return nil, nil, fmt.Errorf("kernel: k-means of sparse rows")
	}
	list, err := Spread(Vector{Kind: Linear}, x, k, seed, &o)
	if err != nil {
		return nil, nil, err
	}
	if rounds <= 0 {
		rounds = 25
	}
	shift := x.means()
	centres := x.Subset(list).minus(shift)
	of := make([]int, x.Rows)
	for round := range rounds {
		if o.Ctx.Err() != nil {
			return nil, nil, context.Cause(o.Ctx)
		}
		half := halfSquares(centres, 0, centres.Rows)
		next := make([]int, x.Rows)
		f := &form[float64]{shift: shift, unit: 1}
		run.Blocks(o.Workers, x.Rows, tile, func(_, i0, i1 int) {
			rows := part(f, x, i0, i1)
			dots := make([]float64, (i1-i0)*centres.Rows)
			gemm.Gemm(1, blas.NoTrans, blas.Trans, i1-i0, centres.Rows, x.Cols, 1, rows.Data, x.Cols,
				centres.Data, x.Cols, 0, dots, centres.Rows)
			for i := range i1 - i0 {
				best := 0
				row := dots[i*centres.Rows:][:centres.Rows]
				for j, v := range row {
					if v-half[j] > row[best]-half[best] {
						best = j
					}
				}
				next[i0+i] = best
			}
		})
		if round > 0 && slices.Equal(next, of) {
			break
		}
		of = next
		sums, count := make([]float64, len(centres.Data)), make([]float64, centres.Rows)
		for i, c := range of {
			count[c]++
			axpy(1, x.Row(i), sums[c*x.Cols:(c+1)*x.Cols])
		}
		for c, n := range count {
			if n > 0 {
				for j := range x.Cols {
					centres.Data[c*x.Cols+j] = sums[c*x.Cols+j]/n - shift[j]
				}
			}
		}
	}
	for c := range centres.Rows {
		axpy(1, shift, centres.Row(c))
	}
	return centres, of, nil
}
