package ops_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// cancellable are the operations that take a context, each on a machine on which it has something to do.
func cancellable() map[string]func(ops.Limits) error {
	type V = *fst.Vector[semiring.Tropical]
	type E = fst.Expanded[semiring.Tropical]
	rng := rand.New(rand.NewPCG(62, 1))
	random := func(o fsttest.Options) V { return accessible(rng, 1500, o) }
	plain := random(fsttest.Options{Degree: 3, Final: 0.2, Labels: 5})
	cyclic := random(fsttest.Options{Degree: 3, Final: 0.2, Epsilon: 0.2, Labels: 5, Cyclic: true})
	acceptor := random(fsttest.Options{Degree: 2, Final: 0.2, Labels: 90, Acceptor: true, Deterministic: true})
	loops := random(fsttest.Options{Degree: 2, Final: 0.2, Labels: 90, Acceptor: true, Cyclic: true})
	logs := fsttest.Must(ops.Convert[semiring.Log64](E(plain)))
	logLoops := ops.MapInto(E(loops), func(w semiring.Tropical) semiring.Log64 { return semiring.Log64(w) + 6 })
	aligned := fst.NewVector[semiring.Tropical](0) // a line, whose output lags behind
	aligned.SetStart(aligned.AddState())
	for q := range fst.StateID(2000) {
		e := fst.Arc[semiring.Tropical]{ILabel: 1 + fst.Label(q%7), Weight: semiring.Tropical(q % 3), NextState: aligned.AddState()}
		if q%4 >= 2 {
			e.ILabel, e.OLabel = fst.Epsilon, 1+fst.Label(q%5)
		}
		aligned.AddArc(q, e)
	}
	aligned.SetFinal(2000, 0)
	distances := func(f E, o ops.ShortestDistanceOptions) func(ops.Limits) error {
		return func(lim ops.Limits) error { o.Ctx = lim.Ctx; _, err := ops.ShortestDistance(f, &o); return err }
	}
	logDistances := func(f fst.Expanded[semiring.Log64], o ops.ShortestDistanceOptions) func(ops.Limits) error {
		return func(lim ops.Limits) error { o.Ctx = lim.Ctx; _, err := ops.ShortestDistance(f, &o); return err }
	}
	threshold := semiring.Tropical(4)
	return map[string]func(ops.Limits) error{
		"ShortestDistance":                  distances(cyclic, ops.ShortestDistanceOptions{}),
		"ShortestDistance in reverse":       distances(cyclic, ops.ShortestDistanceOptions{Reverse: true}),
		"ShortestDistance of sums":          logDistances(logs, ops.ShortestDistanceOptions{}),
		"ShortestDistance of sums, reverse": logDistances(logs, ops.ShortestDistanceOptions{Reverse: true}),
		"ShortestDistance, cyclic sums":     logDistances(logLoops, ops.ShortestDistanceOptions{}),
		"ShortestDistance, relaxed sums":    logDistances(logLoops, ops.ShortestDistanceOptions{Queue: ops.QueueFIFO, Delta: 0.1}),
		"ShortestDistanceLazy": func(lim ops.Limits) error {
			_, err := ops.ShortestDistanceLazy(fst.Fst[semiring.Tropical](cyclic), &ops.ShortestDistanceOptions{Limits: lim})
			return err
		},
		"ShortestPath": func(lim ops.Limits) error {
			_, err := ops.ShortestPath(E(cyclic), &ops.ShortestPathOptions[semiring.Tropical]{N: 500, Limits: lim})
			return err
		},
		"ShortestPathLazy": func(lim ops.Limits) error {
			_, err := ops.ShortestPathLazy(fst.Fst[semiring.Tropical](cyclic), lim)
			return err
		},
		"Prune": func(lim ops.Limits) error {
			return ops.Prune(cyclic.Clone(), &ops.PruneOptions[semiring.Tropical]{Threshold: &threshold, Limits: lim})
		},
		"PushWeights": func(lim ops.Limits) error { return ops.PushWeights(cyclic.Clone(), &ops.PushOptions{Limits: lim}) },
		"PushWeights of sums": func(lim ops.Limits) error {
			return ops.PushWeights(logLoops.Clone(), &ops.PushOptions{Limits: lim})
		},
		"Push": func(lim ops.Limits) error {
			_, err := ops.Push(E(aligned), &ops.PushOptions{Labels: true, Limits: lim})
			return err
		},
		"RmEpsilon": func(lim ops.Limits) error { return ops.RmEpsilon(cyclic.Clone(), &ops.RmEpsilonOptions{Limits: lim}) },
		"RmEpsilon of sums": func(lim ops.Limits) error {
			f := ops.MapInto(E(cyclic), func(w semiring.Tropical) semiring.Log64 { return semiring.Log64(w) + 6 })
			ops.EpsilonLabels(f, ops.Output)
			return ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: lim})
		},
		"Minimize": func(lim ops.Limits) error {
			_, err := ops.Minimize(E(acceptor), &ops.MinimizeOptions{Limits: lim})
			return err
		},
		"Minimize, cyclic": func(lim ops.Limits) error {
			_, err := ops.Minimize(E(loops), &ops.MinimizeOptions{AllowNondet: true, Limits: lim})
			return err
		},
		"Minimize, transducer": func(lim ops.Limits) error {
			_, err := ops.Minimize(E(aligned), &ops.MinimizeOptions{Limits: lim})
			return err
		},
		"Determinize": func(lim ops.Limits) error {
			_, err := ops.Determinize(fst.Fst[semiring.Tropical](acceptor), &ops.DeterminizeOptions{Limits: lim})
			return err
		},
		"Disambiguate": func(lim ops.Limits) error {
			_, err := ops.Disambiguate(E(acceptor), &ops.DisambiguateOptions{Limits: lim})
			return err
		},
		"Twins": func(lim ops.Limits) error { _, err := ops.Twins(E(loops), &ops.TwinsOptions{Limits: lim}); return err },
		"Functional": func(lim ops.Limits) error {
			_, err := ops.Functional(E(acceptor), &ops.SearchOptions{Limits: lim})
			return err
		},
		"Unambiguous": func(lim ops.Limits) error {
			_, err := ops.Unambiguous(E(acceptor), &ops.SearchOptions{Limits: lim})
			return err
		},
		"Compose": func(lim ops.Limits) error {
			_, err := ops.Compose(fst.Fst[semiring.Tropical](ops.ArcSorted(E(plain), ops.Output)), ops.ArcSorted(E(plain), ops.Input), &ops.ComposeOptions{Limits: lim})
			return err
		},
		"Synchronize": func(lim ops.Limits) error {
			_, err := ops.Synchronize(fst.Fst[semiring.Tropical](aligned), lim)
			return err
		},
		"EpsNormalize": func(lim ops.Limits) error { _, err := ops.EpsNormalize(E(aligned), ops.Input, lim); return err },
		"FactorWeight": func(lim ops.Limits) error {
			_, err := ops.FactorWeight(fst.Fst[semiring.Tropical](plain), halves, &ops.FactorWeightOptions{Limits: lim})
			return err
		},
		"Replace": func(lim ops.Limits) error {
			_, err := ops.Replace([]ops.Rule[semiring.Tropical]{{Label: 1000, F: plain}}, 1000, &ops.ReplaceOptions{Limits: lim})
			return err
		},
		"LabelLookAhead": func(lim ops.Limits) error { _, _, err := ops.LabelLookAhead(E(cyclic), ops.Input, lim); return err },
		"Reverse": func(lim ops.Limits) error {
			_, err := ops.Reverse[semiring.Tropical, semiring.Tropical](E(plain), &ops.ReverseOptions{Limits: lim})
			return err
		},
		"RandGen": func(lim ops.Limits) error {
			_, err := ops.RandGen(fst.Fst[semiring.Tropical](plain), rand.New(rand.NewPCG(1, 1)), &ops.RandGenOptions{NPath: 1000, Limits: lim})
			return err
		},
		"RandEquivalent": func(lim ops.Limits) error {
			_, err := ops.RandEquivalent(E(plain), E(plain), rand.New(rand.NewPCG(1, 1)), &ops.RandEquivalentOptions{NPath: 3, MaxLength: 20, Limits: lim})
			return err
		},
		"Check": func(lim ops.Limits) error {
			_, err := ops.Check(E(acceptor), &ops.CheckOptions{Limits: lim})
			return err
		},
		"Closure": func(lim ops.Limits) error { return ops.Closure(plain.Clone(), ops.Plus, lim) },
		"Union":   func(lim ops.Limits) error { return ops.Union(plain.Clone(), E(plain), lim) },
		"Concat":  func(lim ops.Limits) error { return ops.Concat(plain.Clone(), E(plain), lim) },
		"Batch":   func(lim ops.Limits) error { return ops.Batch(3000, lim, func(int) error { return nil }) },
		"Batch, by two": func(lim ops.Limits) error {
			lim.Workers = 2
			return ops.Batch(3000, lim, func(int) error { return nil })
		},
		"Collect": func(lim ops.Limits) error { _, err := ops.Collect(fst.Fst[semiring.Tropical](plain), lim); return err },
		"ForwardBackward": func(lim ops.Limits) error {
			_, err := ops.ForwardBackward(E(plain), &ops.ForwardBackwardOptions{Limits: lim})
			return err
		},
		"ForwardBackward, cyclic": func(lim ops.Limits) error {
			_, err := ops.ForwardBackward(E(cyclic), &ops.ForwardBackwardOptions{Limits: lim})
			return err
		},
		"Posteriors": func(lim ops.Limits) error {
			_, err := ops.Posteriors(fst.Expanded[semiring.Log64](logs), &ops.ForwardBackwardOptions{Limits: lim})
			return err
		},
		"ExpectedCounts": func(lim ops.Limits) error {
			_, _, _, err := ops.ExpectedCounts(fst.Expanded[semiring.Log64](logs), &ops.ForwardBackwardOptions{Limits: lim})
			return err
		},
		"ExpectedCounts, cyclic": func(lim ops.Limits) error {
			_, _, _, err := ops.ExpectedCounts(fst.Expanded[semiring.Log64](logLoops), &ops.ForwardBackwardOptions{Limits: lim})
			return err
		},
		"Stochastic": func(lim ops.Limits) error {
			_, err := ops.Stochastic(fst.Expanded[semiring.Log64](logs), 0.1, lim)
			return err
		},
	}
}

