package ops

import (
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// A copy larger than Limits.Bytes is not made first and counted then.
func TestNoCopyBeyondBytes(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](0)
	f.AddStates(100_001)
	f.SetStart(0)
	for q := range fst.StateID(100_000) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: q + 1})
	}
	f.SetFinal(100_000, 0)
	lim := Limits{Bytes: 1 << 20}
	for name, call := range map[string]func() error{
		"EpsNormalize":        func() error { _, err := EpsNormalize[semiring.Tropical](f, Input, lim); return err },
		"EpsNormalize Output": func() error { _, err := EpsNormalize[semiring.Tropical](f, Output, lim); return err },
		"Disambiguate": func() error {
			_, err := Disambiguate[semiring.Tropical](f, &DisambiguateOptions{Limits: lim})
			return err
		},
		"Minimize": func() error { _, err := Minimize[semiring.Tropical](f, &MinimizeOptions{Limits: lim}); return err },
		"Push": func() error {
			_, err := Push[semiring.Tropical](f, &PushOptions{Labels: true, Limits: lim})
			return err
		},
	} {
		fsttest.Allocating(t, 2<<20, func() {
			var limit *LimitError
			if err := call(); !errors.As(err, &limit) || limit.Limit != "bytes" {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
