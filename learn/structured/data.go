package structured

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// Kind is a kind of outputs.
type Kind string

// The kinds of outputs.
const (
	Class      Kind = "class"
	Number     Kind = "number"
	LabelSet   Kind = "labels"    // a column of 0 and 1 for each label
	HistogramY Kind = "histogram" // a column for each bin; the bins of a row add up to 1
	VectorY    Kind = "vector"
	RankingY   Kind = "ranking" // a column of ratings for each item; missing ones were not rated
	StringY    Kind = "string"
)

// Kinds lists them all.
var Kinds = []Kind{Class, Number, LabelSet, HistogramY, VectorY, RankingY, StringY}

// Data are examples: inputs, and outputs where they are labelled.
type Data struct {
	X    *table.Table // input columns, without a target; its rows are the examples
	Text []string     // inputs that are strings, in place of the columns; nil for rows

	Kind    Kind
	Names   []string // of the columns of outputs
	Classes []string // of Class
	Y       []float64
	YText   []string // of StringY
	// Y has a row of len(Names) numbers for each example. It is the number of the class for Class,
	// and NaN for RankingY where an item was not rated. It is nil without outputs.

	// Lexicon are strings that predictions are chosen from, for StringY; nil for none.
	Lexicon []string
}

// Rows returns the number of examples.
func (d *Data) Rows() int {
	if d.Text != nil {
		return len(d.Text)
	}
	return d.X.Rows
}

// Labelled reports whether there are outputs.
func (d *Data) Labelled() bool { return d.Y != nil || d.YText != nil }

// Row returns the outputs of example i.
func (d *Data) Row(i int) []float64 { return d.Y[i*len(d.Names):][:len(d.Names)] }

// Subset returns some of the examples.
func (d *Data) Subset(rows []int) *Data {
	out := *d
	out.X = d.X.Subset(rows)
	pick := func(s []string) []string {
		if s == nil {
			return nil
		}
		t := make([]string, len(rows))
		for k, i := range rows {
			t[k] = s[i]
		}
		return t
	}
	out.Text, out.YText = pick(d.Text), pick(d.YText)
	if d.Y != nil {
		out.Y = make([]float64, 0, len(rows)*len(d.Names))
		for _, i := range rows {
			out.Y = append(out.Y, d.Row(i)...)
		}
	}
	return &out
}

