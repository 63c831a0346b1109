package ops

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// The machine is copied once where it has to be turned round, and else not at all, to be told that there is no end.
func TestEndlessNormalizationCopiesOnce(t *testing.T) {
	type arc = fst.Arc[semiring.Tropical]
	const n, wide = 1000, 100
	for _, c := range []struct {
		side   Side
		copies uint64
	}{{Input, 0}, {Output, 1}} {
		f := fst.NewVector[semiring.Tropical](n)
		f.AddStates(n)
		f.SetStart(0)
		f.SetFinal(n-1, 0)
		for q := range fst.StateID(n - 1) {
			for k := range fst.Label(wide) {
				f.AddArc(q, arc{ILabel: k + 1, OLabel: k + 1, NextState: q + 1})
			}
		}
		loop := arc{OLabel: 1, NextState: n - 1}
		if c.side == Output {
			loop = arc{ILabel: 1, NextState: n - 1}
		}
		f.AddArc(n-1, loop)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := EpsNormalize(f, c.side, Limits{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrNotClosed) {
			t.Fatal(err)
		}
		arcs := uint64(n * wide * unsafe.Sizeof(arc{}))
		if made := after.TotalAlloc - before.TotalAlloc; made > c.copies*arcs+arcs/2 {
			t.Errorf("%v: %d bytes made, arcs have %d", c.side, made, arcs)
		}
	}
}
