package losses

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// What is nil where it must not be is named.
func TestNilIsNamed(t *testing.T) {
	p, e := NewPotentials(2, 1, 1), new(Evaluator)
	rng := rand.New(rand.NewPCG(1, 1))
	a := Strings(2, 1)
	b, err := Unit.Automaton(a, []int{0}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	second := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"Eval of nil", e.Eval(nil, nil, 1, 0, new(Result)), "potentials are nil"},
		{"Eval into nil", e.Eval(nil, p, 1, 0, nil), "result is nil"},
		{"Sample of nil", e.Sample(nil, nil, 1, rng, make([][]int, 1)), "potentials are nil"},
		{"Sample without rng", e.Sample(nil, p, 1, nil, make([][]int, 1)), "randomness is nil"},
		{"no lattice", second((&Lattice{}).Eval(b, 1, 0, ops.Limits{})), "Lattice.A is nil"},
		{"no lattice to sample", (&Lattice{}).Sample(b, 1, rng, make([][]int, 1), ops.Limits{}), "Lattice.A is nil"},
		{"lattice without rng", (&Lattice{A: a}).Sample(b, 1, nil, make([][]int, 1), ops.Limits{}), "randomness is nil"},
		{"general of nil", second(EvalGeneral(nil, b, 1, 0, nil, ops.Limits{})), "potentials are nil"},
		{"naive of nil", Naive(func([]int) float64 { return 0 }, nil, 1, 0, nil, new(Result)), "potentials are nil"},
		{"cache of nil", second(NewCache(0).Machine(nil, []int{0}, 2, 1)), "loss is nil"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	var zero Cache
	if zero.Stats() != (CacheStats{}) {
		t.Errorf("a cache of nothing: %+v", zero.Stats())
	}
	if m, err := zero.Machine(Unit, []int{0}, 2, 1); err != nil || m == nil || zero.Stats().Machines != 1 {
		t.Errorf("the zero Cache: %v, %+v", err, zero.Stats())
	}
}

// A cycle of ε that diverges is told by the states of the user's machine.
func TestDivergentCycleIsNamed(t *testing.T) {
	// 0 -1:1-> 3, 3 -0:0-> 1 -0:0-> 3
	machine := func(w semiring.Tropical64) *fst.Vector[semiring.Tropical64] {
		u := fst.NewVector[semiring.Tropical64](4)
		u.AddStates(4)
		u.SetStart(0)
		u.SetFinal(3, 0)
		u.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1, NextState: 3})
		u.AddArc(3, fst.Arc[semiring.Tropical64]{Weight: w, NextState: 1})
		u.AddArc(1, fst.Arc[semiring.Tropical64]{NextState: 3})
		return u
	}
	tropical, err := TropicalTransducer(machine(-1))
	if err != nil {
		t.Fatal(err)
	}
	rational, err := RationalTransducer(ops.MapInto(machine(0), func(w semiring.Tropical64) semiring.Log64 { return semiring.Log64(w) }), 1)
	if err != nil {
		t.Fatal(err)
	}
	tropical.Name, rational.Name = "least.fst", "sum.fst"
	for _, c := range []struct {
		loss  *Transducer
		words []string
	}{
		{tropical, []string{"least.fst: ", "states 3 -> 1 -> 3", "states 1 -> 3 -> 1"}},
		{rational, []string{"sum.fst: ", "its state 1", "its state 3"}},
	} {
		_, err := c.loss.Machine([]int{0}, 1, 1)
		if !errors.Is(err, ops.ErrNotClosed) {
			t.Fatalf("%v, want ErrNotClosed", err)
		}
		if s := err.Error(); !strings.HasPrefix(s, c.words[0]) || strings.Contains(s, c.words[1]) == strings.Contains(s, c.words[2]) {
			t.Errorf("%v, want one of %q", err, c.words)
		}
	}
}

// The band in use is the least one with an alignment.
func TestBandFor(t *testing.T) {
	for m := range 12 {
		for l := 1; l < 12; l++ {
			for band := 1; band < 12; band++ {
				got := Edit{Band: band}.BandFor(m, l)
				for try := band; try <= got; try++ {
					touch := true
					for s := 1; s <= l; s++ {
						first, last := max(0, (s*m+l-1)/l-try), min(m, (s-1)*m/l+try)
						touch = touch && first <= last+1
					}
					if touch != (try == got) {
						t.Errorf("%d and %d symbols: band %d became %d, band %d has an alignment: %v", m, l, band, got, try, touch)
					}
				}
			}
		}
	}
	if got := (Edit{}).BandFor(3, 9); got != 0 {
		t.Errorf("no band became %d", got)
	}
}
