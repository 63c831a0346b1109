package boost_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/run/runtest"
)

// A run that is cancelled anywhere, in the middle of a tree too, has the whole rounds before it,
// and goes on from its checkpoint to the model of a run that was not cancelled, to the byte.
func TestCancelledInTheMiddle(t *testing.T) {
	text := words(rand.New(rand.NewPCG(1, 1)), 200, 60, 8)
	three := strings.NewReplacer("\n1:", "\n2:").Replace(text[:len(text)/2]) + text[len(text)/2:]
	for _, storage := range []table.Storage{table.DenseStorage, table.SparseStorage} {
		for name, c := range map[string]struct {
			text  string
			loss  boost.Loss
			train func(_, _ *boost.Data, _ *run.Control) (*boost.Ensemble, *optim.Result, error)
		}{
			"gb": {text, boost.Logistic{}, func(d, v *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result,
				error) {
				return boost.TrainGradient(d, &boost.GradientOptions{Rounds: 6, Loss: boost.Logistic{}, Valid: v}, c)
			}},
			"gb of three classes": {three, boost.SoftMax{Classes: 3},
				func(d, v *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result, error) {
					return boost.TrainGradient(d, &boost.GradientOptions{
						Rounds: 6, Loss: boost.SoftMax{Classes: 3}, Valid: v}, c)
				}},
			"gb, exact": {text, boost.Logistic{}, func(d, v *boost.Data, c *run.Control) (*boost.Ensemble,
				*optim.Result, error) {
				return boost.TrainGradient(d, &boost.GradientOptions{Rounds: 3, Exact: true,
					Loss: boost.Logistic{}, Valid: v}, c)
			}},
			"rgb": {text, boost.Logistic{}, func(d, v *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result,
				error) {
				return boost.TrainRGB(d, &boost.RGBOptions{Rounds: 4, Loss: boost.Logistic{}, Seed: 1, Valid: v}, c)
			}},
			"adaboost with penalties": {text, boost.Logistic{},
				func(d, v *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result, error) {
					return boost.TrainAdaBoost(d, &boost.AdaBoostOptions{Rounds: 4, Variant: boost.Deep,
						Families: boost.Grid([]int{1, 3}, []float64{1}), Lambda: .01, Valid: v}, c)
				}},
			"adaboost": {text, boost.Logistic{}, func(d, v *boost.Data, c *run.Control) (*boost.Ensemble,
				*optim.Result, error) {
				return boost.TrainAdaBoost(d, &boost.AdaBoostOptions{
					Rounds: 9, Learner: boost.SignTrees{Splits: 4, Bins: 255}, Valid: v}, c)
			}},
		} {
			x, err := table.Read(strings.NewReader(c.text), "x.svm", &table.Options{Storage: storage})
			if err != nil {
				t.Fatal(err)
			}
			d, err := boost.NewData(x, c.loss)
			if err != nil {
				t.Fatal(err)
			}
			save := func(e *boost.Ensemble) string {
				var b bytes.Buffer
				if err := e.Write(&b); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			whole, _, err := c.train(d, d, &run.Control{Workers: 1})
			if err != nil {
				t.Fatal(name, err)
			}
			prepared, middle := 0, 0
			for n := 0; ; n = n + 1 + n/9 {
				var state *run.Checkpoint
				control := &run.Control{Ctx: runtest.NewCountdown(n), Workers: 1, CheckpointEvery: 100,
					Checkpoint: func(k *run.Checkpoint) error {
						var b bytes.Buffer
						if err := k.Write(&b); err != nil {
							return err
						}
						var err error
						state, err = run.ReadCheckpoint(&b)
						return err
					}}
				e, _, err := c.train(d, d, control)
				if err == nil {
					if save(e) != save(whole) {
						t.Errorf("%s: another model under a context", name)
					}
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("%s after %d looks: %v", name, n, err)
				}
				var stopped *run.InterruptedError
				if !errors.As(err, &stopped) || stopped.Steps == 0 && state == nil {
					prepared++ // there was no round yet
					continue
				}
				if state == nil {
					t.Fatalf("%s after %d looks: no checkpoint", name, n)
				}
				middle++
				if state.Iteration != stopped.Steps {
					t.Errorf("%s: the checkpoint is of round %d, the error of %d", name, state.Iteration, stopped.Steps)
				}
				again, _, err := c.train(d, d, &run.Control{Workers: 1, Resume: state})
				if err != nil {
					t.Fatal(name, err)
				}
				if save(again) != save(whole) {
					t.Fatalf("%s after %d looks, %d rounds: another model after going on", name, n, stopped.Steps)
				}
			}
			if prepared < 1 || middle < 8 {
				t.Errorf("%s: cancelled %d times before the first round, %d times later", name, prepared, middle)
			}
		}
	}
}
