package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestRmEpsilonAsOpenFst(t *testing.T) {
	t.Run("tropical", rmEpsilonAsOpenFst[semiring.Tropical])
	t.Run("log64", rmEpsilonAsOpenFst[semiring.Log64])
}

func rmEpsilonAsOpenFst[W interface {
	semiring.Component[W]
	~float32 | ~float64
}](t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 24))
	_, path := any(W(0)).(semiring.Path[W])
	for i := range machines(t, 12) {
		s := randomShape(rng)
		s.epsilons = true
		s.acceptor = rng.IntN(2) == 0
		// Over log, cycles must sum to less than one.
		s.acyclic = s.acyclic || !path
		f := draw[W](rng, s)
		write(p, "in", f)
		o := &ops.RmEpsilonOptions{KeepDead: rng.IntN(3) == 0}
		args := []string{fmt.Sprintf("--connect=%v", !o.KeepDead)}
		switch q := []ops.Queue{ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueStateOrder, ops.QueueShortestFirst}[rng.IntN(5)]; {
		case q == ops.QueueShortestFirst && (!path || s.negative):
		default:
			o.Queue = q
			args = append(args, "--queue_type="+q.String())
		}
		g := f.Clone()
		if err := ops.RmEpsilon(g, o); err != nil {
			t.Fatalf("RmEpsilon: %v\n%s", err, p.show("in"))
		}
		p.must("fstrmepsilon", append(args, "in", "out")...)
		if !sameAs(p, "out", g, 1e-3) {
			t.Fatalf("machine %d, fstrmepsilon %v:\n%s", i, args, p.show("in", "out", "ours"))
		}
	}
}

func TestRmEpsilonPrunedAsOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 25))
	for i := range machines(t, 10) {
		s := randomShape(rng)
		s.epsilons, s.acceptor = true, rng.IntN(2) == 0
		f := draw[semiring.Tropical](rng, s)
		write(p, "in", f)
		o := &ops.RmEpsilonPrunedOptions[semiring.Tropical]{}
		var args []string
		if rng.IntN(2) == 0 {
			w := semiring.Tropical(rng.IntN(6))
			o.Prune.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
		}
		if rng.IntN(2) == 0 || len(args) == 0 {
			o.Prune.States = 1 + rng.IntN(8)
			args = append(args, fmt.Sprintf("--nstate=%d", o.Prune.States))
		}
		g := f.Clone()
		if err := ops.RmEpsilonPruned(g, o); err != nil {
			t.Fatalf("RmEpsilonPruned: %v\n%s", err, p.show("in"))
		}
		p.must("fstrmepsilon", append(args, "in", "out")...)
		if !sameAs(p, "out", g, 1e-3) {
			t.Fatalf("machine %d, fstrmepsilon %v:\n%s", i, args, p.show("in", "out", "ours"))
		}
	}
}

// Weights beyond what a float32 holds sum to 0̄: a state that ended through an ε-arc then ends no
// more, and neither it nor what leads to it alone is left. By one worker and, where there are many states, by two.
func TestRmEpsilonLosesFinal(t *testing.T) {
	for _, n := range []int{1, 5000} {
		for workers := range 3 {
			f := fst.NewVector[semiring.Tropical](n + 2)
			f.AddStates(n + 2)
			f.SetStart(0)
			for q := range n {
				f.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: 1, NextState: fst.StateID(q + 1)})
			}
			f.AddArc(fst.StateID(n), fst.Arc[semiring.Tropical]{Weight: 3e38, NextState: fst.StateID(n + 1)})
			f.SetFinal(fst.StateID(n+1), 3e38)
			f.SetFinal(0, 2)
			if err := ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: ops.Limits{Workers: workers}}); err != nil {
				t.Fatal(err)
			}
			if got := f.NumStates(); got != 1 || f.Final(0) != 2 || len(f.Arcs(0)) != 0 {
				t.Errorf("chain of %d, %d workers: %d states are left of which one ends, with %v and %d arcs; want it alone, with 2 and none", n, workers, got, f.Final(0), len(f.Arcs(0)))
			}
		}
	}
}

// Of an acceptor it is known that neither side has ε any more, of a transducer only that no arc has it on both.
func TestRmEpsilonKnowsEpsilons(t *testing.T) {
	for olabel, both := range map[fst.Label]bool{1: true, 0: false} {
		f := fst.NewVector[semiring.Tropical](3)
		f.AddStates(3)
		f.SetStart(0)
		f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 0, OLabel: 0, NextState: 1})
		f.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: olabel, NextState: 2})
		f.SetFinal(2, 0)
		fst.PropertiesOf[semiring.Tropical](f, fst.Acceptor)
		if err := ops.RmEpsilon(f, nil); err != nil {
			t.Fatal(err)
		}
		const sides = fst.NoIEpsilons | fst.NoOEpsilons
		if p := f.KnownProperties(); !p.Has(fst.NoEpsilons) || p.Has(sides) != both {
			t.Errorf("output %d: known are %b, both sides free of ε: %v, want %v", olabel, p, p.Has(sides), both)
		}
	}
}
