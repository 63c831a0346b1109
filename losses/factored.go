package losses

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// PairScores are scores of neighbouring labels that the potentials of many strings share, and
// their exponentials, which are taken once for all of them.
type PairScores struct {
	Scores []float64 // -Inf forbids a pair

	exp   []float64
	steep bool // a score is beyond what linear messages carry
}

// Set exponentiates the scores: call it when they have changed. O(len(Scores)).
func (s *PairScores) Set() {
	s.exp = layered.Resize(s.exp, len(s.Scores))
	sweep.ExpShifted(s.exp, s.Scores, 0)
	lo, hi, bad := sweep.RangeOf(s.Scores)
	s.steep = bad || hi > sweep.MaxFactor || lo < -sweep.MaxFactor
}

// Factored are potentials of order 2 that are sums of a label's score and a pair's. θ_t(a, b) is
// the unary score of b at t plus Pairs.Scores[At[t]+a·Sizes[t]+b], with a = 0 at position 0.
type Factored struct {
	Sizes []int
	Unary []float64 // position after position
	Pairs *PairScores
	At    []int // where the pairs of a position begin
}

// check validates the shape of f.
func (f *Factored) check() error {
	if f == nil || f.Pairs == nil {
		return errors.New("losses: factored potentials without pair scores")
	}
	if len(f.Pairs.exp) != len(f.Pairs.Scores) {
		return errors.New("losses: pair scores that were not Set")
	}
	if len(f.At) != len(f.Sizes) {
		return fmt.Errorf("losses: pair scores of %d positions for %d positions", len(f.At), len(f.Sizes))
	}
	n, left := 0, 1
	for t, size := range f.Sizes {
		if size < 0 {
			return fmt.Errorf("losses: position %d of the potentials has %d labels", t, size)
		}
		if at := f.At[t]; at < 0 || at > len(f.Pairs.Scores) ||
			size > 0 && left > (len(f.Pairs.Scores)-at)/size {
			return fmt.Errorf("losses: position %d has %d by %d pairs from %d on, but there are %d pair "+
				"scores", t, left, size, at, len(f.Pairs.Scores))
		}
		n, left = n+size, size
	}
	if len(f.Unary) != n {
		return fmt.Errorf("losses: %d unary scores for %d labels", len(f.Unary), n)
	}
	return nil
}

// factored is what an Evaluator keeps of Factored potentials.
type factored struct {
	f      *Factored
	dense  Potentials // shaped as f; filled when asked for
	filled bool
	ok     bool // the whitening holds f
	buf    []float64
}

// SetFactored makes f the potentials of EvalFactored, until the next SetFactored or Eval. f must
// not change meanwhile. O(pairs of labels). Errors: shapes that do not fit.
func (e *Evaluator) SetFactored(f *Factored) error {
	e.given.f, e.given.ok = nil, false
	if err := f.check(); err != nil {
		return err
	}
	k := &e.given
	k.f, k.filled = f, false
	k.dense.Sizes, k.dense.Order = f.Sizes, 2
	n, left := 0, 1
	for _, size := range f.Sizes {
		n, left = n+left*size, size
	}
	k.buf = layered.Resize(k.buf, n)
	k.dense.Theta = layered.Resize(k.dense.Theta, len(f.Sizes))
	at, left := 0, 1
	for t, size := range f.Sizes {
		end := at + left*size
		k.dense.Theta[t] = k.buf[at:end:end]
		at, left = end, size
	}
	k.ok = !f.Pairs.steep && e.white.Factored(f.Sizes, f.Unary, f.Pairs.exp, f.At)
	return nil
}

// fill stores θ in the dense form.
func (k *factored) fill() {
	if k.filled {
		return
	}
	u := k.f.Unary
	for t, row := range k.dense.Theta {
		size := k.f.Sizes[t]
		pairs := k.f.Pairs.Scores[k.f.At[t]:]
		for i := 0; i < len(row); i += size {
			for b, x := range u[:size] {
				row[i+b] = pairs[i+b] + x
			}
		}
		u = u[size:]
	}
	k.filled = true
}

