package losses

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// TiedPairs are scores of neighbouring labels that all positions of many strings share, with what
// sweeps make of them once for all.
type TiedPairs struct {
	Labels int       // D
	Scores []float64 // D rows of D, the earlier label first

	matrix sweep.PairMatrix
	ready  bool
}

// Set prepares the scores: call it when they have changed. It is an error if they are not D².
// O(D²).
func (p *TiedPairs) Set() error {
	if p.Labels < 1 || len(p.Scores) != p.Labels*p.Labels {
		return fmt.Errorf("losses: %d scores of pairs of %d labels", len(p.Scores), p.Labels)
	}
	p.matrix.Set(p.Labels, p.Scores)
	p.ready = true
	return nil
}

// Tied are potentials of order 2 as linear-chain models have them: θ_t(a, b) is the score of label
// b at t plus that of the pair (a, b), which is the same at all positions.
type Tied struct {
	Unary  []float64 // position after position, rows of Stride
	Stride int
	Pairs  *TiedPairs
}

// TiedResult is what an evaluation of Tied potentials computes.
type TiedResult struct {
	LogZ float64 // log Σ_u exp(θ(u) + γ L(u)); -Inf when no u is allowed
	Risk float64 // E_0[L]; NaN when no u is allowed

	// Gradients of LogZ, or of Risk if WantRiskGradient is asked for: by the scores of labels, rows
	// of Tied.Stride, which are overwritten; and by those of pairs, rows of PairStride, to which is
	// added.
	Unary      []float64
	Pairs      []float64
	PairStride int
}

// tied is what an Evaluator keeps for EvalTied.
type tied struct {
	sweeper sweep.ColumnSweeper
	dense   Potentials
	buf     []float64
	result  Result
}

// EvalTied computes log Z and its gradient as Eval does, with want 0, or the risk and its gradient,
// with WantRisk and WantRiskGradient, where LogZ is not set. The gradients of pairs are summed over
// positions. With AVX-512 a position of C columns costs O(C D²) multiplications in products of
// matrices, and O(C D) else. Without, and where results would not be certain, it costs what Eval
// does. Errors: shapes that do not fit, and those of Eval.
func (e *Evaluator) EvalTied(m *Machine, p *Tied, gamma float64, want Want, r *TiedResult) error {
	switch {
	case p == nil || p.Pairs == nil || !p.Pairs.ready:
		return errors.New("losses: EvalTied: potentials without pair scores that were Set")
	case r == nil || m == nil:
		return errors.New("losses: EvalTied: the machine and the result must not be nil")
	case math.IsNaN(gamma) || math.IsInf(gamma, 0):
		return fmt.Errorf("losses: γ is %v", gamma)
	case want&^(WantRisk|WantRiskGradient) != 0:
		return errors.New("losses: EvalTied computes log Z, or the risk, with gradients")
	}
	if err := m.Build(); err != nil {
		return err
	}
	n, d := m.Len(), p.Pairs.Labels
	switch {
	case p.Stride < d || len(p.Unary) < n*p.Stride || len(r.Unary) < n*p.Stride:
		return fmt.Errorf("losses: EvalTied: scores or gradients of %d labels are too few for %d positions, "+
			"in rows of %d", d, n, p.Stride)
	case r.PairStride < d || len(r.Pairs) < (d-1)*r.PairStride+d:
		return fmt.Errorf("losses: EvalTied: gradients of pairs are too few for %d labels, in rows of %d", d,
			r.PairStride)
	}
	for t := range n {
		if k := m.Labels(t); k != d {
			return fmt.Errorf("losses: position %d: potentials for %d labels, loss machine for %d", t, d, k)
		}
	}
	if want != 0 {
		want, gamma = WantRisk|WantRiskGradient, 0
	}
	if e.logOnly || e.scaleOnly || !e.sweepColumns(m, p, gamma, want, r) {
		return e.tiedDensely(m, p, gamma, want, r)
	}
	return nil
}

// sweepColumns evaluates by a sweep over columns, and reports whether the results are certain.
func (e *Evaluator) sweepColumns(m *Machine, p *Tied, gamma float64, want Want, r *TiedResult) bool {
	if m.ngram != nil || math.Abs(gamma)*m.core.Reach > pushedFrom ||
		m.careful != nil && math.Abs(gamma)*m.core.Cancels > harmlessConstant {
		return false
	}
	c := m.columnsLayout(e.Budget)
	if c == nil {
		return false
	}
	e.tied.sweeper.Ctx = e.Budget.Ctx
	j := sweep.ColumnJob{Gamma: gamma, Unary: p.Unary, Stride: p.Stride, Pairs: &p.Pairs.matrix,
		Marginals: r.Unary, Expected: r.Pairs, Row: r.PairStride}
	if want != 0 {
		if m.careful != nil { // as Eval has it
			j.Least = 1e-5 * m.core.Cancels
		}
		risk, ok := e.tied.sweeper.RunRisk(&m.core, c, &j)
		r.LogZ, r.Risk = math.NaN(), risk+m.core.Base
		return ok
	}
	if !e.tied.sweeper.Run(&m.core, c, &j) {
		return false
	}
	r.LogZ, r.Risk = j.LogZ, math.NaN()
	return m.certain(gamma, j.LogZ) == nil
}

// columnsLayout returns the layout for sweeps over columns, made when first asked for; nil where
// there is none.
func (m *Machine) columnsLayout(budget Budget) *sweep.Columns {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.columns == nil && !m.noColumns {
		if m.columns = sweep.NewColumns(&m.core); m.columns != nil {
			m.bytes += m.columns.Bytes
		}
		m.noColumns = m.columns == nil
	}
	return m.columns
}

// tiedDensely is EvalTied by potentials of every window.
func (e *Evaluator) tiedDensely(m *Machine, p *Tied, gamma float64, want Want, r *TiedResult) error {
	k, n, d := &e.tied, m.Len(), p.Pairs.Labels
	q := &k.dense
	q.Order = 2
	q.Sizes, q.Theta = layered.Resize(q.Sizes, n), layered.Resize(q.Theta, n)
	k.buf = layered.Resize(k.buf, max(0, d+(n-1)*d*d))
	rest := k.buf
	for t := range n {
		unary := p.Unary[t*p.Stride:][:d]
		q.Sizes[t] = d
		if t == 0 {
			q.Theta[t] = rest[:d:d]
			rest = rest[copy(rest, unary):]
			continue
		}
		row := rest[: d*d : d*d]
		q.Theta[t], rest = row, rest[d*d:]
		for i, x := range p.Pairs.Scores {
			row[i] = x + unary[i%d]
		}
	}
	ask := want
	if want == 0 {
		ask = WantMarginals
	}
	if err := e.Eval(m, q, gamma, ask, &k.result); err != nil {
		return err
	}
	r.LogZ, r.Risk = k.result.LogZ, k.result.Risk
	rows := k.result.Marginals
	if want&WantRiskGradient != 0 {
		rows = k.result.RiskGradient
	}
	clear(r.Unary[:n*p.Stride])
	for t, row := range rows {
		to := r.Unary[t*p.Stride:][:d]
		for i := 0; i < len(row); i += d {
			for b, x := range row[i : i+d] {
				to[b] += x
			}
			if t > 0 {
				pairs := r.Pairs[i/d*r.PairStride:][:d]
				for b, x := range row[i : i+d] {
					pairs[b] += x
				}
			}
		}
	}
	return nil
}
