// Package output writes files that appear whole or not at all.
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// File collects what is to become a file. Regular files are written beside
// their final place and renamed on Commit; devices, pipes and standard output
// are written straight through a buffer.
type File struct {
	name string // for messages
	w    *bufio.Writer
	f    *os.File
	temp string // to rename to path on Commit; "" when written straight
	path string
	free func() // lets go of the lock on temp, after it was renamed or removed
	err  error
}

// unfinished holds the temporary files of this process, so that an end by a signal
// or a timeout can remove them. Once stopped, no file is made or put in its place.
var unfinished struct {
	sync.Mutex
	temps   map[string]bool
	stopped bool
}

// ErrStopped is the error of Create and Commit after Stop.
var ErrStopped = errors.New("the program is ending")

// Stop removes what is half-written, for a process that is about to end. Files that
// are being written come to nothing.
func Stop() {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.stopped = true
	for temp := range unfinished.temps {
		os.Remove(temp)
	}
	unfinished.temps = nil
}

// create makes a temporary file that Stop knows of.
func create(temp string, perm fs.FileMode) (*os.File, error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.stopped {
		return nil, ErrStopped
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err == nil {
		if unfinished.temps == nil {
			unfinished.temps = map[string]bool{}
		}
		unfinished.temps[temp] = true
	}
	return f, err
}

// settle renames a temporary file to path, or removes it where path is empty.
func settle(temp, path string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.stopped {
		return ErrStopped
	}
	delete(unfinished.temps, temp)
	if path == "" {
		return os.Remove(temp)
	}
	err := os.Rename(temp, path)
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// Create opens name for writing; "" and "-" are stdout. Nothing appears at name
// before Commit.
func Create(name string, stdout io.Writer) (*File, error) {
	if name == "" || name == "-" {
		return &File{name: "standard output", w: bufio.NewWriterSize(stdout, 1<<16)}, nil
	}
	path := name
	if real, err := filepath.EvalSymlinks(name); err == nil {
		path = real // replace what a link points to, not the link
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: is a directory", name)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{name: name, f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
	}
	perm := fs.FileMode(0o666)
	if err == nil {
		perm = info.Mode().Perm()
		// A file that may not be written must not be replaced either.
		probe, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		probe.Close()
	}
	f, temp, free, err := temporary(path, perm)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err // the temporary name is of no use to anybody
		}
		return nil, fmt.Errorf("cannot create %s: %w", name, err)
	}
	return &File{name: name, f: f, w: bufio.NewWriterSize(f, 1<<16), temp: temp, path: path, free: free}, nil
}

// Name is the file's name for messages.
func (f *File) Name() string { return f.name }

// Write implements io.Writer. The first error stays.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.w.Write(p)
	f.err = err
	return n, err
}

// Whole tells whether the file appears whole, on Commit. Others (standard output,
// devices, pipes) get what is written when the buffer is full, or Flush is called.
func (f *File) Whole() bool { return f.temp != "" }

// Flush hands over what was written to a file that does not appear whole.
func (f *File) Flush() error {
	if f.err == nil && !f.Whole() {
		f.err = f.w.Flush()
	}
	return f.err
}

// Commit flushes, closes and puts the file in its place. After an error nothing
// is left behind.
func (f *File) Commit() error {
	err := f.err
	if e := f.w.Flush(); err == nil {
		err = e
	}
	if f.f != nil {
		if e := f.f.Close(); err == nil {
			err = e
		}
	}
	if f.temp != "" {
		if err == nil {
			err = settle(f.temp, f.path)
		} else {
			settle(f.temp, "")
		}
	}
	f.done()
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.name, err)
	}
	return nil
}

// Abort removes what was written. It does nothing after Commit.
func (f *File) Abort() {
	if f.f != nil {
		f.f.Close()
	}
	if f.temp != "" {
		settle(f.temp, "")
	}
	f.done()
}

// done lets go of the temporary file, whose name is gone by now.
func (f *File) done() {
	if f.free != nil {
		f.free()
	}
	f.f, f.temp, f.free = nil, "", nil
}
