package ops

import (
	"errors"
	"runtime"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

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

// What --limit_bytes is told of the arrays of a minimization is what they take: with a limit of
// nine tenths of it the operation ends with a LimitError, and it allocates at least half as much in
// all, and no more than five times as much: arrays that grow leave behind what they were, and the
// passes before, for components, have had theirs.
func TestMinimizeCountsItsArrays(t *testing.T) {
	fsttest.OneGoroutine(t)
	for name, c := range map[string]struct {
		f      *fst.Vector[semiring.Tropical]
		nondet bool
	}{
		"acyclic":          {chain(300_000), false},
		"cyclic":           {loop(300_000), false},
		"nondeterministic": {levels(50_000, false), true},
	} {
		minimize := func(bytes int64) error {
			return MinimizeAcceptor(c.f.Clone(), &MinimizeOptions{AllowNondet: c.nondet, Limits: Limits{Bytes: bytes}})
		}
		least := run.SizeOf[semiring.Tropical](c.f.NumStates(), int64(c.f.NumArcs())).Bytes
		for minimize(least) != nil {
			least += least / 20
		}
		var limit *LimitError
		if err := minimize(least * 9 / 10); !errors.As(err, &limit) || limit.Limit != "bytes" {
			t.Errorf("%s: within nine tenths of %d bytes: %v", name, least, err)
		}
		g := c.f.Clone()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := MinimizeAcceptor(g, &MinimizeOptions{AllowNondet: c.nondet}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		made := int64(after.TotalAlloc - before.TotalAlloc)
		size := run.SizeOf[semiring.Tropical](c.f.NumStates(), int64(c.f.NumArcs())).Bytes // is there already, and counted
		t.Logf("%s: %d bytes do, of which %d the machine; %d allocated", name, least, size, made)
		if held := least - size; made < held/2 || made > 5*held {
			t.Errorf("%s: %d bytes of work space are counted, %d allocated", name, held, made)
		}
	}
}

// loop is a cycle of n states; the first is final.
func loop(n int) *fst.Vector[semiring.Tropical] {
	f := chain(n - 1)
	f.SetFinal(fst.StateID(n-1), semiring.Zero[semiring.Tropical]())
	f.SetFinal(0, 0)
	f.AddArc(fst.StateID(n-1), fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 0})
	return f
}
