package minimax

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
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

// ParetoCheck is what CheckPareto found. The first fields follow from theory when the model is
// certified. It is then weakly Pareto-optimal: no allowed model is better in all objectives, each
// with the penalty. Where λ is positive for all objectives it is Pareto-optimal. The other fields
// come from a search, which can only refute optimality.
type ParetoCheck struct {
	Certified  bool     `json:"certified"`  // the gap was proved in training: what theory says holds, up to it
	Weightless []string `json:"weightless"` // objectives with no weight in λ
	// Slack is how far the model's mixture is below the worst one of its preferences. At a saddle
	// point it is zero for any preferences (on the simplex: see Slack). It is nil where the mixture
	// was fixed.
	Slack     *float64 `json:"slack,omitempty"`
	Tolerance float64  `json:"tolerance"`

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

// CheckPareto searches for a model that is better on data, which should be the training data for
// conclusions about training. It tries rivals, and random changes of the parameters by a thousandth
// to a third of their size. Changed parameters are projected back onto the constraints of training,
// the radius or the bound on biases. They are judged with the penalty, which counts for every
// objective: otherwise larger weights would often be better. Cost: an evaluation of data for each
// change.
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
	how, err := m.trained()
	if err != nil {
		return nil, err
	}
	c := &ParetoCheck{Certified: m.Certified, Tolerance: o.Tolerance, Weightless: []string{}}
	if !how.fixed {
		if c.Slack, err = m.slack(s.Values, how); err != nil {
			return nil, err
		}
	}
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
				return nil, fmt.Errorf("minimax: %s was not trained on %s: it has other objectives, and cannot be "+
					"compared", r.Name, u.Name)
			}
			one.Values = append(one.Values, u.Scale*raw-u.Offset)
		}
		one.Dominates = metrics.IsDominated(s.Values, [][]float64{one.Values}, o.Tolerance)
		one.Dominated = metrics.IsDominated(one.Values, [][]float64{s.Values}, o.Tolerance)
		c.Rivals = append(c.Rivals, one)
	}
	objectives, err := m.losses(custom)
	if err != nil {
		return nil, err
	}
	penalty, set := m.penalty(how), m.set(how)
	e := newExamples[float64](m.net, d, objectives, m.MultiClass, m.ZeroOne, o.Workers)
	scores := make([]float64, d.Rows*m.Outputs())
	at := func(w []float64) []float64 {
		e.scoresOf(w, scores)
		p, _ := penalty.of(w)
		values := entered(objectives, e.values(scores))
		floats.AddConst(p, values)
		return values
	}
	here := at(m.Params)
	size := floats.Norm(m.Params, 2) / math.Sqrt(float64(len(m.Params)))
	rng := rand.New(rand.NewPCG(o.Seed, 5))
	for range o.Changes {
		c.Changes++
		far := 1e-3 * math.Pow(300, rng.Float64())
		stretch := 1 + far*rng.NormFloat64()
		w := slices.Clone(m.Params)
		for j := range w {
			w[j] = stretch*w[j] + far*size*rng.NormFloat64()
		}
		if set != nil {
			set.Project(w)
		}
		values := at(w)
		if metrics.IsDominated(here, [][]float64{values}, o.Tolerance) {
			c.Dominating++
		}
		if floats.Sub(values, here); floats.Max(values) < -o.Tolerance {
			c.Better++
		}
	}
	return c, nil
}

// training is what a check needs to know of how a model was trained.
type training struct {
	beta1, bias, radius float64
	beta2               float64 // with its sign in the game
	norm, fixed         bool
}

// trained reads the words of Training. Models of other words were trained without any of it.
func (m *Model) trained() (training, error) {
	words := map[string]string{}
	for _, word := range strings.Fields(m.Training) {
		if key, value, ok := strings.Cut(word, "="); ok {
			words[key] = value
		}
	}
	t := training{norm: words["norm"] == "true", fixed: words["mixture"] != ""}
	for key, to := range map[string]*float64{"l2": &t.beta1, "bias": &t.bias, "radius": &t.radius,
		"beta2": &t.beta2} {
		if words[key] == "" {
			continue
		}
		v, err := strconv.ParseFloat(words[key], 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 1) {
			return t, fmt.Errorf("minimax: the model was trained with %s=%q, which is no number from 0 on", key,
				words[key])
		}
		*to = v
	}
	switch Penalty(words["penalty"]) {
	case Shy:
		t.beta2 = -t.beta2
	case Constraint: // is in the preferences
		t.beta2 = 0
	}
	return t, nil
}

// slack is by how much the model's mixture of values is below the worst one.
func (m *Model) slack(values []float64, how training) (*float64, error) {
	set, err := m.preferences()
	if err != nil {
		return nil, err
	}
	values = slices.Clone(values)
	for k := range values {
		values[k] += how.beta2 * m.Objectives[k].Lipschitz // 0 where it is not finite
	}
	v := set.Maximize(values, nil) - floats.Dot(m.Lambda, values)
	return &v, nil
}

// set returns where training kept the parameters, or nil.
func (m *Model) set(how training) optim.Set {
	switch {
	case how.radius > 0:
		return optim.Ball{Radius: how.radius}
	case how.bias > 0 && m.net.Layers() == 1:
		return biasBox(m.net, how.bias)
	}
	return nil
}

// penalty is that of training.
func (m *Model) penalty(how training) *penalty {
	spans := m.net.AllWeights()
	if m.net.Layers() == 1 && how.bias == 0 {
		spans = []nn.Span{{From: 0, To: m.net.Dim()}}
	}
	return &penalty{how.beta1, how.norm, spans}
}
