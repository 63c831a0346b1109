package minimax_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
)

// Nothing near a certified model is better in all objectives; near half of it much is. Rivals that
// are better or worse by the tolerance are reported, and those of other objectives rejected.
func TestCheckPareto(t *testing.T) {
	d := blobs(80, 3, 2, 9)
	f, err := minimax.Train(d, &minimax.Options{Losses: all(t, "hinge", "1-norm", "cross-entropy"),
		Beta1: 1e-3, Gap: 1e-6})
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
	o := &minimax.ParetoOptions{Rivals: []minimax.Rival{{Name: "better", Raw: raw(-0.1)},
		{Name: "worse", Raw: raw(0.1)}, {Name: "same", Raw: raw(1e-6)}}}
	c, err := f.Model.CheckPareto(d, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Better != 0 || c.Changes != 200 || !c.Certified || c.Slack == nil || *c.Slack > 1e-3 || *c.Slack < 0 {
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
	if _, err := f.Model.CheckPareto(d, o); err == nil ||
		!strings.Contains(err.Error(), "better was not trained on hinge") {
		t.Errorf("a rival without hinge: %v", err)
	}
	if _, err := f.Model.CheckPareto(d, &minimax.ParetoOptions{Tolerance: -1}); err == nil {
		t.Error("a negative tolerance was taken")
	}
}

// Changes of a model are judged as training would have: with the penalty, and within the bounds
// of the parameters, where these hold the model back. Then a certified one has none that is
// better in all objectives; without either it has many.
func TestCheckParetoAsTrained(t *testing.T) {
	d := blobs(80, 3, 2, 9)
	for name, o := range map[string]minimax.Options{
		"penalty": {Losses: minimax.ThesisLosses(), Beta1: 0.5},
		"norm":    {Losses: minimax.ThesisLosses(), Beta1: 0.2, Norm: true},
		"radius":  {Losses: minimax.ThesisLosses(), Radius: 0.1},
		"bias":    {Losses: minimax.ThesisLosses(), Beta1: 0.01, Bias: 0.01},
		"box": {Losses: minimax.ThesisLosses(), Beta1: 0.5,
			Preferences: minimax.Preferences{Lo: []float64{0.2}, Hi: []float64{0.6}}},
	} {
		o.Losses, o.Gap = all(t, "hinge", "1-norm", "cross-entropy"), 1e-4
		d := d
		if name == "bias" { // a bias is what is missing where most are of one class
			uneven := *d
			uneven.Class = make([]int32, d.Rows)
			for i := range d.Rows / 10 {
				uneven.Class[i] = 1
			}
			d = &uneven
		}
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatal(name, err)
		}
		check := &minimax.ParetoOptions{Tolerance: 2e-4, Changes: 400}
		c, err := f.Model.CheckPareto(d, check)
		if err != nil {
			t.Fatal(name, err)
		}
		if c.Better != 0 || !c.Certified {
			t.Errorf("%s: %d changes are better in all objectives (certified: %v, gap %v)", name, c.Better,
				c.Certified, f.Gap())
		}
		if c.Slack == nil || *c.Slack < -1e-9 || *c.Slack > 2e-2 {
			t.Errorf("%s: complementarity is missed by %v", name, c.Slack)
		}
		free := *f.Model
		free.Training = ""
		if c, err := free.CheckPareto(d, check); err != nil || c.Better == 0 {
			t.Errorf("%s: without what held it back nothing is better: %+v, %v", name, c, err)
		}
		var b bytes.Buffer
		if err := f.Model.Write(&b); err != nil {
			t.Fatal(err)
		}
		read, err := minimax.Read(&b)
		if err != nil || read.Certified != f.Certified || read.Gap != f.Gap() {
			t.Errorf("%s: read back, certified %v, gap %v of %v: %v", name, read.Certified, read.Gap, f.Gap(), err)
		}
	}
	for name, o := range map[string]minimax.Options{
		"fixed":   {Losses: minimax.ThesisLosses(), Beta1: 0.5, Fixed: []float64{1, 1, 1}},
		"network": {Losses: minimax.ThesisLosses(), Hidden: []int{4}, Passes: 2}} {
		o.Losses = all(t, "hinge", "1-norm", "cross-entropy")
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatal(name, err)
		}
		c, err := f.Model.CheckPareto(d, nil)
		if err != nil || (c.Slack == nil) != (name == "fixed") || c.Certified != (name == "fixed") {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
