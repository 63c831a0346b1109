package losses

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// SoftmaxMargin is the softmax-margin objective of padded batches: for each example
//
//	F = log Σ_u exp(θ(u) + γ L(u, reference)) - θ(reference),
//
// and its gradient with respect to θ: what a training step needs, in one call. The zero value,
// except for Alphabet and Order, is the plain conditional random field. It keeps machines and
// working memory from one call to the next, and serves one goroutine.
//
//	obj := losses.SoftmaxMargin[float32]{Loss: losses.Unit, Alphabet: 30, Order: 2}
//	err := obj.Eval(ctx, references, theta, values, &grad)
type SoftmaxMargin[F float32 | float64] struct {
	Loss     Loss    // nil is the loss 0: the plain conditional random field
	Gamma    float64 // γ; zero is 1, since γ = 0 is Loss = nil
	Alphabet int     // labels are 0 … Alphabet-1
	Order    int     // q: 1, 2 or 3; zero is 1
	Workers  int     // zero is GOMAXPROCS; results do not depend on it
	Cache    *Cache  // of machines, for objectives to share; nil is one of its own

	own      *Cache
	workers  []*marginWorker
	failures []error
	slots    []marginSlot
}

// marginSlot remembers the machine of the example at a place in the batch, which the next
// batch has too where it is the same.
type marginSlot struct {
	ref     []int
	key     []byte
	machine *Machine
}

type marginWorker struct {
	e   Evaluator
	p   Potentials
	r   Result
	key []byte
}

// Eval evaluates the examples of theta, one a reference. Strings of example b have the length of
// references[b]; later rows are padding, never read. It stores F of example b in values[b], and the
// gradient in grad, of the shape of theta, with zeros for padding. nil is no gradient. values may
// be nil. grad must not share memory with theta.
//
// Calls with the references of the call before allocate nothing on one worker, and a
// few goroutines on several.
//
// Errors: shapes, references outside the alphabet, a reference that a potential of -Inf forbids,
// those of Loss.Machine and Evaluator.Eval. An error names the first example that has one. The
// value of every example that fails is NaN and its gradient 0. The others are evaluated all the
// same, unless ctx is done.
func (s *SoftmaxMargin[F]) Eval(ctx context.Context, references [][]int, theta Tensor[F], values []float64,
	grad *Tensor[F]) error {
	order, gamma := max(s.Order, 0), s.Gamma
	if s.Order == 0 {
		order = 1
	}
	if gamma == 0 {
		gamma = 1
	}
	if s.Loss == nil {
		gamma = 0
	}
	if err := s.check(references, &theta, values, grad, order); err != nil {
		return err
	}
	if s.own == nil {
		s.own = NewCache(0)
	}
	workers := s.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(references))
	for len(s.workers) < workers {
		s.workers = append(s.workers, &marginWorker{})
	}
	s.failures = layered.Resize(s.failures, len(references))
	clear(s.failures)
	if n := len(references) - len(s.slots); n > 0 {
		s.slots = append(s.slots, make([]marginSlot, n)...)
	}
	switch {
	case workers == 1:
		for b := range references {
			s.failures[b] = s.one(ctx, s.workers[0], references[b], b, order, gamma, &theta, values, grad)
		}
	case workers > 1:
		s.side(ctx, workers, references, order, gamma, theta, values, grad)
	}
	for b, err := range s.failures {
		if err != nil {
			return fmt.Errorf("losses: example %d: %w", b, err)
		}
	}
	return nil
}

// side evaluates on several workers. It is apart so that what its goroutines share is
// allocated for them alone.
func (s *SoftmaxMargin[F]) side(ctx context.Context, workers int, references [][]int, order int,
	gamma float64, theta Tensor[F], values []float64, grad *Tensor[F]) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, w := range s.workers[:workers] {
		wg.Go(func() {
			for {
				b := int(next.Add(1)) - 1
				if b >= len(references) {
					return
				}
				s.failures[b] = s.one(ctx, w, references[b], b, order, gamma, &theta, values, grad)
			}
		})
	}
	wg.Wait()
}

