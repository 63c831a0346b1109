package layered

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Excluded is the index of the value +Inf, which every machine has: a path with it has no string.
const Excluded uint32 = 0

// Machine is a layered deterministic automaton. The value of a string is base + Σ of the values of
// its arcs + that of its last column. Columns, classes and values are as losses.Machine describes
// them. A core is immutable once finished.
type Machine struct {
	Layers []Layer
	Values []float64 // values[excluded] is +Inf
	Final  []uint32  // by column of the last layer: index in values
	Base   float64
	Bytes  int64

	Cancels float64 // how large a constant is that values subtract from, 0 if they add to it
	Reach   float64 // at least |base + values of the first arcs| of every path
	Partial bool    // some string may be excluded

	Fused *Graph // the layout of order 2 where it was made with the machine; arcs may lead to its entries
}

// Layer is one position: its columns, label classes and arcs.
type Layer struct {
	Columns int
	Classes int
	Class   []uint32 // by label
	Narrow  []uint32 // columns × classes of next<<shift | value, or nil
	Wide    []uint64 // the same when 32 bits do not suffice
	Shift   uint8
	// if not nil, arcs lead to entries of the graph of order 2, and these are the first of each
	// column
	Enter   []uint32
	Lo, Hi  float64 // least and greatest finite value on the arcs
	partial bool    // some arc is excluded
}

// Arc returns the column that arc i leads to, and the index of its value.
func (l *Layer) Arc(i int) (next, value uint32) {
	if l.Narrow != nil {
		e := l.Narrow[i]
		next, value = e>>l.Shift, e&(1<<l.Shift-1)
		if l.Enter != nil {
			c, found := slices.BinarySearch(l.Enter, next)
			if !found {
				c--
			}
			next = uint32(c)
		}
		return next, value
	}
	e := l.Wide[i]
	return uint32(e >> 32), uint32(e)
}

// Columns returns the number of columns of layer t, 0 ≤ t ≤ l.
func (m *Machine) Columns(t int) int {
	if t == len(m.Layers) {
		return len(m.Final)
	}
	return m.Layers[t].Columns
}

// TotalColumns returns the number of columns of all layers.
func (m *Machine) TotalColumns() int {
	n := len(m.Final)
	for t := range m.Layers {
		n += m.Layers[t].Columns
	}
	return n
}

// Loss returns L(u), +Inf when u is excluded. It panics when u is not a string
// of the machine (wrong length, label out of range), as an index would.
func (m *Machine) Loss(u []int) float64 {
	if len(u) != len(m.Layers) {
		panic(fmt.Sprintf("losses: a string of %d labels for a machine of %d positions", len(u),
			len(m.Layers)))
	}
	if len(m.Final) == 0 { // no string at all
		return math.Inf(1)
	}
	c, sum := uint32(0), m.Base
	for t, k := range u {
		l := &m.Layers[t]
		next, v := l.Arc(int(c)*l.Classes + int(l.Class[k]))
		if v == Excluded {
			return math.Inf(1)
		}
		c, sum = next, sum+m.Values[v]
	}
	return sum + m.Values[m.Final[c]]
}

// Spec describes one position to a builder, see losses.Layer.
type Spec struct {
	Labels  int
	Class   []uint32
	Classes int
	Columns int

	Next, Off []uint32
}

// Builder assembles a core layer by layer. Its zero value is ready for use.
type Builder struct {
	m     Machine
	index map[uint64]uint32
	err   error
	reach uint32 // columns that the arcs of the last layer need
}

// SetBase sets the constant that every loss contains.
func (b *Builder) SetBase(v float64) { b.m.Base = v }

