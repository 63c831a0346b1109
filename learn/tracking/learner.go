package tracking

import (
	"io"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Learner is this package under the contract of package learner.
type Learner struct{}

var _ learner.Learner[[]*Movie, []*Prediction] = Learner{}

// Name implements learner.Learner.
func (Learner) Name() string { return "tracking" }

// Title implements learner.Learner.
func (Learner) Title() string { return "tracking by assignment" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
Detections of a frame and the next are joined by events: moves, divisions, splits, merges,
appearing and disappearing. Every detection takes part in one. An event's score is a sum
of weighted features, and the events of two frames are those of the largest total, found
exactly. The weights are learnt from labelled tracks, by a margin for whole frames.`
}

// Options implements learner.Learner.
func (Learner) Options() any { return &Options{} }

// Train implements learner.Learner.
func (Learner) Train(movies []*Movie, options any, c *run.Control) (learner.Model[[]*Movie, []*Prediction],
	*optim.Result, error) {
	return learner.TrainWith(Train, movies, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (learner.Model[[]*Movie, []*Prediction], error) {
	return learner.ReadWith(Read, r)
}
