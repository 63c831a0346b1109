package multi

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Model is a trained Q-ensemble, f(x) = Σ_l Q(l|x) g_l(x) with g_l(x) = Σ_j alpha_{l,j} h_{l,j}(x)
// (eq. 4.3). It may have a shared slot, common to all domains. Several goroutines may use it at
// once while none changes it.
type Model struct {
	Settings string // options as JSON, for the record
	Loss     boost.Loss
	Schema   boost.Schema
	Sources  []string // names of the domains
	Rows     []int    // training rows of each
	Learners []string // names of the base learners, by slot

	Q           Classifier // nil when Q was given as a matrix for the training rows alone
	CrossFitted bool       // each training row's Q was trained on others
	Apart       bool       // Q was trained on rows that boosting did not use
	QLambda     float64    // penalty of the trained Q; 0 for others
	QLogLoss    float64    // balanced log loss of Q on the training rows
	MeanQ       [][]float64

	// Slots are g_1, …, g_p, and with Shared one that is added with weight 1. Terms have
	// the round in which they were added.
	Slots  []*boost.Ensemble
	Shared bool

	Trained  int         // rounds
	History  [][]float64 // losses F_k after every round
	Warnings []string

	ValidHistory []float64 // largest loss of validation rows after every round; in no file
	Seconds      float64   // of training; in no file
}

func (m *Model) warn(format string, v ...any) {
	m.Warnings = append(m.Warnings, fmt.Sprintf(format, v...))
}

// slot returns an empty g_l.
func (m *Model) slot() *boost.Ensemble {
	return &boost.Ensemble{Algorithm: "multiboost-slot", Loss: m.Loss, Schema: m.Schema, Start: []float64{0}}
}

// Domains is the number of domains, p.
func (m *Model) Domains() int { return len(m.Sources) }

// Terms is the number of base predictors.
func (m *Model) Terms() int {
	n := 0
	for _, e := range m.Slots {
		n += len(e.Terms)
	}
	return n
}

// Norm is ||alpha||_1, in which a shared term counts once for each domain.
func (m *Model) Norm() float64 {
	a := 0.0
	for k, mass := range m.Mass() {
		if k < m.Domains() {
			a += mass
		} else {
			a += mass * float64(m.Domains())
		}
	}
	return a
}

// Mass is Σ_j alpha_{l,j} of each slot.
func (m *Model) Mass() []float64 {
	out := make([]float64, len(m.Slots))
	for s, e := range m.Slots {
		for i := range e.Terms {
			out[s] += e.Terms[i].Weight
		}
	}
	return out
}

// Shares is each domain's part of ||alpha||_1, as in figure B.3; a shared term counts in every
// domain.
func (m *Model) Shares() []float64 {
	mass := m.Mass()
	out := slices.Clone(mass[:m.Domains()])
	total := m.Norm()
	for k := range out {
		if m.Shared {
			out[k] += mass[m.Domains()]
		}
		if total > 0 {
			out[k] /= total
		}
	}
	return out
}

// Prefix returns the model after the given number of rounds (negative is none), sharing its
// predictors.
func (m *Model) Prefix(rounds int) *Model {
	rounds = max(rounds, 0)
	p := *m
	p.Slots = nil
	for _, e := range m.Slots {
		p.Slots = append(p.Slots, e.Prefix(rounds))
	}
	p.Trained = min(rounds, m.Trained)
	p.History = m.History[:min(rounds, len(m.History))]
	return &p
}

// Table returns an empty table of the training table's form, sources among it: what a
// reader of further data takes as its model. A source that training did not have is then
// an error at its line.
func (m *Model) Table() *table.Table {
	t := m.Schema.Table()
	t.Sources = slices.Clone(m.Sources)
	return t
}

// PredictOptions adjusts prediction; nil is the zero value.
type PredictOptions struct {
	Rounds  int       // use the terms of this many rounds; 0 is all, negative an error
	Workers int       // goroutines; 0 is GOMAXPROCS. Results do not depend on it
	Q       []float64 // Q of the rows, by row and domain, in place of the model's classifier
}

// dense returns a table of the model's form with every cell: Q reads all columns of a row.
func (m *Model) dense(x *table.Table) (*table.Table, error) {
	if err := m.Schema.Match(x); err != nil {
		return nil, err
	}
	return x.Dense(0)
}

// QOf returns Q of the rows, by row and domain. Sources of the table are not read, unless Q is
// TrueSource.
func (m *Model) QOf(x *table.Table, workers int) ([]float64, error) {
	x, err := m.dense(x)
	if err != nil {
		return nil, err
	}
	if m.Q == nil {
		return nil, fmt.Errorf("multi: %s: %w: it was trained with a matrix of Q for its training rows; give "+
			"one for these rows (PredictOptions.Q)", x.Title(), ErrNoQ)
	}
	return qMatrix(m.Q, x, m.Domains(), workers)
}

