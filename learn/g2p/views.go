package g2p

import (
	"fmt"
)

// ViewOptions adds views of the whole output to a model, which its chain of neighbouring labels
// does not have; the zero value has none.
type ViewOptions struct {
	History  int // n-grams of labels up to this length; 0 is none, else 3 to 8
	Phones   int // n-grams of phones up to this length, empty labels left out; 0 is none, else 2 to 8
	MinCount int // n-grams seen less often in training are left out; 0 is 2
	// Damping, to the power of its length less one, is the value of an n-gram of labels or phones,
	// as that of FeatureOptions; 0 is .6.
	Damping float64
	// Marks are what to count in a word, each up to two: phones, or what marks phones, such as
	// accents; several joined by + are one. AutoMarks, as the only one, finds accents and stress.
	// Nil is AutoMarks up to 2000 pairs, and no marks above, where lattices become large under
	// objectives with loss machines; NoMarks is none.
	Marks []string
	// Constraint restricts outputs to those that it accepts, in training too; nil is none.
	Constraint *Constraint
	// MaxArcs bounds the lattices of all words together; 0 is 2²⁸, of 8 to 12 bytes.
	MaxArcs int
}

const maxHistory = 8

// Lengths of the shortest n-grams with weights: pairs of labels have theirs among the features.
const (
	leastLabels = 3
	leastPhones = 2
)

// fewPairs is how many pairs have marks by default.
const fewPairs = 2000

func (o *ViewOptions) withDefaults(pairs int) (ViewOptions, error) {
	d := *o
	switch {
	case d.Marks == nil && pairs <= fewPairs:
		d.Marks = []string{AutoMarks}
	case len(d.Marks) == 1 && d.Marks[0] == NoMarks:
		d.Marks = nil
	}
	if d.MinCount == 0 {
		d.MinCount = 2
	}
	if d.Damping == 0 {
		d.Damping = 0.6
	}
	if d.MaxArcs == 0 {
		d.MaxArcs = 1 << 28
	}
	if d.History != 0 && (d.History < 3 || d.History > maxHistory) {
		return d, fmt.Errorf("g2p: histories of %d labels: 3 to %d are possible, or 0 for none; 2 are in every "+
			"model", d.History, maxHistory)
	}
	if d.Phones != 0 && (d.Phones < 2 || d.Phones > maxHistory) {
		return d, fmt.Errorf("g2p: histories of %d phones: 2 to %d are possible, or 0 for none", d.Phones,
			maxHistory)
	}
	if d.MinCount < 0 || !(d.Damping > 0 && d.Damping <= 1) || d.MaxArcs < 0 {
		return d, fmt.Errorf("g2p: views: least count %d, damping %v (above 0, at most 1), %d arcs", d.MinCount,
			d.Damping, d.MaxArcs)
	}
	return d, nil
}

func (o *ViewOptions) any() bool {
	return o.History > 0 || o.Phones > 0 || len(o.Marks) > 0 || o.Constraint != nil
}

// views are deterministic automata that read the labels of a word side by side. What a step pays is
// a sum of entries of one array: the nodes of label histories, those of phone histories, and
// the features of marks.
type views struct {
	labels     *histories // nil is none, as for the others
	phones     *histories
	marks      *marks
	constraint *Constraint
}

// position is a state of all views.
type position struct {
	label, phone int32
	mark         uint16
	machine      int32
}

// newViews counts histories over the aligned labels of words. It is nil when there is nothing to
// view.
func newViews(inv *Inventory, o *ViewOptions, words [][]int32) (*views, error) {
	v := &views{constraint: o.Constraint}
	var err error
	if o.History > 0 {
		var all [][]int32
		for _, u := range words {
			s := make([]int32, len(u))
			for t, l := range u {
				s[t] = l + firstSymbol
			}
			all = append(all, s)
		}
		if v.labels, err = newHistories(o.History, leastLabels, o.MinCount, o.Damping, all); err != nil {
			return nil, err
		}
	}
	if o.Phones > 0 {
		var all [][]int32
		for _, u := range words {
			var s []int32
			for _, l := range u {
				for _, p := range inv.Labels[l] {
					s = append(s, int32(p)+firstSymbol)
				}
			}
			all = append(all, s)
		}
		if v.phones, err = newHistories(o.Phones, leastPhones, o.MinCount, o.Damping, all); err != nil {
			return nil, err
		}
	}
	if len(o.Marks) > 0 {
		if v.marks, err = newMarks(inv.Phones, o.Marks); err != nil {
			return nil, err
		}
		if v.marks.kinds == 0 { // AutoMarks found none
			v.marks = nil
		}
	}
	if v.constraint != nil {
		if v.constraint, err = v.constraint.over(inv.Phones); err != nil {
			return nil, err
		}
	}
	if *v == (views{}) {
		return nil, nil
	}
	return v, nil
}

