package learner

import (
	"context"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Lacking is met by learners whose predictions lack some measures of their kind, such as the
// log-loss where scores are no probabilities. Cross-validation leaves these out, for all that it
// compares.
type Lacking interface {
	// Lacks returns the measures' names, as evaluation prints them.
	Lacks() []string
}

// Settling is met by learners whose runs are over when the objective fell by less than another
// fraction than most: one below which predictions do not change.
type Settling interface {
	// Settled returns run.Stop.Relative as programs should set it unless told otherwise.
	Settled() float64
}

// Learner is a way to learn from examples D; its models predict P for them.
type Learner[D, P any] interface {
	// Name is one lower-case word: the group of its commands.
	Name() string
	// Title describes it in a few words, without a full stop.
	Title() string
	// About says in some lines when to use it and what it needs.
	About() string
	// Options returns a pointer to a new options struct with tags; see Option.
	Options() any
	// Train fits a model. options is what Options returned, changed by the caller, or nil
	// for the defaults. On an error that came after training began, such as a
	// *run.InterruptedError, the model so far may stand beside it.
	Train(examples D, options any, c *run.Control) (Model[D, P], *optim.Result, error)
	// Read reads a model file that a model of this learner wrote.
	Read(r io.Reader) (Model[D, P], error)
}

// Model is what a learner learnt.
type Model[D, P any] interface {
	// Form returns what examples to predict must be like: examples of the training data's
	// form, without any in it.
	Form() D
	// Predict predicts every example. It may be called from several goroutines.
	Predict(ctx context.Context, examples D, workers int) (P, error)
	// Explain says what the model has learnt, most important first.
	Explain() []Section
	// Write writes a model file.
	Write(w io.Writer) error
}

// TrainWith is Learner.Train by a package's own Train: it gives it its options, and returns no
// model where there is none.
func TrainWith[D, P, O any, M interface {
	comparable
	Model[D, P]
}](train func(D, *O, *run.Control) (M, *optim.Result, error), examples D, options any,
	c *run.Control) (Model[D, P], *optim.Result, error) {
	o, ok := options.(*O)
	if !ok && options != nil {
		return nil, nil, fmt.Errorf("learner: options of type %T, not %T", options, o)
	}
	m, result, err := train(examples, o, c)
	var none M
	if m == none {
		return nil, result, err
	}
	return m, result, err
}

// ReadWith is Learner.Read by a package's own Read.
func ReadWith[D, P any, M Model[D, P]](read func(io.Reader) (M, error), r io.Reader) (Model[D, P], error) {
	m, err := read(r)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Scores are predictions of the rows of a table.
type Scores struct {
	// Outputs is the number of scores a row: 1 for regression and for two classes, else the
	// number of classes.
	Outputs int
	// Score has Outputs numbers a row. Two classes have a positive score for the second one.
	Score []float64
	// Probability has a number for every class of every row, which sum to 1. It is nil for
	// regression, and for classes where the loss determines none.
	Probability []float64
	// Calibrated says that scores were fitted by a likelihood, so that Probability is one.
	Calibrated bool
}

// Class returns the class of row i: the first with the largest score; of two classes the
// second if its score is above zero.
func (s *Scores) Class(i int) int {
	return score.ClassOf(s.Score[i*s.Outputs:][:s.Outputs])
}

// Section is a table of facts with a title.
type Section struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"` // of strings, integers and float64
	Note    string   `json:"note,omitempty"`
}
