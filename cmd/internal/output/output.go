// Package output writes files that appear whole or not at all.
package output

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// File collects what is to become a file. Regular files are written beside
// their final place and renamed on Commit; devices, pipes and standard output
// are written straight through a buffer.
//
// An existing file that a rename cannot replace is overwritten on Commit, with what is complete by
// then. This is a file with other names, whose owner cannot be kept, whose folder takes no file, or
// that is a mount point.
type File struct {
	name  string // for messages
	w     *bufio.Writer
	f     *os.File      // what is written to
	held  *bytes.Buffer // instead of f, where no folder takes a temporary file
	whole bool          // nothing is at path before Commit
	temp  string        // the name of f, "" when written straight
	path  string
	was   *state // of the file at path, nil if there is none
	place bool   // path is overwritten: a rename is known not to do
	free  func() // lets go of the lock on temp, after it was renamed or removed
	err   error
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
	f, err := openNew(temp, perm)
	if err == nil {
		if unfinished.temps == nil {
			unfinished.temps = map[string]bool{}
		}
		unfinished.temps[temp] = true
	}
	return f, err
}

// settle ends what create began: it does what is left to do, if anything, and removes temp where
// that has not given it another name. Stop waits for it, so that the end of the process does not
// come in the middle of an overwriting.
func settle(temp string, do func() (renamed bool, err error)) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.stopped {
		return ErrStopped
	}
	var renamed bool
	var err error
	if do != nil {
		renamed, err = do()
	}
	if temp != "" {
		delete(unfinished.temps, temp)
		if !renamed {
			os.Remove(temp)
		}
	}
	return err
}

// Create opens name for writing; "", "-" and /dev/stdout are stdout. Nothing appears at name before
// Commit, except for a device, a pipe, or a descriptor that is already open (/dev/fd/3), through
// which others may write, too.
func Create(name string, stdout io.Writer) (*File, error) {
	fd, open := descriptor(name)
	switch {
	case name == "" || name == "-" || open && fd == 1:
		return &File{name: "standard output", w: buffer(stdout)}, nil
	case open:
		f, err := opened(fd, name)
		if err != nil {
			return nil, err
		}
		return &File{name: name, w: buffer(f)}, nil
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: is a directory", name)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{name: name, f: f, w: buffer(f)}, nil
	}
	f := &File{name: name, whole: true}
	if err == nil {
		err = f.over(info)
	} else if f.path, err = target(name); err == nil {
		f.f, f.temp, f.free, err = temporary(f.path, 0o666)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err // the temporary name is of no use to anybody
		}
		return nil, fmt.Errorf("cannot create %s: %w", name, err)
	}
	f.w = buffer(f.writer())
	return f, nil
}

// descriptor returns which descriptor of this process a name stands for, where the system has such
// names.
func descriptor(name string) (fd uintptr, ok bool) {
	if runtime.GOOS == "windows" {
		return 0, false
	}
	switch name {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if digits, in := strings.CutPrefix(name, dir); in {
			n, err := strconv.ParseUint(digits, 10, 31)
			return uintptr(n), err == nil
		}
	}
	return 0, false
}

// descriptors are those that have been written to by their numbers. They stay open: a second result
// may go there.
var descriptors struct {
	sync.Mutex
	files map[uintptr]*os.File
}

func opened(fd uintptr, name string) (*os.File, error) {
	descriptors.Lock()
	defer descriptors.Unlock()
	if f := descriptors.files[fd]; f != nil {
		return f, nil
	}
	f := os.NewFile(fd, name)
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if descriptors.files == nil {
		descriptors.files = map[uintptr]*os.File{}
	}
	descriptors.files[fd] = f // also where it cannot be used: to close it is not for the collector
	if _, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("%s: no such descriptor is open", name)
	}
	return f, nil
}

// buffers are those of files that are done with: one of many takes the last one's.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 1<<16) }}

func buffer(w io.Writer) *bufio.Writer {
	b := buffers.Get().(*bufio.Writer)
	b.Reset(w)
	return b
}

