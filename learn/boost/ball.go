package boost

import (
	"fmt"
	"math"
	"slices"
)

// LeafRule says which leaf values RGB takes for the leaves of a tree.
type LeafRule string

const (
	// LeafWeighted is the weighted least-squares fit to the mean residuals within
	// the q-ball.
	LeafWeighted LeafRule = "weighted"
	// LeafNewton is the same with second derivatives for weights and Newton steps
	// -G/H for residuals; splits then gain G²/H.
	LeafNewton LeafRule = "newton"
	// LeafRadial scales the mean residuals into the ball. For q = 2 this is the projection that the
	// thesis literally describes, not the least-squares optimum.
	LeafRadial LeafRule = "radial"
	// LeafSteepest maximises the decrease per step over the ball (eq. 3.3).
	LeafSteepest LeafRule = "steepest"
)

// FitLeaves stores in w the minimiser of Σ n_l (w_l - mu_l)² over ‖w‖_q ≤ lambda.
// All n_l must be positive or zero, q ≥ 1 (+Inf allowed), lambda > 0 (+Inf allowed). A
// leaf with n_l = 0 gets 0 once the constraint binds, and mu_l before.
//
// The minimiser satisfies, for a multiplier tau ≥ 0 on which ‖w‖_q depends
// monotonically (section 5.2 of the specification),
//
//	q = 2:    w = n mu / (n + tau)      (the G/(H+lambda) of common libraries, tau chosen so that the norm is lambda)
//	q = 1:    w = sign(mu) max(|mu| - tau/n, 0)
//	q = Inf:  w = clip(mu, ±lambda)
//	else:     n (|mu| - |w|) = tau |w|^(q-1)
//
// Cost: O(L log L) for q = 1, O(L) for Inf, and O(L) an iteration of a safeguarded Newton search
// for 2. Other q take O(L) Newton searches inside a regula falsi. On return ‖w‖_q ≤ lambda (1 +
// 1e-12).
func FitLeaves(w, mu, n []float64, q, lambda float64) {
	copy(w, mu)
	if math.IsInf(q, 1) {
		for l, v := range mu {
			w[l] = min(max(v, -lambda), lambda)
		}
		return
	}
	if Norm(mu, q) <= lambda {
		return
	}
	switch q {
	case 1:
		shrinkL1(w, mu, n, lambda)
	case 2:
		shrinkL2(w, mu, n, lambda)
	default:
		shrinkLq(w, mu, n, q, lambda)
	}
	// The last bits of the search may leave the norm above lambda.
	if norm := Norm(w, q); norm > lambda {
		for l := range w {
			w[l] *= lambda / norm
		}
	}
}

// Norm is ‖w‖_q for q ≥ 1, without overflow or underflow of intermediate powers.
func Norm(w []float64, q float64) float64 {
	top := 0.0
	for _, v := range w {
		top = max(top, math.Abs(v))
	}
	if math.IsInf(q, 1) || top == 0 || math.IsInf(top, 1) {
		return top
	}
	sum := 0.0
	switch q {
	case 1:
		for _, v := range w {
			sum += math.Abs(v)
		}
		return sum
	case 2:
		for _, v := range w {
			r := v / top
			sum += r * r
		}
		return top * math.Sqrt(sum)
	}
	for _, v := range w {
		sum += math.Pow(math.Abs(v)/top, q)
	}
	return top * math.Pow(sum, 1/q)
}

// dualExponent is r with 1/q + 1/r = 1.
func dualExponent(q float64) float64 {
	switch {
	case math.IsInf(q, 1):
		return 1
	case q == 1:
		return math.Inf(1)
	}
	return q / (q - 1)
}

func shrinkL2(w, mu, n []float64, lambda float64) {
	norm := func(tau float64) float64 {
		for l, v := range mu {
			w[l] = 0
			if n[l] > 0 {
				w[l] = n[l] * v / (n[l] + tau)
			}
		}
		return Norm(w, 2)
	}
	if norm(0) <= lambda { // leaves without weight alone were beyond it
		return
	}
	// 1/‖w(tau)‖ is increasing, concave and nearly linear. Newton's method on 1/‖w‖ = 1/lambda from
	// the left therefore never overshoots (Moré and Sorensen's iteration for trust regions).
	// Bisection guards it against rounding.
	tau, lo, hi := 0.0, 0.0, math.Inf(1)
	for range 200 {
		size := norm(tau)
		if size > lambda {
			lo = tau
		} else {
			hi = tau
		}
		if math.Abs(size-lambda) <= 1e-15*lambda {
			break
		}
		slope := 0.0 // of ‖w‖²/2 by -tau
		for l := range w {
			if n[l] > 0 {
				slope += w[l] * w[l] / (n[l] + tau)
			}
		}
		next := tau + (size/lambda-1)*size*size/slope
		if !(next > lo) || !(next < hi) {
			if math.IsInf(hi, 1) {
				next = 2*lo + 1
			} else {
				next = lo + (hi-lo)/2
			}
			if next <= lo || next >= hi {
				break
			}
		}
		tau = next
	}
	norm(tau)
}

