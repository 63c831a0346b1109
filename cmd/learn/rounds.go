package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
)

// roundFlags are the flags of every command that trains a model round by round.
type roundFlags struct {
	model, valid, checkpoint, history *string
	patience, every                   *int64
	resume, json                      *bool
}

// define defines the flags; watched is what validation rows are for.
func (f *roundFlags) define(fs *flags.Set, watched string) {
	f.model = fs.String("model", "", "File for the model; needed")
	f.valid = fs.String("valid", "", "Table on which "+watched+" is watched; the model is the prefix of "+
		"rounds with the least")
	f.patience = fs.Int("patience", 32, 0, "Stop after this many rounds without a lower validation loss; 0 "+
		"is never")
	f.checkpoint = fs.String("checkpoint", "", "File for the state of the run, written while it lasts. "+
		"Without it, the state is written when the run is interrupted, to the model's name with .checkpoint. A "+
		"killed run leaves the last state written here, whole, and unfinished files beside its outputs, named "+
		"FILE.tropica0.tmp, which are removed when FILE is written again")
	f.every = fs.Int("checkpoint_every", 32, 10, "Rounds between checkpoints")
	f.resume = fs.Bool("resume", false, "Go on from the checkpoint; the data and all other flags must be as "+
		"they were")
	f.history = fs.String("csv", "", "File for the history of the run: a line for each round. With --resume "+
		"it goes on where the checkpoint was written")
	f.json = fs.Bool("json", false, "Report as JSON")
}

// check looks at the flags together, and that no output overwrites an input or another
// output.
func (f *roundFlags) check(inputs []place, outputs ...place) error {
	switch {
	case *f.model == "":
		return errors.New("flag --model is needed: the file for the model")
	case cli.IsStandard(*f.model) && (*f.json || *f.history == "-"):
		return errors.New("flag --model: standard output cannot hold the model and a report; name a file")
	case *f.every < 1 || *f.patience < 0:
		return errors.New("flags --checkpoint_every and --patience: the first must be at least 1, the second " +
			"not negative")
	case *f.patience > 0 && *f.valid == "":
		return errors.New("flag --patience: it counts rounds without a lower validation loss; --valid names the table")
	}
	return apart(inputs, append([]place{{"the model", *f.model}, {"the history", *f.history},
		{"the checkpoint", f.state()}}, outputs...))
}

// state is the file of the run's state; "" when there is none.
func (f *roundFlags) state() string {
	if *f.checkpoint == "" && !cli.IsStandard(*f.model) {
		return *f.model + ".checkpoint"
	}
	return *f.checkpoint
}

