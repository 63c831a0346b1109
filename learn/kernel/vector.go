package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Kind is a family of kernels of rows.
type Kind string

// The families.
const (
	Linear     Kind = "linear"     // x·y
	Polynomial Kind = "polynomial" // (x·y/Width + Offset)^Degree
	Gaussian   Kind = "gaussian"   // exp(-|x-y|²/(2 Width²))
	Laplacian  Kind = "laplacian"  // exp(-|x-y|₁/Width)
	Constant   Kind = "constant"   // 1
	Sigmoid    Kind = "sigmoid"    // tanh(x·y/Width + Offset): not positive semidefinite in general
)

// Vector is a kernel of rows of numbers.
type Vector struct {
	Kind   Kind    `json:"kind"`
	Width  float64 `json:"width,omitempty"`  // zero is 1
	Degree int     `json:"degree,omitempty"` // of polynomials; zero is 2
	Offset float64 `json:"offset,omitempty"` // of polynomials (not negative) and sigmoids
	// Columns are those that count, from 0; nil is all.
	Columns []int `json:"columns,omitempty"`
	// Normal divides by √(k(x,x) k(y,y)).
	Normal bool `json:"normal,omitempty"`
}

var _ Kernel[*Matrix] = Vector{}

func (k Vector) width() float64 {
	if k.Width == 0 {
		return 1
	}
	return k.Width
}

func (k Vector) degree() int {
	if k.Degree == 0 {
		return 2
	}
	return k.Degree
}

// Name implements Kernel; ParseVector reads it.
func (k Vector) Name() string {
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	parts := []string{string(k.Kind)}
	switch k.Kind {
	case Gaussian, Laplacian:
		parts = append(parts, g(k.width()))
	case Polynomial:
		parts = append(parts, strconv.Itoa(k.degree()), g(k.Offset), g(k.width()))
	case Sigmoid:
		parts = append(parts, g(k.Offset), g(k.width()))
	}
	s := strings.Join(parts, ":")
	if k.Normal {
		s += "/normal"
	}
	if k.Columns != nil {
		s += "@" + ranges(k.Columns)
	}
	return s
}

// ranges writes columns from 1 on: 1-3+7.
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, strconv.Itoa(list[i]+1))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i]+1, list[j]+1))
		}
		i = j + 1
	}
	return strings.Join(parts, "+")
}

// ParseVector reads linear, constant, polynomial:DEGREE:OFFSET:WIDTH, gaussian:WIDTH,
// laplacian:WIDTH or sigmoid:OFFSET:WIDTH, where what is left out at the end has its
// default. /normal behind it normalises, and @1-3+7 behind that takes columns 1, 2, 3 and 7.
func ParseVector(text string) (Vector, error) {
	fail := func(format string, args ...any) (Vector, error) {
		return Vector{}, fmt.Errorf("kernel: %q: %s", text, fmt.Sprintf(format, args...))
	}
	form, list, grouped := strings.Cut(text, "@")
	form, normal := strings.CutSuffix(form, "/normal")
	words := strings.Split(form, ":")
	k := Vector{Kind: Kind(words[0]), Normal: normal}
	var fields []any
	switch k.Kind {
	case Linear, Constant:
	case Polynomial:
		fields = []any{&k.Degree, &k.Offset, &k.Width}
	case Gaussian, Laplacian:
		fields = []any{&k.Width}
	case Sigmoid:
		fields = []any{&k.Offset, &k.Width}
	default:
		return fail("there is no kernel %q; there are linear, polynomial, gaussian, laplacian, constant and "+
			"sigmoid", words[0])
	}
	if len(words)-1 > len(fields) {
		return fail("%s takes %d numbers, not %d", k.Kind, len(fields), len(words)-1)
	}
	for i, w := range words[1:] {
		var err error
		switch to := fields[i].(type) {
		case *int:
			*to, err = strconv.Atoi(w)
		case *float64:
			*to, err = strconv.ParseFloat(w, 64)
		}
		if err != nil {
			return fail("%q is no number", w)
		}
		if _, degree := fields[i].(*int); (degree && k.Degree < 1) || (fields[i] == any(&k.Width) && k.Width <= 0) {
			return fail("%q must be above 0", w)
		}
	}
	if grouped {
		for part := range strings.SplitSeq(list, "+") {
			from, to, isRange := strings.Cut(part, "-")
			a, err := strconv.Atoi(from)
			b := a
			if err == nil && isRange {
				b, err = strconv.Atoi(to)
			}
			if err != nil || a < 1 || b < a || b > maxColumn {
				return fail("%q is no column or range of columns, counted from 1", part)
			}
			for j := a - 1; j < b; j++ {
				k.Columns = append(k.Columns, j)
			}
		}
	}
	if err := k.check(); err != nil {
		return fail("%v", err)
	}
	return k, nil
}

