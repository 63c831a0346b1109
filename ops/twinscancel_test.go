package ops

import (
	"context"
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// The search for a breach beside a construction ends with the context: what goes through the whole
// machine looks at it, and once the time is over a large machine is not gone through any more, a
// small one is.
func TestTwinsGuardEndsWithContext(t *testing.T) {
	type arc = fst.Arc[semiring.Tropical]
	rings := func(states int) *fst.Vector[semiring.Tropical] {
		f := fst.NewVector[semiring.Tropical](states)
		f.AddStates(states)
		f.SetStart(0)
		for q := range fst.StateID(states) { // two copies of a ring whose weights differ
			f.AddArc(q, arc{ILabel: 1, OLabel: 1, Weight: semiring.Tropical(q % 2), NextState: (q + 2) % fst.StateID(states)})
		}
		f.AddArc(0, arc{ILabel: 2, OLabel: 2, NextState: 1})
		f.AddArc(0, arc{ILabel: 2, OLabel: 2, NextState: 2})
		f.SetFinal(0, 0)
		f.SetFinal(1, 0)
		return f
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	small, large := rings(100), rings(1<<17)
	w := func(ctx context.Context) *run.Stopwatch { return &run.Stopwatch{Op: "Test", Ctx: ctx} }
	if _, _, err := summed[semiring.Tropical](large, w(done)); !errors.Is(err, context.Canceled) {
		t.Errorf("summed: %v", err)
	}
	if err := cancelling[semiring.Tropical]("Test", large, w(done)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelling: %v", err)
	}
	guard := func(f *fst.Vector[semiring.Tropical], ctx context.Context) *twinsGuard[semiring.Tropical] {
		return newTwinsGuard[semiring.Tropical](f, Limits{Ctx: ctx}, false,
			square.NewWeightDelays[semiring.Tropical])
	}
	if g := guard(small, done); g.evidence("Test", 1<<20, true) == nil {
		t.Error("of a small machine there is no evidence once the time is over")
	}
	if g := guard(large, done); g.evidence("Test", 1<<20, true) != nil || g.looked {
		t.Error("a large machine is gone through once the time is over")
	}
	if g := guard(large, context.Background()); g.evidence("Test", 1<<22, false) == nil {
		t.Error("of a large machine there is no evidence at another limit")
	}
	g := guard(large, done)
	if g.decide(done, "Test", 1<<22); g.looked || g.found != nil {
		t.Error("a look that the context ended counts for one")
	}
}
