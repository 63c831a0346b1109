package saddle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Smoothed finds saddle points of functions that are linear in λ,
//
//	φ(w, λ) = Σ_k λ_k L_k(w) + r(w),
//
// without a step size, on all examples: it minimises
//
//	F_τ(w) = max_λ φ(w, λ) - τ/2 |λ|²
//
// by L-BFGS for falling τ, each from the minimum of the last. The maximum is at the projection of
// L(w)/τ onto the set. F_τ is within τ/2 of the maximum over any part of the simplex (Yu. Nesterov,
// "Smooth minimization of non-smooth functions", Math. Programming 103, 2005). Where its gradient
// vanishes, w minimises φ(·, λ) for that λ: both halves of the certificate come from one point.
//
// It is the reference for the steps of FirstOrder. It is faster where all examples fit into memory
// and φ is smooth in w, or nearly. A Euclidean Ball for w is a constraint c(w) = (|w|² - D²)/2 ≤ 0
// with the multiplier ν of the augmented Lagrangian, F_τ + (max(0, ν + ρc)² - ν²)/2ρ (R. T.
// Rockafellar, J. Optimization Theory and Applications 12, 1973), where ρ grows from round to
// round. At its minimum -∇F_τ points along w. The bound of the linearised problem over the ball is
// then off only by the part of the gradient across w. A round skips the coordinates that are at a
// bound of a Product's Box and would cross it. Any other set must be one whose constraints are not
// active. Points are projected before they are certified, and the certificate says what that cost.
type Smoothed struct {
	W, Lambda optim.Set // as in FirstOrder
	Gap       float64   // stop at a gap of this times max(Least, |upper|); zero is 1e-4
	Least     float64   // zero is 1
	Absolute  bool      // Gap is meant as it is, not times max(Least, |upper|)
	Start     float64   // τ of the first round as a part of max L - min L at the start; zero is 0.1
	Factor    float64   // τ falls by this factor each round; zero is 0.2
	Inner     int       // L-BFGS steps of a round; zero is 200
	Workers   int       // for vector work; zero is 1
	Memory    int       // pairs of L-BFGS; zero is 20
	Single    bool      // which are kept in float32; see OWLQN
	// Scale, if not nil, preconditions L-BFGS: the root of the inverse of a guess at the
	// curvature along each coordinate of w (see Scaled).
	Scale []float64

	// Known, if its W is not nil, are bounds proved before, from which the run continues.
	Known Certificate

	// Relaxed, if not nil, gives problems with a continuous gradient that never exceed the problem,
	// and are below it by at most the width. F_τ is then made of one of width 20τ or less, and the
	// problem itself serves for Upper only. L-BFGS needs it where the problem has kinks. A relaxed
	// problem that is Minorized proves more.
	Relaxed func(width float64) Convex
}

// Solve runs from w0. An iteration is a round of one τ, by default at most 30. τ stays once it
// would leave only an eighth of the gap requested. The certificate is that of the best points met;
// W and Lambda are its points. Runs that reach no certificate at Gap end with run.IterationLimit.
//
// Where all curvatures are positive, and there are no kinks to relax and no W, every evaluation
// proves both bounds, for two passes over its gradient. Rounds then end when the remainder is due
// to τ, and the run as soon as the gap is proved.
//
// When the problem is not convex there is no certificate, and the run ends with the
// last round.
func (m Smoothed) Solve(p Problem, w0 []float64, c *run.Control) (*Result, error) {
	s, err := m.start(p, w0, c)
	if err != nil {
		return nil, err
	}
	return s.finish(s.run.Loop(s.oneRound, s.checkpoint))
}

// oneRound minimises at one τ, certifies what it came to, and sets the τ of the next.
func (s *smoothedRun) oneRound() (*run.Row, run.Reason, error) {
	below := s.relax()
	if err := s.leaveWalls(); err != nil {
		return nil, "", err
	}
	before := slices.Clone(s.w)
	if err := s.descend(); err != nil {
		return nil, "", s.abandon(before, err)
	}
	detail, err := s.measure(below)
	if err != nil {
		return nil, "", err
	}
	row := &run.Row{Objective: dot(s.lambda, s.f.values), Step: s.tau, Detail: detail}
	if s.res.Certified && s.within(&s.res.Certificate) {
		return row, run.GapSmall, nil
	}
	again, err := s.unsettledWalls()
	if err == nil && !again && !s.lower() {
		return row, run.NoProgress, nil
	}
	return row, "", err
}

// withDefaults returns m with its zeros replaced, checked for a problem of n and k
// coordinates.
func (m Smoothed) withDefaults(n, k int) (Smoothed, error) {
	if m.Lambda == nil {
		m.Lambda = optim.Simplex{}
	}
	m.Gap = cmp.Or(m.Gap, 1e-4)
	m.Start = cmp.Or(m.Start, 0.1)
	m.Factor = cmp.Or(m.Factor, 0.2)
	m.Inner = cmp.Or(m.Inner, 200)
	m.Memory = cmp.Or(m.Memory, 20)
	if !(m.Factor > 0 && m.Factor < 1) || !(m.Start > 0) || k < 1 {
		return m, errors.New("saddle: smoothed: Factor must be between 0 and 1, Start positive, and λ have " +
			"coordinates")
	}
	if m.Scale != nil && len(m.Scale) != n {
		return m, fmt.Errorf("saddle: smoothed: %d scales for %d coordinates", len(m.Scale), n)
	}
	return m, nil
}
