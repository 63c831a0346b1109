package saddle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// FirstOrder finds saddle points of a Problem with first-order steps; Smoothed is
// the other solver. The zero value is mirror-prox on all examples with backtracked
// steps, for λ in the unit simplex.
//
// With Batch > 0 the examples of a Sampled are drawn without replacement in passes, and an
// iteration is a pass; otherwise it is a step. Runs are determined by Seed for any number of
// workers of the problem. A run resumed from a checkpoint continues exactly as if it had not been
// interrupted.
//
// The run ends with a *DivergenceError at a value or gradient that is not finite, or a value or
// weight beyond 1e8 times those of the start. The result holds the state before the step that
// caused it.
//
// A step costs one evaluation or two (see Method) and the projections.
type FirstOrder struct {
	Method Method
	W      optim.Set // nil is all space
	Lambda optim.Set // nil is the unit simplex

	// Entropic moves λ by factors exp(γ g) on the unit simplex, instead of by
	// projected steps. It suits many objectives: the error grows with the logarithm of
	// their number. What is zero stays zero: start inside.
	Entropic bool

	// without minibatches and with mirror-prox, zero is BacktrackedSteps if StepW is 0
	Steps             StepRule
	StepW, StepLambda float64 // zero is 1
	Radii             Radii   // of TheoremSteps

	Frozen bool // λ stays at the start: plain training on a fixed mixture
	Batch  int  // examples of a minibatch; zero is all
	Seed   uint64

	// Suffix discards earlier averages whenever the number of steps has doubled, so that averages
	// are of the last half to two thirds of the steps. The rate is the same without the start,
	// whose weight in averages of all steps is 1/T.
	Suffix bool

	// Gap, if positive, stops a convex run when a certificate has upper - lower ≤ Gap·max(Least,
	// |upper|), where a Least of zero is 1. It is computed every CheckEvery iterations (zero is 10
	// for minibatches, 50 without). It is also computed at the end, unless Gap is negative or the
	// problem not convex.
	Gap, Least float64
	CheckEvery int
	Certify    CertifyOptions
}

const saddleDiverged = 1e8

// saddleRun is a run in progress.
type saddleRun struct {
	FirstOrder
	run     *run.Run
	p       Problem
	sampled Sampled
	convex  Convex

	w, lambda       []float64
	sumW, sumLambda []float64 // averages so far
	weight          float64   // of the points averaged
	count           int       // points averaged
	restart         int       // Suffix: at this many steps the averages start afresh

	step     int // taken
	total    int // that the run will take, for TheoremSteps
	pass     int
	position int // examples of the pass that are done
	order    []int
	orderOf  int // pass of order

	gammaW, gammaL float64 // of the last step
	squareW        float64 // AdaptiveSteps
	squareL        float64
	gamma          float64 // BacktrackedSteps

	first, value   float64
	limitNorm      float64
	passValues     []float64 // Σ over the pass of the gradients with respect to λ
	passValue      float64
	passCount      float64
	gw, gl         []float64
	gw2, gl2       []float64
	trialW, trialL []float64
	best           Certificate
	certified      bool
	share          float64 // evaluations of minibatches, in whole ones
}

// Solve runs from (w0, lambda0), which it keeps intact; a nil lambda0 is even. Both
// are projected first. By default it makes 20 passes with minibatches and 1000 steps
// without; Stop's Gradient, Relative and Evaluations are not used.
func (m FirstOrder) Solve(p Problem, w0, lambda0 []float64, c *run.Control) (*Result, error) {
	s := &saddleRun{FirstOrder: m, p: p}
	solver := m.Method.String()
	iterations := 1000
	if m.Batch > 0 {
		iterations = 20
	}
	s.run = run.Begin(solver, c, iterations)
	if err := s.prepare(w0, lambda0); err != nil {
		return nil, err
	}
	return s.solve()
}

