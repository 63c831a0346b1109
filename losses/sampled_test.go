package losses

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sampledCase is a problem that an exact path solves too.
type sampledCase struct {
	name  string
	loss  Loss
	ref   []int
	p     *Potentials
	gamma float64
}

func gaussianPotentials(rng *rand.Rand, alphabet, l, q int, scale float64, tied bool) *Potentials {
	p := NewPotentials(alphabet, l, q)
	for t, row := range p.Theta {
		if tied && t >= q {
			p.Theta[t] = p.Theta[t-1]
			continue
		}
		for i := range row {
			row[i] = scale * rng.NormFloat64()
		}
	}
	return p
}

func uniformRef(rng *rand.Rand, alphabet, m int) []int {
	ref := make([]int, m)
	for j := range ref {
		ref[j] = rng.IntN(alphabet)
	}
	return ref
}

// sampledCases has every kind of loss, length, order and γ, small enough to enumerate.
func sampledCases() []sampledCase {
	rng := rand.New(rand.NewPCG(7, 11))
	table := func(n int) Edit {
		e := Edit{SubTable: make([][]float64, n), InsTable: make([]float64, n), DelTable: make([]float64, n)}
		for i := range n {
			e.SubTable[i] = make([]float64, n)
			for j := range n {
				if i != j {
					e.SubTable[i][j] = 0.5 + rng.Float64()
				}
			}
			e.InsTable[i], e.DelTable[i] = 0.5+rng.Float64(), 0.5+rng.Float64()
		}
		return e
	}
	forbid := gaussianPotentials(rng, 3, 6, 2, 1, true)
	forbid.Theta[1][1], forbid.Theta[1][5] = math.Inf(-1), math.Inf(-1)
	untied := gaussianPotentials(rng, 4, 5, 2, 1, false)
	out := append(uniformRef(rng, 3, 4), 7)
	return []sampledCase{
		{"unit", Unit, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 1},
		{"untied", Unit, uniformRef(rng, 4, 5), untied, 1},
		{"order 1", Unit, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 1, 1, true), 1},
		{"order 3", Unit, uniformRef(rng, 3, 6), gaussianPotentials(rng, 3, 6, 3, 1, true), 1},
		{"order 3 untied", Unit, uniformRef(rng, 3, 5), gaussianPotentials(rng, 3, 5, 3, 1, false), -1},
		{"reference longer", Unit, uniformRef(rng, 3, 9), gaussianPotentials(rng, 3, 5, 2, 1, true), 1},
		{"reference shorter", Unit, uniformRef(rng, 3, 3), gaussianPotentials(rng, 3, 6, 2, 1, true), 1},
		{"no reference", Unit, nil, gaussianPotentials(rng, 3, 4, 2, 1, true), 1},
		{"reference outside the alphabet", Unit, out, gaussianPotentials(rng, 3, 5, 2, 1, true), 1},
		{"gamma negative", Unit, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), -2},
		{"gamma 0", Unit, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 0},
		{"gamma great", Unit, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 60},
		{"gamma far below", Unit, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 0.5, true), -9},
		{"Smith-Waterman", SmithWaterman, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 0.5},
		{"integers", Edit{Sub: 3, Ins: 2, Del: 1}, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 0.4},
		{"match dear", Edit{Match: 1, Ins: 0.75, Del: 0.75}, uniformRef(rng, 3, 6), gaussianPotentials(rng, 3, 6, 2, 1, true), 0.7},
		{"decimals", Edit{Sub: 0.83, Ins: 0.61, Del: 0.47}, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 1},
		{"table", table(4), uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 1},
		{"local", Local{}, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 1},
		{"local dear", Local{Match: 2, Sub: -0.3, Ins: -0.4, Del: -0.9}, uniformRef(rng, 4, 6), gaussianPotentials(rng, 4, 5, 2, 1, true), 0.5},
		{"forbidden", Unit, uniformRef(rng, 3, 6), forbid, 1},
		{"one symbol", Unit, uniformRef(rng, 1, 4), gaussianPotentials(rng, 1, 3, 2, 1, true), 1},
		{"one position", Unit, uniformRef(rng, 4, 2), gaussianPotentials(rng, 4, 1, 2, 1, true), 1},
		{"17 symbols", Unit, uniformRef(rng, 17, 3), gaussianPotentials(rng, 17, 3, 2, 1, true), 1},
	}
}

func (c *sampledCase) value(u []int) float64 {
	switch x := c.loss.(type) {
	case Edit:
		return x.Value(u, c.ref)
	case Local:
		return x.Value(u, c.ref)
	}
	panic("no such loss")
}

