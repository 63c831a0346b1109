package main

import (
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// place is a file that a command reads or writes, with its role.
type place struct{ what, name string }

// places are files of one use.
func places(what string, names ...string) []place {
	var out []place
	for _, n := range names {
		out = append(out, place{what, n})
	}
	return out
}

// apart returns an error when an output would overwrite an input or another output.
func apart(inputs, outputs []place) error { return cli.Apart(shared(inputs), shared(outputs)) }

// shared is a list as the commands have it in common.
func shared(list []place) []cli.Place {
	var out []cli.Place
	for _, p := range list {
		out = append(out, cli.Place{What: p.what, Name: p.name})
	}
	return out
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
