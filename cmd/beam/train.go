package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/learn/run"
)

// training holds the flags of a run, beside those of the learner.
type training struct {
	data, model, checkpoint, csv, work *string
	runner                             *string
	resume, here                       *bool
	every, iterations, workers         *int64
	retries, keep                      *int64
	relative                           *float64
	setBeam                            func() error
}

func (t *training) define(fs *flags.Set, iterations int64, relative float64) {
	t.data = fs.String("data", "", "Shards of the corpus: files, with * and ? for many, separated by commas; "+
		"local, gs:// or s3://. Arguments are shards, too. Their order is that of the sum")
	t.model = fs.String("model", "", "File for the model; needed")
	t.runner = fs.String("runner", "prism", "Beam runner: prism is in this process unless --endpoint names "+
		"another; or universal, flink, spark, dataflow")
	t.here = fs.Bool("here", false, "No Beam: the same sums in this process, to the same bits")
	t.work = fs.String("work", "", "Folder that driver and workers see, for the plan and what passes between "+
		"them; needed where workers are on other machines. A run makes a folder of its own in it")
	t.workers = fs.Int("workers", 32, 0, "Goroutines for a shard; 0 is one a processor. Results do not "+
		"depend on it")
	t.retries = fs.Int("retries", 3, 3, "How often a pass that the runner failed is made again")
	t.keep = fs.Bytes("keep", 0, "Text of shards that a worker keeps open from pass to pass; 0 is all. What "+
		"exceeds it is read again in every pass")
	t.checkpoint = fs.String("checkpoint", "", "File for the optimiser's state, written while it runs. "+
		"Without it, the state is written when the run is interrupted, to the model's name with .checkpoint")
	t.every = fs.Int("checkpoint_every", 32, 10, "Iterations between checkpoints")
	t.resume = fs.Bool("resume", false, "Go on from the checkpoint; shards and flags of the learner must be "+
		"as they were")
	t.csv = fs.String("csv", "", "File for the history of the run: a line for each iteration")
	t.iterations = fs.Int("iterations", 32, iterations, "Most iterations")
	t.relative = fs.Float("stop", relative, "Stop when the objective fell by at most this fraction over five "+
		"iterations")
}

// beamFlags lets the flags of Beam's own packages through, but for those of this program and of
// workers.
//
// They are set, by the function returned, when all else was found in order.
func beamFlags(fs *flags.Set) func() error {
	var given [][2]string
	flag.CommandLine.VisitAll(func(f *flag.Flag) {
		taken := slices.ContainsFunc(fs.Flags(), func(own *flags.Flag) bool { return own.Name == f.Name })
		if taken || slices.Contains(workerFlags, f.Name) || strings.HasPrefix(f.Name, "test.") {
			return
		}
		kind := "string"
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			kind = "bool"
		}
		fs.Func(f.Name, kind, f.DefValue, f.Usage, nil, func(text string) error {
			given = append(given, [2]string{f.Name, text})
			return nil
		})
		fs.Library(f.Name)
	})
	return func() error {
		for _, f := range given {
			if err := flag.Set(f[0], f[1]); err != nil {
				return fmt.Errorf("flag --%s: %w", f[0], err)
			}
			if f[0] != "endpoint" {
				continue
			}
			if err := reachable(f[1]); err != nil {
				return fmt.Errorf("flag --endpoint: %w", err)
			}
		}
		return nil
	}
}

// workerFlags are given by runners to the workers that they start.
var workerFlags = []string{"worker", "id", "logging_endpoint", "control_endpoint", "semi_persist_dir",
	"options"}

// learnerFlags are the flags of a learner that were given, as words.
func learnerFlags(name string, given *flags.Set) []string {
	own := flags.New()
	tasks[name](settings{}).define(own)
	var words []string
	for _, f := range own.Flags() {
		if given.Given(f.Name) {
			words = append(words, "--"+f.Name+"="+given.Value(f.Name))
		}
	}
	return words
}

// remote reports whether workers are elsewhere, where this machine's temporary folder is not.
func (t *training) remote(fs *flags.Set) bool {
	loopback := strings.EqualFold(fs.Value("environment_type"), "loopback") ||
		!fs.Given("environment_type") && *t.runner == "prism" && !fs.Given("endpoint")
	return !loopback && !*t.here
}

