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
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
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
	t.checkpoint = fs.String("checkpoint", "", "File for the optimiser's state, written while it runs. Without it, the state is written when the run is interrupted, to the model's name with .checkpoint. A run that is killed outright leaves the last state written here, whole, and unfinished files beside its outputs, named FILE.tropica0.tmp, which go when FILE is written again")
	t.every = fs.Int("checkpoint_every", 32, 10, "Iterations between checkpoints")
	t.resume = fs.Bool("resume", false, "Go on from the checkpoint; the data and all other flags must be as they were")
	t.csv = fs.String("csv", "", "File for the history of the run: a line for each iteration. With --resume it goes on where the checkpoint was written")
	t.json = fs.Bool("json", false, "Report as JSON")
	t.iterations = fs.Int("iterations", 32, int64(iterations), "Most iterations (passes, for stochastic solvers)")
	if t.relative = new(float64); relative != 0 {
		t.relative = fs.Float("stop", relative, "Stop when the objective fell by at most this fraction over five iterations")
	}
	t.workers = workersFlag(fs)
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
	Reason      optim.Reason   `json:"reason"`
	Converged   bool           `json:"converged"`
	Seconds     float64        `json:"seconds"`
	Note        string         `json:"note,omitempty"`
	First       *stageReport   `json:"first_stage,omitempty"`
	Details     map[string]any `json:"details,omitempty"`
}

