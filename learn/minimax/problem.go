package minimax

import (
	"fmt"
	"strings"
)

// field is a part of what a run depends on, with its value as text.
type field struct{ name, value string }

// fields says all that the result of a run depends on, but for the data.
func (t *trainer) fields() []field {
	var f []field
	add := func(name string, value any) { f = append(f, field{name, fmt.Sprint(value)}) }
	add("rows", t.data.Rows)
	add("features", t.data.Features)
	add("outputs", t.data.Outputs())
	add("weighted", t.data.Weight != nil)
	var losses []string
	for k := range t.objectives {
		o := &t.objectives[k]
		losses = append(losses, fmt.Sprintf("%s*%v-%v", o.Name, o.scale, o.offset))
	}
	add("hidden", t.Hidden)
	add("units", t.Normalization)
	add("zero_one", t.ZeroOne)
	add("classes", t.MultiClass)
	add("beta1", t.Beta1)
	add("norm", t.Norm)
	add("beta2", t.Beta2)
	add("penalty", t.Penalty)
	add("radius", t.Radius)
	add("bias", t.Bias)
	add("score_bound", t.ScoreBound)
	add("mixture", t.Fixed)
	add("preferences", fmt.Sprintf("%+v", t.Preferences))
	add("solver", t.Solver)
	add("steps", t.Steps)
	add("rate", t.StepW)
	add("lambda_rate", t.StepLambda)
	add("entropic", t.Entropic)
	add("all", t.All)
	add("batch", t.Batch)
	add("gap", t.Gap)
	add("width", t.Width)
	add("polish", !t.NoPolish)
	add("seed", t.Seed)
	if len(t.Hidden) > 0 {
		add("optimizer", t.Network.Method)
		add("momentum", t.Network.Momentum)
		add("constant", t.Network.Constant)
	}
	add("losses", strings.Join(losses, ",")) // last: units and radii change their scales as well
	return f
}

const (
	problemName = "almo"
	fieldEnd    = "; "
)

// text writes fields for checkpoints, and for people.
func text(f []field) string {
	parts := []string{problemName}
	for _, x := range f {
		parts = append(parts, x.name+"="+x.value)
	}
	return strings.Join(parts, fieldEnd)
}

// ProblemError reports a checkpoint of another problem, by the first field in which the two
// differ: one of Options, or of the data.
type ProblemError struct {
	Field   string // "" where the checkpoint is of something else altogether
	Was, Is string
}

func (e *ProblemError) Error() string {
	const what = "minimax: the checkpoint belongs to another problem: "
	switch e.Field {
	case "":
		return fmt.Sprintf(what+"%.60q", e.Was)
	case "data", "heldout":
		return what + "its " + e.Field + " were others"
	}
	return fmt.Sprintf(what+"%s was %s, and is %s", e.Field, e.Was, e.Is)
}

// same compares a checkpoint's problem with that of a run.
func same(was string, is []field) error {
	if was == text(is) {
		return nil
	}
	parts := strings.Split(was, fieldEnd)
	if parts[0] != problemName {
		return &ProblemError{Was: was}
	}
	old := map[string]string{}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		old[name] = value
	}
	for _, f := range is {
		if v, ok := old[f.name]; !ok || v != f.value {
			if !ok {
				v = "not given"
			}
			return &ProblemError{f.name, v, f.value}
		}
	}
	return &ProblemError{Was: was}
}
