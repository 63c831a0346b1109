package boost

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Data is what a booster learns from: rows of features with labels and weights.
// NewData makes one of a table; a caller who has labels already may fill it in.
type Data struct {
	X *table.Table
	Y []float64 // labels as the loss wants them, one a row
	W []float64 // weights, finite and positive; nil is all 1

	ctx context.Context // of the run that learns from it; nil is none
}

// ErrData reports training or prediction data that cannot be used.
var ErrData = errors.New("unusable data")

// NewData takes labels and weights from the table. For a margin loss the first of two classes is -1
// and the second +1. For soft-max, classes keep their numbers; other losses use the target as it
// is. It leaves out rows of weight zero, so that they influence nothing, not even bins and
// thresholds. It also leaves out rows with a negative source, which belong to none.
func NewData(t *table.Table, l Loss) (*Data, error) {
	if t == nil {
		return nil, fmt.Errorf("boost: %w: there is no table", ErrData)
	}
	if t.Rows == 0 || len(t.Columns) == 0 {
		return nil, fmt.Errorf("boost: %s: %w: %d rows and %d columns of features", t.Title(), ErrData,
			t.Rows, len(t.Columns))
	}
	if t.Target == nil {
		return nil, fmt.Errorf("boost: %s: %w: there is no target column", t.Title(), ErrData)
	}
	total := 0.0
	keep := make([]int, 0, t.Rows)
	for i := range t.Rows {
		w := score.Weight(t.Weight, i)
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("boost: %s: %w: the weight %v is not a finite number from 0", t.At(i), ErrData, w)
		}
		total += w
		if w > 0 {
			keep = append(keep, i)
		}
	}
	if len(keep) == 0 || !usableWeights(total, len(keep)) {
		return nil, fmt.Errorf("boost: %s: %w: the weights sum to %v; their mean must lie between %v and %v",
			t.Title(), ErrData, total, leastWeight, 1/leastWeight)
	}
	if len(keep) < t.Rows {
		t = t.Subset(keep)
	}
	y, err := Labels(t, l)
	if err != nil {
		return nil, err
	}
	return &Data{X: t, Y: y, W: t.Weight}, nil
}

// Labels returns the labels of a table's rows as the loss wants them.
func Labels(t *table.Table, l Loss) ([]float64, error) {
	if err := score.Usable(l); err != nil {
		return nil, err
	}
	if len(t.Target) != t.Rows {
		return nil, fmt.Errorf("boost: %s: %w: %d targets for %d rows", t.Title(), ErrData, len(t.Target), t.Rows)
	}
	y := make([]float64, t.Rows)
	sign := score.HasMargin(l)
	if sign && t.Classes != nil && len(t.Classes) != 2 {
		return nil, fmt.Errorf("boost: %s: %w: the target %q has %d classes, the %s loss separates two", t.Title(),
			ErrLabel, t.TargetName, len(t.Classes), l.Name())
	}
	for i, v := range t.Target {
		if sign && t.Classes != nil {
			v = 2*v - 1
		}
		if err := l.Check(v); err != nil {
			return nil, fmt.Errorf("boost: %s: target %q: %w", t.At(i), t.TargetName, err)
		}
		y[i] = v
	}
	return y, nil
}

// ColumnWarnings reports categorical columns with more levels than trees distinguish, and how many
// rows that concerns. Trees distinguish as many as they have bins a column; 0 is tree.MaxBins, for
// exact trees too.
func ColumnWarnings(d *Data, bins int) []string {
	if bins == 0 {
		bins = tree.MaxBins
	}
	var out []string
	for j := range d.X.Columns {
		c := &d.X.Columns[j]
		if c.Kind != table.Categorical || len(c.Levels) <= bins && c.Levels != nil {
			continue
		}
		levels, rows := tree.DroppedLevels(c.Values, d.W, bins)
		if levels > 0 {
			out = append(out, fmt.Sprintf("column %q has %d levels and trees tell %d apart: the %d of least "+
				"weight, in %d rows, count as missing; join rare levels, or drop the column if it is an identifier",
				c.Name, levels+bins, bins, levels, rows))
		}
	}
	return out
}

// weightScale is what sums of weighted derivatives, such as those that a leaf needs, and
// penalties on leaves are multiplied by: the mean weight. So the unit of weights does not
// matter, and they count as weights of mean 1 do. A table whose weights are all 2 then has the
// leaves of the same table without weights, and not of one with each row twice.
func (d *Data) weightScale() float64 { return d.total() / float64(d.Rows()) }

// Subset returns the rows of those numbers, in that order.
func (d *Data) Subset(rows []int) *Data {
	s := &Data{X: d.X.Subset(rows), Y: make([]float64, len(rows))}
	for n, i := range rows {
		s.Y[n] = d.Y[i]
		if d.W != nil {
			s.W = append(s.W, d.W[i])
		}
	}
	return s
}

// Rows is the number of rows.
func (d *Data) Rows() int { return d.X.Rows }

// total is the sum of weights, in row order.
func (d *Data) total() float64 {
	if d.W == nil {
		return float64(d.X.Rows)
	}
	sum := 0.0
	for _, w := range d.W {
		sum += w
	}
	return sum
}

// check returns an error unless every part has a value a row that the loss can use.
func (d *Data) check(l Loss) error {
	if d == nil || d.X == nil || d.X.Rows == 0 || len(d.X.Columns) == 0 {
		return fmt.Errorf("boost: %w: no rows or no columns", ErrData)
	}
	if len(d.Y) != d.X.Rows || d.W != nil && len(d.W) != d.X.Rows {
		return fmt.Errorf("boost: %w: %d rows, %d labels, %d weights", ErrData, d.X.Rows, len(d.Y), len(d.W))
	}
	if err := d.X.CheckSparse(); err != nil {
		return fmt.Errorf("boost: %w: %w", ErrData, err)
	}
	for c := range d.X.Columns {
		if n := len(d.X.Columns[c].Values); n != d.X.Rows && d.X.Sparse == nil {
			return fmt.Errorf("boost: %w: column %q has %d values for %d rows", ErrData,
				d.X.Columns[c].Name, n, d.X.Rows)
		}
	}
	for i, w := range d.W {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("boost: %s: %w: the weight %v is not positive and finite (NewData leaves rows of "+
				"weight 0 out)", d.X.At(i), ErrData, w)
		}
	}
	if total := d.total(); !usableWeights(total, d.X.Rows) {
		return fmt.Errorf("boost: %s: %w: the weights sum to %v; their mean must lie between %v and %v",
			d.X.Title(), ErrData, total, leastWeight, 1/leastWeight)
	}
	for i, v := range d.Y {
		if err := l.Check(v); err != nil {
			return fmt.Errorf("boost: %s: %w", d.X.At(i), err)
		}
	}
	return nil
}

// leastWeight and its inverse bound the mean weight. The gain of a split has squares of sums of
// weighted derivatives. Beyond these bounds the squares leave the range of floats, and no split
// would be found.
const leastWeight = 1e-100

func usableWeights(total float64, rows int) bool {
	mean := total / float64(rows)
	return mean >= leastWeight && mean <= 1/leastWeight
}
