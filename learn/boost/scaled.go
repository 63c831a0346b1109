package boost

import "github.com/tropica-fst/tropica/learn/dataset/table"

// Scaled is a predictor times a number: what becomes of a learner's predictor
// that is wanted with the other sign, or smaller.
type Scaled struct {
	Of     Predictor
	Factor float64
}

// scaled returns p times a factor, as one Scaled at most.
func scaled(p Predictor, factor float64) Predictor {
	if s, ok := p.(Scaled); ok {
		p, factor = s.Of, s.Factor*factor
	}
	if factor == 1 {
		return p
	}
	return Scaled{p, factor}
}

// Predict stores Factor h of the rows.
func (s Scaled) Predict(dst []float64, x *table.Table, from int) {
	s.Of.Predict(dst, x, from)
	for i := range dst {
		dst[i] *= s.Factor
	}
}

// Splits are those of the predictor; 0 when it is not a tree.
func (s Scaled) Splits() int { return splitsOf(s.Of) }

// Leaves are those of the predictor, scaled; nil when it is not a tree.
func (s Scaled) Leaves() []float64 {
	t, ok := s.Of.(Sized)
	if !ok {
		return nil
	}
	leaves := append([]float64(nil), t.Leaves()...)
	for i := range leaves {
		leaves[i] *= s.Factor
	}
	return leaves
}
