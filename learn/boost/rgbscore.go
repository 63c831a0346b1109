package boost

import (
	"math"
	"sync"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// scorer computes gradients, and the losses of all candidates of a round in one
// pass over the rows.
//
// For the logistic loss of unweighted rows a candidate costs two multiplications a row. With e_i =
// exp(-y_i F_i) from the gradient pass, the loss after a step is log Π (1 + e_i exp(∓a w_l)), with
// two factors per leaf. The logarithm is taken only when the product grows large
// (BenchmarkCandidates).
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
		s.logistic, s.scale = true, l.Scale()
		s.e = make([]float64, r.d.Rows())
	}
}

// gradients stores first and second derivatives at the current scores, and lists
// the rows of the sample.
func (s *scorer) gradients() {
	r := s.r
	run.Blocks(r.Workers, r.d.Rows(), lineBlock, func(_, from, to int) {
		if !s.logistic {
			r.e.Loss.Gradients(r.g[from*r.k:to*r.k], r.h[from*r.k:to*r.k], r.d.Y[from:to], r.scores[from*r.k:to*r.k])
			return
		}
		g, h, e, y, f := r.g[from:to], r.h[from:to], s.e[from:to], r.d.Y[from:to], r.scores[from:to]
		for i := range g {
			z := y[i] * f[i]
			x := math.Exp(-math.Abs(z))
			d := 1 / (1 + x)
			// Both signs' numbers, and one of them taken: no branch to guess.
			p, q := [2]float64{x * d, d}, [2]float64{x, 1 / x}
			wrong := math.Float64bits(z) >> 63
			e[i] = q[wrong]
			g[i] = -s.scale * y[i] * p[wrong]
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
	factors := make([][]float64, len(proposals))
	if s.logistic {
		for j, p := range proposals {
			factors[j] = leafFactors(p)
		}
	}
	blocks := (n + lineBlock - 1) / lineBlock
	part := make([]float64, blocks*(len(proposals)+1))
	run.Blocks(r.Workers, n, lineBlock, func(_, from, to int) {
		out := part[from/lineBlock*(len(proposals)+1):]
		var list []int32
		if rows != nil {
			list = rows[from:to]
		}
		var b *gathered
		for j, p := range proposals {
			if s.logistic && p.table != nil {
				if b == nil {
					b = gatherings.Get().(*gathered) // 48 KB for 4096 rows
					defer gatherings.Put(b)
					s.gather(b, list, from, to)
				}
				out[j] = s.scale * s.logProduct(p, factors[j], b, list, from)
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
func leafFactors(p *proposal) []float64 {
	if p.table == nil {
		return nil
	}
	out := make([]float64, 0, 2*len(p.table[0]))
	for _, w := range p.table[0] {
		out = append(out, math.Exp(-p.step*w), math.Exp(p.step*w))
	}
	return out
}

// gathered are the rows of a block, for all candidates: where each finds its factor,
// and what that multiplies.
type gathered struct {
	n   int
	top float64
	e   [lineBlock]float64
	at  [lineBlock]int32
}

var gatherings = sync.Pool{New: func() any { return new(gathered) }}

func (s *scorer) gather(b *gathered, list []int32, from, to int) {
	b.n, b.top = to-from, 0
	slot, y := s.r.grown[0].slot, s.r.d.Y
	for k := range b.n {
		i := from + k
		if list != nil {
			i = int(list[k])
		}
		b.e[k] = s.e[i]
		b.top = max(b.top, s.e[i])
		// The sign bit and no branch: labels come in an order that no processor guesses.
		b.at[k] = 2*slot[i] + int32(math.Float64bits(y[i])>>63)
	}
}

// Up to modestFactor, sixteen factors and what is carried along stay within floats.
// Beyond largeFactor not even one does.
const (
	modestFactor = 1e14
	carried      = 1e60
	largeFactor  = 1e200
)

// logProduct is Σ log(1 + e_i factor) over the rows of a block. Four products run
// side by side, so that none waits for its own multiplication.
func (s *scorer) logProduct(p *proposal, factor []float64, b *gathered, list []int32, from int) float64 {
	top := 0.0
	for _, v := range factor {
		top = max(top, v)
	}
	sum := 0.0
	e, at := b.e[:b.n], b.at[:b.n]
	k := 0
	product := [4]float64{1, 1, 1, 1}
	if top*b.top < modestFactor {
		for ; k+64 <= len(e); k += 64 {
			p0, p1, p2, p3 := product[0], product[1], product[2], product[3]
			for j := k; j < k+64; j += 4 {
				x, l := (*[4]float64)(e[j:]), (*[4]int32)(at[j:])
				p0 *= 1 + x[0]*factor[l[0]]
				p1 *= 1 + x[1]*factor[l[1]]
				p2 *= 1 + x[2]*factor[l[2]]
				p3 *= 1 + x[3]*factor[l[3]]
			}
			product = [4]float64{p0, p1, p2, p3}
			for c, v := range product {
				if v > carried {
					sum += math.Log(v)
					product[c] = 1
				}
			}
		}
	}
	for ; k < len(e); k++ {
		x := e[k] * factor[at[k]]
		if !(x < largeFactor) {
			i := rowAt(list, from, from+k)
			sum += score.Softplus(-s.r.d.Y[i] * (s.r.scores[i] + p.step*p.table[0][at[k]/2]))
			continue
		}
		product[0] *= 1 + x
		if product[0] > carried {
			sum += math.Log(product[0])
			product[0] = 1
		}
	}
	for _, v := range product {
		sum += math.Log(v)
	}
	return sum
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
		sum += score.Weight(r.d.W, rowAt(list, from, from+at)) * v
	}
	return sum
}
