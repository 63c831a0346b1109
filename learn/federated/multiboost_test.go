package federated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// dictionaries are those that agents propose.
func dictionaries(t *testing.T, c *Config, x Exchange) [][]Stump {
	t.Helper()
	b, err := serverOf(c, x).booster()
	if err != nil {
		t.Fatal(err)
	}
	dict, err := b.propose()
	if err != nil {
		t.Fatal(err)
	}
	return dict
}

// termsOf are a model's terms, by slot.
func termsOf(t *testing.T, m *multi.Model) [][]term {
	t.Helper()
	out := make([][]term, len(m.Slots))
	for s, e := range m.Slots {
		for _, x := range e.Terms {
			stump, err := StumpOf(x.Predictor)
			if err != nil {
				t.Fatal(err)
			}
			out[s] = append(out[s], term{s, stump, x.Weight, x.Round})
		}
	}
	return out
}

// With all agents and all candidates taking part, and the same steps, the federated run is the
// centralised one, bit for bit: maximum and softmax, with shared slot and without.
func TestEqualsCentralised(t *testing.T) {
	x, c, of := people(3, 240, 6, 5)
	for _, o := range []struct {
		name    string
		fed     BoostOptions
		central multi.Options
	}{
		{"max", BoostOptions{Objective: "max"}, *multi.Thesis(multi.SqrtStep)},
		{"softmax", BoostOptions{Objective: "softmax", Mu: 3, FixedMu: true},
			multi.Options{Mu: 3, FixedMu: true, Slots: multi.DomainsOnly}},
		{"relative softmax", BoostOptions{Objective: "softmax", Mu: 4, Loss: "logistic"},
			multi.Options{Mu: 4, Slots: multi.DomainsOnly, Loss: boost.Logistic{}}},
		{"shared", BoostOptions{Objective: "softmax", Mu: 4, Shared: true}, multi.Options{Mu: 4}},
	} {
		o.fed.Rounds, o.fed.Clients, o.fed.Candidates, o.fed.Proposals = 60, learner.None, learner.None, 6
		c.MultiBoost = o.fed
		agents := local(t, c, x, of)
		m := train(t, c, agents).Multi
		for _, d := range dictionaries(t, c, local(t, c, x, of)) {
			o.central.Learners = append(o.central.Learners, Dictionary(d))
		}
		o.central.Rounds, o.central.Step, o.central.Round, o.central.Score, o.central.Q = 60,
			multi.SqrtStep, multi.Greedy, multi.DerivativeScore, m.Q
		data, err := multi.NewData(x, boost.Exponential{})
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := multi.Train(data, &o.central, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(termsOf(t, want), termsOf(t, m), cmp.AllowUnexported(term{})); d != "" {
			t.Errorf("%s: terms (-centralised +federated):\n%s", o.name, d)
		}
		a, err := want.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a, b) {
			t.Errorf("%s: scores differ", o.name)
		}
		e, err := multi.ErrorRates(data, b, nil)
		if err != nil || e.Agnostic > 0.2 {
			t.Errorf("%s: errors %+v, %v", o.name, e, err)
		}
	}
}

