package federated

import (
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/learner"
)

// What is foretold is what is sent, within a sixth; of one round it is a bound.
func TestForecast(t *testing.T) {
	x, _, of := people(37, 480, 8, 6)
	for name, change := range map[string]func(*Config){
		"default": func(c *Config) { c.MultiBoost = BoostOptions{Rounds: 30, Clients: 4, Candidates: 10} },
		"all": func(c *Config) {
			c.MultiBoost = BoostOptions{Rounds: 30, Clients: learner.None, Objective: "max", Q: "uniform"}
		},
		"shared": func(c *Config) { c.MultiBoost = BoostOptions{Rounds: 20, Shared: true, Candidates: 20} },
		"secure": func(c *Config) {
			c.Secure, c.MultiBoost = true, BoostOptions{Rounds: 10, Clients: 5, Candidates: 10, Q: "uniform"}
		},
		"adaboost": func(c *Config) {
			c.Algorithm, c.MultiBoost = AdaBoost,
				BoostOptions{Rounds: 30, Clients: 6}
		},
		"average": func(c *Config) {
			c.Algorithm, c.Average = Average,
				AverageOptions{Rounds: 15, Features: 40}
		},
		"oneround": func(c *Config) { c.Algorithm, c.OneRound = OneRound, KernelOptions{Verify: true} },
	} {
		_, c, _ := people(37, 480, 8, 6)
		change(c)
		l := local(t, c, x, of)
		f, err := c.Foretell(l.Agents["a00"].Columns(), l.Agents["a00"].NumRows())
		if err != nil {
			t.Fatal(err)
		}
		r := train(t, c, l).Report
		if c.Algorithm == OneRound ||
			name == "all" { // of a dictionary whose repetitions are not known before
			if r.Up > f.Up || r.Down > f.Down || r.Exchanges != f.Exchanges {
				t.Errorf("%s: at most %d down and %d up in %d exchanges were foretold; %d, %d in %d", name,
					f.Down, f.Up, f.Exchanges, r.Down, r.Up, r.Exchanges)
			}
			continue
		}
		near := func(what string, got, want int64) {
			if math.Abs(float64(got-want)) > float64(want)/6 {
				t.Errorf("%s: %s: %d were foretold, it was %d", name, what, got, want)
			}
		}
		if c.MultiBoost.Q == "uniform" || c.Algorithm != MultiBoost {
			near("exchanges", int64(f.Exchanges), int64(r.Exchanges))
		}
		for _, p := range r.Phases {
			for _, q := range f.Phases {
				if p.Phase == q.Phase && p.Phase != phaseGradient &&
					p.Phase != phasePropose { // whose numbers are not known before
					near("down, "+p.Phase, q.Down, p.Down)
					near("up, "+p.Phase, q.Up, p.Up)
				}
			}
		}
		if f.Rounds != r.Rounds {
			t.Errorf("%s: %d rounds of %d", name, f.Rounds, r.Rounds)
		}
	}
}
