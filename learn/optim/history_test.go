package optim

import (
	"math"
	"testing"
)

// A pair along which the gradient falls, or hardly rises, would turn the direction
// uphill or make it endless: it is left out, and what was kept stays as it is.
func TestHistoryLeavesOutBadCurvature(t *testing.T) {
	v := vectors{workers: 1}
	h := newHistory[float64](3, 2)
	zero := []float64{0, 0}
	h.push(v, []float64{1, 0}, zero, []float64{2, 0}, zero) // curvature 2
	if h.len() != 1 {
		t.Fatalf("%d pairs after a good one", h.len())
	}
	g := []float64{3, 5}
	before, after := make([]float64, 2), make([]float64, 2)
	h.direction(v, before, g, false, nil, nil)
	for _, y := range [][]float64{{-1, 0}, {0, 7}, {0, 0}, {1e-12, 1}, {math.NaN(), 0}} {
		h.push(v, []float64{1, 0}, zero, y, zero)
		if h.len() != 1 {
			t.Fatalf("the step (1, 0) with the change %v of the gradient was kept", y)
		}
		h.direction(v, after, g, false, nil, nil)
		if before[0] != after[0] || before[1] != after[1] {
			t.Fatalf("the change %v of the gradient moved the direction from %v to %v", y, before, after)
		}
	}
	// H has the inverse curvature along (1, 0), and its scale elsewhere.
	if before[0] != -1.5 || before[1] != -2.5 {
		t.Errorf("direction %v", before)
	}
}
