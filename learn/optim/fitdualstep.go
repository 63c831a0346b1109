package optim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// interior is the state of the interior-point method. A cell's pair (s, θ) solves
//
//	min s  over s ≥ 0 and s ≥ q = t²/2 - Gamma,  with θ(s-q) = τκ and (1-θ)s = τκ
//
// on the central path; α = θ·t. Rows are those of K times y_n for classes, so that multipliers are
// not negative. The slacks of a row are r = f - y within ±√Eps (Tube), or m = y f - 1 + Eps
// (Margin), or m - ξ = y f - 1 with a bounded total of w·ξ (Hinge).
type interior struct {
	*FitDual
	run   *run.Run
	n, g  int
	sign  []float64
	goal  []float64 // right-hand side of a row
	root  float64   // √Eps of Tube
	unit  float64   // of violations
	kappa float64
	boxes int  // complementary pairs beside those of the cells
	lost  bool // multipliers grow without end

	now, affine, full state
	t, values         []float64 // Kᵀλ and signed f
	system, rhs       []float64
	border, packed    []float64
	curve, push       []float64 // of cells: h and g of the Newton system
	cols              []int
	scale             float64 // of the multipliers at the start
	widen             float64 // factor of scale
	warm              bool    // the start was given
	excess, gap, last float64
	stuck, short      int // steps in a row without gain, and of little length
}

// state is a point, or a direction. Which slices are in use depends on the bound.
type state struct {
	x        []float64 // λ of Tube, else u
	a, b     []float64 // Tube: λ = a - b; Margin, Hinge: a is m, b is ξ
	r        []float64 // Tube
	s, theta []float64
	t        []float64 // of directions: Kᵀ of x
	mu       float64
}

func newInterior(d *FitDual, r *run.Run) *interior {
	n, g := len(d.Target), len(d.Volume)
	p := &interior{FitDual: d, run: r, n: n, g: g, unit: 1, widen: 10, sign: make([]float64, n), goal: make([]float64, n)}
	for i, y := range d.Target {
		switch d.Bound {
		case TubeBound:
			p.sign[i], p.goal[i] = 1, y
		case MarginBound:
			p.sign[i], p.goal[i] = y, 1-d.Eps
		default:
			p.sign[i], p.goal[i] = y, 1
		}
	}
	switch d.Bound {
	case TubeBound:
		p.root = math.Sqrt(d.Eps)
		p.unit = MaxAbs(d.Target)
		if p.root > 0 {
			p.boxes = 2 * n
		}
	case MarginBound:
		p.boxes = n
	default:
		p.boxes = 2 * n
	}
	if p.unit == 0 {
		p.unit = 1
	}
	volume := 0.0
	for _, v := range d.Volume {
		volume += v
	}
	p.kappa = float64(max(1, p.boxes)) / (2 * volume)
	for _, s := range []*state{&p.now, &p.affine, &p.full} {
		s.x, s.a, s.b, s.r = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		s.s, s.theta, s.t = make([]float64, g), make([]float64, g), make([]float64, g)
	}
	p.t, p.values = p.now.t, make([]float64, n)
	p.system, p.rhs, p.border = make([]float64, n*n), make([]float64, n), make([]float64, n)
	p.curve, p.push = make([]float64, g), make([]float64, g)
	return p
}

