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
	"unsafe"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

var server = calls.NewServer()

// tropicaCall runs a call for entry.c. The structs of tropica.h are those of package calls.
//
//export tropicaCall
func tropicaCall(number C.uint32_t, args unsafe.Pointer, size C.uint64_t, fault unsafe.Pointer) C.int32_t {
	err := server.Call(uint32(number), unsafe.Slice((*byte)(args), uint64(size)), calls.Process{})
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
