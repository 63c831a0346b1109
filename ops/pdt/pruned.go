package pdt

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ExpandPruned returns the part of the expansion of the PDT f whose paths are no worse than
// threshold ⊗ the weight of the best path. States and arcs on no such path are left out. A
// threshold of 0̄ prunes nothing; one that is no member, such as NaN, is an error around
// ops.ErrNotMember.
//
// No cycle may improve a path; the error is that of ShortestPath. The stack may be unbounded if the
// part within the threshold is finite. Where the stack grows at no cost to a path, the error is a
// StateError around ErrUnbounded. It names a state to which a parenthesis leads again on top of
// itself. This is known before the stack grows, with one exception: if arcs are better than 1̄ and
// weights cancel only up to rounding, the limits may be what ends it. A threshold of 0̄ needs a
// bounded stack, as Expand does.
//
// Configurations are visited by the height of their stack and, on one stack, best first. The
// distance from each to the end comes from shortest paths of the reverse. Cost: those shortest
// paths, and O(log states) for each arc of the result. Besides, each configuration is compared with
// each state that closes its stack, and each opening parenthesis with what its closing ones lead
// to.
//
// Allauzen and Riley 2012, section 5.2; Allauzen et al. 2014, section 4.4.
func ExpandPruned[W interface {
	ops.PathWeight[W]
	semiring.Reversible[W, W]
}](f fst.Expanded[W], pairs []fst.LabelPair, threshold W, opts *ExpandOptions) (*fst.Vector[W], error) {
	const op = "pdt.ExpandPruned"
	var o ExpandOptions
	if opts != nil {
		o = *opts
	}
	if !threshold.Member() {
		return nil, fmt.Errorf("ops: %s: threshold %v: %w", op, threshold, ops.ErrNotMember)
	}
	if semiring.IsZero(threshold) {
		return Expand(f, pairs, opts)
	}
	out := fst.NewVector[W](0)
	out.CopySymbols(f)
	if f.Start() == fst.NoState {
		return out, nil
	}
	reversed, err := Reverse[W, W](f, pairs, ops.Limits{Ctx: o.Ctx, Bytes: o.Bytes})
	if err != nil {
		return nil, run.Errors.Renamed(err, op)
	}
	s, err := newSearch(reversed, pairs, ops.QueueFIFO, op, o.Limits)
	if err != nil {
		return nil, err
	}
	s.keep = true
	s.rank = componentsOf(reversed) // where there are no cycles, each search takes a state once
	var unbounded error
	if err := s.run(); errors.Is(err, ErrUnbounded) {
		// The stack of f may be bounded, where no path from the start comes to what is in
		// the way.
		if unbounded = run.Errors.Renamed(Bounded(f, pairs, o.Limits), op); unbounded == nil {
			return expandThenPrune(f, pairs, threshold, &o, op)
		} else if !errors.Is(unbounded, ErrUnbounded) {
			return nil, unbounded
		}
		if s, err = searchNear(reversed, pairs, threshold, op, o.Limits); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	p := newPruner(f, pairs, s, out, &o, op)
	if unbounded != nil {
		best := p.between(f.Start(), reachedEnd)
		if best.Equal(p.zero) {
			return out, nil
		}
		if best.Times(threshold).Equal(p.zero) { // beyond all weights
			return nil, unbounded
		}
		p.endless, p.sources = newEndless(p), map[int32][]fst.StateID{}
	}
	if err := p.run(threshold); err != nil {
		return nil, err
	}
	if !o.KeepDead {
		ops.Connect(out)
	}
	return out, nil
}

// searchNear finds the distances of the reverse where its stack is unbounded. It finds at least
// those of all paths that are no worse than the best one ⊗ threshold.
func searchNear[W ops.PathWeight[W]](reversed fst.Expanded[W], pairs []fst.LabelPair, threshold W, op string, lim ops.Limits) (*search[W], error) {
	r := newRecursion(reversed, newParens(pairs), op, lim)
	r.keep = true
	if !threshold.Less(r.one) { // else not even the best path is within it, which is asked for all the same
		r.within = threshold
	}
	// A little more, since the weights that are compared are summed up in other orders than
	// that of the path.
	r.far = func(w W) bool { return w.Equal(r.zero) || r.bound.Less(w) && !w.Near(r.bound, 1.0/1024) }
	if err := r.run(); err != nil {
		return nil, err
	}
	return r.distances(), nil
}

// expandThenPrune is ExpandPruned where the stack is bounded, but not that of the reverse.
func expandThenPrune[W interface {
	ops.PathWeight[W]
	semiring.Reversible[W, W]
}](f fst.Expanded[W], pairs []fst.LabelPair, threshold W, o *ExpandOptions, op string) (*fst.Vector[W], error) {
	out, err := Expand(f, pairs, o)
	if err != nil {
		return nil, run.Errors.Renamed(err, op)
	}
	if err := ops.Prune(out, &ops.PruneOptions[W]{Threshold: &threshold, Limits: o.Limits}); err != nil {
		return nil, run.Errors.Renamed(err, op)
	}
	return out, nil
}

// reachedEnd is the state beyond those of the input that leads from final states to
// the end: the start of the reverse.
const reachedEnd fst.StateID = -1

// node is what is known of a configuration.
type node[W any] struct {
	distance W           // from the start
	toEnd    W           // to the end, as far as it is known
	beyond   W           // to the end by way of what closes the parenthesis on top, if measured
	source   fst.StateID // state that the parenthesis on top of the stack led to, on the best way here
	flags    uint8
}

const (
	waiting uint8 = 1 << iota
	expanded
	isSource // an opening parenthesis leads here
	measured // beyond is known
)

// sourceBytes is about what a source of a stack that waits takes.
const sourceBytes = 32

// body is what lies between an opening parenthesis and those that close it.
type body[W any] struct {
	closes []fst.StateID // states with arcs that do, ascending; each is the source of a search of the reverse
	exits  []toState[W]  // where those arcs lead to that may be part of a best path, by the states they leave, descending
	made   bool          // exits are there
}

// toState is a state, and the weight that leads to it or from it.
type toState[W any] struct {
	q      fst.StateID
	weight W
}

type pruner[W ops.PathWeight[W]] struct {
	op     string
	f      fst.Expanded[W]
	e      *expander[W]
	stack  *oneStack
	back   *search[W] // over the reverse, whose state q+1 is q
	bodies map[entryKey]*body[W]
	keep   bool
	out    *fst.Vector[W]
	meter  *ops.Meter
	zero   W
	one    W
	limit  W
	slack  bool // the best paths alone are asked for

	// Where the stack is unbounded, distances that no path within the limit has may be missing.
	// What closes beyond a state need then not be among what closes a source that reaches it. It
	// counts for all sources of the stack.
	endless *endless[W]             // looks for paths within the limit that go up for ever; else nil
	sources map[int32][]fst.StateID // of stacks that wait

	nodes  []node[W]
	height []int32 // of each stack, from the empty one
	queue  *run.StateHeap
	held   int64 // bytes of the search, and of bodies
	steps  int   // exits and ends that were looked at, since the limits were

	// The stack whose configurations are being visited: the distance to the end from each state
	// that closes the top parenthesis, and the configuration of each state.
	current int32
	toEnd   onStack[W]
	ids     onStack[fst.StateID]
	// Of one source and stack: those of the states that close what led to it.
	cachedSource fst.StateID
	cachedStack  int32
	dests        []toState[W]
	arcs         []fst.Arc[W]
	best         []int32 // scratch: exit to each state, from 1
}

// onStack holds something for each state while configurations of one stack are visited, which come
// one after another.
type onStack[T any] struct {
	of    []int32 // the stack that value is for, from 1
	value []T
}

func newOnStack[T any](states int) onStack[T] {
	return onStack[T]{make([]int32, states), make([]T, states)}
}

func (o *onStack[T]) get(q fst.StateID, stack int32) (T, bool) { return o.value[q], o.of[q] == stack+1 }
func (o *onStack[T]) set(q fst.StateID, stack int32, v T)      { o.value[q], o.of[q] = v, stack+1 }

func newPruner[W ops.PathWeight[W]](f fst.Expanded[W], pairs []fst.LabelPair, back *search[W], out *fst.Vector[W], o *ExpandOptions, op string) *pruner[W] {
	stack, n := newOneStack(pairs), f.NumStates()
	p := &pruner[W]{op: op, f: f, stack: stack, back: back, keep: o.KeepParens, out: out,
		e:     newExpander[W](f, stack, true, op, ops.Limits{}),
		meter: ops.NewMeter(op, o.Limits), zero: semiring.Zero[W](), one: semiring.One[W](),
		height: []int32{0}, bodies: map[entryKey]*body[W]{},
		toEnd: newOnStack[W](n), ids: newOnStack[fst.StateID](n), best: make([]int32, n)}
	// What closes in the reverse opens here.
	for e, from := range back.closing {
		k := back.entries.Key(fst.StateID(e))
		for _, i := range from {
			here := entryKey{k.paren, back.data[i].q - 1}
			b := p.bodies[here]
			if b == nil {
				b = &body[W]{}
				p.bodies[here] = b
			}
			b.closes = append(b.closes, k.to-1)
		}
	}
	for _, b := range p.bodies {
		slices.Sort(b.closes)
		p.held += int64(unsafe.Sizeof(*b)) + int64(cap(b.closes))*int64(unsafe.Sizeof(fst.NoState))
	}
	p.held += back.held() + ops.SizeOf[W](n+1, int64(fst.NumArcs(back.f))).Bytes
	p.queue = run.NewStateHeap(0, true, p.before) // equal ones in OpenFst's order
	return p
}

// before orders configurations: shorter stacks first, stacks of equal height by their pairs from
// the top down, and one stack by the best path through each configuration.
func (p *pruner[W]) before(a, b fst.StateID) bool {
	s, t := p.e.table.Key(a).stack, p.e.table.Key(b).stack
	if s == t {
		return p.through(a).Less(p.through(b))
	}
	if p.height[s] != p.height[t] {
		return p.height[s] < p.height[t]
	}
	for s != t {
		if x, y := p.stack.top(s), p.stack.top(t); x != y {
			return x < y
		}
		s, t = p.stack.below(s), p.stack.below(t)
	}
	return false
}

func (p *pruner[W]) through(s fst.StateID) W {
	if int(s) >= len(p.nodes) {
		return p.zero
	}
	return p.nodes[s].distance.Times(p.nodes[s].toEnd)
}

// node returns that of configuration s, which the next call may move.
func (p *pruner[W]) node(s fst.StateID) *node[W] {
	for int(s) >= len(p.nodes) {
		p.nodes = append(p.nodes, node[W]{distance: p.zero, toEnd: p.zero, source: fst.NoState})
	}
	return &p.nodes[s]
}

// between is the weight of the best balanced path from q to the state to, which a
// closing parenthesis leaves, or the end.
func (p *pruner[W]) between(q, to fst.StateID) W { return p.back.distance(q+1, to+1) }

// body returns what lies between the parenthesis id, where it leads to q, and those that close it.
func (p *pruner[W]) body(id int32, q fst.StateID) *body[W] {
	b := p.bodies[entryKey{id, q}]
	if b == nil {
		return &body[W]{}
	}
	if b.made {
		return b
	}
	b.made = true
	for _, closes := range slices.Backward(b.closes) {
		inside := p.between(q, closes)
		for _, a := range slices.Backward(p.f.Arcs(closes)) { // OpenFst's table has them in this order
			if a.ILabel != p.stack.pairs[id].To {
				continue
			}
			// One that is no better than an exit before it improves nothing.
			x := toState[W]{a.NextState, inside.Times(a.Weight)}
			if i := p.best[x.q]; i == 0 || x.weight.Less(b.exits[i-1].weight) {
				b.exits = append(b.exits, x)
				p.best[x.q] = int32(len(b.exits))
			}
		}
	}
	for _, x := range b.exits {
		p.best[x.q] = 0
	}
	p.held += int64(cap(b.exits)) * int64(unsafe.Sizeof(toState[W]{}))
	return b
}

func (p *pruner[W]) run(threshold W) error {
	first := p.f.Start()
	start, _ := p.e.Start()
	p.limit = p.between(first, reachedEnd).Times(threshold)
	p.slack = threshold.Near(p.one, 1.0/1024)
	p.enqueue(start)
	p.out.SetStart(start)
	p.node(start).source = first
	p.cachedSource, p.cachedStack, p.current = first, emptyStack, emptyStack
	p.dests = append(p.dests, toState[W]{reachedEnd, p.one})
	p.node(p.e.id(reachedEnd, emptyStack)).toEnd = p.one
	p.node(start).distance = p.one
	p.node(start).toEnd = p.between(first, reachedEnd)
	if p.endless != nil && !p.over(p.node(start).toEnd) {
		if err := p.endless.look(first, reachedEnd); err != nil {
			return err
		}
	}
	for !p.queue.Empty() {
		s := p.queue.Pop()
		n := p.node(s)
		n.flags = n.flags&^waiting | expanded
		c := p.e.table.Key(s)
		if err := p.visit(s, c); err != nil {
			return err
		}
	}
	return nil
}

// over reports that w is beyond the limit. If the limit is the weight of the best path itself,
// rounding must not put it beyond. The weights of that path reach other configurations from its
// ends and not from within, and nothing would be left.
func (p *pruner[W]) over(w W) bool {
	return p.limit.Less(w) && !(p.slack && w.Near(p.limit, 1.0/1024))
}

// visit writes the arcs of configuration s that are worth it.
func (p *pruner[W]) visit(s fst.StateID, c configuration) error {
	final, arcs, err := p.e.Expand(s, p.arcs[:0])
	p.arcs = arcs
	if err != nil {
		return err
	}
	if !final.Equal(p.zero) && !p.over(p.node(s).distance.Times(final)) {
		p.out.SetFinal(s, final)
	}
	if err := p.atSource(s, c); err != nil {
		return err
	}
	for i := range arcs {
		a := arcs[i]
		next := p.e.table.Key(a.NextState).stack
		switch {
		case next == c.stack:
			if p.follow(s, p.e.table.Key(a.NextState).q, a.NextState, a.Weight) {
				p.out.AddArc(s, a)
				p.enqueue(a.NextState)
			}
		case p.stack.below(next) == c.stack:
			if err := p.open(s, a, c.stack, next); err != nil {
				return err
			}
		default:
			if w := p.node(s).distance.Times(a.Weight.Times(p.node(a.NextState).toEnd)); !p.over(w) {
				p.add(s, a)
			}
		}
	}
	return p.check()
}

// check looks at the limits.
func (p *pruner[W]) check() error {
	p.steps = 0
	size := ops.SizeOf[W](p.out.NumStates(), int64(p.out.NumArcs()))
	size.Bytes += p.held + p.e.table.Bytes() + p.stack.bytes() + int64(cap(p.nodes))*int64(unsafe.Sizeof(node[W]{}))
	return p.meter.Check(size)
}

// add writes an arc with a parenthesis.
func (p *pruner[W]) add(s fst.StateID, a fst.Arc[W]) {
	if !p.keep {
		a.ILabel, a.OLabel = fst.Epsilon, fst.Epsilon
	}
	p.out.AddArc(s, a)
}

func (p *pruner[W]) enqueue(s fst.StateID) {
	switch n := p.node(s); {
	case n.flags&(waiting|expanded) == 0:
		for p.out.NumStates() <= int(s) {
			p.out.AddState()
		}
		n.flags |= waiting
		p.queue.Push(s)
	case n.flags&waiting != 0:
		p.queue.Update(s)
	}
}

// follow relaxes an arc of s, or what counts as one, to the configuration next, which is state q on
// the same stack. It reports whether the best path through it is within the limit.
func (p *pruner[W]) follow(s fst.StateID, q, next fst.StateID, weight W) bool {
	p.node(max(s, next))
	from, n := &p.nodes[s], &p.nodes[next]
	if n.flags&measured == 0 {
		// The same for each source from which q is reached: what closes beyond q closes
		// that, too.
		n.flags |= measured
		n.beyond = p.beyond(q, from.source)
		if n.beyond.Less(n.toEnd) {
			n.toEnd = n.beyond
		}
	}
	if w := from.distance.Times(weight); w.Less(n.distance) {
		n.distance, n.source = w, from.source
	}
	return !p.over(from.distance.Times(weight.Times(n.beyond)))
}

// beyond is how far it is to the end from q with the stack at hand, on which the parenthesis on top
// led to source.
func (p *pruner[W]) beyond(q, source fst.StateID) W {
	if p.endless == nil && (p.cachedSource != source || p.cachedStack != p.current) {
		p.cachedSource, p.cachedStack, p.dests = source, p.current, p.dests[:0]
		if p.current != emptyStack {
			for _, closes := range p.body(p.stack.top(p.current), source).closes {
				if w, ok := p.toEnd.get(closes, p.current); ok {
					p.dests = append(p.dests, toState[W]{closes, w})
				}
			}
		} else {
			p.dests = append(p.dests, toState[W]{reachedEnd, p.one})
		}
	}
	w := p.zero
	for _, d := range p.dests {
		w = w.Plus(p.between(q, d.q).Times(d.weight))
	}
	p.steps += len(p.dests)
	return w
}

// open follows an opening parenthesis through what it leads to. Each balanced path to a closing
// parenthesis counts as an arc on the stack below. If one of them is within the limit, so is the
// opening parenthesis.
func (p *pruner[W]) open(s fst.StateID, a fst.Arc[W], below, above int32) error {
	for int(above) >= len(p.height) {
		p.height = append(p.height, -1)
	}
	if p.height[above] < 0 {
		p.height[above] = p.height[below] + 1
	}
	within, toEnd := false, p.zero
	for _, x := range p.body(p.stack.top(above), p.e.table.Key(a.NextState).q).exits {
		next, ok := p.ids.get(x.q, below)
		if !ok {
			next = p.e.id(x.q, below)
			p.ids.set(x.q, below, next)
		}
		if p.follow(s, x.q, next, a.Weight.Times(x.weight)) {
			p.enqueue(next)
			within = true
		}
		toEnd = toEnd.Plus(x.weight.Times(p.nodes[next].toEnd))
		if p.steps++; p.steps >= stepsPerLook {
			if err := p.check(); err != nil {
				return err
			}
		}
	}
	if !within {
		return nil
	}
	p.add(s, a)
	p.enqueue(a.NextState)
	n := p.node(a.NextState)
	if w := p.node(s).distance.Times(a.Weight); w.Less(n.distance) {
		n.distance = w
	}
	if toEnd.Less(n.toEnd) {
		n.toEnd = toEnd
	}
	if n.flags&isSource == 0 && p.endless != nil {
		p.sources[above] = append(p.sources[above], p.e.table.Key(a.NextState).q)
		p.held += sourceBytes
	}
	n.flags |= isSource
	return nil
}

// atSource finds, for a configuration that an opening parenthesis led to, how far it
// is to the end from the states that close it.
func (p *pruner[W]) atSource(s fst.StateID, c configuration) error {
	if p.node(s).flags&isSource == 0 {
		return nil
	}
	first := p.current != c.stack
	p.current = c.stack
	p.node(s).source = c.q
	if p.endless == nil {
		p.closings(c.stack, c.q)
		return nil
	}
	if first { // of the stack, which all its sources have come to
		p.cachedStack, p.dests = c.stack, p.dests[:0]
		for _, q := range p.sources[c.stack] {
			p.closings(c.stack, q)
		}
		p.held -= sourceBytes * int64(len(p.sources[c.stack]))
		delete(p.sources, c.stack)
	}
	for _, q := range p.body(p.stack.top(c.stack), c.q).closes {
		w, _ := p.toEnd.get(q, c.stack)
		if w = p.node(s).distance.Times(p.between(c.q, q)).Times(w); p.over(w) {
			continue
		}
		if err := p.endless.look(c.q, q); err != nil {
			return err
		}
	}
	return nil
}

// closings finds how far it is to the end from the states that close the parenthesis on top of a
// stack, which led to source.
func (p *pruner[W]) closings(stack int32, source fst.StateID) {
	id := p.stack.top(stack)
	for _, q := range p.body(id, source).closes {
		if _, ok := p.toEnd.get(q, stack); ok {
			continue
		}
		w := p.zero
		for _, b := range p.f.Arcs(q) {
			if b.ILabel == p.stack.pairs[id].To {
				w = w.Plus(b.Weight.Times(p.node(p.e.id(b.NextState, p.stack.below(stack))).toEnd))
			}
		}
		p.toEnd.set(q, stack, w)
		if p.endless != nil {
			p.dests = append(p.dests, toState[W]{q, w})
		}
	}
}