func (s *saddleRun) prepare(w0, lambda0 []float64) error {
	solver := s.run.Name
	n, p := s.p.Dims()
	fail := func(format string, args ...any) error {
		return fmt.Errorf("saddle: %s: %w", solver, fmt.Errorf(format, args...))
	}
	s.convex, _ = s.p.(Convex)
	if s.convex != nil && !s.convex.Curvature(make([]float64, n)) {
		s.convex = nil
	}
	if s.Batch > 0 {
		ok := false
		if s.sampled, ok = s.p.(Sampled); !ok {
			return fail("the problem has no examples to draw minibatches from")
		}
		if s.sampled.Len() == 0 {
			return fail("no examples")
		}
		s.run.Examples = s.sampled.Len()
	}
	if s.Lambda == nil {
		s.Lambda = optim.Simplex{}
	}
	if s.Method == MirrorProx && s.Batch == 0 && s.Steps == ConstantSteps && s.StepW == 0 {
		s.Steps = BacktrackedSteps
	}
	if s.StepW == 0 {
		s.StepW = 1
	}
	if s.StepLambda == 0 {
		s.StepLambda = 1
	}
	if s.CheckEvery == 0 {
		s.CheckEvery = 50
		if s.Batch > 0 {
			s.CheckEvery = 10
		}
	}
	unit, isSimplex := s.Lambda.(optim.Simplex)
	switch {
	case s.Method != MirrorProx && s.Method != DescentAscent && s.Method != Alternating || s.Steps.number() < 0:
		return fail("unknown method or rule for steps")
	case !(s.StepW > 0) || !(s.StepLambda > 0) || math.IsInf(s.StepW, 1) || math.IsInf(s.StepLambda, 1):
		return fail("steps of length %v and %v: they must be positive", s.StepW, s.StepLambda)
	case s.Steps == BacktrackedSteps && (s.Method != MirrorProx || s.Batch > 0):
		return fail("backtracked steps are for mirror-prox without minibatches: with noise the test of a step " +
			"says nothing")
	case s.Entropic && (!isSimplex || unit.Sum != 0 && unit.Sum != 1):
		return fail("entropic steps need the unit simplex; put the vertices of another set into OverVertices")
	case s.Gap > 0 && s.convex == nil:
		return fail("a certified gap was asked for, but the problem is not convex in w")
	case p < 1:
		return fail("there is nothing to mix: no coordinates of λ")
	}
	if lambda0 == nil {
		lambda0 = slices.Repeat([]float64{1 / float64(p)}, p)
	}
	if len(lambda0) != p {
		return fail("the start has %d coordinates of λ, the problem %d", len(lambda0), p)
	}
	if err := optim.CheckStart(solver, n, w0); err != nil {
		return err
	}
	if err := optim.CheckStart(solver, p, lambda0); err != nil {
		return err
	}
	s.w, s.lambda = slices.Clone(w0), slices.Clone(lambda0)
	if s.W != nil {
		s.W.Project(s.w)
	}
	s.Lambda.Project(s.lambda)
	for _, v := range []*[]float64{&s.sumW, &s.gw, &s.gw2, &s.trialW} {
		*v = make([]float64, n)
	}
	for _, v := range []*[]float64{&s.sumLambda, &s.gl, &s.gl2, &s.trialL, &s.passValues} {
		*v = make([]float64, p)
	}
	s.first, s.value = math.NaN(), math.NaN()
	s.limitNorm = saddleDiverged * (1 + optim.MaxAbs(s.w))
	s.gamma, s.restart, s.orderOf = 1, 2, -1
	s.total = s.run.Stop.Iterations
	if s.Batch > 0 {
		s.total = s.stepsOfPass() * s.run.Stop.Iterations
	}
	if s.run.Resume != nil {
		return s.resume()
	}
	if s.Steps == TheoremSteps {
		return s.radii()
	}
	return nil
}

func (s *saddleRun) draws() int { // minibatches of a step
	if s.Method == MirrorProx {
		return 2
	}
	return 1
}

func (s *saddleRun) stepsOfPass() int {
	batches := (s.sampled.Len() + s.Batch - 1) / s.Batch
	return (batches + s.draws() - 1) / s.draws()
}

