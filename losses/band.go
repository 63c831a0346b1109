package losses

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// banded is what is known of a banded edit distance L_w ≥ L.
type banded struct {
	edit  Edit
	local *Local // in place of edit, a local loss; it has no threshold
	ref   []int
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

// certify returns what is known of the machine of a band. The band is harmless when it leaves out
// no cell, or when no string costs more in it than the least alignment that leaves it.
//
// first and last are the windows of the band.
func (e Edit) certify(first, last []int, ref []int, alphabet int, m *Machine) *banded {
	threshold := e.outside(first, last, ref, alphabet)
	if m.greatest() <= threshold*(1+1e-12) {
		return &banded{harmless: true}
	}
	return &banded{edit: e, ref: append([]int(nil), ref...), threshold: threshold}
}

// outside returns a lower bound on the cost of an alignment through a cell outside the band, for
// the cheapest y. It is +Inf if there is no such cell. It is the least such cost where lengths are
// moderate, by O(l m) steps, and takes O(l + m) otherwise.
func (e Edit) outside(first, last []int, ref []int, alphabet int) float64 {
	l, m := len(first)-1, len(ref)
	inf := math.Inf(1)
	if l == 0 || alphabet == 0 {
		return inf
	}
	del, ins, diag := e.cheapest(ref, alphabet)
	if int64(l)*int64(m) > 1<<22 {
		return around(first, last, del, ins, diag)
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
			if j < first[t] || j > last[t] {
				x, y = inf, min(x, y)
			}
			in1[j], out1[j] = x, y
		}
		in, in1, out, out1 = in1, in, out1, out
	}
	return out[m]
}

// cheapest returns the least costs of a deletion, and for each symbol of the
// reference of its insertion and of aligning a symbol with it.
func (e Edit) cheapest(ref []int, alphabet int) (del float64, ins, diag []float64) {
	inf := math.Inf(1)
	del, ins, diag = inf, make([]float64, len(ref)), make([]float64, len(ref))
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
	return del, ins, diag
}

// around is outside for long strings. A cell outside that comes right after one inside lies next to
// the window above it, or between two windows below. Reaching it, and the end from it, takes at
// least the cheapest steps of each kind. The cell decides their numbers, except how many are
// diagonal: none or all is best.
func around(first, last []int, del float64, ins, diag []float64) float64 {
	l, m := len(first)-1, len(ins)
	least := func(xs []float64) float64 {
		x := math.Inf(1)
		for _, y := range xs {
			x = min(x, y)
		}
		return x
	}
	i, d := least(ins), least(diag)
	steps := func(t, j int) float64 { // t deletions or j insertions, or both in one
		pay := func(n int, c float64) float64 {
			if n == 0 {
				return 0 // where c may be infinite
			}
			return float64(n) * c
		}
		k := min(t, j)
		return min(pay(t, del)+pay(j, i), pay(k, d)+pay(t-k, del)+pay(j-k, i))
	}
	best := math.Inf(1)
	offer := func(t, j int) {
		if j >= 0 && j <= m {
			best = min(best, steps(t, j)+steps(l-t, m-j))
		}
	}
	for t := range l + 1 {
		offer(t, last[t]+1)
		if t > 0 {
			for j := first[t-1]; j < first[t]; j++ {
				offer(t, j)
			}
		}
	}
	return best
}

// greatest returns the greatest loss of the machine.
func (m *Machine) greatest() float64 {
	best := make([]float64, len(m.core.Final))
	for c, v := range m.core.Final {
		best[c] = math.Inf(-1)
		if v != Excluded {
			best[c] = m.core.Values[v]
		}
	}
	for t := len(m.core.Layers) - 1; t >= 0; t-- {
		l := m.core.Layers[t].Columned()
		own := make([]float64, l.Columns)
		for c := range own {
			own[c] = math.Inf(-1)
			for k := range l.Classes {
				if to, v := l.Arc(c*l.Classes + k); v != Excluded {
					own[c] = max(own[c], m.core.Values[v]+best[to])
				}
			}
		}
		best = own
	}
	if len(best) == 0 {
		return math.Inf(-1)
	}
	return best[0] + m.core.Base
}

