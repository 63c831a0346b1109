package sequence

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// objective is the training objective over a corpus as an optim.Objective:
//
//	Σ_i F_i(w) + L2/2 |w|²
//
// It works in two phases instead of through optim.Sum. First each sequence gives its value and, for
// each position, the derivative with respect to the scores of the labels there (residual, a row of
// stride). Terms of label n-grams are added up in a fixed number of lanes of consecutive sequences.
// Then the row of each attribute's gradient is the sum of the residuals of the positions that have
// it, found through the transposed corpus. No two goroutines ever add to one weight and every sum
// runs in the order of positions. The result therefore has the same bits for any number of workers.
// Residuals of label pairs, which the pair attributes need, are kept for one round of sequences at
// a time.
type objective struct {
	layout *layout
	corpus *corpus
	loss   *lossOf
	l2     float64
	ctx    context.Context // stops an evaluation midway; nil is none

	// With scale, the objective is a function of z, the weights being scale∘z:
	// optim.Scaled would do the same with three more passes over memory. All weights of
	// an attribute have the same scale.
	scale []float64
	x     []float64 // the weights then, but for those in rows
	rows  []float64 // weights of single attributes, one every stride floats
	wide  *narrow   // instead, where only observed pairs have weights
	share []float64 // by single attribute: its part of l2, the square having l2·share/2; nil is all ones

	workers    []*scorer
	values     []float64 // by sequence
	residual   []float64 // positions · stride
	lanes      []laneSums
	byID       sparse // positions of each single attribute that is not frequent
	entries    []int  // by single attribute: where its entries would begin among those of all
	ranges     []int  // boundaries of attribute ranges of about equal work
	frequent   []frequentGroup
	isFrequent []bool // by single attribute
	squares    []float64
	rounds     []int // boundaries of rounds, in sequences
	pairByID   sparse
	pairNext   []int     // by pair attribute: first entry of pairByID in the round
	pairResult []float64 // residuals of label pairs of a round's positions

	// Of EvalWeighed: what sequences count, and room for their mean losses; nil is none.
	weigh  resilient.Weigh
	losses []float64
}

// laneSums are derivatives with respect to label n-grams of one lane.
type laneSums struct {
	label []float64 // D
	two   pairSums  // expected minus reference
	known pairSums  // expected where some labels are known, to be subtracted
	three []float64 // D·D·D
}

func newObjective(l *layout, c *corpus, loss *lossOf, l2 float64, workers int) *objective {
	d := l.labels
	o := &objective{layout: l, corpus: c, loss: loss, l2: l2}
	n, stride := c.sequences(), loss.stride
	o.values = make([]float64, n)
	for range workers {
		o.workers = append(o.workers, newScorer(l, c, loss))
	}
	windows := 1
	for range l.order {
		windows *= d
	}
	lanes := max(1, min(n, 256, max(8, (1<<21)/windows)))
	o.makeLanes(lanes)
	o.byID = c.single.transposed(l.single)
	o.ranges = balanced(o.byID.ptr, 512)
	o.frequent = frequentGroups(&o.byID, c.positions())
	o.isFrequent = make([]bool, o.byID.rows())
	for _, g := range o.frequent {
		for _, a := range g.ids {
			o.isFrequent[a] = true
		}
	}
	o.squares = make([]float64, len(o.frequent)+len(o.ranges)-1)
	if l.ptr != nil && len(l.seen) <= math.MaxInt32 {
		o.wide = newNarrow(l, c, &o.byID, stride)
		for _, s := range o.workers {
			s.wide = o.wide
		}
	}
	o.entries, o.byID = o.byID.ptr, o.byID.without(o.isFrequent)
	o.residual = make([]float64, c.positions()*stride) // last: what was needed on the way is free by now

	o.rounds = []int{0}
	if l.pair > 0 {
		o.pairByID = c.pair.transposed(l.pair)
		o.pairNext = make([]int, l.pair)
		const floats = 1 << 22 // 32 MB
		longest, from := 0, 0
		for i := range n {
			if (c.start[i+1]-c.start[from])*d*d > floats && i > from {
				o.rounds = append(o.rounds, i)
				from = i
			}
			longest = max(longest, c.start[i+1]-c.start[from])
		}
		o.pairResult = make([]float64, longest*d*d)
	}
	o.rounds = append(o.rounds, n)
	return o
}

func (o *objective) makeLanes(n int) {
	o.lanes = make([]laneSums, n)
	for k := range o.lanes {
		o.lanes[k] = newLane(o.layout, o.loss)
	}
}

func newLane(l *layout, loss *lossOf) laneSums {
	d, stride := l.labels, loss.stride
	lane := laneSums{label: make([]float64, stride)}
	if l.order >= 2 {
		lane.two.scaled = newPairs(d, stride)
		if loss.partial {
			lane.known.scaled = newPairs(d, stride)
		}
	}
	if l.order >= 3 {
		lane.three = make([]float64, d*d*d)
	}
	return lane
}

