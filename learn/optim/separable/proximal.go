package separable

import (
	"math"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// solve returns the s with s + q·f'(s) = s0, the subgradient α = -f'(s) there, and -f*(-α) or a
// little more. This is the proximal step of f at s0 and its dual. near is the first guess.
func (m *mixture) solve(s0, q, y, near float64) (s, alpha, value float64) {
	if m.corner {
		z, a := m.solveCorner(y*s0, q, y*near)
		return y * z, y * a, 0 // the value is left to valueAt: most are never asked for
	}
	// The root lies between s0 and s0 - q f'(s0), since f' rises. That far end may be where
	// powers overflow, while the root is never beyond the minimum of f: it is looked for in
	// growing steps.
	lo, hi := s0, s0
	vl, dl := m.at(s0, y)
	vh, dh := vl, dl
	far, up := math.Abs(q*dl), dl < 0
	for step := math.Min(far, 1); ; step = math.Min(far, 4*step) {
		if up {
			hi = s0 + step
			if vh, dh = m.at(hi, y); !(step < far) || !(step+q*dh < 0) {
				break
			}
			lo, vl, dl = hi, vh, dh
		} else {
			lo = s0 - step
			if vl, dl = m.at(lo, y); !(step < far) || !(q*dl > step) {
				break
			}
			hi, vh, dh = lo, vl, dl
		}
	}
	if near > lo && near < hi {
		s = near
	} else {
		s = lo + (hi-lo)/2
	}
	for range 100 {
		if !(hi-lo > 1e-10*(1+math.Abs(lo)+math.Abs(hi))) {
			break
		}
		v, d := m.at(s, y)
		h := s - s0 + q*d
		if h == 0 {
			return s, -d, v - d*s
		}
		if h > 0 {
			hi, vh, dh = s, v, d
		} else {
			lo, vl, dl = s, v, d
		}
		s = lo + (hi-lo)/2
	}
	// f lies above its tangents at both ends. For a slope between theirs, -f* is therefore at least
	// the same mean of their intercepts with the axis.
	theta := 0.5
	if dh > dl {
		theta = math.Min(1, math.Max(0, ((s0-s)/q-dl)/(dh-dl)))
	}
	if math.IsInf(dh-dl, 0) { // what overflows has no share
		if math.IsInf(dh, 0) {
			return s, -dl, vl - dl*lo
		}
		return s, -dh, vh - dh*hi
	}
	return s, -(dl + theta*(dh-dl)), (1-theta)*(vl-dl*lo) + theta*(vh-dh*hi)
}

// atOne is the derivative of -ln(1+e^{-z}) at the corner.
const atOne = 0.2689414213699951 // 1/(1+e)

func (m *mixture) solveCorner(z0, q, near float64) (z, alpha float64) {
	if v := (z0 - 1) / q; v < m.left-m.a*atOne {
		z = m.newton(z0, q, m.left, math.Inf(-1), 1, near)
		return z, m.a/(1+math.Exp(z)) - m.left
	} else if v <= m.right-m.a*atOne {
		return 1, -v
	}
	z = m.newton(z0, q, m.right, 1, math.Inf(1), near)
	return z, m.a/(1+math.Exp(z)) - m.right
}

// newton solves z - z0 + q(slope - a/(1+e^z)) = 0 between lo and hi.
func (m *mixture) newton(z0, q, slope, lo, hi, near float64) float64 {
	least := z0 - q*slope
	lo, hi = math.Max(lo, least), math.Min(hi, least+q*m.a)
	if !(lo < hi) {
		return lo
	}
	z := near
	if !(z > lo && z < hi) {
		z = lo + (hi-lo)/2
	}
	for range 60 {
		p := 1 / (1 + math.Exp(z))
		h := z - least - q*m.a*p
		if h > 0 {
			hi = z
		} else {
			lo = z
		}
		next := z - h/(1+q*m.a*p*(1-p))
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		done := math.Abs(next-z) <= 1e-9*(1+math.Abs(z))
		z = next
		if done {
			break
		}
	}
	return z
}

// valueAt returns -f*(-α) for an α that solveCorner gave, or remix.
func (m *mixture) valueAt(s, y, alpha float64) float64 {
	z := y * s
	v := m.a * score.Softplus(-z)
	if z < 1 {
		v += m.left * (z - 1)
	} else {
		v += m.right * (z - 1)
	}
	return v + alpha*s
}

// remix returns the dual of s for this mixture when α was its dual for another: at the
// corner, the same share of the subgradients.
func (m *mixture) remix(old *mixture, s, y, alpha float64) (dual, value float64) {
	if !m.corner {
		v, d := m.at(s, y)
		return -d, v - d*s
	}
	z := y * s
	switch {
	case z < 1:
		return y * (m.a/(1+math.Exp(z)) - m.left), 0
	case z > 1:
		return y * (m.a/(1+math.Exp(z)) - m.right), 0
	}
	share := 0.5
	if width := old.right - old.left; old.corner && width > 0 {
		share = math.Min(1, math.Max(0, (-y*alpha-old.left+old.a*atOne)/width))
	}
	return y * (m.a*atOne - m.left - share*(m.right-m.left)), 0
}
