package ops_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// arc is an arc of an acceptor.
func arc(label fst.Label, weight semiring.Tropical, next fst.StateID) fst.Arc[semiring.Tropical] {
	return fst.Arc[semiring.Tropical]{ILabel: label, OLabel: label, Weight: weight, NextState: next}
}

// allFinal returns a machine with the given arcs of its states, from 0, all of which are final.
func allFinal(states ...[]fst.Arc[semiring.Tropical]) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](len(states))
	f.AddStates(len(states))
	f.SetStart(0)
	for q, arcs := range states {
		f.SetFinal(fst.StateID(q), 0)
		for _, e := range arcs {
			f.AddArc(fst.StateID(q), e)
		}
	}
	return f
}

// showPaths prints what the paths of a composition read and write, with their weights.
func showPaths(a, b *fst.Vector[semiring.Tropical], opts *ops.ComposeOptions) {
	ab, err := ops.Compose(a, b, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for p := range fst.Paths(ab, nil) {
		fmt.Println(p.Input(), p.Output(), p.Weight)
	}
}

// Failure transitions: a model of pairs of words backs off, at a cost, to one of single words where it
// has not seen the pair. The arc with phi is followed only then.
func ExampleMatcher_phi() {
	const phi = 9
	model := allFinal(
		[]fst.Arc[semiring.Tropical]{arc(1, 3, 1), arc(2, 4, 0)},   // no word before, or none that is known
		[]fst.Arc[semiring.Tropical]{arc(2, 1, 0), arc(phi, 5, 0)}, // after word 1, which 2 often follows
	)
	text := func(labels ...fst.Label) *fst.Vector[semiring.Tropical] {
		return chain(0, pairsOf(labels)...)
	}
	opts := &ops.ComposeOptions{Second: &ops.Matcher{Kind: ops.MatchPhi, Label: phi}}
	showPaths(text(1, 2), model, opts)
	showPaths(text(1, 1), model, opts) // 3, and 5 for failing, and 3
	// Output:
	// [1 2] [1 2] 4
	// [1 1] [1 1] 11
}

func pairsOf(labels []fst.Label) (pairs [][2]fst.Label) {
	for _, l := range labels {
		pairs = append(pairs, [2]fst.Label{l, l})
	}
	return pairs
}

// A rho arc stands for all labels that the other arcs of its state do not have: what is not 1 costs 2.
func ExampleMatcher_rho() {
	const rho = 9
	rest := allFinal([]fst.Arc[semiring.Tropical]{arc(1, 0, 0), arc(rho, 2, 0)})
	opts := &ops.ComposeOptions{Second: &ops.Matcher{Kind: ops.MatchRho, Label: rho}}
	showPaths(chain(0, pairsOf([]fst.Label{1, 5, 7})...), rest, opts)
	// Output:
	// [1 5 7] [1 5 7] 4
}

// A sigma arc stands for any label, besides the arcs that have it: 1 is read by both.
func ExampleMatcher_sigma() {
	const sigma = 9
	wild := allFinal([]fst.Arc[semiring.Tropical]{arc(1, 0, 1), arc(sigma, 2, 1)}, nil)
	opts := &ops.ComposeOptions{Second: &ops.Matcher{Kind: ops.MatchSigma, Label: sigma}}
	showPaths(chain(0, [2]fst.Label{1, 1}), wild, opts)
	showPaths(chain(0, [2]fst.Label{7, 7}), wild, opts)
	// Output:
	// [1] [1] 0
	// [1] [1] 2
	// [7] [7] 2
}

// Labels that are matched by nothing, as ε is: the marks 8 and 9 of the first machine need nothing in the
// second, and stay.
func ExampleMatcher_epsilons() {
	marked := chain(0, pairsOf([]fst.Label{8, 1, 9, 2})...)
	opts := &ops.ComposeOptions{First: &ops.Matcher{Kind: ops.MatchEpsilons, Labels: []fst.Label{8, 9}}}
	ab, err := ops.Compose(marked, chain(1, [2]fst.Label{1, 4}, [2]fst.Label{2, 5}), opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(ab)
	// Output:
	// 0 -> 1  8:0/0
	// 1 -> 2  1:4/1
	// 2 -> 3  9:0/0
	// 3 -> 4  2:5/1
	// 4 final/0
}

// Two words of a lexicon begin alike, and tell which they are at their end. Looking ahead, the composition with one
// word does not begin with the other.
func ExampleLookAhead() {
	lexicon := allFinal(
		[]fst.Arc[semiring.Tropical]{{ILabel: 1, NextState: 1}, {ILabel: 1, NextState: 2}},
		[]fst.Arc[semiring.Tropical]{{ILabel: 2, OLabel: 11, NextState: 3}},
		[]fst.Arc[semiring.Tropical]{{ILabel: 3, OLabel: 12, NextState: 3}},
		nil,
	)
	for q := range fst.StateID(3) {
		lexicon.SetFinal(q, semiring.Zero[semiring.Tropical]())
	}
	word := chain(1, [2]fst.Label{12, 12})
	for _, look := range []*ops.LookAhead{nil, {}} {
		f, err := ops.Compose(lexicon, word, &ops.ComposeOptions{KeepDead: true, LookAhead: look})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(f.NumStates(), "states, to be trimmed or not")
	}
	// Output:
	// 4 states, to be trimmed or not
	// 3 states, to be trimmed or not
}

// A search that goes on and on, here through a loop of a composition, forgets the states behind it, and with them
// what the composition remembers of them.
func ExampleComposeLazy_retain() {
	pairs := make([][2]fst.Label, 100_000)
	for i := range pairs {
		pairs[i] = [2]fst.Label{1, 1}
	}
	text := chain(0, pairs...)
	f, err := ops.ComposeLazy(text, allFinal([]fst.Arc[semiring.Tropical]{arc(1, 1, 0)}), nil, &fst.LazyOptions{CacheBytes: 1 << 12})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, steps, highest := f.Start(), 0, fst.StateID(0)
	for len(f.Arcs(q)) > 0 {
		q = f.Arcs(q)[0].NextState
		highest = max(highest, q)
		if steps++; steps%100 == 0 {
			f.Retain([]fst.StateID{q}) // the others' numbers are given anew
		}
	}
	fmt.Println(steps, "steps, state numbers below 1000:", highest < 1000)
	// Output: 100000 steps, state numbers below 1000: true
}
