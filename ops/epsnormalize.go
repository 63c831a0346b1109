package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// EpsNormalize returns a transducer with the relation of f. On each of its paths the ε of the given
// side come after the labels of that side: all ε come last. There are no arcs with ε on both sides
// but for those that spell out what is left of an output string.
//
// No cycle may have more labels on the other side than on this, for then there are ever more left
// to come. That is an UnboundedOutputError with the cycle, around ErrUnboundedDelay, or
// ErrNotClosed where there is none on this side. It is met before the work that would not end, if
// and only if it would not; epsnormalizeend.go has the proof.
//
// The outputs become part of the weights, ε-arcs are removed, and the outputs spelled out again;
// states and arcs are OpenFst's. Cost: that of RmEpsilon, and O(states + arcs) of the result, times
// the length of the strings. Each string is held by itself: n²/2 labels on a chain of n arcs with ε
// on the side and an output. Limits.Bytes counts them.
//
// After M. Mohri, "Generic epsilon-removal and input epsilon-normalization
// algorithms for weighted transducers", Int. J. Foundations of Computer Science
// 13(1):129-143, 2002.
func EpsNormalize[W semiring.Component[W]](f fst.Expanded[W], side Side, lim Limits) (*fst.Vector[W], error) {
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		out, err := epsNormalize[semiring.Log, semiring.Log64](f, side, lim)
		v, _ := any(out).(*fst.Vector[W])
		return v, err
	case fst.Expanded[sums.CarriedProduct]:
		out, err := epsNormalize[sums.CarriedProduct, sums.CarriedProduct64](f, side, lim)
		v, _ := any(out).(*fst.Vector[W])
		return v, err
	}
	return epsNormalize[W, W](f, side, lim)
}

// epsNormalize is EpsNormalize with weights that are D until they are in their place.
func epsNormalize[W semiring.Component[W], D semiring.Component[D]](f fst.Expanded[W], side Side, lim Limits) (*fst.Vector[W], error) {
	in := f
	// Before it is made: the machine with sets of strings, which is what takes most.
	room := &run.Stopwatch{Op: "EpsNormalize", Ctx: lim.Ctx, Most: lim.Bytes}
	if err := room.Hold(run.SizeOf[semiring.GallicUnion[D]](f.NumStates(),
		int64(fst.NumArcs(f))).Bytes); err != nil {
		return nil, err
	}
	if side == Output {
		c := copyOf(f)
		Invert(c)
		in = c
	}
	if err := endlessRemoval(in, side, lim); err != nil {
		return nil, err
	}
	// Sets of strings may be exponential in the machine. What earlier steps made counts beside
	// that of a later one, so that Limits.Bytes bounds all that is held at once.
	held := machineBytes(in, lim)
	wide := sums.Widening[W, D]()
	g, err := toGallic(in, func(l fst.Label, w W) semiring.GallicUnion[D] { return unionPair(l, wide(w)) }, room)
	if err != nil {
		return nil, err
	}
	begun := held + machineBytes[semiring.GallicUnion[D]](g, lim)
	if err := RmEpsilon(g, &RmEpsilonOptions{Limits: lim.workspace().beside(begun)}); err != nil {
		err = wholeOf(err, "EpsNormalize", lim, begun)
		var cycle *CycleError
		if errors.As(err, &cycle) { // g has the states and arcs of f, but weights that nobody knows
			cycle.Along = alongCycle(f, cycle.Cycle)
		}
		return nil, err
	}
	if err := endlessFactoring(g, in, side, lim); err != nil {
		return nil, err
	}
	out, err := spellOut("EpsNormalize", g, factorGallicUnion[D], roundedSplit[W](splitUnion[D]), lim, held+machineBytes[semiring.GallicUnion[D]](g, lim))
	if err != nil {
		return nil, err
	}
	out.CopySymbols(in)
	if side == Output {
		Invert(out)
	}
	return out, nil
}

func unionPair[W semiring.Component[W]](l fst.Label, w W) semiring.GallicUnion[W] {
	g := semiring.GallicRestricted[W]{Weight: w}
	if l != fst.Epsilon {
		g.String = semiring.NewStringRestricted(int32(l))
	}
	return semiring.NewGallicUnion(g)
}

func splitUnion[W semiring.Component[W]](g semiring.GallicUnion[W]) (fst.Label, W, bool) {
	switch {
	case g.Len() == 0:
		return fst.Epsilon, semiring.Zero[W](), true
	case g.Len() > 1 || !g.Member() || g.At(0).String.Len() > 1:
		return 0, semiring.Zero[W](), false
	}
	e := g.At(0)
	if e.String.Len() == 0 {
		return fst.Epsilon, e.Weight, true
	}
	return fst.Label(e.String.At(0)), e.Weight, true
}

