package multi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// noStep is a step that counts as none.
const noStep = 1e-10

// maximum is a round of figure 4.1. Each domain with the largest loss trains a predictor on its own
// rows. The predictor along which its domain's loss falls fastest takes a step. The maximum itself
// need not fall, see the package comment; unless Literal,
// line search and bound then try, in this order, the other candidates, the other
// slots, and a step along a common direction of descent.
func (r *training) maximum(p *Progress) error {
	s := r.s
	f := s.penalised(s.losses(), 0)
	a := r.aggregate(f)
	active := r.active(f)
	cands, err := r.ownCandidates(active)
	if err != nil {
		return err
	}
	if len(cands) == 0 {
		r.stalled = "no base predictor has an edge on a domain of largest loss"
		return nil
	}
	defer func() { p.Objective = a.value(s.penalised(s.losses(), 0)) }()
	if eta := r.maximumStep(a, f, cands[0]); eta >= noStep {
		r.addTerm(p, cands[0], eta)
		return nil
	}
	r.stalled = fmt.Sprintf("the step in round %d is 0: the largest loss is that of %d of %d domains, and no "+
		"predictor of theirs lowers it (the literal algorithm stalls; the default objective does not)",
		r.run.Steps()+1, len(active), s.p)
	if r.o.Literal {
		return nil
	}
	for _, x := range cands[1:] {
		if eta := r.maximumStep(a, f, x); eta >= noStep {
			p.Rescued = "another domain of largest loss"
			r.addTerm(p, x, eta)
			return nil
		}
	}
	others, err := r.ownCandidates(numbers(s.slots))
	if err != nil {
		return err
	}
	for _, x := range others {
		if slices.Contains(active, x.slot) {
			continue
		}
		if eta := r.maximumStep(a, f, x); eta >= noStep {
			p.Rescued = "a domain whose loss is not the largest"
			r.addTerm(p, x, eta)
			return nil
		}
	}
	return r.common(p, a, cands, active)
}

// active are the domains with the largest loss: those of the maximiser's support, and
// over the simplex all that tie.
func (r *training) active(f []float64) []int {
	var out []int
	top, lambda := r.o.Target.Max(f)
	for k, v := range f {
		if r.o.Target.simplex() && v >= top-tieTolerance*math.Abs(top) || !r.o.Target.simplex() && lambda[k] > 0 {
			out = append(out, k)
		}
	}
	return out
}

// ownCandidates trains the slots of domains on their own rows, and orders those with an
// edge by how fast their own loss falls.
func (r *training) ownCandidates(domains []int) ([]*candidate, error) {
	s := r.s
	cands, err := r.fit(s.signed(nilShares(s.p), true), domains, true)
	if err != nil {
		return nil, err
	}
	for _, x := range cands {
		x.own = s.onOwn(x.slot, x.values)
		x.score = x.own.z * (1 - 2*x.own.eps)
		if s.penalty != nil {
			x.score -= s.penalty[x.slot] * x.charge
		}
		x.g = -x.score
	}
	cands = slices.DeleteFunc(cands, func(x *candidate) bool { return !(x.score > 2*noSlope*x.own.z) })
	slices.SortStableFunc(cands, func(a, b *candidate) int { return cmp.Compare(b.score, a.score) })
	return firstOfSlots(cands), nil
}

// nilShares stands for weights that own directions do not read.
func nilShares(p int) []float64 { return make([]float64, p) }

// maximumStep is how far a candidate goes; 0 where the maximum does not fall at once.
func (r *training) maximumStep(a *aggregate, f []float64, x *candidate) float64 {
	s, o := r.s, &r.o
	switch o.Step {
	case Closed:
		penalty := 0.0
		if s.penalty != nil {
			penalty = s.penalty[x.slot] * x.charge / x.own.z
		}
		return closedStep(x.own.eps, penalty, o.EtaMax)
	case SqrtStep:
		return min(o.StepC/math.Sqrt(float64(r.run.Steps()+1)), o.EtaMax)
	case Bound:
		b := newBound(s.phi, f, s.onAll(x.slot, x.values))
		for k, v := range s.penalty {
			b.rate[k] = v * s.cost(x.slot, x.charge)
		}
		eta := b.minimise(o.EtaMax)
		if b.at(eta) >= b.at(0) {
			return 0
		}
		return eta
	}
	x.ray = s.ray(x.slot, x.values, x.charge)
	eta, _ := s.lineSearch(a, x.ray, o.EtaMax)
	return eta
}