// Fingerprint identifies the examples by 64 bits in hexadecimal.
func (d *Data) Fingerprint() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%016x %s %q %q %d %d", d.X.Fingerprint(d.Y), d.Kind, d.Names, d.Classes,
		len(d.Text), len(d.Lexicon))
	for _, s := range slices.Concat(d.Text, d.YText, d.Lexicon) {
		io.WriteString(h, s)
		h.Write([]byte{0})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// ErrData reports examples that cannot be used.
var ErrData = errors.New("structured: unusable data")

// withTable gives examples whose inputs are strings a table of as many rows where they have none.
func (d *Data) withTable() (*Data, error) {
	if d == nil || d.X == nil && d.Text == nil {
		return nil, fmt.Errorf("%w: there are no inputs", ErrData)
	}
	if d.X != nil && (d.Text == nil || d.X.Rows == len(d.Text)) {
		return d, nil
	}
	out := *d
	out.X = &table.Table{Rows: len(d.Text)}
	return &out, nil
}

// check refuses outputs that do not fit their kind. Errors name the row and the column.
func (d *Data) check() error {
	n := d.Rows()
	if n == 0 {
		return fmt.Errorf("%w: no example", ErrData)
	}
	fail := func(i, j int, format string, a ...any) error {
		return fmt.Errorf("%w: %s: column %q: %s", ErrData, d.X.At(i), d.Names[j], fmt.Sprintf(format, a...))
	}
	if d.Kind == StringY {
		if len(d.YText) != n {
			return fmt.Errorf("%w: %d output strings for %d examples", ErrData, len(d.YText), n)
		}
		return nil
	}
	if !slices.Contains(Kinds, d.Kind) {
		return fmt.Errorf("%w: there is no kind of outputs %q; there are %v", ErrData, d.Kind, Kinds)
	}
	w := len(d.Names)
	if w == 0 || len(d.Y) != n*w {
		return fmt.Errorf("%w: %d outputs in %d columns for %d examples", ErrData, len(d.Y), w, n)
	}
	for k, v := range d.Y {
		i, j := k/w, k%w
		switch {
		case d.Kind == RankingY && math.IsNaN(v):
		case v-v != 0:
			return fail(i, j, "the output is missing or infinite")
		case d.Kind == LabelSet && v != 0 && v != 1:
			return fail(i, j, "%v is neither 0 nor 1", v)
		case d.Kind == Class && (v < 0 || int(v) >= len(d.Classes)):
			return fail(i, j, "there is no class of number %v", v)
		}
	}
	switch d.Kind {
	case Class:
		first := d.Y[0]
		if !slices.ContainsFunc(d.Y, func(v float64) bool { return v != first }) {
			return fmt.Errorf("%w: all examples are of the class %q; there must be two", ErrData,
				d.Classes[int(first)])
		}
	case RankingY:
		for i := range n {
			r := d.ratings(i)
			if len(r.Value) > 1 && slices.Min(r.Value) < slices.Max(r.Value) {
				return nil
			}
		}
		return fmt.Errorf("%w: %s: no example has two different ratings; there is no order to learn", ErrData,
			d.X.Title())
	case HistogramY:
		for i := range n {
			if err := OnSimplex(slices.Clone(d.Row(i))); err != nil {
				return fmt.Errorf("%w: %s: %w; scale the rows first", ErrData, d.X.At(i), err)
			}
		}
	}
	return nil
}

// ratings returns the ratings of example i.
func (d *Data) ratings(i int) Ratings {
	var r Ratings
	for j, v := range d.Row(i) {
		if v == v {
			r.Item, r.Value = append(r.Item, int32(j)), append(r.Value, v)
		}
	}
	return r
}

// Predictions are the outputs predicted for some examples, with what is known of them.
type Predictions struct {
	Kind  Kind
	Width int // numbers of an output
	// rows of Width numbers: of RankingY the scores of an order, the number of items for the best
	Y    []float64
	Text []string // of StringY

	F, Bound, Margin []float64 // see Decoded
	Exact            []Exactness
	Degenerate       []bool
	Influences       [][]Influence // the training outputs of the largest weights

	loss func(truth *Data, i int) float64 // of prediction i against the truth
}

// Row returns the outputs predicted for example i.
func (p *Predictions) Row(i int) []float64 { return p.Y[i*p.Width:][:p.Width] }

// Measure is a figure of an evaluation; less is better.
type Measure struct {
	Name  string
	Value float64
	Unit  string // "%" or none
}

// MeasureNames lists the measures of a kind of outputs, first what settings are chosen by.
func MeasureNames(k Kind) []string {
	switch k {
	case Class:
		return []string{"loss", "error"}
	case Number:
		return []string{"loss", "MAE", "RMSE"}
	case LabelSet:
		return []string{"loss", "Hamming", "F1 loss"}
	case HistogramY:
		return []string{"loss", "Hellinger", "RMSE"}
	case VectorY:
		return []string{"loss", "RMSE"}
	case RankingY:
		return []string{"loss", "rank loss"}
	}
	return []string{"loss", "error", "edits"}
}

// Judge measures predictions of labelled examples: the mean of the model's own loss, and the usual
// measure of the kind. These are errors in percent, Hamming losses by label, the rank loss relative
// to the worst order, and edits by symbol of the truth.
func (p *Predictions) Judge(d *Data) []Measure {
	n := float64(d.Rows())
	sums := make([]float64, len(MeasureNames(p.Kind)))
	rated, symbols := 0.0, 0
	for i := range d.Rows() {
		sums[0] += p.loss(d, i)
		var y, t []float64
		if d.Kind != StringY {
			y, t = p.Row(i), d.Row(i)
		}
		switch p.Kind {
		case Class:
			sums[1] += ZeroOne(y[0], t[0])
		case Number, VectorY:
			if p.Kind == Number {
				sums[1] += math.Abs(y[0] - t[0])
			}
			sums[len(sums)-1] += squaredDistance(y, t) / float64(p.Width)
		case LabelSet:
			a, b := sets(y), sets(t)
			for l := range a {
				sums[1] += ZeroOne(a[l], b[l]) / float64(p.Width)
			}
			sums[2] += F1.Of(a, b)
		case HistogramY:
			sums[1] += HellingerSq.Of(y, t)
			sums[2] += squaredDistance(y, t) / float64(p.Width)
		case RankingY:
			if loss, total := RankLoss(y, d.ratings(i)); total > 0 {
				sums[1] += loss / total
				rated++
			}
		case StringY:
			sums[1] += ZeroOne(p.Text[i], d.YText[i])
			e := metrics.Edits([]rune(p.Text[i]), []rune(d.YText[i]))
			sums[2] += float64(e.Errors)
			symbols += e.Base
		}
	}
	out := make([]Measure, len(sums))
	for k, name := range MeasureNames(p.Kind) {
		v := sums[k] / n
		unit := ""
		switch name {
		case "RMSE":
			v = math.Sqrt(v)
		case "error", "Hamming":
			v, unit = 100*v, "%"
		case "rank loss":
			v = sums[k] / math.Max(rated, 1)
		case "edits":
			v, unit = 100*sums[k]/math.Max(float64(symbols), 1), "%"
		}
		out[k] = Measure{name, v, unit}
	}
	return out
}

// sets makes a set of labels of zeros and ones.
func sets(y []float64) []bool {
	out := make([]bool, len(y))
	for l, v := range y {
		out[l] = v != 0
	}
	return out
}
