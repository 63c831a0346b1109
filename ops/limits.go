package ops

import (
	"context"
	"errors"
	"fmt"
)

// Limits bounds what a constructive operation may build; every options struct
// of one embeds it. Zero is no limit.
type Limits struct {
	Ctx    context.Context // cancellation and deadline; nil is none
	States int             // states of the result
	Arcs   int64           // arcs of the result
	Bytes  int64           // estimated bytes held: the result, state tables and work space
}

// ErrLimit is the reason of every LimitError that did not come from a context.
var ErrLimit = errors.New("limit exceeded")

// Progress is what an operation had built.
type Progress struct {
	States int
	Arcs   int64
	Bytes  int64
}

// LimitError reports which limit stopped an operation, and how far it had come.
// errors.Is finds ErrLimit, or the context's error when that was the cause.
type LimitError struct {
	Op    string // "Compose", ...
	Limit string // "states", "arcs", "bytes", "context"
	Bound int64  // the limit's value; zero for a context
	Built Progress
	Cause error // ErrLimit or the context's error
}

func (e *LimitError) Error() string {
	why := fmt.Sprintf("more than %d %s", e.Bound, e.Limit)
	if e.Limit == "context" {
		why = e.Cause.Error()
	}
	return fmt.Sprintf("ops: %s: stopped (%s) after %d states, %d arcs, %d bytes", e.Op, why, e.Built.States, e.Built.Arcs, e.Built.Bytes)
}

func (e *LimitError) Unwrap() error { return e.Cause }

// meter checks Limits while an operation builds. Looking at the context costs
// an atomic load or a lock, so it is done once in every 256 calls.
type meter struct {
	op    string
	lim   Limits
	calls uint32
}

// check returns a LimitError when p exceeds a limit.
func (m *meter) check(p Progress) error {
	l := &m.lim
	switch {
	case l.States > 0 && p.States > l.States:
		return &LimitError{Op: m.op, Limit: "states", Bound: int64(l.States), Built: p, Cause: ErrLimit}
	case l.Arcs > 0 && p.Arcs > l.Arcs:
		return &LimitError{Op: m.op, Limit: "arcs", Bound: l.Arcs, Built: p, Cause: ErrLimit}
	case l.Bytes > 0 && p.Bytes > l.Bytes:
		return &LimitError{Op: m.op, Limit: "bytes", Bound: l.Bytes, Built: p, Cause: ErrLimit}
	}
	if m.calls++; l.Ctx != nil && m.calls&255 == 0 {
		if err := l.Ctx.Err(); err != nil {
			return &LimitError{Op: m.op, Limit: "context", Built: p, Cause: err}
		}
	}
	return nil
}
