package ops_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// acceptor reads a machine over the tropical semiring, one arc or final state a
// line.
func acceptor(text string) *fst.Vector[semiring.Tropical] {
	f, err := fst.ReadText[semiring.Tropical](strings.NewReader(text), &fst.ReadTextOptions{Acceptor: true})
	if err != nil {
		panic(err)
	}
	return f
}

func print(f *fst.Vector[semiring.Tropical]) {
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			fmt.Printf("%d -%d/%v-> %d\n", q, e.ILabel, e.Weight, e.NextState)
		}
		if fst.IsFinal[semiring.Tropical](f, q) {
			fmt.Printf("%d final/%v\n", q, f.Final(q))
		}
	}
}

// Two paths read 1 2, of weight 3 and 4; after determinization one does, of the
// lesser weight.
func ExampleDeterminize() {
	f := acceptor(`
0 1 1 1
0 2 1 3
1 3 2 2
2 3 2 1
2 3 3 1
3`)
	det, err := ops.Determinize(f, nil)
	if err != nil {
		panic(err)
	}
	print(det)
	// Output:
	// 0 -1/1-> 1
	// 1 -2/2-> 2
	// 1 -3/3-> 2
	// 2 final/0
}

// No deterministic machine weighs 1ⁿ2 by n and 1ⁿ3 by 2n: the error says why.
func ExampleTwinsError() {
	f := acceptor(`
0 1 1 0
0 2 1 0
1 1 1 1
2 2 1 2
1 3 2 0
2 3 3 0
3`)
	_, err := ops.Determinize(f, nil)
	var twins *ops.TwinsError
	if errors.As(err, &twins) {
		fmt.Println(twins.Left.String())
		fmt.Println(twins.Right.String())
		fmt.Println("factors", twins.LeftFactor, "and", twins.RightFactor, "from arc", twins.Cycle, "on; a proof:", twins.Exact)
	}
	// Output:
	// 0 -1-> 1 -1-> 1 / 1
	// 0 -1-> 2 -1-> 2 / 2
	// factors 1 and 2 from arc 1 on; a proof: true
}

// States 1 and 2 accept the same from there on.
func ExampleMinimize() {
	f := acceptor(`
0 1 1
0 2 2
1 3 3
2 3 3
3`)
	m, err := ops.Minimize(f, nil)
	if err != nil {
		panic(err)
	}
	print(m)
	// Output:
	// 0 -1/0-> 1
	// 0 -2/0-> 1
	// 1 -3/0-> 2
	// 2 final/0
}

// The total weight of each way on moves to the front.
func ExamplePush() {
	f := acceptor(`
0 1 1 0
1 2 2 3
1 2 3 5
2 2`)
	p, err := ops.Push(f, nil)
	if err != nil {
		panic(err)
	}
	print(p)
	// Output:
	// 0 -1/5-> 1
	// 1 -2/0-> 2
	// 1 -3/2-> 2
	// 2 final/0
}

func ExampleRmEpsilon() {
	f := acceptor(`
0 1 0 1
1 2 7 2
2`)
	if err := ops.RmEpsilon(f, nil); err != nil {
		panic(err)
	}
	print(f)
	// Output:
	// 0 -7/3-> 1
	// 1 final/0
}

func ExampleDistinguish() {
	a := acceptor("0 1 1 1\n1 2 2 1\n2")
	b := acceptor("0 1 1 2\n1 2 2 1\n2")
	d, err := ops.Distinguish(a, b, 1e-3)
	if err != nil {
		panic(err)
	}
	fmt.Println(d)
	// Output:
	// labels [1 2] have weight 2 in the first machine and 3 in the second
}
