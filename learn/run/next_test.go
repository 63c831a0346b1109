package run_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// Two runs that are driven side by side stop, save and are interrupted each by itself.
func TestNextDrivesRunsSideBySide(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	saved := [2][]int{}
	var runs [2]*run.Run
	losses := [2][]float64{{3, 2, 2, 2, 2}, {3, 2, 1, 1, 0}}
	for k := range runs {
		runs[k] = run.Begin("it", &run.Control{Ctx: ctx, Stop: run.Stop{Patience: 2}, CheckpointEvery: 3,
			Checkpoint: func(c *run.Checkpoint) error { saved[k] = append(saved[k], c.Iteration); return nil }}, 1)
	}
	next := func(k int) (run.Reason, error) {
		r := runs[k]
		return r.Next(func() (*run.Row, run.Reason, error) {
			r.Judge(r.Steps()+1, losses[k][r.Steps()])
			return &run.Row{}, "", nil
		}, func() (*run.Checkpoint, error) { return &run.Checkpoint{}, nil })
	}
	for step := range 4 {
		for k := range runs {
			reason, err := next(k)
			want := run.Reason("")
			if k == 0 && step == 3 {
				want = run.OutOfPatience
			}
			if err != nil || reason != want {
				t.Fatalf("run %d, step %d: %q, %v", k, step+1, reason, err)
			}
		}
	}
	cancel()
	var stopped *run.InterruptedError
	if _, err := next(1); !errors.As(err, &stopped) || stopped.Steps != 4 {
		t.Errorf("%v", err)
	}
	if !slices.Equal(saved[0], []int{3}) || !slices.Equal(saved[1], []int{3, 4}) {
		t.Errorf("saved after %v", saved)
	}
}
