package minimax_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
)

// A weight of k is the same as k copies, one of 0 as none: values, gradients, certificates,
// errors and AUC. What weights sum to does not matter.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, classes := range []int{2, 4} {
		for _, multi := range []minimax.MultiClass{minimax.OneVsAll, minimax.Softmax} {
			d := blobs(120, 4, classes, 31)
			var rows []int
			for i := range d.Rows {
				n := rng.IntN(4)
				d.Weight = append(d.Weight, 0.125*float64(n))
				for range n {
					rows = append(rows, i)
				}
			}
			plain := *d
			plain.Weight = nil
			copies := plain.Subset(rows)
			o := &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 1e-2, MultiClass: multi, Gap: 2e-4,
				Solver: minimax.Smoothed}
			if multi == minimax.OneVsAll {
				o.Solver = minimax.DualAscent
			}
			ga, _, _, err := minimax.NewGame(d, o)
			if err != nil {
				t.Fatal(err)
			}
			gb, _, _, err := minimax.NewGame(copies, o)
			if err != nil {
				t.Fatal(err)
			}
			n, p := ga.Dims()
			w, lambda := make([]float64, n), []float64{0.1, 0.2, 0.3, 0.4}
			for j := range w {
				w[j] = rng.NormFloat64()
			}
			wa, wb, la, lb := make([]float64, n), make([]float64, n), make([]float64, p), make([]float64, p)
			va, err := ga.Eval(w, lambda, wa, la)
			if err != nil {
				t.Fatal(err)
			}
			vb, err := gb.Eval(w, lambda, wb, lb)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "value", va, vb, 1e-12*(1+math.Abs(vb)))
			for j := range wa {
				near(t, "gradient", wa[j], wb[j], 1e-11)
			}
			for k := range la {
				near(t, "objective", la[k], lb[k], 1e-12*(1+lb[k]))
			}
			fa, err := minimax.Train(d, o)
			if err != nil {
				t.Fatal(err)
			}
			fb, err := minimax.Train(copies, o)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fa.Certificate, fb.Certificate; a.Lower > b.Upper+1e-9 || b.Lower > a.Upper+1e-9 ||
				fa.Gap() > 2e-4*math.Max(1, a.Upper) {
				t.Errorf("%d classes, %s: weighted in [%v, %v], copies in [%v, %v]", classes, multi, a.Lower, a.Upper,
					b.Lower, b.Upper)
			}
			sa, err := fa.Model.Evaluate(d, 2)
			if err != nil {
				t.Fatal(err)
			}
			sb, err := fa.Model.Evaluate(copies, 2)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "error", sa.Error, sb.Error, 1e-12)
			near(t, "AUC", sa.AUC, sb.AUC, 1e-12)
			near(t, "1-norm of probabilities", sa.Prob, sb.Prob, 1e-12)
			near(t, "worst", sa.Worst, sb.Worst, 1e-12*(1+sb.Worst))
			// Networks: a pass over weighted rows is no pass over copies, but λ must see the
			// weighted losses, and even weights must be no weights.
			net := &minimax.Options{Losses: minimax.ThesisLosses(), Hidden: []int{5}, Batch: 16, Passes: 3,
				Beta1: 1e-3, MultiClass: multi}
			fn, err := minimax.Train(d, net)
			if err != nil {
				t.Fatal(err)
			}
			sn, err := fn.Model.Evaluate(copies, 1)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range fn.Values {
				near(t, "objective of a network", v, sn.Values[k], 1e-5*(1+math.Abs(v)))
			}
			even := plain
			even.Weight = slices.Repeat([]float64{1e-300}, d.Rows)
			want, err := minimax.Train(&plain, net)
			if err != nil {
				t.Fatal(err)
			}
			got, err := minimax.Train(&even, net)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range got.Values {
				near(t, "objective with even weights", v, want.Values[k], 1e-4)
			}
		}
	}
	d := blobs(4, 2, 2, 1)
	for _, w := range [][]float64{{1, 1, 1}, {0, 0, 0, 0}, {1, -1, 1, 1}, {1, math.NaN(), 1, 1},
		{math.MaxFloat64, math.MaxFloat64, 1, 1}} {
		d.Weight = w
		if _, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 1}); err == nil {
			t.Errorf("weights %v: no error", w)
		}
	}
}
