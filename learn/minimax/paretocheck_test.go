package minimax_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
)

// A certified model has nothing near it that is better in all objectives, half of it has much;
// rivals that are better or worse by the tolerance are told, and those of other objectives
// refused.
func TestCheckPareto(t *testing.T) {
	d := blobs(80, 3, 2, 9)
	f, err := minimax.Train(d, &minimax.Options{Losses: all(t, "hinge", "1-norm", "cross-entropy"), Beta1: 1e-3, Gap: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	raw := func(by float64) map[string]float64 {
		out := map[string]float64{}
		for k, name := range f.Objectives {
			out[name] = f.Raw[k] + by
		}
		return out
	}
	o := &minimax.ParetoOptions{Rivals: []minimax.Rival{{Name: "better", Raw: raw(-0.1)}, {Name: "worse", Raw: raw(0.1)}, {Name: "same", Raw: raw(1e-6)}}}
	c, err := f.Model.CheckPareto(d, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Better != 0 || c.Changes != 200 || c.Slack > 1e-3 || c.Slack < 0 {
		t.Errorf("%+v", c)
	}
	for k, v := range f.Lambda {
		if got := slices.Contains(c.Weightless, f.Objectives[k]); got != (v <= 1e-9) {
			t.Errorf("%s has λ %g; without weight are %q", f.Objectives[k], v, c.Weightless)
		}
	}
	for i, want := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		if r := c.Rivals[i]; r.Dominates != want[0] || r.Dominated != want[1] {
			t.Errorf("%+v, want %v", r, want)
		}
	}
	half := *f.Model
	half.Params = slices.Clone(half.Params)
	for j := range half.Params {
		half.Params[j] /= 2
	}
	if c, err := half.CheckPareto(d, nil); err != nil || c.Better == 0 || c.Dominating < c.Better {
		t.Errorf("half of the solution: %+v, %v", c, err)
	}
	delete(o.Rivals[0].Raw, "hinge")
	if _, err := f.Model.CheckPareto(d, o); err == nil || !strings.Contains(err.Error(), "better was not trained on hinge") {
		t.Errorf("a rival without hinge: %v", err)
	}
	if _, err := f.Model.CheckPareto(d, &minimax.ParetoOptions{Tolerance: -1}); err == nil {
		t.Error("a negative tolerance was taken")
	}
}
