package losses

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// Quadrature for n-gram losses with γ = 1 and c > 0. Since
//
//	1/(k + c) = ∫₀¹ x^{k+c-1} dx,
//
// Z is the integral with weight x^{c-1} of Z(x), the partition function of the plain model whose
// potentials have count·log x added. Z(x) is a polynomial whose degree K is the greatest count. The
// Gauss-Jacobi rule with ⌈(K+1)/2⌉ nodes is exact for it, and all its terms are positive, so that
// nothing cancels. Where counts are mostly small, as on the published bigram instances, 10 to 14
// nodes give all digits at l = 30. Large counts need more. Nodes are the lanes of the vectors, as
// counts are in the dynamic program. There are half as many as the greatest count, but the same
// number at every position.
//
// On the published bigram instances at l = 30 the exact quadrature costs as much as the counts,
// whose vectors start short. Counts are therefore the default.

// gaussJacobi returns the nodes in (0, 1) and weights of the n-point rule for ∫₀¹ x^{c-1} f(x) dx.
// It uses the eigenvalues of the Jacobi matrix (Golub and Welsch, "Calculation of Gauss quadrature
// rules", Math. Comp. 23, 1969).
func gaussJacobi(n int, c float64) (x, weight []float64) {
	// On (-1, 1): weight (1+t)^b with b = c-1.
	b := c - 1
	d, e := make([]float64, n), make([]float64, n)
	for i := range n {
		k := float64(i)
		if i == 0 {
			d[0] = b / (b + 2)
			continue
		}
		s := 2*k + b
		d[i] = b * b / (s * (s + 2))
		if i == 1 {
			e[0] = math.Sqrt(4 * (1 + b) / ((2 + b) * (2 + b) * (3 + b)))
		} else {
			e[i-1] = math.Sqrt(4 * k * k * (k + b) * (k + b) / (s * s * (s + 1) * (s - 1)))
		}
	}
	z := make([]float64, n) // first components of the eigenvectors
	z[0] = 1
	tridiagonalQL(d, e, z)
	for i := range d {
		d[i] = max(0, (1+d[i])/2)
		z[i] = z[i] * z[i] / c
	}
	return d, z
}

// tridiagonalQL replaces d by the eigenvalues of the symmetric tridiagonal matrix with diagonal d
// and off-diagonal e, and z by its product with the eigenvectors. It is the implicit QL method with
// Wilkinson's shift.
func tridiagonalQL(d, e, z []float64) {
	n := len(d)
	for l := range n {
		for range 200 { // two or three suffice
			m := l
			for ; m < n-1; m++ {
				if s := math.Abs(d[m]) + math.Abs(d[m+1]); math.Abs(e[m]) <= 1e-17*s || e[m] == 0 {
					break
				}
			}
			if m == l {
				break
			}
			g := (d[l+1] - d[l]) / (2 * e[l])
			r := math.Hypot(g, 1)
			g = d[m] - d[l] + e[l]/(g+math.Copysign(r, g))
			s, c, p := 1.0, 1.0, 0.0
			i := m - 1
			for ; i >= l; i-- {
				f, b := s*e[i], c*e[i]
				r = math.Hypot(f, g)
				e[i+1] = r
				if r == 0 {
					d[i+1] -= p
					e[m] = 0
					break
				}
				s, c = f/r, g/r
				g = d[i+1] - p
				r = (d[i]-g)*s + 2*c*b
				p = s * r
				d[i+1] = g + p
				g = c*r - b
				z[i+1], z[i] = s*z[i]+c*z[i+1], c*z[i]-s*z[i+1]
			}
			if r == 0 && i >= l {
				continue
			}
			d[l] -= p
			e[l] = g
			e[m] = 0
		}
	}
}

// exactNodes returns the number of nodes that make the rule exact.
func (n *ngramPlan) exactNodes() int { return (n.most[n.length] + 2) / 2 }