// EvalFactored is Eval on the potentials of SetFactored. Results that depend only on the potentials
// serve all evaluations until the next SetFactored.
//
// It is fast for the nil machine, and for machines in which every label is a class of its own.
// Others are evaluated as by Eval.
func (e *Evaluator) EvalFactored(m *Machine, gamma float64, want Want, r *Result) error {
	if r == nil {
		return errors.New("losses: EvalFactored: the result is nil; give a *Result to fill")
	}
	k := &e.given
	if k.f == nil {
		return errors.New("losses: EvalFactored without SetFactored")
	}
	err := e.evalFactored(m, gamma, want, r)
	if err != nil {
		r.reset()
	}
	return err
}

const wantChain = WantMarginals | WantPlain
const wantSwept = wantChain | WantExpected | WantRisk | WantRiskGradient

func (e *Evaluator) evalFactored(m *Machine, gamma float64, want Want, r *Result) error {
	k := &e.given
	if k.ok && m == nil && want&^wantChain == 0 {
		r.clear()
		r.LogZ, r.LogZ0 = e.white.LogZ0, e.white.LogZ0
		if want&WantMarginals != 0 {
			r.Marginals = shapeLike(r.Marginals, &k.dense)
			e.white.Chain(r.Marginals)
		}
		return nil
	}
	if k.ok && m != nil && m.ngram == nil && m.careful == nil && m.surrogate == nil && want&^wantSwept == 0 {
		if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
			return fmt.Errorf("losses: γ is %v", gamma)
		}
		if err := m.matches(&k.dense); err != nil {
			return err
		}
		if want&^wantChain == 0 && !m.core.Partial || want&^WantMarginals == 0 ||
			gamma == 0 && want&WantExpected == 0 && !m.core.Partial {
			if done, err := e.lean(m, gamma, want, r); done || err != nil {
				return err
			}
		}
		m = m.pushed(gamma)
		g, err := m.graph(2, e.Budget)
		if err != nil {
			return err
		}
		if g.Plain {
			if err := e.begin(m, g, want); err != nil {
				return err
			}
			r.clear()
			return e.jobs(m, g, &k.dense, gamma, want, r)
		}
	}
	k.fill()
	k.ok = false // the whitening is to hold other potentials
	return e.eval(m, &k.dense, gamma, want, r)
}

// lean evaluates by a lean sweep, and reports whether there was one whose results are certain.
func (e *Evaluator) lean(m *Machine, gamma float64, want Want, r *Result) (bool, error) {
	var failed error
	m.leanOnce.Do(func() {
		// Kept only if sweeps in logarithms ask for it.
		g, err := layered.NewGraph(&m.core, 2, layered.Limits{Ctx: e.Budget.Ctx, Bytes: e.Budget.Bytes},
			m.core.Bytes)
		if err != nil {
			failed = budgetError(err)
			return
		}
		m.lean = sweep.NewLean(&m.core, g)
	})
	if failed != nil || m.lean == nil || math.Abs(gamma)*m.core.Reach > pushedFrom {
		return false, nil // others say what is wrong
	}
	r.clear()
	var out [][]float64
	if want&WantMarginals != 0 {
		r.Marginals = shapeLike(r.Marginals, &e.given.dense)
		out = r.Marginals
	}
	w := &e.white
	if want&(WantRisk|WantRiskGradient) != 0 { // at γ = 0, where the plain model is all there is
		r.LogZ, r.LogZ0 = w.LogZ0, w.LogZ0
		if out != nil {
			w.Chain(out)
		}
		var gradient [][]float64
		if want&WantRiskGradient != 0 {
			r.RiskGradient = shapeLike(r.RiskGradient, &e.given.dense)
			gradient = r.RiskGradient
		}
		r.Risk = m.lean.Risk(&m.core, &e.sweep, w, gradient) + m.core.Base
		return true, nil
	}
	logE, ok := m.lean.Sweep(&m.core, &e.sweep, w.P, gamma, out)
	if !ok {
		return false, nil
	}
	r.LogZ, r.LogZ0 = w.LogZ0+logE+gamma*m.core.Base, w.LogZ0
	if m.core.Partial {
		r.LogZ0 = math.NaN() // it counts excluded strings
	}
	return true, m.certain(gamma, r.LogZ)
}
