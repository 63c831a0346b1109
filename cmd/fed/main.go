// Command fed runs federated learning over a network, with mutual TLS.
//
//	fed certs init|request|issue|renew|revoke|local   a small certificate authority
//	fed serve run.json --model my.model               the server of a configuration
//	fed join run.json --as anna                       an agent
//	fed errors                                        the numbers of errors, and how to mend them
//
// The configuration is that of `learn federated simulate`, and so is the model, bit for bit.
// From nothing to a federated model, on one machine:
//
//	learn federated config data.csv --agent user --domain group --target class --output run.json
//	fed certs local run.json
//	fed join run.json --all & fed serve run.json --model my.model --journal run.journal
//
// # Who may do what
//
// Server and agents show each other certificates of one authority. All others are refused.
// An agent's name and domain are those of its certificate, so that it cannot speak for another
// one. Keys are made where they are used and never leave there: the authority signs requests.
//
//	fed certs init --authority ca                                      at the authority
//	fed certs request anna --domain school --certificates certs       at the agent: a key and a request
//	fed certs issue certs/anna.csr --authority ca --domain school      at the authority
//
// # What a run survives
//
// Agents may be late, leave, crash and come back, answer twice or for an old round, or send
// nonsense. An exchange ends when all have answered, or at the deadline with the quorum that the
// configuration requires. The journal says who was missing and why. A server that is killed at any
// moment continues from its journal, to the same model.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/federated"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	std := cli.Standard()
	std.End("fed", execute(ctx, os.Args[1:], std))
}

// command is one thing that the program does.
type command struct {
	name     string // "certs init"
	args     string
	min, max int
	summary  string
	about    string
	setup    func(*flags.Set) func(*call) error
}

// call is one invocation.
type call struct {
	ctx  context.Context
	args []string
	cli.Streams
}

func commands() []*command {
	return []*command{certsInit, certsRequest, certsIssue, certsRenew, certsRevoke, certsLocal, serve, join,
		listErrors}
}

func execute(ctx context.Context, words []string, std cli.Streams) int {
	if len(words) > 0 && words[0] == "help" {
		words = append(words[1:], "--help")
	}
	if len(words) == 0 || len(words) == 1 && isHelp(words[0]) {
		overview(std.Out)
		return map[bool]int{true: 1}[len(words) == 0]
	}
	if words[0] == "--version" || words[0] == "version" {
		fmt.Fprintln(std.Out, "fed", cli.Version())
		return 0
	}
	for _, c := range commands() {
		n := len(strings.Fields(c.name))
		if len(words) < n || strings.Join(words[:n], " ") != c.name {
			continue
		}
		fs := flags.New()
		do := c.setup(fs)
		prog := "fed " + c.name
		for _, w := range words[n:] {
			if isHelp(w) {
				fmt.Fprintf(std.Out, "%s\n\n  Usage: %s [flags] %s\n\n%s\n\n", c.summary, prog, c.args,
					strings.Trim(c.about, "\n"))
				fs.PrintHelp(std.Out, false)
				return 0
			}
		}
		args, err := fs.Parse(words[n:])
		if err == nil && (len(args) < c.min || c.max >= 0 && len(args) > c.max) {
			err = fmt.Errorf("%d arguments given; usage: %s %s (--help tells more)", len(args), prog, c.args)
		}
		if err == nil {
			err = do(&call{ctx, args, std})
		}
		if err != nil {
			return std.Fail(prog, err)
		}
		return 0
	}
	return std.Fail("fed", fmt.Errorf("there is no command %q; `fed help` lists them",
		strings.Join(words[:min(2, len(words))], " ")))
}

func isHelp(w string) bool { return w == "--help" || w == "-h" || w == "-help" }

func overview(w io.Writer) {
	fmt.Fprint(w, "Federated learning over mutual TLS.\n\n  Usage: fed COMMAND [flags] [arguments]\n\n")
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(t, "  %s\t%s\n", c.name, c.summary)
	}
	t.Flush()
}

var listErrors = &command{
	name: "errors", args: "", min: 0, max: 0,
	summary: "Lists the numbers of errors, and how to mend them.",
	setup: func(*flags.Set) func(*call) error {
		return func(c *call) error {
			for _, k := range federated.Codes() {
				fmt.Fprintf(c.Out, "%v  %s\n", k, k.Mend())
			}
			return nil
		}
	},
}
