package structured

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// HistogramLoss compares points of the simplex.
type HistogramLoss string

// The losses of histograms.
const (
	HellingerSq HistogramLoss = "hellinger"    // Σ (√y - √y')², from 0 to 2; the default
	HellingerL1 HistogramLoss = "hellinger-l1" // Σ |√y - √y'|, as (22) of the paper prints it
	ChiSquared  HistogramLoss = "chi2"         // Σ (y - y')² / (y + y'), 0/0 being 0
)

// Of returns the loss of two histograms.
func (l HistogramLoss) Of(prediction, truth []float64) float64 {
	f := 0.0
	for j, y := range prediction {
		z := truth[j]
		switch l {
		case HellingerL1:
			f += math.Abs(math.Sqrt(y) - math.Sqrt(z))
		case ChiSquared:
			if s := y + z; s > 0 {
				f += (y - z) * (y - z) / s
			}
		default:
			d := math.Sqrt(y) - math.Sqrt(z)
			f += d * d
		}
	}
	return f
}

// Histogram decodes points of the simplex: not negative, of sum 1. The squared Hellinger loss has a
// closed form and is exact. The other two are sums over bins under one constraint. With a
// multiplier for it, bins are minimised one by one, which gives a lower bound; bisection on the
// multiplier gives a point near the best.
type Histogram struct {
	bins  int
	loss  HistogramLoss
	truth []float64 // y, and its roots for Hellinger; example by example
	n     int
	order [][]int32 // of the truths by value in each bin, for HellingerL1
}

// simplexSlack is by how much the sum of a histogram may differ from 1.
const simplexSlack = 1e-9

// OnSimplex scales y to sum 1, in place, if only rounding kept it from that. Other sums, and
// negative or missing entries, are errors that name the bin.
func OnSimplex(y []float64) error {
	sum := 0.0
	for j, v := range y {
		if !(v >= -simplexSlack) || v > 2 {
			return fmt.Errorf("bin %d is %.6g; a histogram has entries from 0 to 1", j+1, v)
		}
		y[j] = math.Max(v, 0)
		sum += y[j]
	}
	if math.Abs(sum-1) > simplexSlack {
		return fmt.Errorf("the bins add up to %.6g, not to 1", sum)
	}
	for j := range y {
		y[j] /= sum
	}
	return nil
}

// NewHistogram takes the histograms of the training examples. It copies them.
func NewHistogram(truths [][]float64, loss HistogramLoss) (*Histogram, error) {
	switch loss {
	case "":
		loss = HellingerSq
	case HellingerSq, HellingerL1, ChiSquared:
	default:
		return nil, fmt.Errorf("structured: %q is none of %s, %s, %s", loss, HellingerSq, HellingerL1, ChiSquared)
	}
	if len(truths) == 0 || len(truths[0]) == 0 {
		return nil, fmt.Errorf("%w: no example, or no bin", ErrOutputs)
	}
	h := &Histogram{bins: len(truths[0]), loss: loss, n: len(truths)}
	h.truth = make([]float64, 0, h.n*h.bins)
	for i, y := range truths {
		if len(y) != h.bins {
			return nil, fmt.Errorf("%w: example %d has %d bins, the first %d", ErrOutputs, i+1, len(y), h.bins)
		}
		y = slices.Clone(y)
		if err := OnSimplex(y); err != nil {
			return nil, fmt.Errorf("%w: example %d: %w", ErrOutputs, i+1, err)
		}
		h.truth = append(h.truth, y...)
	}
	if loss != ChiSquared {
		for k, v := range h.truth {
			h.truth[k] = math.Sqrt(v)
		}
	}
	if loss == HellingerL1 {
		for j := range h.bins {
			order := make([]int32, h.n)
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(h.at(int(a), j), h.at(int(b), j)) })
			h.order = append(h.order, order)
		}
	}
	return h, nil
}

func (h *Histogram) at(i, j int) float64 { return h.truth[i*h.bins+j] }

// Len implements Decoder.
func (h *Histogram) Len() int { return h.n }

// Bins returns their number.
func (h *Histogram) Bins() int { return h.bins }

