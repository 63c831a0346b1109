package fst

import (
	"sync/atomic"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// Const is a frozen machine: final weights, offsets and arcs in three flat
// arrays (CSR). It is safe to share between goroutines. One that ReadBytes made may
// have its states and arcs in the bytes of a file instead.
type Const[W semiring.Weight[W]] struct {
	start  StateID
	finals []W
	offset []int64 // arcs of q: arcs[offset[q]:offset[q+1]]
	arcs   []Arc[W]
	states []constState // in place of finals and offset, when they are used where they were read

	props        atomic.Uint64
	isyms, osyms *SymbolTable
	addOn        *AddOn
}

// NewConst freezes a copy of f, with its symbol tables and known properties.
func NewConst[W semiring.Weight[W]](f Expanded[W]) *Const[W] {
	n := f.NumStates()
	c := &Const[W]{start: f.Start(), isyms: InputSymbols(f), osyms: OutputSymbols(f)}
	c.finals = make([]W, n)
	c.offset = make([]int64, n+1)
	for q := range n {
		c.finals[q] = f.Final(StateID(q))
		c.offset[q+1] = c.offset[q] + int64(len(f.Arcs(StateID(q))))
	}
	c.arcs = make([]Arc[W], c.offset[n])
	for q := range n {
		copy(c.arcs[c.offset[q]:], f.Arcs(StateID(q)))
	}
	if p, ok := f.(Propertied); ok {
		c.LearnProperties(p.KnownProperties() &^ (Mutable | Expandable))
	}
	return c
}

// NumStates returns the number of states.
func (c *Const[W]) NumStates() int { return len(c.finals) + len(c.states) }

// NumArcs returns the number of arcs.
func (c *Const[W]) NumArcs() int { return len(c.arcs) }

// Start returns the start state, or NoState.
func (c *Const[W]) Start() StateID { return c.start }

// Final returns the final weight of q, 0̄ when q is not final.
func (c *Const[W]) Final(q StateID) W {
	if len(c.states) > 0 {
		return *(*W)(unsafe.Pointer(&c.states[q].final))
	}
	return c.finals[q]
}

// Arcs returns the arcs of q in order, for reading.
func (c *Const[W]) Arcs(q StateID) []Arc[W] {
	if len(c.states) > 0 {
		s := &c.states[q]
		begin, n := int(s.pos), int(s.narcs)
		if n == 0 {
			return nil // where their place has no meaning
		}
		return c.arcs[begin : begin+n : begin+n]
	}
	return c.arcs[c.offset[q]:c.offset[q+1]:c.offset[q+1]]
}

// InputSymbols returns the table that names input labels, or nil.
func (c *Const[W]) InputSymbols() *SymbolTable { return c.isyms }

// OutputSymbols returns the table that names output labels, or nil.
func (c *Const[W]) OutputSymbols() *SymbolTable { return c.osyms }

// KnownProperties returns what is known without looking.
func (c *Const[W]) KnownProperties() Properties { return Properties(c.props.Load()) | Expandable }

// LearnProperties adds facts found out about the machine.
func (c *Const[W]) LearnProperties(p Properties) { c.props.Or(uint64(p)) }
