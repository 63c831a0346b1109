package network

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
func (Learner) Name() string { return "resilient" }

// Title implements learner.Learner.
func (Learner) Title() string { return "networks on data with wrong labels" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
A network of hidden layers in which every row has a multiplier that says how hard it is to fit,
and counts by it: no more than others from a loss of --delta on, so that wrong labels do not
rule the model. How much the labels are trusted is chosen by rows left out (--method auto);
--method huber with --delta and --scale sets it, in one fit. --method also has what it is
compared with: plain training, and leaving out the rows of large loss (itlm, trim), which needs
their share. explain lists the rows with the largest multipliers, where to look for errors of
annotation. The linear, gb, sequence and g2p learners have --resilient.`
}

// Options implements learner.Learner.
func (Learner) Options() any { return &Options{} }

// Train implements learner.Learner.
func (Learner) Train(t *table.Table, options any,
	c *run.Control) (learner.Model[*table.Table, *learner.Scores], *optim.Result, error) {
	return learner.TrainWith(Train, t, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (learner.Model[*table.Table, *learner.Scores], error) {
	return learner.ReadWith(Read, r)
}
