package structured

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
	"gonum.org/v1/gonum/blas"
)

// ScalarLoss is a loss of numbers, by name: functions of the residual y - y', or of the margin
// y·y' for truths of -1 and 1.
type ScalarLoss string

// The losses of numbers; r is the residual, c the scale.
const (
	Squared       ScalarLoss = "squared"         // r²
	Absolute      ScalarLoss = "absolute"        // |r|
	Pinball       ScalarLoss = "pinball"         // level c: c·(-r) below the truth, (1-c)·r above
	EpsInsens     ScalarLoss = "eps-insensitive" // max(0, |r| - c)
	Huber         ScalarLoss = "huber"           // r²/2 up to c, then c(|r| - c/2)
	Cauchy        ScalarLoss = "cauchy"          // c²/2 log(1 + (r/c)²)
	GemanMcClure  ScalarLoss = "geman-mcclure"   // r²/2 / (1 + (r/c)²)
	Fair          ScalarLoss = "fair"            // c²(|r|/c - log(1 + |r|/c))
	L2L1          ScalarLoss = "l2-l1"           // 2c²(√(1 + (r/c)²/2) - 1)
	Welsch        ScalarLoss = "welsch"          // c²/2 (1 - exp(-(r/c)²))
	HingeLoss     ScalarLoss = "hinge"           // max(0, 1 - y·y')
	LogisticScore ScalarLoss = "logistic"        // log(1 + exp(-y·y'))
)

// ScalarLosses lists them all.
var ScalarLosses = []ScalarLoss{Squared, Absolute, Pinball, EpsInsens, Huber, Cauchy, GemanMcClure, Fair,
	L2L1, Welsch, HingeLoss, LogisticScore}

// margin says that truths are -1 and 1.
func (l ScalarLoss) margin() bool { return l == HingeLoss || l == LogisticScore }

// Of returns the loss with scale c.
func (l ScalarLoss) Of(prediction, truth, c float64) float64 {
	if l.margin() {
		m := prediction * truth
		if l == HingeLoss {
			return math.Max(0, 1-m)
		}
		return math.Max(0, -m) + math.Log1p(math.Exp(-math.Abs(m)))
	}
	f, _, _ := l.rho(prediction-truth, c)
	return f
}

// rho returns a loss of the residual, its derivative and second derivative.
func (l ScalarLoss) rho(r, c float64) (f, d, dd float64) {
	a, s := math.Abs(r), math.Copysign(1, r)
	q := 1 + (r/c)*(r/c)
	switch l {
	case Squared:
		return r * r, 2 * r, 2
	case Absolute:
		return a, s, 0
	case Pinball:
		if r <= 0 {
			return -c * r, -c, 0
		}
		return (1 - c) * r, 1 - c, 0
	case EpsInsens:
		if a <= c {
			return 0, 0, 0
		}
		return a - c, s, 0
	case Huber:
		if a <= c {
			return r * r / 2, r, 1
		}
		return c * (a - c/2), c * s, 0
	case Cauchy:
		return c * c / 2 * math.Log1p((r/c)*(r/c)), r / q, (2 - q) / (q * q)
	case GemanMcClure:
		return r * r / 2 / q, r / (q * q), (4 - 3*q) / (q * q * q)
	case Fair:
		return c * c * (a/c - math.Log1p(a/c)), r / (1 + a/c), 1 / ((1 + a/c) * (1 + a/c))
	case L2L1:
		root := math.Sqrt(1 + (r/c)*(r/c)/2)
		return r * r / (1 + root), r / root, 1 / (root * root * root) // 2c²(root-1) without cancellation
	default: // Welsch
		e := math.Exp(1 - q)
		return -c * c / 2 * math.Expm1(1-q), r * e, e * (3 - 2*q)
	}
}

// slope is sup |ρ'|, +Inf for the squared loss.
func (l ScalarLoss) slope(c float64) float64 {
	switch l {
	case Squared:
		return math.Inf(1)
	case Huber, Fair:
		return c
	case Cauchy:
		return c / 2
	case GemanMcClure:
		return c * 9 / (16 * math.Sqrt(3))
	case L2L1:
		return c * math.Sqrt2
	case Welsch:
		return c / math.Sqrt(2*math.E)
	case Pinball:
		return math.Max(c, 1-c)
	}
	return 1
}

// convex says that the loss is convex in the prediction.
func (l ScalarLoss) convex() bool { return l != Cauchy && l != GemanMcClure && l != Welsch }

// ScalarOptions adjusts NewScalar; nil is all defaults.
type ScalarOptions struct {
	C     float64 // scale, tolerance or level of the loss; 0 is 1, for Pinball 0.5, for EpsInsens 0.1
	Bound float64 // outputs lie in [-Bound, Bound]; 0 is the largest |y_i|, for LogisticScore 10
	Grid  int     // points at which smooth losses are tried; 0 is 512
}

