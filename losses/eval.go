package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// Want says what an evaluation is to compute, as a set of bits. LogZ is always
// computed.
type Want uint32

const (
	WantMarginals    Want = 1 << iota // Q under the augmented distribution, shaped as the potentials
	WantExpected                      // E[L] under the augmented distribution
	WantPlain                         // log Z without the loss
	WantRisk                          // E[L] under the plain distribution
	WantRiskGradient                  // its gradient with respect to the potentials
	WantMaxAug                        // the best θ(u) + γ L(u), and its u
	WantViterbi                       // the best θ(u), and its u
	WantHVP                           // Hessian of log Z times Evaluator.Direction
	// for a surrogate loss: how far LogZ is off; tens to hundreds of times the cost of all else,
	// see LogZError
	WantError
	WantRiskHVP // Hessian of the risk times Evaluator.Direction
	// of a Sampler: the gradient of log Z for weights that all positions share
	WantTied
	WantLogZ // of a Sampler: log Z, which an Evaluator computes anyway
)

// Result holds what one evaluation computed. Slices belong to the Result and
// are used again by the next evaluation into it.
//
// Strings that the machine excludes are left out of every sum and maximum, the
// plain ones included.
type Result struct {
	LogZ     float64 // log Σ_u exp(θ(u) + γ L(u)); -Inf when no u is allowed
	Expected float64 // E_aug[L] = d LogZ / dγ; NaN when no u is allowed
	LogZ0    float64 // log Σ_u exp θ(u)
	Risk     float64 // E_0[L]; NaN when no u is allowed

	// Q_t(z) = P_aug(window at t is z) = d LogZ / d θ_t(z); zero when no u is allowed
	Marginals    [][]float64
	RiskGradient [][]float64 // d Risk / d θ_t(z) = Cov_0(L, [window at t is z])
	HVP          [][]float64 // Cov_aug([window at t is z], V)
	// derivative of RiskGradient along V: E_0[(L - E L) (V - E V) ([window at t is z] - Q_t(z))]
	RiskHVP [][]float64

	MaxAug      float64 // max_u θ(u) + γ L(u); -Inf when no u is allowed
	ArgmaxAug   []int   // its u; empty when no u is allowed
	MaxAugGap   float64 // by how much it exceeds the second best u; +Inf without one
	MaxScore    float64 // max_u θ(u)
	Viterbi     []int   // its u
	MaxScoreGap float64 // by how much it exceeds the second best u

	// For a surrogate loss (a band), how far LogZ is above the exact one, and whether that is a
	// certified bound or an estimate. The total variation distance of the marginals is at most 1 -
	// exp(-LogZError). Zero and ErrorExact without a band, zero and ErrorBound for a band that was
	// proven to change no loss. It takes a machine of a wider band, made for the purpose, and up to
	// 1000 strings. They are drawn and scored twice where few of them decide. For 30 to 400 symbols
	// of 10 in bands of 1 and 2 this takes 25 ms to 1.1 s. All other outputs together take 0.2 to
	// 22 ms, marginals 0.03 to 1.8. Request it once for a band, not in each epoch.
	LogZError     float64
	LogZErrorKind ErrorKind

	// LogSpace reports that LogZ and the marginals came from the log-space sweep.
	LogSpace bool
}

// ErrorKind says what Result.LogZError is.
type ErrorKind uint8

const (
	ErrorExact    ErrorKind = iota // there is no error
	ErrorBound                     // a certified bound
	ErrorEstimate                  // an estimate
	ErrorInterval                  // half of a 95 % interval, of a sampled result
)

// String returns "exact", "bound", "estimate" or "interval".
func (k ErrorKind) String() string {
	return [...]string{"exact", "bound", "estimate", "interval"}[min(int(k), 3)]
}

