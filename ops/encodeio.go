package ops

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Files of encode tables have the layout of OpenFst's encode mappers: a magic
// number, the arc type, a byte of flags, the number of triples, and the triples in
// order; then the symbol tables that the flags tell of.
const (
	encodeMagic    = 2128178506
	encodeHasInput = 4
	encodeHasOut   = 8
)

// WriteEncodeTable writes t in the form of OpenFst's encode mappers.
func WriteEncodeTable[W semiring.Codec[W]](w io.Writer, t *EncodeTable[W]) error {
	flags := byte(t.kind)
	if t.isyms != nil {
		flags |= encodeHasInput
	}
	if t.osyms != nil {
		flags |= encodeHasOut
	}
	var zero W
	le := binary.LittleEndian
	b := le.AppendUint32(nil, encodeMagic)
	b = le.AppendUint32(b, uint32(len(zero.ArcType())))
	b = append(append(b, zero.ArcType()...), flags)
	b = le.AppendUint64(b, uint64(t.Len()))
	for l := range t.Len() {
		in, out, x, _ := t.Triple(fst.Label(l + 1))
		b = le.AppendUint32(le.AppendUint32(b, uint32(in)), uint32(out))
		b = x.AppendBinary(b)
		if len(b) > 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	for _, s := range []*fst.SymbolTable{t.isyms, t.osyms} {
		if s != nil {
			b = s.AppendBinary(b)
		}
	}
	_, err := w.Write(b)
	return err
}

// ReadEncodeTable reads what WriteEncodeTable, or OpenFst, wrote. Errors are
// fst.BinaryErrors; name is the source's, for them. Time and memory are within a
// constant factor of the size of the file.
func ReadEncodeTable[W semiring.Codec[W]](r io.Reader, name string) (*EncodeTable[W], error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t, _, err := parseEncodeTable[W](data, 0, name)
	return t, err
}

// parseEncodeTable reads a table that begins at a place in data, and returns where
// it ends.
func parseEncodeTable[W semiring.Codec[W]](data []byte, at int, name string) (*EncodeTable[W], int, error) {
	fail := func(format string, args ...any) error {
		return &fst.BinaryError{Source: name, Offset: int64(at), Err: fmt.Errorf(format, args...)}
	}
	short := errors.New("the file ends within an encode table")
	take := func(n int) []byte {
		if n < 0 || n > len(data)-at {
			return nil
		}
		at += n
		return data[at-n : at]
	}
	le := binary.LittleEndian
	head := take(8)
	if head == nil {
		return nil, at, fail("%w", short)
	}
	if le.Uint32(head) != encodeMagic {
		at -= 8
		return nil, at, fail("not an encode table: it starts with %#08x, not with %#08x", le.Uint32(head), encodeMagic)
	}
	arcType := take(int(int32(le.Uint32(head[4:]))))
	rest := take(9)
	if arcType == nil || rest == nil {
		return nil, at, fail("%w", short)
	}
	var zero W
	if string(arcType) != zero.ArcType() {
		return nil, at, fail("an encode table over arcs of type %.40q, not %s", arcType, zero.ArcType())
	}
	flags, n := rest[0], le.Uint64(rest[1:])
	if n > math.MaxInt32 {
		return nil, at, fail("%d triples: more than there are labels", n)
	}
	t := NewEncodeTable[W](EncodeKind(flags))
	for i := range n {
		labels := take(8)
		if labels == nil {
			return nil, at, fail("%w, triple %d of %d", short, i, n)
		}
		x, used, err := zero.DecodeBinary(data[at:])
		switch {
		case err != nil:
			return nil, at, fail("triple %d: %w", i, err)
		case used == 0:
			return nil, at, fail("%w, triple %d of %d", short, i, n)
		case !x.Member():
			return nil, at, fail("triple %d: its weight is not a number", i)
		}
		at += used
		if l := t.Add(fst.Label(le.Uint32(labels)), fst.Label(le.Uint32(labels[4:])), x); uint64(l) != i+1 {
			return nil, at, fail("triple %d is the same as triple %d", i, l-1)
		}
	}
	s := fst.NewStream(bytes.NewReader(data[at:]), &fst.ReadOptions{Name: name, Offset: int64(at)})
	var err error
	if flags&encodeHasInput != 0 {
		if t.isyms, err = s.ReadSymbols(); err != nil {
			return nil, at, err
		}
	}
	if flags&encodeHasOut != 0 {
		if t.osyms, err = s.ReadSymbols(); err != nil {
			return nil, at, err
		}
	}
	return t, int(s.Offset()), nil
}
