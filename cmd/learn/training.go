package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient/network"
	"github.com/tropica-fst/tropica/learn/run"
)

// training holds the flags of every command that fits one model.
type training struct {
	model, checkpoint, csv *string
	resume, json           *bool
	every, iterations      *int64
	relative               *float64
	workers                func() (int, error)
}

// define defines them. Without a relative improvement to stop at there is no flag for one.
func (t *training) define(fs *flags.Set, iterations int, relative float64) {
	t.model = fs.String("model", "", "File for the model; needed")
	t.checkpoint = fs.String("checkpoint", "", "File for the optimiser's state, written while it runs. "+
		"Without it, the state is written when the run is interrupted, to the model's name with .checkpoint. A "+
		"killed run leaves the last state written here, whole, and unfinished files beside its outputs, named "+
		"FILE.tropica0.tmp, which are removed when FILE is written again")
	t.every = fs.Int("checkpoint_every", 32, 10, "Iterations between checkpoints")
	t.resume = fs.Bool("resume", false, "Go on from the checkpoint; the data must be as they were, and all "+
		"flags that say what is learnt and how. Others may differ: outputs, workers, when to stop, and for "+
		"L-BFGS, whose history starts afresh, --memory")
	t.csv = fs.String("csv", "", "File for the history of the run: a line for each iteration. With --resume "+
		"it goes on where the checkpoint was written")
	t.json = fs.Bool("json", false, "Report as JSON")
	t.iterations = fs.Int("iterations", 32, int64(iterations),
		"Most iterations (passes, for stochastic solvers)")
	if t.relative = new(float64); relative != 0 {
		t.relative = fs.Float("stop", relative, "Stop when the objective fell by at most this fraction over "+
			"five iterations")
	}
	if t.workers == nil {
		t.workers = workersFlag(fs)
	}
}

// stopped is the error of a run that an interrupt ended in order.
type stopped struct{ advice string }

func (s *stopped) Error() string { return "interrupted: " + s.advice }

// fitReport is what training reports.
type fitReport struct {
	Model       string         `json:"model"`
	Objective   float64        `json:"objective"`
	GradNorm    float64        `json:"gradient_norm"`
	Iterations  int            `json:"iterations"`
	Evaluations int            `json:"evaluations"`
	Reason      run.Reason     `json:"reason"`
	Converged   bool           `json:"converged"`
	Seconds     float64        `json:"seconds"`
	Note        string         `json:"note,omitempty"`
	First       *stageReport   `json:"first_stage,omitempty"`
	Details     map[string]any `json:"details,omitempty"`
}

// stageReport is the first of two stages, each with an objective.
type stageReport struct {
	Objective   float64    `json:"objective"`
	Iterations  int        `json:"iterations"`
	Evaluations int        `json:"evaluations"`
	Reason      run.Reason `json:"reason"`
}

// fitted is what a learner hands back to training.run.
type fitted struct {
	result  *optim.Result
	write   func(io.Writer) error // of the model
	details map[string]any
	notes   []string // for people, of what the details have for programs
}

// run prepares recorder, checkpoints and files, has fit called with what the
// solver is to be told, and writes the model and the report. inputs are the files that
// fit reads.
func (t *training) run(c *call, name string, inputs []place,
	fit func(workers int, control run.Control) (*fitted, error)) error {
	workers, err := t.check(c)
	if err != nil {
		return err
	}
	r := &trainingRun{training: t, call: c, name: name, path: t.checkpointPath()}
	defer r.abort()
	if err := r.open(inputs); err != nil {
		return err
	}
	bar := progress.Start(c.Err, name)
	r.control.Recorder = run.Recorders(append(r.recorders, bar.Training(name, r.control.Stop))...)
	r.control.Live = bar.Within(name)
	f, err := fit(workers, r.control)
	bar.Stop()
	switch {
	case err != nil && c.ctx.Err() != nil:
		return r.interrupted()
	case err != nil:
		return r.failed(err)
	}
	return r.finish(f)
}

// check refuses flags that contradict each other, and returns the number of workers.
func (t *training) check(c *call) (workers int, err error) {
	if *t.model == "" {
		return 0, errors.New("flag --model is needed: the file for the model")
	}
	if cli.IsStandard(*t.model) && (*t.json || *t.csv == "-") {
		return 0, errors.New("flag --model: standard output cannot hold the model and a report; name a file")
	}
	if *t.iterations < 1 || *t.every < 1 {
		return 0, errors.New("flags --iterations and --checkpoint_every must be at least 1")
	}
	if math.IsInf(*t.relative, 0) {
		return 0, errors.New("flag --stop must be finite")
	}
	if *t.checkpoint == "" {
		if err := c.idle("without --checkpoint, the state is written when the run is interrupted",
			"checkpoint_every"); err != nil {
			return 0, err
		}
	}
	return t.workers()
}

