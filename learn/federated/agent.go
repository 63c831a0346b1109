package federated

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/federated/mask"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
)

// Agent holds data and answers requests. Its rows never leave it, except as the package comment
// says. It is safe for use by several goroutines.
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
	// domainLoss is that of the agent's rows under the domain classifier; nil before it is asked
	// for.
	domainLoss optim.Objective
	party      *mask.Party
	prepared   boost.Fitter
}

// TableOptions say how to read an agent's file.
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
		return nil, fail(BadTable, m.Name, "%s has no column %q, which its rows are known by", t.Title(),
			column)
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
	if x.Weight != nil {
		return nil, fail(BadTable, name, "%s has row weights; all rows of agents count alike", t.Title())
	}
	for j := range x.Columns {
		if x.Columns[j].Kind != table.Numeric {
			return nil, fail(BadTable, name, "%s: column %q is of words; agents have columns of numbers",
				t.Title(), x.Columns[j].Name)
		}
	}
	if len(x.Target) != x.Rows || !slices.Equal(x.Classes, c.Classes) {
		return nil, fail(BadTable, name, "%s has no target %q of the classes %s", t.Title(), c.Target,
			strings.Join(c.Classes, ", "))
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

// The state of an agent, as reported in Have.
const (
	hasNothing  = 0
	hasFeatures = 1 // how inputs are standardised
	hasQ        = 2 // the domain classifier; each term of the ensemble counts 1 more
)

// Have is the part of the run that the agent has already, so that it is not sent again; 0 is
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

// Answer answers a request. A request that the agent cannot answer gives an answer that says so,
// with an error number. An error is returned only for a cancelled context, and then there is no
// answer.
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
		return nil, fail(NoSecureSum, "", "the sum %q is asked for without masks, and the run is secure",
			m.Phase)
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

// joined is an agent's description of its table.
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
