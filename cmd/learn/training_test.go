package main

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// trained runs training with flags and a solver of the test's.
func trained(t *testing.T, ctx context.Context, words []string, solver func(run.Control) error) error {
	t.Helper()
	var of training
	c := &call{ctx: ctx, prog: "learn test", flags: flags.New(),
		Streams: cli.Streams{Out: io.Discard, Err: io.Discard}}
	of.define(c.flags, 10, 1e-5)
	if _, err := c.flags.Parse(words); err != nil {
		t.Fatal(err)
	}
	return of.run(c, "test", nil, func(_ int, control run.Control) (*fitted, error) {
		if err := solver(control); err != nil {
			return nil, err
		}
		write := func(w io.Writer) error { _, err := io.WriteString(w, "model"); return err }
		return &fitted{result: &optim.Result{X: []float64{1}, Reason: run.GradientSmall}, write: write}, nil
	})
}

// A report that cannot be given in the form asked for ends the run before there is a model;
// the history, which shows what happened, stays, as it does where the solver fails.
func TestNothingWithoutReport(t *testing.T) {
	for _, json := range []bool{true, false} {
		for _, fails := range []error{nil, saddle.ErrDiverged} {
			dir := t.TempDir()
			m, history := filepath.Join(dir, "m"), filepath.Join(dir, "h.csv")
			var of training
			var out strings.Builder
			c := &call{ctx: t.Context(), prog: "learn test", flags: flags.New(),
				Streams: cli.Streams{Out: &out, Err: io.Discard}}
			of.define(c.flags, 10, 1e-5)
			words := []string{"--model", m, "--csv", history}
			if json {
				words = append(words, "--json")
			}
			if _, err := c.flags.Parse(words); err != nil {
				t.Fatal(err)
			}
			err := of.run(c, "test", nil, func(_ int, control run.Control) (*fitted, error) {
				if err := control.Recorder.Record(run.Row{Iteration: 1, Objective: 3, Evaluations: 1}); err != nil {
					return nil, err
				}
				write := func(w io.Writer) error { _, err := io.WriteString(w, "model"); return err }
				return &fitted{result: &optim.Result{F: math.Inf(1), Reason: run.IterationLimit}, write: write}, fails
			})
			_, none := os.Stat(m)
			if whole := !json && fails == nil; whole != (err == nil) || whole != (none == nil) ||
				!whole && out.Len() > 0 {
				t.Errorf("JSON %v, solver's error %v: error %v, the model's %v, %q", json, fails, err, none, out.String())
			}
			if fails != nil && (!errors.Is(err, fails) ||
				!strings.Contains(err.Error(), "the history up to there is in "+history)) {
				t.Errorf("solver's error %v: %v", fails, err)
			}
			if b, err := os.ReadFile(history); err != nil || strings.Count(string(b), "\n") != 2 {
				t.Errorf("JSON %v, solver's error %v: history %q, %v", json, fails, b, err)
			}
		}
	}
}

// Checkpoints are written as the run goes on where --checkpoint asks for them, else
// only when it is interrupted; and whenever one is written, the history that led there
// is a file beside it, for a process that is killed later.
func TestCheckpointsAndTheirHistory(t *testing.T) {
	state := &run.Checkpoint{Solver: "OWLQN", Iteration: 2, X: []float64{1}}
	rowsOf := func(name string) int { // -1: no file
		b, err := os.ReadFile(name)
		if err != nil {
			return -1
		}
		return strings.Count(string(b), "\n") - 1 // the first is the header
	}
	exists := func(name string) bool { _, err := os.Stat(name); return err == nil }
	for _, asked := range []bool{true, false} {
		for _, interrupt := range []bool{false, true} {
			dir := t.TempDir()
			m, history, k := filepath.Join(dir, "m"), filepath.Join(dir, "h.csv"), filepath.Join(dir, "m.checkpoint")
			words := []string{"--model", m, "--csv", history}
			if asked {
				k = filepath.Join(dir, "k")
				words = append(words, "--checkpoint", k)
			}
			ctx, cancel := context.WithCancel(t.Context())
			err := trained(t, ctx, words, func(control run.Control) error {
				for i := range 3 {
					if err := control.Recorder.Record(run.Row{Iteration: i, Objective: 3, Evaluations: i + 1}); err != nil {
						return err
					}
				}
				if err := control.Checkpoint(state); err != nil {
					return err
				}
				rows := -1
				if asked {
					rows = 3
				}
				if got := rowsOf(history); exists(k) != asked || got != rows {
					t.Errorf("asked for: %v; in the middle of the run: a checkpoint %v, %d rows of history, should be %d",
						asked, exists(k), got, rows)
				}
				if !interrupt {
					return nil
				}
				if err := control.Recorder.Record(run.Row{Iteration: 3, Objective: 2, Evaluations: 4}); err != nil {
					return err
				}
				cancel()
				err := control.Checkpoint(state)
				if got := rowsOf(history); !exists(k) || got != 4 {
					t.Errorf("asked for: %v; interrupted: a checkpoint %v, %d rows of history, should be 4",
						asked, exists(k), got)
				}
				return errors.Join(ctx.Err(), err)
			})
			cancel()
			var s *stopped
			if interrupt != errors.As(err, &s) || !interrupt && err != nil {
				t.Errorf("asked for: %v, interrupted: %v: %v", asked, interrupt, err)
			}
			rows := 3
			if interrupt {
				rows = 4
			}
			if exists(m) == interrupt || exists(k) != (asked || interrupt) || rowsOf(history) != rows {
				t.Errorf("asked for: %v, interrupted: %v: at the end a model %v, a checkpoint %v, %d rows of history",
					asked, interrupt, exists(m), exists(k), rowsOf(history))
			}
		}
	}
}

// A run in stages, as those for regrets are, took the time of all of them.
func TestSecondsOfStages(t *testing.T) {
	r := &trainingRun{}
	for _, row := range []run.Row{
		{Stage: "hinge alone: newton", Seconds: 1}, {Stage: "hinge alone: newton", Seconds: 4},
		{Stage: "mirror-prox", Seconds: 2}, {Stage: "newton", Seconds: 5}, {Stage: "newton", Seconds: 7},
	} {
		if err := r.note(row); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.spent + r.last.Seconds; got != 4+2+7 {
		t.Errorf("%v seconds, and not 13", got)
	}
}