// factorGallicUnion splits the first label off each string of a set, with the
// whole weight, unless there is one string of at most one label.
func factorGallicUnion[W semiring.Component[W]](g semiring.GallicUnion[W]) []Factors[semiring.GallicUnion[W]] {
	if g.Len() == 0 || g.Len() == 1 && g.At(0).String.Len() <= 1 {
		return nil
	}
	one := semiring.One[W]()
	var out []Factors[semiring.GallicUnion[W]]
	for i := range g.Len() {
		e := g.At(i)
		var labels []int32
		for k := range e.String.Len() {
			labels = append(labels, e.String.At(k))
		}
		n := min(1, len(labels))
		out = append(out, Factors[semiring.GallicUnion[W]]{
			First: semiring.NewGallicUnion(semiring.GallicRestricted[W]{String: semiring.NewStringRestricted(labels[:n]...), Weight: e.Weight}),
			Rest:  semiring.NewGallicUnion(semiring.GallicRestricted[W]{String: semiring.NewStringRestricted(labels[n:]...), Weight: one}),
		})
	}
	return out
}

// ErrUnboundedDelay reports a cycle with more labels on one side than on the other, which would
// have ever more of them to come. It is the reason of an UnboundedOutputError and of a DelayError.
var ErrUnboundedDelay = errors.New("a cycle puts out more labels than it reads")

// UnboundedOutputError is the evidence that EpsNormalize does not end: a path from the start to a
// cycle, and once round it. On the way round there are more labels on the one side than
// on the side that is normalized. errors.Is finds ErrUnboundedDelay, or
// ErrNotClosed where the cycle has no labels on the normalized side.
type UnboundedOutputError struct {
	Op              string
	Side            Side // that is normalized
	Path            Path
	Cycle           int // arcs before the cycle begins
	Inputs, Outputs int // labels on the cycle, on the normalized side and on the other
	Err             error
}

func (e *UnboundedOutputError) Error() string {
	other := Output
	if e.Side == Output {
		other = Input
	}
	return fmt.Sprintf("ops: %s: on the %s: %v: the cycle from arc %d of [%s] on, at state %d, has %d labels "+
		"on the %s and %d on the %s, so that labels left to be spelled out become more each time round, and no "+
		"finite number of states will do",
		e.Op, e.Side, e.Err, e.Cycle, e.Path.String(), e.Path.States[e.Cycle], e.Outputs, other, e.Inputs, e.Side)
}

func (e *UnboundedOutputError) Unwrap() error { return e.Err }

// When EpsNormalize ends. Let f have its outputs on the other side than the one that is normalized.
//
// (1) ε-removal fails to end just if a state that it closes reaches a cycle of arcs with input ε,
// of weights other than 0̄, and with an output. Then the sums have the strings u·vⁿ·w for all n,
// each of another length, and never settle. (Weights that become 0̄ by underflow, or cancel, as
// negative numbers do, could end it all the same; it does not wait for that.) Without such a cycle
// the strings on the ways to a state are finitely many. Whether their weights sum is for
// ErrNotClosed to tell.
//
// (2) Let g be the machine without ε, whose arcs carry sets of strings. The factorization makes
// states (q, s), with the string s still to be spelled out. An arc with the string t leads from (q,
// s) to a state that owes st without its first label, if it has one, whatever the weights. So that
// state owes max(0, |s|+|t|-1) labels. Call |t|-1 the gain of t, and the sum of gains along a cycle
// the gain of the cycle.
//
//   - If a cycle has a gain above 0, then n turns owe at least n labels, whatever is owed where it
//     begins. All of g is reached, so there are infinitely many states.
//   - If no cycle has, a path owes the greatest gain of a part that ends it, or 0. That is at most
//     the gain of a path without cycles, since removing a cycle loses no gain. So the strings owed
//     are of bounded length, over the labels of f, and finitely many.
//
// So the factorization ends just if no cycle of g has a gain above 0. Only the longest string of
// each arc matters, and nothing comes of the empty set. This is decided before it begins.
//
// (3) A cycle of g with gain comes from closed walks of f with more outputs than inputs. They use
// arcs that are not 0̄, on paths from the start to a final state. Some simple cycle there has a
// gain too, and the error shows it.