// Evaluator evaluates losses and their derivatives. It holds the workspace: an
// evaluation allocates nothing once one of the same shapes has been done. One
// Evaluator serves one goroutine; machines may be shared. The zero value is
// ready for use.
type Evaluator struct {
	// Direction is V of WantHVP and WantRiskHVP, shaped as the potentials.
	Direction [][]float64

	// Nodes > 0 evaluates n-gram losses with γ = 1, C > 0 and N, q ≤ 2 by quadrature with that many
	// nodes. It applies where only log Z and marginals are wanted. It is exact from half the
	// greatest count on; with fewer, how close it comes depends on how large counts are (see
	// quadrature.go). 0 sums over counts, which is always exact.
	Nodes int

	// Budget bounds an evaluation. Its context is checked between the layers of sweeps, and its
	// Bytes must hold the machine, its graph and the values of a sweep. The zero value is no bound.
	Budget Budget

	logOnly   bool // tests: never the linear sweep
	scaleOnly bool // tests: always the scaled sweep

	white sweep.Whitening
	sweep sweep.Sweeper
	logs  sweep.LogSweeper
	maxes sweep.MaxSweeper
	risk  sweep.RiskSweeper
	ngram ngramSweeper
	band  bandSweeper
	given factored // of SetFactored
	tied  tied     // of EvalTied
	err   error    // of the budget, while a sweep runs

	plain      *Machine // of the loss 0, for strings of plainSizes
	plainSizes []int
}

// Eval computes log Z = log Σ_u exp(θ(u) + γ L(u)) over the strings u of p, with L the loss of m.
// It also computes the related outputs in want. A nil machine stands for the loss 0. γ may be any
// finite number. After an error r is cleared: its numbers are 0 and its slices empty.
//
// Exact up to rounding: each output is within about 1e-13 of its scale. Cost: one forward and one
// backward pass over the graph of the machine and the order of p, which is built at the first call.
// Expected, Risk with its gradient, and HVP cost about two passes more each. Each maximum costs
// one, and RiskHVP about four.
func (e *Evaluator) Eval(m *Machine, p *Potentials, gamma float64, want Want, r *Result) error {
	if r == nil {
		return errors.New("losses: Eval: the result is nil; give a *Result to fill")
	}
	e.given.f = nil
	err := e.eval(m, p, gamma, want, r)
	if err != nil {
		r.reset()
	}
	return err
}

// eval is Eval, which may leave what it has come to in r with an error.
func (e *Evaluator) eval(m *Machine, p *Potentials, gamma float64, want Want, r *Result) error {
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return fmt.Errorf("losses: γ is %v", gamma)
	}
	if err := p.check(&e.white); err != nil {
		return err
	}
	if want&(WantHVP|WantRiskHVP) != 0 {
		if err := checkShapeOf(e.Direction, p); err != nil {
			return err
		}
	}
	r.clear()
	if m == nil {
		m = e.plainMachine(p)
	} else if err := m.matches(p); err != nil {
		return err
	}
	if m.ngram != nil {
		if e.ngram.covers(m.ngram, p, want) && e.ngram.fits(e.Budget, m.ngram, e.Nodes) {
			if e.ngram.eval(e, m, p, gamma, want, r) {
				return m.certain(gamma, r.LogZ)
			}
			if err := e.Budget.stopped(m.ngram.length, 0); err != nil {
				return err
			}
		}
		if err := m.ngram.build(m, e.Budget.Ctx); err != nil {
			return err
		}
	}
	given := m
	m, err := m.suited(gamma)
	if err != nil {
		return err
	}
	if err := e.evalGraph(m.pushed(gamma), p, gamma, want, r); err != nil {
		return err
	}
	// A mean far below the constant that it was subtracted from has lost its
	// last places.
	small := func(x float64) bool { return math.Abs(x) < 1e-5*m.core.Cancels }
	if m == given && m.careful != nil && m.TotalColumns() <= 1<<16 &&
		(want&WantExpected != 0 && small(r.Expected) || want&WantRisk != 0 && small(r.Risk)) {
		if m, err = m.carefully(); err != nil {
			return err
		}
		if err := e.evalGraph(m, p, gamma, want, r); err != nil {
			return err
		}
	}
	if want&WantError != 0 && m.surrogate != nil {
		return e.band.bound(e, m, p, gamma, r)
	}
	return nil
}

