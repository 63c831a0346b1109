package ops_test

import (
	"context"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// An error that came before any state names none.
func TestStateErrorWithoutState(t *testing.T) {
	for state, want := range map[fst.StateID]string{
		fst.NoState: "ops: ShortestDistance: context canceled",
		7:           "ops: ShortestDistance: state 7: context canceled",
	} {
		if got := (&ops.StateError{Op: "ShortestDistance", State: state, Err: context.Canceled}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
