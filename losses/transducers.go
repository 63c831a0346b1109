package losses

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// In machines, symbol k of an alphabet is label k+1, since label 0 is ε. The
// transducers here read y on the input side and the reference on the output
// side, and are sorted by input label.

// Transducer returns the edit transducer of figure 6.3: one state, with arcs
// a:b for matches and substitutions, a:ε for deletions, ε:b for insertions. It
// has (alphabet+1)² - 1 arcs. A band is no property of the transducer: see
// TropicalOptions.Band.
func (e Edit) Transducer(alphabet int) (*fst.Vector[semiring.Tropical64], error) {
	if err := e.check(nil, alphabet); err != nil {
		return nil, err
	}
	u := fst.NewVector[semiring.Tropical64](1)
	q := u.AddState()
	u.SetStart(q)
	u.SetFinal(q, 0)
	for a := range alphabet + 1 {
		for b := range alphabet + 1 {
			if a+b > 0 {
				u.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a), OLabel: fst.Label(b), Weight: semiring.Tropical64(e.cost(a-1, b-1))})
			}
		}
	}
	return u, nil
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

// Factors returns T1 and T2 with T1∘T2 = e.Transducer(alphabet), as in figure
// 6.4(b): T1 turns a symbol of y into itself, or into s (to be substituted or
// deleted), or brings in i (to be inserted); T2 turns s into any symbol of the
// reference or none, and i into any. Both are linear in the alphabet where the
// transducer itself is quadratic, so that Y∘T1 and T2∘Y_i composed on the fly
// take O(|Y||Y_i|). s is label alphabet+1, i is alphabet+2.
//
// Costs must be constants, and a substitution at least as dear as a match, for
// s stands for any symbol: it can be substituted by what it was.
func (e Edit) Factors(alphabet int) (t1, t2 *fst.Vector[semiring.Tropical64], err error) {
	if err := e.check(nil, alphabet); err != nil {
		return nil, nil, err
	}
	if e.SubTable != nil || e.InsTable != nil || e.DelTable != nil {
		return nil, nil, fmt.Errorf("losses: edit: costs by symbol do not factor: s and i stand for all symbols")
	}
	if e.Match > e.Sub {
		return nil, nil, fmt.Errorf("losses: edit: match %v above substitution %v does not factor: s stands for all symbols, the equal one too", e.Match, e.Sub)
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
	if err := s.check(); err != nil {
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
		case a == 0:
			return s.Ins
		case b == 0:
			return s.Del
		case a == b:
			return s.Match
		default:
			return s.Sub
		}
	}
	for a := range alphabet + 1 {
		for b := range alphabet + 1 {
			if a+b == 0 {
				continue
			}
			e := fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a), OLabel: fst.Label(b)}
			if a == 0 || b == 0 { // skipping: before, and after
				u.AddArc(0, e)
				e.NextState = 2
				u.AddArc(1, e)
				u.AddArc(2, e)
			}
			e.Weight, e.NextState = semiring.Tropical64(-score(a, b)), 1
			u.AddArc(0, e)
			u.AddArc(1, e)
		}
	}
	return u, nil
}

// Transducer returns the one-state transducer of the Hamming loss. Strings of
// different lengths have no path.
func (h Hamming) Transducer(alphabet int) (*fst.Vector[semiring.Tropical64], error) {
	if math.IsNaN(h.Scale) || math.IsInf(h.Scale, 0) {
		return nil, fmt.Errorf("losses: hamming: scale %v is not a finite number", h.Scale)
	}
	u := fst.NewVector[semiring.Tropical64](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 0)
	for a := 1; a <= alphabet; a++ {
		for b := 1; b <= alphabet; b++ {
			e := fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a), OLabel: fst.Label(b)}
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
	t := fst.NewVector[semiring.Probability](n + 1)
	t.AddStates(n + 1)
	t.SetStart(0)
	t.SetFinal(fst.StateID(n), 1)
	for q := fst.StateID(0); q <= fst.StateID(n); q++ {
		for a := fst.Label(1); a <= fst.Label(alphabet); a++ {
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

// Transducer returns U = T∘T⁻¹, which counts common n-grams: U(y, r) is the sum
// over n-grams u of the times that u occurs in y and in r.
func (n NGram) Transducer(alphabet int) (*fst.Vector[semiring.Probability], error) {
	if n.N < 1 {
		return nil, fmt.Errorf("losses: ngram: n = %d, not at least 1", n.N)
	}
	t := CountTransducer(alphabet, n.N)
	inverse := t.Clone()
	ops.Invert(inverse)
	ops.ArcSort(inverse, ops.Input)
	return ops.Compose(t, inverse, nil)
}

// Automaton prepares the loss along the general path.
func (n NGram) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int, opts *GeneralOptions) (*Automaton, error) {
	u, err := n.Transducer(alphabet)
	if err != nil {
		return nil, err
	}
	return RationalAutomaton(y, u, ref, n.C, opts)
}
