package main

import (
	"context"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// task is one learner on a corpus in shards. The driver asks shards to look at their data, in
// rounds, until it has a plan: what a shard must know to be opened, such as the numbers of the
// features. Then shards are opened as functions of the weights, and fit minimises their sum.
//
// A task is made anew wherever it is needed, from the flags of the command line.
type task interface {
	// define defines the learner's flags.
	define(fs *flags.Set)
	// files lists the flags that name files of the driver, which workers get as texts.
	files() []string
	// look is what a shard says of itself, given the plan of the round before: nil at first.
	look(ctx context.Context, plan []byte, s *reading) ([]byte, error)
	// plan makes a plan of what all shards said. Unless it is done, another round follows. parts,
	// if not nil, has what only one shard needs.
	plan(ctx context.Context, plan []byte, looks [][]byte) (next []byte, parts [][]byte, done bool, err error)
	// open returns the sum over a shard, without penalties.
	open(ctx context.Context, plan, part []byte, s *reading) (optim.Objective, error)
	// dim is the number of weights, once plan is done.
	dim() int
	// fit minimises the sum over all shards, after plan.
	fit(sum optim.Objective, c *run.Control) (*fitted, error)
}

// fitted is what fit found.
type fitted struct {
	result *optim.Result
	write  func(io.Writer) error // of the model
	about  string                // "8936 sequences, 22 labels"
}

// settings are what a task gets beside its flags.
type settings struct {
	text    map[string]string // of files
	workers int
}

// tasks are the learners. A new one is a line here.
var tasks = map[string]func(settings) task{
	"sequence": func(s settings) task { return &sequenceTask{settings: s} },
	"g2p":      func(s settings) task { return &g2pTask{settings: s} },
	"linear":   func(s settings) task { return &linearTask{tableTask: tableTask{settings: s}} },
	"nn":       func(s settings) task { return &networkTask{tableTask: tableTask{settings: s}} },
}

// spec is a run as workers get it. It is a field of functions that Beam sends, so it stays small.
type spec struct {
	Run     string // different for each run
	Task    string
	Flags   []string // of the learner, as --name=value
	Text    map[string]string
	Workers int
	Work    string // folder of the run
	Shards  int
	Keep    int64 // bytes of text whose shards a worker holds
}

// task makes the task, with its flags parsed.
func (s *spec) task() (task, error) {
	fresh, ok := tasks[s.Task]
	if !ok {
		return nil, fmt.Errorf("there is no learner %q", s.Task)
	}
	t := fresh(settings{s.Text, s.Workers})
	fs := flags.New()
	t.define(fs)
	_, err := fs.Parse(s.Flags)
	return t, err
}

// Names of a run's files.

func (s *spec) planFile(round int) string { return join(s.Work, fmt.Sprintf("plan-%d", round)) }
func (s *spec) partFile(k int) string     { return join(s.Work, fmt.Sprintf("part-%06d", k)) }
func (s *spec) lookFile(round, k int) string {
	return join(s.Work, fmt.Sprintf("look-%d-%06d", round, k))
}
func (s *spec) weightsFile(version int) string {
	return join(s.Work, fmt.Sprintf("weights-%08d", version))
}
func (s *spec) gradientFile(version, k, stripe int) string {
	return join(s.Work, fmt.Sprintf("gradient-%08d-%06d-%04d", version, k, stripe))
}
func (s *spec) sumFile(version, stripe int) string {
	return join(s.Work, fmt.Sprintf("sum-%08d-%04d", version, stripe))
}
