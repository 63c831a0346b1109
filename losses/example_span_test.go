package losses_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/losses"
)

// The number of wrong spans as a loss, and as a transducer that `fst` and training with
// `--loss transducer` take.
func ExampleNewSpan() {
	labels := []string{"O", "B-NP", "I-NP"}
	loss, err := losses.NewSpan(labels, losses.SpanCosts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	reference := []int{1, 2, 0, 1} // two spans
	prediction := []int{1, 0, 0, 1}
	fmt.Println("wrong spans:", loss.Value(prediction, reference)) // the first, on both sides

	m, err := loss.Machine(reference, len(labels), len(reference))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("columns:", m.TotalColumns())

	u, err := loss.Transducer(len(labels)) // label k+1 is symbol k
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("states of the transducer:", u.NumStates())
	// Output:
	// wrong spans: 2
	// columns: 10
	// states of the transducer: 5
}
