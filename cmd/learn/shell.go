package main

import (
	"io"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/shell"
)

var completion = &command{name: "completion", args: "bash|zsh|fish", min: 1, max: 1,
	summary: "Prints a script that completes commands and flags in a shell.", about: `
Example:

  source <(learn completion bash)
  learn completion fish > ~/.config/fish/completions/learn.fish`,
	setup: func(fs *flags.Set) func(*call) error {
		return func(c *call) error {
			return c.Output("", func(w io.Writer) error { return program().Completion(w, c.args[0]) })
		}
	}}

var man = &command{name: "man", max: 0,
	summary: "Prints the manual page: all commands and flags.", about: `
Example:

  learn man > /usr/local/share/man/man1/learn.1
  learn man | man -l -`,
	setup: func(fs *flags.Set) func(*call) error {
		return func(c *call) error {
			return c.Output("", func(w io.Writer) error { return program().Man(w, cli.Version()) })
		}
	}}

// program describes this program to shells.
func program() *shell.Program {
	p := &shell.Program{Name: "learn", Summary: programSummary, About: overviewUsage,
		Status: "0, 1 for any error or an interrupt, and 141 where the reader of standard output closed the pipe.",
		Extra:  []string{"flagfile", "undefok", "help", "version"}}
	for _, c := range commands {
		fs := newFlags()
		c.setup(fs)
		one := shell.Command{Words: strings.Fields(c.name), Args: c.args, Summary: c.summary, About: c.about,
			Flags: fs.Flags()}
		if c.name == "completion" {
			one.Values = shell.Shells
		}
		p.Commands = append(p.Commands, one)
	}
	return p
}
