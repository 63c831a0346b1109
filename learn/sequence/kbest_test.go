package sequence

import (
	"math"
	"testing"
)

// Probabilities are exp(scale·θ) over their sum, whatever the size of the scores.
func TestProbabilitiesOfAList(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		scale  float64
		want   []float64
	}{
		{[]float64{math.Log(3), 0}, 1, []float64{0.75, 0.25}},
		{[]float64{math.Log(3), 0}, 2, []float64{0.9, 0.1}},
		{[]float64{1e4 + math.Log(3), 1e4}, 1, []float64{0.75, 0.25}},
		{[]float64{-1e4, -1e4 - math.Log(4)}, 1, []float64{0.8, 0.2}},
		{[]float64{1e300, -1e300}, 1, []float64{1, 0}},
		{[]float64{-1e4, -1e4 - 1e3*math.Log(4)}, 1e-3, []float64{0.8, 0.2}},
		{[]float64{-5}, 1, []float64{1}},
		{[]float64{2, 2, 2, 2}, 0.5, []float64{0.25, 0.25, 0.25, 0.25}},
		{nil, 1, nil},
	} {
		list := make([]Candidate, len(c.scores))
		for i, s := range c.scores {
			list[i].Score = s
		}
		weigh(list, c.scale)
		for i, k := range list {
			if !(math.Abs(k.Probability-c.want[i]) <= 1e-11) || k.Score != c.scores[i] {
				t.Errorf("scores %v, scale %v: %+v, expected %v", c.scores, c.scale, list, c.want)
			}
		}
	}
}
