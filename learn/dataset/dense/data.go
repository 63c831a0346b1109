package dense

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Data are examples in numbers.
type Data struct {
	X              []float64 // a row of Features an example
	Rows, Features int

	// Class is what examples are of, from 0 to Classes-1. Two classes have one score,
	// which is positive for class 1; more have a score each.
	Class   []int32
	Classes int

	Y []float64 // for regression, in place of Class

	// Weight, if not nil, is how much each example counts in every loss, error and AUC. Means are
	// weighted, and a weight of 2 is equivalent to two copies. Minibatches are drawn evenly.
	Weight []float64
}

// Outputs returns the number of scores that a model has for these data: one for numbers and for
// two classes.
func (d *Data) Outputs() int {
	if d.Y == nil && d.Classes > 2 {
		return d.Classes
	}
	return 1
}

// Check returns what is wrong with the data: lengths, classes, numbers that are not
// finite.
func (d *Data) Check() error {
	switch {
	case d == nil:
		return errors.New("dense: no data: give examples to learn from")
	case d.Rows < 1 || d.Features < 1:
		return fmt.Errorf("dense: %d examples with %d features: there is nothing to learn from", d.Rows, d.Features)
	case len(d.X) != d.Rows*d.Features:
		return fmt.Errorf("dense: %d numbers for %d examples with %d features", len(d.X), d.Rows, d.Features)
	case d.Y == nil && len(d.Class) != d.Rows || d.Y != nil && len(d.Y) != d.Rows:
		return fmt.Errorf("dense: %d targets for %d examples", max(len(d.Class), len(d.Y)), d.Rows)
	case d.Y == nil && d.Classes < 2:
		return fmt.Errorf("dense: %d classes: there must be two at least", d.Classes)
	}
	for i, v := range d.X {
		if v-v != 0 {
			return fmt.Errorf("dense: example %d: feature %d is %v", i/d.Features+1, i%d.Features+1, v)
		}
	}
	for i, c := range d.Class {
		if d.Y == nil && (c < 0 || int(c) >= d.Classes) {
			return fmt.Errorf("dense: example %d: class %d of %d", i+1, c, d.Classes)
		}
	}
	if d.Weight != nil {
		sum := 0.0
		for i, v := range d.Weight {
			if !(v >= 0) || math.IsInf(v, 1) {
				return fmt.Errorf("dense: example %d: weight %v", i+1, v)
			}
			sum += v
		}
		if len(d.Weight) != d.Rows || !(sum > 0) || math.IsInf(sum, 1) {
			return fmt.Errorf("dense: %d weights for %d examples, of sum %v: they must be as many, and their sum "+
				"positive", len(d.Weight), d.Rows, sum)
		}
	}
	for i, v := range d.Y {
		if v-v != 0 {
			return fmt.Errorf("dense: example %d: target %v", i+1, v)
		}
	}
	return nil
}

// Subset returns copies of the given rows.
func (d *Data) Subset(rows []int) *Data {
	s := &Data{Rows: len(rows), Features: d.Features, Classes: d.Classes,
		X: make([]float64, 0, len(rows)*d.Features)}
	for _, i := range rows {
		s.X = append(s.X, d.X[i*d.Features:(i+1)*d.Features]...)
		if d.Y != nil {
			s.Y = append(s.Y, d.Y[i])
		} else {
			s.Class = append(s.Class, d.Class[i])
		}
		if d.Weight != nil {
			s.Weight = append(s.Weight, d.Weight[i])
		}
	}
	return s
}

// Weights returns the weights with mean 1, or nil.
func (d *Data) Weights() []float64 {
	if d.Weight == nil {
		return nil
	}
	out := slices.Clone(d.Weight)
	// By the mean, not the sum: n/sum may overflow where weights are tiny.
	mean := 0.0
	for _, v := range out {
		mean += v / float64(len(out))
	}
	for i := range out {
		out[i] /= mean
	}
	return out
}

// Fingerprint identifies data, so that a checkpoint is not applied to others. It is FNV-1a over all
// numbers, eight bytes at a time.
func (d *Data) Fingerprint() uint64 {
	h := uint64(14695981039346656037)
	add := func(v uint64) { h = (h ^ v) * 1099511628211 }
	for _, list := range [][]float64{d.X, d.Y, d.Weight} {
		add(uint64(len(list)))
		for _, v := range list {
			b := math.Float64bits(v)
			add(b ^ b>>32) // the low half alone moves the low bits of a product
		}
	}
	for _, c := range d.Class {
		add(uint64(c))
	}
	return h
}

// Targets stores y of every output of row i: ±1, or the number to be predicted.
func (d *Data) Targets(i, outputs int, y []float64) {
	for c := range y[:outputs] {
		switch {
		case d.Y != nil:
			y[c] = d.Y[i]
		case outputs == 1 && d.Class[i] == 1, outputs > 1 && int(d.Class[i]) == c:
			y[c] = 1
		default:
			y[c] = -1
		}
	}
}

// Longest returns the largest |(x, 1)| of a row, which bounds what |w| ≤ 1 can score.
func (d *Data) Longest() float64 {
	most := 0.0
	for i := range d.Rows {
		sq := 1.0
		for _, v := range d.X[i*d.Features:][:d.Features] {
			sq += v * v
		}
		most = math.Max(most, sq)
	}
	return math.Sqrt(most)
}
