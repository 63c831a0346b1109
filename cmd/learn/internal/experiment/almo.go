package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/run"
)

// AlmoOptions adjusts Almo, which repeats tables 5.1 and 5.2 of the thesis; each zero
// field is the default given.
type AlmoOptions struct {
	Hidden  []int // table 5.2: 1024, 512, 128; none is table 5.1
	Seeds   int   // 3
	Seed    uint64
	Passes  int // over the data: 20, for networks 10
	Batch   int // 128
	Beta1   float64
	Gap     float64 // certified gap of linear models, times max(leastValue, value); 1e-3
	Singles bool    // train each loss alone as well
	Regrets bool    // train the robust model of regrets as well, which needs Singles
	Network minimax.Network
	StepW   float64
	StepL   float64
	Workers int

	// Validation, if not zero, is the share of the training rows on which each model's
	// hyper-parameters are chosen among Trials (50) settings. 0.2 is the thesis' protocol; see
	// AlmoSetting. By default nothing is chosen, and all models have those given here.
	Validation float64
	Trials     int

	// Known cells of the same settings are not trained again. Save, if not nil, receives each new
	// one, and Done each one, known or new.
	Known []AlmoCell
	Save  func(*AlmoCell) error
	Done  func(*AlmoCell)
	// Watch, if not nil, is called after each model's passes.
	Watch func(set, model string, seed int, row run.Row)
}

func (o *AlmoOptions) withDefaults() (AlmoOptions, error) {
	var p AlmoOptions
	if o != nil {
		p = *o
	}
	if p.Seeds == 0 {
		p.Seeds = 3
	}
	if p.Beta1 == 0 {
		p.Beta1 = 1e-4
	}
	if p.Seeds < 1 || p.Passes < 0 || p.Batch < 0 {
		return p, errors.New("experiment: seeds, passes and examples of a minibatch must be positive")
	}
	if !(p.Validation >= 0 && p.Validation < 1) || p.Trials < 0 {
		return p, errors.New("experiment: the share of rows to choose hyper-parameters on is from 0 to below 1, " +
			"and the settings tried are at least 1")
	}
	if p.Trials == 0 {
		p.Trials = 50
	}
	if p.Regrets && !p.Singles {
		return p, errors.New("experiment: regrets are measured from the models of single losses")
	}
	return p, nil
}

// leastValue is what gaps are relative to where the value is less, as of package minimax.
const leastValue = 0.01

// AlmoReport is a table of models by data set.
type AlmoReport struct {
	Table   string    `json:"table"` // "5.1" or "5.2"
	Losses  []string  `json:"losses"`
	Seeds   int       `json:"seeds"`
	Passes  int       `json:"passes"`
	Gap     float64   `json:"gap_asked,omitempty"` // of linear models, relative to the value; 0 for networks
	Sets    []AlmoSet `json:"sets"`
	Seconds float64   `json:"seconds"`

	Validation float64 `json:"validation,omitempty"` // share of the training rows that settings were chosen on
	Trials     int     `json:"trials,omitempty"`
}

// AlmoSet is a data set of a report.
type AlmoSet struct {
	Name     string      `json:"name"`
	Train    int         `json:"train_rows"`
	Test     int         `json:"test_rows"`
	Features int         `json:"features"`
	Models   []AlmoModel `json:"models"`
}

// AlmoModel is a way to train, over the seeds.
type AlmoModel struct {
	Name      string          `json:"trained_on"`
	Worst     Mean            `json:"worst"` // largest normalised training loss
	Test      map[string]Mean `json:"test"`
	Train     []float64       `json:"train"` // mean normalised training losses
	Lambda    []float64       `json:"lambda"`
	Gap       float64         `json:"gap,omitempty"` // largest certified gap; 0 where there is none
	Certified bool            `json:"certified"`
	Seconds   float64         `json:"seconds"` // of a training run, mean
	Chosen    *AlmoSetting    `json:"chosen,omitempty"`
	worsts    []float64
}

// Mean is a mean with its standard deviation over seeds.
type Mean struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

func meanOf(v []float64) Mean {
	m, sd := metrics.MeanSD(v)
	return Mean{m, sd}
}

// Columns of Test beside the losses.
const (
	columnError = "error"
	columnProb  = "1-norm-prob"
	columnAUC   = "AUC"
)

// Names of models beside those of single losses.
const (
	modelUniform = "uniform"
	modelAlmo    = "almo"
	modelRegret  = "almo-regret"
	modelOnly    = "only "
)

