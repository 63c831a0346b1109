// Capi is the C interface, as a library:
//
//	go build -buildmode=c-shared -ldflags="-s -w" -o libtropica.so .
//
// tropica.h has what C sees; python/ has the package for Python, and README.md says how to
// build and use both. The calls themselves are those of package calls, which `fst serve` has
// too. This is a module of its own, so that the core is free of cgo.
package main

/*
#include "tropica.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

var server = calls.NewServer()

// tropicaCall runs a call for entry.c. The structs of tropica.h are those of package calls.
//
//export tropicaCall
func tropicaCall(number C.uint32_t, args unsafe.Pointer, size C.uint64_t, fault unsafe.Pointer) C.int32_t {
	return report(call(number, args, size), fault)
}

func call(number C.uint32_t, args unsafe.Pointer, size C.uint64_t) error {
	return server.Call(uint32(number), unsafe.Slice((*byte)(args), uint64(size)), calls.Process{})
}

// running holds the calls of tropicaStart that have not been waited for, ended or not.
var running = struct {
	mu   sync.Mutex
	of   map[uint64]chan error
	last uint64
}{of: map[uint64]chan error{}}

// tropicaStart is tropicaCall that returns after some time, by which the call may not have ended:
// it then has a number, for tropicaWait.
//
//export tropicaStart
func tropicaStart(number C.uint32_t, args unsafe.Pointer, size C.uint64_t, microseconds C.int64_t,
	handle *C.uint64_t, fault unsafe.Pointer) C.int32_t {
	of := unsafe.Slice((*byte)(args), uint64(size))
	if err, done := server.Hurry(uint32(number), of, calls.Process{}); done {
		return report(err, fault)
	}
	done := make(chan error, 1)
	go func() { done <- call(number, args, size) }()
	if err, ended := within(done, int64(microseconds)); ended {
		return report(err, fault)
	}
	running.mu.Lock()
	defer running.mu.Unlock()
	running.last++
	running.of[running.last] = done
	*handle = C.uint64_t(running.last)
	return C.TROPICA_RUNNING
}

// tropicaWait waits for a call that tropicaStart began.
//
//export tropicaWait
func tropicaWait(handle C.uint64_t, microseconds C.int64_t, fault unsafe.Pointer) C.int32_t {
	running.mu.Lock()
	done, ok := running.of[uint64(handle)]
	running.mu.Unlock()
	if !ok {
		err := fmt.Errorf("wait: no call %d is running; was it waited for before?", handle)
		return report(&calls.Error{Status: calls.BadHandle, Element: -1, Err: err}, fault)
	}
	err, ended := within(done, int64(microseconds))
	if !ended {
		return C.TROPICA_RUNNING
	}
	running.mu.Lock()
	delete(running.of, uint64(handle))
	running.mu.Unlock()
	return report(err, fault)
}

// within waits for the end of a call, but no longer than so many microseconds; below 0 is no bound.
func within(done <-chan error, microseconds int64) (err error, ended bool) {
	if microseconds < 0 {
		return <-done, true
	}
	const most = int64(time.Hour / time.Microsecond)
	timer := time.NewTimer(time.Duration(min(microseconds, most)) * time.Microsecond)
	defer timer.Stop()
	select {
	case err := <-done:
		return err, true
	case <-timer.C:
		return nil, false
	}
}

// report stores how a call ended in its error struct, which may be null, and returns the status.
func report(err error, fault unsafe.Pointer) C.int32_t {
	e := (*C.tropica_error)(fault)
	if e != nil {
		e.status, e.element = C.TROPICA_OK, -1
		if e.text != nil && e.text_room > 0 {
			*e.text = 0
		}
	}
	if err == nil {
		return C.TROPICA_OK
	}
	var failed *calls.Error
	if !errors.As(err, &failed) {
		failed = &calls.Error{Status: calls.Bug, Element: -1, Err: err}
	}
	if e != nil {
		e.status, e.element = C.int64_t(failed.Status), C.int64_t(failed.Element)
		if e.text != nil && e.text_room > 0 {
			room := unsafe.Slice((*byte)(unsafe.Pointer(e.text)), int64(e.text_room))
			n := copy(room[:len(room)-1], failed.Error())
			room[n] = 0
		}
	}
	return C.int32_t(failed.Status)
}

func main() {}
