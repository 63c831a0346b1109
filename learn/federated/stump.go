package federated

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Stump is a base classifier: +1 where the column's value is at most Threshold, else -1;
// Negated turns it round. What is missing counts as small if MissingLeft. Column -1 is +1
// everywhere. As sums tell the sign, the class of a dictionary is closed under negation.
type Stump struct {
	Column      int32
	Threshold   float64
	MissingLeft bool
	Negated     bool
}

// stumpBytes is what a stump takes in a message.
const stumpBytes = 13

// Tree returns the stump as the models of package boost hold it.
func (s Stump) Tree() *tree.Tree {
	left := 1.0
	if s.Negated {
		left = -1
	}
	if s.Column < 0 {
		return &tree.Tree{Feature: []int32{-1}, Threshold: []float64{0}, Left: []int32{-1},
			Right: []int32{-1}, Flags: []uint8{0},
			Value: []float64{left}, Gain: []float64{0}, Cover: []float64{0}, Count: []int32{0}}
	}
	t := &tree.Tree{Feature: []int32{s.Column, -1, -1}, Threshold: []float64{s.Threshold, 0, 0},
		Left: []int32{1, -1, -1}, Right: []int32{2, -1, -1},
		Flags: []uint8{0, 0, 0}, Value: []float64{0, left, -left}, Gain: []float64{0, 0, 0},
		Cover: []float64{0, 0, 0}, Count: []int32{0, 0, 0}}
	if s.MissingLeft {
		t.Flags[0] = tree.MissingLeft
	}
	return t
}

// StumpOf reads a tree of at most one split on a column of numbers, with leaves ±1.
func StumpOf(p boost.Predictor) (Stump, error) {
	sign := 1.0
	if s, ok := p.(boost.Scaled); ok {
		p, sign = s.Of, s.Factor
	}
	t, ok := p.(*tree.Tree)
	switch {
	case !ok || math.Abs(sign) != 1 || len(t.Set) > 0 && t.Set[0] >= 0:
	case len(t.Feature) == 1 && math.Abs(t.Value[0]) == 1:
		return Stump{Column: -1, Negated: sign*t.Value[0] < 0}, nil
	case len(t.Feature) == 3 && math.Abs(t.Value[1]) == 1 && t.Value[2] == -t.Value[1]:
		return Stump{t.Feature[0], t.Threshold[0], t.Flags[0]&tree.MissingLeft != 0, sign*t.Value[1] < 0}, nil
	}
	return Stump{},
		fmt.Errorf("federated: a base classifier is a stump of a column of numbers with leaves ±1, not %T", p)
}

// positive is the stump that is not negated.
func (s Stump) positive() Stump {
	s.Negated = false
	return s
}

// values stores the stump's values on all rows of x.
func (s Stump) values(dst []float64, x *table.Table) {
	at := 1.0
	if s.Negated {
		at = -1
	}
	if s.Column < 0 {
		for i := range dst {
			dst[i] = at
		}
		return
	}
	for i, v := range x.Columns[s.Column].Values[:len(dst)] {
		if float64(v) <= s.Threshold || s.MissingLeft && v != v {
			dst[i] = at
		} else {
			dst[i] = -at
		}
	}
}

// putStumps adds stumps to a message: stumpBytes each.
func putStumps(m *Message, name string, list []Stump) {
	column, threshold, flags := make([]int32, len(list)), make([]float64, len(list)), make([]uint8, len(list))
	for i, s := range list {
		column[i], threshold[i] = s.Column, s.Threshold
		if s.MissingLeft {
			flags[i] |= 1
		}
		if s.Negated {
			flags[i] |= 2
		}
	}
	put(m, name+"/column", column)
	put(m, name+"/threshold", threshold)
	put(m, name+"/flags", flags)
}

// getStumps reads stumps over so many columns; at most most, -1 for any number.
func getStumps(m *Message, name string, columns, most int) ([]Stump, error) {
	column, err := get[int32](m, name+"/column")
	if err != nil {
		return nil, err
	}
	if most >= 0 && len(column) > most {
		return nil, fail(WrongShape, m.Agent, "%d stumps, where %d were asked for", len(column), most)
	}
	threshold, err := floats(m, name+"/threshold", len(column))
	if err != nil {
		return nil, err
	}
	flags, err := get[uint8](m, name+"/flags", len(column))
	if err != nil {
		return nil, err
	}
	out := make([]Stump, len(column))
	for i := range out {
		if column[i] < -1 || int(column[i]) >= columns || flags[i] > 3 {
			return nil, fail(WrongShape, m.Agent, "stump %d is of column %d of %d", i+1, column[i]+1, columns)
		}
		out[i] = Stump{column[i], threshold[i], flags[i]&1 != 0, flags[i]&2 != 0}
	}
	return out, nil
}

// Dictionary is a learner that chooses from a fixed list of stumps, the first among equals up to
// rounding. It gives centralised boosting the candidates of a federated run.
type Dictionary []Stump

// Name implements boost.Learner.
func (Dictionary) Name() string { return "federated.dictionary" }

// Prepare implements boost.Learner. Memory is a byte for every row and stump.
func (l Dictionary) Prepare(d *boost.Data, _ int) (boost.Fitter, error) {
	f := &dictionaryFitter{list: l, rows: d.Rows()}
	h := make([]float64, d.Rows())
	for _, s := range l {
		if int(s.Column) >= len(d.X.Columns) {
			return nil, fmt.Errorf("federated: a stump of column %d, the table has %d", s.Column+1,
				len(d.X.Columns))
		}
		s.values(h, d.X)
		signs := make([]int8, len(h))
		for i, v := range h {
			signs[i] = int8(v)
		}
		f.signs = append(f.signs, signs)
	}
	return f, nil
}

type dictionaryFitter struct {
	list  Dictionary
	rows  int
	signs [][]int8
}

// Fit implements boost.Fitter: the stump of largest edge, in absolute value.
func (f *dictionaryFitter) Fit(ctx context.Context, p *boost.Direction) (*boost.Fit, error) {
	if ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	u := make([]float64, f.rows)
	if p.Rows == nil {
		for i := range u {
			u[i] = p.SignedWeight(i)
		}
	}
	for _, i := range p.Rows {
		u[i] = p.SignedWeight(int(i))
	}
	best, edge := -1, 0.0
	for k, signs := range f.signs {
		e := 0.0
		for i, v := range u {
			e += v * float64(signs[i])
		}
		if better(math.Abs(e), math.Abs(edge)) || best < 0 {
			best, edge = k, e
		}
	}
	if best < 0 {
		return nil, fmt.Errorf("federated: the dictionary is empty")
	}
	s := f.list[best]
	if edge < 0 {
		s.Negated = !s.Negated
	}
	fit := &boost.Fit{Predictor: s.Tree(), Values: make([]float64, f.rows), Complexity: math.NaN()}
	for i, v := range f.signs[best] {
		fit.Values[i] = float64(v)
		if edge < 0 {
			fit.Values[i] = -fit.Values[i]
		}
	}
	return fit, nil
}

// tied is the relative difference up to which two scores are equal, so that rounding does
// not choose.
const tied = 1e-9

func better(a, b float64) bool { return a > b+tied*math.Abs(b) }
