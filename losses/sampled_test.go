package losses

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
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
		{"Smith-Waterman", SmithWaterman, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true),
			0.5},
		{"integers", Edit{Sub: 3, Ins: 2, Del: 1}, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2,
			1, true), 0.4},
		{"match dear", Edit{Match: 1, Ins: 0.75, Del: 0.75}, uniformRef(rng, 3, 6), gaussianPotentials(rng,
			3, 6, 2, 1, true), 0.7},
		{"decimals", Edit{Sub: 0.83, Ins: 0.61, Del: 0.47}, uniformRef(rng, 4, 5), gaussianPotentials(rng,
			4, 5, 2, 1, true), 1},
		{"table", table(4), uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 1},
		{"local", Local{}, uniformRef(rng, 4, 5), gaussianPotentials(rng, 4, 5, 2, 1, true), 1},
		{"local dear", Local{Match: 2, Sub: -0.3, Ins: -0.4, Del: -0.9}, uniformRef(rng, 4, 6),
			gaussianPotentials(rng, 4, 5, 2, 1, true), 0.5},
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

// Against enumeration: every number is within three half widths, 7 standard errors of 8 groups,
// which one number of five thousand exceeds by chance; and intervals are small. Seeds are fixed.
func TestSampledAgainstEnumeration(t *testing.T) {
	const want = WantMarginals | WantTied | WantExpected | WantRisk | WantRiskGradient | WantLogZ
	for _, c := range sampledCases() {
		t.Run(c.name, func(t *testing.T) {
			var exact Result
			if err := Naive(c.value, c.p, c.gamma,
				WantMarginals|WantExpected|WantRisk|WantRiskGradient|WantPlain, nil, &exact); err != nil {
				t.Fatal(err)
			}
			s, err := NewSampler(c.loss, c.ref, slices.Max(c.p.Sizes), len(c.p.Sizes),
				&SampledOptions{Sweeps: 1500, Band: -1, Passes: 300, Steps: 150, Seed: 3})
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
					near(fmt.Sprintf("marginal %d %d", i, k), r.Marginals[i][k], r.MarginalsError[i][k], x,
						2e-4)
					near(fmt.Sprintf("risk gradient %d %d", i, k), r.RiskGradient[i][k],
						r.RiskGradientError[i][k], exact.RiskGradient[i][k], 2e-4)
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
	for _, o := range []SampledOptions{{Sweeps: -1}, {Sweeps: 1}, {Period: 1}, {Burn: -2}, {Band: -2},
		{Symbols: [][]int{{2}}}} {
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
	// An interrupt is obeyed within a sweep: one of a long local loss takes a second, all of them
	// days.
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	s, err = NewSampler(Local{}, make([]int, 400), 2, 400, &SampledOptions{Sweeps: 100_000,
		Budget: Budget{Ctx: ctx}})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.Eval(NewPotentials(2, 400, 2), 1, WantTied, &r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an interrupt within a sweep: %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("an interrupt took %v", took)
	}
	s, err = NewSampler(Unit, make([]int, 4000), 2, 4000, &SampledOptions{Band: -1,
		Budget: Budget{Bytes: 1 << 20}})
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
	first := of(1)
	if again := of(1); first != again {
		t.Error("one seed, two results")
	}
	if other := of(2); first == other {
		t.Error("two seeds, one result")
	}
}

// A layered lattice, against the general path on the same one: probabilities of arcs, E[L] and log
// Z.
func TestSampledLattice(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 4 {
		const l, width, symbols = 7, 3, 4
		a := fst.NewVector[semiring.Log64](1 + l*width)
		a.AddStates(1 + l*width)
		a.SetStart(0)
		for t := range l {
			for i := range width {
				if t == 0 && i > 0 {
					break
				}
				q := fst.StateID(0)
				if t > 0 {
					q = fst.StateID(1 + (t-1)*width + i)
				}
				for range 1 + rng.IntN(4) {
					k := fst.Label(1 + rng.IntN(symbols))
					a.AddArc(q, fst.Arc[semiring.Log64]{ILabel: k, OLabel: k,
						Weight: semiring.Log64(rng.NormFloat64()), NextState: fst.StateID(1 + t*width + rng.IntN(width))})
				}
			}
		}
		for i := range width {
			a.SetFinal(fst.StateID(1+(l-1)*width+i), semiring.Log64(rng.NormFloat64()))
		}
		ref := uniformRef(rng, symbols, l)
		automaton, err := Unit.Automaton(a, ref, symbols, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&Lattice{A: a}).Eval(automaton, 1, WantMarginals|WantExpected, ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		layered, err := NewLayeredLattice(a)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSampler(Unit, ref, symbols, l, &SampledOptions{Symbols: layered.Symbols, Sweeps: 2000,
			Steps: 200})
		if err != nil {
			t.Fatal(err)
		}
		var r SampledResult
		if err := s.Eval(layered.Potentials, 1, WantMarginals|WantLogZ, &r); err != nil {
			t.Fatal(err)
		}
		if !r.Mixed || !r.BandExact {
			t.Errorf("split R-hat %v, inexact %v", r.RHat, r.Inexact)
		}
		if math.Abs(r.LogZ-want.LogZ) > 2.5*r.LogZError ||
			math.Abs(r.Expected-want.Expected) > 2.5*r.ExpectedError || r.ExpectedError > .1 {
			t.Errorf("log Z %v ± %v, E[L] %v ± %v, not %v and %v", r.LogZ, r.LogZError, r.Expected,
				r.ExpectedError, want.LogZ, want.Expected)
		}
		for q, row := range layered.Arcs(r.Marginals) {
			for i, x := range row {
				if math.Abs(x-want.Marginals[q][i]) > .02 {
					t.Errorf("arc %d of state %d: %v, not %v", i, q, x, want.Marginals[q][i])
				}
			}
		}
	}
	// What has no layers is refused.
	skip := fst.NewVector[semiring.Log64](3)
	skip.AddStates(3)
	skip.SetStart(0)
	for _, e := range [][2]fst.StateID{{0, 1}, {1, 2}, {0, 2}} {
		skip.AddArc(e[0], fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: e[1]})
	}
	skip.SetFinal(2, 0)
	if _, err := NewLayeredLattice(skip); !errors.Is(err, ErrNotLayered) {
		t.Errorf("a lattice with a short cut: %v", err)
	}
}

// Against exact machines of the published references: the tied gradient is as near as its intervals
// say, in the band that a sampler takes by itself.
func TestSampledAgainstMachines(t *testing.T) {
	for _, c := range []struct {
		loss Edit
		l, m int
	}{{Unit, 10, 10}, {Unit, 14, 14}, {Unit, 16, 16}, {SmithWaterman, 10, 10}, {Unit, 14,
		11}, {Edit{Sub: 1.7, Ins: 1.1, Del: 1.3}, 10, 12}} {
		ref := publishedRef(0, c.m)
		p := publishedPotentials(3, 10, c.l, 2)
		machine, err := c.loss.Machine(ref, 10, c.l)
		if err != nil {
			t.Fatal(err)
		}
		var exact Result
		if err := new(Evaluator).Eval(machine, p, 1, WantMarginals|WantExpected, &exact); err != nil {
			t.Fatal(err)
		}
		s, err := NewSampler(c.loss, ref, 10, c.l, &SampledOptions{Sweeps: 600})
		if err != nil {
			t.Fatal(err)
		}
		var r SampledResult
		if err := s.Eval(p, 1, WantTied|WantLogZ, &r); err != nil {
			t.Fatal(err)
		}
		tied := make([]float64, 100)
		for _, row := range exact.Marginals[1:] {
			for i, x := range row {
				tied[i] += x
			}
		}
		off, sum, expected := 0.0, 0.0, 0.0
		for i, x := range tied {
			sum += x
			off += math.Abs(r.Tied[i] - x)
			if half := r.TiedError[i]; !math.IsNaN(half) {
				expected += half / 2.365 * .8
			}
		}
		if off > 1.6*expected+1e-3*sum || off > .01*sum {
			t.Errorf("%+v, l %d, m %d: tied gradient is off by %v of %v, where intervals say %v", c.loss,
				c.l, c.m, off, sum, expected)
		}
		if math.Abs(r.LogZ-exact.LogZ) > 2*r.LogZError ||
			math.Abs(r.Expected-exact.Expected) > 2*r.ExpectedError || !r.Mixed {
			t.Errorf("%+v, l %d, m %d: log Z %v ± %v, E[L] %v ± %v, not %v and %v", c.loss, c.l, c.m,
				r.LogZ, r.LogZError, r.Expected, r.ExpectedError, exact.LogZ, exact.Expected)
		}
	}
}

// A band that is too narrow is said not to be exact, chains that do not mix are said not to, and
// what is hardly ever visited has no interval.
func TestSampledSays(t *testing.T) {
	ref, p := publishedSampled(1, 80, 1)
	eval := func(p *Potentials, o SampledOptions) *SampledResult {
		s, err := NewSampler(Unit, ref, 10, 80, &o)
		if err != nil {
			t.Fatal(err)
		}
		r := &SampledResult{}
		if err := s.Eval(p, 1, WantMarginals|WantTied, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := eval(p, SampledOptions{Band: 4}); r.BandExact || r.Inexact < .3 {
		t.Errorf("band 4: exact %v, inexact %v", r.BandExact, r.Inexact)
	}
	for _, want := range []Want{WantLogZ, WantExpected | WantRisk} {
		s, err := NewSampler(Unit, ref, 10, 80, &SampledOptions{Band: 4})
		if err != nil {
			t.Fatal(err)
		}
		var r SampledResult
		if err := s.Eval(p, 1, want, &r); err != nil {
			t.Fatal(err)
		}
		if r.BandExact || r.Inexact < .3 || r.Inexact > 1 {
			t.Errorf("band 4, wanted %b: exact %v, inexact %v", want, r.BandExact, r.Inexact)
		}
	}
	if r := eval(p, SampledOptions{}); !r.BandExact || !r.Mixed || r.Rare > 800 {
		t.Errorf("by default: band exact %v, R-hat %v, %d rare cells", r.BandExact, r.RHat, r.Rare)
	}
	_, peaked := publishedSampled(1, 80, 5)
	if r := eval(peaked, SampledOptions{Block: -1}); r.Mixed {
		t.Errorf("a peaked model without blocks mixes: R-hat %v", r.RHat)
	}
	if r := eval(peaked, SampledOptions{}); r.Rare < 4000 {
		t.Errorf("a peaked model has %d rare cells", r.Rare)
	}
}

// Controls learned on other references leave less than half of the variance, and intervals that are
// as narrow.
func TestTiedControl(t *testing.T) {
	_, p := publishedSampled(1, 60, 1)
	control := &TiedControl{}
	rng := rand.New(rand.NewPCG(7, 7))
	run := func(ref []int, seed uint64, o SampledOptions) *SampledResult {
		o.Seed = seed
		s, err := NewSampler(Unit, ref, 10, 60, &o)
		if err != nil {
			t.Fatal(err)
		}
		r := &SampledResult{}
		if err := s.Eval(p, 1, WantTied, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range 60 {
		run(uniformRef(rng, 10, 60), uint64(i), SampledOptions{Sweeps: 160, Control: control})
	}
	control.Refresh()
	if control.Runs() != 60 {
		t.Errorf("coefficients of %d runs", control.Runs())
	}
	ref := uniformRef(rng, 10, 60)
	truth := run(ref, 999, SampledOptions{Sweeps: 20000})
	var plain, learned, half float64
	for i := range 6 {
		// Sweeps of both have plain Rao-Blackwell forms where a fresh control has no coefficients
		// yet.
		a := run(ref, uint64(100+i), SampledOptions{Sweeps: 60, Control: &TiedControl{}})
		b := run(ref, uint64(100+i), SampledOptions{Sweeps: 60, Control: control})
		for k, x := range truth.Tied {
			plain += (a.Tied[k] - x) * (a.Tied[k] - x)
			learned += (b.Tied[k] - x) * (b.Tied[k] - x)
			if !math.IsNaN(b.TiedError[k]) {
				half += b.TiedError[k] * b.TiedError[k] / (2.2 * 2.2)
			}
		}
	}
	if learned > plain/2 {
		t.Errorf("mean squares: %v without controls, %v with", plain, learned)
	}
	if learned > 1.5*half || learned < half/1.5 {
		t.Errorf("mean squares are %v, where intervals say %v", learned, half)
	}
}

// Fixed-point costs cannot tell 1 from 0 beside 1e8: that is an error, not a confident estimate.
func TestSampledRefusesRounding(t *testing.T) {
	s, err := NewSampler(Edit{Sub: 1, Ins: 1e8, Del: 1e8}, []int{0, 1, 0, 1, 1}, 2, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	var r SampledResult
	if err := s.Eval(NewPotentials(2, 4, 1), 1, WantMarginals, &r); err == nil {
		t.Errorf("no error; marginals %v ± %v", r.Marginals, r.MarginalsError)
	}
	if err := s.Eval(NewPotentials(2, 4, 1), 1e-8, WantMarginals, &r); err != nil {
		t.Errorf("γ L of moderate size: %v", err)
	}
	// A gain that only forbids a step does not count.
	if s, err = NewSampler(Local{Match: 1.3, Sub: -1e300, Ins: -1e300, Del: -.4}, []int{0, 1, 0, 1, 1}, 2, 4,
		nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Eval(NewPotentials(2, 4, 1), -1, WantExpected, &r); err != nil || !r.BandExact {
		t.Errorf("forbidden steps: %v, band exact %v", err, r.BandExact)
	}
}

// Windows that samples hardly meet have intervals of the risk's gradient that hold its value.
func TestSampledRareRiskGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	cells, missed := 0, 0
	for order, loss := range []Loss{2: Unit, 3: Local{Match: 2, Sub: -1.3, Ins: -.7, Del: -1}} {
		if loss == nil {
			continue
		}
		for range 6 {
			p := gaussianPotentials(rng, 4, 6, order, 8/float64(order), false)
			ref := uniformRef(rng, 4, 6)
			s, err := NewSampler(loss, ref, 4, 6, nil)
			if err != nil {
				t.Fatal(err)
			}
			var r SampledResult
			if err := s.Eval(p, 1, WantRiskGradient, &r); err != nil {
				t.Fatal(err)
			}
			m, err := loss.Machine(ref, 4, 6)
			if err != nil {
				t.Fatal(err)
			}
			var exact Result
			if err := new(Evaluator).Eval(m, p, 0, WantRiskGradient|WantMarginals, &exact); err != nil {
				t.Fatal(err)
			}
			for i, row := range exact.RiskGradient {
				for j, x := range row {
					if q := exact.Marginals[i][j]; q == 0 || q > 3./4096 {
						continue
					}
					cells++
					if d := math.Abs(x - r.RiskGradient[i][j]); !(d <= 1e-12+r.RiskGradientError[i][j]) {
						missed++
					}
				}
			}
		}
	}
	if cells < 500 || missed*50 > cells {
		t.Errorf("%d of %d intervals of rare windows miss the gradient", missed, cells)
	}
}
