package federated

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// qFloor is the least Q, so that it is positive on every domain, as section 4.3 needs.
const qFloor = 1e-6

// fitQ trains the domain classifier: multinomial logistic regression on standardised columns,
// all domains of the same weight, by L-BFGS on gradients that agents add up. Each evaluation
// is an exchange with all agents. With folds each fold of the agents gets the classifier that the
// others trained, so that it does not know their rows; that of all agents is the model's.
func (b *booster) fitQ() error {
	d := len(b.columns)
	got, err := b.sum(sumCall{phase: phaseMoments, groups: b.domains, dim: func(int) int { return 3 * d },
		request: func(string, int) (*Message, error) { return newMessage(Head{}, nil), nil }})
	if err != nil {
		return err
	}
	moments := make([]float64, 3*d)
	for k, v := range got.total {
		if v == nil {
			return fail(NoQuorum, "", "no agent of domain %q gave its moments", b.c.Domains()[k])
		}
		for i, x := range v {
			moments[i] += x / got.rows[k]
		}
	}
	if b.features, err = featuresOf(moments); err != nil {
		return err
	}
	b.qKind = "logistic"
	if b.w, b.bias, err = b.fitQOf(b.domains); err != nil || b.o.QFolds < 2 {
		return err
	}
	b.foldOf = map[string]int{}
	for _, list := range b.domains {
		for i, name := range list {
			b.foldOf[name] = i % b.o.QFolds
		}
	}
	for f := range b.o.QFolds {
		others := make([][]string, b.p)
		for k, list := range b.domains {
			for _, name := range list {
				if b.foldOf[name] != f {
					others[k] = append(others[k], name)
				}
			}
		}
		w, bias, err := b.fitQOf(others)
		if err != nil {
			return err
		}
		b.qs = append(b.qs, newAgentQ(w, bias))
	}
	return nil
}

// fitQOf trains the domain classifier on some agents of every domain. It starts from 0: a start
// from the fit of all agents would know those that are left out.
func (b *booster) fitQOf(agents [][]string) (w, bias []float64, err error) {
	n := len(b.features)
	start := make([]float64, (n+1)*b.p)
	o := &federatedQ{b: b, agents: agents, dim: len(start), weights: n * b.p}
	r, err := optim.LBFGS{}.Minimize(o, start, &run.Control{Ctx: b.ctx,
		Stop: run.Stop{Iterations: b.o.QIterations, Gradient: 1e-6, Relative: 1e-5}})
	if err != nil {
		return nil, nil, err
	}
	return slices.Clone(r.X[:n*b.p]), slices.Clone(r.X[n*b.p:]), nil
}

// federatedQ is the objective of the domain classifier: Σ_k (1/p n_k) Σ_i log 1/Q(k|x_i) +
// L2/2 |w|².
type federatedQ struct {
	b            *booster
	agents       [][]string
	dim, weights int
}

// Dim implements optim.Objective.
func (q *federatedQ) Dim() int { return q.dim }

// Eval implements optim.Objective.
func (q *federatedQ) Eval(x, grad []float64) (float64, error) {
	b := q.b
	at := slices.Clone(x)
	got, err := b.sum(sumCall{phase: phaseGradient, groups: q.agents,
		dim: func(int) int { return q.dim + 1 },
		request: func(_ string, have int) (*Message, error) {
			m := newMessage(Head{}, map[string]bool{"features": have == hasNothing})
			if have == hasNothing {
				putFeatures(m, b.features)
			}
			put(m, "w", at)
			return m, nil
		}})
	if err != nil {
		return 0, err
	}
	value := 0.0
	clear(grad)
	for k, v := range got.total {
		if v == nil {
			continue
		}
		share := 1 / (float64(b.p) * got.rows[k])
		value += share * v[q.dim]
		for i := range grad {
			grad[i] += share * v[i]
		}
	}
	for i, w := range x[:q.weights] {
		value += b.o.QL2 / 2 * w * w
		if grad != nil {
			grad[i] += b.o.QL2 * w
		}
	}
	return value, nil
}

// measureQ asks for the mean of Q over each domain's rows, and warns where it does not know
// its own.
func (b *booster) measureQ() error {
	got, err := b.sum(sumCall{phase: phaseMeanQ, groups: b.domains, dim: func(int) int { return b.p },
		request: func(name string, have int) (*Message, error) { return b.stateRequest(name, have, nil) }})
	if err != nil {
		return err
	}
	names := b.c.Domains()
	for k, v := range got.total {
		row := make([]float64, b.p)
		for j := range row {
			row[j] = math.NaN()
			if v != nil {
				row[j] = v[j] / got.rows[k]
			}
		}
		if b.p > 1 && row[k] <= 1/float64(b.p)*(1+1e-9) {
			b.warn("the mean of Q(%d|x) over the rows of domain %q is %.3g, no more than 1/%d: the domain "+
				"classifier does not know this domain from the others",
				k+1, names[k], row[k], b.p)
		}
		b.meanQ = append(b.meanQ, row)
	}
	return nil
}
