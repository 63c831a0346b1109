package losses

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// sausage is a lattice of n positions with a number of labels each; some skip one.
func sausage(rng *rand.Rand, n, width, labels int) *fst.Vector[semiring.Log64] {
	a := fst.NewVector[semiring.Log64](n + 1)
	a.AddStates(n + 1)
	a.SetStart(0)
	a.SetFinal(fst.StateID(n), 0)
	for q := range n {
		for i := range width {
			k, next := fst.Label(1+rng.IntN(labels)), q+1
			if i > 0 && rng.IntN(4) == 0 {
				next = min(n, q+2)
			}
			a.AddArc(fst.StateID(q), fst.Arc[semiring.Log64]{ILabel: k, OLabel: k,
				Weight: semiring.Log64(rng.NormFloat64()), NextState: fst.StateID(next)})
		}
	}
	return a
}

// randomSpelling is an expansion of each of labels to one string of 1 to 3 symbols, by way of one
// or two states between labels.
func randomSpelling(rng *rand.Rand, labels, symbols int) *fst.Vector[semiring.Tropical64] {
	e := fst.NewVector[semiring.Tropical64](8)
	homes := 1 + rng.IntN(2)
	e.AddStates(homes)
	e.SetStart(0)
	for h := range fst.StateID(homes) {
		e.SetFinal(h, 0)
		for k := range labels {
			from, label := h, fst.Label(k+1)
			for range rng.IntN(3) {
				mid := e.AddState()
				e.AddArc(from, fst.Arc[semiring.Tropical64]{ILabel: label,
					OLabel: fst.Label(1 + rng.IntN(symbols)), NextState: mid})
				from, label = mid, fst.Epsilon
			}
			e.AddArc(from, fst.Arc[semiring.Tropical64]{ILabel: label,
				OLabel: fst.Label(1 + rng.IntN(symbols)), NextState: fst.StateID(rng.IntN(homes))})
		}
	}
	return e
}

// What is too large behind an expansion is refused in seconds.
func TestGeneralRefusesExpanded(t *testing.T) {
	fsttest.OneGoroutine(t)
	const labels = 10
	expand := fst.NewVector[semiring.Tropical64](1)
	expand.SetStart(expand.AddState())
	expand.SetFinal(0, 0)
	for k := fst.Label(1); k <= labels; k++ {
		expand.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: k, OLabel: k, NextState: 0})
	}
	ref := randomRef(rand.New(rand.NewPCG(97, 2)), 14, labels)
	_, err := SmithWaterman.Automaton(Strings(labels, 14), ref, labels,
		&GeneralOptions{Expand: expand, Limits: ops.Limits{Bytes: 1 << 26}})
	var b *BudgetError
	if !errors.As(err, &b) || b.Stage != stageDeterminize || b.Bytes <= 1<<26 || b.Limit != 1<<26 {
		t.Errorf("error %v", err)
	}
}

// A lattice beyond its budget is refused in seconds, with a word of advice.
func TestGeneralRefusesLattices(t *testing.T) {
	fsttest.OneGoroutine(t)
	rng := rand.New(rand.NewPCG(96, 2))
	y, ref := sausage(rng, 30, 8, 10), randomRef(rng, 30, 10)
	start := time.Now()
	_, err := Unit.Automaton(y, ref, 10, &GeneralOptions{Limits: ops.Limits{Bytes: 1 << 27}})
	var b *BudgetError
	if !errors.As(err, &b) || b.Stage != stageDeterminize || b.Bytes <= 1<<27 || b.Limit != 1<<27 ||
		b.Band == 0 && !strings.Contains(err.Error(), "prune the lattice") ||
		b.Band > 0 && !strings.Contains(err.Error(), "try band") {
		t.Errorf("error %v", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("the error took %v", d)
	}
	// All strings of a length are foreseen by their clamped columns; where no band fits either,
	// the direct path is what helps.
	_, err = SmithWaterman.Automaton(Strings(10, 40), randomRef(rng, 40, 10), 10,
		&GeneralOptions{Limits: ops.Limits{Bytes: 1 << 16}})
	if !errors.As(err, &b) || b.Stage != stageForeseen || b.Band != 0 ||
		!strings.Contains(err.Error(), "the direct path") {
		t.Errorf("error %v", err)
	}
}
