package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx" // runners and file systems

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

func main() {
	if slices.ContainsFunc(os.Args[1:], func(w string) bool { return strings.HasPrefix(w, "--worker=") || w == "--worker" }) {
		flag.Parse()
		beam.Init() // does not return: a runner started this process as a worker
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	std := cli.Standard()
	std.End("beam", execute(ctx, os.Args[1:], std))
}

// command is one thing that the program does.
type command struct {
	name     string // "g2p train"
	args     string
	min, max int
	summary  string
	about    string
	setup    func(*flags.Set) func(*call) error
}

// call is one invocation.
type call struct {
	ctx  context.Context
	prog string
	args []string
	cli.Streams
}

func commands() []*command {
	return []*command{
		trainer("sequence", "labellers of sequences", 100, 1e-5, `
Sentences are CoNLL columns (a token a line, a blank line after each sentence) or CoNLL-U. All
shards have the same columns. The model is read by `+"`learn sequence`"+`.

Example:

  beam sequence train --data "part-*.conll" --model chunks.model`),
		trainer("g2p", "models from spelling to pronunciation", 1000, 2e-4, `
A line is a word, a tab, and its phones separated by blanks. The driver holds and aligns all
words; the shards share out what is computed on them. The model is read by `+"`learn g2p`"+`.

Example:

  beam g2p train --data "part-*.tsv" --model ice.model`),
		trainer("linear", "logistic and ridge regression", 1000, 1e-9, `
Tables are CSV, TSV or LIBSVM. Every shard has the header, and columns of the same kinds. The model
is read by `+"`learn linear`"+`.

Example:

  beam linear train --data "part-*.csv" --target class --model my.model`),
		trainer("nn", "networks, by L-BFGS on all rows", 200, 1e-6, `
Tables are as those of linear. The model is read by `+"`learn resilient`"+`.

Example:

  beam nn train --data "part-*.csv" --target class --hidden 32 --model my.model`),
		worker,
	}
}

// trainer is the command that trains a learner.
func trainer(name, what string, iterations int64, relative float64, about string) *command {
	return &command{
		name: name + " train", args: "[shard ...]", min: 0, max: -1,
		summary: "Trains " + what + " on a corpus in shards.",
		about:   about,
		setup: func(fs *flags.Set) func(*call) error {
			own := tasks[name](settings{})
			own.define(fs)
			var t training
			t.define(fs, iterations, relative)
			t.setBeam = beamFlags(fs)
			return func(c *call) error { return t.run(c, name, fs, own) }
		},
	}
}

var worker = &command{
	name: "worker", args: "", min: 0, max: 0,
	summary: "Serves runners that start their workers in a process that is there.",
	about: `
A runner on this machine reaches it with --environment_type EXTERNAL --environment_config
localhost:50000. It stays from pass to pass, and so do the shards that it has opened: runners that
start new workers for every pass have them read all shards anew.

Example:

  beam worker --port 50000`,
	setup: func(fs *flags.Set) func(*call) error {
		port := fs.Int("port", 32, 50000, "Port of this machine to listen on")
		return func(c *call) error {
			start()
			s, err := extworker.StartLoopback(c.ctx, int(*port))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Err, "listening on localhost:%d\n", *port)
			<-c.ctx.Done()
			return s.Stop(context.WithoutCancel(c.ctx))
		}
	},
}

// start makes Beam ready, once. Its log is not shown: errors come back from what failed.
var start = sync.OnceFunc(func() {
	beam.Init()
	if os.Getenv("TROPICA_BEAM_LOG") == "" {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		beamlog.SetLogger(silent{})
	}
})

// silent discards what Beam logs.
type silent struct{}

func (silent) Log(context.Context, beamlog.Severity, int, string) {}

func execute(ctx context.Context, words []string, std cli.Streams) int {
	if len(words) > 0 && words[0] == "help" {
		words = append(words[1:], "--help")
	}
	if len(words) == 0 || len(words) == 1 && isHelp(words[0]) {
		overview(std.Out)
		return map[bool]int{true: 1}[len(words) == 0]
	}
	if words[0] == "--version" || words[0] == "version" {
		fmt.Fprintln(std.Out, "beam", cli.Version())
		return 0
	}
	for _, c := range commands() {
		n := len(strings.Fields(c.name))
		if len(words) < n || strings.Join(words[:n], " ") != c.name {
			continue
		}
		fs := flags.New()
		do := c.setup(fs)
		prog := "beam " + c.name
		for _, w := range words[n:] {
			if isHelp(w) || w == "--help-all" || w == "--help_all" {
				fmt.Fprintf(std.Out, "%s\n\n  Usage: %s [flags] %s\n\n%s\n\n", c.summary, prog, c.args, strings.Trim(c.about, "\n"))
				fs.PrintHelp(std.Out, !isHelp(w))
				if isHelp(w) {
					fmt.Fprintln(std.Out, "\n--help_all lists the flags of Beam and its runners, too.")
				}
				return 0
			}
		}
		args, err := fs.Parse(words[n:])
		if err == nil && (len(args) < c.min || c.max >= 0 && len(args) > c.max) {
			err = fmt.Errorf("%d arguments given; usage: %s %s (--help tells more)", len(args), prog, c.args)
		}
		if err == nil {
			err = do(&call{ctx, prog, args, std})
		}
		var s *stopped
		switch {
		case errors.As(err, &s):
			fmt.Fprintf(std.Err, "%s: %v\n", prog, err)
			return 1
		case err != nil:
			return std.Fail(prog, err)
		}
		return 0
	}
	return std.Fail("beam", fmt.Errorf("there is no command %q; `beam help` lists them", strings.Join(words[:min(2, len(words))], " ")))
}

func isHelp(w string) bool { return w == "--help" || w == "-h" || w == "-help" }

func overview(w io.Writer) {
	fmt.Fprint(w, "Learners on corpora larger than one machine, by Apache Beam.\n\n  Usage: beam COMMAND [flags] [shards]\n\n")
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(t, "  %s\t%s\n", c.name, c.summary)
	}
	t.Flush()
}
