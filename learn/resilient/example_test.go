package resilient_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/resilient"
)

// What examples count, by their losses: ordinary training counts each once.
func Example() {
	losses := []float64{0.1, 0.4, 1, 3}
	for _, name := range []string{"linear", "quadratic", "huber:0.5", "cvar:0.25"} {
		h, err := resilient.Parse(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		curve := h.At(losses, nil)
		fmt.Print(name, ":")
		for _, l := range losses {
			fmt.Printf(" %.2f", curve.Deriv(l))
		}
		fmt.Println()
	}
	// Output:
	// linear: 1.00 1.00 1.00 1.00
	// quadratic: 0.10 0.40 1.00 3.00
	// huber:0.5: 0.10 0.40 0.50 0.50
	// cvar:0.25: 0.00 0.00 0.00 4.00
}
