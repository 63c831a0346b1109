package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
)

// fitLog is the checkpoint of a cross-validation, or of an experiment of many fits: a line that
// identifies the data, then a line for each fit. An experiment of few results replaces its file
// with every one. Here there may be thousands of fits, many a second, so lines are appended. The
// last line of a killed run may be incomplete, and is then dropped.
type fitLog[T any] struct {
	name   *string
	resume *bool // nil goes on from a file that is there
	file   *os.File
	known  []T
}

// foldFlags say how the examples of a cross-validation are divided.
type foldFlags struct {
	folds, repeats, inner *int64
	seed                  *uint64
}

func (f *foldFlags) define(fs *flags.Set, inner int64) {
	f.folds = fs.Int("folds", 32, 5, "Folds")
	f.repeats = fs.Int("repeats", 32, 1, "Repetitions, each with another shuffle")
	f.inner = fs.Int("inner_folds", 32, inner, "Folds of the training part on which settings are chosen")
	f.seed = fs.Uint("fold_seed", 1, "Seed of the folds")
}

// numbers returns folds, inner folds, none where there is no choice to make, and repetitions.
func (f *foldFlags) numbers(choice bool) (folds, inner, repeats int, err error) {
	if *f.folds < 2 || *f.inner < 2 || *f.repeats < 1 {
		return 0, 0, 0, errors.New("flags --folds and --inner_folds must be at least 2, --repeats at least 1")
	}
	if choice {
		inner = int(*f.inner)
	}
	return int(*f.folds), inner, int(*f.repeats), nil
}

// tally counts equal names, in order of appearance.
func tally(names []string) string {
	counts, order := map[string]int{}, []string{}
	for _, s := range names {
		if counts[s]++; counts[s] == 1 {
			order = append(order, s)
		}
	}
	for i, s := range order {
		order[i] = fmt.Sprintf("%s (%d)", s, counts[s])
	}
	return strings.Join(order, ", ")
}

// fitLogHeader is the first line.
type fitLogHeader struct {
	Format string `json:"format"`
	Data   string `json:"data"`
}

// define defines the flags.
func (l *fitLog[T]) define(fs *flags.Set) {
	l.name = fs.String("checkpoint", "",
		"File that keeps every finished fit, of a setting on a fold, as it comes")
	l.resume = fs.Bool("resume", false, "Go on from the checkpoint: what is in it is not fitted again. The "+
		"data must be as they were; folds and settings may differ, and those that were there are used. Remove "+
		"the file when the program changed")
}

// defineAlone defines --checkpoint alone, for experiments: they go on from a file that is there.
func (l *fitLog[T]) defineAlone(fs *flags.Set) {
	l.name = fs.String("checkpoint", "", "File that keeps every finished fit as it comes; if it exists, fits "+
		"that are in it are not made again. Remove it when the program or the data changed")
}

