package optim

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// BoxQP is the concave quadratic program that the duals of margin machines without a constant
// are: maximise ⟨C, u⟩ - uᵀHu/2 over 0 ≤ u ≤ Upper.
type BoxQP struct {
	H     [][]float64 // symmetric, positive semidefinite, with a positive diagonal; whole rows
	C     []float64
	Upper []float64 // positive, +Inf is no bound; nil is none at all
	// Most bounds the entries: Maximize stops when one exceeds it, as happens where H and C leave
	// the maximum unbounded. Zero is 1e6 times the largest C over the least diagonal entry.
	Most float64
	// Steps is the limit of steps; zero is 20 million.
	Steps int
}

// ErrUnbounded reports a program without a maximum: an entry of u exceeds Most.
type ErrUnbounded struct{ Entry int }

func (e *ErrUnbounded) Error() string {
	return fmt.Sprintf("the maximum has no bound: entry %d grows without end", e.Entry+1)
}

// Maximize first moves u into the box, then improves it until no entry of the gradient points out
// of the bounds by more than tol. A step moves the entry of the largest gain to its best value, and
// costs O(n). From time to time a step of Newton's method moves all entries between their bounds at
// once: single entries would need very many steps where H is nearly singular. Maximize returns the
// steps of both kinds, and the largest entry of the gradient that points out of the bounds.
//
// When C is all ones the gradient is how far a sample's margin falls short. tol is then the largest
// violation of the constraints of which u is the multiplier.
//
// Errors: ErrNotFinite, *ErrUnbounded, ErrSteps, and the context's.
func (q *BoxQP) Maximize(ctx context.Context, u []float64, tol float64) (steps int, violation float64, err error) {
	n := len(q.C)
	if len(u) != n || len(q.H) != n || q.Upper != nil && len(q.Upper) != n {
		return 0, 0, fmt.Errorf("optim: BoxQP: %d entries of C, %d rows of H, %d of the start, %d bounds", n, len(q.H), len(u), len(q.Upper))
	}
	least, top := math.Inf(1), 0.0
	for i, row := range q.H {
		if len(row) != n || FirstNotFinite(row) >= 0 || q.C[i]-q.C[i] != 0 || u[i]-u[i] != 0 || !(row[i] > 0) {
			return 0, 0, fmt.Errorf("optim: BoxQP: row %d, with %v on the diagonal: %w", i, row[i], ErrNotFinite)
		}
		least, top = math.Min(least, row[i]), math.Max(top, math.Abs(q.C[i]))
	}
	most, limit := q.Most, q.Steps
	if most == 0 {
		most = 1e6 * top / least
	}
	if limit == 0 {
		limit = 20_000_000
	}
	upper := func(i int) float64 {
		if q.Upper == nil {
			return math.Inf(1)
		}
		return q.Upper[i]
	}
	grad := make([]float64, n)
	gradient := func() {
		copy(grad, q.C)
		for i, v := range u {
			if v != 0 {
				floats.AddScaled(grad, -v, q.H[i])
			}
		}
	}
	for i, v := range u {
		u[i] = math.Min(math.Max(v, 0), upper(i))
	}
	gradient()
	fresh := 0
	free := &boxNewton{q: q, u: u, grad: grad, upper: upper}
	for ; ; steps++ {
		if steps%256 == 0 && ctx != nil && ctx.Err() != nil {
			return steps, violation, context.Cause(ctx)
		}
		if steps > 0 && steps%n == 0 {
			if err := free.phase(ctx, newtonShare*float64(steps)*float64(n)); err != nil {
				return steps + free.steps, violation, err
			}
		}
		best, gain := -1, 0.0
		violation = 0
		for i, g := range grad {
			if g > 0 && u[i] >= upper(i) || g < 0 && u[i] <= 0 {
				continue
			}
			violation = math.Max(violation, math.Abs(g))
			if v := g * g / q.H[i][i]; v > gain {
				best, gain = i, v
			}
		}
		if violation <= tol {
			if fresh == steps {
				return steps + free.steps, violation, nil
			}
			gradient() // rounding adds up: the last word is that of a gradient computed anew
			fresh = steps + 1
			continue
		}
		if steps >= limit {
			return steps + free.steps, violation, fmt.Errorf("optim: BoxQP: after %d steps the largest violation "+
				"is %.3g, not %.3g: %w",
				steps+free.steps, violation, tol, ErrSteps)
		}
		if steps-fresh > 20*n+1000 {
			gradient()
			fresh = steps
		}
		to := math.Min(math.Max(u[best]+grad[best]/q.H[best][best], 0), upper(best))
		if to > most {
			return steps + free.steps, violation, fmt.Errorf("optim: BoxQP: %w", &ErrUnbounded{best})
		}
		if to == u[best] {
			return steps + free.steps, violation, nil // no float is between
		}
		floats.AddScaled(grad, u[best]-to, q.H[best])
		u[best] = to
	}
}

