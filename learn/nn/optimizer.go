package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
)

// OptimizerOptions adjusts NewOptimizer; nil is the same as the zero value.
type OptimizerOptions struct {
	Method optim.Method // SGD, AdaGrad or Adam; zero is SGD
	Rate   float64      // zero is 0.1 for SGD and AdaGrad, 0.001 for Adam
	Decay  float64      // SGD only: step t = 1, 2, … has rate Rate/(1+Decay·t)
	// Schedule, if not nil, is the share of Rate at step 1, 2, …
	Schedule func(step int) float64
	Momentum float64 // SGD only, in [0,1): steps follow v ← Momentum·v + g (B. Polyak, 1964)
	L2       float64 // weight of L2/2·|w|² over Penalised
	// Penalised is what L2 applies to, in rising order; nil is everything.
	// Network.AllWeights leaves the biases out.
	Penalised []Span
	Workers   int // goroutines; zero is GOMAXPROCS
}

// Optimizer turns the dense gradients of batches into steps, in float32 or float64. The rules are
// those of optim.Stochastic, which takes sparse terms one at a time. The penalty is the same too: a
// proximal step at the rates of the gradient.
//
// It is not for use by several goroutines at once.
type Optimizer[T Float] struct {
	opts OptimizerOptions
	dim  int
	step int
	a, b []T // momentum: a; AdaGrad: a = Σg²; Adam: a, b = first and second moment
	team *team

	segments   []segment
	w, g       []T
	rate       float64
	adam       adam[T]
	bad        []bool
	check, run func(job int)
}

// segment is a job: coordinates that are penalised alike.
type segment struct {
	Span
	penalised bool
}

// NewOptimizer returns an optimizer for dim coordinates that has made no step.
func NewOptimizer[T Float](dim int, opts *OptimizerOptions) (*Optimizer[T], error) {
	if opts == nil {
		opts = &OptimizerOptions{}
	}
	o := &Optimizer[T]{opts: *opts, dim: dim}
	if o.opts.Rate == 0 {
		o.opts.Rate = 0.1
		if opts.Method == optim.Adam {
			o.opts.Rate = 0.001
		}
	}
	switch {
	case !opts.Method.Known():
		return nil, fmt.Errorf("nn: unknown method %v", opts.Method)
	case !(o.opts.Rate > 0) || !(opts.L2 >= 0) || !(opts.Decay >= 0) ||
		math.IsInf(o.opts.Rate+opts.L2+opts.Decay, 0):
		return nil, fmt.Errorf("nn: rate %v, decay %v and penalty %v must be finite and not negative", o.opts.Rate,
			opts.Decay, opts.L2)
	case !(opts.Momentum >= 0 && opts.Momentum < 1):
		return nil, fmt.Errorf("nn: momentum %v is not in [0,1)", opts.Momentum)
	case opts.Method != optim.SGD && (opts.Momentum != 0 || opts.Decay != 0):
		return nil, fmt.Errorf("nn: momentum and decay are of SGD, not of %v", opts.Method)
	}
	if err := o.cut(); err != nil {
		return nil, err
	}
	if opts.Method != optim.SGD || opts.Momentum > 0 {
		o.a = make([]T, dim)
	}
	if opts.Method == optim.Adam {
		o.b = make([]T, dim)
	}
	o.team = newTeam(opts.Workers)
	o.check, o.run = o.checkSegment, o.stepSegment
	return o, nil
}

// cut makes segments of all coordinates, of at most 2·block each.
func (o *Optimizer[T]) cut() error {
	add := func(s Span, penalised bool) {
		for at := s.From; at < s.To; at += 2 * block {
			o.segments = append(o.segments, segment{Span{at, min(s.To, at+2*block)}, penalised})
		}
	}
	if o.opts.Penalised == nil {
		add(Span{0, o.dim}, true)
	} else {
		o.opts.Penalised = slices.Clone(o.opts.Penalised)
		at := 0
		for _, s := range o.opts.Penalised {
			if s.From < at || s.To < s.From || s.To > o.dim {
				return fmt.Errorf("nn: penalised coordinates %d to %d are out of order, or beyond %d",
					s.From, s.To, o.dim)
			}
			add(Span{at, s.From}, false)
			add(s, true)
			at = s.To
		}
		add(Span{at, o.dim}, false)
	}
	o.bad = make([]bool, len(o.segments))
	return nil
}

// Steps returns the number of steps made.
func (o *Optimizer[T]) Steps() int { return o.step }

// Rate returns the rate of the next step.
func (o *Optimizer[T]) Rate() float64 {
	rate := o.opts.Rate / (1 + o.opts.Decay*float64(o.step+1))
	if o.opts.Schedule != nil {
		rate *= o.opts.Schedule(o.step + 1)
	}
	return rate
}