// maxColumn bounds columns, so that a range in a damaged file cannot take all memory.
const maxColumn = 1 << 24

func (k Vector) check() error {
	switch {
	case !(k.width() > 0) || math.IsInf(k.width(), 1):
		return fmt.Errorf("width %v must be above 0 and finite", k.Width)
	case k.degree() < 1:
		return fmt.Errorf("degree %d must be at least 1", k.Degree)
	case k.Offset-k.Offset != 0 || k.Kind == Polynomial && k.Offset < 0:
		return fmt.Errorf("offset %v must be finite and not negative", k.Offset)
	}
	sorted := slices.Sorted(slices.Values(k.Columns))
	if len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
		return errors.New("a column is listed twice")
	}
	if k.Columns != nil && len(k.Columns) == 0 {
		return errors.New("no columns")
	}
	return nil
}

// Len implements Kernel.
func (k Vector) Len(x *Matrix) int { return x.Rows }

// Between implements Kernel. Values of rows whose images are nearly equal are exact to a few
// times 1e-16·|y|², y being measured from the mean of its collection. Sparse rows are not
// shifted: there |x|² + |y|² takes its place.
func (k Vector) Between(x, y *Matrix) (Blocks, error) {
	f, err := between[float64](k, x, y)
	return Blocks(f), err
}

// Diagonal implements Kernel.
func (k Vector) Diagonal(x *Matrix) ([]float64, error) {
	if err := k.fits(x.Cols, x.Cols); err != nil {
		return nil, err
	}
	return diagonal(k, x.columns(k.Columns)), nil
}

func (k Vector) fits(x, y int) error {
	if err := k.check(); err != nil {
		return fmt.Errorf("kernel: %s: %w", k.Name(), err)
	}
	if x != y {
		return fmt.Errorf("kernel: rows of %d columns beside rows of %d", x, y)
	}
	for _, j := range k.Columns {
		if j < 0 || j >= x {
			return fmt.Errorf("kernel: %s: column %d of %d", k.Name(), j+1, x)
		}
	}
	return nil
}

// diagonal returns k(x_i, x_i) for points of the kernel's columns.
func diagonal[T gemm.Float](k Vector, x *Points[T]) []float64 {
	out := make([]float64, x.Rows)
	if k.Normal || k.Kind == Gaussian || k.Kind == Laplacian || k.Kind == Constant {
		for i := range out {
			out[i] = 1
		}
		if k.Normal {
			k.Normal = false
			for i, v := range diagonal(k, x) {
				if !(v > 0) {
					out[i] = 0
				}
			}
		}
		return out
	}
	for i, s := range x.squares(0, x.Rows) {
		out[i] = k.ofProduct(float64(s))
	}
	return out
}

// ofProduct returns the kernel of rows whose inner product is s.
func (k Vector) ofProduct(s float64) float64 {
	switch k.Kind {
	case Polynomial:
		return power(s/k.width()+k.Offset, k.degree())
	case Sigmoid:
		return math.Tanh(s/k.width() + k.Offset)
	}
	return s
}

func power(v float64, n int) float64 {
	out := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out *= v
		}
		v *= v
	}
	return out
}

// between is Between for numbers S, with products and values in T. Dense rows of x are
// brought into form block by block, so that no copy of them is needed.
func between[T, S gemm.Float](k Vector, x, y *Points[S]) (func(dst []T, stride, i0, i1, j0, j1 int), error) {
	if err := k.fits(x.Cols, y.Cols); err != nil {
		return nil, err
	}
	if (x.Start == nil) != (y.Start == nil) {
		return nil, errors.New("kernel: sparse rows beside dense ones")
	}
	if k.Kind == Constant {
		return func(dst []T, stride, i0, i1, j0, j1 int) {
			for i := range i1 - i0 {
				row := dst[i*stride:][:j1-j0]
				for j := range row {
					row[j] = 1
				}
			}
		}, nil
	}
	form := &form[T]{columns: k.Columns, unit: 1}
	if k.Kind == Gaussian {
		// Rows are measured from the mean of y, in units of the width: then products are
		// small and little is lost when they are subtracted.
		form.unit = T(1 / k.width())
		if y.Start == nil {
			form.shift = convert[T](y.columns(k.Columns).means())
		}
	}
	b := formed(form, y)
	a := b
	if x != y {
		a = &formedPoints[T]{block: func(i0, i1 int) *Points[T] { return part(form, x, i0, i1) }}
		if x.Start != nil {
			a = formed(form, x)
		}
	}
	return values(k, a, b), nil
}