// run trains a learner.
func (t *training) run(c *call, name string, fs *flags.Set, own task) error {
	patterns := slices.Clone(c.Args)
	for p := range strings.SplitSeq(*t.data, ",") {
		if p = strings.TrimSpace(p); p != "" {
			patterns = append(patterns, p)
		}
	}
	switch {
	case len(patterns) == 0:
		return errors.New("flag --data is needed: the shards of the corpus")
	case *t.model == "" || cli.IsStandard(*t.model):
		return errors.New("flag --model is needed: the file for the model")
	case *t.iterations < 1 || *t.every < 1:
		return errors.New("flags --iterations and --checkpoint_every must be at least 1")
	case *t.workers < 0 || *t.workers > 4096 || *t.retries < 0 || *t.keep < 0:
		return errors.New("flags --workers (at most 4096), --retries and --keep must not be negative")
	case *t.work == "" && t.remote(fs):
		return errors.New("flag --work is needed: workers elsewhere do not see this machine's temporary folder; " +
			"name one that they see, such as gs://bucket/work or one of a shared disk")
	}
	if x, ok := own.(interface{ check(*flags.Set) error }); ok {
		if err := x.check(fs); err != nil {
			return err
		}
	}
	shards, err := shardsOf(c.Ctx, patterns)
	if err != nil {
		return err
	}
	s := &spec{Run: time.Now().UTC().Format("20060102-150405.000000-") + unique(), Task: name,
		Flags: learnerFlags(name, fs), Text: map[string]string{}, Workers: int(*t.workers), Shards: len(shards),
		Keep: *t.keep}
	path := cmp.Or(*t.checkpoint, *t.model+".checkpoint")
	inputs := []cli.Place{}
	for _, x := range shards {
		inputs = append(inputs, cli.Place{What: "the data", Name: x.Name})
	}
	for _, f := range own.files() {
		file := fs.Value(f)
		inputs = append(inputs, cli.Place{What: "the " + f, Name: file})
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("flag --%s: %w", f, err)
		}
		s.Text[f] = string(b)
	}
	if err := cli.Apart(inputs, []cli.Place{{What: "the model", Name: *t.model},
		{What: "the history", Name: *t.csv}, {What: "the checkpoint", Name: path}}); err != nil {
		return err
	}
	local, err := os.MkdirTemp("", "tropica-beam-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(local)
	if s.Work = local; *t.work != "" {
		s.Work = join(*t.work, s.Run)
		defer remove(context.WithoutCancel(c.Ctx), join(s.Work, "*"))
	}

	var e engine
	driver, err := s.task()
	if err != nil {
		return err
	}
	if *t.here {
		j, err := jobOf(s)
		if err != nil {
			return err
		}
		e = &here{j, shards}
	} else {
		if err := t.setBeam(); err != nil {
			return err
		}
		restore, err := litter(local)
		if err != nil {
			return err
		}
		defer restore()
		start()
		e = &onBeam{spec: s, shards: shards, runner: *t.runner, retries: int(*t.retries),
			warn: func(format string, args ...any) { c.Warn(c.Prog, format, args...) }}
	}
	r := &trainingRun{training: t, call: c, name: name, path: path}
	defer r.abort()
	if err := r.open(); err != nil {
		return err
	}
	bar := progress.Start(c.Err, name)
	defer bar.Stop()
	bar.Set(0, 0, "surveying %d shards", len(shards))
	begin := time.Now()
	round, err := prepare(c.Ctx, driver, s, e)
	if err != nil {
		if c.Ctx.Err() != nil {
			return &stopped{Advice: "nothing was written"}
		}
		return err
	}
	r.surveyed = time.Since(begin)
	plan, err := readFile(c.Ctx, s.planFile(round)) // with the marks of the shards
	if err != nil {
		return err
	}
	sum := sha256.Sum256(plan)
	r.control.Problem = fmt.Sprintf("beam learner=%s shards=%d plan=%s settings=%s", name, len(shards),
		hex.EncodeToString(sum[:8]), strings.Join(s.Flags, ","))
	r.control.Recorder = run.Recorders(append(r.recorders, bar.Training(name, r.control.Stop))...)
	f, err := driver.fit(e.sum(c.Ctx, round, driver.dim()), &r.control)
	bar.Stop()
	switch {
	case err != nil && c.Ctx.Err() != nil:
		return r.interrupted()
	case err != nil:
		return err
	}
	return r.finish(f)
}