// Step moves w against the gradient g of a batch's mean loss. When g is not finite the
// error is optim.ErrNotFinite, with the coordinate, and nothing has changed.
func (o *Optimizer[T]) Step(w, g []T) error {
	if len(w) != o.dim || len(g) != o.dim {
		return fmt.Errorf("nn: step on %d parameters with a gradient of %d, the optimizer has %d",
			len(w), len(g), o.dim)
	}
	o.w, o.g = w, g
	defer func() { o.w, o.g = nil, nil }()
	o.team.run(len(o.segments), o.check)
	if i := slices.Index(o.bad, true); i >= 0 {
		s := o.segments[i]
		for j := s.From; ; j++ {
			if g[j]-g[j] != 0 {
				return fmt.Errorf("nn: step %d: gradient[%d] is %v: %w", o.step+1, j, g[j], optim.ErrNotFinite)
			}
		}
	}
	o.begin()
	o.team.run(len(o.segments), o.run)
	o.step++
	return nil
}

// begin sets what the next step shares between coordinates.
func (o *Optimizer[T]) begin() {
	o.rate = o.Rate()
	if o.opts.Method == optim.Adam {
		t := float64(o.step + 1)
		o.adam = adam[T]{rate: T(o.rate), tiny: 1e-8, beta1: 0.1, beta2: 0.001,
			c1: T(1 / (1 - math.Pow(0.9, t))), c2: T(1 / (1 - math.Pow(0.999, t)))}
	}
}

// StepSpans is Step for a gradient that is zero outside of spans: other coordinates stay, with
// their moments and without a penalty's pull. That is the lazy form of these methods. Its cost is
// that of the spans, which must not overlap, nor have Penalised apply to a part of one.
func (o *Optimizer[T]) StepSpans(w, g []T, spans []Span) error {
	if len(w) != o.dim || len(g) != o.dim {
		return fmt.Errorf("nn: step on %d parameters with a gradient of %d, the optimizer has %d",
			len(w), len(g), o.dim)
	}
	for _, s := range spans {
		if !finite(g[s.From:s.To]) {
			return fmt.Errorf("nn: step %d: the gradient from %d to %d: %w", o.step+1, s.From, s.To,
				optim.ErrNotFinite)
		}
	}
	o.w, o.g = w, g
	defer func() { o.w, o.g = nil, nil }()
	o.begin()
	for _, s := range spans {
		o.stepSpan(segment{s, o.penalises(s)})
	}
	o.step++
	return nil
}

// penalises reports whether the penalty applies to a span.
func (o *Optimizer[T]) penalises(s Span) bool {
	if o.opts.Penalised == nil {
		return true
	}
	i, _ := slices.BinarySearchFunc(o.opts.Penalised, s.From, func(p Span, at int) int {
		if p.To <= at {
			return -1
		}
		return 1
	})
	return i < len(o.opts.Penalised) && o.opts.Penalised[i].From <= s.From
}

func (o *Optimizer[T]) checkSegment(job int) {
	s := o.segments[job]
	o.bad[job] = !finite(o.g[s.From:s.To])
}

func (o *Optimizer[T]) stepSegment(job int) { o.stepSpan(o.segments[job]) }

func (o *Optimizer[T]) stepSpan(s segment) {
	l2 := 0.0
	if s.penalised {
		l2 = o.opts.L2
	}
	w, g := o.w[s.From:s.To], o.g[s.From:s.To]
	rate := o.rate
	switch o.opts.Method {
	case optim.SGD:
		shrink := T(1 / (1 + rate*l2))
		if o.a == nil {
			stepSGD(w, g, T(rate), shrink)
		} else {
			stepMomentum(w, o.a[s.From:s.To], g, T(rate), T(o.opts.Momentum), shrink)
		}
	case optim.AdaGrad:
		stepAdaGrad(w, o.a[s.From:s.To], g, T(rate), 1e-8, T(l2))
	case optim.Adam:
		c := o.adam
		c.l2 = T(l2)
		stepAdam(w, o.a[s.From:s.To], o.b[s.From:s.To], g, &c)
	}
}

// OptimizerState is what a run needs besides its parameters to continue from a checkpoint to the
// same result.
type OptimizerState[T Float] struct {
	Step int
	A, B []T // as Optimizer keeps them; nil where the method has none
}

// State returns a copy of the state.
func (o *Optimizer[T]) State() OptimizerState[T] {
	return OptimizerState[T]{o.step, slices.Clone(o.a), slices.Clone(o.b)}
}

// Restore takes up a state of an optimizer with the same dimension and method.
func (o *Optimizer[T]) Restore(s OptimizerState[T]) error {
	if s.Step < 0 || len(s.A) != len(o.a) || len(s.B) != len(o.b) {
		return errors.New("nn: the state is of another method or of another number of parameters")
	}
	if !finite(s.A) || !finite(s.B) {
		return fmt.Errorf("nn: the state of step %d: %w", s.Step, optim.ErrNotFinite)
	}
	o.step = s.Step
	copy(o.a, s.A)
	copy(o.b, s.B)
	return nil
}
