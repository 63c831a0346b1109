package losses

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Excluded is the index of the value +Inf, which every machine has. A string whose path meets it is
// left out of every sum and maximum: the machine has no such string.
const Excluded uint32 = 0

// Machine is a loss L(·, reference) as a layered deterministic automaton. It is everything that an
// evaluation needs of the loss, prepared once per reference. It does not depend on potentials or on
// γ, so it serves every epoch; it is immutable and may be shared between goroutines.
//
// Layer t holds the columns reached by strings of t labels; layer 0 holds one, column 0. Reading
// label k at position t in column c takes the arc of (c, class of k). Labels of one class move
// alike in every column of the layer. An arc has the column reached in layer t+1 and the index of a
// loss value; the loss of a string u_0 … u_{l-1} is
//
//	L(u) = Base + Σ_t value(arc t) + value(final of the last column).
//
// Values are stored once, in a table of distinct float64s (a column minimum of an edit distance is
// one of a few). exp(γ·value) is thus a small table per γ, and no float is rounded or compared on
// the way: integer, decimal and irrational costs are alike. Label sets may differ by position.
//
// An arc takes four bytes while column and index fit together in 32 bits, and eight beyond. For
// edit distances that is up to 2³⁰ columns a layer.
type Machine struct {
	layers []layer
	values []float64 // values[Excluded] is +Inf
	final  []uint32  // by column of the last layer: index in values
	base   float64
	bytes  int64

	cancels float64     // how large a constant is that values subtract from, 0 if they add to it
	reach   float64     // at least |base + values of the first arcs| of every path
	careful *careful    // the same machine without such a subtraction; nil where there is none
	pushes  [2]*Machine // for γ above and below 0, see pushed; under mu

	partial   bool    // some string may be excluded
	surrogate *banded // what is known of a surrogate loss; nil without a band

	ngram *ngramPlan // when set, layers are built when first asked for

	mu     sync.Mutex
	graphs [4]*graph // node layouts by order, built when first asked for

	leanOnce sync.Once
	lean     *lean // for factored potentials; nil where there is none
}

// layer is one position: its columns, label classes and arcs.
type layer struct {
	columns int
	classes int
	class   []uint32 // by label
	narrow  []uint32 // columns × classes of next<<shift | value, or nil
	wide    []uint64 // the same when 32 bits do not suffice
	shift   uint8
	lo, hi  float64 // least and greatest finite value on the arcs
	partial bool    // some arc is excluded
}

// Len returns l, the number of positions.
func (m *Machine) Len() int { return len(m.built().layers) }

// Labels returns the number of labels at position t.
func (m *Machine) Labels(t int) int { return len(m.built().layers[t].class) }

// Classes returns the number of label classes at position t, and the class of
// each label. The slice is read-only.
func (m *Machine) Classes(t int) (int, []uint32) {
	l := &m.built().layers[t]
	return l.classes, l.class
}

// Columns returns the number of columns of layer t, 0 ≤ t ≤ Len().
func (m *Machine) Columns(t int) int {
	m.built()
	if t == len(m.layers) {
		return len(m.final)
	}
	return m.layers[t].columns
}

// TotalColumns returns the number of columns of all layers.
func (m *Machine) TotalColumns() int {
	n := len(m.built().final)
	for t := range m.layers {
		n += m.layers[t].columns
	}
	return n
}

// Arc returns the arc of a column of layer t for a class of labels: the column reached in layer t+1
// and the index of its value. Where the value is Excluded the column has no meaning.
func (m *Machine) Arc(t int, column uint32, class int) (next, value uint32) {
	return m.built().layers[t].arc(int(column)*m.layers[t].classes + class)
}

func (l *layer) arc(i int) (next, value uint32) {
	if l.narrow != nil {
		e := l.narrow[i]
		return e >> l.shift, e & (1<<l.shift - 1)
	}
	e := l.wide[i]
	return uint32(e >> 32), uint32(e)
}

// Value returns the loss value of an index.
func (m *Machine) Value(i uint32) float64 { return m.built().values[i] }

// Final returns the index of the final value of a column of the last layer.
func (m *Machine) Final(column uint32) uint32 { return m.built().final[column] }

// Base returns the constant that every loss contains.
func (m *Machine) Base() float64 { return m.built().base }

// Exact reports whether the machine gives the loss itself, rather than a
// surrogate such as a banded edit distance.
func (m *Machine) Exact() bool { return m.surrogate == nil || m.surrogate.harmless }