// quadratureServes reports whether the rule covers what is asked.
func (s *ngramSweeper) quadratureServes(n *ngramPlan, gamma float64, want Want) bool {
	return gamma == 1 && n.loss.C > 0 && n.top <= 8 && want&^(WantMarginals|WantPlain) == 0
}

// quadrature computes log Z and marginals with the given number of nodes, at
// most the exact one.
func (s *ngramSweeper) quadrature(n *ngramPlan, w *sweep.Whitening, nodes int, p *Potentials, want Want,
	r *Result) bool {
	nodes = min(nodes, n.exactNodes())
	if s.ruleC != n.loss.C || s.ruleN != nodes {
		s.node, s.nodeWeight = gaussJacobi(nodes, n.loss.C)
		s.ruleC, s.ruleN = n.loss.C, nodes
	}
	d, lanes := n.alphabet, sweep.WholeVectors(nodes-1)
	powers := n.top + 1
	stride := powers * lanes // a label: its values times x^0 … x^top
	size := d * stride
	// Where counts are shifted by the gain, here the row of that power is read.
	s.offset = layered.Resize(s.offset, d*d)
	for i, g := range s.gain {
		s.offset[i] = -g * int32(lanes)
	}
	s.alpha = layered.Resize(s.alpha, n.length*size)
	for b, x := range w.P[0] {
		row := s.alpha[b*stride:][:lanes]
		clear(row)
		for i := range s.node {
			row[i] = x
			if n.loss.N == 1 {
				row[i] *= math.Pow(s.node[i], float64(s.gain[b]))
			}
		}
	}
	s.raise(s.alpha[:size], d, lanes, powers)
	for t := 1; t < n.length; t++ {
		a, b := s.alpha[(t-1)*size:t*size], s.alpha[t*size:(t+1)*size]
		sweep.CountForward(b, a, s.transition(n, w, t), s.offset, d, stride, 0, lanes)
		s.raise(b, d, lanes, powers)
	}
	z := 0.0
	end := s.alpha[(n.length-1)*size:]
	for b := range d {
		for i, f := range s.nodeWeight {
			z += f * end[b*stride+i]
		}
	}
	if !(z >= sweep.Least) {
		return false
	}
	r.LogZ, r.LogZ0 = w.LogZ0+math.Log(z), w.LogZ0
	if want&WantMarginals == 0 {
		return true
	}
	q := shapeLike(r.Marginals, p)
	r.Marginals = q
	s.beta, s.betaN = layered.Resize(s.beta, size), layered.Resize(s.betaN, size)
	s.x = layered.Resize(s.x, d*d)
	for b := range d {
		row := s.betaN[b*stride:][:lanes]
		clear(row)
		copy(row, s.nodeWeight)
	}
	for i := range s.offset {
		s.offset[i] = -s.offset[i]
	}
	for t := n.length - 1; t > 0; t-- {
		s.raise(s.betaN, d, lanes, powers)
		m := s.transition(n, w, t)
		sweep.CountBackward(s.x, s.beta, s.betaN, s.alpha[(t-1)*size:t*size], m, s.offset, d, stride, 0,
			lanes)
		s.flows(n, w, t, 1/z, q[t])
		s.beta, s.betaN = s.betaN, s.beta
	}
	for b, x := range w.P[0] {
		sum := 0.0
		for i, f := range s.betaN[b*stride:][:nodes] {
			if n.loss.N == 1 {
				f *= math.Pow(s.node[i], float64(s.gain[b]))
			}
			sum += f
		}
		q[0][b] = x * sum / z
	}
	return true
}

// raise fills the rows of powers 1 … from the row of power 0.
func (s *ngramSweeper) raise(a []float64, d, lanes, powers int) {
	for b := range d {
		for g := 1; g < powers; g++ {
			from := a[(b*powers+g-1)*lanes:][:lanes]
			to := a[(b*powers+g)*lanes:][:lanes]
			for i, x := range s.node {
				to[i] = from[i] * x
			}
			clear(to[len(s.node):])
		}
	}
}