// Against enumeration: every number is within three half widths, 7 standard errors of 8 groups, which one number of
// five thousand exceeds by chance; and intervals are small. Seeds are fixed.
func TestSampledAgainstEnumeration(t *testing.T) {
	const want = WantMarginals | WantTied | WantExpected | WantRisk | WantRiskGradient | WantLogZ
	for _, c := range sampledCases() {
		t.Run(c.name, func(t *testing.T) {
			var exact Result
			if err := Naive(c.value, c.p, c.gamma, WantMarginals|WantExpected|WantRisk|WantRiskGradient|WantPlain, nil, &exact); err != nil {
				t.Fatal(err)
			}
			s, err := NewSampler(c.loss, c.ref, slices.Max(c.p.Sizes), len(c.p.Sizes), &SampledOptions{Sweeps: 1500, Band: -1, Passes: 300, Steps: 150, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			var r SampledResult
			if err := s.Eval(c.p, c.gamma, want, &r); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			near := func(what string, got, half, want, floor float64) {
				t.Helper()
				if math.IsNaN(half) {
					half = 0.004 // a rare cell
				}
				if !(math.Abs(got-want) <= 3*half+floor) {
					t.Errorf("%s: %v ± %v, not %v", what, got, half, want)
				}
				if half > worst {
					worst = half
				}
			}
			tied := make([]float64, len(r.Tied))
			for i, row := range exact.Marginals {
				for k, x := range row {
					near(fmt.Sprintf("marginal %d %d", i, k), r.Marginals[i][k], r.MarginalsError[i][k], x, 2e-4)
					near(fmt.Sprintf("risk gradient %d %d", i, k), r.RiskGradient[i][k], r.RiskGradientError[i][k], exact.RiskGradient[i][k], 2e-4)
					if i >= c.p.Order-1 {
						tied[k] += x
					}
				}
			}
			for k, x := range tied {
				near(fmt.Sprintf("tied %d", k), r.Tied[k], r.TiedError[k], x, 1e-3)
			}
			near("E[L]", r.Expected, r.ExpectedError, exact.Expected, 1e-4)
			near("risk", r.Risk, r.RiskError, exact.Risk, 1e-4)
			near("log Z0", r.LogZ0, 0, exact.LogZ0, 1e-9)
			near("log Z", r.LogZ, r.LogZError, exact.LogZ, 1e-4)
			if worst > 0.25 {
				t.Errorf("an interval of ± %v", worst)
			}
			if !r.Mixed || !r.BandExact {
				t.Errorf("split R-hat %v, inexact %v", r.RHat, r.Inexact)
			}
		})
	}
}

// What a sampler cannot do is said, and leaves nothing in the result.
func TestSampledMisuse(t *testing.T) {
	for _, loss := range []Loss{nil, NGram{N: 2}, Hamming{}, Edit{Band: -1}} {
		if _, err := NewSampler(loss, []int{0, 1}, 2, 3, nil); err == nil {
			t.Errorf("%T: no error", loss)
		}
	}
	for _, o := range []SampledOptions{{Sweeps: -1}, {Sweeps: 1}, {Period: 1}, {Burn: -2}, {Band: -2}, {Symbols: [][]int{{2}}}} {
		if _, err := NewSampler(Unit, []int{0, 1}, 2, 3, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := NewSampler(Unit, []int{0, 1}, 2, 3, &SampledOptions{Budget: Budget{Ctx: ctx}})
	if err != nil {
		t.Fatal(err)
	}
	var r SampledResult
	if err := s.Eval(NewPotentials(2, 3, 2), 1, WantMarginals|WantTied, &r); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"another length":   func() error { return s.Eval(NewPotentials(2, 4, 2), 1, WantTied, &r) },
		"another alphabet": func() error { return s.Eval(NewPotentials(3, 3, 2), 1, WantTied, &r) },
		"γ":                func() error { return s.Eval(NewPotentials(2, 3, 2), math.NaN(), WantTied, &r) },
		"a maximum":        func() error { return s.Eval(NewPotentials(2, 3, 2), 1, WantMaxAug, &r) },
		"an interrupt":     func() error { cancel(); return s.Eval(NewPotentials(2, 3, 2), 1, WantTied, &r) },
	} {
		err := f()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if name == "an interrupt" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.Tied) > 0 || len(r.Marginals) > 0 || r.RHat != 0 {
			t.Errorf("%s: the result holds something", name)
		}
	}
	s, err = NewSampler(Unit, make([]int, 4000), 2, 4000, &SampledOptions{Band: -1, Budget: Budget{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Eval(NewPotentials(2, 4000, 2), 1, WantTied, &r); !errors.Is(err, ErrBudget) {
		t.Errorf("a small budget: %v", err)
	}
}

// Equal seeds give equal bits; others do not.
func TestSampledSeeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p, ref := gaussianPotentials(rng, 4, 30, 2, 1, true), uniformRef(rng, 4, 30)
	of := func(seed uint64) string {
		s, err := NewSampler(Unit, ref, 4, 30, &SampledOptions{Seed: seed, Sweeps: 20})
		if err != nil {
			t.Fatal(err)
		}
		var r SampledResult
		for range 2 { // the second uses memory of the first
			if err := s.Eval(p, 1, WantMarginals|WantTied|WantLogZ|WantRisk, &r); err != nil {
				t.Fatal(err)
			}
		}
		return fmt.Sprint(r)
	}
	if of(1) != of(1) {
		t.Error("one seed, two results")
	}
	if of(1) == of(2) {
		t.Error("two seeds, one result")
	}
}
