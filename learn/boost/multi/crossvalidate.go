package multi

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// Entry is one setting of a cross-validation.
type Entry struct {
	Name    string
	Options Options // Ctx and Workers are those of CVOptions; no validation rows, checkpoint or resume
	// Settings is all that the options say, as text of any form: fits of an earlier run are
	// known by it. "" is not known, and such fits are made again.
	Settings string
}

// CVFit is what one fit of a cross-validation came to.
type CVFit struct {
	Model    string    `json:"model"`    // the setting's name, or that of a baseline
	Settings string    `json:"settings"` // fingerprint of what it was trained with
	Division string    `json:"division"` // of the rows: dataset.Fold.Fingerprint
	Domain   []float64 `json:"domain"`
	Uniform  float64   `json:"uniform"`
	Agnostic float64   `json:"agnostic"`
	Terms    int       `json:"terms"`
}

// key says what a fit is of: fits with the same key, of the same data, are the same.
func (f *CVFit) key() string { return f.Settings + "/" + f.Division }

// CVOptions adjusts CrossValidate; nil is the zero value.
type CVOptions struct {
	Ctx       context.Context
	Workers   int  // 0 is GOMAXPROCS. Results do not depend on it
	ByUniform bool // settings are chosen by the uniform error of inner folds, not by the agnostic one
	// Known are fits of an earlier run on the same table: those with the settings and
	// division of one of this run are not made again.
	Known []CVFit
	// Save, if not nil, is called with each new fit of known settings. An error ends the run.
	Save func(*CVFit) error
	// Fitted, if not nil, is called after each training: of how many, what, which trial.
	Fitted func(all int, name string, trial int)
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

// CrossValidate trains and tests MULTIBOOST, with the setting that does best on the inner
// folds of each trial's training rows, beside AdaBoost on all sources and on each, with
// as many rounds. The table must have sources in all parts; Stratified makes such
// trials.
func CrossValidate(t *table.Table, trials []table.Trial, grid []Entry, opts *CVOptions) (*CVReport, error) {
	var o CVOptions
	if opts != nil {
		o = *opts
	}
	if o.Ctx == nil {
		o.Ctx = context.Background()
	}
	if len(grid) == 0 || len(trials) == 0 {
		return nil, fmt.Errorf("multi: cross-validation: %d settings and %d trials", len(grid), len(trials))
	}
	trials, err := t.Usable(trials, len(grid) > 1)
	if err != nil {
		return nil, fmt.Errorf("multi: cross-validation: %w", err)
	}
	c := &crossing{t: t, grid: grid, o: o, r: &CVReport{Sources: t.Sources, Rows: len(trials[0].Train) + len(trials[0].Test), Trials: len(trials)}, known: map[string]*CVFit{}}
	for i := range o.Known {
		c.known[o.Known[i].key()] = &o.Known[i]
	}
	c.r.Models = []*CVModel{{Name: "multiboost"}, {Name: "adaboost-all"}}
	for k := range t.Sources {
		c.r.Models = append(c.r.Models, &CVModel{Name: fmt.Sprintf("adaboost-%d", k+1)})
	}
	c.all = len(trials) * len(c.r.Models)
	if len(grid) > 1 {
		for i := range trials {
			c.all += len(grid) * len(trials[i].InnerFolds())
		}
	}
	train, test := 0.0, 0.0
	for n := range trials {
		if err := c.trial(n, &trials[n]); err != nil {
			return nil, fmt.Errorf("multi: trial %d: %w", n+1, err)
		}
		train += float64(len(trials[n].Train))
		test += float64(len(trials[n].Test))
	}
	return c.r, c.compare(test, train)
}

type crossing struct {
	t    *table.Table
	grid []Entry
	o    CVOptions
	r    *CVReport
	all  int

	known map[string]*CVFit
}

// keep returns the known fit of that model, or makes and saves it.
func (c *crossing) keep(name, settings string, fold dataset.Fold, fit func(train, test []int) (*Errors, int, error)) (*Errors, int, error) {
	f := CVFit{Model: name}
	if settings != "" {
		h := fnv.New64a()
		h.Write([]byte(settings))
		f.Settings, f.Division = fmt.Sprintf("%016x", h.Sum64()), fold.Fingerprint()
		if k := c.known[f.key()]; k != nil && len(k.Domain) == len(c.t.Sources) {
			return &Errors{k.Domain, k.Uniform, k.Agnostic}, k.Terms, nil
		}
	}
	e, terms, err := fit(fold.Train, fold.Test)
	if err == nil && settings != "" && c.o.Save != nil {
		f.Domain, f.Uniform, f.Agnostic, f.Terms = e.Domain, e.Uniform, e.Agnostic, terms
		err = c.o.Save(&f)
	}
	return e, terms, err
}

// parts are the rows of a division.
func (c *crossing) parts(train, test []int, l boost.Loss) (a, b *boost.Data, err error) {
	if a, err = NewData(c.t.Subset(train), l); err != nil {
		return nil, nil, err
	}
	b, err = NewData(c.t.Subset(test), l)
	return a, b, err
}

// errors trains one setting and measures it.
func (c *crossing) errors(e *Entry, fold dataset.Fold) (*Errors, int, error) {
	return c.keep(e.Name, e.Settings, fold, func(train, test []int) (*Errors, int, error) { return c.fit(e, train, test) })
}

func (c *crossing) fit(e *Entry, train, test []int) (*Errors, int, error) {
	o := e.Options
	o.Ctx, o.Workers = c.o.Ctx, c.o.Workers
	l := o.Loss
	if l == nil {
		l = boost.Exponential{}
	}
	a, b, err := c.parts(train, test, l)
	if err != nil {
		return nil, 0, err
	}
	m, err := Train(a, &o)
	if err != nil {
		return nil, 0, err
	}
	f, err := m.Scores(b.X, &PredictOptions{Workers: o.Workers})
	if err != nil {
		return nil, 0, err
	}
	r, err := ErrorRates(b, f, &o.Target)
	return r, m.Terms(), err
}

func (c *crossing) fitted(name string, trial int) {
	if c.o.Fitted != nil {
		c.o.Fitted(c.all, name, trial)
	}
}

func (c *crossing) trial(n int, t *table.Trial) error {
	best, whole := 0, dataset.Fold{Train: t.Train, Test: t.Test}
	if len(c.grid) > 1 {
		folds := t.InnerFolds()
		if len(folds) < 2 {
			return fmt.Errorf("there are %d settings to choose from and no inner folds", len(c.grid))
		}
		least := math.Inf(1)
		for g := range c.grid {
			sum := 0.0
			for _, f := range folds {
				e, _, err := c.errors(&c.grid[g], f)
				if err != nil {
					return fmt.Errorf("%s: %w", c.grid[g].Name, err)
				}
				c.fitted(c.grid[g].Name, n)
				if c.o.ByUniform {
					sum += e.Uniform
				} else {
					sum += e.Agnostic
				}
			}
			if sum < least {
				best, least = g, sum
			}
		}
	}
	e, terms, err := c.errors(&c.grid[best], whole)
	if err != nil {
		return fmt.Errorf("%s: %w", c.grid[best].Name, err)
	}
	c.r.Models[0].add(e, terms)
	c.r.Models[0].Chosen = append(c.r.Models[0].Chosen, c.grid[best].Name)
	c.fitted("multiboost", n)
	train, test, err := c.parts(t.Train, t.Test, boost.Exponential{})
	if err != nil {
		return err
	}
	o := &c.grid[best].Options
	rounds := o.Rounds
	if rounds == 0 {
		rounds = 100
	}
	for k, m := range c.r.Models[1:] {
		// The setting says what the baseline is: its rounds, learner and target set.
		settings := c.grid[best].Settings
		if settings != "" {
			settings = m.Name + " beside " + settings
		}
		e, terms, err := c.keep(m.Name, settings, whole, func([]int, []int) (*Errors, int, error) {
			b, err := TrainBaseline(train, k-1, rounds, o.Learner, boost.Control{Ctx: c.o.Ctx, Workers: c.o.Workers})
			if err != nil {
				return nil, 0, err
			}
			f, err := b.Scores(test.X, &boost.PredictOptions{Workers: c.o.Workers})
			if err != nil {
				return nil, 0, err
			}
			e, err := ErrorRates(test, f, &o.Target)
			return e, len(b.Terms), err
		})
		if err != nil {
			return err
		}
		m.add(e, terms)
		c.fitted(m.Name, n)
	}
	return nil
}

func (m *CVModel) add(e *Errors, terms int) {
	m.Domain = append(m.Domain, e.Domain)
	m.Uniform, m.Agnostic, m.Terms = append(m.Uniform, e.Uniform), append(m.Agnostic, e.Agnostic), append(m.Terms, float64(terms))
}

func (c *crossing) compare(test, train float64) error {
	if c.r.Trials < 2 {
		return nil
	}
	all := c.r.Models[1]
	for n, m := range c.r.Models {
		if n == 1 {
			continue
		}
		for _, x := range []struct {
			a, b             []float64
			plain, corrected **metrics.TTest
		}{{m.Uniform, all.Uniform, &m.UniformPlain, &m.UniformCorrected}, {m.Agnostic, all.Agnostic, &m.AgnosticPlain, &m.AgnosticCorrected}} {
			p, err := metrics.PairedT(x.a, x.b)
			if err != nil {
				return err
			}
			q, err := metrics.CorrectedT(x.a, x.b, test, train)
			if err != nil {
				return err
			}
			*x.plain, *x.corrected = &p, &q
		}
	}
	return nil
}