// Loss is the loss that is decoded.
func (h *Histogram) Loss(prediction, truth []float64) float64 { return h.loss.Of(prediction, truth) }

// Decode implements Decoder: O(n·bins) for the squared Hellinger loss, and as much for each
// step of bisection for the others.
func (h *Histogram) Decode(ctx context.Context, alpha []float64) (Decoded[[]float64], error) {
	if err := check(alpha, h.n); err != nil {
		return Decoded[[]float64]{}, err
	}
	switch h.loss {
	case HellingerL1:
		return h.decodeL1(ctx, alpha)
	case ChiSquared:
		return h.decodeChi(ctx, alpha)
	}
	total := 0.0
	v := make([]float64, h.bins)
	for i, a := range alpha {
		if a != 0 {
			total += a
			for j, r := range h.truth[i*h.bins:][:h.bins] {
				v[j] += a * r
			}
		}
	}
	// F is 2 Σα - 2 u·v over unit vectors u ≥ 0.
	d := Decoded[[]float64]{Output: make([]float64, h.bins), Exact: ExactOverSpace, Margin: math.NaN()}
	best, square := 0, 0.0
	for j, x := range v {
		if x > v[best] {
			best = j
		}
		if x > 0 {
			square += x * x
		}
	}
	if square > 0 {
		for j, x := range v {
			if x > 0 {
				d.Output[j] = x * x / square
			}
		}
		d.Value = 2*total - 2*math.Sqrt(square)
	} else {
		d.Output[best] = 1
		d.Value = 2*total - 2*v[best]
	}
	d.LowerBound = d.Value
	return d, nil
}

// bisections halve the range of a multiplier down to rounding.
const bisections = 60

// decodeL1 minimises Σ_j φ_j(u_j) over unit vectors u ≥ 0, φ_j(u) = Σ_i α_i |u - √y_ij|. For a
// multiplier ν, Σ_j min_u (φ_j(u) + ν u²) - ν bounds the least value from below.
func (h *Histogram) decodeL1(ctx context.Context, alpha []float64) (Decoded[[]float64], error) {
	bins := make([]piecewise, h.bins)
	scale := 0.0
	for j := range bins {
		bins[j].build(h, j, alpha)
		scale += bins[j].scale
	}
	u := make([]float64, h.bins)
	d := Decoded[[]float64]{Value: math.Inf(1), LowerBound: math.Inf(-1), Margin: math.NaN()}
	value := func(u []float64) float64 {
		f := 0.0
		for j := range bins {
			f += bins[j].value(u[j])
		}
		return f
	}
	var best []float64
	keep := func(u []float64) {
		if f := value(u); f < d.Value {
			d.Value, best = f, slices.Clone(u)
		}
	}
	try := func(nu float64) (square float64) {
		bound := -nu
		for j := range bins {
			x, f := bins[j].least(nu)
			u[j] = x
			bound += f
			square += x * x
		}
		d.LowerBound = math.Max(d.LowerBound, bound)
		d.Steps++
		if square > 0 {
			unit := slices.Clone(u)
			normalise(unit, square)
			keep(unit)
		}
		return square
	}
	// Σ u² falls in ν. The range is widened until it holds 1.
	low, high := -1.0, 1.0
	for range bisections {
		if try(low) >= 1 {
			break
		}
		low *= 2
	}
	for range bisections {
		if try(high) <= 1 {
			break
		}
		high *= 2
	}
	for range bisections {
		if ctx.Err() != nil {
			return d, &run.InterruptedError{Name: "structured", Steps: d.Steps, Err: context.Cause(ctx)}
		}
		nu := low + (high-low)/2
		if nu == low || nu == high {
			break
		}
		if try(nu) > 1 {
			low = nu
		} else {
			high = nu
		}
	}
	h.meet(bins, low, high, keep)
	rotate(bins, best, polishSweeps)
	d.Value = value(best)
	d.Output = make([]float64, h.bins)
	for j, x := range best {
		d.Output[j] = x * x
	}
	_ = OnSimplex(d.Output) // of sum 1 but for rounding
	d.settle(scale, ExactOverSpace)
	return d, nil
}

func normalise(u []float64, square float64) {
	r := 1 / math.Sqrt(square)
	for j := range u {
		u[j] *= r
	}
}

