// Package cli is what the commands share beside flags: standard streams, inputs
// by name, outputs that appear whole or not at all, errors and version.
package cli

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/output"
)

// Streams are the standard ones, or a test's.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Standard returns the process' streams, for a process that ends by End. Writing to a
// standard output whose reader has closed it ends the process by SIGPIPE. Writing to
// any other closed pipe is an error, for which Fail returns StatusPipe.
func Standard() Streams {
	holdPipe()
	return Streams{os.Stdin, &standardOutput{}, os.Stderr}
}

// IsStandard reports whether a file name means standard input or output.
func IsStandard(name string) bool { return name == "" || name == "-" }

// Open opens a file for reading; "" and "-" are standard input. shown is its
// name for messages.
func (s Streams) Open(name string) (r io.ReadCloser, shown string, err error) {
	if IsStandard(name) {
		return io.NopCloser(s.In), "standard input", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, name, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, name, fmt.Errorf("%s: is a directory", name)
	}
	return f, name, nil
}

// OpenText is Open for text that may be compressed. Input that begins like gzip is decompressed,
// under any name.
func (s Streams) OpenText(name string) (r io.ReadCloser, shown string, err error) {
	f, shown, err := s.Open(name)
	if err != nil {
		return nil, shown, err
	}
	b := bufio.NewReaderSize(f, 1<<16)
	if head, _ := b.Peek(2); len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return readCloser{b, f}, shown, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		f.Close()
		return nil, shown, fmt.Errorf("%s: damaged gzip file: %w", shown, err)
	}
	return readCloser{z, f}, shown, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// Output writes a file, or standard output, through f: whole or not at all.
func (s Streams) Output(name string, f func(io.Writer) error) error {
	out, err := output.Create(name, s.Out)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := f(out); err != nil {
		return err
	}
	return out.Commit()
}

// Fail reports an error of a program and returns the exit status for it. It
// writes no message when the reader of a pipe has closed it.
func (s Streams) Fail(prog string, err error) int {
	if closedPipe(err) {
		return StatusPipe
	}
	fmt.Fprintf(s.Err, "ERROR: %s: %v\n", prog, err)
	return 1
}

// Warn reports what a user should know while the work continues.
func (s Streams) Warn(prog, format string, args ...any) {
	fmt.Fprintf(s.Err, "WARNING: %s: %s\n", prog, fmt.Sprintf(format, args...))
}
