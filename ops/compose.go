package ops

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ComposeOptions adjusts Compose; nil is the same as the zero value.
type ComposeOptions struct {
	Filter   Filter // how ε-moves interleave; zero is SequenceFilter
	KeepDead bool   // keep states that reach no final state; by default they are trimmed
	Trace    *Trace // if not nil, receives for each output arc the two arcs it came from
	Limits          // zero is none; beyond one, a LimitError says how far it came

	// First and Second give labels of the machines a meaning of their own: failure, the rest,
	// any. Where they are nil, they are what the file of a machine says (fst.AddOn).
	First, Second *Matcher

	// LookAhead, if not nil, leaves out pairs of states that come to nothing as early as they
	// are seen to.
	LookAhead *LookAhead
}

// Compose returns A∘B, the machine with
//
//	(A∘B)(x, z) = ⊕_y A(x, y) ⊗ B(y, z)
//
// for all strings x and z. Its states are pairs of a state of A and one of B, with a state of the
// filter that orders ε-moves (see Filter).
//
// A must be sorted by output label or B by input label; else the error wraps ErrNotSorted. Where
// that is not known of a machine, it is tested. Symbol tables, where A's output and B's input both
// have one, must agree. The sum over y commutes past the weights of A and B, so that the definition
// above asks for a commutative semiring. Over another one, the weight of a path is the product
// w(e₁)⊗w(f₁)⊗w(e₂)⊗w(f₂)… of the pairs of arcs in turn.
//
// The result has the states and arcs of OpenFst 1.7.9's composition in the same order. States are
// numbered as they are first reached, breadth first. Unless opts.KeepDead is set, those that reach
// no final state are taken out.
//
// Time: O(V·D₁·(log D₂ + M₂)) for V pairs reached. D₁ is the out-degree of the machine whose arcs
// are iterated, and D₂ that of the machine that is searched. M₂ is how often a label repeats there.
// Where both are sorted, each pair of states costs no more than a merge of its arcs. Space: 16 to
// 30 bytes a pair on top of the result.
//
// This is M. Mohri, F. Pereira and M. Riley, "Weighted automata in text and
// speech processing", ECAI 1996 workshop, with the filters of Allauzen, Riley
// and Schalkwyk, Interspeech 2009.
func Compose[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions) (*fst.Vector[W], error) {
	p, err := planCompose(a, b, opts)
	if err != nil {
		return nil, err
	}
	if p.mode != composePlainly {
		return p.materialize()
	}
	c := newComposer(p)
	s := c.borrow()
	out, err := c.run(&s.out)
	if err != nil {
		return nil, err
	}
	if !p.KeepDead {
		trim(out, c.trace, c.meter.Lim.Workers)
	}
	if s.out.Out == nil {
		out = out.Clone() // the arrays belong to the buffer
	}
	c.giveBack(s)
	return out, nil
}

// composeScratch is the work space of a composition, when none is under way.
type composeScratch[W semiring.Weight[W]] struct {
	table run.Triples
	keys  []uint64
	arcs  []fst.Arc[W]
	out   run.StateBuffer[W]
}

// borrow makes the work space of c that of an earlier composition, unless how much is
// in use may be told in an error.
func (c *Composer[W]) borrow() *composeScratch[W] {
	if l := c.meter.Lim; l.States != 0 || l.Arcs != 0 || l.Bytes != 0 {
		return new(composeScratch[W])
	}
	s := run.Scratch[composeScratch[W]]().Get().(*composeScratch[W])
	c.table, c.keys, c.arcs = s.table, s.keys, s.arcs
	return s
}

// giveBack ends the use of c.
func (c *Composer[W]) giveBack(s *composeScratch[W]) {
	c.table.Reset()
	clear(c.arcs[:cap(c.arcs)])
	if s.keys = c.keys[:0]; cap(s.keys) > run.KeptScratch {
		s.keys = nil
	}
	if s.arcs = c.arcs[:0]; cap(s.arcs) > run.KeptScratch {
		s.arcs = nil
	}
	s.table = c.table
	s.out.Reset()
	c.table, c.keys, c.arcs = run.Triples{}, nil, nil
	run.Scratch[composeScratch[W]]().Put(s)
}

