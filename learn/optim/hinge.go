package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Hinge is a linear support vector machine of few features: minimise
//
//	Σ_i C_i max(0, 1 - y_i ⟨v, x_i⟩) + ½ Σ_j Penalty_j v_j²
//
// over v, by the primal-dual interior point method with Mehrotra's corrector (S. Mehrotra, SIAM J.
// Optimization 2, 1992). It takes 10 to 30 steps of n·d² + d³/3 operations, to any accuracy,
// whether or not the classes can be separated. Coordinates without a penalty, such as a constant,
// are free.
type Hinge struct {
	X       []float64 // n×d, row by row
	Y       []float64 // ±1
	C       []float64 // positive; one a row
	Penalty []float64 // not negative; one a column
	// Gap between value and bound at which to stop, in relation to the value; zero is 1e-9.
	Gap float64
}

// hingeRun is the state of a Hinge run. s_i = ⟨q_i, v⟩ + ξ_i - 1 ≥ 0 has the multiplier α_i,
// ξ_i ≥ 0 has β_i, and q_i is y_i x_i. At the optimum α + β = C and Penalty∘v = Σ α_i q_i.
type hingeRun struct {
	*Hinge
	n, d                    int
	q, v, qv, pull          []float64
	s, xi, alpha, beta      []float64
	dv, ds, dxi, da, weight []float64
	ta, tb, scaled, factor  []float64
	value, gap              float64
}

// Minimize returns the minimum's place, its value, and how far the value can be above the
// least by the dual's bound. The error is ErrSteps where rounding ends the run before the gap
// is met.
func (h *Hinge) Minimize() (v []float64, value, gap float64, err error) {
	n, d := len(h.Y), len(h.Penalty)
	if len(h.X) != n*d || len(h.C) != n || FirstNotFinite(h.X) >= 0 {
		return nil, 0, 0, fmt.Errorf("optim: Hinge: %d numbers, %d labels and %d weights for %d columns, all finite", len(h.X), n, len(h.C), d)
	}
	want := h.Gap
	if want == 0 {
		want = 1e-9
	}
	r := &hingeRun{Hinge: h, n: n, d: d, q: make([]float64, n*d), v: make([]float64, d), pull: make([]float64, d), dv: make([]float64, d), scaled: make([]float64, n*d), factor: make([]float64, d*d)}
	for _, p := range []*[]float64{&r.qv, &r.s, &r.xi, &r.alpha, &r.beta, &r.ds, &r.dxi, &r.da, &r.weight, &r.ta, &r.tb} {
		*p = make([]float64, n)
	}
	for i, y := range h.Y {
		for j, x := range h.X[i*d : (i+1)*d] {
			r.q[i*d+j] = y * x
		}
		r.s[i], r.xi[i], r.alpha[i], r.beta[i] = 1, 1, h.C[i]/2, h.C[i]/2
	}
	gap = math.Inf(1)
	for range 100 {
		r.measure()
		if r.gap < gap {
			v, value, gap = slices.Clone(r.v), r.value, r.gap
		}
		if gap <= want*math.Abs(value) {
			return v, value, max(gap, 0), nil
		}
		if !r.step() {
			break
		}
	}
	if gap <= max(want, 1e-5)*math.Abs(value) {
		return v, value, gap, nil // the limit of rounding
	}
	return v, value, gap, fmt.Errorf("optim: Hinge: %w: the gap is %.3g", ErrSteps, gap)
}

// measure computes the value and the gap to the dual's bound. α bounds the least value where
// Σ α_i q_i vanishes along free columns; what it has there counts with the size of v.
func (r *hingeRun) measure() {
	clear(r.pull)
	primal, dual := 0.0, 0.0
	for i := range r.n {
		row, t := r.q[i*r.d:(i+1)*r.d], 0.0
		for j, x := range row {
			t += x * r.v[j]
			r.pull[j] += r.alpha[i] * x
		}
		r.qv[i] = t
		primal += r.C[i] * max(0, 1-t)
		dual += r.alpha[i]
	}
	for j, p := range r.Penalty {
		primal += p * r.v[j] * r.v[j] / 2
		if p > 0 {
			dual -= r.pull[j] * r.pull[j] / (2 * p)
		} else {
			dual -= math.Abs(r.pull[j]) * (1 + math.Abs(r.v[j]))
		}
	}
	r.value, r.gap = primal, primal-dual
}

