package tree

import (
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// gather stores the given columns of n rows of a sparse table in s.features, row by row. It reports
// whether no value is missing.
func (s *walk) gather(columns []int32, x *table.Table, from, n int) (whole bool) {
	sp, stride := x.Sparse, len(columns)
	features := s.features[:n*stride]
	for i := range features {
		features[i] = sp.Implicit
	}
	sum := float32(0)
	if stride > 0 && sp.Implicit != sp.Implicit {
		sum = sp.Implicit
	}
	for k, j := range columns {
		rows, values := sp.Column(int(j))
		at, _ := slices.BinarySearch(rows, int32(from))
		for ; at < len(rows) && int(rows[at]) < from+n; at++ {
			v := values[at]
			features[(int(rows[at])-from)*stride+k] = v
			sum += v - v
		}
	}
	return sum == sum
}

// predictSparse is predict for a sparse table: only the columns that the tree reads are looked at.
func (t *Tree) predictSparse(dst []float64, x *table.Table, from int) {
	f := NewForest(1)
	f.Add(t, 1, 0)
	s := &walk{features: make([]float32, min(forestRows, len(dst))*max(len(f.columns), 1))}
	for start := 0; start < len(dst); start += forestRows {
		out := dst[start:min(start+forestRows, len(dst))]
		clear(out)
		f.block(s, out, x, from+start, len(out))
	}
}
