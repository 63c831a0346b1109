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

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// training holds the flags of every command that fits one model: iterations and relative, or valid
// and patience for learners that take a number of rounds.
type training struct {
	runFlags
	iterations *int64
	relative   *float64
	valid      *string
	patience   *int64
	workers    func() (int, error)

	// planned is the rule by which the bar guesses how long the run takes. fit may set it.
	planned run.Stop
}

// defineRounds defines them for a learner of rounds; watched is what validation examples are for.
func (t *training) defineRounds(fs *flags.Set, one, watched string) {
	t.runFlags.define(fs, "round", "the data and all other flags must be as they were")
	t.valid = fs.String("valid", "", upper(one)+" on which "+watched+" is watched; the model is the prefix of "+
		"rounds with the least")
	t.patience = fs.Int("patience", 32, 0, "Stop after this many rounds without a lower validation loss; 0 "+
		"is never")
}

// upper begins a phrase such as "a table" with its noun, as a sentence does.
func upper(one string) string {
	_, noun, _ := strings.Cut(one, " ")
	return strings.ToUpper(noun[:1]) + noun[1:]
}

// define defines them. Without a relative improvement to stop at there is no flag for one.
func (t *training) define(fs *flags.Set, iterations int, relative float64) {
	t.runFlags.define(fs, "iteration", "the data must be as they were, and all "+
		"flags that say what is learnt and how. Others may differ: outputs, workers, when to stop, and for "+
		"L-BFGS, whose history starts afresh, --memory")
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
	notes   []string        // for people, of what the details have for programs
	own     *learner.Report // in place of all that; nil for most
	said    []string        // warnings, for when the progress line is gone
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
	if err := apart(inputs, t.outputs()); err != nil {
		return err
	}
	control := run.Control{Ctx: c.ctx, CheckpointEvery: int(*t.every)}
	if *t.checkpoint == "" {
		control.CheckpointEvery = math.MaxInt // the state is wanted when the run is interrupted
	}
	if t.patience != nil {
		control.Stop.Patience = int(*t.patience)
	} else if control.Stop = (run.Stop{Iterations: int(*t.iterations),
		Relative: *t.relative}); *t.relative == 0 {
		control.Stop.Relative = -1 // asked for: never
	}
	if control.Resume, err = earlier(&t.runFlags, run.ReadCheckpoint); err != nil {
		return err
	}
	files, err := t.open(c)
	if err != nil {
		return err
	}
	defer files.abort()
	r := &trainingRun{runFiles: files, name: name}
	if t.state() != "" {
		control.Checkpoint = r.save
	}
	recorders := []run.Recorder{run.RecorderFunc(r.note)}
	if r.hist != nil {
		record, err := r.history()
		if err != nil {
			return err
		}
		recorders = append(recorders, record)
	}
	bar := progress.Start(c.Err, name)
	t.planned = control.Stop
	control.Recorder = run.Recorders(append(recorders, bar.TrainingUntil(name, &t.planned))...)
	control.Live = bar.Within(name)
	f, err := fit(workers, control)
	bar.Stop()
	if f != nil {
		for _, s := range f.said {
			c.Warn(c.prog, "%s", s)
		}
	}
	switch {
	case err != nil && c.ctx.Err() != nil:
		return r.stopped()
	case err != nil:
		return r.failed(err)
	}
	return r.finish(f)
}

// check refuses flags that contradict each other, and returns the number of workers.
func (t *training) check(c *call) (workers int, err error) {
	if err := t.runFlags.check(c); err != nil {
		return 0, err
	}
	switch {
	case t.patience != nil && *t.patience < 0:
		return 0, errors.New("flag --patience must not be negative")
	case t.patience != nil && *t.patience > 0 && *t.valid == "":
		return 0, errors.New("flag --patience: it counts rounds without a lower validation loss; --valid names " +
			"the table")
	case t.patience == nil && *t.iterations < 1:
		return 0, errors.New("flag --iterations must be at least 1")
	case t.patience == nil && math.IsInf(*t.relative, 0):
		return 0, errors.New("flag --stop must be finite")
	}
	return t.workers()
}

// trainingRun is a run of training: its files, and how far it has come.
type trainingRun struct {
	*runFiles
	name     string
	last     run.Row
	recorded bool    // last is one
	spent    float64 // seconds of the stages before last's, whose clocks are their own
	afresh   string  // what a resumed run does not go on with
}

// note keeps the last row, and the time of the stages before it.
func (r *trainingRun) note(row run.Row) error {
	if r.recorded && row.Stage != r.last.Stage {
		r.spent += r.last.Seconds
	}
	r.last, r.recorded = row, true
	return nil
}

