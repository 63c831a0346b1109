package minimax

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/optim/separable"
)

// What a round proves, and the value of the w that it makes, enclose the minimum for λ,
// also after λ has changed; passes close in on it.
func TestDualAscent(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := &Data{Rows: 120, Features: 5, Classes: 3}
	for i := range d.Rows {
		d.Class = append(d.Class, int32(i%3))
		for j := range d.Features {
			d.X = append(d.X, rng.NormFloat64()+float64(i%3*j)/4)
		}
	}
	for _, losses := range [][]string{{"zero-one", "hinge", "1-norm", "cross-entropy"},
		{"squared-hinge", "1-norm", "squared", "huber:0.3"},
		{"zero-one", "smooth-hinge", "hinge", "cross-entropy"}} {
		o := &Options{Beta1: 1e-2, Workers: 2, ScoreBound: 4}
		for _, l := range losses {
			loss, err := score.ParsePointwise(l)
			if err != nil {
				t.Fatal(err)
			}
			o.Losses = append(o.Losses, loss)
		}
		g, _, _, err := NewGame(d, o)
		if err != nil {
			t.Fatal(err)
		}
		a := separable.NewAscent(g.separable(), make([]float64, d.Rows*3), 0, 0, 1)
		best := math.Inf(1)
		for round, lambda := range [][]float64{{0.25, 0.25, 0.25, 0.25}, {0, 0.5, 0.5, 0},
			{0.25, 0.25, 0.25, 0.25}} {
			a.Turn(lambda)
			gap := math.Inf(1)
			for pass := range 60 {
				a.Pass()
				lower := a.Bound()
				upper, err := g.Eval(a.Point(), lambda, nil, make([]float64, 4))
				if err != nil {
					t.Fatal(err)
				}
				if upper < lower-1e-12 {
					t.Fatalf("%v round %d pass %d: %v is above %v", losses, round, pass, lower, upper)
				}
				gap = upper - lower
				if round == 0 {
					best = math.Min(best, upper)
				} else if round == 2 && lower > best+1e-12 {
					t.Fatalf("%v: the bound %v excludes the value %v met before", losses, lower, best)
				}
			}
			if gap > 1e-3 {
				t.Errorf("%v round %d: gap %g after 60 passes", losses, round, gap)
			}
		}
	}
}

// What does not separate is refused by name.
func TestDualAscentRefuses(t *testing.T) {
	d := &Data{Rows: 6, Features: 1, Classes: 3, X: []float64{1, 2, 3, 4, 5, 6},
		Class: []int32{0, 1, 2, 0, 1, 2}}
	for name, o := range map[string]Options{
		"norm":           {Losses: ThesisLosses(), Beta1: 1, Norm: true},
		"norm in a ball": {Losses: ThesisLosses(), Beta1: 1, Norm: true, Radius: 1},
		"bias":           {Losses: ThesisLosses(), Beta1: 1, Bias: 2},
		"softmax":        {Losses: ThesisLosses(), Beta1: 1, MultiClass: Softmax},
		"penalty":        {Losses: ThesisLosses()},
		"convexity":      {Losses: ThesisLosses(), Beta1: 1, ZeroOne: RampSurrogate},
	} {
		o.Solver = DualAscent
		if _, err := Train(d, &o); err == nil || !strings.Contains(err.Error(), "dual ascent is for") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
