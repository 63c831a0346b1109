package progress

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// estimate guesses how many iterations an optimiser still needs. Near a minimum the value falls by
// about the same factor in every iteration, and so does its range over a window, which the stopping
// rule uses. The logarithm of that range is extrapolated by a straight line to the threshold.
type estimate struct {
	stop   run.Stop
	values []float64
	ranges []float64 // relative range over the window, one an iteration
	at     int       // iteration
}

func newEstimate(stop run.Stop) *estimate {
	if stop.Window == 0 {
		stop.Window = 5
	}
	return &estimate{stop: stop}
}

func (e *estimate) add(r run.Row) {
	e.at = r.Iteration
	e.values = append(e.values, r.Objective)
	if n := len(e.values) - 1 - e.stop.Window; n >= 0 {
		window := e.values[n:]
		e.ranges = append(e.ranges, (slices.Max(window)-slices.Min(window))/math.Max(math.Abs(r.Objective), 1e-300))
	}
}

// left is at least 0, and at most what the limit of iterations allows.
func (e *estimate) left() int {
	most := max(0, e.stop.Iterations-e.at)
	n := len(e.ranges)
	if n < 4 || !(e.stop.Relative > 0) {
		return most
	}
	now, before := e.ranges[n-1], e.ranges[n/2]
	if now <= e.stop.Relative {
		return min(1, most)
	}
	slope := (math.Log(now) - math.Log(before)) / float64(n-1-n/2)
	if !(slope < 0) {
		return most
	}
	return int(math.Min(float64(most), math.Ceil((math.Log(now)-math.Log(e.stop.Relative))/-slope)))
}
