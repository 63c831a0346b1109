package minimax

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// least minimises a convex function of one number between lo and hi.
func least(lo, hi float64, f func(x float64) float64) float64 {
	const share = 0.6180339887498949
	a, b := hi-share*(hi-lo), lo+share*(hi-lo)
	fa, fb := f(a), f(b)
	for range 60 {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - share*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + share*(hi-lo)
			fb = f(b)
		}
	}
	return math.Min(fa, fb)
}

// Biases that their bound holds back, or does not, are certified to the gap by the default
// solver and by Newton's method, around the value that a search over both numbers finds.
func TestBoundedBiases(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	rng := rand.New(rand.NewPCG(6, 6))
	d := &Data{Rows: 60, Features: 1, Classes: 2}
	for i := range d.Rows {
		c := 0
		if i%6 == 0 {
			c = 1 // mostly of one class: the bias counts
		}
		d.Class = append(d.Class, int32(c))
		d.X = append(d.X, rng.NormFloat64()+float64(c))
	}
	for _, names := range []string{"hinge", "zero-one,hinge,1-norm,cross-entropy", "hinge,1-norm",
		"squared,huber:1"} {
		for _, bound := range []float64{0.01, 0.3, 5} {
			o := Options{Losses: parsed(t, names), Beta1: 0.02, Bias: bound, Normalization: Raw, Gap: 1e-4, Workers: 1}
			g, _, _, err := NewGame(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float64, len(o.Losses))
			want := least(-bound, bound, func(b float64) float64 {
				return least(-6, 6, func(w float64) float64 {
					v, err := g.Eval([]float64{w, b}, make([]float64, len(values)), nil, values)
					if err != nil {
						t.Fatal(err)
					}
					return v + slices.Max(values)
				})
			})
			for _, o.Solver = range []Solver{Auto, Newton} {
				f, err := Train(d, &o)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, |bias| ≤ %v by %q", names, bound, o.Solver)
				c := f.Certificate
				if !(c.Lower <= want+1e-9 && c.Upper >= want-1e-9) {
					t.Errorf("%s: [%v, %v] without %v", name, c.Lower, c.Upper, want)
				}
				if f.Reason != run.GapSmall || !(f.Gap() <= 1e-4*c.Upper) {
					t.Errorf("%s: a gap of %v at %v (%s)", name, f.Gap(), c.Upper, f.Reason)
				}
				if b := f.Model.Params[1]; math.Abs(b) > bound {
					t.Errorf("%s: a bias of %v", name, b)
				}
			}
			// The bound is one at any point as well.
			mixture := slices.Repeat([]float64{1 / float64(len(values))}, len(values))
			for range 30 {
				w := []float64{rng.NormFloat64(), bound * (2*rng.Float64() - 1)}
				lower, err := saddle.Lower(g, biasBox(g.net, bound), w, mixture)
				if err != nil {
					t.Fatal(err)
				}
				if !(lower <= want+1e-9) {
					t.Errorf("%s, |bias| ≤ %v: a lower bound of %v, and %v is reached", names, bound, lower, want)
				}
			}
		}
	}
	// Outputs meet their bounds apart, the same for any number of workers.
	many := &Data{Rows: 120, Features: 2, Classes: 3}
	for i := range many.Rows {
		c := min(2, i%7)
		many.Class = append(many.Class, int32(c))
		many.X = append(many.X, rng.NormFloat64()+float64(c), rng.NormFloat64()-float64(c%2))
	}
	var first []float64
	for _, workers := range []int{1, 3} {
		f, err := Train(many, &Options{Losses: ThesisLosses(), Beta1: 1e-3, Bias: 0.05,
			Workers: workers, Solver: Newton})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = f.Model.Params
		}
		if f.Reason != run.GapSmall || !slices.Equal(first, f.Model.Params) {
			t.Errorf("three classes: a gap of %v (%s), with %d workers %v", f.Gap(), f.Reason, workers, f.Model.Params)
		}
	}
	// Real rows: the default solver ended with gaps of up to 0.9 here.
	s := sonar(t)
	for _, bound := range []float64{0.001, 0.01, 0.1, 10} {
		for _, workers := range []int{1, 3} {
			f, err := Train(s, &Options{Losses: ThesisLosses(), Beta1: 1e-4, Bias: bound, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if f.Reason != run.GapSmall || !(f.Gap() <= 1e-3*f.Certificate.Upper) {
				t.Errorf("sonar, |bias| ≤ %v: a gap of %v (%s)", bound, f.Gap(), f.Reason)
			}
		}
	}
}
