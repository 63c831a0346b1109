package g2p

import (
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/semiring"
)

// viewMeta is the header's part of views.
type viewMeta struct {
	History    int      `json:"history,omitempty"`
	Phones     int      `json:"phone_history,omitempty"`
	Damping    float64  `json:"history_damping,omitempty"`
	Marks      []string `json:"marks,omitempty"`
	Constraint bool     `json:"constraint,omitempty"`
}

// put adds views to a file: the keys of histories (node<<32 | symbol, in their order), and the
// constraint's machine.
func (v *views) put(c *model.Container) (*viewMeta, error) {
	if v == nil {
		return nil, nil
	}
	meta := &viewMeta{}
	if h := v.labels; h != nil {
		meta.History, meta.Damping = h.order, h.damping
		model.Put(c, "histories", keysOf(h.child))
	}
	if h := v.phones; h != nil {
		meta.Phones, meta.Damping = h.order, h.damping
		model.Put(c, "phone_histories", keysOf(h.child))
	}
	if v.marks != nil {
		meta.Marks = v.marks.names
	}
	if v.constraint == nil {
		return meta, nil
	}
	meta.Constraint = true
	m := v.constraint.given
	var finals, weights []float64
	arcs := []int32{}
	for q := range fst.StateID(m.NumStates()) {
		finals = append(finals, float64(m.Final(q)))
		for _, e := range m.Arcs(q) {
			arcs = append(arcs, int32(q), int32(e.ILabel), int32(e.NextState))
			weights = append(weights, float64(e.Weight))
		}
	}
	model.Put(c, "constraint_start", []int32{int32(m.Start())})
	model.Put(c, "constraint_final", finals)
	model.Put(c, "constraint_arcs", arcs, len(weights), 3)
	model.Put(c, "constraint_weights", weights)
	return meta, c.PutStrings("constraint_phones", v.constraint.names)
}

// views reads what put wrote.
func (l *loader) views(inv *Inventory, meta *viewMeta) (*views, error) {
	if meta == nil {
		return nil, nil
	}
	v := &views{}
	o, err := (&ViewOptions{History: meta.History, Phones: meta.Phones, Damping: meta.Damping}).withDefaults(0)
	if err != nil {
		return nil, l.bad("%v", err)
	}
	read := func(name string, order, least, symbols int) (*histories, error) {
		keys, err := model.Get[uint64](l.c, name)
		if err != nil {
			return nil, err
		}
		h := &histories{order: order, least: least, damping: o.Damping, child: fst.NewTable[uint64](fst.Mix)}
		for i, k := range keys {
			if s := k & 0xffffffff; s >= uint64(symbols+firstSymbol) {
				return nil, l.bad("%s[%d] is of symbol %d", name, i, s)
			}
			if _, isNew := h.child.ID(k); !isNew {
				return nil, l.bad("%s[%d] is there twice", name, i)
			}
		}
		if err := h.link(); err != nil {
			return nil, l.bad("%s: %v", name, err)
		}
		return h, nil
	}
	if o.History > 0 {
		if v.labels, err = read("histories", o.History, leastLabels, len(inv.Labels)); err != nil {
			return nil, err
		}
	}
	if o.Phones > 0 {
		if v.phones, err = read("phone_histories", o.Phones, leastPhones, len(inv.Phones)); err != nil {
			return nil, err
		}
	}
	if len(meta.Marks) > 0 {
		if v.marks, err = newMarks(inv.Phones, meta.Marks); err != nil {
			return nil, l.bad("%v", err)
		}
	}
	if meta.Constraint {
		c, err := l.constraint()
		if err != nil {
			return nil, err
		}
		if v.constraint, err = c.over(inv.Phones); err != nil {
			return nil, l.bad("%v", err)
		}
	}
	return v, nil
}

func (l *loader) constraint() (*Constraint, error) {
	names, err := l.c.Strings("constraint_phones")
	if err != nil {
		return nil, err
	}
	symbols := fst.NewSymbolTable("phones")
	symbols.AddLabel("<eps>", fst.Epsilon)
	for i, n := range names {
		if _, isNew := symbols.AddLabel(n, fst.Label(i+1)); !isNew {
			return nil, l.bad("phone %d of the constraint, %q, is there twice", i, n)
		}
	}
	finals, err := model.Get[float64](l.c, "constraint_final")
	if err != nil {
		return nil, err
	}
	start, err := model.Get[int32](l.c, "constraint_start", 1)
	if err != nil {
		return nil, err
	}
	weights, err := model.Get[float64](l.c, "constraint_weights")
	if err != nil {
		return nil, err
	}
	arcs, err := model.Get[int32](l.c, "constraint_arcs", len(weights), 3)
	if err != nil {
		return nil, err
	}
	state := func(q int32) bool { return q >= 0 && int(q) < len(finals) }
	if !state(start[0]) {
		return nil, l.bad("the constraint starts at state %d of %d", start[0], len(finals))
	}
	m := fst.NewVector[semiring.Tropical64](len(finals))
	m.AddStates(len(finals))
	m.SetStart(fst.StateID(start[0]))
	for q, w := range finals {
		if math.IsNaN(w) || math.IsInf(w, -1) {
			return nil, l.bad("the constraint has the final weight %v", w)
		}
		m.SetFinal(fst.StateID(q), semiring.Tropical64(w))
	}
	for i, w := range weights {
		from, label, to := arcs[3*i], arcs[3*i+1], arcs[3*i+2]
		if !state(from) || !state(to) || label < 1 || int(label) > len(names) || math.IsNaN(w) ||
			math.IsInf(w, -1) {
			return nil, l.bad("arc %d of the constraint goes from state %d to %d with label %d and weight %v", i,
				from, to, label, w)
		}
		m.AddArc(fst.StateID(from), fst.Arc[semiring.Tropical64]{ILabel: fst.Label(label),
			OLabel: fst.Label(label), Weight: semiring.Tropical64(w), NextState: fst.StateID(to)})
	}
	c, err := NewConstraint(m, symbols)
	if err != nil {
		return nil, l.bad("%v", err)
	}
	return c, nil
}
