// Package saddle solves games of two players: functions φ(w, λ) to be minimised over w and
// maximised over λ. It is where ALMO's robust models come from.
//
//	r, err := saddle.Smoothed{Lambda: optim.Simplex{}, Gap: 1e-3}.Solve(problem, w0, nil)
//	r.W, r.Lambda, r.Certificate.Gap() // nothing is better by more than the gap
//
// # The types to know
//
// A Problem gives value and both gradients; Sampled ones can be estimated on minibatches, Convex
// ones are convex in w for every λ. FirstOrder takes gradient steps (mirror-prox, descent and
// ascent), Smoothed minimises a smoothed maximum and needs no step lengths. Where φ(·, λ) can be
// minimised for one λ, Planes and Newton prove small gaps at kinks. Planes uses cutting planes over
// λ, by an Ascender; Newton uses second derivatives by λ, by a Minimizer. Package separable
// implements both. Proof is the common part of runs that prove gaps round by round. Mixture is a
// game over any objectives. Certify bounds how far a point can be from the value of the game. The
// upper bound is the best answer of λ, exactly; the lower bound uses convexity, after minimising
// over w.
//
// # What may be relied on
//
//   - Runs are those of package run: interrupted, saved and resumed bit for bit.
//   - A run whose values grow beyond bounds returns a *DivergenceError, with averages up to then.
//   - Only averages of descent and ascent converge; last points cycle (the bilinear game in
//     saddle_test.go). They average the points where gradients were evaluated. The proof of Theorem
//     5.4 of the thesis "Large-scale learning" bounds these, not their successors, which it prints.
//
// Start reading at saddle.go, then firstorder.go, smoothed.go, planes.go, newton.go and certify.go.
package saddle
