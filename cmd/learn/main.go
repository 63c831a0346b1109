package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
)

func main() {
	ctx := cli.Interruptible()
	std := cli.Standard()
	std.End("learn", execute(ctx, os.Args[1:], std))
}

// command is one thing that the program does.
type command struct {
	name     string // "sequence train"
	args     string // "train.conll ..."
	min, max int    // number of arguments; max < 0 is any
	summary  string // one line
	about    string // what it does, formats, an example
	// setup defines the command's flags and returns what runs with their values.
	setup func(*flags.Set) func(*call) error
}

// call is one invocation of a command.
type call struct {
	ctx   context.Context // cancelled by an interrupt
	prog  string          // "learn sequence train"
	flags *flags.Set
	args  []string
	cli.Streams
}

// commands are in the order of the overview.
var commands []*command

// In init, since two commands list them.
func init() {
	commands = slices.Concat([]*command{
		sequenceTrain, sequencePredict, sequenceEval, sequenceCompare, sequenceExplain, active,
		g2pTrain, g2pPredict, g2pEval, g2pCV, g2pExplain, g2pSplit, g2pExport,
	}, tableCommands(), federatedCommands(), trackingCommands(), structuredCommands(), transduceCommands(),
		boostCommands(),
		multiCommands(), almoCommands(), []*command{
			sparseExport,
			experimentHomologs, experimentSampled, experimentTable31, experimentTable41, experimentTable51,
			experimentTable52,
			experimentObjectives, experimentSKPCA, experimentRobust, experimentCompletion, experimentRanking,
			experimentStrings, experimentTransduce, experimentSparse, experimentCheap, experimentTracking,
			experimentFederated,
			experimentOneRound, experimentResilient, experimentG2PNetworks,
			infoCommand, completion, man,
		})
}

// execute runs a command line and returns the exit status: 0, or 1 for any error.
func execute(ctx context.Context, words []string, std cli.Streams) int {
	if len(words) == 0 {
		overview(std.Out)
		return 1
	}
	switch words[0] {
	case "help", "--help", "-help", "-h":
		if len(words) < 2 {
			overview(std.Out)
			return 0
		}
		if len(words) == 2 && group(words[1]) != nil {
			groupHelp(std.Out, words[1])
			return 0
		}
		c, _, err := find(words[1:])
		if err != nil {
			return std.Fail("learn", err)
		}
		c.help(std.Out, false)
		return 0
	case "version", "--version", "-version":
		fmt.Fprintln(std.Out, "learn", cli.Version())
		return 0
	}
	if len(words) == 2 && group(words[0]) != nil && isHelp(words[1]) {
		groupHelp(std.Out, words[0])
		return 0
	}
	c, rest, err := find(words)
	if err != nil {
		return std.Fail("learn", err)
	}
	return c.run(ctx, rest, std)
}

// find returns the command that the first words name, and the words after them. Its errors say what
// may be meant.
func find(words []string) (*command, []string, error) {
	if strings.HasPrefix(words[0], "-") {
		return nil, nil, fmt.Errorf("there is no command %q: flags go behind the group and the verb, as in "+
			"`learn g2p train %s ...`; `learn help` lists them", words[0], words[0])
	}
	for _, c := range commands {
		if name := strings.Fields(c.name); len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return c, words[len(name):], nil
		}
	}
	var names, groups, verbs []string // names of all, groups of all, verbs of this group
	for _, c := range commands {
		group, verb, _ := strings.Cut(c.name, " ")
		names = append(names, c.name)
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		if group == words[0] {
			verbs = append(verbs, verb)
		}
	}
	if len(verbs) > 0 {
		which := fmt.Sprintf("%s needs one of %s after it; `learn help %s` tells what they do", words[0],
			strings.Join(verbs, ", "), words[0])
		if len(words) == 1 || strings.HasPrefix(words[1], "-") {
			return nil, nil, errors.New(which)
		}
		if near := verbWords.Suggest(flags.Underscores(words[1]), verbs); near != "" {
			return nil, nil, fmt.Errorf("there is no command \"%s %s\" (did you mean %s %s?); %s", words[0], words[1],
				words[0], near, which)
		}
		return nil, nil, fmt.Errorf("there is no command \"%s %s\"; %s", words[0], words[1], which)
	}
	word := flags.Underscores(strings.ToLower(words[0]))
	var of []string // groups that have the word for a verb
	for _, g := range groups {
		if slices.Contains(names, g+" "+word) {
			of = append(of, g)
		}
	}
	switch near := groupWords.Suggest(word, groups); {
	case len(of) > 0:
		return nil, nil, fmt.Errorf("%s stands behind one of %s, as in `learn %s %s`; `learn help` lists all", word,
			strings.Join(of, ", "), of[0], word)
	case near != "":
		return nil, nil, fmt.Errorf("there is no command %q (did you mean %s?); `learn help` lists them",
			words[0], near)
	}
	if near := flags.Nearest(strings.ReplaceAll(word, "_", " "), names); near != "" {
		return nil, nil, fmt.Errorf("there is no command %q (did you mean %s?); `learn help` lists them",
			words[0], near)
	}
	return nil, nil, fmt.Errorf("there is no command %q; `learn help` lists them", words[0])
}