// meet goes from the bins' minimisers at one multiplier to those at another, bin by bin. It keeps
// the points on the way; one has a norm near 1.
func (h *Histogram) meet(bins []piecewise, low, high float64, keep func([]float64)) {
	a, b := make([]float64, h.bins), make([]float64, h.bins)
	square := 0.0
	for j := range bins {
		a[j], _ = bins[j].least(low)
		b[j], _ = bins[j].least(high)
		square += a[j] * a[j]
	}
	for j := range bins {
		next := square - a[j]*a[j] + b[j]*b[j]
		if next <= 1 && square > 1 { // this bin takes up the difference
			u := slices.Clone(a)
			u[j] = math.Sqrt(math.Max(0, 1-(square-a[j]*a[j])))
			keep(u)
		}
		a[j], square = b[j], next
		if square > 0 {
			u := slices.Clone(a)
			normalise(u, square)
			keep(u)
		}
	}
}

// polishSweeps bounds the sweeps of pairs of bins.
const polishSweeps = 4

// rotate moves weight between neighbouring pairs of bins as long as the value falls: the sum
// of their squares stays.
func rotate(bins []piecewise, u []float64, sweeps int) {
	for range sweeps {
		moved := false
		for j := range bins {
			k := (j + 1) % len(bins)
			radius := math.Hypot(u[j], u[k])
			if j == k || radius == 0 {
				continue
			}
			f := bins[j].value(u[j]) + bins[k].value(u[k])
			// Breakpoints of either bin are where a piece ends; minima lie there or at the ends.
			best, x, y := f, u[j], u[k]
			tryPair := func(a, b float64) {
				if v := bins[j].value(a) + bins[k].value(b); v < best-1e-12*math.Abs(best) {
					best, x, y = v, a, b
				}
			}
			for _, a := range bins[j].at {
				if a <= radius {
					tryPair(a, math.Sqrt(math.Max(0, radius*radius-a*a)))
				}
			}
			for _, b := range bins[k].at {
				if b <= radius {
					tryPair(math.Sqrt(math.Max(0, radius*radius-b*b)), b)
				}
			}
			tryPair(0, radius)
			tryPair(radius, 0)
			if best < f {
				u[j], u[k], moved = x, y, true
			}
		}
		if !moved {
			return
		}
	}
}

// piecewise is φ(u) = Σ_i α_i |u - b_i| on [0, 1], as its breakpoints, values and slopes.
type piecewise struct {
	at, f []float64 // breakpoints in ascending order, 0 first and 1 last, and the values there
	slope []float64 // between breakpoint k and k+1
	scale float64   // Σ|α|
}

func (p *piecewise) build(h *Histogram, j int, alpha []float64) {
	slope, f := 0.0, 0.0
	for i, a := range alpha {
		slope -= a
		f += a * h.at(i, j)
		p.scale += math.Abs(a)
	}
	p.at, p.f = append(p.at, 0), append(p.f, f)
	for _, i := range h.order[j] {
		a := alpha[i]
		if a == 0 {
			continue
		}
		b := h.at(int(i), j)
		if last := len(p.at) - 1; b > p.at[last] {
			f += slope * (b - p.at[last])
			p.at, p.f, p.slope = append(p.at, b), append(p.f, f), append(p.slope, slope)
		}
		slope += 2 * a
	}
	if last := len(p.at) - 1; p.at[last] < 1 {
		p.at, p.f, p.slope = append(p.at, 1), append(p.f, f+slope*(1-p.at[last])), append(p.slope, slope)
	}
}

func (p *piecewise) value(u float64) float64 {
	k, _ := slices.BinarySearch(p.at, u)
	if k == 0 {
		return p.f[0]
	}
	k = min(k-1, len(p.slope)-1)
	return p.f[k] + p.slope[k]*(u-p.at[k])
}

