package losses

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
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
// one of a few). exp(γ·value) is thus a small table per γ. No float is rounded or compared on the
// way: integer, decimal and irrational costs are alike. Label sets may differ by position.
//
// An arc takes four bytes while column and index fit together in 32 bits, and eight beyond. For
// edit distances that is up to 2³⁰ columns a layer.
type Machine struct {
	core  layered.Machine
	bytes int64 // of the core and of what evaluations have added; under mu

	careful *careful    // the same machine without a subtraction from its constant; nil where there is none
	pushes  [2]*Machine // for γ above and below 0, see pushed; under mu

	surrogate *banded // what is known of a surrogate loss; nil without a band

	ngram *ngramPlan // when set, layers are built when first asked for

	mu     sync.Mutex
	graphs [4]*layered.Graph // node layouts by order, built when first asked for

	leanOnce sync.Once
	lean     *sweep.Lean // for factored potentials; nil where there is none

	columns   *sweep.Columns // for tied potentials, made when first asked for; under mu
	noColumns bool           // there is no such layout
}

// newMachine returns the machine of a core.
func newMachine(c *layered.Machine) *Machine {
	m := &Machine{core: *c, bytes: c.Bytes}
	if g := c.Fused; g != nil {
		m.graphs[2] = g
		m.bytes += g.Bytes
	}
	return m
}

// Len returns l, the number of positions.
func (m *Machine) Len() int { return len(m.built().core.Layers) }

// Labels returns the number of labels at position t.
func (m *Machine) Labels(t int) int { return len(m.built().core.Layers[t].Class) }

// Classes returns the number of label classes at position t, and the class of
// each label. The slice is read-only.
func (m *Machine) Classes(t int) (int, []uint32) {
	l := &m.built().core.Layers[t]
	return l.Classes, l.Class
}

// Columns returns the number of columns of layer t, 0 ≤ t ≤ Len().
func (m *Machine) Columns(t int) int {
	return m.built().core.Columns(t)
}

// TotalColumns returns the number of columns of all layers.
func (m *Machine) TotalColumns() int { return m.built().core.TotalColumns() }

// Arc returns the arc of a column of layer t for a class of labels. next is the column of layer t+1
// that it leads to, value the index of its value. Where the value is Excluded the column has no
// meaning.
func (m *Machine) Arc(t int, column uint32, class int) (next, value uint32) {
	return m.built().core.Layers[t].Arc(int(column)*m.core.Layers[t].Classes + class)
}

// Value returns the loss value of an index.
func (m *Machine) Value(i uint32) float64 { return m.built().core.Values[i] }

// Final returns the index of the final value of a column of the last layer.
func (m *Machine) Final(column uint32) uint32 { return m.built().core.Final[column] }

// Base returns the constant that every loss contains.
func (m *Machine) Base() float64 { return m.built().core.Base }

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
func (m *Machine) Loss(u []int) float64 { return m.built().core.Loss(u) }

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
type Builder struct{ b layered.Builder }

// SetBase sets the constant that every loss contains.
func (b *Builder) SetBase(v float64) { b.b.SetBase(v) }

// Value returns the index of a loss value; equal values have equal indices.
// +Inf has the index Excluded. NaN and -Inf make Finish fail.
func (b *Builder) Value(v float64) uint32 { return b.b.Value(v) }

// Layer adds the next position. It copies its argument. Errors are kept and returned by Finish as
// well.
func (b *Builder) Layer(s Layer) error { return b.b.Layer(layered.Spec(s)) }

// Finish returns the machine. final has the index of the final value of each column of the last
// layer. The Builder must not be used afterwards.
func (b *Builder) Finish(final []uint32) (*Machine, error) {
	c, err := b.b.Finish(final)
	if err != nil {
		return nil, err
	}
	return newMachine(c), nil
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
	case m.core.Values == nil:
		return errors.New("losses: a Machine that no Builder or Loss made")
	}
	return nil
}

// graph returns the layout for an order, built when first asked for.
func (m *Machine) graph(order int, budget Budget) (*layered.Graph, error) {
	if order < 1 || order > 3 {
		return nil, fmt.Errorf("losses: potentials of order %d: 1, 2 and 3 are supported", order)
	}
	if err := m.Build(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.graphs[order]; g != nil {
		return g, nil
	}
	g, err := layered.NewGraph(&m.core, order, layered.Limits{Ctx: budget.Ctx, Bytes: budget.Bytes}, m.bytes)
	if err != nil {
		return nil, budgetError(err)
	}
	m.graphs[order] = g
	m.bytes += g.Bytes
	return g, nil
}