// ComposeLazy returns A∘B, computed state by state on demand. A and B may themselves be computed on
// demand. One of them must be sorted, A by output label or B by input label. Where neither is known
// to be, ComposeLazy checks the one whose order is unknown, A first, state by state. An arc out of
// order becomes the error of the result. (The maker of a lazy machine declares its order with
// fst.Lazy.LearnProperties.) States that reach no final state are kept, and opts.Trace is not
// filled. The Limits hold for the states met, the bytes of the table of pairs and the arcs of any
// one state. cache adjusts the result's cache; nil is the default.
func ComposeLazy[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions, cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	p, err := planCompose(a, b, opts)
	if err != nil {
		return nil, err
	}
	c, err := p.expander()
	if err != nil {
		return nil, err
	}
	return fst.NewLazy(c, withSymbols(cache, a, b)), nil
}

// Composer is the Expander of A∘B. Compose and ComposeLazy are made from it.
type Composer[W semiring.Weight[W]] struct {
	a, b   side[W]
	filter Filter
	match  matchSide
	table  run.Triples

	meter run.Meter
	built int64 // arcs handed out by run

	zero     W
	keys     []uint64 // targets of the arcs that are being made, and have no numbers yet: the last ones
	numbered int      // arcs before those
	later    bool     // another Composer numbers them
	counted  bool     // room has been made for all arcs of the state
	arcs     []fst.Arc[W]
	trace    *Trace
}

// NewComposer prepares A∘B; requirements and errors are those of Compose. It composes by plain
// labels: options that ask for more are an error.
func NewComposer[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions) (*Composer[W], error) {
	p, err := planCompose(a, b, opts)
	if err != nil {
		return nil, err
	}
	if p.mode != composePlainly {
		return nil, errors.New("ops: NewComposer: matchers and looking ahead are for Compose and ComposeLazy")
	}
	return newComposer(p), nil
}

func newComposer[W semiring.Weight[W]](p *composePlan[W]) *Composer[W] {
	return &Composer[W]{
		a: p.a, b: p.b, filter: p.Filter, match: p.match,
		meter: p.Limits.meter("Compose"), trace: p.Trace, zero: semiring.Zero[W](),
	}
}

// Tuple returns the states of A and B, and of the filter, that make state q.
func (c *Composer[W]) Tuple(q fst.StateID) (s1, s2 fst.StateID, filterState int) {
	s1, s2, fs := run.Untriple(c.table.Keys[q])
	return s1, s2, int(fs)
}

// Start returns the pair of start states, NoState if one is missing.
func (c *Composer[W]) Start() (fst.StateID, error) {
	s1, s2 := c.a.f.Start(), c.b.f.Start()
	if err := c.operandErr(); err != nil {
		return fst.NoState, err
	}
	if s1 == fst.NoState || s2 == fst.NoState {
		return fst.NoState, nil
	}
	return c.table.ID(run.Triple(s1, s2, 0)), nil
}

// Expand returns the final weight of q and appends its arcs to dst.
func (c *Composer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	var one [1]pairOf[W]
	c.read(q, one[:])
	p := &one[0]
	base := len(dst)
	c.keys, c.numbered = c.keys[:0], 0
	dst, err = c.expand(p, dst, nil)
	if err != nil {
		return p.final, dst, err
	}
	c.number(dst)
	return p.final, dst, c.check(int64(len(dst) - base))
}

// pairOf is what expansion needs to know of a state of the result.
type pairOf[W semiring.Weight[W]] struct {
	s1, s2       fst.StateID
	fs           int8
	final        W
	arcs1, arcs2 []fst.Arc[W]
	info1, info2 sideInfo
}

