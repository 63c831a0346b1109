package ops_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// chain returns a machine that maps one string to another at a cost a letter.
// Zero is ε.
func chain(cost semiring.Tropical, pairs ...[2]fst.Label) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](len(pairs) + 1)
	f.AddStates(len(pairs) + 1)
	f.SetStart(0)
	for q, p := range pairs {
		f.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical]{ILabel: p[0], OLabel: p[1], Weight: cost, NextState: fst.StateID(q + 1)})
	}
	f.SetFinal(fst.StateID(len(pairs)), 0)
	return f
}

func show(f fst.Expanded[semiring.Tropical]) {
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			fmt.Printf("%d -> %d  %d:%d/%v\n", q, e.NextState, e.ILabel, e.OLabel, e.Weight)
		}
		if fst.IsFinal(f, q) {
			fmt.Printf("%d final/%v\n", q, f.Final(q))
		}
	}
}

func ExampleCompose() {
	a := chain(0.5, [2]fst.Label{1, 2}, [2]fst.Label{3, fst.Epsilon})
	b := chain(1, [2]fst.Label{2, 4})
	ab, err := ops.Compose(a, b, nil) // both are sorted: their states have one arc
	if err != nil {
		fmt.Println(err)
		return
	}
	show(ab)
	// Output:
	// 0 -> 1  1:4/1.5
	// 1 -> 2  3:0/0.5
	// 2 final/0
}

// The trace carries what is found out about the result's arcs back to the arcs
// of an operand: here how often each is used.
func ExampleTrace() {
	a := chain(0, [2]fst.Label{1, 1}, [2]fst.Label{2, 2})
	loop := fst.NewVector[semiring.Tropical](1)
	loop.AddStates(1)
	loop.SetStart(0)
	loop.SetFinal(0, 0)
	loop.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 5})
	loop.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 6})
	loop.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 7})
	var trace ops.Trace
	c, err := ops.Compose(a, loop, &ops.ComposeOptions{Trace: &trace})
	if err != nil {
		fmt.Println(err)
		return
	}
	used := map[fst.StateID]int{} // by state of a, whose states have one arc each
	for q := range fst.StateID(c.NumStates()) {
		s1, _ := trace.States(q)
		pos1, _ := trace.Arcs(q)
		for _, p := range pos1 {
			if p >= 0 {
				used[s1]++
			}
		}
	}
	fmt.Println(used[0], used[1])
	// Output: 1 2
}

func ExampleComposeLazy() {
	a := chain(0, [2]fst.Label{1, 1}, [2]fst.Label{2, 2}, [2]fst.Label{3, 3})
	b := chain(1, [2]fst.Label{1, 4}, [2]fst.Label{2, 5}, [2]fst.Label{3, 6})
	ab, err := ops.ComposeLazy(a, b, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	q := ab.Start()
	for len(ab.Arcs(q)) > 0 { // each state is made when it is asked for
		e := ab.Arcs(q)[0]
		fmt.Printf("%d:%d ", e.ILabel, e.OLabel)
		q = e.NextState
	}
	fmt.Println(ab.Final(q), ab.Err())
	// Output: 1:4 2:5 3:6 0 <nil>
}

func ExampleUnion() {
	a, b := chain(0, [2]fst.Label{1, 1}), chain(2, [2]fst.Label{2, 2})
	if err := ops.Union(a, b, ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	show(a)
	// Output:
	// 0 -> 1  1:1/0
	// 0 -> 2  0:0/0
	// 1 final/0
	// 2 -> 3  2:2/2
	// 3 final/0
}

func ExampleReverse() {
	a := chain(1, [2]fst.Label{1, 2}, [2]fst.Label{3, 4})
	r, err := ops.Reverse(a, &ops.ReverseOptions{NoSuperInitial: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("start", r.Start())
	show(r)
	// Output:
	// start 2
	// 0 final/0
	// 1 -> 0  1:2/1
	// 2 -> 1  3:4/1
}

func ExampleEncode() {
	a := chain(1, [2]fst.Label{1, 2}, [2]fst.Label{1, 2}, [2]fst.Label{3, 4})
	table := ops.NewEncodeTable[semiring.Tropical](ops.EncodeLabels)
	ops.Encode(a, table)
	show(a) // an acceptor, which Determinize and Minimize may work on
	if err := ops.Decode(a, table); err != nil {
		fmt.Println(err)
	}
	fmt.Println(a.Arcs(2)[0])
	// Output:
	// 0 -> 1  1:1/1
	// 1 -> 2  1:1/1
	// 2 -> 3  2:2/1
	// 3 final/0
	// {3 4 1 3}
}

func ExampleConvert() {
	a := chain(0.6931472, [2]fst.Label{1, 1})
	p, err := ops.Convert[semiring.Probability](a)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f %v\n", float64(p.Arcs(0)[0].Weight), p.Final(1))
	// Output: 0.5000 1
}

func ExampleCompare() {
	a, b := chain(0, [2]fst.Label{1, 1}), chain(0, [2]fst.Label{1, 2})
	fmt.Println(ops.Equal(a, b, ops.DefaultDelta))
	fmt.Println(ops.Compare(a, b, ops.DefaultDelta))
	// Output:
	// false
	// output label of arc 0 of state 0: 1 against 2
}
