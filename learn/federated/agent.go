package federated

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/federated/mask"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Agent is where data are: it answers requests, and its rows never leave it but for what the
// package comment says. It is safe for use by several goroutines.
type Agent struct {
	c       *Config
	run     string
	member  Member
	columns string // a fingerprint of their names
	x       *table.Table
	class   []float64 // of each row, an index of Config.Classes
	sign    []float64 // -1 and +1, of two classes

	mu       sync.Mutex
	features []linear.Feature // of the domain classifier; nil before they came
	boosted  *boosted         // nil before the domain classifier came
	// domainLoss is that of the agent's rows under the domain classifier; nil before it is asked for.
	domainLoss optim.Objective
	party      *mask.Party
	prepared   boost.Fitter
}

// TableOptions say how an agent's file is to be read.
func (c *Config) TableOptions(m Member) *table.Options {
	o := &table.Options{Target: c.Target, Classes: c.Classes, Task: table.Classification, Unread: c.Drop}
	if column, _, ok := strings.Cut(m.Where, "="); ok {
		o.ID = []string{column}
		o.Unread = slices.DeleteFunc(slices.Clone(c.Drop), func(d string) bool { return d == column })
	}
	return o
}

// Rows returns the rows of a table that was read with TableOptions that are the agent's.
func (c *Config) Rows(m Member, t *table.Table) (*table.Table, error) {
	column, value, ok := strings.Cut(m.Where, "=")
	if !ok {
		return t, nil
	}
	i := slices.IndexFunc(t.ID, func(id table.Text) bool { return id.Name == column })
	if i < 0 {
		return nil, fail(BadTable, m.Name, "%s has no column %q, which its rows are known by", t.Title(), column)
	}
	var rows []int
	for r, v := range t.ID[i].Values {
		if v == value {
			rows = append(rows, r)
		}
	}
	return t.Subset(rows), nil
}

// NewAgent makes the agent of that name over its rows: a table that was read with
// TableOptions, whose columns are numbers. Memory beside the table is some numbers a row.
//
// Errors: UnknownAgent, BadTable, FewRows.
func NewAgent(c *Config, name string, t *table.Table) (*Agent, error) {
	m, ok := c.Member(name)
	if !ok {
		return nil, fail(UnknownAgent, name, "the configuration does not list it")
	}
	if t == nil || t.Rows < c.MinRows {
		n := 0
		if t != nil {
			n = t.Rows
		}
		return nil, fail(FewRows, name, "it has %d rows; %d are the least", n, c.MinRows)
	}
	if t.Rows > mostRows {
		return nil, fail(BadTable, name, "it has %d rows; %d are the most", t.Rows, mostRows)
	}
	x, err := t.Dense(0)
	if err != nil {
		return nil, &Error{Code: BadTable, Agent: name, Err: err}
	}
	if c.Columns != nil {
		picked := *x
		picked.Columns = nil
		for _, n := range c.Columns {
			j := x.Column(n)
			if j < 0 {
				return nil, fail(OtherColumns, name, "%s has no column %q", t.Title(), n)
			}
			picked.Columns = append(picked.Columns, x.Columns[j])
		}
		x = &picked
	}
	if len(x.Columns) == 0 {
		return nil, fail(BadTable, name, "%s has no columns to learn from", t.Title())
	}
	for j := range x.Columns {
		if x.Columns[j].Kind != table.Numeric {
			return nil, fail(BadTable, name, "%s: column %q is of words; agents have columns of numbers", t.Title(), x.Columns[j].Name)
		}
	}
	if len(x.Target) != x.Rows || !slices.Equal(x.Classes, c.Classes) {
		return nil, fail(BadTable, name, "%s has no target %q of the classes %s", t.Title(), c.Target, strings.Join(c.Classes, ", "))
	}
	a := &Agent{c: c, run: c.Run(), member: m, x: x, class: x.Target}
	a.columns = fingerprint(a.Columns())
	if len(c.Classes) == 2 {
		a.sign = make([]float64, x.Rows)
		for i, k := range x.Target {
			a.sign[i] = 2*k - 1
		}
	}
	if c.Secure {
		secret := make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		if a.party, err = mask.NewParty(name, secret); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Name is that of the configuration.
func (a *Agent) Name() string { return a.member.Name }

// Run is the identity of the run that the agent takes part in.
func (a *Agent) Run() string { return a.run }

// NumRows is the number of its rows.
func (a *Agent) NumRows() int { return a.x.Rows }

// Columns are the names of what it learns from.
func (a *Agent) Columns() []string { return a.join().Columns }

// Violations counts the agent's rows that violate a model of one round; see
// KernelModel.Violations.
func (a *Agent) Violations(m *KernelModel) (int, error) { return m.Violations(a.x) }

// What an agent has, as Have tells it.
const (
	hasNothing  = 0
	hasFeatures = 1 // how inputs are standardised
	hasQ        = 2 // the domain classifier; each term of the ensemble counts 1 more
)

// Have tells what the agent knows of the run already, so that it need not be sent again: 0 is
// nothing, as after a restart.
func (a *Agent) Have() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.boosted != nil:
		return hasQ + a.boosted.terms
	case a.features != nil:
		return hasFeatures
	}
	return hasNothing
}

