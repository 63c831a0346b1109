package fst

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// FileTypes lists the types of machines in files, which Read reads and Write writes.
func FileTypes() []string {
	types := []string{"vector"}
	for _, u := range []string{"", "8", "16", "64"} {
		types = append(types, "const"+u)
	}
	for _, u := range []string{"", "8", "16", "64"} {
		for _, k := range compactNames {
			types = append(types, "compact"+u+"_"+k)
		}
	}
	return append(append(types, "edit", "ngram"), AddOnTypes()...)
}

// Read reads a binary machine of any of FileTypes, aligned or not, and returns a
// *Vector or a *Const. The file's arc type must be W's. Errors are BinaryErrors.
//
// What is returned is well formed: next states are in range and no weight is
// NaN, whatever the file holds. Time and memory are within a constant factor of
// the size of what could be read.
func Read[W semiring.Codec[W]](r io.Reader, opts *ReadOptions) (Expanded[W], error) {
	s := NewStream(r, opts)
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	return ReadBody[W](s, h)
}

// ReadBody reads what follows h, which s.ReadHeader has just returned.
func ReadBody[W semiring.Codec[W]](s *Stream, h *Header) (Expanded[W], error) {
	var w W
	if h.ArcType != w.ArcType() {
		return nil, s.fail("a machine with arcs of type %q, not %q", h.ArcType, w.ArcType())
	}
	b := &bodyReader[W]{Stream: s, h: h, layout: layoutOf[W](), facts: newArcFacts[W](StateID(h.Start))}
	if b.layout.float == 0 {
		b.facts.kind = 0
	}
	switch h.FstType {
	case "vector":
		return b.vector()
	case "const":
		return b.constant(4)
	case "const8":
		return b.constant(1)
	case "const16":
		return b.constant(2)
	case "const64":
		return b.constant(8)
	case "edit":
		return b.edit()
	case "ngram":
		return b.ngram()
	}
	if k, u, ok := parseCompact(h.FstType); ok {
		return b.compact(k, u)
	}
	if slices.Contains(AddOnTypes(), h.FstType) {
		return b.addOn()
	}
	return nil, s.fail("machines of type %q cannot be read (known are %s)", h.FstType, strings.Join(FileTypes(), ", "))
}

type bodyReader[W semiring.Codec[W]] struct {
	*Stream
	h      *Header
	layout layout
	facts  arcFacts

	anyNext bool // next states may be those of another machine
}

// weight reads one weight.
func (b *bodyReader[W]) weight() (w W, err error) {
	if _, err := b.peek(max(b.layout.size, 1)); err != nil {
		return w, err
	}
	for {
		// All that is in the buffer is offered: only the weight knows its size.
		have := b.end - b.pos
		v, k, err := w.DecodeBinary(b.buf[b.pos:b.end])
		if err != nil {
			return w, b.fail("%w", err)
		}
		if k > 0 {
			if badWeight(v) {
				return w, b.fail("a weight that is %s", v.AppendText(nil))
			}
			b.pos += k
			return v, nil
		}
		// Twice as much, so that long weights are not decoded too often; near
		// the end of the input, what there is.
		if _, err := b.peek(have + min(have, math.MaxInt-have)); err != nil && b.end-b.pos == have {
			return w, err
		}
	}
}

