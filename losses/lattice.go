package losses

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotLattice is the reason for refusing a machine as a lattice.
var ErrNotLattice = errors.New("not an acyclic acceptor")

// Lattice scores label strings by an acyclic acceptor A whose weights are
// negated potentials: a beam-search lattice, or the order-q model of
// figure 6.2(d). Each path is an event of its own: where A has several paths
// for one string, marginals tell them apart.
type Lattice struct {
	A fst.Expanded[semiring.Log64]

	// V is a direction for WantHVP, in the shape of Arcs: V[q][i] belongs to
	// arc i of state q. nil is none.
	V [][]float64
}

// LatticeResult is a Result whose Marginals, RiskGradient and HVP have a row a
// state of the lattice and a value an arc, and whose strings are label strings.
type LatticeResult struct {
	Result

	// Columns is the number of states of the loss automaton, and States and Arcs
	// the size of its composition with the lattice.
	Columns, States, Arcs int
}

// CheckLattice returns an error that wraps ErrNotLattice, and names the state,
// unless a is an acyclic acceptor without ε whose weights are numbers.
func CheckLattice(a fst.Expanded[semiring.Log64]) error {
	for q := range fst.StateID(a.NumStates()) {
		if w := a.Final(q); !w.Member() {
			return fmt.Errorf("losses: lattice: state %d has final weight %v: %w", q, float64(w), ErrNotLattice)
		}
		for i, e := range a.Arcs(q) {
			switch {
			case e.ILabel != e.OLabel:
				return fmt.Errorf("losses: lattice: arc %d of state %d reads %d and writes %d: %w", i, q, e.ILabel, e.OLabel, ErrNotLattice)
			case e.ILabel <= 0:
				return fmt.Errorf("losses: lattice: arc %d of state %d has label %d; labels must be positive (ε can be removed by fst rmepsilon): %w", i, q, e.ILabel, ErrNotLattice)
			case !e.Weight.Member():
				return fmt.Errorf("losses: lattice: arc %d of state %d has weight %v: %w", i, q, float64(e.Weight), ErrNotLattice)
			}
		}
	}
	if _, err := topologicalOrder(a); err != nil {
		return fmt.Errorf("losses: lattice: %w", err)
	}
	return nil
}

// topologicalOrder returns the states of f so that every arc goes forward.
func topologicalOrder[W semiring.Weight[W]](f fst.Expanded[W]) ([]fst.StateID, error) {
	n := f.NumStates()
	in := make([]int32, n)
	for q := range fst.StateID(n) {
		for _, e := range f.Arcs(q) {
			in[e.NextState]++
		}
	}
	order := make([]fst.StateID, 0, n)
	for q := range fst.StateID(n) {
		if in[q] == 0 {
			order = append(order, q)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, e := range f.Arcs(order[i]) {
			if in[e.NextState]--; in[e.NextState] == 0 {
				order = append(order, e.NextState)
			}
		}
	}
	if len(order) < n {
		for q := range in {
			if in[q] > 0 {
				return nil, fmt.Errorf("state %d lies on a cycle or behind one: %w", q, ErrNotLattice)
			}
		}
	}
	return order, nil
}

// Eval evaluates the lattice under the loss automaton b, as the thesis' GRAD
// algorithms do from B on: C = A∘B with B's weights exponentiated (or, for a
// rational loss, inverted: both are exp(γL)), forward and backward distances,
// and arc posteriors carried back to A. b may be nil when γ = 0 and nothing of
// the loss is wanted.
//
// Cost: the composition, and a constant number of passes over its arcs. All
// sums are taken in the log semiring, so no potential overflows.
func (l *Lattice) Eval(b *Automaton, gamma float64, want Want, lim ops.Limits) (*LatticeResult, error) {
	if err := CheckLattice(l.A); err != nil {
		return nil, err
	}
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return nil, fmt.Errorf("losses: gamma = %v is not a finite number", gamma)
	}
	c, err := l.product(b, lim)
	if err != nil {
		return nil, err
	}
	res := &LatticeResult{States: len(c.final), Arcs: len(c.arcs)}
	if b != nil {
		res.Columns = b.States()
	}
	rows := func() [][]float64 {
		out := make([][]float64, l.A.NumStates())
		for q := range out {
			out[q] = make([]float64, len(l.A.Arcs(fst.StateID(q))))
		}
		return out
	}

	aug, err := c.pass(gamma)
	if err != nil {
		return nil, err
	}
	res.LogZ = aug.logZ
	if want&WantMarginals != 0 {
		res.Marginals = rows()
		c.add(res.Marginals, func(i int) float64 { return aug.post[i] })
	}
	if want&WantExpected != 0 {
		res.Expected = c.expect(aug, c.loss, c.lossFinal).total
	}
	if want&WantHVP != 0 {
		if err := l.checkDirection(); err != nil {
			return nil, err
		}
		v := make([]float64, len(c.arcs))
		for i, e := range c.arcs {
			v[i] = l.V[e.q][e.pos]
		}
		ex := c.expect(aug, v, nil)
		res.HVP = rows()
		c.add(res.HVP, func(i int) float64 { return ex.covariance(c, aug, v, i) })
	}
	if want&(WantPlain|WantRisk|WantRiskGradient) != 0 {
		plain, err := c.pass(0)
		if err != nil {
			return nil, err
		}
		res.LogZ0 = plain.logZ
		if want&(WantRisk|WantRiskGradient) != 0 {
			ex := c.expect(plain, c.loss, c.lossFinal)
			res.Risk = ex.total
			if want&WantRiskGradient != 0 {
				res.RiskGradient = rows()
				c.add(res.RiskGradient, func(i int) float64 { return ex.covariance(c, plain, c.loss, i) })
			}
		}
	}
	if want&WantMaxAug != 0 {
		var second float64
		res.MaxAug, second, res.ArgmaxAug = c.best(gamma)
		res.MaxAugGap = gap(res.MaxAug, second)
	}
	if want&WantViterbi != 0 {
		var second float64
		res.MaxScore, second, res.Viterbi = c.best(0)
		res.MaxScoreGap = gap(res.MaxScore, second)
	}
	return res, nil
}

