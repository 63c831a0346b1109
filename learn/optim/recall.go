package optim

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Recaller is a Risk that keeps what its tangents were made of: of a sum of maxima, the maximisers
// of each term.
type Recaller interface {
	Risk
	// Recall makes a plane of the largest kept for each term, at w. That costs no search. It stores
	// the slope in a, which it clears first, and returns the plane's value at w. The plane lies
	// below the risk. ok is false where nothing is kept.
	Recall(w, a []float64) (value float64, ok bool, err error)
	// Keep keeps what the last tangent was made of.
	Keep()
}

// How far a model is improved by what risks recall, between two searches.
const (
	recallShare = 0.5 // of the gap that a search left: what the model may lack
	recallSteps = 50
)

// aim says where the next tangents are taken: it sets at. w is the best point, best the objective
// there, lower its bound, and constant what the objective has beside the model.
//
// Where risks recall, it minimises the objective with what they recall in place of the risks, by a
// bundle method around w. That ends when the minimum is known to a share of the gap between best
// and lower, or that gap is at most eps. T. Joachims, T. Finley and C. Yu, "Cutting-plane training
// of structural SVMs", Machine Learning 77, 2009, keep outputs likewise. Else it takes the point
// between the model's minimum and w.
//
// It returns the bound. The model must be solved before.
func (m *master) aim(risks []Risk, w, at [][]float64,
	best, lower, constant, eps, pull float64) (float64, error) {
	moved := false
	if kept := recallers(risks); kept != nil {
		var err error
		if lower, moved, err = m.recall(kept, w, at, best, lower, constant, eps, pull); err != nil {
			return lower, err
		}
	}
	if !moved {
		for d := range at {
			pulled(at[d], m.next[d], w[d], pull, best)
		}
	}
	return lower, nil
}

func recallers(risks []Risk) []Recaller {
	var out []Recaller
	for _, r := range risks {
		k, ok := r.(Recaller)
		if !ok {
			return nil
		}
		out = append(out, k)
	}
	return out
}

// recall is the part of aim for risks that recall. moved says whether at was set.
func (m *master) recall(kept []Recaller, w, at [][]float64, best, lower, constant, eps,
	pull float64) (bound float64, moved bool, err error) {
	a := make([]float64, m.n)
	value := func(x [][]float64, add bool) (float64, bool, error) {
		j := m.around(x) + constant
		for d, r := range kept {
			v, ok, err := r.Recall(x[d], a)
			if err != nil || !ok {
				return 0, false, err
			}
			j += v
			if add {
				p := NewPlane(a, v-floats.Dot(a, x[d]))
				p.Task = d
				m.add(p)
			}
		}
		return j, true, nil
	}
	if best-lower <= eps {
		return lower, false, nil
	}
	least, ok, err := value(w, false)
	if err != nil || !ok {
		return lower, false, err
	}
	centre, x := copies(w), copies(w)
	for range recallSteps {
		if best-lower <= eps || least-lower <= recallShare*(best-lower) {
			break
		}
		for d := range x {
			pulled(x[d], m.next[d], centre[d], pull, least)
		}
		j, _, err := value(x, true)
		if err != nil {
			return lower, false, err
		}
		if j < least {
			least, moved = j, true
			for d := range x {
				copy(centre[d], x[d])
			}
		}
		bound, err := m.solve(tight(least, math.Max(eps, recallShare*(best-lower))))
		if err != nil {
			return lower, false, err
		}
		lower = math.Max(lower, bound+constant)
	}
	if moved {
		for d := range at {
			copy(at[d], centre[d])
		}
	}
	return lower, moved, nil
}

// keep lets risks that recall keep what their last tangents were made of.
func keep(risks []Risk) {
	for _, r := range recallers(risks) {
		r.Keep()
	}
}

// copies returns copies of vectors.
func copies(x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = slices.Clone(x[i])
	}
	return out
}

// saved returns what brings the model back to where it is now.
func (m *master) saved() func() {
	cuts := Cuts{slices.Clone(m.cuts.Planes), slices.Clone(m.cuts.gram)}
	alpha, idle, next, linear := slices.Clone(m.alpha), slices.Clone(m.idle), copies(m.next),
		slices.Clone(m.linear)
	return func() { *m.cuts, m.alpha, m.idle, m.next, m.linear = cuts, alpha, idle, next, linear }
}
