package minimax_test

import (
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// bowl is a Σ_j (w_j - c_j)², and how often it was evaluated.
type bowl struct {
	a     float64
	c     []float64
	calls int
}

func (b *bowl) Dim() int { return len(b.c) }

func (b *bowl) Eval(w, grad []float64) (float64, error) {
	b.calls++
	v := 0.0
	for j, c := range b.c {
		v += b.a * (w[j] - c) * (w[j] - c)
		if grad != nil {
			grad[j] = 2 * b.a * (w[j] - c)
		}
	}
	return v, nil
}

// bowls evaluates all at once: the gradient of a mixture is that of one bowl.
type bowls []*bowl

func (b bowls) Dim() int { return b[0].Dim() }
func (b bowls) Len() int { return len(b) }

func (b bowls) Values(w, values []float64, need []bool) error {
	for k, one := range b {
		if need == nil || need[k] {
			values[k], _ = one.Eval(w, nil)
		}
	}
	copy(at, w)
	return nil
}

var at = make([]float64, 2)

func (b bowls) Gradient(c, grad []float64) error {
	for j := range grad {
		a, centre := 0.0, 0.0
		for k, one := range b {
			a, centre = a+c[k]*one.a, centre+c[k]*one.a*one.c[j]
		}
		grad[j] = 2 * (a*at[j] - centre)
	}
	return nil
}

func three() ([]saddle.Part, bowls) {
	b := bowls{{a: 1, c: []float64{0, 1}}, {a: 1, c: []float64{1, 1}}, {a: 1, c: []float64{4, 1}}}
	var parts []saddle.Part
	for k, one := range b {
		parts = append(parts, saddle.Part{Name: string(rune('a' + k)), Objective: one})
	}
	return parts, b
}

// The quadratic game of the specification, w = 2, λ = (1/2, 0, 1/2), value 4, to which a
// penalty adds little: evaluated part by part and at once, within the gap asked for.
func TestMixture(t *testing.T) {
	const beta1, gap = 1e-4, 1e-5
	for _, joint := range []bool{false, true} {
		parts, all := three()
		o := &minimax.MixtureOptions{Beta1: beta1, Gap: gap, Absolute: true}
		if joint {
			o.Joint, o.Along = all, []float64{1, 0.5}
			for k := range parts {
				parts[k].Objective = nil
			}
		}
		f, err := minimax.TrainMixture(parts, o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "w", f.W[0], 2, 1e-3)
		near(t, "w beside", f.W[1], 1, 2e-2)
		near(t, "worst", f.Worst, 4, 3*beta1)
		near(t, "λ of the middle", f.Lambda[1], 0, 1e-9)
		near(t, "λ", f.Lambda[0], 0.5, 1e-2)
		c := f.Result.Certificate
		if value := 4 + beta1/2*5; c.Gap() > gap || c.Gap() < 0 || c.Lower > value || c.Upper < value-1e-6 {
			t.Errorf("joint %v: certificate %v, %v", joint, c.Lower, c.Upper)
		}

		// A fixed mixture is one problem, of the objectives with weight alone; preferences
		// of one mixture are the same game.
		fixed := *o
		fixed.Fixed = []float64{0.25, 0, 0.75}
		all[1].calls = 0
		g, err := minimax.TrainMixture(parts, &fixed)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "w of the fixed mixture", g.W[0], 3/(1+beta1/2), 2e-3)
		if all[1].calls > 1 { // for the account at the end
			t.Errorf("joint %v: an objective without weight was evaluated %d times", joint, all[1].calls)
		}
		vertex := *o
		vertex.Preferences.Vertices = [][]float64{{0.25, 0, 0.75}}
		h, err := minimax.TrainMixture(parts, &vertex)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "w of one preference", h.W[0], g.W[0], 4e-3)
		near(t, "worst of one preference", h.Worst, 0.25*h.Values[0]+0.75*h.Values[2], 1e-12)

		// Regrets are never negative, and the robust model's worst is below all others'.
		regret := *o
		regret.Normalization = minimax.Regret
		if f, err = minimax.TrainMixture(parts, &regret); err != nil {
			t.Fatal(err)
		}
		for k, v := range f.Values {
			if v < -gap {
				t.Errorf("joint %v: regret %g of objective %d", joint, v, k)
			}
			// |w-c|² + β_1/2 |w|² is the least at w = c/(1+β_1/2).
			c := all[k].c
			if want := (c[0]*c[0] + c[1]*c[1]) * beta1 / 2 / (1 + beta1/2); f.Offsets[k] < want-1e-12 ||
				f.Offsets[k] > want+gap {
				t.Errorf("joint %v: objective %d alone is said to reach %g with its penalty, it does %g", joint, k,
					f.Offsets[k], want)
			}
		}
	}
}

// Objectives twelve powers of ten apart are one game in units of their start.
func TestMixtureOfAnyScale(t *testing.T) {
	parts, all := three()
	all[0].a, all[2].a = 1e-6, 1e6
	f, err := minimax.TrainMixture(parts, &minimax.MixtureOptions{Beta1: 1e-3, Start: []float64{2.5, 0},
		Normalization: minimax.Baseline, Gap: 1e-4})
	if err != nil {
		t.Fatal(err)
	}
	if f.Result.Reason != run.GapSmall || !(f.Worst < 1) || math.IsNaN(f.W[0]) {
		t.Errorf("%v, worst %v at %v", f.Result.Reason, f.Worst, f.W)
	}
}

func TestMixtureRefuses(t *testing.T) {
	parts, all := three()
	for name, o := range map[string]*minimax.MixtureOptions{
		"a joint of other objectives": {Joint: all[:2]}, "negative weights": {Fixed: []float64{1, -1, 1}},
		"weights of others": {Fixed: []float64{1}},
		"a start of others": {Start: []float64{1}}, "units without constants": {Normalization: minimax.Lipschitz},
		"no preference":      {Preferences: minimax.Preferences{Hi: []float64{0.1}}},
		"a negative penalty": {Beta1: -1}, "too few offsets": {Normalization: minimax.Regret,
			Offsets: []float64{1}},
	} {
		if _, err := minimax.TrainMixture(parts, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := minimax.TrainMixture(nil, nil); err == nil {
		t.Error("no objectives: accepted")
	}
	if _, err := minimax.TrainMixture(append(parts, parts[0]), nil); err == nil {
		t.Error("a name twice: accepted")
	}
}