// step takes a step with its corrector, and reports false where rounding leaves none.
func (r *hingeRun) step() bool {
	n, d := r.n, r.d
	for i := range n {
		r.weight[i] = 1 / (r.s[i]/r.alpha[i] + r.xi[i]/r.beta[i])
		root := math.Sqrt(r.weight[i])
		for j, x := range r.q[i*d : (i+1)*d] {
			r.scaled[i*d+j] = root * x
		}
	}
	gemm.Syrk(1, true, d, n, 1, r.scaled, d, 0, r.factor, d)
	largest := 0.0
	for j, p := range r.Penalty {
		r.factor[j*d+j] += p
		largest = max(largest, r.factor[j*d+j])
	}
	for j := range d {
		r.factor[j*d+j] += 1e-15 * largest
	}
	if !gemm.Cholesky(1, d, r.factor, d) {
		return false
	}
	mu := 0.0
	for i := range n {
		mu += r.alpha[i]*r.s[i] + r.beta[i]*r.xi[i]
		r.ta[i], r.tb[i] = -r.alpha[i]*r.s[i], -r.beta[i]*r.xi[i]
	}
	mu /= float64(2 * n)
	r.direction()
	t := r.longest()
	after := 0.0
	for i := range n {
		after += (r.alpha[i]+t*r.da[i])*(r.s[i]+t*r.ds[i]) + (r.beta[i]-t*r.da[i])*(r.xi[i]+t*r.dxi[i])
	}
	after /= float64(2 * n)
	target := mu * math.Pow(after/mu, 3)
	for i := range n {
		r.ta[i] += target - r.da[i]*r.ds[i]
		r.tb[i] += target + r.da[i]*r.dxi[i]
	}
	r.direction()
	t = min(1, 0.995*r.longest())
	if !(t > 1e-10) {
		return false
	}
	for j := range d {
		r.v[j] += t * r.dv[j]
	}
	for i := range n {
		r.s[i] += t * r.ds[i]
		r.xi[i] += t * r.dxi[i]
		r.alpha[i] += t * r.da[i]
		r.beta[i] -= t * r.da[i]
	}
	return FirstNotFinite(r.v) < 0
}

// direction solves the linearised conditions, where sΔα + αΔs = ta and -ξΔα + βΔξ = tb.
func (r *hingeRun) direction() {
	d := r.d
	for j, p := range r.Penalty {
		r.dv[j] = r.pull[j] - p*r.v[j]
	}
	for i := range r.n {
		rest := r.qv[i] + r.xi[i] - 1 - r.s[i]
		r.da[i] = r.weight[i] * (r.ta[i]/r.alpha[i] - r.tb[i]/r.beta[i] - rest)
		for j, x := range r.q[i*d : (i+1)*d] {
			r.dv[j] += r.da[i] * x
		}
	}
	gemm.CholeskySolve(1, d, 1, r.factor, d, r.dv, 1)
	for i := range r.n {
		t := 0.0
		for j, x := range r.q[i*d : (i+1)*d] {
			t += x * r.dv[j]
		}
		r.da[i] -= r.weight[i] * t
		r.ds[i] = (r.ta[i] - r.s[i]*r.da[i]) / r.alpha[i]
		r.dxi[i] = (r.tb[i] + r.xi[i]*r.da[i]) / r.beta[i]
	}
}

// longest returns the longest step, at most 1, that keeps all multipliers and slacks from
// being negative.
func (r *hingeRun) longest() float64 {
	t := 1.0
	for i := range r.n {
		if r.ds[i] < 0 {
			t = min(t, -r.s[i]/r.ds[i])
		}
		if r.dxi[i] < 0 {
			t = min(t, -r.xi[i]/r.dxi[i])
		}
		if r.da[i] < 0 {
			t = min(t, -r.alpha[i]/r.da[i])
		} else if r.da[i] > 0 {
			t = min(t, r.beta[i]/r.da[i])
		}
	}
	return t
}
