package losses

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// In machines, symbol k of an alphabet is label k+1, since label 0 is ε. The
// transducers here read y on the input side and the reference on the output
// side, and are sorted by input label.

// Transducer returns the edit transducer of figure 6.3: one state, with arcs a:b for matches and
// substitutions, a:ε for deletions, ε:b for insertions. It has (alphabet+1)² - 1 arcs; too many are
// an ErrBudget. Automaton needs only those that a reference and some strings use. A band is not a
// property of the transducer: see GeneralOptions.Band.
func (e Edit) Transducer(alphabet int) (*fst.Vector[semiring.Tropical64], error) {
	e = e.or()
	if err := e.check(nil, alphabet); err != nil {
		return nil, err
	}
	return e.transducer(upTo(alphabet), upTo(alphabet), ops.Limits{})
}

// transducer is Transducer between sorted sets of symbols of y and of the reference.
func (e Edit) transducer(ys, rs []int, lim ops.Limits) (*fst.Vector[semiring.Tropical64], error) {
	if err := checkArcs(ys, rs, 1, lim); err != nil {
		return nil, err
	}
	u := fst.NewVector[semiring.Tropical64](1)
	q := u.AddState()
	u.SetStart(q)
	u.SetFinal(q, 0)
	pairs(ys, rs, func(a, b int) {
		u.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a + 1), OLabel: fst.Label(b + 1),
			Weight: semiring.Tropical64(e.cost(a, b))})
	})
	return u, nil
}

// pairs calls f for each pair of symbols, -1 for none, but (-1, -1), in order.
func pairs(ys, rs []int, f func(a, b int)) {
	for _, b := range rs {
		f(-1, b)
	}
	for _, a := range ys {
		f(a, -1)
		for _, b := range rs {
			f(a, b)
		}
	}
}

// upTo returns the symbols of an alphabet, none for a negative one.
func upTo(alphabet int) []int {
	s := make([]int, max(0, alphabet))
	for k := range s {
		s[k] = k
	}
	return s
}

// checkArcs refuses a transducer between two sets of symbols that would exceed the
// limits, or any reason where there are none.
func checkArcs(ys, rs []int, states int, lim ops.Limits) error {
	n := int64(states) * int64(len(ys)+1) * int64(len(rs)+1)
	limit := lim.Bytes
	if limit <= 0 {
		limit = DefaultBytes
	}
	const arc = 32
	if lim.Arcs > 0 && n > lim.Arcs {
		return fmt.Errorf("losses: a transducer between %d and %d symbols has %d arcs, more than the limit "+
			"on arcs, %d, which needs to be raised: %w", len(ys), len(rs), n, lim.Arcs, ErrBudget)
	}
	if n > limit/arc {
		return fmt.Errorf("losses: a transducer between %d and %d symbols has %d arcs, but %d bytes hold "+
			"only %d: %w", len(ys), len(rs), n, limit, limit/arc, ErrBudget)
	}
	return nil
}

