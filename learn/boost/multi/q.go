package multi

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Classifier is Q(k|x), which domain a row is likely to come from. It must not be
// negative, must sum to 1, and must be safe for use by several goroutines.
type Classifier interface {
	Domains() int
	// Predict stores Q(1|x), …, Q(p|x) of the rows from, from+1, … of x in dst, row by
	// row. x has the columns of the training table, in their order.
	Predict(dst []float64, x *table.Table, from int)
}

// Uniform is Q(k|x) = 1/p: it knows nothing.
type Uniform struct{ P int }

func (u Uniform) Domains() int { return u.P }

// Predict stores 1/p.
func (u Uniform) Predict(dst []float64, _ *table.Table, _ int) {
	for i := range dst {
		dst[i] = 1 / float64(u.P)
	}
}

// TrueSource is the exact Q: 1 for the source that the table names, 0 for the others. It serves
// tests and upper bounds, since rows to predict have no source. Without sources in the table, or
// for a row whose source is not one of the P, it is Uniform.
type TrueSource struct{ P int }

func (s TrueSource) Domains() int { return s.P }

// Predict stores 1 at each row's source.
func (s TrueSource) Predict(dst []float64, x *table.Table, from int) {
	if x.Source == nil {
		Uniform(s).Predict(dst, x, from)
		return
	}
	for i := 0; i*s.P < len(dst); i++ {
		q := dst[i*s.P : (i+1)*s.P]
		if k := x.Source[from+i]; k >= 0 && int(k) < s.P {
			clear(q)
			q[k] = 1
		} else {
			Uniform(s).Predict(q, x, from+i)
		}
	}
}

// Func makes a Classifier of a function that stores Q(.|x) of row i of x in dst. It has no
// place in a model file; see RegisterClassifier for types that have.
type Func struct {
	P int
	F func(dst []float64, x *table.Table, i int)
}

func (f Func) Domains() int { return f.P }

// Predict calls the function for each row.
func (f Func) Predict(dst []float64, x *table.Table, from int) {
	for i := 0; i*f.P < len(dst); i++ {
		f.F(dst[i*f.P:][:f.P:f.P], x, from+i)
	}
}

// ErrNoQ reports a model whose domain classifier was a matrix for the training rows. Its values for
// other rows must be given as a matrix too.
var ErrNoQ = errors.New("the model has no domain classifier")

var classifiers sync.Map // name -> func([]byte) (Classifier, error), and the type's name -> name

// RegisterClassifier makes domain classifiers of a user's type part of model files, under a name
// that must stay the same. Call it from init functions. The type must encode itself to the bytes
// that decode understands.
func RegisterClassifier[C interface {
	Classifier
	encoding.BinaryMarshaler
}](name string, decode func([]byte) (C, error)) {
	var c C
	classifiers.Store(fmt.Sprintf("%T", c), name)
	classifiers.Store("name:"+name, func(b []byte) (Classifier, error) { return decode(b) })
}

// qMatrix evaluates a classifier on all rows and checks what it says.
func qMatrix(c Classifier, x *table.Table, p, workers int) ([]float64, error) {
	if c.Domains() != p {
		return nil, fmt.Errorf("multi: the domain classifier knows %d domains, the data have %d", c.Domains(), p)
	}
	q := make([]float64, x.Rows*p)
	forBlocks(workers, x.Rows, func(_, from, to int) { c.Predict(q[from*p:to*p:to*p], x, from) })
	return q, checkQ(q, p, x)
}

func checkQ(q []float64, p int, x *table.Table) error {
	if len(q) != x.Rows*p {
		return fmt.Errorf("multi: Q has %d entries; %d rows of %d domains need %d", len(q), x.Rows, p, x.Rows*p)
	}
	for i := range x.Rows {
		sum := 0.0
		for k, v := range q[i*p : i*p+p] {
			if !(v >= 0 && v <= 1+sumTolerance) {
				return fmt.Errorf("multi: %s: Q(%d|x) is %v, not a probability", x.At(i), k+1, v)
			}
			sum += v
		}
		if !(sum > 1-1e-6 && sum < 1+1e-6) {
			return fmt.Errorf("multi: %s: Q(.|x) sums to %v, not to 1", x.At(i), sum)
		}
	}
	return nil
}

// MeanQ is the matrix of the mean Q(j|.) over the rows of each domain: row k, column j.
// Near the diagonal of ones Q separates the domains; rows of 1/p say nothing.
func MeanQ(q []float64, source []int32, p int) [][]float64 {
	out, rows := make([][]float64, p), make([]float64, p)
	for k := range out {
		out[k] = make([]float64, p)
	}
	for i, s := range source {
		rows[s]++
		for j, v := range q[i*p : i*p+p] {
			out[s][j] += v
		}
	}
	for k := range out {
		for j := range out[k] {
			out[k][j] /= max(rows[k], 1)
		}
	}
	return out
}

// WriteMeanQ prints that matrix for a person.
func WriteMeanQ(w io.Writer, names []string, mean [][]float64) error {
	if _, err := fmt.Fprintf(w, "Mean Q(column | rows of the domain):\n%24s", ""); err != nil {
		return err
	}
	for _, n := range names {
		fmt.Fprintf(w, " %12.12s", n)
	}
	fmt.Fprintln(w)
	for k, row := range mean {
		fmt.Fprintf(w, "%24.24s", names[k])
		for _, v := range row {
			fmt.Fprintf(w, " %12.4f", v)
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}