// boxNewton takes Newton's steps over the free entries, those strictly between their bounds.
type boxNewton struct {
	q     *BoxQP
	u     []float64
	grad  []float64
	upper func(int) float64
	steps int
	work  float64 // multiplications so far

	free                 []int
	system, d, to, v, hv []float64
}

// newtonShare is how many multiplications Newton's steps may take for each of the others. Theirs
// are in products of matrices, and several times as fast.
const newtonShare = 16

// mostFree bounds a Newton system: a step is to take a fraction of a second.
const mostFree = 1200

// phase takes Newton's steps, each with the entries that are still free, until one ends within the
// bounds, or the work reaches that of the other steps.
func (b *boxNewton) phase(ctx context.Context, most float64) error {
	for {
		b.free = b.free[:0]
		for i, v := range b.u {
			if v > 0 && v < b.upper(i) {
				b.free = append(b.free, i)
			}
		}
		m := float64(len(b.free))
		cost := m*m*m/6 + m*(m+float64(len(b.u)))
		if len(b.free) == 0 || len(b.free) > mostFree || b.work+cost > most {
			return nil
		}
		if ctx != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b.work += cost
		b.steps++
		if !b.step() {
			return nil
		}
	}
}

// step is one of Newton's. It reports whether a bound was in its way, so that another may help.
func (b *boxNewton) step() bool {
	m := len(b.free)
	b.system, b.d = room(b.system, m*m), room(b.d, m)
	if !b.direction() {
		return false
	}
	// H is that of the direction without what was added to the diagonal.
	slope, bend := 0.0, 0.0
	for k, i := range b.free {
		slope += b.grad[i] * b.d[k]
		row := b.q.H[i]
		for l, j := range b.free {
			bend += b.d[k] * row[j] * b.d[l]
		}
	}
	if !(slope > 0 && bend > 0) {
		return false
	}
	best := slope / bend
	cut, bounded := best, false
	for k, i := range b.free {
		switch d := b.d[k]; {
		case d < 0 && -b.u[i]/d < cut:
			cut, bounded = -b.u[i]/d, true
		case d > 0 && (b.upper(i)-b.u[i])/d < cut:
			cut, bounded = (b.upper(i)-b.u[i])/d, true
		}
	}
	gain := cut * (slope - cut*bend/2)
	if bounded && b.move(best) < gain {
		b.move(cut)
	} else if !bounded {
		b.move(best)
	}
	for k, i := range b.free {
		b.u[i] = b.to[k]
	}
	floats.Sub(b.grad, b.hv)
	return bounded
}

// move stores in to where a step of that length ends, cut at the bounds, and in hv H times it. It
// returns the gain.
func (b *boxNewton) move(length float64) float64 {
	b.to, b.v, b.hv = room(b.to, len(b.free)), room(b.v, len(b.free)), room(b.hv, len(b.u))
	clear(b.hv)
	along := 0.0
	for k, i := range b.free {
		to := b.u[i] + length*b.d[k]
		// The entry that cuts the step reaches its bound exactly.
		if tiny := 1e-13 * math.Abs(length*b.d[k]); to <= tiny {
			to = 0
		} else if u := b.upper(i); to >= u-tiny {
			to = u
		}
		b.to[k], b.v[k] = to, to-b.u[i]
		along += b.grad[i] * b.v[k]
		floats.AddScaled(b.hv, b.v[k], b.q.H[i])
	}
	for k, i := range b.free {
		along -= b.v[k] * b.hv[i] / 2
	}
	return along
}

// direction stores Newton's direction in d. What makes the system definite is added to its
// diagonal.
func (b *boxNewton) direction() bool {
	m := len(b.free)
	trace := 0.0
	for _, i := range b.free {
		trace += b.q.H[i][i]
	}
	for jitter := 1e-14; jitter < 1e-4; jitter *= 100 {
		for k, i := range b.free {
			row := b.q.H[i]
			for l, j := range b.free[:k+1] {
				b.system[k*m+l] = row[j]
			}
			b.system[k*m+k] += jitter * trace / float64(m)
			b.d[k] = b.grad[i]
		}
		if gemm.Cholesky(1, m, b.system, m) {
			gemm.CholeskySolve(1, m, 1, b.system, m, b.d, 1)
			return FirstNotFinite(b.d) < 0
		}
	}
	return false
}

// room returns a slice of n numbers, s if it is long enough.
func room(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