func (l *laneSums) clear() {
	clear(l.label)
	clear(l.two.scaled)
	clear(l.two.exact)
	clear(l.known.scaled)
	clear(l.known.exact)
	clear(l.three)
}

func (o *objective) clearLanes() {
	for k := range o.lanes {
		o.lanes[k].clear()
	}
}

// balanced cuts the rows that begin at ptr into at most parts ranges with about
// as many entries each, counting an empty row as one.
func balanced(ptr []int, parts int) []int {
	rows := len(ptr) - 1
	cuts := []int{0}
	total := ptr[rows] + rows
	for a := range rows {
		if done := ptr[a+1] + a + 1; done*parts >= len(cuts)*total && a+1 < rows {
			cuts = append(cuts, a+1)
		}
	}
	return append(cuts, rows)
}

func (o *objective) Dim() int      { return o.layout.dim }
func (o *objective) Examples() int { return o.corpus.sequences() }

// parallel calls f with a worker's own scorer for all jobs.
func (o *objective) parallel(jobs int, f func(s *scorer, job int) error) error {
	return run.Each(len(o.workers), jobs, func(w, job int) error { return f(o.workers[w], job) })
}

// Eval implements optim.Objective.
func (o *objective) Eval(x, grad []float64) (float64, error) {
	l, c, n := o.layout, o.corpus, o.corpus.sequences()
	o.clearLanes()
	z := x
	if o.scale != nil {
		o.unscale(z)
		x = o.x
	}
	o.workers[0].prepare(x, nil)
	if o.rows != nil {
		o.workers[0].rows, o.workers[0].stride = o.rows, o.loss.stride
	}
	for _, s := range o.workers[1:] {
		s.prepare(x, o.workers[0])
	}
	if grad != nil && l.pair > 0 {
		copy(o.pairNext, o.pairByID.ptr)
		clear(grad[l.atPair:])
	}
	for r := range len(o.rounds) - 1 {
		// Jobs are the stretches of lanes inside the round: lane k holds the
		// sequences n·k/lanes … n·(k+1)/lanes-1.
		from, to := o.rounds[r], o.rounds[r+1]
		first, last := 0, 0
		if n > 0 {
			first, last = o.laneOf(from), o.laneOf(to-1)
		}
		err := o.parallel(last-first+1, func(s *scorer, job int) error {
			if o.ctx != nil && o.ctx.Err() != nil {
				return context.Cause(o.ctx)
			}
			k := first + job
			for i := max(from, n*k/len(o.lanes)); i < min(to, n*(k+1)/len(o.lanes)); i++ {
				at := c.start[i]
				var pairs []float64
				if o.pairResult != nil {
					pairs = o.pairResult[(at-c.start[from])*l.labels*l.labels:]
				}
				residual := o.residual[at*s.loss.stride : c.start[i+1]*s.loss.stride]
				v, err := s.weighed(o.weigh, o.losses, x, i, residual, &o.lanes[k], pairs)
				if err != nil {
					return fmt.Errorf("%s: %w", o.corpus.name(i), err)
				}
				o.values[i] = v
			}
			return nil
		})
		if err != nil {
			return math.NaN(), err
		}
		if grad != nil && l.pair > 0 {
			o.addPairs(grad, c.start[from], c.start[to])
		}
	}
	value := optim.TreeSum(o.values)
	if grad == nil {
		sq := 0.0
		for _, w := range z {
			sq += w * w
		}
		if o.scale != nil {
			sq = 0
			for j, w := range z {
				w *= o.scale[j]
				sq += w * w
			}
		}
		for a, share := range o.share {
			if from, to := l.row(a); share != 1 {
				for j := from; j < to; j++ {
					w := z[j]
					if o.scale != nil {
						w *= o.scale[j]
					}
					sq -= (1 - share) * w * w
				}
			}
		}
		return value + o.l2/2*sq, nil
	}
	o.singles(z, grad)
	o.ngrams(grad)
	rest := 0.0
	for j := l.at1; j < l.dim; j++ {
		grad[j] += o.l2 * x[j]
		rest += x[j] * x[j]
		if o.scale != nil {
			grad[j] *= o.scale[j]
		}
	}
	return value + o.l2/2*(optim.TreeSum(o.squares)+rest), nil
}

func (o *objective) laneOf(i int) int {
	n, lanes := o.corpus.sequences(), len(o.lanes)
	k := i * lanes / n
	for n*(k+1)/lanes <= i {
		k++
	}
	return k
}