// Almo trains three kinds of models on every set: the robust model, the uniform mixture and, with
// Singles, each loss alone. Losses are those of the thesis in units of their Lipschitz constants.
//
// Linear models are trained by stochastic mirror-prox, and then until their gap is certified. The
// same trainer is used for the robust ones and for those of fixed mixtures and of single losses, so
// their values are within the gap of the optimum. Networks are trained by gradient descent with
// momentum, and λ by plain projected steps.
func Almo(ctx context.Context, sets []SplitSet, opts *AlmoOptions) (*AlmoReport, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	r := &AlmoReport{Table: "5.1", Seeds: o.Seeds, Passes: o.Passes, Gap: o.Gap}
	passes := 20
	if r.Gap == 0 {
		r.Gap = 1e-3
	}
	if len(o.Hidden) > 0 {
		r.Table, r.Gap, passes = "5.2", 0, 10
	}
	if r.Passes == 0 {
		r.Passes = passes
	}
	if o.Validation > 0 {
		r.Validation, r.Trials = o.Validation, o.Trials
	}
	for _, s := range sets {
		a, err := o.set(ctx, s, r)
		if err != nil {
			return nil, fmt.Errorf("experiment: table %s, %s: %w", r.Table, s.Name, err)
		}
		r.Sets = append(r.Sets, *a)
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// almoLosses are the objectives of the tables.
var almoLosses = []string{"zero-one", "hinge", "1-norm", "cross-entropy"}

// models names what is trained on a set, in the order of the report; regrets come after
// the single losses that they are measured from.
func (o *AlmoOptions) models() []string {
	names := []string{modelUniform, modelAlmo}
	if o.Singles {
		for _, l := range almoLosses {
			names = append(names, modelOnly+l)
		}
	}
	if o.Regrets {
		names = append(names, modelRegret)
	}
	return names
}

// Models returns how many models there are of each set and seed.
func (o *AlmoOptions) Models() int { return len(o.models()) }

// set computes the missing cells of a set, seed by seed, so that an interrupted run leaves whole
// rows of the comparison.
func (o *AlmoOptions) set(ctx context.Context, s SplitSet, r *AlmoReport) (*AlmoSet, error) {
	names := o.models()
	cells := map[string][]*AlmoCell{}
	made := map[string]*AlmoCell{} // trials
	var data *almoData
	for seed := range o.Seeds {
		var offsets []float64
		for _, name := range names {
			key := AlmoCell{Table: r.Table, Set: s.Name, Model: name, Seed: o.Seed + uint64(seed),
				Settings: o.settings(name)}
			cell := o.known(&key)
			if cell == nil {
				if data == nil {
					var err error
					if data, err = loadAlmo(s); err != nil {
						return nil, err
					}
				}
				cell = &key
				switch {
				case o.Validation == 0:
				case seed > 0:
					cell.Chosen = cells[name][0].Chosen
				default:
					var err error
					if cell.Chosen, err = o.choose(ctx, data, &key, made); err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
				}
				own := offsets
				if o.Validation > 0 {
					own = nil // the single losses chose settings of their own
				}
				if err := o.train(ctx, data, cell, seed, own); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				if o.Save != nil {
					if err := o.Save(cell); err != nil {
						return nil, err
					}
				}
			}
			if l, ok := strings.CutPrefix(name, modelOnly); ok {
				offsets = append(offsets, cell.Values[slices.Index(almoLosses, l)]+cell.Penalty)
			}
			cells[name] = append(cells[name], cell)
			if o.Done != nil {
				o.Done(cell)
			}
		}
	}
	first := cells[names[0]][0]
	r.Losses = almoLosses
	out := &AlmoSet{Name: s.Name, Train: first.TrainRows, Test: first.TestRows, Features: first.Features}
	for _, name := range names {
		out.Models = append(out.Models, summary(name, cells[name]))
	}
	return out, nil
}

// summary is a model over its seeds.
func summary(name string, cells []*AlmoCell) AlmoModel {
	m := AlmoModel{Name: name, Chosen: cells[0].Chosen, Test: map[string]Mean{},
		Train: make([]float64, len(almoLosses)), Lambda: make([]float64, len(almoLosses))}
	tests := map[string][]float64{}
	n := float64(len(cells))
	for _, c := range cells {
		for k := range almoLosses {
			m.Train[k] += c.Values[k] / n
			m.Lambda[k] += c.Lambda[k] / n
		}
		m.Seconds += c.Seconds / n
		m.worsts = append(m.worsts, c.Worst)
		for column, v := range c.Test {
			tests[column] = append(tests[column], v)
		}
		if c.Certified {
			m.Certified = true
			m.Gap = math.Max(m.Gap, c.Gap)
		}
	}
	for c, v := range tests {
		m.Test[c] = meanOf(v)
	}
	m.Worst = meanOf(m.worsts)
	return m
}

// Reached reports whether the robust model's worst training loss is below those of all other models
// by more than two standard deviations of the difference over the seeds. The model of regrets,
// which minimises something else, is excluded.
func (s *AlmoSet) Reached() bool {
	var a *AlmoModel
	for k := range s.Models {
		if s.Models[k].Name == modelAlmo {
			a = &s.Models[k]
		}
	}
	for k := range s.Models {
		if b := &s.Models[k]; b.Name != modelAlmo && b.Name != modelRegret &&
			!(b.Worst.Mean-a.Worst.Mean > 2*math.Hypot(a.Worst.SD, b.Worst.SD)) {
			return false
		}
	}
	return a != nil
}
