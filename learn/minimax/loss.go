package minimax

import "github.com/tropica-fst/tropica/learn/optim/score"

// Loss is a base loss ℓ(s, y) of a real score: one of package score, or a caller's own.
type Loss = score.Pointwise

// DefaultLosses are zero-one by its surrogate, smooth-hinge and cross-entropy. None grows
// with the margin of a right answer, and none is larger than another everywhere in equal
// units, so that robustness to their mixtures costs little error. With the 1-norm, as in
// ThesisLosses, it costs much: |1-ys| of a score without bound grows with the confidence of
// right answers. The hinge would take all weight wherever classes overlap.
func DefaultLosses() []Loss {
	return []Loss{score.ZeroOne(), score.SmoothHinge(), score.CrossEntropy()}
}

// ThesisLosses are those of the thesis' experiments: zero-one by its surrogate, hinge,
// 1-norm and cross-entropy.
func ThesisLosses() []Loss {
	one, _ := score.QNorm(1)
	return []Loss{score.ZeroOne(), score.Hinge(), one, score.CrossEntropy()}
}
