package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
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
	Gap     float64 // certified gap of linear models, times max(1, value); 1e-3
	Singles bool    // train each loss alone as well
	Regrets bool    // train the robust model of regrets as well, which needs Singles
	Network minimax.Network
	StepW   float64
	StepL   float64
	Workers int
	// Watch, if not nil, is told of each model's passes.
	Watch func(set, model string, seed int, row optim.Row)
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
	if p.Regrets && !p.Singles {
		return p, errors.New("experiment: regrets are measured from the models of single losses")
	}
	return p, nil
}

// AlmoReport is a table of models by data set.
type AlmoReport struct {
	Table   string    `json:"table"` // "5.1" or "5.2"
	Losses  []string  `json:"losses"`
	Sets    []AlmoSet `json:"sets"`
	Seconds float64   `json:"seconds"`
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
)

// Almo trains the robust model, the uniform mixture and, with Singles, each loss alone on
// every set, with the losses of the thesis in units of their Lipschitz constants.
//
// Linear models are trained by stochastic mirror-prox, and the robust ones then until
// their gap is certified; the others are left where the passes end, which is to their
// advantage here: single losses drive the largest of the others up the longer they are
// trained. Networks are trained by gradient descent with momentum, and λ by plain
// projected steps.
func Almo(ctx context.Context, sets []SplitSet, opts *AlmoOptions) (*AlmoReport, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	r := &AlmoReport{Table: "5.1"}
	if len(o.Hidden) > 0 {
		r.Table = "5.2"
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

func (o *AlmoOptions) set(ctx context.Context, s SplitSet, r *AlmoReport) (*AlmoSet, error) {
	trainTable, testTable, err := s.Load()
	if err != nil {
		return nil, err
	}
	encoder, err := minimax.NewEncoder(trainTable, minimax.Unchanged) // the sets are scaled
	if err != nil {
		return nil, err
	}
	train, err := encoder.Data(trainTable, nil)
	if err != nil {
		return nil, err
	}
	test, err := encoder.Data(testTable, trainTable.Classes)
	if err != nil {
		return nil, err
	}
	if train.Class == nil || test.Class == nil {
		return nil, errors.New("the rows have no classes")
	}
	losses := []string{"zero-one", "hinge", "1-norm", "cross-entropy"}
	r.Losses = losses
	out := &AlmoSet{Name: s.Name, Train: train.Rows, Test: test.Rows, Features: train.Features}
	p := len(losses)
	names := []string{modelUniform, modelAlmo}
	if o.Singles {
		for _, l := range losses {
			names = append(names, "only "+l)
		}
	}
	offsets := make([][]float64, o.Seeds)
	if o.Regrets {
		names = append(names, modelRegret)
	}
	for m, name := range names {
		model := AlmoModel{Name: name, Test: map[string]Mean{}, Train: make([]float64, p), Lambda: make([]float64, p)}
		tests := map[string][]float64{}
		for seed := range o.Seeds {
			mo := &minimax.Options{Beta1: o.Beta1, Hidden: o.Hidden, Passes: o.Passes, Batch: o.Batch, Gap: o.Gap, Seed: o.Seed + uint64(seed), Workers: o.Workers,
				Network: o.Network, StepW: o.StepW, StepLambda: o.StepL, NoPolish: true}
			for _, l := range losses {
				loss, err := minimax.ParseLoss(l)
				if err != nil {
					return nil, err
				}
				mo.Losses = append(mo.Losses, loss)
			}
			switch {
			case name == modelUniform:
				mo.Fixed = make([]float64, p)
				for k := range mo.Fixed {
					mo.Fixed[k] = 1 / float64(p)
				}
			case name == modelAlmo:
				mo.NoPolish = false
			case name == modelRegret:
				mo.Normalization, mo.Offsets, mo.NoPolish = minimax.Regret, offsets[seed], false
			default:
				mo.Fixed = make([]float64, p)
				mo.Fixed[m-2] = 1
			}
			mo.Control = optim.Control{Ctx: ctx}
			if o.Watch != nil {
				mo.Control.Recorder = optim.RecorderFunc(func(row optim.Row) error { o.Watch(s.Name, name, seed, row); return nil })
			}
			begin := time.Now()
			f, err := minimax.Train(train, mo)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			model.Seconds += time.Since(begin).Seconds() / float64(o.Seeds)
			if name == modelRegret { // judged by the same measure as the others
				f.Worst = math.Inf(-1)
				for k := range f.Values {
					f.Values[k] += offsets[seed][k]
					f.Worst = math.Max(f.Worst, f.Values[k])
				}
			}
			if m >= 2 && name != modelRegret {
				offsets[seed] = append(offsets[seed], f.Values[m-2])
			}
			scored, err := f.Model.Evaluate(test, o.Workers)
			if err != nil {
				return nil, err
			}
			for k, l := range losses {
				tests[l] = append(tests[l], scored.Raw[k])
				model.Train[k] += f.Values[k] / float64(o.Seeds)
				model.Lambda[k] += f.Lambda[k] / float64(o.Seeds)
			}
			tests[columnError] = append(tests[columnError], scored.Error)
			tests[columnProb] = append(tests[columnProb], scored.Prob)
			tests[columnAUC] = append(tests[columnAUC], scored.AUC)
			model.worsts = append(model.worsts, f.Worst)
			if f.Certified {
				model.Certified = true
				model.Gap = math.Max(model.Gap, f.Gap())
			}
		}
		for c, v := range tests {
			model.Test[c] = meanOf(v)
		}
		model.Worst = meanOf(model.worsts)
		out.Models = append(out.Models, model)
	}
	return out, nil
}

// Reached reports whether the robust model's worst training loss is below those of all
// other models by more than two standard deviations of the difference over the seeds. The
// model of regrets, which minimises something else, is not asked.
func (s *AlmoSet) Reached() bool {
	var a *AlmoModel
	for k := range s.Models {
		if s.Models[k].Name == modelAlmo {
			a = &s.Models[k]
		}
	}
	for k := range s.Models {
		if b := &s.Models[k]; b.Name != modelAlmo && b.Name != modelRegret && !(b.Worst.Mean-a.Worst.Mean > 2*math.Hypot(a.Worst.SD, b.Worst.SD)) {
			return false
		}
	}
	return a != nil
}