// Scores returns f of every row of x: scores above zero are the class +1. The columns of
// x must be those of the training table; its sources play no part.
func (m *Model) Scores(x *table.Table, o *PredictOptions) ([]float64, error) {
	if o == nil {
		o = &PredictOptions{}
	}
	x, err := m.dense(x)
	if err != nil {
		return nil, err
	}
	q := o.Q
	if q == nil {
		if q, err = m.QOf(x, o.Workers); err != nil {
			return nil, err
		}
	} else if err := checkQ(q, m.Domains(), x); err != nil {
		return nil, err
	}
	if o.Rounds < 0 {
		return nil, fmt.Errorf("multi: the model after %d rounds: the number must not be negative", o.Rounds)
	}
	if o.Rounds > 0 {
		m = m.Prefix(o.Rounds)
	}
	p := m.Domains()
	f := make([]float64, x.Rows)
	for s, e := range m.Slots {
		g, err := e.Scores(x, &boost.PredictOptions{Workers: o.Workers})
		if err != nil {
			return nil, err
		}
		for i := range f {
			w := 1.0
			if s < p {
				w = q[i*p+s]
			}
			f[i] += float64(w * g[i])
		}
	}
	return f, nil
}

// Staged calls see with the scores of all rows after each round, which it may read until
// it returns; false ends the walk. q is as in PredictOptions.
func (m *Model) Staged(x *table.Table, q []float64, workers int,
	see func(rounds int, scores []float64) bool) error {
	x, err := m.dense(x)
	if err != nil {
		return err
	}
	if q == nil {
		if q, err = m.QOf(x, workers); err != nil {
			return err
		}
	} else if err := checkQ(q, m.Domains(), x); err != nil {
		return err
	}
	p, slots := m.Domains(), len(m.Slots)
	g, f := make([]float64, x.Rows*slots), make([]float64, x.Rows)
	h := make([]float64, x.Rows)
	next := make([]int, slots)
	for round := range m.Trained {
		for s, e := range m.Slots {
			for ; next[s] < len(e.Terms) && e.Terms[next[s]].Round == round; next[s]++ {
				t := &e.Terms[next[s]]
				forBlocks(workers, x.Rows, func(_, from, to int) { t.Predictor.Predict(h[from:to:to], x, from) })
				for i, v := range h {
					g[i*slots+s] += float64(t.Weight * v)
				}
			}
		}
		for i := range f {
			sum := 0.0
			for s := range slots {
				w := 1.0
				if s < p {
					w = q[i*p+s]
				}
				sum += float64(w * g[i*slots+s])
			}
			f[i] = sum
		}
		if !see(round+1, f) {
			return nil
		}
	}
	return nil
}

// Probabilities turns scores into P(y = +1 | x): sigma(2f) for the exponential loss, sigma(f)
// for the logistic one. They are roughly calibrated at best, since the domains are
// weighted by their losses.
func (m *Model) Probabilities(scores []float64) []float64 {
	factor := 2.0
	if _, ok := m.Loss.(boost.Logistic); ok {
		factor = 1 // in either base, which scales the loss and leaves its minimiser
	}
	p := make([]float64, len(scores))
	for i, f := range scores {
		p[i] = score.Sigmoid(factor * f)
	}
	return p
}

// Errors are error rates on rows with sources.
type Errors struct {
	Domain   []float64 // of each domain; NaN where there are no rows
	Uniform  float64   // mean over the domains
	Agnostic float64   // largest over the target set
}

// ErrorRates are the errors of the predicted classes on rows with labels and sources. A positive
// score predicts +1, any other -1, and NaN is an error. At least one domain must have rows; those
// without do not count.
func ErrorRates(d *boost.Data, scores []float64, target *TargetSet) (*Errors, error) {
	if len(scores) != len(d.Y) || len(d.X.Source) != len(d.Y) {
		return nil, fmt.Errorf("multi: %d scores and %d sources for %d rows", len(scores),
			len(d.X.Source), len(d.Y))
	}
	p := len(d.X.Sources)
	wrong, total := make([]float64, p), make([]float64, p)
	for i, y := range d.Y {
		w := 1.0
		if d.W != nil {
			w = d.W[i]
		}
		k := d.X.Source[i]
		total[k] += w
		if !score.Right(1, y, scores[i:i+1]) {
			wrong[k] += w
		}
	}
	e := &Errors{Domain: make([]float64, p)}
	known := make([]float64, p)
	n := 0.0
	for k := range wrong {
		e.Domain[k] = wrong[k] / total[k] // NaN for none of none
		if total[k] > 0 {
			e.Uniform += e.Domain[k]
			known[k] = e.Domain[k]
			n++
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("multi: %w: no rows", boost.ErrData)
	}
	e.Uniform /= n
	if target == nil || n < float64(p) {
		target = &TargetSet{}
	}
	if err := target.Check(p); err != nil {
		return nil, err
	}
	e.Agnostic, _ = target.Max(known)
	return e, nil
}
