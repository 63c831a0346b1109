package main

import (
	"errors"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

var _ = offer(&tool{name: "serve",
	without: noLimits,
	summary: "Answers calls of the C interface over a pipe, for programs that cannot load the library.", about: `
Requests arrive on standard input and answers go to standard output, both in the binary form of
package calls. Arrays are in a file that both sides map into memory. The Python package starts
this program itself in three cases: in a child of fork, where the library cannot run; where the
library does not load; and on request.

It ends with its input, and so with the program that started it.

  fst serve --stdio

Time of a call, and 10 to 100 microseconds.`,
	setup: func(fs *flags.Set) func(*call) error {
		stdio := fs.Bool("stdio", false, "Serve by standard input and output")
		return func(c *call) error {
			if !*stdio {
				return errors.New("say --stdio: there is no other way to serve")
			}
			// The process ends with its input, so calls that still run are abandoned.
			err := calls.NewServer().Serve(ending{c.In}, c.Out, mapped)
			return err
		}
	}})

// ending ends the process with its input.
type ending struct {
	in interface{ Read([]byte) (int, error) }
}

func (e ending) Read(b []byte) (int, error) {
	n, err := e.in.Read(b)
	if n == 0 && err != nil {
		os.Exit(0)
	}
	return n, err
}
