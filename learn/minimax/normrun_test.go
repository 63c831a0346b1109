package minimax

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// A penalty of the norm itself is certified around the value that a search finds, from ones that
// hold nothing back to ones whose solution is zero; what is proved at any point is a bound.
func TestNormAroundSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	d := &Data{Rows: 60, Features: 1, Classes: 2}
	for i := range d.Rows {
		c := min(1, i%3)
		d.Class = append(d.Class, int32(c))
		d.X = append(d.X, rng.NormFloat64()+float64(c))
	}
	for _, names := range []string{"hinge", "zero-one,hinge,1-norm,cross-entropy", "squared,huber:1"} {
		for _, c := range []struct{ beta, bias float64 }{{beta: 1e-3}, {beta: 0.02}, {beta: 0.3}, {beta: 5},
			{1e-3, 2}, {0.02, 0.1}, {0.3, 0.4}, {5, 0.2}} {
			beta, farthest := c.beta, 8.0
			if c.bias > 0 {
				farthest = c.bias
			}
			o := Options{Losses: parsed(t, names), Beta1: beta, Bias: c.bias, Norm: true, Normalization: Raw,
				Gap: 1e-4, Workers: 1}
			g, _, _, err := NewGame(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float64, len(o.Losses))
			want := least(-farthest, farthest, func(b float64) float64 {
				return least(-8, 8, func(w float64) float64 {
					v, err := g.Eval([]float64{w, b}, make([]float64, len(values)), nil, values)
					if err != nil {
						t.Fatal(err)
					}
					return v + slices.Max(values)
				})
			})
			f, err := Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			proved := f.Certificate
			if !(proved.Lower <= want+1e-9 && proved.Upper >= want-1e-9) || f.Reason != run.GapSmall ||
				!(f.Gap() <= 1e-4*proved.Upper) {
				t.Errorf("%s, %v|w|, biases to %v: [%v, %v] (%s), %v by search", names, beta, c.bias, proved.Lower,
					proved.Upper, f.Reason, want)
			}
			set := optim.Product{{Set: optim.Ball{Radius: 8}, Dim: 2}}
			if c.bias > 0 {
				set = biasBox(g.net, c.bias)
				set[0].Set = optim.Ball{Radius: 8}
			}
			for range 50 {
				lambda := make([]float64, len(values))
				for k := range lambda {
					lambda[k] = rng.Float64()
				}
				optim.Simplex{}.Project(lambda)
				w := []float64{rng.NormFloat64(), math.Max(-farthest, math.Min(farthest, rng.NormFloat64()))}
				lower, err := saddle.Lower(g, set, w, lambda)
				if err != nil {
					t.Fatal(err)
				}
				if !(lower <= want+1e-9) {
					t.Errorf("%s, %v|w|: a lower bound of %v, and %v is reached", names, beta, lower, want)
				}
			}
		}
	}
}

// Real rows, where L-BFGS ended with gaps of up to 19.5, in a few rounds; a run that is
// interrupted in any of them goes on to the same end.
func TestNormOnRows(t *testing.T) {
	d := sonar(t)
	for _, c := range []struct{ beta, bias, gap float64 }{{1e-4, 0, 1e-3}, {1e-2, 0, 1e-3}, {1e-3, 0, 1e-6},
		{1e-4, 0.5, 1e-3}, {1e-2, 0.01, 1e-3}} {
		if testing.Short() && c.gap > 1e-6 {
			continue // one is enough to see what runs side by side
		}
		beta := c.beta
		o := Options{Losses: ThesisLosses(), Beta1: beta, Norm: true, Bias: c.bias, Gap: c.gap, Workers: 1}
		whole, err := Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Reason != run.GapSmall || !(whole.Gap() <= c.gap*math.Max(leastValue, whole.Certificate.Upper)) ||
			whole.Passes > 12 {
			t.Errorf("%v|w|, biases to %v: a gap of %v after %d rounds (%s)", beta, c.bias, whole.Gap(),
				whole.Passes, whole.Reason)
		}
		for stop := 1; stop < whole.Passes; stop++ {
			if testing.Short() && stop > 1 {
				break
			}
			ctx, cancel := context.WithCancel(t.Context())
			part := o
			part.Workers = 2
			part.Control.Ctx = ctx
			var at *run.Checkpoint
			part.Control.Checkpoint = func(k *run.Checkpoint) error { at = k; return nil }
			part.Control.Recorder = run.RecorderFunc(func(r run.Row) error {
				if r.Stage == normSolver && r.Iteration == stop {
					cancel()
				}
				return nil
			})
			if _, err := Train(d, &part); err == nil || at == nil || at.Solver != normSolver {
				t.Fatalf("round %d: %v, checkpoint %v", stop, err, at)
			}
			again := o
			again.Control.Resume = at
			f, err := Train(d, &again)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(f.Model.Params, whole.Model.Params) || f.Certificate.Lower != whole.Certificate.Lower ||
				f.Evaluations != whole.Evaluations {
				t.Errorf("%v|w|: stopped after round %d, another end: %v for %v", beta, stop, f.Certificate.Upper,
					whole.Certificate.Upper)
			}
		}
	}
}