// over prepares f to replace, or overwrite, the regular file that its name leads to.
func (f *File) over(info fs.FileInfo) error {
	// A file that may not be written must not be replaced either.
	probe, err := os.OpenFile(f.name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	probe.Close()
	f.was = stateOf(info)
	f.path, err = filepath.EvalSymlinks(f.name) // replace what a link points to, not the link
	if err != nil {
		f.path, f.place = f.name, true // a way into /proc to what has no name any more
	}
	if f.was.links > 1 {
		f.place = true // the other names are to see it
	}
	if !f.place {
		// No one else may read it until it has its final owner and mode.
		f.f, f.temp, f.free, err = temporary(f.path, 0o600)
		if err == nil || errors.Is(err, ErrStopped) {
			return err
		}
		f.place = true // the folder may be read-only, or not ours
	}
	f.f, f.temp, f.free, err = temporary(filepath.Join(os.TempDir(), filepath.Base(f.path)), 0o600)
	if err == nil || errors.Is(err, ErrStopped) {
		return err
	}
	f.held = &bytes.Buffer{}
	return nil
}

func (f *File) writer() io.Writer {
	if f.held != nil {
		return f.held
	}
	return f.f
}

// target returns the path of the file that writing to name makes, where nothing is there
// yet: name itself, or what a symbolic link says.
func target(name string) (string, error) {
	for range 40 { // as the kernel has it
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // no link
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(name)
			if dir == "" {
				dir = "."
			}
			// Not Join, which takes ".." for the way back, and links lead elsewhere.
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				return "", err
			}
			to = dir + string(filepath.Separator) + to
		}
		name = to
	}
	return "", errors.New("too many symbolic links")
}

// Name is the file's name for messages.
func (f *File) Name() string { return f.name }

// Write implements io.Writer. The first error stays.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.w.Write(p)
	f.err = f.named(err)
	return n, f.err
}

// named is err under the name of the file that is wanted, not of the temporary one, or what the
// system calls standard output.
func (f *File) named(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && (f.temp == "" || pe.Path == f.temp) {
		return &writeError{f.name, pe.Err}
	}
	return err
}

// writeError is an error of writing that names the file.
type writeError struct {
	name string
	err  error
}

func (e *writeError) Error() string { return "writing " + e.name + ": " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// Whole reports whether the file appears whole, on Commit. Others (standard output, devices, pipes)
// get what is written when the buffer is full, or Flush is called.
func (f *File) Whole() bool { return f.whole }

// Flush passes on what was written, for a file that does not appear whole.
func (f *File) Flush() error {
	if f.err == nil && !f.Whole() {
		f.err = f.written(f.named(f.w.Flush()))
	}
	return f.err
}

// written is err, with the name of the file if it does not say so yet.
func (f *File) written(err error) error {
	var named *writeError
	if err == nil || errors.As(err, &named) {
		return err
	}
	return &writeError{f.name, err}
}

// Commit flushes, closes and puts the file in its place. After an error nothing
// is left behind, unless it says that a file is incomplete.
func (f *File) Commit() error {
	if f.w == nil {
		return f.err
	}
	err := f.err
	if e := f.w.Flush(); err == nil {
		err = f.named(e)
	}
	if f.f != nil {
		if e := f.f.Close(); err == nil {
			err = e
		}
	}
	if f.whole {
		if err == nil {
			err = settle(f.temp, f.put)
		} else {
			settle(f.temp, nil)
		}
	}
	err = f.written(err)
	f.done()
	return err
}

// put puts what was written in its place, by another name where it can.
func (f *File) put() (renamed bool, err error) {
	if f.place || f.was != nil && !f.was.give(f.temp) {
		return false, f.overwrite()
	}
	if err := os.Rename(f.temp, f.path); err == nil || f.was == nil {
		return err == nil, err
	}
	// The folder keeps names for their owners, or the file is mounted by itself: what
	// may be written may still be written.
	return false, f.overwrite()
}

// overwrite writes what is complete over the file at path. Should it fail, the old
// contents are lost, too.
func (f *File) overwrite() error {
	var from io.Reader = f.held
	if f.held == nil {
		os.Chmod(f.temp, 0o600) // put may have taken the right to read it
		r, err := os.Open(f.temp)
		if err != nil {
			return err
		}
		defer r.Close()
		from = r
	}
	w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%w; the file is incomplete, as it could only be written over: repeat it, or write "+
			"elsewhere", err)
	}
	return nil
}

// Abort removes what was written. It does nothing after Commit.
func (f *File) Abort() {
	if f.f != nil {
		f.f.Close()
	}
	if f.whole {
		settle(f.temp, nil)
	}
	f.done()
}

// done lets go of the temporary file, whose name is gone by now.
func (f *File) done() {
	if f.free != nil {
		f.free()
	}
	if f.w != nil {
		f.w.Reset(nil)
		buffers.Put(f.w)
	}
	if f.err == nil {
		f.err = fs.ErrClosed
	}
	f.w, f.f, f.held, f.whole, f.temp, f.free = nil, nil, nil, false, "", nil
}
