package resilient

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Program is a learning problem with constraints, by examples:
//
//	min over x of  mean_n l_0n(x) + penalty   with  l_jn(x) ≤ 0  for every n,  mean_n l_i(x) ≤ 0.
type Program interface {
	Dim() int
	Len() int // examples; a deterministic problem has one
	// Constraints returns how many constraints every example has (j), and how many hold for the
	// mean (i).
	Constraints() (pointwise, mean int)
	// Weights are those of the examples in means, of mean 1; nil is all 1.
	Weights() []float64
	// Eval evaluates some examples. It fills v and, unless grad is nil, stores there the gradient
	// of
	//
	//	mean over rows of ( l_0n + Σ_j lambda_jn l_jn ) + Σ_i mu_i mean over rows of l_in + penalty,
	//
	// lambda having the multipliers of the rows in their order. Means are Σ w / number of rows;
	// v.Point is without weights.
	Eval(x []float64, rows []int, lambda, mu []float64, v *Values, grad []float64) error
}

// Values is the result of Program.Eval for some examples.
type Values struct {
	Objective float64   // mean l_0 plus the penalty
	Point     []float64 // l_jn, a row of them for each example
	Mean      []float64 // the means l_i
}

// Method says what examples count by.
type Method string

// The methods of Descent. All but Resilient are there to compare with.
const (
	Resilient Method = "resilient" // by multipliers
	Plain     Method = "plain"     // one each: ordinary training
	ITLM      Method = "itlm"      // one or nothing: every so many passes those of least loss are chosen anew
	Trim      Method = "trim"      // the same, chosen once
)

// Descent is the primal-dual algorithm of resilient learning (algorithm 5 of the source,
// corrected). On every minibatch it takes a step of x down the Lagrangian, of the relaxations u
// down, and of the multipliers up,
//
//	x ← x - Rate·∇,  u ← argmin h(u) - λu,  λ ← [λ + RateMultiplier·(l(x) - u)] onto [0, MaxLambda].
//
// Losses come from the evaluation that gave the gradient, at the x before the step. Multipliers of
// examples outside of the minibatch stay as they are. They begin at 1, or at the cap of h where
// that is lower, and u at [l]_+ of the first x. With the other Methods the first pointwise
// constraint of a Program is the loss, and weights are 1 or 0.
//
// A pass is one step of run.Loop. Runs are determined by Seed, for any number of workers, and a
// resumed run gives the bits of the unbroken one. With one minibatch of all examples a run ends
// when residuals and gradient are at most Tolerance. Otherwise noise remains, and it ends at its
// limit of passes.
type Descent struct {
	Method Method  // "" is Resilient
	Rate   float64 // of x; 0 is 0.01
	// RateMultiplier is the rate of the multipliers, times the curvature of h. With the exact step
	// of u it is the fraction by which λ moves towards h'(l). 0 is 0.01.
	RateMultiplier float64
	// RateSlack is the rate of gradient steps of u. 0 takes the exact step. A rate above the
	// inverse of h's curvature is refused: it oscillates, as 1 does with |u|².
	RateSlack float64
	Batch     int          // examples of a minibatch; 0 is 64, negative is all
	Step      optim.Method // of x: SGD, AdaGrad or Adam
	Momentum  float64      // of SGD
	Seed      uint64       // of the order of examples
	Tolerance float64      // 0 is 1e-9

	Drop  float64 // ITLM and Trim: share of the examples left out
	Every int     // ITLM and Trim: passes between choices; 0 is 10

	// Valid, if not nil, is the loss on held-out examples. The result is then the x of least
	// loss, and Stop.Patience counts passes.
	Valid func(x []float64) (float64, error)
}

// Outcome is what Descent found beside x.
type Outcome struct {
	Losses    []float64 // l_jn at X, as Values.Point has them
	Lambda, U []float64 // multipliers and relaxations of pointwise constraints; of ITLM and Trim the weights
	Mu, V     []float64 // those of mean constraints
	Residuals Residuals // at X
}

// Residuals say how far a point is from the saddle.
type Residuals struct {
	Violation float64 // largest l - u
	Slackness float64 // largest |λ(l - u)|
	Slope     float64 // largest |λ - h'(u)|
}

// Fields implements run.Detail.
func (r Residuals) Fields() []run.Field {
	return []run.Field{{Name: "violation", Value: r.Violation}, {Name: "slackness", Value: r.Slackness},
		{Name: "slope", Value: r.Slope}}
}

