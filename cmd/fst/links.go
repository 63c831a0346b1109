package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/shell"
)

var _ = offer(&tool{name: "links", args: "DIR", min: 1, max: 1,
	own: true, without: noLimits,
	summary: "Links this program under the names of OpenFst's tools.", about: `
Scripts that call fstcompose and other tools then run unchanged with DIR first in PATH. Existing
links to this program stay. Other files of these names stay too, and are an error after all other
links are made, unless --force. DIR is created if it does not exist.

  fst links /usr/local/bin

Time O(tools).`,
	setup: func(fs *flags.Set) func(*call) error {
		force := fs.Bool("force", false, "Replace files that have one of the names")
		return func(c *call) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if real, err := filepath.EvalSymlinks(self); err == nil {
				self = real
			}
			dir := c.args[0]
			if err := os.MkdirAll(dir, 0o777); err != nil { // no error where it is there
				return err
			}
			if info, err := os.Stat(dir); err != nil {
				return err
			} else if !info.IsDir() {
				return fmt.Errorf("%s: not a directory", dir)
			}
			var taken []string
			for _, t := range linked() {
				link := filepath.Join(dir, t.prog())
				if info, err := os.Lstat(link); err == nil {
					if to, err := os.Readlink(link); err == nil && to == self {
						continue
					}
					if !*force || info.IsDir() {
						taken = append(taken, link)
						continue
					}
				}
				// Made aside and renamed: no moment without the name.
				aside := filepath.Join(dir, fmt.Sprintf(".%s.%d", t.prog(), os.Getpid()))
				if err := os.Symlink(self, aside); err != nil {
					return err
				}
				if err := os.Rename(aside, link); err != nil {
					os.Remove(aside)
					return err
				}
			}
			if len(taken) > 0 {
				return fmt.Errorf("%d files are there already, and stay: %s (--force replaces files, but no directories)",
					len(taken), strings.Join(taken, ", "))
			}
			return nil
		}
	}})

// linked returns the tools that OpenFst has too.
func linked() []*tool {
	var out []*tool
	for _, t := range tools {
		if !t.own {
			out = append(out, t)
		}
	}
	return out
}

var _ = offer(&tool{name: "completion", args: "bash|zsh|fish", min: 1, max: 1,
	own: true, without: noLimits,
	summary: "Prints a script that completes tools and flags in a shell.", about: `
  source <(fst completion bash)
  fst completion fish > ~/.config/fish/completions/fst.fish

Time O(tools · flags).`,
	setup: func(fs *flags.Set) func(*call) error {
		return func(c *call) error {
			return c.Output("", func(w io.Writer) error { return c.program().Completion(w, c.args[0]) })
		}
	}})

var _ = offer(&tool{name: "man", max: 0,
	own: true, without: noLimits,
	summary: "Prints the manual page: all tools and flags.", about: `
  fst man > /usr/local/share/man/man1/fst.1
  fst man | man -l -

Time O(tools · flags).`,
	setup: func(fs *flags.Set) func(*call) error {
		return func(c *call) error {
			return c.Output("", func(w io.Writer) error { return c.program().Man(w, cli.Version()) })
		}
	}})

// program describes this program to shells.
func (c *call) program() *shell.Program {
	p := &shell.Program{Name: "fst", Summary: "Weighted finite-state transducers, and exact gradients of " +
		"losses over them.",
		About: overviewUsage,
		Status: "0, 1 for any error, 2 where a comparison found a difference, and 141 where the reader of " +
			"standard output closed the pipe.",
		Extra: []string{"flagfile", "undefok", "help", "helpshort", "version"}}
	for _, t := range tools {
		x := t.newCall(c.Streams)
		t.setup(x.flags)
		one := shell.Command{Words: []string{t.name}, Args: t.args, Summary: t.summary, About: t.about}
		if t.name == "completion" {
			one.Values = shell.Shells
		}
		for _, f := range x.flags.Flags() {
			if !f.Library {
				one.Flags = append(one.Flags, f)
			} else if t.name == "print" { // which takes all that any tool takes
				p.Library = append(p.Library, f)
			}
		}
		p.Commands = append(p.Commands, one)
	}
	for _, t := range linked() {
		p.Own = append(p.Own, t.prog())
	}
	return p
}