// evalGraph evaluates by sweeps over the machine's graph.
func (e *Evaluator) evalGraph(m *Machine, p *Potentials, gamma float64, want Want, r *Result) error {
	g, err := m.graph(p.Order, e.Budget)
	if err != nil {
		return err
	}
	if err := e.begin(m, g, want); err != nil {
		return err
	}
	e.white.Prepare(g, p.rows())
	return e.jobs(m, g, p, gamma, want, r)
}

// begin looks whether the budget has room for an evaluation on a graph.
func (e *Evaluator) begin(m *Machine, g *layered.Graph, want Want) error {
	vectors := int64(2)
	if want&(WantExpected|WantRisk|WantRiskGradient|WantHVP) != 0 {
		vectors += 2
	}
	if want&WantRiskHVP != 0 {
		vectors += 6
	}
	if want&(WantMaxAug|WantViterbi) != 0 {
		vectors++
	}
	if err := e.room(m, g, vectors); err != nil {
		return err
	}
	e.err = nil
	e.sweep.Ctx, e.logs.Ctx, e.maxes.Ctx = e.Budget.Ctx, e.Budget.Ctx, e.Budget.Ctx
	return nil
}

// jobs evaluates by sweeps over a graph, potentials being whitened.
func (e *Evaluator) jobs(m *Machine, g *layered.Graph, p *Potentials, gamma float64, want Want,
	r *Result) error {
	w := &e.white
	if want&WantMarginals != 0 {
		r.Marginals = shapeLike(r.Marginals, p)
	}
	if want&WantRiskGradient != 0 {
		r.RiskGradient = shapeLike(r.RiskGradient, p)
	}
	if want&WantHVP != 0 {
		r.HVP = shapeLike(r.HVP, p)
	}
	if want&WantRiskHVP != 0 {
		r.RiskHVP = shapeLike(r.RiskHVP, p)
	}

	r.LogZ0 = w.LogZ0
	if math.IsInf(w.LogZ0, -1) {
		r.nothing()
		return nil
	}

	// The augmented distribution.
	ask := sweep.Job{Gamma: gamma}
	if want&WantMarginals != 0 {
		ask.Marginals = r.Marginals
	}
	// At γ = 0 the plain distribution is this one.
	plain := gamma == 0 && want&(WantRisk|WantRiskGradient) != 0
	if want&WantExpected != 0 || plain {
		ask.Tangent = sweep.AlongLoss
	}
	if plain && want&WantRiskGradient != 0 {
		ask.Covariance = r.RiskGradient
	}
	e.run(m, g, p, &ask)
	if err := e.failed(m); err != nil {
		return err
	}
	if err := m.certain(gamma, ask.LogZ); err != nil {
		return err
	}
	r.LogZ, r.LogSpace = ask.LogZ, ask.InLogs
	if want&WantExpected != 0 {
		r.Expected = ask.Mean + m.core.Base
	}
	if want&WantHVP != 0 {
		ask := sweep.Job{Gamma: gamma, Tangent: sweep.AlongDirection, Covariance: r.HVP}
		e.run(m, g, p, &ask)
	}

	// The plain one: the same sums at γ = 0.
	if plain {
		r.Risk, r.LogZ0 = ask.Mean+m.core.Base, ask.LogZ
	} else if want&(WantRisk|WantRiskGradient) != 0 {
		ask := sweep.Job{Tangent: sweep.AlongLoss}
		if want&WantRiskGradient != 0 {
			ask.Covariance = r.RiskGradient
		}
		e.run(m, g, p, &ask)
		r.Risk, r.LogZ0 = ask.Mean+m.core.Base, ask.LogZ
	} else if m.core.Partial {
		r.LogZ0 = math.NaN() // what the whitening has counts excluded strings
		if want&WantPlain != 0 {
			ask := sweep.Job{}
			e.run(m, g, p, &ask)
			r.LogZ0 = ask.LogZ
		}
	}

	if want&WantRiskHVP != 0 {
		e.riskHessian(m, g, p, r)
		if err := e.failed(m); err != nil {
			return err
		}
	}
	if want&WantMaxAug != 0 {
		r.MaxAug, r.MaxAugGap, r.ArgmaxAug = e.maxes.Run(&m.core, g, w, gamma, r.ArgmaxAug[:0])
	}
	if want&WantViterbi != 0 {
		if m.core.Partial {
			r.MaxScore, r.MaxScoreGap, r.Viterbi = e.maxes.Run(&m.core, g, w, 0, r.Viterbi[:0])
		} else {
			plain := e.plainMachine(p)
			g, err := plain.graph(p.Order, e.Budget)
			if err != nil {
				return err
			}
			w.Prepare(g, p.rows())
			r.MaxScore, r.MaxScoreGap, r.Viterbi = e.maxes.Run(&plain.core, g, w, 0, r.Viterbi[:0])
		}
	}
	return e.failed(m)
}