func (r Residuals) String() string { return fmt.Sprintf("violation %.2g", r.Violation) }

func (r Residuals) most() float64 { return max(r.Violation, r.Slackness, r.Slope) }

// descending is a run of Descent.
type descending struct {
	Descent
	p     Program
	h     Relaxation
	curve Curve
	run   *run.Run
	step  *nn.Optimizer[float64]

	n, q, m       int
	w             []float64 // of the examples
	x, grad, best []float64
	lambda, u     []float64
	mu, v         []float64
	losses        []float64 // as last seen
	at            Values
	rowLambda     []float64
	position      int
	pass          float64 // objective of the pass so far, times examples
	residuals     Residuals
	norm          float64
}

// Minimize runs from x0, which it keeps intact, with the relaxation h for every constraint. By
// default it makes 100 passes. O(passes · cost of the examples); 3 numbers a constraint of an
// example beside Program's own.
func (d Descent) Minimize(p Program, h Relaxation, x0 []float64, c *run.Control,
) (*optim.Result, *Outcome, error) {
	s := &descending{Descent: d, p: p, h: h, n: p.Len(), w: p.Weights()}
	s.q, s.m = p.Constraints()
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	if err := optim.CheckStart("Descent", p.Dim(), x0); err != nil {
		return nil, nil, err
	}
	s.run = run.Begin("Descent", c, 100)
	if s.run.Examples == 0 {
		s.run.Examples = s.n
	}
	if err := s.start(x0); err != nil {
		return nil, nil, err
	}
	reason, err := s.run.Loop(s.onePass, func() (*run.Checkpoint, error) { return s.checkpoint(), nil })
	x := s.x
	if s.best != nil {
		x = s.best
	}
	r := &optim.Result{X: x, Iterations: s.run.Steps(), Evaluations: s.run.Evaluations, Reason: reason,
		GradNorm: s.norm}
	if err != nil {
		return r, nil, err
	}
	out, err := s.outcome(x)
	if err != nil {
		return r, nil, err
	}
	r.F = s.total(out.Losses)
	return r, out, nil
}

func (s *descending) check() error {
	if s.Method == "" {
		s.Method = Resilient
	}
	trims := s.Method == ITLM || s.Method == Trim
	switch {
	case s.n < 1:
		return errors.New("resilient: no examples")
	case !slices.Contains([]Method{Resilient, Plain, ITLM, Trim}, s.Method):
		return fmt.Errorf("resilient: method: %q is none of %s, %s, %s, %s", s.Method, Resilient, Plain,
			ITLM, Trim)
	case s.Method != Resilient && (s.q != 1 || s.m != 0):
		return fmt.Errorf("resilient: method %s: it has one loss an example, the problem %d, and %d of means",
			s.Method, s.q, s.m)
	case trims && !(s.Drop >= 0 && s.Drop < 1):
		return fmt.Errorf("resilient: drop: %v is no share from 0 on and below 1", s.Drop)
	case s.Every < 0:
		return fmt.Errorf("resilient: every: %d must not be negative", s.Every)
	}
	if s.Rate == 0 {
		s.Rate = 0.01
	}
	if s.RateMultiplier == 0 {
		s.RateMultiplier = 0.01
	}
	if s.Tolerance == 0 {
		s.Tolerance = 1e-9
	}
	if s.Every == 0 {
		s.Every = 10
	}
	switch {
	case s.Batch == 0:
		s.Batch = min(64, s.n)
	case s.Batch < 0 || s.Batch > s.n:
		s.Batch = s.n
	}
	for _, v := range []float64{s.Rate, s.RateMultiplier, s.RateSlack, s.Tolerance} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("resilient: rates %v, %v, %v and tolerance %v must be finite and not negative",
				s.Rate, s.RateMultiplier, s.RateSlack, s.Tolerance)
		}
	}
	if s.Method != Resilient {
		s.h = Linear{}
	}
	if err := Usable(s.h); err != nil {
		return err
	}
	if c := s.h.At(nil, nil).Curvature(); s.RateSlack > 0 && s.RateSlack*c > 1 {
		return fmt.Errorf("resilient: rate of u: %v is above %v, the inverse curvature of the relaxation %s, "+
			"and u would oscillate; give at most that, or 0 for the exact step",
			s.RateSlack, 1/c, s.h.Name())
	}
	return nil
}

