package fst

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/semiring"
)

// Vector is the mutable machine.
//
// Arcs live in slabs that hold no pointers, found by a 16-byte span a state: a state costs 16 bytes
// and its final weight, an arc what Arc takes, and the garbage collector has nothing to trace.
// States that are filled one after the other, as files and operations do, lie back to back in the
// slabs and are never copied; arcs added to an earlier state move that state's arcs to the end,
// with room to double. Rivals: a slice a state costs 24 traced bytes and an allocation a state; one
// flat array is copied whole when it grows.
//
// The zero value is an empty machine ready to use. Reading from several
// goroutines is safe while none writes.
type Vector[W semiring.Weight[W]] struct {
	start  StateID // biased by one, so that the zero Vector has no start
	finals []W
	spans  []span
	slabs  [][]Arc[W] // slab k holds positions k<<slabBits …; a longer one covers several k; nil is one that is not used any longer
	top    int64      // first free position of the slab that is being filled
	end    int64      // first position beyond that slab
	arcs   int        // live arcs

	props        atomic.Uint64
	isyms, osyms *SymbolTable
}

// span places a state's arcs: n of them at pos, with room for room.
type span struct {
	pos     int64
	n, room int32
}

const (
	slabBits = 14
	slabSize = 1 << slabBits // arcs: 256 KiB with 4-byte weights
	slabMask = slabSize - 1
)

// NewVector returns an empty machine with room for states states, to be had
// without growing. Zero is a good argument.
func NewVector[W semiring.Weight[W]](states int) *Vector[W] {
	v := &Vector[W]{}
	v.ReserveStates(states)
	return v
}

// VectorOf returns the machine whose state q has final weight finals[q] and the
// arcs from ends[q-1] (0 for the first) up to ends[q]. The arrays are not copied:
// finals and arcs belong to the machine from then on. It has no start state and
// no known properties.
//
// The arcs may be in several parts, which then are counted as if they lay back to back. No state
// straddles two of them. So a result of unknown size ends in arrays of its exact size without a
// copy of the whole.
func VectorOf[W semiring.Weight[W]](finals []W, ends []int64, arcs ...[]Arc[W]) *Vector[W] {
	v := &Vector[W]{finals: finals, spans: make([]span, len(finals))}
	begin := int64(0)
	rest := arcs
	shift, until := int64(0), int64(0) // of the part that is under way: from counts to positions, its end as counted
	for q := range v.spans {
		n := int32(ends[q] - begin)
		if n > 0 && begin == until {
			for len(rest[0]) == 0 {
				rest = rest[1:]
			}
			shift = int64(len(v.slabs))<<slabBits - begin
			until += int64(len(rest[0]))
			v.addSlabs(rest[0])
			v.top = until + shift
			rest = rest[1:]
		}
		v.spans[q] = span{pos: begin + shift, n: n, room: n}
		begin = ends[q]
	}
	v.arcs, v.end = int(begin), v.top
	return v
}

// NumStates returns the number of states.
func (v *Vector[W]) NumStates() int { return len(v.finals) }

// NumArcs returns the number of arcs, in constant time.
func (v *Vector[W]) NumArcs() int { return v.arcs }

// Start returns the start state, or NoState.
func (v *Vector[W]) Start() StateID { return v.start - 1 }

// Final returns the final weight of q, 0̄ when q is not final.
func (v *Vector[W]) Final(q StateID) W { return v.finals[q] }

// Arcs returns the arcs of q in order. The slice is read-only and valid until
// the machine changes.
func (v *Vector[W]) Arcs(q StateID) []Arc[W] {
	s := v.spans[q]
	if s.n == 0 {
		return nil
	}
	i := int(s.pos & slabMask)
	return v.slabs[s.pos>>slabBits][i : i+int(s.n) : i+int(s.n)]
}

// OutDegree returns how many arcs q has, without a look at where they are.
func (v *Vector[W]) OutDegree(q StateID) int { return int(v.spans[q].n) }

// MutableArcs returns the arcs of q for changing in place. Whoever writes to
// them says afterwards with SetProperties what still holds: the machine cannot
// see the writes.
func (v *Vector[W]) MutableArcs(q StateID) []Arc[W] { return v.Arcs(q) }