// vector reads the body of a vector file: state by state its final weight, the
// number of its arcs, and the arcs.
func (b *bodyReader[W]) vector() (*Vector[W], error) {
	if b.h.Version != 2 {
		return nil, b.fail("version %d of the vector format; 2 is what can be read", b.h.Version)
	}
	v, recycled := recycle[W](b.Stream)
	v.isyms, v.osyms = b.h.InputSymbols, b.h.OutputSymbols
	// A state takes at least 12 bytes or so; small machines are common.
	v.ReserveStates(b.room(b.h.NumStates, max(b.layout.size, 4)+8))
	whole := b.alone && b.size >= 0
	if size := int64(b.layout.size); !recycled && size > 0 && whole && b.h.NumStates >= 0 {
		// What is left of the file when the states are taken off are arcs: one
		// slab of just that size holds them. Where other machines follow the first, what
		// is too much is given back at the end; those cannot have such slabs, which would
		// make the time quadratic in their number.
		if n := (b.size - b.offset() - b.h.NumStates*(size+8)) / (size + 12); n > 0 && n <= maxSlab {
			v.grow(int(n))
		}
	}
	var slab []Arc[W] // the arcs of a small machine among many, until their number is known
	if !whole && !recycled {
		slab, _ = b.scratch.([]Arc[W])
		if slab == nil && b.scratch == nil {
			slab = make([]Arc[W], firstScratch)
		}
		b.scratch = nil
		if slab != nil {
			v.addSlabs(slab)
			v.end = int64(len(slab))
		}
	}
	for {
		if b.facts.kind != 0 {
			b.quick(v)
		}
		q := int64(len(v.finals))
		if q == b.h.NumStates {
			break
		}
		if b.h.NumStates < 0 && b.atEnd() {
			break
		}
		if q > maxState {
			return nil, b.fail("more than %d states", maxState)
		}
		final, err := b.weight()
		if err != nil {
			return nil, b.at(err, q)
		}
		n, err := b.int64()
		if err != nil {
			return nil, b.at(err, q)
		}
		if n < 0 || n > maxState {
			b.pos -= 8
			return nil, b.fail("state %d has %d arcs", q, n)
		}
		v.finals = append(v.finals, final)
		v.spans = append(v.spans, span{})
		b.facts.begin()
		if err := b.arcsInto(v, StateID(q), int(n)); err != nil {
			return nil, b.at(err, q)
		}
		if b.facts.kind != 0 {
			b.facts.final(b.number(&final))
		}
	}
	if b.h.Start >= int64(len(v.finals)) {
		return nil, b.fail("start state %d of %d", b.h.Start, len(v.finals))
	}
	v.start = StateID(b.h.Start) + 1
	if slab != nil {
		if len(v.slabs) == 1 {
			v.slabs = nil
			if v.top > 0 {
				v.slabs = [][]Arc[W]{slices.Clone(slab[:v.top])}
			}
			v.end = v.top
			b.scratch = slab
		} else { // it is the machine's from now on
			b.scratch = make([]Arc[W], min(2*len(slab), slabSize))
		}
	}
	if all := v.slabs; slab == nil && !recycled && len(all) > 0 && int64(len(all[0])) == v.end && v.end > 2*v.top {
		v.slabs = nil
		v.addSlabs(slices.Clone(all[0][:v.top]))
		v.end = v.top
	}
	if b.h.NumStates < 0 { // only now is it known which next states there are
		for q := range v.spans {
			for i, e := range v.Arcs(StateID(q)) {
				if int(e.NextState) >= len(v.finals) {
					return nil, b.fail("arc %d of state %d goes to state %d of %d", i, q, e.NextState, len(v.finals))
				}
			}
		}
	}
	p := b.properties(v)
	v.props.Store(uint64(p))
	return v, nil
}

// firstScratch is how many arcs the slab has, at first, into which machines of unknown size are
// read before they get one of just their size: 200 lattices of 3,808 arcs took an eighth more
// when each had slabs that grow.
const firstScratch = 512

// maxSlab bounds, in arcs, the slab that is reserved at once.
const maxSlab = 1 << 28

// number returns a weight that is a float.
func (b *bodyReader[W]) number(w *W) float64 {
	if b.facts.kind == number32 {
		return float64(*(*float32)(unsafe.Pointer(w)))
	}
	return *(*float64)(unsafe.Pointer(w))
}

// quick reads states with weights that are floats for as long as they lie whole in the buffer, and
// their arcs fit in the slab. Whatever is not so simple, or wrong, it leaves where it is for the
// general way, which reads one state at least. With it, and the facts about arcs gathered on the
// way, 780,000 states and 910,000 arcs take 17 ms of processor time, where the general way and a
// pass of its own for the header's claims took 46; 12 where the header is believed, and its claims
// are only checked.
func (b *bodyReader[W]) quick(v *Vector[W]) {
	next := uint32(1<<31 - 1)
	states := int64(maxState)
	if b.h.NumStates >= 0 {
		next, states = uint32(b.h.NumStates), b.h.NumStates
	}
	for b.quickBlock(v, next, states) {
	}
}

