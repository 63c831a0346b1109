package losses

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// herd draws strings from the distribution of a banded edit distance, a symbol at a time. It keeps
// those with the most weight under the whole distance. This is sequential importance sampling with
// resampling (A. Doucet, A. Johansen, "A tutorial on particle filtering and smoothing", 2009).
//
// The weight of a string is exp(γ (L - L')), whose logarithm falls linearly with the length. Beyond
// some hundred symbols no string of a plain sample has a weight that counts in the mean, which is
// Z/Z'. Here the weight grows a symbol at a time, from the two distances of what was read of both
// strings up to the diagonal. When few strings have most of it, strings are drawn anew in
// proportion to it. The mean remains unbiased, and its error grows with the root of the length.
type herd struct {
	whole, band rows
	gamma       float64
	strings     []follower
	next        []follower // what resampling copies to
}

// rows is the dynamic program of an edit distance with a reference; a window of it is kept.
type rows struct {
	e           Edit
	ref         []int
	first, last []int
}

// follower is one string of a herd: the sampler's entry and a row of each distance. It has the
// logarithm of its weight, and the part of it that comes from the present rows.
type follower struct {
	entry       uint32
	whole, band []float64
	log, own    float64
}

// shortfall estimates log of Z over Z' from groups of strings, and the standard error of that.
func (h *herd) shortfall(s *sweep.Sampler, rng *rand.Rand, groups, size int,
	stopped func() error) (float64, float64, error) {
	h.strings, h.next = make([]follower, size), make([]follower, size)
	logs := make([]float64, groups)
	for g := range logs {
		x, err := h.run(s, rng, stopped)
		if err != nil {
			return 0, 0, err
		}
		logs[g] = x
	}
	var m moments
	for _, x := range logs {
		m.add(x)
	}
	return logMean(logs), m.spread(), nil
}

// run returns the logarithm of the mean weight of one group.
func (h *herd) run(s *sweep.Sampler, rng *rand.Rand, stopped func() error) (float64, error) {
	for i := range h.strings {
		f := &h.strings[i]
		f.entry, f.log, f.own = 0, 0, 0
		f.whole, f.band = h.whole.start(f.whole), h.band.start(f.band)
	}
	total := 0.0
	logs := make([]float64, len(h.strings))
	for t := range s.L {
		if err := stopped(); err != nil {
			return 0, err
		}
		for i := range h.strings {
			f, spare := &h.strings[i], &h.next[i]
			var y int
			y, f.entry = s.Step(rng, t, f.entry)
			f.whole, spare.whole = h.whole.after(t, y, f.whole, spare.whole), f.whole
			f.band, spare.band = h.band.after(t, y, f.band, spare.band), f.band
			own := h.gamma * (h.whole.diagonal(t+1, f.whole) - h.band.diagonal(t+1, f.band))
			f.log, f.own = f.log+own-f.own, own
			logs[i] = f.log
		}
		if t+1 < s.L && uneven(logs) {
			total += logMean(logs)
			h.resample(rng, logs)
		}
	}
	return total + logMean(logs), nil
}

// uneven reports whether half of the strings would do as well as all with their weights.
func uneven(logs []float64) bool {
	top, sum, square := slices.Max(logs), 0.0, 0.0
	for _, x := range logs {
		w := math.Exp(x - top)
		sum += w
		square += w * w
	}
	return sum*sum < 0.5*float64(len(logs))*square
}

// resample draws the strings anew by their weights, systematically, and makes the weights equal.
func (h *herd) resample(rng *rand.Rand, logs []float64) {
	top, sum := slices.Max(logs), 0.0
	for _, x := range logs {
		sum += math.Exp(x - top)
	}
	step := sum / float64(len(logs))
	at, to := rng.Float64()*step, 0
	for i := range h.strings {
		f := &h.strings[i]
		for at -= math.Exp(f.log - top); at < 0 && to < len(h.next); at += step {
			g := &h.next[to]
			g.entry, g.own, g.log = f.entry, f.own, 0
			g.whole, g.band = append(g.whole[:0], f.whole...), append(g.band[:0], f.band...)
			to++
		}
	}
	for ; to < len(h.next); to++ { // by rounding
		f, g := &h.strings[len(h.strings)-1], &h.next[to]
		g.entry, g.own, g.log = f.entry, f.own, 0
		g.whole, g.band = append(g.whole[:0], f.whole...), append(g.band[:0], f.band...)
	}
	h.strings, h.next = h.next, h.strings
}

// logMean returns the logarithm of the mean of exponentials.
func logMean(logs []float64) float64 {
	top, sum := slices.Max(logs), 0.0
	for _, x := range logs {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum/float64(len(logs)))
}

// start returns the row before any symbol of the string, in the memory of row.
func (r *rows) start(row []float64) []float64 {
	row = append(row[:0], 0)
	for j := 1; j <= r.last[0]; j++ {
		row = append(row, row[j-1]+r.e.insert(r.ref[j-1]))
	}
	return row
}

// after returns the row after symbol y at position t, in the memory of next.
func (r *rows) after(t, y int, row, next []float64) []float64 {
	from, lo, hi := r.first[t], r.first[t+1], r.last[t+1]
	del := r.e.Del
	if r.e.DelTable != nil {
		del = r.e.DelTable[y]
	}
	next = next[:0]
	for j := lo; j <= hi; j++ {
		x := infinity
		if k := j - from; k < len(row) {
			x = row[k] + del
		}
		if k := j - 1 - from; j > 0 && k >= 0 && k < len(row) {
			sub := r.e.Sub
			switch {
			case r.e.SubTable != nil:
				sub = r.e.SubTable[y][r.ref[j-1]]
			case y == r.ref[j-1]:
				sub = r.e.Match
			}
			x = min(x, row[k]+sub)
		}
		if j > lo {
			x = min(x, next[j-1-lo]+r.e.insert(r.ref[j-1]))
		}
		next = append(next, x)
	}
	return next
}

// diagonal returns the distance of what was read of both strings after t symbols: at the end, the
// whole.
func (r *rows) diagonal(t int, row []float64) float64 {
	j := t * len(r.ref) / (len(r.first) - 1)
	return row[j-r.first[t]]
}
