package losses

import (
	"math"
	"math/rand/v2"
)

// banded is what is known of a banded edit distance L_w ≥ L.
type banded struct {
	edit Edit
	ref  []int
	// An alignment that leaves the band costs at least threshold, so that
	// L ≥ min(L_w, threshold), and L = L_w where L_w ≤ threshold.
	threshold float64
	harmless  bool // L_w = L for every string
}

// bandSweeper finds how far log Z' of a banded loss may be from log Z.
type bandSweeper struct {
	inner Result
	us    [][]int
}

// certify returns what is to be known of the machine of a band; it is harmless
// when no cell is left out, or no string costs more in the band than
// the least alignment that leaves it.
func (b *columnBuilder) certify(e Edit, ref []int, alphabet int, m *Machine) *banded {
	threshold := b.outside(e, ref, alphabet)
	if m.greatest() <= threshold*(1+1e-12) {
		return &banded{harmless: true}
	}
	return &banded{edit: e, ref: append([]int(nil), ref...), threshold: threshold}
}

// outside returns the least cost of an alignment through a cell outside the
// band, +Inf if there is none, for the cheapest y: O(l m).
func (b *columnBuilder) outside(e Edit, ref []int, alphabet int) float64 {
	l, m := b.l, b.m
	inf := math.Inf(1)
	del, ins, diag := inf, make([]float64, m), make([]float64, m)
	if l == 0 || alphabet == 0 {
		return inf
	}
	if int64(l)*int64(m) > 1<<28 {
		return -inf // nothing is certain; the search would take seconds
	}
	if e.DelTable == nil {
		del = e.Del
	} else {
		for _, x := range e.DelTable {
			del = min(del, x)
		}
	}
	for j, r := range ref {
		ins[j] = e.Ins
		if e.InsTable != nil {
			ins[j] = e.InsTable[r]
		}
		diag[j] = inf
		switch {
		case e.SubTable != nil:
			for y := range alphabet {
				diag[j] = min(diag[j], e.SubTable[y][r])
			}
		default:
			if r < alphabet {
				diag[j] = e.Match
			}
			if alphabet > 1 || r >= alphabet {
				diag[j] = min(diag[j], e.Sub)
			}
		}
	}
	// in: cheapest to a cell having stayed inside; out: having been outside.
	in, out := make([]float64, m+1), make([]float64, m+1)
	in1, out1 := make([]float64, m+1), make([]float64, m+1)
	for t := range l + 1 {
		for j := range m + 1 {
			x, y := inf, inf
			if t == 0 && j == 0 {
				x = 0
			}
			if t > 0 {
				x, y = min(x, in[j]+del), min(y, out[j]+del)
				if j > 0 {
					x, y = min(x, in[j-1]+diag[j-1]), min(y, out[j-1]+diag[j-1])
				}
			}
			if j > 0 {
				x, y = min(x, in1[j-1]+ins[j-1]), min(y, out1[j-1]+ins[j-1])
			}
			if j < b.first[t] || j > b.last[t] {
				x, y = inf, min(x, y)
			}
			in1[j], out1[j] = x, y
		}
		in, in1, out, out1 = in1, in, out1, out
	}
	return out[m]
}

// greatest returns the greatest loss of the machine.
func (m *Machine) greatest() float64 {
	best := make([]float64, len(m.final))
	for c, v := range m.final {
		best[c] = math.Inf(-1)
		if v != Excluded {
			best[c] = m.values[v]
		}
	}
	for t := len(m.layers) - 1; t >= 0; t-- {
		l := &m.layers[t]
		own := make([]float64, l.columns)
		for c := range own {
			own[c] = math.Inf(-1)
			for k := range l.classes {
				if to, v := l.arc(c*l.classes + k); v != Excluded {
					own[c] = max(own[c], m.values[v]+best[to])
				}
			}
		}
		best = own
	}
	if len(best) == 0 {
		return math.Inf(-1)
	}
	return best[0] + m.base
}

// bound sets r.LogZError. With T the threshold, strings with L_w ≤ T are exact.
//
// γ > 0: log Z' ≥ log Z, and Z' - Z ≤ Σ_{L_w > T} exp(θ + γ L_w) ≤ e^{-sT}
// Z'(γ+s) for every s ≥ 0 (Chernoff), one more sweep for each s that is tried;
// with ε that over Z', log Z' - log Z ≤ -log(1-ε). γ < 0: log Z' ≤ log Z, and
// Z - Z' ≤ e^{γT} Σ_{L_w > T} exp θ, likewise.
//
// Where that certifies less than a factor of two, as for the published random
// models with narrow bands, the ratio is estimated instead: Z / Z' is the mean
// of exp(γ (L - L_w)) over strings from the banded distribution, each scored by
// its full dynamic program. That misses strings to which the banded distribution
// gives next to nothing, as γ < 0 does to those that only an alignment outside
// serves well: the estimate may then be far too small. The sample is a fixed one, so that results repeat.
func (s *bandSweeper) bound(e *Evaluator, m *Machine, p *Potentials, gamma float64, r *Result) error {
	b := m.surrogate
	r.LogZErrorKind = ErrorBound
	if b.harmless || gamma == 0 || math.IsInf(r.LogZ, -1) {
		return nil
	}
	at := func(gamma float64) (float64, error) {
		err := e.Eval(m, p, gamma, 0, &s.inner)
		return s.inner.LogZ, err
	}
	scale := max(1e-300, math.Abs(b.edit.Del)+math.Abs(b.edit.Ins))
	if b.edit.DelTable != nil || b.edit.InsTable != nil {
		scale = 1
	}
	tail := math.Inf(1) // log of the bound on what lies beyond T, at weight γ
	if gamma < 0 {
		z0, err := at(0)
		if err != nil {
			return err
		}
		tail = z0 + gamma*b.threshold
	}
	for _, x := range []float64{0.25, 1, 2, 4, 8} {
		from := max(gamma, 0)
		z, err := at(from + x/scale)
		if err != nil {
			return err
		}
		tail = min(tail, z+(gamma-from-x/scale)*b.threshold)
	}
	ratio := tail - r.LogZ
	switch {
	case gamma > 0 && ratio < math.Log(0.5):
		r.LogZError = -math.Log1p(-math.Exp(ratio))
		return nil
	case gamma < 0 && ratio < 0:
		r.LogZError = math.Log1p(math.Exp(ratio))
		return nil
	}
	n := min(1000, max(30, 300_000_000/(1+len(b.ref)*m.Len())))
	s.us = resize(s.us, n)
	if err := e.Sample(m, p, gamma, rand.New(rand.NewPCG(1, 2)), s.us); err != nil {
		return err
	}
	full := b.edit
	full.Band = 0
	mean := 0.0
	for _, u := range s.us {
		mean += math.Exp(gamma * (full.Value(u, b.ref) - m.Loss(u)))
	}
	r.LogZError = math.Abs(math.Log(mean / float64(n)))
	r.LogZErrorKind = ErrorEstimate
	return nil
}
