package main

import (
	"io"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/sparse"
)

var sparseExport = &command{
	name: "sparse export", args: "", min: 0, max: 0,
	summary: "Writes a model of few kernels as a function in C or Go.",
	about: `
The file needs nothing else, but math.h in C. The function takes an array with a number for
each column, and returns the number or the class that the model predicts.

Example:

  learn sparse export --model my.model --language c --name room > room.c`,
	setup: func(fs *flags.Set) func(*call) error {
		name := fs.String("model", "", "File with the model; needed")
		language := fs.Enum("language", "c", []string{"c", "go"}, "Language to write in")
		function := fs.String("name", "predict", "Name of the function")
		to := fs.String("output", "", "File for the function; standard output when not given")
		return func(c *call) error {
			if err := apart(places("the model", *name), places("the output", *to)); err != nil {
				return err
			}
			m, _, err := load(c, *name, "sparse train", sparse.Read)
			if err != nil {
				return err
			}
			return c.Output(*to, func(w io.Writer) error { return m.WriteSource(w, sparse.Language(*language), *function) })
		}
	},
}
