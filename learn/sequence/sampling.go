package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/tropica-fst/tropica/losses"
)

// Sampling has the gradients of alignment losses estimated by Gibbs sampling (losses.Sampler)
// instead of computed by exact machines. Losses then have no band, at any length. It is for Edit,
// Local, LongEdit and LongLocal, where the latter two stay exact up to Exact labels; for
// SoftmaxMargin, a smoothed MaxMargin and Risk; and for the stochastic solvers.
//
// Random numbers come from the seed and the scores of the sequence. A sequence thus has fresh ones
// whenever weights have moved, and runs go on from a checkpoint with the same bits.
type Sampling struct {
	Sweeps int    // of 64 chains, for a gradient of margins; zero is 60
	Passes int    // exact samples of 64 labellings, for a gradient of the risk; zero is 16
	Seed   uint64 // beside TrainOptions.Seed
}

// Chains are raised to γ in so many steps, which estimate log Z on the way, and then move so many
// sweeps more before they count.
const (
	annealing = 15
	settling  = 5
)

// sampling is a Sampling at work.
type sampling struct {
	Sampling
	loss  losses.Loss // without a band
	exact int         // labels up to which machines are exact
	ctx   context.Context

	drawn, unmixed, inexact atomic.Int64 // gradients, and those with doubts
}

// newSampling completes s for a loss.
func newSampling(s Sampling, loss losses.Loss) (*sampling, error) {
	g := &sampling{Sampling: s}
	switch x := loss.(type) {
	case losses.Edit:
		g.loss = x
	case losses.Local:
		g.loss = x
	case LongEdit:
		x = x.withDefaults()
		g.loss, g.exact = x.Edit, x.Exact
	case LongLocal:
		x = x.withDefaults()
		g.loss, g.exact = x.Local, x.Exact
	default:
		return nil, errors.New("sequence: sampled gradients are of alignment losses, which are edit, " +
			"smith-waterman and local; other losses have exact machines for long sequences")
	}
	if g.Sweeps < 0 || g.Sweeps == 1 || g.Passes < 0 {
		return nil, fmt.Errorf("sequence: %d Sweeps and %d Passes: give at least 2 and 1, or 0 for the defaults",
			g.Sweeps, g.Passes)
	}
	if g.Sweeps == 0 {
		g.Sweeps = 60
	}
	if g.Passes == 0 {
		g.Passes = 16
	}
	return g, nil
}

// checkSampling says what cannot be sampled.
func (o *TrainOptions) checkSampling() error {
	switch {
	case o.Solver < SGD || o.Solver > Adam:
		return fmt.Errorf("sequence: sampled gradients are random, and the solver %v needs exact ones: use %v, "+
			"%v or %v", o.Solver, SGD, AdaGrad, Adam)
	case o.Kind == CrossEntropy:
		return errors.New("sequence: cross-entropy has no loss to sample for: its gradients are exact at any " +
			"length")
	case o.Kind == MaxMargin && o.Beta == 0:
		return errors.New("sequence: sampled gradients are of sums over labellings, and max-margin is a " +
			"maximum: smooth it with beta, or take softmax-margin")
	case o.Relax != nil:
		return errors.New("sequence: a relaxation weighs sequences by their losses, which sampling does not " +
			"know well enough: leave out Sampled, or Relax")
	}
	_, err := newSampling(*o.Sampled, o.Loss)
	return err
}

// serves reports whether a sequence of n labels is sampled.
func (s *sampling) serves(n int) bool { return s != nil && n > s.exact }

// eval estimates what general.sequence needs: the value at γ, or the risk, and its derivatives by
// windows.
func (s *sampling) eval(ref []int, alphabet int, p *losses.Potentials, gamma float64, risk bool, seed uint64,
	r *losses.SampledResult) error {
	o := losses.SampledOptions{Sweeps: s.Sweeps, Burn: settling, Steps: annealing, Passes: s.Passes, Seed: seed,
		NoIntervals: true}
	o.Ctx = s.ctx
	sampler, err := losses.NewSampler(s.loss, ref, alphabet, len(ref), &o)
	if err != nil {
		return err
	}
	want := losses.WantMarginals | losses.WantLogZ
	if risk {
		want = losses.WantRisk | losses.WantRiskGradient
	}
	if err := sampler.Eval(p, gamma, want, r); err != nil {
		return err
	}
	s.drawn.Add(1)
	if !r.Mixed {
		s.unmixed.Add(1)
	}
	if !r.BandExact {
		s.inexact.Add(1)
	}
	return nil
}

// mix is the seed of sequence i with the given scores of labels: n rows of stride, of which the
// first d count.
func (s *sampling) mix(i, n, d, stride int, node []float64) uint64 {
	h := s.Seed ^ uint64(i+1)*0x9e3779b97f4a7c15
	for t := range n {
		for _, x := range node[t*stride:][:d] {
			h = (h ^ math.Float64bits(x)) * 0xbf58476d1ce4e5b9
			h ^= h >> 31
		}
	}
	return h
}

// name is all that the gradients depend on.
func (s *sampling) name() string {
	return fmt.Sprintf("sampled=sweeps:%d,passes:%d,exact:%d,seed:%d", s.Sweeps, s.Passes, s.exact, s.Seed)
}

// note says how far the estimates are to be believed.
func (s *sampling) note() string {
	text := fmt.Sprintf("%d gradients were sampled", s.drawn.Load())
	if n := s.unmixed.Load(); n > 0 {
		text += fmt.Sprintf("; in %d of them chains had not mixed: more sweeps help", n)
	}
	if n := s.inexact.Load(); n > 0 {
		text += fmt.Sprintf("; in %d of them alignments left the sampler's own band", n)
	}
	return text
}
