package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
)

// StateError reports the state at which an operation gave up; fst.NoState where it had come to
// none.
type StateError struct {
	Op    string
	State fst.StateID
	Err   error
}

func (e *StateError) Error() string {
	if e.State < 0 {
		return fmt.Sprintf("ops: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("ops: %s: state %d: %v", e.Op, e.State, e.Err)
}
func (e *StateError) Unwrap() error { return e.Err }

// ArcError, within a StateError, says which arc of the state is meant.
type ArcError struct {
	Arc    int    // its position among the arcs of the state; -1 is the final weight
	Weight string // in text
	Err    error
}

func (e *ArcError) Error() string {
	if e.Arc < 0 {
		return fmt.Sprintf("the final weight %s: %v", e.Weight, e.Err)
	}
	return fmt.Sprintf("arc %d, of weight %s: %v", e.Arc, e.Weight, e.Err)
}
func (e *ArcError) Unwrap() error { return e.Err }

func init() { run.Errors.Renamed = renamed }

// renamed gives an error of a part the name of the whole.
func renamed(err error, op string) error { return asWhole(err, op, func(*LimitError) {}) }

// asWhole is the error of a part under the name of the whole, with what change makes of a
// LimitError. Whatever is changed is copied before: an operand that is computed on demand keeps the
// error that comes from it, and gives it to others too.
func asWhole(err error, op string, change func(*LimitError)) error {
	switch e := err.(type) {
	case *StateError:
		c := *e
		c.Op = op
		return &c
	case *CycleError:
		c := *e
		c.Op = op
		return &c
	case *LimitError:
		return limitAsWhole(e, op, change)
	case *DeterminizeError:
		c := *e
		c.Limit = limitAsWhole(e.Limit, op, change)
		return &c
	}
	return err
}

func limitAsWhole(e *LimitError, op string, change func(*LimitError)) *LimitError {
	c := *e
	c.Op, c.Cause = op, renamed(e.Cause, op)
	change(&c)
	return &c
}
