package losses

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// Potentials are order-q scores θ_t(z) of the label strings u = u_0 … u_{l-1}:
// θ(u) = Σ_t θ_t(u_{max(0,t-q+1)} … u_t). Positions count from 0 here, so that
// the window of position t has min(q, t+1) labels.
//
// The labels to choose from may differ by position: label k of position t is a
// number 0 ≤ k < Sizes[t]. For strings over one alphabet Δ all sizes are |Δ|.
type Potentials struct {
	Sizes []int // labels at each position; its length is l
	Order int   // q: 1, 2 or 3

	// Theta[t] holds θ_t, indexed by the window as a number in mixed radix,
	// earliest label first (most significant): Theta[t][(a*Sizes[t-1]+b)*Sizes[t]+c]
	// for q = 3. -Inf forbids a window; +Inf and NaN are errors.
	Theta [][]float64
}

// NewPotentials returns potentials of zero for strings of length l over an alphabet of size labels,
// rows in one array. It panics when a size is negative, or memory cannot hold the windows, as make
// would.
func NewPotentials(alphabet, l, q int) *Potentials {
	if alphabet < 0 || l < 0 {
		panic(fmt.Sprintf("losses: potentials for strings of length %d over %d labels: neither may be "+
			"negative", l, alphabet))
	}
	sizes := make([]int, l)
	for t := range sizes {
		sizes[t] = alphabet
	}
	return NewLatticePotentials(sizes, q)
}

// NewLatticePotentials returns potentials of zero with sizes[t] labels at
// position t, none of them negative. It keeps sizes.
func NewLatticePotentials(sizes []int, q int) *Potentials {
	p := &Potentials{Sizes: sizes, Order: q, Theta: make([][]float64, len(sizes))}
	n := 0
	for t := range sizes {
		windows := 1.0 // where an int would overflow
		for s := max(0, t-q+1); s <= t; s++ {
			windows *= float64(sizes[s])
		}
		if float64(n)+windows > min(1<<48, math.MaxInt/8) {
			panic(fmt.Sprintf("losses: potentials of order %d: %.3g windows of labels at position %d are "+
				"too many", q, windows, t))
		}
		n += p.RowLen(t)
	}
	all := make([]float64, n)
	for t := range sizes {
		k := p.RowLen(t)
		p.Theta[t], all = all[:k:k], all[k:]
	}
	return p
}

// RowLen returns the number of windows that end at position t, the greatest int where there are
// more.
func (p *Potentials) RowLen(t int) int { return p.rows().RowLen(t) }

// rows returns p as sweeps take it.
func (p *Potentials) rows() *sweep.Potentials { return (*sweep.Potentials)(p) }

// check validates the shape and values of p, and has w find their peaks.
func (p *Potentials) check(w *sweep.Whitening) error {
	err := w.Check(p.rows())
	if err == sweep.ErrOverflow {
		return fmt.Errorf("%w: %w", err, ErrRange)
	}
	return err
}

// Window returns the index in Theta[t] of the window of u that ends at t.
func (p *Potentials) Window(u []int, t int) int {
	i := 0
	for s := max(0, t-p.Order+1); s <= t; s++ {
		i = i*p.Sizes[s] + u[s]
	}
	return i
}

// Score returns θ(u); -Inf when u has a forbidden window.
func (p *Potentials) Score(u []int) float64 {
	sum := 0.0
	for t := range u {
		sum += p.Theta[t][p.Window(u, t)]
	}
	if math.IsNaN(sum) {
		return math.Inf(-1)
	}
	return sum
}
