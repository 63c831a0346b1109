package sweep

import (
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Lean is the graph of a small machine for factored potentials, in three arrays: order 2, a class
// for every label, one final column. Sweeps over words of ten letters spend their time
// on finding layers, not in them.
// one. An excluded arc leads to entry 0 with weight 0.
type Lean struct {
	layers []leanLayer // and one past the last
	start  []int32     // by row: its first entry; and one past the last
	label  []int32     // by entry: the label that led to it
	arcs   []uint32    // by row and label: entry << shift | value
	shift  uint8
}

type leanLayer struct {
	row, arc, labels int32
}

// NewLean returns nil where there is no such graph.
func NewLean(m *layered.Machine, g *layered.Graph) *Lean {
	n := len(m.Layers)
	if !g.Plain || n == 0 || len(m.Final) != 1 || m.Final[0] == layered.Excluded ||
		m.Layers[0].Columns == 0 || g.Total > 1<<20 {
		return nil
	}
	l := &Lean{layers: make([]leanLayer, n+1), shift: uint8(bits.Len(uint(len(m.Values) - 1)))}
	if l.shift > 10 {
		return nil
	}
	rows, entries, arcs := 0, 0, 0
	first := make([]int, n+1)
	for t := range m.Layers {
		gl := &g.Layers[t]
		first[t] = entries
		rows, entries, arcs = rows+len(gl.Start)-1, entries+len(gl.Ctx), arcs+(len(gl.Start)-1)*gl.Labels
	}
	l.start, l.label, l.arcs = make([]int32, 0, rows+1), make([]int32, 0, entries+1), make([]uint32, 0, arcs)
	for t := range m.Layers {
		gl := &g.Layers[t]
		l.layers[t] = leanLayer{int32(len(l.start)), int32(len(l.arcs)), int32(gl.Labels)}
		for _, s := range gl.Start[:len(gl.Start)-1] {
			l.start = append(l.start, int32(first[t])+int32(s))
		}
		for _, c := range gl.Ctx {
			l.label = append(l.label, int32(c))
		}
		for i := range (len(gl.Start) - 1) * gl.Labels {
			to, v := gl.Arc(i)
			switch {
			case v == layered.Excluded:
				to = 0
			case t+1 == n:
				to = uint32(entries)
			default:
				to += uint32(first[t] + len(gl.Ctx))
			}
			l.arcs = append(l.arcs, to<<l.shift|v)
		}
	}
	l.layers[n].row = int32(len(l.start))
	l.start, l.label = append(l.start, int32(entries)), append(l.label, 0)
	return l
}

// Sweep returns log E_p0[exp(γ L)] without the base, and stores the marginals in out unless it is
// nil. ok is false where underflow may matter.
func (l *Lean) Sweep(m *layered.Machine, s *Sweeper, p [][]float64, gamma float64,
	out [][]float64) (logE float64, ok bool) {
	top := s.leanWeights(m, gamma)
	table := s.w
	total := len(l.label)
	s.alpha = layered.Resize(s.alpha, total)
	alpha := s.alpha
	clear(alpha)
	alpha[0] = 1
	n := len(l.layers) - 1
	shift, mask := l.shift&31, uint32(1)<<l.shift-1
	widest := 0
	for t := range n {
		widest = max(widest, int(l.layers[t].labels))
	}
	s.v = layered.Resize(s.v, widest)
	for t, at := range l.layers[:n] {
		size := int(at.labels)
		pt := p[t]
		v := s.v[:size]
		arcs := l.arcs[at.arc:]
		start := l.start[at.row : l.layers[t+1].row+1]
		lo := start[0]
		for _, hi := range start[1:] {
			if lo == hi {
				arcs = arcs[size:]
				continue
			}
			row := pt[int(l.label[lo])*size:][:size]
			av := alpha[lo]
			for b, x := range row {
				v[b] = av * x
			}
			for i := lo + 1; i < hi; i++ {
				row := pt[int(l.label[i])*size:][:size]
				av := alpha[i]
				for b, x := range row {
					v[b] += av * x
				}
			}
			for b, arc := range arcs[:len(v)] {
				alpha[arc>>shift] += v[b] * table[arc&mask]
			}
			arcs = arcs[size:]
			lo = hi
		}
	}
	z := alpha[total-1]
	if !(z >= Least) {
		return 0, false
	}
	logE = float64(n)*top + math.Log(z) + gamma*m.Values[m.Final[0]]
	if out == nil {
		return logE, true
	}
	s.beta = layered.Resize(s.beta, total)
	beta := s.beta
	beta[0], beta[total-1] = 0, 1
	inv := 1 / z
	for t := n - 1; t >= 0; t-- {
		at := l.layers[t]
		size := int(at.labels)
		pt, xt := p[t], out[t]
		clear(xt)
		v := s.v[:size]
		arcs := l.arcs[at.arc:]
		start := l.start[at.row : l.layers[t+1].row+1]
		lo := start[0]
		for _, hi := range start[1:] {
			for b, arc := range arcs[:len(v)] {
				v[b] = beta[arc>>shift] * table[arc&mask]
			}
			arcs = arcs[size:]
			for i := lo; i < hi; i++ {
				a := int(l.label[i]) * size
				pr, xr := pt[a:a+size:a+size], xt[a:a+size:a+size]
				av, sum := alpha[i], 0.0
				for b, y := range v {
					sum += pr[b] * y
					xr[b] += av * y
				}
				beta[i] = sum
			}
			lo = hi
		}
		for i, y := range pt {
			xt[i] *= inv * y
		}
	}
	return logE, true
}

// leanWeights is weights without tangents.
func (s *Sweeper) leanWeights(m *layered.Machine, gamma float64) float64 {
	s.w = layered.Resize(s.w, len(m.Values))
	s.w[layered.Excluded] = 0
	if gamma == 0 {
		for i := range s.w[1:] {
			s.w[i+1] = 1
		}
		return 0
	}
	top := math.Inf(-1)
	for _, x := range m.Values[1:] {
		top = max(top, gamma*x)
	}
	for i, x := range m.Values[1:] {
		s.w[i+1] = math.Exp(gamma*x - top)
	}
	return top
}

// Risk returns E_p0[L] without the base, for a machine that excludes nothing. Unless out is nil, it
// stores there the covariances of the loss and windows. Forward values are a probability and the
// expected loss so far, backward ones the loss to come.
func (l *Lean) Risk(m *layered.Machine, s *Sweeper, w *Whitening, out [][]float64) float64 {
	total, n := len(l.label), len(l.layers)-1
	s.alpha, s.alpha1, s.beta = layered.Resize(s.alpha, total), layered.Resize(s.alpha1,
		total), layered.Resize(s.beta, total)
	alpha, sofar, ahead := s.alpha, s.alpha1, s.beta
	clear(alpha)
	clear(sofar)
	alpha[0] = 1
	shift, mask := l.shift&31, uint32(1)<<l.shift-1
	for t, at := range l.layers[:n] {
		size := int(at.labels)
		pt := w.P[t]
		arcs := l.arcs[at.arc:]
		start := l.start[at.row : l.layers[t+1].row+1]
		for r := range start[1:] {
			row := arcs[r*size:][:size]
			for i := start[r]; i < start[r+1]; i++ {
				av, sv := alpha[i], sofar[i]
				for b, x := range pt[int(l.label[i])*size:][:size] {
					to, v := row[b]>>shift, m.Values[row[b]&mask]
					alpha[to] += av * x
					sofar[to] += (sv + av*v) * x
				}
			}
		}
	}
	mean := sofar[total-1]
	if out == nil {
		return mean + m.Values[m.Final[0]]
	}
	ahead[total-1] = 0
	widest := 0
	for _, n := range w.labels {
		widest = max(widest, n)
	}
	s.v = layered.Resize(s.v, widest)
	for t := n - 1; t >= 0; t-- {
		at := l.layers[t]
		size := int(at.labels)
		pt, xt := w.P[t], out[t]
		clear(xt)
		v := s.v[:size]
		arcs := l.arcs[at.arc:]
		start := l.start[at.row : l.layers[t+1].row+1]
		for r := range start[1:] {
			for b, arc := range arcs[r*size:][:len(v)] {
				v[b] = ahead[arc>>shift] + m.Values[arc&mask]
			}
			for i := start[r]; i < start[r+1]; i++ {
				a := int(l.label[i]) * size
				pr, xr := pt[a:a+size:a+size], xt[a:a+size:a+size]
				av, sv, sum := alpha[i], sofar[i]-alpha[i]*mean, 0.0
				for b, y := range v {
					sum += pr[b] * y
					xr[b] += sv + av*y
				}
				ahead[i] = sum
			}
		}
		for i, y := range pt {
			xt[i] *= y
		}
	}
	return mean + m.Values[m.Final[0]]
}
