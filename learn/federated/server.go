package federated

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/run"
)

// Phases of runs, as messages name them.
const (
	phaseJoin     = "join"     // columns and rows
	phaseMoments  = "moments"  // sums of columns
	phaseGradient = "gradient" // of the domain classifier
	phaseMeanQ    = "mean-q"   // of the domain classifier on rows
	phasePropose  = "propose"  // stumps for the dictionaries
	phaseBoost    = "boost"    // the sums of a round
	phaseTrain    = "train"    // a stump for the present weights
	phaseScore    = "score"    // sums for the stumps of all
	phaseSolve    = "solve"    // critical samples
	phaseVerify   = "verify"   // violations of the model
	phaseRepair   = "repair"   // samples that violate it
	phaseLocal    = "local"    // steps from the mean weights
)

// Result is what a run gave: the model of its algorithm, the others are nil.
type Result struct {
	Multi    *multi.Model    // of multiboost
	Ensemble *boost.Ensemble // of adaboost
	Kernel   *KernelModel    // of oneround
	Average  *AverageModel   // of average

	Report *Report
	Reason run.Reason // for the end of rounds
}

// Write writes the model's file: that of package multi, of package boost, or of this one.
func (r *Result) Write(w io.Writer) error {
	switch {
	case r.Multi != nil:
		return r.Multi.Write(w)
	case r.Ensemble != nil:
		return r.Ensemble.Write(w)
	case r.Kernel != nil:
		return r.Kernel.Write(w)
	}
	return r.Average.Write(w)
}

