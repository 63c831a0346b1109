package multi

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
)

// phi is the surrogate Phi of eq. 4.4, applied to u = -y f(x). It is convex, increasing, and at
// least the zero-one loss, which counts u >= 0 as an error (logistic: in base 2). Section 4.6 of
// the thesis writes exp(-u); with eq. 4.4 it has to be exp(u).
type phi struct {
	logistic bool
	scale    float64 // of the logistic loss: 1, or 1/ln 2 for base 2
}

// expMost keeps sums of exp(u) over any number of rows finite: beyond it the loss is
// at its largest number.
const expMost = 600

func phiOf(l boost.Loss) (phi, error) {
	switch l := l.(type) {
	case boost.Exponential:
		return phi{scale: 1}, nil
	case boost.Logistic:
		if l.Base2 {
			return phi{logistic: true, scale: 1 / math.Ln2}, nil
		}
		return phi{logistic: true, scale: 1}, nil
	}
	return phi{}, fmt.Errorf("multi: the loss %s is none of exponential, logistic, logistic2", l.Name())
}

// value is Phi(u).
func (p phi) value(u float64) float64 {
	if !p.logistic {
		return math.Exp(min(u, expMost))
	}
	return p.scale * (max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))))
}

// slopes are Phi'(u) and Phi”(u).
func (p phi) slopes(u float64) (first, second float64) {
	if !p.logistic {
		e := math.Exp(min(u, expMost))
		return e, e
	}
	e := math.Exp(-math.Abs(u))
	d := 1 / (1 + e)
	first = d
	if u < 0 {
		first = e * d
	}
	return p.scale * first, p.scale * e * d * d
}

// logSlope is log Phi'(u), which overflows for no u.
func (p phi) logSlope(u float64) float64 {
	if !p.logistic {
		return min(u, expMost)
	}
	return math.Log(p.scale) + min(u, 0) - math.Log1p(math.Exp(-math.Abs(u)))
}
