package partition

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Nobody else makes errors without package ops.
func init() {
	run.Errors.Limit = func(e run.Exceeded) error { return fmt.Errorf("%s: %s: %w", e.Op, e.Limit, e.Cause) }
}

// drawNondeterministic makes a random acceptor without weights.
func drawNondeterministic(rng *rand.Rand) *fst.Vector[semiring.Tropical] {
	n := 1 + rng.IntN(1+rng.IntN(24))
	f := fst.NewVector[semiring.Tropical](n)
	f.AddStates(n)
	f.SetStart(0)
	labels := 1 + rng.IntN(3)
	for q := range fst.StateID(n) {
		for range rng.IntN(5) {
			l := fst.Label(1 + rng.IntN(labels))
			f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, NextState: fst.StateID(rng.IntN(n))})
		}
		if rng.IntN(4) == 0 {
			f.SetFinal(q, 0)
		}
	}
	return f
}

// byRounds finds the classes by the definition: states are split by their arcs to the classes of
// the round before.
func byRounds(f fst.Expanded[semiring.Tropical]) []int {
	class := make([]int, f.NumStates())
	for n := 0; ; {
		ids := map[string]int{}
		next := make([]int, len(class))
		for q := range class {
			var arcs []string
			for _, e := range f.Arcs(fst.StateID(q)) {
				arcs = append(arcs, fmt.Sprint(e.ILabel, class[e.NextState]))
			}
			slices.Sort(arcs)
			key := fmt.Sprint(class[q], f.Final(fst.StateID(q)), slices.Compact(arcs))
			if _, ok := ids[key]; !ok {
				ids[key] = len(ids)
			}
			next[q] = ids[key]
		}
		if class = next; len(ids) == n {
			return class
		}
		n = len(ids)
	}
}

func TestBisimilarAgainstRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	merged, split := 0, 0
	for i := range 5000 {
		f := drawNondeterministic(rng)
		stands, err := Cyclic(f, false, false, &run.Stopwatch{})
		if err != nil {
			t.Fatal(err)
		}
		want := byRounds(f)
		of := map[int]fst.StateID{} // what stands for each class
		for q, c := range want {
			if s, ok := of[c]; ok && s != stands[q] {
				t.Fatalf("machine %d: states %d and others of their class are not merged: %v", i, q, stands)
			}
			of[c] = stands[q]
			if stands[stands[q]] != stands[q] || want[stands[q]] != c {
				t.Fatalf("machine %d: state %d stands for %d, which is not like it", i, stands[q], q)
			}
		}
		if len(of) < len(want) {
			merged++
		}
		// Where the first pass has it, so has it what stands for whom.
		p := prePartition(f, false)
		list, first := incoming(f)
		if err := p.refine(list, first, &run.Stopwatch{}); err != nil {
			t.Fatal(err)
		}
		if len(p.size) < len(of) {
			split++
		} else if !slices.Equal(p.heads(), stands) {
			t.Fatalf("machine %d: %v stand for the classes, not their heads %v", i, stands, p.heads())
		}
		// The same with wide positions, and from one class alone.
		class, n, err := bisimilarBy[int64](list, first, prePartition(f, false).class,
			len(prePartition(f, false).size), &run.Stopwatch{})
		if err != nil || n != len(of) {
			t.Fatalf("machine %d: %d classes, want %d: %v", i, n, len(of), err)
		}
		for q := range class {
			if class[q] != class[stands[q]] {
				t.Fatalf("machine %d: states %d and %d are apart", i, q, stands[q])
			}
		}
	}
	if merged < 1000 || split < 20 {
		t.Errorf("%d machines with states to merge, %d on which the first pass is not enough", merged, split)
	}
}

// counted counts how often it is looked at.
type counted struct {
	context.Context
	looks int
}

func (c *counted) Err() error { c.looks++; return nil }

func TestBisimilarLevelsTakeNoSquare(t *testing.T) {
	for _, turned := range []bool{false, true} {
		const n = 20_000
		f := levels(n, turned)
		ctx := &counted{Context: context.Background()}
		stands, err := Cyclic(f, false, false, &run.Stopwatch{Ctx: ctx})
		if err != nil {
			t.Fatal(err)
		}
		for q, s := range stands {
			if like := q < 3*n+3 && q%3 == 2; like && s != stands[q-1] || !like && (int(s) != q && int(s) != q+1) {
				t.Fatalf("turned %v: state %d stands for %d", turned, s, q)
			}
		}
		arcs := fst.NumArcs(f)
		if most := 2 + 10*arcs*bits.Len(uint(n))/run.LookEvery; ctx.looks > most || ctx.looks < arcs/run.LookEvery {
			t.Errorf("turned %v: the context was looked at %d times for %d arcs, want %d to %d", turned, ctx.looks,
				arcs, arcs/run.LookEvery, most)
		}
	}
}

// Refinement ends soon after its context is done.
func TestMinimalStopsByContext(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	f := levels(5000, false)
	for name, find := range map[string]func(*run.Stopwatch) error{
		"cyclic":  func(w *run.Stopwatch) error { _, err := Cyclic(f, false, true, w); return err },
		"acyclic": func(w *run.Stopwatch) error { g := chain(5000); _, err := Acyclic(g, w); return err },
		"bisimilar": func(w *run.Stopwatch) error {
			list, first := incoming(f)
			_, _, err := bisimilar(list, first, make([]int32, f.NumStates()), 1, w)
			return err
		},
	} {
		if err := find(&run.Stopwatch{Op: "Minimize", Ctx: done}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// levels makes three states a level: one leads to that one of the level below, the others also to
// their like. To ask who leads to the one of them, which is the smaller part of its level, says
// nothing of the next, so that the first pass comes one level further each time. turned numbers the
// levels from the top.
func levels(n int, turned bool) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](3*n + 4)
	f.AddStates(3*n + 4)
	at := func(k, i int) fst.StateID {
		if turned {
			k = n - k
		}
		return fst.StateID(3*k + i)
	}
	arc := func(p, q fst.StateID, l int) {
		f.AddArc(p, fst.Arc[semiring.Tropical]{ILabel: fst.Label(l), OLabel: fst.Label(l), NextState: q})
	}
	start := fst.StateID(3*n + 3)
	f.SetStart(start)
	for i := range 3 {
		f.SetFinal(at(0, i), 0)
		if i > 0 {
			arc(at(0, i), at(0, i), n+1)
		}
		for k := 1; k <= n; k++ {
			arc(at(k, i), at(k-1, 0), k)
			if i > 0 {
				arc(at(k, i), at(k-1, i), k)
			}
		}
		arc(start, at(n, i), n+2)
	}
	return f
}

func chain(n int) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](n + 1)
	f.AddStates(n + 1)
	f.SetStart(0)
	for q := range fst.StateID(n) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	f.SetFinal(fst.StateID(n), 0)
	return f
}
