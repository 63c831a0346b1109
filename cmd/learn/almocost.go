package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// robustness is what a robust model gives for being robust: its errors beside those of
// models of one loss alone, on the rows of training.
type robustness struct {
	Error float64      `json:"error"`
	Alone []aloneError `json:"alone"`
}

type aloneError struct {
	Loss  string  `json:"loss"`
	Error float64 `json:"error"`
}

// costOf trains on each loss alone, with the options of the robust model, and counts
// errors. The surrogate of zero-one is left out beside cross-entropy, which it is in other
// units. An interrupt ends it with nil: the robust model is there.
func costOf(d *minimax.Data, o *minimax.Options, f *minimax.Fit, workers int) (*robustness, error) {
	s, err := f.Model.Evaluate(d, workers)
	if err != nil {
		return nil, err
	}
	r := &robustness{Error: s.Error}
	names := f.Objectives
	for k, name := range names {
		if name == score.ZeroOne().Name && o.ZeroOne == minimax.Surrogate &&
			slices.Contains(names, score.CrossEntropy().Name) {
			continue
		}
		alone := *o
		alone.Preferences, alone.Penalty, alone.Beta2 = minimax.Preferences{}, "", 0 // of mixtures
		alone.Fixed = make([]float64, len(names))
		alone.Fixed[k] = 1
		alone.Control = run.Control{Ctx: o.Control.Ctx, Live: o.Control.Live}
		if o.Normalization == minimax.Regret {
			alone.Offsets = nil
			for _, u := range f.Model.Objectives {
				alone.Offsets = append(alone.Offsets, u.Offset)
			}
		}
		one, err := minimax.Train(d, &alone)
		if err != nil {
			if o.Control.Ctx.Err() != nil {
				return nil, nil
			}
			return nil, fmt.Errorf("on %s alone, for what robustness costs (--cost): %w", name, err)
		}
		if s, err = one.Model.Evaluate(d, workers); err != nil {
			return nil, err
		}
		r.Alone = append(r.Alone, aloneError{name, s.Error})
	}
	return r, nil
}

// note says it in a sentence.
func (r *robustness) note() string {
	var parts []string
	for _, a := range r.Alone {
		parts = append(parts, fmt.Sprintf("%.2f %% on %s", 100*a.Error, a.Loss))
	}
	return fmt.Sprintf("error on the rows of training: %.2f %%; of models trained on one loss alone: %s",
		100*r.Error, strings.Join(parts, ", "))
}

// single returns the loss that has all the weight of a mixture, "" when there is none. The
// surrogate of zero-one counts as cross-entropy.
func single(f *minimax.Fit) string {
	const all = 0.999
	sums := map[string]float64{}
	for k, name := range f.Objectives {
		if name == score.ZeroOne().Name {
			name = score.CrossEntropy().Name
		}
		if sums[name] += f.Lambda[k]; sums[name] >= all {
			return name
		}
	}
	return ""
}

// growing are the losses of classes that right answers raise.
func growing(d *minimax.Data, o *minimax.Options) []string {
	if d.Y != nil {
		return nil
	}
	var names []string
	for _, l := range o.Losses {
		if l.PunishesConfidence() {
			names = append(names, l.Name)
		}
	}
	return names
}
