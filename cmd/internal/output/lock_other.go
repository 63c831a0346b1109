//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package output

import (
	"errors"
	"io/fs"
	"os"
)

const locks = false

func lock(*os.File) (unlock func(), err error) { return nil, errors.ErrUnsupported }

// openNew makes a file that was not there.
func openNew(name string, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func openHere(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// state is what a file has that is not to change when others take its place.
type state struct {
	perm  fs.FileMode
	links uint64
}

func stateOf(info fs.FileInfo) *state { return &state{perm: info.Mode().Perm(), links: 1} }

func (s *state) give(temp string) bool {
	os.Chmod(temp, s.perm)
	return true
}