// begin sets the point that the method starts from. Multipliers given are moved off their bounds.
func (p *interior) begin(start []float64) {
	// The size of multipliers: those of one sample alone.
	own := 0.0
	for i, k := range p.K {
		own += p.Volume[i%p.g] * k * k / float64(p.n)
	}
	own += p.Ridge
	p.scale = p.widen * p.unit / math.Max(own, 1e-300)
	p.warm = start != nil
	if start != nil {
		p.scale = math.Max(1e-6*p.scale, math.Min(p.scale, 0.1*MaxAbs(start)))
	}
	now, most := &p.now, 0.0
	clear(now.r)
	for i := range p.n {
		x := 0.0
		if start != nil {
			x = start[i] * p.sign[i]
		}
		if p.Bound != TubeBound {
			now.x[i] = math.Max(x, p.scale)
			now.a[i], now.b[i] = 1, 1
			most = math.Max(most, now.x[i]/p.weight(i))
			continue
		}
		now.x[i] = x
		if p.root > 0 {
			// The slack follows the multiplier: u± = scale·√Eps/(√Eps ± r).
			z := x / p.scale
			rho := -z / (1 + math.Sqrt(1+z*z))
			now.r[i] = p.root * rho
			now.a[i], now.b[i] = p.scale/(1+rho), p.scale/(1-rho)
			now.x[i] = now.a[i] - now.b[i]
		}
	}
	now.mu = 2 * most
	p.transposeSigned(now.x, p.t)
	p.centre(p.scale * p.unit)
	if p.Bound != TubeBound {
		// Slacks that fit the values, of about one size, and cells to match their products.
		size := p.reach()
		p.centre(p.scale * size)
		size = math.Max(size, p.reach())
		for i, v := range p.values {
			now.a[i] = size + math.Max(0, v-p.goal[i])
			now.b[i] = size + math.Max(0, p.goal[i]-v)
		}
	}
	p.last = math.Inf(1)
}

// centre sets the cells' pairs to those of the central path at tau.
func (p *interior) centre(tau float64) {
	now, w := &p.now, tau*p.kappa
	for g, t := range p.t {
		if p.Gamma == 0 {
			now.theta[g] = 1
			continue
		}
		q := t*t/2 - p.Gamma
		h := math.Hypot(q, 2*w)
		now.s[g] = (q + 2*w + h) / 2
		if q > 0 {
			now.theta[g] = 1 - w/now.s[g]
		} else {
			now.theta[g] = 2 * w / (2*w - q + h)
		}
		now.theta[g] = math.Min(math.Max(now.theta[g], 1e-12), 1-1e-12)
	}
}

// reach returns how far the values are from their goals, at least 1.
func (p *interior) reach() float64 {
	p.evaluate()
	size := 1.0
	for i, v := range p.values {
		size = math.Max(size, math.Abs(v-p.goal[i]))
	}
	return size
}

// transposeSigned stores Kᵀ of signed multipliers.
func (p *interior) transposeSigned(x, t []float64) {
	for i, v := range x {
		p.rhs[i] = v * p.sign[i]
	}
	p.Transpose(p.rhs, t)
}

// measure returns τ: the mean of the complementary products at the point that lies step along
// a direction, in the units of the boxes.
func (p *interior) measure(dir *state, step float64) float64 {
	sum, now := 0.0, &p.now
	along := func(x, d []float64, i int) float64 {
		if dir == nil {
			return x[i]
		}
		return x[i] + step*d[i]
	}
	d := dir
	if d == nil {
		d = now
	}
	if p.Gamma > 0 {
		for g, v := range p.Volume {
			t, s, theta := along(now.t, d.t, g), along(now.s, d.s, g), along(now.theta, d.theta, g)
			sum += v * (theta*(s-t*t/2+p.Gamma) + (1-theta)*s)
		}
	}
	mu := now.mu
	if dir != nil {
		mu += step * dir.mu
	}
	for i := range p.n {
		a, b := along(now.a, d.a, i), along(now.b, d.b, i)
		switch p.Bound {
		case TubeBound:
			if p.root > 0 {
				r := along(now.r, d.r, i)
				sum += a*(p.root+r) + b*(p.root-r)
			}
		case MarginBound:
			sum += a * along(now.x, d.x, i)
		default:
			x := along(now.x, d.x, i)
			sum += a*x + b*(mu*p.weight(i)-x)
		}
	}
	count := float64(p.boxes)
	if p.Gamma > 0 {
		count += float64(max(1, p.boxes))
	}
	return sum / math.Max(1, count)
}

