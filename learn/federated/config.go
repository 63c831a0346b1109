package federated

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/learn/learner"
)

// Algorithm is what a run computes.
type Algorithm string

// The algorithms. The baselines are those of section 4.6 of the thesis.
const (
	MultiBoost Algorithm = "multiboost" // FEDMULTIBOOST
	AdaBoost   Algorithm = "adaboost"   // FEDADABOOST, of all domains or of one
	OneRound   Algorithm = "oneround"   // classification in one round
	Average    Algorithm = "average"    // federated averaging of a linear or kernel model
)

// Config is one run, the same file for the server and all agents, on one machine or many.
type Config struct {
	Name      string    `json:"name,omitempty"` // for people
	Algorithm Algorithm `json:"algorithm"`

	// Target is the column to predict, Classes its values; of two the second is +1. Drop are
	// columns to leave out; those that name agents and domains are left out anyway.
	Target  string   `json:"target"`
	Classes []string `json:"classes"`
	Drop    []string `json:"drop,omitempty"`
	Columns []string `json:"columns,omitempty"` // to learn from, in this order; nil is all others

	Agents []Member `json:"agents"`
	// MinRows is the least number of rows of an agent: with one row, sums reveal its label.
	// Zero is 5.
	MinRows int    `json:"min_rows,omitempty"`
	Seed    uint64 `json:"seed,omitempty"`
	// Secure collects the sums of multiboost through masks, so that the server does not learn those
	// of one agent.
	Secure bool `json:"secure,omitempty"`

	MultiBoost BoostOptions   `json:"multiboost,omitzero"` // adaboost too
	OneRound   KernelOptions  `json:"oneround,omitzero"`
	Average    AverageOptions `json:"average,omitzero"`

	// What follows is about reaching agents, and does not belong to the identity of a run.

	Server       string `json:"server,omitempty"`       // address: host:port
	Certificates string `json:"certificates,omitempty"` // folder, relative to the file
	// Deadline is how long the server waits for answers, such as "10s", the default. An
	// exchange ends when all have answered, or at the deadline with Quorum of them.
	Deadline string `json:"deadline,omitempty"`
	// Quorum is the share of the agents asked that must have answered at the deadline, in
	// each domain; zero is 0.5.
	Quorum float64 `json:"quorum,omitempty"`
}

// Member is an agent as the configuration lists it.
type Member struct {
	Name   string `json:"name"`             // letters, digits and ._- : it is the name in its certificate
	Domain string `json:"domain,omitempty"` // of multiboost and adaboost
	Data   string `json:"data,omitempty"`   // file with its rows, relative to the configuration
	Where  string `json:"where,omitempty"`  // column=value: the rows of the file that are the agent's
}

// BoostOptions are the settings of FEDMULTIBOOST and its baselines. In the file, as in the
// struct, 0 or nothing is the default, and -1 (learner.None) is what the help calls 0.
type BoostOptions struct {
	Objective string  `json:"objective,omitempty" flag:"objective" values:"softmax,max" default:"softmax" help:"What is minimised over the domains' losses"`
	Loss      string  `json:"loss,omitempty" flag:"loss" values:"exponential,logistic,logistic2" default:"exponential" help:"Loss of a row"`
	Rounds    int     `json:"rounds,omitempty" flag:"rounds" default:"100" min:"1" max:"1000000" help:"Rounds, each of at most one term"`
	Step      float64 `json:"step,omitempty" flag:"step" default:"0.3" above:"0" help:"Step of round t times sqrt(t)"`
	Clients   int     `json:"clients,omitempty" flag:"clients" default:"20" min:"0" help:"Agents of each domain that are asked in a round; 0 is all"`
	// Candidates and Proposals are for multiboost alone.
	Candidates int `json:"candidates,omitempty" flag:"candidates" default:"64" min:"0" help:"Base classifiers of each domain's dictionary to try in a round; 0 is all"`
	Proposals  int `json:"proposals,omitempty" flag:"proposals" default:"10" min:"1" max:"1000" help:"Base classifiers that each agent proposes for its domain's dictionary"`

	Mu         float64 `json:"mu,omitempty" flag:"mu" default:"5" above:"0" help:"Sharpness of softmax, relative to the largest loss" topic:"objective"`
	FixedMu    bool    `json:"fixed_mu,omitempty" flag:"fixed_mu" help:"mu is not relative" topic:"objective"`
	Shared     bool    `json:"shared,omitempty" flag:"shared" help:"Add a slot with Q = 1 to those of the domains: one term in all of them" topic:"objective"`
	ClientMean bool    `json:"client_mean,omitempty" flag:"client_mean" help:"Mean of the agents' means, as figure 4.2 has it, not of rows" topic:"objective"`
	Closed     bool    `json:"closed,omitempty" flag:"closed" help:"Step by the pooled error, half its log odds (adaboost)" topic:"baselines"`
	Only       string  `json:"only,omitempty" flag:"only" help:"Domain that is learnt from alone (adaboost)" topic:"baselines"`

	Q           string  `json:"q,omitempty" flag:"q" values:"federated,uniform" default:"federated" help:"Domain classifier" topic:"domain classifier"`
	QL2         float64 `json:"q_l2,omitempty" flag:"q_l2" default:"0.001" above:"0" help:"Penalty of the domain classifier's squared weights" topic:"domain classifier"`
	QIterations int     `json:"q_iterations,omitempty" flag:"q_iterations" default:"30" min:"1" max:"10000" help:"Iterations of the domain classifier" topic:"domain classifier"`
	QFolds      int     `json:"q_folds,omitempty" flag:"q_folds" default:"1" min:"1" max:"100" help:"Folds of agents for cross-fitting: each boosts with a domain classifier that the others trained; it is fitted as many times more. 1 is none" topic:"domain classifier"`
}

