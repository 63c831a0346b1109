package losses_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Any transducer over a tropical semiring is a loss. This one has vowels (1, 2)
// and consonants (3, 4): to confuse two of a kind costs less.
func ExampleTropicalAutomaton() {
	u := fst.NewVector[semiring.Tropical64](1)
	q := u.AddState()
	u.SetStart(q)
	u.SetFinal(q, 0)
	for a := fst.Label(1); a <= 4; a++ {
		for b := fst.Label(1); b <= 4; b++ {
			cost := semiring.Tropical64(2)
			switch {
			case a == b:
				cost = 0
			case (a <= 2) == (b <= 2):
				cost = 0.5
			}
			u.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: a, OLabel: b, Weight: cost})
		}
	}

	reference := []int{0, 2, 1} // symbol k is label k+1
	loss, err := losses.TropicalAutomaton(losses.Strings(4, 3), u, reference, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss.Loss([]int{1, 2, 3}))

	// With uniform potentials the augmented distribution weighs by exp(L) alone.
	res, err := losses.EvalGeneral(losses.NewPotentials(4, 3, 1), loss, 1,
		losses.WantMarginals|losses.WantExpected, nil, ops.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log Z %.4f, E[L] %.4f\n", res.LogZ, res.Expected)
	fmt.Printf("P(u_0 = each) %.3f\n", res.Marginals[0])

	// The same automaton as a machine trains at the speed of the direct losses.
	m, err := loss.Machine(4, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	var r losses.Result
	var e losses.Evaluator
	if err := e.Eval(m, losses.NewPotentials(4, 3, 1), 1, 0, &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log Z %.4f\n", r.LogZ)
	// Output:
	// 2.5
	// log Z 8.5740, E[L] 5.2300
	// P(u_0 = each) [0.057 0.095 0.424 0.424]
	// log Z 8.5740
}

// A lattice of two words, scored, against a reference of three symbols: labels
// 1 and 2 expand to the strings 0 1 and 2.
func ExampleLattice() {
	a := fst.NewVector[semiring.Log64](3)
	a.AddStates(3)
	a.SetStart(0)
	a.SetFinal(2, 0)
	for label := fst.Label(1); label <= 2; label++ {
		a.AddArc(0, fst.Arc[semiring.Log64]{ILabel: label, OLabel: label, Weight: -1, NextState: 1})
		a.AddArc(1, fst.Arc[semiring.Log64]{ILabel: label, OLabel: label, Weight: 0, NextState: 2})
	}
	expand := fst.NewVector[semiring.Tropical64](2)
	expand.AddStates(2)
	expand.SetStart(0)
	expand.SetFinal(0, 0)
	expand.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1, NextState: 1})
	expand.AddArc(1, fst.Arc[semiring.Tropical64]{OLabel: 2, NextState: 0})
	expand.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 2, OLabel: 3, NextState: 0})

	u, err := losses.Unit.Transducer(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	loss, err := losses.TropicalAutomaton(a, u, []int{0, 1, 2}, &losses.GeneralOptions{Expand: expand})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := (&losses.Lattice{A: a}).Eval(loss, 1, losses.WantMarginals|losses.WantRisk, ops.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log Z %.4f, risk %.2f\n", res.LogZ, res.Risk)
	for q := range 2 {
		fmt.Printf("arcs of state %d: %.3f\n", q, res.Marginals[q])
	}
	// Output:
	// log Z 4.1427, risk 1.50
	// arcs of state 0: [0.362 0.638]
	// arcs of state 1: [0.638 0.362]
}