// step is one Newton step: predictor, corrector, and the longest step that keeps signs.
func (p *interior) step() (*run.Row, run.Reason, error) {
	p.evaluate()
	if p.done() {
		return p.row(0), run.GapSmall, nil
	}
	if err := p.factor(); err != nil {
		return nil, "", err
	}
	tau := p.measure(nil, 0)
	sigma := 0.0
	var correct *state
	if p.boxes > 0 || p.Gamma > 0 {
		p.direction(&p.affine, 0, nil)
		length := p.longest(&p.affine)
		sigma = math.Pow(math.Max(0, p.measure(&p.affine, length))/tau, 3)
		sigma = math.Min(math.Max(sigma, 1e-4), 1)
		correct = &p.affine
	}
	p.direction(&p.full, sigma*tau, correct)
	length := p.longest(&p.full)
	if correct != nil && length < 0.1 {
		// Corrections that lead out of the signs at once are of no use: centre instead.
		p.direction(&p.full, math.Max(sigma, 0.5)*tau, nil)
		length = p.longest(&p.full)
	}
	// Short steps one after the other say that the multipliers began far too small.
	if length > 0.1 {
		p.short = 0
	} else if p.short++; p.short == 4 && p.widen < 1e10 {
		if !p.warm {
			p.widen *= 1000
		}
		p.warm, p.stuck, p.short = false, 0, 0
		p.begin(nil)
		p.evaluate()
		return p.row(0), "", nil
	}
	before := slices.Clone(p.now.x)
	p.advance(length)
	p.run.Evaluations++
	if i := FirstNotFinite(p.now.x); i >= 0 {
		if p.excess > p.tolerance() { // the system broke down on the way to infinity
			copy(p.now.x, before)
			p.transposeSigned(before, p.t)
			p.lost = true
			return p.row(0), run.NoProgress, nil
		}
		return nil, "", fmt.Errorf("fit dual: multiplier of sample %d: %w", i, ErrNotFinite)
	}
	p.evaluate()
	row := p.row(length)
	switch {
	case p.done():
		return row, run.GapSmall, nil
	case MaxAbs(p.now.x) > 1e10*p.scale && p.excess > p.tolerance():
		p.lost = true
		return row, run.NoProgress, nil
	}
	// A step that gains nothing any more: rounding.
	if merit := p.gap + p.excess/p.unit; merit < 0.9*p.last {
		p.last, p.stuck = merit, 0
	} else if p.stuck++; p.stuck >= 20 {
		return row, run.NoProgress, nil
	}
	return row, "", nil
}

func (p *interior) tolerance() float64 {
	if p.Violation > 0 {
		return p.Violation * p.unit
	}
	return 1e-6 * p.unit
}

func (p *interior) done() bool {
	gap := p.FitDual.Gap
	if gap == 0 {
		gap = 1e-6
	}
	return p.gap <= gap && p.excess <= p.tolerance()
}

// evaluate finds the values of the present α, the gap and the violation.
func (p *interior) evaluate() {
	alpha := p.push
	for g, t := range p.t {
		alpha[g] = p.now.theta[g] * t
	}
	p.Apply(alpha, p.values)
	primal := p.Complexity(alpha)
	for i, x := range p.now.x {
		p.values[i] += p.Ridge * x * p.sign[i]
		primal += p.Ridge / 2 * x * x
	}
	p.excess = p.Excess(p.values)
	dual := p.dual()
	p.gap = math.Abs(primal-dual) / math.Max(math.Abs(primal), 1e-300)
	if primal == 0 && dual == 0 {
		p.gap = 0
	}
	for i, s := range p.sign {
		p.values[i] *= s
	}
}

func (p *interior) dual() float64 {
	for i, x := range p.now.x {
		p.rhs[i] = x * p.sign[i]
	}
	return p.Value(p.rhs, p.t)
}

func (p *interior) row(length float64) *run.Row {
	return &run.Row{Objective: -p.dual(), Step: length, Detail: &FitDualRow{p.gap, p.excess}}
}