// Bytes estimates the memory that the machine holds.
func (m *Machine) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// Loss returns L(u), +Inf when u is excluded. It panics when u is not a string
// of the machine (wrong length, label out of range), as an index would.
func (m *Machine) Loss(u []int) float64 {
	m.built()
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
		if v == Excluded {
			return math.Inf(1)
		}
		c, sum = next, sum+m.values[v]
	}
	return sum + m.values[m.final[c]]
}

// Layer describes one position to a Builder.
type Layer struct {
	// Labels is the number of labels at the position.
	Labels int
	// Class gives the class of each label, 0 ≤ Class[k] < Classes. When nil,
	// Next and Off have one entry per column and LABEL, and labels that move
	// alike in all columns are put into one class.
	Class   []uint32
	Classes int
	// Columns is the number of columns before the position; for position 0 it
	// is 1 (or 0 for a machine without strings).
	Columns int
	// Next and Off hold, column by column and class by class, the column of
	// the following layer and the index of the value (from Builder.Value).
	// Next is ignored where Off is Excluded.
	Next, Off []uint32
}

// Builder assembles a Machine layer by layer. Its zero value is ready for use.
//
//	var b losses.Builder
//	zero, one := b.Value(0), b.Value(1)
//	b.Layer(losses.Layer{Labels: 2, Columns: 1, Next: []uint32{0, 0}, Off: []uint32{zero, one}})
//	m, err := b.Finish([]uint32{zero})
type Builder struct {
	m     Machine
	index map[uint64]uint32
	err   error
	reach uint32 // columns that the arcs of the last layer need
}

// SetBase sets the constant that every loss contains.
func (b *Builder) SetBase(v float64) { b.m.base = v }

// Value returns the index of a loss value; equal values have equal indices.
// +Inf has the index Excluded. NaN and -Inf make Finish fail.
func (b *Builder) Value(v float64) uint32 {
	if b.index == nil {
		b.index = map[uint64]uint32{}
		b.m.values = append(b.m.values[:0], math.Inf(1))
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
		i = uint32(len(b.m.values))
		b.m.values = append(b.m.values, v+0)
		b.index[key] = i
	}
	return i
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Layer adds the next position. It copies its argument. Errors are kept and returned by Finish as
// well.
func (b *Builder) Layer(s Layer) error {
	b.Value(0) // make sure of the table
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

// arcBits is the size of a narrow arc; tests make it smaller to have wide ones.
var arcBits = 32

// pack stores arcs in four bytes when they fit.
func (l *layer) pack(next, off []uint32, reach, top uint32) {
	l.shift = uint8(bits.Len32(top))
	if bits.Len32(reach)+int(l.shift) <= arcBits {
		l.narrow = make([]uint32, len(next))
		for i, v := range off {
			if v != Excluded {
				l.narrow[i] = next[i]<<l.shift | v
			}
		}
		return
	}
	l.shift = 32
	l.wide = make([]uint64, len(next))
	for i, v := range off {
		if v != Excluded {
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
		if v == Excluded {
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
func findClasses(s Layer) (class []uint32, classes int, next, off []uint32) {
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

// Finish returns the machine. final has, for each column of the last layer,
// the index of its final value: its length is the number of those columns. The
// Builder must not be used afterwards.
func (b *Builder) Finish(final []uint32) (*Machine, error) {
	b.Value(0)
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
	m := &Machine{layers: b.m.layers, values: b.m.values, final: slices.Clone(final), base: b.m.base}
	m.count()
	return m, nil
}

// count sets partial, cancels, reach and bytes; layers that share one class slice count it each.
func (m *Machine) count() {
	n := int64(256 + 8*len(m.values) + 4*len(m.final))
	last := 0.0
	for _, v := range m.final {
		if v != Excluded {
			last = max(last, math.Abs(m.values[v]))
		}
	}
	m.reach = math.Abs(m.base) + last
	m.partial = len(m.final) == 0 || slices.Contains(m.final, Excluded) // no final column: no string at all
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

// built makes sure that the layers are there. Should they exceed the budget of
// memory, as those of an n-gram loss can for strings of thousands, it panics:
// Build tells beforehand.
func (m *Machine) built() *Machine {
	if err := m.Build(); err != nil {
		panic(err)
	}
	return m
}

// Build builds the layers of a machine that puts this off until they are
// needed (n-gram losses), and returns the error if it cannot. It is safe to
// call at any time.
func (m *Machine) Build() error {
	switch {
	case m.ngram != nil:
		return m.ngram.build(m, nil)
	case m.values == nil:
		return errors.New("losses: a Machine that no Builder or Loss made")
	}
	return nil
}
