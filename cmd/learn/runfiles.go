package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
)

// runFlags are the flags for the files of every command that trains one model.
type runFlags struct {
	model, checkpoint, csv *string
	resume, asJSON         *bool
	every                  *int64
	step                   string // what a run goes by: iteration, round
}

// define defines the flags. A run goes by iterations or rounds, which step names; same says what
// must be as it was when it goes on.
func (f *runFlags) define(fs *flags.Set, step, same string) {
	f.step = step
	f.model = fs.String("model", "", "File for the model; needed")
	f.checkpoint = fs.String("checkpoint", "", "File for the state of the run, written while it lasts. "+
		"Without it, the state is written when the run is interrupted, to the model's name with .checkpoint. A "+
		"killed run leaves the last state written here, whole, and unfinished files beside its outputs, named "+
		"FILE.tropica0.tmp, which are removed when FILE is written again")
	f.every = fs.Int("checkpoint_every", 32, 10, "How often the state is written: after so many "+step+"s")
	f.resume = fs.Bool("resume", false, "Go on from the checkpoint; "+same)
	f.csv = fs.String("csv", "", "File for the history of the run: a line for each "+step+". With --resume "+
		"it goes on where the checkpoint was written")
	f.asJSON = fs.Bool("json", false, "Report as JSON")
}

// check refuses flags that contradict each other.
func (f *runFlags) check(c *call) error {
	switch {
	case *f.model == "":
		return errors.New("flag --model is needed: the file for the model")
	case cli.IsStandard(*f.model) && (*f.asJSON || *f.csv == "-"):
		return errors.New("flag --model: standard output cannot hold the model and a report; name a file")
	case *f.every < 1:
		return errors.New("flag --checkpoint_every must be at least 1")
	case *f.checkpoint == "":
		return c.idle("without --checkpoint, the state is written when the run is interrupted", "checkpoint_every")
	}
	return nil
}

// outputs are the files that a run writes.
func (f *runFlags) outputs() []place {
	return []place{{"the model", *f.model}, {"the history", *f.csv}, {"the checkpoint", f.state()}}
}

// state is the file of the run's state; "" when there is none.
func (f *runFlags) state() string {
	if *f.checkpoint == "" && !cli.IsStandard(*f.model) {
		return *f.model + ".checkpoint"
	}
	return *f.checkpoint
}

// earlier reads the checkpoint to go on from, if that was asked for.
func earlier[K any](f *runFlags, read func(io.Reader) (*K, error)) (*K, error) {
	if !*f.resume {
		return nil, nil
	}
	if f.state() == "" {
		return nil, errors.New("flag --resume: --checkpoint names no file")
	}
	return readState(f.state(), read)
}

func readState[K any](path string, read func(io.Reader) (*K, error)) (*K, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("flag --resume: %w", err)
	}
	defer file.Close()
	k, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// runFiles are the files of one run: the model, the checkpoint, the history.
type runFiles struct {
	*runFlags
	*call
	out, hist *output.File // hist is nil without --csv
	rows      bytes.Buffer // of a history that appears whole
	saved     bool         // a checkpoint was written
}

// open opens the files: a name that cannot be written should say so before the work. The caller
// must call abort when all is done.
func (f *runFlags) open(c *call) (*runFiles, error) {
	r := &runFiles{runFlags: f, call: c}
	var err error
	if r.out, err = output.Create(*f.model, c.Out); err != nil || *f.csv == "" {
		return r, err
	}
	if r.hist, err = output.Create(*f.csv, c.Out); err != nil {
		r.out.Abort()
	}
	return r, err
}

// lines is where the lines of the history go.
func (r *runFiles) lines() io.Writer {
	if r.hist.Whole() {
		return &r.rows
	}
	return r.hist
}

// abort leaves nothing half-written.
func (r *runFiles) abort() {
	r.out.Abort()
	if r.hist != nil {
		r.hist.Abort()
	}
}

// keep writes a checkpoint, where one is wanted now: at intervals if it was asked for by name, else
// when the run is interrupted. The history goes first: a run that is killed later still has the
// lines that led here.
func (r *runFiles) keep(write func(io.Writer) error) error {
	if *r.checkpoint == "" && r.ctx.Err() == nil {
		return nil
	}
	if r.hist != nil && r.rows.Len() > 0 {
		if err := r.Output(*r.csv,
			func(w io.Writer) error { _, err := w.Write(r.rows.Bytes()); return err }); err != nil {
			return err
		}
	}
	if err := r.Output(r.state(), write); err != nil {
		return err
	}
	r.saved = true
	return nil
}

// commit puts the history in its place. That of a run that had nothing left to do stays.
func (r *runFiles) commit() error {
	if r.hist == nil {
		return nil
	}
	if r.hist.Whole() {
		if r.rows.Len() == 0 && *r.resume {
			return nil
		}
		r.hist.Write(r.rows.Bytes()) // Commit has its error
	}
	return r.hist.Commit()
}

// interrupted is the error of a run that an interrupt ended. What was recorded is of use, the model
// of an unfinished run is not. none says what is left where there is no state, and afresh with what
// a resumed run begins anew.
func (r *runFiles) interrupted(recorded bool, none, afresh string) error {
	if recorded {
		if err := r.commit(); err != nil {
			return errors.Join(&stopped{"no model was written"}, err)
		}
	}
	if !r.saved {
		return &stopped{none}
	}
	flag := ""
	if *r.checkpoint != "" {
		flag = " --checkpoint " + *r.checkpoint
	}
	return &stopped{fmt.Sprintf("no model was written; the state is in %s. To go on%s, give the same command "+
		"with --resume%s", r.state(), afresh, flag)}
}

// place puts the model, which was written, and the history in their places.
func (r *runFiles) place() error {
	if err := r.commit(); err != nil {
		return err
	}
	if err := r.out.Commit(); err != nil {
		return err
	}
	if *r.checkpoint == "" && *r.resume {
		os.Remove(r.state()) // it served its purpose, and was not asked for by name
	}
	return nil
}

// people is where people read the report: standard output, unless that has the model.
func (r *runFiles) people() io.Writer {
	if cli.IsStandard(*r.model) {
		return r.Err
	}
	return r.Out
}
