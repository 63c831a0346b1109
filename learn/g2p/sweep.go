package g2p

import "math"

// kernel is one worker's memory, and the inner loops over one word.
//
// A word's potentials are whitened first (backward messages of the plain chain
// turn scores into conditional probabilities p(b|a)), after which the sum over
// a columnGraph is an expectation: its forward values are at most exp(γ·loss),
// and no logarithm is taken within it. Pair scores arrive exponentiated.
type kernel struct {
	u     []float64 // exp of unary scores less their maximum, letter by letter
	mu    []float64 // plain marginals of labels
	msg   []float64 // backward messages of two letters
	um    []float64
	p     []float64 // conditional probabilities, pair by pair, letter by letter
	x     []float64 // expectations with one pair fixed, over p
	alpha []float64
	beta  []float64
	rest  []float64
	v, g  []float64
	table []float64   // of a graph with values of its own
	pair  [][]float64 // exponentiated pair scores of each letter
}

// shape says where a word's rows lie in arrays by label and by pair of labels.
type shape struct {
	sizes []int
	unary []int // first entry of letter t, and one past the last
	pairs []int // the same for pairs with the letter before; the first letter has one left label
}

func newShape(sizes []int) shape {
	s := shape{sizes: sizes, unary: make([]int, len(sizes)+1), pairs: make([]int, len(sizes)+1)}
	left := 1
	for t, n := range sizes {
		s.unary[t+1] = s.unary[t] + n
		s.pairs[t+1] = s.pairs[t] + left*n
		left = n
	}
	return s
}

func (s *shape) left(t int) int {
	if t == 0 {
		return 1
	}
	return s.sizes[t-1]
}

// whiten computes p and returns log Z of the plain chain without what u was
// divided by, given u and pair[t], the exponentiated pair scores. ok is false when that
// left the range of floats.
func (k *kernel) whiten(s *shape, pair [][]float64) (logZ float64, ok bool) {
	n := len(s.sizes)
	k.p = sized(k.p, s.pairs[n])
	widest := 1
	for _, size := range s.sizes {
		widest = max(widest, size)
	}
	k.msg, k.um = sized(k.msg, widest), sized(k.um, widest)
	k.v, k.g = sized(k.v, widest), sized(k.g, widest)
	msg := k.msg
	for b := range s.sizes[n-1] {
		msg[b] = 1
	}
	scale := 1.0
	for t := n - 1; t >= 0; t-- {
		size := s.sizes[t]
		u, um := k.u[s.unary[t]:s.unary[t+1]], k.um[:size]
		for b, x := range u {
			um[b] = x * msg[b]
		}
		e, p := pair[t], k.p[s.pairs[t]:s.pairs[t+1]]
		most := 0.0
		for a := range s.left(t) {
			er, pr := e[a*size:(a+1)*size:(a+1)*size], p[a*size:(a+1)*size:(a+1)*size]
			sum := 0.0
			for b, x := range um {
				y := er[b] * x
				pr[b] = y
				sum += y
			}
			msg[a] = sum
			most = max(most, sum)
			if sum > 0 {
				inv := 1 / sum
				for b := range pr {
					pr[b] *= inv
				}
			}
		}
		if !(most > 1e-280 && most < 1e280) {
			return 0, false
		}
		inv := 1 / most
		for a := range s.left(t) {
			msg[a] *= inv
		}
		if scale *= most; scale > 1e20 || scale < 1e-20 {
			logZ += math.Log(scale)
			scale = 1
		}
	}
	return logZ + math.Log(scale), true // the start's message was scaled to 1
}

// marginals computes mu from p, and adds f times the probability of every pair to
// out.
func (k *kernel) marginals(s *shape, f float64, out []float64) {
	n := len(s.sizes)
	k.mu = sized(k.mu, s.unary[n])
	clear(k.mu)
	left := []float64{1}
	for t, size := range s.sizes {
		mu := k.mu[s.unary[t]:s.unary[t+1]]
		p, o := k.p[s.pairs[t]:s.pairs[t+1]], out[s.pairs[t]:s.pairs[t+1]]
		for a, la := range left {
			pr, or := p[a*size:(a+1)*size:(a+1)*size], o[a*size:(a+1)*size:(a+1)*size]
			for b, x := range pr {
				y := la * x
				mu[b] += y
				or[b] += f * y
			}
		}
		left = mu
	}
}

// Scores of neighbouring labels within ±maxPairScore keep the whitening's
// messages so close to each other that a message which underflows belongs to a
// label of probability e^-500 at most.
const maxPairScore = 100

// maxSpread bounds the logarithm by which an edge that underflowed, of
// probability e^-500 or less, could count more than its probability says: then
// all such edges together weigh less than e^-40 of the sum.
const maxSpread = 450

// maxGain bounds the logarithm of what a path's losses multiply it by, and so of
// backward values.
const maxGain = 600