// endlessRemoval decides (1), for f as normalized on the input, which is inverted for the Output.
func endlessRemoval[W semiring.Weight[W]](f fst.Expanded[W], side Side, lim Limits) error {
	if f.Start() == fst.NoState || knownProperties(f)&(fst.Acyclic|fst.NoIEpsilons) != 0 {
		return nil
	}
	along := func(e *fst.Arc[W]) bool { return e.ILabel == fst.Epsilon && !semiring.IsZero(e.Weight) }
	c, _, err := graph.FindComponentsWithin(f, along, 0, &run.Stopwatch{Op: "EpsNormalize", Ctx: lim.Ctx})
	if err != nil {
		return err
	}
	endless := func(q fst.StateID, e *fst.Arc[W]) bool {
		return along(e) && e.OLabel != fst.Epsilon && c.Of[q] == c.Of[e.NextState]
	}
	found := false
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i := range arcs {
			found = found || endless(q, &arcs[i])
		}
	}
	if !found {
		return nil
	}
	// From all states that are closed at once. What no path uses must not decide whether there
	// is a result.
	dead := graph.Useless(vectorOf(f), 1)
	isDead := func(q fst.StateID) bool { return dead != nil && dead[q] }
	seen := make([]bool, f.NumStates())
	var todo []fst.StateID
	visit := func(q fst.StateID) {
		if !seen[q] && !isDead(q) {
			seen[q] = true
			todo = append(todo, q)
		}
	}
	visit(f.Start())
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i := range arcs {
			if arcs[i].ILabel != fst.Epsilon {
				visit(arcs[i].NextState)
			}
		}
	}
	for len(todo) > 0 {
		q := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		arcs := f.Arcs(q)
		for i := range arcs {
			if e := &arcs[i]; endless(q, e) && !isDead(e.NextState) {
				return newUnboundedOutput(f, side, dead, along, ErrNotClosed, lim)
			} else if along(e) {
				visit(e.NextState)
			}
		}
	}
	return nil
}

// endlessFactoring decides (2) for g, made of f, and finds (3).
func endlessFactoring[W semiring.Weight[W], D semiring.Component[D]](g *fst.Vector[semiring.GallicUnion[D]],
	f fst.Expanded[W], side Side, lim Limits) error {
	if knownProperties(g)&fst.Acyclic != 0 {
		return nil
	}
	cycle, err := gainingCycle[semiring.GallicUnion[D]](g, func(_ fst.StateID,
		e *fst.Arc[semiring.GallicUnion[D]]) (int, bool) {
		if n := e.Weight.Len(); n > 0 && e.Weight.Member() {
			return e.Weight.At(n-1).String.Len() - 1, true // the last is the longest
		}
		return 0, false
	}, lim)
	if cycle == nil || err != nil {
		return err
	}
	return newUnboundedOutput(f, side, graph.Useless(vectorOf(f), 1),
		func(e *fst.Arc[W]) bool { return !semiring.IsZero(e.Weight) }, ErrUnboundedDelay, lim)
}

// newUnboundedOutput finds a cycle of f with more outputs than inputs, over arcs that keep accepts
// and states not among dead. It makes the error of it.
func newUnboundedOutput[W semiring.Weight[W]](f fst.Expanded[W], side Side, dead []bool,
	keep func(*fst.Arc[W]) bool, reason error, lim Limits) error {
	isDead := func(q fst.StateID) bool { return dead != nil && dead[q] }
	cycle, err := gainingCycle(f, func(q fst.StateID, e *fst.Arc[W]) (int, bool) {
		gain := 0
		if e.OLabel != fst.Epsilon {
			gain++
		}
		if e.ILabel != fst.Epsilon {
			gain--
		}
		return gain, keep(e) && !isDead(q) && !isDead(e.NextState)
	}, lim)
	if err != nil {
		return err
	}
	if cycle == nil { // by (3), never
		return fmt.Errorf("ops: EpsNormalize: on the %s: %w", side, reason)
	}
	out := &UnboundedOutputError{Op: "EpsNormalize", Side: side, Err: reason}
	way := wayTo(f, cycle[0].State, isDead)
	out.Cycle = len(way)
	weight := semiring.One[W]()
	for i, r := range append(way, cycle...) {
		e := f.Arcs(r.State)[r.Arc]
		if i >= out.Cycle && e.ILabel != fst.Epsilon {
			out.Inputs++
		}
		if i >= out.Cycle && e.OLabel != fst.Epsilon {
			out.Outputs++
		}
		if side == Output {
			e.ILabel, e.OLabel = e.OLabel, e.ILabel
		}
		out.Path.States = append(out.Path.States, r.State)
		out.Path.ILabels, out.Path.OLabels = append(out.Path.ILabels, e.ILabel), append(out.Path.OLabels, e.OLabel)
		weight = weight.Times(e.Weight)
	}
	out.Path.States = append(out.Path.States, cycle[0].State)
	out.Path.Weight = weightText(weight)
	return out
}

