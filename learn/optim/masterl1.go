package optim

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// solveL1 minimises lambda |w|₁ + max_k (⟨a_k + v, w⟩ + b_k): a linear program, whose dual is
//
//	max ⟨b, α⟩  over α of the simplex with |v + Σ α_k a_k|_∞ ≤ lambda.
//
// It follows the central path by predictor and corrector (S. Mehrotra, "On the implementation
// of a primal-dual interior point method", SIAM J. Optimization 2, 1992), eliminating the
// weights: a step solves a system of the planes, and costs O(K² n). All iterates are feasible,
// so that ⟨b, α⟩ is a bound whenever it stops.
//
// A plane whose slope is -v makes a start; Bundle and CCCP see to it that there is one.
func (m *master) solveL1(tol float64) (float64, error) {
	n, k := m.n, len(m.cuts.Planes)
	v := m.linear[0]
	if v == nil {
		v = make([]float64, n)
	}
	s, err := newPath(m, v)
	if err != nil {
		return 0, err
	}
	const limit = 200
	for range limit {
		gap := s.gap()
		if gap <= tol || s.stuck {
			break
		}
		if err := s.step(gap / float64(k+2*n)); err != nil {
			return 0, err
		}
	}
	lower := 0.0
	for i, a := range s.alpha {
		lower += a * m.cuts.Planes[i].B
		m.alpha[i] = a
	}
	for j := range n {
		m.next[0][j] = 0
		// On the path u·r is the same for all: those of larger r are on their way to zero.
		if s.up[j] > s.rUp[j] || s.down[j] > s.rDown[j] {
			m.next[0][j] = s.up[j] - s.down[j]
		}
	}
	return lower, nil
}

// path is a point of the interior. It has α with the slack s of each plane, and w = up - down with
// the slacks rUp and rDown of its two bounds.
type path struct {
	m                    *master
	v                    []float64
	alpha, s             []float64
	up, down, rUp, rDown []float64
	xi                   float64
	stuck                bool
}

func newPath(m *master, v []float64) (*path, error) {
	n, k := m.n, len(m.cuts.Planes)
	p := &path{m: m, v: v, alpha: make([]float64, k), s: make([]float64, k)}
	p.up, p.down, p.rUp, p.rDown = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	zero, mean := -1, make([]float64, n)
	top, size := math.Inf(-1), 1.0
	row := make([]float64, n)
	for i := range m.cuts.Planes {
		copy(row, v)
		m.cuts.Planes[i].AddTo(row, 1)
		most := 0.0
		for j, x := range row {
			mean[j] += x / float64(k)
			most = math.Max(most, math.Abs(x))
		}
		if most <= 1e-9*m.lambda {
			zero = i
		}
		b := m.cuts.Planes[i].B
		top, size = math.Max(top, b), math.Max(size, math.Abs(b))
	}
	if zero < 0 {
		return nil, errors.New("optim: bundle: with l1 the risk needs a lower bound, or the model may have no least point")
	}
	share := 0.5
	if most := MaxAbs(mean); most > 0 {
		share = math.Min(share, m.lambda/2/most)
	}
	for i := range p.alpha {
		p.alpha[i] = share / float64(k)
	}
	p.alpha[zero] += 1 - share
	p.slacks()
	for j := range n {
		p.up[j], p.down[j] = size/m.lambda/float64(n), size/m.lambda/float64(n)
	}
	p.xi = top + size
	p.planes()
	return p, nil
}

// slacks recomputes rUp and rDown of α.
func (p *path) slacks() {
	g := append([]float64(nil), p.v...)
	for i, a := range p.alpha {
		p.m.cuts.Planes[i].AddTo(g, a)
	}
	for j, x := range g {
		p.rUp[j], p.rDown[j] = p.m.lambda+x, p.m.lambda-x
	}
}

// planes recomputes the slack of every plane at w and xi.
func (p *path) planes() {
	w := make([]float64, p.m.n)
	base := 0.0
	for j := range w {
		w[j] = p.up[j] - p.down[j]
		base += p.v[j] * w[j]
	}
	for i := range p.s {
		p.s[i] = p.xi - base - p.m.cuts.Planes[i].Value(w)
	}
}

func (p *path) gap() float64 {
	g := 0.0
	for i, a := range p.alpha {
		g += a * p.s[i]
	}
	for j := range p.up {
		g += p.up[j]*p.rUp[j] + p.down[j]*p.rDown[j]
	}
	return g
}

