package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/modelfile"
)

var infoCommand = &command{
	name: "info", args: "[file]", min: 0, max: 1,
	summary: "Tells what a file of the learners is: its kind, settings and size.",
	about: `
Prints the kind of the file, the settings and what else training wrote down, its arrays, and the
commands that read it. The checksum is verified. ` + "`fst info`" + ` does the same for such files.

Example:

  learn info ice.model`,
	setup: func(*flags.Set) func(*call) error {
		return func(c *call) error {
			r, shown, err := c.Open(c.arg(0))
			if err != nil {
				return err
			}
			defer r.Close()
			m, err := modelfile.Read(r)
			if errors.Is(err, modelfile.ErrOther) {
				return fmt.Errorf("%s: %w; transducers are for `fst info`", shown, err)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", shown, err)
			}
			return c.Output("", func(w io.Writer) error { return modelfile.Describe(w, m) })
		}
	},
}
