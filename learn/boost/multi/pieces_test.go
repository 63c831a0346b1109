package multi

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
)

// Cross-fitted, no row's Q comes from a classifier that has seen the row: on columns of noise
// it is no better than chance, while the classifier that saw all rows knows them by heart.
func TestCrossFittingHoldsOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const rows, columns = 80, 40
	var source []int32
	x := make([][]float32, columns)
	for i := range rows {
		source = append(source, int32(i%2))
		for j := range x {
			x[j] = append(x[j], float32(rng.NormFloat64()))
		}
	}
	tab := numeric(source, x...)
	seen := fittedQ(t, tab, nil, &QOptions{Folds: 1, Lambda: 1e-4})
	crossed := fittedQ(t, tab, nil, &QOptions{Folds: 5, Lambda: 1e-4})
	if seen.LogLoss > 0.3 || crossed.LogLoss < math.Ln2 || !crossed.Crossed {
		t.Errorf("log loss %v of rows that were seen, %v of rows held out; chance is %v", seen.LogLoss,
			crossed.LogLoss, math.Ln2)
	}
}

// The number of stumps on a table with gaps is at least what enumeration finds.
func TestStumpsOfColumnsWithGaps(t *testing.T) {
	nan := float32(math.NaN())
	for _, values := range [][]float32{{1, 2, 3, nan}, {1, 2, nan, nan}, {1, 2, 3, 4}, {4, 1, 2, nan, 3, 5, 6}} {
		x := numeric(make([]int32, len(values)), values)
		found := map[string]bool{}
		for _, sign := range []byte{0, 1} {
			for _, missing := range []byte{0, 1} {
				for _, cut := range append(slices.Clone(values), float32(math.Inf(-1))) {
					label := make([]byte, len(values))
					for i, v := range values {
						switch {
						case v != v:
							label[i] = missing ^ sign
						case v <= cut:
							label[i] = sign
						default:
							label[i] = 1 ^ sign
						}
					}
					found[string(label)] = true
				}
			}
		}
		if n := math.Exp(logStumps(x, len(values))); n < float64(len(found))-1e-9 {
			t.Errorf("%v: %v stumps, enumeration finds %d", values, n, len(found))
		}
	}
}

// The penalty counts whole in the derivative that a candidate must have: a term is
// taken while the fall of the loss is steeper than the penalty, and not beyond.
func TestPenaltyInTheSlope(t *testing.T) {
	// Two domains of five rows; the only predictor is right on four of each, so that with
	// Q = ½ the derivative of either loss is -(4-1)/5/2.
	h := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	y := []float64{1, 1, 1, 1, -1, 1, 1, 1, 1, -1}
	d := &boost.Data{X: byRow([]int32{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}), Y: y}
	for _, c := range []struct {
		penalty float64
		taken   bool
	}{{0.29, true}, {0.31, false}, {0.55, false}} {
		o := &Options{Rounds: 1, Step: SqrtStep, Slots: DomainsOnly, Q: Uniform{2}, Learner: dictionary{h},
			Penalty: []float64{c.penalty, c.penalty}}
		if m := trained(t, d, o); (m.Terms() > 0) != c.taken {
			t.Errorf("penalty %v against a slope of 0.3: %d terms", c.penalty, m.Terms())
		}
	}
}

// Losses that differ by rounding are equally large: all their domains are active.
func TestActiveDomainsTie(t *testing.T) {
	for _, c := range []struct {
		f    []float64
		want []int
	}{
		{[]float64{1, math.Nextafter(1, 0), 0.5, math.Nextafter(1, 2)}, []int{0, 1, 3}},
		{[]float64{1, 1 - 1e-3, 1}, []int{0, 2}},
		{[]float64{3e-9, math.Nextafter(3e-9, 0)}, []int{0, 1}},
	} {
		if got := (&training{}).active(c.f); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v are active, want %v", c.f, got, c.want)
		}
	}
}

// The closed step of the pooled objective weighs errors as the losses are weighed: with both
// sources alike and one row in four wrong in each it is ½ ln 3, as AdaBoost's.
func TestClosedStepOfPooledObjective(t *testing.T) {
	d := &boost.Data{X: numeric([]int32{0, 0, 0, 0, 1, 1, 1, 1}, []float32{0, 0, 1, 1, 0, 0, 1, 1}),
		Y: []float64{-1, -1, 1, -1, -1, -1, 1, -1}}
	for _, objective := range []Objective{SoftMax, Sum, Skewed} {
		m, _, err := Train(d, &Options{Rounds: 1, Round: Greedy, DomainFactor: 0.3, Step: Closed,
			Objective: objective,
			Beta:      map[Objective]float64{Skewed: 1}[objective], Q: Uniform{2}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		shared := m.Slots[2].Terms
		if len(shared) != 1 || math.Abs(shared[0].Weight-math.Log(3)/2) > 1e-12 {
			t.Errorf("%s: %+v, want one term of weight %v", objective, shared, math.Log(3)/2)
		}
		// Q = 1/2 on both does not know them.
		if len(m.Warnings) != 2 || !strings.Contains(m.Warnings[1], `rows of source "B" is 0.5, no more than 1/2`) {
			t.Errorf("warnings: %q", m.Warnings)
		}
	}
}
