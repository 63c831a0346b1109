package minimax

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// MixtureOptions adjusts TrainMixture; nil is the same as the zero value.
type MixtureOptions struct {
	Normalization Normalization // Raw (the zero value here), Baseline or Regret; see Normalization
	Preferences   Preferences
	Fixed         []float64 // if not nil, the mixture to train on: a baseline. Weights are divided by their sum
	Beta1         float64   // of |w|²/2
	Start         []float64 // nil is zero
	Rounds        int       // of saddle.Smoothed; zero is 30
	Gap           float64   // as in Options
	Absolute      bool      // Gap is meant as it is, not times max(1, |upper|)
	Inner         int       // L-BFGS steps of a round; zero is 200
	Workers       int       // for vector work; zero is 1
	Control       run.Control
	Offsets       []float64 // of Regret, where they are known from before; nil finds them

	Joint  saddle.Joint // evaluates the parts, which then need no Objective; nil is each apart
	Memory int          // pairs of L-BFGS, in float32 where parameters are many; zero is 20
	Along  []float64    // preconditions it; see saddle.Smoothed.Scale

	stage string // in front of the solver's name in rows
}

// MixtureFit is what TrainMixture found.
type MixtureFit struct {
	W, Lambda   []float64
	Raw, Values []float64 // a_k L_k, and as they enter the game
	Worst       float64
	Offsets     []float64 // b_k
	Result      *saddle.Result
}

// TrainMixture finds parameters that are robust to every mixture of the parts. Losses of one
// structured problem often dominate each other pointwise: a softmax margin is never below the
// cross-entropy. Without Regret or Baseline the game then reduces to the largest one.
func TrainMixture(parts []saddle.Part, opts *MixtureOptions) (*MixtureFit, error) {
	var o MixtureOptions
	if opts != nil {
		o = *opts
	}
	m, err := saddle.NewMixture(parts, o.Joint, o.Beta1)
	if err != nil {
		return nil, fmt.Errorf("minimax: %w", err)
	}
	n, p := m.Dims()
	start := o.Start
	if start == nil {
		start = make([]float64, n)
	}
	if len(start) != n || o.Fixed != nil && len(o.Fixed) != p {
		return nil, fmt.Errorf("minimax: a start of %d parameters and a mixture of %d weights for %d and %d",
			len(start), len(o.Fixed), n, p)
	}
	if o.Fixed != nil {
		if o.Fixed, err = mixtureOfWeights(o.Fixed); err != nil {
			return nil, err
		}
	}
	g := &mixtureGame{Mixture: m, names: make([]string, p)}
	for k := range parts {
		g.names[k] = parts[k].Name
	}
	switch o.Normalization {
	case "", Raw:
	case Baseline:
		gl := make([]float64, p)
		if _, err := m.Eval(start, make([]float64, p), nil, gl); err != nil {
			return nil, err
		}
		for k, v := range gl {
			if !(v > 1e-12) {
				return nil, unmeasurable(g.names[k], v)
			}
			m.Scale[k] /= v
		}
	case Regret:
		if err := g.regrets(&o, start); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("minimax: mixtures have no normalisation %q: their Lipschitz constants are not "+
			"known; choose none, baseline or regret", o.Normalization)
	}
	return g.solve(&o, start)
}

// mixtureGame is a mixture with the names of its objectives.
type mixtureGame struct {
	*saddle.Mixture
	names []string
}

// regrets sets the offsets to what each objective reaches alone, its penalty included: regrets,
// penalties included, are then never negative.
func (m *mixtureGame) regrets(o *MixtureOptions, start []float64) error {
	p := len(m.names)
	s := &solo{names: m.names, start: start, train: func(k int, c run.Control) (float64, float64, error) {
		single := *o
		single.Normalization, single.Fixed, single.stage, single.Control = Raw, make([]float64, p),
			m.names[k]+aloneStage, c
		single.Rounds = 0 // a run that is cut short by its rounds is not to be measured from the wrong place
		single.Fixed[k] = 1
		f, err := m.solve(&single, start)
		if err != nil {
			return 0, 0, err
		}
		return f.Values[k] + o.Beta1/2*floats.Dot(f.W, f.W), -1, nil
	}}
	switch {
	case o.Offsets == nil:
		if err := s.find(&o.Control); err != nil {
			return err
		}
	case len(o.Offsets) != p || !finite(o.Offsets...):
		return fmt.Errorf("minimax: %d offsets for %d objectives: there must be a finite one for each",
			len(o.Offsets), p)
	default:
		s.values = o.Offsets
	}
	copy(m.Offset, s.values)
	if save := o.Control.Checkpoint; save != nil {
		o.Control.Checkpoint = func(k *run.Checkpoint) error {
			s.keep(k)
			return save(k)
		}
	}
	return nil
}

// singleFrom is as in learn/sequence.
const singleFrom = 1 << 16

func (m *mixtureGame) solve(o *MixtureOptions, start []float64) (*MixtureFit, error) {
	n, p := m.Dims()
	set, err := setOf(o.Preferences, p)
	if err != nil {
		return nil, err
	}
	gap := o.Gap
	if gap == 0 {
		gap = 1e-3
	}
	s := saddle.Smoothed{Lambda: set, Gap: math.Max(gap, 1e-9), Absolute: o.Absolute, Inner: o.Inner,
		Workers: o.Workers, Memory: o.Memory, Single: n > singleFrom, Scale: o.Along}
	if o.Fixed != nil {
		s.Lambda = only(o.Fixed)
		s.Start = 1e-9 // there is nothing to smooth, and rounds would only forget curvature
		m.Only(o.Fixed)
	}
	control := o.Control
	control.Stop.Iterations = o.Rounds
	m.tell(o, &control)
	r, err := s.Solve(m, start, &control)
	m.Only(nil)
	if r == nil {
		return nil, err
	}
	f := &MixtureFit{W: r.W, Lambda: r.Lambda, Offsets: slices.Clone(m.Offset), Result: r}
	if o.Fixed != nil {
		f.Lambda = slices.Clone(o.Fixed)
	}
	if err != nil {
		return f, err
	}
	if f.Raw, f.Values, err = m.Account(f.W); err != nil {
		return f, err
	}
	f.Worst = set.Maximize(f.Values, nil)
	return f, nil
}

// tell completes the rows of a run: it adds the stage and the names of objectives, and blanks
// values that a fixed mixture omits and that were not evaluated.
func (m *mixtureGame) tell(o *MixtureOptions, c *run.Control) {
	for _, to := range []*run.Recorder{&c.Recorder, &c.Live} {
		recorder := *to
		if recorder == nil {
			continue
		}
		*to = run.RecorderFunc(func(r run.Row) error {
			r.Stage = o.stage + string(Smoothed)
			if s := saddle.RowOf(r); s != nil {
				s.Names = m.names
				for k, v := range o.Fixed {
					if v == 0 && k < len(s.Values) {
						s.Values[k] = math.NaN()
					}
				}
			}
			return recorder.Record(r)
		})
	}
}