// singles stores the gradient of the single attributes' weights, l2 included.
func (o *objective) singles(z, grad []float64) {
	d, stride := o.layout.labels, o.loss.stride
	groups := len(o.frequent)
	o.parallel(groups+len(o.ranges)-1, func(s *scorer, job int) error { // cannot fail
		sq := 0.0
		if job < groups {
			g := &o.frequent[job]
			s.sums = slices.Grow(s.sums[:0], len(g.ids)*stride)[:len(g.ids)*stride]
			clear(s.sums)
			at := 0
			for _, r := range g.runs {
				n := int(r.entries)
				sum := s.sums[int(r.attribute)*stride:][:d]
				if g.values == nil {
					sumRowsOf(sum, o.residual, g.rows[at:], n, stride)
				} else {
					sumScaledRows(sum, o.residual, g.rows[at:at+n], g.values[at:at+n], stride)
				}
				at += n
			}
			for i, a := range g.ids {
				sq += o.single(z, grad, int(a), s.sums[i*stride:][:d])
			}
		} else {
			for a := o.ranges[job-groups]; a < o.ranges[job-groups+1]; a++ {
				if o.isFrequent[a] {
					continue
				}
				clear(s.row)
				if at, end := o.byID.ptr[a], o.byID.ptr[a+1]; o.byID.values == nil {
					sumRowsOf(s.row, o.residual, o.byID.ids[at:], end-at, stride)
				} else {
					sumScaledRows(s.row, o.residual, o.byID.ids[at:end], o.byID.values[at:end], stride)
				}
				sq += o.single(z, grad, a, s.row)
			}
		}
		o.squares[job] = sq
		return nil
	})
}

// single stores the gradient of the weights of attribute a, whose residuals sum up to
// sum, and returns the sum of the weights' squares. A nil z leaves l2 out of both.
func (o *objective) single(z, grad []float64, a int, sum []float64) float64 {
	l := o.layout
	from, to := l.row(a)
	if l.ptr == nil {
		copy(grad[from:to], sum)
	} else {
		for i, y := range l.seen[from:to] {
			grad[from+i] = sum[y]
		}
	}
	if z == nil {
		return 0
	}
	sq, share := 0.0, 1.0
	if o.share != nil {
		share = o.share[a]
	}
	g := grad[from:to]
	if o.scale == nil || from == to {
		l2 := o.l2 * share
		for j, v := range z[from:to] {
			g[j] += l2 * v
			sq += v * v
		}
		return share * sq
	}
	scale := o.scale[from]
	l2 := o.l2 * share * scale
	for j, v := range z[from:to] {
		g[j] = scale * (g[j] + l2*v)
		sq += v * v
	}
	return share * scale * scale * sq
}

// ngrams stores the gradient of the label n-grams, without l2.
func (o *objective) ngrams(grad []float64) {
	l := o.layout
	label := grad[l.at1:l.at2]
	clear(label)
	for k := range o.lanes {
		for y := range label {
			label[y] += o.lanes[k].label[y]
		}
	}
	if l.order >= 2 {
		two := grad[l.at2:l.at3]
		o.pairsOf(two, func(lane *laneSums) *pairSums { return &lane.two })
		if o.loss.partial {
			known := make([]float64, len(two))
			o.pairsOf(known, func(lane *laneSums) *pairSums { return &lane.known })
			for i, v := range known {
				two[i] -= v
			}
		}
		if o.weigh == nil { // else sequences subtracted their own
			for i, v := range o.loss.referencePairs {
				two[i] -= v
			}
		}
	}
	if l.order >= 3 {
		three := grad[l.at3:l.atPair]
		clear(three)
		for k := range o.lanes {
			for i, v := range o.lanes[k].three {
				three[i] += v
			}
		}
	}
}

// pairsOf stores the sum over lanes of expected pairs.
func (o *objective) pairsOf(dst []float64, of func(*laneSums) *pairSums) {
	sum := pairSums{scaled: make([]float64, len(of(&o.lanes[0]).scaled))}
	for k := range o.lanes {
		lane := of(&o.lanes[k])
		for i, v := range lane.scaled {
			sum.scaled[i] += v
		}
		if lane.exact != nil {
			if sum.exact == nil {
				sum.exact = make([]float64, len(sum.scaled))
			}
			for i, v := range lane.exact {
				sum.exact[i] += v
			}
		}
	}
	o.workers[0].chain.finish(dst, &sum)
}

// addPairs adds a round's residuals of label pairs to the pair attributes'
// gradient. Each attribute's positions in the round follow those it had before.
func (o *objective) addPairs(grad []float64, from, to int) {
	l := o.layout
	n := l.labels * l.labels
	const share = 256
	o.parallel((l.pair+share-1)/share, func(_ *scorer, job int) error { // cannot fail
		for a := job * share; a < min(l.pair, (job+1)*share); a++ {
			at, end := o.pairNext[a], o.pairByID.ptr[a+1]
			lo, hi := l.pairRow(a)
			g := grad[lo:hi]
			for ; at < end && int(o.pairByID.ids[at]) < to; at++ {
				v := 1.0
				if o.pairByID.values != nil {
					v = o.pairByID.values[at]
				}
				row := o.pairResult[(int(o.pairByID.ids[at])-from)*n:][:n]
				for i, r := range row {
					g[i] += v * r
				}
			}
			o.pairNext[a] = at
		}
		return nil
	})
}

var _ optim.Objective = (*objective)(nil)
