package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
)

// StateError reports the state at which an operation gave up.
type StateError struct {
	Op    string
	State fst.StateID
	Err   error
}

func (e *StateError) Error() string {
	return fmt.Sprintf("ops: %s: state %d: %v", e.Op, e.State, e.Err)
}
func (e *StateError) Unwrap() error { return e.Err }
