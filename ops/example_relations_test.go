package ops_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// letters are the symbols of these examples.
var letters = fst.SymbolsOf("<eps>", "a", "b", "c", "S")

// word is the acceptor of a string of them, a letter each.
func word(s string) *fst.Vector[semiring.Tropical] {
	f, err := fst.FromString[semiring.Tropical](s, &fst.StringOptions{Symbols: letters})
	if err != nil {
		panic(err)
	}
	return f
}

// list prints the strings of a machine, up to a number of arcs.
func list(f fst.Fst[semiring.Tropical]) {
	for p := range fst.Paths(f, &fst.PathsOptions{MaxArcs: 6}) {
		in, _ := fst.FormatLabels(p.Input(), &fst.StringOptions{Symbols: letters})
		out, _ := fst.FormatLabels(p.Output(), &fst.StringOptions{Symbols: letters})
		fmt.Printf("%q:%q %v\n", in, out, p.Weight)
	}
}

func ExampleConcat() {
	f := word("a b")
	if err := ops.Concat(f, word("c"), ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	list(f)
	// Output:
	// "a b c":"a b c" 0
}

func ExampleClosure() {
	f := word("a")
	if err := ops.Closure(f, ops.Plus, ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	list(f)
	// Output:
	// "a":"a" 0
	// "a a":"a a" 0
	// "a a a":"a a a" 0
}

// Input and output change places; of a composition that is the composition of the
// inverses in the other order.
func ExampleInvert() {
	f := chain(1, [2]fst.Label{1, 2}, [2]fst.Label{3, fst.Epsilon})
	ops.Invert(f)
	list(f)
	// Output:
	// "b":"a c" 2
}

func ExampleProject() {
	f := chain(1, [2]fst.Label{1, 2}, [2]fst.Label{3, fst.Epsilon})
	ops.Project(f, ops.Output)
	list(f)
	// Output:
	// "b":"b" 2
}

func ExampleRelabel() {
	f := word("a b a")
	if err := ops.Relabel(f, nil, []fst.LabelPair{{From: 1, To: 3}}); err != nil {
		fmt.Println(err)
		return
	}
	list(f)
	// Output:
	// "a b a":"c b c" 0
}

func ExampleIntersect() {
	f := word("a b")
	if err := ops.Union(f, word("c"), ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	both, err := ops.Intersect[semiring.Tropical](f, word("c"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	list(both)
	// Output:
	// "c":"c" 0
}

// What is subtracted must be deterministic, without ε and sorted.
func ExampleSubtract() {
	f := word("a b")
	if err := ops.Union(f, word("c"), ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	rest, err := ops.Subtract[semiring.Tropical](f, word("c"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	list(rest)
	// Output:
	// "a b":"a b" 0
}

// Arcs whose output is S are replaced by the machine of the rule for S.
func ExampleReplace() {
	rules := []ops.Rule[semiring.Tropical]{{Label: 9, F: word("a S c")}, {Label: 4, F: word("b b")}}
	f, err := ops.Replace(rules, 9, &ops.ReplaceOptions{Call: ops.LabelNeither})
	if err != nil {
		fmt.Println(err)
		return
	}
	list(f)
	// Output:
	// "a b b c":"a b b c" 0
}

// A rule that calls itself, S → a S b | c: the machine has no end, and is computed as far as the composition
// with a string asks for it. Collect makes a machine in memory of what that is.
func ExampleReplaceLazy() {
	s := word("a S b")
	if err := ops.Union(s, word("c"), ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	rules := []ops.Rule[semiring.Tropical]{{Label: 4, F: s}}
	grammar, err := ops.ReplaceLazy(rules, 4, &ops.ReplaceOptions{Call: ops.LabelNeither}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range []string{"a a c b b", "a c b b"} {
		parsed, err := ops.IntersectLazy[semiring.Tropical](word(x), grammar, nil, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		f, err := ops.Collect(parsed, ops.Limits{States: 1000})
		if err != nil {
			fmt.Println(err)
			return
		}
		ops.Connect(f)
		fmt.Println(x, f.NumStates() > 0)
	}
	// Output:
	// a a c b b true
	// a c b b false
}

// Labels of both sides come on the same arcs, as long as both strings last.
func ExampleSynchronize() {
	f := chain(1, [2]fst.Label{1, fst.Epsilon}, [2]fst.Label{2, fst.Epsilon}, [2]fst.Label{fst.Epsilon, 3})
	g, err := ops.Synchronize[semiring.Tropical](f, ops.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(g)
	// Output:
	// 0 -> 1  0:0/1
	// 1 -> 2  0:0/1
	// 2 -> 3  1:3/1
	// 3 -> 4  2:0/0
	// 4 final/0
}

// Each string that several paths had keeps one, of the best weight.
func ExampleDisambiguate() {
	f := word("a b")
	other := word("a b")
	other.SetFinal(2, 3)
	if err := ops.Union(f, other, ops.Limits{}); err != nil {
		fmt.Println(err)
		return
	}
	if err := ops.RmEpsilon(f, nil); err != nil {
		fmt.Println(err)
		return
	}
	g, err := ops.Disambiguate[semiring.Tropical](f, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	list(g)
	// Output:
	// "a b":"a b" 0
}

// Input labels come first, and ε after them.
func ExampleEpsNormalize() {
	f := chain(1, [2]fst.Label{fst.Epsilon, 2}, [2]fst.Label{1, fst.Epsilon}, [2]fst.Label{fst.Epsilon, 3})
	g, err := ops.EpsNormalize[semiring.Tropical](f, ops.Input, ops.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(g)
	// Output:
	// 0 -> 1  1:2/2
	// 1 -> 2  0:3/1
	// 2 final/0
}

func ExampleArcSort() {
	f := word("c")
	for _, l := range []fst.Label{2, 1} {
		f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, NextState: 1})
	}
	ops.ArcSort(f, ops.Input)
	show(f)
	// Output:
	// 0 -> 1  1:1/0
	// 0 -> 1  2:2/0
	// 0 -> 1  3:3/0
	// 1 final/0
}

// The same machine with its states in another order.
func ExampleIsomorphic() {
	f := fst.NewVector[semiring.Tropical](3)
	f.AddStates(3)
	f.SetStart(2)
	f.SetFinal(0, 0)
	f.AddArc(2, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 1})
	f.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: 0})
	same, err := ops.Isomorphic[semiring.Tropical](f, word("a b"), ops.DefaultDelta)
	fmt.Println(same, err)
	// Output:
	// true <nil>
}

// Random paths of either machine look for a pair of strings that they weigh differently.
func ExampleRandEquivalent() {
	f := word("a b")
	f.SetFinal(2, 0.5)
	d, err := ops.RandEquivalent[semiring.Tropical](f, word("a b"), rand.New(rand.NewPCG(1, 2)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d)
	// Output:
	// input [a b] with output [a b] has weight 0.5 in the first machine and 0 in the second
}
