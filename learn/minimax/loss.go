package minimax

import (
	"math"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Data are examples in numbers.
type Data = dense.Data

// Loss is a base loss ℓ(s, y) of a real score: one of package score, or a caller's own.
type Loss = score.Pointwise

// DefaultLosses are zero-one by its surrogate, smooth-hinge and cross-entropy. None grows with the
// margin of a right answer, and none exceeds another everywhere in equal units. Robustness to their
// mixtures therefore costs little error. The 1-norm, as in ThesisLosses, costs much: |1-ys| of an
// unbounded score grows with the confidence of right answers. The hinge would take all weight
// wherever classes overlap.
func DefaultLosses() []Loss {
	return []Loss{score.ZeroOne(), score.SmoothHinge(), score.CrossEntropy()}
}

// ThesisLosses are those of the thesis' experiments: zero-one by its surrogate, hinge,
// 1-norm and cross-entropy.
func ThesisLosses() []Loss {
	one, _ := score.QNorm(1)
	return []Loss{score.ZeroOne(), score.Hinge(), one, score.CrossEntropy()}
}

// beyond returns how far targets exceed 1 in absolute value. Losses state their constants for |y| ≤
// 1. Numeric losses depend on s - y only, so |s| ≤ b with |y| ≤ 1 + beyond is equivalent to |s| ≤ b
// + beyond with |y| ≤ 1.
func beyond(d *Data) float64 {
	return math.Max(1, optim.MaxAbs(d.Y)) - 1
}
