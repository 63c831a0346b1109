package sweep

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// MaxSweeper finds the best string of θ(u) + γ L(u), ties going to the least
// labels in the graph's numbering.
type MaxSweeper struct {
	best []float64 // by entry: the best completion
	fold []float64
	g    []float64
	Ctx  context.Context
}

// Run returns the best score, its lead over the second best string, and the
// string appended to u.
func (s *MaxSweeper) Run(m *layered.Machine, gr *layered.Graph, w *Whitening, gamma float64,
	u []int) (score, gap float64, _ []int) {
	inf := math.Inf(1)
	l := len(m.Layers)
	s.best = layered.Resize(s.best, gr.Total)
	s.g = layered.Resize(s.g, gr.Most)
	value := func(i uint32) float64 {
		if i == layered.Excluded {
			return -inf
		}
		return gamma * m.Values[i]
	}
	end := &gr.Layers[l]
	for i, c := range end.Column {
		s.best[end.At+i] = value(m.Final[c])
	}
	for t := l - 1; t >= 0; t-- {
		gl, next := &gr.Layers[t], &gr.Layers[t+1]
		if Stopped(s.Ctx) {
			return -inf, inf, u
		}
		th := w.Theta[t]
		if w.Order == 1 {
			s.fold = layered.Resize(s.fold, gl.Classes)
			for k := range s.fold {
				s.fold[k] = -inf
			}
			for d, k := range gl.ClassOf {
				s.fold[k] = max(s.fold[k], th[d])
			}
			th = s.fold
		}
		n := gl.Labels
		g := s.g[:n]
		for r := range len(gl.Start) - 1 {
			width := gl.WidthOf(r)
			for o := range width {
				s.fill(gl, next, r, o, value, g)
				for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
					top := -inf
					for d, x := range th[int(gl.Ctx[i])*n:][:n] {
						top = max(top, x+g[d])
					}
					s.best[gl.At+int(i)] = top
				}
			}
		}
	}
	if len(gr.Layers[0].Ctx) == 0 || math.IsInf(s.best[0], -1) {
		return -inf, inf, u
	}
	score = s.best[0] + gamma*m.Base
	if gamma == 0 {
		score = s.best[0]
	}
	// The second best string leaves the best one at some position, and from
	// there on is as good as what it leaves by allows.
	gap = inf
	entry := uint32(0)
	for t := range l {
		gl, next := &gr.Layers[t], &gr.Layers[t+1]
		row, o := gl.RowOf(entry)
		real := len(gl.Perm)
		g := s.g[:gl.Labels]
		s.fill(gl, next, row, o, value, g)
		th := w.Theta[t][int(gl.Ctx[entry])*real:][:real]
		first, second, arg := -inf, -inf, 0
		for d, x := range th {
			y := x
			if w.Order == 1 {
				y += g[gl.ClassOf[d]]
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
		u = append(u, int(gl.Perm[arg]))
		k := gl.ClassOf[arg]
		to, _ := gl.Arc(row*gl.Classes + int(k))
		entry = to
		if w.Order > 1 {
			entry += o*gl.Size[k] + uint32(arg) - gl.Cut[k]
		}
	}
	return score, gap, u
}

// fill sets g[d] to the best that follows label d after the entries o of row r.
func (s *MaxSweeper) fill(gl, next *layered.GraphLayer, r int, o uint32, value func(uint32) float64,
	g []float64) {
	for k := range gl.Classes {
		to, v := gl.Arc(r*gl.Classes + k)
		size := gl.Size[k]
		to += o * size
		x := value(v)
		for d := range size {
			y := math.Inf(-1)
			if v != layered.Excluded {
				y = x + s.best[next.At+int(to+d)]
			}
			g[gl.Cut[k]+d] = y
		}
	}
}