// Symbols returns the symbols that the strings of y have, after expand if that is
// not nil, in order: label k+1 is symbol k. A label outside the alphabet is an error
// that names it and its state, for no loss knows what it costs.
func Symbols(y fst.Expanded[semiring.Log64], expand fst.Expanded[semiring.Tropical64],
	alphabet int) ([]int, error) {
	seen := map[int]bool{}
	note := func(what string, q fst.StateID, label fst.Label) error {
		if label == fst.Epsilon {
			return nil
		}
		if label < 0 || int(label) > alphabet {
			return fmt.Errorf("losses: %s: state %d has an arc with label %d, outside the alphabet of %d "+
				"symbols (labels 1 to %d)", what, q, label, alphabet, alphabet)
		}
		seen[int(label)-1] = true
		return nil
	}
	if expand != nil {
		for q := range fst.StateID(expand.NumStates()) {
			for _, e := range expand.Arcs(q) {
				if err := note("the transducer that expands labels", q, e.OLabel); err != nil {
					return nil, err
				}
			}
		}
	} else {
		for q := range fst.StateID(y.NumStates()) {
			for _, e := range y.Arcs(q) {
				if err := note("the strings", q, e.ILabel); err != nil {
					return nil, err
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// used returns the symbols of y's strings and of the reference.
func used(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (ys, rs []int, o *GeneralOptions, err error) {
	if o = opts; o == nil {
		o = &GeneralOptions{}
	}
	if ys, err = Symbols(y, o.Expand, alphabet); err != nil {
		return nil, nil, nil, err
	}
	for j, r := range ref {
		if r < 0 {
			return nil, nil, nil, fmt.Errorf("losses: symbol %d of the reference is %d", j, r)
		}
	}
	rs = slices.Clone(ref)
	slices.Sort(rs)
	return ys, slices.Compact(rs), o.advise(y), nil
}

// Automaton prepares the loss along the general path, by the transducer between the
// symbols that occur.
func (e Edit) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (*Automaton, error) {
	e = e.or()
	ys, rs, opts, err := used(y, ref, alphabet, opts)
	if err != nil {
		return nil, err
	}
	if err := e.check(ref, alphabet); err != nil {
		return nil, err
	}
	u, err := e.transducer(ys, rs, opts.Limits)
	if err != nil {
		return nil, err
	}
	opts.allPairs = opts.advice == adviceDirect // strings of one length, without an expansion
	from := &editOrigin{edit: e, y: y, ref: slices.Clone(ref), alphabet: alphabet, opts: opts}
	if err := from.outgrown(); err != nil {
		return nil, from.advise(err, nil)
	}
	a, err := TropicalAutomaton(y, u, ref, opts)
	if err != nil {
		return nil, from.advise(err, nil)
	}
	a.from = from
	e.Band = 0
	a.banded.definedBy(e.Value)
	return a, nil
}

// cost returns the cost of aligning symbol y with symbol r, where -1 is nothing.
func (e Edit) cost(y, r int) float64 {
	pick := func(table []float64, k int, constant float64) float64 {
		if table != nil {
			return table[k]
		}
		return constant
	}
	switch {
	case y < 0:
		return pick(e.InsTable, r, e.Ins)
	case r < 0:
		return pick(e.DelTable, y, e.Del)
	case e.SubTable != nil:
		return e.SubTable[y][r]
	case y == r:
		return e.Match
	default:
		return e.Sub
	}
}

// Factors returns T1 and T2 with T1∘T2 = e.Transducer(alphabet), as in figure 6.4(b). T1 turns a
// symbol of y into itself, or into s (to be substituted or deleted), or brings in i (to be
// inserted). T2 turns s into any symbol of the reference or none, and i into any. Both are linear
// in the alphabet where the transducer itself is quadratic. Y∘T1 and T2∘Y_i composed on the fly
// take O(|Y||Y_i|). s is label alphabet+1, i is alphabet+2.
//
// Costs must be constants, and a substitution must cost at least as much as a match: s stands for
// any symbol, the original one included.
func (e Edit) Factors(alphabet int) (t1, t2 *fst.Vector[semiring.Tropical64], err error) {
	e = e.or()
	if err := e.check(nil, alphabet); err != nil {
		return nil, nil, err
	}
	if e.SubTable != nil || e.InsTable != nil || e.DelTable != nil {
		return nil, nil, fmt.Errorf("losses: edit: costs by symbol do not factor: s and i stand for all " +
			"symbols")
	}
	if e.Match > e.Sub {
		return nil, nil, fmt.Errorf("losses: edit: match %v above substitution %v does not factor: s "+
			"stands for all symbols, the equal one too", e.Match, e.Sub)
	}
	type arc = fst.Arc[semiring.Tropical64]
	one := func() *fst.Vector[semiring.Tropical64] {
		t := fst.NewVector[semiring.Tropical64](1)
		t.SetStart(t.AddState())
		t.SetFinal(0, 0)
		return t
	}
	s, i := fst.Label(alphabet+1), fst.Label(alphabet+2)
	t1, t2 = one(), one()
	t1.AddArc(0, arc{ILabel: fst.Epsilon, OLabel: i})
	for a := fst.Label(1); a <= fst.Label(alphabet); a++ {
		t1.AddArc(0, arc{ILabel: a, OLabel: a, Weight: semiring.Tropical64(e.Match)})
		t1.AddArc(0, arc{ILabel: a, OLabel: s})
		t2.AddArc(0, arc{ILabel: a, OLabel: a})
	}
	t2.AddArc(0, arc{ILabel: s, OLabel: fst.Epsilon, Weight: semiring.Tropical64(e.Del)})
	for b := fst.Label(1); b <= fst.Label(alphabet); b++ {
		t2.AddArc(0, arc{ILabel: s, OLabel: b, Weight: semiring.Tropical64(e.Sub)})
	}
	for b := fst.Label(1); b <= fst.Label(alphabet); b++ {
		t2.AddArc(0, arc{ILabel: i, OLabel: b, Weight: semiring.Tropical64(e.Ins)})
	}
	return t1, t2, nil
}

// Transducer returns the three-state transducer of the negated best local
// alignment score: skip at no cost, align, skip at no cost.
func (s Local) Transducer(alphabet int) (*fst.Vector[semiring.Tropical64], error) {
	return s.transducer(upTo(alphabet), upTo(alphabet), ops.Limits{})
}

// Automaton is Edit.Automaton for this loss.
func (s Local) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (*Automaton, error) {
	s = s.or()
	ys, rs, opts, err := used(y, ref, alphabet, opts)
	if err != nil {
		return nil, err
	}
	u, err := s.transducer(ys, rs, opts.Limits)
	if err != nil {
		return nil, err
	}
	opts.outside = []bool{true, false, true} // skipping is free
	a, err := TropicalAutomaton(y, u, ref, opts)
	if err != nil {
		return nil, err
	}
	s.Band = 0
	a.banded.definedBy(s.Value)
	return a, nil
}

func (s Local) transducer(ys, rs []int, lim ops.Limits) (*fst.Vector[semiring.Tropical64], error) {
	s = s.or()
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := checkArcs(ys, rs, 3, lim); err != nil {
		return nil, err
	}
	u := fst.NewVector[semiring.Tropical64](3)
	u.AddStates(3)
	u.SetStart(0)
	for q := fst.StateID(0); q < 3; q++ {
		u.SetFinal(q, 0)
	}
	score := func(a, b int) float64 {
		switch {
		case a < 0:
			return s.Ins
		case b < 0:
			return s.Del
		case a == b:
			return s.Match
		default:
			return s.Sub
		}
	}
	pairs(ys, rs, func(a, b int) {
		e := fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a + 1), OLabel: fst.Label(b + 1)}
		if a < 0 || b < 0 { // skipping: before, and after
			u.AddArc(0, e)
			e.NextState = 2
			u.AddArc(1, e)
			u.AddArc(2, e)
		}
		e.Weight, e.NextState = semiring.Tropical64(-score(a, b)), 1
		u.AddArc(0, e)
		u.AddArc(1, e)
	})
	return u, nil
}

// Transducer returns the one-state transducer of the Hamming loss. Strings of
// different lengths have no path.
func (h Hamming) Transducer(alphabet int) (*fst.Vector[semiring.Tropical64], error) {
	return h.transducer(upTo(alphabet), upTo(alphabet), ops.Limits{})
}

// Automaton is Edit.Automaton for this loss. Strings of another length than the
// reference are left out.
func (h Hamming) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (*Automaton, error) {
	ys, rs, opts, err := used(y, ref, alphabet, opts)
	if err != nil {
		return nil, err
	}
	u, err := h.transducer(ys, rs, opts.Limits)
	if err != nil {
		return nil, err
	}
	return TropicalAutomaton(y, u, ref, opts)
}

func (h Hamming) transducer(ys, rs []int, lim ops.Limits) (*fst.Vector[semiring.Tropical64], error) {
	if err := checkArcs(ys, rs, 1, lim); err != nil {
		return nil, err
	}
	h = h.or()
	if !(math.Abs(h.Scale) <= maxCost) {
		return nil, fmt.Errorf("losses: hamming: scale %v is not a finite number of moderate size", h.Scale)
	}
	u := fst.NewVector[semiring.Tropical64](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 0)
	for _, a := range ys {
		for _, b := range rs {
			e := fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a + 1), OLabel: fst.Label(b + 1)}
			if a != b {
				e.Weight = semiring.Tropical64(h.Scale)
			}
			u.AddArc(0, e)
		}
	}
	return u, nil
}

// CountTransducer returns T of figure 6.1 for n-grams: T(y, u) is the number of
// occurrences of u in y, for |u| = n.
func CountTransducer(alphabet, n int) *fst.Vector[semiring.Probability] {
	return countTransducer(upTo(alphabet), n)
}

func countTransducer(symbols []int, n int) *fst.Vector[semiring.Probability] {
	t := fst.NewVector[semiring.Probability](n + 1)
	t.AddStates(n + 1)
	t.SetStart(0)
	t.SetFinal(fst.StateID(n), 1)
	for q := fst.StateID(0); q <= fst.StateID(n); q++ {
		for _, k := range symbols {
			a := fst.Label(k + 1)
			e := fst.Arc[semiring.Probability]{ILabel: a, Weight: 1, NextState: q}
			if q == 0 || int(q) == n {
				t.AddArc(q, e)
			}
			if int(q) < n {
				e.OLabel, e.NextState = a, q+1
				t.AddArc(q, e)
			}
		}
	}
	return t
}

// Transducer returns U = T∘T⁻¹, which counts common n-grams. U(y, r) is the sum over n-grams u of
// the number of times that u occurs in y times the number in r.
func (n NGram) Transducer(alphabet int) (*fst.Vector[semiring.Probability], error) {
	return n.transducer(upTo(alphabet), upTo(alphabet), ops.Limits{})
}

func (n NGram) transducer(ys, rs []int, lim ops.Limits) (*fst.Vector[semiring.Probability], error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	// An arc or two for each symbol at each of the n + 1 states.
	if n.N > math.MaxInt32 {
		return nil, fmt.Errorf("losses: ngram: a transducer of n = %d: %w", n.N, ErrBudget)
	}
	if err := checkArcs(append(slices.Clone(ys), rs...), nil, 4*(n.N+1), lim); err != nil {
		return nil, err
	}
	inverse := countTransducer(rs, n.N)
	ops.Invert(inverse)
	ops.ArcSort(inverse, ops.Input)
	return ops.Compose(countTransducer(ys, n.N), inverse, &ops.ComposeOptions{Limits: lim})
}

// Automaton prepares the loss along the general path.
func (n NGram) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (*Automaton, error) {
	ys, rs, opts, err := used(y, ref, alphabet, opts)
	if err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	n.N = min(n.N, len(ref)+1) // the reference has none of either
	u, err := n.transducer(ys, rs, opts.Limits)
	if err != nil {
		return nil, err
	}
	return RationalAutomaton(y, u, ref, n.C, opts)
}