// Answer answers a request. What the agent cannot answer is an answer that says so, with its
// number; the error is for a context that was cancelled, and then there is no answer.
func (a *Agent) Answer(ctx context.Context, request []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := Head{Run: a.run, Agent: a.member.Name, Rows: a.x.Rows, Columns: a.columns}
	m, err := Decode(request)
	if err == nil {
		h.Phase, h.Number, h.Round = m.Phase, m.Number, m.Round
		switch {
		case m.Run != a.run:
			err = fail(OtherRun, "", "the request is of run %s, this agent takes part in %s", m.Run, a.run)
		case m.Agent != a.member.Name:
			err = fail(UnknownAgent, "", "the request is for %q", m.Agent)
		}
	}
	var out *Message
	if err == nil {
		out, err = a.answer(ctx, m, h)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		out = failed(h, err)
	}
	return out.Encode()
}

func (a *Agent) answer(ctx context.Context, m *Message, h Head) (*Message, error) {
	phase, part, secure := strings.Cut(m.Phase, "/")
	if secure {
		return a.secure(ctx, m, h, phase, part)
	}
	switch phase {
	case phaseJoin:
		return newMessage(h, a.join()), nil
	case phasePropose:
		return a.propose(ctx, m, h)
	case phaseTrain:
		return a.train(ctx, m, h)
	case phaseScore:
		return a.scores(m, h)
	case phaseSolve, phaseRepair:
		return a.solve(ctx, m, h)
	case phaseVerify:
		return a.verify(ctx, m, h)
	case phaseLocal:
		return a.local(ctx, m, h)
	}
	if a.party != nil {
		return nil, fail(NoSecureSum, "", "the sum %q is asked for without masks, and the run is secure", m.Phase)
	}
	if err := a.take(m); err != nil {
		return nil, err
	}
	ints, numbers, err := a.sum(phase, m)
	if err != nil {
		return nil, err
	}
	out := newMessage(h, nil)
	if ints != nil {
		put(out, "sum", ints)
	} else {
		put(out, "sum", numbers)
	}
	return out, nil
}

// joined is what an agent says of its table.
type joined struct {
	Columns []string `json:"columns"`
	Domain  string   `json:"domain,omitempty"`
}

