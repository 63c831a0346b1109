package sweep

import (
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// dual is an array of numbers with their tangents. The tangents are nil where none are wanted.
type dual struct{ x, d []float64 }

// step is what the inner loops of the linear sweep read and write at one position.
type step struct {
	gl *layered.GraphLayer
	// whitened potentials of the position, contexts × labels; tangents are p times the direction,
	// or nil
	p     dual
	w     dual // by value: the weight of an arc; tangents may be nil
	alpha dual // by entry: forward values of the layer
	next  dual // by entry of the next layer: receives its forward values, or has its backward ones
	beta  dual // by entry: receives the backward values of the layer
	flow  dual // as p: is added what flows along each window
	v     dual // by label: room
}

// forward adds to next what flows from alpha.
func forward[A uint32 | uint64](s *step, arcs []A) {
	gl := s.gl
	n, classes := gl.Labels, gl.Classes
	if n == 0 {
		return
	}
	p, a, b, w, v := s.p.x, s.alpha.x, s.next.x, s.w.x, s.v.x[:n]
	shift := gl.Shift & 63
	mask := A(1)<<shift - 1
	for r := range len(gl.Start) - 1 {
		first, end := gl.Start[r], gl.Start[r+1]
		width := gl.WidthOf(r)
		row := arcs[r*classes : (r+1)*classes]
		for o := range width {
			clear(v)
			for i := first + o; i < end; i += width {
				x := a[i]
				q := p[int(gl.Ctx[i])*n:][:n]
				for d, y := range q {
					v[d] += x * y
				}
			}
			if gl.Uniform && o == 0 && width == 1 {
				for k, arc := range row[:len(v)] {
					b[arc>>shift] += v[k] * w[arc&mask]
				}
				continue
			}
			for k, arc := range row {
				size := gl.Size[k]
				at := uint32(arc>>shift) + o*size
				y := w[arc&mask]
				to := b[at:][:size]
				for d, x := range v[gl.Cut[k]:][:size] {
					to[d] += x * y
				}
			}
		}
	}
}

// backward fills beta from next, and adds to flow.
func backward[A uint32 | uint64](s *step, arcs []A) {
	gl := s.gl
	n, classes := gl.Labels, gl.Classes
	p, a, beta, betaN, w, x := s.p.x, s.alpha.x, s.beta.x, s.next.x, s.w.x, s.flow.x
	if n == 0 {
		clear(beta[:len(gl.Ctx)])
		return
	}
	g := s.v.x[:n]
	shift := gl.Shift & 63
	mask := A(1)<<shift - 1
	for r := range len(gl.Start) - 1 {
		first, end := gl.Start[r], gl.Start[r+1]
		width := gl.WidthOf(r)
		row := arcs[r*classes : (r+1)*classes]
		for o := range width {
			if gl.Uniform && width == 1 {
				for k, arc := range row[:len(g)] {
					g[k] = betaN[arc>>shift] * w[arc&mask]
				}
			} else {
				for k, arc := range row {
					size := gl.Size[k]
					at := uint32(arc>>shift) + o*size
					y := w[arc&mask]
					to := g[gl.Cut[k]:][:size]
					for d, z := range betaN[at:][:size] {
						to[d] = z * y
					}
				}
			}
			for i := first + o; i < end; i += width {
				c := int(gl.Ctx[i]) * n
				q, f := p[c:][:n], x[c:][:n]
				ai, sum := a[i], 0.0
				for d, y := range q {
					z := g[d]
					sum += y * z
					f[d] += ai * z
				}
				beta[i] = sum
			}
		}
	}
}

// forward1 is forward with tangents.
func forward1[A uint32 | uint64](s *step, arcs []A) {
	gl := s.gl
	n, classes := gl.Labels, gl.Classes
	if n == 0 {
		return
	}
	p, a, b, w, v := s.p.x, s.alpha.x, s.next.x, s.w.x, s.v.x[:n]
	pv, a1, b1, wd, v1 := s.p.d, s.alpha.d, s.next.d, s.w.d, s.v.d[:n]
	shift := gl.Shift & 63
	mask := A(1)<<shift - 1
	for r := range len(gl.Start) - 1 {
		first, end := gl.Start[r], gl.Start[r+1]
		width := gl.WidthOf(r)
		row := arcs[r*classes : (r+1)*classes]
		for o := range width {
			clear(v)
			clear(v1)
			for i := first + o; i < end; i += width {
				x, x1 := a[i], a1[i]
				c := int(gl.Ctx[i]) * n
				for d, y := range p[c:][:n] {
					v[d] += x * y
					v1[d] += x1 * y
				}
				if pv != nil {
					for d, y := range pv[c:][:n] {
						v1[d] += x * y
					}
				}
			}
			for k, arc := range row {
				size := gl.Size[k]
				at := uint32(arc>>shift) + o*size
				y, y1 := w[arc&mask], 0.0
				if wd != nil {
					y1 = wd[arc&mask]
				}
				cut := gl.Cut[k]
				for d := range size {
					b[at+d] += v[cut+d] * y
					b1[at+d] += v1[cut+d]*y + v[cut+d]*y1
				}
			}
		}
	}
}

// backward1 is backward with tangents.
func backward1[A uint32 | uint64](s *step, arcs []A) {
	gl := s.gl
	n, classes := gl.Labels, gl.Classes
	p, a, beta, betaN, w, x := s.p.x, s.alpha.x, s.beta.x, s.next.x, s.w.x, s.flow.x
	pv, a1, beta1, beta1N, wd, x1 := s.p.d, s.alpha.d, s.beta.d, s.next.d, s.w.d, s.flow.d
	if n == 0 {
		clear(beta[:len(gl.Ctx)])
		clear(beta1[:len(gl.Ctx)])
		return
	}
	g, g1 := s.v.x[:n], s.v.d[:n]
	shift := gl.Shift & 63
	mask := A(1)<<shift - 1
	for r := range len(gl.Start) - 1 {
		first, end := gl.Start[r], gl.Start[r+1]
		width := gl.WidthOf(r)
		row := arcs[r*classes : (r+1)*classes]
		for o := range width {
			for k, arc := range row {
				size := gl.Size[k]
				at := uint32(arc>>shift) + o*size
				y, y1 := w[arc&mask], 0.0
				if wd != nil {
					y1 = wd[arc&mask]
				}
				cut := gl.Cut[k]
				for d := range size {
					g[cut+d] = betaN[at+d] * y
					g1[cut+d] = beta1N[at+d]*y + betaN[at+d]*y1
				}
			}
			for i := first + o; i < end; i += width {
				c := int(gl.Ctx[i]) * n
				ai, ai1, sum, sum1 := a[i], a1[i], 0.0, 0.0
				f, f1 := x[c:][:n], x1[c:][:n]
				for d, y := range p[c:][:n] {
					z, z1 := g[d], g1[d]
					sum += y * z
					sum1 += y * z1
					f[d] += ai * z
					f1[d] += ai1*z + ai*z1
				}
				if pv != nil {
					for d, y := range pv[c:][:n] {
						sum1 += y * g[d]
					}
				}
				beta[i], beta1[i] = sum, sum1
			}
		}
	}
}