// start sets the first point up, or that of the checkpoint.
func (s *descending) start(x0 []float64) error {
	dim := s.p.Dim()
	var err error
	steps := &nn.OptimizerOptions{Method: s.Step, Rate: s.Rate, Momentum: s.Momentum, Workers: s.run.Workers}
	if s.step, err = nn.NewOptimizer[float64](dim, steps); err != nil {
		return fmt.Errorf("resilient: %w", err)
	}
	s.x, s.grad = slices.Clone(x0), make([]float64, dim)
	s.lambda, s.u, s.losses = make([]float64, s.n*s.q), make([]float64, s.n*s.q), make([]float64, s.n*s.q)
	s.mu, s.v = make([]float64, s.m), make([]float64, s.m)
	k, err := s.run.Point(dim)
	if err != nil {
		return fmt.Errorf("resilient: %w", err)
	}
	if k != nil {
		return s.restore(k)
	}
	// Losses at the first point: u begins there, and so does the curve of CVaR.
	rows := make([]int, 0, s.Batch)
	mean := make([]float64, s.m)
	for from := 0; from < s.n; from += s.Batch {
		rows = rows[:0]
		for i := from; i < min(s.n, from+s.Batch); i++ {
			rows = append(rows, i)
		}
		if err := s.look(rows); err != nil {
			return err
		}
		copy(s.losses[from*s.q:], s.at.Point)
		for i, v := range s.at.Mean {
			mean[i] += v * float64(len(rows)) / float64(s.n)
		}
	}
	s.turn()
	begin := min(1, s.curve.MaxLambda())
	for i, l := range s.losses {
		s.lambda[i], s.u[i] = begin, max(l, 0)
	}
	for i, l := range mean {
		s.mu[i], s.v[i] = begin, max(l, 0)
	}
	if s.Method != Resilient {
		clear(s.u)
	}
	if s.Valid != nil {
		return s.judge()
	}
	return nil
}

// turn takes the curve at the losses as they were last seen.
func (s *descending) turn() {
	if s.curve != nil && !s.h.Shared() {
		return
	}
	seen := make([]float64, len(s.losses))
	for i, l := range s.losses {
		seen[i] = max(l, 0)
	}
	w := s.w
	if w != nil && s.q > 1 {
		w = make([]float64, len(seen))
		for i := range w {
			w[i] = s.w[i/s.q]
		}
	}
	s.curve = s.h.At(seen, w)
}

// look is eval without a gradient, unless the run was interrupted.
func (s *descending) look(rows []int) error {
	if err := s.run.Cancelled(); err != nil {
		return err
	}
	return s.eval(rows, nil)
}

// eval evaluates rows at x with their multipliers.
func (s *descending) eval(rows []int, grad []float64) error {
	s.rowLambda = s.rowLambda[:0]
	for _, i := range rows {
		s.rowLambda = append(s.rowLambda, s.lambda[i*s.q:(i+1)*s.q]...)
	}
	n := len(rows) * s.q
	s.at.Point, s.at.Mean = slices.Grow(s.at.Point[:0], n)[:n], slices.Grow(s.at.Mean[:0], s.m)[:s.m]
	s.run.Evaluations++
	if err := s.p.Eval(s.x, rows, s.rowLambda, s.mu, &s.at, grad); err != nil {
		return fmt.Errorf("resilient: %w", err)
	}
	for k, l := range s.at.Point {
		if l-l != 0 {
			return fmt.Errorf("resilient: pass %d: the loss of example %d is %v: %w; a smaller rate may help",
				s.run.Steps()+1, rows[k/s.q]+1, l, optim.ErrNotFinite)
		}
	}
	if v := s.at.Objective; v-v != 0 {
		return fmt.Errorf("resilient: pass %d: the objective is %v: %w; a smaller rate may help",
			s.run.Steps()+1, v, optim.ErrNotFinite)
	}
	return nil
}

// onePass visits all examples once. A run that is interrupted within is taken up within.
func (s *descending) onePass() (*run.Row, run.Reason, error) {
	pass := s.run.Steps()
	if s.position == 0 {
		s.turn()
		s.choose(pass)
		s.residuals, s.pass, s.norm = Residuals{}, 0, 0
	}
	order := rand.New(rand.NewPCG(s.Seed, uint64(pass))).Perm(s.n)
	if s.Batch == s.n {
		slices.Sort(order) // the sum of all does not ask for an order
	}
	for s.position < s.n {
		if err := s.run.Cancelled(); err != nil {
			return nil, "", err
		}
		rows := order[s.position:min(s.n, s.position+s.Batch)]
		if err := s.minibatch(rows); err != nil {
			return nil, "", err
		}
		s.position += len(rows)
	}
	s.position = 0
	if s.Valid != nil {
		if err := s.judgeAfter(pass + 1); err != nil {
			return nil, "", err
		}
	}
	row := &run.Row{Objective: s.pass / float64(s.n), Step: s.step.Rate(), GradNorm: s.norm}
	if s.Method == Resilient {
		row.Detail = s.residuals
		if s.Batch == s.n && max(s.residuals.most(), s.norm) <= s.Tolerance {
			return row, run.GapSmall, nil
		}
	}
	return row, "", nil
}