// history returns what records the rows in their file, behind those of the run that goes on.
func (r *trainingRun) history() (run.Recorder, error) {
	var earlier io.Reader
	if *r.resume && r.hist.Whole() {
		before, err := os.ReadFile(*r.csv)
		if err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("flag --csv: the history to go on with: %w", err)
		}
		earlier = bytes.NewReader(before)
	}
	record := progress.CSV(r.lines(), earlier)
	return run.RecorderFunc(func(row run.Row) error {
		if err := record.Record(row); err != nil {
			return fmt.Errorf("flag --csv: %s: %w", *r.csv, err)
		}
		return nil
	}), nil
}

// save writes a checkpoint.
func (r *trainingRun) save(k *run.Checkpoint) error {
	if k.Solver == "OWLQN" || len(k.Arrays) == 0 && len(k.Files) == 0 {
		r.afresh = " (L-BFGS goes on from the point it had reached, with a new history)"
	}
	return r.keep(k.Write)
}

// stopped returns the error of a run that an interrupt ended.
func (r *trainingRun) stopped() error {
	none := "no " + r.step + " was finished, and nothing written"
	if r.last.Iteration > 0 { // behind the last iteration, or with nowhere to keep it
		none = "no model was written, and no state was kept; --checkpoint FILE keeps it while iterations run"
	}
	return r.interrupted(r.last.Evaluations > 0, none, r.afresh)
}

// failed returns the error of a run without a model. What led to a failure is what one then
// wants to see: the rows stay.
func (r *trainingRun) failed(err error) error {
	if !r.recorded || r.hist == nil {
		return err
	}
	whole := r.hist.Whole()
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
	if f.own != nil {
		result = &optim.Result{}
	}
	report := fitReport{Model: r.out.Name(), Objective: result.F, GradNorm: result.GradNorm,
		Iterations: result.Iterations, Evaluations: result.Evaluations, Reason: result.Reason,
		Converged: result.Converged(), Seconds: r.spent + r.last.Seconds, Note: result.Note, Details: f.details}
	if first := result.First; first != nil {
		report.First = &stageReport{first.F, first.Iterations, first.Evaluations, first.Reason}
	}
	// No file appears before it is known that its report can be given.
	var encoded bytes.Buffer
	if *r.asJSON {
		var data any = report
		if f.own != nil {
			data = f.own.Data
		}
		if err := encodeJSON(&encoded, data); err != nil {
			return r.failed(err)
		}
	}
	if err := f.write(r.out); err != nil {
		return r.failed(err)
	}
	if err := r.place(); err != nil {
		return err
	}
	if *r.asJSON {
		return r.Output("", func(w io.Writer) error { _, err := w.Write(encoded.Bytes()); return err })
	}
	if f.own == nil {
		report.print(r.people(), r.name, f.notes)
		return nil
	}
	for _, line := range append(f.own.Lines, "model: "+report.Model) {
		fmt.Fprintln(r.people(), line)
	}
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
	case r.Reason == run.AllPasses: // nothing is missing
	case r.Reason == "": // nothing was iterated
	case !r.Converged && name != "active": // which asks until there is nothing to ask
		fmt.Fprintf(w, "note: not converged; more --iterations would change the model\n")
	}
	fmt.Fprintf(w, "model: %s\n", r.Model)
}

// noCheckpoint refuses a checkpoint among the arguments of a command with --resume, which
// takes none: --resume x.checkpoint would have x.checkpoint read as data.
func noCheckpoint(args []string) error {
	for _, name := range args {
		found := strings.HasSuffix(name, ".checkpoint")
		if info, err := os.Stat(name); !found && err == nil && info.Mode().IsRegular() {
			_, err := readState(name, run.ReadCheckpoint)
			found = err == nil
		}
		if found {
			return fmt.Errorf("flag --resume takes no argument, so that %s would be data; the checkpoint is that "+
				"of --checkpoint, "+
				"or of --model with .checkpoint behind it: give --resume --checkpoint %s", name, name)
		}
	}
	return nil
}

// json writes a value to standard output, for programs to read.
func (c *call) json(v any) error {
	return c.Output("", func(w io.Writer) error { return encodeJSON(w, v) })
}

// report writes a value to standard output: as JSON for programs, or by table for people.
func (c *call) report(asJSON bool, v any, table func(io.Writer) error) error {
	if asJSON {
		return c.json(v)
	}
	return table(c.Out)
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
