package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// opTwins is the operation that errors of Twins name: with it a witness is all that is asked for.
const opTwins = "Twins"

// ErrUndecided reports a search that met its limit before it knew.
var ErrUndecided = errors.New("the search stopped at its limit before it knew")

// TwinsOptions adjusts Twins; nil is the same as the zero value.
type TwinsOptions struct {
	// Delta is how far apart the weights of two cycles may be and yet count as
	// equal; zero compares exactly, which rounding can fail: in binary,
	// 0.1+0.2+0.3 and 0.3+0.2+0.1 differ.
	Delta float64

	// Pairs bounds the pairs of states and of arcs looked at; zero is none.
	// Beyond it the error is ErrUndecided.
	Pairs int64

	// Limits bounds the pairs of states, as its States, and of arcs, as its Arcs.
	Limits
}

// Twins tests the twins property, path by path: whenever a string takes the start to p on one path and to
// q on another, and another string takes p back to itself on one and q on another, then these two
// cycles have the same weight. p and q may be one state, and the cycles those of two ways round. For a transducer the cycles must also leave the
// difference between the two outputs so far as it is. Before that, arcs from one state to another with the same labels
// are taken for one with the ⊕-sum of their weights, which changes nothing for determinization. It returns nil when
// the property holds, and the breach when it does not. States that reach no final state are
// left out. ε is an ordinary label. The breach has the fewest labels of all, those of
// the string that leads to p and q and those of the other together (Shortest says
// whether that is proved; lassos has how, and the order of those with as many).
//
// In the literature the weight of a string round p is the ⊕-sum of all its cycles there. Where no state has two
// cycles with one string, parallel arcs aside, that is the same; otherwise the property tested here is the stronger one, and a breach
// does not say that determinization goes on for ever, unless the error is Exact.
//
// For an unambiguous machine (see Unambiguous) over a commutative, divisible
// semiring this decides whether the machine can be determinized, and whether a
// functional transducer is equivalent to a sequential one. For an ambiguous one
// over an idempotent semiring such as the tropical one it is sufficient, not
// necessary; over semirings that are not idempotent, such as log, an ambiguous
// machine may have the property and still not be determinizable.
//
// The weights must commute, and those of the machine cancel (see
// semiring.Cancellative): where they do not, as 3 over MinMax, which takes 1 and 2 to 3,
// quotients are not unique and cycles of different weights prove nothing. Weights that
// claim neither, and a machine with a weight that does not cancel, are errors around
// ErrCapability.
//
// Cost: O(|Q|² + |E|²) for acceptors, on the pairs that are reached alone, where arcs from one state to another with one
// input label count once.
// A transducer is searched again for each difference of outputs with which its
// components of pairs are entered. Where there is a breach, finding the shortest takes
// O(P·(P + A)) at worst for P pairs and A of their arcs, for transducers as often as there
// are such differences, and no more than a billion steps, and no longer than the limits of bytes and time, of which what was found by
// then is no error; mostly little, as no
// way is followed that is longer than the best breach so far.
//
// After C. Allauzen and M. Mohri, "Efficient algorithms for testing the twins
// property", J. Automata, Languages and Combinatorics 8(2):117-144, 2003: the
// cycles of the squared machine all have quotient 1̄ when the quotients from
// one state to each other, in every component, do not depend on the path; and
// for the outputs M.-P. Béal, O. Carton, C. Prieur and J. Sakarovitch,
// "Squaring transducers", Theoretical Computer Science 292(1):45-63, 2003.
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
	s, err := newSquare(f, true, o.Pairs, &run.Stopwatch{Op: opTwins, Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	s.held = held
	s.meter = o.Limits.meter(opTwins)
	if fst.PropertiesOf[W](f, fst.Acceptor)&fst.Acceptor != 0 {
		return findTwins(opTwins, s, newWeightDelays[W](), near, shortestEffort)
	}
	return findTwins(opTwins, s, newOutputDelays[W](), func(a, b outputDelay[W]) bool {
		return a.left == b.left && a.right == b.right && near(a.weight, b.weight)
	}, shortestEffort)
}

// summed returns f, or where it has arcs from one state to another with the same labels, a copy in which the first of
// them has the ⊕-sum of all, which no subset construction can tell from f, and the bytes that this holds. The error is that of w.
func summed[W semiring.Weight[W]](f fst.Expanded[W], w *run.Stopwatch) (g fst.Expanded[W], held int64, err error) {
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

// parallel reports whether two arcs have the same labels and lead to the same state: in time quadratic in their number.
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

// differing is how many of the arcs of a component that alternatives returns are looked at: any two of them that come first
// have different outputs on one side and the same on the other, so that there are two delays, and
// others are not needed.
const differing = 2

// cancels reports whether w is known to cancel.
func cancels[W semiring.Weight[W]](w W) bool {
	c, ok := any(w).(semiring.Cancellative[W])
	return ok && c.Cancels()
}

// cancelling returns an error around ErrCapability, with the place, if f has a weight other than
// 0̄ that does not cancel, or that of a stopwatch. O(states + arcs).
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

// delays is an algebra for how far the right one of two paths with the same
// labels is behind the left one.
type delays[W, D any] interface {
	one() D
	step(d D, left, right *fst.Arc[W]) D
	factor(arcs []*fst.Arc[W], osyms *fst.SymbolTable) string // printed weight and output of a cycle
	tooLong(d D) bool
	unweighted(d D) D // the outputs of d alone
	// heap is the number of bytes that a delay holds outside of itself.
	heap(d D) int64
	// key tells apart the delays with which a component must be looked at
	// separately; differ is false when one is as good as another.
	key(pair int32, d D) (k string, differ bool)
}

// weightDelays is the quotient of the weights, for commutative semirings.
type weightDelays[W semiring.Divisible[W]] struct{}

func newWeightDelays[W semiring.Divisible[W]]() weightDelays[W] { return weightDelays[W]{} }

func (weightDelays[W]) one() W { return semiring.One[W]() }
func (weightDelays[W]) step(d W, left, right *fst.Arc[W]) W {
	return left.Weight.DivideLeft(d.Times(right.Weight))
}
func (weightDelays[W]) tooLong(W) bool              { return false }
func (weightDelays[W]) unweighted(W) W              { return semiring.One[W]() }
func (weightDelays[W]) heap(W) int64                { return 0 }
func (weightDelays[W]) key(int32, W) (string, bool) { return "", false }
func (weightDelays[W]) factor(arcs []*fst.Arc[W], _ *fst.SymbolTable) string {
	w := semiring.One[W]()
	for _, e := range arcs {
		w = w.Times(e.Weight)
	}
	return weightText(w)
}

// outputDelay is left⁻¹·right in the free group over the labels, reduced, with
// the quotient of the weights. Each label takes four bytes of the strings.
type outputDelay[W any] struct {
	left, right string
	weight      W
}

type outputDelays[W semiring.Divisible[W]] struct{}

func newOutputDelays[W semiring.Divisible[W]]() outputDelays[W] { return outputDelays[W]{} }

func (outputDelays[W]) one() outputDelay[W] { return outputDelay[W]{weight: semiring.One[W]()} }

func (outputDelays[W]) step(d outputDelay[W], left, right *fst.Arc[W]) outputDelay[W] {
	d.left, d.right = reduceDelay(appendLabel(d.left, left.OLabel), appendLabel(d.right, right.OLabel))
	d.weight = left.Weight.DivideLeft(d.weight.Times(right.Weight))
	return d
}

func appendLabel(s string, l fst.Label) string {
	if l == fst.Epsilon {
		return s
	}
	return s + string([]byte{byte(l), byte(l >> 8), byte(l >> 16), byte(l >> 24)})
}

// reduceDelay drops the common prefix of whole labels.
func reduceDelay(a, b string) (string, string) {
	n := 0
	for n+4 <= len(a) && n+4 <= len(b) && a[n:n+4] == b[n:n+4] {
		n += 4
	}
	return a[n:], b[n:]
}

// tooLong bounds what one search may hold: delays this long are looked at no
// further, and leave the question open.
func (outputDelays[W]) tooLong(d outputDelay[W]) bool { return len(d.left)+len(d.right) > 4<<12 }

func (outputDelays[W]) unweighted(d outputDelay[W]) outputDelay[W] {
	d.weight = semiring.One[W]()
	return d
}

func (outputDelays[W]) heap(d outputDelay[W]) int64 { return int64(len(d.left) + len(d.right)) }

func (outputDelays[W]) key(p int32, d outputDelay[W]) (string, bool) {
	n := len(d.left) // tells where the one ends, which no label does: each may be any four bytes
	return string([]byte{byte(p), byte(p >> 8), byte(p >> 16), byte(p >> 24), byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) + d.left + d.right, true
}

func (outputDelays[W]) factor(arcs []*fst.Arc[W], osyms *fst.SymbolTable) string {
	p := Path{osyms: osyms}
	w := semiring.One[W]()
	for _, e := range arcs {
		w = w.Times(e.Weight)
		p.OLabels = append(p.OLabels, e.OLabel)
	}
	return weightText(w) + " with output " + p.outputText()
}

// twinsEntry is a way into a component of the square: by step, out of the
// component entered by entry parent, to pair with the delay at.
type twinsEntry[D any] struct {
	pair   int32
	at     D
	step   pairStep
	parent int32
}

// findTwins looks for a cycle of the square round which the delay changes, and then for the
// shortest breach, for which it tries as many steps as effort says at most.
func findTwins[W semiring.Divisible[W], D any, A delays[W, D]](op string, s *square[W], alg A, near func(a, b D) bool, effort int64) (*TwinsError, error) {
	// A pair's delay, components, entries and place in the queue, as below. What its delays hold outside of
	// themselves is counted from when they come up until others take their place.
	entry := int64(unsafe.Sizeof(twinsEntry[D]{}))
	s.perPair = entry + 64
	if err := s.explore(); err != nil || len(s.pairs) == 0 {
		return nil, err
	}
	comp, n := s.components(nil)
	leads := s.leadToCycles(comp, n)
	if !leads[comp[0]] {
		return nil, nil
	}
	delay := make([]D, len(s.pairs))
	seen := make([]int32, len(s.pairs)) // the entry for which delay is set, biased by one
	entries := []twinsEntry[D]{{at: alg.one(), parent: -1}}
	into := make([][]int32, n) // entries of each component
	into[comp[0]] = []int32{0}
	keys := make([]map[string]bool, n) // what distinguishes them
	undecided := false
	var queue []int32

	// Components come in topological order, so all entries of one are known.
	for k := range n {
		keys[k] = nil
		for _, id := range into[k] {
			root := entries[id].pair
			queue = append(queue[:0], root)
			s.held += alg.heap(entries[id].at) - alg.heap(delay[root])
			delay[root], seen[root] = entries[id].at, id+1
			for head := 0; head < len(queue); head++ {
				if err := s.check(); err != nil {
					return nil, err
				}
				p := queue[head]
				for _, group := range s.out(p) {
					if !leads[comp[group.to]] {
						continue // delays there may be as many as there are paths
					}
					most := differing
					if comp[group.to] != comp[p] {
						if most = 8*len(s.pairs) + 1<<16 - len(entries); most < 1 {
							undecided = true
							continue
						}
					}
					list, more := s.alternatives(p, group, most)
					undecided = undecided || more && comp[group.to] != comp[p]
					for _, e := range list {
						l, r := s.arcs(p, e)
						d := alg.step(delay[p], l, r)
						t := e.to
						switch {
						case alg.tooLong(d):
							undecided = true
						case comp[t] != comp[p]:
							if into[comp[t]] != nil {
								key, differ := alg.key(t, d)
								if !differ || keys[comp[t]][key] {
									continue
								}
							}
							s.held += 2*entry + alg.heap(d)
							if key, differ := alg.key(t, d); differ {
								s.held += int64(len(key)) + 64
								if keys[comp[t]] == nil {
									keys[comp[t]] = map[string]bool{}
								}
								keys[comp[t]][key] = true
							}
							into[comp[t]] = append(into[comp[t]], int32(len(entries)))
							entries = append(entries, twinsEntry[D]{t, d, pairStep{p, e}, id})
						case seen[t] != id+1:
							s.held += alg.heap(d) - alg.heap(delay[t])
							delay[t], seen[t] = d, id+1
							queue = append(queue, t)
						case !near(delay[t], d):
							if b := breach(op, s, alg, near, comp, entries, id, pairStep{p, e}); b != nil {
								return shorten(s, alg, near, comp, n, b, effort)
							}
						}
					}
				}
			}
		}
	}
	if undecided {
		return nil, ErrUndecided
	}
	return nil, nil
}

// leadToCycles reports of each of n components of pairs, which are numbered along the arcs, whether a cycle is in it or behind it.
func (s *square[W]) leadToCycles(comp []int32, n int) []bool {
	first := make([]int32, n+1)
	for _, k := range comp {
		first[k+1]++
	}
	for k := range n {
		first[k+1] += first[k]
	}
	order := make([]int32, len(comp))
	for p, k := range comp {
		order[first[k]] = int32(p)
		first[k]++
	}
	leads := make([]bool, n)
	for _, p := range slices.Backward(order) {
		k := comp[p]
		for _, e := range s.out(p) {
			leads[k] = leads[k] || comp[e.to] == k || leads[comp[e.to]]
		}
	}
	return leads
}

// outputsDrift reports whether the difference between the two outputs is another after each turn. In the free group over the
// labels it is v⁻ⁿ·d·wⁿ after n turns with outputs v and w. If that is the same for two n, then vᵏ = (dwd⁻¹)ᵏ for some k > 0;
// roots are unique there, so v = dwd⁻¹, and it is the same for all n.
func (e *TwinsError) outputsDrift() bool {
	difference := func(n int) [2]string {
		var l, r string
		for _, x := range e.Left.OLabels[:n] {
			l = appendLabel(l, x)
		}
		for _, x := range e.Right.OLabels[:n] {
			r = appendLabel(r, x)
		}
		l, r = reduceDelay(l, r)
		return [2]string{l, r}
	}
	return difference(e.Cycle) != difference(len(e.Left.OLabels))
}

// breach makes the evidence: of the two cycles through the pair of an entry, one
// by the last step and one by the path that the search took to the same pair,
// at least one changes the delay. It returns nil when only rounding made the
// two ways differ.
func breach[W semiring.Divisible[W], D any, A delays[W, D]](op string, s *square[W], alg A, near func(a, b D) bool, comp []int32, entries []twinsEntry[D], id int32, last pairStep) *TwinsError {
	cycle := changingCycle(s, alg, near, comp, entries[id].pair, entries[id].at, last)
	if cycle == nil {
		return nil
	}
	// The way in: the delays inside the components on it did not depend on
	// the path, so any will do.
	var access []pairStep
	for e := id; e > 0; e = entries[e].parent {
		in := append(s.pathWithin(comp, entries[entries[e].parent].pair, entries[e].step.pair), entries[e].step)
		access = append(in, access...)
	}
	return evidence(op, s, alg, access, cycle)
}

// changingCycle returns the cycle through root, which is entered with the delay at, that changes it: that with the last step, or that with
// the path that the search took to the same pair.
func changingCycle[W semiring.Divisible[W], D any, A delays[W, D]](s *square[W], alg A, near func(a, b D) bool, comp []int32, root int32, at D, last pairStep) []pairStep {
	back := s.pathWithin(comp, last.arc.to, root)
	for _, cycle := range [][]pairStep{
		slices.Concat(s.pathWithin(comp, root, last.pair), []pairStep{last}, back),
		slices.Concat(s.pathWithin(comp, root, last.arc.to), back),
	} {
		d := at
		for _, st := range cycle {
			l, r := s.arcs(st.pair, st.arc)
			d = alg.step(d, l, r)
		}
		if !near(d, at) {
			return cycle
		}
	}
	return nil
}

// pathWithin returns a shortest path between two pairs of one component.
func (s *square[W]) pathWithin(comp []int32, from, to int32) []pairStep {
	return s.path(from, to, func(u int32) bool { return comp[u] == comp[from] })
}

// evidence is the error that says that the cycle after the access is a breach, Exact when no two
// paths lead to one state with the same labels.
func evidence[W semiring.Divisible[W], D any, A delays[W, D]](op string, s *square[W], alg A, access, cycle []pairStep) *TwinsError {
	var left, right []*fst.Arc[W]
	for _, st := range cycle {
		l, r := s.arcs(st.pair, st.arc)
		left, right = append(left, l), append(right, r)
	}
	b := &TwinsError{Op: op, Cycle: len(access), Exact: s.single}
	b.Left, b.Right = s.paths(slices.Concat(access, cycle))
	b.LeftFactor, b.RightFactor = alg.factor(left, b.Left.osyms), alg.factor(right, b.Right.osyms)
	if s.live == nil {
		live := coaccessible(s.f)
		b.Dead = !live[b.Left.States[b.Cycle]] || !live[b.Right.States[b.Cycle]]
	}
	return b
}

// twinsGuard looks, while a construction grows, whether it can end.
type twinsGuard[W semiring.Weight[W]] struct {
	next      int   // look when there are so many states,
	nextBytes int64 // or so many bytes in output strings
	// The caller set a limit on states, or on bytes: a suspicion does not stop.
	limitedStates, limitedBytes bool
	// Pruning to a number of states ends what does not end by itself: the guard stops nothing, and is evidence when a limit does.
	silent bool
	// Of pruning by weight, else nil: reports whether the best paths through the state, by the string that leads to the subset, are kept.
	pruned func(subset, q fst.StateID) bool
	whole  func(ctx context.Context, op string, budget int64) (*TwinsError, error) // and the search that takes no account of it
	// All outputs of an input are kept, so that a difference of outputs that changes with each turn is a proof.
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
// There are machines without the twins property that can be determinized, with a
// power of two of states: 2¹⁸ states were refused where there are 524,289. Those that cannot would go on until the memory is full.
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
func newTwinsGuard[W semiring.Divisible[W], D any, A delays[W, D]](f fst.Fst[W], lim Limits, shared bool, alg func() A) *twinsGuard[W] {
	g, ok := f.(fst.Expanded[W])
	var w W
	if _, commutes := any(w).(semiring.Commutative[W]); !ok || !commutes {
		return nil
	}
	guard := &twinsGuard[W]{next: 256 + 4*g.NumStates(), nextBytes: 1 << 20, f: g, ctx: lim.Ctx, limitedStates: lim.States > 0 || lim.Bytes > 0 || lim.timed(), limitedBytes: lim.Bytes > 0}
	guard.factor = func(cycle []*fst.Arc[W], osyms *fst.SymbolTable) string { return alg().factor(cycle, osyms) }
	guard.search = func(ctx context.Context, op string, budget int64) (*TwinsError, error) {
		a := alg()
		w := &run.Stopwatch{Op: op, Ctx: ctx}
		g, held, err := summed(g, w)
		if err != nil {
			return nil, err
		}
		s, err := newSquare(g, false, budget, w)
		if err != nil {
			return nil, err
		}
		s.held = held
		s.shared = shared
		s.meter = Limits{Bytes: lim.Bytes / 2, Ctx: ctx}.meter(op) // beside what the construction has
		unlike := unlikeRounding(g)
		sameOutputs := func(x, y D) bool {
			o, ok := any(x).(outputDelay[W])
			return !ok || o.left == any(y).(outputDelay[W]).left && o.right == any(y).(outputDelay[W]).right
		}
		if guard.allOutputs {
			if found, err := findTwins(op, s, a, sameOutputs, budget); found != nil || err != nil {
				return found, err
			}
		}
		return findTwins(op, s, a, func(x, y D) bool {
			if x, ok := any(x).(outputDelay[W]); ok {
				y := any(y).(outputDelay[W])
				return x.left == y.left && x.right == y.right && !unlike(x.weight, y.weight)
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

// look is called when a construction has come to next states or nextBytes, after
// looking at so many arcs of the input. prove looks for a proof that it does not end in what it has made, with
// about so many steps.
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

// vanished is called when a residual, or a part of it, is 0̄, as it may be since a float64 cannot be smaller, by when there are so many
// states. Where it is proved that the construction does not end, it would end here, but only for
// want of smaller numbers.
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
