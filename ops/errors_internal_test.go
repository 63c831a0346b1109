package ops

import (
	"context"
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/ops/internal/run"
)

// The error of a part is copied before it is given the name of the whole, and the bytes that the
// whole has held besides.
func TestErrorsOfPartsAreCopied(t *testing.T) {
	limit := &LimitError{Op: "part", Limit: "bytes", Bound: 10, Built: Progress{Bytes: 11}, Cause: ErrLimit}
	before := *limit
	err := wholeOf(limit, "Whole", Limits{Bytes: 110}, 100)
	var got *LimitError
	if !errors.As(err, &got) || got.Op != "Whole" || got.Bound != 110 || got.Built.Bytes != 111 || !errors.Is(err, ErrLimit) {
		t.Errorf("wholeOf: %v", err)
	}
	if *limit != before {
		t.Errorf("wholeOf has changed the error of the part: %v", limit)
	}
	state := &StateError{Op: "part", State: 3, Err: context.Canceled}
	for _, err := range []error{state, &LimitError{Op: "part", Limit: "context", Cause: state}, &DeterminizeError{Limit: limit}, &CycleError{Op: "part", Cycle: []ArcRef{{}}, Err: ErrCyclic}, errors.New("ops: part")} {
		text := err.Error()
		whole := run.Errors.Renamed(err, "pdt.Whole")
		if err.Error() != text || state.Op != "part" || limit.Op != "part" {
			t.Errorf("%q has become %q", text, err)
		}
		var s *StateError
		if errors.As(whole, &s) && s.Op != "pdt.Whole" {
			t.Errorf("%v: the state's operation is %s", whole, s.Op)
		}
		if errors.Unwrap(err) != nil && whole.Error() == text {
			t.Errorf("%v has its old name", whole)
		}
	}
	if err := run.Errors.Renamed(nil, "Whole"); err != nil {
		t.Error(err)
	}
}
