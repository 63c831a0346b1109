package losses

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var coverageCases = flag.Int("sampled.cases", 120,
	"cases of TestSampledCoverage; 1000 are what testdata/bench has figures of")

var coverageScale = flag.Float64("sampled.scale", 1,
	"weights of TestSampledCoverage are so many times as large: 3 and 5 are peaked models")

// coverageCase draws a problem that an exact machine solves: any loss, lengths, order, γ and
// peakedness.
func coverageCase(rng *rand.Rand) sampledCase {
	l, labels, q := 6+rng.IntN(6), 2+rng.IntN(4), 1+rng.IntN(2)
	if rng.IntN(6) == 0 {
		q, labels = 3, 2+rng.IntN(2)
	}
	m := l
	if rng.IntN(3) == 0 {
		m = max(1, l+rng.IntN(7)-3)
	}
	c := sampledCase{ref: uniformRef(rng, labels, m), gamma: 1}
	switch rng.IntN(6) {
	case 0:
		c.name, c.loss = "table", Edit{Sub: 1, Ins: 1, Del: 1}
		e := Edit{Ins: 1, Del: 1, SubTable: make([][]float64, labels)}
		for i := range e.SubTable {
			e.SubTable[i] = make([]float64, labels)
			for j := range labels {
				if i != j {
					e.SubTable[i][j] = 1 + float64(rng.IntN(3))/2
				}
			}
		}
		c.loss = e
	case 1:
		c.name, c.loss, c.gamma = "Smith-Waterman", SmithWaterman, 0.5
	case 2:
		c.name, c.loss = "local", Local{}
		if l > 9 {
			l = 9
		}
	default:
		c.name, c.loss = "unit", Unit
	}
	scale := *coverageScale * []float64{0.5, 1, 1, 1, 2}[rng.IntN(5)]
	c.p = gaussianPotentials(rng, labels, l, q, scale, rng.IntN(4) > 0)
	c.gamma *= []float64{1, 1, 1, 0.3, -1, 2}[rng.IntN(6)]
	return c
}

// Intervals of 95 % cover in 93 to 97 % of all components above .05, of every output. The test's
// own few cases must come within what chance allows them: cells of a case share a run, so that a
// case counts as about two draws.
func TestSampledCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 32))
	type tally struct{ in, all float64 }
	tallies := map[string]*tally{}
	look := func(what string, got, half, want float64) {
		if math.IsNaN(half) {
			return // a rare cell
		}
		c := tallies[what]
		if c == nil {
			c = &tally{}
			tallies[what] = c
		}
		c.all++
		// Rounding is not what an interval is for: some numbers are certain.
		if math.Abs(got-want) <= half+1e-7*(1+math.Abs(want)) {
			c.in++
		}
	}
	flagged := 0
	for i := range *coverageCases {
		c := coverageCase(rng)
		l := len(c.p.Sizes)
		machine, err := c.loss.Machine(c.ref, slices.Max(c.p.Sizes), l)
		if err != nil {
			t.Fatal(err)
		}
		var exact Result
		if err := new(Evaluator).Eval(machine, c.p, c.gamma,
			WantMarginals|WantExpected|WantRisk|WantRiskGradient, &exact); err != nil {
			t.Fatal(err)
		}
		s, err := NewSampler(c.loss, c.ref, slices.Max(c.p.Sizes), l, &SampledOptions{Sweeps: 160,
			Band: -1, Passes: 16, Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		var r SampledResult
		if err := s.Eval(c.p, c.gamma, WantMarginals|WantTied|WantRisk|WantRiskGradient|WantLogZ,
			&r); err != nil {
			t.Fatal(err)
		}
		if !r.Mixed {
			flagged++
			continue
		}
		tied, tiedRisk := make([]float64, len(r.Tied)), make([]float64, len(r.Tied))
		for pos, row := range exact.Marginals {
			for k, x := range row {
				if x > .05 {
					look("marginals", r.Marginals[pos][k], r.MarginalsError[pos][k], x)
				}
				if y := exact.RiskGradient[pos][k]; math.Abs(y) > .05 {
					look("risk gradient", r.RiskGradient[pos][k], r.RiskGradientError[pos][k], y)
				}
				if pos >= c.p.Order-1 {
					tied[k] += x
					tiedRisk[k] += exact.RiskGradient[pos][k]
				}
			}
		}
		for k, x := range tied {
			if x > .05 {
				look("tied", r.Tied[k], r.TiedError[k], x)
			}
		}
		for k, x := range tiedRisk {
			if math.Abs(x) > .05 {
				look("tied risk gradient", r.TiedRisk[k], r.TiedRiskError[k], x)
			}
		}
		look("expected loss", r.Expected, r.ExpectedError, exact.Expected)
		look("risk", r.Risk, r.RiskError, exact.Risk)
		look("log Z", r.LogZ, r.LogZError, exact.LogZ)
	}
	for what, c := range tallies {
		share := c.in / c.all
		slack := 0.02 + 3*math.Sqrt(.05*.95/min(c.all, 2*float64(*coverageCases)))*math.Sqrt(max(0,
			1-float64(*coverageCases)/1000))
		t.Logf("%s: %.4f of %v intervals cover", what, share, c.all)
		if *coverageScale == 1 && (share < .95-slack || share > min(1, .95+slack)) {
			t.Errorf("%s: %.4f of %v intervals cover, not .95 ± %.3f", what, share, c.all, slack)
		}
	}
	t.Logf("%d of %d cases not mixed", flagged, *coverageCases)
}