// step takes one step of predictor and corrector from mean products of mu.
func (p *path) step(mu float64) error {
	n, k := p.m.n, len(p.alpha)
	planes := p.m.cuts.Planes
	scale := make([]float64, n)
	for j := range scale {
		scale[j] = p.up[j]/p.rUp[j] + p.down[j]/p.rDown[j]
	}
	// M_ij = Σ scale (a_i + v)(a_j + v).
	system := mat.NewSymDense(k, nil)
	row := make([]float64, n)
	sv, vv := make([]float64, n), 0.0
	for j, x := range p.v {
		sv[j] = scale[j] * x
		vv += sv[j] * x
	}
	withV := make([]float64, k)
	for i := range planes {
		withV[i] = planes[i].Dot(sv)
	}
	for i := range planes {
		clear(row)
		planes[i].AddTo(row, 1)
		for j := range row {
			row[j] *= scale[j]
		}
		for j := range i + 1 {
			system.SetSym(i, j, planes[j].Dot(row)+withV[i]+withV[j]+vv)
		}
		system.SetSym(i, i, system.At(i, i)+p.s[i]/p.alpha[i])
	}
	var chol mat.Cholesky
	if !chol.Factorize(system) {
		p.stuck = true // the limit of rounding
		return nil
	}
	one := mat.NewVecDense(k, nil)
	for i := range k {
		one.SetVec(i, 1)
	}
	inverseOne := mat.NewVecDense(k, nil)
	if err := chol.SolveVecTo(inverseOne, one); err != nil {
		if _, poor := err.(mat.Condition); !poor {
			return fmt.Errorf("optim: bundle: l1 model: %w", err)
		}
	}
	type move struct {
		alpha, s, up, down, rUp, rDown []float64
		xi                             float64
	}
	direction := func(target float64, second *move) *move {
		d := &move{alpha: make([]float64, k), s: make([]float64, k), up: make([]float64, n), down: make([]float64, n), rUp: make([]float64, n), rDown: make([]float64, n)}
		q, cUp, cDown := make([]float64, n), make([]float64, n), make([]float64, n)
		qv := 0.0
		for j := range q {
			cUp[j], cDown[j] = target-p.up[j]*p.rUp[j], target-p.down[j]*p.rDown[j]
			if second != nil {
				cUp[j] -= second.up[j] * second.rUp[j]
				cDown[j] -= second.down[j] * second.rDown[j]
			}
			q[j] = cUp[j]/p.rUp[j] - cDown[j]/p.rDown[j]
			qv += q[j] * p.v[j]
		}
		rhs := mat.NewVecDense(k, nil)
		for i := range k {
			c := target - p.alpha[i]*p.s[i]
			if second != nil {
				c -= second.alpha[i] * second.s[i]
			}
			rhs.SetVec(i, c/p.alpha[i]+planes[i].Dot(q)+qv)
		}
		solved := mat.NewVecDense(k, nil)
		chol.SolveVecTo(solved, rhs) // its condition was judged above
		xi := mat.Sum(solved) / mat.Sum(inverseOne)
		d.xi = xi
		change := make([]float64, n)
		total := 0.0
		for i := range k {
			d.alpha[i] = solved.AtVec(i) - xi*inverseOne.AtVec(i)
			total += d.alpha[i]
			planes[i].AddTo(change, d.alpha[i])
		}
		w, wv := make([]float64, n), 0.0
		for j := range change {
			change[j] += total * p.v[j]
			d.rUp[j], d.rDown[j] = change[j], -change[j]
			d.up[j] = (cUp[j] - p.up[j]*change[j]) / p.rUp[j]
			d.down[j] = (cDown[j] + p.down[j]*change[j]) / p.rDown[j]
			w[j] = d.up[j] - d.down[j]
			wv += w[j] * p.v[j]
		}
		for i := range k {
			d.s[i] = xi - planes[i].Dot(w) - wv
		}
		return d
	}
	reach := func(at, by []float64, far float64) float64 {
		for i, x := range by {
			if x < 0 {
				far = math.Min(far, -at[i]/x)
			}
		}
		return far
	}
	primal := func(d *move) float64 { return reach(p.s, d.s, reach(p.up, d.up, reach(p.down, d.down, 1))) }
	dual := func(d *move) float64 {
		return reach(p.alpha, d.alpha, reach(p.rUp, d.rUp, reach(p.rDown, d.rDown, 1)))
	}
	d := direction(0, nil)
	fp, fd := primal(d), dual(d)
	after := 0.0
	for i := range p.alpha {
		after += (p.alpha[i] + fd*d.alpha[i]) * (p.s[i] + fp*d.s[i])
	}
	for j := range p.up {
		after += (p.up[j]+fp*d.up[j])*(p.rUp[j]+fd*d.rUp[j]) + (p.down[j]+fp*d.down[j])*(p.rDown[j]+fd*d.rDown[j])
	}
	ratio := after / (mu * float64(k+2*n))
	d = direction(mu*ratio*ratio*ratio, d)
	const back = 0.995 // stays inside
	fp, fd = math.Min(1, back*primal(d)), math.Min(1, back*dual(d))
	if fp < 1e-10 && fd < 1e-10 || fp-fp != 0 || fd-fd != 0 {
		p.stuck = true
		return nil
	}
	before := p.copy()
	sum := 0.0
	for i := range p.alpha {
		p.alpha[i] += fd * d.alpha[i]
		sum += p.alpha[i]
	}
	for i := range p.alpha {
		p.alpha[i] /= sum // rounding
	}
	low := math.Inf(1)
	for j := range p.up {
		p.up[j] += fp * d.up[j]
		p.down[j] += fp * d.down[j]
	}
	p.xi += fp * d.xi
	p.slacks()
	p.planes()
	for _, x := range [][]float64{p.alpha, p.s, p.up, p.down, p.rUp, p.rDown} {
		for _, y := range x {
			low = math.Min(low, y)
		}
	}
	if !(low > 0) {
		*p = *before
		p.stuck = true
	}
	return nil
}

func (p *path) copy() *path {
	c := *p
	c.alpha, c.s = append([]float64(nil), p.alpha...), append([]float64(nil), p.s...)
	c.up, c.down = append([]float64(nil), p.up...), append([]float64(nil), p.down...)
	c.rUp, c.rDown = append([]float64(nil), p.rUp...), append([]float64(nil), p.rDown...)
	return &c
}
