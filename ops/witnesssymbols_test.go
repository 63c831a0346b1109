package ops_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// What shows a difference, or the place where a construction grows, names labels by the symbols of the machines.
func TestWitnessesWithSymbols(t *testing.T) {
	in, out := fst.NewSymbolTable("in"), fst.NewSymbolTable("out")
	for _, s := range []string{"ε", "how", "now"} {
		in.Add(s)
		out.Add(strings.ToUpper(s))
	}
	machine := func(w semiring.Tropical, o fst.Label) *fst.Vector[semiring.Tropical] {
		f := fst.NewVector[semiring.Tropical](2)
		f.AddStates(2)
		f.SetStart(0)
		f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: o, NextState: 1})
		f.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: 1})
		f.SetFinal(1, w)
		f.SetInputSymbols(in)
		f.SetOutputSymbols(out)
		return f
	}
	a, b := machine(0, 1), machine(3, 1)
	d, err := ops.Distinguish(a, b, 0)
	if err != nil || d == nil || !strings.Contains(d.String(), "how") {
		t.Errorf("Distinguish: %v, %v", d, err)
	}
	p, err := ops.RandEquivalent(machine(0, 2), machine(3, 2), rand.New(rand.NewPCG(1, 2)), &ops.RandEquivalentOptions{NPath: 20})
	if err != nil || p == nil || !strings.Contains(p.String(), "how") || !strings.Contains(p.String(), "NOW") {
		t.Errorf("RandEquivalent: %v, %v", p, err)
	}
	c := machine(0, 1)
	c.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 0})
	_, err = ops.Determinize(c, &ops.DeterminizeOptions{Limits: ops.Limits{States: 1}})
	var grown *ops.DeterminizeError
	if !errors.As(err, &grown) || grown.Growing == nil || !strings.Contains(err.Error(), "labels [how] reach a subset of 2 states") {
		t.Errorf("Determinize within one state: %v", err)
	}
	plain := machine(0, 1) // the symbols may be the other machine's alone
	plain.SetInputSymbols(nil)
	plain.SetOutputSymbols(nil)
	if d, err := ops.Distinguish(plain, b, 0); err != nil || d == nil || !strings.Contains(d.String(), "how") {
		t.Errorf("Distinguish, the second machine's symbols: %v, %v", d, err)
	}
}