// Scalar decodes numbers in [-Bound, Bound]. Squared, piecewise linear and logistic losses are
// exact under weights of any sign, and so are convex ones under weights that are not
// negative. Other smooth losses are tried on a grid and at the training outputs, refined, and
// bounded by the slope of the loss.
type Scalar struct {
	loss   ScalarLoss
	c      float64
	bound  float64
	truth  []float64
	events []event   // of piecewise linear losses, by place
	left   []float64 // slopes at -∞ by truth
	points []float64 // of smooth losses, ascending
	table  []float64 // losses of points against truths; nil where it would be too large
}

// event changes the slope of α_i Δ(·, y_i) by α_i·by.
type event struct {
	at float64
	i  int
	by float64
}

// tableCells bounds a table of losses: 512 MB.
const tableCells = 1 << 26

// NewScalar takes the outputs of the training examples.
func NewScalar(truths []float64, loss ScalarLoss, opts *ScalarOptions) (*Scalar, error) {
	if loss == "" {
		loss = Squared
	}
	if !slices.Contains(ScalarLosses, loss) {
		return nil, fmt.Errorf("structured: %q is no loss of numbers; there are %v", loss, ScalarLosses)
	}
	if len(truths) == 0 {
		return nil, fmt.Errorf("%w: no example", ErrOutputs)
	}
	var o ScalarOptions
	if opts != nil {
		o = *opts
	}
	if o.C == 0 {
		o.C = 1
		switch loss {
		case Pinball:
			o.C = 0.5
		case EpsInsens:
			o.C = 0.1
		}
	}
	if !(o.C > 0) || math.IsInf(o.C, 1) || loss == Pinball && o.C >= 1 || !(o.Bound >= 0) ||
		math.IsInf(o.Bound, 1) || o.Grid < 0 {
		return nil, fmt.Errorf("structured: scale %v, bound %v and %d grid points of the loss %s: the scale "+
			"must be positive, a level below 1, the others not negative", o.C, o.Bound, o.Grid, loss)
	}
	if o.Grid == 0 {
		o.Grid = 512
	}
	s := &Scalar{loss: loss, c: o.C, bound: o.Bound, truth: truths}
	top := 0.0
	for i, y := range truths {
		if y-y != 0 {
			return nil, fmt.Errorf("%w: that of example %d is %v", ErrOutputs, i+1, y)
		}
		if loss.margin() && y != 1 && y != -1 {
			return nil, fmt.Errorf("%w: that of example %d is %v; the loss %s needs -1 and 1",
				ErrOutputs, i+1, y, loss)
		}
		top = math.Max(top, math.Abs(y))
	}
	if s.bound == 0 {
		s.bound = top
		if loss == LogisticScore {
			s.bound = 10
		}
		if s.bound == 0 {
			s.bound = 1
		}
	}
	switch loss {
	case Squared, LogisticScore:
	case Absolute, Pinball, EpsInsens, HingeLoss:
		s.linear()
	default:
		s.grid(o.Grid)
	}
	return s, nil
}

// Len implements Decoder.
func (s *Scalar) Len() int { return len(s.truth) }

// Bound returns the largest absolute output.
func (s *Scalar) Bound() float64 { return s.bound }

// Loss is the loss that is decoded.
func (s *Scalar) Loss(prediction, truth float64) float64 { return s.loss.Of(prediction, truth, s.c) }

// Decode implements Decoder: O(n) for squared and logistic losses, O(n) after sorting once for
// piecewise linear ones, and O(n·(grid + n)) for smooth ones.
func (s *Scalar) Decode(_ context.Context, alpha []float64) (Decoded[float64], error) {
	if err := check(alpha, len(s.truth)); err != nil {
		return Decoded[float64]{}, err
	}
	d := Decoded[float64]{Exact: ExactOverSpace, Margin: math.NaN()}
	switch {
	case s.loss == Squared:
		a, b := 0.0, 0.0
		for i, w := range alpha {
			a += w
			b += w * s.truth[i]
		}
		// Not kernel ridge regression, which predicts b: the two agree where a is 1.
		if a > 0 {
			d.Output = clip(b/a, s.bound)
		} else {
			d.Output = s.better(alpha, -s.bound, s.bound)
		}
	case s.loss == LogisticScore:
		p, q := 0.0, 0.0
		for i, w := range alpha {
			if s.truth[i] > 0 {
				p += w
			} else {
				q += w
			}
		}
		if p > 0 && q > 0 {
			d.Output = clip(math.Log(p/q), s.bound)
		} else {
			d.Output = s.better(alpha, -s.bound, s.bound)
		}
	case s.events != nil:
		d.Output = s.sweep(alpha)
	default:
		return s.smooth(alpha), nil
	}
	d.Value = s.value(alpha, d.Output)
	d.LowerBound = d.Value
	return d, nil
}

func clip(y, bound float64) float64 { return math.Max(-bound, math.Min(bound, y)) }

func (s *Scalar) value(alpha []float64, y float64) float64 {
	f := 0.0
	for i, a := range alpha {
		if a != 0 {
			f += a * s.loss.Of(y, s.truth[i], s.c)
		}
	}
	return f
}

