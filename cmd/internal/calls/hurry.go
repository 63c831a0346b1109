package calls

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tropica-fst/tropica/losses"
)

// quick is the longest time that a call may take in the caller's thread, where it cannot be
// interrupted. A call that takes twice as long is given up and starts again in a thread of its own.
const quick = 20 * time.Millisecond

// hurry is the context of a call that is to be quick, or not to be made.
type hurry struct {
	context.Context // of the call's cancel handle
	begin           time.Time
	until           atomic.Int64 // nanoseconds since begin; 0 is no bound
	late            atomic.Bool
}

var errLate = errors.New("the call takes longer than was thought")

// Err implements context.Context.
func (h *hurry) Err() error {
	if until := h.until.Load(); until > 0 && int64(time.Since(h.begin)) > until {
		h.late.Store(true)
		return errLate
	}
	return h.Context.Err()
}

// Hurry runs a call that is known to be quick, or that is much like the one before it, which was.
// It reports false for others, and for one that takes longer than was thought: those are for Call,
// in a thread that its caller need not wait for. What they have written is of no meaning.
func (s *Server) Hurry(number uint32, args []byte, m Memory) (err error, done bool) {
	switch number {
	case CallLattice, CallMinRisk, CallMachineOperate:
		return nil, false
	case CallEvaluate, CallSample:
	default:
		return s.Call(number, args, m), true
	}
	h := &hurry{begin: time.Now()}
	err = s.call(number, args, m, h)
	h.until.Store(0) // a machine that keeps its context is not late for ever
	return err, !h.late.Load()
}

// hurried has a batch run under h, and reports whether it may.
func (b *batch) hurried(want losses.Want, h *hurry) bool {
	if h == nil {
		return true
	}
	if !b.s.mu.TryLock() { // another thread's call is under way
		h.late.Store(true)
		return false
	}
	d, sure, known := b.likely(want)
	b.s.mu.Unlock()
	if !known || d >= quick {
		h.late.Store(true)
		return false
	}
	if !sure {
		h.until.Store(int64(2 * quick))
	}
	h.Context, b.ctx = b.ctx, h
	return true
}

// likely is forecast, which is sure, or where that knows nothing what the batch before took, if it
// was like this one.
func (b *batch) likely(want losses.Want) (d time.Duration, sure, known bool) {
	if d, known = b.forecast(want); known {
		return d, true, true
	}
	p := &b.s.pace
	return p.took, false, b.kind(want).within(p.kind)
}

// pace is what the last batch of a session took on one worker, its machines included.
type pace struct {
	kind
	took time.Duration
}

// kind is what the time of a batch depends on.
type kind struct {
	loss            *loss
	alphabet, order int
	want            losses.Want
	examples        int
	reference       int // labels of the longest
	length          int // of the longest strings
}

func (b *batch) kind(want losses.Want) kind {
	k := kind{loss: b.loss, alphabet: b.alphabet, order: b.order, want: want, examples: b.n}
	for i := range b.n {
		k.reference = max(k.reference, int(b.offsets[i+1]-b.offsets[i]))
		k.length = max(k.length, b.len(i))
	}
	return k
}

// within reports whether a batch is like another, and no larger.
func (k kind) within(of kind) bool {
	return k.loss == of.loss && k.alphabet == of.alphabet && k.order == of.order && k.want&^of.want == 0 &&
		k.examples <= of.examples && k.reference <= of.reference && k.length <= of.length
}