func (s *descending) minibatch(rows []int) error {
	if err := s.eval(rows, s.grad); err != nil {
		return err
	}
	s.norm = max(s.norm, optim.MaxAbs(s.grad))
	f := s.at.Objective
	for k, i := range rows {
		for j := range s.q {
			l, at := s.at.Point[k*s.q+j], i*s.q+j
			s.losses[at] = l
			if s.Method != Resilient {
				f += weight(s.w, i) * s.lambda[at] * l / float64(len(rows))
				continue
			}
			f += weight(s.w, i) * s.curve.Value(max(l, 0)) / float64(len(rows))
			s.lambda[at], s.u[at] = s.ascend(s.lambda[at], s.u[at], l)
		}
	}
	for i, l := range s.at.Mean {
		f += s.curve.Value(max(l, 0))
		s.mu[i], s.v[i] = s.ascend(s.mu[i], s.v[i], l)
	}
	s.pass += f * float64(len(rows))
	if err := s.step.Step(s.x, s.grad); err != nil {
		return fmt.Errorf("resilient: pass %d: %w; a smaller rate may help", s.run.Steps()+1, err)
	}
	return nil
}

// ascend takes the steps of u and λ of one constraint with loss l, and notes its residuals. At
// the cap of λ every u beyond is as good: it is what the loss needs.
func (s *descending) ascend(lambda, u, l float64) (float64, float64) {
	if s.RateSlack == 0 {
		u = s.curve.Slack(lambda)
	} else {
		u = max(u-s.RateSlack*(s.curve.Deriv(u)-lambda), 0)
	}
	if lambda >= s.curve.MaxLambda() {
		u = max(u, l)
	}
	s.residuals.note(s.curve, lambda, u, l)
	rate := s.RateMultiplier
	if c := s.curve.Curvature(); c > 0 && !math.IsInf(c, 1) {
		rate *= c
	}
	return min(max(lambda+rate*(l-u), 0), s.curve.MaxLambda()), u
}

// note keeps the largest residuals. At u = 0, λ may be less than the slope.
func (r *Residuals) note(c Curve, lambda, u, l float64) {
	r.Violation = max(r.Violation, l-u)
	r.Slackness = max(r.Slackness, math.Abs(lambda*(l-u)))
	switch d := lambda - c.Deriv(u); {
	case math.IsInf(c.Curvature(), 1): // h has a corner at u, where every slope is one
	case u > 0:
		r.Slope = max(r.Slope, math.Abs(d))
	default:
		r.Slope = max(r.Slope, d)
	}
}

// choose sets the weights of ITLM and Trim when it is time: the smallest losses, of equals the
// first, count.
func (s *descending) choose(pass int) {
	due := s.Method == ITLM && pass > 0 && pass%s.Every == 0 || s.Method == Trim && pass == s.Every
	if !due {
		return
	}
	for i, w := range Smallest(s.losses, s.Drop) {
		s.lambda[i] = w
	}
}

// Smallest returns weights of 1 for all but a share of the losses, the largest, and 0 for these:
// ⌊(1-drop)·n⌋ are left.
func Smallest(losses []float64, drop float64) []float64 {
	n := len(losses)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case losses[a] < losses[b]:
			return -1
		case losses[a] > losses[b]:
			return 1
		}
		return 0
	})
	w := make([]float64, n)
	for _, i := range order[:max(1, int(math.Floor((1-drop)*float64(n)+1e-9)))] {
		w[i] = 1
	}
	return w
}

func (s *descending) judge() error {
	loss, err := s.Valid(s.x)
	if err != nil {
		return err
	}
	s.run.Judge(0, loss)
	s.run.Best.Waited = 0
	s.best = slices.Clone(s.x)
	return nil
}

func (s *descending) judgeAfter(pass int) error {
	loss, err := s.Valid(s.x)
	if err != nil {
		return err
	}
	if s.run.Judge(pass, loss) {
		copy(s.best, s.x)
	}
	return nil
}

