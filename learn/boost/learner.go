package boost

import (
	"context"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Predictor is a function h of a row of features: a tree, or anything that a
// Learner makes. It must be safe to use from several goroutines.
type Predictor interface {
	// Predict stores h of the rows from, from+1, … of x in dst. x has the columns
	// of the training table, in their order.
	Predict(dst []float64, x *table.Table, from int)
}

// Sized is implemented by predictors of known complexity: trees.
type Sized interface {
	Predictor
	Splits() int       // internal nodes
	Leaves() []float64 // the leaf vector, in any fixed order
}

// Learner makes base predictors: stumps, trees, or a user's own.
//
// A booster calls Prepare once, for what depends on the features only (bins, sorted orders,
// kernels), and then Fit at least once a round.
type Learner interface {
	Name() string
	Prepare(d *Data, workers int) (Fitter, error)
}

// Fitter fits predictors to gradients on the rows that it was prepared for.
type Fitter interface {
	Fit(ctx context.Context, p *Direction) (*Fit, error)
}

// Direction is what a predictor is fitted to. It has weights w (nil: 1) and the derivatives g of
// the loss by the score of each row. The wanted predictor h makes Σ w g h, the derivative of the
// loss along h, as negative as the learner's family allows. Regressors fit -g by weighted least
// squares; classifiers maximise the edge Σ u h of signed weights u = -w g. For losses in several
// scores it is called once for each.
type Direction struct {
	G    []float64 // derivative of the loss, one a row
	H    []float64 // second derivative; nil unless Newton fits need it
	W    []float64 // sample weights; nil is all 1
	Rows []int32   // rows to learn from, ascending; nil is all

	// Round is that of the booster, from 0. A learner that draws at random takes its
	// stream from it: a resumed run must draw what the unbroken one drew.
	Round int
}

// Fit is a fitted predictor and what the booster needs to know about it.
type Fit struct {
	Predictor Predictor
	Values    []float64 // h of every prepared row, not only of Rows
	Family    int       // which of the learner's families it came from
	// Complexity is the Rademacher complexity Omega of that family, or whatever
	// penalty stands in its place; see package comment.
	Complexity float64
}

// SignedWeight is u = -w g of row i.
func (p *Direction) SignedWeight(i int) float64 {
	return -score.Weight(p.W, i) * p.G[i]
}
