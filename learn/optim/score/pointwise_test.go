package score

import (
	"math"
	"testing"
)

// Losses that have both forms are the same up to their factor: as functions of many rows, and
// of a point.
func TestPointwiseAgrees(t *testing.T) {
	huber, err := ScaledHuber(0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		point  Pointwise
		rows   Loss
		factor float64
	}{
		{CrossEntropy(), Logistic{}, 1}, {ZeroOne(), Logistic{Base2: true}, 1},
		{SquaredError(), Squared{}, 2}, {huber, Huber{Delta: 0.5}, 2},
	} {
		for s := -30.0; s <= 30; s += 0.37 {
			for _, y := range []float64{-1, 1} {
				var value, slope [1]float64
				c.rows.Values(value[:], []float64{y}, []float64{s})
				c.rows.Gradients(slope[:], nil, []float64{y}, []float64{s})
				v, d := c.point.At(s, y)
				near(t, c.point.Name+" value", v, c.factor*value[0], 1e-14*(1+v))
				near(t, c.point.Name+" slope", d, c.factor*slope[0], 1e-14*(1+math.Abs(d)))
			}
		}
	}
}
