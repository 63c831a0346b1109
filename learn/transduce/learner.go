package transduce

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
func (Learner) Name() string { return "transduce" }

// Title implements learner.Learner.
func (Learner) Title() string { return "a string transducer learnt under any loss" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
An input string becomes an output string by copying, substituting, deleting and inserting
characters. Scores of operations see the input around them, the outputs and operations
before them, and tags. Training sums over all alignments of all outputs in a lattice, and
outputs count by their loss:

  likelihood  the probability of the output, whatever its alignment
  margin      every other output must score less, by gamma times its loss (a softmax)
  max-margin  the same for the worst of them alone
  risk        likelihood and gamma times the expected loss

  edit        edits to the true output: what one is judged by
  hamming     operations that differ from those of the best alignment
  zero-one    1 for an output that is wrong

With --lexicon outputs are words of a list or strings of a machine, in training and after.`
}

// Settled implements learner.Settling.
func (Learner) Settled() float64 { return settled }

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
