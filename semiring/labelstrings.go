package semiring

import (
	"encoding/binary"
	"strings"
)

// LabelStrings makes string weights of one label each, as a machine has one for each of its arcs: a
// thousand of them share one allocation, which they hold as long as one of them is in use. The zero
// value is ready; it is not for several goroutines at once, what it makes is.
type LabelStrings struct{ b strings.Builder }

const labelStringsBlock = 4096 // bytes

// Left returns NewStringLeft(l).
func (m *LabelStrings) Left(l int32) StringLeft { return StringLeft{m.of(l)} }

// Right returns NewStringRight(l).
func (m *LabelStrings) Right(l int32) StringRight { return StringRight{m.of(l)} }

func (m *LabelStrings) of(l int32) labels {
	if l == 0 || l == -1 || l == -2 {
		return newLabels([]int32{l})
	}
	if m.b.Cap()-m.b.Len() < labelSize {
		m.b.Reset() // what was made keeps the old block
		m.b.Grow(labelStringsBlock)
	}
	at := m.b.Len()
	var b [labelSize]byte
	binary.BigEndian.PutUint32(b[:], uint32(l)^1<<31)
	m.b.Write(b[:])
	return labels(m.b.String()[at:])
}
