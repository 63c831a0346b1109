package losses

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/determinize"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// bandOrigin is what an automaton within a band was made of, for what the band costs to
// be found.
type bandOrigin struct {
	y    fst.Expanded[semiring.Log64]
	u    fst.Expanded[semiring.Tropical64]
	ref  []int
	opts *GeneralOptions
	grid determinize.CostGrid // of the automaton within the band

	// the loss without the band by its definition; nil where composition finds it
	value func(y, ref []int) float64
}

// definedBy gives the loss without the band of a string of symbols. It does nothing where there
// is no band, or where what the loss sees are not the labels of the lattice.
func (o *bandOrigin) definedBy(value func(y, ref []int) float64) {
	if o != nil && o.opts.Expand == nil && o.opts.Cap == nil {
		o.value = value
	}
}

// within makes the automaton of the strings of y in another band, 0 for none. It has at most the
// given number of states, 0 for as many as the limits allow.
func (o *bandOrigin) within(y fst.Expanded[semiring.Log64], band, states int,
	lim ops.Limits) (*Automaton, error) {
	opts := *o.opts
	opts.Band, opts.Columns, opts.Limits = band, states, lim
	return TropicalAutomaton(y, o.u, o.ref, &opts)
}

// bandError is Result.LogZError for the automaton b of a band, whose composition with the lattice
// is c.
//
// As for strings of one length (bandSweeper.bound), a wider band is evaluated: the difference of
// its log Z is the greater part of the error. Where that band leaves nothing out, because it is as
// wide as the reference is long, that is all of the error, and a bound. Otherwise the remainder is
// estimated by strings drawn from its distribution. Thresholds that would certify a bound sooner
// need the cost of what leaves the band, for strings of every length.
func (l *Lattice) bandError(b *Automaton, c *product, gamma, logZ float64,
	lim ops.Limits) (float64, ErrorKind, error) {
	if gamma == 0 || math.IsInf(logZ, -1) {
		return 0, ErrorBound, nil // a band leaves out alignments, but no string
	}
	o := b.banded
	s := newStages(lim)
	hold(s, b.L)
	hold(s, c.f)
	s.held += perState*int64(c.f.NumStates()) + perArc*int64(c.f.NumArcs())
	made := math.Inf(1)
	for _, band := range []int{2*min(o.opts.Band, 1<<30) + 1, min(o.opts.Band, 1<<30) + 1} {
		if band >= len(o.ref) {
			band = 0
		}
		wide, err := o.within(o.y, band, min(1<<18, max(1<<12, 8*b.States())), s.left())
		var wider *product
		if err == nil {
			wider, err = l.product(wide, s.left())
		}
		if errors.Is(err, ErrBudget) {
			continue
		}
		if err != nil {
			return 0, ErrorExact, err
		}
		p, err := wider.pass(gamma)
		if err != nil {
			return 0, ErrorExact, err
		}
		made = max(0, math.Copysign(1, gamma)*(logZ-p.logZ))
		if band == 0 {
			return made, ErrorBound, nil
		}
		rest, err := o.sample(wide, wider, p, gamma, max(made, 1e-12*max(1, math.Abs(p.logZ))), lim)
		return made + rest, ErrorEstimate, err
	}
	p, err := c.pass(gamma)
	if err != nil {
		return 0, ErrorExact, err
	}
	rest, err := o.sample(b, c, p, gamma, made, lim)
	return rest, ErrorEstimate, err
}

// sample is bandSweeper.sample for the automaton a of a band, composed with a lattice to c. Losses
// that are found by composition are of fewer strings, and of each string once.
func (o *bandOrigin) sample(a *Automaton, c *product, p *pass, gamma, silent float64,
	lim ops.Limits) (float64, error) {
	cells := (1 + len(o.ref)) * (1 + longest(o.y))
	n := min(1000, max(50, 10_000_000/cells))
	if o.value == nil {
		n = min(200, max(50, 500_000/cells))
	}
	us := make([][]int, n)
	if err := c.draw(p, rand.New(rand.NewPCG(1, 2)), us); err != nil {
		return 0, err
	}
	known := map[string]float64{}
	x, _, err := shortfall(gamma, n, silent, func(i int) (float64, error) {
		if lim.Ctx != nil && lim.Ctx.Err() != nil {
			return 0, lim.Ctx.Err()
		}
		u := us[i]
		key := string(appendInts(nil, u...))
		less, ok := known[key]
		if ok {
			return less, nil
		}
		exact := 0.0
		if o.value != nil {
			exact = o.value(u, o.ref)
		} else {
			one, err := o.within(Chain(u), 0, 0, lim)
			if err != nil {
				return 0, err
			}
			exact = one.Loss(u)
		}
		less = exact - a.Loss(u)
		if math.Abs(less) <= o.grid.Noise(len(u)+len(o.ref)) {
			less = 0 // automata have rounded costs
		}
		known[key] = less
		return less, nil
	})
	return x, err
}
