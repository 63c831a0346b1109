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
	"github.com/tropica-fst/tropica/learn/optim/score"
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
	cv := &crossValidation{ctx: ctx, table: t, loss: l, trials: trials, contestants: contestants, o: o,
		classify: score.HasMargin(l) || l.Outputs() > 1}
	if err := cv.list(); err != nil {
		return nil, err
	}
	if err := cv.runAll(); err != nil {
		return nil, err
	}
	return cv.report(d.Rows())
}

// crossValidation is a run of CrossValidate.
type crossValidation struct {
	ctx         context.Context
	table       *table.Table
	loss        Loss
	trials      []table.Trial
	contestants []Contestant
	o           *CVOptions
	classify    bool
	jobs        []*cvJob
}

// cvJob is one fit, and what it was found to be worth on the rows left out.
type cvJob struct {
	contestant, trial, setting int
	inner                      int // -1: the whole training part
	fold                       dataset.Fold
	loss, wrong                float64
}

// list stores the jobs.
func (cv *crossValidation) list() error {
	for k, c := range cv.contestants {
		if len(c.Grid) == 0 {
			return fmt.Errorf("boost: cross-validation: %s has no setting", c.Name)
		}
		for i, trial := range cv.trials {
			inner := trial.InnerFolds()
			if len(c.Grid) > 1 && len(inner) == 0 {
				return fmt.Errorf("boost: cross-validation: %s has %d settings, and trial %d no inner folds to choose on", c.Name, len(c.Grid), i+1)
			}
			for s := range c.Grid {
				cv.jobs = append(cv.jobs, &cvJob{contestant: k, trial: i, setting: s, inner: -1, fold: dataset.Fold{Train: trial.Train, Test: trial.Test}})
				for f := range inner {
					if len(c.Grid) > 1 {
						cv.jobs = append(cv.jobs, &cvJob{contestant: k, trial: i, setting: s, inner: f, fold: inner[f]})
					}
				}
			}
		}
	}
	return nil
}

// runAll makes the fits that are not known, side by side. The first error ends it.
func (cv *crossValidation) runAll() error {
	known := map[string]*CVFit{}
	for i := range cv.o.Known {
		known[cv.o.Known[i].key()] = &cv.o.Known[i]
	}
	errs := make([]error, len(cv.jobs))
	var mu sync.Mutex // of failed and Save
	failed := false
	forEach(cv.o.Workers, len(cv.jobs), func(i int) {
		mu.Lock()
		skip := failed || cv.ctx.Err() != nil
		mu.Unlock()
		if skip {
			return
		}
		j := cv.jobs[i]
		fit, err := cv.fit(j, known)
		mu.Lock()
		if err == nil && fit != nil && cv.o.Save != nil && !failed { // the first error is the last call
			err = cv.o.Save(fit)
		}
		errs[i] = err
		failed = failed || err != nil
		mu.Unlock()
		if cv.o.Fitted != nil {
			cv.o.Fitted(len(cv.jobs), cv.contestants[j.contestant].Name, j.trial)
		}
	})
	if cv.ctx.Err() != nil {
		return &Interrupted{"cross-validation", 0, context.Cause(cv.ctx)}
	}
	for i, err := range errs {
		if err != nil {
			j := cv.jobs[i]
			return fmt.Errorf("boost: cross-validation: trial %d, %s: %w", j.trial+1, cv.contestants[j.contestant].Grid[j.setting].Name, err)
		}
	}
	return nil
}

// fit makes the fit of a job, or takes it from those known. It returns the fit where
// it is one to save: new, of settings with a name, and finite.
func (cv *crossValidation) fit(j *cvJob, known map[string]*CVFit) (*CVFit, error) {
	c := &cv.contestants[j.contestant]
	setting := &c.Grid[j.setting]
	fit := &CVFit{Contestant: c.Name, Setting: setting.Name, Trial: j.trial, Inner: j.inner}
	if setting.Settings != "" {
		fit.Settings, fit.Division = settingsPrint(setting.Settings), j.fold.Fingerprint()
		if was := known[fit.key()]; was != nil {
			j.loss, j.wrong = was.Loss, was.Error
			return nil, nil
		}
	}
	if err := cv.train(j, setting); err != nil {
		return nil, err
	}
	fit.Loss, fit.Error = j.loss, j.wrong
	if sum := j.loss + j.wrong; setting.Settings == "" || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return nil, nil
	}
	return fit, nil
}