// checkpointPath returns the file for the state; "" is none.
func (t *training) checkpointPath() string {
	if *t.checkpoint == "" && !cli.IsStandard(*t.model) {
		return *t.model + ".checkpoint"
	}
	return *t.checkpoint
}

// trainingRun is a run of training: its files, and how far it has come.
type trainingRun struct {
	*training
	*call
	name      string
	path      string // of the checkpoint
	control   run.Control
	recorders []run.Recorder

	model, history *output.File // history: nil without --csv
	rows           bytes.Buffer // of a history that appears whole
	before         []byte       // the history of the run that goes on

	last     run.Row
	recorded bool    // last is one
	spent    float64 // seconds of the stages before last's, whose clocks are their own
	saved    bool    // a checkpoint was written
	afresh   string  // what a resumed run does not go on with
}

// open reads the checkpoint, sets control, and opens the files.
func (r *trainingRun) open(inputs []place) error {
	outputs := []place{{"the model", *r.training.model}, {"the history", *r.csv}, {"the checkpoint", r.path}}
	if err := apart(inputs, outputs); err != nil {
		return err
	}
	r.control = run.Control{Ctx: r.ctx, CheckpointEvery: int(*r.every)}
	r.control.Stop = run.Stop{Iterations: int(*r.iterations), Relative: *r.relative}
	if r.control.Stop.Relative == 0 {
		r.control.Stop.Relative = -1 // asked for: never
	}
	var err error
	if *r.resume {
		if r.control.Resume, err = readCheckpoint(r.path); err != nil {
			return err
		}
	}
	if r.path != "" {
		r.control.Checkpoint = r.save
	}
	// Both files are opened before hours of work: a name that cannot be written
	// should say so now.
	if r.model, err = output.Create(*r.training.model, r.Out); err != nil {
		return err
	}
	r.recorders = append(r.recorders, run.RecorderFunc(r.note))
	if *r.csv == "" {
		return nil
	}
	return r.openHistory()
}

// note keeps the last row, and the time of the stages before it.
func (r *trainingRun) note(row run.Row) error {
	if r.recorded && row.Stage != r.last.Stage {
		r.spent += r.last.Seconds
	}
	r.last, r.recorded = row, true
	return nil
}

func (r *trainingRun) openHistory() error {
	var err error
	if r.history, err = output.Create(*r.csv, r.Out); err != nil {
		return err
	}
	var w io.Writer = r.history
	var earlier io.Reader
	if r.history.Whole() {
		w = &r.rows
		if *r.resume {
			if r.before, err = os.ReadFile(*r.csv); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("flag --csv: the history to go on with: %w", err)
			}
			earlier = bytes.NewReader(r.before)
		}
	}
	record := progress.CSV(w, earlier)
	r.recorders = append(r.recorders, run.RecorderFunc(func(row run.Row) error {
		if err := record.Record(row); err != nil {
			return fmt.Errorf("flag --csv: %s: %w", *r.csv, err)
		}
		return nil
	}))
	return nil
}

// abort takes away what was not committed.
func (r *trainingRun) abort() {
	for _, f := range []*output.File{r.model, r.history} {
		if f != nil {
			f.Abort()
		}
	}
}

// save writes a checkpoint: at intervals where one was asked for by name, else when the
// run is interrupted.
func (r *trainingRun) save(k *run.Checkpoint) error {
	if *r.checkpoint == "" && r.ctx.Err() == nil {
		return nil
	}
	if r.history != nil && r.history.Whole() { // what is killed later still has the rows that led here
		if err := r.Output(*r.csv,
			func(w io.Writer) error { _, err := w.Write(r.rows.Bytes()); return err }); err != nil {
			return err
		}
	}
	if err := r.Output(r.path, k.Write); err != nil {
		return err
	}
	r.saved = true
	if len(k.Arrays) == 0 {
		r.afresh = " (L-BFGS goes on from the point it had reached, with a new history)"
	}
	return nil
}

// commit makes the history appear.
func (r *trainingRun) commit() error {
	if r.history == nil {
		return nil
	}
	if r.history.Whole() {
		if r.rows.Len() == 0 {
			r.rows.Write(r.before) // the run that was to go on had ended: its history stands
		}
		r.history.Write(r.rows.Bytes()) // Commit has its error
	}
	return r.history.Commit()
}

// interrupted returns the error of a run that an interrupt ended. What was recorded is of
// use, the model of an unfinished run is not.
func (r *trainingRun) interrupted() error {
	if r.last.Evaluations > 0 {
		if err := r.commit(); err != nil {
			return errors.Join(&stopped{"no model was written"}, err)
		}
	}
	if !r.saved && r.last.Iteration > 0 { // behind the last iteration, or with nowhere to keep it
		return &stopped{"no model was written, and no state was kept; --checkpoint FILE keeps it while " +
			"iterations run"}
	}
	if !r.saved {
		return &stopped{"no iteration was finished, and nothing written"}
	}
	return &stopped{fmt.Sprintf("no model was written; the state is in %s. To go on%s, give the same command "+
		"with --resume%s", r.path, r.afresh, r.resumeFlag(r.path))}
}

