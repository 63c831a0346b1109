package structured

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/run"
	"gonum.org/v1/gonum/blas"
)

// Finite decodes over a list of candidates by their losses against the training outputs. It is
// exact over them, or over the space where the list is all of it. Outputs are numbers of
// candidates. Ties go to the lowest number.
type Finite struct {
	candidates, n int
	loss          []float64 // L[c·n+i] = Δ(candidate c, y_i)
	exact         Exactness
}

// NewFinite makes a decoder of a loss matrix, in rows of a candidate each: n losses against
// the training outputs. all says that the candidates are the whole output space.
//
// Errors: no candidate, and losses that are not finite. The matrix is kept.
func NewFinite(loss []float64, n int, all bool) (*Finite, error) {
	if n < 1 || len(loss) < n || len(loss)%n != 0 {
		return nil, fmt.Errorf("%w: %d losses for %d training outputs: there must be at least one candidate",
			ErrOutputs, len(loss), n)
	}
	for k, v := range loss {
		if v-v != 0 {
			return nil, fmt.Errorf("%w: that of candidate %d against training output %d is %v; put a floor under it",
				ErrLoss, k/n+1, k%n+1, v)
		}
	}
	f := &Finite{candidates: len(loss) / n, n: n, loss: loss, exact: ExactOverCandidates}
	if all {
		f.exact = ExactOverSpace
	}
	return f, nil
}

// Losses returns the matrix of losses of candidates against truths, for NewFinite. The cost is
// that of all their pairs, on workers goroutines.
func Losses[Y any](candidates, truths []Y, loss Loss[Y], workers int) []float64 {
	out, _ := lossesIn(context.Background(), candidates, truths, loss, workers) // which is never cancelled
	return out
}

func lossesIn[Y any](ctx context.Context, candidates, truths []Y, loss Loss[Y],
	workers int) ([]float64, error) {
	n := len(truths)
	out := make([]float64, len(candidates)*n)
	err := run.Each(workers, len(candidates), func(_, c int) error {
		if err := cancelled(ctx, 0); err != nil {
			return err
		}
		for i, y := range truths {
			out[c*n+i] = loss(candidates[c], y)
		}
		return nil
	})
	return out, err
}

// Len implements Decoder.
func (f *Finite) Len() int { return f.n }

// Candidates returns their number.
func (f *Finite) Candidates() int { return f.candidates }

// Decode implements Decoder: O(candidates·n).
func (f *Finite) Decode(_ context.Context, alpha []float64) (Decoded[int], error) {
	if err := check(alpha, f.n); err != nil {
		return Decoded[int]{}, err
	}
	return f.best(f.Values(alpha, 1, 1)), nil
}

// Values returns F of every candidate for q queries. alpha has n weights for each query, and the
// result the values of all candidates for each. One matrix product.
func (f *Finite) Values(alpha []float64, q, workers int) []float64 {
	out := make([]float64, q*f.candidates)
	gemm.Gemm(workers, blas.NoTrans, blas.Trans, q, f.candidates, f.n, 1, alpha, f.n, f.loss, f.n, 0,
		out, f.candidates)
	return out
}

// DecodeAll is Decode for q queries at once: alpha has n weights for each, query by query.
func (f *Finite) DecodeAll(alpha []float64, q, workers int) ([]Decoded[int], error) {
	if err := check(alpha, q*f.n); err != nil {
		return nil, err
	}
	values, out := f.Values(alpha, q, workers), make([]Decoded[int], q)
	for i := range out {
		out[i] = f.best(values[i*f.candidates:][:f.candidates])
	}
	return out, nil
}

// best takes the lowest of the values of all candidates.
func (f *Finite) best(values []float64) Decoded[int] {
	d := Decoded[int]{Exact: f.exact}
	d.Output, d.Margin = lowest(values)
	d.Value = values[d.Output]
	d.LowerBound = d.Value
	return d
}

