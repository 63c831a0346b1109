package resilient

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/optim"
)

// Weigh turns the loss of example n into what it counts in the sum and the derivative of that, by
// which its gradient is multiplied.
type Weigh func(n int, loss float64) (value, weight float64)

// Examples is a training objective that gives the loss of every example apart. Linear models,
// labellers of sequences and pronunciation models are such.
type Examples interface {
	Dim() int
	Len() int
	// Weights are those of the examples in the sum, nil for all 1. They are weights of rows, or
	// lengths of sequences, whose loss is the mean over positions.
	Weights() []float64
	// EvalWeighed returns Σ_n w_n v_n plus the penalties, where weigh turned loss l_n into v_n; a
	// nil weigh leaves it as it is. It stores l_n in losses and the gradient in grad, unless
	// they are nil. Weigh may be called from several goroutines, once for each example.
	EvalWeighed(x []float64, weigh Weigh, losses, grad []float64) (float64, error)
}

// Weighing makes a Weigh of a curve: h([l]_+).
func Weighing(c Curve) Weigh {
	return func(_ int, loss float64) (float64, float64) {
		if loss < 0 {
			return c.Value(0), 0
		}
		return c.Value(loss), c.Deriv(loss)
	}
}

// Objective is Σ_n w_n h([l_n(x)]_+) plus the penalties: resilient learning without multipliers
// (see the package comment), for any solver of package optim. It belongs to one goroutine at a
// time.
type Objective struct {
	e      Examples
	h      Relaxation
	curve  Curve // of the last evaluation
	losses []float64
}

// NewObjective returns the objective of a relaxation.
func NewObjective(e Examples, h Relaxation) (*Objective, error) {
	if err := Usable(h); err != nil {
		return nil, err
	}
	if l, ok := h.(Level); ok {
		return nil,
			fmt.Errorf("resilient: losses of at most %v are constraints that no objective has: use Descent",
				l.U)
	}
	return &Objective{e: e, h: h, losses: make([]float64, e.Len())}, nil
}

// Dim implements optim.Objective.
func (o *Objective) Dim() int { return o.e.Dim() }

// Examples returns how many examples an evaluation visits.
func (o *Objective) Examples() int { return o.e.Len() }

// Eval implements optim.Objective. CVaR needs the losses before it knows a weight, and costs a
// second evaluation without a gradient.
func (o *Objective) Eval(x, grad []float64) (float64, error) {
	if o.h.Shared() {
		if err := o.look(x); err != nil {
			return math.NaN(), err
		}
	}
	o.curve = o.h.At(o.losses, o.e.Weights())
	return o.e.EvalWeighed(x, Weighing(o.curve), o.losses, grad)
}

// look stores the losses at x, [l]_+ each.
func (o *Objective) look(x []float64) error {
	if _, err := o.e.EvalWeighed(x, nil, o.losses, nil); err != nil {
		return err
	}
	for i, l := range o.losses {
		if math.IsNaN(l) {
			return fmt.Errorf("resilient: the loss of example %d: %w", i+1, optim.ErrNotFinite)
		}
		o.losses[i] = max(l, 0)
	}
	return nil
}

// Multipliers returns losses and multipliers h'(l) of all examples at x.
func (o *Objective) Multipliers(x []float64) (losses, lambda []float64, err error) {
	if err := o.look(x); err != nil {
		return nil, nil, err
	}
	losses, lambda = make([]float64, len(o.losses)), make([]float64, len(o.losses))
	copy(losses, o.losses)
	c := o.h.At(losses, o.e.Weights())
	for i, l := range losses {
		lambda[i] = c.Deriv(l)
	}
	return losses, lambda, nil
}

var _ optim.Objective = (*Objective)(nil)