// ReserveStates makes room for n states in all.
func (v *Vector[W]) ReserveStates(n int) {
	d := n - len(v.finals)
	switch {
	case d <= 0:
	case cap(v.finals) == 0: // fresh memory, which nobody has to clear
		v.finals, v.spans = make([]W, 0, withSpare(n)), make([]span, 0, withSpare(n))
	default:
		v.finals = slices.Grow(v.finals, d)
		v.spans = slices.Grow(v.spans, d)
	}
}

// withSpare is n, or a little more where n is large: operations that add a start or an end
// then do not copy the arrays of all states.
func withSpare(n int) int {
	if n < 256 {
		return n
	}
	return n + 4
}

// AddState adds a state without arcs that is not final, and returns its id.
func (v *Vector[W]) AddState() StateID {
	q := StateID(len(v.finals))
	if len(v.finals) > maxState {
		panic("fst: more than 2³¹-1 states")
	}
	var w W
	p := v.knownProps()
	v.finals = append(v.finals, w.Zero())
	v.spans = append(v.spans, span{})
	v.setProps(addStateProps(p))
	return q
}

const maxState = 1<<31 - 2

// AddStates adds n states.
func (v *Vector[W]) AddStates(n int) {
	v.ReserveStates(len(v.finals) + n)
	for range n {
		v.AddState()
	}
}

// SetStart makes q the start state; NoState leaves the machine without one.
func (v *Vector[W]) SetStart(q StateID) {
	if q != NoState {
		v.mustHave(q, "SetStart")
	}
	v.start = q + 1
	v.setProps(setStartProps(v.knownProps()))
}

// mustHave panics with what to do where q is no state.
func (v *Vector[W]) mustHave(q StateID, method string) {
	if uint(q) >= uint(len(v.finals)) {
		v.lacks(q, method)
	}
}

func (v *Vector[W]) lacks(q StateID, method string) {
	panic(fmt.Sprintf("fst: %s of state %d on a machine of %d states: AddState makes states, NewVector only reserves room for them", method, q, len(v.finals)))
}

// SetFinal gives q the final weight w; 0̄ makes it non-final.
func (v *Vector[W]) SetFinal(q StateID, w W) {
	v.mustHave(q, "SetFinal")
	old := v.finals[q]
	v.finals[q] = w
	v.setProps(setFinalProps(v.knownProps(), old, w))
}

// AddArc appends an arc to q, in amortized constant time. The next state need
// not exist yet, but must before the machine is used.
func (v *Vector[W]) AddArc(q StateID, e Arc[W]) {
	v.mustHave(q, "AddArc")
	var prev *Arc[W]
	if a := v.Arcs(q); len(a) > 0 {
		prev = &a[len(a)-1]
	}
	v.setProps(addArcProps(v.knownProps(), q, &e, prev))
	v.appendArcs(q, 1)[0] = e
}

// SetArcs replaces the arcs of q, copying them. The known properties become
// none but what a caller then sets.
func (v *Vector[W]) SetArcs(q StateID, arcs []Arc[W]) {
	s := &v.spans[q]
	v.arcs -= int(s.n)
	s.n = 0
	if len(arcs) > 0 {
		copy(v.appendArcs(q, len(arcs)), arcs)
	}
	v.setProps(v.knownProps() & binaryProperties)
}

// PushState adds a state with its final weight and a copy of its arcs, without
// looking at properties: the way to write results, state by state. The machine
// forgets what it knew; the caller sets the properties of the whole at the end.
func (v *Vector[W]) PushState(final W, arcs []Arc[W]) StateID {
	q := StateID(len(v.finals))
	if len(v.finals) > maxState {
		panic("fst: more than 2³¹-1 states")
	}
	v.forget()
	v.finals = append(v.finals, final)
	v.spans = append(v.spans, span{})
	if len(arcs) > 0 {
		copy(v.appendArcs(q, len(arcs)), arcs)
	}
	return q
}

