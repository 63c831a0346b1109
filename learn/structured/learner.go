package structured

import (
	"io"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Learner is this package under the contract of package learner.
type Learner struct{}

var _ learner.Learner[*Data, *Predictions] = Learner{}

// Name implements learner.Learner.
func (Learner) Name() string { return "structured" }

// Title implements learner.Learner.
func (Learner) Title() string { return "structured prediction for any loss by kernel weights" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
Outputs are classes, numbers, sets of labels, histograms, vectors, rankings or strings. A
query gets a weight for each training output, by kernel ridge regression on the inputs
alone; the prediction has the least sum of weighted losses against them, under the loss that
you are judged by. Predictions say whether that was proved.

  class      zero-one, costs
  number     squared, absolute, pinball, eps-insensitive, huber, cauchy, geman-mcclure,
             fair, l2-l1, welsch, hinge, logistic
  labels     hamming, f1, precision, recall, jaccard
  histogram  hellinger, hellinger-l1, chi2
  vector     squared, gaussian
  ranking    rank, rank-normal, kendall
  string     edit, smith-waterman, local, hamming, ngram-log, ngram-product, ngram-squared,
             ngram-cosine`
}

// Options implements learner.Learner.
func (Learner) Options() any { return &Options{} }

// Train implements learner.Learner.
func (Learner) Train(d *Data, options any, c *run.Control) (learner.Model[*Data, *Predictions],
	*optim.Result, error) {
	return learner.TrainWith(Train, d, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (learner.Model[*Data, *Predictions], error) {
	return learner.ReadWith(Read, r)
}