// open begins the file, or reads it and goes on.
func (l *fitLog[T]) open(format, data string) error {
	header := fitLogHeader{format, data}
	resume, flag := true, "checkpoint" // where an error is
	if l.resume != nil {
		resume, flag = *l.resume, "resume"
	}
	switch {
	case *l.name == "" && l.resume != nil && resume:
		return errors.New("flag --resume: --checkpoint names no file")
	case *l.name == "":
		return nil
	case cli.IsStandard(*l.name):
		return errors.New("flag --checkpoint: a standard stream keeps nothing; name a file")
	}
	b, err := os.ReadFile(*l.name)
	switch {
	case l.resume != nil && resume && err != nil:
		return fmt.Errorf("flag --resume: %w", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("flag --checkpoint: %w", err)
	case err == nil && !resume:
		return fmt.Errorf("flag --checkpoint: %s is there already: give --resume to go on from it, or remove it "+
			"to begin afresh", *l.name)
	}
	if err != nil {
		first, err := json.Marshal(header)
		if err == nil {
			l.file, err = os.OpenFile(*l.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		}
		if err == nil {
			_, err = l.file.Write(append(first, '\n'))
		}
		if err != nil {
			return fmt.Errorf("flag --checkpoint: %w", err)
		}
		return nil
	}
	whole, err := l.read(b, header)
	if err != nil {
		return fmt.Errorf("flag --%s: %s: %w", flag, *l.name, err)
	}
	if l.file, err = os.OpenFile(*l.name, os.O_WRONLY, 0); err == nil {
		if err = l.file.Truncate(int64(whole)); err == nil {
			_, err = l.file.Seek(0, io.SeekEnd)
		}
	}
	if err != nil {
		return fmt.Errorf("flag --checkpoint: %w", err)
	}
	return nil
}

// read takes the fits of a file, and says how much of it is whole lines.
func (l *fitLog[T]) read(b []byte, want fitLogHeader) (whole int, err error) {
	strict := func(line []byte, to any) error {
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(to); err != nil {
			return err
		}
		if rest := bytes.TrimSpace(line[d.InputOffset():]); len(rest) > 0 {
			return fmt.Errorf("%.20q follows its end", rest)
		}
		return nil
	}
	for n := 1; ; n++ {
		end := bytes.IndexByte(b[whole:], '\n')
		if end < 0 {
			if n == 1 {
				return 0, fmt.Errorf("it has no whole line, and is no checkpoint of %s; remove it to begin afresh",
					l.kind())
			}
			return whole, nil
		}
		line := b[whole : whole+end]
		if n == 1 {
			var h fitLogHeader
			if err := strict(line, &h); err != nil || h.Format != want.Format {
				return 0, fmt.Errorf("it is no checkpoint of %s (%s); remove it to begin afresh", l.kind(), want.Format)
			}
			if h.Data != want.Data && l.resume == nil {
				return 0, fmt.Errorf("it was begun with %q, not %q; remove it to begin afresh", h.Data, want.Data)
			}
			if h.Data != want.Data {
				return 0, errors.New("it is of other data, columns, or another loss; give those that it was begun " +
					"with, or remove it to begin afresh")
			}
		} else {
			var fit T
			if err := strict(line, &fit); err != nil {
				return 0, fmt.Errorf("line %d is damaged: %w; remove the file to begin afresh", n, err)
			}
			l.known = append(l.known, fit)
		}
		whole += end + 1
	}
}

// kind is what the file is a checkpoint of.
func (l *fitLog[T]) kind() string {
	if l.resume == nil {
		return "this experiment"
	}
	return "this cross-validation"
}

// save appends a fit; it is nil where none are kept.
func (l *fitLog[T]) save() func(*T) error {
	if l.file == nil {
		return nil
	}
	return func(fit *T) error {
		line, err := json.Marshal(fit)
		if err == nil {
			_, err = l.file.Write(slices.Concat(line, []byte{'\n'})) // at once: what is torn is the end alone
		}
		if err != nil {
			return fmt.Errorf("flag --checkpoint: %w", err)
		}
		return nil
	}
}

// close ends the file.
func (l *fitLog[T]) close() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("flag --checkpoint: %w", err)
	}
	return nil
}

// logged runs a cross-validation with a progress bar. cv uses the fits that l has kept, keeps new
// ones in it, and calls fitted after each fit.
func logged[T, R any](c *call, l *fitLog[T], format, data string, trials int,
	cv func(fitted func(all int, name string, trial int)) (R, error)) (R, error) {
	var none R
	if err := l.open(format, data); err != nil {
		return none, err
	}
	defer l.close()
	bar := progress.Start(c.Err, c.prog)
	done := bar.Counter()
	r, err := cv(func(all int, name string,
		trial int) {
		done(all, "%s, trial %d of %d", name, trial+1, trials)
	})
	bar.Stop()
	if err != nil && c.ctx.Err() != nil {
		return none, l.interrupted()
	}
	if err != nil {
		return none, err
	}
	return r, l.close()
}

// interrupted says what is left of a run that was stopped.
func (l *fitLog[T]) interrupted() error {
	switch {
	case l.resume == nil && *l.name == "":
		return &stopped{"the experiment keeps its fits only with --checkpoint"}
	case l.resume == nil:
		return &stopped{fmt.Sprintf("the finished fits are in %s. To go on, give the same command", *l.name)}
	case *l.name == "":
		return &stopped{"cross-validation keeps its fits only with --checkpoint; start it again, with a smaller " +
			"--grid if it takes too long"}
	}
	return &stopped{fmt.Sprintf("the finished fits are in %s. To go on, give the same command with --resume",
		*l.name)}
}