// Report is what a run cost, and who was missing.
type Report struct {
	Run       string       `json:"run"`
	Exchanges int          `json:"exchanges"`
	Rounds    int          `json:"rounds"`
	Skipped   int          `json:"skipped,omitempty"` // rounds in which no candidate had an edge
	Down      int64        `json:"bytes_down"`
	Up        int64        `json:"bytes_up"`
	Payload   int64        `json:"payload_up"` // arrays of the answers, without headers
	Phases    []PhaseBytes `json:"phases"`
	Missing   []Absence    `json:"missing,omitempty"`

	// Of classification in one round.
	Samples  int `json:"samples,omitempty"`  // of all agents
	Uploaded int `json:"uploaded,omitempty"` // sent, those of repair included
	Kernels  int `json:"kernels,omitempty"`  // in the model
	// of the model's constraints: of the first model, and after each repair; none asked is absent
	Violations []int    `json:"violations,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
}

// PhaseBytes is what the exchanges of one phase cost.
type PhaseBytes struct {
	Phase     string `json:"phase"`
	Exchanges int    `json:"exchanges"`
	Down      int64  `json:"bytes_down"`
	Up        int64  `json:"bytes_up"`
}

// Absence is an exchange with answers missing.
type Absence struct {
	Round  int               `json:"round"`
	Phase  string            `json:"phase"`
	Agents map[string]string `json:"agents"` // with the reason
}

// Train runs the server's side of a configuration to its end over agents that x reaches, and
// returns the model. Exchanges in j are not repeated. c.Stop may set fewer rounds than the
// configuration.
//
// Every round is a row for c's recorder. The bits of the model depend only on the answers. With the
// same agents taking part they are the same in one process and over a network, for any number of
// workers, and for any interruptions.
//
// Errors: *Error, *run.InterruptedError (with what the rounds so far gave), and those of x.
func Train(cfg *Config, j *Journal, c *run.Control) (*Result, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	s := &server{c: cfg, run: cfg.Run(), j: j, control: c, ctx: c.Context(), rows: map[string]int{},
		rep: &Report{}}
	s.rep.Run = s.run
	rounds := cfg.MultiBoost.Rounds
	if cfg.Algorithm == Average {
		rounds = cfg.Average.Rounds
	}
	s.loop = run.Begin("federated", c, rounds)
	r := &Result{Report: s.rep}
	var err error
	switch cfg.Algorithm {
	case MultiBoost:
		r.Multi, err = s.multiboost()
	case AdaBoost:
		r.Ensemble, err = s.adaboost()
	case OneRound:
		r.Kernel, err = s.oneround()
	default:
		r.Average, err = s.average()
	}
	s.rep.Rounds, r.Reason = s.loop.Steps(), s.reason
	if r.Multi == nil && r.Ensemble == nil && r.Kernel == nil && r.Average == nil {
		return nil, err
	}
	return r, err
}

// server is the server's side of a run.
type server struct {
	c       *Config
	run     string
	j       *Journal
	control *run.Control
	ctx     context.Context
	loop    *run.Run
	rep     *Report
	reason  run.Reason

	exchanges int
	columns   []string
	names     string         // a fingerprint of columns
	rows      map[string]int // by agent
}

// slack is how much a message may be larger than its arrays: names and padding.
const slack = 1 << 16

// ask makes one exchange. Answers come sorted by agent, decoded.
func (s *server) ask(c Call) ([]*Message, error) {
	s.exchanges++
	c.Number = s.exchanges
	slices.Sort(c.To)
	request := c.Request
	c.Request = func(name string, have int) (*Message, error) {
		m, err := request(name, have)
		if err == nil {
			m.Run, m.Phase, m.Number, m.Round, m.Agent = s.run, c.Phase, c.Number, c.Round, name
		}
		return m, err
	}
	accept := c.Accept
	c.Accept = func(m *Message) error {
		if m.Run != s.run {
			return fail(OtherRun, m.Agent, "the answer is of run %s, and this is %s", m.Run, s.run)
		}
		if n, ok := s.rows[m.Agent]; m.Rows < s.c.MinRows || m.Rows > mostRows {
			return fail(FewRows, m.Agent, "it has %d rows; %d to %d are possible", m.Rows, s.c.MinRows,
				mostRows)
		} else if ok && n != m.Rows {
			return fail(WrongShape, m.Agent, "it had %d rows, and has %d now", n, m.Rows)
		}
		if s.columns != nil && m.Columns != s.names && c.Phase != phaseJoin {
			return fail(OtherColumns, m.Agent, "its columns are not those of the run")
		}
		return accept(m)
	}
	a, err := s.j.ask(s.ctx, s.run, &c)
	if err != nil {
		return nil, err
	}
	if err := s.c.quorum(&c, a); err != nil {
		return nil, err
	}
	var out []*Message
	for _, name := range slices.Sorted(maps.Keys(a.By)) {
		m, err := Decode(a.By[name])
		if err != nil {
			return nil, err // it was decoded before
		}
		out = append(out, m)
		s.rows[m.Agent] = m.Rows
		s.rep.Payload += payloadOf(m)
	}
	s.count(&c, a)
	return out, nil
}

// payloadOf is the bytes of a message's arrays.
func payloadOf(m *Message) int64 { return m.c.ArrayBytes() }

func (s *server) count(c *Call, a *Answers) {
	s.rep.Exchanges++
	s.rep.Down, s.rep.Up = s.rep.Down+a.Down, s.rep.Up+a.Up
	i := slices.IndexFunc(s.rep.Phases, func(p PhaseBytes) bool { return p.Phase == c.Phase })
	if i < 0 {
		i = len(s.rep.Phases)
		s.rep.Phases = append(s.rep.Phases, PhaseBytes{Phase: c.Phase})
	}
	p := &s.rep.Phases[i]
	p.Exchanges, p.Down, p.Up = p.Exchanges+1, p.Down+a.Down, p.Up+a.Up
	if len(a.Missing) > 0 {
		s.rep.Missing = append(s.rep.Missing, Absence{c.Round, c.Phase, a.Missing})
	}
}

func (s *server) warn(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	s.rep.Warnings = append(s.rep.Warnings, text)
	s.control.Warning(text)
}

// byDomain lists the agents of each domain, sorted.
func (s *server) byDomain() [][]string {
	var out [][]string
	for _, k := range s.c.Domains() {
		out = append(out, s.c.of(k))
	}
	return out
}

// join asks all agents for columns and rows. Agents whose columns are not those of the most
// are an error, since a run without them would be another one.
func (s *server) join() error {
	answers, err := s.ask(Call{Phase: phaseJoin, To: s.c.names(), Groups: s.byDomain(), Limit: 64 << 20,
		Request: func(string, int) (*Message, error) { return newMessage(Head{}, nil), nil },
		Accept: func(m *Message) error {
			var j joined
			if err := m.body(&j); err != nil {
				return err
			}
			member, _ := s.c.Member(m.Agent)
			switch {
			case j.Domain != member.Domain:
				return fail(OtherDomain, m.Agent, "it speaks for %q, the configuration says %q", j.Domain,
					member.Domain)
			case len(j.Columns) == 0:
				return fail(BadTable, m.Agent, "it has no columns")
			}
			return nil
		}})
	if err != nil {
		return err
	}
	for _, m := range answers {
		var j joined
		if err := m.body(&j); err != nil {
			return err
		}
		s.rep.Samples += m.Rows
		if s.columns == nil {
			s.columns, s.names = j.Columns, fingerprint(j.Columns)
		} else if d := difference(s.columns, j.Columns); d != "" {
			return fail(OtherColumns, m.Agent, "its columns are not those of agent %s: %s",
				answers[0].Agent, d)
		}
	}
	if s.rep.Samples > mostRows {
		s.warn("%d rows: sums in fixed point have room for %d rows of the largest loss", s.rep.Samples,
			mostRows)
	}
	return nil
}

// difference says in what two lists of columns differ, "" if in nothing.
func difference(want, have []string) string {
	for _, c := range want {
		if !slices.Contains(have, c) {
			return fmt.Sprintf("it lacks %q", c)
		}
	}
	for _, c := range have {
		if !slices.Contains(want, c) {
			return fmt.Sprintf("it has %q", c)
		}
	}
	for i := range want {
		if want[i] != have[i] {
			return fmt.Sprintf("column %d is %q there and %q here", i+1, want[i], have[i])
		}
	}
	return ""
}

// schema is that of models over the agents' columns.
func (s *server) schema() boost.Schema {
	out := boost.Schema{Target: s.c.Target, Classes: slices.Clone(s.c.Classes)}
	for _, c := range s.columns {
		out.Columns = append(out.Columns, boost.Column{Name: c})
	}
	return out
}

// sums are vectors that were added up over the agents of each group.
type sums struct {
	total [][]float64 // by group; nil where nobody answered
	rows  []float64   // of the agents that answered, by group
	each  []*Message  // the answers themselves; nil where they are under masks
}

// sumCall is an exchange whose answers are added up.
type sumCall struct {
	phase   string
	round   int
	groups  [][]string
	dim     func(group int) int
	whole   bool // vectors are whole numbers, the first not negative
	rows    bool // the second is the agent's number of rows
	request func(name string, have int) (*Message, error)
}

// sum makes an exchange, under masks if the run is secure, and adds up the answers.
func (s *server) sum(c sumCall) (*sums, error) {
	if s.c.Secure {
		return s.secureSum(c)
	}
	group := map[string]int{}
	var to []string
	most := 0
	for k, g := range c.groups {
		for _, n := range g {
			group[n] = k
		}
		to = append(to, g...)
		most = max(most, c.dim(k))
	}
	answers, err := s.ask(Call{Phase: c.phase, Round: c.round, To: to, Groups: c.groups,
		Limit: int64(8*most) + slack, Request: c.request,
		Accept: func(m *Message) error {
			v, err := acceptSum(m, c.dim(group[m.Agent]), c.whole)
			if err == nil && c.rows && v[1] != int64(m.Rows) {
				err = fail(WrongShape, m.Agent, "it counted %d rows, and has %d", v[1], m.Rows)
			}
			return err
		}})
	if err != nil {
		return nil, err
	}
	out := &sums{total: make([][]float64, len(c.groups)), rows: make([]float64, len(c.groups)), each: answers}
	ints := make([][]int64, len(c.groups))
	for _, m := range answers {
		k := group[m.Agent]
		out.rows[k] += float64(s.rows[m.Agent])
		if out.total[k] == nil {
			out.total[k], ints[k] = make([]float64, c.dim(k)), make([]int64, c.dim(k))
		}
		if c.whole {
			v, err := get[int64](m, "sum")
			if err != nil {
				return nil, err
			}
			for i, x := range v {
				ints[k][i] += x
			}
			continue
		}
		v, err := get[float64](m, "sum")
		if err != nil {
			return nil, err
		}
		for i, x := range v {
			out.total[k][i] += x
		}
	}
	if c.whole {
		for k, v := range ints {
			for i, x := range v {
				out.total[k][i] = float64(x)
			}
		}
	}
	return out, nil
}

func acceptSum(m *Message, dim int, whole bool) ([]int64, error) {
	if !whole {
		_, err := floats(m, "sum", dim)
		return nil, err
	}
	v, err := get[int64](m, "sum", dim)
	if err != nil {
		return nil, err
	}
	for i, x := range v {
		if x < -mostWhole || x > mostWhole || i == 0 && x < 0 {
			return nil, fail(NotFinite, m.Agent, "number %d of the sum is %d, out of range", i+1, x)
		}
	}
	return v, nil
}

// mostWhole is the largest sum of an agent's rows in fixed point.
const mostWhole = 1 << 62

// chain reports whether two sides have the same terms.
type chain uint64

func (c chain) add(words ...uint64) chain {
	h := fnv.New64a()
	var b [8]byte
	for _, w := range append([]uint64{uint64(c)}, words...) {
		binary.LittleEndian.PutUint64(b[:], w)
		h.Write(b[:])
	}
	return chain(h.Sum64())
}

func (c chain) term(t term) chain {
	flags := uint64(0)
	if t.stump.MissingLeft {
		flags = 1
	}
	if t.stump.Negated {
		flags |= 2
	}
	return c.add(uint64(t.slot), uint64(t.stump.Column), math.Float64bits(t.stump.Threshold), flags,
		math.Float64bits(t.alpha))
}

func startChain(lists ...[]float64) chain {
	c := chain(0)
	for _, l := range lists {
		c = c.add(uint64(len(l)))
		for _, v := range l {
			c = c.add(math.Float64bits(v))
		}
	}
	return c
}
