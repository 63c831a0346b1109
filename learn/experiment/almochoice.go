package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
)

// AlmoSetting are the hyper-parameters of a model of tables 5.1 and 5.2. Zero fields are the
// defaults of package minimax, and of AlmoOptions.
//
// The thesis tries 50 of them on a fifth of the training rows, and says no more. Here they
// are drawn at random, evenly in their logarithms, the first being those of AlmoOptions; what
// counts for every model alike is the largest normalised loss on the rows held out (of the model
// of regrets, the largest regret). Models are then trained on all rows, for every seed. A
// linear model is trained to its certified optimum whatever its steps are: the penalty alone is
// chosen. A network's are steps of both players, penalty, minibatch and passes.
type AlmoSetting struct {
	Beta1      float64 `json:"beta1"`
	StepW      float64 `json:"rate,omitempty"`
	StepLambda float64 `json:"lambda_rate,omitempty"`
	Batch      int     `json:"batch,omitempty"`
	Passes     int     `json:"passes,omitempty"`
}

func (s AlmoSetting) String() string {
	text := fmt.Sprintf("l2 %.3g", s.Beta1)
	if s.StepW != 0 {
		text += fmt.Sprintf(", rate %.3g, lambda_rate %.3g, minibatches of %d, %s", s.StepW, s.StepLambda, s.Batch, plural(s.Passes, "passes"))
	}
	return text
}

// trials draws the settings to try.
func (o *AlmoOptions) trials() []AlmoSetting {
	list := []AlmoSetting{{Beta1: o.Beta1, StepW: o.StepW, StepLambda: o.StepL, Batch: o.Batch, Passes: o.Passes}}
	rng := rand.New(rand.NewPCG(o.Seed, 51))
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rng.Float64()) }
	passes := o.Passes
	if passes == 0 {
		passes = 10
	}
	for len(list) < o.Trials {
		s := AlmoSetting{Batch: o.Batch, Passes: o.Passes}
		if len(o.Hidden) == 0 {
			s.Beta1, s.StepW, s.StepLambda = between(1e-6, 1e-1), o.StepW, o.StepL
		} else {
			s.Beta1, s.StepW, s.StepLambda = between(1e-6, 1e-2), between(3e-3, 0.3), between(1e-3, 0.1)
			s.Batch, s.Passes = 32<<rng.IntN(4), max(1, passes*(1+rng.IntN(2))/2)
		}
		list = append(list, s)
	}
	return list
}

// apart divides the training rows.
func (o *AlmoOptions) apart(d *minimax.Data) (train, held *minimax.Data, err error) {
	order := rand.New(rand.NewPCG(o.Seed, 52)).Perm(d.Rows)
	n := int(math.Round(o.Validation * float64(d.Rows)))
	if n < 1 || n >= d.Rows {
		return nil, nil, fmt.Errorf("a share of %v of %d rows leaves none to train on, or to choose on", o.Validation, d.Rows)
	}
	return d.Subset(order[n:]), d.Subset(order[:n]), nil
}

// choose returns the setting of a cell's model that does best on the rows held out. Settings
// that diverge are out. What each did is kept as a cell of its own, by Save.
func (o *AlmoOptions) choose(ctx context.Context, d *almoData, cell *AlmoCell, offsets []float64) (*AlmoSetting, error) {
	var train, held *minimax.Data
	var best *AlmoSetting
	least := math.Inf(1)
	for i, setting := range o.trials() {
		trial := AlmoCell{Table: cell.Table, Set: cell.Set, Model: cell.Model, Seed: cell.Seed, Settings: fmt.Sprintf("%s trial=%d", cell.Settings, i)}
		done := o.known(&trial)
		if done == nil {
			if train == nil {
				var err error
				if train, held, err = o.apart(d.train); err != nil {
					return nil, err
				}
			}
			mo, err := o.model(cell.Model, &setting, offsets)
			if err != nil {
				return nil, err
			}
			mo.Seed = cell.Seed
			mo.Control = optim.Control{Ctx: ctx}
			if o.Watch != nil {
				label := fmt.Sprintf("%s, setting %d of %d", cell.Model, i+1, o.Trials)
				mo.Control.Recorder = optim.RecorderFunc(func(row optim.Row) error { o.Watch(cell.Set, label, 0, row); return nil })
			}
			begin := time.Now()
			trial.Chosen, trial.Worst = &setting, math.MaxFloat64
			trial.Values, trial.Lambda = make([]float64, len(almoLosses)), make([]float64, len(almoLosses))
			f, err := minimax.Train(train, mo)
			if ctx.Err() != nil {
				return nil, err
			}
			if err == nil {
				s, err := f.Model.Evaluate(held, o.Workers)
				if err != nil {
					return nil, err
				}
				trial.Values, trial.Lambda = s.Values, f.Lambda
				if trial.Worst = s.Largest; !(s.Largest < math.MaxFloat64) {
					trial.Worst, trial.Values = math.MaxFloat64, make([]float64, len(almoLosses))
				}
			} else if i == 0 {
				return nil, err // the caller's own setting
			}
			trial.TrainRows, trial.TestRows, trial.Features, trial.Seconds = train.Rows, held.Rows, train.Features, time.Since(begin).Seconds()
			if done = &trial; o.Save != nil {
				if err := o.Save(done); err != nil {
					return nil, err
				}
			}
		}
		if done.Worst < least {
			least, best = done.Worst, done.Chosen
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no setting of %d gave a model", o.Trials)
	}
	return best, nil
}
