package minimax_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// A mixture by regrets resumes from every checkpoint, through a file, to the rows and the weights
// of an unbroken run. That includes checkpoints of, and between, the runs on single objectives,
// which are announced as they start.
func TestMixtureRegretsGoOn(t *testing.T) {
	type saved struct {
		file string
		rows int // that were recorded before
	}
	train := func(from string) (*minimax.MixtureFit, []string, []saved, int) {
		parts, _ := three()
		var rows []string
		var list []saved
		live := 0
		o := &minimax.MixtureOptions{Beta1: 1e-4, Gap: 1e-7, Absolute: true, Inner: 2,
			Normalization: minimax.Regret}
		o.Control = run.Control{CheckpointEvery: 1,
			Recorder: run.RecorderFunc(func(r run.Row) error {
				rows = append(rows, fmt.Sprint(r.Stage, minimax.Alone(r), r.Iteration, r.Evaluations, r.Objective,
					*saddle.RowOf(r)))
				return nil
			}),
			Live: run.RecorderFunc(func(r run.Row) error {
				if len(saddle.RowOf(r).Names) != 3 || r.Stage == "" {
					t.Errorf("a live row without names or stage: %+v", r)
				}
				live++
				return nil
			}),
			Checkpoint: func(k *run.Checkpoint) error {
				var b bytes.Buffer
				if err := k.Write(&b); err != nil {
					return err
				}
				list = append(list, saved{b.String(), len(rows)})
				return nil
			}}
		if from != "" {
			k, err := run.ReadCheckpoint(strings.NewReader(from))
			if err != nil {
				t.Fatal(err)
			}
			o.Control.Resume = k
		}
		f, err := minimax.TrainMixture(parts, o)
		if err != nil {
			t.Fatal(err)
		}
		return f, rows, list, live
	}
	f, rows, list, live := train("")
	alone := 0
	for _, r := range rows {
		if strings.Contains(r, "alone: smoothed") && strings.Contains(r, "NaN") {
			alone++
		}
	}
	if alone < 3 || alone == len(rows) || len(list) < 4 || live < len(rows) {
		t.Errorf("%d rows, %d of them alone, %d live; %d checkpoints", len(rows), alone, live, len(list))
	}
	for i, at := range list {
		g, more, _, _ := train(at.file)
		if !slices.Equal(f.W, g.W) || !slices.Equal(f.Lambda, g.Lambda) || !slices.Equal(f.Offsets, g.Offsets) {
			t.Errorf("from checkpoint %d of %d: another model", i+1, len(list))
		}
		if d := cmp.Diff(rows[at.rows:], more); d != "" {
			t.Errorf("from checkpoint %d of %d: other rows: %s", i+1, len(list), d)
		}
	}
	// A state of fewer objectives is refused.
	parts, _ := three()
	k, err := run.ReadCheckpoint(strings.NewReader(list[len(list)-1].file))
	if err != nil {
		t.Fatal(err)
	}
	o := &minimax.MixtureOptions{Beta1: 1e-4, Normalization: minimax.Regret}
	o.Control.Resume = k
	if _, err := minimax.TrainMixture(parts[:2], o); err == nil {
		t.Error("offsets of three objectives were taken for two")
	}
}
