package calls

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"unsafe"

	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
)

// ABI is the version of the interface: of the structs of arguments and what they mean.
const ABI = 2

// Status is how a call ended.
type Status int32

// The ways in which calls end. They are part of the interface.
const (
	OK        Status = iota
	Invalid          // arguments or data are wrong
	OverLimit        // more memory than allowed
	Cancelled        // by CallCancel
	Forked           // in a child of fork, where the library cannot run
	OldABI           // another version of the structs
	BadHandle        // a handle that stands for nothing, or for another kind of thing
	Bug              // a panic
)

// Error is the error of a call.
type Error struct {
	Status  Status
	Element int64 // number of the example at fault; -1 if none is
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// at says which example an error is of.
func at(element int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Status: statusOf(err), Element: int64(element),
		Err: fmt.Errorf("element %d: %w", element, err)}
}

func statusOf(err error) Status {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Status
	case errors.Is(err, losses.ErrBudget), errors.Is(err, ops.ErrLimit) && !errors.Is(err, context.Canceled):
		return OverLimit
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return Invalid
}

// Server holds what handles stand for.
type Server struct {
	mu   sync.Mutex
	held map[Handle]any
	last Handle
}

// NewServer returns a server that holds nothing.
func NewServer() *Server { return &Server{held: map[Handle]any{}} }

// hold returns a handle for v.
func (s *Server) hold(v any) Handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.held[s.last] = v
	return s.last
}

// get returns what a handle stands for.
func get[T any](s *Server, h Handle, what string) (T, error) {
	s.mu.Lock()
	v, ok := s.held[h]
	s.mu.Unlock()
	t, is := v.(T)
	switch {
	case !ok:
		return t, &Error{BadHandle, -1, fmt.Errorf("%s: handle %d stands for nothing; was it freed?", what, h)}
	case !is:
		return t, &Error{BadHandle, -1, fmt.Errorf("%s: handle %d stands for something else, of type %T",
			what, h, v)}
	}
	return t, nil
}

// stop is a context that a call can end.
type stop struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// context returns the context of a cancel handle.
func (s *Server) context(h Handle) (context.Context, error) {
	if h == 0 {
		return context.Background(), nil
	}
	c, err := get[*stop](s, h, "cancel")
	if err != nil {
		return nil, err
	}
	return c.ctx, nil
}

// Call runs a call. args are the bytes of its struct, aligned to eight; outputs are written
// to them and to m. The error is nil or an *Error.
func (s *Server) Call(number uint32, args []byte, m Memory) error {
	return s.call(number, args, m, nil)
}

// call is Call, under h unless that is nil.
func (s *Server) call(number uint32, args []byte, m Memory, h *hurry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Bug, -1, fmt.Errorf("a bug of the library, please report it: %v\n%s", p, debug.Stack())}
		}
		if err == nil {
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Element: -1}
		}
		err = &Error{Status: statusOf(err), Element: e.Element, Err: err}
	}()
	switch number {
	case CallVersion:
		return with(args, func(a *VersionArgs) error { a.ABI = ABI; return nil })
	case CallFree:
		return with(args, s.free)
	case CallCancelNew:
		return with(args, func(a *HandleArgs) error {
			c := &stop{}
			c.ctx, c.cancel = context.WithCancel(context.Background())
			a.Handle = s.hold(c)
			return nil
		})
	case CallCancel:
		return with(args, func(a *HandleArgs) error {
			c, err := get[*stop](s, a.Handle, "cancel")
			if err == nil {
				c.cancel()
			}
			return err
		})
	case CallSession:
		return with(args, func(a *HandleArgs) error { a.Handle = s.hold(newSession()); return nil })
	case CallLoss:
		return with(args, func(a *LossArgs) error { return s.loss(a, m) })
	case CallEvaluate:
		return with(args, func(a *EvaluateArgs) error { return s.evaluate(a, m, h) })
	case CallSample:
		return with(args, func(a *SampleArgs) error { return s.sample(a, m, h) })
	case CallMinRisk:
		return with(args, func(a *MinRiskArgs) error { return s.minRisk(a, m) })
	case CallLattice:
		return with(args, func(a *LatticeArgs) error { return s.lattice(a, m) })
	case CallMachineRead:
		return with(args, func(a *MachineReadArgs) error { return s.machineRead(a, m) })
	case CallMachineArcs:
		return with(args, func(a *MachineArcsArgs) error { return s.machineArcs(a, m) })
	case CallMachineOperate:
		return with(args, func(a *MachineOperateArgs) error { return s.machineOperate(a, m) })
	case CallMachineWrite:
		return with(args, func(a *MachineWriteArgs) error { return s.machineWrite(a, m) })
	case CallMachineSizes:
		return with(args, func(a *MachineSizesArgs) error { return s.machineSizes(a) })
	case CallMachineCopy:
		return with(args, func(a *MachineCopyArgs) error { return s.machineCopy(a, m) })
	}
	return &Error{OldABI, -1, fmt.Errorf("there is no call %d: the library has version %d of the interface",
		number, ABI)}
}

// with runs f on the struct whose bytes args are.
func with[T any](args []byte, f func(*T) error) error {
	want := int(unsafe.Sizeof(*new(T)))
	if len(args) < 8 {
		return &Error{OldABI, -1, fmt.Errorf("arguments of %d bytes", len(args))}
	}
	if size := *(*uint64)(unsafe.Pointer(&args[0])); size != uint64(want) || len(args) != want {
		return &Error{OldABI, -1, fmt.Errorf("arguments of %d bytes, with the size %d in them: version %d of "+
			"the interface has %d; set size to sizeof", len(args), size, ABI, want)}
	}
	return f((*T)(unsafe.Pointer(&args[0])))
}

func (s *Server) free(a *HandleArgs) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.held[a.Handle]
	if !ok {
		return &Error{BadHandle, -1, fmt.Errorf("free: handle %d stands for nothing; was it freed before?",
			a.Handle)}
	}
	if c, ok := v.(*stop); ok {
		c.cancel()
	}
	delete(s.held, a.Handle)
	return nil
}
