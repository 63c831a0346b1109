package boost

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// Trainer is one setting of a booster, ready to run: what cross-validation
// compares. Train must be safe to call from several goroutines and give the same
// model whenever it is called with the same data.
type Trainer struct {
	Name  string
	Train func(d *Data, c Control) (*Ensemble, error)
	// Settings is all that the model depends on beside the data, as text of any form: fits
	// of an earlier run are known by it. "" is not known, and such fits are made again.
	Settings string
}

// CVFit is what one fit of a cross-validation came to.
type CVFit struct {
	Contestant string  `json:"contestant"`
	Setting    string  `json:"setting"`
	Trial      int     `json:"trial"`
	Inner      int     `json:"inner"`    // fold of the trial's training part; -1 is all of that
	Settings   string  `json:"settings"` // fingerprint of the trainer's
	Division   string  `json:"division"` // of the rows: dataset.Fold.Fingerprint
	Loss       float64 `json:"loss"`
	Error      float64 `json:"error"`
}

// key says what a fit is of: fits with the same key, of the same data and loss, are the same.
func (f *CVFit) key() string { return f.Settings + "/" + f.Division }

// Contestant is a booster with the settings to choose from.
type Contestant struct {
	Name string
	Grid []Trainer // at least one; of settings that are equally good the first is taken
}

// Choice says by what a setting is chosen on inner folds.
type Choice string

const (
	ByLoss  Choice = ""      // least mean loss; ties by error. Steadier on small tables
	ByError Choice = "error" // least error rate; ties by loss
)

// CVOptions adjusts CrossValidate.
type CVOptions struct {
	Ctx     context.Context // cancels; nil is none
	Choice  Choice
	Workers int // fits at the same time, each on one goroutine; 0 is GOMAXPROCS. Results do not depend on it

	// Known are fits of an earlier run on the same table with the same loss: those with the
	// settings and division of one of this run are not made again.
	Known []CVFit
	// Save, if not nil, is called with each new fit of known settings and finite loss, one
	// call at a time. An error ends the run.
	Save func(*CVFit) error

	// Fitted, if not nil, is told after each fit, by several goroutines at once; all
	// is the number of fits.
	Fitted func(all int, contestant string, trial int)
}

// CVReport is what a cross-validation found.
type CVReport struct {
	Rows        int            `json:"rows"` // of positive weight
	Trials      int            `json:"trials"`
	Classify    bool           `json:"classify"` // false: Error is the root of the mean squared error
	Contestants []CVContestant `json:"contestants"`
}

// CVContestant is one booster's result, an entry of its lists for each trial.
type CVContestant struct {
	Name   string    `json:"name"`
	Error  []float64 `json:"error"` // of the setting chosen on inner folds
	Loss   []float64 `json:"loss"`
	Chosen []string  `json:"chosen"`
	// Best is the setting that does best on the test parts themselves: the
	// figure that is not nested, and too good by the luck of the choice.
	Best      string    `json:"best"`
	BestError []float64 `json:"best_error"`

	// Against the first contestant; nil for that one, and with fewer than two
	// trials.
	Plain     *metrics.TTest `json:"t_test,omitempty"`
	Corrected *metrics.TTest `json:"corrected_t_test,omitempty"`
}

