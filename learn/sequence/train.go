package sequence

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

const maxOrder = 3

// Solver says how the objective is minimised.
type Solver int

const (
	QuasiNewton Solver = iota // optim.OWLQN: L-BFGS on all workers, with l1 if asked for
	GonumLBFGS                // optim.LBFGS; no l1
	Proximal                  // optim.Proximal: accelerated steps along the gradient, with l1 if asked for
	SGD                       // optim.Stochastic, as are the others
	AdaGrad
	Adam
	Bundle // optim.Bundle: cutting planes, with a certified gap, for max-margin; no l1
)

var solverNames = []string{"lbfgs", "gonum-lbfgs", "proximal", "sgd", "adagrad", "adam", "bundle"}

func (s Solver) String() string {
	if s < 0 || int(s) >= len(solverNames) {
		return fmt.Sprintf("Solver(%d)", int(s))
	}
	return solverNames[s]
}

// ParseSolver finds a solver by its name.
func ParseSolver(name string) (Solver, error) {
	for k, s := range solverNames {
		if s == name {
			return Solver(k), nil
		}
	}
	return 0, fmt.Errorf("sequence: %q is no solver; choose one of %q", name, solverNames)
}

// TrainOptions adjusts Train; nil is the same as the zero value.
type TrainOptions struct {
	// What is scored.
	Order     int         // windows of labels, 1 to 3; zero is 2
	Templates []*Template // features read off Input.Columns
	Format    Format      // what Input.Columns were read from, for the model to keep
	MinCount  int         // attributes seen less often in training have no weights; zero is 1
	Partial   bool        // examples may have labels "": those are not known; see Train
	Labels    []string    // labels beyond those of the examples
	Observed  bool        // weights only for the labels that an attribute was seen with; smaller, often as good

	// What is minimised: the sum over examples, plus L2/2 |w|² + L1 Σ|w|.
	Kind  Kind
	Loss  losses.Loss // of margins and risk; nil is the Hamming distance. Label k is symbol k
	Gamma float64     // weight of the loss; zero is 1. For reward-augmented likelihood below 0
	Beta  float64     // MaxMargin: (1/β) log Σ exp β(θ + γL) - θ(y) instead of the maximum; zero is DefaultBeta for L-BFGS, for others the maximum itself
	L2    float64     // zero is 1, negative is none
	L1    float64     // zero is none
	// Sampled has gradients of alignment losses sampled, without a band; nil is exact machines.
	Sampled *Sampling
	// Relax lets sequences count by their mean loss over positions, times their length; nil is
	// none. The model lists those with the largest multipliers. CVaR needs a solver of all
	// sequences at once.
	Relax resilient.Relaxation
	// RelaxFolds, if not 0, has sequences listed by models of the other folds; see
	// resilient.OutOfSample.
	RelaxFolds int

	// Network, if not nil, is trained with the weights of features, whose scores it adds to. Solver
	// is then Adam, and L2 is not used; see trainNetwork.
	Network *Network

	// Dev, if not empty, is a development set. Training with L-BFGS or a stochastic solver counts
	// its wrong labels after every iteration or pass, and returns the weights that had the fewest.
	// Control.Stop.Patience ends it after so many without fewer; zero is never.
	Dev []Example

	// How.
	Solver       Solver
	Gap          float64 // of Bundle: certified gap at which to stop, relative to the objective; zero is 1e-3. Of partial labels a gap of convex problems, of the mean over sequences; zero is 0.01
	Memory       int     // pairs of L-BFGS; zero is 10
	Rate, Decay  float64 // of the stochastic solvers; see optim.Stochastic
	Batch        int     // their minibatch, in sequences; zero is 8
	Seed         uint64
	Workers      int         // zero is GOMAXPROCS; the result does not depend on it
	MachineBytes int64       // loss machines that are kept between evaluations; zero is 1 GB
	Init         *Model      // weights to start from, by the names of attributes and labels; nil is zero
	Control      run.Control // context, stopping, recorder, checkpoints; the default is 1000 iterations, of the stochastic solvers 100 passes
}

