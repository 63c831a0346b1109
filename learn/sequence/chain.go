package sequence

import (
	"math"
	"slices"
)

// chain runs forward-backward for one sequence whose scores are of single labels and of label
// pairs, the latter the same at all positions. This is the plain linear-chain conditional random
// field, where nearly all training time goes.
//
// Scores are exponentiated once, relative to their maximum by position, and the
// recursions are scaled by position (L. Rabiner, "A tutorial on hidden Markov
// models", Proc. IEEE 77, 1989, section V.A). Where scores are so far apart that
// this underflows, the same sums are done in logarithms.
type chain struct {
	labels int // D
	stride int // D rounded up to a multiple of 8, which is a line of cache; the padding has probability zero

	// Set by transitions for one evaluation; nil for order 1.
	score     []float64 // of pairs, D·D
	trans     []float64 // exp(score - top), D rows of stride
	transT    []float64 // transposed
	transTop  float64
	transSpan float64 // largest score less the smallest

	masked bool // some scores are -Inf: of labels that are ruled out

	node  []float64 // scores of labels: positions·stride
	exp   []float64 // their exponentials, relative to the best of the position
	alpha []float64
	scale []float64
	beta  []float64
}

// pairSums adds up expected numbers of label pairs, D rows of stride.
type pairSums struct {
	scaled []float64 // room for a multiple of 4 rows; still to be multiplied by the transitions, the same for all positions
	exact  []float64 // what was summed in logarithms; nil if nothing was
}

// safeSpan is how far apart scores may be, in the transitions and at a position together, for the
// scaled recursion. Every label of a position then keeps at least exp(-safeSpan) of the forward
// mass. Nothing that matters later vanishes, and no backward value exceeds exp(safeSpan).
const safeSpan = 600

func newChain(labels int) *chain {
	s := (labels + 7) &^ 7
	return &chain{labels: labels, stride: s, beta: make([]float64, s)}
}

// share takes over the transitions of another chain, to read them.
func (c *chain) share(o *chain) {
	c.score, c.trans, c.transT, c.transTop, c.transSpan = o.score, o.trans, o.transT, o.transTop, o.transSpan
}

// transitions sets the scores of label pairs; nil for none.
func (c *chain) transitions(score []float64) {
	d, s := c.labels, c.stride
	c.score = score
	if score == nil {
		c.trans, c.transT, c.transTop, c.transSpan = nil, nil, 0, 0
		return
	}
	if c.trans == nil {
		c.trans, c.transT = make([]float64, d*s), make([]float64, d*s)
	}
	c.transTop = slices.Max(score)
	c.transSpan = c.transTop - slices.Min(score)
	for a := range d {
		for b := range d {
			v := math.Exp(score[a*d+b] - c.transTop)
			c.trans[a*s+b], c.transT[b*s+a] = v, v
		}
	}
}

// begin makes room for n positions and returns the scores of their labels, in
// rows of stride, all zero.
func (c *chain) begin(n int) []float64 {
	need := n * c.stride
	if cap(c.node) < need {
		grown := need + need/2
		c.node, c.exp, c.alpha = make([]float64, grown), make([]float64, grown), make([]float64, grown)
		c.scale = make([]float64, n+n/2+1)
	}
	c.node = c.node[:need]
	clear(c.node)
	return c.node
}

// marginals returns log Z for the scores in begin's slice, and stores in post,
// rows of stride, the probability of each label at each position. It adds the
// expected numbers of label pairs to pairs.
func (c *chain) marginals(post []float64, pairs *pairSums) float64 {
	s := c.stride
	n := len(c.node) / s
	if n == 0 {
		return 0
	}
	tops, spread := c.expRows(n)
	if !(spread+c.transSpan <= safeSpan) {
		return c.inLogs(post, pairs)
	}
	c.forward(n, spread)
	logZ, factor := float64(n-1)*c.transTop+tops, 1.0 // logZ - log(factor) is what is known so far
	for _, inv := range c.scale[:n] {
		if inv > 1e100 {
			logZ -= math.Log(inv)
		} else if factor *= inv; factor < 1e-100 || factor > 1e100 { // one logarithm in many positions
			logZ -= math.Log(factor)
			factor = 1
		}
	}
	logZ -= math.Log(factor)
	if c.trans == nil {
		copy(post[:n*s], c.alpha[:n*s])
		return logZ
	}
	copy(post[(n-1)*s:n*s], c.alpha[(n-1)*s:n*s])
	if n > 1 {
		c.backward(n, post, pairs)
	}
	return logZ
}

// expRows stores the exponentials of all scores, relative to the best of the position. It returns
// the sum of those best ones, and the largest span of the scores at a position.
func (c *chain) expRows(n int) (tops, spread float64) {
	d, s := c.labels, c.stride
	if c.masked {
		return c.expRowsMasked(n)
	}
	if useRows(s) {
		return c.expRowsFast(n)
	}
	for t := range n {
		row, e := c.node[t*s:][:s], c.exp[t*s:][:s]
		top, low := span(row[:d])
		tops += top
		if !(top-low <= spread) {
			spread = top - low
		}
		expRow(e, row, top)
		clear(e[d:])
	}
	return tops, spread
}