// form is how rows are brought into the form that a kernel wants.
type form[T gemm.Float] struct {
	columns []int
	shift   []T // nil for none
	unit    T
}

// formedPoints are rows in form, all of them or a block at a time.
type formedPoints[T gemm.Float] struct {
	all   *Points[T]
	block func(i0, i1 int) *Points[T]
}

// rows returns points that have rows i0 to i1 from row at on.
func (f *formedPoints[T]) rows(i0, i1 int) (x *Points[T], at int) {
	if f.all != nil {
		return f.all, i0
	}
	return f.block(i0, i1), 0
}

func convert[T, S gemm.Float](x []S) []T {
	if same, ok := any(x).([]T); ok {
		return same
	}
	out := make([]T, len(x))
	for i, v := range x {
		out[i] = T(v)
	}
	return out
}

// formed brings all rows into form.
func formed[T, S gemm.Float](f *form[T], x *Points[S]) *formedPoints[T] {
	if x.Start == nil {
		return &formedPoints[T]{all: part(f, x, 0, x.Rows)}
	}
	p := x.columns(f.columns)
	out := &Points[T]{Rows: p.Rows, Cols: p.Cols, Data: convert[T](p.Data), Start: p.Start, Index: p.Index}
	if f.unit != 1 {
		out.Data = slices.Clone(out.Data)
		for i := range out.Data {
			out.Data[i] *= f.unit
		}
	}
	return &formedPoints[T]{all: out}
}

// part brings some dense rows into form.
func part[T, S gemm.Float](f *form[T], x *Points[S], i0, i1 int) *Points[T] {
	if same, ok := any(x).(*Points[T]); ok && f.columns == nil && f.shift == nil && f.unit == 1 {
		return &Points[T]{Rows: i1 - i0, Cols: x.Cols, Data: same.Data[i0*x.Cols : i1*x.Cols]}
	}
	d := x.Cols
	if f.columns != nil {
		d = len(f.columns)
	}
	out := &Points[T]{Rows: i1 - i0, Cols: d, Data: make([]T, (i1-i0)*d)}
	for i := i0; i < i1; i++ {
		from, to := x.Row(i), out.Row(i-i0)
		if f.columns == nil {
			for j, v := range from {
				to[j] = T(v)
			}
		} else {
			for j, c := range f.columns {
				to[j] = T(from[c])
			}
		}
		if f.shift != nil {
			for j, v := range f.shift {
				to[j] = (to[j] - v) * f.unit
			}
		}
	}
	return out
}

// values returns the kernel of points in form; a and b are the same pointer where they are
// the same rows.
func values[T gemm.Float](k Vector, a, b *formedPoints[T]) func(dst []T, stride, i0, i1, j0, j1 int) {
	y, same := b.all, a == b
	switch {
	case k.Kind == Laplacian:
		scale := -1 / k.width()
		return func(dst []T, stride, i0, i1, j0, j1 int) {
			x, at := a.rows(i0, i1)
			for i := range i1 - i0 {
				row := dst[i*stride:][:j1-j0]
				for j := range row {
					row[j] = T(scale * distance1(x, at+i, y, j0+j))
				}
				exponentials(row)
			}
		}
	case k.Kind == Gaussian:
		half := halfSquares(y, 0, y.Rows)
		return func(dst []T, stride, i0, i1, j0, j1 int) {
			x, at := a.rows(i0, i1)
			var own []T
			if same {
				own = half[i0:i1]
			} else {
				own = halfSquares(x, at, at+i1-i0)
			}
			products(dst, stride, x, at, at+i1-i0, y, j0, j1)
			for i, h := range own {
				row, half := dst[i*stride:][:j1-j0], half[j0:j1]
				for j, v := range row {
					row[j] = min(0, v-(h+half[j]))
				}
				exponentials(row)
				if same && j0 <= i0+i && i0+i < j1 {
					row[i0+i-j0] = 1
				}
			}
		}
	}
	var inverse []T // 1/√k(y,y)
	if k.Normal {
		inverse = inverseRoots(k, y, 0, y.Rows)
	}
	return func(dst []T, stride, i0, i1, j0, j1 int) {
		x, at := a.rows(i0, i1)
		products(dst, stride, x, at, at+i1-i0, y, j0, j1)
		var own []T
		switch {
		case k.Normal && same:
			own = inverse[i0:i1]
		case k.Normal:
			own = inverseRoots(k, x, at, at+i1-i0)
		}
		for i := range i1 - i0 {
			row := dst[i*stride:][:j1-j0]
			if k.Kind != Linear {
				for j, v := range row {
					row[j] = T(k.ofProduct(float64(v)))
				}
			}
			if own == nil {
				continue
			}
			for j, v := range inverse[j0:j1] {
				row[j] *= own[i] * v // in this order x, y and y, x have the same bits
			}
			if same && j0 <= i0+i && i0+i < j1 && own[i] > 0 {
				row[i0+i-j0] = 1
			}
		}
	}
}