// bound sets r.LogZError.
//
// First a certified bound is tried. With T the threshold, strings with L_w ≤ T are exact. For γ >
// 0, log Z' ≥ log Z, and Z' - Z ≤ Σ_{L_w > T} exp(θ + γ L_w) ≤ e^{-sT} Z'(γ+s) for every s ≥ 0
// (Chernoff). Each s that is tried takes one more sweep. With ε that over Z', log Z' - log Z ≤
// -log(1-ε). For γ < 0, log Z' ≤ log Z, and Z - Z' ≤ e^{γT} Σ_{L_w > T} exp θ, likewise.
//
// Where that certifies less than a factor of two, a wider band is evaluated. The published random
// models with narrow bands need that. The difference of its log Z is the greater part of the error,
// and exact. If that band is without loss, or has a bound, the sum is a bound. Else what remains is
// estimated: Z over that band's is the mean of exp(γ (L - L_w)) over strings drawn from its
// distribution. The estimate takes the upper end of a 95 % interval. Where all strings of the
// sample agree, it takes 3/n (the rule of three), or as much again as the wider band made up for,
// if that is less. Each band makes up for several times what the next does.
//
// Few strings of the sample may have most of the weight, as with some hundred symbols in narrow
// bands. A herd (bandsteer.go) then takes the mean: it steers the strings that it draws.
//
// Time is linear in the lengths. Long strings are scored within a band four times as wide, and
// fewer of very long ones are drawn: 10⁷ cells in all, and 4·10⁷ for a herd. For γ < 0 a sample may
// miss strings that only an alignment outside the band serves well. With Smith-Waterman's costs a
// herd may miss them for γ > 0 (400 symbols of 10, band 1: 224 by 1024 strings, 212 by 4096): then
// the estimate is too great. The sample is a fixed one, so that results repeat.
func (s *bandSweeper) bound(e *Evaluator, m *Machine, p *Potentials, gamma float64, r *Result) error {
	b := m.surrogate
	r.LogZErrorKind = ErrorBound
	if b.harmless || gamma == 0 || math.IsInf(r.LogZ, -1) {
		return nil
	}
	if b.local != nil {
		// An alignment that leaves the band can gain nearly as much as any, so that no
		// threshold certifies anything.
		var err error
		r.LogZErrorKind = ErrorEstimate
		r.LogZError, err = s.sample(e, m, p, gamma, math.Inf(1))
		return err
	}
	x, err := s.certain(e, m, p, gamma, r.LogZ)
	if err != nil {
		return err
	}
	if !math.IsInf(x, 1) {
		r.LogZError = x
		return nil
	}
	wide, err := b.wider(e, m)
	if err != nil {
		return err
	}
	if wide == nil {
		r.LogZErrorKind = ErrorEstimate
		r.LogZError, err = s.sample(e, m, p, gamma, math.Inf(1))
		return err
	}
	if err := e.Eval(wide, p, gamma, 0, &s.inner); err != nil {
		return err
	}
	z := s.inner.LogZ
	made := max(0, math.Copysign(1, gamma)*(r.LogZ-z))
	beyond := 0.0
	if !wide.Exact() {
		if beyond, err = s.certain(e, wide, p, gamma, z); err != nil {
			return err
		}
		if math.IsInf(beyond, 1) {
			r.LogZErrorKind = ErrorEstimate
			if beyond, err = s.sample(e, wide, p, gamma, max(made, 1e-12*max(1, math.Abs(z)))); err != nil {
				return err
			}
		}
	}
	r.LogZError = made + beyond
	return nil
}

// wider returns the machine of a wider band that takes no more than eight times the
// columns, nil if there is none.
func (b *banded) wider(e *Evaluator, m *Machine) (*Machine, error) {
	if m.Len() == 0 {
		return nil, nil
	}
	for _, band := range []int{2*min(b.edit.Band, 1<<30) + 1, b.edit.Band + 1} {
		trial := b.edit
		trial.Band = band
		trial.Budget = Budget{Ctx: e.Budget.Ctx, Columns: min(1<<21, max(1<<15, 8*m.TotalColumns())),
			Bytes: e.Budget.Bytes}
		if trial.cells(len(b.ref), m.Len()) > mostCells {
			continue
		}
		builder := trial.columns(b.ref, m.Labels(0), m.Len())
		wide, err := built(builder)
		switch {
		case err == nil:
			wide.surrogate = trial.certify(builder.First, builder.Last, b.ref, m.Labels(0), wide)
			return wide, nil
		case !errors.Is(err, ErrBudget):
			return nil, err
		}
	}
	return nil, nil
}

// certain returns a certified bound, +Inf if there is none of use.
func (s *bandSweeper) certain(e *Evaluator, m *Machine, p *Potentials, gamma, logZ float64) (float64, error) {
	b := m.surrogate
	at := func(gamma float64) (float64, error) {
		err := e.Eval(m, p, gamma, 0, &s.inner)
		return s.inner.LogZ, err
	}
	scale := b.edit.gap()
	tail := math.Inf(1) // log of the bound on what lies beyond T, at weight γ
	if gamma < 0 {
		z0, err := at(0)
		if err != nil {
			return 0, err
		}
		tail = z0 + gamma*b.threshold
	}
	for _, x := range []float64{0.25, 1, 2, 4, 8} {
		from := max(gamma, 0)
		z, err := at(from + x/scale)
		if errors.Is(err, ErrRange) {
			break
		}
		if err != nil {
			return 0, err
		}
		tail = min(tail, z+(gamma-from-x/scale)*b.threshold)
	}
	ratio := tail - logZ
	switch {
	case gamma > 0 && ratio < math.Log(0.5):
		return -math.Log1p(-math.Exp(ratio)), nil
	case gamma < 0 && ratio < 0:
		return math.Log1p(math.Exp(ratio)), nil
	}
	return math.Inf(1), nil
}