// stageReport is the first of two stages, each with an objective.
type stageReport struct {
	Objective   float64      `json:"objective"`
	Iterations  int          `json:"iterations"`
	Evaluations int          `json:"evaluations"`
	Reason      optim.Reason `json:"reason"`
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
func (t *training) run(c *call, name string, inputs []place, fit func(workers int, control optim.Control) (*fitted, error)) error {
	if *t.model == "" {
		return errors.New("flag --model is needed: the file for the model")
	}
	if cli.IsStandard(*t.model) && (*t.json || *t.csv == "-") {
		return errors.New("flag --model: standard output cannot hold the model and a report; name a file")
	}
	if *t.iterations < 1 || *t.every < 1 {
		return errors.New("flags --iterations and --checkpoint_every must be at least 1")
	}
	if math.IsInf(*t.relative, 0) {
		return errors.New("flag --stop must be finite")
	}
	workers, err := t.workers()
	if err != nil {
		return err
	}
	path := *t.checkpoint
	if path == "" && !cli.IsStandard(*t.model) {
		path = *t.model + ".checkpoint"
	}
	outputs := []place{{"the model", *t.model}, {"the history", *t.csv}, {"the checkpoint", path}}
	if err := apart(inputs, outputs); err != nil {
		return err
	}
	if *t.checkpoint == "" {
		if err := c.idle("without --checkpoint, the state is written when the run is interrupted", "checkpoint_every"); err != nil {
			return err
		}
	}
	control := optim.Control{Ctx: c.ctx, CheckpointEvery: int(*t.every)}
	control.Stop = optim.Stop{Iterations: int(*t.iterations), Relative: *t.relative}
	if control.Stop.Relative == 0 {
		control.Stop.Relative = -1 // asked for: never
	}
	if *t.resume {
		if control.Resume, err = readCheckpoint(path); err != nil {
			return err
		}
	}
	saved, afresh := false, ""
	var history *output.File
	var rows bytes.Buffer // of a history that appears whole
	var before []byte     // the history of the run that goes on
	if path != "" {
		periodic := *t.checkpoint != ""
		control.Checkpoint = func(k *optim.Checkpoint) error {
			if !periodic && c.ctx.Err() == nil {
				return nil
			}
			if history != nil && history.Whole() { // what is killed later still has the rows that led here
				if err := c.Output(*t.csv, func(w io.Writer) error { _, err := w.Write(rows.Bytes()); return err }); err != nil {
					return err
				}
			}
			if err := c.Output(path, k.Write); err != nil {
				return err
			}
			saved = true
			if len(k.Arrays) == 0 {
				afresh = " (L-BFGS goes on from the point it had reached, with a new history)"
			}
			return nil
		}
	}
	// Both files are opened before hours of work: a name that cannot be written
	// should say so now.
	model, err := output.Create(*t.model, c.Out)
	if err != nil {
		return err
	}
	defer model.Abort()
	var recorders []optim.Recorder
	var last optim.Row
	recorded := false
	recorders = append(recorders, optim.RecorderFunc(func(r optim.Row) error { last, recorded = r, true; return nil }))
	if *t.csv != "" {
		if history, err = output.Create(*t.csv, c.Out); err != nil {
			return err
		}
		defer history.Abort()
		var w io.Writer = history
		var earlier io.Reader
		if history.Whole() {
			w = &rows
			if *t.resume {
				if before, err = os.ReadFile(*t.csv); err != nil && !os.IsNotExist(err) {
					return fmt.Errorf("flag --csv: the history to go on with: %w", err)
				}
				earlier = bytes.NewReader(before)
			}
		}
		record := progress.CSV(w, earlier)
		recorders = append(recorders, optim.RecorderFunc(func(r optim.Row) error {
			if err := record.Record(r); err != nil {
				return fmt.Errorf("flag --csv: %s: %w", *t.csv, err)
			}
			return nil
		}))
	}
	commit := func() error {
		if history == nil {
			return nil
		}
		if history.Whole() {
			if rows.Len() == 0 {
				rows.Write(before) // the run that was to go on had ended: its history stands
			}
			history.Write(rows.Bytes()) // Commit has its error
		}
		return history.Commit()
	}
	bar := progress.Start(c.Err, name)
	recorders = append(recorders, bar.Training(name, control.Stop))
	control.Recorder = optim.Recorders(recorders...)
	control.Live = bar.Within(name)
	f, err := fit(workers, control)
	bar.Stop()
	if err != nil && c.ctx.Err() != nil {
		// What was recorded is of use, the model of an unfinished run is not.
		if last.Evaluations > 0 {
			if e := commit(); e != nil {
				return errors.Join(&stopped{"no model was written"}, e)
			}
		}
		if !saved {
			return &stopped{"no iteration was finished, and nothing written"}
		}
		return &stopped{fmt.Sprintf("no model was written; the state is in %s. To go on%s, give the same command with --resume%s", path, afresh, t.resumeFlag(path))}
	}
	// What led to a failure is what one then wants to see: the rows stay without a model.
	failed := func(err error) error {
		if !recorded || history == nil {
			return err
		}
		whole := history.Whole()
		if e := commit(); e != nil {
			return errors.Join(err, e)
		}
		if whole {
			err = fmt.Errorf("%w (the history up to there is in %s)", err, *t.csv)
		}
		return err
	}
	if err != nil {
		return failed(err)
	}
	r := f.result
	report := fitReport{Model: model.Name(), Objective: r.F, GradNorm: r.GradNorm, Iterations: r.Iterations, Evaluations: r.Evaluations,
		Reason: r.Reason, Converged: r.Converged(), Seconds: last.Seconds, Note: r.Note, Details: f.details}
	if r.First != nil {
		report.First = &stageReport{r.First.F, r.First.Iterations, r.First.Evaluations, r.First.Reason}
	}
	// No file appears before it is known that its report can be given.
	var encoded bytes.Buffer
	if *t.json {
		if err := encodeJSON(&encoded, report); err != nil {
			return failed(err)
		}
	}
	if err := f.write(model); err != nil {
		return failed(err)
	}
	if err := commit(); err != nil {
		return err
	}
	if err := model.Commit(); err != nil {
		return err
	}
	if *t.checkpoint == "" && *t.resume {
		os.Remove(path) // it served its purpose, and was not asked for by name
	}
	if *t.json {
		return c.Output("", func(w io.Writer) error { _, err := w.Write(encoded.Bytes()); return err })
	}
	w := c.Out
	if cli.IsStandard(*t.model) {
		w = c.Err // standard output has the model
	}
	if r.First != nil {
		fmt.Fprintf(w, "%s, first stage: objective %.6g after %d iterations, %d evaluations (%s)\n", name, r.First.F, r.First.Iterations, r.First.Evaluations, r.First.Reason)
	}
	fmt.Fprintf(w, "%s: objective %.6g after %d iterations, %d evaluations, %.1f s (%s)\n", name, r.F, r.Iterations, r.Evaluations, last.Seconds, r.Reason)
	if r.Note != "" {
		fmt.Fprintf(w, "note: %s\n", r.Note)
	}
	for _, n := range f.notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	switch {
	case r.Reason == optim.Diverged:
		fmt.Fprintf(w, "note: not converged: the objective rose; try a smaller --rate\n")
	case r.Reason == minimax.GapMissed || r.Reason == minimax.RoundLimit:
		fmt.Fprintf(w, "note: not converged: of the --gap asked the solver came no nearer; another --solver may, or a greater --l2 or --gap\n")
	case !report.Converged:
		fmt.Fprintf(w, "note: not converged; more --iterations would change the model\n")
	}
	fmt.Fprintf(w, "model: %s\n", model.Name())
	return nil
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
			return fmt.Errorf("flag --resume takes no argument, so that %s would be data; the checkpoint is that of --checkpoint, "+
				"or of --model with .checkpoint behind it: give --resume --checkpoint %s", name, name)
		}
	}
	return nil
}

func readCheckpoint(path string) (*optim.Checkpoint, error) {
	if path == "" {
		return nil, errors.New("flag --resume: --checkpoint names no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("flag --resume: %w", err)
	}
	defer f.Close()
	k, err := optim.ReadCheckpoint(f)
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