// blockStates is how many states quick reads before it looks at their arcs: those are still in the
// cache, and what is gathered of them stays in registers. 20 ms of those 780,000 states, where to
// look at the arcs of each state, of which there are one or two, took 24; one arc copied without a
// call makes it 17.
const blockStates = 512

// quickBlock reads up to blockStates states and reports whether it could, and more may follow.
func (b *bodyReader[W]) quickBlock(v *Vector[W], next uint32, states int64) bool {
	le := binary.LittleEndian
	size := b.layout.size
	first, top := len(v.finals), v.top
	stop := min(states, int64(first)+blockStates)
	if int64(first) == stop {
		return false
	}
	var slab []Arc[W]
	if i := v.top >> slabBits; i < int64(len(v.slabs)) {
		if s := v.slabs[i]; v.top&slabMask < int64(len(s)) {
			slab = s[v.top&slabMask:]
			slab = slab[:min(int64(len(slab)), v.end-v.top)]
		}
	}
	more, used := true, 0
	var room [blockStates]int
	counts := room[:0]
	src := b.buf[b.pos:b.end]
	for int64(len(v.finals)) < stop {
		if len(src) < size+8 {
			more = false
			break
		}
		narcs := le.Uint64(src[size:])
		if narcs > uint64(len(src)-size-8)/uint64(size+12) || narcs > uint64(len(slab)-used) {
			more = false
			break
		}
		var final W
		if size == 4 {
			*(*uint32)(unsafe.Pointer(&final)) = le.Uint32(src)
		} else {
			*(*uint64)(unsafe.Pointer(&final)) = le.Uint64(src)
		}
		x := b.number(&final)
		if x != x {
			more = false
			break
		}
		b.facts.final(x)
		n, s := int32(narcs), span{}
		data := src[size+8:]
		src = data[int(narcs)*(size+12):]
		if n > 0 {
			arcs := slab[used:][:n]
			if size == 4 && n == 1 { // as most states have it that have any
				*(*[16]byte)(unsafe.Pointer(&arcs[0])) = [16]byte(data)
			} else if size == 4 {
				copy(unsafe.Slice((*byte)(unsafe.Pointer(&arcs[0])), 16*n), data)
			} else {
				for i := range arcs {
					e, d := &arcs[i], data[20*i:][:20:20]
					e.ILabel, e.OLabel = Label(le.Uint32(d)), Label(le.Uint32(d[4:]))
					*(*uint64)(unsafe.Pointer(&e.Weight)) = le.Uint64(d[8:])
					e.NextState = StateID(le.Uint32(d[16:]))
				}
			}
			s = span{top + int64(used), n, n}
			used += int(n)
		}
		v.finals = append(v.finals, final)
		v.spans = append(v.spans, s)
		counts = append(counts, int(n))
	}
	if used > 0 && !(b.opts.Trust && size == 4 && allRight(unsafe.Slice((*Arc[float32])(unsafe.Pointer(&slab[0])), used), next)) {
		b.facts.begin()
		if wrong := noteRows(&b.facts, slab[:used], counts, StateID(first), next); wrong >= 0 {
			// That state and those after it are not read yet.
			more = false
			v.finals, v.spans = v.finals[:first+wrong], v.spans[:first+wrong]
			used = 0
			for _, k := range counts[:wrong] {
				used += k
			}
		}
	}
	v.top += int64(used)
	v.arcs += used
	b.pos += (len(v.finals)-first)*(size+8) + used*(size+12)
	return more
}

// at adds the state to an error without losing the type that tells the offset.
func (b *bodyReader[W]) at(err error, q int64) error {
	if e, ok := err.(*BinaryError); ok {
		e.Err = fmt.Errorf("state %d: %w", q, e.Err)
	}
	return err
}

// pieceBytes is what is read of a state's arcs at once where the size of the input is not known:
// memory is only taken for what has arrived.
const pieceBytes = 1 << 20

// pieceGrowth is how many times the arcs of a state that have arrived room is taken for. Pages of
// the room that nothing arrives for are never touched, and so cost addresses, not memory; what is
// copied and left to the collector when room is taken anew is the less the greater it is.
const pieceGrowth = 32

