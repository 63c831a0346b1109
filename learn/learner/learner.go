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

// Choosing is met by learners whose settings cross-validation chooses by another measure than the
// kind's first, unless users say.
type Choosing interface {
	// ChooseBy returns its name, as evaluation prints it; for examples without it the kind's stays.
	ChooseBy() string
}

// Presetter is met by options with named settings, which the others change. They have an option
// preset with these names.
type Presetter interface {
	// Preset makes the options those of the name; the command line sets the others after it.
	Preset(name string)
}

// Idler is implemented by options that lose their effect when others are set.
type Idler interface {
	// Idle returns an error that begins with the name of such an option, if it was given.
	Idle(given func(option string) bool) error
}

// Watched is met by learners that take a number of rounds, which is one of their options, and can
// watch other examples meanwhile. run.Stop.Patience then counts rounds without a lower loss on
// them.
type Watched[D, P any] interface {
	Learner[D, P]
	// Watches says what is watched: "the loss".
	Watches() string
	// TrainWatched is Train. valid is watched: the model is that of the round with the least loss.
	// The zero value of D is none.
	TrainWatched(examples, valid D, options any, c *run.Control) (Model[D, P], *optim.Result, error)
}

// Staged is met by models that were made round by round.
type Staged[D, P any] interface {
	Rounds() int
	// First returns the model after some rounds, at least one and at most Rounds.
	First(rounds int) (Model[D, P], error)
}

// Made is met by models that several learners can use.
type Made interface {
	// Maker is the name of the learner that made it; "" is none of them.
	Maker() string
}

// Reporter is met by models that report their training in words of their own.
type Reporter[D any] interface {
	// Report describes the training that just ended. file is the model's; valid is as in Watched.
	Report(ctx context.Context, file string, examples, valid D, workers int) (*Report, error)
}

// Report describes a training.
type Report struct {
	Data    any      // for programs, as JSON
	Lines   []string // for people
	Picture *Picture // of the rounds
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