// gap is by how much the best exceeds the second best, which may not exist.
func gap(best, second float64) float64 {
	if math.IsInf(second, -1) {
		return math.Inf(1)
	}
	return best - second
}

func (l *Lattice) checkDirection() error {
	if len(l.V) != l.A.NumStates() {
		return fmt.Errorf("losses: lattice: the direction has %d rows for %d states", len(l.V), l.A.NumStates())
	}
	for q, row := range l.V {
		if n := len(l.A.Arcs(fst.StateID(q))); len(row) != n {
			return fmt.Errorf("losses: lattice: the direction has %d values for the %d arcs of state %d", len(row), n, q)
		}
	}
	return nil
}

// product is C = A∘B with scores and losses apart, in topological order of its
// states, so that one composition serves every γ.
type product struct {
	f      *fst.Vector[semiring.Log64] // C; its weights are those of the last pass
	order  []fst.StateID
	offset []int        // arcs of C's state q: [offset[q], offset[q+1])
	arcs   []productArc // where each arc came from

	score, loss []float64 // θ and loss of each arc of C
	final       []float64 // θ of C's final states, -Inf elsewhere
	lossFinal   []float64
}

type productArc struct {
	q   fst.StateID // of A
	pos int32       // among A's arcs of q
}

func (l *Lattice) product(b *Automaton, lim ops.Limits) (*product, error) {
	// C's weights are set by pass; what is composed is the structure.
	a := support[semiring.Log64](l.A)
	right := a
	if b != nil {
		right = support[semiring.Log64](fst.Expanded[semiring.Tropical64](b.L))
	}
	var trace *ops.Trace
	c := &product{f: a}
	if b != nil {
		trace = &ops.Trace{}
		var err error
		if c.f, err = ops.Compose(a, right, &ops.ComposeOptions{Limits: lim, Trace: trace}); err != nil {
			return nil, err
		}
	}
	var err error
	if c.order, err = topologicalOrder(c.f); err != nil {
		return nil, err
	}
	n := c.f.NumStates()
	c.offset = make([]int, n+1)
	c.final, c.lossFinal = make([]float64, n), make([]float64, n)
	for q := range fst.StateID(n) {
		qa := q
		var qb fst.StateID
		var posA, posB []int32
		if trace != nil {
			qa, qb = trace.States(q)
			posA, posB = trace.Arcs(q)
		}
		c.final[q] = math.Inf(-1)
		if fst.IsFinal(c.f, q) {
			c.final[q] = -float64(l.A.Final(qa))
			if b != nil {
				c.lossFinal[q] = float64(b.L.Final(qb))
			}
		}
		arcs := l.A.Arcs(qa)
		for i := range c.f.Arcs(q) {
			pos, loss := int32(i), 0.0
			if trace != nil {
				pos = posA[i]
				loss = float64(b.L.Arcs(qb)[posB[i]].Weight)
			}
			c.arcs = append(c.arcs, productArc{qa, pos})
			c.score = append(c.score, -float64(arcs[pos].Weight))
			c.loss = append(c.loss, loss)
		}
		c.offset[q+1] = len(c.arcs)
	}
	return c, nil
}

// pass is what one forward-backward over C gives.
type pass struct {
	logZ float64
	post []float64 // by arc of C
	end  []float64 // by state of C: the probability to end there
	at   []float64 // by state of C: the probability to pass or end there
}

