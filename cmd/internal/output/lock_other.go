//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package output

import (
	"errors"
	"os"
)

const locks = false

func lock(*os.File) (unlock func(), err error) { return nil, errors.ErrUnsupported }

func openHere(string) (*os.File, error) { return nil, errors.ErrUnsupported }
