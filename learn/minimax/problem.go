package minimax

import (
	"fmt"
	"strings"
)

// problem says all that the result of a run depends on, but for the data, in the words that
// run.Checkpoint.BelongsTo compares: what a resumed run has otherwise is named by them.
func (t *trainer) problem() string {
	words := []string{"almo"}
	add := func(name string, value any) {
		text := strings.Trim(fmt.Sprint(value), "[]")
		words = append(words, name+"="+strings.ReplaceAll(text, " ", ","))
	}
	add("rows", t.data.Rows)
	add("features", t.data.Features)
	add("outputs", t.data.Outputs())
	add("weighted", t.data.Weight != nil)
	add("hidden", t.Hidden)
	add("units", t.Normalization)
	add("zero_one", t.ZeroOne)
	add("classes", t.MultiClass)
	add("l2", t.Beta1)
	add("norm", t.Norm)
	add("beta2", t.Beta2)
	add("penalty", t.Penalty)
	add("radius", t.Radius)
	add("bias", t.Bias)
	add("score_bound", t.ScoreBound)
	add("mixture", t.Fixed)
	add("min", t.Preferences.Lo)
	add("max", t.Preferences.Hi)
	add("vertices", t.Preferences.Vertices)
	add("inequalities", fmt.Sprint(t.Preferences.A, t.Preferences.B))
	add("lambda_radius", t.Preferences.Radius)
	add("solver", t.Solver)
	add("steps", t.Steps)
	add("rate", t.StepW)
	add("lambda_rate", t.StepLambda)
	add("entropic", t.Entropic)
	add("average_all", t.All)
	add("batch", t.Batch)
	add("gap", t.Gap)
	add("width", t.Width)
	add("polish", !t.NoPolish)
	add("seed", t.Seed)
	if len(t.Hidden) > 0 && t.Normalization == Regret && (t.Offsets == nil || t.solo != nil) {
		add("iterations", t.Passes) // of what each objective reaches alone, which nothing proves
	}
	if len(t.Hidden) > 0 {
		add("optimizer", t.Network.Method)
		add("momentum", t.Network.Momentum)
		add("constant", t.Network.Constant)
	}
	var losses []string
	for k := range t.objectives {
		o := &t.objectives[k]
		losses = append(losses, fmt.Sprintf("%s*%v-%v", strings.ReplaceAll(o.Name, " ", "_"), o.scale, o.offset))
	}
	add("losses", strings.Join(losses, ","))
	return strings.Join(words, " ")
}

// identity is problem with the data: what checkpoints are of.
func (t *trainer) identity() string {
	problem := t.problem() + fmt.Sprintf(" data=%016x", t.data.Fingerprint())
	if h := t.Network.Heldout; h != nil && len(t.Hidden) > 0 {
		problem += fmt.Sprintf(" heldout=%016x", h.Fingerprint())
	}
	return problem
}