// stepBound is lemma 4.3, corrected: for eta >= 0
//
//	F_l(alpha + eta e) <= A_l + Z_l/m_l [(1-eps_l) exp(-eta) + eps_l exp(eta)]
//
// with A_l = 0 for the exponential loss, and F_l - Z_l/m_l for the logistic one. The lemma as
// printed has no A_l, and is then false for the logistic loss: at eta = 0 and f = 0 it states ln 2
// <= 1/2.
type stepBound struct {
	a, z, eps, rate []float64
}

func newBound(p phi, f []float64, all []own) *stepBound {
	b := &stepBound{rate: make([]float64, len(f))}
	for l, o := range all {
		b.z, b.eps = append(b.z, o.z), append(b.eps, o.eps)
		// With penalties F_l has them, and for the exponential loss Z_l/m_l is the rest.
		b.a = append(b.a, f[l]-o.z)
		if !p.logistic && math.Abs(b.a[l]) < 1e-12*f[l] {
			b.a[l] = 0
		}
	}
	return b
}

// at is the largest bound of a domain.
func (b *stepBound) at(eta float64) float64 {
	top := math.Inf(-1)
	for l := range b.z {
		top = max(top, b.a[l]+b.rate[l]*eta+b.z[l]*((1-b.eps[l])*math.Exp(-eta)+b.eps[l]*math.Exp(eta)))
	}
	return top
}

// minimise finds the least of that convex function on [0, most].
func (b *stepBound) minimise(most float64) float64 {
	return golden(b.at, 0, most, 60)
}

// common moves the candidates of all active domains together, along the shortest vector of the
// convex hull of the domains' gradients in these coordinates. All active losses fall along its
// negative, unless it is 0 and the point is optimal for these predictors.
func (r *training) common(p *Progress, a *aggregate, cands []*candidate, active []int) error {
	s := r.s
	n := len(cands)
	grads := make([][]float64, len(active))
	for i := range grads {
		grads[i] = make([]float64, n)
	}
	for j, x := range cands {
		x.ray = s.ray(x.slot, x.values, x.charge)
		_, d, _ := s.along(x.ray, 0, true)
		for i, k := range active {
			grads[i][j] = d[k]
			if s.penalty != nil {
				grads[i][j] += s.penalty[k] * x.charge
			}
		}
	}
	v := shortest(grads)
	size := math.Sqrt(dot(v, v))
	if !(size > noSlope) {
		r.stalled = fmt.Sprintf("round %d: no direction among these predictors lowers all of the largest "+
			"losses: their maximum is least here", r.run.Steps()+1)
		return nil
	}
	joint := &ray{z: make([]float64, len(s.f))}
	most := 0.0
	for j, x := range cands {
		step := -v[j] / size
		if step < 0 {
			x.negate()
			x.ray = s.ray(x.slot, x.values, x.charge)
			step = -step
		}
		v[j] = step
		most = max(most, step)
		joint.cost += step * x.ray.cost
		for i, z := range x.ray.z {
			joint.z[i] += step * z
		}
	}
	eta, _ := s.lineSearch(a, joint, r.o.EtaMax/most)
	if eta < noStep {
		return nil
	}
	p.Rescued = "a common direction of descent"
	for j, x := range cands {
		if v[j] > 0 {
			r.addTerm(p, x, eta*v[j])
		}
	}
	return nil
}

// shortest returns the vector of least norm in the convex hull of the given ones, by
// pairwise steps of Frank and Wolfe's method, each exact.
func shortest(of [][]float64) []float64 {
	v, _ := shortestWith(of)
	return v
}

// shortestWith returns the weights too.
func shortestWith(of [][]float64) (v, weight []float64) {
	weight = make([]float64, len(of))
	weight[0] = 1
	v = slices.Clone(of[0])
	for range 10000 {
		toward, away := 0, -1
		for k := range of {
			if dot(of[k], v) < dot(of[toward], v) {
				toward = k
			}
			if weight[k] > 0 && (away < 0 || dot(of[k], v) > dot(of[away], v)) {
				away = k
			}
		}
		d := make([]float64, len(v))
		for j := range d {
			d[j] = of[toward][j] - of[away][j]
		}
		gap, square := -dot(d, v), dot(d, d)
		if square == 0 || gap <= 1e-14*(1+dot(v, v)) {
			break
		}
		step := min(gap/square, weight[away])
		weight[toward] += step
		weight[away] -= step
		clear(v)
		for k, w := range weight {
			for j, x := range of[k] {
				v[j] += w * x
			}
		}
	}
	return v, weight
}
