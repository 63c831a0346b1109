package semiring_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/semiring"
)

func Example() {
	// Two paths, of two arcs each, as tropical costs: the better one counts.
	short := semiring.Tropical(1.5).Times(2)
	long := semiring.Tropical(3).Times(4)
	fmt.Println(short.Plus(long))

	// As negated log probabilities both count.
	p := semiring.Log64(1.5).Times(2).Plus(semiring.Log64(3).Times(4))
	fmt.Printf("%.3f\n", float64(p))
	// Output:
	// 3.5
	// 3.470
}

// A function over any semiring, and one that asks for more of it.
func ExampleWeight() {
	fmt.Println(total(semiring.Probability(0.25), 0.5, 0.125))
	fmt.Println(total(semiring.Tropical(3), 1, 2))
	fmt.Println(best(semiring.Tropical(3), 1, 2)) // best(semiring.Probability(0.25)) does not compile
	// Output:
	// 0.875
	// 1
	// 1
}

func total[W semiring.Weight[W]](ws ...W) W {
	sum := semiring.Zero[W]()
	for _, w := range ws {
		sum = sum.Plus(w)
	}
	return sum
}

func best[W semiring.Path[W]](first W, others ...W) W {
	for _, w := range others {
		if w.Less(first) {
			first = w
		}
	}
	return first
}

func ExampleStringRestricted_Conflict() {
	a, b := semiring.NewStringRestricted(1, 2), semiring.NewStringRestricted(1, 3)
	sum := a.Plus(b)
	x, y, _ := sum.Conflict()
	fmt.Println(sum.Member(), x.AppendLabels(nil), y.AppendLabels(nil))
	// Output: false [1 2] [1 3]
}

func ExampleGallicUnion() {
	type element = semiring.GallicRestricted[semiring.Tropical]
	set := semiring.NewGallicUnion(
		element{String: semiring.NewStringRestricted(7, 7), Weight: 1},
		element{String: semiring.NewStringRestricted(9), Weight: 2},
		element{String: semiring.NewStringRestricted(9), Weight: 0.5},
	)
	fmt.Printf("%s\n", set.AppendTextFormat(nil, semiring.TextFormat{Open: '(', Close: ')'}))
	// Output: ((9,0.5),(7_7,1))
}

func ExampleLogSum() {
	var s semiring.LogSum
	for _, x := range []float64{2, 2, 2, 2} {
		s.Add(x)
	}
	fmt.Printf("%.4f\n", s.Sum()) // 2 - log 4
	// Output: 0.6137
}

func ExamplePower() {
	type triple = semiring.Power[semiring.Log64, [3]semiring.Log64]
	w, err := triple{}.ParseText("1,2,Infinity")
	fmt.Println(w.Values, w.ArcType(), err)
	// Output: [1 2 +Inf] log64_^3 <nil>
}
