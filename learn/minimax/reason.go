package minimax

import (
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// stopped reports whether a solver gave up of its own: Auto has others then.
func stopped(r run.Reason) bool { return r == run.NoProgress || r == run.RoundLimit }

// ended returns why a run ended whose gap was to be gap times max(leastValue, value); gap is
// negative where none was asked for, or there is none: what the solver stopped by counts then.
func ended(r *saddle.Result, gap float64) run.Reason {
	if gap <= 0 || !stopped(r.Reason) {
		return r.Reason
	}
	if c := r.Certificate; r.Certified && c.Gap() <= gap*sizeOf(c.Upper) {
		return run.GapSmall
	}
	if r.Reason == run.RoundLimit {
		return run.RoundLimit
	}
	return run.GapMissed
}
