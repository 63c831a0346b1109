package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Limits bounds what a constructive operation may build; every options struct
// of one embeds it. Zero is no limit.
type Limits struct {
	// Ctx cancels; nil is none. It is looked at when work begins, and again with every 256th state or when a megabyte more is
	// held. So a machine that is computed on demand may still expand up to 255 states behind a cancellation before it
	// reports it.
	Ctx    context.Context
	States int   // states of the result
	Arcs   int64 // arcs of the result
	Bytes  int64 // estimated bytes held: the result, state tables and work space; the input and what the collector has not yet freed come on top

	// Workers is how many goroutines may work at once, where an operation can use more
	// than one: Compose, RmEpsilon, ConnectWorkers, ArcSortWorkers and Batch. 0 and 1 are one. The
	// result is the same for any number; each takes work space of its own.
	//
	// A panic of weights, or of what Batch calls, goes on in the goroutine that called the operation, when all workers have
	// ended: from there as it is, from another as a *WorkerPanic, which holds the value and the stack.
	Workers int
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
	Op    string   // "Compose", ...
	Limit string   // "states", "arcs", "bytes", "context", or "labels", of output strings or in a row of new ones
	Bound int64    // the limit's value; zero for a context
	Built Progress // zero where no machine is built, as for distances
	Next  int64    // how many arcs the state would have at which it stopped, where they were counted before they were made; else 0
	Cause error    // ErrLimit or the context's error
	Hint  string   // what to do where the bound is not the caller's, but that of numbers with 31 bits; else empty
}

func (e *LimitError) Error() string {
	why := fmt.Sprintf("more than %d %s", e.Bound, e.Limit)
	switch {
	case e.Limit == "context":
		why = e.Cause.Error()
	case e.Next > 0:
		why += fmt.Sprintf(" with the next state, which has %d arcs", e.Next)
	}
	s := fmt.Sprintf("ops: %s: stopped (%s)", e.Op, why)
	if e.Built != (Progress{}) {
		s += fmt.Sprintf(" after %d states, %d arcs, %d bytes", e.Built.States, e.Built.Arcs, e.Built.Bytes)
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *LimitError) Unwrap() error { return e.Cause }

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

// enoughLabels returns a LimitError, its operation still to be named, unless n labels in a row begin with first.
func enoughLabels(first fst.Label, n int, hint string) *LimitError {
	if there := math.MaxInt32 - int64(first) + 1; int64(n) > there {
		return &LimitError{Limit: "labels", Bound: there, Cause: ErrLimit, Hint: hint}
	}
	return nil
}

// meter checks Limits while an operation builds. Looking at the context costs
// an atomic load or a lock, so it is done once in every 256 calls, or when much has been
// built since: of subsets and sets of strings one alone may take longer than any timeout.
type meter struct {
	op    string
	lim   Limits
	calls uint32
	next  int64 // bytes at which to look again
}

// check returns a LimitError when p exceeds a limit.
func (m *meter) check(p Progress) error {
	l := &m.lim
	switch {
	case l.States > 0 && p.States > l.States:
		return &LimitError{Op: m.op, Limit: "states", Bound: int64(l.States), Built: p, Cause: ErrLimit}
	case p.States > mostStates:
		return &LimitError{Op: m.op, Limit: "states", Bound: int64(mostStates), Built: p, Cause: ErrLimit, Hint: hintStates}
	case l.Arcs > 0 && p.Arcs > l.Arcs:
		return &LimitError{Op: m.op, Limit: "arcs", Bound: l.Arcs, Built: p, Cause: ErrLimit}
	case l.Bytes > 0 && p.Bytes > l.Bytes:
		return &LimitError{Op: m.op, Limit: "bytes", Bound: l.Bytes, Built: p, Cause: ErrLimit}
	}
	if m.calls++; l.Ctx != nil && (m.calls&255 == 0 || m.calls == 1 || p.Bytes >= m.next) {
		m.next = p.Bytes + 1<<20
		if err := l.Ctx.Err(); err != nil {
			return &LimitError{Op: m.op, Limit: "context", Built: p, Cause: err}
		}
	}
	return nil
}

// look is check that looks at the context now: for loops whose rounds are long, or counted by the caller.
func (m *meter) look(p Progress) error {
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
		return &LimitError{Op: op, Limit: "context", Cause: err}
	}
	return nil
}

// stopwatch looks at a context once in lookEvery units of work, which are some nanoseconds each.
type stopwatch struct {
	op   string
	ctx  context.Context
	left int

	most int64    // bytes that may be held, 0 for any
	held Progress // beside work space
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
	return &LimitError{Op: w.op, Limit: "bytes", Bound: w.most, Built: p, Cause: ErrLimit}
}

// isCancelled reports whether err is that of a context.
func isCancelled(err error) bool {
	var l *LimitError
	return errors.As(err, &l) && l.Limit == "context"
}

// CheckLimits returns a LimitError that names op when the finished machine f has more states, arcs or
// bytes than lim allows, or when lim.Ctx is done at the call. It serves operations whose result is hardly larger than
// their operands: they check it once, when it is made, in place of checking while they work. O(|Q|) time at most.
func CheckLimits[W semiring.Weight[W]](op string, f fst.Expanded[W], lim Limits) error {
	m := meter{op: op, lim: lim, calls: 255} // looks at the context at once
	return m.check(sizeOf[W](f.NumStates(), int64(fst.NumArcs(f))))
}

// sizeOf is the size of a machine, with the bytes that its arcs and states take.
func sizeOf[W any](states int, arcs int64) Progress {
	return Progress{States: states, Arcs: arcs, Bytes: arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(states)*24}
}

// workspace is lim without the bounds on the result: for a part of an operation
// whose own result is not the operation's.
func (lim Limits) workspace() Limits {
	return Limits{Ctx: lim.Ctx, Bytes: lim.Bytes, Workers: lim.Workers}
}

// any reports whether something is bounded.
func (lim Limits) any() bool {
	return lim.Ctx != nil || lim.States != 0 || lim.Arcs != 0 || lim.Bytes != 0
}

// partError is the error of a part of an operation, under the name of the whole.
type partError struct {
	op  string
	err error
}

func (e *partError) Error() string {
	return "ops: " + e.op + ": " + strings.TrimPrefix(e.err.Error(), "ops: ")
}
func (e *partError) Unwrap() error { return e.err }

// Meter checks Limits for an operation of another package while it builds.
type Meter struct{ m meter }

// NewMeter returns the meter of the operation op.
func NewMeter(op string, lim Limits) *Meter { return &Meter{meter{op: op, lim: lim}} }

// Check returns a LimitError when p exceeds a limit, or the context is done; it
// looks at the context once in every 256 calls, and each time that p has a megabyte more.
func (m *Meter) Check(p Progress) error { return m.m.check(p) }

// SizeOf is the size of a machine over W, with the bytes that its arcs and states take.
func SizeOf[W any](states int, arcs int64) Progress { return sizeOf[W](states, arcs) }
