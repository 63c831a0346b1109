package pdt

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ExpandPruned returns the part of the expansion of the PDT f that paths lie on which
// are no worse than threshold ⊗ the weight of the best path: a state or arc that no
// such path goes through is not there. A threshold of 0̄ prunes nothing.
//
// The stack must be bounded, and no cycle may improve a path; errors are those of
// ShortestPath. Configurations are visited by the height of their stack and, at one
// stack, best first; how far it is from each to the end is known from the shortest
// paths of the reverse. Costs those, and O(log states) for each arc of the result.
//
// Allauzen and Riley 2012, section 5.2; Allauzen et al. 2014, section 4.4.
func ExpandPruned[W interface {
	semiring.Path[W]
	semiring.Reversible[W, W]
}](f fst.Expanded[W], pairs []fst.LabelPair, threshold W, opts *ExpandOptions) (*fst.Vector[W], error) {
	const op = "pdt.ExpandPruned"
	var o ExpandOptions
	if opts != nil {
		o = *opts
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
		return nil, renamed(err, op)
	}
	s, err := newSearch(reversed, pairs, ops.QueueFIFO, op, o.Limits)
	if err != nil {
		return nil, err
	}
	s.keep = true
	if err := s.run(); err != nil {
		return nil, err
	}
	p := newPruner(f, pairs, s, out, &o, op)
	if err := p.run(threshold); err != nil {
		return nil, err
	}
	if !o.KeepDead {
		ops.Connect(out)
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
	source   fst.StateID // state that the parenthesis on top of the stack led to, on the best way here
	flags    uint8
}

const (
	waiting uint8 = 1 << iota
	expanded
	isSource // an opening parenthesis leads here
)

type pruner[W semiring.Path[W]] struct {
	f     fst.Expanded[W]
	e     *expander[W]
	stack *oneStack
	back  *search[W] // over the reverse, whose state q+1 is q
	match map[entryKey][]fst.StateID
	keep  bool
	out   *fst.Vector[W]
	meter *ops.Meter
	zero  W
	one   W
	limit W

	nodes  []node[W]
	height []int32 // of each stack, from the empty one
	queue  *heap

	// Of the stack whose configurations are being visited: how far it is from each
	// state that closes the parenthesis on top to the end.
	current int32
	toEnd   map[fst.StateID]W
	// Of one source and stack: those of the states that close what led to it.
	cachedSource fst.StateID
	cachedStack  int32
	dests        []dest[W]
	arcs         []fst.Arc[W]
}

type dest[W any] struct {
	q      fst.StateID
	weight W
}

func newPruner[W semiring.Path[W]](f fst.Expanded[W], pairs []fst.LabelPair, back *search[W], out *fst.Vector[W], o *ExpandOptions, op string) *pruner[W] {
	stack := newOneStack(pairs)
	p := &pruner[W]{f: f, stack: stack, back: back, keep: o.KeepParens, out: out,
		e:     newExpander[W](f, stack, true, op, ops.Limits{}),
		meter: ops.NewMeter(op, o.Limits), zero: semiring.Zero[W](), one: semiring.One[W](),
		height: []int32{0}, toEnd: map[fst.StateID]W{}, match: map[entryKey][]fst.StateID{}}
	// What closes in the reverse opens here.
	for e, exits := range back.exits {
		k := back.entries.Key(fst.StateID(e))
		for _, x := range exits { // those of one state are side by side
			here := entryKey{k.paren, back.data[x.from].q - 1}
			if m := p.match[here]; len(m) == 0 || m[len(m)-1] != k.to-1 {
				p.match[here] = append(m, k.to-1)
			}
		}
	}
	for _, closes := range p.match {
		slices.Sort(closes)
	}
	p.queue = newHeap(p.before)
	return p
}

// before orders configurations: a shorter stack first, of equal heights by the pairs
// from the top down, and on one stack by the best path through them.
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

func (p *pruner[W]) node(s fst.StateID) *node[W] {
	for int(s) >= len(p.nodes) {
		p.nodes = append(p.nodes, node[W]{distance: p.zero, toEnd: p.zero, source: fst.NoState})
	}
	return &p.nodes[s]
}

// between is the weight of the best balanced path from q to the state to, which a
// closing parenthesis leaves, or the end.
func (p *pruner[W]) between(q, to fst.StateID) W { return p.back.distance(q+1, to+1) }

func (p *pruner[W]) run(threshold W) error {
	first := p.f.Start()
	start, _ := p.e.Start()
	p.limit = p.between(first, reachedEnd).Times(threshold)
	p.enqueue(start)
	p.out.SetStart(start)
	p.node(start).source = first
	p.cachedSource, p.cachedStack, p.current = first, emptyStack, emptyStack
	p.dests = append(p.dests, dest[W]{reachedEnd, p.one})
	p.node(p.e.id(reachedEnd, emptyStack)).toEnd = p.one
	p.node(start).distance = p.one
	p.node(start).toEnd = p.between(first, reachedEnd)
	for p.queue.len() > 0 {
		s := p.queue.pop()
		n := p.node(s)
		n.flags = n.flags&^waiting | expanded
		c := p.e.table.Key(s)
		if err := p.visit(s, c); err != nil {
			return err
		}
	}
	return nil
}

// visit writes the arcs of configuration s that are worth it.
func (p *pruner[W]) visit(s fst.StateID, c configuration) error {
	final, arcs, err := p.e.Expand(s, p.arcs[:0])
	p.arcs = arcs
	if err != nil {
		return err
	}
	if !final.Equal(p.zero) && !p.limit.Less(p.node(s).distance.Times(final)) {
		p.out.SetFinal(s, final)
	}
	p.atSource(s, c)
	for i := range arcs {
		a := arcs[i]
		next := p.e.table.Key(a.NextState).stack
		switch {
		case next == c.stack:
			if p.follow(s, a) {
				p.out.AddArc(s, a)
				p.enqueue(a.NextState)
			}
		case p.stack.below(next) == c.stack:
			p.open(s, a, c.stack, next)
		default:
			if w := p.node(s).distance.Times(a.Weight.Times(p.node(a.NextState).toEnd)); !p.limit.Less(w) {
				p.add(s, a)
			}
		}
	}
	size := ops.SizeOf[W](p.out.NumStates(), int64(p.out.NumArcs()))
	size.Bytes += p.e.table.Bytes() + p.stack.bytes() + int64(cap(p.nodes))*int64(unsafe.Sizeof(node[W]{}))
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
		p.queue.push(s)
	case n.flags&waiting != 0:
		p.queue.update(s)
	}
}

