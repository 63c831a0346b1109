package optim

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Watched is an Objective, or Terms, with a loss on held-out examples. OWLQN and Stochastic ask for
// it after every iteration or pass, return the point where it was least, and obey Stop.Patience.
type Watched interface {
	// Watch returns the loss at x, which it keeps intact.
	Watch(x []float64) (loss float64, err error)
}

// bestArray is the array of checkpoints with the point of the least held-out loss.
const bestArray = "best"

// watching keeps the point of the least held-out loss.
type watching struct {
	f    Watched
	best []float64 // nil before the first
}

func watch(f any, k *run.Checkpoint) *watching {
	w := &watching{}
	w.f, _ = f.(Watched)
	if k != nil {
		w.best = slices.Clone(k.Arrays[bestArray])
	}
	return w
}

// judge asks for the loss after a step.
func (w *watching) judge(r *solving, step int, x []float64) error {
	if w.f == nil {
		return nil
	}
	loss, err := w.f.Watch(x)
	if err != nil {
		return fmt.Errorf("optim: %s: held-out examples after step %d: %w", r.Name, step, err)
	}
	if r.Judge(step, loss) {
		w.best = append(w.best[:0], x...)
	}
	return nil
}

// keep adds the best point to a checkpoint.
func (w *watching) keep(k *run.Checkpoint) *run.Checkpoint {
	if w.best != nil {
		if k.Arrays == nil {
			k.Arrays = map[string][]float64{}
		}
		k.Arrays[bestArray] = slices.Clone(w.best)
	}
	return k
}

// point returns the point to hand out instead of x, and what to say of it.
func (w *watching) point(r *solving, x []float64) (best []float64, note string) {
	if w.best == nil || len(w.best) != len(x) {
		return x, ""
	}
	return w.best, fmt.Sprintf("of step %d, whose loss on the held-out examples is the least: %.6g",
		r.Best.Step, r.Best.Loss)
}