func (o *TrainOptions) withDefaults() (TrainOptions, error) {
	var p TrainOptions
	if o != nil {
		p = *o
	}
	set := func(v *float64, zero float64) {
		if *v == 0 {
			*v = zero
		}
	}
	if p.Order == 0 {
		p.Order = 2
	}
	set(&p.Gamma, 1)
	set(&p.L2, 1)
	p.L2 = math.Max(p.L2, 0)
	p.Workers = run.WorkersOf(p.Workers)
	if p.Network != nil && p.Control.Stop.Iterations == 0 {
		p.Control.Stop.Iterations = cmp.Or(p.Network.Epochs, defaultEpochs)
	}
	if p.Batch == 0 {
		p.Batch = 8
	}
	if p.MachineBytes == 0 {
		p.MachineBytes = 1 << 30
	}
	if p.Solver < SGD && p.Kind == MaxMargin && p.Beta == 0 {
		p.Beta = DefaultBeta
	}
	if p.Control.Stop.Iterations == 0 {
		if p.Control.Stop.Iterations = 1000; p.Solver >= SGD && p.Solver <= Adam {
			p.Control.Stop.Iterations = 100
		}
	}
	if p.Control.Stop.Relative == 0 {
		p.Control.Stop.Relative = 1e-5
	}
	switch {
	case p.Order < 1 || p.Order > maxOrder:
		return p, fmt.Errorf("sequence: order %d is not between 1 and %d", p.Order, maxOrder)
	case p.Kind < CrossEntropy || p.Kind > Risk:
		return p, fmt.Errorf("sequence: unknown training objective %v", p.Kind)
	case p.Solver < QuasiNewton || p.Solver > Bundle:
		return p, fmt.Errorf("sequence: unknown solver %v", p.Solver)
	case p.L1 < 0 || p.Beta < 0 || !finite(p.L1, p.L2, p.Gamma, p.Beta, p.Rate, p.Decay):
		return p, errors.New("sequence: L1 and Beta must not be negative, and no setting infinite or NaN")
	case p.Solver == GonumLBFGS && p.L1 > 0:
		return p, errors.New("sequence: gonum's L-BFGS has no l1; use another solver")
	case p.Kind == MaxMargin && p.Gamma < 0:
		return p, errors.New("sequence: a margin needs a positive gamma")
	case p.Solver == Bundle && (p.L1 > 0 || p.L2 <= 0):
		return p, errors.New("sequence: the bundle has no l1 and needs a positive l2; use another solver, or for max-margin smooth it with beta")
	case p.Solver == Bundle && p.Kind == Risk:
		return p, errors.New("sequence: the bundle is for convex objectives, which the risk is not; use another solver")
	case !(p.Gap >= 0) || math.IsInf(p.Gap, 1):
		return p, fmt.Errorf("sequence: gap %v: it must be a number of at least 0", p.Gap)
	case p.Memory < 0 || p.Batch < 0 || p.MinCount < 0 || p.MachineBytes < 0:
		return p, fmt.Errorf("sequence: Memory %d, Batch %d, MinCount %d, MachineBytes %d: none may be negative", p.Memory, p.Batch, p.MinCount, p.MachineBytes)
	case slices.Contains(p.Templates, nil):
		return p, fmt.Errorf("sequence: template %d is nil", slices.Index(p.Templates, nil)+1)
	case p.Format.check() != nil:
		return p, fmt.Errorf("sequence: %w", p.Format.check())
	case p.Relax != nil && resilient.Usable(p.Relax) != nil:
		return p, fmt.Errorf("sequence: %w", resilient.Usable(p.Relax))
	case p.Relax != nil && p.Partial:
		return p, errors.New("sequence: a relaxation needs the labels of all positions: leave out Partial, or Relax")
	case p.RelaxFolds < 0 || p.RelaxFolds == 1 || p.RelaxFolds > 0 && p.Relax == nil:
		return p, fmt.Errorf("sequence: RelaxFolds %d: there are at least 2, of a relaxation", p.RelaxFolds)
	case p.RelaxFolds > 0 && p.Solver >= SGD:
		return p, fmt.Errorf("sequence: RelaxFolds is for L-BFGS; use the solver %v", QuasiNewton)
	case p.Relax != nil && p.Relax.Shared() && p.Solver >= SGD:
		return p, fmt.Errorf("sequence: the relaxation %s looks at all sequences at once, the solver %v at some: use %v", p.Relax.Name(), p.Solver, QuasiNewton)
	case len(p.Dev) > 0 && p.Solver != QuasiNewton && (p.Solver < SGD || p.Solver > Adam):
		return p, fmt.Errorf("sequence: a development set is for the solvers %v, %v, %v and %v, not for %v",
			QuasiNewton, SGD, AdaGrad, Adam, p.Solver)
	case len(p.Dev) > 0 && p.Relax != nil:
		return p, errors.New("sequence: a development set and a relaxation are not for one training: leave out " +
			"Dev, or Relax")
	case p.Control.Stop.Patience > 0 && len(p.Dev) == 0:
		return p, errors.New("sequence: patience needs a development set")
	case p.Kind == CrossEntropy && p.Loss != nil:
		return p, errors.New("sequence: cross-entropy has no loss; choose another training objective")
	case p.Network == nil && p.Init != nil && p.Init.net != nil:
		return p, errors.New("sequence: the model to start from has a network: train one, of the same kind")
	case p.Network != nil && p.Network.check(&p) != nil:
		return p, p.Network.check(&p)
	case p.Sampled != nil:
		return p, p.checkSampling()
	}
	return p, nil
}