// expRowsMasked is expRows where labels are ruled out: they count for nothing. A position
// without any label makes the spread infinite.
func (c *chain) expRowsMasked(n int) (tops, spread float64) {
	d, s := c.labels, c.stride
	for t := range n {
		row, e := c.node[t*s:][:d], c.exp[t*s:][:s]
		top, low := math.Inf(-1), math.Inf(1)
		for _, v := range row {
			if !math.IsInf(v, -1) {
				top, low = max(top, v), min(low, v)
			}
		}
		if math.IsInf(top, -1) {
			return top, math.Inf(1)
		}
		tops += top
		if !(top-low <= spread) {
			spread = top - low
		}
		clear(e)
		for j, v := range row {
			switch {
			case v == top:
				e[j] = 1
			case !math.IsInf(v, -1):
				e[j] = math.Exp(v - top)
			}
		}
	}
	return tops, spread
}

// forward stores the scaled forward values, and by what they were scaled. The assembly
// scales a row when the next was made of it: then the transitions count twice for what
// may vanish.
func (c *chain) forward(n int, spread float64) {
	d, s := c.labels, c.stride
	fast := c.trans != nil && useRows(s) && spread+2*c.transSpan <= safeSpan
	for t := range n {
		a, e := c.alpha[t*s:][:s], c.exp[t*s:][:s]
		sum := 0.0
		if t == 0 || c.trans == nil {
			for j, v := range e {
				a[j] = v
				sum += v
			}
		} else {
			vecMat(a, c.alpha[(t-1)*s:][:d], c.trans)
			sum = mulSum(a, e)
		}
		inv := 1 / sum
		scale(a, inv)
		c.scale[t] = inv
		if fast {
			c.forwardFast(n)
			return
		}
	}
}

// backward stores the probabilities of the labels of all positions but the last, and
// adds up pairs. Rows of exp become node·β/scale.
func (c *chain) backward(n int, post []float64, pairs *pairSums) {
	d, s := c.labels, c.stride
	beta := c.beta
	for j := range beta {
		beta[j] = 1
	}
	if useRows(s) {
		c.backwardFast(n, post, pairs)
		return
	}
	for t := n - 1; t > 0; t-- {
		right := c.exp[t*s:][:s]
		mul(right, right, beta, c.scale[t])
		addOuter(pairs.scaled[:d*s], c.alpha[(t-1)*s:][:d], right)
		vecMat(beta, right[:d], c.transT)
		mul(post[(t-1)*s:][:s], c.alpha[(t-1)*s:][:s], beta, 1)
	}
}

// newPairs returns room for pairSums.scaled.
func newPairs(labels, stride int) []float64 { return make([]float64, (labels+3)&^3*stride) }

// finish stores the expected numbers of label pairs in dst, D·D.
func (c *chain) finish(dst []float64, pairs *pairSums) {
	d, s := c.labels, c.stride
	for a := range d {
		for b := range d {
			v := 0.0
			if c.trans != nil {
				v = pairs.scaled[a*s+b] * c.trans[a*s+b]
			}
			if pairs.exact != nil {
				v += pairs.exact[a*s+b]
			}
			dst[a*d+b] = v
		}
	}
}

// inLogs is marginals in logarithms throughout: any finite scores, ten times the time.
func (c *chain) inLogs(post []float64, pairs *pairSums) float64 {
	d, s := c.labels, c.stride
	n := len(c.node) / s
	alpha, beta := c.alpha[:n*s], c.exp[:n*s]
	pair := func(a, b int) float64 {
		if c.score == nil {
			return 0
		}
		return c.score[a*d+b]
	}
	work := make([]float64, d)
	copy(alpha[:d], c.node[:d])
	for t := 1; t < n; t++ {
		for b := range d {
			for a := range d {
				work[a] = alpha[(t-1)*s+a] + pair(a, b)
			}
			alpha[t*s+b] = logSum(work) + c.node[t*s+b]
		}
	}
	clear(beta[(n-1)*s : n*s])
	for t := n - 2; t >= 0; t-- {
		for a := range d {
			for b := range d {
				work[b] = pair(a, b) + c.node[(t+1)*s+b] + beta[(t+1)*s+b]
			}
			beta[t*s+a] = logSum(work)
		}
	}
	logZ := logSum(alpha[(n-1)*s:][:d])
	clear(post[:n*s])
	for t := range n {
		for a := range d {
			post[t*s+a] = math.Exp(alpha[t*s+a] + beta[t*s+a] - logZ)
		}
	}
	if c.score == nil {
		return logZ
	}
	if pairs.exact == nil {
		pairs.exact = make([]float64, d*s)
	}
	for t := 1; t < n; t++ {
		for a := range d {
			for b := range d {
				pairs.exact[a*s+b] += math.Exp(alpha[(t-1)*s+a] + pair(a, b) + c.node[t*s+b] + beta[t*s+b] - logZ)
			}
		}
	}
	return logZ
}

func logSum(v []float64) float64 {
	top := slices.Max(v)
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}
