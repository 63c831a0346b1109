package multi

import (
	"context"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// Entry is one setting of a cross-validation.
type Entry struct {
	Name    string
	Options Options // no validation rows
	// Settings is all that the options say, as text of any form: fits of an earlier run are
	// known by it. "" is not known, and such fits are made again.
	Settings string
}

// CVOptions adjusts CrossValidate; nil is the zero value.
type CVOptions struct {
	Ctx       context.Context
	Workers   int  // 0 is GOMAXPROCS. Results do not depend on it
	ByUniform bool // settings are chosen by the uniform error of inner folds, not by the agnostic one
	// Known, Save and Done are those of evaluate.Plan, for fits of an earlier run on the same
	// table.
	Known []evaluate.Fitted
	Save  func(*evaluate.Fitted) error
	Done  func(all int, name string, trial int)
}

// CVReport is the outcome of CrossValidate: MULTIBOOST, AdaBoost-all, AdaBoost-1, ….
type CVReport struct {
	Sources []string   `json:"sources"`
	Rows    int        `json:"rows"` // of a trial
	Trials  int        `json:"trials"`
	Models  []*CVModel `json:"models"`
}

// CVModel is one model's errors over the trials.
type CVModel struct {
	Name     string      `json:"name"`
	Domain   [][]float64 `json:"domain"` // by trial and source
	Uniform  []float64   `json:"uniform"`
	Agnostic []float64   `json:"agnostic"`
	Terms    []float64   `json:"terms"`
	Chosen   []string    `json:"chosen,omitempty"` // setting by trial

	// Against AdaBoost-all: plain paired t-tests, which find too much since training
	// parts overlap, and corrected resampled ones. nil for AdaBoost-all itself.
	UniformPlain, UniformCorrected   *metrics.TTest `json:",omitempty"`
	AgnosticPlain, AgnosticCorrected *metrics.TTest `json:",omitempty"`
}

// CrossValidate trains and tests MULTIBOOST, with the setting that does best on the inner folds of
// each trial's training rows. It compares with AdaBoost on all sources and on each, with as many
// rounds. The table must have sources in all parts; Stratified makes such trials.
func CrossValidate(t *table.Table, trials []table.Trial, grid []Entry, opts *CVOptions) (*CVReport, error) {
	var o CVOptions
	if opts != nil {
		o = *opts
	}
	if len(grid) == 0 || len(trials) == 0 {
		return nil, fmt.Errorf("multi: cross-validation: %d settings and %d trials", len(grid), len(trials))
	}
	trials, err := t.Usable(trials, len(grid) > 1)
	if err != nil {
		return nil, fmt.Errorf("multi: cross-validation: %w", err)
	}
	p := len(t.Sources)
	uniform, agnostic, terms := p, p+1, p+2 // measures behind those of the sources
	by := agnostic
	if o.ByUniform {
		by = uniform
	}
	c := &crossing{t, o.Workers}
	first := evaluate.Contestant{Name: multiboost, By: []int{by}}
	others := make([]evaluate.Contestant, p+1)
	for k := range others {
		others[k] = evaluate.Contestant{Name: fmt.Sprintf("adaboost-%d", k), As: multiboost}
	}
	others[0].Name = "adaboost-all"
	for _, e := range grid {
		first.Grid = append(first.Grid, evaluate.Setting{Name: e.Name, Print: e.Settings,
			Fit: func(ctx context.Context, fold dataset.Fold) ([]float64, error) {
				return c.fit(ctx, &e.Options, fold)
			}})
		for k := range others {
			s := evaluate.Setting{Name: e.Name, Fit: func(ctx context.Context, fold dataset.Fold) ([]float64, error) {
				return c.baseline(ctx, &e.Options, k-1, fold)
			}}
			// The setting says what the baseline is: its rounds, learner and target set.
			if e.Settings != "" {
				s.Print = others[k].Name + " beside " + e.Settings
			}
			others[k].Grid = append(others[k].Grid, s)
		}
	}
	plan := &evaluate.Plan{Measures: make([]string, p+3), EqualFolds: true,
		Against: others[0].Name, Known: o.Known, Save: o.Save, Done: o.Done, Workers: 1, // of fits: each has all goroutines
		Contestants: append([]evaluate.Contestant{first}, others...)}
	copy(plan.Measures, t.Sources)
	copy(plan.Measures[p:], []string{"uniform", "agnostic", "terms"})
	for i := range trials {
		plan.Trials = append(plan.Trials, evaluate.Trial{
			Fold: dataset.Fold{Train: trials[i].Train, Test: trials[i].Test}, Inner: trials[i].InnerFolds()})
	}
	found, err := plan.Run(o.Ctx)
	if err != nil {
		return nil, err
	}
	r := &CVReport{Sources: t.Sources, Rows: len(trials[0].Train) + len(trials[0].Test), Trials: len(trials)}
	for k, s := range found.Standings {
		m := &CVModel{Name: s.Name, Uniform: s.Values[uniform], Agnostic: s.Values[agnostic],
			Terms: s.Values[terms]}
		if k == 0 {
			m.Chosen = s.Chosen
		}
		for i := range trials {
			var domain []float64
			for _, v := range s.Values[:p] {
				domain = append(domain, v[i])
			}
			m.Domain = append(m.Domain, domain)
		}
		if s.Plain != nil {
			m.UniformPlain, m.UniformCorrected = &s.Plain[uniform], &s.Corrected[uniform]
			m.AgnosticPlain, m.AgnosticCorrected = &s.Plain[agnostic], &s.Corrected[agnostic]
		}
		r.Models = append(r.Models, m)
	}
	return r, nil
}

// multiboost is the name of the first model of a cross-validation.
const multiboost = "multiboost"

// measures lays errors out as a comparison has them.
func measures(e *Errors, terms int) []float64 {
	return slices.Concat(e.Domain, []float64{e.Uniform, e.Agnostic, float64(terms)})
}

// crossing fits the models of a cross-validation.
type crossing struct {
	t       *table.Table
	workers int
}

// parts returns the rows of a division.
func (c *crossing) parts(fold dataset.Fold, l boost.Loss) (train, test *boost.Data, err error) {
	if train, err = NewData(c.t.Subset(fold.Train), l); err != nil {
		return nil, nil, err
	}
	test, err = NewData(c.t.Subset(fold.Test), l)
	return train, test, err
}

// fit trains MULTIBOOST and measures it.
func (c *crossing) fit(ctx context.Context, options *Options, fold dataset.Fold) ([]float64, error) {
	l := options.Loss
	if l == nil {
		l = boost.Exponential{}
	}
	train, test, err := c.parts(fold, l)
	if err != nil {
		return nil, err
	}
	m, _, err := Train(train, options, &run.Control{Ctx: ctx, Workers: c.workers})
	if err != nil {
		return nil, err
	}
	f, err := m.Scores(test.X, &PredictOptions{Workers: c.workers})
	if err != nil {
		return nil, err
	}
	e, err := ErrorRates(test, f, &options.Target)
	if err != nil {
		return nil, err
	}
	return measures(e, m.Terms()), nil
}

// baseline trains AdaBoost beside MULTIBOOST with those options, on one source (-1: on all), and
// measures it.
func (c *crossing) baseline(ctx context.Context, o *Options, source int,
	fold dataset.Fold) ([]float64, error) {
	train, test, err := c.parts(fold, boost.Exponential{})
	if err != nil {
		return nil, err
	}
	b, _, err := TrainBaseline(train, source, o.Rounds, o.Learner, &run.Control{Ctx: ctx, Workers: c.workers})
	if err != nil {
		return nil, err
	}
	f, err := b.Scores(test.X, &boost.PredictOptions{Workers: c.workers})
	if err != nil {
		return nil, err
	}
	e, err := ErrorRates(test, f, &o.Target)
	if err != nil {
		return nil, err
	}
	return measures(e, len(b.Terms)), nil
}
