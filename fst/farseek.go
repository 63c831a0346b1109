package fst

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// archiveIndex is the index at the end of a table: where each entry begins. It is never read whole,
// and says what a file says: each position is looked at before it is gone to.
type archiveIndex struct {
	at  io.ReaderAt // the archive
	n   int64       // how many entries it has
	end int64       // where they end: the index begins there, with its length

	held   []byte // some of the positions
	first  int64  // of which entry the first held one is
	sought bool   // entries come from where the index says, and must be where it says
}

// positionsHeld is how many positions are read at once by who goes through them in order.
const positionsHeld = 512

// position returns where entry i begins; more is how many may be read with it.
func (x *archiveIndex) position(i int64, more int) (int64, error) {
	if i < x.first || i >= x.first+int64(len(x.held)/8) {
		if cap(x.held) < 8*more {
			x.held = make([]byte, 8*more)
		}
		x.held = x.held[:8*min(int64(more), x.n-i)]
		if _, err := x.at.ReadAt(x.held, x.place(i)); err != nil {
			x.held = x.held[:0]
			return 0, err
		}
		x.first = i
	}
	return int64(binary.LittleEndian.Uint64(x.held[8*(i-x.first):])), nil
}

// place returns where in the file the position of entry i is.
func (x *archiveIndex) place(i int64) int64 { return x.end + 8 + 8*i }