func (c *product) pass(gamma float64) (*pass, error) {
	for q := range fst.StateID(c.f.NumStates()) {
		arcs := c.f.MutableArcs(q)
		for i := range arcs {
			k := c.offset[q] + i
			arcs[i].Weight = semiring.Log64(-augmented(c.score[k], gamma, c.loss[k]))
		}
		if fst.IsFinal(c.f, q) {
			c.f.SetFinal(q, semiring.Log64(-augmented(c.final[q], gamma, c.lossFinal[q])))
		}
	}
	c.f.SetProperties(0, fst.Weighted|fst.Unweighted|fst.WeightedCycles|fst.UnweightedCycles)
	p := &pass{logZ: math.Inf(-1), post: make([]float64, len(c.arcs)), end: make([]float64, len(c.final)), at: make([]float64, len(c.final))}
	if len(c.final) == 0 {
		return p, nil
	}
	post, end, logZ, err := ops.ExpectedCounts[semiring.Log64](c.f, nil)
	if errors.Is(err, ops.ErrNoPath) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.logZ, p.post, p.end = logZ, post, end
	for q := range p.at {
		p.at[q] = p.end[q]
		for _, x := range p.post[c.offset[q]:c.offset[q+1]] {
			p.at[q] += x
		}
	}
	return p, nil
}

// augmented is θ + γL, with forbidden scores staying forbidden.
func augmented(score, gamma, loss float64) float64 {
	if gamma == 0 || math.IsInf(score, -1) {
		return score
	}
	return score + gamma*loss
}

// add sums a value of C's arcs over the arcs of A that they came from.
func (c *product) add(rows [][]float64, value func(i int) float64) {
	for i, e := range c.arcs {
		rows[e.q][e.pos] += value(i)
	}
}

// expectation is the mean of an additive function over paths: in all, before a
// state given that the path passes it, and after.
type expectation struct {
	total         float64
	before, after []float64
}

// expect computes the mean of Σ x over the arcs of a path (and xFinal at its
// end; nil is none). Means are conditional, hence of the size of x whatever the
// probabilities are.
func (c *product) expect(p *pass, x, xFinal []float64) *expectation {
	n := len(c.final)
	e := &expectation{before: make([]float64, n), after: make([]float64, n)}
	for _, q := range c.order {
		if p.at[q] == 0 {
			continue
		}
		for i, a := range c.f.Arcs(q) {
			k := c.offset[q] + i
			if p.post[k] > 0 {
				e.before[a.NextState] += p.post[k] / p.at[a.NextState] * (e.before[q] + x[k])
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		q := c.order[i]
		if p.at[q] == 0 {
			continue
		}
		sum := 0.0
		if xFinal != nil {
			sum = p.end[q] * xFinal[q]
		}
		for i, a := range c.f.Arcs(q) {
			k := c.offset[q] + i
			sum += p.post[k] * (x[k] + e.after[a.NextState])
		}
		e.after[q] = sum / p.at[q]
	}
	e.total = math.NaN() // no path has a mean
	if s := c.f.Start(); s != fst.NoState && p.at[s] > 0 {
		e.total = e.after[s]
	}
	return e
}

// covariance returns Cov(Σx, [the path takes arc k]).
func (e *expectation) covariance(c *product, p *pass, x []float64, k int) float64 {
	if p.post[k] == 0 {
		return 0
	}
	q, i := c.source(k)
	next := c.f.Arcs(q)[i].NextState
	return p.post[k] * (e.before[q] + x[k] + e.after[next] - e.total)
}

// source returns the state of C whose i-th arc is arc k.
func (c *product) source(k int) (q fst.StateID, i int) {
	lo, hi := 0, len(c.offset)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; c.offset[mid] <= k {
			lo = mid
		} else {
			hi = mid
		}
	}
	return fst.StateID(lo), k - c.offset[lo]
}

// best returns the greatest θ + γL of a path, the greatest of the others, and
// the labels of the first as symbols. Both are -Inf where there is no such path.
func (c *product) best(gamma float64) (first, second float64, labels []int) {
	type entry struct {
		score float64
		q     fst.StateID // where the path went on to, NoState at its end
		label fst.Label
		rank  int8 // which of q's two best
	}
	inf := math.Inf(-1)
	top := make([][2]entry, len(c.final))
	for i := len(c.order) - 1; i >= 0; i-- {
		q := c.order[i]
		t := &top[q]
		t[0].score, t[1].score = inf, inf
		offer := func(e entry) {
			if e.score > t[0].score {
				t[0], t[1] = e, t[0]
			} else if e.score > t[1].score {
				t[1] = e
			}
		}
		offer(entry{score: augmented(c.final[q], gamma, c.lossFinal[q]), q: fst.NoState})
		for i, a := range c.f.Arcs(q) {
			k := c.offset[q] + i
			w := augmented(c.score[k], gamma, c.loss[k])
			for rank, e := range top[a.NextState] {
				if e.score > inf {
					offer(entry{w + e.score, a.NextState, a.ILabel, int8(rank)})
				}
			}
		}
	}
	s := c.f.Start()
	if s == fst.NoState || top[s][0].score == inf {
		return inf, inf, nil
	}
	labels = []int{}
	for e := top[s][0]; e.q != fst.NoState; e = top[e.q][e.rank] {
		labels = append(labels, int(e.label)-1)
	}
	return top[s][0].score, top[s][1].score, labels
}
