package fst

import (
	"reflect"
	"runtime"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// ReadBytes is Read of a machine that lies in memory, at the beginning of data. A const machine
// with weights that are float32 and 4-byte offsets, the common ones, is checked but not copied: its
// states and arcs stay in data. Data must not change or be unmapped while the machine or a slice of
// its arcs is used. Others are copied.
//
// What is returned is as well formed as what Read returns. Cost: one pass over the data,
// without a branch or a store, and no memory where nothing is copied. The data
// may be those of a file mapped into the address space; of them only what is used afterwards
// stays resident where opts.Checked gives back what has been looked at.
func ReadBytes[W semiring.Codec[W]](data []byte, opts *ReadOptions) (Expanded[W], error) {
	s := NewMemoryStream(data, opts)
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	return ReadBody[W](s, h)
}

// NewMemoryStream is NewStream over data in memory; it reads machines as ReadBytes does.
func NewMemoryStream(data []byte, opts *ReadOptions) *Stream {
	// All of the data are the buffer, which is never refilled.
	s := &Stream{buf: data, end: len(data), eof: true, lasting: true}
	if opts != nil {
		s.opts = *opts
	}
	s.base = s.opts.Offset
	s.size = s.base + int64(len(data))
	return s
}

// canStay reports whether states and arcs of a const file with offsets of u bytes, which
// begin at data, can be used where they are.
func (b *bodyReader[W]) canStay(u int, data []byte) bool {
	if !b.lasting || u != 4 || b.layout.float != reflect.Float32 || len(data) == 0 {
		return false
	}
	switch runtime.GOARCH {
	case "amd64", "arm64", "386":
		return true // which load from any address; most const files are not aligned
	}
	return uintptr(unsafe.Pointer(&data[0]))%4 == 0
}

// stay is constant for a machine that is not to be copied.
func (b *bodyReader[W]) stay(c *Const[W], n int, aligned bool) error {
	const size = int(unsafe.Sizeof(constState{}))
	if b.h.NumArcs > int64(b.end) {
		return b.fail("a header that tells of %d arcs in %d bytes", b.h.NumArcs, b.end)
	}
	at := b.offset()
	states, err := b.takeItems(n, size)
	if err != nil {
		return err
	}
	c.states = unsafe.Slice((*constState)(unsafe.Pointer(&states[0])), n)
	end, err := b.checkStates(c.states, states, at)
	if err != nil {
		return err
	}
	if end != b.h.NumArcs {
		return b.fail("the states have %d arcs, where the header says %d", end, b.h.NumArcs)
	}
	if aligned {
		if err := b.align(); err != nil {
			return err
		}
	}
	if total := int(b.h.NumArcs); total > 0 {
		at := b.offset()
		src, err := b.takeItems(total, b.layout.arcSize())
		if err != nil {
			return err
		}
		c.arcs = unsafe.Slice((*Arc[W])(unsafe.Pointer(&src[0])), total)
		if b.facts.kind == 0 {
			return b.checkArcs(c.arcs, src, at)
		}
		if _, err := b.noteStates(c, 0, total, at); err != nil {
			return err
		}
		b.noteFinals(c)
		if b.opts.Checked == nil {
			return nil
		}
		b.opts.Checked(states)
		b.opts.Checked(src)
		return nil
	}
	if b.facts.kind != 0 {
		b.noteFinals(c)
	}
	return nil
}

// checkedPart is how many bytes Checked is told of at once.
const checkedPart = 1 << 20

// checkArcs looks at the arcs that are in src, at offset at of the file.
func (b *bodyReader[W]) checkArcs(arcs []Arc[W], src []byte, at int64) error {
	n, size := uint32(b.h.NumStates), b.layout.arcSize()
	part := len(arcs)
	if b.opts.Checked != nil {
		part = checkedPart / size
	}
	for i := 0; i < len(arcs); i += part {
		end := min(i+part, len(arcs))
		if err := b.check(arcs[i:end], n, 0, at+int64(i*size), size); err != nil {
			return err
		}
		if b.opts.Checked != nil {
			b.opts.Checked(src[i*size : end*size])
		}
	}
	return nil
}

// checkStates looks at the states that are in src, at offset at of the file: their arcs must
// lie one after the other, and no final weight be NaN. It returns the number of the arcs.
//
// Blocks are looked at whole, without branches; only one with something odd in it is then gone
// through state by state.
func (b *bodyReader[W]) checkStates(states []constState, src []byte, at int64) (int64, error) {
	const block = 4096
	const size = int(unsafe.Sizeof(constState{}))
	told := 0
	tell := b.opts.Checked != nil && b.facts.kind == 0 // else they are looked at once more with the arcs
	end := uint64(0)
	for q := 0; q < len(states); {
		part := states[q:min(q+block, len(states))]
		begin := end
		odd, next := oddStates(part, end)
		if end = next; odd || end > uint64(b.h.NumArcs) {
			if err := b.badState(part, q, begin, at+int64(q)*int64(unsafe.Sizeof(part[0]))); err != nil {
				return 0, err
			}
		}
		q += len(part)
		if tell && (q*size-told >= checkedPart || q == len(states)) {
			b.opts.Checked(src[told : q*size])
			told = q * size
		}
	}
	return int64(end), nil
}

// oddStates reports whether there is a NaN among the final weights of states, or arcs that
// do not follow those of the state before, the first of which are to begin at end; and
// where the arcs end.
//
// A function of its own, so that all that its loop needs stays in registers.
//
//go:noinline
func oddStates(states []constState, end uint64) (bool, uint64) {
	last := len(states) - 1
	if last < 0 {
		return false, end
	}
	odd, nan := uint64(states[0].pos)^end, 2*infinity32-uint64(states[last].final<<1) // negative for NaN
	k := last / streams
	a, b, c, d := states[:k+1], states[k:2*k+1], states[2*k:3*k+1], states[3*k:4*k+1]
	for i := 0; i < k; i++ {
		s, t, u, v := &a[i], &b[i], &c[i], &d[i]
		odd |= (uint64(s.pos) + uint64(s.narcs)) ^ uint64(a[i+1].pos)
		odd |= (uint64(t.pos) + uint64(t.narcs)) ^ uint64(b[i+1].pos)
		odd |= (uint64(u.pos) + uint64(u.narcs)) ^ uint64(c[i+1].pos)
		odd |= (uint64(v.pos) + uint64(v.narcs)) ^ uint64(d[i+1].pos)
		nan |= (2*infinity32 - uint64(s.final<<1)) | (2*infinity32 - uint64(t.final<<1)) |
			(2*infinity32 - uint64(u.final<<1)) | (2*infinity32 - uint64(v.final<<1))
	}
	for i := streams * k; i < last; i++ {
		s := &states[i]
		odd |= (uint64(s.pos) + uint64(s.narcs)) ^ uint64(states[i+1].pos)
		nan |= 2*infinity32 - uint64(s.final<<1)
	}
	if odd != 0 { // places may be wrong where there are no arcs
		for i := range states {
			end += uint64(states[i].narcs)
		}
		return true, end
	}
	return nan>>63 != 0, end + uint64(states[last].pos-states[0].pos) + uint64(states[last].narcs)
}

// streams is how many parts of a block are looked at in turn: the memory brings several pages
// faster at once than one after the other.
const streams = 4