// keyAt returns the key of the entry that begins at pos, which there is an entry before end.
func (x *archiveIndex) keyAt(pos, end int64) (string, error) {
	const magic = 4
	var first [64]byte
	b := first[:min(int64(len(first)), end-pos)]
	if _, err := x.at.ReadAt(b, pos); err != nil {
		return "", err
	}
	if len(b) < 4+magic {
		return "", errNoEntry
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	if n <= 0 || n > end-pos-4-magic {
		return "", errNoEntry
	}
	if whole := 4 + n + magic; whole > int64(len(b)) {
		// A key of any length may be claimed: that a machine stands behind it is looked at
		// first.
		if _, err := x.at.ReadAt(b[:magic], pos+4+n); err != nil {
			return "", err
		}
		if binary.LittleEndian.Uint32(b) != fstMagic {
			return "", errNoEntry
		}
		var key strings.Builder
		key.Grow(int(n))
		_, err := io.Copy(&key, io.NewSectionReader(x.at, pos+4, n))
		return key.String(), err
	}
	if binary.LittleEndian.Uint32(b[4+n:]) != fstMagic {
		return "", errNoEntry
	}
	return string(b[4 : 4+n]), nil
}

// leastEntry is how many bytes an entry has at least: those of a key, of the lengths of three
// strings, and of the numbers of a header.
const leastEntry = 1 + 3*4 + 3*4 + 4*8

var errNoEntry = errors.New("no entry, which is a key and a machine, begins there")

// wrong returns an error about position i of the index.
func (a *ArchiveReader) wrong(i int64, format string, args ...any) error {
	return &BinaryError{a.s.opts.Name, a.s.opts.Offset + a.index.place(i), fmt.Errorf("the index: entry %d of %d: "+format, append([]any{i + 1, a.index.n}, args...)...)}
}

// Seek goes to the first entry whose key is key or a later one, before or behind the present one:
// Next returns it, or io.EOF if there is none. "" is before all keys. The machine of the entry
// before need not have been read.
//
// Only archives with an index (ArchiveTable) can do so; for others the error is
// errors.ErrUnsupported, and nothing changes. Positions in the index count from the archive's first
// byte. Those that are looked at must be in order and lead to entries whose keys are in order, and
// from here on Next expects each entry where the index has it: what is not so is a BinaryError with
// the offset of the position. What is passed over is not examined: an archive may be read from a
// key on, and not from its start, or the other way round. After an error, Next is not to be called
// before another Seek.
//
// Time O(log(entries)) reads of a position and of a key; memory for two keys and 4 KB of the index.
func (a *ArchiveReader) Seek(key string) error {
	x := a.index
	if x == nil {
		return fmt.Errorf("fst: an archive of type %s has no index of keys: %w", a.Type, errors.ErrUnsupported)
	}
	// Entries before lo have lower keys than key, those from hi on have not: last of them is at
	// low, next at high.
	lo, hi, low, high := int64(0), x.n, int64(0), x.end
	var lowKey, highKey string
	for lo < hi {
		mid := lo + (hi-lo)/2
		x.held = x.held[:0]
		pos, err := x.position(mid, 1)
		switch {
		case err != nil:
			return a.wrong(mid, "%w", err)
		case pos < 8+mid*leastEntry || pos > x.end-(x.n-mid)*leastEntry:
			return a.wrong(mid, "position %d in a file of entries from 8 to %d leaves no room for those before it or behind", pos, x.end)
		case pos <= low && lo > 0:
			return a.wrong(mid, "position %d is not behind %d, that of entry %d", pos, low, lo)
		case pos >= high && hi < x.n:
			return a.wrong(mid, "position %d is not before %d, that of entry %d", pos, high, hi+1)
		}
		k, err := x.keyAt(pos, high)
		switch {
		case err != nil:
			return a.wrong(mid, "position %d: %w", pos, err)
		case lo > 0 && k < lowKey:
			return a.wrong(mid, "key %q after %q: keys must be in order: %w", clip([]byte(k)), clip([]byte(lowKey)), ErrArchive)
		case hi < x.n && k > highKey:
			return a.wrong(mid, "key %q before %q: keys must be in order: %w", clip([]byte(k)), clip([]byte(highKey)), ErrArchive)
		}
		if k < key {
			lo, low, lowKey = mid+1, pos, k
		} else {
			hi, high, highKey = mid, pos, k
		}
	}
	x.held, x.sought = x.held[:0], true
	a.left, a.last, a.any = x.n-lo, lowKey, lo > 0
	a.s.moveTo(x.at, high)
	return nil
}

// inPlace reports whether the next entry, or the end of the last, is where the index says.
func (a *ArchiveReader) inPlace() error {
	x := a.index
	if x == nil || !x.sought {
		return nil
	}
	i, want := x.n-a.left, x.end
	if a.left > 0 {
		var err error
		if want, err = x.position(i, positionsHeld); err != nil {
			return a.wrong(i, "%w", err)
		}
	}
	if at := a.s.offset() - a.s.opts.Offset; at != want {
		if a.left == 0 {
			return a.s.fail("the last entry ends here, where the index is at %d", a.s.opts.Offset+want)
		}
		return a.wrong(i, "position %d, where what is before it ends at %d", want, at)
	}
	return nil
}

// moveTo goes on with the byte that is at pos in file, where what s reads from begins at 0.
func (s *Stream) moveTo(file io.ReaderAt, pos int64) {
	here := s.opts.Offset + pos
	if here >= s.base && here <= s.base+int64(s.end) {
		s.pos = int(here - s.base)
		return
	}
	s.r = io.NewSectionReader(file, pos, max(0, s.size-here))
	s.base, s.pos, s.end, s.eof, s.err = here, 0, 0, false, nil
}

// SkipBody passes over what follows h, which s.ReadHeader or ArchiveReader.Next has just returned:
// what ReadBody would read. A machine is looked at only as far as its end is to be found: of a
// vector machine the number of arcs of each state, of a const one nothing. Other types, and those
// of vector whose weights have no fixed size, are decoded, the latter without being kept. Errors
// are BinaryErrors.
func SkipBody[W semiring.Codec[W]](s *Stream, h *Header) error {
	var w W
	b := &bodyReader[W]{Stream: s, h: h, layout: layoutOf[W]()}
	u, isConst := map[string]int{"const8": 1, "const16": 2, "const": 4, "const64": 8}[h.FstType]
	switch {
	case h.ArcType != w.ArcType():
	case h.FstType == "vector" && h.Version == 2:
		return b.skipVector()
	case isConst && (h.Version == 1 || h.Version == 2) && b.layout.size > 0 && h.NumStates >= 0:
		return b.skipConst(u)
	}
	_, err := ReadBody[W](s, h)
	return err
}

// skipVector passes over a vector machine.
func (b *bodyReader[W]) skipVector() error {
	size := b.layout.size
	for q := int64(0); q != b.h.NumStates && (b.h.NumStates >= 0 || !b.atEnd()); q++ {
		if size > 0 { // what is whole in the buffer, without a call
			src := b.buf[b.pos:b.end]
			for q != b.h.NumStates && len(src) >= size+8 {
				n := binary.LittleEndian.Uint64(src[size:])
				if n > uint64(len(src)-size-8)/uint64(size+12) {
					break
				}
				src = src[size+8+int(n)*(size+12):]
				q++
			}
			b.pos = b.end - len(src)
			if q == b.h.NumStates || b.h.NumStates < 0 && b.atEnd() {
				return nil
			}
		}
		if q > maxState {
			return b.fail("more than %d states", maxState)
		}
		if err := b.skipWeight(); err != nil {
			return b.at(err, q)
		}
		n, err := b.int64()
		if err != nil {
			return b.at(err, q)
		}
		if n < 0 || n > maxState {
			b.pos -= 8
			return b.fail("state %d has %d arcs", q, n)
		}
		if size > 0 {
			err = b.skip(n * int64(size+12))
		}
		for range n {
			if size > 0 || err != nil {
				break
			}
			if err = b.skip(8); err == nil {
				err = b.skipWeight()
			}
			if err == nil {
				err = b.skip(4)
			}
		}
		if err != nil {
			return b.at(err, q)
		}
	}
	return nil
}

// skipWeight passes over one weight.
func (b *bodyReader[W]) skipWeight() error {
	if b.layout.size > 0 {
		return b.skip(int64(b.layout.size))
	}
	_, err := b.weight()
	return err
}

// skipConst passes over a const machine whose offsets have u bytes.
func (b *bodyReader[W]) skipConst(u int) error {
	aligned := b.h.Version == 1 || b.h.Flags&IsAligned != 0
	size, _ := stateLayout(b.layout, u)
	for _, part := range []struct{ n, size int64 }{{b.h.NumStates, int64(size)}, {b.h.NumArcs, int64(b.layout.arcSize())}} {
		if aligned {
			if err := b.align(); err != nil {
				return err
			}
		}
		if part.n > math.MaxInt64/2/part.size {
			return b.fail("%d states and %d arcs", b.h.NumStates, b.h.NumArcs)
		}
		if err := b.skip(part.n * part.size); err != nil {
			return err
		}
	}
	return nil
}
