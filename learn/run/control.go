package run

import (
	"context"
	"strconv"
	"time"
)

// Row is one line of a run's history.
type Row struct {
	Stage       string  // of a run in several, each with its own objective; "" in a run of one
	Iteration   int     // steps taken: iterations, rounds, or passes over the examples
	Objective   float64 // value at the current point; of stochastic solvers the mean estimate over the pass
	GradNorm    float64 // largest entry of the gradient, in absolute value; 0 where it is not known
	Step        float64 // length factor of the last step, or the learning rate
	Evaluations int     // of the objective so far
	Seconds     float64 // since the run began, resumed parts included
	Rate        float64 // examples a second since the last row; zero when the solver cannot know

	Valid  *float64 // loss on held-out examples after this step; nil without any
	Detail Detail   // what the learner adds of its own; nil for none
}

// Detail is what a learner adds to its rows.
type Detail interface {
	// Fields are for histories: the same names in every row of a stage. A value that is
	// NaN or infinite is written as an empty cell.
	Fields() []Field
	// String is for people: a few words, such as "gap 0.01".
	String() string
}

// Lined is met by details whose lines in a history have columns of their own, in place of the
// common ones. The first is the number of the step.
type Lined interface {
	Header() []string
	Line() []string
}

// Cell writes a number of a line; NaN is an empty cell.
func Cell(v float64) string {
	if v != v {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Field is a number with a name.
type Field struct {
	Name  string
	Value float64
}

// Recorder receives a row after each step. An error stops the run.
type Recorder interface {
	Record(Row) error
}

// RecorderFunc makes a Recorder of a function.
type RecorderFunc func(Row) error

// Record calls f.
func (f RecorderFunc) Record(r Row) error { return f(r) }

// Recorders passes every row to all of rs, in turn, and stops at the first error.
func Recorders(rs ...Recorder) Recorder {
	return RecorderFunc(func(r Row) error {
		for _, one := range rs {
			if err := one.Record(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stop says when a run is over. Each zero field has the default given; the first rule that
// holds ends the run. Rules on gradients and values are for solvers that descend on one
// objective.
type Stop struct {
	Iterations  int           // steps; zero is the learner's own limit
	Evaluations int           // of the objective; zero is 10 an iteration
	Gradient    float64       // largest gradient entry at most this times max(1, |f|), at the start at most this; zero is 1e-7, negative never
	Relative    float64       // the last Window+1 values are within this fraction of one another and of the lowest so far; zero is 1e-6, negative never
	Window      int           // zero or less is 5
	Time        time.Duration // zero is none
	Patience    int           // steps in a row without a lower loss on held-out examples; zero is never
}

func (s Stop) withDefaults(iterations int) Stop {
	if s.Iterations == 0 {
		s.Iterations = iterations
	}
	if s.Evaluations == 0 {
		s.Evaluations = 10*s.Iterations + 10
	}
	if s.Gradient == 0 {
		s.Gradient = 1e-7
	}
	if s.Relative == 0 {
		s.Relative = 1e-6
	}
	if s.Window <= 0 {
		s.Window = 5
	}
	return s
}

// Control is what every training accepts beside the learner's own settings; nil is the same as the
// zero value.
type Control struct {
	Ctx      context.Context // interrupts the run; nil is none
	Workers  int             // goroutines; zero is GOMAXPROCS. Results do not depend on it
	Stop     Stop
	Recorder Recorder // nil is none
	// Live, if not nil, receives progress within long steps, from solvers that report it. These
	// rows are for people and enter no history.
	Live Recorder
	// Warn, if not nil, receives what a user should know of the data or the result, in sentences
	// without a full stop.
	Warn     func(message string)
	Examples int // examples that one evaluation visits, for Row.Rate; zero is what the objective knows

	// Checkpoint, if not nil, is called every CheckpointEvery steps (zero is DefaultEvery)
	// and when the context was cancelled. It may keep the checkpoint, which is a copy. An
	// error stops the run.
	Checkpoint      func(*Checkpoint) error
	CheckpointEvery int
	// Resume, if not nil, is the checkpoint to continue from; the start given is then not used.
	// Settings and data must be unchanged, except for Workers and Stop.
	Resume *Checkpoint
	// Problem says what is learnt from what: words key=value with blanks between them. It
	// is written into checkpoints, and Resume must have the same. Learners set it for the
	// solvers that they call.
	Problem string
}

// DefaultEvery is how many steps lie between two checkpoints unless Control says otherwise.
const DefaultEvery = 10

// Context returns the context of the control, which may be nil.
func (c *Control) Context() context.Context {
	if c == nil || c.Ctx == nil {
		return context.Background()
	}
	return c.Ctx
}

// Goroutines returns the number that the control, which may be nil, asks for: Workers, or
// GOMAXPROCS.
func (c *Control) Goroutines() int {
	if c == nil {
		return WorkersOf(0)
	}
	return WorkersOf(c.Workers)
}

// Warning passes a message to Warn unless that is nil.
func (c *Control) Warning(message string) {
	if c != nil && c.Warn != nil {
		c.Warn(message)
	}
}

// Reason says which rule ended a run.
type Reason string

// The reasons that Run and the solvers of package optim know; learners may add their own.
const (
	GradientSmall    Reason = "gradient small"
	ImprovementSmall Reason = "improvement small"
	NoProgress       Reason = "no further progress" // nothing lower was found: the limit of rounding
	Diverged         Reason = "objective rose"      // above its first value
	IterationLimit   Reason = "iteration limit"
	EvaluationLimit  Reason = "evaluation limit"
	TimeLimit        Reason = "time limit"
	OutOfPatience    Reason = "no lower loss on held-out examples"
	AllPasses        Reason = "all passes made"       // as many as the options ask for
	Exhausted        Reason = "nothing left to learn" // a step found nothing to do
	Interrupted      Reason = "interrupted"           // the error says by what
)

// Converged reports whether the run ended because it had arrived.
func (r Reason) Converged() bool {
	switch r {
	case GradientSmall, ImprovementSmall, NoProgress, GapSmall:
		return true
	}
	return false
}

// The reasons of solvers that prove a gap.
const (
	GapSmall  Reason = "gap small"                              // as small as requested
	GapMissed Reason = "stopped without reaching the gap asked" // it made no progress before
	// RoundLimit is where it took all the rounds that it ever takes.
	RoundLimit Reason = "rounds exhausted"
)