// arcsInto reads n arcs and gives them to state q of v, its last. Two million arcs of a state have
// 32 MB, and took 120 when they were gathered in an array that doubled before they came to where
// they stay.
func (b *bodyReader[W]) arcsInto(v *Vector[W], q StateID, n int) error {
	if n == 0 {
		return nil
	}
	const piece = pieceBytes / 16
	if n <= max(piece, b.room(int64(n), 12+b.layout.size)) {
		return b.decode(v.appendArcs(q, n), q)
	}
	arcs := make([]Arc[W], 0, piece)
	for done := 0; done < n; {
		if done == cap(arcs) {
			room := make([]Arc[W], done, int(min(int64(n), pieceGrowth*int64(done))))
			copy(room, arcs)
			arcs = room
		}
		k := min(piece, cap(arcs)-done)
		arcs = arcs[:done+k]
		if err := b.decode(arcs[done:], q); err != nil {
			return err
		}
		done += k
	}
	v.giveArcs(q, arcs)
	return nil
}

// decode reads len(arcs) arcs of state q in the packed form of vector files.
func (b *bodyReader[W]) decode(arcs []Arc[W], q StateID) error {
	n := uint32(1<<31 - 1) // next states must be below it
	if b.h.NumStates >= 0 && !b.anyNext {
		n = uint32(b.h.NumStates)
	}
	if b.layout.raw && b.layout.size == 4 {
		if mem := rawArcs(b.layout, arcs); mem != nil {
			at := b.offset()
			if err := b.full(mem); err != nil {
				return err
			}
			return b.check(arcs, n, q, at, 16)
		}
	}
	size := 12 + b.layout.size
	if b.layout.raw {
		le := binary.LittleEndian
		for len(arcs) > 0 {
			k := min(len(arcs), max(1, (b.end-b.pos)/size))
			src, err := b.peek(k * size)
			if err != nil {
				return err
			}
			for i := range arcs[:k] {
				e, s := &arcs[i], src[i*size:][:size:size]
				e.ILabel, e.OLabel = Label(le.Uint32(s)), Label(le.Uint32(s[4:]))
				if b.layout.float == reflect.Float64 {
					*(*uint64)(unsafe.Pointer(&e.Weight)) = le.Uint64(s[8:])
					e.NextState = StateID(le.Uint32(s[16:]))
					continue
				}
				copy(unsafe.Slice((*byte)(unsafe.Pointer(&e.Weight)), unsafe.Sizeof(e.Weight)), s[8:])
				e.NextState = StateID(le.Uint32(s[size-4:]))
			}
			if err := b.check(arcs[:k], n, q, b.offset(), size); err != nil {
				return err
			}
			b.pos += k * size
			arcs = arcs[k:]
		}
		return nil
	}
	for i := range arcs {
		e := &arcs[i]
		src, err := b.take(8)
		if err != nil {
			return err
		}
		e.ILabel, e.OLabel = Label(binary.LittleEndian.Uint32(src)), Label(binary.LittleEndian.Uint32(src[4:]))
		if e.Weight, err = b.weight(); err != nil {
			return err
		}
		t, err := b.int32()
		if err != nil {
			return err
		}
		if uint32(t) >= n {
			b.pos -= 4
			return b.fail("an arc to state %d of %d", t, b.h.NumStates)
		}
		e.NextState = StateID(t)
	}
	return nil
}

// check looks at arcs that were copied whole: at is the offset of the first in
// the file, size what each took.
func (b *bodyReader[W]) check(arcs []Arc[W], n uint32, q StateID, at int64, size int) error {
	if b.facts.kind != 0 && noteArcs(&b.facts, arcs, q, n) {
		return nil
	}
	if b.layout.float == reflect.Float32 && len(arcs) > 0 &&
		allRight(unsafe.Slice((*Arc[float32])(unsafe.Pointer(&arcs[0])), len(arcs)), n) {
		return nil
	}
	for i := range arcs {
		e := &arcs[i]
		bad := false
		if b.layout.float != 0 {
			bad = badNumber(b.layout, &e.Weight)
		} else {
			bad = badWeight(e.Weight)
		}
		if bad || uint32(e.NextState) >= n {
			at += int64(i) * int64(size)
			what := fmt.Errorf("arc %d goes to state %d of %d", i, e.NextState, b.h.NumStates)
			if bad {
				what = fmt.Errorf("arc %d has a weight that is %s", i, e.Weight.AppendText(nil))
			}
			return &BinaryError{b.opts.Name, at, what}
		}
	}
	return nil
}

