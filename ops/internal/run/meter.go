package run

import (
	"context"
	"errors"
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
)

// Limits has the fields of ops.Limits, so that one converts to the other.
type Limits struct {
	Ctx     context.Context
	States  int
	Arcs    int64
	Bytes   int64
	Workers int
}

// Progress is what an operation has built so far: ops.Progress.
type Progress struct {
	States int
	Arcs   int64
	Bytes  int64
}

// Exceeded has the fields of ops.LimitError.
type Exceeded struct {
	Op    string
	Limit string
	Bound int64
	Built Progress
	Next  int64
	Cause error
	Hint  string
}

// Errors makes the errors whose types are exported by package ops. That package imports this one,
// and sets the functions when it is initialized.
var Errors struct {
	Limit   func(Exceeded) error                // a *LimitError
	Panic   func(value any, stack []byte) error // a *WorkerPanic
	LimitOf func(err error) string              // the limit that a *LimitError names, else empty
	Renamed func(err error, op string) error    // err as the error of op; see ops.asWhole
}

// ErrLimit is ops.ErrLimit.
var ErrLimit = errors.New("limit exceeded")

// What numbers of 31 bits can tell apart. Beyond that an operation stops, with a LimitError that
// has a hint. Variables, so that tests need not make as many.
var (
	// mostStates leaves room for what one state more leads to: tables end at 3·2²⁹ keys, and
	// numbers at 2³¹.
	MostStates = 3<<29 - 1<<27
	MostArcs   = math.MaxInt32 // that leave one subset
	MostLabels = math.MaxInt32 // of the output strings of all subsets, or of those on the arcs that leave one
)

const (
	hintStates = "states have numbers of 31 bits: prune or connect what it is made of, or take the delayed " +
		"form, and let that forget states (Retain)"
	HintArcs = "arcs of one subset have numbers of 31 bits: take arcs with the same labels and next states " +
		"for one (ArcSum), or prune the input"
	HintLabels = "output labels have places of 31 bits: push labels towards the start (Push; fst push " +
		"--push_labels), or prune the input, so that paths with one input have outputs that differ for less long"

	HintSubsequential = "labels end at 2147483647, and the final arcs of a state have SubsequentialLabel " +
		"(--subsequential_label) and those after it: take a smaller one"
	HintFinal = "labels end at 2147483647, and the arcs that a final weight becomes have FinalILabel " +
		"or FinalOLabel and those after it: take a smaller one"
)

// Meter checks Limits while an operation builds. Reading the context costs an atomic load or a
// lock. So it does that once in 256 calls, or when much has been built since: a single subset or
// set of strings may take longer than any timeout.
type Meter struct {
	Op    string
	Lim   Limits
	calls uint32
	next  int64 // bytes at which to look again
}

// Check returns a LimitError when p exceeds a limit.
func (m *Meter) Check(p Progress) error {
	l := &m.Lim
	switch {
	case l.States > 0 && p.States > l.States:
		return Errors.Limit(Exceeded{Op: m.Op, Limit: "states", Bound: int64(l.States), Built: p, Cause: ErrLimit})
	case p.States > MostStates:
		return Errors.Limit(Exceeded{Op: m.Op, Limit: "states", Bound: int64(MostStates), Built: p,
			Cause: ErrLimit, Hint: hintStates})
	case l.Arcs > 0 && p.Arcs > l.Arcs:
		return Errors.Limit(Exceeded{Op: m.Op, Limit: "arcs", Bound: l.Arcs, Built: p, Cause: ErrLimit})
	case l.Bytes > 0 && p.Bytes > l.Bytes:
		return Errors.Limit(Exceeded{Op: m.Op, Limit: "bytes", Bound: l.Bytes, Built: p, Cause: ErrLimit})
	}
	if m.calls++; l.Ctx != nil && (m.calls&255 == 0 || m.calls == 1 || p.Bytes >= m.next) {
		m.next = p.Bytes + 1<<20
		if err := l.Ctx.Err(); err != nil {
			return Errors.Limit(Exceeded{Op: m.Op, Limit: "context", Built: p, Cause: err})
		}
	}
	return nil
}

// AtOnce is m with the context read at its next check.
func (m Meter) AtOnce() Meter {
	m.calls |= 255
	return m
}

// CheckNow is check that looks at the context now: for loops whose rounds are long, or counted by
// the caller.
func (m *Meter) CheckNow(p Progress) error {
	m.calls |= 255
	return m.Check(p)
}

// Cancelled returns a LimitError of op when ctx is done; nil never is. It is for what builds no
// machine, to be called once in a thousand units of work or so.
func Cancelled(op string, ctx context.Context) error {
	if ctx == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return Errors.Limit(Exceeded{Op: op, Limit: "context", Cause: err})
	}
	return nil
}

// Stopwatch looks at a context once in lookEvery units of work, which are some nanoseconds each.
type Stopwatch struct {
	Op   string
	Ctx  context.Context
	left int

	Most int64    // bytes that may be held, 0 for any
	Held Progress // beside work space
}

const LookEvery = 1 << 13

// Spend counts work, and returns a LimitError when the context is done.
func (w *Stopwatch) Spend(units int) error {
	if w.left -= units; w.left > 0 {
		return nil
	}
	w.left = LookEvery
	return Cancelled(w.Op, w.Ctx)
}

// Hold returns a LimitError when so many bytes of work space are more than there may be.
func (w *Stopwatch) Hold(bytes int64) error {
	if w.Most == 0 || w.Held.Bytes+bytes <= w.Most {
		return nil
	}
	p := w.Held
	p.Bytes += bytes
	return Errors.Limit(Exceeded{Op: w.Op, Limit: "bytes", Bound: w.Most, Built: p, Cause: ErrLimit})
}

// SizeOf is the size of a machine, with the bytes that its arcs and states take.
func SizeOf[W any](states int, arcs int64) Progress {
	return Progress{States: states, Arcs: arcs, Bytes: arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) +
		int64(states)*24}
}
