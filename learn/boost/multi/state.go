package multi

import (
	"math"
)

// state is where a run stands: scores and losses of all training rows.
type state struct {
	phi     phi
	workers int
	p       int // domains
	slots   int // p, or p+1 with a shared slot, whose Q is 1
	y       []float64
	w       []float64 // nil is all 1
	dom     []int32
	mass    []float64 // weight of each domain's rows
	m       []float64 // number of them
	q       []float64 // by row and slot
	g       []float64 // Σ_j alpha_{s,j} h_{s,j}(x), by row and slot
	f       []float64 // Σ_s Q_s g_s
	penalty []float64 // r_k; nil is none
	norm    float64   // ||alpha||_1, a shared term counted p times; each term times its family's charge
}

func (s *state) weight(i int) float64 {
	if s.w == nil {
		return 1
	}
	return s.w[i]
}

// cost is what a unit of weight in a slot adds to the penalty, for a predictor of a family with
// that charge. A shared term counts once in every domain.
func (s *state) cost(slot int, charge float64) float64 {
	if slot == s.p {
		return float64(s.p) * charge
	}
	return charge
}

// rescore computes f afresh from the slots, in their order: so do predictions, to the
// same bits.
func (s *state) rescore() {
	forBlocks(s.workers, len(s.f), func(_, from, to int) {
		for i := from; i < to; i++ {
			sum := 0.0
			for k := range s.slots {
				sum += float64(s.q[i*s.slots+k] * s.g[i*s.slots+k])
			}
			s.f[i] = sum
		}
	})
}

// add adds a predictor with its values, of a family of that charge, to a slot.
func (s *state) add(slot int, values []float64, charge, alpha float64) {
	forBlocks(s.workers, len(s.f), func(_, from, to int) {
		for i := from; i < to; i++ {
			s.g[i*s.slots+slot] += float64(alpha * values[i])
		}
	})
	s.norm += alpha * s.cost(slot, charge)
}

// losses returns F_k without penalties.
func (s *state) losses() []float64 {
	f, _, _ := s.along(nil, 0, false)
	return f
}

// penalised adds r_k (norm + more).
func (s *state) penalised(f []float64, more float64) []float64 {
	for k, r := range s.penalty {
		f[k] += r * (s.norm + more)
	}
	return f
}

// ray holds y_i Q_s(x_i) h(x_i) of every row: moving eta along it takes eta times that from
// u_i = -y_i f(x_i).
type ray struct {
	z    []float64
	cost float64 // of a unit of eta in state.norm
}

func (s *state) ray(slot int, values []float64, charge float64) *ray {
	r := &ray{z: make([]float64, len(s.f)), cost: s.cost(slot, charge)}
	forBlocks(s.workers, len(s.f), func(_, from, to int) {
		for i := from; i < to; i++ {
			r.z[i] = s.y[i] * s.q[i*s.slots+slot] * values[i]
		}
	})
	return r
}

// along returns the losses F_k at eta on a ray (nil: where we are), and with slopes their
// first and second derivatives; penalties aside. One pass over the rows.
func (s *state) along(r *ray, eta float64, slopes bool) (f, d, dd []float64) {
	const width = 3
	p := s.p
	parts := make([]float64, blocksOf(len(s.f))*p*width)
	forBlocks(s.workers, len(s.f), func(block, from, to int) {
		part := parts[block*p*width:][:p*width]
		for i := from; i < to; i++ {
			u, z := -s.y[i]*s.f[i], 0.0
			if r != nil {
				z = r.z[i]
				u -= eta * z
			}
			w, at := s.weight(i), int(s.dom[i])*width
			switch {
			case !slopes:
				part[at] += w * s.phi.value(u)
			case !s.phi.logistic: // the loss is its own derivative
				e := w * s.phi.value(u)
				part[at] += e
				part[at+1] -= e * z
				part[at+2] += e * z * z
			default:
				first, second := s.phi.slopes(u)
				part[at] += w * s.phi.value(u)
				part[at+1] -= w * first * z
				part[at+2] += w * second * z * z
			}
		}
	})
	f, d, dd = make([]float64, p), make([]float64, p), make([]float64, p)
	for at := 0; at < len(parts); at += p * width {
		for k := range p {
			f[k] += parts[at+k*width]
			d[k] += parts[at+k*width+1]
			dd[k] += parts[at+k*width+2]
		}
	}
	for k := range p {
		f[k] /= s.mass[k]
		d[k] /= s.mass[k]
		dd[k] /= s.mass[k]
	}
	return f, d, dd
}

