//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const locks = true

// lock takes the lock of a file, without waiting, until unlock is called or the
// process ends. The file may be closed before.
func lock(f *os.File) (unlock func(), err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var held int
	controlled := conn.Control(func(fd uintptr) {
		if err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return
		}
		syscall.ForkLock.RLock() // no child is to inherit the copy, and with it the lock
		defer syscall.ForkLock.RUnlock()
		if held, err = syscall.Dup(int(fd)); err == nil {
			syscall.CloseOnExec(held)
		}
	})
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	if err = errors.Join(err, controlled); err != nil {
		return nil, err
	}
	return func() { syscall.Close(held) }, nil
}

// openNew creates a file that does not exist. It avoids the system calls by which os.OpenFile finds
// out that a regular file needs no polling: five of some twenty for a file.
func openNew(name string, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC,
			uint32(perm.Perm()))
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if err != syscall.EINTR {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// openHere opens a file, though no link and nothing that could make it wait.
func openHere(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// state is what a file has that is not to change when others take its place.
type state struct {
	perm     fs.FileMode
	links    uint64
	uid, gid uint32
}

func stateOf(info fs.FileInfo) *state {
	s := &state{perm: info.Mode().Perm(), links: 1}
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		s.links, s.uid, s.gid = uint64(t.Nlink), t.Uid, t.Gid
	}
	return s
}

// give gives the file temp owner and mode, and reports whether it has them.
func (s *state) give(temp string) bool {
	info, err := os.Lstat(temp)
	if err != nil {
		return false
	}
	if t := stateOf(info); t.uid != s.uid || t.gid != s.gid {
		if os.Lchown(temp, int(s.uid), int(s.gid)) != nil {
			return false
		}
	}
	if os.Chmod(temp, s.perm) != nil {
		return false
	}
	info, err = os.Lstat(temp) // some file systems have no modes, and no errors
	return err == nil && info.Mode().Perm() == s.perm
}
