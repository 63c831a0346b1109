package boost

import "math"

// scorer computes gradients, and the losses of all candidates of a round in one
// pass over the rows.
//
// For the logistic loss of unweighted rows a candidate costs a multiplication or
// two a row: with e_i = exp(-y_i F_i) from the gradient pass, the loss after a step is
// log Π (1 + e_i exp(∓a w_l)), with two factors per leaf, and the logarithm is taken
// only when the product grows large. (On 10^5 rows and five candidates: 1.1 ms
// against 14 ms with Log1p and Exp for each.)
type scorer struct {
	r        *rgbRun
	logistic bool
	scale    float64   // of the logistic loss: 1, or 1/ln 2
	e        []float64 // exp(-y F)
	chosen   []int32   // row numbers of the round's sample
	left     []int32   // of the others
}

func (s *scorer) prepare(r *rgbRun) {
	s.r = r
	if l, ok := r.e.Loss.(Logistic); ok && r.d.W == nil {
		s.logistic, s.scale = true, l.scale()
		s.e = make([]float64, r.d.Rows())
	}
}

// gradients stores first and second derivatives at the current scores, and lists
// the rows of the sample.
func (s *scorer) gradients() {
	r := s.r
	forBlocks(r.Workers, r.d.Rows(), lineBlock, func(from, to int) {
		if !s.logistic {
			r.e.Loss.Gradients(r.g[from*r.k:to*r.k], r.h[from*r.k:to*r.k], r.d.Y[from:to], r.scores[from*r.k:to*r.k])
			return
		}
		g, h, e, y, f := r.g[from:to], r.h[from:to], s.e[from:to], r.d.Y[from:to], r.scores[from:to]
		for i := range g {
			z := y[i] * f[i]
			x := math.Exp(-math.Abs(z))
			d := 1 / (1 + x)
			p := x * d
			e[i] = x
			if z < 0 {
				p = d
				e[i] = 1 / x
			}
			g[i] = -s.scale * y[i] * p
			h[i] = s.scale * x * d * d
		}
	})
	if r.in == nil {
		return
	}
	s.chosen, s.left = s.chosen[:0], s.left[:0]
	for i, in := range r.in {
		if in {
			s.chosen = append(s.chosen, int32(i))
		} else {
			s.left = append(s.left, int32(i))
		}
	}
}

// rows lists the rows of that name; nil is all.
func (s *scorer) rows(which Rows) []int32 {
	switch {
	case s.r.in == nil:
		return nil
	case which == HeldOut:
		return s.left
	}
	return s.chosen
}

// losses returns the mean loss of the rows after each proposal's step.
func (s *scorer) losses(proposals []*proposal, which Rows) []float64 {
	r := s.r
	rows := s.rows(which)
	n := r.d.Rows()
	if rows != nil {
		n = len(rows)
	}
	factors := make([][2][]float64, len(proposals))
	if s.logistic {
		for j, p := range proposals {
			factors[j] = leafFactors(p)
		}
	}
	blocks := (n + lineBlock - 1) / lineBlock
	part := make([]float64, blocks*(len(proposals)+1))
	forBlocks(r.Workers, n, lineBlock, func(from, to int) {
		out := part[from/lineBlock*(len(proposals)+1):]
		var list []int32
		if rows != nil {
			list = rows[from:to]
		}
		for j, p := range proposals {
			if s.logistic && p.table != nil {
				out[j] = s.scale * s.logProduct(p, factors[j], list, from, to)
			} else {
				out[j] = s.general(p, list, from, to)
			}
		}
		w := float64(to - from)
		if r.d.W != nil {
			w = 0
			for at := from; at < to; at++ {
				w += r.d.W[rowAt(list, from, at)]
			}
		}
		out[len(proposals)] = w
	})
	out := make([]float64, len(proposals)+1)
	for b := range blocks {
		for j := range out {
			out[j] += part[b*len(out)+j]
		}
	}
	for j := range proposals {
		out[j] /= out[len(proposals)]
	}
	return out[:len(proposals)]
}

func rowAt(list []int32, from, at int) int {
	if list == nil {
		return at
	}
	return int(list[at-from])
}

// leafFactors are exp(-a w) and exp(a w) of each slot: what multiplies exp(-yF) for
// y = +1 and for y = -1.
func leafFactors(p *proposal) (out [2][]float64) {
	if p.table == nil {
		return out
	}
	n := len(p.table[0])
	both := make([]float64, 2*n)
	out[0], out[1] = both[:n], both[n:]
	for l, w := range p.table[0] {
		out[0][l], out[1][l] = math.Exp(-p.step*w), math.Exp(p.step*w)
	}
	return out
}

// Products are logged before they overflow; a factor that could by itself is
// taken the slow way.
const (
	largeProduct = 1e100
	largeFactor  = 1e200
)

func (s *scorer) logProduct(p *proposal, factor [2][]float64, list []int32, from, to int) float64 {
	r := s.r
	slot, y, e := r.grown[0].slot, r.d.Y, s.e
	plus, minus := factor[0], factor[1]
	sum, product := 0.0, 1.0
	one := func(i int) float64 {
		l := slot[i]
		if y[i] > 0 {
			return e[i] * plus[l]
		}
		return e[i] * minus[l]
	}
	if list == nil {
		for i := from; i < to; i++ {
			x := one(i)
			if !(x < largeFactor) {
				sum += logistic(y[i] * (r.scores[i] + p.step*p.table[0][slot[i]]))
				continue
			}
			product *= 1 + x
			if product > largeProduct {
				sum += math.Log(product)
				product = 1
			}
		}
	} else {
		for _, row := range list {
			i := int(row)
			x := one(i)
			if !(x < largeFactor) {
				sum += logistic(y[i] * (r.scores[i] + p.step*p.table[0][slot[i]]))
				continue
			}
			product *= 1 + x
			if product > largeProduct {
				sum += math.Log(product)
				product = 1
			}
		}
	}
	return sum + math.Log(product)
}

// general evaluates any loss.
func (s *scorer) general(p *proposal, list []int32, from, to int) float64 {
	r := s.r
	k := r.k
	y, values := make([]float64, to-from), make([]float64, to-from)
	f := make([]float64, (to-from)*k)
	for at := from; at < to; at++ {
		i := rowAt(list, from, at)
		y[at-from] = r.d.Y[i]
		for c := range k {
			f[(at-from)*k+c] = r.scores[i*k+c] + p.step*r.value(p, i, c)
		}
	}
	r.e.Loss.Values(values, y, f)
	sum := 0.0
	for at, v := range values {
		sum += weight(r.d.W, rowAt(list, from, from+at)) * v
	}
	return sum
}
