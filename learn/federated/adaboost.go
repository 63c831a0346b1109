package federated

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/run"
)

// adaboost is the baseline FEDADABOOST-all, or with Only FEDADABOOST-k. In every round the
// agents drawn train a stump each on their own rows by the weights of the ensemble so far; the
// server sends all stumps back, and the one of least weighted error, over the rows of all of
// them, gets the step of the round.
func (s *server) adaboost() (*boost.Ensemble, error) {
	b, err := s.booster()
	if err != nil {
		return nil, err
	}
	b.slots, b.qKind = b.p+1, "uniform" // all terms are in the slot with Q = 1
	b.qs = []agentQ{newAgentQ(nil, nil)}
	var all []string
	for k, list := range b.domains {
		if b.o.Only == "" || b.o.Only == s.c.Domains()[k] {
			all = append(all, list...)
		}
	}
	b.reason, err = b.loop.Loop(func() (*run.Row, run.Reason, error) { return b.adaRound(all) }, nil)
	var interrupted *run.InterruptedError
	if err != nil && !errors.As(err, &interrupted) {
		return nil, err
	}
	settings, e := json.Marshal(struct {
		Federated string `json:"federated"`
		BoostOptions
	}{b.run, b.o})
	if e != nil {
		return nil, e
	}
	m := &boost.Ensemble{Algorithm: "federated adaboost", Settings: string(settings), Loss: b.loss,
		Schema: b.schema(), Start: []float64{0}, Rows: s.rep.Samples}
	for _, t := range b.terms {
		m.Terms = append(m.Terms, boost.Term{Weight: t.alpha, Predictor: t.stump.Tree(), Family: -1,
			Round: t.round})
	}
	return m, err
}

func (b *booster) adaRound(all []string) (*run.Row, run.Reason, error) {
	t := b.loop.Steps() + 1
	agents := draw(rand.New(rand.NewPCG(b.c.Seed, uint64(t))), all, b.o.Clients)
	d := len(b.columns)
	trained, err := b.ask(Call{Phase: phaseTrain, Round: t, To: slices.Clone(agents),
		Limit:   stumpBytes + slack,
		Request: func(name string, have int) (*Message, error) { return b.stateRequest(name, have, nil) },
		Accept: func(m *Message) error {
			list, err := getStumps(m, "stump", d, 1)
			if err == nil && len(list) != 1 {
				err = fail(WrongShape, m.Agent, "%d stumps", len(list))
			}
			return err
		}})
	if err != nil {
		return nil, "", err
	}
	var cands []Stump
	for _, m := range trained {
		list, err := getStumps(m, "stump", d, 1)
		if err != nil {
			return nil, "", err
		}
		cands = append(cands, list[0].positive())
	}
	cands = distinct(cands)
	got, err := b.sum(sumCall{phase: phaseScore, round: t, groups: [][]string{agents},
		dim: func(int) int { return 1 + len(cands) }, whole: true,
		request: func(name string, have int) (*Message, error) {
			m, err := b.stateRequest(name, have, nil)
			if err == nil {
				putStumps(m, "candidate", cands)
			}
			return m, err
		}})
	if err != nil {
		return nil, "", err
	}
	total := got.total[0]
	row := &run.Row{Objective: math.Ldexp(total[0], -boostBits) / max(got.rows[0], 1)}
	best, edge := -1, 0.0
	for k := range cands {
		if e := total[1+k]; better(math.Abs(e), math.Abs(edge)) {
			best, edge = k, e
		}
	}
	if best < 0 || total[0] <= 0 {
		b.rep.Skipped++
		return row, "", nil
	}
	c := cands[best]
	if edge < 0 {
		c.Negated = true
	}
	row.Step = b.o.Step / math.Sqrt(float64(t))
	if b.o.Closed {
		eps := min(max((1-math.Abs(edge)/total[0])/2, 1e-12), 0.5)
		row.Step = min(0.5*math.Log((1-eps)/eps), mostClosed)
	}
	b.take(term{slot: b.p, stump: c, alpha: row.Step, round: t - 1})
	return row, "", nil
}

// mostClosed is the longest closed step.
const mostClosed = 5
