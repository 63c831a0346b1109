package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// diamond has two paths from 0 to 3: over 1 with cost 3, over 2 with cost 2.
func diamond[W realWeight[W]]() *fst.Vector[W] {
	f := fst.NewVector[W](4)
	f.AddStates(4)
	f.SetStart(0)
	arc := func(p fst.StateID, l fst.Label, w W, q fst.StateID) {
		f.AddArc(p, fst.Arc[W]{ILabel: l, OLabel: l, Weight: w, NextState: q})
	}
	arc(0, 1, 1, 1)
	arc(0, 2, 0.5, 2)
	arc(1, 3, 2, 3)
	arc(2, 3, 1.5, 3)
	f.SetFinal(3, 0)
	return f
}

func ExampleShortestDistance() {
	d, err := ops.ShortestDistance(diamond[semiring.Tropical](), nil)
	fmt.Println(d, err)
	// Over Log, both paths count.
	l, err := ops.ShortestDistance(diamond[semiring.Log64](), nil)
	fmt.Printf("%.4f %v\n", float64(l[3]), err)
	// Output:
	// [0 1 0.5 2] <nil>
	// 1.6867 <nil>
}

// A cycle that makes paths ever cheaper is reported with its arcs.
func ExampleShortestDistance_negativeCycle() {
	f := diamond[semiring.Tropical]()
	f.AddArc(3, fst.Arc[semiring.Tropical]{ILabel: 4, OLabel: 4, Weight: -5, NextState: 0})
	_, err := ops.ShortestDistance(f, nil)
	var c *ops.CycleError
	fmt.Println(errors.Is(err, ops.ErrNotClosed), errors.As(err, &c), len(c.Cycle))
	// Output: true true 3
}

func ExampleShortestPath() {
	best, _ := ops.ShortestPath(diamond[semiring.Tropical](), nil)
	for q := best.Start(); !fst.IsFinal(best, q); q = best.Arcs(q)[0].NextState {
		fmt.Println(best.Arcs(q)[0].ILabel, best.Arcs(q)[0].Weight)
	}
	// Output:
	// 2 0.5
	// 3 1.5
}

func ExampleShortestPathUnique() {
	two, _ := ops.ShortestPathUnique(diamond[semiring.Tropical](), &ops.ShortestPathOptions[semiring.Tropical]{N: 2})
	d, _ := ops.ShortestDistance(two, &ops.ShortestDistanceOptions{Reverse: true})
	for _, e := range two.Arcs(two.Start()) {
		q := e.NextState
		for two.Arcs(q)[0].ILabel == fst.Epsilon {
			q = two.Arcs(q)[0].NextState
		}
		fmt.Println(two.Arcs(q)[0].ILabel, d[e.NextState])
	}
	// Output:
	// 2 2
	// 1 3
}

func ExampleExpectedCounts() {
	f := diamond[semiring.Log64]()
	arcs, _, logTotal, _ := ops.ExpectedCounts(f, nil)
	fmt.Printf("%.4f %.4f\n", arcs, math.Exp(logTotal))
	// Output: [0.2689 0.7311 0.2689 0.7311] 0.1851
}

func ExampleConnect() {
	f := diamond[semiring.Tropical]()
	f.AddState() // neither reached nor leading anywhere
	ops.Connect(f)
	fmt.Println(f.NumStates())
	// Output: 4
}

func ExampleTopSort() {
	f := diamond[semiring.Tropical]()
	fmt.Println(ops.TopSort(f), f.Start())
	f.AddArc(3, fst.Arc[semiring.Tropical]{ILabel: 4, OLabel: 4, NextState: 3})
	fmt.Println(ops.TopSort(f))
	// Output:
	// <nil> 0
	// ops: TopSort: the machine is cyclic: states 3 -> 3
}

func ExamplePrune() {
	f := diamond[semiring.Tropical]()
	threshold := semiring.Tropical(0.5) // at most this much worse than the best path
	err := ops.Prune(f, &ops.PruneOptions[semiring.Tropical]{Threshold: &threshold})
	fmt.Println(f.NumStates(), f.NumArcs(), err)
	// Output: 3 2 <nil>
}

func ExampleReweightToInitial() {
	f := diamond[semiring.Tropical]()
	d, _ := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: true})
	err := ops.ReweightToInitial(f, d) // now a best path costs what its first arc does
	fmt.Println(f.Arcs(0)[0].Weight, f.Arcs(0)[1].Weight, f.Arcs(2)[0].Weight, err)
	// Output: 3 2 0 <nil>
}

func ExampleRandGen() {
	f := diamond[semiring.Log64]()
	rng := rand.New(rand.NewPCG(1, 2))
	g, err := ops.RandGen(fst.Fst[semiring.Log64](f), rng, &ops.RandGenOptions{Select: ops.SelectLogProb, NPath: 10})
	fmt.Println(len(g.Arcs(g.Start())), err)
	// Output: 10 <nil>
}