// room returns an error when a machine, its graph and the given count of numbers an entry exceed
// the budget.
func (e *Evaluator) room(m *Machine, g *layered.Graph, vectors int64) error {
	if e.Budget.Bytes <= 0 {
		return nil
	}
	if n := m.Bytes() + 8*vectors*int64(g.Total); n > e.Budget.Bytes {
		return &BudgetError{Columns: m.TotalColumns(), Bytes: n, Limit: e.Budget.Bytes,
			Length: len(m.core.Layers), Layer: len(m.core.Layers)}
	}
	return nil
}

// failed returns the error that stopped a sweep.
func (e *Evaluator) failed(m *Machine) error {
	if e.err != nil {
		return e.err
	}
	return e.Budget.stopped(len(m.core.Layers), len(m.core.Layers))
}

// run does a job by the linear sweep when that is certain to be accurate, else
// by the log-space sweep.
func (e *Evaluator) run(m *Machine, g *layered.Graph, p *Potentials, j *sweep.Job) {
	if j.Tangent == sweep.AlongDirection {
		e.white.SetDirection(g, p.rows(), e.Direction)
	}
	if !e.logOnly && e.sweep.Run(&m.core, g, &e.white, j, e.scaleOnly) {
		return
	}
	j.InLogs = true
	if p == &e.given.dense && e.given.ok {
		e.given.fill()
		e.white.Theta = append(e.white.Theta[:0], p.Theta...)
	}
	if e.err == nil {
		e.err = e.room(m, g, 5)
	}
	if e.err != nil {
		j.LogZ = math.NaN()
		return
	}
	e.logs.Run(&m.core, g, &e.white, j)
}

// riskHessian stores the product of the Hessian of the risk and the direction in r.RiskHVP.
func (e *Evaluator) riskHessian(m *Machine, g *layered.Graph, p *Potentials, r *Result) {
	e.white.SetDirection(g, p.rows(), e.Direction)
	e.risk.Ctx, e.logs.Ctx = e.Budget.Ctx, e.Budget.Ctx
	e.err = e.risk.Run(&m.core, g, &e.white, !e.logOnly, &e.logs, func() error { return e.room(m, g, 8) },
		r.RiskHVP)
}

