package ops

import (
	"context"
	"errors"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// twinsGuard looks, while a construction grows, whether it can end.
type twinsGuard[W semiring.Weight[W]] struct {
	next      int   // look when there are so many states,
	nextBytes int64 // or so many bytes in output strings
	// The caller set a limit on states, or on bytes: a suspicion does not stop.
	limitedStates, limitedBytes bool
	// Pruning to a number of states ends what does not end by itself: the guard stops nothing,
	// and is evidence when a limit does.
	silent bool
	// Of pruning by weight, else nil: reports whether the best paths through the state, by the
	// string that leads to the subset, are kept.
	pruned func(subset, q fst.StateID) bool
	whole  func(ctx context.Context, op string, budget int64) (*TwinsError, error) // and the search that takes no account of it
	// All outputs of an input are kept, so that a difference of outputs that changes with each
	// turn is a proof.
	allOutputs bool
	delta      float64 // to whose multiples residuals are rounded
	factor     func(cycle []*fst.Arc[W], osyms *fst.SymbolTable) string

	f      fst.Expanded[W]
	ctx    context.Context
	search func(ctx context.Context, op string, budget int64) (*TwinsError, error)
	found  *TwinsError
	looked bool // decided one way or the other

	vanishing bool // a residual has shrunk to 0̄
}

// suspicious is the number of states at which a construction stops that may not
// end, though that is not proved, unless the caller set a limit.
//
// There are machines without the twins property that can be determinized, with a power of two of
// states: 2¹⁸ states were refused where there are 524,289. Those that cannot would go on until the
// memory is full.
func (g *twinsGuard[W]) suspicious() int { return 1<<20 + 64*g.f.NumStates() }

// suspiciousBytes is the same for the bytes of output strings: sets of strings
// can double with each state.
const suspiciousBytes = 1 << 28

// timed tells whether an operation ends by its context some time.
func (l Limits) timed() bool {
	if l.Ctx == nil {
		return false
	}
	_, ok := l.Ctx.Deadline()
	return ok
}

// newTwinsGuard returns the guard for f, nil where there is nothing to watch.
// With shared, only states that share a future need to be twins.
func newTwinsGuard[W semiring.Divisible[W], D any, A square.Delays[W, D]](f fst.Fst[W], lim Limits, shared bool, alg func() A) *twinsGuard[W] {
	g, ok := f.(fst.Expanded[W])
	var w W
	if _, commutes := any(w).(semiring.Commutative[W]); !ok || !commutes {
		return nil
	}
	guard := &twinsGuard[W]{next: 256 + 4*g.NumStates(), nextBytes: 1 << 20, f: g, ctx: lim.Ctx, limitedStates: lim.States > 0 || lim.Bytes > 0 || lim.timed(), limitedBytes: lim.Bytes > 0}
	guard.factor = func(cycle []*fst.Arc[W], osyms *fst.SymbolTable) string {
		return factorText(cycle, osyms, withOutputs[W, D]())
	}
	guard.search = func(ctx context.Context, op string, budget int64) (*TwinsError, error) {
		a := alg()
		w := &run.Stopwatch{Op: op, Ctx: ctx}
		g, held, err := summed(g, w)
		if err != nil {
			return nil, err
		}
		s, err := square.New(g, false, budget, w)
		if err != nil {
			return nil, err
		}
		s.Held = held
		s.Shared = shared
		s.Meter = Limits{Bytes: lim.Bytes / 2, Ctx: ctx}.meter(op) // beside what the construction has
		unlike := unlikeRounding(g)
		sameOutputs := func(x, y D) bool {
			o, ok := any(x).(square.OutputDelay[W])
			return !ok || o.Left == any(y).(square.OutputDelay[W]).Left && o.Right == any(y).(square.OutputDelay[W]).Right
		}
		if guard.allOutputs {
			if found, err := searchTwins(op, s, a, sameOutputs, budget); found != nil || err != nil {
				return found, err
			}
		}
		return searchTwins(op, s, a, func(x, y D) bool {
			if x, ok := any(x).(square.OutputDelay[W]); ok {
				y := any(y).(square.OutputDelay[W])
				return x.Left == y.Left && x.Right == y.Right && !unlike(x.Weight, y.Weight)
			}
			return !unlike(any(x).(W), any(y).(W))
		}, budget)
	}
	return guard
}

// rounds tells the guard how residuals are rounded.
func (g *twinsGuard[W]) rounds(delta float64) {
	if g != nil {
		g.delta = delta
	}
}

// look is called when a construction has come to next states or nextBytes, after looking at so many
// arcs of the input. prove looks for a proof that it does not end in what it has made, with about
// so many steps.
func (g *twinsGuard[W]) look(op string, built run.Progress, bytes, work int64, prove func(budget int64) *TwinsError) error {
	if g.silent {
		return nil
	}
	if built.States >= g.next {
		g.next = 2 * built.States
	}
	if bytes >= g.nextBytes {
		g.nextBytes = 2 * bytes
	}
	if !g.looked {
		g.decide(g.ctx, op, 4*work+1<<14)
	}
	if g.found == nil {
		return nil
	}
	if !g.found.Exact {
		if b := prove(4*work + 1<<14); b != nil {
			g.found = b
		}
	}
	stop := g.found.Exact
	if !g.limitedStates {
		stop = stop || built.States >= g.suspicious()
		g.next = min(g.next, g.suspicious())
	}
	if !g.limitedBytes {
		stop = stop || bytes >= suspiciousBytes
		g.nextBytes = min(g.nextBytes, suspiciousBytes)
	}
	if !stop {
		return nil
	}
	g.found.States = built.States
	return g.found
}

// decide looks for a breach with so much effort, as long as ctx is not done.
func (g *twinsGuard[W]) decide(ctx context.Context, op string, budget int64) {
	if fst.PropertiesOf[W](g.f, fst.Acyclic)&fst.Acyclic != 0 {
		g.looked = true // always determinizable
		return
	}
	if err := cancelling(op, g.f, &run.Stopwatch{Op: op, Ctx: ctx}); err != nil {
		g.looked = !isCancelled(err) // factors that differ prove nothing
		return
	}
	found, err := g.search(ctx, op, budget)
	if !errors.Is(err, ErrUndecided) && !isCancelled(err) {
		g.found, g.looked = found, true
		if found != nil && g.allOutputs && found.outputsDrift() {
			found.Exact = true
		}
	}
}

// vanished is called when a residual, or a part of it, is 0̄, as it may be since a float64 cannot
// be smaller, by when there are so many states. Where it is proved that the construction does not
// end, it would end here, but only for want of smaller numbers.
func (g *twinsGuard[W]) vanished(op string, states int) error {
	if g == nil || g.vanishing {
		return nil
	}
	g.vanishing = true
	if b := g.evidence(op, 1<<20, false); b != nil && b.Exact {
		b.States = states
		return b
	}
	return nil
}

// evidence returns the breach for an error that some limit made, after one more
// look, of so much effort, if the question is open. Where the time is over, a look that
// goes through the whole of a large machine is too much.
func (g *twinsGuard[W]) evidence(op string, effort int64, timeOver bool) *TwinsError {
	const large = 1 << 17 // some hundredths of a second
	if g == nil {
		return nil
	}
	if (!g.looked || g.found == nil && g.whole != nil) && !(timeOver && g.f.NumStates()+fst.NumArcs(g.f) > large) {
		ctx := g.ctx
		if timeOver { // it is done, and this the last that is looked at
			ctx = nil
		}
		if !g.looked {
			g.decide(ctx, op, effort)
		}
		if g.found == nil && g.whole != nil { // it ends, but what makes it large is worth knowing
			if b, _ := g.whole(ctx, op, effort); b != nil {
				b.Exact = false
				g.found = b
			}
		}
	}
	return g.found
}