// radii completes the constants of the theorem.
func (s *saddleRun) radii() error {
	r := &s.Radii
	if r.W == 0 {
		if b, ok := s.W.(optim.Ball); ok && (b.Q == 0 || b.Q == 2) {
			r.W = b.Radius
		}
	}
	if !(r.W > 0) {
		return fmt.Errorf("saddle: %s: the steps of Theorem 5.4 need a bound on |w|: a ball, or Radii.W for "+
			"another bounded set", s.run.Name)
	}
	if r.Lambda == 0 {
		r.Lambda = 1 // a set within the unit simplex
	}
	if r.NormW > 0 && r.NormLambda > 0 {
		return nil
	}
	var w2, l2 float64
	rounds := 1
	if s.Batch > 0 {
		rounds = min(50, (s.sampled.Len()+s.Batch-1)/s.Batch)
	}
	for k := range rounds {
		if s.Batch > 0 {
			s.position = k * s.Batch
		}
		if _, _, err := s.eval(s.w, s.lambda, s.gw, s.gl); err != nil {
			return err
		}
		w2, l2 = w2+dot(s.gw, s.gw)/float64(rounds), l2+dot(s.gl, s.gl)/float64(rounds)
	}
	s.position = 0
	if r.NormW == 0 {
		r.NormW = math.Sqrt(w2)
	}
	if r.NormLambda == 0 {
		r.NormLambda = math.Sqrt(l2)
	}
	if !(r.NormW > 0) || !(r.NormLambda > 0) {
		return fmt.Errorf("saddle: %s: a gradient is zero at the start, so that Theorem 5.4 has no step for it; "+
			"give Radii, or another rule for steps", s.run.Name)
	}
	return nil
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// eval evaluates the next minibatch, or all examples, and returns by how many
// examples the pass moves on.
func (s *saddleRun) eval(w, lambda, gw, gl []float64) (v float64, examples int, err error) {
	if err := s.run.Ctx.Err(); err != nil {
		return math.NaN(), 0, err
	}
	if s.Batch == 0 {
		s.run.Evaluations++
		v, err = s.p.Eval(w, lambda, gw, gl)
	} else {
		n := s.sampled.Len()
		if s.orderOf != s.pass {
			s.order, s.orderOf = rand.New(rand.NewPCG(s.Seed, uint64(s.pass))).Perm(n), s.pass
		}
		// A pass with an odd number of minibatches lends mirror-prox its last
		// one twice.
		from := min(s.position, (n-1)/s.Batch*s.Batch)
		batch := s.order[from:min(n, from+s.Batch)]
		examples = len(batch)
		s.share += float64(examples) / float64(n)
		v, err = s.sampled.EvalBatch(batch, w, lambda, gw, gl)
	}
	if err != nil {
		return v, examples, fmt.Errorf("saddle: %s: step %d: %w", s.run.Name, s.step+1, err)
	}
	return v, examples, nil
}

// healthy returns nil, or why the values met at w are no longer those of a run that converges. The
// given step led to w; the start counts as the first step's.
func (s *saddleRun) healthy(step int, v float64, gw, gl, w []float64) error {
	bad := v-v != 0 || optim.FirstNotFinite(gw) >= 0 || optim.FirstNotFinite(gl) >= 0 ||
		optim.FirstNotFinite(w) >= 0
	norm := optim.MaxAbs(w)
	if !bad && math.Abs(v) <= saddleDiverged*(1+math.Abs(s.first)) && norm <= s.limitNorm {
		return nil
	}
	e := &DivergenceError{Solver: s.run.Name, Step: step, StepW: s.gammaW, StepLambda: s.gammaL, Value: v,
		First: s.first, Norm: norm, Err: ErrDiverged}
	if bad {
		e.Err = optim.ErrNotFinite
	}
	return e
}

// met counts what a step saw at the point where it evaluated.
func (s *saddleRun) met(v float64, gl []float64, weight float64) {
	s.value = v
	s.passCount += weight
	s.passValue += weight * v
	for k, g := range gl {
		s.passValues[k] += weight * g
	}
}

// average takes a point in, with its weight.
func (s *saddleRun) average(w, lambda []float64, weight float64) {
	if s.Suffix && s.step >= s.restart {
		s.weight, s.count, s.restart = 0, 0, 2*s.restart
	}
	s.weight += weight
	s.count++
	a := weight / s.weight
	if s.count == 1 {
		a = 1 // exactly the point itself
	}
	for j, v := range w {
		s.sumW[j] += a * (v - s.sumW[j])
	}
	for k, v := range lambda {
		s.sumLambda[k] += a * (v - s.sumLambda[k])
	}
}

// steps returns γ_w and γ_λ of the step about to be taken.
func (s *saddleRun) lengths() (w, l float64) {
	switch s.Steps {
	case TheoremSteps:
		return s.Radii.Steps(s.total)
	case DecreasingSteps:
		root := math.Sqrt(float64(s.step + 1))
		return s.StepW / root, s.StepLambda / root
	case AdaptiveSteps:
		w, l = s.StepW, s.StepLambda
		if s.squareW > 0 {
			w /= math.Sqrt(s.squareW)
		}
		if s.squareL > 0 {
			l /= math.Sqrt(s.squareL)
		}
		return w, l
	case BacktrackedSteps:
		return s.gamma * s.StepW, s.gamma * s.StepLambda
	}
	return s.StepW, s.StepLambda
}

// move stores P(from ∓ γ g) for both players.
func (s *saddleRun) moveW(dst, from, g []float64, gamma float64) {
	for j, v := range from {
		dst[j] = v - gamma*g[j]
	}
	if s.W != nil {
		s.W.Project(dst)
	}
}

func (s *saddleRun) moveLambda(dst, from, g []float64, gamma float64) {
	switch {
	case s.Frozen:
		copy(dst, from)
	case s.Entropic:
		most := math.Inf(-1)
		for k, v := range from {
			dst[k] = math.Inf(-1)
			if v > 0 {
				dst[k] = math.Log(v) + gamma*g[k]
			}
			most = math.Max(most, dst[k])
		}
		sum := 0.0
		for k, v := range dst {
			dst[k] = math.Exp(v - most)
			if from[k] > 0 {
				dst[k] = math.Max(dst[k], 1e-300) // what is too small to write could never return
			}
			sum += dst[k]
		}
		for k := range dst {
			dst[k] /= sum
		}
	default:
		for k, v := range from {
			dst[k] = v + gamma*g[k]
		}
		s.Lambda.Project(dst)
	}
}

// advance takes one step. After an error the state is as before it.
func (s *saddleRun) advance() error {
	position, evals, share, gamma, squareW, squareL := s.position, s.run.Evaluations, s.share, s.gamma,
		s.squareW, s.squareL
	step := s.descentAscent
	if s.Method == MirrorProx {
		step = s.mirrorProx
	}
	err := step()
	if err != nil {
		s.position, s.run.Evaluations, s.share, s.gamma, s.squareW, s.squareL = position, evals, share,
			gamma, squareW, squareL
	}
	return err
}

// here evaluates the next minibatch, or all examples, at the point that a step begins at.
func (s *saddleRun) here() (v float64, examples int, err error) {
	if v, examples, err = s.eval(s.w, s.lambda, s.gw, s.gl); err != nil {
		return v, examples, err
	}
	if s.step == 0 {
		s.first = v
	}
	return v, examples, s.healthy(max(s.step, 1), v, s.gw, s.gl, s.w)
}

func (s *saddleRun) descentAscent() error {
	v, n, err := s.here()
	if err != nil {
		return err
	}
	if s.Steps == AdaptiveSteps {
		s.squareW, s.squareL = s.squareW+dot(s.gw, s.gw), s.squareL+dot(s.gl, s.gl)
	}
	s.gammaW, s.gammaL = s.lengths()
	s.moveW(s.trialW, s.w, s.gw, s.gammaW)
	up := s.gl
	if s.Method == Alternating && !s.Frozen {
		up = s.gl2
		if _, _, err := s.eval(s.trialW, s.lambda, s.gw2, up); err != nil {
			return err
		}
	}
	s.met(v, s.gl, float64(max(n, 1)))
	weight := 1.0
	if s.Steps == DecreasingSteps {
		weight = s.gammaW
	}
	s.average(s.w, s.lambda, weight)
	s.moveLambda(s.trialL, s.lambda, up, s.gammaL)
	s.w, s.trialW = s.trialW, s.w
	s.lambda, s.trialL = s.trialL, s.lambda
	s.step++
	s.position += n
	return nil
}

func (s *saddleRun) mirrorProx() error {
	_, n, err := s.here()
	if err != nil {
		return err
	}
	from := s.position
	if s.Steps == AdaptiveSteps && s.step == 0 {
		s.squareW, s.squareL = dot(s.gw, s.gw), dot(s.gl, s.gl)
	}
	var v2 float64
	var n2 int
	for {
		s.gammaW, s.gammaL = s.lengths()
		s.moveW(s.trialW, s.w, s.gw, s.gammaW)
		s.moveLambda(s.trialL, s.lambda, s.gl, s.gammaL)
		s.position = from + n
		if v2, n2, err = s.eval(s.trialW, s.trialL, s.gw2, s.gl2); err != nil {
			return err
		}
		if s.Steps != BacktrackedSteps || s.accept(v2) {
			break
		}
		if s.gamma /= 2; s.gamma < 1e-18 {
			break // the next step says that it diverges, or it does not matter
		}
	}
	if err := s.healthy(s.step+1, v2, s.gw2, s.gl2, s.trialW); err != nil {
		return err
	}
	if s.Steps == AdaptiveSteps {
		for j, g := range s.gw {
			d := s.gw2[j] - g
			s.squareW += d * d
		}
		for k, g := range s.gl {
			d := s.gl2[k] - g
			s.squareL += d * d
		}
	}
	s.met(v2, s.gl2, float64(max(n2, 1)))
	weight := 1.0
	if s.Steps == DecreasingSteps || s.Steps == BacktrackedSteps {
		weight = s.gammaW
	}
	s.average(s.trialW, s.trialL, weight)
	s.moveW(s.w, s.w, s.gw2, s.gammaW)
	s.moveLambda(s.lambda, s.lambda, s.gl2, s.gammaL)
	if s.Steps == BacktrackedSteps {
		s.gamma *= 1.1
	}
	s.step++
	s.position = from + n + n2
	return nil
}

// accept reports γ |G(z')-G(z)| ≤ |z'-z|, with |z|² = |w|²/γ_w + |λ|²/γ_λ and the
// dual norm for G.
func (s *saddleRun) accept(v float64) bool {
	if v-v != 0 {
		return false
	}
	var operator, moved float64
	for j, g := range s.gw {
		d, e := s.gw2[j]-g, s.trialW[j]-s.w[j]
		operator += s.gammaW * d * d
		moved += e * e / s.gammaW
	}
	if !s.Frozen {
		for k, g := range s.gl {
			d, e := s.gl2[k]-g, s.trialL[k]-s.lambda[k]
			operator += s.gammaL * d * d
			moved += e * e / s.gammaL
		}
	}
	return operator <= moved || moved == 0
}

func (s *saddleRun) result(reason run.Reason) *Result {
	r := &Result{
		W: slices.Clone(s.sumW), Lambda: slices.Clone(s.sumLambda), LastW: slices.Clone(s.w),
		LastLambda: slices.Clone(s.lambda),
		Value:      s.value, Certificate: s.best, Certified: s.certified, Radii: s.Radii, Steps: s.step,
		Iterations: s.pass, Evaluations: s.run.Evaluations + int(math.Round(s.share)), Reason: reason,
	}
	if s.count == 0 {
		copy(r.W, s.w)
		copy(r.Lambda, s.lambda)
	}
	return r
}

func (s *saddleRun) solve() (*Result, error) {
	reason, err := s.run.Loop(s.onePass, s.checkpoint)
	return s.result(reason), err
}

// onePass takes the steps of a pass, a step without minibatches, and certifies when due.
func (s *saddleRun) onePass() (*run.Row, run.Reason, error) {
	for done := false; !done; done = s.Batch == 0 || s.position >= s.sampled.Len() {
		if err := s.advance(); err != nil {
			return nil, "", err
		}
	}
	s.position = 0
	s.pass++
	last := s.pass == s.run.Stop.Iterations
	if s.convex != nil && s.Gap >= 0 && !s.Frozen && (last || s.Gap > 0 && s.pass%s.CheckEvery == 0) {
		if err := s.certify(); err != nil {
			return nil, "", err
		}
	}
	reason := run.Reason("")
	if s.certified && s.Gap > 0 && s.best.within(s.Gap, s.Least) {
		reason = run.GapSmall
	}
	return s.row(), reason, nil
}

func (s *saddleRun) certify() error {
	o := s.Certify
	c, n, err := certify(s.convex, s.sumW, s.sumLambda, s.W, s.Lambda, &o)
	s.run.Evaluations += n
	if err != nil {
		return err
	}
	s.best.merge(c)
	s.certified = true
	return nil
}

// row describes the pass, and starts the sums of the next.
func (s *saddleRun) row() *run.Row {
	values := slices.Clone(s.passValues)
	for k := range values {
		values[k] /= s.passCount
	}
	value := s.passValue / s.passCount
	clear(s.passValues)
	s.passValue, s.passCount = 0, 0
	detail := &Row{Values: values, Lambda: slices.Clone(s.lambda), Mean: slices.Clone(s.sumLambda),
		Upper: math.Inf(1), Lower: math.Inf(-1)}
	if s.certified {
		detail.Upper, detail.Lower = s.best.Upper, s.best.Lower
	}
	return &run.Row{Objective: value, Step: s.gammaW, Evaluations: s.run.Evaluations +
		int(math.Round(s.share)), Detail: detail}
}

func (s *saddleRun) checkpoint() (*run.Checkpoint, error) {
	k := &run.Checkpoint{
		X: slices.Clone(s.w),
		Scalars: map[string]float64{
			"step": float64(s.step), "position": float64(s.position), "weight": s.weight, "count": float64(s.count),
			"restart": float64(s.restart),
			"squareW": s.squareW, "squareL": s.squareL, "gamma": s.gamma, "gammaW": s.gammaW, "gammaL": s.gammaL,
			"passValue": s.passValue, "passCount": s.passCount, "share": s.share,
			"radiusW": s.Radii.W, "radiusL": s.Radii.Lambda, "normW": s.Radii.NormW, "normL": s.Radii.NormLambda,
			"seed": float64(s.Seed), "batch": float64(s.Batch), "steps": float64(s.Steps.number()),
			"total": float64(s.total),
		},
		Arrays: map[string][]float64{
			"lambda": slices.Clone(s.lambda), "averageW": slices.Clone(s.sumW),
			"averageLambda": slices.Clone(s.sumLambda), "passValues": slices.Clone(s.passValues),
		},
	}
	for name, v := range map[string]float64{"first": s.first, "value": s.value} {
		if v == v { // a header has no NaN
			k.Scalars[name] = v
		}
	}
	s.best.save(k)
	return k, nil
}

func (s *saddleRun) resume() error {
	n, p := s.p.Dims()
	solver := s.run.Name
	k, err := s.run.Point(n, "averageW")
	if err != nil {
		return err
	}
	for _, name := range []string{"lambda", "averageLambda", "passValues"} {
		if len(k.Arrays[name]) != p {
			return fmt.Errorf("saddle: %s: the checkpoint's array %q has %d coordinates, the problem %d: it "+
				"belongs to another problem", solver, name, len(k.Arrays[name]), p)
		}
	}
	check := map[string]float64{"seed": float64(s.Seed), "batch": float64(s.Batch),
		"steps": float64(s.Steps.number())}
	if s.Steps == TheoremSteps {
		check["total"] = float64(s.total)
	}
	for _, name := range []string{"seed", "batch", "steps", "total"} {
		if have, ok := check[name]; ok && k.Scalars[name] != have {
			return fmt.Errorf("saddle: %s: the checkpoint was written with %s %v, this run has %v", solver, name,
				k.Scalars[name], have)
		}
	}
	get := func(name string) float64 { return k.Scalars[name] }
	s.step, s.position, s.pass = int(get("step")), int(get("position")), k.Iteration
	if s.step < 0 || s.position < 0 || s.Batch > 0 && s.position >= s.sampled.Len() || s.Batch == 0 &&
		s.position != 0 {
		return fmt.Errorf("saddle: %s: the checkpoint's position %d after %d steps is impossible", solver,
			s.position, s.step)
	}
	copy(s.w, k.X)
	copy(s.lambda, k.Arrays["lambda"])
	copy(s.sumW, k.Arrays["averageW"])
	copy(s.sumLambda, k.Arrays["averageLambda"])
	copy(s.passValues, k.Arrays["passValues"])
	s.weight, s.count, s.restart = get("weight"), int(get("count")), int(get("restart"))
	s.squareW, s.squareL, s.gamma, s.gammaW, s.gammaL = get("squareW"), get("squareL"), get("gamma"),
		get("gammaW"), get("gammaL")
	s.passValue, s.passCount, s.share = get("passValue"), get("passCount"), get("share")
	s.Radii = Radii{get("radiusW"), get("radiusL"), get("normW"), get("normL")}
	if v, ok := k.Scalars["first"]; ok {
		s.first = v
	}
	if v, ok := k.Scalars["value"]; ok {
		s.value = v
	}
	s.best = restored(k, n, p)
	s.certified = s.best.W != nil && s.best.Lambda != nil
	return nil
}