// However rows are dealt to agents, the model is the same: sums are of rows in fixed point.
// The dictionary and Q, which agents do make of their own rows, are kept.
func TestAnyPartition(t *testing.T) {
	x, c, of := people(5, 200, 2, 4)
	c.MultiBoost = BoostOptions{Objective: "max", Rounds: 30, Clients: learner.None,
		Candidates: learner.None, Q: "uniform"}
	dict := dictionaries(t, c, local(t, c, x, of))
	var first [][]term
	for part := range 4 {
		_, d, _ := people(5, 200, 2, 4)
		d.MultiBoost, d.MinRows = c.MultiBoost, 1
		rng := rand.New(rand.NewPCG(uint64(part), 9))
		d.Agents = nil
		dealt := map[string][]int{}
		for i := range x.Rows {
			k := x.Sources[x.Source[i]]
			name := fmt.Sprintf("%s-%d", k, rng.IntN(1+3*part))
			if dealt[name] == nil {
				d.Agents = append(d.Agents, Member{Name: name, Domain: k})
			}
			dealt[name] = append(dealt[name], i)
		}
		l := local(t, d, x, dealt)
		b, err := serverOf(d, l).booster()
		if err != nil {
			t.Fatal(err)
		}
		b.qs = []agentQ{newAgentQ(nil, nil)}
		for range d.MultiBoost.Rounds {
			if _, err := b.loop.Next(func() (*run.Row, run.Reason, error) { return b.round(dict) }, nil); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.model()
		if err != nil {
			t.Fatal(err)
		}
		got := termsOf(t, m)
		if first == nil {
			first = got
		} else if d := cmp.Diff(first, got, cmp.AllowUnexported(term{})); d != "" {
			t.Errorf("partition %d into %d agents:\n%s", part, len(dealt), d)
		}
	}
}

// Bytes are those of the formula: s+2 numbers of eight bytes up, by agent and round; candidates and
// new terms of a fixed size each down. And nothing of a row is in them.
func TestBytes(t *testing.T) {
	x, c, of := people(7, 160, 4, 4)
	for i := range x.Rows { // values that can be found in bytes
		for j := range x.Columns {
			x.Columns[j].Values[i] = float32(math.Float32frombits(
				math.Float32bits(x.Columns[j].Values[i])&^0xff | 0xa5))
		}
	}
	const s, r = 7, 3
	c.MultiBoost = BoostOptions{Objective: "max", Rounds: 20, Clients: r, Candidates: s}
	spy := &spy{Local: local(t, c, x, of)}
	res := train(t, c, spy)
	if spy.rounds[phaseBoost] != 20 || len(spy.up[phaseBoost]) != 20*2*r {
		t.Fatalf("%d exchanges, %d answers", spy.rounds[phaseBoost], len(spy.up[phaseBoost]))
	}
	terms := map[string]int{}
	done := 0
	for i, m := range spy.up[phaseBoost] {
		if got := payloadOf(m); got != 8*(s+2) {
			t.Errorf("an answer has %d bytes of arrays, want %d", got, 8*(s+2))
		}
		if names := m.c.Names(); len(names) != 1 || names[0] != "sum" || len(m.Body) != 0 {
			t.Errorf("an answer has %q and the body %q", names, m.Body)
		}
		d := spy.down[phaseBoost][i]
		done = d.Round - 1 // terms before this round, where no round was skipped
		n := done - terms[d.Agent]
		want := int64(s*stumpBytes + n*(stumpBytes+4+8))
		if got := payloadOf(d); got != want {
			t.Errorf("round %d: a request to %s has %d bytes of arrays, want %d for %d new terms", d.Round,
				d.Agent, got, want, n)
		}
		terms[d.Agent] = done
	}
	if res.Report.Skipped != 0 || res.Multi.Terms() != 20 {
		t.Fatalf("%d rounds skipped", res.Report.Skipped)
	}
	// A stump's threshold lies between two values of its agent: proposals and moments apart,
	// no value and no label of a row is sent. Answers are sums of whole agents.
	for _, phase := range []string{phaseBoost, phaseGradient, phaseMeanQ, phaseMoments, phaseJoin} {
		for _, m := range spy.up[phase] {
			b, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range of[m.Agent] {
				v := x.Columns[1].Values[i]
				bits := math.Float32bits(v)
				if bytes.Contains(b, []byte{byte(bits), byte(bits >> 8), byte(bits >> 16),
					byte(bits >> 24)}) {
					t.Fatalf("%s: an answer of %s has the value of row %d", phase, m.Agent, i)
				}
			}
		}
	}
	var up, down int64
	for _, p := range res.Report.Phases {
		up, down = up+p.Up, down+p.Down
	}
	if up != spy.bytesUp || down != spy.bytesDown || up != res.Report.Up || down != res.Report.Down {
		t.Errorf("bytes %d up and %d down are reported, %d and %d were sent", up, down, spy.bytesUp,
			spy.bytesDown)
	}
}

// spy keeps what goes back and forth.
type spy struct {
	*Local
	rounds             map[string]int
	up, down           map[string][]*Message
	bytesUp, bytesDown int64
}

func (s *spy) Ask(ctx context.Context, c *Call) (*Answers, error) {
	if s.rounds == nil {
		s.rounds, s.up, s.down = map[string]int{}, map[string][]*Message{}, map[string][]*Message{}
	}
	s.rounds[c.Phase]++
	for _, n := range c.To {
		m, err := c.Request(n, s.Agents[n].Have())
		if err != nil {
			return nil, err
		}
		b, err := m.Encode()
		if err != nil {
			return nil, err
		}
		s.bytesDown += int64(len(b))
		s.down[c.Phase] = append(s.down[c.Phase], m)
	}
	a, err := s.Local.Ask(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, n := range c.To {
		if b := a.By[n]; b != nil {
			m, err := Decode(b)
			if err != nil {
				return nil, err
			}
			s.up[c.Phase] = append(s.up[c.Phase], m)
			s.bytesUp += int64(len(b))
		}
	}
	return a, nil
}

// lossy loses answers by the rule; the same run with agents that were never asked gives the
// same model.
func TestDropOut(t *testing.T) {
	x, c, of := people(11, 240, 6, 4)
	c.Quorum = 0.1
	c.MultiBoost = BoostOptions{Rounds: 25, Clients: 4, Candidates: 10, Q: "uniform"}
	lose := func(agent, phase string, round int) bool {
		return phase == phaseBoost && (round+int(agent[2]))%3 == 0
	}
	l := local(t, c, x, of)
	l.Lose = lose
	r := train(t, c, l)
	if len(r.Report.Missing) < 20 {
		t.Fatalf("only %d exchanges with answers missing", len(r.Report.Missing))
	}
	// The same set of answers from agents that answer twice, late and in another order, and some of
	// which restart in the middle.
	again := local(t, c, x, of)
	again.Workers = 3
	twice := &restarting{Local: again, c: c, x: func(name string) *Agent {
		a, err := NewAgent(c, name, x.Subset(of[name]))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}}
	again.Lose = lose
	other := train(t, c, twice)
	if twice.restarts < 9 {
		t.Fatalf("%d restarts", twice.restarts)
	}
	if !bytes.Equal(file(t, r), file(t, other)) {
		t.Error("restarts of agents change the model")
	}
}

// restarting has an agent lose all it knew before every third exchange.
type restarting struct {
	*Local
	c        *Config
	x        func(name string) *Agent
	n        int
	restarts int
}

func (r *restarting) Ask(ctx context.Context, c *Call) (*Answers, error) {
	if r.n++; r.n%3 == 0 {
		r.restarts++
		name := c.To[r.n%len(c.To)]
		r.Agents[name] = r.x(name)
	}
	// Request twice, as a retry does.
	for _, n := range c.To {
		if _, err := c.Request(n, 0); err != nil {
			return nil, err
		}
	}
	return r.Local.Ask(ctx, c)
}

// A run that is cut off anywhere and goes on from its journal, cut at any byte, gives the
// model of the unbroken run.
func TestJournal(t *testing.T) {
	x, c, of := people(13, 160, 4, 4)
	c.MultiBoost = BoostOptions{Rounds: 12, Clients: 3, Candidates: 8, QIterations: 4}
	var whole bytes.Buffer
	keep := func(to *bytes.Buffer) func(*Record) error {
		return func(r *Record) error {
			b, err := r.Encode()
			to.Write(b)
			return err
		}
	}
	r, err := Train(c, &Journal{Exchange: local(t, c, x, of), Append: keep(&whole)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := file(t, r)
	all, _, err := ReadJournal(bytes.NewReader(whole.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	// Damage before the last record is no killed server: what follows is not thrown away.
	bad := slices.Clone(whole.Bytes())
	bad[len(bad)/2]++
	if _, n, err := ReadJournal(bytes.NewReader(bad)); CodeOf(err) != OtherJournal || n >= int64(len(bad)/2) {
		t.Errorf("damaged in the middle: whole to %d, %v", n, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		cut := rng.IntN(whole.Len())
		old, n, err := ReadJournal(bytes.NewReader(whole.Bytes()[:cut]))
		if err != nil || n > int64(cut) {
			t.Fatal(n, err)
		}
		rest := bytes.NewBuffer(slices.Clone(whole.Bytes()[:n]))
		r, err := Train(c, &Journal{Exchange: local(t, c, x, of), Old: old, Append: keep(rest)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file(t, r), want) {
			t.Errorf("cut at byte %d of %d: another model", cut, whole.Len())
		}
		// The journals have the same answers. Bytes down differ: agents that are new to the run
		// are sent all that it knows.
		a, _, err := ReadJournal(bytes.NewReader(rest.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(answersOf(all), answersOf(a)); d != "" {
			t.Errorf("cut at byte %d: another journal:\n%s", cut, d)
		}
	}
	old, _, err := ReadJournal(bytes.NewReader(whole.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	c.Seed++
	if _, err := Train(c, &Journal{Exchange: local(t, c, x, of), Old: old},
		nil); CodeOf(err) != OtherJournal {
		t.Errorf("another run's journal: %v", err)
	}
}

func answersOf(records []Record) []map[string][]byte {
	var out []map[string][]byte
	for _, r := range records {
		out = append(out, r.By)
	}
	return out
}

// Under masks the sums are the same, and so is the model: with agents that drop out between
// the exchanges of a sum too.
func TestSecure(t *testing.T) {
	x, c, of := people(17, 240, 6, 4)
	c.Quorum = 0.1
	c.MultiBoost = BoostOptions{Rounds: 10, Clients: 5, Candidates: 8, Q: "uniform"}
	lost := func(agent string, round int) bool { return (round+int(agent[2]))%5 == 0 }
	l := local(t, c, x, of)
	l.Lose = func(agent, phase string, round int) bool { return phase == phaseBoost && lost(agent, round) }
	plain := train(t, c, l)
	if len(plain.Report.Missing) == 0 {
		t.Fatal("nobody was missing")
	}
	c.Secure = true
	l = local(t, c, x, of)
	l.Lose = func(agent, phase string, round int) bool {
		return phase == phaseBoost+"/masked" &&
			lost(agent, round)
	}
	spy := &spy{Local: l}
	secure := train(t, c, spy)
	if d := cmp.Diff(termsOf(t, plain.Multi), termsOf(t, secure.Multi),
		cmp.AllowUnexported(term{})); d != "" {
		t.Errorf("terms (-plain +secure):\n%s", d)
	}
	for phase, list := range spy.up {
		if phase == phaseBoost || phase == phaseMeanQ {
			t.Errorf("%d answers to %s without masks", len(list), phase)
		}
	}
	// A sum without masks is refused by the agents themselves.
	a := l.Agents["a00"]
	q, err := newMessage(Head{Run: c.Run(), Phase: phaseMoments, Number: 1, Agent: "a00"}, nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Answer(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := Decode(b); err != nil || m.Code != NoSecureSum {
		t.Errorf("%v, %+v", err, m)
	}
	// Q too can be trained through masks.
	c.MultiBoost.Q, c.MultiBoost.QIterations = "federated", 8
	if m := train(t, c, local(t, c, x, of)).Multi; m.MeanQ[0][0] < 0.8 {
		t.Errorf("mean Q %v", m.MeanQ)
	}
}

// The domain classifier by averaged gradients is that of multinomial logistic regression.
func TestDomainClassifier(t *testing.T) {
	x, c, of := people(19, 400, 5, 4)
	c.MultiBoost = BoostOptions{Rounds: 1, QIterations: 200}
	m := train(t, c, local(t, c, x, of)).Multi
	want, err := multi.FitQ(context.Background(), x, nil, 1, &multi.QOptions{Folds: 1, Iterations: 200})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 2*x.Rows)
	m.Q.Predict(got, x, 0)
	for i, v := range want.Train {
		if math.Abs(v-got[i]) > 2e-3 {
			t.Fatalf("row %d: Q %v, want %v", i/2, got[i], v)
		}
	}
}

func TestAdaBoost(t *testing.T) {
	x, c, of := people(23, 300, 5, 4)
	c.Algorithm = AdaBoost
	c.MultiBoost = BoostOptions{Rounds: 40, Clients: 6}
	errs := func() *multi.Errors {
		e := train(t, c, local(t, c, x, of)).Ensemble
		s, err := e.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := multi.NewData(x, boost.Exponential{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := multi.ErrorRates(data, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := errs()
	c.MultiBoost.Only = "a"
	one := errs()
	if !(one.Domain[0] < 0.2 && one.Domain[1] > 0.35 && all.Agnostic < one.Agnostic &&
		one.Domain[0] < all.Domain[0]) {
		t.Errorf("all %+v, a alone %+v", all, one)
	}
}

// A cancelled run ends with what it has.
func TestInterrupt(t *testing.T) {
	x, c, of := people(29, 160, 4, 4)
	c.MultiBoost = BoostOptions{Rounds: 50, Q: "uniform"}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Train(c, &Journal{Exchange: local(t, c, x, of)},
		&run.Control{Ctx: ctx, Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 7 {
				cancel()
			}
			return nil
		})})
	var e *run.InterruptedError
	if !errors.As(err, &e) || r == nil || r.Multi.Terms() != 7 {
		t.Errorf("%v, %+v", err, r)
	}
}

// What agents and configurations must not be like, each with its number.
func TestRefused(t *testing.T) {
	x, c, of := people(31, 100, 2, 4)
	l := local(t, c, x, of)
	if _, err := NewAgent(c, "a00", x.Subset([]int{0, 2})); CodeOf(err) != FewRows {
		t.Errorf("two rows: %v", err)
	}
	if _, err := NewAgent(c, "a00", nil); CodeOf(err) != FewRows {
		t.Errorf("an empty agent: %v", err)
	}
	if _, err := NewAgent(c, "nobody", x); CodeOf(err) != UnknownAgent {
		t.Errorf("a stranger: %v", err)
	}
	other := x.Subset(of["a01"])
	other.Columns = slices.Clone(other.Columns)
	other.Columns[2].Name = "y2"
	a, err := NewAgent(c, "a01", other)
	if err != nil {
		t.Fatal(err)
	}
	l.Agents["a01"] = a
	if _, err := Train(c, &Journal{Exchange: l}, nil); CodeOf(err) != OtherColumns ||
		!strings.Contains(err.Error(), `agent a01`) || !strings.Contains(err.Error(), `"x2"`) {
		t.Errorf("other columns: %v", err)
	}
	delete(l.Agents, "a01")
	delete(l.Agents, "a00")
	if _, err := Train(c, &Journal{Exchange: l}, nil); CodeOf(err) != NoQuorum ||
		!strings.Contains(err.Error(), "a00") {
		t.Errorf("a domain without agents: %v", err)
	}
	// An agent with one class takes part: it has no intercept to lean on.
	_, d, _ := people(31, 100, 2, 4)
	ones := map[string][]int{}
	for name, rows := range of {
		for _, i := range rows {
			if name != "a00" || x.Target[i] == 1 {
				ones[name] = append(ones[name], i)
			}
		}
	}
	d.MultiBoost.Rounds = 3
	train(t, d, local(t, d, x, ones))

	for text, want := range map[string]string{
		`{"algorithm":"magic"}`: "algorithm",
		`{"target":"y","classes":["a"],"agents":[{"name":"p","domain":"d"}]}`:                               "classes",
		`{"target":"y","classes":["a","a"],"agents":[{"name":"p","domain":"d"}]}`:                           "twice",
		`{"target":"y","classes":["a","b"],"agents":[]}`:                                                    "agents",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"../p","domain":"d"}]}`:                        "letters",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p"}]}`:                                        "domain",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"},{"name":"p","domain":"e"}]}`: "twice",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}],"quorum":2}`:                "quorum",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}],"deadline":"soon"}`:         "deadline",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}],"multiboost":{"step":-1}}`:  "step",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}],"secure":true}`:             "secure",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}],"multiboost":{"only":"e"}}`: "only",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}],"sever":"x"}`:               "sever",
		`{"target":"y","classes":["a","b"],"agents":[{"name":"p","domain":"d"}]} {}`:                        "behind",
	} {
		if _, err := ReadConfig(strings.NewReader(text)); CodeOf(err) != BadConfig ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, k := range Codes() {
		if k.Mend() == "" {
			t.Errorf("%v has no line on how to mend it", k)
		}
	}
}

// Messages that are cut, changed or of a newer version are errors with numbers; so are answers
// of others, late ones, and ones with wrong shapes or numbers.
func TestMessages(t *testing.T) {
	c := &Call{Number: 4, Phase: phaseBoost, Round: 2, Limit: 4000,
		Accept: func(m *Message) error { _, err := acceptSum(m, 3, true); return err }}
	h := Head{Run: "r", Number: 4, Phase: phaseBoost, Round: 2, Agent: "p"}
	answer := func(h Head, v []int64) []byte {
		m := newMessage(h, nil)
		put(m, "sum", v)
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := answer(h, []int64{1, 2, -3})
	if err := Judge(c, "p", good); err != nil {
		t.Fatal(err)
	}
	floatsIn := newMessage(h, nil)
	put(floatsIn, "sum", []float64{1, math.NaN(), 3})
	nan, _ := floatsIn.Encode()
	late, named := h, h
	late.Number, named.Agent = 3, "q"
	flipped := slices.Clone(good)
	flipped[len(flipped)-40] ^= 1
	for name, k := range map[string]struct {
		b    []byte
		want Code
	}{"cut": {good[:50], Malformed}, "nothing": {nil, Malformed}, "flipped": {flipped, Malformed},
		"late":      {answer(late, []int64{1, 2, 3}), OldRound},
		"another's": {answer(named, []int64{1, 2, 3}), UnknownAgent},
		"short":     {answer(h, []int64{1, 2}), WrongShape}, "NaN": {nan, WrongShape},
		"large": {answer(h, make([]int64, 600)), TooLarge}, "out of range": {answer(h,
			[]int64{1, 2, math.MaxInt64}), NotFinite}, "negative": {answer(h, []int64{-1, 2, 3}),
			NotFinite}} {
		if err := Judge(c, "p", k.b); CodeOf(err) != k.want {
			t.Errorf("%s: %v, want %v", name, err, k.want)
		}
	}
	newer, err := model.Read(bytes.NewReader(good), nil)
	if err != nil {
		t.Fatal(err)
	}
	newer.Version = messageVersion + 1
	var b bytes.Buffer
	if err := newer.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := Judge(c, "p", b.Bytes()); CodeOf(err) != NewerVersion {
		t.Errorf("a newer message: %v", err)
	}
	if _, err := floats(floatsIn, "sum", 3); CodeOf(err) != NotFinite {
		t.Errorf("NaN among numbers: %v", err)
	}
}

// With folds no agent's rows are in the domain classifier that it boosts with: that of its fold is
// what the others give. The model's own is that of all.
func TestCrossFittedQ(t *testing.T) {
	x, c, of := people(25, 240, 6, 4)
	c.MultiBoost = BoostOptions{Rounds: 5, Clients: learner.None}
	whole := train(t, c, local(t, c, x, of)).Multi
	c.MultiBoost.QFolds = 3
	l := &spy{Local: local(t, c, x, of)}
	m := train(t, c, l).Multi
	if !m.CrossFitted || whole.CrossFitted {
		t.Errorf("cross-fitted: %v with folds, %v without", m.CrossFitted, whole.CrossFitted)
	}
	values := func(m *multi.Model) []float64 {
		q := make([]float64, x.Rows*2)
		m.Q.Predict(q, x, 0)
		return q
	}
	if !slices.Equal(values(m), values(whole)) {
		t.Error("the model's domain classifier is not that of all agents")
	}
	sent := map[string][]float64{}
	for _, r := range l.down[phaseMeanQ] {
		w, err := get[float64](r, "q/w")
		if err != nil {
			t.Fatal(err)
		}
		sent[r.Agent] = w
	}
	// Rows of a fold do not change its classifier: here all those of its agents are turned round.
	b, err := serverOf(c, local(t, c, x, of)).booster()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.fitQ(); err != nil {
		t.Fatal(err)
	}
	y := x.Subset(upTo(0, x.Rows))
	for name, rows := range of {
		for _, i := range rows {
			if b.foldOf[name] == 0 {
				y.Columns[2].Values[i] = -y.Columns[2].Values[i]
			}
		}
	}
	other, err := serverOf(c, local(t, c, y, of)).booster()
	if err != nil {
		t.Fatal(err)
	}
	other.features, other.qKind = b.features, b.qKind
	foldless := func(b *booster) []float64 {
		others := make([][]string, b.p)
		for k, list := range b.domains {
			for i, name := range list {
				if i%3 != 0 {
					others[k] = append(others[k], name)
				}
			}
		}
		w, _, err := b.fitQOf(others)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if !slices.Equal(foldless(b), foldless(other)) {
		t.Error("the classifier of a fold depends on the fold's own rows")
	}
	different := map[string]bool{}
	for name, w := range sent {
		if !slices.Equal(w, b.qs[b.foldOf[name]].w) {
			t.Errorf("%s has the classifier of another fold", name)
		}
		different[fmt.Sprint(w)] = true
	}
	if len(sent) != 12 || len(different) != 3 {
		t.Errorf("%d agents have %d classifiers", len(sent), len(different))
	}
	c.MultiBoost.QFolds = 7
	if err := c.Check(); CodeOf(err) != BadConfig {
		t.Errorf("7 folds of 6 agents: %v", err)
	}
	c.MultiBoost.QFolds, c.Secure = 3, true
	if err := c.Check(); CodeOf(err) != BadConfig {
		t.Errorf("folds of two agents of a secure run: %v", err)
	}
}