// litter has Beam leave its files in a folder: in each pass it makes a file for the binary of
// workers, which it never removes. Workers that are processes there already (EXTERNAL) need no
// binary, and get an empty one in place of this program, which would be sent in each pass. What was
// set before is set again by the function returned.
func litter(folder string) (restore func(), err error) {
	const name = "TMPDIR"
	before, was := os.LookupEnv(name)
	if err := os.Setenv(name, folder); err != nil {
		return nil, err
	}
	binary := *jobopts.WorkerBinary
	if strings.EqualFold(*jobopts.EnvironmentType, "external") && binary == "" {
		*jobopts.WorkerBinary = filepath.Join(folder, "worker")
		err = os.WriteFile(*jobopts.WorkerBinary, nil, 0o600)
	}
	return func() {
		*jobopts.WorkerBinary = binary
		if os.Unsetenv(name); was {
			os.Setenv(name, before)
		}
	}, err
}

// trainingRun is a run's files, and how far it has come.
type trainingRun struct {
	*training
	*call
	name      string
	path      string // of the checkpoint
	control   run.Control
	recorders []run.Recorder
	surveyed  time.Duration

	out, history *output.File
	last         run.Row
	saved        bool
}

// open reads the checkpoint, sets control, and opens the files.
func (r *trainingRun) open() error {
	r.control = run.Control{Ctx: r.Ctx, CheckpointEvery: int(*r.every), Workers: int(*r.training.workers),
		Checkpoint: r.save}
	r.control.Stop = run.Stop{Iterations: int(*r.iterations), Relative: cmp.Or(*r.relative, -1)}
	if *r.resume {
		b, err := os.ReadFile(r.path)
		if err != nil {
			return fmt.Errorf("flag --resume: %w", err)
		}
		if r.control.Resume, err = run.ReadCheckpoint(bytes.NewReader(b)); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	var err error
	if r.out, err = output.Create(*r.model, r.Out); err != nil {
		return err
	}
	r.recorders = append(r.recorders, run.RecorderFunc(func(row run.Row) error { r.last = row; return nil }))
	if *r.csv == "" {
		return nil
	}
	var earlier io.Reader
	if *r.resume {
		if b, err := os.ReadFile(*r.csv); err == nil {
			earlier = bytes.NewReader(b)
		}
	}
	if r.history, err = output.Create(*r.csv, r.Out); err != nil {
		return err
	}
	r.recorders = append(r.recorders, progress.CSV(r.history, earlier))
	return nil
}

func (r *trainingRun) abort() {
	for _, f := range []*output.File{r.out, r.history} {
		if f != nil {
			f.Abort()
		}
	}
}

// save writes a checkpoint: at intervals where one was asked for by name, else when the run is
// interrupted.
func (r *trainingRun) save(k *run.Checkpoint) error {
	if *r.checkpoint == "" && r.Ctx.Err() == nil {
		return nil
	}
	r.saved = true
	return r.Output(r.path, k.Write)
}

// interrupted returns the error of a run that an interrupt ended.
func (r *trainingRun) interrupted() error {
	if r.history != nil && r.last.Evaluations > 0 {
		if err := r.history.Commit(); err != nil {
			return errors.Join(&stopped{Advice: "no model was written"}, err)
		}
	}
	if !r.saved {
		return &stopped{Advice: "no iteration was finished, and nothing written"}
	}
	return &stopped{Advice: fmt.Sprintf("no model was written; the state is in %s. To go on, give the same "+
		"command with --resume", r.path)}
}

// finish writes the model and the report.
func (r *trainingRun) finish(f *fitted) error {
	if err := f.write(r.out); err != nil {
		return err
	}
	if r.history != nil {
		if err := r.history.Commit(); err != nil {
			return err
		}
	}
	if err := r.out.Commit(); err != nil {
		return err
	}
	if *r.checkpoint == "" && *r.resume {
		os.Remove(r.path)
	}
	x := f.result
	fmt.Fprintf(r.Out, "%s: %s; surveyed in %.1f s\n", r.name, f.about, r.surveyed.Seconds())
	fmt.Fprintf(r.Out, "%s: objective %.6g after %d iterations, %d passes, %.1f s (%s)\n", r.name, x.F,
		x.Iterations, x.Evaluations, r.last.Seconds, x.Reason)
	if !x.Converged() {
		fmt.Fprintln(r.Out, "note: not converged; more --iterations would change the model")
	}
	fmt.Fprintf(r.Out, "model: %s\n", *r.model)
	return nil
}
