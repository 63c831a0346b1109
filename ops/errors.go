package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
)

// StateError reports the state at which an operation gave up; fst.NoState where it had come to none.
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
