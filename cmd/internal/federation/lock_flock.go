//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package federation

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps a second server from the same journal, as long as the file is open.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another process has it open: two servers of one run would disturb each other")
	}
	return err
}
