package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Limits bounds what a constructive operation may build; every options struct
// of one embeds it. Zero is no limit.
type Limits struct {
	// Ctx cancels; nil is none. It is checked when work begins, then after every 256 states and
	// every further megabyte. So a machine computed on demand may expand up to 255 states after
	// a cancellation before it reports it.
	Ctx    context.Context
	States int   // states of the result
	Arcs   int64 // arcs of the result
	Bytes  int64 // estimated bytes held: the result, state tables and work space; the input and what the collector has not yet freed come on top

	// Workers is how many goroutines may work at once, where an operation can use more than
	// one: Compose, RmEpsilon, ConnectWorkers, ArcSortWorkers and Batch. 0 and 1 are one. The
	// result is the same for any number; each takes work space of its own.
	//
	// A panic in a worker continues in the goroutine that called the operation, once all
	// workers have ended. A panic of another goroutine becomes a *WorkerPanic with the value
	// and the stack.
	Workers int
}

// ErrLimit is the reason of every LimitError that did not come from a context.
var ErrLimit = run.ErrLimit

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

// enoughLabels returns a LimitError, its operation still to be named, unless n labels in a row
// begin with first.
func enoughLabels(first fst.Label, n int, hint string) *LimitError {
	if there := math.MaxInt32 - int64(first) + 1; int64(n) > there {
		return &LimitError{Limit: "labels", Bound: there, Cause: ErrLimit, Hint: hint}
	}
	return nil
}

// isCancelled reports whether err is that of a context.
func isCancelled(err error) bool {
	var l *LimitError
	return errors.As(err, &l) && l.Limit == "context"
}

// CheckLimits returns a LimitError that names op when the finished machine f exceeds lim, or when
// lim.Ctx is done. It serves operations whose result is hardly larger than their operands. They
// check the limits once, on the result. O(|Q|) time at most.
func CheckLimits[W semiring.Weight[W]](op string, f fst.Expanded[W], lim Limits) error {
	m := lim.meter(op).AtOnce()
	return m.Check(run.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f))))
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
type Meter struct{ m run.Meter }

// NewMeter returns the meter of the operation op.
func NewMeter(op string, lim Limits) *Meter { return &Meter{lim.meter(op)} }

// Check returns a LimitError when p exceeds a limit, or the context is done. It looks at the
// context once in every 256 calls, and each time that p has a megabyte more.
func (m *Meter) Check(p Progress) error { return m.m.Check(run.Progress(p)) }

// SizeOf is the size of a machine over W, with the bytes that its arcs and states take.
func SizeOf[W any](states int, arcs int64) Progress { return Progress(run.SizeOf[W](states, arcs)) }

// beside is lim for a part of an operation that has held bytes in use besides.
func (lim Limits) beside(held int64) Limits {
	if lim.Bytes > 0 {
		lim.Bytes = max(1, lim.Bytes-held)
	}
	return lim
}

// wholeOf is the error of a part that was given lim.beside(held), as that of the operation op.
func wholeOf(err error, op string, lim Limits, held int64) error {
	return asWhole(err, op, func(l *LimitError) {
		l.Built.Bytes += held
		if l.Limit == "bytes" {
			l.Bound = lim.Bytes
		}
	})
}

// machineBytes is the size of f. Where lim bounds bytes it includes what weights hold outside of
// themselves; otherwise that is not worth a walk over all arcs.
func machineBytes[W semiring.Weight[W]](f fst.Expanded[W], lim Limits) int64 {
	n := run.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f))).Bytes
	if heap := run.HeapOf[W](); heap != nil && lim.Bytes > 0 {
		for q := range fst.StateID(f.NumStates()) {
			final := f.Final(q)
			n += heap(&final) + run.HeapOfArcs(heap, f.Arcs(q))
		}
	}
	return n
}

// meter returns the meter of the operation op under lim.
func (lim Limits) meter(op string) run.Meter { return run.Meter{Op: op, Lim: run.Limits(lim)} }

func init() {
	run.Errors.LimitOf = func(err error) string {
		var l *LimitError
		if !errors.As(err, &l) {
			return ""
		}
		return l.Limit
	}
	run.Errors.Limit = func(e run.Exceeded) error {
		return &LimitError{Op: e.Op, Limit: e.Limit, Bound: e.Bound, Built: Progress(e.Built), Next: e.Next,
			Cause: e.Cause, Hint: e.Hint}
	}
}

// workers is how many goroutines n pieces of work are worth, at least one.
func (lim Limits) workers(n int) int { return max(1, min(lim.Workers, n)) }

// WorkerPanic is what a panic in a goroutine of an operation's workers becomes in the one that
// called the operation, where recover finds it.
type WorkerPanic struct {
	Value any    // that the panic was with
	Stack []byte // of the worker
}

func (p *WorkerPanic) Error() string {
	return fmt.Sprintf("ops: a worker panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value if it is an error.
func (p *WorkerPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

func init() {
	run.Errors.Panic = func(value any, stack []byte) error { return &WorkerPanic{value, stack} }
}

// Batch calls do(0) … do(n-1), with lim.Workers of them under way at once, and returns the error of
// the lowest i that has one. What is before that i has been done. What is behind it may have been
// left out, and has with one worker, which is the default. Each call keeps its result under its own
// i, so that results do not depend on the number of workers. Operations on many machines, such as a
// corpus of lattices, are run this way. Their parts share nothing, and the speed-up is the number
// of processors.
//
// Once lim.Ctx is done no further call is made, and the first i that is left out has a LimitError.
//
// A panic of do ends the batch as an error does, and goes on in the goroutine that called Batch
// (see Limits.Workers).
func Batch(n int, lim Limits, do func(i int) error) error {
	each := func(i int) error {
		if err := run.Cancelled("Batch", lim.Ctx); err != nil {
			return err
		}
		return do(i)
	}
	w := lim.workers(n)
	if w == 1 {
		for i := range n {
			if err := each(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first = n // the lowest that failed
		err   error
	)
	stop := func() { next.Store(int64(n)) } // those before i have all been taken
	run.Together(w, stop, func(int) {
		for {
			i := int(next.Add(1) - 1)
			if i >= n {
				return
			}
			if e := each(i); e != nil {
				mu.Lock()
				if i < first {
					first, err = i, e
				}
				mu.Unlock()
				stop()
			}
		}
	})
	return err
}