// earlier reads the checkpoint to go on from, if that was asked for.
func earlier[K any](f *roundFlags, read func(io.Reader) (*K, error)) (*K, error) {
	if !*f.resume {
		return nil, nil
	}
	path := f.state()
	if path == "" {
		return nil, errors.New("flag --resume: --checkpoint names no file")
	}
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

// rounds is one training with its files: the model, the checkpoints, the history.
type rounds struct {
	*roundFlags
	c     *call
	total int
	bar   *progress.Bar
	out   *output.File
	hist  *output.File
	rows  bytes.Buffer // of a history that appears whole
	lines *csv.Writer
	saved bool
	first int // number of the first round of this run
	begin time.Time
}

// begin opens the files: a name that cannot be written should say so before the work. The
// caller must call abort when all is done.
func (f *roundFlags) begin(c *call, total int) (*rounds, error) {
	r := &rounds{roundFlags: f, c: c, total: total}
	var err error
	if r.out, err = output.Create(*f.model, c.Out); err != nil {
		return nil, err
	}
	if *f.history != "" {
		if r.hist, err = output.Create(*f.history, c.Out); err != nil {
			r.out.Abort()
			return nil, err
		}
		var w io.Writer = r.hist
		if r.hist.Whole() {
			w = &r.rows
		}
		r.lines = csv.NewWriter(w)
	}
	r.bar = progress.Start(c.Err, c.prog)
	return r, nil
}

// abort leaves nothing half-written.
func (r *rounds) abort() {
	r.stopBar()
	r.out.Abort()
	if r.hist != nil {
		r.hist.Abort()
	}
}

func (r *rounds) stopBar() {
	r.bar.Stop()
	r.bar = nil
}

// keep writes a checkpoint, where one is wanted now. The history up to it goes first: a run
// that is killed later still has the rounds that led here.
func (r *rounds) keep(write func(io.Writer) error) error {
	if *r.checkpoint == "" && r.c.ctx.Err() == nil {
		return nil
	}
	if r.hist != nil && r.hist.Whole() && r.first > 0 {
		if err := r.c.Output(*r.history,
			func(w io.Writer) error { _, err := w.Write(r.rows.Bytes()); return err }); err != nil {
			return err
		}
	}
	if err := r.c.Output(r.state(), write); err != nil {
		return err
	}
	r.saved = true
	return nil
}

// trial shows a round of those by which the number of rounds is chosen.
func (r *rounds) trial(round, of int, text string) {
	r.bar.Set(round, of, "choosing the rounds: %d, %s", round, text)
}

// watch records a round: a line of the history, whose first cell is the round's number, and
// the progress line.
func (r *rounds) watch(round int, header, line func() []string, text string) error {
	left := ""
	if r.first == 0 {
		r.first, r.begin = round, time.Now() // what comes before the first round takes its own time
	} else {
		left = fmt.Sprintf(", about %v left", (time.Since(r.begin) / time.Duration(round-r.first) * time.Duration(
			max(r.total-round, 0))).Round(time.Second))
	}
	r.bar.Set(round, r.total, "round %d, %s%s", round, text, left)
	if r.hist == nil {
		return nil
	}
	if round == r.first {
		if err := r.lines.Write(header()); err != nil {
			return err
		}
		if *r.resume && r.hist.Whole() {
			old, err := historyBefore(*r.history, header(), round)
			if err != nil {
				return fmt.Errorf("flag --csv: %w", err)
			}
			if err := r.lines.WriteAll(old); err != nil {
				return err
			}
		}
	}
	if err := r.lines.Write(line()); err != nil {
		return err
	}
	r.lines.Flush()
	return r.lines.Error()
}

// historyBefore reads the lines of an earlier history up to a round.
func historyBefore(name string, header []string, round int) ([][]string, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := csv.NewReader(f)
	d.FieldsPerRecord = len(header)
	lines, err := d.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: the earlier history: %w", name, err)
	}
	if len(lines) == 0 {
		return nil, nil
	}
	if !slices.Equal(lines[0], header) {
		return nil, fmt.Errorf("%s: the earlier history has other columns: it is not that of this run", name)
	}
	lines = lines[1:]
	for i, l := range lines {
		n, err := strconv.Atoi(l[0])
		if err != nil {
			return nil, fmt.Errorf("%s: the earlier history: row %d: %q is no round", name, i+1, l[0])
		}
		if n >= round {
			return lines[:i], nil
		}
	}
	return lines, nil
}

// commit puts the history in its place; one of a run that had no round to do stays.
func (r *rounds) commit() error {
	if r.hist == nil || r.first == 0 && *r.resume {
		return nil
	}
	if r.hist.Whole() {
		r.hist.Write(r.rows.Bytes()) // Commit has its error
	}
	return r.hist.Commit()
}

// end closes a training that returned err. It writes the model and the history, or says what an
// interrupted run has left and how to continue.
func (r *rounds) end(err error, save func(io.Writer) error) error {
	r.stopBar()
	if err != nil && r.c.ctx.Err() != nil {
		if r.first > 0 {
			if e := r.commit(); e != nil {
				return errors.Join(&stopped{"no model was written"}, e)
			}
		}
		if !r.saved {
			return &stopped{"no round was finished, and nothing written"}
		}
		flag := ""
		if *r.checkpoint != "" {
			flag = " --checkpoint " + *r.checkpoint
		}
		return &stopped{fmt.Sprintf("no model was written; the state is in %s. To go on, give the same command "+
			"with --resume%s", r.state(), flag)}
	}
	if err != nil {
		return err
	}
	if err := save(r.out); err != nil {
		return err
	}
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

// report is where people read the report: standard output, unless that has the model.
func (r *rounds) report() io.Writer {
	if cli.IsStandard(*r.model) {
		return r.c.Err
	}
	return r.c.Out
}

// cellOf writes a number of a history; NaN is nothing.
func cellOf(v float64) string {
	if v != v {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