func (s *SoftmaxMargin[F]) check(references [][]int, theta *Tensor[F], values []float64, grad *Tensor[F],
	order int) error {
	if err := theta.check("potentials"); err != nil {
		return err
	}
	if err := windowsOf(theta.Window, s.Alphabet, order); err != nil {
		return err
	}
	if math.IsNaN(s.Gamma) || math.IsInf(s.Gamma, 0) {
		return fmt.Errorf("losses: γ is %v", s.Gamma)
	}
	if theta.Batch != len(references) {
		return fmt.Errorf("losses: %d references for a batch of %d", len(references), theta.Batch)
	}
	if values != nil && len(values) != len(references) {
		return fmt.Errorf("losses: room for %d values for a batch of %d", len(values), len(references))
	}
	for b, ref := range references {
		if len(ref) > theta.Length {
			return fmt.Errorf("losses: example %d: a reference of %d labels, but the potentials have %d "+
				"positions", b, len(ref), theta.Length)
		}
		for t, k := range ref {
			if k < 0 || k >= s.Alphabet {
				return fmt.Errorf("losses: example %d: label %d of the reference is %d, outside the "+
					"alphabet of %d", b, t, k, s.Alphabet)
			}
		}
	}
	if grad == nil {
		return nil
	}
	if err := grad.check("gradient"); err != nil {
		return err
	}
	if grad.Batch != theta.Batch || grad.Length != theta.Length || grad.Window != theta.Window {
		return fmt.Errorf("losses: the gradient has the shape [%d, %d, %d], the potentials [%d, %d, %d]",
			grad.Batch, grad.Length, grad.Window, theta.Batch, theta.Length, theta.Window)
	}
	return nil
}

// one evaluates example b, and leaves NaN and zeros with an error.
func (s *SoftmaxMargin[F]) one(ctx context.Context, w *marginWorker, ref []int, b, order int, gamma float64,
	theta *Tensor[F], values []float64, grad *Tensor[F]) error {
	if grad != nil {
		for t := range grad.Length {
			clear(grad.Row(b, t))
		}
	}
	if values != nil {
		values[b] = math.NaN()
	}
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	m, err := s.machine(w, ref, b)
	if err != nil {
		return err
	}
	theta.copyTo(&w.p, b, len(ref), s.Alphabet, order)
	want := Want(0)
	if grad != nil {
		want = WantMarginals
	}
	w.e.Budget.Ctx = ctx
	if err := w.e.Eval(m, &w.p, gamma, want, &w.r); err != nil {
		return err
	}
	score := w.p.Score(ref)
	if math.IsInf(score, -1) {
		return errors.New("the potentials forbid the reference: its score is -Inf")
	}
	if values != nil {
		values[b] = w.r.LogZ - score
	}
	if grad != nil {
		for t, row := range w.r.Marginals {
			at, own := w.p.Window(ref, t), grad.Row(b, t)
			for i, x := range row {
				if i == at {
					x--
				}
				own[i] = F(x)
			}
		}
	}
	return nil
}

// machine returns the machine of a reference: the one of the call before, or the cache's.
func (s *SoftmaxMargin[F]) machine(w *marginWorker, ref []int, b int) (*Machine, error) {
	if s.Loss == nil {
		return nil, nil
	}
	slot := &s.slots[b]
	w.key = appendInts(s.Loss.AppendKey(w.key[:0]), s.Alphabet)
	if slot.machine != nil && slices.Equal(slot.ref, ref) && slices.Equal(slot.key, w.key) {
		return slot.machine, nil
	}
	slot.machine = nil
	cache := s.Cache
	if cache == nil {
		cache = s.own
	}
	m, err := cache.Machine(s.Loss, ref, s.Alphabet, len(ref))
	if err != nil {
		return nil, err
	}
	slot.machine, slot.ref, slot.key = m, append(slot.ref[:0], ref...), append(slot.key[:0], w.key...)
	return m, nil
}
