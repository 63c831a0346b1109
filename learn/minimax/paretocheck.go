package minimax

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/nn"
)

// ParetoOptions adjusts CheckPareto; nil is the same as the zero value.
type ParetoOptions struct {
	Tolerance float64 // what losses must differ by; zero is 1e-3 times the largest, as gaps are
	Changes   int     // of the parameters that are tried; zero is 200, negative none
	Seed      uint64
	Workers   int
	Rivals    []Rival
}

// Rival is another model, with its loss of each objective, raw, on the same rows.
type Rival struct {
	Name string
	Raw  map[string]float64
}

// ParetoCheck is what CheckPareto found. The first fields are of theory, if the model is what
// training was to find: of a game over the simplex it is weakly Pareto-optimal, so that no
// model is better in all objectives, and Pareto-optimal where λ is positive for all of them. The
// others are of a search, which can only find that it is not.
type ParetoCheck struct {
	Weightless []string `json:"weightless"` // objectives with no weight in λ
	Slack      float64  `json:"slack"`      // by which complementarity is missed, see Slack
	Tolerance  float64  `json:"tolerance"`

	Rivals []RivalCheck `json:"rivals,omitempty"`

	Changes    int `json:"changes"`    // of the parameters that were tried
	Dominating int `json:"dominating"` // of these, nowhere worse and somewhere better
	Better     int `json:"better"`     // of these, better in all objectives
}

// RivalCheck says how another model compares, in units of the model that is checked.
type RivalCheck struct {
	Name      string    `json:"name"`
	Values    []float64 `json:"values"`
	Dominates bool      `json:"dominates"` // it dominates the model that is checked
	Dominated bool      `json:"dominated"` // it is dominated by it
}

// CheckPareto looks for what is better than the model on data, those of training if it is to
// say something of training: among rivals, and among random changes of its parameters, of a
// thousandth to a third of their size. Changes are judged with the penalty of training, which
// counts for every objective, and without which larger weights alone would often be better.
// Cost: an evaluation of data for each change.
func (m *Model) CheckPareto(d *Data, opts *ParetoOptions, custom ...Loss) (*ParetoCheck, error) {
	var o ParetoOptions
	if opts != nil {
		o = *opts
	}
	if o.Tolerance < 0 || !finite(o.Tolerance) {
		return nil, fmt.Errorf("minimax: a tolerance of %v: give a number from 0 on", o.Tolerance)
	}
	if o.Changes == 0 {
		o.Changes = 200
	}
	s, err := m.Evaluate(d, o.Workers, custom...)
	if err != nil {
		return nil, err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-3 * math.Max(leastValue, math.Abs(s.Largest))
	}
	c := &ParetoCheck{Tolerance: o.Tolerance, Slack: Slack(s.Values, m.Lambda), Weightless: []string{}}
	for k, l := range m.Lambda {
		if l <= 1e-9 {
			c.Weightless = append(c.Weightless, m.Objectives[k].Name)
		}
	}
	for _, r := range o.Rivals {
		one := RivalCheck{Name: r.Name}
		for _, u := range m.Objectives {
			raw, ok := r.Raw[u.Name]
			if !ok {
				return nil, fmt.Errorf("minimax: %s was not trained on %s: it has other objectives, and cannot be compared", r.Name, u.Name)
			}
			one.Values = append(one.Values, u.Scale*raw-u.Offset)
		}
		one.Dominates = IsDominated(s.Values, [][]float64{one.Values}, o.Tolerance)
		one.Dominated = IsDominated(one.Values, [][]float64{s.Values}, o.Tolerance)
		c.Rivals = append(c.Rivals, one)
	}
	objectives, err := m.losses(custom)
	if err != nil {
		return nil, err
	}
	penalty, err := m.penalty()
	if err != nil {
		return nil, err
	}
	e := newExamples[float64](m.net, d, objectives, m.MultiClass, m.ZeroOne, o.Workers)
	scores := make([]float64, d.Rows*m.Outputs())
	at := func(w []float64) []float64 {
		e.scoresOf(w, scores)
		p := penalty(w)
		values := e.values(scores)
		for k, v := range values {
			values[k] = objectives[k].scale*v - objectives[k].offset + p
		}
		return values
	}
	here := at(m.Params)
	size := 0.0
	for _, v := range m.Params {
		size += v * v
	}
	size = math.Sqrt(size / float64(len(m.Params)))
	rng := rand.New(rand.NewPCG(o.Seed, 5))
	for range o.Changes {
		c.Changes++
		far := 1e-3 * math.Pow(300, rng.Float64())
		stretch := 1 + far*rng.NormFloat64()
		w := slices.Clone(m.Params)
		for j := range w {
			w[j] = stretch*w[j] + far*size*rng.NormFloat64()
		}
		values := at(w)
		if IsDominated(here, [][]float64{values}, o.Tolerance) {
			c.Dominating++
		}
		better := true
		for k, v := range values {
			better = better && v < here[k]-o.Tolerance
		}
		if better {
			c.Better++
		}
	}
	return c, nil
}

// penalty returns β_1 R as the model was trained with, by the words of Training.
func (m *Model) penalty() (func(w []float64) float64, error) {
	words := map[string]string{}
	for _, word := range strings.Fields(m.Training) {
		if key, value, ok := strings.Cut(word, "="); ok {
			words[key] = value
		}
	}
	number := func(key string) (float64, error) {
		if words[key] == "" {
			return 0, nil
		}
		v, err := strconv.ParseFloat(words[key], 64)
		if err != nil {
			return 0, fmt.Errorf("minimax: the model was trained with %s=%q, which is no number", key, words[key])
		}
		return v, nil
	}
	beta, err := number("l2")
	if err != nil {
		return nil, err
	}
	bias, err := number("bias")
	if err != nil {
		return nil, err
	}
	spans := m.net.AllWeights()
	if m.net.Layers() == 1 && bias == 0 {
		spans = []nn.Span{{From: 0, To: m.net.Dim()}}
	}
	return func(w []float64) float64 {
		sq := 0.0
		for _, s := range spans {
			for _, v := range w[s.From:s.To] {
				sq += v * v
			}
		}
		if words["norm"] == "true" {
			return beta * math.Sqrt(sq)
		}
		return beta / 2 * sq
	}, nil
}
