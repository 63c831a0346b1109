package losses

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// excluded is the index of the value +Inf, which every machine has: a path with it has no string.
const excluded uint32 = 0

// core is a layered deterministic automaton, in which the value of a string is base + Σ of the
// values of its arcs + that of its last column. Columns, classes and values are as losses.Machine
// describes them. A core is immutable once finished.
type core struct {
	layers []layer
	values []float64 // values[excluded] is +Inf
	final  []uint32  // by column of the last layer: index in values
	base   float64
	bytes  int64

	cancels float64 // how large a constant is that values subtract from, 0 if they add to it
	reach   float64 // at least |base + values of the first arcs| of every path
	partial bool    // some string may be excluded

	fused *graph // the layout of order 2 where it was made with the machine; arcs may lead to its entries
}

// layer is one position: its columns, label classes and arcs.
type layer struct {
	columns int
	classes int
	class   []uint32 // by label
	narrow  []uint32 // columns × classes of next<<shift | value, or nil
	wide    []uint64 // the same when 32 bits do not suffice
	shift   uint8
	enter   []uint32 // if not nil, arcs lead to entries of the graph of order 2, and these are the first of each column
	lo, hi  float64  // least and greatest finite value on the arcs
	partial bool     // some arc is excluded
}

// arc returns the column that arc i leads to, and the index of its value.
func (l *layer) arc(i int) (next, value uint32) {
	if l.narrow != nil {
		e := l.narrow[i]
		next, value = e>>l.shift, e&(1<<l.shift-1)
		if l.enter != nil {
			c, found := slices.BinarySearch(l.enter, next)
			if !found {
				c--
			}
			next = uint32(c)
		}
		return next, value
	}
	e := l.wide[i]
	return uint32(e >> 32), uint32(e)
}

// columns returns the number of columns of layer t, 0 ≤ t ≤ l.
func (m *core) columns(t int) int {
	if t == len(m.layers) {
		return len(m.final)
	}
	return m.layers[t].columns
}

// totalColumns returns the number of columns of all layers.
func (m *core) totalColumns() int {
	n := len(m.final)
	for t := range m.layers {
		n += m.layers[t].columns
	}
	return n
}

// loss returns L(u), +Inf when u is excluded. It panics when u is not a string
// of the machine (wrong length, label out of range), as an index would.
func (m *core) loss(u []int) float64 {
	if len(u) != len(m.layers) {
		panic(fmt.Sprintf("losses: a string of %d labels for a machine of %d positions", len(u), len(m.layers)))
	}
	if len(m.final) == 0 { // no string at all
		return math.Inf(1)
	}
	c, sum := uint32(0), m.base
	for t, k := range u {
		l := &m.layers[t]
		next, v := l.arc(int(c)*l.classes + int(l.class[k]))
		if v == excluded {
			return math.Inf(1)
		}
		c, sum = next, sum+m.values[v]
	}
	return sum + m.values[m.final[c]]
}

// spec describes one position to a builder, see losses.Layer.
type spec struct {
	Labels  int
	Class   []uint32
	Classes int
	Columns int

	Next, Off []uint32
}

// builder assembles a core layer by layer. Its zero value is ready for use.
type builder struct {
	m     core
	index map[uint64]uint32
	err   error
	reach uint32 // columns that the arcs of the last layer need
}

// setBase sets the constant that every loss contains.
func (b *builder) setBase(v float64) { b.m.base = v }

