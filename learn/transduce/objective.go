package transduce

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/learn/optim"
)

// word is a training pair as an objective sees it: a lattice, and the features of its pieces.
type word struct {
	*lattice
	start, feature []int32
}

// objective is the function of the scores that training minimises for each pair. Let Z_g be the sum
// of exp(θ(a) + g·L(a)) over the alignments a of the lattice with any output, and R that of exp
// θ(a) over those with the true one.
//
//	likelihood   log Z_0 - log R
//	margin       log Z_γ - log R
//	max-margin   (1/β) log Σ exp β(θ + γL) - (1/β) log Σ_right exp βθ
//	risk         log Z_0 - log R + γ E_0[L]
type objective struct {
	kind        string
	gamma, beta float64
	aligned     bool // R is the best alignment alone
}

// terms are the pairs as a sum over which solvers run. It implements optim.Terms.
type terms struct {
	objective
	words []word
	scale []float64       // values of the features
	ctx   context.Context // ends an evaluation; nil is none
}

func (t *terms) Dim() int { return len(t.scale) }
func (t *terms) Len() int { return len(t.words) }

// Support implements optim.Supported.
func (t *terms) Support(i int, visit func(at, n int)) {
	for _, f := range t.words[i].feature {
		visit(int(f), 1)
	}
}

// Worker implements optim.Terms.
func (t *terms) Worker() optim.Worker { return &sweeper{terms: t} }

// sweeper evaluates words; it has the work space of one goroutine.
type sweeper struct {
	*terms
	score []float64 // of pieces
	grad  []float64
	all   sweep
	right sweep
}

// sweep has the sums over the paths of a lattice, and their gradients.
type sweep struct {
	alpha, mean  []float64 // by state: log-sum of the paths to it, and their mean loss
	share        []float64 // by arc: its part of the sum of the state that it leads to
	post, ofMean []float64 // by state: derivatives of the result
}

// scores stores the scores of the pieces of a word.
func (w *word) scores(x, scale, score []float64) []float64 {
	score = sized(score, len(w.pieces))
	for i := range score {
		s := 0.0
		for _, f := range w.feature[w.start[i]:w.start[i+1]] {
			s += x[f] * scale[f]
		}
		score[i] = s
	}
	return score
}

// forward sums over the paths of a lattice whose arcs score β(θ + γL), all or those that are right
// (or gold). It returns the log-sum, and the mean loss where that is wanted.
func (s *sweep) forward(l *lattice, score []float64, beta, gamma float64, of func(*arc) bool,
	mean bool) (logSum, loss float64) {
	s.alpha, s.share = sized(s.alpha, l.states), sized(s.share, len(l.arcs))
	if mean {
		s.mean = sized(s.mean, l.states)
		s.mean[0] = 0
	}
	s.alpha[0] = 0
	for q := 1; q < l.states; q++ {
		from, to := l.at[q], l.at[q+1]
		if to == from+1 && of == nil { // most states of long runs
			e := &l.arcs[from]
			s.alpha[q] = s.alpha[e.from] + beta*(score[e.place]+score[e.past]-float64(e.cost)+gamma*float64(e.loss))
			s.share[from] = 1
			if mean {
				s.mean[q] = s.mean[e.from] + float64(e.loss)
			}
			continue
		}
		most := math.Inf(-1)
		for k := from; k < to; k++ {
			e := &l.arcs[k]
			v := math.Inf(-1)
			if of == nil || of(e) {
				v = s.alpha[e.from] + beta*(score[e.place]+score[e.past]-float64(e.cost)+gamma*float64(e.loss))
			}
			s.share[k] = v
			most = max(most, v)
		}
		if math.IsInf(most, -1) {
			s.alpha[q] = most
			if mean {
				s.mean[q] = 0
			}
			for k := from; k < to; k++ {
				s.share[k] = 0
			}
			continue
		}
		sum := 0.0
		for k := from; k < to; k++ {
			v := math.Exp(s.share[k] - most)
			s.share[k] = v
			sum += v
		}
		m := 0.0
		for k := from; k < to; k++ {
			s.share[k] /= sum
			if mean && s.share[k] > 0 {
				e := &l.arcs[k]
				m += s.share[k] * (s.mean[e.from] + float64(e.loss))
			}
		}
		s.alpha[q] = most + math.Log(sum)
		if mean {
			s.mean[q] = m
		}
	}
	last := l.states - 1
	if mean {
		loss = s.mean[last]
	}
	return s.alpha[last], loss
}

// backward adds to grad, by piece, the derivative of factor·(log-sum)/β + ofLoss·(mean loss) with
// respect to the scores. It undoes forward in reverse: the share of an arc is its derivative of
// the sum of the state that it leads to.
func (s *sweep) backward(l *lattice, factor, ofLoss float64, grad []float64) {
	s.post = sized(s.post, l.states)
	clear(s.post)
	s.post[l.states-1] = factor
	if ofLoss != 0 {
		s.ofMean = sized(s.ofMean, l.states)
		clear(s.ofMean)
		s.ofMean[l.states-1] = ofLoss
	}
	for q := l.states - 1; q > 0; q-- {
		post := s.post[q]
		if ofLoss == 0 && post == 0 {
			continue
		}
		for k := l.at[q]; k < l.at[q+1]; k++ {
			p := s.share[k]
			if p == 0 {
				continue
			}
			e := &l.arcs[k]
			d := p * post
			if ofLoss != 0 {
				m := s.ofMean[q] * p
				d += m * (s.mean[e.from] + float64(e.loss) - s.mean[q])
				s.ofMean[e.from] += m
			}
			s.post[e.from] += d
			grad[e.place] += d
			grad[e.past] += d
		}
	}
}

func isRight(e *arc) bool { return e.right }
func isGold(e *arc) bool  { return e.gold }

// Eval implements optim.Worker. Scores beyond float64 give +Inf, from which line searches step
// back.
func (s *sweeper) Eval(i int, x []float64, g *optim.Gradient) (float64, error) {
	if s.ctx != nil && s.ctx.Err() != nil {
		return math.NaN(), context.Cause(s.ctx)
	}
	w := &s.words[i]
	s.score = w.scores(x, s.scale, s.score)
	beta, gamma := 1.0, 0.0
	switch s.kind {
	case maxMargin:
		beta, gamma = s.beta, s.gamma
	case margin:
		gamma = s.gamma
	}
	risk := s.kind == risk
	of := isRight
	if s.aligned {
		of = isGold
	}
	z, loss := s.all.forward(w.lattice, s.score, beta, gamma, nil, risk)
	r, _ := s.right.forward(w.lattice, s.score, beta, 0, of, false)
	value, ofLoss := (z-r)/beta, 0.0
	if risk {
		value += s.gamma * loss
		ofLoss = s.gamma
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return math.Inf(1), nil
	}
	if g == nil {
		return value, nil
	}
	s.grad = sized(s.grad, len(w.pieces))
	clear(s.grad)
	s.all.backward(w.lattice, 1, ofLoss, s.grad)
	s.right.backward(w.lattice, -1, 0, s.grad)
	for p, d := range s.grad {
		if math.Abs(d) < leastDerivative {
			continue
		}
		for _, f := range w.feature[w.start[p]:w.start[p+1]] {
			g.Add(int(f), d*s.scale[f])
		}
	}
	return value, nil
}

// leastDerivative is below what rounding leaves of a sum over a training set.
const leastDerivative = 1e-15