// offsets returns where the entries of phones and marks begin, and the number of all.
func (v *views) offsets() (phones, marks, all int) {
	if v.labels != nil {
		phones = v.labels.size()
	}
	marks = phones
	if v.phones != nil {
		marks += v.phones.size()
	}
	all = marks
	if v.marks != nil {
		all += v.marks.size()
	}
	return phones, marks, all
}

// size returns the number of weights.
func (v *views) size() int {
	if v == nil {
		return 0
	}
	_, _, all := v.offsets()
	return all
}

func (v *views) start() (p position) {
	if v.labels != nil {
		p.label = v.labels.start()
	}
	if v.phones != nil {
		p.phone = v.phones.start()
	}
	if v.constraint != nil {
		p.machine = v.constraint.start
	}
	return p
}

// step reads a label that expands to the phones u. It appends to entries what is to be paid, and
// returns the constraint's cost; ok is whether that accepts.
func (v *views) step(p position, label int32, u []int, entries []int32) (_ position, _ []int32, cost float64,
	ok bool) {
	phones, marks, _ := v.offsets()
	if v.labels != nil {
		var node int32
		if node, p.label = v.labels.step(p.label, label+firstSymbol); int(v.labels.depth[node]) >= v.labels.least {
			entries = append(entries, node)
		}
	}
	for _, x := range u {
		if v.phones != nil {
			var node int32
			if node, p.phone = v.phones.step(p.phone, int32(x)+firstSymbol); int(v.phones.depth[node]) >= v.phones.least {
				entries = append(entries, int32(phones)+node)
			}
		}
		if v.marks != nil {
			entries, p.mark = v.marks.step(p.mark, x, int32(marks), entries)
		}
		if v.constraint != nil {
			var c float64
			if p.machine, c, ok = v.constraint.step(p.machine, x); !ok {
				return p, entries, 0, false
			}
			cost += c
		}
	}
	return p, entries, cost, true
}

// accepts reports whether the constraint, if there is one, accepts the phones of labels.
func (v *views) accepts(inv *Inventory, labels []int32) bool {
	if v == nil || v.constraint == nil {
		return true
	}
	q := v.constraint.start
	ok := true
	for _, l := range labels {
		for _, x := range inv.Labels[l] {
			if q, _, ok = v.constraint.step(q, x); !ok {
				return false
			}
		}
	}
	_, ok = v.constraint.final(q)
	return ok
}

// unknown is the position after a label that training did not see there: histories are forgotten,
// and marks are not counted.
func (p position) unknown() position {
	p.label, p.phone = 0, 0
	return p
}

// end is step for the end of a word.
func (v *views) end(p position, entries []int32) (_ []int32, cost float64, ok bool) {
	phones, marks, _ := v.offsets()
	if v.labels != nil {
		if node, _ := v.labels.step(p.label, wordEnd); int(v.labels.depth[node]) >= v.labels.least {
			entries = append(entries, node)
		}
	}
	if v.phones != nil {
		if node, _ := v.phones.step(p.phone, wordEnd); int(v.phones.depth[node]) >= v.phones.least {
			entries = append(entries, int32(phones)+node)
		}
	}
	if v.marks != nil {
		entries = v.marks.end(p.mark, int32(marks), entries)
	}
	if v.constraint != nil {
		if cost, ok = v.constraint.final(p.machine); !ok {
			return entries, 0, false
		}
	}
	return entries, cost, true
}

// cumulate stores in sum what every entry pays, times scale.
func (v *views) cumulate(w, sum []float64, scale float64) {
	phones, marks, all := v.offsets()
	if v.labels != nil {
		v.labels.cumulate(w[:phones], sum[:phones], scale)
	}
	if v.phones != nil {
		v.phones.cumulate(w[phones:marks], sum[phones:marks], scale)
	}
	for i := marks; i < all; i++ {
		sum[i] = scale * w[i]
	}
}

// gather adds to grad the gradient of weights, given that of entries, which it changes.
func (v *views) gather(entries, grad []float64) {
	phones, marks, all := v.offsets()
	if v.labels != nil {
		v.labels.gather(entries[:phones], grad[:phones])
	}
	if v.phones != nil {
		v.phones.gather(entries[phones:marks], grad[phones:marks])
	}
	for i := marks; i < all; i++ {
		grad[i] += entries[i]
	}
}

// events are the steps of all words, each once: the entries that it pays, and the constraint's
// cost.
type events struct {
	start   []int32
	entries []int32
	cost    []float64
}

func (e *events) len() int { return len(e.cost) }

// scores stores what every event pays, given what entries do.
func (e *events) scores(sum, out []float64, scale float64) {
	for i, c := range e.cost {
		s := -scale * c
		for _, x := range e.entries[e.start[i]:e.start[i+1]] {
			s += sum[x]
		}
		out[i] = s
	}
}

// add adds the gradient of events to that of their entries.
func (e *events) add(g, entries []float64) {
	for i, x := range g {
		for _, k := range e.entries[e.start[i]:e.start[i+1]] {
			entries[k] += x
		}
	}
}
