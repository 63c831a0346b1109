package federated

import (
	"cmp"
	"math"

	"github.com/tropica-fst/tropica/learn/learner"
)

// Forecast is what a run will take, as far as it can be known before.
type Forecast struct {
	Exchanges int          `json:"exchanges"`
	Rounds    int          `json:"rounds"`
	Down      int64        `json:"bytes_down"`
	Up        int64        `json:"bytes_up"`
	Phases    []PhaseBytes `json:"phases"`
	Note      string       `json:"note,omitempty"`
}

// Foretell returns what a run of agents with these columns takes, if all answer. rows are the rows
// of an agent, on average. For classification in one round it is an upper bound, as if all samples
// were critical. For boosting with all candidates it is one too, as if no two proposals were the
// same. Of the domain classifier's gradients the number is that of iterations and a quarter more
// for the line search.
func (c *Config) Foretell(columns []string, rows int) (*Forecast, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	f := &Forecast{}
	agents, d := len(c.Agents), len(columns)
	p := len(c.Domains())
	h := Head{Run: c.Run(), Phase: phaseBoost, Number: 100, Round: 100, Agent: c.Agents[0].Name}
	sized := func(h Head, body any) int64 {
		b, err := newMessage(h, body).Encode()
		if err != nil {
			panic(err) // a message without arrays
		}
		return int64(len(b))
	}
	head := func(body any) int64 { return sized(h, body) }
	own := h // of answers
	own.Rows, own.Columns = rows, fingerprint(columns)
	reply := func(body any) int64 { return sized(own, body) }
	// array is what a header has of an array, and its padding.
	const array = 70
	add := func(phase string, times, of int, down, up int64) {
		f.Phases = append(f.Phases, PhaseBytes{phase, times, int64(times) * int64(of) * down,
			int64(times) * int64(of) * up})
		last := f.Phases[len(f.Phases)-1]
		f.Exchanges, f.Down, f.Up = f.Exchanges+times, f.Down+last.Down, f.Up+last.Up
	}
	secure := func(phase string, times, of int, down, up int64) {
		if !c.Secure {
			add(phase, times, of, down, up)
			return
		}
		peers := int64(of / max(p, 1))
		list := peers*80 + 2*array
		add(phase+"/keys", times, of, head(nil)+array, reply(nil)+64+array)
		add(phase+"/shares", times, of, head(nil)+list+array, reply(nil)+80*peers+array)
		add(phase+"/masked", times, of, down+list+array, up)
		add(phase+"/open", times, of, head(nil)+list+81*peers+3*array, reply(nil)+32*peers+array)
	}
	join := func() {
		add(phaseJoin, 1, agents, head(nil), reply(joined{Columns: columns, Domain: c.Agents[0].Domain}))
	}
	o := &c.MultiBoost
	perDomain := int(learner.Amount(float64(o.Clients)))
	asked := 0
	for _, k := range c.Domains() {
		n := len(c.of(k))
		asked += min(n, cmp.Or(perDomain, n))
	}
	slots := p
	if o.Shared && p > 1 {
		slots++
	}
	features := int64(20*d + 3*array)
	term := int64(stumpBytes + 12)
	state := func(times, of int) int64 { // of terms: each agent gets all but the last ones
		gap := float64(agents) / float64(max(of, 1))
		total := float64(agents) * math.Max(0, float64(times)-gap)
		return int64(total*float64(term))/int64(max(times*of, 1)) + 5*array + 60
	}
	switch c.Algorithm {
	case MultiBoost:
		f.Rounds = o.Rounds
		join()
		if p > 1 && o.Q == "federated" {
			secure(phaseMoments, 1, agents, head(nil), reply(nil)+int64(24*d)+array)
			w := int64(8 * (d + 1) * p)
			times := o.QIterations + o.QIterations/4 + 1
			if o.QFolds > 1 { // each time without a fold: as many answers as without folds
				times *= o.QFolds
			}
			secure(phaseGradient, times, agents,
				head(map[string]bool{"features": false})+w+array, reply(nil)+w+8+array)
		}
		q := int64(60)
		if p > 1 && o.Q == "federated" {
			q += features + int64(8*(d+1)*p) + 2*array
		}
		secure(phaseMeanQ, 1, agents, head(map[string]any{"terms": 0})+q+5*array, reply(nil)+int64(8*p)+array)
		add(phasePropose, 1, agents, head(map[string]int{"stumps": o.Proposals}),
			reply(nil)+int64(o.Proposals*stumpBytes)+3*array)
		cands := int(learner.Amount(float64(o.Candidates)))
		proposed := o.Proposals * agents / p
		s := int64(min(cmp.Or(cands, proposed), proposed))
		if o.Objective == "softmax" {
			s *= int64(slots)
		}
		secure(phaseBoost, o.Rounds, asked, head(map[string]any{"counts": make([]int,
			slots)})+state(o.Rounds, asked)+s*stumpBytes+3*array, reply(nil)+8*(s+2)+array)
	case AdaBoost:
		f.Rounds = o.Rounds
		if o.Only != "" {
			asked = min(len(c.of(o.Only)), cmp.Or(perDomain, agents))
		} else {
			asked = min(agents, cmp.Or(perDomain, agents))
		}
		join()
		s := int64(asked)
		add(phaseTrain, o.Rounds, asked, head(nil)+state(o.Rounds, asked), reply(nil)+stumpBytes+3*array)
		add(phaseScore, o.Rounds, asked, head(nil)+6*array+s*stumpBytes+3*array, reply(nil)+8*(1+s)+array)
	case OneRound:
		f.Rounds = 1
		f.Note = "at most: as if every sample were critical"
		down := head(nil)
		if c.OneRound.Scale == "agents" {
			join()
			add(phaseMoments, 1, agents, head(nil), reply(nil)+int64(24*d)+array)
			down += features
		}
		add(phaseSolve, 1, agents, down,
			reply(solved{Columns: columns})+int64(rows*(4*d+4+8*(len(c.Classes)-1)))+3*array)
		if c.OneRound.Verify || c.OneRound.Repair > 0 {
			pairs := len(c.Classes) * (len(c.Classes) - 1) / 2
			add(phaseVerify, 1, agents, down+int64(agents*rows*(4*d+4+8*pairs))+8*array, reply(nil)+8+array)
		}
	default:
		f.Rounds = c.Average.Rounds
		join()
		add(phaseMoments, 1, agents, head(nil), reply(nil)+int64(24*d)+array)
		n := d
		if c.Average.Features > 0 {
			n = c.Average.Features
		}
		w := int64(8 * (n + 1) * len(c.Classes))
		add(phaseLocal, c.Average.Rounds, agents, head(nil)+features+w+array, reply(nil)+w+array)
	}
	return f, nil
}
