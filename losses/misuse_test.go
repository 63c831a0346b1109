package losses

import (
	"errors"
	"math"
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
		{"no lattice to sample", (&Lattice{}).Sample(b, 1, rng, make([][]int, 1), ops.Limits{}),
			"Lattice.A is nil"},
		{"lattice without rng", (&Lattice{A: a}).Sample(b, 1, nil, make([][]int, 1), ops.Limits{}),
			"randomness is nil"},
		{"general of nil", second(EvalGeneral(nil, b, 1, 0, nil, ops.Limits{})), "potentials are nil"},
		{"naive of nil", Naive(func([]int) float64 { return 0 }, nil, 1, 0, nil, new(Result)),
			"potentials are nil"},
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

// The error for a divergent cycle of ε names the states of the user's machine.
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
	rational, err := RationalTransducer(ops.MapInto(machine(0),
		func(w semiring.Tropical64) semiring.Log64 { return semiring.Log64(w) }), 1)
	if err != nil {
		t.Fatal(err)
	}
	tropical.Name, rational.Name = "least.fst", "sum.fst"
	for _, c := range []struct {
		loss  *Transducer
		words []string
	}{
		{tropical, []string{"least.fst: ", "states 3 -> 1 -> 3", "states 1 -> 3 -> 1"}},
		{rational, []string{"sum.fst: ", "states 3 -> 1 -> 3", "states 1 -> 3 -> 1"}},
	} {
		_, err := c.loss.Machine([]int{0}, 1, 1)
		if !errors.Is(err, ops.ErrNotClosed) {
			t.Fatalf("%v, want ErrNotClosed", err)
		}
		if s := err.Error(); !strings.HasPrefix(s, c.words[0]) ||
			strings.Contains(s, c.words[1]) == strings.Contains(s, c.words[2]) {
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
						t.Errorf("%d and %d symbols: band %d became %d, band %d has an alignment: %v", m, l,
							band, got, try, touch)
					}
				}
			}
		}
	}
	if got := (Edit{}).BandFor(3, 9); got != 0 {
		t.Errorf("no band became %d", got)
	}
}

// Without a loss automaton there is no loss to augment by, nor to expect.
func TestLatticeWithoutALoss(t *testing.T) {
	lattice := &Lattice{A: Strings(2, 1)}
	p := NewPotentials(2, 1, 1)
	for _, c := range []struct {
		gamma float64
		want  Want
		ok    bool
	}{
		{0, WantMarginals | WantPlain | WantViterbi | WantMaxAug, true},
		{1, 0, false}, {-1, WantMarginals, false},
		{0, WantExpected, false}, {0, WantRisk, false}, {0, WantRiskGradient, false},
	} {
		if _, err := lattice.Eval(nil, c.gamma, c.want, ops.Limits{}); (err == nil) != c.ok {
			t.Errorf("lattice, γ = %v, want %b: %v", c.gamma, c.want, err)
		}
		if _, err := EvalGeneral(p, nil, c.gamma, c.want, nil, ops.Limits{}); (err == nil) != c.ok {
			t.Errorf("general, γ = %v, want %b: %v", c.gamma, c.want, err)
		}
	}
}

// Strings without end have no automaton.
func TestAutomatonOfACycle(t *testing.T) {
	y := Strings(2, 2)
	y.AddArc(2, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: 1})
	if _, err := Unit.Automaton(y, []int{0}, 2, nil); !errors.Is(err, ErrNotLattice) {
		t.Errorf("tropical: %v", err)
	}
	if _, err := (NGram{N: 1, C: 1}).Automaton(y, []int{0}, 2, nil); !errors.Is(err, ErrNotLattice) {
		t.Errorf("rational: %v", err)
	}
}

// An error leaves nothing in the result, neither what it held nor what was half done.
func TestErrorsClearTheResult(t *testing.T) {
	const want = WantMarginals | WantExpected | WantRisk | WantRiskGradient | WantPlain | WantViterbi
	m, err := Unit.Machine([]int{0, 1, 1}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	bad := NewPotentials(2, 3, 2)
	bad.Theta[1][0] = math.NaN()
	huge := NewPotentials(2, 3, 2)
	for _, row := range huge.Theta {
		for i := range row {
			row[i] = 1e308
		}
	}
	none := func([]int) float64 { return 0 }
	for name, call := range map[string]func(e *Evaluator, r *Result) error{
		"NaN as γ": func(e *Evaluator, r *Result) error {
			return e.Eval(m, NewPotentials(2, 3, 2),
				math.NaN(), want, r)
		},
		"no potentials":    func(e *Evaluator, r *Result) error { return e.Eval(m, nil, 1, want, r) },
		"NaN as potential": func(e *Evaluator, r *Result) error { return e.Eval(m, bad, 1, want, r) },
		"another length": func(e *Evaluator, r *Result) error {
			return e.Eval(m, NewPotentials(2, 4, 2), 1,
				want, r)
		},
		"no direction": func(e *Evaluator, r *Result) error {
			return e.Eval(m, NewPotentials(2, 3, 2), 1,
				want|WantHVP, r)
		},
		"no direction for the risk": func(e *Evaluator, r *Result) error {
			return e.Eval(m, NewPotentials(2, 3, 2), 1, want|WantRiskHVP, r)
		},
		"beyond the budget": func(e *Evaluator, r *Result) error {
			e.Budget.Bytes = 1
			fresh, err := Unit.Machine([]int{0, 1, 1}, 2, 3)
			if err != nil {
				return nil
			}
			return e.Eval(fresh, NewPotentials(2, 3, 2), 1, want, r)
		},
		"sums beyond float64": func(e *Evaluator, r *Result) error { return e.Eval(m, huge, 1, want, r) },
		"NaN as γ, naive": func(_ *Evaluator, r *Result) error {
			return Naive(none, NewPotentials(2, 3, 2), math.NaN(), want, nil, r)
		},
		"NaN as potential, naive": func(_ *Evaluator, r *Result) error {
			return Naive(none, bad, 1, want, nil,
				r)
		},
		"no direction, naive": func(_ *Evaluator, r *Result) error {
			return Naive(none, NewPotentials(2, 3, 2), 1, want|WantHVP, nil, r)
		},
		"beyond float64, naive": func(_ *Evaluator, r *Result) error {
			return Naive(none, huge, 1, want, nil,
				r)
		},
	} {
		var e Evaluator
		var r Result
		if err := e.Eval(m, NewPotentials(2, 3, 2), 1, want, &r); err != nil || r.LogZ == 0 ||
			len(r.Marginals) == 0 {
			t.Fatal(err, r)
		}
		if err := call(&e, &r); err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if r.LogZ != 0 || r.Expected != 0 || r.Risk != 0 || r.LogZ0 != 0 || r.MaxScore != 0 ||
			len(r.Marginals)+len(r.RiskGradient)+len(r.HVP)+len(r.Viterbi)+len(r.ArgmaxAug) != 0 {
			t.Errorf("%s: the result is %+v", name, r)
		}
	}
}

// Windows that no memory holds are named, where their number would overflow too.
func TestNewPotentialsTooMany(t *testing.T) {
	for _, alphabet := range []int{1 << 20, 1 << 30, math.MaxInt} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.Contains(s, "too many") {
					t.Errorf("%d labels: %q", alphabet, s)
				}
			}()
			NewPotentials(alphabet, 3, 3)
		}()
	}
}
