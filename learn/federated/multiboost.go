package federated

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// tieTolerance is the relative difference up to which domains share the largest loss.
const tieTolerance = 1e-9

// term is one of the ensemble.
type term struct {
	slot  int
	stump Stump
	alpha float64
	round int
}

// booster is the server's side of boosting.
type booster struct {
	*server
	o        BoostOptions
	loss     boost.Loss
	p, slots int
	domains  [][]string // agents of each
	features []linear.Feature
	qKind    string
	qs       []agentQ       // domain classifiers of agents; one, or one for each fold
	foldOf   map[string]int // of agents, where there are folds
	w, bias  []float64      // of the model's domain classifier
	meanQ    [][]float64
	terms    []term
}

// agentQ is a domain classifier of agents, with the check sums of it and the terms.
type agentQ struct {
	w, bias []float64
	chains  []chain // before each term, and after the last
}

func newAgentQ(w, bias []float64) agentQ { return agentQ{w, bias, []chain{startChain(w, bias)}} }

func (s *server) booster() (*booster, error) {
	b := &booster{server: s, o: s.c.MultiBoost, p: len(s.c.Domains()), domains: s.byDomain(),
		qKind: "uniform"}
	var err error
	if b.loss, err = score.Parse(b.o.Loss); err != nil {
		return nil, &Error{Code: BadConfig, Err: err}
	}
	b.slots = b.p
	if b.o.Shared && b.p > 1 {
		b.slots++
	}
	return b, s.join()
}

// multiboost is FEDMULTIBOOST of figure 4.2.
func (s *server) multiboost() (*multi.Model, error) {
	b, err := s.booster()
	if err != nil {
		return nil, err
	}
	if b.p > 1 && b.o.Q == "federated" {
		if err := b.fitQ(); err != nil {
			return nil, err
		}
	}
	if b.qs == nil {
		b.qs = []agentQ{newAgentQ(b.w, b.bias)}
	}
	if err := b.measureQ(); err != nil {
		return nil, err
	}
	dict, err := b.propose()
	if err != nil {
		return nil, err
	}
	b.reason, err = b.loop.Loop(func() (*run.Row, run.Reason, error) { return b.round(dict) }, nil)
	var interrupted *run.InterruptedError
	if err != nil && !errors.As(err, &interrupted) {
		return nil, err
	}
	m, e := b.model()
	if e != nil {
		return nil, e
	}
	return m, err
}

// draw returns n of the list, drawn without replacement, in their order; all for n = None or
// more than there are.
func draw[T any](rng *rand.Rand, list []T, n int) []T {
	n = int(learner.Amount(float64(n)))
	if n == 0 || n >= len(list) {
		return list
	}
	at := rng.Perm(len(list))[:n]
	slices.Sort(at)
	out := make([]T, n)
	for i, k := range at {
		out[i] = list[k]
	}
	return out
}

// stateRequest adds what an agent lacks: features, domain classifier, terms.
func (b *booster) stateRequest(name string, have int, more map[string]any) (*Message, error) {
	q := &b.qs[b.foldOf[name]]
	known := max(have-hasQ, 0)
	whole := have < hasQ || known > len(b.terms)
	if whole {
		known = 0
	}
	body := map[string]any{"terms": known, "chain": q.chains[known]}
	if whole {
		body["q"], body["slots"], body["loss"] = b.qKind, b.slots, b.loss.Name()
		body["features"] = b.features != nil && (have < hasFeatures || known == 0)
	}
	for k, v := range more {
		body[k] = v
	}
	m := newMessage(Head{}, body)
	if whole && b.features != nil {
		putFeatures(m, b.features)
	}
	if whole && b.qKind == "logistic" {
		put(m, "q/w", q.w)
		put(m, "q/bias", q.bias)
	}
	list := b.terms[known:]
	stumps, slot, alpha := make([]Stump, len(list)), make([]int32, len(list)), make([]float64, len(list))
	for i, t := range list {
		stumps[i], slot[i], alpha[i] = t.stump, int32(t.slot), t.alpha
	}
	putStumps(m, "term", stumps)
	put(m, "term/slot", slot)
	put(m, "term/weight", alpha)
	return m, nil
}

// take adds a term.
func (b *booster) take(t term) {
	b.terms = append(b.terms, t)
	for k := range b.qs {
		q := &b.qs[k]
		q.chains = append(q.chains, q.chains[len(q.chains)-1].term(t))
	}
}

