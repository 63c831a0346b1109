package ops

import (
	"context"
	"errors"
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
)

// Limits has the fields of ops.Limits, so that one converts to the other.
type bounds struct {
	Ctx     context.Context
	States  int
	Arcs    int64
	Bytes   int64
	Workers int
}

// progress is what an operation has built so far: ops.Progress.
type progress struct {
	States int
	Arcs   int64
	Bytes  int64
}

// exceeded has the fields of ops.LimitError.
type exceeded struct {
	Op    string
	Limit string
	Bound int64
	Built progress
	Next  int64
	Cause error
	Hint  string
}

// makeErrors makes the errors whose types are exported by package ops. That package imports this one, and
// sets the functions when it is initialized.
var makeErrors struct {
	Limit   func(exceeded) error                // a *LimitError
	Panic   func(value any, stack []byte) error // a *WorkerPanic
	Renamed func(err error, op string) error    // err as the error of op; see ops.asWhole
}

// errLimit is ops.ErrLimit.
var errLimit = errors.New("limit exceeded")

// What numbers of 31 bits can tell apart. Beyond that an operation stops, with a LimitError that has a hint. Variables, so that tests
// need not make as many.
var (
	// mostStates leaves room for what one state more leads to: tables end at 3·2²⁹ keys, and numbers at 2³¹.
	mostStates = 3<<29 - 1<<27
	mostArcs   = math.MaxInt32 // that leave one subset
	mostLabels = math.MaxInt32 // of the output strings of all subsets, or of those on the arcs that leave one
)

const (
	hintStates = "states have numbers of 31 bits: prune or connect what it is made of, or take the delayed form, and let that forget states (Retain)"
	hintArcs   = "arcs of one subset have numbers of 31 bits: take arcs with the same labels and next states for one (ArcSum), or prune the input"
	hintLabels = "output labels have places of 31 bits: push labels towards the start (Push; fst push --push_labels), or prune the input, so that paths with one input have outputs that differ for less long"

	hintSubsequential = "labels end at 2147483647, and the final arcs of a state have SubsequentialLabel (--subsequential_label) and those after it: take a smaller one"
	hintFinal         = "labels end at 2147483647, and the arcs that a final weight becomes have FinalILabel or FinalOLabel and those after it: take a smaller one"
)

// meter checks Limits while an operation builds. Looking at the context costs
// an atomic load or a lock, so it is done once in every 256 calls, or when much has been
// built since: of subsets and sets of strings one alone may take longer than any timeout.
type meter struct {
	op    string
	lim   bounds
	calls uint32
	next  int64 // bytes at which to look again
}

// check returns a LimitError when p exceeds a limit.
func (m *meter) check(p progress) error {
	l := &m.lim
	switch {
	case l.States > 0 && p.States > l.States:
		return makeErrors.Limit(exceeded{Op: m.op, Limit: "states", Bound: int64(l.States), Built: p, Cause: errLimit})
	case p.States > mostStates:
		return makeErrors.Limit(exceeded{Op: m.op, Limit: "states", Bound: int64(mostStates), Built: p, Cause: errLimit, Hint: hintStates})
	case l.Arcs > 0 && p.Arcs > l.Arcs:
		return makeErrors.Limit(exceeded{Op: m.op, Limit: "arcs", Bound: l.Arcs, Built: p, Cause: errLimit})
	case l.Bytes > 0 && p.Bytes > l.Bytes:
		return makeErrors.Limit(exceeded{Op: m.op, Limit: "bytes", Bound: l.Bytes, Built: p, Cause: errLimit})
	}
	if m.calls++; l.Ctx != nil && (m.calls&255 == 0 || m.calls == 1 || p.Bytes >= m.next) {
		m.next = p.Bytes + 1<<20
		if err := l.Ctx.Err(); err != nil {
			return makeErrors.Limit(exceeded{Op: m.op, Limit: "context", Built: p, Cause: err})
		}
	}
	return nil
}

// atOnce is m with the context read at its next check.
func (m meter) atOnce() meter {
	m.calls |= 255
	return m
}

// look is check that looks at the context now: for loops whose rounds are long, or counted by the caller.
func (m *meter) look(p progress) error {
	m.calls |= 255
	return m.check(p)
}

// cancelled returns a LimitError of op when ctx is done; nil never is. It is for what builds no machine, to be called once
// in a thousand units of work or so.
func cancelled(op string, ctx context.Context) error {
	if ctx == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return makeErrors.Limit(exceeded{Op: op, Limit: "context", Cause: err})
	}
	return nil
}

// stopwatch looks at a context once in lookEvery units of work, which are some nanoseconds each.
type stopwatch struct {
	op   string
	ctx  context.Context
	left int

	most int64    // bytes that may be held, 0 for any
	held progress // beside work space
}

const lookEvery = 1 << 13

// did counts work, and returns a LimitError when the context is done.
func (w *stopwatch) did(units int) error {
	if w.left -= units; w.left > 0 {
		return nil
	}
	w.left = lookEvery
	return cancelled(w.op, w.ctx)
}

// holds returns a LimitError when so many bytes of work space are more than there may be.
func (w *stopwatch) holds(bytes int64) error {
	if w.most == 0 || w.held.Bytes+bytes <= w.most {
		return nil
	}
	p := w.held
	p.Bytes += bytes
	return makeErrors.Limit(exceeded{Op: w.op, Limit: "bytes", Bound: w.most, Built: p, Cause: errLimit})
}

// sizeOf is the size of a machine, with the bytes that its arcs and states take.
func sizeOf[W any](states int, arcs int64) progress {
	return progress{States: states, Arcs: arcs, Bytes: arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(states)*24}
}
