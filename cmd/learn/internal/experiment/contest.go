package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// Entry is an objective that takes part, with the constants it may choose from.
type Entry struct {
	Name    string
	Options sequence.TrainOptions // what L2 and Gamma below leave open
	L2      []float64
	Gamma   []float64 // empty for objectives without one
}

// Constants are what an entry chooses.
type Constants struct {
	L2    float64 `json:"l2"`
	Gamma float64 `json:"gamma,omitempty"`
}

func (c Constants) String() string {
	if c.Gamma == 0 {
		return fmt.Sprintf("l2=%g", c.L2)
	}
	return fmt.Sprintf("l2=%g gamma=%g", c.L2, c.Gamma)
}

func (e *Entry) candidates() []Constants {
	var out []Constants
	for _, l2 := range e.L2 {
		if len(e.Gamma) == 0 {
			out = append(out, Constants{L2: l2})
		}
		for _, g := range e.Gamma {
			out = append(out, Constants{l2, g})
		}
	}
	return out
}

// Measure is what outputs are judged by; less is better.
type Measure func(prediction, truth []string) float64

// Trial is one division of data.
type Trial struct {
	Train, Heldout, Test []sequence.Example
}

// Outcome is what became of an entry in a trial.
type Outcome struct {
	Chosen      Constants
	Edge        bool    // chosen at the end of a list: the best constants may lie beyond
	Heldout     float64 // mean measure
	Converged   bool
	Model       *sequence.Model // with Refit, of the second fit; so Converged, Predictions and Values
	Predictions [][]string
	Values      []float64 // the measure of every test example
}

// Contest is a comparison of entries over trials.
type Contest struct {
	Entries []Entry
	Measure Measure
	// Refit fits the model of the chosen constants again, to the training and held-out examples
	// together, and tests that one. Use it where the held-out examples were part of the training
	// examples.
	Refit   bool
	Workers int // fits at the same time; zero is 1. Results do not depend on it
	// Fitted, if not nil, is called after each fit by any goroutine, with the number
	// of fits that there are in all.
	Fitted func(trial int, e *Entry, c Constants, heldout float64, fits int)
}