// PushStates is PushState of len(finals) states in a row. State i has the arcs
// arcs[ends[i-1]:ends[i]], with ends[-1] = 0: what many small states cost beside their arcs, for
// all at once.
func (v *Vector[W]) PushStates(finals []W, ends []int, arcs []Arc[W]) {
	for i, begin := 0, 0; i < len(finals); {
		n, room := i, int(v.end-v.top)
		for n < len(finals) && ends[n]-begin <= room {
			n++
		}
		if n == i { // a new slab is needed, or there is one state too many
			v.PushState(finals[i], arcs[begin:ends[i]])
			begin = ends[i]
			i++
			continue
		}
		if len(v.finals)+n-i > maxState+1 {
			panic("fst: more than 2³¹-1 states")
		}
		if i == 0 {
			v.forget()
		}
		v.finals = append(v.finals, finals[i:n]...)
		if end := ends[n-1]; end > begin {
			copy(v.slabs[v.top>>slabBits][v.top&slabMask:], arcs[begin:end])
		}
		for ; i < n; i++ {
			degree := ends[i] - begin
			if degree > maxState {
				panic("fst: more than 2³¹-1 arcs at a state")
			}
			v.spans = append(v.spans, span{pos: v.top, n: int32(degree), room: int32(degree)})
			v.top += int64(degree)
			v.arcs += degree
			begin = ends[i]
		}
	}
}

// forget drops what was known of a machine that is written state by state.
func (v *Vector[W]) forget() {
	if p := v.props.Load(); p != 0 || len(v.finals) == 0 {
		v.props.Store(p & uint64(Error))
	}
}

// appendArcs makes room for n more arcs at q and returns that room. Unless q's
// arcs are the last of the slabs, or q has room left, they move to the end.
func (v *Vector[W]) appendArcs(q StateID, n int) []Arc[W] {
	s := &v.spans[q]
	v.arcs += n
	need := int(s.n) + n
	if need > maxState {
		panic("fst: more than 2³¹-1 arcs at a state")
	}
	if need > int(s.room) {
		room := need
		if s.n > 0 { // it has grown before and will again
			room = min(2*need, maxState)
		}
		v.moveArcs(s, need, room)
	}
	slab := v.slabs[s.pos>>slabBits]
	i := int(s.pos&slabMask) + int(s.n)
	s.n = int32(need)
	return slab[i : i+n]
}

// moveArcs gives the span s room for need arcs where it is, or for room of them at the end.
func (v *Vector[W]) moveArcs(s *span, need, room int) {
	if s.room > 0 && s.pos+int64(s.room) == v.top && s.pos+int64(need) <= v.end &&
		int(s.pos&slabMask)+need <= len(v.slabs[s.pos>>slabBits]) {
		v.top = s.pos + int64(need) // the last state of the slabs: extend where it is
		s.room = int32(need)
		return
	}
	if v.top+int64(room) > v.end {
		v.grow(room)
	}
	old, was := v.arcsOf(*s), *s
	s.pos, s.room = v.top, int32(room)
	v.top += int64(room)
	copy(v.slabs[s.pos>>slabBits][s.pos&slabMask:], old)
	if k := was.pos >> slabBits; was.room >= slabSize && was.pos&slabMask == 0 && len(v.slabs[k]) == int(was.room) {
		// The slab held nothing else, and goes to the collector: a state of very many arcs
		// that come one by one leaves as much behind as it has.
		for n := int64(was.room); n > 0; n -= slabSize {
			v.slabs[k] = nil
			k++
		}
	}
}

func (v *Vector[W]) arcsOf(s span) []Arc[W] {
	if s.n == 0 {
		return nil
	}
	return v.slabs[s.pos>>slabBits][s.pos&slabMask:][:s.n]
}

// grow opens a slab that takes room arcs. Small machines start with small slabs: 16
// arcs, doubling up to slabDoubling, then an eighth of the arcs that are there up to
// slabSize, so that a machine of thousands has about a tenth of room to spare. (All
// the way doubling, 200 lattices of 3,808 arcs took 1.6 times what they hold.)
func (v *Vector[W]) grow(room int) {
	size := min(max(16, v.arcs), slabDoubling)
	size = max(size, min(v.arcs/8, slabSize), room)
	v.top = int64(len(v.slabs)) << slabBits
	v.addSlabs(make([]Arc[W], size))
	v.end = v.top + int64(size)
}

// slabDoubling is the size of slab, in arcs, up to which they double.
const slabDoubling = 512