// expect returns E_p[∏ table[value] over the edges of the path] in g, and adds
// f times the probability of every pair under p reweighted by that product to
// out. table holds exp(gamma·loss). ok is false when underflow could matter; out
// may have been changed then.
func (k *kernel) expect(s *shape, g *columnGraph, table []float64, gamma, f float64, out []float64) (logZ float64, ok bool) {
	n := len(s.sizes)
	alpha := sized(k.alpha, g.nodes)
	beta := sized(k.beta, g.nodes)
	k.alpha, k.beta = alpha, beta
	clear(alpha)
	alpha[1] = 1
	for t, l := range g.layers {
		size := s.sizes[t]
		p := k.p[s.pairs[t]:s.pairs[t+1]]
		v := k.v[:size]
		e := int(l.edge)
		for c := int(l.column); c < g.columnEnd(t); c++ {
			lo, hi := g.node[c], g.node[c+1]
			row := p[int(g.label[lo])*size:]
			row = row[:size]
			av := alpha[lo]
			for b, x := range row {
				v[b] = av * x
			}
			for i := lo + 1; i < hi; i++ {
				row := p[int(g.label[i])*size:]
				row = row[:size]
				av := alpha[i]
				for b, x := range row {
					v[b] += av * x
				}
			}
			to, val := g.target[e:e+size:e+size], g.value[e:e+size:e+size]
			for b, x := range v {
				alpha[to[b]] += x * table[val[b]]
			}
			e += size
		}
	}
	z := alpha[g.nodes-1]
	logZ = math.Log(z)
	if gain := math.Abs(gamma) * g.reach; !(gain-logZ <= maxSpread && gain <= maxGain && z < 1e280) {
		return logZ, false
	}
	if out == nil {
		return logZ, true
	}
	k.x = sized(k.x, s.pairs[n])
	clear(k.x)
	beta[0] = 0
	beta[g.nodes-1] = 1
	inv := f / z
	for t := n - 1; t >= 0; t-- {
		l := g.layers[t]
		size := s.sizes[t]
		p, x := k.p[s.pairs[t]:s.pairs[t+1]], k.x[s.pairs[t]:s.pairs[t+1]]
		gv := k.g[:size]
		e := int(l.edge)
		for c := int(l.column); c < g.columnEnd(t); c++ {
			to, val := g.target[e:e+size:e+size], g.value[e:e+size:e+size]
			for b := range gv {
				gv[b] = beta[to[b]] * table[val[b]]
			}
			for i := g.node[c]; i < g.node[c+1]; i++ {
				a := int(g.label[i]) * size
				pr, xr := p[a:a+size:a+size], x[a:a+size:a+size]
				av, sum := alpha[i], 0.0
				for b, y := range gv {
					sum += pr[b] * y
					xr[b] += av * y
				}
				beta[i] = sum
			}
			e += size
		}
		o := out[s.pairs[t]:s.pairs[t+1]]
		for i, y := range x {
			o[i] += inv * y * p[i]
		}
	}
	return logZ, true
}

func (g *columnGraph) columnEnd(t int) int {
	if t+1 < len(g.layers) {
		return int(g.layers[t+1].column)
	}
	return len(g.node) - 1
}

// risk returns E_p[Σ table[value]], the expected loss less g.base, and adds f times
// its gradient with respect to pair scores, Cov_p(loss, pair), to out. table holds the losses
// themselves. Forward values are pairs (probability, expected loss so far), the
// dual numbers of the plain sweep; backward ones the loss to come.
func (k *kernel) risk(s *shape, g *columnGraph, table []float64, f float64, out []float64) float64 {
	n := len(s.sizes)
	alpha, sofar, rest := sized(k.alpha, g.nodes), sized(k.beta, g.nodes), sized(k.rest, g.nodes)
	k.alpha, k.beta, k.rest = alpha, sofar, rest
	clear(alpha)
	clear(sofar)
	alpha[1] = 1
	for t, l := range g.layers {
		size := s.sizes[t]
		p := k.p[s.pairs[t]:s.pairs[t+1]]
		e := int(l.edge)
		for c := int(l.column); c < g.columnEnd(t); c++ {
			to, val := g.target[e:e+size:e+size], g.value[e:e+size:e+size]
			for i := g.node[c]; i < g.node[c+1]; i++ {
				row := p[int(g.label[i])*size:]
				row = row[:size]
				av, sv := alpha[i], sofar[i]
				for b, x := range row {
					alpha[to[b]] += av * x
					sofar[to[b]] += (sv + av*table[val[b]]) * x
				}
			}
			e += size
		}
	}
	loss := sofar[g.nodes-1]
	if out == nil {
		return loss
	}
	rest[0], rest[g.nodes-1] = 0, 0
	k.x = sized(k.x, s.pairs[n])
	clear(k.x)
	for t := n - 1; t >= 0; t-- {
		l := g.layers[t]
		size := s.sizes[t]
		p, x := k.p[s.pairs[t]:s.pairs[t+1]], k.x[s.pairs[t]:s.pairs[t+1]]
		gv := k.g[:size]
		e := int(l.edge)
		for c := int(l.column); c < g.columnEnd(t); c++ {
			to, val := g.target[e:e+size:e+size], g.value[e:e+size:e+size]
			for b := range gv {
				gv[b] = rest[to[b]] + table[val[b]]
			}
			for i := g.node[c]; i < g.node[c+1]; i++ {
				a := int(g.label[i]) * size
				pr, xr := p[a:a+size:a+size], x[a:a+size:a+size]
				av, sv, sum := alpha[i], sofar[i], 0.0
				for b, y := range gv {
					sum += pr[b] * y
					xr[b] += sv + av*y
				}
				rest[i] = sum
			}
			e += size
		}
		o := out[s.pairs[t]:s.pairs[t+1]]
		for i, y := range x {
			o[i] += f * y * p[i]
		}
	}
	k.marginals(s, -f*loss, out)
	return loss
}