// Run fits every entry with each of its constants to the training examples of each trial. It takes
// the constants with the least mean measure on the held-out examples (the first among equals), and
// tests that model. The result is indexed by trial and entry.
//
// An entry of the kind Risk without Init starts from the model that the first CrossEntropy entry
// chose, and is fitted after it. While choosing, it starts from the model that has not seen the
// held-out examples; when fitted again, from the other.
func (c *Contest) Run(ctx context.Context, trials []Trial) ([][]Outcome, error) {
	first := -1 // the cross-entropy entry that risk starts from
	for i := range c.Entries {
		e := &c.Entries[i]
		if len(e.candidates()) == 0 {
			return nil, fmt.Errorf("experiment: %s has no constants to choose from", e.Name)
		}
		if e.Options.Kind == sequence.CrossEntropy && first < 0 {
			first = i
		}
	}
	for i, t := range trials {
		if len(t.Train) == 0 || len(t.Heldout) == 0 || len(t.Test) == 0 {
			return nil, fmt.Errorf("experiment: trial %d lacks training, held-out or test examples", i+1)
		}
	}
	type job struct{ trial, entry, candidate int }
	fitted := make([][][]fit, len(trials))
	var now, later []job
	for t := range trials {
		fitted[t] = make([][]fit, len(c.Entries))
		for e := range c.Entries {
			n := len(c.Entries[e].candidates())
			fitted[t][e] = make([]fit, n)
			for k := range n {
				if o := &c.Entries[e].Options; o.Kind == sequence.Risk && o.Init == nil && first >= 0 {
					later = append(later, job{t, e, k})
				} else {
					now = append(now, job{t, e, k})
				}
			}
		}
	}
	all := len(now) + len(later)
	if c.Refit {
		all += len(trials) * len(c.Entries)
	}
	out := make([][]Outcome, len(trials))
	for t := range trials {
		out[t] = make([]Outcome, len(c.Entries))
	}
	for _, jobs := range [][]job{now, later} {
		err := run.Each(max(1, c.Workers), len(jobs), func(_, i int) error {
			j := jobs[i]
			e := &c.Entries[j.entry]
			o := e.Options
			if o.Kind == sequence.Risk && o.Init == nil && first >= 0 {
				o.Init = out[j.trial][first].Model
			}
			k := e.candidates()[j.candidate]
			f := &fitted[j.trial][j.entry][j.candidate]
			if err := f.fit(ctx, &trials[j.trial], o, k, c.Measure); err != nil {
				return fmt.Errorf("experiment: trial %d, %s with %v: %w", j.trial+1, e.Name, k, err)
			}
			if c.Fitted != nil {
				c.Fitted(j.trial, e, k, f.heldout, all)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for t := range trials {
			for e := range c.Entries {
				if fitted[t][e][0].model == nil || out[t][e].Model != nil {
					continue
				}
				var err error
				if out[t][e], err = c.choose(&c.Entries[e], fitted[t][e], trials[t].Test); err != nil {
					return nil, fmt.Errorf("experiment: trial %d, %s: %w", t+1, c.Entries[e].Name, err)
				}
				fitted[t][e] = make([]fit, 1) // the models not chosen
			}
		}
	}
	if c.Refit {
		if err := c.refit(ctx, trials, out, first, all); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// refit fits what was chosen to the training and held-out examples, entries that others
// start from first.
func (c *Contest) refit(ctx context.Context, trials []Trial, out [][]Outcome, first, all int) error {
	n := len(c.Entries)
	from := func(e int) bool {
		o := &c.Entries[e].Options
		return o.Kind == sequence.Risk && o.Init == nil && first >= 0
	}
	for _, later := range []bool{false, true} {
		err := run.Each(max(1, c.Workers), len(trials)*n, func(_, i int) error {
			t, k := i/n, i%n
			if from(k) != later {
				return nil
			}
			e, trial, chosen := &c.Entries[k], &trials[t], &out[t][k]
			o := e.Options
			if later {
				o.Init = out[t][first].Model
			}
			var f fit
			whole := Trial{Train: slices.Concat(trial.Train, trial.Heldout), Heldout: trial.Heldout}
			err := f.fit(ctx, &whole, o, chosen.Chosen, c.Measure)
			if err == nil {
				chosen.Model, chosen.Converged = f.model, f.converged
				chosen.Values, chosen.Predictions, err = test(f.model, trial.Test, c.Measure)
			}
			if err != nil {
				return fmt.Errorf("experiment: trial %d, %s with %v, on all training examples: %w", t+1, e.Name,
					chosen.Chosen, err)
			}
			if c.Fitted != nil {
				c.Fitted(t, e, chosen.Chosen, chosen.Heldout, all)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fit is one model of an entry.
type fit struct {
	model     *sequence.Model
	heldout   float64
	converged bool
}

func (f *fit) fit(ctx context.Context, t *Trial, o sequence.TrainOptions, k Constants,
	measure Measure) error {
	o.L2, o.Gamma, o.Workers = k.L2, k.Gamma, 1
	if o.L2 == 0 {
		o.L2 = -1
	}
	o.Control.Ctx = ctx
	m, r, err := sequence.Train(t.Train, &o)
	if err != nil {
		return err
	}
	values, _, err := test(m, t.Heldout, measure)
	if err != nil {
		return err
	}
	f.model, f.heldout, f.converged = m, mean(values), r.Reason.Converged()
	return nil
}

func (c *Contest) choose(e *Entry, fits []fit, examples []sequence.Example) (Outcome, error) {
	best := 0
	for k := range fits {
		if fits[k].heldout < fits[best].heldout {
			best = k
		}
	}
	f := &fits[best]
	o := Outcome{Chosen: e.candidates()[best], Heldout: f.heldout, Converged: f.converged, Model: f.model}
	edge := func(list []float64, v float64) bool {
		if len(list) < 3 { // no list to speak of
			return false
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, x := range list {
			lo, hi = math.Min(lo, x), math.Max(hi, x)
		}
		return v == lo || v == hi
	}
	o.Edge = edge(e.L2, o.Chosen.L2) || edge(e.Gamma, o.Chosen.Gamma)
	var err error
	o.Values, o.Predictions, err = test(f.model, examples, c.Measure)
	return o, err
}

func test(m *sequence.Model, examples []sequence.Example, measure Measure) ([]float64, [][]string, error) {
	t := m.Tagger()
	values, predictions := make([]float64, len(examples)), make([][]string, len(examples))
	for i := range examples {
		u, err := t.Viterbi(&examples[i].Input)
		if err != nil {
			return nil, nil, err
		}
		predictions[i], values[i] = u, measure(u, examples[i].Labels)
		if values[i] != values[i] {
			return nil, nil, errors.New("the measure is NaN")
		}
	}
	return values, predictions, nil
}

func mean(v []float64) float64 { return optim.TreeSum(v) / float64(len(v)) }
