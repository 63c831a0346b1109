package multi

import (
	"cmp"
	"math"
	"slices"
)

// noSlope is the size of a derivative, relative to the slope of the losses, that counts
// as none.
const noSlope = 1e-10

// smooth is a round on a differentiable objective (appendix B.4). The predictors of all slots are
// trained with the weights at its start and ordered by score. The first one, or each in turn, takes
// a step.
func (r *training) smooth(p *Progress) error {
	s := r.s
	f := s.losses()
	if !(maxOf(f) > math.SmallestNonzeroFloat64/0x1p-52) {
		return nil // every row is as right as numbers can say
	}
	s.penalised(f, 0)
	a := r.aggregate(f)
	pi := a.weights(f)
	cands, err := r.fit(s.signed(pi, r.o.Directions == Own), numbers(s.slots), r.o.Directions == Own)
	if err != nil {
		return err
	}
	c := s.newtonCurvature(pi)
	slope := 0.0 // of the losses: the largest derivative that could be
	for _, x := range cands {
		x.ray = s.ray(x.slot, x.values, x.charge)
		_, d, _ := s.along(x.ray, 0, true)
		for k, v := range s.penalty {
			d[k] += v * x.ray.cost
		}
		x.g = a.slope(f, d)
		x.own = own{qbar: 1}
		if x.slot < s.p {
			x.own = s.onOwn(x.slot, x.values)
		}
		factor := r.o.DomainFactor
		if x.slot == s.p {
			factor = 1
		}
		switch {
		case !(x.g < 0) || c[x.slot] == 0:
			x.score = 0
		case r.o.Score == DerivativeScore:
			x.score = -x.g * factor
		case r.o.Score == DecreaseScore:
			eta, _ := s.lineSearch(a, x.ray, r.o.EtaMax)
			moved, _, _ := s.along(x.ray, eta, false)
			x.score = (a.value(f) - a.value(s.penalised(moved, eta*x.ray.cost))) * factor
		default:
			x.score = x.g * x.g / c[x.slot] * factor
		}
	}
	for _, v := range s.onAll(0, cands[0].values) {
		slope = max(slope, v.z)
	}
	cands = slices.DeleteFunc(
		cands, func(x *candidate) bool { return !(x.score > 0) || !(x.g < -noSlope*slope) })
	slices.SortStableFunc(cands, func(a, b *candidate) int { return cmp.Compare(b.score, a.score) })
	cands = firstOfSlots(cands)
	if r.o.Round == Greedy && len(cands) > 1 {
		cands = cands[:1]
	}
	for _, x := range cands {
		eta := r.smoothStep(a, pi, x)
		if eta > 0 {
			r.addTerm(p, x, eta)
		}
	}
	p.Objective = a.value(s.penalised(s.losses(), 0))
	return nil
}

// smoothStep is how far a candidate goes.
func (r *training) smoothStep(a *aggregate, pi []float64, x *candidate) float64 {
	s := r.s
	switch r.o.Step {
	case SqrtStep:
		return min(r.o.StepC/math.Sqrt(float64(r.run.Steps()+1)), r.o.EtaMax)
	case Closed:
		// The bound of the pooled objective: exact when every Q h is -1 or +1.
		z, wrong := 0.0, 0.0
		for k, o := range s.onAll(x.slot, x.values) {
			z += pi[k] * o.z
			wrong += pi[k] * o.z * o.eps
		}
		penalty := 0.0
		for k, v := range s.penalty {
			penalty += pi[k] * v * x.ray.cost
		}
		return closedStep(wrong/z, penalty/z, r.o.EtaMax)
	}
	// Losses have changed since the round began, where earlier slots took steps. mu has not, so
	// every step lowers the same objective.
	eta, _ := s.lineSearch(a, x.ray, r.o.EtaMax)
	return eta
}

// closedStep minimises (1-eps) exp(-eta) + eps exp(eta) + penalty·eta over [0, most]:
// ½ log((1-eps)/eps) without penalty.
func closedStep(eps, penalty, most float64) float64 {
	eps = min(max(eps, 1e-12), 1-1e-12)
	if penalty == 0 {
		return min(max(math.Log((1-eps)/eps)/2, 0), most)
	}
	b := penalty / (2 * eps)
	return min(max(math.Log(-b+math.Sqrt(b*b+(1-eps)/eps)), 0), most)
}

// aggregate is the objective of a round that begins with losses f.
func (r *training) aggregate(f []float64) *aggregate {
	a := &aggregate{kind: r.o.Objective, set: &r.o.Target, mu: r.o.Mu, beta: r.o.Beta, m: r.s.m}
	if !r.o.FixedMu {
		a.mu /= maxOf(f)
	}
	return a
}

// numbers are 0 … n-1.
func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