// factor makes and factors the Newton system in the multipliers, K diag(h) Kᵀ + diag.
func (p *interior) factor() error {
	n, now := p.n, &p.now
	total := 0.0
	for g, t := range p.t {
		theta := now.theta[g]
		h := theta
		if p.Gamma > 0 {
			h += theta * t * t / p.bend(g)
		}
		p.curve[g] = p.Volume[g] * h
		total += p.curve[g]
	}
	// What is left out is beyond the accuracy of the sums.
	p.cols = p.cols[:0]
	for g, h := range p.curve {
		if h*float64(p.g) > 1e-14*total {
			p.cols = append(p.cols, g)
		}
	}
	clear(p.system)
	const chunk = 512
	if p.packed == nil {
		p.packed = make([]float64, n*min(chunk, p.g))
	}
	b := gemm.Implementation{Workers: p.run.Workers}
	var roots [chunk]float64
	for from := 0; from < len(p.cols); from += chunk {
		cols := p.cols[from:min(from+chunk, len(p.cols))]
		for j, g := range cols {
			roots[j] = math.Sqrt(p.curve[g])
		}
		for i := range n {
			row, k := p.packed[i*len(cols):][:len(cols)], p.K[i*p.g:][:p.g]
			for j, g := range cols {
				row[j] = k[g] * roots[j]
			}
		}
		b.Dsyrk(blas.Lower, blas.NoTrans, n, len(cols), 1, p.packed, len(cols), 1, p.system, n)
		if err := p.run.Cancelled(); err != nil {
			return err
		}
	}
	trace := 0.0
	for i := range n {
		trace += p.system[i*n+i]
		for j := range i {
			p.system[i*n+j] *= p.sign[i] * p.sign[j]
		}
		p.system[i*n+i] += p.diagonal(i) + p.Ridge
	}
	// Kernels at samples close to one another leave the matrix singular but for rounding.
	kept := slices.Clone(p.system)
	for jitter := 1e-15; ; jitter *= 100 {
		for i := range n {
			p.system[i*n+i] += jitter * trace / float64(n)
		}
		if gemm.Cholesky(p.run.Workers, n, p.system, n) {
			return nil
		}
		if jitter > 1e-3 {
			return fmt.Errorf("fit dual: the Newton system is not positive definite: %w", ErrNotFinite)
		}
		copy(p.system, kept)
	}
}

// bend is D of a cell: θ moves by θ·t/D for a move of t.
func (p *interior) bend(g int) float64 {
	s, theta := p.now.s[g], p.now.theta[g]
	return s - p.t[g]*p.t[g]/2 + p.Gamma + theta*s/(1-theta)
}

// diagonal is what the slacks of row i add to the Newton system.
func (p *interior) diagonal(i int) float64 {
	now := &p.now
	switch p.Bound {
	case TubeBound:
		if p.root == 0 {
			return 0
		}
		return 1 / (now.a[i]/(p.root+now.r[i]) + now.b[i]/(p.root-now.r[i]))
	case MarginBound:
		return now.a[i] / now.x[i]
	}
	return now.a[i]/now.x[i] + now.b[i]/(now.mu*p.weight(i)-now.x[i])
}

