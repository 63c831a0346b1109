// Package program is the frame of a command with a handful of verbs, such as beam and fed: it finds
// the verb, parses its flags, writes help, and turns errors into an exit status.
//
//	var beam = &program.Program{Name: "beam", Summary: "Learners on Beam.", Commands: commands}
//
//	func main() { beam.Main() }
//
// A Command is one verb, a Call one invocation. Execute is Main without the process, for tests.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// Program is a command.
type Program struct {
	Name     string
	Summary  string // a sentence
	Args     string // what follows the flags in the usage, such as "[shards]"
	Library  string // what --help_all lists besides, such as "the flags of Beam"; "" is nothing
	Commands func() []*Command
}

// Command is one thing that a program does.
type Command struct {
	Name     string // one word or more, such as "g2p train"
	Args     string
	Min, Max int // number of arguments; Max < 0 is any
	Summary  string
	About    string
	// Setup defines the flags, and returns what runs with their values.
	Setup func(*flags.Set) func(*Call) error
}

// Call is one invocation of a command.
type Call struct {
	Ctx  context.Context // cancelled by an interrupt
	Prog string          // "beam g2p train"
	Args []string
	cli.Streams
}

// Stopped is the error of a run that an interrupt ended in order. It is reported without the mark
// of an error.
type Stopped struct{ Advice string }

func (s *Stopped) Error() string { return "interrupted: " + s.Advice }

// Main runs the process' command line, and ends the process.
func (p *Program) Main() {
	ctx := cli.Interruptible()
	std := cli.Standard()
	std.End(p.Name, p.Execute(ctx, os.Args[1:], std))
}

// Execute runs a command line, and returns the exit status: 0, or 1 for any error.
func (p *Program) Execute(ctx context.Context, words []string, std cli.Streams) int {
	if len(words) > 0 && words[0] == "help" {
		words = append(slices.Clone(words[1:]), "--help")
	}
	switch {
	case len(words) == 0:
		p.overview(std.Out)
		return 1
	case len(words) == 1 && isHelp(words[0]):
		p.overview(std.Out)
		return 0
	case words[0] == "--version" || words[0] == "version":
		fmt.Fprintln(std.Out, p.Name, cli.Version())
		return 0
	}
	for _, c := range p.Commands() {
		if n := len(strings.Fields(c.Name)); len(words) >= n && strings.Join(words[:n], " ") == c.Name {
			return p.run(ctx, c, words[n:], std)
		}
	}
	return std.Fail(p.Name, fmt.Errorf("there is no command %q; `%s help` lists them",
		strings.Join(words[:min(2, len(words))], " "), p.Name))
}

// run runs a command with the words behind its name.
func (p *Program) run(ctx context.Context, c *Command, words []string, std cli.Streams) int {
	fs := flags.New()
	do := c.Setup(fs)
	prog := p.Name + " " + c.Name
	for _, w := range words {
		if all := isHelpAll(w); all || isHelp(w) {
			fmt.Fprintf(std.Out, "%s\n\n  Usage: %s [flags] %s\n\n%s\n\n", c.Summary, prog, c.Args,
				strings.Trim(c.About, "\n"))
			fs.PrintHelp(std.Out, all)
			if !all && p.Library != "" {
				fmt.Fprintf(std.Out, "\n--help_all lists %s, too.\n", p.Library)
			}
			return 0
		}
	}
	args, err := fs.Parse(words)
	if err == nil && (len(args) < c.Min || c.Max >= 0 && len(args) > c.Max) {
		err = fmt.Errorf("%d arguments given; usage: %s %s (--help tells more)", len(args), prog, c.Args)
	}
	if err == nil {
		err = do(&Call{ctx, prog, args, std})
	}
	var stopped *Stopped
	switch {
	case errors.As(err, &stopped):
		fmt.Fprintf(std.Err, "%s: %v\n", prog, err)
		return 1
	case err != nil:
		return std.Fail(prog, err)
	}
	return 0
}

func isHelp(w string) bool { return w == "--help" || w == "-h" || w == "-help" }

func isHelpAll(w string) bool { return w == "--help-all" || w == "--help_all" }

func (p *Program) overview(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n  Usage: %s COMMAND [flags] %s\n\n", p.Summary, p.Name, p.Args)
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, c := range p.Commands() {
		fmt.Fprintf(t, "  %s\t%s\n", c.Name, c.Summary)
	}
	t.Flush()
}