// read looks up the pairs of the states from q on, one for each element of block. It uses a
// separate loop for each thing that it reads, since reads of one loop do not wait for one another.
// On large machines each read is a cache miss, and the processor overlaps many of them if little
// else stands between.
func (c *Composer[W]) read(q fst.StateID, block []pairOf[W]) {
	for i := range block {
		p := &block[i]
		p.s1, p.s2, p.fs = run.Untriple(c.table.Keys[int(q)+i])
		p.arcs1 = c.a.f.Arcs(p.s1)
	}
	for i := range block {
		p := &block[i]
		p.arcs2 = c.b.f.Arcs(p.s2)
	}
	touched := fst.Label(0)
	for i := range block {
		p := &block[i]
		if len(p.arcs1) > 0 && len(p.arcs2) > 0 {
			touched += p.arcs1[0].OLabel + p.arcs2[0].ILabel
		}
	}
	c.table.Touched += uint32(touched)
	for i := range block {
		p := &block[i]
		p.final = c.a.f.Final(p.s1)
	}
	for i := range block {
		p := &block[i]
		if !p.final.Equal(c.zero) {
			if final2 := c.b.f.Final(p.s2); final2.Equal(c.zero) {
				p.final = final2
			} else {
				p.final = p.final.Times(final2)
			}
		}
	}
	for i := range block {
		p := &block[i]
		p.info1, p.info2 = c.a.of(p.s1, p.arcs1), c.b.of(p.s2, p.arcs2)
	}
}

func (c *Composer[W]) operandErr() error {
	if err := c.a.err(); err != nil {
		return err
	}
	return c.b.err()
}

