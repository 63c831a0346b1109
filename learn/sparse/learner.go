package sparse

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
func (Learner) Name() string { return "sparse" }

// Title implements learner.Learner.
func (Learner) Title() string { return "functions of few kernels, of any centres and widths" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
A function is a sum of Gaussians, each with a centre and a width of its own, as few as
the bound of the fit allows: --eps says how near it must come to the training rows, and
--sparsity how much that is to cost in kernels. Centres are not bound to rows. More than
two classes are told apart in pairs, by vote. Of the rows explain lists those that were
hardest to fit, which wrong labels often are. Columns are brought to one scale.`
}

// Options implements learner.Learner.
func (Learner) Options() any { return &Options{} }

// Train implements learner.Learner.
func (Learner) Train(t *table.Table, options any, c *run.Control) (learner.Model[*table.Table,
	*learner.Scores], *optim.Result, error) {
	return learner.TrainWith(Train, t, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (learner.Model[*table.Table, *learner.Scores], error) {
	return learner.ReadWith(Read, r)
}
