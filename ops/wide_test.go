package ops_test

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Of a state with very many arcs, operations take no more of the heap than they need at once: what grows by
// doubling leaves twice that to the collector.
func TestWideStates(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 1 << 20
	arcs := make([]fst.Arc[semiring.Tropical], n)
	for i := range arcs {
		arcs[i] = fst.Arc[semiring.Tropical]{ILabel: fst.Label(i%(n/2) + 1), OLabel: fst.Label(i % 7), Weight: semiring.Tropical(i % 13), NextState: 1}
	}
	const arc = unsafe.Sizeof(fst.Arc[semiring.Tropical]{})
	for _, c := range []struct {
		name string
		do   func(v *fst.Vector[semiring.Tropical])
		most float64 // times the arcs
	}{
		{"ArcSort", func(v *fst.Vector[semiring.Tropical]) { ops.ArcSort(v, ops.Output) }, 1}, // a key each
		{"ArcSort by two", func(v *fst.Vector[semiring.Tropical]) { ops.ArcSortWorkers(v, ops.Output, 2) }, 1},
		{"ArcSum", func(v *fst.Vector[semiring.Tropical]) { ops.ArcSum(v) }, 1},
		// The arcs, and two to four slots of 20 bytes for each.
		{"RmEpsilon", func(v *fst.Vector[semiring.Tropical]) {
			if err := ops.RmEpsilon(v, nil); err != nil {
				t.Fatal(err)
			}
		}, 1 + 4*1.25},
	} {
		v := fst.NewVector[semiring.Tropical](2)
		v.AddStates(2)
		v.SetStart(0)
		v.SetFinal(1, 1)
		v.SetArcs(0, arcs)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.do(v)
		runtime.ReadMemStats(&after)
		took := float64(after.TotalAlloc-before.TotalAlloc) / (n * float64(arc))
		t.Logf("%s: %.2f times the arcs", c.name, took)
		if took > c.most*1.1 {
			t.Errorf("%s: %.2f times the memory of the arcs was taken, where %.2f are needed", c.name, took, c.most)
		}
	}
}

// The search for n best paths takes of the heap what it counts for Limits, and little more: partial paths are
// not copied as they become more.
func TestShortestPathTakesWhatItCounts(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const limit = 32 << 20
	f := manyPaths(20000, 8)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ops.ShortestPath(f, &ops.ShortestPathOptions[semiring.Tropical]{N: 1 << 20, Limits: ops.Limits{Bytes: limit}})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ops.ErrLimit) {
		t.Fatal(err)
	}
	took := float64(after.TotalAlloc-before.TotalAlloc) / limit
	t.Logf("%.2f times the limit", took)
	if took > 2 {
		t.Errorf("%.2f times the limit was taken", took)
	}
}