// fingerprint tells lists of names apart.
func fingerprint(names []string) string {
	h := fnv.New64a()
	for _, n := range names {
		fmt.Fprintf(h, "%d:%s", len(n), n)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

func (a *Agent) join() *joined {
	j := &joined{Domain: a.member.Domain}
	for i := range a.x.Columns {
		j.Columns = append(j.Columns, a.x.Columns[i].Name)
	}
	return j
}

// sum computes the vector that a phase adds up over agents: whole numbers of boosting, others
// as they are.
func (a *Agent) sum(phase string, m *Message) (ints []int64, numbers []float64, err error) {
	switch phase {
	case phaseMoments:
		return nil, a.moments(), nil
	case phaseGradient:
		v, err := a.gradient(m)
		return nil, v, err
	case phaseMeanQ:
		v, err := a.meanQ()
		return nil, v, err
	case phaseBoost:
		v, err := a.boost(m)
		return v, nil, err
	}
	return nil, nil, fail(Malformed, "", "the request %q is none that this program knows", phase)
}

// moments are for each column the number of values, their sum, and the sum of squares.
func (a *Agent) moments() []float64 {
	d := len(a.x.Columns)
	out := make([]float64, 3*d)
	for j := range a.x.Columns {
		for _, v := range a.x.Columns[j].Values {
			if x := float64(v); x == x {
				out[j]++
				out[d+j] += x
				out[2*d+j] += x * x
			}
		}
	}
	return out
}

// gradient is that of the agent's log losses under a domain classifier, and their sum behind.
func (a *Agent) gradient(m *Message) ([]float64, error) {
	if a.features == nil {
		return nil, fail(LostState, "", "the request counts on features that the agent does not have")
	}
	p := len(a.c.Domains())
	w, err := floats(m, "w", (len(a.features)+1)*p)
	if err != nil {
		return nil, err
	}
	if a.domainLoss == nil {
		y := make([]float64, a.x.Rows)
		for i := range y {
			y[i] = float64(slices.Index(a.c.Domains(), a.member.Domain))
		}
		problem := linear.Problem{X: linear.NewDesign(a.x, a.features, 1), Shift: linear.Shifts(a.features), Loss: score.SoftMax{Classes: p}, Y: y, Workers: 1}
		a.domainLoss = problem.Objective()
	}
	out := make([]float64, len(w)+1)
	out[len(w)], err = a.domainLoss.Eval(w, out[:len(w)])
	return out, err
}

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

// take takes up features, the domain classifier and terms, where the message has them.
func (a *Agent) take(m *Message) error {
	var b struct {
		Features bool   `json:"features"`
		Q        string `json:"q"`
		Terms    *int   `json:"terms"` // that the agent must have had before these
		Slots    int    `json:"slots"`
		Loss     string `json:"loss"`
		Chain    chain  `json:"chain"` // of what it must have had
	}
	if len(m.Body) == 0 {
		return nil
	}
	if err := m.body(&b); err != nil {
		return err
	}
	if b.Features {
		fs, err := getFeatures(m, len(a.x.Columns))
		if err != nil {
			return err
		}
		a.features, a.domainLoss = fs, nil
	}
	if b.Q != "" {
		if err := a.takeQ(m, b.Q, b.Slots, b.Loss); err != nil {
			return err
		}
	}
	if b.Terms == nil {
		return nil
	}
	if a.boosted == nil || *b.Terms != a.boosted.terms || b.Chain != a.boosted.chain {
		a.boosted = nil
		return fail(LostState, "", "the request counts on terms that the agent does not have")
	}
	return a.boosted.add(a, m)
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
	s := &boosted{loss: l, slots: slots, chain: startChain(w, bias), q: make([]float64, n*slots), g: make([]float64, n*slots), f: make([]float64, n), h: make([]float64, n)}
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
		return nil, fail(LostState, "", "the request counts on a domain classifier that the agent does not have")
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
		return nil, fail(WrongShape, "", "%d candidates in %d slots, and there are %d in %d", total, len(b.Counts), len(cands), s.slots)
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
		return nil, fail(LostState, "", "the request counts on a domain classifier that the agent does not have")
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

// putFeatures adds how inputs are standardised.
func putFeatures(m *Message, fs []linear.Feature) {
	column, mean, scale := make([]int32, len(fs)), make([]float64, len(fs)), make([]float64, len(fs))
	for i, f := range fs {
		column[i], mean[i], scale[i] = int32(f.Column), f.Mean, f.Scale
	}
	put(m, "feature/column", column)
	put(m, "feature/mean", mean)
	put(m, "feature/scale", scale)
}

func getFeatures(m *Message, columns int) ([]linear.Feature, error) {
	column, err := get[int32](m, "feature/column")
	if err != nil {
		return nil, err
	}
	mean, err := floats(m, "feature/mean", len(column))
	if err != nil {
		return nil, err
	}
	scale, err := floats(m, "feature/scale", len(column))
	if err != nil {
		return nil, err
	}
	out := make([]linear.Feature, len(column))
	for i := range out {
		if column[i] < 0 || int(column[i]) >= columns {
			return nil, fail(WrongShape, m.Agent, "a feature of column %d of %d", column[i]+1, columns)
		}
		out[i] = linear.Feature{Column: int(column[i]), Level: -1, Mean: mean[i], Scale: scale[i]}
	}
	return out, nil
}

// featuresOf standardises columns by their moments: counts, sums and sums of squares. Columns
// that do not vary give none.
func featuresOf(moments []float64) ([]linear.Feature, error) {
	d := len(moments) / 3
	var out []linear.Feature
	for j := range d {
		n, mean := moments[j], 0.0
		if n > 0 {
			mean = moments[d+j] / n
		}
		variance := 0.0
		if n > 0 {
			variance = moments[2*d+j]/n - mean*mean
		}
		if variance > 1e-12*mean*mean && variance > 0 {
			out = append(out, linear.Feature{Column: j, Level: -1, Mean: mean, Scale: 1 / math.Sqrt(variance)})
		}
	}
	if out == nil {
		return nil, &Error{Code: BadTable, Msg: fmt.Sprintf("all %d columns are the same in every row of every agent", d)}
	}
	return out, nil
}