// least returns the smallest minimiser of φ(u) + ν u² on [0, 1], and the value. It is a breakpoint,
// or for ν > 0 may be inside a piece.
func (p *piecewise) least(nu float64) (u, f float64) {
	u, f = 0, p.f[0]
	for k, x := range p.at {
		if v := p.f[k] + nu*x*x; v < f {
			u, f = x, v
		}
		if nu > 0 && k < len(p.slope) {
			if z := -p.slope[k] / (2 * nu); z > x && z < p.at[k+1] {
				if v := p.f[k] + p.slope[k]*(z-x) + nu*z*z; v < f {
					u, f = z, v
				}
			}
		}
	}
	return u, f
}

// chiStarts are the starts of a decoding of chi² under weights of both signs.
const chiStarts = 3

// decodeChi maximises Σ_j ψ_j(y_j), ψ_j(y) = 4 Σ_i α_i y y_ij / (y + y_ij), over the simplex: F
// is 2 Σα less that. A multiplier ν for the sum parts the bins, and Σ_j max (ψ_j - ν y) + ν
// bounds the most from above. For α ≥ 0 all ψ_j are concave, so that the bound is met.
func (h *Histogram) decodeChi(ctx context.Context, alpha []float64) (Decoded[[]float64], error) {
	c := &chi{h: h, used: support(alpha), alpha: alpha, concave: true}
	total := 0.0
	for _, a := range alpha {
		total += a
		c.concave = c.concave && a >= 0
	}
	d := Decoded[[]float64]{LowerBound: math.Inf(-1), Margin: math.NaN()}
	y := make([]float64, h.bins)
	best := math.Inf(-1)
	keep := func(y []float64) {
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		if sum <= 0 {
			return
		}
		z := slices.Clone(y)
		for j := range z {
			z[j] /= sum
		}
		if f := c.value(z); f > best {
			best, d.Output = f, z
		}
	}
	try := func(nu float64) float64 {
		sum, bound := 0.0, nu
		for j := range y {
			var up float64
			y[j], up = c.most(j, nu)
			sum += y[j]
			bound += up
		}
		d.LowerBound = math.Max(d.LowerBound, 2*total-bound)
		d.Steps++
		keep(y)
		return sum
	}
	// Slopes of ψ lie within 4 Σ|α| of zero: so does the multiplier.
	low, high := -4*norm1(alpha), 4*norm1(alpha)
	for range bisections {
		if ctx.Err() != nil {
			return d, &run.InterruptedError{Name: "structured", Steps: d.Steps, Err: context.Cause(ctx)}
		}
		nu := low + (high-low)/2
		if nu == low || nu == high {
			break
		}
		if try(nu) > 1 {
			low = nu
		} else {
			high = nu
		}
	}
	if !c.concave {
		rng := rand.New(rand.NewPCG(1, uint64(h.bins)))
		from := bestOf(c.used, chiStarts, func(i int) float64 { return -c.value(h.truth[i*h.bins:][:h.bins]) })
		for _, i := range from {
			z := slices.Clone(h.truth[i*h.bins:][:h.bins])
			keep(z)
			c.climb(ctx, z, rng)
			keep(z)
		}
	}
	z := slices.Clone(d.Output)
	c.climb(ctx, z, rand.New(rand.NewPCG(2, uint64(h.bins))))
	keep(z)
	if err := cancelled(ctx, d.Steps); err != nil {
		return d, err
	}
	d.Value = 2*total - best
	d.settle(4*norm1(alpha), ExactOverSpace)
	return d, nil
}

// chi is a decoding under chi².
type chi struct {
	h       *Histogram
	used    []int
	alpha   []float64
	concave bool
}

func (c *chi) value(y []float64) float64 {
	f := 0.0
	for j, v := range y {
		p, _, _ := c.psi(j, v)
		f += p
	}
	return f
}

// psi returns ψ_j(y), its slope, and a bound on the curvature's positive part there.
func (c *chi) psi(j int, y float64) (f, slope, convex float64) {
	for _, i := range c.used {
		t := c.h.at(i, j)
		if t == 0 {
			continue
		}
		s := t / (y + t)
		a := 4 * c.alpha[i]
		f += a * y * s
		slope += a * s * s
		if a < 0 {
			convex -= 2 * a * s * s / (y + t)
		}
	}
	return f, slope, convex
}

// chiPieces are the intervals of [0, 1] in which a bin with weights of both signs is bounded.
const chiPieces = 32

