package margin

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// TransferOptions adjusts Transfer; zero fields are the defaults.
type TransferOptions struct {
	Lambda float64 `flag:"lambda" default:"0.5" above:"0" help:"Weight of half the squares of the shared weights"`
	Rho    float64 `flag:"rho" default:"2.5" above:"0" help:"Weight of half the squared distances to the shared weights"`
	Gap    float64 `flag:"gap" default:"0.01" above:"0" help:"Certified gap of the objective to stop at"`
	Keep   int     `flag:"keep" default:"200" min:"4" help:"Planes of a data set before the least used become one" topic:"solver"`
	Pull   float64 `flag:"pull" default:"0.5" min:"0" max:"0.95" help:"How far from the model's minimum towards the best point planes are taken" topic:"solver"`
	// Remember is as of Options.
	Remember int `flag:"remember" default:"10" min:"0" help:"Outputs of a sample that are kept: planes are made of them until only a search for others helps; 0 keeps none" topic:"solver"`
	// Weights multiply the mean loss of each data set; nil is 1.
	Weights []float64
}

// Transfer minimises
//
//	Lambda/2 |w|² + Rho/2 Σ_d |w^d - w|² + Σ_d Weights_d R_d(w^d)
//
// over shared weights w and those of each data set, R_d being the mean structured hinge of
// MaxMargin. As Rho grows it becomes one learner on the union of the sets. As Lambda grows the
// learners become independent, with the penalty Rho. See optim.Coupled.
//
// Where annotations are partial, R_d is the loss of Partial, and the solver optim.CCCP with coupled
// tasks. It starts from the weights that an averaged perceptron learns on all sets together.
func Transfer[X, Y, A any](s space.Space[X, Y, A], sets [][]space.Sample[X, A], opts *TransferOptions,
	c *run.Control) (shared *Linear, per []*Linear, r *optim.Result, err error) {
	var o TransferOptions
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, nil, fmt.Errorf("margin: %w", err)
	}
	if o.Weights != nil && len(o.Weights) != len(sets) {
		return nil, nil, nil, fmt.Errorf("margin: transfer: %d weights for %d data sets", len(o.Weights), len(sets))
	}
	total := 0
	for d := range sets {
		if len(sets[d]) == 0 {
			return nil, nil, nil, fmt.Errorf("margin: transfer: data set %d has no samples", d)
		}
		if o.Weights != nil && !(o.Weights[d] > 0 && !math.IsInf(o.Weights[d], 1)) {
			return nil, nil, nil, fmt.Errorf("margin: transfer: the weight %v of data set %d is not positive",
				o.Weights[d], d)
		}
		total += len(sets[d])
	}
	if total == 0 {
		return nil, nil, nil, fmt.Errorf("margin: transfer: no data sets")
	}
	control, begun, err := begin("transfer", c, sets[0],
		learner.Settings(&o)+fmt.Sprintf(" weights=%v", o.Weights))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("margin: %w", err)
	}
	control.Examples = total
	report := &Report{Lower: math.Inf(-1)}
	complete := true
	for d := range sets {
		for i := range sets[d] {
			complete = complete && s.Complete(sets[d][i].X, sets[d][i].A)
		}
	}
	weigh := func(h *risk[X, Y, A], d int) *risk[X, Y, A] {
		if o.Weights != nil {
			h.weight = o.Weights[d]
			for j := range h.less {
				h.less[j] *= h.weight
			}
		}
		return h
	}
	var p, right []optim.Risk
	var risks []*risk[X, Y, A]
	own := &Options{Remember: o.Remember}
	for d := range sets {
		var h *risk[X, Y, A]
		if complete {
			h, err = hinge(s, sets[d], own, begun, report)
		} else {
			right = append(right, weigh(within(s, sets[d], &Options{}, begun, report), d))
			h, err = penalty(s, sets[d], own, begun, report)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("margin: data set %d: %w", d, err)
		}
		risks, p = append(risks, h), append(p, weigh(h, d))
	}
	if err := remembering(control, risks...); err != nil {
		return nil, nil, nil, fmt.Errorf("margin: %w", err)
	}
	var b *optim.BundleResult
	if complete {
		b, err = optim.Coupled{Lambda: o.Lambda, Rho: o.Rho, Gap: o.Gap, Keep: o.Keep,
			Pull: learner.Amount(o.Pull)}.Minimize(p, make([]float64, s.Dim()), control)
	} else {
		var start []float64
		first := &PartialOptions{Options: Options{Lambda: o.Lambda * o.Rho / (o.Lambda + o.Rho)},
			Start: "perceptron"}
		if start, err = from(s, slices.Concat(sets...), first, 0, control, report); err != nil {
			return nil, nil, nil, err
		}
		var r *optim.CCCPResult
		r, err = optim.CCCP{Lambda: o.Lambda, Rho: o.Rho, Above: true, Gap: o.Gap, Keep: o.Keep,
			Pull: learner.Amount(o.Pull)}.MinimizeTasks(p, right, start, control)
		if r != nil {
			b, report.Outer = &r.BundleResult, r.Outer
			b.Lower = math.Inf(-1)
		}
	}
	if b == nil {
		return nil, nil, nil, err
	}
	report.Lower, report.Planes = b.Lower, len(b.Cuts.Planes)
	for _, w := range b.Tasks {
		per = append(per, &Linear{W: w, Report: *report})
	}
	return &Linear{W: b.Shared, Report: *report}, per, &b.Result, err
}
