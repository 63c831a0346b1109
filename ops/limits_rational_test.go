package ops_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// Union, Concat and Reverse make what is as large as the limits, and nothing that is one state or arc larger: then their operands
// are as they were.
func TestRationalLimitsAreExact(t *testing.T) {
	type vector = *fst.Vector[semiring.Tropical]
	rng := rand.New(rand.NewPCG(31, 1))
	inPlace := func(op func(a vector, b fst.Expanded[semiring.Tropical], lim ops.Limits) error) func(a, b vector, lim ops.Limits) (vector, error) {
		return func(a, b vector, lim ops.Limits) (vector, error) {
			before := printText(a)
			err := op(a, b, lim)
			if err != nil && printText(a) != before {
				return nil, fmt.Errorf("the first operand was changed")
			}
			return a, err
		}
	}
	for i := range 200 {
		a := fsttest.Random(rng, rng.IntN(6), semiringtest.Tropical, fsttest.Options{Epsilon: 0.2, Degree: 2, Final: 0.4, Cyclic: true})
		b := fsttest.Random(rng, rng.IntN(6), semiringtest.Tropical, fsttest.Options{Epsilon: 0.2, Degree: 2, Final: 0.4, Cyclic: true})
		if i%2 == 0 {
			fst.PropertiesOf(a, fst.InitialAcyclic)
		}
		for name, op := range map[string]func(a, b vector, lim ops.Limits) (vector, error){
			"Union":  inPlace(ops.Union[semiring.Tropical]),
			"Concat": inPlace(ops.Concat[semiring.Tropical]),
			"Reverse": func(a, _ vector, lim ops.Limits) (vector, error) {
				return ops.Reverse[semiring.Tropical, semiring.Tropical](a, &ops.ReverseOptions{NoSuperInitial: i%3 == 0, Limits: lim})
			},
		} {
			whole, err := op(a.Clone(), b, ops.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			n, m := whole.NumStates(), whole.NumArcs()
			if _, err := op(a.Clone(), b, ops.Limits{States: n, Arcs: int64(m)}); err != nil {
				t.Errorf("%s of %d states and %d arcs within just those: %v", name, n, m, err)
			}
			for _, lim := range []ops.Limits{{States: n - 1}, {Arcs: int64(m) - 1}} {
				if _, err := op(a.Clone(), b, lim); (lim.States > 0 || lim.Arcs > 0) && !errors.Is(err, ops.ErrLimit) {
					t.Errorf("%s of %d states and %d arcs within %+v: %v", name, n, m, lim, err)
				}
			}
		}
	}
}
