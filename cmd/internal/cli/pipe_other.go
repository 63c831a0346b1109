//go:build !unix

package cli

import (
	"errors"
	"syscall"
)

// holdPipe has nothing to do: writing to a closed pipe is an error here.
func holdPipe() {}

// closedPipe reports whether err is that of writing to a pipe whose reader has closed it: on
// Windows ERROR_BROKEN_PIPE or ERROR_NO_DATA.
func closedPipe(err error) bool {
	var code syscall.Errno
	return errors.As(err, &code) && (code == 109 || code == 232)
}

// raisePipe does nothing: there is no such signal.
func raisePipe() {}
