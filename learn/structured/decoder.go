package structured

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// Exactness says what is known of a decoded output.
type Exactness string

// What decoders may claim. A tolerance of 1e-9, relative to the sum of the absolute losses
// of the output, covers rounding.
const (
	ExactOverSpace      Exactness = "exact"                 // no output has a lower value
	ExactOverCandidates Exactness = "exact over candidates" // no candidate has a lower value
	Bounded             Exactness = "bounded"               // LowerBound says how far it may be off
	Heuristic           Exactness = "heuristic"             // nothing is known
)

// Decoded is an output with what is known of it.
type Decoded[Y any] struct {
	Output     Y
	Value      float64 // F(Output) = Σ_i α_i Δ(Output, y_i)
	LowerBound float64 // at most the least F over the outputs that Exact speaks of; -Inf is unknown
	// Margin is the second lowest F less the lowest, where the decoder compares candidates or
	// classes; NaN elsewhere. A small margin is a doubtful prediction.
	Margin float64
	Exact  Exactness
	// Degenerate says that all weights were zero, as for a query far from all data: Output then
	// minimises the mean loss over the training outputs.
	Degenerate bool
	Steps      int // of a search: expansions, sweeps or candidates; 0 for closed forms
}

// Gap is how far Value may lie above the least value: 0 for exact outputs, +Inf for heuristic
// ones.
func (d *Decoded[Y]) Gap() float64 { return math.Max(0, d.Value-d.LowerBound) }

// settle states what value and bound prove. scale is the size of the terms that were added.
func (d *Decoded[Y]) settle(scale float64, exact Exactness) {
	switch {
	case d.Value-d.LowerBound <= 1e-9*(scale+math.Abs(d.Value)):
		d.Exact, d.LowerBound = exact, d.Value
	case math.IsInf(d.LowerBound, -1):
		d.Exact = Heuristic
	default:
		d.Exact = Bounded
	}
}

// Decoder finds the output of least F(y) = Σ_i α_i Δ(y, y_i). It was made for training outputs
// y_1 … y_n, and may be used by several goroutines at once.
type Decoder[Y any] interface {
	// Len is n.
	Len() int
	// Decode takes n weights of any sign, which need not sum to one.
	Decode(ctx context.Context, alpha []float64) (Decoded[Y], error)
}

// Loss is Δ(prediction, truth): the prediction comes first, and the loss need not be symmetric.
type Loss[Y any] func(prediction, truth Y) float64

// ErrOutputs reports training outputs that a decoder cannot use.
var ErrOutputs = errors.New("structured: unusable outputs")

// ErrLoss reports a loss that is not finite. F would be ∞ - ∞ where weights differ in sign.
var ErrLoss = errors.New("structured: a loss that is not finite")

// check refuses weights that no decoder can use.
func check(alpha []float64, n int) error {
	if len(alpha) != n {
		return fmt.Errorf("structured: %d weights for %d training outputs", len(alpha), n)
	}
	for i, a := range alpha {
		if a-a != 0 {
			return fmt.Errorf("structured: the weight of training output %d is %v", i+1, a)
		}
	}
	return nil
}

// Decode is d.Decode, except for weights that are all zero. F is then constant, and the output of
// least mean loss is taken, with Degenerate set, instead of an arbitrary one.
func Decode[Y any](ctx context.Context, d Decoder[Y], alpha []float64) (Decoded[Y], error) {
	if err := check(alpha, d.Len()); err != nil {
		return Decoded[Y]{}, err
	}
	return orDefault(alpha, func(alpha []float64) (Decoded[Y], error) { return d.Decode(ctx, alpha) })
}

func orDefault[Y any](alpha []float64, find func(alpha []float64) (Decoded[Y], error)) (Decoded[Y], error) {
	for _, a := range alpha {
		if a != 0 {
			return find(alpha)
		}
	}
	even := make([]float64, len(alpha))
	for i := range even {
		even[i] = 1 / float64(len(even))
	}
	out, err := find(even)
	out.Value, out.LowerBound, out.Margin, out.Degenerate = 0, 0, 0, true
	return out, err
}

// cancelled turns a cancelled context into its error.
func cancelled(ctx context.Context, steps int) error {
	if ctx.Err() == nil {
		return nil
	}
	return &run.InterruptedError{Name: "structured", Steps: steps, Err: context.Cause(ctx)}
}

// norm1 is Σ|α_i|.
func norm1(alpha []float64) float64 {
	s := 0.0
	for _, a := range alpha {
		s += math.Abs(a)
	}
	return s
}

// support lists the training outputs whose weight is not zero.
func support(alpha []float64) []int {
	var out []int
	for i, a := range alpha {
		if a != 0 {
			out = append(out, i)
		}
	}
	return out
}

// Risk returns F(y) = Σ_i α_i Δ(y, truth_i), by definition: O(n) losses.
func Risk[Y any](loss Loss[Y], y Y, truths []Y, alpha []float64) float64 {
	f := 0.0
	for i, a := range alpha {
		if a != 0 {
			f += a * loss(y, truths[i])
		}
	}
	return f
}