// allRight reports whether no weight is NaN and all next states are below n. It
// looks at all of them without a branch, which takes half the time of stopping at
// the first that is wrong.
//
// A weight and the next state behind it are tested as one number of 64 bits: a number of 31
// bits is too large when its difference to the largest allowed is negative. A difference borrows
// from the upper half only when the lower one is too large, which bit 31 then tells.
func allRight(arcs []Arc[float32], n uint32) bool {
	if len(arcs) == 0 {
		return true
	}
	const sign = 1 << 31
	most := uint64(n-1)<<32 | infinity32
	wrong := uint64(0)
	pairs := unsafe.Slice((*struct{ labels, rest uint64 })(unsafe.Pointer(&arcs[0])), len(arcs))
	k := len(pairs) / streams
	as, bs, cs, ds := pairs[:k], pairs[k:2*k], pairs[2*k:3*k], pairs[3*k:4*k]
	for i := range k {
		a, b, c, d := as[i].rest&^sign, bs[i].rest&^sign, cs[i].rest&^sign, ds[i].rest&^sign
		wrong |= a | (most - a) | b | (most - b) | (c | (most - c) | d | (most - d))
	}
	for i := streams * k; i < len(pairs); i++ {
		x := pairs[i].rest &^ sign
		wrong |= x | (most - x)
	}
	return wrong&(sign<<32|sign) == 0
}

// constant reads the body of a const file: an array of states, then one of
// arcs, both C structs. u is the size of the offsets.
func (b *bodyReader[W]) constant(u int) (*Const[W], error) {
	if b.h.Version != 1 && b.h.Version != 2 {
		return nil, b.fail("version %d of the const format; 1 and 2 are what can be read", b.h.Version)
	}
	if b.layout.size == 0 {
		return nil, b.fail("a const machine cannot have arcs of type %q, whose weights take any number of bytes", b.h.ArcType)
	}
	if b.h.NumStates < 0 {
		return nil, b.fail("a const machine must tell the number of its states")
	}
	aligned := b.h.Version == 1 || b.h.Flags&IsAligned != 0
	if aligned {
		if err := b.align(); err != nil {
			return nil, err
		}
	}
	n := int(b.h.NumStates)
	c := &Const[W]{start: StateID(b.h.Start), isyms: b.h.InputSymbols, osyms: b.h.OutputSymbols}
	if b.opts.Trust {
		b.facts.kind = 0 // nobody asks for what the arcs tell
	}
	if n > 0 && b.canStay(u, b.buf[b.pos:b.end]) {
		if err := b.stay(c, n, aligned); err != nil {
			return nil, err
		}
		c.props.Store(uint64(b.properties(c)))
		return c, nil
	}
	size, first := stateLayout(b.layout, u)
	room := b.room(int64(n), size)
	c.finals = unwritten[W](room)
	c.offset = append(unwritten[int64](room+1), 0)
	for q := 0; q < n; q++ {
		if b.layout.float == reflect.Float32 && u == 4 {
			var err error
			if q, err = b.quickStates(c, n); err != nil {
				return nil, err
			}
			if q == n {
				break
			}
		}
		src, err := b.peek(size)
		if err != nil {
			return nil, b.at(err, int64(q))
		}
		pos, narcs := unsigned(src[first:], u), unsigned(src[first+u:], u)
		if err := b.placed(q, pos, narcs, uint64(c.offset[q])); err != nil {
			return nil, err
		}
		w, k, err := (*new(W)).DecodeBinary(src[:b.layout.size])
		if err != nil || k != b.layout.size || badWeight(w) {
			return nil, b.badFinal(q)
		}
		c.finals = append(c.finals, w)
		c.offset = append(c.offset, c.offset[q]+int64(narcs))
		b.pos += size
	}
	if c.offset[n] != b.h.NumArcs {
		return nil, b.fail("the states have %d arcs, where the header says %d", c.offset[n], b.h.NumArcs)
	}
	if aligned {
		if err := b.align(); err != nil {
			return nil, err
		}
	}
	if err := b.constArcs(c); err != nil {
		return nil, err
	}
	c.props.Store(uint64(b.properties(c)))
	return c, nil
}