// failed returns the error of a run without a model. What led to a failure is what one then
// wants to see: the rows stay.
func (r *trainingRun) failed(err error) error {
	if !r.recorded || r.history == nil {
		return err
	}
	whole := r.history.Whole()
	if e := r.commit(); e != nil {
		return errors.Join(err, e)
	}
	if whole {
		err = fmt.Errorf("%w (the history up to there is in %s)", err, *r.csv)
	}
	return err
}

// finish writes the model and the report.
func (r *trainingRun) finish(f *fitted) error {
	result := f.result
	report := fitReport{Model: r.model.Name(), Objective: result.F, GradNorm: result.GradNorm,
		Iterations: result.Iterations, Evaluations: result.Evaluations, Reason: result.Reason,
		Converged: result.Converged(), Seconds: r.spent + r.last.Seconds, Note: result.Note, Details: f.details}
	if first := result.First; first != nil {
		report.First = &stageReport{first.F, first.Iterations, first.Evaluations, first.Reason}
	}
	// No file appears before it is known that its report can be given.
	var encoded bytes.Buffer
	if *r.training.json {
		if err := encodeJSON(&encoded, report); err != nil {
			return r.failed(err)
		}
	}
	if err := f.write(r.model); err != nil {
		return r.failed(err)
	}
	if err := r.commit(); err != nil {
		return err
	}
	if err := r.model.Commit(); err != nil {
		return err
	}
	if *r.checkpoint == "" && *r.resume {
		os.Remove(r.path) // it served its purpose, and was not asked for by name
	}
	if *r.training.json {
		return r.Output("", func(w io.Writer) error { _, err := w.Write(encoded.Bytes()); return err })
	}
	w := r.Out
	if cli.IsStandard(*r.training.model) {
		w = r.Err // standard output has the model
	}
	report.print(w, r.name, f.notes)
	return nil
}

// print writes the report for people.
func (r *fitReport) print(w io.Writer, name string, notes []string) {
	if r.First != nil {
		fmt.Fprintf(w, "%s, first stage: objective %.6g after %d iterations, %d evaluations (%s)\n", name,
			r.First.Objective, r.First.Iterations, r.First.Evaluations, r.First.Reason)
	}
	if r.Reason != "" {
		fmt.Fprintf(w, "%s: objective %.6g after %d iterations, %d evaluations, %.1f s (%s)\n",
			name, r.Objective, r.Iterations, r.Evaluations, r.Seconds, r.Reason)
	}
	if r.Note != "" {
		fmt.Fprintf(w, "note: %s\n", r.Note)
	}
	for _, n := range notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	switch {
	case r.Reason == run.Diverged:
		fmt.Fprintf(w, "note: not converged: the objective rose; try a smaller --rate\n")
	case r.Reason == run.GapMissed || r.Reason == run.RoundLimit:
		fmt.Fprintf(w, "note: not converged: of the --gap asked the solver came no nearer; another --solver "+
			"may, or a greater --l2 or --gap\n")
	case r.Reason == network.AllPasses: // as many as the options ask for: nothing is missing
	case r.Reason == "": // nothing was iterated
	case !r.Converged && name != "active": // which asks until there is nothing to ask
		fmt.Fprintf(w, "note: not converged; more --iterations would change the model\n")
	}
	fmt.Fprintf(w, "model: %s\n", r.Model)
}

func (t *training) resumeFlag(path string) string {
	if *t.checkpoint != "" {
		return " --checkpoint " + path
	}
	return ""
}

// noCheckpoint refuses a checkpoint among the arguments of a command with --resume, which
// takes none: --resume x.checkpoint would have x.checkpoint read as data.
func noCheckpoint(args []string) error {
	for _, name := range args {
		found := strings.HasSuffix(name, ".checkpoint")
		if info, err := os.Stat(name); !found && err == nil && info.Mode().IsRegular() {
			k, err := readCheckpoint(name)
			found = err == nil && k != nil
		}
		if found {
			return fmt.Errorf("flag --resume takes no argument, so that %s would be data; the checkpoint is that "+
				"of --checkpoint, "+
				"or of --model with .checkpoint behind it: give --resume --checkpoint %s", name, name)
		}
	}
	return nil
}

func readCheckpoint(path string) (*run.Checkpoint, error) {
	if path == "" {
		return nil, errors.New("flag --resume: --checkpoint names no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("flag --resume: %w", err)
	}
	defer f.Close()
	k, err := run.ReadCheckpoint(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// json writes a value to standard output, for programs to read.
func (c *call) json(v any) error {
	return c.Output("", func(w io.Writer) error { return encodeJSON(w, v) })
}

func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report as JSON: %w", err)
	}
	return nil
}