// follow relaxes an arc of s to a configuration with the same stack, and reports
// whether the best path through it is within the limit.
func (p *pruner[W]) follow(s fst.StateID, a fst.Arc[W]) bool {
	source := p.node(s).source
	if p.cachedSource != source || p.cachedStack != p.current {
		p.cachedSource, p.cachedStack, p.dests = source, p.current, p.dests[:0]
		if source != p.f.Start() {
			for _, q := range p.match[entryKey{p.stack.top(p.current), source}] {
				if w, ok := p.toEnd[q]; ok {
					p.dests = append(p.dests, dest[W]{q, w})
				}
			}
		} else {
			p.dests = append(p.dests, dest[W]{reachedEnd, p.one})
		}
	}
	q := p.e.table.Key(a.NextState).q
	toEnd := p.zero
	for _, d := range p.dests {
		toEnd = toEnd.Plus(p.between(q, d.q).Times(d.weight))
	}
	w := p.node(s).distance.Times(a.Weight)
	n := p.node(a.NextState)
	if w.Less(n.distance) {
		n.distance, n.source = w, p.node(s).source
	}
	if toEnd.Less(n.toEnd) {
		n.toEnd = toEnd
	}
	return !p.limit.Less(p.node(s).distance.Times(a.Weight.Times(toEnd)))
}

// open follows an opening parenthesis by way of what it leads to: each balanced path
// to a closing one counts as an arc on the stack below, and if one of them is within
// the limit, so is the parenthesis.
func (p *pruner[W]) open(s fst.StateID, a fst.Arc[W], below, above int32) {
	for int(above) >= len(p.height) {
		p.height = append(p.height, -1)
	}
	if p.height[above] < 0 {
		p.height[above] = p.height[below] + 1
	}
	id := p.stack.top(above)
	q := p.e.table.Key(a.NextState).q
	within, toEnd := false, p.zero
	for _, closes := range slices.Backward(p.match[entryKey{id, q}]) {
		inside := p.between(q, closes)
		for _, b := range slices.Backward(p.f.Arcs(closes)) {
			if b.ILabel != p.stack.pairs[id].To {
				continue
			}
			whole := b
			whole.NextState = p.e.id(b.NextState, below)
			whole.Weight = a.Weight.Times(inside.Times(b.Weight))
			if p.follow(s, whole) {
				p.enqueue(whole.NextState)
				within = true
			}
			toEnd = toEnd.Plus(inside.Times(b.Weight).Times(p.node(whole.NextState).toEnd))
		}
	}
	if !within {
		return
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
	n.flags |= isSource
}

// atSource finds, for a configuration that an opening parenthesis led to, how far it
// is to the end from the states that close it.
func (p *pruner[W]) atSource(s fst.StateID, c configuration) {
	if p.node(s).flags&isSource == 0 {
		return
	}
	if c.stack != p.current {
		clear(p.toEnd)
		p.current = c.stack
	}
	p.node(s).source = c.q
	id := p.stack.top(c.stack)
	for _, q := range p.match[entryKey{id, c.q}] {
		if _, ok := p.toEnd[q]; ok {
			continue
		}
		w := p.zero
		for _, b := range p.f.Arcs(q) {
			if b.ILabel == p.stack.pairs[id].To {
				w = w.Plus(b.Weight.Times(p.node(p.e.id(b.NextState, p.stack.below(c.stack))).toEnd))
			}
		}
		p.toEnd[q] = w
	}
}