// ReserveArcs makes room for n arcs, which states yet to be filled then share, in one piece: with
// the exact number no memory is wasted.
func (v *Vector[W]) ReserveArcs(n int) {
	if n > 0 && v.top+int64(n) > v.end {
		v.grow(n)
	}
}

// addSlabs adds a slab, which may cover several of the usual size.
func (v *Vector[W]) addSlabs(slab []Arc[W]) {
	for off := 0; off == 0 || off < len(slab); off += slabSize {
		v.slabs = append(v.slabs, slab[off:])
	}
}

// giveArcs makes arcs those of q, which has none: they are not copied, and belong to the machine
// from then on.
func (v *Vector[W]) giveArcs(q StateID, arcs []Arc[W]) {
	n := len(arcs)
	pos := int64(len(v.slabs)) << slabBits
	v.addSlabs(arcs)
	v.top = pos + int64(n)
	v.end = v.top
	v.spans[q] = span{pos, int32(n), int32(n)}
	v.arcs += n
}

// DeleteArcs removes all arcs of q.
func (v *Vector[W]) DeleteArcs(q StateID) { v.TruncateArcs(q, 0) }

// TruncateArcs keeps the first n arcs of q.
func (v *Vector[W]) TruncateArcs(q StateID, n int) {
	s := &v.spans[q]
	if n < 0 || n > int(s.n) {
		panic(fmt.Sprintf("fst: TruncateArcs(%d, %d) on a state of %d arcs", q, n, s.n))
	}
	v.arcs -= int(s.n) - n
	s.n = int32(n)
	v.setProps(deleteArcsProps(v.knownProps()))
}

// DeleteStates removes the states for which dead is true, with the arcs into
// them, and renumbers the others in order.
func (v *Vector[W]) DeleteStates(dead []bool) {
	set := make([]uint64, (len(dead)+63)/64)
	for q, d := range dead {
		if d {
			set[q/64] |= 1 << (q % 64)
		}
	}
	v.deleteStateSet(set, 1)
}

// deleteStateSet is DeleteStates of the states q for which bit q%64 of dead[q/64] is set, by
// several goroutines, between which the arcs are divided; the result is the same for any number of
// them. What dead has beyond the last state is not looked at.
func (v *Vector[W]) deleteStateSet(dead []uint64, workers int) {
	states := len(v.finals)
	left := make([]leftStates, len(dead))
	n := 0
	for i, d := range dead {
		if k := states - i*64; k < 64 {
			d |= ^uint64(0) << k
		}
		left[i] = leftStates{^d, StateID(n)}
		n += bits.OnesCount64(^d)
	}
	// Each block of states moves up to its own beginning, by whoever takes it, and then all
	// blocks move up. One worker does all as one block.
	block := max(1, states)
	if workers > 1 {
		block = min(block, deleteAtOnce)
	}
	kept := make([]blockKept, (states+block-1)/block)
	var next atomic.Int64
	work := func() {
		for k := int(next.Add(1) - 1); k < len(kept); k = int(next.Add(1) - 1) {
			kept[k] = v.deleteBlock(k*block, min((k+1)*block, states), left)
		}
	}
	var wg sync.WaitGroup
	for k := 1; k < workers && k < len(kept); k++ {
		wg.Go(work)
	}
	work()
	wg.Wait()
	v.arcs = 0
	to := 0
	for k, b := range kept {
		v.arcs += b.arcs
		if lo := k * block; to < lo {
			copy(v.spans[to:], v.spans[lo:lo+b.states])
			copy(v.finals[to:], v.finals[lo:lo+b.states])
		}
		to += b.states
	}
	v.finals, v.spans = v.finals[:n], v.spans[:n]
	if v.start > 0 {
		q, ok := newNumber(left, v.start-1)
		v.start = 0
		if ok {
			v.start = q + 1
		}
	}
	v.setProps(deleteStatesProps(v.knownProps()))
}

// deleteAtOnce is how many states a worker takes at once; a multiple of 64.
const deleteAtOnce = 1 << 14

// leftStates tells which of 64 states stay, and how many before them do. All of them are a
// sixteenth of an array of new numbers, for the caches that arcs are looked up in at random.
type leftStates struct {
	bits   uint64
	before StateID
}

