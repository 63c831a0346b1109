package main

import (
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/cli/clitest"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// A reader that closes the pipe ends the program as it ends Unix tools; a full disk is an error for
// any writer.
func TestStandardOutput(t *testing.T) {
	for _, words := range [][]string{{"fst"}, {"fst", "help"}, {"fst", "--version"}, {"fst", "help", "print"},
		{"fst", "print", "--help"}, {"fstprint", "--helpshort"}, {"fst", "completion", "bash"}} {
		clitest.ClosedPipe(t, words...)
		if len(words) > 1 {
			clitest.FullDisk(t, words...)
		}
	}
}

// What is suggested for a word of another program is there.
func TestSynonymsLead(t *testing.T) {
	var names, flagNames []string
	for _, x := range tools {
		names = append(names, x.name)
		c := x.newCall(cli.Streams{})
		x.setup(c.flags)
		for _, f := range c.flags.Flags() {
			flagNames = append(flagNames, f.Name)
		}
	}
	for _, x := range []struct {
		words flags.Synonyms
		names []string
	}{{flagWords, flagNames}, {toolWords, names}} {
		for word, meant := range x.words {
			if word != flags.Underscores(word) {
				t.Errorf("%s is never looked up: hyphens are underscores by then", word)
			}
			for _, m := range meant {
				if !slices.Contains(x.names, m) {
					t.Errorf("%s leads to %s, which nothing has", word, m)
				}
			}
		}
	}
}
