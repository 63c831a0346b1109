package optim_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// A limit of time is one of the run in all: what was spent before a checkpoint counts after it, through any
// number of interruptions, and is what rows and checkpoints tell.
func TestTimeLimitAcrossResume(t *testing.T) {
	l := newLogistic(9, 20, 60, 5)
	solvers := map[string]func(c *run.Control, x0 []float64) (*optim.Result, error){
		"LBFGS": func(c *run.Control, x0 []float64) (*optim.Result, error) {
			return optim.LBFGS{}.Minimize(rosenbrock(20), x0, c)
		},
		"OWLQN": func(c *run.Control, x0 []float64) (*optim.Result, error) {
			return optim.OWLQN{L1: 1e-3}.Minimize(rosenbrock(20), x0, c)
		},
		"AdaGrad": func(c *run.Control, x0 []float64) (*optim.Result, error) {
			return optim.Stochastic{Method: optim.AdaGrad, Seed: 1}.Minimize(l, x0, c)
		},
		"Adam": func(c *run.Control, x0 []float64) (*optim.Result, error) {
			return optim.Stochastic{Method: optim.Adam, Seed: 1}.Minimize(l, x0, c)
		},
	}
	for name, minimize := range solvers {
		t.Run(name, func(t *testing.T) {
			// part runs until an interruption after some iterations, and returns the checkpoint as a file holds it.
			part := func(limit time.Duration, resume *run.Checkpoint, iterations int) (*run.Checkpoint, []run.Row, *optim.Result, error) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var saved bytes.Buffer
				var rows []run.Row
				x0 := make([]float64, 20)
				if resume != nil {
					x0 = nil
				}
				r, err := minimize(&run.Control{
					Ctx: ctx, Resume: resume, Stop: run.Stop{Time: limit, Gradient: -1, Relative: -1, Iterations: 1000},
					Recorder: run.RecorderFunc(func(r run.Row) error {
						if rows = append(rows, r); len(rows) == iterations {
							cancel()
						}
						return nil
					}),
					Checkpoint: func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) },
				}, x0)
				if saved.Len() == 0 {
					return nil, rows, r, err
				}
				k, readErr := run.ReadCheckpoint(&saved)
				if readErr != nil {
					t.Fatal(readErr)
				}
				return k, rows, r, err
			}
			const limit = time.Hour
			k, _, _, err := part(limit, nil, 3)
			if !errors.Is(err, context.Canceled) || k == nil || !(k.Seconds > 0) || k.Seconds > 600 {
				t.Fatalf("interrupted: %v, checkpoint %+v", err, k)
			}
			// As if it had taken 50 minutes: ten are left, in which it goes on.
			k.Seconds = 3000
			k, rows, _, err := part(limit, k, 3)
			if !errors.Is(err, context.Canceled) || k == nil || k.Seconds < 3000 || k.Seconds > 3590 {
				t.Fatalf("resumed with time left: %v, checkpoint %+v", err, k)
			}
			if len(rows) == 0 || rows[0].Seconds < 3000 || rows[len(rows)-1].Seconds > k.Seconds {
				t.Errorf("rows of the resumed run: %+v, checkpoint %v s", rows, k.Seconds)
			}
			// And as if it had taken one more than allowed: an iteration, no more, tells.
			k.Seconds = limit.Seconds() + 1
			_, rows, r, err := part(limit, k, 100)
			if err != nil || r.Reason != run.TimeLimit || len(rows) > 2 {
				t.Errorf("resumed beyond the limit: %v, %+v, %d rows", err, r, len(rows))
			}
			// The same run with a later limit goes on.
			if _, rows, _, err := part(2*limit, k, 3); !errors.Is(err, context.Canceled) || len(rows) != 3 {
				t.Errorf("resumed within a later limit: %v, %d rows", err, len(rows))
			}
		})
	}
}