// direction stores the Newton direction towards products of tau in d. second is the direction
// whose terms of second order are taken into account; nil is none.
func (p *interior) direction(d *state, tau float64, second *state) {
	n, now := p.n, &p.now
	of := func(x []float64, i int) float64 {
		if second == nil {
			return 0
		}
		return x[i]
	}
	e := second
	if e == nil {
		e = d
	}
	emu := 0.0
	if second != nil {
		emu = second.mu
	}
	// Cells: θ moves by c + (θt/D)·dt, and θt by push/v + (h/v)·dt.
	ra, rb := make([]float64, p.g), make([]float64, p.g)
	for g, t := range p.t {
		if p.Gamma == 0 {
			p.push[g] = 0
			continue
		}
		s, theta := now.s[g], now.theta[g]
		dt, ds, dtheta := of(e.t, g), of(e.s, g), of(e.theta, g)
		ra[g] = tau*p.kappa - theta*(s-t*t/2+p.Gamma) - dtheta*(ds-t*dt) + theta*dt*dt/2
		rb[g] = tau*p.kappa - (1-theta)*s + dtheta*ds
		p.push[g] = t*(ra[g]-theta*rb[g]/(1-theta))/p.bend(g) + dtheta*dt
	}
	p.Apply(p.push, p.rhs)
	// Rows. lift is what the slacks move by beside diag·dx.
	lift := make([]float64, n)
	beta, corner := p.Eps, 0.0
	for i := range n {
		var residual float64
		switch p.Bound {
		case TubeBound:
			residual = p.values[i] - p.goal[i] - now.r[i]
			if p.root > 0 {
				up, down := p.root+now.r[i], p.root-now.r[i]
				dr := of(e.r, i)
				lift[i] = p.diagonal(i) * ((tau-up*now.a[i]-of(e.a, i)*dr)/up - (tau-down*now.b[i]+of(e.b, i)*dr)/down)
			}
		case MarginBound:
			residual = p.values[i] - p.goal[i] - now.a[i]
			lift[i] = (tau - now.a[i]*now.x[i] - of(e.a, i)*of(e.x, i)) / now.x[i]
		default:
			w := p.weight(i)
			room := now.mu*w - now.x[i]
			residual = p.values[i] - p.goal[i] - now.a[i] + now.b[i]
			fall := (tau - now.b[i]*room - of(e.b, i)*(emu*w-of(e.x, i))) / room
			lift[i] = (tau-now.a[i]*now.x[i]-of(e.a, i)*of(e.x, i))/now.x[i] - fall
			c := now.b[i] * w / room
			p.border[i] = c
			beta -= w * (now.b[i] + fall)
			corner += w * c
		}
		p.rhs[i] = lift[i] - residual - p.sign[i]*p.rhs[i]
	}
	copy(d.x, p.rhs)
	gemm.CholeskySolve(1, n, 1, p.system, n, d.x, 1)
	d.mu = 0
	if p.Bound == HingeBound {
		z := slices.Clone(p.border)
		gemm.CholeskySolve(1, n, 1, p.system, n, z, 1)
		along, across := 0.0, 0.0
		for i, c := range p.border {
			along += c * d.x[i]
			across += c * z[i]
		}
		if den := across - corner; den < 0 {
			d.mu = (beta - along) / den
		}
		for i := range d.x {
			d.x[i] += z[i] * d.mu
		}
	}
	// What was eliminated. Slices of second may be those of d no longer: they were read.
	for i := range n {
		switch p.Bound {
		case TubeBound:
			if p.root == 0 {
				continue
			}
			up, down := p.root+now.r[i], p.root-now.r[i]
			dr2 := of(e.r, i)
			rup, rdown := tau-up*now.a[i]-of(e.a, i)*dr2, tau-down*now.b[i]+of(e.b, i)*dr2
			dr := lift[i] - p.diagonal(i)*d.x[i]
			d.r[i] = dr
			d.a[i] = (rup - now.a[i]*dr) / up
			d.b[i] = (rdown + now.b[i]*dr) / down
		case MarginBound:
			d.a[i] = (tau - now.a[i]*now.x[i] - of(e.a, i)*of(e.x, i) - now.a[i]*d.x[i]) / now.x[i]
		default:
			w := p.weight(i)
			room := now.mu*w - now.x[i]
			da := (tau - now.a[i]*now.x[i] - of(e.a, i)*of(e.x, i) - now.a[i]*d.x[i]) / now.x[i]
			db := (tau - now.b[i]*room - of(e.b, i)*(emu*w-of(e.x, i)) - now.b[i]*(w*d.mu-d.x[i])) / room
			d.a[i], d.b[i] = da, db
		}
	}
	p.transposeSigned(d.x, d.t)
	for g, t := range p.t {
		if p.Gamma == 0 {
			continue
		}
		theta := now.theta[g]
		d.theta[g] = (ra[g] - theta*rb[g]/(1-theta) + theta*t*d.t[g]) / p.bend(g)
		d.s[g] = (rb[g] + now.s[g]*d.theta[g]) / (1 - theta)
	}
}

