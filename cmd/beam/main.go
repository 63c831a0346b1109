package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx" // runners and file systems

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/program"
)

func main() {
	if slices.ContainsFunc(os.Args[1:], isWorkerFlag) {
		flag.Parse()
		beam.Init() // does not return: a runner started this process as a worker
	}
	tool.Main()
}

// isWorkerFlag reports whether a word is what runners start workers with.
func isWorkerFlag(w string) bool { return w == "--worker" || strings.HasPrefix(w, "--worker=") }

var tool = &program.Program{
	Name: "beam", Summary: "Learners on corpora larger than one machine, by Apache Beam.", Args: "[shards]",
	Library: "the flags of Beam and its runners", Commands: commands,
}

type (
	command = program.Command
	call    = program.Call
	stopped = program.Stopped
)

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
		trainer("nn", "networks, by steps of all rows", 200, 1e-6, `
Tables are as those of linear. The model is read by `+"`learn resilient`"+`.

Example:

  beam nn train --data "part-*.csv" --target class --hidden 32 --model my.model`),
		worker,
	}
}

// trainer is the command that trains a learner.
func trainer(name, what string, iterations int64, relative float64, about string) *command {
	return &command{
		Name: name + " train", Args: "[shard ...]", Min: 0, Max: -1,
		Summary: "Trains " + what + " on a corpus in shards.",
		About:   about,
		Setup: func(fs *flags.Set) func(*call) error {
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
	Name: "worker", Args: "", Min: 0, Max: 0,
	Summary: "Serves runners that start their workers in a process that is there.",
	About: `
A runner on this machine reaches it with --environment_type EXTERNAL --environment_config
localhost:50000. It stays from pass to pass, and so do the shards that it has opened: runners that
start new workers for every pass have them read all shards anew.

Example:

  beam worker --port 50000`,
	Setup: func(fs *flags.Set) func(*call) error {
		port := fs.Int("port", 32, 50000, "Port of this machine to listen on; 0 is any that is free")
		return func(c *call) error {
			start()
			s, err := extworker.StartLoopback(c.Ctx, int(*port))
			if err != nil {
				return fmt.Errorf("flag --port: %w", err)
			}
			fmt.Fprintf(c.Err, "listening on %s\n", s.EnvironmentConfig(c.Ctx))
			<-c.Ctx.Done()
			return s.Stop(context.WithoutCancel(c.Ctx))
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
