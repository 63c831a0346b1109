package resilient

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

func lbfgs(f optim.Objective) ([]float64, error) {
	r, err := optim.LBFGS{}.Minimize(f, make([]float64, f.Dim()),
		&run.Control{Stop: run.Stop{Relative: -1, Gradient: 1e-10, Iterations: 500}})
	if err != nil {
		return nil, err
	}
	return r.X, nil
}

// The loss of every example is that at the minimum over the other folds' examples alone.
func TestOutOfSample(t *testing.T) {
	p := newLogit(rand.New(rand.NewPCG(13, 5)), 40, 3)
	group := func(i int) int { return i / 2 }
	for _, h := range []Relaxation{Linear{}, Huber{Delta: 0.5}, CVaR{Tail: 0.6, Ramp: 0.5}} {
		losses, lambda, err := OutOfSample(p, h, 4, 7, group, lbfgs)
		if err != nil {
			t.Fatal(err)
		}
		fold, groups := Folds(p.Len(), 4, 7, group)
		if groups != 20 {
			t.Fatalf("%d groups", groups)
		}
		for k := range 4 {
			q := &logit{gamma: p.gamma * 40}
			for i := range p.x {
				if i%2 == 1 && fold[i] != fold[i-1] {
					t.Fatal("a group is divided")
				}
				if fold[i] != k {
					q.x, q.y = append(q.x, p.x[i]), append(q.y, p.y[i])
				}
			}
			q.gamma /= float64(len(q.x)) // the penalty of the sum stays
			_, r := minimum(t, q, h)
			for i := range p.x {
				if fold[i] == k {
					l, _ := p.one(r.X, i)
					near(t, h.Name()+": a loss", losses[i], l, 1e-5)
				}
			}
		}
		c := h.At(losses, nil)
		for i, l := range losses {
			near(t, h.Name()+": a multiplier", lambda[i], c.Deriv(l), 1e-12)
		}
	}
	for _, folds := range []int{0, 1, 21} {
		if _, _, err := OutOfSample(p, Linear{}, folds, 1, group, lbfgs); err == nil {
			t.Errorf("%d folds of 20 groups are taken", folds)
		}
	}
}

// Trimming ends at the minimum over the examples that it keeps, which are those of least loss
// there.
func TestTrimming(t *testing.T) {
	p := newLogit(rand.New(rand.NewPCG(17, 5)), 80, 3)
	for _, once := range []bool{false, true} {
		r, err := Trimming{Drop: 0.2, Every: 15, Once: once}.Minimize(p, make([]float64, p.Dim()),
			&run.Control{Stop: run.Stop{Iterations: 150}})
		if err != nil {
			t.Fatal(err)
		}
		losses := make([]float64, p.Len())
		if _, err := p.EvalWeighed(r.X, nil, losses, nil); err != nil {
			t.Fatal(err)
		}
		keep := Smallest(losses, 0.2)
		kept := 0
		for _, k := range keep {
			kept += int(k)
		}
		if kept != 64 {
			t.Errorf("%d of 80 are kept", kept)
		}
		if once {
			continue // what was left out once need not be what would be now
		}
		grad := make([]float64, p.Dim())
		if _, err := p.EvalWeighed(r.X, func(i int, l float64) (float64, float64) { return keep[i] * l, keep[i] },
			nil, grad); err != nil {
			t.Fatal(err)
		}
		if m := optim.MaxAbs(grad); m > 1e-4 {
			t.Errorf("the gradient over the examples kept is %v", m)
		}
	}
	if got := Smallest([]float64{3, 1, 2, 1}, 0.5); !slices.Equal(got, []float64{0, 1, 0, 1}) {
		t.Errorf("the smaller half is %v", got)
	}
	// The source keeps ⌊(1 - (α + 5 %))N⌋.
	if got := Smallest(make([]float64, 100), 0.2+0.05); got[74] != 1 || got[75] != 0 {
		t.Errorf("of 100, %v are kept", got)
	}
	if _, err := (Trimming{Drop: 1}).Minimize(p, make([]float64, p.Dim()), nil); err == nil {
		t.Error("all may be left out")
	}
}