// wayTo returns the arcs of a shortest path from the start of f to q, round states that are dead.
func wayTo[W semiring.Weight[W]](f fst.Expanded[W], q fst.StateID, dead func(fst.StateID) bool) []ArcRef {
	from := make(map[fst.StateID]ArcRef)
	todo := []fst.StateID{f.Start()}
	for head := 0; head < len(todo) && todo[head] != q; head++ {
		p := todo[head]
		for i, e := range f.Arcs(p) {
			if _, seen := from[e.NextState]; !seen && e.NextState != f.Start() && !dead(e.NextState) {
				from[e.NextState] = ArcRef{p, i}
				todo = append(todo, e.NextState)
			}
		}
	}
	var way []ArcRef
	for q != f.Start() {
		r, ok := from[q]
		if !ok {
			break // not for states that are not dead
		}
		way = append(way, r)
		q = r.State
	}
	slices.Reverse(way)
	return way
}

// gainingCycle returns a cycle with a sum of gains above 0, nil if there is none. gain is that of
// an arc, and whether it counts at all.
//
// Longest ways are relaxed inside strongly connected components by the rounds of Bellman and Ford.
// Consider the arcs by which states got their last values. A cycle of them has a gain above 0, and
// if any cycle has such a gain, one of these appears (R. Tarjan, "Shortest paths", AT&T Bell
// Laboratories, 1981). The search for one runs each time as many arcs have been relaxed as there
// are states.
//
// O(states·arcs) time at worst, O(arcs) where no component has an arc that gains.
func gainingCycle[W semiring.Weight[W]](f fst.Expanded[W], gain func(fst.StateID, *fst.Arc[W]) (int, bool),
	lim Limits) ([]ArcRef, error) {
	n := f.NumStates()
	counts := func(q fst.StateID, e *fst.Arc[W]) bool { _, ok := gain(q, e); return ok }
	gains := false
	for q := fst.StateID(0); int(q) < n && !gains; q++ {
		arcs := f.Arcs(q)
		for i := range arcs {
			g, ok := gain(q, &arcs[i])
			gains = gains || ok && g > 0
		}
	}
	if !gains {
		return nil, nil
	}
	c, _ := graph.FindComponents[W](f, nil, 0)
	gaining := make([]bool, c.N)
	for q := range fst.StateID(n) {
		arcs := f.Arcs(q)
		for i := range arcs {
			if g, ok := gain(q, &arcs[i]); ok && g > 0 && c.Of[q] == c.Of[arcs[i].NextState] {
				gaining[c.Of[q]] = true
			}
		}
	}
	var round, next []fst.StateID
	for q := range fst.StateID(n) {
		if gaining[c.Of[q]] {
			round = append(round, q)
		}
	}
	if len(round) == 0 {
		return nil, nil
	}
	m := Limits{Ctx: lim.Ctx}.meter("EpsNormalize")
	value := make([]int64, n)
	by := make([]ArcRef, n) // the arc that gave the value
	for q := range by {
		by[q].State = fst.NoState
	}
	waiting := make([]bool, n)
	work := 0
	for len(round) > 0 {
		next = next[:0]
		for _, q := range round {
			waiting[q] = false
			if err := m.Check(run.Progress{}); err != nil {
				return nil, err
			}
			arcs := f.Arcs(q)
			work += len(arcs) + 1
			for i := range arcs {
				e := &arcs[i]
				t := e.NextState
				if c.Of[q] != c.Of[t] || !counts(q, e) {
					continue
				}
				if g, _ := gain(q, e); value[q]+int64(g) > value[t] {
					value[t] = value[q] + int64(g)
					by[t] = ArcRef{q, i}
					if !waiting[t] {
						waiting[t] = true
						next = append(next, t)
					}
				}
			}
		}
		if work >= n || len(next) == 0 {
			work = 0
			if cycle := cycleOf(by); cycle != nil {
				return cycle, nil
			}
		}
		round, next = next, round
	}
	return nil, nil
}

// cycleOf returns a cycle among the arcs by[q] into q, each q with one or, where its State is
// NoState, none. It is nil if there is none. O(states).
func cycleOf(by []ArcRef) []ArcRef {
	seen := make([]int32, len(by)) // the search that came to a state
	for root := range fst.StateID(len(by)) {
		q := root
		for q != fst.NoState && seen[q] == 0 {
			seen[q] = int32(root) + 1
			q = by[q].State
		}
		if q == fst.NoState || seen[q] != int32(root)+1 {
			continue
		}
		var cycle []ArcRef
		for t := q; ; {
			cycle = append(cycle, by[t])
			if t = by[t].State; t == q {
				break
			}
		}
		slices.Reverse(cycle)
		return cycle
	}
	return nil
}
