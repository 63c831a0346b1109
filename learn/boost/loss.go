package boost

import "github.com/tropica-fst/tropica/learn/optim/score"

// The losses of package score, by the names that boosters know them by.
type (
	Loss          = score.Loss
	Probabilistic = score.Probabilistic
	Logistic      = score.Logistic
	Exponential   = score.Exponential
	Squared       = score.Squared
	Huber         = score.Huber
	SoftMax       = score.SoftMax
)

// ErrLabel reports a label that a loss does not know.
var ErrLabel = score.ErrLabel
