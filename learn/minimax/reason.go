package minimax

import (
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// Reasons of this package beside those of optim. Neither is convergence.
const (
	// GapMissed is where a solver that proves gaps makes no progress before it reaches the
	// one that was asked for.
	GapMissed run.Reason = "stopped without reaching the gap asked"
	// RoundLimit is where it took all the rounds that it ever takes.
	RoundLimit run.Reason = "rounds exhausted"
)

// stopped reports whether a solver gave up of its own: Auto has others then.
func stopped(r run.Reason) bool { return r == run.NoProgress || r == RoundLimit }

// ended returns why a run ended whose gap was to be gap times max(leastValue, value); gap is
// negative where none was asked for, or there is none: what the solver stopped by counts then.
func ended(r *saddle.Result, gap float64) run.Reason {
	if gap <= 0 || !stopped(r.Reason) {
		return r.Reason
	}
	if c := r.Certificate; r.Certified && c.Gap() <= gap*sizeOf(c.Upper) {
		return run.GapSmall
	}
	if r.Reason == RoundLimit {
		return RoundLimit
	}
	return GapMissed
}
