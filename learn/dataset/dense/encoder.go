package dense

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Scaling says what becomes of numbers in tables.
type Scaling string

const (
	Standard  Scaling = "standard" // less the mean, by the standard deviation; the default
	Largest   Scaling = "largest"  // by the largest absolute value of all columns together: pixels
	Unchanged Scaling = "none"
)

// Encoder turns rows of tables into numbers: numeric columns scaled by what the
// training data had, a column for each level of a categorical one. Missing values and
// unseen levels are zero, which for Standard is the mean. Weights of rows do not enter the
// scaling: it is a choice of units.
type Encoder struct {
	Scaling Scaling         `json:"scaling"`
	Columns []EncoderColumn `json:"columns"`
	Reading table.Reading   `json:"reading,omitzero"` // how the training table was written
	// AbsentMissing is that of the training table.
	AbsentMissing bool `json:"absent_missing,omitempty"`
}

// Table returns an empty table of the columns that the encoder reads: what a reader of tables to
// come takes as its model, for table.Options.Like. classes are nil for regression.
func (e *Encoder) Table(classes []string) *table.Table {
	t := &table.Table{Classes: classes, Reading: e.Reading, AbsentMissing: e.AbsentMissing}
	for j := range e.Columns {
		c := table.Column{Name: e.Columns[j].Name, Levels: e.Columns[j].Levels}
		if len(c.Levels) > 0 {
			c.Kind = table.Categorical
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// EncoderColumn is one column of the training table.
type EncoderColumn struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels,omitempty"`
	Mean   float64  `json:"mean,omitempty"`
	Scale  float64  `json:"scale,omitempty"` // multiplies; 0 for a constant column
}

// NewEncoder fits an encoder to a table.
func NewEncoder(t *table.Table, scaling Scaling) (*Encoder, error) {
	switch scaling {
	case "":
		scaling = Standard
	case Standard, Largest, Unchanged:
	default:
		return nil, fmt.Errorf("dense: there is no scaling %q; choose standard, largest or none", scaling)
	}
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("dense: %s has no feature columns", t.Title())
	}
	t, err := t.Dense(0)
	if err != nil {
		return nil, fmt.Errorf("dense: %w", err)
	}
	e := &Encoder{Scaling: scaling, Reading: t.Reading, AbsentMissing: t.AbsentMissing}
	most := 0.0
	for j := range t.Columns {
		c := &t.Columns[j]
		k := EncoderColumn{Name: c.Name, Scale: 1}
		if c.Kind == table.Categorical {
			k.Levels = slices.Clone(c.Levels)
		}
		sum, sq, n := 0.0, 0.0, 0.0
		for _, v := range c.Values {
			if x := float64(v); x == x && c.Kind == table.Numeric {
				sum, n = sum+x, n+1
				most = math.Max(most, math.Abs(x))
			}
		}
		if n > 0 && scaling == Standard {
			k.Mean = sum / n
			for _, v := range c.Values {
				if d := float64(v) - k.Mean; d == d {
					sq += d * d
				}
			}
			k.Scale = 0
			if sd := math.Sqrt(sq / n); sd > 1e-12*math.Max(1, math.Abs(k.Mean)) {
				k.Scale = 1 / sd
			}
		}
		e.Columns = append(e.Columns, k)
	}
	if scaling == Largest && most > 0 {
		for j := range e.Columns {
			e.Columns[j].Scale = 1 / most
		}
	}
	return e, nil
}

// Features returns how many numbers a row becomes.
func (e *Encoder) Features() int {
	n := 0
	for j := range e.Columns {
		n += max(1, len(e.Columns[j].Levels))
	}
	return n
}

// Check returns what is wrong with an encoder that was read, for a model of that many features.
func (e *Encoder) Check(features int) error {
	if n := e.Features(); n != features {
		return fmt.Errorf("the encoder makes %d numbers of a row, the model reads %d", n, features)
	}
	for j := range e.Columns {
		if c := &e.Columns[j]; c.Mean-c.Mean != 0 || c.Scale-c.Scale != 0 {
			return fmt.Errorf("column %q of the encoder is scaled by %v from %v", c.Name, c.Scale, c.Mean)
		}
	}
	return nil
}

// Data encodes a table. Its columns must be those of training, in any order. Classes are matched by
// name when names are given. Targets may be absent for prediction (Data.Class is then nil).
func (e *Encoder) Data(t *table.Table, classes []string) (*Data, error) {
	t, err := t.Dense(0)
	if err != nil {
		return nil, fmt.Errorf("dense: %w", err)
	}
	d := &Data{Rows: t.Rows, Features: e.Features()}
	d.X = make([]float64, d.Rows*d.Features)
	at := 0
	for j := range e.Columns {
		k := &e.Columns[j]
		i := t.Column(k.Name)
		if i < 0 {
			return nil, fmt.Errorf("dense: %s has no column %q, which the model was trained on", t.Title(), k.Name)
		}
		c := &t.Columns[i]
		if (c.Kind == table.Categorical) != (len(k.Levels) > 0) {
			return nil, fmt.Errorf("dense: column %q of %s is %v, which it was not in training", k.Name,
				t.Title(), c.Kind)
		}
		if len(k.Levels) == 0 {
			for r, v := range c.Values {
				if x := (float64(v) - k.Mean) * k.Scale; x == x {
					d.X[r*d.Features+at] = x
				}
			}
			at++
			continue
		}
		to := make([]int, len(c.Levels))
		for l, name := range c.Levels {
			to[l] = slices.Index(k.Levels, name)
		}
		for r, v := range c.Values {
			if v == v && int(v) >= 0 && int(v) < len(to) && to[int(v)] >= 0 {
				d.X[r*d.Features+at+to[int(v)]] = 1
			}
		}
		at += len(k.Levels)
	}
	d.Weight = slices.Clone(t.Weight)
	if t.Target == nil {
		return d, nil
	}
	if t.Classes == nil {
		d.Y = slices.Clone(t.Target)
		return d, nil
	}
	names := classes
	if names == nil {
		names = t.Classes
	}
	d.Classes = len(names)
	to := make([]int, len(t.Classes))
	for c, name := range t.Classes {
		to[c] = slices.Index(names, name)
	}
	d.Class = make([]int32, t.Rows)
	for r, v := range t.Target {
		c := to[int(v)]
		if c < 0 {
			return nil, fmt.Errorf("dense: %s: class %q is none of %q", t.At(r), t.Classes[int(v)], names)
		}
		d.Class[r] = int32(c)
	}
	return d, nil
}