// propose asks every agent for stumps, and makes the dictionary of each slot: of a domain
// what its agents proposed, of the shared slot all, without repetitions.
func (b *booster) propose() ([][]Stump, error) {
	d := len(b.columns)
	answers, err := b.ask(Call{Phase: phasePropose, To: b.c.names(), Groups: b.domains,
		Limit: int64(b.o.Proposals*stumpBytes) + slack,
		Request: func(string, int) (*Message, error) {
			return newMessage(Head{}, map[string]int{"stumps": b.o.Proposals}), nil
		},
		Accept: func(m *Message) error { _, err := getStumps(m, "stump", d, b.o.Proposals); return err }})
	if err != nil {
		return nil, err
	}
	out := make([][]Stump, b.slots)
	domains := b.c.Domains()
	for _, m := range answers {
		list, err := getStumps(m, "stump", d, b.o.Proposals)
		if err != nil {
			return nil, err
		}
		member, _ := b.c.Member(m.Agent)
		k := slices.Index(domains, member.Domain)
		for _, s := range list {
			out[k] = append(out[k], s.positive())
			if b.slots > b.p {
				out[b.p] = append(out[b.p], s.positive())
			}
		}
	}
	for k := range out {
		out[k] = distinct(out[k])
	}
	return out, nil
}

// distinct sorts stumps and leaves each once.
func distinct(list []Stump) []Stump {
	slices.SortFunc(list, func(a, b Stump) int {
		missing := func(s Stump) int {
			if s.MissingLeft {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Threshold, b.Threshold),
			missing(a)-missing(b))
	})
	return slices.Compact(list)
}

// round is one of figure 4.2: agents and candidates are drawn, sums asked for, and the
// candidate of the largest score gets the step of the round.
func (b *booster) round(dict [][]Stump) (*run.Row, run.Reason, error) {
	t := b.loop.Steps() + 1
	rng := rand.New(rand.NewPCG(b.c.Seed, uint64(t)))
	agents := make([][]string, b.p)
	domainOf := map[string]int{}
	for k, list := range b.domains {
		agents[k] = draw(rng, list, b.o.Clients)
		for _, n := range agents[k] {
			domainOf[n] = k
		}
	}
	cands := make([][]Stump, b.slots)
	for k := range cands {
		cands[k] = draw(rng, dict[k], b.o.Candidates)
	}
	sees := func(k, slot int) bool { return slot == k || b.o.Objective == "softmax" }
	counts := func(k int) []int {
		out := make([]int, b.slots)
		for slot := range cands {
			if sees(k, slot) {
				out[slot] = len(cands[slot])
			}
		}
		return out
	}
	dim := func(k int) int {
		n := 2
		for _, c := range counts(k) {
			n += c
		}
		return n
	}
	got, err := b.sum(sumCall{phase: phaseBoost, round: t, groups: agents, dim: dim, whole: true,
		rows: true, request: func(name string, have int) (*Message, error) {
			k := domainOf[name]
			m, err := b.stateRequest(name, have, map[string]any{"counts": counts(k)})
			if err != nil {
				return nil, err
			}
			var list []Stump
			for slot := range cands {
				if sees(k, slot) {
					list = append(list, cands[slot]...)
				}
			}
			putStumps(m, "candidate", list)
			return m, nil
		}})
	if err != nil {
		return nil, "", err
	}
	f, v, err := b.means(got, dim)
	if err != nil {
		return nil, "", err
	}
	best, top := b.choose(f, v, cands, sees)
	row := &run.Row{Objective: slices.Max(f)}
	if best == nil {
		b.rep.Skipped++
		return row, "", nil
	}
	best.alpha, best.round = b.o.Step/math.Sqrt(float64(t)), t-1
	b.take(*best)
	row.Step = best.alpha
	row.Detail = &boostRow{slot: best.slot, score: top}
	return row, "", nil
}

// boostRow is what a round adds to its row.
type boostRow struct {
	slot  int
	score float64
}

// Fields implements run.Detail.
func (r *boostRow) Fields() []run.Field {
	return []run.Field{{Name: "slot", Value: float64(r.slot + 1)}, {Name: "score", Value: r.score}}
}

// String implements run.Detail.
func (r *boostRow) String() string { return fmt.Sprintf("slot %d, score %.4g", r.slot+1, r.score) }