// gap is the size of a deletion with an insertion, in the mean over symbols. Where those are free
// it is that of an alignment, and 1 where nothing costs anything.
func (e Edit) gap() float64 {
	mean := func(constant float64, table []float64) float64 {
		if len(table) == 0 {
			return math.Abs(constant)
		}
		sum := 0.0
		for _, x := range table {
			sum += math.Abs(x) / float64(len(table))
		}
		return sum
	}
	if x := mean(e.Del, e.DelTable) + mean(e.Ins, e.InsTable); x > 0 {
		return x
	}
	if x := mean(max(math.Abs(e.Match), math.Abs(e.Sub)), slices.Concat(e.SubTable...)); x > 0 {
		return x
	}
	return 1
}

// sample estimates |log Z' - log Z| of the machine of a band. Where no string of the sample tells,
// it returns at most silent.
func (s *bandSweeper) sample(e *Evaluator, m *Machine, p *Potentials,
	gamma, silent float64) (float64, error) {
	b := m.surrogate
	band, wide := b.edit.Band, 0
	if b.local != nil {
		band = b.local.Band
	}
	cells := (1 + len(b.ref)) * (1 + m.Len())
	if cells > 1<<16 {
		wide = 4*min(band, 1<<20) + 16
		cells = 1 + m.Len()*min(len(b.ref)+1, 2*wide+1)
	}
	full := b.edit
	full.Band = wide
	value := full.Value
	if b.local != nil {
		whole := *b.local
		whole.Band = wide
		value = whole.Value
	}
	n := min(1000, max(50, 10_000_000/cells))
	s.us = layered.Resize(s.us, n)
	if err := e.Sample(m, p, gamma, rand.New(rand.NewPCG(1, 2)), s.us); err != nil {
		return 0, err
	}
	x, sure, err := shortfall(gamma, n, silent, func(i int) (float64, error) {
		u := s.us[i]
		return value(u, b.ref) - m.Loss(u), e.Budget.stopped(m.Len(), 0)
	})
	if sure || err != nil || b.local != nil {
		return x, err
	}
	y, err := s.steer(e, m, p, gamma, wide, cells)
	if gamma < 0 {
		return max(x, y), err // either misses strings, and neither counts one twice
	}
	return min(x, y), err
}

// steer is sample where few strings of a plain sample have most of the weight.
func (s *bandSweeper) steer(e *Evaluator, m *Machine, p *Potentials, gamma float64,
	wide, cells int) (float64, error) {
	const groups = 8
	b := m.surrogate
	h := herd{gamma: gamma}
	h.whole, h.band = rows{e: b.edit, ref: b.ref}, rows{e: b.edit, ref: b.ref}
	h.whole.first, h.whole.last = align.BandWindows(m.Len(), len(b.ref), wide)
	h.band.first, h.band.last = align.BandWindows(m.Len(), len(b.ref), b.edit.Band)
	walk, err := e.sampler(m, p, gamma)
	if err != nil {
		return 0, err
	}
	mean, spread, err := h.shortfall(walk, rand.New(rand.NewPCG(1, 2)), groups,
		min(128, max(32, 40_000_000/groups/cells)), func() error {
			return e.Budget.stopped(m.Len(), 0)
		})
	return math.Abs(mean) + 2*spread, err
}

// shortfall estimates |log Z' - log Z|, where Z' is of a surrogate L' for L. It takes n strings
// drawn from the distribution of Z': less(i) is L - L' of string i. The mean of exp(γ (L - L')) is
// Z over Z', and the upper end of its 95 % interval is taken. Where L and L' agree on all strings,
// 3/n or silent is taken, whichever is less. It is sure where that interval is narrow. The strings
// that decide the mean may be too rare to be among n. For γ > 0 the estimate is therefore at most
// the mean of γ (L' - L) with its own interval: exp is convex.
func shortfall(gamma float64, n int, silent float64,
	less func(i int) (float64, error)) (float64, bool, error) {
	var weight, log moments
	for i := range n {
		x, err := less(i)
		if err != nil {
			return 0, false, err
		}
		weight.add(math.Expm1(gamma * x))
		log.add(gamma * x)
	}
	if math.Abs(weight.mean) < 1e-12 && weight.square < 1e-20 {
		return min(3/float64(n), silent), true, nil
	}
	spread := 2 * weight.spread()
	sure := spread < 0.25*(1+weight.mean)
	if gamma < 0 {
		return math.Log1p(max(0, weight.mean) + spread), sure, nil
	}
	most := 2*log.spread() - log.mean
	return min(most, -math.Log1p(max(weight.mean-spread, math.Expm1(-most)))), sure, nil
}

// moments are the mean of numbers, and their squares about it.
type moments struct {
	n            int
	mean, square float64
}

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.square += d * (x - m.mean)
}

// spread is the standard error of the mean.
func (m *moments) spread() float64 { return math.Sqrt(m.square) / float64(m.n) }
