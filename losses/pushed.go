package losses

import (
	"math"
)

// pushed returns the machine to use at γ where sums of γ L would swallow the potentials that they
// are added to. It has the same strings and losses. Values are pushed towards the start by the
// greatest loss that can follow a column, or the least for γ < 0 (M. Mohri, "Finite-state
// transducers in language and speech processing", Computational Linguistics 23(2), 1997). The
// constant is then the greatest γ L, and a value is how far an arc falls behind it. The strings
// that make up Z are near the greatest: sums of numbers of one sign. Nothing is subtracted, however
// large γ.
//
// The sums must be exact in float64, as they are for costs with few binary places. Where one is
// not, the losses are not known well enough to be multiplied by such a γ. Then m is returned, and
// certain refuses what is in doubt.
//
// It takes as much memory again as m, and O(arcs) once for each sign of γ.
func (m *Machine) pushed(gamma float64) *Machine {
	if m.Build() != nil || !(math.Abs(gamma)*m.core.Reach > pushedFrom) {
		return m // evaluations report what Build has
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	side := &m.pushes[0]
	if gamma < 0 {
		side = &m.pushes[1]
	}
	if *side == nil {
		if *side = m.push(gamma < 0); *side != m {
			m.bytes += (*side).bytes
		}
	}
	return *side
}

// pushedFrom is the least |γ| times reach for which machines are pushed: rounding is
// 1e-10 there, and certain refuses nothing below it.
const pushedFrom = 1e6

// push returns the pushed machine, m itself where a sum is not exact.
func (m *Machine) push(least bool) *Machine {
	worst, better := math.Inf(-1), math.Max
	if least {
		worst, better = math.Inf(1), math.Min
	}
	layers := m.core.Columned().Layers
	exact := true
	sum := func(a, b float64) float64 {
		if math.IsInf(a, 0) || math.IsInf(b, 0) {
			return a + b
		}
		s := a + b
		t := s - a
		if (a-(s-t))+(b-t) != 0 { // the error of the sum (D. Knuth, TAOCP 2, 4.2.2)
			exact = false
		}
		return s
	}
	ahead := make([][]float64, len(m.core.Layers)+1) // by layer and column: the best loss to come
	last := make([]float64, len(m.core.Final))
	for c, v := range m.core.Final {
		last[c] = worst
		if v != Excluded {
			last[c] = m.core.Values[v]
		}
	}
	ahead[len(m.core.Layers)] = last
	for t := len(m.core.Layers) - 1; t >= 0; t-- {
		l := &layers[t]
		own := make([]float64, l.Columns)
		for c := range own {
			own[c] = worst
			for k := range l.Classes {
				if to, v := l.Arc(c*l.Classes + k); v != Excluded && ahead[t+1][to] != worst {
					own[c] = better(own[c], sum(m.core.Values[v], ahead[t+1][to]))
				}
			}
		}
		ahead[t] = own
	}
	if len(ahead[0]) == 0 || ahead[0][0] == worst {
		return m // no string
	}
	var b Builder
	b.SetBase(sum(m.core.Base, ahead[0][0]))
	for t := range m.core.Layers {
		l := &layers[t]
		next, off := make([]uint32, l.Columns*l.Classes), make([]uint32, l.Columns*l.Classes)
		for i := range next {
			to, v := l.Arc(i)
			from := ahead[t][i/l.Classes]
			if v == Excluded || ahead[t+1][to] == worst {
				off[i] = b.Value(math.Inf(1))
				continue
			}
			next[i], off[i] = to, b.Value(sum(sum(m.core.Values[v], ahead[t+1][to]), -from))
		}
		if b.Layer(Layer{Labels: len(l.Class), Class: l.Class, Classes: l.Classes, Columns: l.Columns,
			Next: next, Off: off}) != nil {
			return m
		}
	}
	final := make([]uint32, len(last))
	for c, x := range last {
		final[c] = Excluded
		if x != worst {
			final[c] = b.Value(0)
		}
	}
	p, err := b.Finish(final)
	if err != nil || !exact {
		return m
	}
	p.core.Cancels, p.surrogate = 0, m.surrogate
	return p
}