// CrossValidate trains every contestant on the training part of each trial, with the
// setting that does best on the trial's inner folds, and measures it on the test
// part: nested cross-validation, on the same divisions for all. A contestant with one
// setting, or a trial without inner folds, makes no choice (with several settings
// that is an error). Rows of weight 0 take no part, and a trial without others is an error.
//
// The fits run side by side, so a table should have many; the sum is
// trials·(inner folds + 1)·settings.
func CrossValidate(t *table.Table, l Loss, trials []table.Trial, contestants []Contestant, o *CVOptions) (*CVReport, error) {
	if o == nil {
		o = &CVOptions{}
	}
	ctx := o.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if o.Choice != ByLoss && o.Choice != ByError {
		return nil, fmt.Errorf("boost: cross-validation: settings are chosen by %q, which is neither loss nor error", o.Choice)
	}
	if len(trials) == 0 || len(contestants) == 0 {
		return nil, fmt.Errorf("boost: cross-validation: %d trials and %d contestants", len(trials), len(contestants))
	}
	d, err := NewData(t, l)
	if err != nil {
		return nil, err
	}
	choice := slices.ContainsFunc(contestants, func(c Contestant) bool { return len(c.Grid) > 1 })
	if trials, err = t.Usable(trials, choice); err != nil {
		return nil, fmt.Errorf("boost: cross-validation: %w", err)
	}
	type job struct {
		contestant, trial, setting int
		inner                      int // -1: the whole training part
		fold                       dataset.Fold
		loss, wrong                float64
	}
	var jobs []*job
	for k, c := range contestants {
		if len(c.Grid) == 0 {
			return nil, fmt.Errorf("boost: cross-validation: %s has no setting", c.Name)
		}
		for i := range trials {
			inner := trials[i].InnerFolds()
			if len(c.Grid) > 1 && len(inner) == 0 {
				return nil, fmt.Errorf("boost: cross-validation: %s has %d settings, and trial %d no inner folds to choose on", c.Name, len(c.Grid), i+1)
			}
			for s := range c.Grid {
				jobs = append(jobs, &job{contestant: k, trial: i, setting: s, inner: -1, fold: dataset.Fold{Train: trials[i].Train, Test: trials[i].Test}})
				for f := range inner {
					if len(c.Grid) > 1 {
						jobs = append(jobs, &job{contestant: k, trial: i, setting: s, inner: f, fold: inner[f]})
					}
				}
			}
		}
	}
	known := map[string]*CVFit{}
	for i := range o.Known {
		known[o.Known[i].key()] = &o.Known[i]
	}
	r := &CVReport{Rows: d.Rows(), Trials: len(trials), Classify: HasMargin(l) || l.Outputs() > 1}
	run := func(j *job) error {
		c := &contestants[j.contestant]
		d, err := NewData(t.Subset(j.fold.Train), l)
		if err != nil {
			return err
		}
		e, err := c.Grid[j.setting].Train(d, Control{Ctx: ctx, Workers: 1})
		if err != nil {
			return err
		}
		test := t.Subset(j.fold.Test)
		y, err := Labels(test, l)
		if err != nil {
			return err
		}
		f, err := e.Scores(test, &PredictOptions{Workers: 1})
		if err != nil {
			return err
		}
		// Losses of other scales than e's would not compare: the model's own loss
		// trained it, the common one judges it.
		if e.Loss.Outputs() != l.Outputs() {
			return fmt.Errorf("boost: cross-validation: %s gives %d scores a row, the loss %s has %d", c.Grid[j.setting].Name, e.Loss.Outputs(), l.Name(), l.Outputs())
		}
		j.loss = MeanLoss(l, y, test.Weight, f)
		if r.Classify {
			j.wrong = ErrorRate(l, y, test.Weight, f)
		} else {
			j.wrong = metrics.RMSE(f, y, test.Weight)
		}
		return nil
	}
	errs := make([]error, len(jobs))
	var mu sync.Mutex
	failed := false
	forEach(o.Workers, len(jobs), func(i int) {
		mu.Lock()
		skip := failed || ctx.Err() != nil
		mu.Unlock()
		if skip {
			return
		}
		j := jobs[i]
		setting := &contestants[j.contestant].Grid[j.setting]
		fit := CVFit{Contestant: contestants[j.contestant].Name, Setting: setting.Name, Trial: j.trial, Inner: j.inner}
		var was *CVFit
		if setting.Settings != "" {
			fit.Settings, fit.Division = settingsPrint(setting.Settings), j.fold.Fingerprint()
			was = known[fit.key()]
		}
		if was != nil {
			j.loss, j.wrong = was.Loss, was.Error
		} else {
			errs[i] = run(j)
		}
		if fit.Loss, fit.Error = j.loss, j.wrong; errs[i] == nil && was == nil && setting.Settings != "" && o.Save != nil && !math.IsInf(j.loss-j.wrong, 0) && j.loss-j.wrong == j.loss-j.wrong {
			mu.Lock()
			if !failed { // the first error is the last call
				errs[i] = o.Save(&fit)
				failed = errs[i] != nil
			}
			mu.Unlock()
		}
		if errs[i] != nil {
			mu.Lock()
			failed = true
			mu.Unlock()
		}
		if o.Fitted != nil {
			o.Fitted(len(jobs), contestants[jobs[i].contestant].Name, jobs[i].trial)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, &Interrupted{"cross-validation", 0, context.Cause(ctx)}
	}
	for i, err := range errs {
		if err != nil {
			j := jobs[i]
			return nil, fmt.Errorf("boost: cross-validation: trial %d, %s: %w", j.trial+1, contestants[j.contestant].Grid[j.setting].Name, err)
		}
	}

	// Sums in the order of the jobs: choices do not depend on who finished first.
	type score struct{ loss, wrong, weight float64 }
	inner := map[[3]int]*score{}
	outer := map[[3]int]*job{}
	for _, j := range jobs {
		key := [3]int{j.contestant, j.trial, j.setting}
		if j.inner < 0 {
			outer[key] = j
			continue
		}
		if inner[key] == nil {
			inner[key] = &score{}
		}
		n := 0.0
		for _, i := range j.fold.Test {
			n += weight(t.Weight, i)
		}
		s := inner[key]
		s.loss, s.wrong, s.weight = s.loss+n*j.loss, s.wrong+n*j.wrong, s.weight+n
	}
	better := func(a, b *score) bool {
		x, y, u, v := a.loss/a.weight, b.loss/b.weight, a.wrong/a.weight, b.wrong/b.weight
		if o.Choice == ByError {
			x, y, u, v = u, v, x, y
		}
		return x < y || x == y && u < v
	}
	for k, c := range contestants {
		out := CVContestant{Name: c.Name}
		least := math.Inf(1)
		for s := range c.Grid {
			errors := make([]float64, len(trials))
			for i := range trials {
				errors[i] = outer[[3]int{k, i, s}].wrong
			}
			if mean, _ := metrics.MeanSD(errors); mean < least {
				least, out.Best, out.BestError = mean, c.Grid[s].Name, errors
			}
		}
		for i := range trials {
			chosen := 0
			for s := 1; s < len(c.Grid); s++ {
				if better(inner[[3]int{k, i, s}], inner[[3]int{k, i, chosen}]) {
					chosen = s
				}
			}
			j := outer[[3]int{k, i, chosen}]
			out.Error, out.Loss, out.Chosen = append(out.Error, j.wrong), append(out.Loss, j.loss), append(out.Chosen, c.Grid[chosen].Name)
		}
		if k > 0 && len(trials) > 1 {
			if err := out.compare(&r.Contestants[0], trials); err != nil {
				return nil, err
			}
		}
		r.Contestants = append(r.Contestants, out)
	}
	return r, nil
}

// settingsPrint is a short name of settings.
func settingsPrint(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf("%016x", h.Sum64())
}

// compare tests the errors against another contestant's.
func (c *CVContestant) compare(other *CVContestant, trials []table.Trial) error {
	plain, err := metrics.PairedT(c.Error, other.Error)
	if err != nil {
		return err
	}
	test, train := 0.0, 0.0
	for _, t := range trials {
		test, train = test+float64(len(t.Test)), train+float64(len(t.Train))
	}
	corrected, err := metrics.CorrectedT(c.Error, other.Error, test, train)
	if err != nil {
		return err
	}
	c.Plain, c.Corrected = &plain, &corrected
	return nil
}
