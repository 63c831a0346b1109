package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Points are rows of numbers, dense or sparse. A sparse one has Start; Data and Index then
// have the entries of row i at Start[i] to Start[i+1], columns ascending.
type Points[T gemm.Float] struct {
	Rows, Cols int
	Data       []T     // dense: Rows·Cols, row after row
	Start      []int   // sparse: one more than there are rows
	Index      []int32 // sparse: the column of each entry
}

// Matrix is Points in double precision.
type Matrix = Points[float64]

// NewMatrix returns dense points over data, which it keeps. It panics if the sizes differ.
func NewMatrix[T gemm.Float](rows, cols int, data []T) *Points[T] {
	if len(data) != rows*cols {
		panic(fmt.Sprintf("kernel: %d numbers are no %d by %d matrix", len(data), rows, cols))
	}
	return &Points[T]{Rows: rows, Cols: cols, Data: data}
}

// Row returns row i of dense points, which is shared.
func (x *Points[T]) Row(i int) []T { return x.Data[i*x.Cols:][:x.Cols:x.Cols] }

// Subset returns the given rows in the given order, copied.
func (x *Points[T]) Subset(rows []int) *Points[T] {
	out := &Points[T]{Rows: len(rows), Cols: x.Cols}
	if x.Start == nil {
		out.Data = make([]T, 0, len(rows)*x.Cols)
		for _, i := range rows {
			out.Data = append(out.Data, x.Row(i)...)
		}
		return out
	}
	out.Start = make([]int, 1, len(rows)+1)
	for _, i := range rows {
		from, to := x.Start[i], x.Start[i+1]
		out.Data = append(out.Data, x.Data[from:to]...)
		out.Index = append(out.Index, x.Index[from:to]...)
		out.Start = append(out.Start, len(out.Data))
	}
	return out
}

// Check returns an error that names the first number that is not finite, or what does not fit.
func (x *Points[T]) Check() error {
	if x.Start == nil {
		if len(x.Data) != x.Rows*x.Cols {
			return fmt.Errorf("kernel: %d numbers are no %d by %d matrix", len(x.Data), x.Rows, x.Cols)
		}
	} else if len(x.Start) != x.Rows+1 || x.Start[0] != 0 || !slices.IsSorted(x.Start) ||
		x.Start[x.Rows] != len(x.Data) || len(x.Index) != len(x.Data) {
		return fmt.Errorf("kernel: the parts of %d sparse rows do not fit each other", x.Rows)
	}
	for i, v := range x.Data {
		if v-v == 0 {
			continue
		}
		row, col := i/max(1, x.Cols), i%max(1, x.Cols)
		if x.Start != nil {
			row, col = rowAt(x.Start, i), int(x.Index[i])
		}
		return fmt.Errorf("kernel: row %d, column %d: %v is not finite", row+1, col+1, v)
	}
	for k, j := range x.Index {
		if j < 0 || int(j) >= x.Cols {
			return fmt.Errorf("kernel: row %d: column %d of %d", rowAt(x.Start, k)+1, j+1, x.Cols)
		}
		if k > x.Start[rowAt(x.Start, k)] && x.Index[k-1] >= j {
			return fmt.Errorf("kernel: row %d: columns are not ascending", rowAt(x.Start, k)+1)
		}
	}
	return nil
}

// rowAt returns the row that entry k belongs to.
func rowAt(start []int, k int) int {
	i, found := slices.BinarySearch(start, k)
	if !found {
		return i - 1
	}
	for start[i+1] == k { // empty rows
		i++
	}
	return i
}

// columns returns the points with the given columns alone, nil for all.
func (x *Points[T]) columns(list []int) *Points[T] {
	if list == nil {
		return x
	}
	out := &Points[T]{Rows: x.Rows, Cols: len(list)}
	if x.Start == nil {
		out.Data = make([]T, 0, x.Rows*len(list))
		for i := range x.Rows {
			row := x.Row(i)
			for _, j := range list {
				out.Data = append(out.Data, row[j])
			}
		}
		return out
	}
	at := make([]int32, x.Cols)
	for k, j := range list {
		at[j] = int32(k + 1)
	}
	ascending := slices.IsSorted(list)
	out.Start = make([]int, 1, x.Rows+1)
	for i := range x.Rows {
		from := len(out.Data)
		for k := x.Start[i]; k < x.Start[i+1]; k++ {
			if c := at[x.Index[k]]; c > 0 {
				out.Data, out.Index = append(out.Data, x.Data[k]), append(out.Index, c-1)
			}
		}
		if !ascending {
			sortEntries(out.Index[from:], out.Data[from:])
		}
		out.Start = append(out.Start, len(out.Data))
	}
	return out
}

// sortEntries sorts the few entries of a row by column.
func sortEntries[T gemm.Float](index []int32, data []T) {
	for i := range index {
		for j := i; j > 0 && index[j] < index[j-1]; j-- {
			index[j], index[j-1] = index[j-1], index[j]
			data[j], data[j-1] = data[j-1], data[j]
		}
	}
}

// means returns the mean of each column.
func (x *Points[T]) means() []T {
	sum := make([]float64, x.Cols)
	x.each(func(_, j int, v float64) { sum[j] += v })
	out := make([]T, x.Cols)
	for j, s := range sum {
		if out[j] = T(s / float64(max(1, x.Rows))); out[j]-out[j] != 0 {
			out[j] = 0 // sums beyond the range: no shift
		}
	}
	return out
}

// each visits the entries, row by row.
func (x *Points[T]) each(f func(i, j int, v float64)) {
	for i := range x.Rows {
		if x.Start == nil {
			for j, v := range x.Row(i) {
				f(i, j, float64(v))
			}
			continue
		}
		for k := x.Start[i]; k < x.Start[i+1]; k++ {
			f(i, int(x.Index[k]), float64(x.Data[k]))
		}
	}
}

// squares returns |x_i|² of rows i0 to i1.
func (x *Points[T]) squares(i0, i1 int) []T {
	out := make([]T, i1-i0)
	for i := range out {
		row := x.Data
		if x.Start == nil {
			row = x.Row(i0 + i)
		} else {
			row = row[x.Start[i0+i]:x.Start[i0+i+1]]
		}
		s := 0.0
		for _, v := range row {
			s += float64(v) * float64(v)
		}
		out[i] = T(min(s, math.MaxFloat64))
	}
	return out
}

// minus returns dense points with the shift taken off every row.
func (x *Points[T]) minus(shift []T) *Points[T] {
	out := &Points[T]{Rows: x.Rows, Cols: x.Cols, Data: make([]T, len(x.Data))}
	for i := range x.Rows {
		to := out.Row(i)
		for j, v := range x.Row(i) {
			to[j] = v - shift[j]
		}
	}
	return out
}