// Whatever ends by its context says so by a LimitError, which wraps the context's error.
func TestCancellationIsOneError(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	const enough = 20_000 // states, for machines that have no end
	for name, op := range cancellable() {
		t.Run(name, func(t *testing.T) {
			check := func(ctx context.Context, reason error, when any) {
				t.Helper()
				err := op(ops.Limits{Ctx: ctx, States: enough})
				var limit *ops.LimitError
				if !errors.As(err, &limit) || limit.Limit != "context" || !errors.Is(err, reason) || errors.Is(err, ops.ErrLimit) {
					t.Errorf("stopped at %v: %v", when, err)
				}
			}
			check(cancelled, context.Canceled, "the beginning")
			check(late, context.DeadlineExceeded, "the beginning")
			// Each look is another place in the code.
			looks := &locked{turning: &turning{context.Background(), 1 << 30, 0}}
			if err := op(ops.Limits{Ctx: looks, States: enough}); errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			for k := 1; k <= looks.looks; k += 1 + k/4 {
				check(&locked{turning: &turning{context.Background(), k, 0}}, context.Canceled, k)
			}
		})
	}
}

// What goes over all arcs looks at its context while it does: so often that no deadline is passed by much, however large the machine.
func TestLongWorkLooksAtItsContext(t *testing.T) {
	type E = fst.Expanded[semiring.Tropical]
	rng := rand.New(rand.NewPCG(63, 1))
	const states, least = 40_000, 8 // the machines have four arcs a state
	random := func(o fsttest.Options) *fst.Vector[semiring.Tropical] {
		o.Degree, o.Final = 3, 0.2
		f := fsttest.Random(rng, states, semiringtest.Tropical, o)
		for q := range fst.StateID(states - 1) {
			f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 99, OLabel: 99, NextState: q + 1})
		}
		f.SetStart(0)
		return f
	}
	cyclic := random(fsttest.Options{Labels: 50, Epsilon: 0.2, Cyclic: true})
	acceptor := random(fsttest.Options{Labels: 90, Acceptor: true, Deterministic: true})
	loops := random(fsttest.Options{Labels: 90, Acceptor: true, Deterministic: true, Cyclic: true})
	parallel := random(fsttest.Options{Labels: 5, Acceptor: true, Cyclic: true})
	for _, f := range []*fst.Vector[semiring.Tropical]{acceptor, loops, parallel} {
		ops.RmWeight(f)
	}
	logs := fsttest.Must(ops.Convert[semiring.Log64](E(acceptor)))
	minimize := func(f E) func(ops.Limits) {
		return func(lim ops.Limits) {
			_, _ = ops.Minimize(f, &ops.MinimizeOptions{AllowNondet: true, Limits: lim})
		}
	}
	for name, op := range map[string]func(ops.Limits){
		"ShortestDistance": func(lim ops.Limits) {
			_, _ = ops.ShortestDistance(E(cyclic), &ops.ShortestDistanceOptions{Limits: lim})
		},
		"ShortestDistance of sums": func(lim ops.Limits) {
			_, _ = ops.ShortestDistance(fst.Expanded[semiring.Log64](logs), &ops.ShortestDistanceOptions{Limits: lim})
		},
		"ShortestDistance of sums, reverse": func(lim ops.Limits) {
			_, _ = ops.ShortestDistance(fst.Expanded[semiring.Log64](logs), &ops.ShortestDistanceOptions{Reverse: true, Limits: lim})
		},
		"ForwardBackward": func(lim ops.Limits) {
			_, _ = ops.ForwardBackward(E(acceptor), &ops.ForwardBackwardOptions{Limits: lim})
		},
		"ExpectedCounts": func(lim ops.Limits) {
			_, _, _, _ = ops.ExpectedCounts(fst.Expanded[semiring.Log64](logs), &ops.ForwardBackwardOptions{Limits: lim})
		},
		"Minimize, acyclic":          minimize(acceptor),
		"Minimize, cyclic":           minimize(loops),
		"Minimize, nondeterministic": minimize(parallel),
		"LabelLookAhead":             func(lim ops.Limits) { _, _, _ = ops.LabelLookAhead(E(cyclic), ops.Input, lim) },
		"Functional":                 func(lim ops.Limits) { _, _ = ops.Functional(E(cyclic), &ops.SearchOptions{Limits: lim}) },
		"Unambiguous":                func(lim ops.Limits) { _, _ = ops.Unambiguous(E(cyclic), &ops.SearchOptions{Limits: lim}) },
		"Push":                       func(lim ops.Limits) { _, _ = ops.Push(E(acceptor), &ops.PushOptions{Labels: true, Limits: lim}) },
		"EpsNormalize":               func(lim ops.Limits) { _, _ = ops.EpsNormalize(E(acceptor), ops.Input, lim) },
	} {
		// Cancelled at the look that should not be the last, it has that many.
		ctx := &turning{context.Background(), least, 0}
		op(ops.Limits{Ctx: ctx})
		if ctx.looks < least {
			t.Errorf("%s: the context was looked at %d times, want %d or more", name, ctx.looks, least)
		}
	}
}
