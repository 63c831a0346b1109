package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/losses"
)

// unsampled are the fields that the sampled path does not have.
var unsampled = []string{"max_aug", "argmax_aug", "hvp", "risk_hvp", "columns"}

// rareWindow is about the most that a window without an interval has.
const rareWindow = .003

// sampledQuality says whether the intervals of a sampled result are to be believed.
type sampledQuality struct {
	RHat      *lossspec.Number `json:"r_hat,omitempty"`
	Mixed     bool             `json:"mixed"`
	Inexact   lossspec.Number  `json:"inexact"`
	BandExact bool             `json:"band_exact"`
	banded    bool             // the loss has a band of its own
	Rare      int              `json:"rare"`
	RareTied  int              `json:"rare_tied,omitempty"`
	Accepted  *lossspec.Number `json:"accepted,omitempty"`
	Anneal    *lossspec.Number `json:"anneal,omitempty"`
}

// forSampling checks what the sampled path covers, and lays a lattice out by positions.
func (ev *evaluation) forSampling() error {
	switch {
	case ev.spec.Direct == nil || ev.spec.Cap != nil:
		return errors.New("the sampled path is for edit and local losses without a cap; --path=general takes " +
			"others")
	case ev.expand != nil:
		return errors.New("the sampled path does not cover expansions; --path=general does")
	}
	c, o := ev.c, &ev.o.sampling
	ev.want = 0
	for field, bit := range map[string]losses.Want{
		"log_z": losses.WantLogZ, "F": losses.WantLogZ, "log_z_error": losses.WantLogZ,
		"q": losses.WantMarginals, "exp_loss": losses.WantExpected, "log_z0": losses.WantPlain,
		"risk": losses.WantRisk, "risk_grad": losses.WantRiskGradient, "grad_w": losses.WantTied,
	} {
		if ev.o.asks(field) && (bit != losses.WantTied || c.Tied && ev.p != nil && c.l >= c.q) {
			ev.want |= bit
		}
	}
	ev.options = *o
	ev.options.Budget = losses.Budget{Ctx: ev.o.limits.Ctx, Bytes: ev.o.limits.Bytes}
	if ev.lattice == nil {
		return nil
	}
	var err error
	if ev.layers, err = losses.NewLayeredLattice(ev.lattice); err != nil {
		return fmt.Errorf("%s: %w; --path=general takes it", c.Lattice, err)
	}
	ev.p = ev.layers.Potentials
	ev.options.Symbols = ev.layers.Symbols
	return nil
}

func (ev *evaluation) sample() error {
	c := ev.c
	s, err := losses.NewSampler(ev.spec.Direct, c.yi, c.alphabet, len(ev.p.Sizes), &ev.options)
	if err != nil {
		return err
	}
	return s.Eval(ev.p, c.gamma(), ev.want, &ev.sampled)
}