// constState is a state of a const file with weights of 4 bytes and offsets of 4, as
// it lies there.
type constState struct{ final, pos, narcs, iEpsilons, oEpsilons uint32 }

// quickStates reads states of a const file, as many at once as there are for
// certain, and returns the number of those read so far; the general way reads one
// more at least. Of 780,000 states and 910,000 arcs, which are only checked where
// the header is trusted, all the reading took 29 ms of processor time by the general way, 16
// with each state tested before the next, out of the stream's buffer, and 10 so.
func (b *bodyReader[W]) quickStates(c *Const[W], n int) (int, error) {
	const size = int(unsafe.Sizeof(constState{}))
	var block []constState
	for q := len(c.finals); q < n; {
		k := min(n-q, 8192) // more than the buffer, so that the data go straight where they shall
		if b.size < 0 || b.room(int64(k), size) < k {
			k = min(k, (b.end-b.pos)/size)
		}
		if k == 0 {
			return q, nil
		}
		if block == nil {
			block = make([]constState, k)
		}
		block = slices.Grow(block[:0], k)[:k]
		at := b.offset()
		if err := b.full(unsafe.Slice((*byte)(unsafe.Pointer(&block[0])), k*size)); err != nil {
			return q, b.at(err, int64(q))
		}
		c.finals, c.offset = slices.Grow(c.finals, k)[:q+k], slices.Grow(c.offset, k)[:q+k+1]
		finals := unsafe.Slice((*uint32)(unsafe.Pointer(&c.finals[q])), k)[:len(block)]
		offset := c.offset[q+1:][:len(block)]
		begin := uint64(c.offset[q])
		// Whether the block is right, without a branch; which state is not, below.
		most, end, gaps := uint32(0), begin, uint64(0)
		for i := range block {
			s := &block[i]
			if s.narcs > 0 {
				gaps |= uint64(s.pos) ^ end
			}
			most = max(most, s.final&^(1<<31))
			end += uint64(s.narcs)
			finals[i], offset[i] = s.final, int64(end)
		}
		if gaps != 0 || most > infinity32 || end > uint64(b.h.NumArcs) {
			if err := b.badState(block, q, begin, at); err != nil {
				return q, err
			}
		}
		q += k
	}
	return n, nil
}

// badState says what is wrong in a block of states, if anything is, the first of which is q,
// whose arcs are to begin at last; at is where the block is in the file.
func (b *bodyReader[W]) badState(block []constState, q int, last uint64, at int64) error {
	for i, s := range block {
		err := b.placed(q+i, uint64(s.pos), uint64(s.narcs), last)
		if err == nil && s.final&^(1<<31) > infinity32 {
			err = b.badFinal(q + i)
		}
		if e, ok := err.(*BinaryError); ok {
			e.Offset = at + int64(i)*int64(unsafe.Sizeof(s))
			return e
		}
		last += uint64(s.narcs)
	}
	return nil
}

// placed reports a state whose arcs do not follow those of the state before. Every
// writer puts the arcs of the states one after the other; overlapping ones would
// make a small file a large machine.
func (b *bodyReader[W]) placed(q int, pos, narcs, last uint64) error {
	if narcs > 0 && pos != last || narcs > uint64(b.h.NumArcs)-last {
		return b.fail("state %d has %d arcs from %d on, where those from %d on, of %d, must come", q, narcs, pos, last, b.h.NumArcs)
	}
	return nil
}

func (b *bodyReader[W]) badFinal(q int) error { return b.fail("state %d: a malformed final weight", q) }

// infinity32 is +∞ as bits of a float32; those of a NaN, without the sign, are more.
const infinity32 = 0x7f800000

