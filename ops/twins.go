package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// opTwins is the operation that errors of Twins name: with it a witness is all that is asked for.
const opTwins = "Twins"

// ErrUndecided reports a search that met its limit before it knew.
var ErrUndecided = square.ErrUndecided

// TwinsOptions adjusts Twins; nil is the same as the zero value.
type TwinsOptions struct {
	// Delta is how far apart the weights of two cycles may be and yet count as equal. Zero compares
	// exactly, which rounding can fail: in binary, 0.1+0.2+0.3 and 0.3+0.2+0.1 differ.
	Delta float64

	// Pairs bounds the pairs of states and of arcs looked at; zero is none.
	// Beyond it the error is ErrUndecided.
	Pairs int64

	// Limits bounds the pairs of states, as its States, and of arcs, as its Arcs.
	Limits
}

// Twins tests the twins property. It returns nil when the property holds, and a breach when it does
// not.
//
// Two states p and q are twins when any two cycles at p and at q that read one string have the same
// weight. The property asks this of all p and q that some string reaches from the start; p may be
// q. For a transducer the two cycles must also keep the difference between the two outputs.
//
// Parallel arcs with the same labels are first replaced by one arc with the ⊕-sum of their weights,
// which does not affect determinization. States that reach no final state are ignored. ε is an
// ordinary label. The breach has the fewest labels, counting the string to p and q and the string
// of the cycles. Shortest says whether that is proved.
//
// In the literature the weight of a string round p is the ⊕-sum of all its cycles there. The two
// definitions agree where no state has two cycles with one string, parallel arcs aside. Elsewhere
// the property tested here is stronger, and a breach proves that determinization does not end only
// when it is Exact.
//
// For an unambiguous machine (see Unambiguous) over a commutative, divisible semiring, the property
// holds exactly when the machine can be determinized. For a functional transducer it decides
// whether there is an equivalent sequential one. For an ambiguous machine over an idempotent
// semiring, such as the tropical one, it is sufficient but not necessary. Over other semirings,
// such as log, an ambiguous machine may have the property and still not be determinizable.
//
// The weights must commute, and the weights of the machine must cancel (see semiring.Cancellative).
// Otherwise quotients are not unique, and cycles of different weights prove nothing: over MinMax, 3
// takes both 1 and 2 to 3. Weights that lack these properties are errors around ErrCapability.
//
// Cost: O(|Q|² + |E|²) for acceptors, on the reached pairs; parallel arcs with one input label
// count once. A transducer is searched again for each difference of outputs with which a component
// of pairs is entered. Finding the shortest breach takes O(P·(P + A)) at worst, for P pairs and A
// of their arcs, and mostly little. No path longer than the best breach so far is followed. It
// stops after a billion steps, or at a limit on bytes or time, and returns the breach that it has.
//
// After C. Allauzen and M. Mohri, "Efficient algorithms for testing the twins property", J.
// Automata, Languages and Combinatorics 8(2):117-144, 2003. All cycles of the squared machine have
// quotient 1̄ when, inside each component, the quotient between two states does not depend on the
// path. For the outputs, after M.-P. Béal, O. Carton, C. Prieur and J. Sakarovitch, "Squaring
// transducers", Theoretical Computer Science 292(1):45-63, 2003.
func Twins[W semiring.Divisible[W]](f fst.Expanded[W], opts *TwinsOptions) (*TwinsError, error) {
	var o TwinsOptions
	if opts != nil {
		o = *opts
	}
	near, err := nearness[W](opTwins, o.Delta)
	if err != nil {
		return nil, err
	}
	if _, ok := any(semiring.Zero[W]()).(semiring.Commutative[W]); !ok {
		return nil, capabilityError[W](opTwins, "commutative")
	}
	w := &run.Stopwatch{Op: opTwins, Ctx: o.Limits.Ctx}
	if err := cancelling(opTwins, f, w); err != nil {
		return nil, err
	}
	f, held, err := summed(f, w)
	if err != nil {
		return nil, err
	}
	s, err := square.New(f, true, o.Pairs, &run.Stopwatch{Op: opTwins, Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	s.Held = held
	s.Meter = o.Limits.meter(opTwins)
	if fst.PropertiesOf[W](f, fst.Acceptor)&fst.Acceptor != 0 {
		return searchTwins(opTwins, s, square.NewWeightDelays[W](), near, square.ShortestEffort)
	}
	return searchTwins(opTwins, s, square.NewOutputDelays[W](), func(a, b square.OutputDelay[W]) bool {
		return a.Left == b.Left && a.Right == b.Right && near(a.Weight, b.Weight)
	}, square.ShortestEffort)
}

// summed merges arcs of f between the same two states with the same labels. The first of them gets
// the ⊕-sum of all, in a copy; without such arcs it returns f. No subset construction can tell the
// two apart. It also returns the bytes that the copy holds. The error is that of w.
func summed[W semiring.Weight[W]](f fst.Expanded[W],
	w *run.Stopwatch) (g fst.Expanded[W], held int64, err error) {
	const few, small = 8, 64
	type ends struct {
		in, out fst.Label
		to      fst.StateID
	}
	var out *fst.Vector[W]
	var kept map[ends]int
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, 0, err
		}
		if len(arcs) < 2 || len(arcs) <= few && !parallel(arcs) {
			continue
		}
		if len(kept) > small || kept == nil {
			kept = make(map[ends]int, min(len(arcs), small))
		}
		clear(kept)
		for i := range arcs {
			kept[ends{arcs[i].ILabel, arcs[i].OLabel, arcs[i].NextState}] = 0
		}
		if len(kept) == len(arcs) {
			continue
		}
		if out == nil {
			out = copyOf(f)
			held = run.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f))).Bytes
		}
		clear(kept)
		sums := out.MutableArcs(q)
		n := 0
		for i := range sums {
			e := &sums[i]
			k := ends{e.ILabel, e.OLabel, e.NextState}
			if at, ok := kept[k]; ok {
				sums[at].Weight = sums[at].Weight.Plus(e.Weight)
				continue
			}
			kept[k] = n
			sums[n] = *e
			n++
		}
		out.TruncateArcs(q, n)
	}
	if out == nil {
		return f, 0, nil
	}
	return out, held, nil
}

