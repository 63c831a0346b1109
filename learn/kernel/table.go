package kernel

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/run"
)

// Rows lays out the features of a table as points, standardised as fs say (see
// linear.Features). Missing values are the mean, 0. A sparse table gives sparse rows, scaled
// but not shifted, so that zeros stay zeros.
func Rows[T gemm.Float](t *table.Table, fs []linear.Feature, workers int) *Points[T] {
	x := &Points[T]{Rows: t.Rows, Cols: len(fs)}
	if t.Sparse != nil {
		each := func(f func(j int, i int32, v float32)) {
			for j := range fs {
				rows, values := t.Sparse.Column(fs[j].Column)
				for e, i := range rows {
					if v := values[e]; v == v && v != 0 {
						f(j, i, v)
					}
				}
			}
		}
		x.Start = make([]int, t.Rows+1)
		each(func(_ int, i int32, _ float32) { x.Start[i+1]++ })
		for i := range t.Rows {
			x.Start[i+1] += x.Start[i]
		}
		at := append([]int(nil), x.Start[:t.Rows]...)
		x.Data, x.Index = make([]T, x.Start[t.Rows]), make([]int32, x.Start[t.Rows])
		each(func(j int, i int32, v float32) {
			x.Data[at[i]], x.Index[at[i]] = T(float64(v)*fs[j].Scale), int32(j)
			at[i]++
		})
		return x
	}
	x.Data = make([]T, t.Rows*len(fs))
	run.Blocks(workers, t.Rows, tile, func(_, from, to int) {
		for j := range fs {
			f := &fs[j]
			for i := from; i < to; i++ {
				x.Data[i*len(fs)+j] = T((f.Cell(t, i) - f.Mean) * f.Scale)
			}
		}
	})
	return x
}

// FeatureColumns returns which features come from the given columns of a table, for kernels
// of groups of columns. The error names a column that gives none.
func FeatureColumns(t *table.Table, fs []linear.Feature, columns []int) ([]int, error) {
	var out []int
	for _, c := range columns {
		if c < 0 || c >= len(t.Columns) {
			return nil, fmt.Errorf("kernel: column %d of %d", c+1, len(t.Columns))
		}
		found := false
		for j := range fs {
			if fs[j].Column == c {
				out, found = append(out, j), true
			}
		}
		if !found {
			return nil, fmt.Errorf("kernel: column %d, %q, tells no two rows apart", c+1, t.Columns[c].Name)
		}
	}
	return out, nil
}