// group returns the commands whose name begins with a word.
func group(name string) []*command {
	var out []*command
	for _, c := range commands {
		if g, verb, _ := strings.Cut(c.name, " "); g == name && verb != "" {
			out = append(out, c)
		}
	}
	return out
}

func isHelp(w string) bool { return w == "--help" || w == "-help" || w == "-h" || isHelpAll(w) }

// isHelpAll reports whether a word asks for all flags.
func isHelpAll(w string) bool {
	return strings.ReplaceAll(strings.TrimLeft(w, "-"), "_", "-") == "help-all" && strings.HasPrefix(w, "-")
}

func groupHelp(w io.Writer, name string) {
	fmt.Fprintf(w, "  Usage: learn %s VERB [flags] [arguments]\n\n`learn help %s VERB` tells more, with an "+
		"example.\n\n", name, name)
	for _, c := range group(name) {
		fmt.Fprintf(w, "  %-22s %s\n", c.name, c.summary)
	}
}

func (c *command) prog() string { return "learn " + c.name }

func (c *command) run(ctx context.Context, words []string, std cli.Streams) int {
	end := slices.Index(words, "--")
	if end < 0 {
		end = len(words)
	}
	for _, w := range words[:end] {
		if isHelp(w) {
			c.help(std.Out, isHelpAll(w))
			return 0
		}
		if w == "--version" || w == "-version" {
			fmt.Fprintln(std.Out, c.prog(), cli.Version())
			return 0
		}
	}
	x := &call{ctx: ctx, prog: c.prog(), flags: newFlags(), Streams: std}
	do := c.setup(x.flags)
	args, err := x.flags.Parse(words)
	if err != nil {
		return std.Fail(x.prog, err)
	}
	if x.flags.Given("resume") {
		if err := noCheckpoint(args); err != nil {
			return std.Fail(x.prog, err)
		}
	}
	if len(args) < c.min || c.max >= 0 && len(args) > c.max {
		return std.Fail(x.prog, fmt.Errorf("%d arguments given; usage: %s %s (--help tells more)", len(args),
			c.prog(), c.args))
	}
	x.args = args
	if err := do(x); err != nil {
		var s *stopped
		if !errors.As(err, &s) && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = &stopped{"what was written by then is whole; the rest was not begun"}
			errors.As(err, &s)
		}
		if s != nil {
			fmt.Fprintf(std.Err, "%s: %v\n", x.prog, err)
			return 1
		}
		return std.Fail(x.prog, tables.Advise(x.flags, err)) // a learner may refuse a table as well
	}
	return 0
}

func (c *command) help(w io.Writer, all bool) {
	fmt.Fprintf(w, "%s\n\n  Usage: %s [flags] %s\n\n", c.summary, c.prog(), c.args)
	if c.about != "" {
		fmt.Fprintf(w, "%s\n\n", strings.Trim(c.about, "\n"))
	}
	fs := newFlags()
	c.setup(fs)
	printFlags(w, fs, c.shown(), all)
}

const programSummary = "Sequence models trained on the loss that they are judged by, and boosting."

// overviewUsage is how the program is called.
const overviewUsage = `  learn GROUP VERB [flags] [arguments]

"learn help GROUP VERB" or "learn GROUP VERB --help" explains a command, with an example. Flags may
stand before or after arguments, as -f, --f=value or --f value, and a hyphen in a name is equivalent
to an underscore. "learn --version" prints the version of the module ("devel" if the build knows none)
and the commit it was built from.`

func overview(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n%s\n\n", programSummary,
		strings.ReplaceAll(strings.Replace(overviewUsage, "  learn", "  Usage: learn", 1), `"`, "`"))
	for _, c := range commands {
		fmt.Fprintf(w, "  %-22s %s\n", c.name, c.summary)
	}
}

// arg returns argument i, "" where there is none: standard input or output.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// workersFlag defines --workers.
func workersFlag(fs *flags.Set) func() (int, error) {
	n := fs.Int("workers", 32, 0, "Goroutines; 0 is one a processor. Results do not depend on it")
	return func() (int, error) {
		if *n < 0 || *n > 4096 {
			return 0, fmt.Errorf("flag --workers: %d is not between 0 and 4096", *n)
		}
		if *n == 0 {
			return runtime.GOMAXPROCS(0), nil
		}
		return int(*n), nil
	}
}
