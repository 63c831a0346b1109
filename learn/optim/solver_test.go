package optim_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Both solvers of a name end at one minimum, with weights of the penalty, one of them 0; and the
// subgradient says that it is one.
func TestSolversAgree(t *testing.T) {
	l := newLogistic(5, 12, 150, 4)
	f := optim.Ridge(optim.NewSum(l, nil), 0.5)
	weight := make([]float64, 12)
	for i := range weight {
		weight[i] = float64(i%3) / 2
	}
	for _, l1 := range []float64{0, 4} {
		q := optim.OWLQN{L1: l1, Penalty: weight}
		var ends []*optim.Result
		for _, s := range []optim.Solver{optim.QuasiNewton, optim.ProximalGradient} {
			r, err := s.Minimize(f, q, make([]float64, 12),
				&run.Control{Stop: run.Stop{Relative: 1e-14, Iterations: 5000}})
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, r)
			g := make([]float64, 12)
			if _, err := f.Eval(r.X, g); err != nil {
				t.Fatal(err)
			}
			zeros := 0
			for i, x := range r.X {
				bound, at := l1*weight[i], g[i]
				if x != 0 {
					at += math.Copysign(bound, x)
					bound = 0
				} else {
					zeros++
				}
				if math.Abs(at) > bound+1e-4 {
					t.Errorf("%s, l1 %v: coordinate %d is %v where the gradient is %v", s, l1, i, x, g[i])
				}
			}
			if (l1 == 0) != (zeros == 0) {
				t.Errorf("%s, l1 %v: %d zeros", s, l1, zeros)
			}
		}
		if a, b := ends[0].F, ends[1].F; math.Abs(a-b) > 1e-9*math.Abs(a) {
			t.Errorf("l1 %v: L-BFGS ends at %v, proximal steps at %v", l1, a, b)
		}
	}
	if _, err := optim.Solver("newton").Minimize(f, optim.OWLQN{}, make([]float64, 12), nil); err == nil ||
		!strings.Contains(err.Error(), "newton") {
		t.Errorf("no solver of this name: %v", err)
	}
	for _, s := range []optim.Solver{optim.QuasiNewton, optim.ProximalGradient} {
		for _, q := range []optim.OWLQN{{L1: -1}, {L1: math.NaN()}, {L1: 1, Penalty: []float64{1}}} {
			if _, err := s.Minimize(f, q, make([]float64, 12), nil); err == nil {
				t.Errorf("%s took %+v", s, q)
			}
		}
	}
}