// minimize minimises f by L-BFGS or proximal steps, with l1 as the scaled coordinates have it.
func (o *TrainOptions) minimize(f optim.Objective, scale, x0 []float64,
	c *run.Control) (*optim.Result, error) {
	by := optim.QuasiNewton
	if o.Solver == Proximal {
		by = optim.ProximalGradient
	}
	return by.Minimize(f, optim.OWLQN{L1: o.L1, Penalty: scale, Memory: o.Memory, Workers: o.Workers,
		Single: f.Dim() > singleFrom}, x0, c)
}

func finite(values ...float64) bool {
	for _, v := range values {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// Train fits a model to examples. When interrupted by an error, or by a cancelled context in
// Control, Train returns the best model and result so far beside the error. There are none if the
// error was found before training began.
//
// With Partial, a label "" is not known. For the likelihood and smooth margins the labels' score is
// then replaced by log Σ exp over all labellings that agree with those known. For max-margin itself
// it is the best of them. Then no objective is convex, and max-margin by Bundle is margin.Partial.
//
// The objective is convex except for Risk and partial labels, so that solvers agree up to their
// tolerance. Results are the same for any number of workers. Memory, beside the examples, is 8
// bytes a label (their number rounded up to a multiple of 8) and position, and 16 an attribute of a
// position. L-BFGS with 10 pairs takes about 19 floats a weight, 29 for fewer than 65536 weights.
// Loss machines take what MachineBytes allows.
func Train(examples []Example, opts *TrainOptions) (*Model, *optim.Result, error) {
	p, err := Prepare(examples, opts)
	if err != nil {
		return nil, nil, err
	}
	p.once = true // nothing else will be asked of it: memory is freed on the way
	return p.Train()
}

// Train fits a model with the options that Prepare was given, as the function Train
// does. It may be called again, and gives the same.
func (p *Problem) Train() (*Model, *optim.Result, error) {
	if p.opts.Network != nil {
		return p.trainNetwork()
	}
	o, c := p.opts, p.corpus
	m := new(Model)
	*m = *p.model
	var err error
	loss := newLossOf(&o, m.layout, c)
	x0 := make([]float64, m.layout.dim)
	if o.Init != nil {
		m.copyWeights(x0, o.Init)
	}
	control := o.Control
	control.Examples = c.sequences()
	about := fmt.Sprintf("sequence order=%d labels=%d dim=%d %v gamma=%v beta=%v l2=%v l1=%v sequences=%d", o.Order, len(m.labels), m.layout.dim, o.Kind, o.Gamma, o.Beta, o.L2, o.L1, c.sequences())
	if control.Resume != nil || control.Checkpoint != nil {
		identity := o.identity(p.examples)
		if k := control.Resume; k != nil {
			if err := k.BelongsTo(identity); err != nil {
				return nil, nil, fmt.Errorf("sequence: %w", err)
			}
		}
		if save := control.Checkpoint; save != nil {
			control.Checkpoint = func(k *run.Checkpoint) error { k.Problem = identity; return save(k) }
		}
	}
	if p.once && o.Relax == nil { // whose report lists some
		p.examples = nil
	}
	if o.Relax != nil {
		about += " resilient=" + o.Relax.Name()
	}
	if loss.sampling != nil {
		about += " " + loss.sampling.name()
	}
	var dev *development
	if len(o.Dev) > 0 {
		about += fmt.Sprintf(" dev=%d", len(o.Dev))
		judged := *m // has the weights under way
		if dev, err = newDevelopment(&judged, o.Dev, o.Workers); err != nil {
			return nil, nil, err
		}
	}
	var relaxed *resilient.Objective
	var r *optim.Result
	switch o.Solver {
	case QuasiNewton, GonumLBFGS, Proximal:
		f, columns := p.columns(&o, loss)
		if columns != nil {
			x0 = make([]float64, f.Dim())
		}
		f.ctx = control.Ctx
		scale := f.precondition(curvature)
		for i := range x0 {
			x0[i] /= scale[i]
		}
		var g optim.Objective = f
		if dev != nil {
			g = &watched{objective: f, columns: columns, dev: dev}
		}
		if o.Relax != nil {
			if relaxed, err = resilient.NewObjective(f, o.Relax); err != nil {
				return nil, nil, err
			}
			g = relaxed
		}
		minimize := func(g optim.Objective, c *run.Control) (*optim.Result, error) {
			if o.Solver == GonumLBFGS {
				return optim.LBFGS{Memory: o.Memory}.Minimize(g, x0, c)
			}
			return o.minimize(g, scale, x0, c)
		}
		r, err = minimize(g, &control)
		if relaxed != nil && err == nil {
			m.hard, err = p.difficulty(relaxed, r.X, func(g optim.Objective) ([]float64, error) {
				r, err := minimize(g, &run.Control{Ctx: control.Ctx, Stop: control.Stop})
				if err != nil {
					return nil, err
				}
				return r.X, nil
			})
			if err != nil {
				return nil, r, err
			}
		}
		if r != nil {
			for i := range r.X {
				r.X[i] *= scale[i]
			}
			if columns != nil {
				x := r.X
				r.X = make([]float64, m.layout.dim)
				columns.expand(m.layout, r.X, x)
			}
			if err == nil && o.Kind == MaxMargin && loss.onChain && !loss.partial && o.L1 == 0 && o.L2 > 0 {
				var value, least float64
				if value, least, err = p.certificate(&o, r.X); err == nil {
					addNote(r, fmt.Sprintf("without smoothing the objective is %.6g, and for no weights below %.6g; more "+
						"iterations and a larger beta bring them together", value, least))
				}
			}
		}
	case Bundle:
		if loss.partial && o.Kind == MaxMargin {
			r, err = p.bridge(&o, x0, &control)
			break
		}
		if o.Kind == MaxMargin && o.Beta == 0 && loss.hamming() {
			if s, none := p.Space(false); none == nil {
				r, err = p.certified(s, &o, x0, &control)
				break
			}
		}
		f := newObjective(m.layout, c, loss, 0, o.Workers)
		f.ctx = control.Ctx
		var b *optim.BundleResult
		b, err = optim.Bundle{Lambda: o.L2, Relative: o.Gap, Pull: bundlePull, Keep: bundlePlanes}.Minimize(tangents{f}, x0, nil, &control)
		if b != nil {
			r = &b.Result
			r.Note = fmt.Sprintf("no weights have an objective below %.6g", b.Lower)
		}
	default:
		s := optim.Stochastic{Rate: o.Rate, Decay: o.Decay, Batch: o.Batch, L1: o.L1, L2: o.L2, Seed: o.Seed, Workers: o.Workers}
		s.Method = map[Solver]optim.Method{SGD: optim.SGD, AdaGrad: optim.AdaGrad, Adam: optim.Adam}[o.Solver]
		t := &terms{layout: m.layout, corpus: c, loss: loss}
		if o.Relax != nil {
			t.weigh = resilient.Weighing(o.Relax.At(nil, nil))
		}
		var watch optim.Terms = t
		if dev != nil {
			watch = &watchedTerms{t, dev}
		}
		if r, err = s.Minimize(watch, x0, &control); o.Relax != nil && err == nil {
			if relaxed, err = resilient.NewObjective(newObjective(m.layout, c, loss, o.L2, o.Workers), o.Relax); err != nil {
				return nil, r, err
			}
			if m.hard, err = p.difficulty(relaxed, r.X, nil); err != nil {
				return nil, r, err
			}
		}
		if r != nil && loss.sampling != nil {
			addNote(r, loss.sampling.note())
		}
	}
	if r == nil {
		return nil, nil, err
	}
	m.w = r.X
	m.training = fmt.Sprintf("%s by %v, %d iterations, %s", about, o.Solver, r.Iterations, r.Reason)
	return m, r, err
}

// addNote adds to what a result has to say.
func addNote(r *optim.Result, note string) {
	if r.Note != "" && note != "" {
		r.Note += "; "
	}
	r.Note += note
}

// columns returns the objective, with identical columns merged where that changes nothing.
func (p *Problem) columns(o *TrainOptions, loss *lossOf) (*objective, *columns) {
	if o.merges() {
		if m := mergeColumns(p.model.layout, p.corpus); m != nil {
			f := newObjective(m.layout, m.corpus, loss, o.L2, o.Workers)
			f.share = m.share
			if f.wide != nil {
				m.corpus.single = sparse{} // f has it otherwise
			}
			if p.once && o.Kind != MaxMargin { // whose certificate looks at it again
				p.corpus.single = sparse{}
				p.model.single.forget()
			}
			return f, m
		}
	}
	return newObjective(p.model.layout, p.corpus, loss, o.L2, o.Workers), nil
}

// merges reports whether identical columns may be merged: weights that begin elsewhere than in zero
// need not be equal, and a relaxation's report looks at all.
func (o *TrainOptions) merges() bool { return o.Solver < SGD && o.Init == nil && o.Relax == nil }

// tangents is an objective that is convex, as solvers by planes see it.
type tangents struct{ *objective }

// Tangent implements optim.Risk.
func (t tangents) Tangent(w, a []float64) (float64, error) { return t.Eval(w, a) }

// certified minimises max-margin of the Hamming loss by margin.MaxMargin, which keeps labellings
// that it found, and so needs fewer passes over the sequences than a bundle of their sum.
func (p *Problem) certified(s *Space, o *TrainOptions, x0 []float64, c *run.Control) (*optim.Result, error) {
	// Losses times γ: γ times the weights of γ times the penalty.
	start := slices.Clone(x0)
	for j := range start {
		start[j] /= o.Gamma
	}
	control := *c
	control.Workers = o.Workers
	m, r, err := margin.MaxMargin(s, s.Samples(), &margin.Options{Lambda: o.L2 * o.Gamma,
		Weight: float64(p.Examples()), Relative: cmp.Or(o.Gap, 1e-3), Pull: bundlePull, Keep: bundlePlanes,
		Init: start}, &control)
	if m == nil || r == nil {
		return nil, err
	}
	for j := range m.W {
		m.W[j] *= o.Gamma
	}
	r.X, r.F = m.W, r.F*o.Gamma
	r.Note = fmt.Sprintf("no weights have an objective below %.6g", o.Gamma*m.Report.Lower)
	return r, err
}

// bridge minimises max-margin of partial labels, which is not convex, by margin.Partial. Where
// no weights are given to start from, it begins with those of the smoothed objective.
func (p *Problem) bridge(o *TrainOptions, x0 []float64, c *run.Control) (*optim.Result, error) {
	s, err := p.Space(false)
	if err != nil {
		return nil, err
	}
	start := slices.Clone(x0)
	if o.Init == nil && c.Resume == nil {
		smooth := *o
		smooth.Solver, smooth.Beta = QuasiNewton, DefaultBeta
		smooth.Control = run.Control{Ctx: c.Ctx, Workers: o.Workers, Stop: run.Stop{Iterations: 50, Relative: 1e-4}}
		q := *p
		q.opts = smooth
		m, _, err := q.Train()
		if err != nil {
			return nil, err
		}
		copy(start, m.w)
	}
	// Losses times γ: γ times the weights of γ times the penalty.
	n := float64(p.Examples())
	for j := range start {
		start[j] /= o.Gamma
	}
	control := *c
	control.Workers = o.Workers
	m, r, err := margin.Partial(s, s.Samples(), &margin.PartialOptions{Options: margin.Options{Lambda: o.L2 * o.Gamma / n, Gap: cmp.Or(o.Gap, 1e-2), Pull: bundlePull, Keep: bundlePlanes, Init: start}}, &control)
	if m == nil || r == nil {
		return nil, err
	}
	for j := range m.W {
		m.W[j] *= o.Gamma
	}
	r.X, r.F = m.W, r.F*o.Gamma*n
	r.Note = fmt.Sprintf("%d outer steps, %d inferences; the objective is not convex, and another --init may end lower", len(m.Report.Outer), m.Report.Calls)
	return r, err
}

// DefaultBeta is how sharply L-BFGS follows the corners of max-margin unless Beta says. On
// the letters of OCR, 3 leaves the objective within some percent of the least, and more does not
// label better.
const DefaultBeta = 3

// certificate says how far from the least possible the maximum itself is at w, of weights that were
// learnt with a smoothed one. The distribution of the smoothed objective over labellings is a point
// of the dual. Let e be its mean loss and g the gradient of its scores' part. Mixed by c with the
// reference, where both are zero, the dual is c e - c² |g|²/(2 l2).
func (p *Problem) certificate(o *TrainOptions, w []float64) (value, least float64, err error) {
	l, c := p.model.layout, p.corpus
	smooth := newObjective(l, c, newLossOf(o, l, c), 0, o.Workers)
	g := make([]float64, l.dim)
	if _, err := smooth.Eval(w, g); err != nil {
		return 0, 0, err
	}
	e, gg := 0.0, 0.0
	for t, y := range c.labels {
		e -= o.Gamma * smooth.residual[t*smooth.loss.stride+int(y)]
	}
	for _, v := range g {
		gg += v * v
	}
	share := 1.0
	if gg > 0 {
		share = math.Min(1, o.L2*e/gg)
	}
	hard := *o
	hard.Beta = 0
	f := newObjective(l, c, newLossOf(&hard, l, c), o.L2, o.Workers)
	value, err = f.Eval(w, nil)
	return value, share*e - share*share*gg/(2*o.L2), err
}

// bundlePull and bundlePlanes are of optim.Bundle.
const (
	bundlePull   = 0.5
	bundlePlanes = 100
)

// singleFrom is the number of weights beyond which L-BFGS keeps its pairs in float32: 20 vectors of
// that length no longer fit a processor's own caches.
const singleFrom = 1 << 16

// curvature is the estimated contribution of a position to the curvature of the objective along the
// weights of its attributes: p(1-p) of labels that are mostly settled. It was chosen by the
// objective of a part-of-speech tagger after 40 and after 100 iterations (testdata/bench/NOTES.md).
// An estimate by attribute and label, from how often they occur together, was worse on the OCR
// letters.
const curvature = 0.001

// prepare numbers labels and attributes.
func prepare(examples []Example, o *TrainOptions) (*Model, *corpus, error) {
	if len(examples) == 0 {
		return nil, nil, errors.New("sequence: no examples")
	}
	numbers := map[string]int32{}
	for i := range examples {
		e := &examples[i]
		if len(e.Labels) != e.Len() {
			return nil, nil, fmt.Errorf("sequence: %s: %d labels for %d positions", nameOf(e.Source, i), len(e.Labels), e.Len())
		}
		for _, y := range e.Labels {
			numbers[y] = 0
		}
	}
	for _, y := range o.Labels {
		numbers[y] = 0
	}
	if o.Partial {
		delete(numbers, "")
	}
	if len(numbers) == 0 && o.Partial {
		return nil, nil, errors.New("sequence: no position of the examples has a label")
	}
	if len(numbers) == 0 {
		return nil, nil, errors.New("sequence: the examples have no positions")
	}
	m := &Model{templates: o.Templates, format: o.Format}
	for y := range numbers {
		m.labels = append(m.labels, y)
	}
	slices.Sort(m.labels)
	if err := o.named(m.labels); err != nil {
		return nil, nil, err
	}
	for k, y := range m.labels {
		numbers[y] = int32(k)
	}
	if o.Partial {
		numbers[""] = -1
	}
	c := newCorpus()
	e := &encoder{templates: o.Templates, single: newDictionary(nil), pair: newDictionary(nil), grow: true}
	for i := range examples {
		if err := e.encode(c, &examples[i].Input); err != nil {
			return nil, nil, fmt.Errorf("sequence: %s: %w", nameOf(examples[i].Source, i), err)
		}
		for _, y := range examples[i].Labels {
			c.labels = append(c.labels, numbers[y])
		}
	}
	if unknown(c.labels) {
		if len(e.pair.names) > 0 {
			return nil, nil, errors.New("sequence: partial labels need templates without label pairs: leave out those that begin with B")
		}
		if err := o.partial(); err != nil {
			return nil, nil, err
		}
	}
	if len(e.pair.names) > 0 && o.Order < 2 {
		return nil, nil, errors.New("sequence: B templates need order 2 or 3")
	}
	m.single = c.single.atLeast(e.single, o.MinCount)
	m.pair = c.pair.atLeast(e.pair, o.MinCount)
	var ptr []int
	var seen []int32
	if o.Observed {
		ptr, seen = observed(c, len(m.single.names), len(m.labels))
	}
	var err error
	m.layout, err = newLayout(len(m.labels), o.Order, len(m.single.names), len(m.pair.names), ptr, seen)
	return m, c, err
}

// partial says what cannot be minimised where some labels are not known.
func (o *TrainOptions) partial() error {
	if o.Order > 2 || o.Loss != nil || o.Kind == Risk {
		return errors.New("sequence: partial labels need order 1 or 2 and, as the loss of margins, the Hamming distance; there is no risk of them")
	}
	return nil
}

// observed lists, for each single attribute, the labels it was seen with.
func observed(c *corpus, singles, labels int) (ptr []int, seen []int32) {
	byID := c.single.transposed(singles)
	ptr = make([]int, 1, singles+1)
	has := make([]bool, labels)
	for a := range singles {
		positions, _ := byID.row(a)
		for _, t := range positions {
			if y := c.labels[t]; y >= 0 {
				has[y] = true
			}
		}
		for y := range has {
			if has[y] {
				seen = append(seen, int32(y))
				has[y] = false
			}
		}
		ptr = append(ptr, len(seen))
	}
	return ptr, seen
}

func newLossOf(o *TrainOptions, l *layout, c *corpus) *lossOf {
	loss := &lossOf{kind: o.Kind, loss: o.Loss, gamma: o.Gamma, beta: o.Beta, stride: newChain(l.labels).stride, limit: o.MachineBytes}
	if o.Sampled != nil {
		s := *o.Sampled
		s.Seed += o.Seed
		loss.sampling, _ = newSampling(s, o.Loss) // withDefaults has checked it
		loss.sampling.ctx = o.Control.Ctx
	}
	loss.partial = unknown(c.labels)
	loss.onChain = l.order <= 2 && l.pair == 0 && (o.Kind == CrossEntropy || o.Loss == nil && o.Kind != Risk)
	if !loss.onChain {
		loss.machines = make([]*losses.Machine, c.sequences())
	}
	if l.order >= 2 && o.Kind != Risk {
		loss.referencePairs = make([]float64, l.labels*l.labels)
		for i := range c.sequences() {
			if unknown(c.labels[c.start[i]:c.start[i+1]]) {
				continue
			}
			for t := c.start[i] + 1; t < c.start[i+1]; t++ {
				loss.referencePairs[int(c.labels[t-1])*l.labels+int(c.labels[t])]++
			}
		}
	}
	return loss
}

// copyWeights takes over from another model what has the same attribute and labels.
func (m *Model) copyWeights(dst []float64, from *Model) {
	number := map[string]int{}
	for k, y := range m.labels {
		number[y] = k
	}
	l, d := m.layout, len(m.labels)
	from.Weights(func(w Weight) bool {
		at := 0
		for _, y := range w.Labels {
			k, ok := number[y]
			if !ok {
				return true
			}
			at = at*d + k
		}
		switch n := len(w.Labels); {
		case w.Attribute == "" && n == 1:
			dst[l.at1+at] = w.Value
		case w.Attribute == "" && n <= l.order && n == 2:
			dst[l.at2+at] = w.Value
		case w.Attribute == "" && n <= l.order:
			dst[l.at3+at] = w.Value
		case n == 2:
			if id, ok := m.pair.numbers()[w.Attribute]; ok {
				lo, _ := l.pairRow(int(id))
				dst[lo+at] = w.Value
			}
		case n == 1:
			id, ok := m.single.numbers()[w.Attribute]
			if !ok {
				return true
			}
			lo, hi := l.row(int(id))
			if l.ptr == nil {
				dst[lo+at] = w.Value
			} else if k, ok := slices.BinarySearch(l.seen[lo:hi], int32(at)); ok {
				dst[lo+k] = w.Value
			}
		}
		return true
	})
}