// newNumber returns the number that q gets, and whether it stays.
func newNumber(left []leftStates, q StateID) (StateID, bool) {
	l := &left[uint32(q)/64]
	bit := uint64(1) << (uint32(q) % 64)
	return l.before + StateID(bits.OnesCount64(l.bits&(bit-1))), l.bits&bit != 0
}

// blockKept is what is left of a block.
type blockKept struct{ states, arcs int }

// deleteBlock moves the states lo ≤ q < hi that stay to the beginning of the block, drops their
// arcs to states that do not, and gives the others the number of their next state. lo is a multiple
// of 64.
func (v *Vector[W]) deleteBlock(lo, hi int, left []leftStates) (b blockKept) {
	to := lo
	for i := lo / 64; i*64 < hi; i++ {
		for rest := left[i].bits; rest != 0; rest &= rest - 1 {
			q := i*64 + bits.TrailingZeros64(rest)
			s := v.spans[q]
			arcs := v.arcsOf(s)
			k := 0
			for i := range arcs {
				if t, ok := newNumber(left, arcs[i].NextState); ok {
					if k < i {
						arcs[k] = arcs[i]
					}
					arcs[k].NextState = t
					k++
				}
			}
			s.n = int32(k)
			v.spans[to], v.finals[to] = s, v.finals[q]
			to++
			b.arcs += k
		}
	}
	b.states = to - lo
	return b
}

// Clear removes all states and keeps the symbol tables.
func (v *Vector[W]) Clear() {
	v.start, v.finals, v.spans, v.slabs, v.top, v.end, v.arcs = 0, nil, nil, nil, 0, 0, 0
	v.props.Store(0)
}

// Clone returns a deep copy: changing one leaves the other as it is. Symbol
// tables, which are immutable once attached, are shared.
func (v *Vector[W]) Clone() *Vector[W] {
	c := &Vector[W]{start: v.start, isyms: v.isyms, osyms: v.osyms}
	c.finals = slices.Clone(v.finals)
	c.spans = make([]span, len(v.spans), withSpare(len(v.spans)))
	c.ReserveArcs(v.arcs)
	for q := range v.spans {
		if a := v.arcsOf(v.spans[q]); len(a) > 0 {
			copy(c.appendArcs(StateID(q), len(a)), a)
		}
	}
	c.setProps(v.knownProps())
	return c
}

// InputSymbols returns the table that names input labels, or nil.
func (v *Vector[W]) InputSymbols() *SymbolTable { return v.isyms }

// OutputSymbols returns the table that names output labels, or nil.
func (v *Vector[W]) OutputSymbols() *SymbolTable { return v.osyms }

// SetInputSymbols attaches a table, which must not change afterwards; nil
// detaches.
func (v *Vector[W]) SetInputSymbols(t *SymbolTable) { v.isyms = t }

// SetOutputSymbols attaches a table, which must not change afterwards; nil
// detaches.
func (v *Vector[W]) SetOutputSymbols(t *SymbolTable) { v.osyms = t }

// CopySymbols attaches the tables of f, a machine with or without any.
func (v *Vector[W]) CopySymbols(f any) {
	v.isyms, v.osyms = InputSymbols(f), OutputSymbols(f)
}

// KnownProperties returns what is known without looking.
func (v *Vector[W]) KnownProperties() Properties { return v.knownProps() | Expandable | Mutable }

// LearnProperties adds facts found out about the machine as it is.
func (v *Vector[W]) LearnProperties(p Properties) {
	if len(v.finals) > 0 { // of a machine without states all is known
		v.props.Or(uint64(p))
	}
}

// SetProperties replaces the known facts where mask is set: an operation that
// wrote states directly says what it knows of its result.
func (v *Vector[W]) SetProperties(p, mask Properties) {
	v.setProps(v.knownProps()&^mask | p&mask)
}

// knownProps knows all about a machine without states, which is how the zero
// Vector starts.
func (v *Vector[W]) knownProps() Properties {
	if len(v.finals) == 0 {
		return NullProperties
	}
	return Properties(v.props.Load())
}

// setProps stores p. Most mutations change nothing, and a store costs several
// times a load.
func (v *Vector[W]) setProps(p Properties) {
	if v.props.Load() != uint64(p) {
		v.props.Store(uint64(p))
	}
}
