package boost

import (
	"context"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
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

	// Known holds fits of an earlier run on the same table with the same loss. A fit with the same
	// settings and division is not repeated.
	Known []CVFit
	// Save, if not nil, is called with each new fit of known settings and finite loss, one
	// call at a time. An error ends the run.
	Save func(*CVFit) error

	// Fitted, if not nil, is called after each fit, from several goroutines at once; all is the
	// number of fits.
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
	// Best is the setting that does best on the test parts themselves. This figure is not nested,
	// and is optimistic.
	Best      string    `json:"best"`
	BestError []float64 `json:"best_error"`

	// Against the first contestant; nil for that one, and with fewer than two
	// trials.
	Plain     *metrics.TTest `json:"t_test,omitempty"`
	Corrected *metrics.TTest `json:"corrected_t_test,omitempty"`
}

// CrossValidate is nested cross-validation on the same divisions for all contestants. For each
// trial it chooses the setting that does best on the inner folds, trains it on the training part
// and measures it on the test part. A contestant with one setting, or a trial without inner folds,
// makes no choice (with several settings that is an error). Rows of weight 0 take no part, and a
// trial without others is an error.
//
// The fits run side by side, so a table should have many; the sum is
// trials·(inner folds + 1)·settings.
func CrossValidate(t *table.Table, l Loss, trials []table.Trial, contestants []Contestant,
	o *CVOptions) (*CVReport, error) {
	if o == nil {
		o = &CVOptions{}
	}
	if o.Choice != ByLoss && o.Choice != ByError {
		return nil, fmt.Errorf("boost: cross-validation: settings are chosen by %q, which is neither loss nor error", o.Choice)
	}
	d, err := NewData(t, l)
	if err != nil {
		return nil, err
	}
	choice := slices.ContainsFunc(contestants, func(c Contestant) bool { return len(c.Grid) > 1 })
	if trials, err = t.Usable(trials, choice); err != nil {
		return nil, fmt.Errorf("boost: cross-validation: %w", err)
	}
	p := &evaluate.Plan{Measures: []string{"loss", "error"}, Hindsight: true, BestBy: 1,
		Workers: o.Workers, Done: o.Fitted, Weight: func(i int) float64 { return score.Weight(t.Weight, i) }}
	for i := range trials {
		p.Trials = append(p.Trials, evaluate.Trial{Fold: dataset.Fold{Train: trials[i].Train, Test: trials[i].Test},
			Inner: trials[i].InnerFolds()})
	}
	by := []int{0, 1}
	if o.Choice == ByError {
		by = []int{1, 0}
	}
	classify := score.HasMargin(l) || l.Outputs() > 1
	for _, c := range contestants {
		k := evaluate.Contestant{Name: c.Name, By: by}
		for _, s := range c.Grid {
			k.Grid = append(k.Grid, evaluate.Setting{Name: s.Name, Print: s.Settings,
				Fit: func(ctx context.Context, fold dataset.Fold) ([]float64, error) {
					return s.measure(ctx, t, l, fold, classify)
				}})
		}
		p.Contestants = append(p.Contestants, k)
	}
	for _, f := range o.Known {
		p.Known = append(p.Known, evaluate.Fitted{Print: f.Settings, Division: f.Division,
			Measures: []float64{f.Loss, f.Error}})
	}
	if o.Save != nil {
		p.Save = func(f *evaluate.Fitted) error {
			return o.Save(&CVFit{f.Contestant, f.Setting, f.Trial, f.Inner, f.Print, f.Division,
				f.Measures[0], f.Measures[1]})
		}
	}
	found, err := p.Run(o.Ctx)
	if err != nil {
		return nil, err
	}
	r := &CVReport{Rows: d.Rows(), Trials: found.Trials, Classify: classify}
	for _, s := range found.Standings {
		c := CVContestant{Name: s.Name, Error: s.Values[1], Loss: s.Values[0], Chosen: s.Chosen, Best: s.Best,
			BestError: s.BestValues}
		if s.Plain != nil {
			c.Plain, c.Corrected = &s.Plain[1], &s.Corrected[1]
		}
		r.Contestants = append(r.Contestants, c)
	}
	return r, nil
}

// measure trains on the training rows of a fold, and returns loss and error of the others.
func (s *Trainer) measure(ctx context.Context, t *table.Table, l Loss, fold dataset.Fold,
	classify bool) ([]float64, error) {
	d, err := NewData(t.Subset(fold.Train), l)
	if err != nil {
		return nil, err
	}
	e, err := s.Train(d, Control{Ctx: ctx, Workers: 1})
	if err != nil {
		return nil, err
	}
	test := t.Subset(fold.Test)
	y, err := Labels(test, l)
	if err != nil {
		return nil, err
	}
	f, err := e.Scores(test, &PredictOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	// Losses of other scales than e's would not compare: the model's own loss
	// trained it, the common one judges it.
	if e.Loss.Outputs() != l.Outputs() {
		return nil, fmt.Errorf("the model gives %d scores a row, the loss %s has %d", e.Loss.Outputs(),
			l.Name(), l.Outputs())
	}
	wrong := 0.0
	if classify {
		wrong = score.ErrorRate(l, y, test.Weight, f)
	} else {
		wrong = metrics.RMSE(f, y, test.Weight)
	}
	return []float64{score.Mean(l, y, test.Weight, f, 1), wrong}, nil
}