// most returns a maximiser of ψ_j(y) - ν y on [0, 1], and an upper bound on the maximum.
func (c *chi) most(j int, nu float64) (y, bound float64) {
	if c.concave {
		if _, s, _ := c.psi(j, 0); s <= nu {
			return 0, 0
		}
		lo, hi := 0.0, 1.0
		if _, s, _ := c.psi(j, 1); s >= nu {
			lo = 1
		}
		for lo < hi {
			mid := lo + (hi-lo)/2
			if mid == lo || mid == hi {
				break
			}
			if _, s, _ := c.psi(j, mid); s > nu {
				lo = mid
			} else {
				hi = mid
			}
		}
		f, _, _ := c.psi(j, lo)
		g, s, _ := c.psi(j, hi)
		return lo, math.Max(f-nu*lo, g-nu*hi) + math.Abs(s-nu)*(hi-lo)
	}
	// This is the difference of two concave functions, P - N. On an interval it is below the
	// tangents of P at both ends, less the chord of N.
	best := math.Inf(-1)
	bound = math.Inf(-1)
	x := 0.0
	p0, n0, dp0 := c.parts(j, x)
	for k := range chiPieces {
		if v := p0 - n0 - nu*x; v > best {
			best, y = v, x
		}
		// Quadratic spacing: near zero curvature is large.
		next := float64(k+1) / chiPieces
		next *= next
		p1, n1, dp1 := c.parts(j, next)
		// P is below both tangents; they meet at z.
		z := next
		if dp0 > dp1 {
			z = math.Min(math.Max((p1-p0+dp0*x-dp1*next)/(dp0-dp1), x), next)
		}
		for _, at := range [3]float64{x, z, next} {
			top := math.Min(p0+dp0*(at-x), p1+dp1*(at-next))
			chord := n0 + (n1-n0)*(at-x)/(next-x)
			bound = math.Max(bound, top-chord-nu*at)
		}
		x, p0, n0, dp0 = next, p1, n1, dp1
	}
	if v := p0 - n0 - nu*x; v > best {
		best, y = v, x
	}
	return y, bound
}

// parts returns the concave parts of ψ_j with positive and with negative weights, ψ = p - n,
// and the slope of the first.
func (c *chi) parts(j int, y float64) (p, n, slope float64) {
	for _, i := range c.used {
		t := c.h.at(i, j)
		if t == 0 {
			continue
		}
		s := t / (y + t)
		if a := 4 * c.alpha[i]; a > 0 {
			p += a * y * s
			slope += a * s * s
		} else {
			n -= a * y * s
		}
	}
	return p, n, slope
}

// climbSteps bounds the moves of a climb, by bin.
const climbSteps = 4

// climb moves weight from one bin to another while the value rises, between pairs drawn at
// random and the bins of steepest and least slope.
func (c *chi) climb(ctx context.Context, y []float64, rng *rand.Rand) {
	m := len(y)
	slope := make([]float64, m)
	for j := range y {
		_, slope[j], _ = c.psi(j, y[j])
	}
	for step := range climbSteps * m {
		if ctx.Err() != nil {
			return // the caller says so
		}
		a, b := 0, -1 // to a, from b
		if step%2 == 0 {
			for j := range y {
				if slope[j] > slope[a] {
					a = j
				}
				if y[j] > 0 && (b < 0 || slope[j] < slope[b]) {
					b = j
				}
			}
		} else {
			a, b = rng.IntN(m), rng.IntN(m)
		}
		if a == b || b < 0 || y[b] == 0 {
			continue
		}
		f0, _, _ := c.psi(a, y[a])
		g0, _, _ := c.psi(b, y[b])
		// Steps from the whole of it down; the first that gains is taken.
		for t := y[b]; t > y[b]/1024; t /= 2 {
			f1, sa, _ := c.psi(a, y[a]+t)
			g1, sb, _ := c.psi(b, y[b]-t)
			if f1+g1 > f0+g0+1e-13*(math.Abs(f0)+math.Abs(g0)) {
				y[a] += t
				y[b] -= t
				slope[a], slope[b] = sa, sb
				break
			}
		}
	}
}