// DefaultDeadline and DefaultQuorum are those of a Config that has none.
const (
	DefaultDeadline = 10 * time.Second
	DefaultQuorum   = 0.5
	defaultMinRows  = 5
	mostAgents      = 100000
)

// ReadConfig reads a configuration and checks it. Unknown fields are errors.
func ReadConfig(r io.Reader) (*Config, error) {
	d := json.NewDecoder(io.LimitReader(r, 64<<20))
	d.DisallowUnknownFields()
	c := &Config{}
	if err := d.Decode(c); err != nil {
		return nil, &Error{Code: BadConfig, Err: err}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fail(BadConfig, "", "there is something behind the configuration's closing brace")
	}
	return c, c.Check()
}

// Write writes the configuration as JSON for people.
func (c *Config) Write(w io.Writer) error {
	b, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckName returns an error unless an agent may have the name. It is that of files, too.
func CheckName(name string) error {
	if !agentName.MatchString(name) {
		return fmt.Errorf("the name %q; letters, digits and ._- are possible, up to 63", name)
	}
	if name == "server" || name == "ca" {
		return fmt.Errorf("the name %q is that of another file among the certificates", name)
	}
	return nil
}

// Check returns an error unless the configuration describes a run. It fills in defaults.
func (c *Config) Check() error {
	bad := func(format string, v ...any) error { return fail(BadConfig, "", format, v...) }
	c.Algorithm = cmp.Or(c.Algorithm, MultiBoost)
	if !slices.Contains([]Algorithm{MultiBoost, AdaBoost, OneRound, Average}, c.Algorithm) {
		return bad("algorithm: %q is none of multiboost, adaboost, oneround, average", c.Algorithm)
	}
	boosting := c.Algorithm == MultiBoost || c.Algorithm == AdaBoost
	switch {
	case c.Target == "":
		return bad("target: there is none")
	case len(c.Classes) < 2 || boosting && len(c.Classes) != 2:
		return bad("classes: %d are given; %s", len(c.Classes),
			map[bool]string{true: "boosting separates two", false: "two or more are needed"}[boosting])
	case len(c.Agents) == 0 || len(c.Agents) > mostAgents:
		return bad("agents: there are %d; 1 to %d are possible", len(c.Agents), mostAgents)
	case c.MinRows < 0:
		return bad("min_rows: %d is negative", c.MinRows)
	case c.Secure && c.Algorithm != MultiBoost:
		return bad("secure: only the sums of multiboost can be asked for through masks")
	case c.Secure && c.MultiBoost.ClientMean:
		return bad("client_mean: a secure sum says nothing of one agent's mean")
	case !(c.Quorum >= 0 && c.Quorum <= 1):
		return bad("quorum: %v is not between 0 and 1", c.Quorum)
	}
	for i, k := range c.Classes {
		if k == "" || slices.Contains(c.Classes[:i], k) {
			return bad("classes: %q is empty or stands there twice", k)
		}
	}
	c.MinRows = cmp.Or(c.MinRows, defaultMinRows)
	c.Quorum = cmp.Or(c.Quorum, DefaultQuorum)
	if _, err := c.Wait(); err != nil {
		return err
	}
	slices.SortFunc(c.Agents, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for i, a := range c.Agents {
		switch {
		case CheckName(a.Name) != nil:
			return bad("agents: %v", CheckName(a.Name))
		case i > 0 && c.Agents[i-1].Name == a.Name:
			return bad("agents: %q stands there twice", a.Name)
		case boosting && a.Domain == "":
			return bad("agents: %s has no domain; %s needs one", a.Name, c.Algorithm)
		case a.Where != "" && !strings.Contains(a.Where, "="):
			return bad("agents: %s: where: %q is not column=value", a.Name, a.Where)
		}
	}
	if c.MultiBoost.Only != "" && !slices.Contains(c.Domains(), c.MultiBoost.Only) {
		return bad("only: there is no domain %q; there are %s", c.MultiBoost.Only,
			strings.Join(c.Domains(), ", "))
	}
	for _, o := range []struct {
		name string
		err  error
	}{{"multiboost", complete(&c.MultiBoost)}, {"oneround", complete(&c.OneRound)},
		{"average", complete(&c.Average)}} {
		if o.err != nil {
			return &Error{Code: BadConfig, Msg: o.name, Err: o.err}
		}
	}
	if n := c.MultiBoost.QFolds; n > 1 && c.Algorithm == MultiBoost {
		// A fold's sum is that of all agents less that of the others.
		least := map[bool]int{false: 1, true: leastSecure}[c.Secure]
		for _, k := range c.Domains() {
			if all := len(c.of(k)); all/n < least || len(c.Domains()) > 1 && all-(all+n-1)/n < least {
				return bad("q_folds: domain %q has %d agents; %d folds of at least %d agents are too many", k, all, n,
					least)
			}
		}
	}
	if c.Secure {
		for _, k := range c.Domains() {
			if n := len(c.of(k)); n < leastSecure || c.MultiBoost.Clients > 0 &&
				c.MultiBoost.Clients < leastSecure {
				return bad("secure: domain %q has %d agents, and a round uses %d; sums of fewer than %d reveal "+
					"too much of one",
					k, n, c.MultiBoost.Clients, leastSecure)
			}
		}
	}
	return nil
}

func complete[O any](o *O) error {
	from := *o
	return learner.Complete(o, &from)
}

// Wait returns the deadline of an exchange.
func (c *Config) Wait() (time.Duration, error) {
	if c.Deadline == "" {
		return DefaultDeadline, nil
	}
	d, err := time.ParseDuration(c.Deadline)
	if err != nil || d <= 0 {
		return 0, fail(BadConfig, "", "deadline: %q is no positive time, such as 10s", c.Deadline)
	}
	return d, nil
}

// Domains lists the domains in order of their names.
func (c *Config) Domains() []string {
	var out []string
	for _, a := range c.Agents {
		if !slices.Contains(out, a.Domain) {
			out = append(out, a.Domain)
		}
	}
	slices.Sort(out)
	return out
}

// of lists the agents of a domain, sorted.
func (c *Config) of(domain string) []string {
	var out []string
	for _, a := range c.Agents {
		if a.Domain == domain {
			out = append(out, a.Name)
		}
	}
	return out
}

// names lists all agents, sorted.
func (c *Config) names() []string {
	out := make([]string, len(c.Agents))
	for i, a := range c.Agents {
		out[i] = a.Name
	}
	return out
}

// Member returns the agent of that name; ok reports whether it exists.
func (c *Config) Member(name string) (m Member, ok bool) {
	i, ok := slices.BinarySearchFunc(c.Agents, name, func(m Member,
		n string) int {
		return strings.Compare(m.Name, n)
	})
	if !ok {
		return Member{}, false
	}
	return c.Agents[i], true
}

// Run is the identity of the run: configurations that agree on what is learnt, and by whom,
// have the same. Files, addresses, deadline and quorum play no part.
func (c *Config) Run() string {
	d := *c
	d.Name, d.Server, d.Certificates, d.Deadline, d.Quorum = "", "", "", "", 0
	d.Agents = nil
	for _, a := range c.Agents {
		d.Agents = append(d.Agents, Member{Name: a.Name, Domain: a.Domain})
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("federated: configuration: %v", err)) // of plain fields
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:8])
}

// quorumOf is the least number of answers of n agents.
func (c *Config) quorumOf(n int) int { return max(1, int(math.Ceil(c.Quorum*float64(n)-1e-9))) }
