package minimax

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// oldRuns are runs with a checkpoint in testdata/old, written by the program before these solvers
// trained under run.Loop.
func oldRuns() (*Data, map[string]Options) {
	rng := rand.New(rand.NewPCG(5, 5))
	d := &Data{Rows: 90, Features: 7, Classes: 2}
	for range d.Rows {
		sum := 0.0
		for range d.Features {
			x := rng.NormFloat64()
			sum += x
			d.X = append(d.X, x)
		}
		class := int32(0)
		if sum+rng.NormFloat64() > 0 {
			class = 1
		}
		d.Class = append(d.Class, class)
	}
	held := *d
	held.Rows, held.X, held.Class = 30, d.X[:30*7], d.Class[:30]
	return d, map[string]Options{
		"dual-ascent": {Losses: ThesisLosses(), Beta1: 1e-2, Solver: DualAscent, Gap: 1e-3},
		"newton":      {Losses: ThesisLosses(), Beta1: 1e-4, Gap: 1e-5},
		"newton-norm": {Losses: ThesisLosses(), Beta1: 1e-4, Norm: true, Gap: 1e-7},
		"network": {Losses: ThesisLosses(), Beta1: 1e-3, Hidden: []int{5}, Passes: 6, Batch: 20,
			Network: Network{Heldout: &held}},
		"regret": {Losses: ThesisLosses(), Beta1: 1e-3, Hidden: []int{5}, Passes: 4, Batch: 20,
			Normalization: Regret},
	}
}

// A checkpoint that an earlier program wrote goes on to the model of an unbroken run.
func TestOldCheckpoints(t *testing.T) {
	d, runs := oldRuns()
	for name, o := range runs {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("testdata", "old", name+".checkpoint"))
			if err != nil {
				t.Fatal(err)
			}
			k, err := run.ReadCheckpoint(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			whole, err := Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			o.Control = run.Control{Resume: k, Recorder: run.RecorderFunc(func(run.Row) error { rows++; return nil })}
			got, err := Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Passes != whole.Passes || got.Evaluations != whole.Evaluations || got.Reason != whole.Reason ||
				rows == 0 || k.Iteration == 0 {
				t.Errorf("%d rounds, %d evaluations, %s; from the checkpoint of round %d: %d, %d, %s", whole.Passes,
					whole.Evaluations, whole.Reason, k.Iteration, got.Passes, got.Evaluations, got.Reason)
			}
			for j, w := range whole.Model.Params {
				if !(math.Abs(got.Model.Params[j]-w) <= 1e-6) { // equal on the machine that wrote the file
					t.Errorf("parameter %d is %v, of the unbroken run %v", j, got.Model.Params[j], w)
				}
			}
		})
	}
}
