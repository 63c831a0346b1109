package ops_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// turning is a context that is cancelled from the k-th look at it on.
type turning struct {
	context.Context
	k, looks int
}

func (c *turning) Err() error {
	if c.looks++; c.looks >= c.k {
		return context.Canceled
	}
	return nil
}

// locked is turning for several goroutines.
type locked struct {
	*turning
	mu sync.Mutex
}

func (c *locked) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turning.Err()
}

// accessible is a random machine whose start leads to all states, and all of them to a final one.
func accessible(rng *rand.Rand, states int, o fsttest.Options) *fst.Vector[semiring.Tropical] {
	f := fsttest.Random(rng, states, semiringtest.Tropical, o)
	for q := range fst.StateID(states - 1) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 99, OLabel: 99, Weight: 1, NextState: q + 1})
	}
	f.SetFinal(fst.StateID(states-1), 1)
	f.SetStart(0)
	return f
}

// What is said of a machine after an error of an operation in place holds wherever a context stops it.
func TestInPlaceAfterCancellation(t *testing.T) {
	type V = *fst.Vector[semiring.Tropical]
	rng := rand.New(rand.NewPCG(61, 1))
	random := func(o fsttest.Options) V { return accessible(rng, 3000, o) }
	plain := random(fsttest.Options{Degree: 3, Final: 0.2, Labels: 5})
	epsilons := random(fsttest.Options{Degree: 3, Final: 0.2, Epsilon: 0.4, Labels: 5})
	cyclic := random(fsttest.Options{Degree: 3, Final: 0.2, Epsilon: 0.2, Labels: 5, Cyclic: true})
	acceptor := random(fsttest.Options{Degree: 3, Final: 0.2, Labels: 5, Acceptor: true})
	loops := random(fsttest.Options{Degree: 3, Final: 0.2, Labels: 5, Acceptor: true, Cyclic: true})
	unweighted := loops.Clone()
	ops.RmWeight(unweighted)
	threshold := semiring.Tropical(3)
	prune := func(lim ops.Limits) *ops.PruneOptions[semiring.Tropical] {
		return &ops.PruneOptions[semiring.Tropical]{Threshold: &threshold, Limits: lim}
	}
	minimize := func(f V, lim ops.Limits) error {
		return ops.MinimizeAcceptor(f, &ops.MinimizeOptions{AllowNondet: true, Limits: lim})
	}
	for name, c := range map[string]struct {
		in    V
		op    func(V, ops.Limits) error
		keeps bool // the relation alone
		looks int  // at least
	}{
		"Prune":              {plain, func(f V, lim ops.Limits) error { return ops.Prune(f, prune(lim)) }, false, 4},
		"Prune cyclic":       {cyclic, func(f V, lim ops.Limits) error { return ops.Prune(f, prune(lim)) }, false, 4},
		"PushWeights":        {plain, func(f V, lim ops.Limits) error { return ops.PushWeights(f, &ops.PushOptions{Limits: lim}) }, false, 3},
		"PushWeights cyclic": {cyclic, func(f V, lim ops.Limits) error { return ops.PushWeights(f, &ops.PushOptions{Limits: lim}) }, false, 3},
		"PushWeights to final": {cyclic, func(f V, lim ops.Limits) error {
			return ops.PushWeights(f, &ops.PushOptions{ToFinal: true, RemoveTotalWeight: true, Limits: lim})
		}, false, 3},
		"Closure":   {plain, func(f V, lim ops.Limits) error { return ops.Closure(f, ops.Star, lim) }, false, 1},
		"Union":     {plain, func(f V, lim ops.Limits) error { return ops.Union(f, fst.Expanded[semiring.Tropical](cyclic), lim) }, false, 1},
		"Concat":    {plain, func(f V, lim ops.Limits) error { return ops.Concat(f, fst.Expanded[semiring.Tropical](cyclic), lim) }, false, 1},
		"RmEpsilon": {epsilons, func(f V, lim ops.Limits) error { return ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: lim}) }, true, 5},
		"RmEpsilon cyclic": {cyclic, func(f V, lim ops.Limits) error {
			return ops.RmEpsilon(f, &ops.RmEpsilonOptions{KeepDead: true, Limits: lim})
		}, true, 5},
		"RmEpsilon side by side": {epsilons, func(f V, lim ops.Limits) error {
			lim.Ctx = &locked{turning: lim.Ctx.(*turning)}
			lim.Workers = 2
			return ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: lim})
		}, false, 5},
		"RmEpsilonPruned": {epsilons, func(f V, lim ops.Limits) error {
			return ops.RmEpsilonPruned(f, &ops.RmEpsilonPrunedOptions[semiring.Tropical]{RmEpsilonOptions: ops.RmEpsilonOptions{Limits: lim}, Prune: *prune(lim)})
		}, true, 5},
		"MinimizeAcceptor":            {acceptor, minimize, true, 5},
		"MinimizeAcceptor cyclic":     {loops, minimize, true, 5},
		"MinimizeAcceptor unweighted": {unweighted, minimize, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			before := printText(c.in)
			for k := 1; ; k += 1 + k/8 {
				f := c.in.Clone()
				ctx := &turning{context.Background(), k, 0}
				err := c.op(f, ops.Limits{Ctx: ctx})
				if err == nil {
					if ctx.looks >= k || ctx.looks < c.looks {
						t.Errorf("it came to its end with a context that was looked at %d times and cancelled at the %d-th", ctx.looks, k)
					}
					break
				}
				var limit *ops.LimitError
				if !errors.As(err, &limit) || limit.Limit != "context" || !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled at look %d: %v", k, err)
				}
				if !c.keeps {
					if printText(f) != before {
						t.Fatalf("cancelled at look %d: the machine was changed", k)
					}
					continue
				}
				checkProperties(t, name, fst.Expanded[semiring.Tropical](f))
				d, err := ops.RandEquivalent(c.in, f, rand.New(rand.NewPCG(1, 1)), &ops.RandEquivalentOptions{NPath: 4, MaxLength: 100, Delta: 0.05})
				if err != nil || d != nil {
					t.Fatalf("cancelled at look %d: the relation was changed: %v %v", k, d, err)
				}
			}
		})
	}
}
