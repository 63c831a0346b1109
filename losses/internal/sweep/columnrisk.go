package sweep

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// columnRisk is the working memory of RunRisk.
type columnRisk struct {
	sofar []float64 // by layer and label: forward values times the loss so far, summed over columns
	total []float64 // by layer and label: forward values, summed over columns
	loss  []float64 // by row: the losses of arcs
	value []float64 // by value: the loss
	one   []float64 // ones
	plain []float64 // backward values without a loss, by label
	next  []float64
	x     []float64
}

// RunRisk computes the expected loss under the plain model, without the base, and its gradient: the
// covariances of the loss with labels and pairs, stored and added as Run does with marginals. The
// machine must exclude nothing. A risk below j.Least is refused.
//
// A forward value is a probability, and has no column where the loss is not asked for. So the loss
// so far is summed over columns, only the loss to come has all of them, and the risk costs little
// more than a margin.
func (s *ColumnSweeper) RunRisk(m *layered.Machine, c *Columns, j *ColumnJob) (risk float64, ok bool) {
	n, d, width := len(c.layers)-1, c.Labels, c.Width
	if m.Partial || j.Pairs.labels != d || !j.Pairs.ok {
		return 0, false
	}
	plain := *j
	plain.Gamma = 0
	if _, ok := s.begin(m, c, &plain); !ok {
		return 0, false
	}
	k := &s.risk
	k.sofar, k.total = layered.Resize(k.sofar, (n+1)*width), layered.Resize(k.total, (n+1)*width)
	k.loss, k.value = layered.Resize(k.loss, len(s.v)), layered.Resize(k.value, 256)
	k.one = layered.Resize(k.one, max(c.widest, width))
	k.plain, k.next = layered.Resize(k.plain, width), layered.Resize(k.next, width)
	k.x = layered.Resize(k.x, width)
	for i := range k.one {
		k.one[i] = 1
	}
	copy(k.value, m.Values)
	k.value[layered.Excluded] = 0
	clear(k.sofar)
	// Forward.
	clear(s.v[:width])
	for b := range d {
		s.v[b] = 1
	}
	for t := range n {
		e := s.e[t*width:][:width]
		if t > 0 {
			s.spread(c, t, c.at(s.a, t), j.Pairs)
		}
		s.carry(c, t, k.loss, k.one, k.one[:width], k.value)
		sofar := k.sofar[(t+1)*width:][:width]
		s.multiply(c, t, s.v, k.loss, sofar)
		if t > 0 {
			s.args = columnArgs{rows: &k.next[0], stride: 8 * width, n: 1, arcs: &c.ends[0],
				labels: &c.all[0], w: &k.sofar[t*width], to: &j.Pairs.t[0]}
			spreadEntries(&s.args)
			s.args = columnArgs{}
			for b, x := range k.next {
				sofar[b] += x
			}
		}
		sum := s.advance(c, t, e)
		if Stopped(s.Ctx) || !(sum > 0) {
			return 0, false
		}
		for b, x := range e {
			sofar[b] *= x
		}
		total := k.total[(t+1)*width:][:width]
		clear(total)
		s.byLabel(c, t+1, c.at(s.a, t+1), total)
		inv := 1 / sum
		if t+1 < n {
			for b := range width {
				s.e[(t+1)*width+b] *= inv
			}
			continue
		}
		clear(k.plain)
		for b := range d {
			k.plain[b] = inv
		}
	}
	// Finals.
	last, a := &c.layers[n], c.at(s.a, n)
	clear(s.b)
	for r, f := range last.final {
		from, to := r*width, r*width+d
		if r >= last.dense {
			from, to = last.entries(width, r-last.dense)
		}
		for i := from; i < to; i++ {
			s.b[i] = m.Values[f] * k.plain[0]
			risk += s.b[i] * a[i]
		}
	}
	for b := range d {
		risk += k.sofar[n*width+b] * k.plain[b]
	}
	if !(math.Abs(risk+m.Base) >= j.Least) || math.IsInf(risk, 0) {
		return 0, false
	}
	// Backward.
	clear(s.x)
	for t := n; ; t-- {
		l, a := &c.layers[t], c.at(s.a, t)
		sofar, total := k.sofar[t*width:][:width], k.total[t*width:][:width]
		clear(s.post)
		s.byProduct(c, l, a, s.b, s.post)
		out, sum := j.Marginals[(t-1)*j.Stride:], 0.0
		for b, x := range k.plain[:d] {
			sum += total[b] * x
			out[b] = s.post[b] + (sofar[b]-risk*total[b])*x
		}
		if !(math.Abs(sum-1) <= 1e-9) {
			return 0, false
		}
		if t == 1 {
			break
		}
		l, a = &c.layers[t-1], c.at(s.a, t-1)
		e := s.e[(t-1)*width:][:width]
		s.carry(c, t-1, s.v, s.b, e, s.w)
		s.carry(c, t-1, k.loss, k.one, k.one[:width], k.value)
		for b, x := range e {
			k.next[b] = x * k.plain[b]
		}
		rows := (l.padded() + l.sparse) * width
		for r := 0; r < rows; r += width {
			v, loss := s.v[r:r+width], k.loss[r:r+width]
			for b, x := range k.next[:len(v)] {
				v[b] += x * loss[b]
			}
		}
		s.meet(c, l, a, j.Pairs)
		sofar, total = k.sofar[(t-1)*width:][:width], k.total[(t-1)*width:][:width]
		for b := range k.x {
			k.x[b] = sofar[b] - risk*total[b]
		}
		s.args = columnArgs{rows: &k.next[0], stride: 8 * width, n: 1, arcs: &c.ends[0], labels: &c.all[0],
			w: &k.x[0], to: &j.Pairs.t[0], sums: &s.x[0], out: &k.plain[0]}
		meetEntries(&s.args)
		s.args = columnArgs{}
	}
	s.addPairs(j, d, width)
	return risk, true
}

// multiply adds up the products of the rows of layer t in two lists.
func (s *ColumnSweeper) multiply(c *Columns, t int, x, y, sums []float64) {
	l, w := &c.layers[t], c.Width
	for _, rows := range [][2]int{{0, l.dense}, {l.padded(), l.sparse}} {
		if rows[1] > 0 {
			s.args = columnArgs{rows: &x[rows[0]*w], stride: 8 * w, n: rows[1],
				to: &y[rows[0]*w], sums: &sums[0]}
			multiplyRows(&s.args)
			s.args = columnArgs{}
		}
	}
}

// byLabel adds up values of layer t by label.
func (s *ColumnSweeper) byLabel(c *Columns, t int, a, sums []float64) {
	l, w := &c.layers[t], c.Width
	for r := range l.dense {
		for b, x := range a[r*w:][:len(sums)] {
			sums[b] += x
		}
	}
	for i, b := range l.number {
		sums[b] += a[l.padded()*w+i]
	}
}
