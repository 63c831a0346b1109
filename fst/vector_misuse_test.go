package fst

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// NewVector reserves room and makes no states: who takes it for otherwise is told.
func TestVectorWithoutStates(t *testing.T) {
	for name, call := range map[string]func(v *Vector[semiring.Tropical]){
		"AddArc":   func(v *Vector[semiring.Tropical]) { v.AddArc(0, Arc[semiring.Tropical]{}) },
		"SetFinal": func(v *Vector[semiring.Tropical]) { v.SetFinal(-1, 0) },
		"SetStart": func(v *Vector[semiring.Tropical]) { v.SetStart(3) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, name) || !strings.Contains(said, "AddState") {
					t.Errorf("%s: %s", name, said)
				}
			}()
			call(NewVector[semiring.Tropical](4))
		}()
	}
}
