package sparse

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// KMeans returns k centres of points x, n × dim: Lloyd's iterations from k-means++ draws (D. Arthur
// and S. Vassilvitskii, SODA 2007), at most 50. Where k is n or more, the points themselves.
// O(n·k·dim) an iteration. The error is that of a cancelled context.
func KMeans(ctx context.Context, x []float64, dim, k, workers int, seed uint64) ([]float64, error) {
	n := len(x) / dim
	if k >= n {
		return slices.Clone(x), nil
	}
	rng := rand.New(rand.NewPCG(seed, 0x6b6d))
	row := func(i int) []float64 { return x[i*dim:][:dim] }
	centers := slices.Clone(row(rng.IntN(n)))
	nearest := slices.Repeat([]float64{math.Inf(1)}, n)
	d := make([]float64, n)
	for len(centers) < k*dim {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		squares(workers, dim, x, centers[len(centers)-dim:], d)
		total := 0.0
		for i, v := range d {
			nearest[i] = math.Min(nearest[i], v)
			total += nearest[i]
		}
		if total == 0 { // fewer different points than centres
			return centers, nil
		}
		at, pick := rng.Float64()*total, n-1
		for i, v := range nearest {
			if at -= v; at < 0 {
				pick = i
				break
			}
		}
		centers = append(centers, row(pick)...)
	}
	const rows = 1024
	dist := make([]float64, min(n, rows)*k)
	member := make([]int, n)
	for range 50 {
		moved := false
		sum, count := make([]float64, k*dim), make([]int, k)
		for from := 0; from < n; from += rows {
			if err := interrupted(ctx); err != nil {
				return nil, err
			}
			to := min(n, from+rows)
			squares(workers, dim, x[from*dim:to*dim], centers, dist[:(to-from)*k])
			for i := from; i < to; i++ {
				best, list := 0, dist[(i-from)*k:][:k]
				for j, v := range list {
					if v < list[best] {
						best = j
					}
				}
				moved = moved || member[i] != best
				member[i] = best
				count[best]++
				for l, v := range row(i) {
					sum[best*dim+l] += v
				}
			}
		}
		for j, c := range count {
			for l := range dim {
				if c > 0 { // a centre of none stays
					centers[j*dim+l] = sum[j*dim+l] / float64(c)
				}
			}
		}
		if !moved {
			break
		}
	}
	return centers, nil
}
