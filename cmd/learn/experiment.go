package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

// numbers reads the value of a flag that takes numbers separated by commas.
func numbers(name, value string) ([]float64, error) {
	var out []float64
	for _, s := range strings.Split(value, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || v-v != 0 {
			return nil, fmt.Errorf("flag --%s: %q is not a finite number", name, s)
		}
		out = append(out, v)
	}
	return out, nil
}

// list splits the value of a flag at commas; "" is none.
func list(value string) []string {
	if value == "" {
		return nil
	}
	out := strings.Split(value, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// tasks splits the value of a flag that names what is done: something, and nothing twice, which
// would count double in means and tests.
func tasks(name, value string) ([]string, error) {
	out := list(value)
	if len(out) == 0 {
		return nil, fmt.Errorf("flag --%s: there is nothing to do", name)
	}
	for i, v := range out {
		if slices.Contains(out[:i], v) {
			return nil, fmt.Errorf("flag --%s: %q is there twice", name, v)
		}
	}
	return out, nil
}

// perSet runs an experiment on one set after the other, and writes each result as soon as it is
// there: a run may take long. left says what an interrupted run leaves.
func perSet[S, R any](c *call, sets []S, name func(S) string, asJSON bool, left func() error,
	one func(s S, done func(all int, format string, args ...any)) (R, error),
	write func(io.Writer, R) error) error {
	var reports []R
	for _, s := range sets {
		bar := progress.Start(c.Err, name(s))
		r, err := one(s, bar.Counter())
		bar.Stop()
		if c.ctx.Err() != nil {
			return left()
		}
		if err != nil {
			return err
		}
		if reports = append(reports, r); asJSON {
			continue
		}
		if err := write(c.Out, r); err != nil {
			return err
		}
	}
	if asJSON {
		return c.json(reports)
	}
	return nil
}

var experimentHomologs = &command{
	name: "experiment homologs", args: "", min: 0, max: 0,
	summary: "Predicts native sequences from homologs and decoys, judged by Smith-Waterman score.",
	about: `
Draws native sequences of 50 residues with four homologs (substitutions,
insertions, deletions) and one decoy (the native shuffled) each. It trains a chain
to label the positions with the native's residues, by cross-entropy, a Hamming
margin, a margin of the Smith-Waterman loss and the expected Smith-Waterman loss
(risk). The last two use a band. Each objective uses the l2 and gamma that do best on
held-out sequences. Predictions are scored by their Smith-Waterman alignment with
the native: 1 a match, -1/2 all else, 50 at best.
The package comment of cmd/learn/internal/experiment defines the task.

Example (the defaults; --seeds 3 is quicker):

  learn experiment homologs --seeds 10 --band 1`,
	setup: func(fs *flags.Set) func(*call) error {
		o := &experiment.HomologOptions{}
		options.Define(fs, o)
		options.Define(fs, &o.Task)
		asJSON := fs.Bool("json", false, "Report as JSON")
		_, writeTable := tableFlag(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			bar := progress.Start(c.Err, "homologs")
			done := bar.Counter()
			o.Fitted = func(trial int, e *experiment.Entry, k experiment.Constants, heldout float64, fits int) {
				done(fits, "seed %d: %s with %v: score %.2f on held-out sequences", trial+1, e.Name, k, -heldout/2)
			}
			r, err := experiment.Homologs(c.ctx, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return &stopped{"the experiment has no state to keep; start it again, with fewer --seeds if it takes " +
					"too long"}
			}
			if err != nil {
				return err
			}
			if err := writeTable(c, r.WriteCSV); err != nil {
				return err
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}