// train trains a setting on the job's training rows and judges it on the others.
func (cv *crossValidation) train(j *cvJob, setting *Trainer) error {
	d, err := NewData(cv.table.Subset(j.fold.Train), cv.loss)
	if err != nil {
		return err
	}
	e, err := setting.Train(d, Control{Ctx: cv.ctx, Workers: 1})
	if err != nil {
		return err
	}
	test := cv.table.Subset(j.fold.Test)
	y, err := Labels(test, cv.loss)
	if err != nil {
		return err
	}
	f, err := e.Scores(test, &PredictOptions{Workers: 1})
	if err != nil {
		return err
	}
	// Losses of other scales than e's would not compare: the model's own loss
	// trained it, the common one judges it.
	if e.Loss.Outputs() != cv.loss.Outputs() {
		return fmt.Errorf("boost: cross-validation: %s gives %d scores a row, the loss %s has %d", setting.Name, e.Loss.Outputs(), cv.loss.Name(), cv.loss.Outputs())
	}
	j.loss = score.Mean(cv.loss, y, test.Weight, f, 1)
	if cv.classify {
		j.wrong = score.ErrorRate(cv.loss, y, test.Weight, f)
	} else {
		j.wrong = metrics.RMSE(f, y, test.Weight)
	}
	return nil
}

// cvScore is what a setting is chosen by: sums over its inner folds.
type cvScore struct{ loss, wrong, weight float64 }

func (a *cvScore) better(b *cvScore, by Choice) bool {
	x, y, u, v := a.loss/a.weight, b.loss/b.weight, a.wrong/a.weight, b.wrong/b.weight
	if by == ByError {
		x, y, u, v = u, v, x, y
	}
	return x < y || x == y && u < v
}

// report makes the choices and compares the contestants, when all jobs are done.
func (cv *crossValidation) report(rows int) (*CVReport, error) {
	// Sums in the order of the jobs: choices do not depend on who finished first.
	inner := map[[3]int]*cvScore{}
	outer := map[[3]int]*cvJob{}
	for _, j := range cv.jobs {
		key := [3]int{j.contestant, j.trial, j.setting}
		if j.inner < 0 {
			outer[key] = j
			continue
		}
		if inner[key] == nil {
			inner[key] = &cvScore{}
		}
		n := 0.0
		for _, i := range j.fold.Test {
			n += score.Weight(cv.table.Weight, i)
		}
		s := inner[key]
		s.loss, s.wrong, s.weight = s.loss+n*j.loss, s.wrong+n*j.wrong, s.weight+n
	}
	r := &CVReport{Rows: rows, Trials: len(cv.trials), Classify: cv.classify}
	for k, c := range cv.contestants {
		out := CVContestant{Name: c.Name}
		least := math.Inf(1)
		for s := range c.Grid {
			errors := make([]float64, len(cv.trials))
			for i := range errors {
				errors[i] = outer[[3]int{k, i, s}].wrong
			}
			if mean, _ := metrics.MeanSD(errors); mean < least {
				least, out.Best, out.BestError = mean, c.Grid[s].Name, errors
			}
		}
		for i := range cv.trials {
			chosen := 0
			for s := 1; s < len(c.Grid); s++ {
				if inner[[3]int{k, i, s}].better(inner[[3]int{k, i, chosen}], cv.o.Choice) {
					chosen = s
				}
			}
			j := outer[[3]int{k, i, chosen}]
			out.Error, out.Loss, out.Chosen = append(out.Error, j.wrong), append(out.Loss, j.loss), append(out.Chosen, c.Grid[chosen].Name)
		}
		if k > 0 && len(cv.trials) > 1 {
			if err := out.compare(&r.Contestants[0], cv.trials); err != nil {
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