// Value returns the index of a loss value; equal values have equal indices.
// +Inf has the index excluded. NaN and -Inf make finish fail.
func (b *Builder) Value(v float64) uint32 {
	if b.index == nil {
		b.index = map[uint64]uint32{}
		b.m.Values = append(b.m.Values[:0], math.Inf(1))
	}
	switch {
	case math.IsInf(v, 1):
		return Excluded
	case math.IsNaN(v) || math.IsInf(v, -1):
		b.fail(fmt.Errorf("losses: a loss machine cannot have the value %v", v))
		return Excluded
	}
	key := math.Float64bits(v + 0) // +0 folds -0
	i, ok := b.index[key]
	if !ok {
		i = uint32(len(b.m.Values))
		b.m.Values = append(b.m.Values, v+0)
		b.index[key] = i
	}
	return i
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Layer adds the next position. It copies its argument. Errors are kept and returned by finish as
// well.
func (b *Builder) Layer(s Spec) error {
	b.Value(0) // make sure of the table
	t := len(b.m.Layers)
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
		b.fail(fmt.Errorf("losses: layer %d has %d columns, but layer %d has arcs to column %d", t, s.Columns,
			t-1, b.reach-1))
	case class != nil && len(class) != s.Labels:
		b.fail(fmt.Errorf("losses: layer %d: %d labels but classes for %d", t, s.Labels, len(class)))
	case len(s.Next) != n || len(s.Off) != n:
		b.fail(fmt.Errorf("losses: layer %d: %d columns of %d arcs, but %d targets and %d values", t,
			s.Columns, classes, len(s.Next), len(s.Off)))
	}
	for k, c := range class {
		if int(c) >= classes {
			b.fail(fmt.Errorf("losses: layer %d: label %d has class %d of %d", t, k, c, classes))
			break
		}
	}
	var reach, top uint32
	for i, v := range s.Off {
		if int(v) >= len(b.m.Values) {
			b.fail(fmt.Errorf("losses: layer %d: no value has the index %d", t, v))
			break
		}
		if v != Excluded && i < len(s.Next) {
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
	} else if t > 0 && slices.Equal(class, b.m.Layers[t-1].Class) {
		class = b.m.Layers[t-1].Class // one array says that the numbering is the same
	} else if len(class) <= len(Counting) && isCounting(class) {
		class = Counting[:len(class):len(class)]
	} else {
		class = slices.Clone(class)
	}
	l := Layer{Columns: s.Columns, Classes: classes, Class: class}
	l.pack(next, off, reach, top)
	l.bounds(b.m.Values)
	b.m.Layers = append(b.m.Layers, l)
	return nil
}

// Finish returns the core. final has the index of the final value of each column of the last layer.
// The builder must not be used afterwards.
func (b *Builder) Finish(final []uint32) (*Machine, error) {
	b.Value(0)
	if len(b.m.Layers) > 0 && b.reach > uint32(len(final)) {
		b.fail(fmt.Errorf("losses: %d final columns, but the last layer has arcs to column %d", len(final),
			b.reach-1))
	}
	if len(b.m.Layers) == 0 && len(final) > 1 {
		b.fail(fmt.Errorf("losses: a machine without positions has one column, not %d", len(final)))
	}
	for c, v := range final {
		if int(v) >= len(b.m.Values) {
			b.fail(fmt.Errorf("losses: final column %d: no value has the index %d", c, v))
			break
		}
	}
	if math.IsNaN(b.m.Base) || math.IsInf(b.m.Base, 0) {
		b.fail(fmt.Errorf("losses: a loss machine cannot have the constant %v", b.m.Base))
	}
	if b.err != nil {
		return nil, b.err
	}
	m := &Machine{Layers: b.m.Layers, Values: b.m.Values, Final: slices.Clone(final), Base: b.m.Base}
	m.Count()
	return m, nil
}

// ArcBits is the size of a narrow arc; tests make it smaller to have wide ones.
var ArcBits = 32

// pack stores arcs in four bytes when they fit.
func (l *Layer) pack(next, off []uint32, reach, top uint32) {
	l.Shift = uint8(bits.Len32(top))
	if bits.Len32(reach)+int(l.Shift) <= ArcBits {
		l.Narrow = make([]uint32, len(next))
		for i, v := range off {
			if v != Excluded {
				l.Narrow[i] = next[i]<<l.Shift | v
			}
		}
		return
	}
	l.Shift = 32
	l.Wide = make([]uint64, len(next))
	for i, v := range off {
		if v != Excluded {
			l.Wide[i] = uint64(next[i])<<32 | uint64(v)
		}
	}
}

// bounds finds the least and greatest value on the layer's arcs.
func (l *Layer) bounds(values []float64) {
	l.Lo, l.Hi = math.Inf(1), math.Inf(-1)
	seen := make([]bool, len(values))
	for i := range l.Columns * l.Classes {
		_, v := l.Arc(i)
		if v == Excluded {
			l.partial = true
		} else if !seen[v] {
			seen[v] = true
			l.Lo, l.Hi = min(l.Lo, values[v]), max(l.Hi, values[v])
		}
	}
}

// findClasses puts labels with equal arcs in every column into one class, by
// refining one class of all labels column after column. Classes are numbered
// by their first label.
func findClasses(s Spec) (class []uint32, classes int, next, off []uint32) {
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
			if a.off == Excluded {
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

// Count sets partial, cancels, reach and bytes; layers that share one class slice count it each.
func (m *Machine) Count() {
	n := int64(256 + 8*len(m.Values) + 4*len(m.Final))
	last := 0.0
	for _, v := range m.Final {
		if v != Excluded {
			last = max(last, math.Abs(m.Values[v]))
		}
	}
	m.Reach = math.Abs(m.Base) + last
	m.Partial = len(m.Final) == 0 || slices.Contains(m.Final, Excluded) // no final column: no string at all
	for t := range m.Layers {
		l := &m.Layers[t]
		m.Partial = m.Partial || l.partial
		if l.Lo <= l.Hi && (m.Base > 0 && l.Lo < 0 || m.Base < 0 && l.Hi > 0) {
			m.Cancels = math.Abs(m.Base)
		}
		if l.Lo <= l.Hi {
			m.Reach += max(math.Abs(l.Lo), math.Abs(l.Hi))
		}
		n += 128 + 4*int64(len(l.Class)+len(l.Narrow)) + 8*int64(len(l.Wide))
	}
	m.Bytes = n
}