// parallel reports whether two arcs have the same labels and lead to the same state: in time
// quadratic in their number.
func parallel[W any](arcs []fst.Arc[W]) bool {
	for i := range arcs {
		for k := range i {
			if a, b := &arcs[i], &arcs[k]; a.NextState == b.NextState && a.ILabel == b.ILabel && a.OLabel == b.OLabel {
				return true
			}
		}
	}
	return false
}

// cancels reports whether w is known to cancel.
func cancels[W semiring.Weight[W]](w W) bool {
	c, ok := any(w).(semiring.Cancellative[W])
	return ok && c.Cancels()
}

// cancelling returns an error around ErrCapability, with the place, if f has a weight other than 0̄
// that does not cancel. It can also return the error of the stopwatch. O(states + arcs).
func cancelling[W semiring.Weight[W]](op string, f fst.Expanded[W], w *run.Stopwatch) error {
	if _, ok := any(semiring.Zero[W]()).(semiring.Cancellative[W]); !ok {
		return capabilityError[W](op, "cancellation, a⊗c = b⊗c only for a = b, which semiring.Cancellative tells of by its method Cancels() bool")
	}
	refuse := func(q fst.StateID, what string, w W) error {
		return &StateError{Op: op, State: q, Err: fmt.Errorf("%w: %s %s of %s does not cancel: products with it do not tell what it was multiplied with", ErrCapability, what, weightText(w), weightName(w))}
	}
	for q := range fst.StateID(f.NumStates()) {
		if err := w.Spend(1 + len(f.Arcs(q))); err != nil {
			return err
		}
		for i, e := range f.Arcs(q) {
			if !any(e.Weight).(semiring.Cancellative[W]).Cancels() && !semiring.IsZero(e.Weight) {
				return refuse(q, fmt.Sprintf("arc %d: the weight", i), e.Weight)
			}
		}
		if w := f.Final(q); !any(w).(semiring.Cancellative[W]).Cancels() && !semiring.IsZero(w) {
			return refuse(q, "the final weight", w)
		}
	}
	return nil
}

// nearness returns the test whether two weights are at most delta apart.
func nearness[W semiring.Weight[W]](op string, delta float64) (func(a, b W) bool, error) {
	var w W
	if delta == 0 {
		return func(a, b W) bool { return a.Equal(b) }, nil
	}
	if _, ok := any(w).(semiring.Approx[W]); !ok {
		return nil, capabilityError[W](op, "closeness")
	}
	return func(a, b W) bool { return any(a).(semiring.Approx[W]).Near(b, delta) }, nil
}