// expand appends the arcs of p to dst, and the triples that they lead to to c.keys. Of many arcs
// those that are there are numbered now and then, unless that is another's.
//
// It goes through the arcs of one machine in order, and for each through those of the other with
// the same label. The searched machine's ε-moves come first. Where an arc has ε, its move alone
// comes before its matches. The order is OpenFst's, and so is searching the longer list if there is
// a choice.
func (c *Composer[W]) expand(p *pairOf[W], dst []fst.Arc[W], trace *Trace) ([]fst.Arc[W], error) {
	if err := c.operandErr(); err != nil {
		return dst, err
	}
	s1, s2 := p.s1, p.s2
	m := c.filter.moves(p.fs, p.info1, p.info2)

	// Over the iterated machine's arcs in, search se.
	first := c.match == matchFirst || c.match == matchEither && len(p.arcs1) > len(p.arcs2)
	in, inLabel, inAlone, inState, inSorted := p.arcs1, outputLabels, m.alone1, s1, p.info1&sideSorted != 0
	se, seLabel, seAlone, seSorted := p.arcs2, inputLabels, m.alone2, p.info2&sideSorted != 0
	if first {
		in, inLabel, inAlone, inState, inSorted = p.arcs2, inputLabels, m.alone2, s2, p.info2&sideSorted != 0
		se, seLabel, seAlone, seSorted = p.arcs1, outputLabels, m.alone1, p.info1&sideSorted != 0
	}
	if !seSorted {
		if first {
			return dst, c.a.unsorted(s1)
		}
		return dst, c.b.unsorted(s2)
	}

	keys := c.keys
	eps0 := seek(se, seLabel, 0, fst.Epsilon)
	eps1 := seek(se, seLabel, eps0, fst.Epsilon+1)
	stop, begin := len(keys)+checkEvery, len(dst)
	c.counted = false
	if seAlone != blocked {
		for k := eps0; k < eps1; {
			end := min(eps1, k+checkEvery)
			if len(keys)+end-k > stop {
				c.keys = keys
				var err error
				if dst, err = c.pause(dst, begin, eps1-k, 0, 0, &restOf[W]{in, se, inLabel, seLabel, inSorted, inAlone != blocked, m.both != blocked, eps0, eps1}); err != nil {
					return dst, err
				}
				keys = c.keys
				stop = len(keys) + checkEvery
			}
			for ; k < end; k++ {
				e := se[k]
				if first {
					keys = append(keys, run.Triple(e.NextState, inState, seAlone))
					e.OLabel = fst.Epsilon
					trace.add(k, -1)
				} else {
					keys = append(keys, run.Triple(inState, e.NextState, seAlone))
					e.ILabel = fst.Epsilon
					trace.add(-1, k)
				}
				dst = append(dst, e)
			}
		}
	}
	k := 0
	for i := 0; i < len(in); i++ {
		e := &in[i]
		l := label(e, inLabel)
		k0, k1, next := eps0, eps1, m.both
		if l != fst.Epsilon {
			if inSorted {
				k = seek(se, seLabel, k, l)
			} else {
				k = bisect(se, seLabel, l)
			}
			k0, k1, next = k, k, 0
			for k1 < len(se) && label(&se[k1], seLabel) == l {
				k1++
			}
			if k0 == k1 && inSorted && l > fst.Epsilon {
				if k == len(se) {
					break
				}
				i = seek(in, inLabel, i+1, label(&se[k], seLabel)) - 1
				continue
			}
		} else if inAlone != blocked {
			t := *e
			if first {
				keys = append(keys, run.Triple(s1, e.NextState, inAlone))
				t.ILabel = fst.Epsilon
				trace.add(-1, i)
			} else {
				keys = append(keys, run.Triple(e.NextState, s2, inAlone))
				t.OLabel = fst.Epsilon
				trace.add(i, -1)
			}
			dst = append(dst, t)
		}
		if next == blocked {
			k1 = k0
		}
		for { // once, but for two states with a million equal labels each
			end := k1
			if len(keys)+k1-k0 > stop {
				c.keys = keys
				var err error
				if dst, err = c.pause(dst, begin, k1-k0, i+1, k, &restOf[W]{in, se, inLabel, seLabel, inSorted, inAlone != blocked, m.both != blocked, eps0, eps1}); err != nil {
					return dst, err
				}
				keys = c.keys
				stop = len(keys) + checkEvery
				end = min(k1, k0+checkEvery)
			}
			if first {
				for j := k0; j < end; j++ {
					f := &se[j]
					keys = append(keys, run.Triple(f.NextState, e.NextState, next))
					dst = append(dst, fst.Arc[W]{ILabel: f.ILabel, OLabel: e.OLabel, Weight: f.Weight.Times(e.Weight)})
					trace.add(j, i)
				}
			} else {
				for j := k0; j < end; j++ {
					f := &se[j]
					keys = append(keys, run.Triple(e.NextState, f.NextState, next))
					dst = append(dst, fst.Arc[W]{ILabel: e.ILabel, OLabel: f.OLabel, Weight: e.Weight.Times(f.Weight)})
					trace.add(i, j)
				}
			}
			if k0 = end; k0 == k1 {
				break
			}
		}
	}
	c.keys = keys
	return dst, nil
}

// number gives the last arcs, those whose triples are in c.keys, their next states.
func (c *Composer[W]) number(arcs []fst.Arc[W]) {
	arcs = arcs[len(arcs)-len(c.keys):]
	hashes := c.table.Prepare(c.keys)
	for i, key := range c.keys {
		arcs[i].NextState = c.table.Find(key, hashes[i])
	}
	c.numbered += len(c.keys)
	c.keys = c.keys[:0]
}

// checkEvery is how many arcs of one state are made between checks of limits.
const checkEvery = 1 << 13

// check compares with the limits what has been built, with n arcs of the state
// at hand.
func (c *Composer[W]) check(n int64) error {
	arc := int64(unsafe.Sizeof(fst.Arc[W]{}))
	p := run.Progress{States: c.table.Len(), Arcs: c.built + n}
	p.Bytes = p.Arcs*arc + int64(p.States)*tripleBytes + int64(cap(c.keys))*8
	if c.trace != nil {
		p.Bytes += p.Arcs*8 + int64(p.States)*16
	}
	return c.meter.Check(p)
}

