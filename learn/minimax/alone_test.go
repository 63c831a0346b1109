package minimax

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/optim"
)

// A run for regrets goes on from any of its checkpoints, those of the runs on one objective
// alone among them, to the same model and the same rows; what was found is not sought again.
func TestRegretsGoOn(t *testing.T) {
	d := &Data{Rows: 60, Features: 2, Classes: 2}
	for i := range d.Rows {
		a, b := float64(i*37%61)/30-1, float64(i*17%59)/30-1
		d.X = append(d.X, a, b)
		class := int32(0)
		if a+b*b > 0.2 != (i%7 == 0) {
			class = 1
		}
		d.Class = append(d.Class, class)
	}
	one, _ := QNorm(1)
	for _, o := range []Options{
		{Beta1: 0.1, Passes: 4, Batch: 16, Solver: MirrorProx, Gap: -1},
		{Beta1: 0.1, Passes: 3, Batch: 16},
		{Beta1: 0.01, Passes: 3, Batch: 16, Hidden: []int{3}},
	} {
		o.Normalization, o.Losses, o.Workers = Regret, []Loss{Hinge(), one, CrossEntropy()}, 1
		type saved struct {
			k    *optim.Checkpoint
			rows int // that were recorded before
		}
		train := func(resume *optim.Checkpoint) (*Fit, []string, []saved, error) {
			var rows []string
			var list []saved
			o := o
			o.Control = optim.Control{Resume: resume, CheckpointEvery: 1,
				Recorder: optim.RecorderFunc(func(r optim.Row) error {
					rows = append(rows, fmt.Sprint(r.Stage, Alone(r), r.Iteration, r.Objective, r.Saddle.Values, r.Saddle.Lambda))
					return nil
				}),
				Checkpoint: func(k *optim.Checkpoint) error { list = append(list, saved{k, len(rows)}); return nil }}
			f, err := Train(d, &o)
			return f, rows, list, err
		}
		f, rows, list, err := train(nil)
		if err != nil {
			t.Fatal(err)
		}
		alone := slices.DeleteFunc(slices.Clone(rows), func(r string) bool { return !strings.Contains(r, "cross-entropy alone: ") })
		if len(alone) < o.Passes || len(list) < 4*min(o.Passes, 3) {
			t.Errorf("hidden %v: %d rows of cross-entropy alone, %d checkpoints", o.Hidden, len(alone), len(list))
		}
		for i, at := range list {
			g, more, _, err := train(at.k)
			if err != nil {
				t.Fatalf("hidden %v: from checkpoint %d of %d: %v", o.Hidden, i+1, len(list), err)
			}
			if d := cmp.Diff(f.Model.Params, g.Model.Params); d != "" || !slices.Equal(f.Lambda, g.Lambda) {
				t.Errorf("hidden %v: from checkpoint %d of %d: another model: %s", o.Hidden, i+1, len(list), d)
			}
			if !slices.Equal(rows[at.rows:], more) {
				t.Errorf("hidden %v: from checkpoint %d of %d: other rows: %s", o.Hidden, i+1, len(list), cmp.Diff(rows[at.rows:], more))
			}
		}
		// What a checkpoint is of is told, also before all offsets are known.
		o.Beta1 = 0.2
		for _, at := range []saved{list[0], list[len(list)-1]} {
			if _, _, _, err := train(at.k); err == nil || !strings.Contains(err.Error(), "another problem: its l2 is 0.") {
				t.Errorf("with another penalty: %v", err)
			}
		}
		o.Beta1 /= 2
	}
}

// Interrupted in a run on one objective alone, training says so and leaves its state.
func TestRegretsInterrupted(t *testing.T) {
	d := &Data{X: []float64{1, 2, 3, 4}, Rows: 4, Features: 1, Class: []int32{0, 1, 0, 1}, Classes: 2}
	ctx, cancel := context.WithCancel(t.Context())
	var last *optim.Checkpoint
	_, err := Train(d, &Options{Normalization: Regret, Losses: []Loss{Hinge(), CrossEntropy()}, Beta1: 0.1, Passes: 5, Solver: MirrorProx, Gap: -1, Control: optim.Control{Ctx: ctx,
		Recorder: optim.RecorderFunc(func(r optim.Row) error {
			if strings.HasPrefix(r.Stage, "cross-entropy alone") && r.Iteration == 2 {
				cancel()
			}
			return nil
		}),
		Checkpoint: func(k *optim.Checkpoint) error { last = k; return nil }}})
	cancel()
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the least cross-entropy alone, for regrets") {
		t.Error(err)
	}
	if last == nil || len(last.Arrays["offsets"]) != 1 || last.Iteration != 2 {
		t.Errorf("state: %+v", last)
	}
}
