package ops_test

import (
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// A constant that there is not is an error, and not some other constant.
func TestConstantsOutOfRange(t *testing.T) {
	f := fst.FromLabels[semiring.Tropical]([]fst.Label{1})
	for name, call := range map[string]func() error{
		"closure": func() error { return ops.Closure(f, 77, ops.Limits{}) },
		"side": func() error {
			_, err := ops.Compose[semiring.Tropical](f, f, &ops.ComposeOptions{LookAhead: &ops.LookAhead{Side: 5}})
			return err
		},
		"side with labels": func() error {
			_, err := ops.Compose[semiring.Tropical](f, f, &ops.ComposeOptions{LookAhead: &ops.LookAhead{Side: 5, PushLabels: true}})
			return err
		},
		"filter": func() error {
			_, err := ops.Compose[semiring.Tropical](f, f, &ops.ComposeOptions{Filter: 77})
			return err
		},
		"queue": func() error {
			_, err := ops.ShortestDistance[semiring.Tropical](f, &ops.ShortestDistanceOptions{Queue: 77})
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
