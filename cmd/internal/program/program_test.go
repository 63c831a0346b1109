package program

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

func TestExecute(t *testing.T) {
	p := &Program{Name: "prog", Summary: "Does things.", Args: "[things]", Library: "all flags",
		Commands: func() []*Command {
			return []*Command{{Name: "thing make", Args: "name", Min: 1, Max: 1, Summary: "Makes a thing.",
				About: "It is made at once.", Setup: func(fs *flags.Set) func(*Call) error {
					size := fs.Int("size", 32, 3, "How large")
					return func(c *Call) error {
						switch c.Args[0] {
						case "wrong":
							return errors.New("it is wrong")
						case "long":
							return &Stopped{"nothing was made"}
						}
						_, err := c.Out.Write([]byte(strings.Repeat(c.Args[0], int(*size)) + c.Prog))
						return err
					}
				}}}
		}}
	for _, x := range []struct {
		words     string
		status    int
		out, errs string
	}{
		{"", 1, "thing make  Makes a thing.", ""},
		{"--help", 0, "Usage: prog COMMAND [flags] [things]", ""},
		{"help", 0, "Does things.", ""},
		{"help thing make", 0, "It is made at once.", ""},
		{"thing make --help", 0, "--help_all lists all flags, too.", ""},
		{"thing make x --help_all", 0, "--size", ""},
		{"version", 0, "prog ", ""},
		{"thing make x --size=2", 0, "xxprog thing make", ""},
		{"thing make", 1, "", "0 arguments given; usage: prog thing make name"},
		{"thing make x y", 1, "", "2 arguments given"},
		{"thing make x --colour=2", 1, "", "colour"},
		{"thing make wrong", 1, "", "ERROR: prog thing make: it is wrong"},
		{"thing make long", 1, "", "prog thing make: interrupted: nothing was made"},
		{"thing break x", 1, "", "there is no command \"thing break\"; `prog help` lists them"},
		{"thing", 1, "", "there is no command \"thing\""},
	} {
		var out, errs bytes.Buffer
		words := strings.Fields(x.words)
		status := p.Execute(context.Background(), words, cli.Streams{Out: &out, Err: &errs})
		if status != x.status || !strings.Contains(out.String(), x.out) || !strings.Contains(errs.String(),
			x.errs) ||
			(x.errs == "") != (errs.Len() == 0) {
			t.Errorf("%q: status %d, %q, %q", x.words, status, out.String(), errs.String())
		}
	}
}
