package pdt_test

import (
	"fmt"
	"os"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// The language aⁿbⁿ, n ≥ 1, is a rule that calls itself. Composed with the string
// aabb, and expanded, it is finite.
func Example() {
	const a, b, s = 1, 2, 3
	rule := fst.NewVector[semiring.Tropical](4)
	rule.AddStates(4)
	rule.SetStart(0)
	rule.SetFinal(3, 0)
	arc := func(q fst.StateID, l fst.Label, w semiring.Tropical, next fst.StateID) {
		rule.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, Weight: w, NextState: next})
	}
	arc(0, a, 1, 1)
	arc(1, s, 0, 2)
	arc(1, b, 0, 3)
	arc(2, b, 0, 3)

	grammar, pairs, err := pdt.Replace([]ops.Rule[semiring.Tropical]{{Label: s, F: rule}}, s, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = pdt.Expand(grammar, pairs, nil)
	fmt.Println(err)

	parse, err := pdt.Compose(grammar, fsttest.String[semiring.Tropical](a, a, b, b), pairs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := pdt.ShortestPath(parse, pairs, &pdt.ShortestPathOptions{KeepParens: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fst.WriteText(os.Stdout, best, &fst.WriteTextOptions{Acceptor: true})
	// Output:
	// ops: pdt.Expand: state 0: parenthesis 4 leads back to this state on top of itself, so that the stack of parentheses is not bounded
	// 6	5	1	1
	// 0
	// 1	0	2
	// 2	1	5
	// 3	2	2
	// 4	3	1	1
	// 5	4	4
}
