package losses

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// ErrNoString reports that there is no allowed string to sample, or that a loss transducer has a
// path for none.
var ErrNoString = errors.New("losses: no string is allowed")

// errNoSource is what Sample says to no source of randomness.
var errNoSource = errors.New("losses: Sample: the source of randomness is nil; give a *rand.Rand")

// Sample fills each element of us with a string drawn from the augmented
// distribution, P(u) ∝ exp(θ(u) + γ L(u)), reusing its memory. A nil machine
// stands for the loss 0. One backward pass, then O(l·labels) a string.
func (e *Evaluator) Sample(m *Machine, p *Potentials, gamma float64, rng *rand.Rand, us [][]int) error {
	if rng == nil {
		return errNoSource
	}
	s, err := e.sampler(m, p, gamma)
	if err != nil {
		return err
	}
	for i := range us {
		us[i] = s.Draw(rng, us[i][:0])
	}
	return nil
}

// sampler makes the backward pass that Sample draws strings by. What it returns is good until
// the evaluator is used again.
func (e *Evaluator) sampler(m *Machine, p *Potentials, gamma float64) (*sweep.Sampler, error) {
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return nil, fmt.Errorf("losses: γ is %v", gamma)
	}
	if err := p.check(&e.white); err != nil {
		return nil, err
	}
	if m == nil {
		m = e.plainMachine(p)
	} else if err := m.matches(p); err != nil {
		return nil, err
	}
	m, err := m.suited(gamma)
	if err != nil {
		return nil, err
	}
	m = m.pushed(gamma)
	g, err := m.graph(p.Order, e.Budget)
	if err != nil {
		return nil, err
	}
	if err := e.room(m, g, 5); err != nil {
		return nil, err
	}
	e.sweep.Ctx, e.logs.Ctx = e.Budget.Ctx, e.Budget.Ctx
	w := &e.white
	w.Prepare(g, p.rows())
	j := sweep.Job{Gamma: gamma}
	s := sweep.NewSampler(&m.core, g, w, &j, !e.logOnly, &e.sweep, &e.logs)
	if err := e.Budget.stopped(len(m.core.Layers), len(m.core.Layers)); err != nil {
		return nil, err
	}
	if math.IsInf(j.LogZ, -1) {
		return nil, ErrNoString
	}
	if err := m.certain(gamma, j.LogZ); err != nil {
		return nil, err
	}
	return s, nil
}
