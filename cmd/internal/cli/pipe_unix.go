//go:build unix

package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// holdPipe makes writing to a closed pipe an error, whatever the descriptor.
func holdPipe() { signal.Ignore(syscall.SIGPIPE) }

// closedPipe reports whether err is that of writing to a pipe whose reader has closed it.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// raisePipe ends the process by SIGPIPE. Go's runtime does so only when a write to descriptor 1 or
// 2 fails, so a pipe without a reader replaces standard output.
func raisePipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // Reset alone leaves the signal ignored
	signal.Reset(syscall.SIGPIPE)
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	r.Close()
	if unix.Dup2(int(w.Fd()), 1) == nil {
		os.Stdout.Write([]byte{'\n'})
	}
}
