package ops_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// A delayed determinization of an acceptor is known to be sorted, so that a machine before it that is not sorted, of which
// nobody knows, does no harm; of a transducer's nothing is known.
func TestComposeLazyWithDeterminized(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 15))
	unsorted := 0
	for range 200 {
		a, b := draw[semiring.Tropical](rng, randomShape(rng)), draw[semiring.Tropical](rng, randomShape(rng))
		ops.Project(b, ops.Input)
		lim := &ops.DeterminizeOptions{Limits: ops.Limits{States: 200}}
		det, err := ops.Determinize[semiring.Tropical](b, lim)
		if err != nil {
			continue
		}
		first := ops.ClosureLazy[semiring.Tropical](a, ops.Star, nil)
		if f, err := ops.Collect[semiring.Tropical](first, ops.Limits{}); err != nil {
			t.Fatal(err)
		} else if !fst.PropertiesOf[semiring.Tropical](f, fst.OLabelSorted).Has(fst.OLabelSorted) {
			unsorted++
		}
		lazy, err := ops.DeterminizeLazy[semiring.Tropical](b, lim, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ops.ComposeLazy[semiring.Tropical](first, lazy, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ops.ComposeLazy[semiring.Tropical](first, det, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := ops.Collect[semiring.Tropical](got, ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		y, err := ops.Collect[semiring.Tropical](want, ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if printText(x) != printText(y) {
			t.Fatalf("got\n%swant\n%s", printText(x), printText(y))
		}
	}
	if unsorted < 50 {
		t.Fatalf("only %d machines that are not sorted", unsorted)
	}
}
