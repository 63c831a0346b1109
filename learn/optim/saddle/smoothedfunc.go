package saddle

import (
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// smoothed is F_τ.
type smoothed struct {
	p              Problem
	set            optim.Set
	tau            float64
	lambda, values []float64
	run            *run.Run
	watch          *smoothedBounds // nil: evaluations prove nothing
	ball           *multiplier     // nil: there is no ball
	held           []int           // coordinates that a round leaves alone
}

// multiplier is the constraint |w| ≤ radius.
type multiplier struct{ radius, nu, rho float64 }

// add returns what the constraint adds at w, and adds its gradient.
func (b *multiplier) add(w, grad []float64) float64 {
	t := math.Max(0, b.nu+b.rho*b.excess(w))
	if grad != nil && t > 0 {
		for j, v := range w {
			grad[j] += t * v
		}
	}
	return (t*t - b.nu*b.nu) / (2 * b.rho)
}

func (b *multiplier) excess(w []float64) float64 { return (dot(w, w) - b.radius*b.radius) / 2 }

// update ends a round at w. The factor is one that L-BFGS copes with: ρ is the curvature
// along w, and nothing else.
func (b *multiplier) update(w []float64) {
	b.nu = math.Max(0, b.nu+b.rho*b.excess(w))
	if far := math.Abs(b.excess(w)); far > 1e-9*b.radius*b.radius && b.nu > 0 {
		b.rho *= 4
	}
}

// errProved ends a round whose bounds are as close as it can bring them.
var errProved = errors.New("proved")

// smoothedBounds are the bounds of Certify at every evaluation, of a problem that is
// strongly convex in w along every coordinate, w anywhere.
type smoothedBounds struct {
	mu      []float64
	tol     func(upper float64) float64
	best    Certificate
	at      []float64 // where the round ended
	running bool      // the first evaluation of a round is where the last ended
}

func (b *smoothedBounds) begin() { b.running = false }

func (b *smoothedBounds) merge(c Certificate) {
	b.best = Certificate{Upper: c.Upper, Lower: c.Lower, W: slices.Clone(c.W), Lambda: slices.Clone(c.Lambda)}
}

func (b *smoothedBounds) certificate() Certificate {
	return Certificate{Upper: b.best.Upper, Lower: b.best.Lower, W: slices.Clone(b.best.W),
		Lambda: slices.Clone(b.best.Lambda)}
}

// add records φ(w, λ), its gradient along w, and max φ(w, ·). It returns errProved when the gap is
// proved, or when w's part of the gap is a quarter of λ's, which only a smaller τ can reduce.
func (b *smoothedBounds) add(w, lambda, grad []float64, v, upper float64) error {
	rest := 0.0 // drop(nil, w, grad, b.mu), in half the time
	for j, g := range grad {
		rest += g * g / b.mu[j]
	}
	rest /= 2
	if b.best.W == nil || upper < b.best.Upper {
		b.best.Upper = upper
		b.best.W = append(b.best.W[:0], w...)
	}
	if b.best.Lambda == nil || v-rest > b.best.Lower {
		b.best.Lower = v - rest
		b.best.Lambda = append(b.best.Lambda[:0], lambda...)
	}
	first := !b.running
	b.running = true
	tol := b.tol(upper)
	if b.best.Gap() <= b.tol(b.best.Upper) || !first && upper-v > tol/2 && rest <= math.Max(upper-v, tol)/4 {
		b.at = append(b.at[:0], w...)
		return errProved
	}
	return nil
}

// mostUnsettled bounds the rounds in a row at the same τ.
const mostUnsettled = 4

// hold stores the coordinates that a round from w is to leave alone.
func (f *smoothed) hold(set optim.Set, w []float64) error {
	if f.held = nil; !walled(set) {
		return nil
	}
	g := make([]float64, len(w))
	if _, err := f.eval(w, g); err != nil {
		return err
	}
	f.held = wallsAt(set, w, g)
	return nil
}

// live returns a recorder of the steps of a round for run.Live, or nil. res has the bounds
// of the rounds before.
func (f *smoothed) live(round int, res *Result) run.Recorder {
	if f.run.Live == nil {
		return nil
	}
	return run.RecorderFunc(func(r run.Row) error {
		s := &Row{Values: slices.Clone(f.values), Lambda: slices.Clone(f.lambda), Mean: slices.Clone(f.lambda),
			Upper: math.Inf(1), Lower: math.Inf(-1)}
		switch {
		case f.watch != nil && f.watch.best.W != nil:
			s.Upper, s.Lower = f.watch.best.Upper, f.watch.best.Lower
		case res.Certified:
			s.Upper, s.Lower = res.Certificate.Upper, res.Certificate.Lower
		}
		return f.run.Live.Record(run.Row{Iteration: round, Objective: r.Objective, GradNorm: r.GradNorm,
			Step: f.tau, Evaluations: f.run.Evaluations, Seconds: f.run.Seconds(), Detail: s})
	})
}

// best stores the λ that attains the maximum for the values.
func (f *smoothed) best(lambda []float64) {
	for k, v := range f.values {
		lambda[k] = v / f.tau
	}
	// Only differences matter on the simplex, and large numbers lose them.
	if _, ok := f.set.(optim.Simplex); ok {
		most := slices.Max(lambda)
		for k := range lambda {
			lambda[k] -= most
		}
	}
	f.set.Project(lambda)
}

func (f *smoothed) eval(w, grad []float64) (float64, error) {
	// The values do not depend on λ; a problem that remembers its last w does not
	// pay twice.
	base, err := f.p.Eval(w, f.lambda, nil, f.values)
	if err != nil {
		return base, err
	}
	base -= dot(f.lambda, f.values) // r(w)
	f.best(f.lambda)
	f.run.Evaluations++
	if grad != nil {
		if _, err := f.p.Eval(w, f.lambda, grad, f.values); err != nil {
			return base, err
		}
		if f.watch != nil {
			if err := f.watch.add(w, f.lambda, grad, base+dot(f.lambda, f.values),
				base+optim.Maximize(f.set, f.values, nil)); err != nil {
				return base, err
			}
		}
	}
	if f.ball != nil {
		base += f.ball.add(w, grad)
	}
	if grad != nil {
		leave(f.held, grad)
	}
	return base + dot(f.lambda, f.values) - f.tau/2*dot(f.lambda, f.lambda), nil
}