// means turns sums into the losses of domains, NaN where nobody answered, and the mean of
// each candidate by domain.
func (b *booster) means(got *sums, dim func(k int) int) (f []float64, v [][]float64, err error) {
	f, v = make([]float64, b.p), make([][]float64, b.p)
	for k, total := range got.total {
		f[k] = math.NaN()
		if total == nil {
			continue
		}
		if total[1] != got.rows[k] {
			return nil, nil, fail(WrongShape, "", "the agents of domain %d counted %v rows, they have %v",
				k+1, total[1], got.rows[k])
		}
		n := math.Ldexp(total[1], boostBits)
		v[k] = make([]float64, dim(k)-2)
		f[k] = total[0] / n
		for i := range v[k] {
			v[k][i] = total[2+i] / n
		}
	}
	if !b.o.ClientMean {
		return f, v, nil
	}
	// Line 9 of the figure: the mean of the agents' means.
	number := make([]float64, b.p)
	for k := range f {
		f[k] = math.NaN()
		clear(v[k])
	}
	domains := b.c.Domains()
	for _, m := range got.each {
		member, _ := b.c.Member(m.Agent)
		k := slices.Index(domains, member.Domain)
		sum, err := get[int64](m, "sum")
		if err != nil {
			return nil, nil, err
		}
		n := math.Ldexp(float64(sum[1]), boostBits)
		if number[k]++; number[k] == 1 {
			f[k] = 0
		}
		f[k] += float64(sum[0]) / n
		for i := range v[k] {
			v[k][i] += float64(sum[2+i]) / n
		}
	}
	for k, n := range number {
		if n > 0 {
			f[k] /= n
			for i := range v[k] {
				v[k][i] /= n
			}
		}
	}
	return f, v, nil
}

// choose returns the candidate of the largest score; nil where none is above 0. Of equals, up
// to rounding, it is the first slot's first.
func (b *booster) choose(f []float64, v [][]float64, cands [][]Stump,
	sees func(k, slot int) bool) (*term, float64) {
	top := math.Inf(-1)
	for _, x := range f {
		if x == x {
			top = max(top, x)
		}
	}
	share := make([]float64, b.p) // of each domain in the score
	for k, x := range f {
		switch {
		case x != x:
		case b.o.Objective == "max":
			if x >= top-tieTolerance*math.Abs(top) {
				share[k] = 1
			}
		default:
			mu := b.o.Mu
			if !b.o.FixedMu {
				mu /= top
			}
			share[k] = math.Exp(mu * (x - top))
		}
	}
	if b.o.Objective == "softmax" {
		sum := 0.0
		for _, x := range share {
			sum += x
		}
		for k := range share {
			share[k] /= sum
		}
	}
	var best *term
	most := 0.0
	offset := make([]int, b.p)
	for slot := range cands {
		for r, c := range cands[slot] {
			s := 0.0
			for k := range share {
				if share[k] > 0 && sees(k, slot) {
					s += share[k] * v[k][offset[k]+r]
				}
			}
			if better(math.Abs(s), most) {
				most = math.Abs(s)
				if s < 0 {
					c.Negated = !c.Negated
				}
				best = &term{slot: slot, stump: c}
			}
		}
		for k := range offset {
			if sees(k, slot) {
				offset[k] += len(cands[slot])
			}
		}
	}
	return best, most
}

// model returns the ensemble as package multi holds it.
func (b *booster) model() (*multi.Model, error) {
	settings, err := json.Marshal(struct {
		Federated string `json:"federated"`
		BoostOptions
	}{b.run, b.o})
	if err != nil {
		return nil, err
	}
	m := &multi.Model{Settings: string(settings), Loss: b.loss, Schema: b.schema(), Sources: b.c.Domains(),
		Shared: b.slots > b.p, Trained: b.loop.Steps(),
		Warnings: b.rep.Warnings, MeanQ: b.meanQ}
	m.Schema.Source = "domain"
	for _, list := range b.domains {
		n := 0
		for _, a := range list {
			n += b.rows[a]
		}
		m.Rows = append(m.Rows, n)
	}
	m.Q = multi.Uniform{P: b.p}
	if b.qKind == "logistic" {
		m.Q, m.QLambda = multi.NewLogistic(b.features, b.w, b.bias, qFloor), b.o.QL2
		m.CrossFitted = b.foldOf != nil
	}
	for slot := range b.slots {
		e := &boost.Ensemble{Algorithm: "multiboost-slot", Loss: b.loss, Schema: m.Schema,
			Start: []float64{0}}
		for _, t := range b.terms {
			if t.slot == slot {
				e.Terms = append(e.Terms, boost.Term{Weight: t.alpha, Predictor: t.stump.Tree(), Family: -1,
					Round: t.round})
			}
		}
		m.Slots, m.Learners = append(m.Slots, e), append(m.Learners, Dictionary{}.Name())
	}
	return m, nil
}
