package multi

import (
	"math"
)

// Objective names how the losses F_k of the domains are made one number.
type Objective string

const (
	// SoftMax is (1/mu) log Σ_k exp(mu F_k), which lies between the maximum and the
	// maximum plus ln(p)/mu (appendix B.4): the default.
	SoftMax Objective = "softmax"
	// Max is max over Lambda of Σ lambda_k F_k (eq. 4.4). It is not differentiable, and
	// coordinate descent on it can stall; see the package comment.
	Max Objective = "max"
	// Sum is Σ_k F_k (eq. B.1).
	Sum Objective = "sum"
	// Skewed is max over Lambda of Σ lambda_k F_k - Beta Σ lambda_k²/m_k: the adversary pays for
	// weight on small samples. The maximiser is unique, so this is differentiable too. Section 4.4
	// has no sign for the term. With a plus the inner problem would be convex and its solution a
	// vertex; on the simplex it would only add a constant for each domain.
	Skewed Objective = "skew"
)

// tieTolerance is the relative difference up to which domains share the maximum.
const tieTolerance = 1e-9

// aggregate is an objective with all its constants, for one round.
type aggregate struct {
	kind Objective
	set  *TargetSet
	mu   float64   // of SoftMax
	beta float64   // of Skewed
	m    []float64 // rows of each domain
}

// value is the objective at losses f.
func (a *aggregate) value(f []float64) float64 {
	switch a.kind {
	case Sum:
		s := 0.0
		for _, v := range f {
			s += v
		}
		return s
	case Max:
		v, _ := a.set.Max(f)
		return v
	case Skewed:
		lambda := a.weights(f)
		v := dot(lambda, f)
		for k, l := range lambda {
			v -= a.beta * l * l / a.m[k]
		}
		return v
	}
	if a.set.Vertices != nil {
		return logSumExp(a.vertexLosses(f)) / a.mu
	}
	if a.set.simplex() {
		g := make([]float64, len(f))
		for k, v := range f {
			g[k] = a.mu * v
		}
		return logSumExp(g) / a.mu
	}
	// max over Lambda of Σ lambda_k F_k + entropy(lambda)/mu, which is the line above
	// when Lambda is the simplex.
	lambda := a.weights(f)
	v := dot(lambda, f)
	for _, l := range lambda {
		if l > 0 {
			v -= l * math.Log(l) / a.mu
		}
	}
	return v
}

// weights returns pi, the derivatives of the objective by the losses. For Max they are
// those of the first maximiser.
func (a *aggregate) weights(f []float64) []float64 {
	p := len(f)
	switch a.kind {
	case Sum:
		one := make([]float64, p)
		for k := range one {
			one[k] = 1
		}
		return one
	case Max:
		_, lambda := a.set.Max(f)
		return lambda
	case Skewed:
		return a.waterFilling(f)
	}
	if a.set.Vertices != nil {
		s := softmax(a.vertexLosses(f))
		pi := make([]float64, p)
		for n, v := range a.set.Vertices {
			for k, x := range v {
				pi[k] += s[n] * x
			}
		}
		return pi
	}
	g := make([]float64, p)
	for k, v := range f {
		g[k] = a.mu * v
	}
	if a.set.simplex() {
		return softmax(g)
	}
	top := maxOf(g)
	// lambda_k = clip(exp(mu F_k - tau)). With tau from the largest exponent the shares are at most
	// 1; with log p subtracted their sum is at least p times that.
	return a.set.clipped(p, top-1e4, top+1e4, func(k int,
		tau float64) float64 {
		return math.Exp(min(g[k]-tau, 1))
	})
}

// waterFilling returns the maximiser of Σ lambda_k F_k - beta Σ lambda_k²/m_k over
// shares between bounds: lambda_k = clip(m_k/(2 beta) (F_k - tau)).
func (a *aggregate) waterFilling(f []float64) []float64 {
	if a.beta == 0 {
		_, lambda := a.set.Max(f)
		return lambda
	}
	low, high := math.Inf(1), math.Inf(-1)
	for k, v := range f {
		low = min(low, v-2*a.beta/a.m[k])
		high = max(high, v)
	}
	return a.set.clipped(len(f), low, high, func(k int,
		tau float64) float64 {
		return a.m[k] / (2 * a.beta) * (f[k] - tau)
	})
}

// slope is the right derivative of the objective along a ray on which the losses are f
// and have the derivatives d.
func (a *aggregate) slope(f, d []float64) float64 {
	if a.kind == Max {
		_, lambda := a.set.maxTied(f, d, tieTolerance)
		return dot(lambda, d)
	}
	return dot(a.weights(f), d)
}

// curvature is the second derivative of the objective along such a ray, as far as it is cheap. It
// omits the part from weights that move, for bounds and Skewed. It steers Newton's method, which is
// safeguarded.
func (a *aggregate) curvature(f, d, dd []float64) float64 {
	pi := a.weights(f)
	h := dot(pi, dd)
	if a.kind != SoftMax {
		return h
	}
	mean, square := 0.0, 0.0
	if a.set.Vertices != nil {
		s := softmax(a.vertexLosses(f))
		for n, v := range a.set.Vertices {
			x := dot(v, d)
			mean += s[n] * x
			square += s[n] * x * x
		}
	} else {
		for k, x := range d {
			mean += pi[k] * x
			square += pi[k] * x * x
		}
	}
	return h + a.mu*max(0, square-mean*mean)
}

func (a *aggregate) vertexLosses(f []float64) []float64 {
	g := make([]float64, len(a.set.Vertices))
	for n, v := range a.set.Vertices {
		g[n] = a.mu * dot(v, f)
	}
	return g
}

func maxOf(v []float64) float64 {
	top := math.Inf(-1)
	for _, x := range v {
		top = max(top, x)
	}
	return top
}

func logSumExp(v []float64) float64 {
	top := maxOf(v)
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

func softmax(v []float64) []float64 {
	top := maxOf(v)
	out := make([]float64, len(v))
	sum := 0.0
	for i, x := range v {
		out[i] = math.Exp(x - top)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}