// constArcs reads the array of arcs.
func (b *bodyReader[W]) constArcs(c *Const[W]) error {
	total := int(b.h.NumArcs)
	size := b.layout.arcSize()
	begin := b.offset()
	c.arcs = unwritten[Arc[W]](b.room(int64(total), size))
	// Each piece is checked while it is in the cache.
	const piece = 256 << 10
	q := StateID(0) // the first whose arcs are not noted
	for done := 0; done < total; {
		k := min(total-done, piece/size)
		c.arcs = slices.Grow(c.arcs, k)[:done+k]
		at := b.offset()
		if mem := rawArcs(b.layout, c.arcs[done:]); mem != nil {
			if err := b.full(mem); err != nil {
				return err
			}
		} else if err := b.structs(c.arcs[done:], done); err != nil {
			return err
		}
		done += k
		if b.facts.kind == 0 {
			if err := b.check(c.arcs[done-k:], uint32(b.h.NumStates), 0, at, size); err != nil {
				return err
			}
			continue
		}
		var err error
		if q, err = b.noteStates(c, q, done, begin); err != nil {
			return err
		}
	}
	if b.facts.kind != 0 {
		b.noteFinals(c)
	}
	return nil
}

// structs reads the arcs of a const file from the first on one field after the other.
func (b *bodyReader[W]) structs(arcs []Arc[W], first int) error {
	size, next := b.layout.arcSize(), b.layout.nextAt()
	le := binary.LittleEndian
	for i := range arcs {
		src, err := b.peek(size)
		if err != nil {
			return err
		}
		w, k, err := (*new(W)).DecodeBinary(src[weightAt:][:b.layout.size])
		if err != nil || k != b.layout.size {
			return b.fail("arc %d has a malformed weight", first+i)
		}
		arcs[i] = Arc[W]{Label(le.Uint32(src)), Label(le.Uint32(src[4:])), w, StateID(le.Uint32(src[next:]))}
		b.pos += size
	}
	return nil
}

// noteStates gathers what the arcs of states from q on, which begin at offset begin of the file,
// tell, and checks them meanwhile, for as long as all arcs of a state are among the first have; it
// returns the state that is next.
func (b *bodyReader[W]) noteStates(c *Const[W], q StateID, have int, begin int64) (StateID, error) {
	n := uint32(b.h.NumStates)
	at := 0
	if q > 0 && len(c.states) == 0 {
		at = int(c.offset[q])
	}
	var room [blockStates]int
	for more := true; more && q < StateID(n); {
		counts, end := room[:0], at
		for t := q; more && t < StateID(n) && len(counts) < blockStates; t++ {
			var narcs int
			if len(c.states) > 0 {
				narcs = int(c.states[t].narcs)
			} else {
				narcs = int(c.offset[t+1] - c.offset[t])
			}
			if more = end+narcs <= have; more {
				counts = append(counts, narcs)
				end += narcs
			}
		}
		b.facts.begin()
		if wrong := noteRows(&b.facts, c.arcs[at:end], counts, q, n); wrong >= 0 {
			for _, k := range counts[:wrong] {
				at += k
			}
			q += StateID(wrong)
			size := b.layout.arcSize()
			return q, b.at(b.check(c.arcs[at:at+counts[wrong]], n, q, begin+int64(at*size), size), int64(q))
		}
		q, at = q+StateID(len(counts)), end
	}
	return q, nil
}

// noteFinals gathers what the final weights tell.
func (b *bodyReader[W]) noteFinals(c *Const[W]) {
	for q := range StateID(c.NumStates()) {
		if b.facts.weighted {
			return
		}
		final := c.Final(q)
		b.facts.final(b.number(&final))
	}
}

// stateLayout returns the size of a state's struct in const files and the
// offset of its first number, with numbers of u bytes.
func stateLayout(l layout, u int) (size, first int) {
	first = roundUp(l.size, u)
	return roundUp(first+4*u, max(l.align, u)), first
}

func unsigned(b []byte, u int) uint64 {
	switch u {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// properties returns what the header says and the machine bears out. What the
// header leaves open stays open: some operations number their states by it, as
// OpenFst's do.
func (b *bodyReader[W]) properties(f Expanded[W]) Properties {
	p := b.h.Properties & (trinaryProperties | Error)
	if !b.opts.Trust {
		var facts *arcFacts
		if b.facts.kind != 0 {
			facts = &b.facts
		}
		p = p&Error | hold(f, p, facts)
	}
	// Both sides of a pair cannot be true; one that slipped in is not known.
	both := p & positiveProperties & (p & negativeProperties >> 1)
	return p &^ (both | both<<1)
}