// lowest returns the first of the lowest values, and by how much the next one is higher:
// +Inf where there is one value only.
func lowest(values []float64) (best int, margin float64) {
	second := math.Inf(1)
	for c := 1; c < len(values); c++ {
		switch v := values[c]; {
		case v < values[best]:
			second, best = values[best], c
		case v < second:
			second = v
		}
	}
	return best, second - values[best]
}

// Candidates decodes over a list of outputs of any kind. See Finite.
type Candidates[Y any] struct {
	Outputs []Y
	*Finite
}

// NewCandidates computes all losses of candidates against truths, on workers goroutines. With
// nil candidates the truths are taken.
func NewCandidates[Y any](candidates, truths []Y, loss Loss[Y], workers int) (*Candidates[Y], error) {
	return newCandidates(context.Background(), candidates, truths, loss, workers)
}

func newCandidates[Y any](ctx context.Context, candidates, truths []Y, loss Loss[Y],
	workers int) (*Candidates[Y], error) {
	if candidates == nil {
		candidates = truths
	}
	if err := kernel.Foresee(len(candidates), len(truths), nil); err != nil {
		return nil, fmt.Errorf("structured: losses of %d candidates against %d training outputs: %w",
			len(candidates), len(truths), err)
	}
	all, err := lossesIn(ctx, candidates, truths, loss, workers)
	if err != nil {
		return nil, err
	}
	f, err := NewFinite(all, len(truths), false)
	if err != nil {
		return nil, err
	}
	return &Candidates[Y]{candidates, f}, nil
}

// Decode implements Decoder.
func (c *Candidates[Y]) Decode(ctx context.Context, alpha []float64) (Decoded[Y], error) {
	d, err := c.Finite.Decode(ctx, alpha)
	if err != nil {
		return Decoded[Y]{}, err
	}
	return Decoded[Y]{Output: c.Outputs[d.Output], Value: d.Value, LowerBound: d.LowerBound, Margin: d.Margin,
		Exact: d.Exact}, nil
}

// MultiClass decodes classes under the loss 1[y ≠ y']. It returns the class with the largest sum of
// the weights of its examples, as the one-versus-all least squares classifier does. Exact.
type MultiClass struct {
	classes int
	truths  []int
}

// NewMultiClass takes the classes of the training examples, from 0.
func NewMultiClass(truths []int, classes int) (*MultiClass, error) {
	if len(truths) == 0 || classes < 1 {
		return nil, fmt.Errorf("%w: %d examples of %d classes", ErrOutputs, len(truths), classes)
	}
	for i, y := range truths {
		if y < 0 || y >= classes {
			return nil, fmt.Errorf("%w: example %d has class %d of %d", ErrOutputs, i+1, y, classes)
		}
	}
	return &MultiClass{classes, truths}, nil
}

// Len implements Decoder.
func (m *MultiClass) Len() int { return len(m.truths) }

// Scores returns the sums of weights by class; F(c) is the sum of all weights less score c.
func (m *MultiClass) Scores(alpha []float64) []float64 {
	s := make([]float64, m.classes)
	for i, a := range alpha {
		s[m.truths[i]] += a
	}
	return s
}

// Decode implements Decoder: O(n).
func (m *MultiClass) Decode(_ context.Context, alpha []float64) (Decoded[int], error) {
	if err := check(alpha, len(m.truths)); err != nil {
		return Decoded[int]{}, err
	}
	s, total := m.Scores(alpha), 0.0
	for c := range s {
		total += s[c]
		s[c] = -s[c]
	}
	d := Decoded[int]{Exact: ExactOverSpace}
	d.Output, d.Margin = lowest(s)
	d.Value = total + s[d.Output]
	d.LowerBound = d.Value
	return d, nil
}

// ZeroOne is the loss of MultiClass.
func ZeroOne[Y comparable](prediction, truth Y) float64 {
	if prediction == truth {
		return 0
	}
	return 1
}