// signed returns y_i (pi_k/M_k) w_i Phi'(u_i) Q_s(x_i) for every slot, scaled by one common
// factor so that neither large margins nor large errors overflow. With own the slot of a domain
// has the rows of that domain alone, and pi plays no part.
func (s *state) signed(pi []float64, own bool) [][]float64 {
	n := len(s.f)
	tops := make([]float64, blocksOf(n))
	logs := make([]float64, n)
	forBlocks(s.workers, n, func(block, from, to int) {
		tops[block] = math.Inf(-1)
		for i := from; i < to; i++ {
			k := s.dom[i]
			share := pi[k]
			if own {
				share = 1
			}
			logs[i] = math.Inf(-1)
			if share > 0 {
				logs[i] = s.phi.logSlope(-s.y[i]*s.f[i]) + math.Log(share/s.mass[k]) + math.Log(s.weight(i))
			}
			tops[block] = max(tops[block], logs[i])
		}
	})
	top := maxOf(tops)
	u := make([][]float64, s.slots)
	for k := range u {
		u[k] = make([]float64, n)
	}
	forBlocks(s.workers, n, func(_, from, to int) {
		for i := from; i < to; i++ {
			v := s.y[i] * math.Exp(logs[i]-top)
			for k := range u {
				if !own || k == int(s.dom[i]) || k == s.p {
					u[k][i] = v * s.q[i*s.slots+k]
				}
			}
		}
	})
	return u
}

// newtonCurvature returns c_q = Σ_k pi_k/M_k Σ_i w Phi'(u) Q_q(x)² of every slot, the curvature
// along a predictor of values ±1. For the logistic loss it is an upper bound.
func (s *state) newtonCurvature(pi []float64) []float64 {
	n := s.slots
	parts := make([]float64, blocksOf(len(s.f))*n)
	forBlocks(s.workers, len(s.f), func(block, from, to int) {
		part := parts[block*n:][:n]
		for i := from; i < to; i++ {
			k := s.dom[i]
			first, _ := s.phi.slopes(-s.y[i] * s.f[i])
			v := pi[k] / s.mass[k] * s.weight(i) * first
			for j := range part {
				q := s.q[i*n+j]
				part[j] += v * q * q
			}
		}
	})
	c := make([]float64, n)
	for at := 0; at < len(parts); at += n {
		for j := range c {
			c[j] += parts[at+j]
		}
	}
	return c
}

// own are the sums over a slot's own domain that figure 4.1 wants.
type own struct {
	z    float64 // Z_k/M_k: mean slope
	eps  float64 // eps_{k,(k,r)}, the soft error of section 3, in [0, 1]
	qbar float64
}

// onOwn computes them for values of slot k (which is a domain's) on domain k.
func (s *state) onOwn(k int, values []float64) own {
	e := s.onAll(k, values)
	return e[k]
}

// onAll computes eps_{l,(slot,r)} for every domain l; qbar is that of the slot.
func (s *state) onAll(slot int, values []float64) []own {
	const width = 3
	p := s.p
	parts := make([]float64, blocksOf(len(s.f))*p*width)
	forBlocks(s.workers, len(s.f), func(block, from, to int) {
		part := parts[block*p*width:][:p*width]
		for i := from; i < to; i++ {
			first, _ := s.phi.slopes(-s.y[i] * s.f[i])
			v := s.weight(i) * first
			q := s.q[i*s.slots+slot]
			at := int(s.dom[i]) * width
			part[at] += v
			part[at+1] += v * (1 - s.y[i]*q*values[i])
			part[at+2] += v * q
		}
	})
	sum := make([]float64, p*width)
	for at := 0; at < len(parts); at += p * width {
		for j := range sum {
			sum[j] += parts[at+j]
		}
	}
	out := make([]own, p)
	for l := range out {
		z := sum[l*width]
		out[l] = own{z: z / s.mass[l]}
		if z > 0 {
			out[l].eps, out[l].qbar = sum[l*width+1]/z/2, sum[l*width+2]/z
		}
	}
	return out
}
