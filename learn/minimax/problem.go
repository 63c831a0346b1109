package minimax

import (
	"fmt"
	"strings"
)

// problem describes everything but the data that the result of a run depends on, in the words that
// run.Checkpoint.BelongsTo compares. A resumed run that differs is reported in these words.
func (t *trainer) problem() string {
	var losses []string
	for _, o := range t.objectives {
		losses = append(losses, fmt.Sprintf("%s*%v-%v", strings.ReplaceAll(o.Name, " ", "_"), o.scale, o.offset))
	}
	d, f, n := t.data, &t.Preferences, &t.Network
	words := []any{"rows", d.Rows, "features", d.Features, "outputs", d.Outputs(), "weighted",
		d.Weight != nil, "hidden", t.Hidden, "units", t.Normalization, "zero_one", t.ZeroOne, "classes",
		t.MultiClass, "l2", t.Beta1, "norm", t.Norm, "beta2", t.Beta2, "penalty", t.Penalty, "radius",
		t.Radius, "bias", t.Bias, "score_bound", t.ScoreBound, "mixture", t.Fixed, "min", f.Lo, "max",
		f.Hi, "vertices", f.Vertices, "inequalities", fmt.Sprint(f.A, f.B), "lambda_radius", f.Radius,
		"solver", t.Solver, "steps", t.Steps, "rate", t.StepW, "lambda_rate", t.StepLambda, "entropic",
		t.Entropic, "average_all", t.All, "batch", t.Batch, "gap", t.Gap, "width", t.width(), "polish",
		!t.NoPolish, "seed", t.Seed}
	if len(t.Hidden) > 0 {
		if t.Normalization == Regret && (t.Offsets == nil || t.solo != nil) {
			words = append(words, "iterations", t.Passes) // of what each objective reaches alone, which nothing proves
		}
		words = append(words, "optimizer", n.Method, "momentum", n.Momentum, "constant", n.Constant)
	}
	words = append(words, "losses", strings.Join(losses, ","))
	out := "almo"
	for i := 0; i < len(words); i += 2 {
		text := strings.Trim(fmt.Sprint(words[i+1]), "[]")
		out += fmt.Sprintf(" %s=%s", words[i], strings.ReplaceAll(text, " ", ","))
	}
	return out
}

// identity is problem with the data: what checkpoints are of.
func (t *trainer) identity() string {
	problem := t.problem() + fmt.Sprintf(" data=%016x", t.data.Fingerprint())
	if h := t.Network.Heldout; h != nil && len(t.Hidden) > 0 {
		problem += fmt.Sprintf(" heldout=%016x", h.Fingerprint())
	}
	return problem
}