// outputsDrift reports whether the difference between the two outputs is another after each turn.
// In the free group over the labels it is v⁻ⁿ·d·wⁿ after n turns with outputs v and w. If that is
// the same for two n, then vᵏ = (dwd⁻¹)ᵏ for some k > 0. Roots are unique there, so v = dwd⁻¹, and
// it is the same for all n.
func (e *TwinsError) outputsDrift() bool {
	difference := func(n int) [2]string {
		var l, r string
		for _, x := range e.Left.OLabels[:n] {
			l = square.AppendLabel(l, x)
		}
		for _, x := range e.Right.OLabels[:n] {
			r = square.AppendLabel(r, x)
		}
		l, r = square.ReduceDelay(l, r)
		return [2]string{l, r}
	}
	return difference(e.Cycle) != difference(len(e.Left.OLabels))
}

// searchTwins is findTwins with the breach as an error of op.
func searchTwins[W semiring.Divisible[W], D any, A square.Delays[W, D]](op string, s *square.Square[W],
	alg A, near func(a, b D) bool, effort int64) (*TwinsError, error) {
	b, err := square.Twins(s, alg, near, effort)
	if b == nil || err != nil {
		return nil, err
	}
	return twinsError(op, s, b, withOutputs[W, D]()), nil
}

// withOutputs reports whether delays D of machines over W hold outputs.
func withOutputs[W, D any]() bool {
	var d D
	_, outputs := any(d).(square.OutputDelay[W])
	return outputs
}

// twinsError is the error of a breach in the square s. It is Exact when no two paths lead to one
// state with the same labels. outputs tells whether the outputs of the cycles count.
func twinsError[W semiring.Weight[W]](op string, s *square.Square[W], found *square.Breach,
	outputs bool) *TwinsError {
	var left, right []*fst.Arc[W]
	for _, st := range found.Cycle {
		l, r := s.Arcs(st.Pair, st.Arc)
		left, right = append(left, l), append(right, r)
	}
	b := &TwinsError{Op: op, Cycle: len(found.Access), Exact: s.Single, Shortest: found.Shortest}
	b.Left, b.Right = pathsOf(s, slices.Concat(found.Access, found.Cycle))
	b.LeftFactor, b.RightFactor = factorText(left, b.Left.osyms, outputs),
		factorText(right, b.Right.osyms, outputs)
	if s.Live == nil {
		live := square.Coaccessible(s.F)
		b.Dead = !live[b.Left.States[b.Cycle]] || !live[b.Right.States[b.Cycle]]
	}
	return b
}

// factorText prints the weight of a cycle, and with outputs what it puts out.
func factorText[W semiring.Weight[W]](arcs []*fst.Arc[W], osyms *fst.SymbolTable, outputs bool) string {
	p := Path{osyms: osyms}
	w := semiring.One[W]()
	for _, e := range arcs {
		w = w.Times(e.Weight)
		p.OLabels = append(p.OLabels, e.OLabel)
	}
	if !outputs {
		return weightText(w)
	}
	return weightText(w) + " with output " + p.outputText()
}

func capabilityError[W any](op, lacks string) error {
	var w W
	return fmt.Errorf("ops: %s: %w: %s lacks %s", op, ErrCapability, weightName(w), lacks)
}

// weightName is what files call machines over W, or its Go type where they cannot have them.
func weightName[W any](w W) string {
	if c, ok := any(w).(interface{ ArcType() string }); ok {
		return c.ArcType()
	}
	return fmt.Sprintf("%T", w)
}

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

// suspicious is the number of states at which a construction stops that may not end, though that is
// not proved. A limit set by the caller replaces it.
//
// Some machines without the twins property can be determinized, with a power of two of states: a
// bound of 2¹⁸ states refused one that needs 524,289. Those that cannot would go on until the
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
func newTwinsGuard[W semiring.Divisible[W], D any, A square.Delays[W, D]](f fst.Fst[W], lim Limits,
	shared bool, alg func() A) *twinsGuard[W] {
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
			return !ok || o.Left == any(y).(square.OutputDelay[W]).Left &&
				o.Right == any(y).(square.OutputDelay[W]).Right
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
func (g *twinsGuard[W]) look(op string, built run.Progress, bytes, work int64,
	prove func(budget int64) *TwinsError) error {
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

// vanished is called when a residual, or a part of it, is 0̄ because a float64 cannot be smaller.
// states is the number of states so far. If it is proved that the construction does not end, only
// the lack of smaller numbers would end it here.
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