// tripleBytes estimates what a state costs: key, slots of the table at their
// usual load, span and final weight of the result.
const tripleBytes = 8 + 14 + 16 + 8

// run expands every state in order of its number, and writes the result as it goes. It is
// Materialize without the calls between, and with a trace. The arrays of a result that fits into
// the buffer are the buffer's.
func (c *Composer[W]) run(b *run.StateBuffer[W]) (*fst.Vector[W], error) {
	if c.trace != nil {
		c.trace.reset()
	}
	start, err := c.Start()
	if err != nil {
		return nil, err
	}
	w := c.meter.Lim.Workers
	if c.trace != nil || !shareable(c.a.f) || !shareable(c.b.f) {
		w = 1
	}
	for q := 0; q < c.table.Len(); { // no state at all without a start
		if w > 1 && c.table.Len()-q >= composeAlone {
			if err := c.runAhead(b, q, w); err != nil {
				return nil, err
			}
			break
		}
		n, err := c.step(b, q, min(composeBlock, c.table.Len()-q))
		if err != nil {
			return nil, err
		}
		q += n
	}
	out := b.View()
	out.SetInputSymbols(fst.InputSymbols(c.a.f))
	out.SetOutputSymbols(fst.OutputSymbols(c.b.f))
	if start == fst.NoState {
		return out, nil
	}
	out.SetStart(start)
	out.SetProperties(composeProperties(c.a.known, c.b.known), fst.AllProperties)
	return out, nil
}

// composeBlock is how many states are expanded at a time. All their data are read, then all their
// arcs are made, then all arcs are numbered, so that cache misses overlap.
const composeBlock = 32

// step writes the states from q on, n at most, and returns how many.
func (c *Composer[W]) step(out *run.StateBuffer[W], q, n int) (done int, err error) {
	var block [composeBlock]pairOf[W]
	var end [len(block)]int // of each state's arcs
	var finals [len(block)]W
	c.read(fst.StateID(q), block[:n])
	arcs := c.arcs[:0]
	c.keys, c.numbered = c.keys[:0], 0
	for done < n && len(arcs) < wideState {
		p := &block[done]
		if arcs, err = c.expand(p, arcs, c.trace); err != nil {
			return done, err
		}
		end[done], finals[done] = len(arcs), p.final
		done++
		if c.trace != nil {
			c.trace.endState(p.s1, p.s2)
		}
	}
	c.number(arcs)
	c.built += int64(len(arcs))
	used, begin := arcs, 0 // begin of the last state's arcs
	if done > 1 {
		begin = end[done-2]
	}
	if row := arcs[begin:len(arcs):len(arcs)]; len(row) >= wideState && cap(arcs)-len(row) <= len(row)/4 { // and the array is its own
		out.PushAll(finals[:done-1], end[:done-1], arcs[:begin])
		out.Give(finals[done-1], row)
		if used = c.arcs; cap(used) >= cap(arcs) || cap(used) < wideScratch { // the same array, or too small for the next such
			used = make([]fst.Arc[W], 0, wideScratch)
		}
	} else {
		out.PushAll(finals[:done], end[:done], arcs)
	}
	c.arcs = used
	return done, c.check(0)
}

var _ fst.Retainer = (*Composer[semiring.Tropical])(nil)

// Retain forgets all states but live.
func (c *Composer[W]) Retain(live []fst.StateID) { c.table = c.table.Only(live) }

// composeProperties returns what is known of A∘B before it is trimmed.
func composeProperties(p1, p2 fst.Properties) fst.Properties {
	both := p1 & p2
	out := fst.Accessible | both&(fst.Acceptor|fst.NoIEpsilons|fst.Acyclic|fst.InitialAcyclic)
	if both.Has(fst.Acceptor) {
		out |= both & (fst.NoEpsilons | fst.NoOEpsilons)
	}
	if both.Has(fst.NoIEpsilons) {
		out |= both & fst.IDeterministic
		if both.Has(fst.Acceptor) {
			out |= both & fst.ODeterministic
		}
	}
	return out
}