// sampledResult gathers what was asked for, each estimate with half of its 95 % interval.
func (ev *evaluation) sampledResult() *lossResult {
	c, r := ev.c, &ev.sampled
	number := func(x float64) *lossspec.Number { return (*lossspec.Number)(&x) }
	rows := func(x [][]float64) [][]lossspec.Number {
		out := make([][]lossspec.Number, 0, len(x))
		for _, q := range ev.printOrder(len(x)) {
			row := make([]lossspec.Number, len(x[q]))
			for i, v := range x[q] {
				row[i] = lossspec.Number(v)
			}
			out = append(out, row)
		}
		return out
	}
	exact := false
	out := &lossResult{Name: c.Name, void: math.IsInf(r.LogZ0, -1)}
	q := &sampledQuality{Mixed: r.Mixed, Inexact: lossspec.Number(r.Inexact), BandExact: r.BandExact,
		Rare: r.Rare, RareTied: r.RareTied,
		banded: ev.spec.Band > 0}
	for _, x := range []struct {
		to **lossspec.Number
		v  float64
	}{{&q.RHat, r.RHat}, {&q.Accepted, r.Accepted}, {&q.Anneal, r.Anneal}} {
		if !math.IsNaN(x.v) {
			*x.to = number(x.v)
		}
	}
	out.Sampled = q
	if ev.o.asks("exact") {
		out.Exact = &exact
	}
	if ev.want&losses.WantLogZ != 0 {
		if ev.o.asks("log_z") {
			out.LogZ = number(r.LogZ)
		}
		out.LogZError, out.LogZErrorKind = number(r.LogZError), r.LogZErrorKind.String()
		if ev.layers == nil && len(c.yi) == c.l && ev.o.asks("F") {
			if theta := ev.p.Score(c.yi); !math.IsInf(theta, 0) {
				out.F = number(r.LogZ - theta)
			}
		}
	}
	if ev.want&losses.WantExpected != 0 {
		out.ExpLoss, out.ExpLossError = number(r.Expected), number(r.ExpectedError)
	}
	if ev.want&losses.WantPlain != 0 {
		out.LogZ0 = number(r.LogZ0)
	}
	if ev.want&losses.WantRisk != 0 {
		out.Risk, out.RiskError = number(r.Risk), number(r.RiskError)
	}
	marginals, marginalsError, gradient, gradientError := r.Marginals, r.MarginalsError, r.RiskGradient,
		r.RiskGradientError
	if ev.layers != nil { // an arc is the sum of its windows, and its error at most that of theirs
		for t, row := range marginalsError {
			for i, x := range row {
				if math.IsNaN(x) {
					row[i] = rareWindow
					if math.IsInf(ev.p.Theta[t][i], -1) {
						row[i] = 0
					}
				}
			}
		}
		marginals, marginalsError = ev.layers.Arcs(marginals), ev.layers.Arcs(marginalsError)
		gradient, gradientError = ev.layers.Arcs(gradient), ev.layers.Arcs(gradientError)
	}
	if ev.want&losses.WantMarginals != 0 {
		out.Q, out.QError = rows(marginals), rows(marginalsError)
	}
	if ev.want&losses.WantRiskGradient != 0 {
		out.RiskGrad, out.RiskGradError = rows(gradient), rows(gradientError)
	}
	if ev.want&losses.WantTied != 0 && len(c.yi) == c.l {
		out.GradW, out.GradWError = make([]lossspec.Number, len(r.Tied)), make([]lossspec.Number, len(r.Tied))
		for i, x := range r.Tied {
			out.GradW[i], out.GradWError[i] = lossspec.Number(x), lossspec.Number(r.TiedError[i])
		}
		for t := c.q - 1; t < c.l; t++ {
			out.GradW[ev.p.Window(c.yi, t)]--
		}
	}
	return out
}

// doubts says why intervals are not to be believed.
func (q *sampledQuality) doubts() []string {
	var out []string
	if !q.Mixed {
		out = append(out, fmt.Sprintf("the chains have not mixed (split R-hat %.3g): do not believe the "+
			"intervals; give more --sweeps", *q.RHat))
	}
	if q.Anneal != nil && *q.Anneal < .1 {
		out = append(out, fmt.Sprintf("log_z rests on %.2g of the chains' weights: its interval is too narrow",
			float64(*q.Anneal)))
	}
	switch {
	case !q.BandExact && q.banded:
		out = append(out, fmt.Sprintf("of %.0f %% of the chains the loss within its band is not what the "+
			"sampler counts: estimates are biased by more than the intervals say; leave out the band of the loss, "+
			"this path needs none",
			100*float64(q.Inexact)))
	case !q.BandExact:
		out = append(out, fmt.Sprintf("of %.0f %% of the chains alignments leave the band of the sampler, which "+
			"is not exact: estimates are biased by more than the intervals say; give a wider --sampled_band, or -1",
			100*float64(q.Inexact)))
	}
	return out
}
