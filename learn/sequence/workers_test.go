package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Training gives the same weights to the bit on any number of workers, also with enough weights for
// pairs in single precision.
func TestWorkersGiveTheSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	examples := make([]Example, 600)
	for i := range examples {
		for range 10 + rng.IntN(15) {
			y := rng.IntN(8)
			word := fmt.Sprint(rng.IntN(1 << 20)) // most stand once
			if rng.IntN(3) == 0 {
				word = fmt.Sprint("w", y, rng.IntN(4))
			}
			examples[i].Columns = append(examples[i].Columns, []string{word})
			examples[i].Labels = append(examples[i].Labels, fmt.Sprint("y", y))
		}
	}
	var first *Model
	for _, workers := range []int{1, 2, 7} {
		o := TrainOptions{Templates: templates(t, "U0:%x[0,0]", "U1:%x[-1,0]", "U2:%x[1,0]"), Workers: workers}
		o.Control.Stop.Iterations = 12
		m, r, err := Train(examples, &o)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.w) <= singleFrom || r.Iterations < 5 {
			t.Fatalf("%d weights, %d iterations: the test says nothing", len(m.w), r.Iterations)
		}
		if first == nil {
			first = m
			continue
		}
		for i := range m.w {
			if math.Float64bits(m.w[i]) != math.Float64bits(first.w[i]) {
				t.Fatalf("weight %d is %v with %d workers, %v with one", i, m.w[i], workers, first.w[i])
			}
		}
	}
}