// trim removes the states that reach no final state, given that all are reached
// from the start. tr, if not nil, follows.
func trim[W semiring.Weight[W]](v *fst.Vector[W], tr *Trace, workers int) {
	if dead := graph.FindDead(v, false, workers); dead != nil {
		if tr != nil {
			tr.remap(dead.Bools(v.NumStates()), func(q fst.StateID,
				i int) fst.StateID {
				return v.Arcs(q)[i].NextState
			})
		}
		v.Engine(engine.Key{}).DeleteStateSet(dead, workers)
	}
	v.SetProperties(v.KnownProperties()&keptByDeletion|fst.Accessible|fst.CoAccessible, fst.AllProperties)
}

// Trace tells where the arcs and states of a composition came from. Arc i of output state q was
// made from one arc of each operand. They leave State1(q) in A and State2(q) in B, at the positions
// that Arcs(q) holds. This is how a quantity of an output arc, such as its posterior, is carried
// back to the machines it depends on.
//
// It costs 8 bytes an arc and 16 a state.
type Trace struct {
	offset []int64 // positions of state q: [offset[q], offset[q+1])
	pos1   []int32
	pos2   []int32
	state1 []fst.StateID
	state2 []fst.StateID
}

// NumStates returns the number of states of the output.
func (t *Trace) NumStates() int { return len(t.state1) }

// States returns the states of A and B whose pair (with a state of the filter)
// output state q is.
func (t *Trace) States(q fst.StateID) (s1, s2 fst.StateID) { return t.state1[q], t.state2[q] }

// Arcs returns where the arcs of output state q come from: for each, in order, its position among
// the arcs of s1 and of s2, where s1, s2 = States(q). A position of -1 means that the operand did
// not move: the arc is an ε-move of the other operand. The slices are read-only.
func (t *Trace) Arcs(q fst.StateID) (pos1, pos2 []int32) {
	i, j := t.offset[q], t.offset[q+1]
	return t.pos1[i:j:j], t.pos2[i:j:j]
}

func (t *Trace) reset() {
	t.offset = append(t.offset[:0], 0)
	t.pos1, t.pos2 = t.pos1[:0], t.pos2[:0]
	t.state1, t.state2 = t.state1[:0], t.state2[:0]
}

// endState closes the arcs of the next state, which came from s1 and s2.
func (t *Trace) endState(s1, s2 fst.StateID) {
	t.state1, t.state2 = append(t.state1, s1), append(t.state2, s2)
	t.offset = append(t.offset, int64(len(t.pos1)))
}

// remap follows the removal of dead states, and of the arcs into them. next
// returns the output arcs as they were before.
func (t *Trace) remap(dead []bool, next func(q fst.StateID, i int) fst.StateID) {
	n, k := 0, 0
	for q := range dead {
		i, j := int(t.offset[q]), int(t.offset[q+1])
		if dead[q] {
			continue
		}
		t.offset[n] = int64(k) // n ≤ q: offset[q] has been read
		for p := i; p < j; p++ {
			if !dead[next(fst.StateID(q), p-i)] {
				t.pos1[k], t.pos2[k] = t.pos1[p], t.pos2[p]
				k++
			}
		}
		t.state1[n], t.state2[n] = t.state1[q], t.state2[q]
		n++
	}
	t.offset = append(t.offset[:n], int64(k))
	t.pos1, t.pos2 = slices.Clip(t.pos1[:k]), slices.Clip(t.pos2[:k])
	t.state1, t.state2 = t.state1[:n], t.state2[:n]
}

// add records the positions of the arcs that an output arc is made of. A nil
// Trace takes no note.
func (t *Trace) add(pos1, pos2 int) {
	if t != nil {
		t.pos1, t.pos2 = append(t.pos1, int32(pos1)), append(t.pos2, int32(pos2))
	}
}
