package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SameFile reports whether two names lead to one regular file, or to the place where one would
// appear: links and other spellings count. Standard streams and devices are never the same.
func SameFile(a, b string) bool {
	if IsStandard(a) || IsStandard(b) {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return infoA.Mode().IsRegular() && os.SameFile(infoA, infoB)
	}
	return errA != nil && errB != nil && target(a) == target(b)
}

// target is where a file that is not there yet would appear, as far as that is known.
func target(name string) string {
	for range 40 { // links that lead nowhere
		info, err := os.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			break
		}
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Join(dir, base)
}

// Place is a file that a command reads or writes, with its role: "the model".
type Place struct{ What, Name string }

// Apart returns an error when an output would overwrite an input or another output. Call it before
// any work: a mistyped --model could otherwise destroy the training data. Files are compared as the
// system has them, so that links and other spellings count. Standard streams and devices are never
// the same.
func Apart(inputs, outputs []Place) error {
	for i, out := range outputs {
		for _, in := range inputs {
			if SameFile(in.Name, out.Name) {
				return fmt.Errorf("%s %s would overwrite %s %s: name another file", out.What, out.Name, in.What, in.Name)
			}
		}
		for _, other := range outputs[:i] {
			if SameFile(other.Name, out.Name) {
				return fmt.Errorf("%s and %s are the same file, %s: name another", other.What, out.What, out.Name)
			}
		}
	}
	return nil
}
