package linear

import (
	"io"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Learner is this package under the contract of package learner.
type Learner struct{}

var _ learner.Learner[*table.Table, *learner.Scores] = Learner{}

// Name implements learner.Learner.
func (Learner) Name() string { return "linear" }

// Title implements learner.Learner.
func (Learner) Title() string { return "regularised logistic and ridge regression" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
Scores are sums of weighted columns; a categorical column has a weight for each level.
Classes are fitted by logistic regression, with a score for each of more than two, and
numbers by least squares or Huber's loss. --l1 leaves out columns that say little. It is
fast, exact up to rounding, and the model to beat before a larger one is tried.`
}

// Options implements learner.Learner.
func (Learner) Options() any { return &Options{} }

// Train implements learner.Learner.
func (Learner) Train(t *table.Table, options any, c *run.Control) (learner.Model[*table.Table, *learner.Scores], *optim.Result, error) {
	return learner.TrainWith(Train, t, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (learner.Model[*table.Table, *learner.Scores], error) {
	return learner.ReadWith(Read, r)
}