// longest returns 0.995 of the longest step that keeps all signs, at most 1.
func (p *interior) longest(d *state) float64 {
	const back = 0.995
	now, step := &p.now, 1/back
	keep := func(x, dx float64) {
		if dx < 0 && -x/dx < step {
			step = -x / dx
		}
	}
	for i := range p.n {
		switch p.Bound {
		case TubeBound:
			if p.root > 0 {
				keep(now.a[i], d.a[i])
				keep(now.b[i], d.b[i])
				keep(p.root+now.r[i], d.r[i])
				keep(p.root-now.r[i], -d.r[i])
			}
		case MarginBound:
			keep(now.x[i], d.x[i])
			keep(now.a[i], d.a[i])
		default:
			w := p.weight(i)
			keep(now.x[i], d.x[i])
			keep(now.a[i], d.a[i])
			keep(now.b[i], d.b[i])
			keep(now.mu*w-now.x[i], d.mu*w-d.x[i])
		}
	}
	if p.Gamma == 0 {
		return back * step
	}
	for g := range p.g {
		keep(now.theta[g], d.theta[g])
		keep(1-now.theta[g], -d.theta[g])
		keep(now.s[g], d.s[g])
		// s - t²/2 + Gamma stays positive: it is a - b·step - c·step², with c not negative.
		t, dt := now.t[g], d.t[g]
		a, b, c := now.s[g]-t*t/2+p.Gamma, t*dt-d.s[g], dt*dt/2
		if a-step*(b+c*step) <= 0 {
			root := math.Sqrt(b*b + 4*a*c)
			if b > 0 {
				step = 2 * a / (b + root)
			} else {
				step = (root - b) / (2 * c)
			}
		}
	}
	return back * step
}

// advance goes a step along the full direction.
func (p *interior) advance(step float64) {
	now, d := &p.now, &p.full
	for i := range p.n {
		now.x[i] += step * d.x[i]
		now.a[i] += step * d.a[i]
		now.b[i] += step * d.b[i]
		now.r[i] += step * d.r[i]
	}
	if p.Bound == TubeBound && p.root > 0 {
		for i := range p.n {
			now.x[i] = now.a[i] - now.b[i] // as it is, but for rounding
		}
	}
	now.mu += step * d.mu
	for g := range p.g {
		now.s[g] += step * d.s[g]
		now.theta[g] += step * d.theta[g]
	}
	p.transposeSigned(now.x, p.t)
	if p.Gamma == 0 {
		return
	}
	for g, t := range p.t { // where rounding, not the step, has crossed a bound
		if q := t*t/2 - p.Gamma; now.s[g] <= q {
			now.s[g] = q + 1e-15*math.Abs(q)
		}
	}
}

func (p *interior) result() *FitDualResult {
	r := &FitDualResult{Alpha: make([]float64, p.g), Values: make([]float64, p.n)}
	r.X = make([]float64, p.n)
	for i, x := range p.now.x {
		r.X[i] = x * p.sign[i]
	}
	for g, t := range p.t {
		r.Alpha[g] = p.now.theta[g] * t
	}
	p.Apply(r.Alpha, r.Values)
	relaxed := slices.Clone(r.Values)
	r.Primal, r.Dual = p.Complexity(r.Alpha), p.Value(r.X, p.t)
	for i, x := range r.X {
		relaxed[i] += p.Ridge * x
		r.Primal += p.Ridge / 2 * x * x
	}
	r.Violation = p.Excess(relaxed)
	r.F = -r.Dual
	return r
}

func (p *interior) checkpoint() (*run.Checkpoint, error) {
	now := &p.now
	return &run.Checkpoint{X: slices.Clone(now.x), Arrays: map[string][]float64{
		"rows":  slices.Concat(now.a, now.b, now.r),
		"cells": slices.Concat(now.s, now.theta),
		"rest":  {now.mu, p.scale, p.widen, p.last, float64(p.stuck), float64(p.short)},
	}}, nil
}

func (p *interior) restore(k *run.Checkpoint) error {
	n, g, now := p.n, p.g, &p.now
	rows, cells, rest := k.Arrays["rows"], k.Arrays["cells"], k.Arrays["rest"]
	if len(rows) != 3*n || len(cells) != 2*g || len(rest) != 6 {
		return fmt.Errorf("optim: fit dual: %w: it has other samples or cells", run.ErrOther)
	}
	copy(now.x, k.X)
	copy(now.a, rows)
	copy(now.b, rows[n:])
	copy(now.r, rows[2*n:])
	copy(now.s, cells)
	copy(now.theta, cells[g:])
	now.mu, p.scale, p.widen, p.last, p.stuck, p.short = rest[0], rest[1], rest[2], rest[3], int(rest[4]), int(rest[5])
	p.transposeSigned(now.x, p.t)
	return nil
}