// plainMachine returns the machine of the loss 0 for the label sets of p.
func (e *Evaluator) plainMachine(p *Potentials) *Machine {
	if e.plain != nil && slices.Equal(e.plainSizes, p.Sizes) {
		return e.plain
	}
	var b Builder
	zero := b.Value(0)
	var class []uint32
	for t, n := range p.Sizes {
		if t == 0 || n != p.Sizes[t-1] {
			class = make([]uint32, n)
		}
		s := Layer{Labels: n, Class: class, Classes: min(1, n), Columns: 1}
		if n > 0 {
			s.Next, s.Off = []uint32{0}, []uint32{zero}
		}
		b.Layer(s)
	}
	m, err := b.Finish([]uint32{zero})
	if err != nil {
		panic(err) // the shape above is right by construction
	}
	e.plain, e.plainSizes = m, slices.Clone(p.Sizes)
	return m
}

// matches reports whether strings of p are strings of m.
func (m *Machine) matches(p *Potentials) error {
	if n := m.ngram; n != nil {
		if n.length != len(p.Sizes) {
			return fmt.Errorf("losses: potentials for strings of %d labels, loss machine for %d",
				len(p.Sizes), n.length)
		}
		for t, k := range p.Sizes {
			if k != n.alphabet {
				return fmt.Errorf("losses: position %d: potentials for %d labels, loss machine for %d", t, k,
					n.alphabet)
			}
		}
		return nil
	}
	if err := m.Build(); err != nil {
		return err
	}
	if m.Len() != len(p.Sizes) {
		return fmt.Errorf("losses: potentials for strings of %d labels, loss machine for %d", len(p.Sizes),
			m.Len())
	}
	for t, n := range p.Sizes {
		if m.Labels(t) != n {
			return fmt.Errorf("losses: position %d: potentials for %d labels, loss machine for %d", t, n,
				m.Labels(t))
		}
	}
	return nil
}

func (r *Result) clear() {
	nan := math.NaN()
	r.LogZ, r.Expected, r.LogZ0, r.Risk = nan, nan, nan, nan
	r.MaxAug, r.MaxScore, r.MaxAugGap, r.MaxScoreGap = nan, nan, nan, nan
	r.ArgmaxAug, r.Viterbi = r.ArgmaxAug[:0], r.Viterbi[:0]
	r.LogZError, r.LogZErrorKind, r.LogSpace = 0, ErrorExact, false
}

// reset leaves nothing in r but the memory of its slices.
func (r *Result) reset() {
	*r = Result{Marginals: r.Marginals[:0], RiskGradient: r.RiskGradient[:0], HVP: r.HVP[:0],
		RiskHVP:   r.RiskHVP[:0],
		ArgmaxAug: r.ArgmaxAug[:0], Viterbi: r.Viterbi[:0]}
}

// nothing fills in the answers when no string is allowed.
func (r *Result) nothing() {
	inf := math.Inf(1)
	r.LogZ, r.LogZ0, r.MaxAug, r.MaxScore = -inf, -inf, -inf, -inf
	r.MaxAugGap, r.MaxScoreGap = inf, inf
	for _, rows := range [][][]float64{r.Marginals, r.RiskGradient, r.HVP, r.RiskHVP} {
		for _, row := range rows {
			clear(row)
		}
	}
}

// shapeLike returns rows of the shape of p.Theta, reusing a.
func shapeLike(a [][]float64, p *Potentials) [][]float64 {
	a = slices.Grow(a[:0], len(p.Theta))[:len(p.Theta)]
	for t, row := range p.Theta {
		if cap(a[t]) < len(row) {
			a[t] = make([]float64, len(row))
		}
		a[t] = a[t][:len(row)]
	}
	return a
}

func checkShapeOf(v [][]float64, p *Potentials) error {
	if len(v) != len(p.Theta) {
		return fmt.Errorf("losses: the direction has %d rows, the potentials %d", len(v), len(p.Theta))
	}
	for t := range v {
		if len(v[t]) != len(p.Theta[t]) {
			return fmt.Errorf("losses: row %d of the direction has %d values, the potentials %d", t,
				len(v[t]), len(p.Theta[t]))
		}
		for i, x := range v[t] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("losses: row %d of the direction: value %d is %v", t, i, x)
			}
		}
	}
	return nil
}
