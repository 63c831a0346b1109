package losses

import (
	"math"
	"math/rand/v2"
)

// sampler walks forward with the backward values of every entry.
type sampler struct {
	l      int // positions
	g      *graph
	w      *whitening
	beta   []float64
	arc    []float64
	logs   bool
	weight []float64
}

// newSampler makes the backward pass of j, by the linear sweep where linear says so and it is certain, else in logarithms.
func newSampler(m *core, g *graph, w *whitening, j *job, linear bool, sweep *sweeper, logs *logSweeper) *sampler {
	s := &sampler{l: len(m.layers), g: g, w: w, weight: make([]float64, g.most)}
	sweep.keep = resize(sweep.keep, g.total)
	if linear && sweep.run(m, g, w, j, true) {
		s.beta, s.arc = sweep.keep, sweep.w
	} else {
		logs.keep = resize(logs.keep, g.total)
		logs.run(m, g, w, j)
		s.beta, s.arc, s.logs = logs.keep, logs.arc, true
		logs.keep = logs.keep[:0]
	}
	sweep.keep = sweep.keep[:0]
	return s
}

// draw appends a string to u.
func (s *sampler) draw(rng *rand.Rand, u []int) []int {
	entry := uint32(0)
	for t := range s.l {
		var y int
		y, entry = s.step(rng, t, entry)
		u = append(u, y)
	}
	return u
}

// step draws the symbol at position t, and returns it with the entry that it leads to.
func (s *sampler) step(rng *rand.Rand, t int, entry uint32) (int, uint32) {
	gl, next := &s.g.layers[t], &s.g.layers[t+1]
	row, o := gl.rowOf(entry)
	n := gl.labels
	weight := s.weight[:n]
	p := s.w.fold[t][int(gl.ctx[entry])*n:][:n]
	for k := range gl.classes {
		to, v := gl.arc(row*gl.classes + k)
		size, cut := gl.size[k], gl.cut[k]
		at := next.at + int(to+o*size)
		for d := range size {
			x := s.beta[at+int(d)]
			switch {
			case v == excluded:
				x = 0
				if s.logs {
					x = math.Inf(-1)
				}
			case s.logs:
				x += s.arc[v]
			default:
				x *= s.arc[v]
			}
			weight[cut+d] = x
		}
	}
	if s.logs {
		// Potentials in logarithms, so that p0 that underflowed counts.
		s.fromLogs(t, int(gl.ctx[entry]), weight)
	} else {
		for d, x := range p {
			weight[d] *= x
		}
	}
	d := pick(rng, weight)
	var k int
	label := d
	if s.w.order == 1 { // d is a class: draw the label within it
		k = d
		label = s.within(rng, gl, t, d)
	} else {
		k = int(gl.classOf[d])
	}
	to, _ := gl.arc(row*gl.classes + k)
	if s.w.order > 1 {
		to += o*gl.size[k] + uint32(d) - gl.cut[k]
	}
	return int(gl.perm[label]), to
}

// fromLogs turns log weights into weights, potentials included.
func (s *sampler) fromLogs(t, ctx int, weight []float64) {
	top := math.Inf(-1)
	if s.w.order == 1 {
		gl := &s.g.layers[t]
		sum := make([]float64, len(weight))
		for k := range sum {
			sum[k] = math.Inf(-1)
		}
		for d, k := range gl.classOf {
			sum[k], _ = logAdd(sum[k], 0, s.w.theta[t][d], 0)
		}
		for k, x := range sum {
			weight[k] += x
			top = max(top, weight[k])
		}
	} else {
		for d, x := range s.w.theta[t][ctx*len(weight):][:len(weight)] {
			weight[d] += x
			top = max(top, weight[d])
		}
	}
	for d := range weight {
		weight[d] = math.Exp(weight[d] - top)
	}
}

// within draws a label of class k by its plain probability.
func (s *sampler) within(rng *rand.Rand, gl *graphLayer, t, k int) int {
	total := math.Inf(-1)
	for d, c := range gl.classOf {
		if int(c) == k {
			total, _ = logAdd(total, 0, s.w.theta[t][d], 0)
		}
	}
	x, last := rng.Float64(), 0
	for d, c := range gl.classOf {
		if int(c) != k || math.IsInf(s.w.theta[t][d], -1) {
			continue
		}
		last = d
		if x -= math.Exp(s.w.theta[t][d] - total); x < 0 {
			break
		}
	}
	return last
}

// pick draws an index with probability proportional to its weight.
func pick(rng *rand.Rand, weight []float64) int {
	sum := 0.0
	for _, x := range weight {
		sum += x
	}
	x, last := rng.Float64()*sum, 0
	for d, y := range weight {
		if y == 0 {
			continue
		}
		last = d
		if x -= y; x < 0 {
			break
		}
	}
	return last
}
