package g2p

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Constraint is an acceptor of phone strings that outputs are composed with: those that it rejects
// are no outputs, and weights of others are costs, subtracted from their scores.
type Constraint struct {
	given *fst.Vector[semiring.Tropical64] // ε-free; its labels are names, from 1
	names []string

	// Over the phones of a model, and deterministic.
	start  int32
	phones int
	next   []int32 // by state and phone; -1 is none
	cost   []float64
	finals []float64 // +Inf where a state is not final
}

// OtherPhones is the symbol of a constraint that stands for every phone that it does not name.
const OtherPhones = "<other>"

// Bounds on a constraint: it is made deterministic over the phones.
const (
	maxConstraintStates = 1 << 16
	maxConstraintCells  = 1 << 24
)

// NewConstraint returns the constraint of an acceptor, whose symbol table names the phones. The
// symbol OtherPhones stands for all phones that the machine does not name.
//
// Where several paths accept a string, its cost is the least of theirs. Errors: a transducer, a
// label without a symbol, weights that are not costs, a machine that accepts nothing.
func NewConstraint(f fst.Expanded[semiring.Tropical64], symbols *fst.SymbolTable) (*Constraint, error) {
	if symbols == nil {
		return nil, fmt.Errorf("g2p: the constraint has no symbol table, which names its phones")
	}
	c := &Constraint{}
	number := map[string]fst.Label{}
	out := fst.NewVector[semiring.Tropical64](f.NumStates())
	out.AddStates(f.NumStates())
	if f.Start() != fst.NoState {
		out.SetStart(f.Start())
	}
	for q := range fst.StateID(f.NumStates()) {
		w := f.Final(q)
		if math.IsNaN(float64(w)) || math.IsInf(float64(w), -1) {
			return nil, fmt.Errorf("g2p: the constraint has the final weight %v at state %d", w, q)
		}
		out.SetFinal(q, w)
		for i, e := range f.Arcs(q) {
			if e.ILabel != e.OLabel {
				return nil, fmt.Errorf("g2p: the constraint is not an acceptor: arc %d of state %d reads %d and "+
					"writes %d", i, q, e.ILabel, e.OLabel)
			}
			if math.IsNaN(float64(e.Weight)) || math.IsInf(float64(e.Weight), -1) {
				return nil, fmt.Errorf("g2p: the constraint has the weight %v at arc %d of state %d", e.Weight, i, q)
			}
			l := fst.Epsilon
			if e.ILabel != fst.Epsilon {
				name, ok := symbols.Symbol(e.ILabel)
				if !ok {
					return nil, fmt.Errorf("g2p: the constraint: label %d of state %d is not in its symbol table", e.ILabel,
						q)
				}
				if number[name] == 0 {
					c.names = append(c.names, name)
					number[name] = fst.Label(len(c.names))
				}
				l = number[name]
			}
			out.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: l, OLabel: l, Weight: e.Weight, NextState: e.NextState})
		}
	}
	ops.Connect(out)
	if out.NumStates() == 0 {
		return nil, fmt.Errorf("g2p: the constraint accepts nothing")
	}
	if err := ops.RmEpsilon(out, nil); err != nil {
		return nil, fmt.Errorf("g2p: the constraint: %w", err)
	}
	c.given = out
	return c, nil
}

// over returns the constraint over a model's phones. Phones that only the constraint names never
// occur. Errors: a machine that cannot be made deterministic, or accepts no string of these phones.
func (c *Constraint) over(phones []string) (*Constraint, error) {
	at := map[string]int{}
	for i, p := range phones {
		at[p] = i
	}
	named := make([]bool, len(phones))
	for _, n := range c.names {
		if i, ok := at[n]; ok {
			named[i] = true
		}
	}
	m := fst.NewVector[semiring.Tropical64](c.given.NumStates())
	m.AddStates(c.given.NumStates())
	m.SetStart(c.given.Start())
	for q := range fst.StateID(c.given.NumStates()) {
		m.SetFinal(q, c.given.Final(q))
		for _, e := range c.given.Arcs(q) {
			add := func(phone int) {
				l := fst.Label(phone + 1)
				m.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: l, OLabel: l, Weight: e.Weight, NextState: e.NextState})
			}
			name := c.names[e.ILabel-1]
			if i, ok := at[name]; ok {
				add(i)
			} else if name == OtherPhones {
				for i, is := range named {
					if !is {
						add(i)
					}
				}
			}
		}
	}
	ops.Connect(m)
	if m.NumStates() == 0 {
		return nil, fmt.Errorf("g2p: the constraint accepts no string of the phones of the model")
	}
	d, err := ops.Determinize(m, &ops.DeterminizeOptions{Limits: ops.Limits{States: maxConstraintStates}})
	if err != nil {
		return nil, fmt.Errorf("g2p: the constraint cannot be made deterministic: %w", err)
	}
	n := d.NumStates()
	if n*len(phones) > maxConstraintCells {
		return nil, fmt.Errorf("g2p: the constraint has %d states, too many for %d phones", n, len(phones))
	}
	o := &Constraint{given: c.given, names: c.names, start: int32(d.Start()), phones: len(phones),
		next: make([]int32, n*len(phones)), cost: make([]float64, n*len(phones)), finals: make([]float64, n)}
	for i := range o.next {
		o.next[i] = -1
	}
	for q := range fst.StateID(n) {
		o.finals[q] = float64(d.Final(q))
		for _, e := range d.Arcs(q) {
			at := int(q)*len(phones) + int(e.ILabel) - 1
			o.next[at], o.cost[at] = int32(e.NextState), float64(e.Weight)
		}
	}
	return o, nil
}

// ConstraintID tells constraints of problems apart; it is empty where there is none.
func (p *Problem) ConstraintID() string {
	if p.views == nil || p.views.constraint == nil {
		return ""
	}
	h := sha256.New()
	c := p.views.constraint.given
	fmt.Fprintf(h, "%q %d\n", p.views.constraint.names, c.Start())
	for q := range fst.StateID(c.NumStates()) {
		fmt.Fprintln(h, c.Final(q), c.Arcs(q))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (c *Constraint) step(state int32, phone int) (next int32, cost float64, ok bool) {
	at := int(state)*c.phones + phone
	return c.next[at], c.cost[at], c.next[at] >= 0
}

func (c *Constraint) final(state int32) (cost float64, ok bool) {
	return c.finals[state], !math.IsInf(c.finals[state], 1)
}