// better returns the first of the points with the lowest value.
func (s *Scalar) better(alpha []float64, points ...float64) float64 {
	best, f := points[0], math.Inf(1)
	for _, y := range points {
		if v := s.value(alpha, y); v < f {
			best, f = y, v
		}
	}
	return best
}

// linear lists the breakpoints of a piecewise linear loss.
func (s *Scalar) linear() {
	for i, y := range s.truth {
		switch s.loss {
		case Absolute:
			s.left = append(s.left, -1)
			s.events = append(s.events, event{y, i, 2})
		case Pinball:
			s.left = append(s.left, -s.c)
			s.events = append(s.events, event{y, i, 1})
		case EpsInsens:
			s.left = append(s.left, -1)
			s.events = append(s.events, event{y - s.c, i, 1}, event{y + s.c, i, 1})
		default: // hinge: -y' up to the margin
			s.left = append(s.left, math.Min(0, -y))
			s.events = append(s.events, event{y, i, 1})
		}
	}
	slices.SortStableFunc(s.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
}

// sweep goes through the breakpoints from the left end with the slope at hand.
func (s *Scalar) sweep(alpha []float64) float64 {
	slope := 0.0
	for i, a := range alpha {
		slope += a * s.left[i]
	}
	y, f := -s.bound, 0.0 // value beyond that at the left end
	best, low := y, f
	for _, e := range s.events {
		if e.at >= s.bound {
			break
		}
		if e.at > y {
			f += slope * (e.at - y)
			y = e.at
			if f < low {
				best, low = y, f
			}
		}
		slope += alpha[e.i] * e.by
	}
	if f += slope * (s.bound - y); f < low {
		best = s.bound
	}
	return best
}

// grid lays out the points at which a smooth loss is tried.
func (s *Scalar) grid(n int) {
	n = max(n, 2)
	for k := range n {
		s.points = append(s.points, -s.bound+2*s.bound*float64(k)/float64(n-1))
	}
	if len(s.truth) <= 1<<13 {
		for _, y := range s.truth {
			if math.Abs(y) <= s.bound {
				s.points = append(s.points, y)
			}
		}
	}
	slices.Sort(s.points)
	s.points = slices.Compact(s.points)
	if len(s.points)*len(s.truth) > tableCells {
		return
	}
	s.table = make([]float64, 0, len(s.points)*len(s.truth))
	for _, y := range s.points {
		for _, t := range s.truth {
			f, _, _ := s.loss.rho(y-t, s.c)
			s.table = append(s.table, f)
		}
	}
}

// refined is how many minima of the grid are refined.
const refined = 5

// smooth decodes by grid and refinement. Between two points a and b the value is at least
// (F(a) + F(b) - L(b - a))/2, L = Σ|α_i| sup|ρ'|.
func (s *Scalar) smooth(alpha []float64) Decoded[float64] {
	m, n := len(s.points), len(s.truth)
	f := make([]float64, m)
	if s.table != nil {
		gemm.Gemm(1, blas.NoTrans, blas.Trans, 1, m, n, 1, alpha, n, s.table, n, 0, f, m)
	} else {
		for k, y := range s.points {
			f[k] = s.value(alpha, y)
		}
	}
	d := Decoded[float64]{Value: math.Inf(1), LowerBound: math.Inf(1), Margin: math.NaN()}
	lipschitz := norm1(alpha) * s.loss.slope(s.c)
	var minima []int
	for k, v := range f {
		if (k == 0 || v <= f[k-1]) && (k == m-1 || v <= f[k+1]) {
			minima = append(minima, k)
		}
		if k > 0 {
			d.LowerBound = math.Min(d.LowerBound, (v+f[k-1]-lipschitz*(s.points[k]-s.points[k-1]))/2)
		}
	}
	for _, k := range bestOf(minima, refined, func(k int) float64 { return f[k] }) {
		y, steps := s.refine(alpha, s.points[max(k-1, 0)], s.points[k], s.points[min(k+1, m-1)])
		d.Steps += steps
		for _, x := range [2]float64{s.points[k], y} {
			if v := s.value(alpha, x); v < d.Value {
				d.Output, d.Value = x, v
			}
		}
	}
	if s.loss.convex() && slices.Min(alpha) >= 0 {
		d.LowerBound = d.Value
	}
	d.settle(norm1(alpha), ExactOverSpace)
	return d
}

// refine looks for a root of the derivative between lo and hi from y, by Newton's method within
// a bracket that shrinks.
func (s *Scalar) refine(alpha []float64, lo, y, hi float64) (at float64, steps int) {
	for steps = range 60 {
		d, dd := 0.0, 0.0
		for i, a := range alpha {
			if a != 0 {
				_, r, rr := s.loss.rho(y-s.truth[i], s.c)
				d += a * r
				dd += a * rr
			}
		}
		if d > 0 {
			hi = y
		} else {
			lo = y
		}
		next := y - d/dd
		if !(dd > 0) || !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if d == 0 || math.Abs(next-y) <= 1e-14*(1+math.Abs(y)) {
			return y, steps
		}
		y = next
	}
	return y, steps
}
