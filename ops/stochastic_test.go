package ops_test

import (
	"math"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestStochastic(t *testing.T) {
	f := fst.NewVector[semiring.Log64](4)
	f.AddStates(4) // the last one is out of reach, and not stochastic
	f.SetStart(0)
	arc := func(from, to fst.StateID, p float64) {
		f.AddArc(from, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: semiring.Log64(-math.Log(p)), NextState: to})
	}
	arc(0, 1, 0.25)
	arc(0, 2, 0.75)
	arc(1, 2, 0.5)
	f.SetFinal(1, semiring.Log64(-math.Log(0.5)))
	f.SetFinal(2, semiring.One[semiring.Log64]())
	f.SetFinal(3, semiring.Log64(5))
	lim := ops.Limits{}
	if e, err := ops.Stochastic(f, 1e-9, lim); e != nil || err != nil {
		t.Fatalf("a stochastic machine: %v, %v", e, err)
	}
	arc(2, 0, 0.5)
	e, err := ops.Stochastic(f, 1e-9, lim)
	if err != nil || e == nil || e.State != 2 || e.Sum != string(semiring.Log64(-math.Log(1.5)).AppendText(nil)) {
		t.Fatalf("%+v, %v, want the sum of 1.5 at state 2", e, err)
	}
	if len(e.Path.States) != 2 || e.Path.States[1] != 2 {
		t.Errorf("path %v is not a shortest one to 2", e.Path.States)
	}
	if _, err := ops.Stochastic(f, 1e-9, ops.Limits{Bytes: 8}); err == nil {
		t.Error("eight bytes are enough")
	}
}
