package losses

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/determinize"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotLattice is the reason for refusing a machine as a lattice.
var ErrNotLattice = errors.New("not an acyclic acceptor")

// ErrNotPotential is the reason for rejecting a weight of a lattice. Weights are negated
// potentials, so that +Infinity forbids, and -Infinity and NaN are meaningless.
var ErrNotPotential = errors.New("not a negated potential, a number or Infinity")

// Lattice scores label strings by an acyclic acceptor A whose weights are
// negated potentials: a beam-search lattice, or the order-q model of
// figure 6.2(d). Each path is an event of its own: where A has several paths
// for one string, marginals tell them apart.
type Lattice struct {
	A fst.Expanded[semiring.Log64]

	// V is a direction for WantHVP and WantRiskHVP, in the shape of Arcs: V[q][i] belongs to
	// arc i of state q. nil is none.
	V [][]float64
}

// LatticeResult is a Result for a lattice. Its Marginals, RiskGradient, HVP and RiskHVP have a row
// for each state and a value for each arc, and its strings are label strings.
type LatticeResult struct {
	Result

	// Columns is the number of states of the loss automaton, and States and Arcs
	// the size of its composition with the lattice.
	Columns, States, Arcs int
}

// CheckLattice returns an error that wraps ErrNotLattice or ErrNotPotential, and
// names the state, unless a is an acyclic acceptor whose weights are numbers.
func CheckLattice(a fst.Expanded[semiring.Log64]) error {
	if a == nil {
		return errors.New("losses: lattice: there is no machine: Lattice.A is nil")
	}
	for q := range fst.StateID(a.NumStates()) {
		if w := a.Final(q); !w.Member() {
			return fmt.Errorf("losses: lattice: state %d has final weight %v: %w", q, float64(w),
				ErrNotPotential)
		}
		for i, e := range a.Arcs(q) {
			switch {
			case e.ILabel != e.OLabel:
				return fmt.Errorf("losses: lattice: arc %d of state %d reads %d and writes %d: %w", i, q,
					e.ILabel, e.OLabel, ErrNotLattice)
			case e.ILabel < 0:
				return fmt.Errorf("losses: lattice: arc %d of state %d has the negative label %d: %w", i, q,
					e.ILabel, ErrNotLattice)
			case !e.Weight.Member():
				return fmt.Errorf("losses: lattice: arc %d of state %d has weight %v: %w", i, q,
					float64(e.Weight), ErrNotPotential)
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
	order, cyclic := determinize.TopologicalStates(f)
	if cyclic != fst.NoState {
		return nil, fmt.Errorf("state %d lies on a cycle or behind one: %w", cyclic, ErrNotLattice)
	}
	return order, nil
}

// Eval evaluates the lattice under the loss automaton b, as the thesis' GRAD algorithms do from B
// on. It composes C = A∘B with B's weights turned into exp(γL). Then it computes forward and
// backward distances, and carries arc posteriors back to A. b may be nil when γ = 0 and nothing of
// the loss is wanted.
//
// Cost: the composition, and a constant number of passes over its arcs. All sums are taken in the
// log semiring, so no potential overflows. lim bounds the composition, its bytes with those of b
// and of the sums. Zero Bytes are DefaultBytes, and exceeding a bound on size is a *BudgetError.
func (l *Lattice) Eval(b *Automaton, gamma float64, want Want, lim ops.Limits) (*LatticeResult, error) {
	return l.eval(b, gamma, want, lim, nil)
}

// eval is Eval. head, if not nil, makes the lattice of the first positions, for a band
// to be found by.
func (l *Lattice) eval(b *Automaton, gamma float64, want Want, lim ops.Limits,
	head func(lead int) (*Lattice, error)) (*LatticeResult, error) {
	if err := CheckLattice(l.A); err != nil {
		return nil, err
	}
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return nil, fmt.Errorf("losses: gamma = %v is not a finite number", gamma)
	}
	if b == nil && (gamma != 0 || want&(WantExpected|WantRisk|WantRiskGradient|WantRiskHVP) != 0) {
		return nil, fmt.Errorf("losses: lattice: there is no loss automaton: nil is for gamma = 0, not %v, "+
			"and where neither expected loss nor risk is wanted", gamma)
	}
	c, err := l.product(b, lim)
	if err != nil {
		return nil, l.advise(err, b, lim, head)
	}
	res := &LatticeResult{States: c.f.NumStates(), Arcs: c.f.NumArcs()}
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

	ofLoss := functional{
		arc: func(o *origin, i int) float64 { return o.loss(i) },
		end: func(q fst.StateID, o *origin) float64 { _, loss := c.final(q, o); return loss },
	}
	aug, err := c.pass(gamma)
	if err != nil {
		return nil, err
	}
	if err := (&Machine{}).certain(gamma, aug.logZ); err != nil {
		return nil, err
	}
	res.LogZ = aug.logZ
	if want&WantMarginals != 0 {
		res.Marginals = rows()
		c.add(res.Marginals, func(k int) float64 { return aug.post[k] })
	}
	if want&WantExpected != 0 {
		res.Expected = c.expect(aug, ofLoss).total
	}
	ofDirection := functional{
		arc: func(o *origin, i int) float64 { return l.V[o.qa][o.pos(i)] },
		end: func(fst.StateID, *origin) float64 { return 0 },
	}
	if want&(WantHVP|WantRiskHVP) != 0 {
		if err := l.checkDirection(); err != nil {
			return nil, err
		}
	}
	if want&WantHVP != 0 {
		res.HVP = rows()
		c.covariances(res.HVP, aug, c.expect(aug, ofDirection))
	}
	if want&(WantPlain|WantRisk|WantRiskGradient|WantRiskHVP) != 0 {
		plain, err := c.pass(0)
		if err != nil {
			return nil, err
		}
		res.LogZ0 = plain.logZ
		if want&(WantRisk|WantRiskGradient|WantRiskHVP) != 0 {
			e := c.expect(plain, ofLoss)
			res.Risk = e.total
			if want&WantRiskGradient != 0 {
				res.RiskGradient = rows()
				c.covariances(res.RiskGradient, plain, e)
			}
			if want&WantRiskHVP != 0 {
				res.RiskHVP = rows()
				c.cumulants(res.RiskHVP, plain, e, c.expect(plain, ofDirection))
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
	if want&WantError != 0 && b != nil && b.banded != nil {
		if res.LogZError, res.LogZErrorKind, err = l.bandError(b, c, gamma, res.LogZ, lim); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// Sample draws paths from the augmented distribution over the lattice's paths, P ∝ exp(θ + γ L). It
// fills each element of us with the label string of a path, reusing its memory. Label k+1 gives k,
// and ε is left out. b may be nil for the loss 0. One forward and one backward pass, then O(length
// · arcs of a state) a string.
//
// Errors: those of Eval; ErrNoString when no path is allowed.
func (l *Lattice) Sample(b *Automaton, gamma float64, rng *rand.Rand, us [][]int, lim ops.Limits) error {
	if rng == nil {
		return errNoSource
	}
	if err := CheckLattice(l.A); err != nil {
		return err
	}
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return fmt.Errorf("losses: gamma = %v is not a finite number", gamma)
	}
	c, err := l.product(b, lim)
	if err != nil {
		return l.advise(err, b, lim, nil)
	}
	p, err := c.pass(gamma)
	if err != nil {
		return err
	}
	if err := (&Machine{}).certain(gamma, p.logZ); err != nil {
		return err
	}
	return c.draw(p, rng, us)
}

// draw is Sample for the distribution of a pass over c.
func (c *product) draw(p *pass, rng *rand.Rand, us [][]int) error {
	start := c.f.Start()
	if start == fst.NoState || math.IsInf(p.logZ, -1) {
		return ErrNoString
	}
	var weight []float64
	for i := range us {
		u := us[i][:0]
		for q := start; ; {
			arcs := c.f.Arcs(q)
			// Ending comes after the arcs. Posteriors of what leaves q add up to that of q.
			weight = append(append(weight[:0], p.post[c.offset[q]:c.offset[q+1]]...), p.end[q])
			k := sweep.Pick(rng, weight)
			if k == len(arcs) {
				break
			}
			if a := arcs[k].ILabel; a != fst.Epsilon {
				u = append(u, int(a)-1)
			}
			q = arcs[k].NextState
		}
		us[i] = u
	}
	return nil
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
		return fmt.Errorf("losses: lattice: the direction has %d rows for %d states", len(l.V),
			l.A.NumStates())
	}
	for q, row := range l.V {
		if n := len(l.A.Arcs(fst.StateID(q))); len(row) != n {
			return fmt.Errorf("losses: lattice: the direction has %d values for the %d arcs of state %d",
				len(row), n, q)
		}
		for i, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("losses: lattice: the direction of arc %d of state %d is %v", i, q, x)
			}
		}
	}
	return nil
}

// product is C = A∘B in topological order of its states. For each arc it keeps one weight and where
// it came from. One composition thus serves every γ, and holds 40 bytes an arc.
type product struct {
	a      fst.Expanded[semiring.Log64]
	b      fst.Expanded[semiring.Log64] // nil for the loss 0
	f      *fst.Vector[semiring.Log64]  // C; its weights are those of the last pass
	trace  *ops.Trace                   // nil when C is A
	order  []fst.StateID
	offset []int // arcs of C's state q: [offset[q], offset[q+1])
}

// origin is where a state of C, and its arcs, came from.
type origin struct {
	qa, qb     fst.StateID
	arcsA      []fst.Arc[semiring.Log64]
	arcsB      []fst.Arc[semiring.Log64]
	posA, posB []int32
}

func (c *product) origin(q fst.StateID) (o origin) {
	if c.trace == nil {
		return origin{qa: q, arcsA: c.a.Arcs(q)}
	}
	o.qa, o.qb = c.trace.States(q)
	o.posA, o.posB = c.trace.Arcs(q)
	o.arcsA, o.arcsB = c.a.Arcs(o.qa), c.b.Arcs(o.qb)
	return o
}

// pos is the position in A of the state's arc i.
func (o *origin) pos(i int) int {
	if o.posA == nil {
		return i
	}
	return int(o.posA[i])
}

func (o *origin) score(i int) float64 { return -float64(o.arcsA[o.pos(i)].Weight) }

func (o *origin) loss(i int) float64 {
	if o.posB == nil || o.posB[i] < 0 { // A moved alone, by ε
		return 0
	}
	return float64(o.arcsB[o.posB[i]].Weight)
}

// final returns θ and loss of ending at a state of C; θ is -Inf where it is not
// final.
func (c *product) final(q fst.StateID, o *origin) (score, loss float64) {
	score = -float64(c.a.Final(o.qa))
	if c.b != nil {
		if loss = float64(c.b.Final(o.qb)); math.IsInf(loss, 1) {
			return math.Inf(-1), 0
		}
	}
	return score, loss
}

// advise names the band with which the automaton and its composition with the lattice would fit. It
// applies where err is that they do not and b is of an edit loss.
func (l *Lattice) advise(err error, b *Automaton, lim ops.Limits,
	head func(lead int) (*Lattice, error)) error {
	if b == nil {
		return err
	}
	return b.from.advise(err, func(a *Automaton, lead int, share float64) error {
		of := l
		if lead >= 0 {
			if head == nil {
				return ErrBudget // the shape of l is unknown
			}
			var err error
			if of, err = head(lead); err != nil {
				return err
			}
		}
		part := newStages(lim).Limits
		part.Bytes = max(1, int64(float64(part.Bytes)/share))
		if part.States > 0 {
			part.States = max(1, int(float64(part.States)/share))
		}
		if part.Arcs > 0 {
			part.Arcs = max(1, int64(float64(part.Arcs)/share))
		}
		_, err := of.product(a, part)
		return err
	})
}

// perState and perArc are what trace, posteriors and means take beside the composition.
const perState, perArc = 16 + 12*8, 8 + 4*8

func (l *Lattice) product(b *Automaton, lim ops.Limits) (*product, error) {
	c := &product{a: l.A}
	s := newStages(lim)
	s.advice = adviceLattice
	if b == nil {
		if err := s.room(stageSums, l.A.NumStates(), machineBytes(l.A)); err != nil {
			return nil, err
		}
		c.f = ops.MapInto(l.A, func(w semiring.Log64) semiring.Log64 { return w })
	} else {
		hold(s, b.L)
		c.b, c.trace = b.L, &ops.Trace{}
		// What matters is the structure; pass sets the weights.
		var err error
		if c.f, err = ops.Compose(fst.Fst[semiring.Log64](l.A), fst.Fst[semiring.Log64](b.L),
			&ops.ComposeOptions{Limits: s.left(), Trace: c.trace}); err != nil {
			return nil, s.fail(stageProduct, err)
		}
	}
	hold(s, c.f)
	if err := s.room(stageSums, c.f.NumStates(),
		perState*int64(c.f.NumStates())+perArc*int64(c.f.NumArcs())); err != nil {
		return nil, err
	}
	var err error
	if c.order, err = topologicalOrder[semiring.Log64](c.f); err != nil {
		return nil, err
	}
	n := c.f.NumStates()
	c.offset = make([]int, n+1)
	for q := range fst.StateID(n) {
		c.offset[q+1] = c.offset[q] + len(c.f.Arcs(q))
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
	n := c.f.NumStates()
	for q := range fst.StateID(n) {
		o := c.origin(q)
		arcs := c.f.MutableArcs(q)
		for i := range arcs {
			arcs[i].Weight = semiring.Log64(-augmented(o.score(i), gamma, o.loss(i)))
		}
		if fst.IsFinal(c.f, q) {
			score, loss := c.final(q, &o)
			c.f.SetFinal(q, semiring.Log64(-augmented(score, gamma, loss)))
		}
	}
	c.f.SetProperties(0, fst.Weighted|fst.Unweighted|fst.WeightedCycles|fst.UnweightedCycles)
	p := &pass{logZ: math.Inf(-1)}
	if n == 0 {
		return p, nil
	}
	post, end, logZ, err := ops.ExpectedCounts[semiring.Log64](c.f, nil)
	if errors.Is(err, ops.ErrNotMember) {
		return nil, outOfRange(gamma)
	}
	if errors.Is(err, ops.ErrNoPath) {
		p.post, p.end, p.at = make([]float64, c.offset[n]), make([]float64, n), make([]float64, n)
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.logZ, p.post, p.end, p.at = logZ, post, end, make([]float64, n)
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
func (c *product) add(rows [][]float64, value func(k int) float64) {
	for q := range fst.StateID(c.f.NumStates()) {
		o := c.origin(q)
		row := rows[o.qa]
		for k := c.offset[q]; k < c.offset[q+1]; k++ {
			row[o.pos(k-c.offset[q])] += value(k)
		}
	}
}

// functional is additive over paths: a value of each arc and of each end.
type functional struct {
	arc func(o *origin, i int) float64
	end func(q fst.StateID, o *origin) float64
}

// expectation is the mean of a functional over paths: in all, before a state
// given that the path passes it, and after.
type expectation struct {
	functional
	total         float64
	before, after []float64
}

// expect computes the mean of x over paths. Means are conditional, hence of the
// size of x whatever the probabilities are.
func (c *product) expect(p *pass, x functional) *expectation {
	n := c.f.NumStates()
	e := &expectation{functional: x, before: make([]float64, n), after: make([]float64, n)}
	for _, q := range c.order {
		if p.at[q] == 0 {
			continue
		}
		o := c.origin(q)
		for i, a := range c.f.Arcs(q) {
			if post := p.post[c.offset[q]+i]; post > 0 {
				e.before[a.NextState] += post / p.at[a.NextState] * (e.before[q] + x.arc(&o, i))
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		q := c.order[i]
		if p.at[q] == 0 {
			continue
		}
		o := c.origin(q)
		sum := 0.0
		if p.end[q] > 0 {
			sum = p.end[q] * x.end(q, &o)
		}
		for i, a := range c.f.Arcs(q) {
			if post := p.post[c.offset[q]+i]; post > 0 {
				sum += post * (x.arc(&o, i) + e.after[a.NextState])
			}
		}
		e.after[q] = sum / p.at[q]
	}
	e.total = math.NaN() // no path has a mean
	if s := c.f.Start(); s != fst.NoState && p.at[s] > 0 {
		e.total = e.after[s]
	}
	return e
}

// covariances adds, for each arc of A, the covariance of the functional with
// passing it.
func (c *product) covariances(rows [][]float64, p *pass, e *expectation) {
	for q := range fst.StateID(c.f.NumStates()) {
		o := c.origin(q)
		for i, a := range c.f.Arcs(q) {
			if post := p.post[c.offset[q]+i]; post > 0 {
				rows[o.qa][o.pos(i)] += post * (e.before[q] + e.arc(&o, i) + e.after[a.NextState] - e.total)
			}
		}
	}
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
	top := make([][2]entry, c.f.NumStates())
	for i := len(c.order) - 1; i >= 0; i-- {
		q := c.order[i]
		o := c.origin(q)
		t := &top[q]
		t[0].score, t[1].score = inf, inf
		offer := func(e entry) {
			if e.score > t[0].score {
				t[0], t[1] = e, t[0]
			} else if e.score > t[1].score {
				t[1] = e
			}
		}
		score, loss := c.final(q, &o)
		offer(entry{score: augmented(score, gamma, loss), q: fst.NoState})
		for i, a := range c.f.Arcs(q) {
			w := augmented(o.score(i), gamma, o.loss(i))
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
		if e.label != fst.Epsilon {
			labels = append(labels, int(e.label)-1)
		}
	}
	return top[s][0].score, top[s][1].score, labels
}
