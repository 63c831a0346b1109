package skpca

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
func (Learner) Name() string { return "skpca" }

// Title implements learner.Learner.
func (Learner) Title() string { return "supervised kernel projection" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
Rows are projected onto a few features, eigenfunctions of several kernels, and classified
by a linear function of these. The weights of the kernels, and so the features, are chosen
together with the classifier: directions of much variance that say nothing of the labels are
left out, which usual kernel PCA keeps. Rows of weight 0 have no label, but help to find
the features. Several values of --rank, --gamma, --nu or --lambda are chosen from by
cross-validation within the training rows. --trace keeps as many features as hold a share of the
kernels' trace, their summed variance, in place of a number.`
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
