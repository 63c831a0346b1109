package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
)

// roundFlags are the flags of every command that trains a model round by round.
type roundFlags struct {
	runFlags
	valid    *string
	patience *int64
}

// define defines the flags; watched is what validation rows are for.
func (f *roundFlags) define(fs *flags.Set, watched string) {
	f.runFlags.define(fs, "round", "the data and all other flags must be as they were")
	f.valid = fs.String("valid", "", "Table on which "+watched+" is watched; the model is the prefix of "+
		"rounds with the least")
	f.patience = fs.Int("patience", 32, 0, "Stop after this many rounds without a lower validation loss; 0 "+
		"is never")
}

// check looks at the flags together, and that no output overwrites an input or another
// output.
func (f *roundFlags) check(c *call, inputs []place, outputs ...place) error {
	if err := f.runFlags.check(c); err != nil {
		return err
	}
	switch {
	case *f.patience < 0:
		return errors.New("flag --patience must not be negative")
	case *f.patience > 0 && *f.valid == "":
		return errors.New("flag --patience: it counts rounds without a lower validation loss; --valid names the table")
	}
	return apart(inputs, append(f.outputs(), outputs...))
}

// rounds is one training with its files.
type rounds struct {
	*runFiles
	total int
	bar   *progress.Bar
	lines *csv.Writer
	first int // number of the first round of this run
	began time.Time
}

// begin opens the files. The caller must call abort when all is done.
func (f *roundFlags) begin(c *call, total int) (*rounds, error) {
	files, err := f.open(c)
	if err != nil {
		return nil, err
	}
	r := &rounds{runFiles: files, total: total, bar: progress.Start(c.Err, c.prog)}
	if r.hist != nil {
		r.lines = csv.NewWriter(files.lines())
	}
	return r, nil
}

func (r *rounds) abort() {
	r.stopBar()
	r.runFiles.abort()
}

func (r *rounds) stopBar() {
	r.bar.Stop()
	r.bar = nil
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
		r.first, r.began = round, time.Now() // what comes before the first round takes its own time
	} else {
		left = fmt.Sprintf(", about %v left", (time.Since(r.began) / time.Duration(round-r.first) * time.Duration(
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
			old, err := historyBefore(*r.csv, header(), round)
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

// end closes a training that returned err. It writes the model and the history, or says what an
// interrupted run has left and how to continue.
func (r *rounds) end(err error, save func(io.Writer) error) error {
	r.stopBar()
	if err != nil && r.ctx.Err() != nil {
		return r.interrupted(r.first > 0, "no round was finished, and nothing written", "")
	}
	if err != nil {
		return err
	}
	if err := save(r.out); err != nil {
		return err
	}
	return r.place()
}

// cellOf writes a number of a history; NaN is nothing.
func cellOf(v float64) string {
	if v != v {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
