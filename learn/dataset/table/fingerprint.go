package table

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"math"
)

// Fingerprint hashes what a learner sees of the table: names, kinds, levels and values of the
// columns, and the domains of the rows with their names. It also hashes the lists, such as the
// labels and weights that a learner made of the target. Tables that differ in any of these have
// different fingerprints, except with probability 2⁻⁶⁴. A checkpoint uses it to detect that it
// belongs to other data. The target itself, the weights, line numbers, warnings and the name of the
// input do not count.
//
// It is the 64-bit FNV-1a hash, which does not resist deliberate collisions. O(size of the table).
func (t *Table) Fingerprint(lists ...[]float64) uint64 {
	f := fingerprint{h: fnv.New64a(), buf: make([]byte, 0, 1<<13)}
	f.size(len(t.Columns))
	for j := range t.Columns {
		c := &t.Columns[j]
		f.text(c.Name)
		f.size(int(c.Kind))
		f.size(len(c.Levels))
		for _, l := range c.Levels {
			f.text(l)
		}
		f.size(len(c.Values))
		for _, v := range c.Values {
			f.word32(math.Float32bits(v))
		}
	}
	if s := t.Sparse; s != nil {
		f.word32(math.Float32bits(s.Implicit))
		for j := range t.Columns {
			rows, values := s.Column(j)
			f.size(len(rows))
			for k, i := range rows {
				f.word32(uint32(i))
				f.word32(math.Float32bits(values[k]))
			}
		}
	}
	f.size(len(t.Sources))
	for _, s := range t.Sources {
		f.text(s)
	}
	f.size(len(t.Source))
	for _, s := range t.Source {
		f.word32(uint32(s))
	}
	for _, l := range lists {
		f.size(len(l))
		for _, v := range l {
			f.word64(math.Float64bits(v))
		}
	}
	f.flush()
	return f.h.Sum64()
}

// fingerprint writes through a buffer, since a hash is slow by single numbers. Every list
// goes after its length, so that what ends one cannot begin the next.
type fingerprint struct {
	h   hash.Hash64
	buf []byte
}

func (f *fingerprint) flush() {
	f.h.Write(f.buf)
	f.buf = f.buf[:0]
}

func (f *fingerprint) word32(v uint32) {
	if f.buf = binary.LittleEndian.AppendUint32(f.buf, v); len(f.buf) > 1<<12 {
		f.flush()
	}
}

func (f *fingerprint) word64(v uint64) {
	if f.buf = binary.LittleEndian.AppendUint64(f.buf, v); len(f.buf) > 1<<12 {
		f.flush()
	}
}

func (f *fingerprint) size(n int) { f.word64(uint64(n)) }

func (f *fingerprint) text(s string) {
	f.size(len(s))
	f.flush()
	f.h.Write([]byte(s))
}
