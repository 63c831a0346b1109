package losses

import (
	"context"
	"math"
)

// maxSweeper finds the best string of θ(u) + γ L(u), ties going to the least
// labels in the graph's numbering.
type maxSweeper struct {
	best []float64 // by entry: the best completion
	fold []float64
	g    []float64
	ctx  context.Context
}

// run returns the best score, its lead over the second best string, and the
// string appended to u.
func (s *maxSweeper) run(m *core, gr *graph, w *whitening, gamma float64, u []int) (score, gap float64, _ []int) {
	inf := math.Inf(1)
	l := len(m.layers)
	s.best = resize(s.best, gr.total)
	s.g = resize(s.g, gr.most)
	value := func(i uint32) float64 {
		if i == excluded {
			return -inf
		}
		return gamma * m.values[i]
	}
	end := &gr.layers[l]
	for i, c := range end.column {
		s.best[end.at+i] = value(m.final[c])
	}
	for t := l - 1; t >= 0; t-- {
		gl, next := &gr.layers[t], &gr.layers[t+1]
		if stopped(s.ctx) {
			return -inf, inf, u
		}
		th := w.theta[t]
		if w.order == 1 {
			s.fold = resize(s.fold, gl.classes)
			for k := range s.fold {
				s.fold[k] = -inf
			}
			for d, k := range gl.classOf {
				s.fold[k] = max(s.fold[k], th[d])
			}
			th = s.fold
		}
		n := gl.labels
		g := s.g[:n]
		for r := range len(gl.start) - 1 {
			width := gl.widthOf(r)
			for o := range width {
				s.fill(gl, next, r, o, value, g)
				for i := gl.start[r] + o; i < gl.start[r+1]; i += width {
					top := -inf
					for d, x := range th[int(gl.ctx[i])*n:][:n] {
						top = max(top, x+g[d])
					}
					s.best[gl.at+int(i)] = top
				}
			}
		}
	}
	if len(gr.layers[0].ctx) == 0 || math.IsInf(s.best[0], -1) {
		return -inf, inf, u
	}
	score = s.best[0] + gamma*m.base
	if gamma == 0 {
		score = s.best[0]
	}
	// The second best string leaves the best one at some position, and from
	// there on is as good as what it leaves by allows.
	gap = inf
	entry := uint32(0)
	for t := range l {
		gl, next := &gr.layers[t], &gr.layers[t+1]
		row, o := gl.rowOf(entry)
		real := len(gl.perm)
		g := s.g[:gl.labels]
		s.fill(gl, next, row, o, value, g)
		th := w.theta[t][int(gl.ctx[entry])*real:][:real]
		first, second, arg := -inf, -inf, 0
		for d, x := range th {
			y := x
			if w.order == 1 {
				y += g[gl.classOf[d]]
			} else {
				y += g[d]
			}
			switch {
			case y > first:
				first, second, arg = y, first, d
			case y > second:
				second = y
			}
		}
		if lead := first - second; !math.IsInf(second, -1) && lead < gap {
			gap = lead
		}
		u = append(u, int(gl.perm[arg]))
		k := gl.classOf[arg]
		to, _ := gl.arc(row*gl.classes + int(k))
		entry = to
		if w.order > 1 {
			entry += o*gl.size[k] + uint32(arg) - gl.cut[k]
		}
	}
	return score, gap, u
}

// fill sets g[d] to the best that follows label d after the entries o of row r.
func (s *maxSweeper) fill(gl, next *graphLayer, r int, o uint32, value func(uint32) float64, g []float64) {
	for k := range gl.classes {
		to, v := gl.arc(r*gl.classes + k)
		size := gl.size[k]
		to += o * size
		x := value(v)
		for d := range size {
			y := math.Inf(-1)
			if v != excluded {
				y = x + s.best[next.at+int(to+d)]
			}
			g[gl.cut[k]+d] = y
		}
	}
}