// halfSquares returns |x_i|²/2.
func halfSquares[T gemm.Float](x *Points[T], i0, i1 int) []T {
	out := x.squares(i0, i1)
	for i := range out {
		out[i] *= 0.5
	}
	return out
}

// inverseRoots returns 1/√k(x_i, x_i), 0 where that is not positive.
func inverseRoots[T gemm.Float](k Vector, x *Points[T], i0, i1 int) []T {
	out := x.squares(i0, i1)
	for i, s := range out {
		if v := k.ofProduct(float64(s)); v > 0 {
			out[i] = T(1 / math.Sqrt(v))
		} else {
			out[i] = 0
		}
	}
	return out
}

// products stores x_i·y_j.
func products[T gemm.Float](dst []T, stride int, x *Points[T], i0, i1 int, y *Points[T], j0, j1 int) {
	if x.Start == nil {
		if x.Cols == 0 {
			for i := range i1 - i0 {
				clear(dst[i*stride:][:j1-j0])
			}
			return
		}
		gemm.Gemm(1, blas.NoTrans, blas.Trans, i1-i0, j1-j0, x.Cols, 1, x.Data[i0*x.Cols:], x.Cols,
			y.Data[j0*y.Cols:], y.Cols, 0, dst, stride)
		return
	}
	// A row of x is spread out, and each row of y is read along it.
	wide := make([]T, x.Cols)
	for i := i0; i < i1; i++ {
		for k := x.Start[i]; k < x.Start[i+1]; k++ {
			wide[x.Index[k]] = x.Data[k]
		}
		row := dst[(i-i0)*stride:][:j1-j0]
		for j := range row {
			var s T
			for k := y.Start[j0+j]; k < y.Start[j0+j+1]; k++ {
				s += wide[y.Index[k]] * y.Data[k]
			}
			row[j] = s
		}
		for k := x.Start[i]; k < x.Start[i+1]; k++ {
			wide[x.Index[k]] = 0
		}
	}
}

// distance1 returns |x_i - y_j|₁.
func distance1[T gemm.Float](x *Points[T], i int, y *Points[T], j int) float64 {
	if x.Start == nil {
		a, b := x.Row(i), y.Row(j)
		var s, t T
		b = b[:len(a)]
		for len(a) >= 2 {
			s += T(math.Abs(float64(a[0] - b[0])))
			t += T(math.Abs(float64(a[1] - b[1])))
			a, b = a[2:], b[2:]
		}
		for k := range a {
			s += T(math.Abs(float64(a[k] - b[k])))
		}
		return float64(s + t)
	}
	s := 0.0
	p, q := x.Start[i], y.Start[j]
	for p < x.Start[i+1] || q < y.Start[j+1] {
		switch {
		case q == y.Start[j+1] || p < x.Start[i+1] && x.Index[p] < y.Index[q]:
			s += math.Abs(float64(x.Data[p]))
			p++
		case p == x.Start[i+1] || y.Index[q] < x.Index[p]:
			s += math.Abs(float64(y.Data[q]))
			q++
		default:
			s += math.Abs(float64(x.Data[p] - y.Data[q]))
			p, q = p+1, q+1
		}
	}
	return s
}

// exponentials replaces every v by exp(v).
func exponentials[T gemm.Float](row []T) {
	for j, v := range row {
		row[j] = T(math.Exp(float64(v)))
	}
}
