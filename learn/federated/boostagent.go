package federated

import (
	"context"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// boosted is what an agent keeps of boosting: the ensemble's scores of its rows.
type boosted struct {
	loss  boost.Loss
	slots int
	terms int
	chain chain     // of the domain classifier and all terms
	q     []float64 // by row and slot
	g     []float64 // Σ alpha h, by row and slot
	f     []float64 // Σ Q g
	h     []float64 // room for values
}

func (a *Agent) takeQ(m *Message, kind string, slots int, loss string) error {
	p := len(a.c.Domains())
	if slots != p && slots != p+1 {
		return fail(WrongShape, "", "%d slots for %d domains", slots, p)
	}
	l, err := score.Parse(loss)
	if err != nil || !score.HasMargin(l) {
		return fail(Malformed, "", "the loss %q is none of boosting", loss)
	}
	var q multi.Classifier = multi.Uniform{P: p}
	var w, bias []float64
	if kind == "logistic" {
		if a.features == nil {
			return fail(LostState, "", "the request counts on features that the agent does not have")
		}
		if w, err = floats(m, "q/w", len(a.features)*p); err != nil {
			return err
		}
		if bias, err = floats(m, "q/bias", p); err != nil {
			return err
		}
		q = multi.NewLogistic(a.features, w, bias, qFloor)
	}
	n := a.x.Rows
	s := &boosted{loss: l, slots: slots, chain: startChain(w, bias), q: make([]float64, n*slots),
		g: make([]float64, n*slots), f: make([]float64, n), h: make([]float64, n)}
	values := make([]float64, n*p)
	q.Predict(values, a.x, 0)
	for i := range n {
		copy(s.q[i*slots:], values[i*p:(i+1)*p])
		if slots > p {
			s.q[i*slots+p] = 1
		}
	}
	a.boosted = s
	return nil
}

// add takes up the terms of a message.
func (s *boosted) add(a *Agent, m *Message) error {
	stumps, err := getStumps(m, "term", len(a.x.Columns), -1)
	if err != nil {
		return err
	}
	slot, err := get[int32](m, "term/slot", len(stumps))
	if err != nil {
		return err
	}
	alpha, err := floats(m, "term/weight", len(stumps))
	if err != nil {
		return err
	}
	for k, t := range stumps {
		if slot[k] < 0 || int(slot[k]) >= s.slots {
			return fail(WrongShape, "", "a term in slot %d of %d", slot[k]+1, s.slots)
		}
		t.values(s.h, a.x)
		for i, h := range s.h {
			s.g[i*s.slots+int(slot[k])] += float64(alpha[k] * h)
		}
		s.terms++
		s.chain = s.chain.term(term{int(slot[k]), t, alpha[k], 0})
	}
	for i := range s.f {
		sum := 0.0
		for k := range s.slots {
			sum += float64(s.q[i*s.slots+k] * s.g[i*s.slots+k])
		}
		s.f[i] = sum
	}
	return nil
}

// boost is the vector of a round: Σ Phi(u), the number of rows, and for every candidate
// Σ Phi'(u) y Q h, in fixed point but for the rows.
func (a *Agent) boost(m *Message) ([]int64, error) {
	s := a.boosted
	if s == nil {
		return nil,
			fail(LostState, "", "the request counts on a domain classifier that the agent does not have")
	}
	var b struct {
		Counts []int `json:"counts"` // candidates of each slot
	}
	if err := m.body(&b); err != nil {
		return nil, err
	}
	cands, err := getStumps(m, "candidate", len(a.x.Columns), -1)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range b.Counts {
		if n < 0 || n > len(cands) {
			return nil, fail(WrongShape, "", "%d candidates of a slot, and there are %d", n, len(cands))
		}
		total += n
	}
	if total != len(cands) || len(b.Counts) != s.slots {
		return nil, fail(WrongShape, "", "%d candidates in %d slots, and there are %d in %d", total,
			len(b.Counts), len(cands), s.slots)
	}
	n := a.x.Rows
	values, slopes := make([]float64, n), make([]float64, n)
	s.loss.Values(values, a.sign, s.f)
	s.loss.Gradients(slopes, nil, a.sign, s.f) // -y Phi'
	out := make([]int64, 2+len(cands))
	for _, v := range values {
		out[0] += fixed(v)
	}
	out[1] = int64(n)
	at := 0
	for slot, count := range b.Counts {
		for range count {
			cands[at].values(s.h, a.x)
			for i, h := range s.h {
				out[2+at] += fixed(-slopes[i] * s.q[i*s.slots+slot] * h)
			}
			at++
		}
	}
	return out, nil
}

// meanQ is the sum of Q of each domain over the rows.
func (a *Agent) meanQ() ([]float64, error) {
	s := a.boosted
	if s == nil {
		return nil,
			fail(LostState, "", "the request counts on a domain classifier that the agent does not have")
	}
	out := make([]float64, len(a.c.Domains()))
	for i := range a.x.Rows {
		for k := range out {
			out[k] += s.q[i*s.slots+k]
		}
	}
	return out, nil
}

// weak trains a stump on the agent's rows with weights w: the largest edge.
func (a *Agent) weak(ctx context.Context, w []float64) (Stump, error) {
	if a.prepared == nil {
		f, err := multi.Stumps{}.Prepare(&boost.Data{X: a.x, Y: a.sign}, 1)
		if err != nil {
			return Stump{}, err
		}
		a.prepared = f
	}
	g := make([]float64, len(w))
	for i, v := range w {
		g[i] = -v * a.sign[i]
	}
	fit, err := a.prepared.Fit(ctx, &boost.Direction{G: g})
	if err != nil {
		return Stump{}, err
	}
	return StumpOf(fit.Predictor)
}

// propose trains some stumps on the agent's rows alone, by boosting with short steps, so that
// rows which one stump gets right still count.
func (a *Agent) propose(ctx context.Context, m *Message, h Head) (*Message, error) {
	var b struct {
		Stumps int `json:"stumps"`
	}
	if err := m.body(&b); err != nil {
		return nil, err
	}
	if b.Stumps < 1 || b.Stumps > 1000 {
		return nil, fail(WrongShape, "", "%d stumps are asked for", b.Stumps)
	}
	w := make([]float64, a.x.Rows)
	for i := range w {
		w[i] = 1
	}
	values := make([]float64, a.x.Rows)
	var list []Stump
	for range b.Stumps {
		s, err := a.weak(ctx, w)
		if err != nil {
			return nil, err
		}
		s.values(values, a.x)
		for i, v := range values {
			w[i] *= math.Exp(-proposalStep * a.sign[i] * v)
		}
		if !slices.Contains(list, s.positive()) {
			list = append(list, s.positive())
		}
	}
	out := newMessage(h, nil)
	putStumps(out, "stump", list)
	return out, nil
}

// proposalStep is the step by which an agent boosts for its proposals.
const proposalStep = 0.5

// train is a round of FEDADABOOST at an agent: a stump for its own rows by the weights
// exp(-y f).
func (a *Agent) train(ctx context.Context, m *Message, h Head) (*Message, error) {
	if err := a.take(m); err != nil {
		return nil, err
	}
	w, err := a.adaWeights()
	if err != nil {
		return nil, err
	}
	s, err := a.weak(ctx, w)
	if err != nil {
		return nil, err
	}
	out := newMessage(h, nil)
	putStumps(out, "stump", []Stump{s})
	return out, nil
}

func (a *Agent) adaWeights() ([]float64, error) {
	s := a.boosted
	if s == nil {
		return nil, fail(LostState, "", "the request counts on terms that the agent does not have")
	}
	w := make([]float64, a.x.Rows)
	s.loss.Values(w, a.sign, s.f)
	return w, nil
}

// scores is the second half: Σ w, and Σ w y h of every candidate, in fixed point.
func (a *Agent) scores(m *Message, h Head) (*Message, error) {
	if err := a.take(m); err != nil {
		return nil, err
	}
	w, err := a.adaWeights()
	if err != nil {
		return nil, err
	}
	cands, err := getStumps(m, "candidate", len(a.x.Columns), -1)
	if err != nil {
		return nil, err
	}
	sum := make([]int64, 1+len(cands))
	for _, v := range w {
		sum[0] += fixed(v)
	}
	for k, s := range cands {
		s.values(a.boosted.h, a.x)
		for i, v := range a.boosted.h {
			sum[1+k] += fixed(w[i] * a.sign[i] * v)
		}
	}
	out := newMessage(h, nil)
	put(out, "sum", sum)
	return out, nil
}
