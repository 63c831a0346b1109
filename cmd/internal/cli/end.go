package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/tropica-fst/tropica/cmd/internal/output"
)

// StatusPipe is the exit status after writing to a pipe whose reader has closed it. It is what
// shells report of a process that SIGPIPE ended: 128 plus the number of the signal.
const StatusPipe = 141

// End ends the process with a status. A status of 0 becomes 1, with a message, where standard
// output was not written in full. StatusPipe becomes an end by the signal itself, where the system
// has it.
func (s Streams) End(prog string, status int) {
	if out, ok := s.Out.(*standardOutput); ok && status == 0 {
		if err := out.lost(); err != nil {
			status = s.Fail(prog, err)
		}
	}
	if status == StatusPipe {
		endByPipe()
	}
	os.Exit(status)
}

// endByPipe ends the process as Unix tools end when their reader has gone: in silence, and without
// files that are half-written.
func endByPipe() {
	output.Stop()
	raisePipe()
	os.Exit(StatusPipe)
}

// standardOutput is the standard output of the process. A closed pipe ends the process at the first
// write, so that it does not work in vain. Other errors are kept for End, because not all callers
// look at them.
type standardOutput struct {
	mu  sync.Mutex
	err error
}

func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if err != nil {
		if closedPipe(err) {
			endByPipe()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = fmt.Errorf("writing standard output: %w", cause(err))
		}
	}
	return n, err
}

// cause is err without the name that the system has for standard output.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// lost returns the first error of writing.
func (o *standardOutput) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
