package losses

import (
	"math"

	"github.com/tropica-fst/tropica/fst"
)

// cumulants adds, for each arc of A, the third joint cumulant of two functionals with passing it.
// Given that a path passes an arc, what is before and what is behind it are independent.
func (c *product) cumulants(rows [][]float64, p *pass, x, y *expectation) {
	n := c.f.NumStates()
	before, after := make([]float64, n), make([]float64, n) // covariances, given the state
	for _, q := range c.order {
		if p.at[q] == 0 {
			continue
		}
		o := c.origin(q)
		for i, a := range c.f.Arcs(q) {
			if post := p.post[c.offset[q]+i]; post > 0 {
				r := a.NextState
				dx, dy := x.before[q]+x.arc(&o, i)-x.before[r], y.before[q]+y.arc(&o, i)-y.before[r]
				before[r] += post / p.at[r] * (before[q] + dx*dy)
			}
		}
	}
	total := math.NaN()
	for i := n - 1; i >= 0; i-- {
		q := c.order[i]
		if p.at[q] == 0 {
			continue
		}
		o := c.origin(q)
		sum := 0.0
		if p.end[q] > 0 {
			sum = p.end[q] * (x.end(q, &o) - x.after[q]) * (y.end(q, &o) - y.after[q])
		}
		for i, a := range c.f.Arcs(q) {
			if post := p.post[c.offset[q]+i]; post > 0 {
				r := a.NextState
				dx, dy := x.arc(&o, i)+x.after[r]-x.after[q], y.arc(&o, i)+y.after[r]-y.after[q]
				sum += post * (after[r] + dx*dy)
			}
		}
		after[q] = sum / p.at[q]
	}
	if s := c.f.Start(); s != fst.NoState && p.at[s] > 0 {
		total = after[s]
	}
	for q := range fst.StateID(n) {
		o := c.origin(q)
		for i, a := range c.f.Arcs(q) {
			if post := p.post[c.offset[q]+i]; post > 0 {
				r := a.NextState
				dx := x.before[q] + x.arc(&o, i) + x.after[r] - x.total
				dy := y.before[q] + y.arc(&o, i) + y.after[r] - y.total
				rows[o.qa][o.pos(i)] += post * (before[q] + after[r] - total + dx*dy)
			}
		}
	}
}