// outcome evaluates all examples at x, in minibatches.
func (s *descending) outcome(x []float64) (*Outcome, error) {
	s.x = x
	out := &Outcome{Losses: make([]float64, s.n*s.q), Lambda: s.lambda, U: s.u, Mu: s.mu, V: s.v}
	objective, mean := 0.0, make([]float64, s.m)
	rows := make([]int, 0, s.Batch)
	for from := 0; from < s.n; from += s.Batch {
		rows = rows[:0]
		for i := from; i < min(s.n, from+s.Batch); i++ {
			rows = append(rows, i)
		}
		if err := s.look(rows); err != nil {
			return nil, err
		}
		share := float64(len(rows)) / float64(s.n)
		copy(out.Losses[from*s.q:], s.at.Point)
		objective += share * s.at.Objective
		for i, v := range s.at.Mean {
			mean[i] += share * v
		}
	}
	copy(s.losses, out.Losses)
	s.pass = objective
	if s.Method != Resilient {
		return out, nil
	}
	s.turn()
	for i, l := range out.Losses {
		out.Residuals.note(s.curve, s.lambda[i], s.u[i], l)
	}
	for i, l := range mean {
		s.pass += s.curve.Value(max(l, 0))
		out.Residuals.note(s.curve, s.mu[i], s.v[i], l)
	}
	return out, nil
}

// total is the primal value at the losses: with the least relaxations that they need.
func (s *descending) total(losses []float64) float64 {
	sum := 0.0
	for i, l := range losses {
		w := weight(s.w, i/s.q)
		if s.Method == Resilient {
			sum += w * s.curve.Value(max(l, 0))
		} else {
			sum += w * s.lambda[i] * l
		}
	}
	return s.pass + sum/float64(s.n)
}

// arrays are what a checkpoint has of every constraint.
func (s *descending) arrays() map[string][]float64 {
	return map[string][]float64{"lambda": s.lambda, "u": s.u, "losses": s.losses, "mu": s.mu, "v": s.v}
}

func (s *descending) checkpoint() *run.Checkpoint {
	o := s.step.State()
	r := s.residuals
	k := &run.Checkpoint{X: slices.Clone(s.x), Arrays: map[string][]float64{}, Scalars: map[string]float64{
		"position": float64(s.position), "step": float64(o.Step), "seed": float64(s.Seed),
		"batch": float64(s.Batch), "pass": s.pass, "norm": s.norm,
		"violation": r.Violation, "slackness": r.Slackness, "slope": r.Slope,
	}}
	for name, v := range s.arrays() {
		k.Arrays[name] = slices.Clone(v)
	}
	if o.A != nil {
		k.Arrays["first"] = slices.Clone(o.A)
	}
	if o.B != nil {
		k.Arrays["second"] = slices.Clone(o.B)
	}
	if s.best != nil {
		k.Arrays["best"] = slices.Clone(s.best)
	}
	if t, ok := s.curve.(tail); ok {
		k.Scalars["threshold"] = t.at
	}
	return k
}

func (s *descending) restore(k *run.Checkpoint) error {
	other := func(what string) error {
		return fmt.Errorf("resilient: %w: its %s is not that of this run", run.ErrOther, what)
	}
	for name, to := range s.arrays() {
		if len(k.Arrays[name]) != len(to) {
			return other("number of constraints")
		}
		copy(to, k.Arrays[name])
	}
	if k.Scalars["seed"] != float64(s.Seed) || k.Scalars["batch"] != float64(s.Batch) {
		return other("seed or minibatch")
	}
	if s.Valid != nil {
		if s.best = slices.Clone(k.Arrays["best"]); len(s.best) != s.p.Dim() {
			return other("best point")
		}
	}
	if s.position = int(k.Scalars["position"]); s.position < 0 || s.position >= s.n {
		return other("place within a pass")
	}
	copy(s.x, k.X)
	s.pass, s.norm = k.Scalars["pass"], k.Scalars["norm"]
	s.residuals = Residuals{k.Scalars["violation"], k.Scalars["slackness"], k.Scalars["slope"]}
	s.turn()
	if t, ok := s.curve.(tail); ok {
		t.at = k.Scalars["threshold"]
		s.curve = t
	}
	o := nn.OptimizerState[float64]{Step: int(k.Scalars["step"]), A: k.Arrays["first"], B: k.Arrays["second"]}
	if err := s.step.Restore(o); err != nil {
		return fmt.Errorf("resilient: %w", err)
	}
	return nil
}