func shrinkL1(w, mu, n []float64, lambda float64) {
	// Leaf l leaves the support at tau = n_l |mu_l|. With the k largest break
	// points in the support, ‖w‖_1 = Σ|mu| - tau Σ 1/n.
	order := make([]int, 0, len(mu))
	for l := range mu {
		w[l] = 0
		if n[l] > 0 && mu[l] != 0 {
			order = append(order, l)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := n[a]*math.Abs(mu[a]), n[b]*math.Abs(mu[b])
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a - b
	})
	sum, inverse, tau := 0.0, 0.0, 0.0
	for k, l := range order {
		sum += math.Abs(mu[l])
		inverse += 1 / n[l]
		tau = (sum - lambda) / inverse
		if k+1 == len(order) || tau >= n[order[k+1]]*math.Abs(mu[order[k+1]]) {
			break
		}
	}
	tau = max(tau, 0)
	for _, l := range order {
		w[l] = math.Copysign(max(math.Abs(mu[l])-tau/n[l], 0), mu[l])
	}
}

func shrinkLq(w, mu, n []float64, q, lambda float64) {
	// In units of the largest |mu| and n, so that no power leaves the range of floats
	// before its time.
	unit, heavy := Norm(mu, math.Inf(1)), Norm(n, math.Inf(1))
	fill := func(tau float64) float64 {
		for l, v := range mu {
			w[l] = 0
			if n[l] > 0 && v != 0 {
				w[l] = math.Copysign(leafLq(math.Abs(v)/unit, tau/(n[l]/heavy), q), v)
			}
		}
		return Norm(w, q)
	}
	goal := lambda / unit
	if fill(0) > goal {
		lo, hi := 1.0, 1.0
		for fill(hi) > goal && hi < 1e300 {
			lo, hi = hi, 16*hi
		}
		for fill(lo) <= goal && lo > 1e-300 {
			lo, hi = lo/16, lo
		}
		// In logarithms the norm is nearly linear in tau, so regula falsi converges fast. The
		// Illinois rule halves the value at an end that stays, which keeps both ends moving.
		a, b := math.Log(lo), math.Log(hi)
		fa, fb := math.Log(fill(lo)/goal), math.Log(fill(hi)/goal)
		for range 100 {
			c := (a*fb - b*fa) / (fb - fa)
			if !(c > a && c < b) {
				c = a + (b-a)/2
			}
			if c <= a || c >= b {
				break
			}
			fc := math.Log(fill(math.Exp(c)) / goal)
			if fc > 0 {
				a, fa = c, fc
				fb /= 2
			} else {
				b, fb = c, fc
				fa /= 2
			}
			if math.Abs(fc) <= 1e-13 || b-a <= 1e-15*math.Abs(b) {
				break
			}
		}
		hi = math.Exp(b)
		fill(hi)
	}
	for l := range w {
		w[l] *= unit
	}
}

// leafLq solves a - x = t x^(q-1) for x in [0, a]. The left side falls and the right
// side rises; Newton's method runs within a bracket that bisection keeps.

func leafLq(a, t, q float64) float64 {
	lo, hi, x := 0.0, a, a
	if t > 0 {
		x = min(a, math.Pow(a/t, 1/(q-1))) // above the root: there only one side counts
	}
	for range 200 {

		p := t * math.Pow(x, q-2)
		f := a - x - p*x
		if math.Abs(f) <= 3e-16*a { // all that rounding lets one see
			break
		}
		if f > 0 {
			lo = x
		} else {
			hi = x
		}
		next := x + f/(1+(q-1)*p)
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 4e-16*x || next <= lo || next >= hi {
			break
		}
		x = next
	}
	return x
}

// RadialLeaves stores mu scaled into the ball.
func RadialLeaves(w, mu []float64, q, lambda float64) {
	scale := 1.0
	if norm := Norm(mu, q); norm > lambda {
		scale = lambda / norm
	}
	for l, v := range mu {
		w[l] = scale * v
	}
}

// SteepestLeaves stores the w of ‖w‖_q ≤ lambda that minimises Σ_l g_l w_l: with r dual to q it is
// -lambda sign(g) (|g|/‖g‖_r)^(r-1). For q = 1 that is all of lambda on the largest |g_l|, the
// first among equals. For q = Inf it is ±lambda everywhere (a leaf with g = 0 gets +lambda). lambda
// must be finite.
func SteepestLeaves(w, g []float64, q, lambda float64) {
	r := dualExponent(q)
	norm := Norm(g, r)
	first := true
	for l, v := range g {
		switch {
		case math.IsInf(q, 1):
			w[l] = lambda
			if v > 0 {
				w[l] = -lambda
			}
		case norm == 0:
			w[l] = 0
		case q == 1:
			w[l] = 0
			if first && math.Abs(v) == norm {
				w[l], first = -math.Copysign(lambda, v), false
			}
		case q == 2:
			w[l] = -lambda * v / norm
		default:
			w[l] = -math.Copysign(lambda*math.Pow(math.Abs(v)/norm, r-1), v)
		}
	}
}

func checkNorm(q float64) error {
	if !(q >= 1) {
		return fmt.Errorf("boost: the norm of leaf vectors is q = %v; it must be from 1 to +Inf", q)
	}
	return nil
}
