package main

import (
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// place is a file that a command reads or writes, with what it is to the command.
type place struct{ what, name string }

// places are files of one use.
func places(what string, names ...string) []place {
	var out []place
	for _, n := range names {
		out = append(out, place{what, n})
	}
	return out
}

// apart returns an error when an output would overwrite an input or another output:
// asked before any work is done, since a mistyped --model may otherwise cost the data
// that the model was trained on. Files are compared as the system has them, so that
// links and other spellings count. Standard streams and devices are never the same.
func apart(inputs, outputs []place) error {
	for i, out := range outputs {
		for _, in := range inputs {
			if cli.SameFile(in.name, out.name) {
				return fmt.Errorf("%s %s would overwrite %s %s: name another file", out.what, out.name, in.what, in.name)
			}
		}
		for _, other := range outputs[:i] {
			if cli.SameFile(other.name, out.name) {
				return fmt.Errorf("%s and %s are the same file, %s: name another", other.what, out.what, out.name)
			}
		}
	}
	return nil
}

// idle returns an error if one of the flags was given: here it would do nothing, and
// who gave it expects something.
func (c *call) idle(why string, names ...string) error {
	for _, n := range names {
		if c.flags.Given(n) {
			return fmt.Errorf("flag --%s has no effect: %s", n, why)
		}
	}
	return nil
}