// value returns the index of a loss value; equal values have equal indices.
// +Inf has the index excluded. NaN and -Inf make finish fail.
func (b *builder) value(v float64) uint32 {
	if b.index == nil {
		b.index = map[uint64]uint32{}
		b.m.values = append(b.m.values[:0], math.Inf(1))
	}
	switch {
	case math.IsInf(v, 1):
		return excluded
	case math.IsNaN(v) || math.IsInf(v, -1):
		b.fail(fmt.Errorf("losses: a loss machine cannot have the value %v", v))
		return excluded
	}
	key := math.Float64bits(v + 0) // +0 folds -0
	i, ok := b.index[key]
	if !ok {
		i = uint32(len(b.m.values))
		b.m.values = append(b.m.values, v+0)
		b.index[key] = i
	}
	return i
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// layer adds the next position. It copies its argument. Errors are kept and returned by finish as
// well.
func (b *builder) layer(s spec) error {
	b.value(0) // make sure of the table
	t := len(b.m.layers)
	classes, class := s.Classes, s.Class
	if class == nil {
		classes = s.Labels
	}
	n := s.Columns * classes
	switch {
	case s.Labels < 0 || s.Columns < 0 || classes < 0:
		b.fail(fmt.Errorf("losses: layer %d: negative size", t))
	case t == 0 && s.Columns > 1:
		b.fail(fmt.Errorf("losses: layer 0 has %d columns, not one", s.Columns))
	case t > 0 && b.reach > uint32(s.Columns):
		b.fail(fmt.Errorf("losses: layer %d has %d columns, but layer %d has arcs to column %d", t, s.Columns, t-1, b.reach-1))
	case class != nil && len(class) != s.Labels:
		b.fail(fmt.Errorf("losses: layer %d: %d labels but classes for %d", t, s.Labels, len(class)))
	case len(s.Next) != n || len(s.Off) != n:
		b.fail(fmt.Errorf("losses: layer %d: %d columns of %d arcs, but %d targets and %d values", t, s.Columns, classes, len(s.Next), len(s.Off)))
	}
	for k, c := range class {
		if int(c) >= classes {
			b.fail(fmt.Errorf("losses: layer %d: label %d has class %d of %d", t, k, c, classes))
			break
		}
	}
	var reach, top uint32
	for i, v := range s.Off {
		if int(v) >= len(b.m.values) {
			b.fail(fmt.Errorf("losses: layer %d: no value has the index %d", t, v))
			break
		}
		if v != excluded && i < len(s.Next) {
			reach, top = max(reach, s.Next[i]+1), max(top, v)
			if s.Next[i] == math.MaxUint32 {
				b.fail(fmt.Errorf("losses: layer %d: column out of range", t))
			}
		}
	}
	if b.err != nil {
		return b.err
	}
	b.reach = reach
	next, off := s.Next, s.Off
	if class == nil {
		class, classes, next, off = findClasses(s)
	} else if t > 0 && slices.Equal(class, b.m.layers[t-1].class) {
		class = b.m.layers[t-1].class // one array says that the numbering is the same
	} else if len(class) <= len(counting) && isCounting(class) {
		class = counting[:len(class):len(class)]
	} else {
		class = slices.Clone(class)
	}
	l := layer{columns: s.Columns, classes: classes, class: class}
	l.pack(next, off, reach, top)
	l.bounds(b.m.values)
	b.m.layers = append(b.m.layers, l)
	return nil
}

// finish returns the core. final has, for each column of the last layer,
// the index of its final value: its length is the number of those columns. The
// builder must not be used afterwards.
func (b *builder) finish(final []uint32) (*core, error) {
	b.value(0)
	if len(b.m.layers) > 0 && b.reach > uint32(len(final)) {
		b.fail(fmt.Errorf("losses: %d final columns, but the last layer has arcs to column %d", len(final), b.reach-1))
	}
	if len(b.m.layers) == 0 && len(final) > 1 {
		b.fail(fmt.Errorf("losses: a machine without positions has one column, not %d", len(final)))
	}
	for c, v := range final {
		if int(v) >= len(b.m.values) {
			b.fail(fmt.Errorf("losses: final column %d: no value has the index %d", c, v))
			break
		}
	}
	if math.IsNaN(b.m.base) || math.IsInf(b.m.base, 0) {
		b.fail(fmt.Errorf("losses: a loss machine cannot have the constant %v", b.m.base))
	}
	if b.err != nil {
		return nil, b.err
	}
	m := &core{layers: b.m.layers, values: b.m.values, final: slices.Clone(final), base: b.m.base}
	m.count()
	return m, nil
}

// arcBits is the size of a narrow arc; tests make it smaller to have wide ones.
var arcBits = 32

// pack stores arcs in four bytes when they fit.
func (l *layer) pack(next, off []uint32, reach, top uint32) {
	l.shift = uint8(bits.Len32(top))
	if bits.Len32(reach)+int(l.shift) <= arcBits {
		l.narrow = make([]uint32, len(next))
		for i, v := range off {
			if v != excluded {
				l.narrow[i] = next[i]<<l.shift | v
			}
		}
		return
	}
	l.shift = 32
	l.wide = make([]uint64, len(next))
	for i, v := range off {
		if v != excluded {
			l.wide[i] = uint64(next[i])<<32 | uint64(v)
		}
	}
}

// bounds finds the least and greatest value on the layer's arcs.
func (l *layer) bounds(values []float64) {
	l.lo, l.hi = math.Inf(1), math.Inf(-1)
	seen := make([]bool, len(values))
	for i := range l.columns * l.classes {
		_, v := l.arc(i)
		if v == excluded {
			l.partial = true
		} else if !seen[v] {
			seen[v] = true
			l.lo, l.hi = min(l.lo, values[v]), max(l.hi, values[v])
		}
	}
}

// findClasses puts labels with equal arcs in every column into one class, by
// refining one class of all labels column after column. Classes are numbered
// by their first label.
func findClasses(s spec) (class []uint32, classes int, next, off []uint32) {
	type arc struct{ class, next, off uint32 }
	class = make([]uint32, s.Labels)
	classes = min(1, s.Labels)
	seen := make(map[arc]uint32, s.Labels)
	for c := range s.Columns {
		if classes == s.Labels {
			break
		}
		clear(seen)
		classes = 0
		for k := range s.Labels {
			a := arc{class[k], s.Next[c*s.Labels+k], s.Off[c*s.Labels+k]}
			if a.off == excluded {
				a.next = 0
			}
			id, ok := seen[a]
			if !ok {
				id = uint32(classes)
				seen[a] = id
				classes++
			}
			class[k] = id
		}
	}
	first := make([]int, classes)
	for k := s.Labels - 1; k >= 0; k-- {
		first[class[k]] = k
	}
	next, off = make([]uint32, s.Columns*classes), make([]uint32, s.Columns*classes)
	for c := range s.Columns {
		for j, k := range first {
			next[c*classes+j] = s.Next[c*s.Labels+k]
			off[c*classes+j] = s.Off[c*s.Labels+k]
		}
	}
	return class, classes, next, off
}

// count sets partial, cancels, reach and bytes; layers that share one class slice count it each.
func (m *core) count() {
	n := int64(256 + 8*len(m.values) + 4*len(m.final))
	last := 0.0
	for _, v := range m.final {
		if v != excluded {
			last = max(last, math.Abs(m.values[v]))
		}
	}
	m.reach = math.Abs(m.base) + last
	m.partial = len(m.final) == 0 || slices.Contains(m.final, excluded) // no final column: no string at all
	for t := range m.layers {
		l := &m.layers[t]
		m.partial = m.partial || l.partial
		if l.lo <= l.hi && (m.base > 0 && l.lo < 0 || m.base < 0 && l.hi > 0) {
			m.cancels = math.Abs(m.base)
		}
		if l.lo <= l.hi {
			m.reach += max(math.Abs(l.lo), math.Abs(l.hi))
		}
		n += 128 + 4*int64(len(l.class)+len(l.narrow)) + 8*int64(len(l.wide))
	}
	m.bytes = n
}
