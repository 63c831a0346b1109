package multi

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
)

// candidate is a base predictor for a slot.
type candidate struct {
	slot      int
	charge    float64 // of its family; 1 without families
	values    []float64
	predictor boost.Predictor
	ray       *ray
	g         float64 // right derivative of the objective along it
	score     float64
	own       own
}

// fit asks the learners of the given slots for predictors along signed weights u, given for all
// slots. With own each learner sees only the rows of its domain. With families there is one of each
// for every slot, slot by slot.
func (r *training) fit(u [][]float64, slots []int, ownRows bool) ([]*candidate, error) {
	normalise(u)
	if r.o.Families == nil {
		return r.fitBy(r.fitters, u, slots, ownRows)
	}
	out := make([]*candidate, len(slots)*len(r.o.Families))
	for j, f := range r.families {
		list, err := r.fitBy(slices.Repeat([]boost.Fitter{f}, r.s.slots), u, slots, ownRows)
		if err != nil {
			return nil, fmt.Errorf("family %d: %w", j+1, err)
		}
		for n, c := range list {
			c.charge = r.o.Families[j].Charge
			out[n*len(r.o.Families)+j] = c
		}
	}
	return out, nil
}

// firstOfSlots keeps the first candidate of each slot, of those in order of their scores: its
// best family.
func firstOfSlots(cands []*candidate) []*candidate {
	seen := map[int]bool{}
	return slices.DeleteFunc(cands, func(c *candidate) bool {
		again := seen[c.slot]
		seen[c.slot] = true
		return again
	})
}

// fitBy asks these fitters, by slot.
func (r *training) fitBy(fitters []boost.Fitter, u [][]float64, slots []int,
	ownRows bool) ([]*candidate, error) {
	out := make([]*candidate, len(slots))
	if m, ok := fitters[0].(SlotFitter); ok && !ownRows && len(slots) == len(u) && len(r.o.Learners) == 0 {
		fits, err := m.FitSlots(r.run.Ctx, u, r.run.Steps())
		if err != nil {
			return nil, err
		}
		for n, f := range fits {
			if out[n], err = r.candidate(slots[n], f, u[slots[n]]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	g := make([]float64, len(r.s.f))
	for n, slot := range slots {
		for i, v := range u[slot] {
			g[i] = -v
		}
		d := &boost.Direction{G: g, Round: r.run.Steps()}
		if ownRows {
			d.Rows = r.rows[slot]
		}
		f, err := fitters[slot].Fit(r.run.Ctx, d)
		if err != nil {
			return nil, err
		}
		if out[n], err = r.candidate(slot, f, u[slot]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// normalise makes the largest sum of absolute weights 1, for learners that have
// tolerances.
func normalise(u [][]float64) {
	for _, list := range u {
		sum := 0.0
		for _, v := range list {
			sum += math.Abs(v)
		}
		if sum > 0 {
			for i := range list {
				list[i] /= sum
			}
		}
	}
}

// candidate checks what a learner returned. The classes are closed under negation, so
// a predictor that goes the wrong way is turned round.
func (r *training) candidate(slot int, f *boost.Fit, u []float64) (*candidate, error) {
	if len(f.Values) != len(r.s.f) {
		return nil, fmt.Errorf("the base predictor of slot %d has %d values for %d rows", slot+1,
			len(f.Values), len(r.s.f))
	}
	c := &candidate{slot: slot, charge: 1, values: f.Values, predictor: f.Predictor}
	edge := 0.0
	for i, v := range f.Values {
		if !(v >= -1 && v <= 1) {
			return nil, fmt.Errorf("%w: the base predictor of slot %d is %v at %s, and must be in [-1, 1]",
				boost.ErrRange, slot+1, v, r.d.X.At(i))
		}
		edge += u[i] * v
	}
	if edge < 0 {
		c.negate()
	}
	return c, nil
}

func (c *candidate) negate() {
	c.values = slices.Clone(c.values)
	for i := range c.values {
		c.values[i] = -c.values[i]
	}
	if s, ok := c.predictor.(boost.Scaled); ok {
		c.predictor = boost.Scaled{Of: s.Of, Factor: -s.Factor}
		return
	}
	c.predictor = boost.Scaled{Of: c.predictor, Factor: -1}
}

// addTerm adds a candidate's term to the model and to all scores.
func (r *training) addTerm(p *Progress, c *candidate, alpha float64) {
	s := r.s
	s.add(c.slot, c.values, c.charge, alpha)
	s.rescore()
	e := r.e.Slots[c.slot]
	e.Terms = append(e.Terms, boost.Term{Weight: alpha, Predictor: c.predictor, Family: -1,
		Round: r.run.Steps()})
	if v := r.valid; v != nil {
		h := make([]float64, len(v.f))
		forBlocks(s.workers, len(h),
			func(_, from, to int) { c.predictor.Predict(h[from:to:to], r.o.Valid.X, from) })
		v.add(c.slot, h, c.charge, alpha)
		v.rescore()
	}
	p.Terms = append(p.Terms, Added{Slot: c.slot, Step: alpha, Derivative: c.g, Qbar: c.own.qbar})
}
