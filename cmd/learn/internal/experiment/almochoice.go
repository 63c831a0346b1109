package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/run"
)

// AlmoSetting are the hyper-parameters of a model of tables 5.1 and 5.2. Zero fields are the
// defaults of package minimax, and of AlmoOptions.
//
// The thesis tries 50 of them on a fifth of the training rows, and says no more. Here they are
// drawn at random, uniformly in their logarithms, starting with those of AlmoOptions. Every model
// is judged by the largest normalised loss on the held-out rows. The model of regrets is judged by
// the largest regret. Each setting is trained on regrets relative to what each loss reaches alone
// on the same part of the rows with the same setting. It is judged by regrets relative to the least
// that any setting reaches. Otherwise a penalty so large that no loss can be lowered would leave
// nothing to regret. Models are then trained on all rows, for every seed. A linear model is trained
// to its certified optimum for any steps: only the penalty is chosen. A network's are steps of both
// players, penalty, minibatch and passes.
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
		text += fmt.Sprintf(", rate %.3g, lambda_rate %.3g, minibatches of %d, %s", s.StepW, s.StepLambda, s.Batch,
			plural(s.Passes, "passes"))
	}
	return text
}

// trials draws the settings to try.
func (o *AlmoOptions) trials() []AlmoSetting {
	list := []AlmoSetting{{Beta1: o.Beta1, StepW: o.StepW, StepLambda: o.StepL, Batch: o.Batch,
		Passes: o.Passes}}
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
		return nil, nil, fmt.Errorf("a share of %v of %d rows leaves none to train on, or to choose on",
			o.Validation, d.Rows)
	}
	return d.Subset(order[n:]), d.Subset(order[:n]), nil
}

// choose returns the setting of a cell's model that does best on the rows held out. Settings
// that diverge are out. What each did is kept as a cell of its own, by Save, and in made, by
// model and settings.
func (o *AlmoOptions) choose(ctx context.Context, d *almoData, cell *AlmoCell,
	made map[string]*AlmoCell) (*AlmoSetting, error) {
	var train, held *minimax.Data
	var done []*AlmoCell
	for i, setting := range o.trials() {
		trial := AlmoCell{Table: cell.Table, Set: cell.Set, Model: cell.Model, Seed: cell.Seed,
			Settings: fmt.Sprintf("%s trial=%d", cell.Settings, i)}
		trained := o.known(&trial)
		if trained == nil {
			if train == nil {
				var err error
				if train, held, err = o.apart(d.train); err != nil {
					return nil, err
				}
			}
			var offsets []float64
			if cell.Model == modelRegret {
				offsets = o.singleLosses(cell, i, made)
			}
			mo, err := o.model(cell.Model, &setting, offsets)
			if err != nil {
				return nil, err
			}
			mo.Seed = cell.Seed
			mo.Control = run.Control{Ctx: ctx}
			if o.Watch != nil {
				label := fmt.Sprintf("%s, setting %d of %d", cell.Model, i+1, o.Trials)
				mo.Control.Recorder = run.RecorderFunc(
					func(row run.Row) error { o.Watch(cell.Set, label, 0, row); return nil })
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
				trial.Values, trial.Lambda, trial.Own, trial.Penalty = s.Values, f.Lambda, f.Values, o.penalty(f)
				if cell.Model == modelRegret {
					trial.Offsets = offsetsOf(f)
				}
				if trial.Worst = s.Largest; !(s.Largest < math.MaxFloat64) {
					trial.Worst, trial.Values, trial.Own, trial.Offsets = math.MaxFloat64,
						make([]float64, len(almoLosses)), nil, nil
				}
			} else if i == 0 {
				return nil, err // the caller's own setting
			}
			trial.TrainRows, trial.TestRows, trial.Features, trial.Seconds = train.Rows, held.Rows, train.Features,
				time.Since(begin).Seconds()
			if trained = &trial; o.Save != nil {
				if err := o.Save(trained); err != nil {
					return nil, err
				}
			}
		}
		done = append(done, trained)
		made[trial.Model+" "+trial.Settings] = trained
	}
	best := bestTrial(done)
	if best == nil {
		return nil, fmt.Errorf("no setting of %d gave a model", o.Trials)
	}
	return best.Chosen, nil
}

// singleLosses returns what each loss reached by itself in the trial of that number, new or known,
// on the rows that all trials are trained on. It is nil where a single loss has no such trial.
func (o *AlmoOptions) singleLosses(cell *AlmoCell, trial int, made map[string]*AlmoCell) []float64 {
	var offsets []float64
	for k, l := range almoLosses {
		key := AlmoCell{Table: cell.Table, Set: cell.Set, Model: modelOnly + l, Seed: cell.Seed,
			Settings: fmt.Sprintf("%s trial=%d", o.settings(modelOnly+l), trial)}
		c := made[key.Model+" "+key.Settings]
		if c == nil {
			c = o.known(&key)
		}
		if c == nil || len(c.Own) != len(almoLosses) {
			return nil
		}
		offsets = append(offsets, c.Own[k]+c.Penalty)
	}
	return offsets
}

// bestTrial returns the trial that does best on the rows held out, or nil where all diverged. Of
// regrets, whose offsets are each trial's own, those are compared that are over the least offsets
// of all.
func bestTrial(trials []*AlmoCell) *AlmoCell {
	least := slices.Repeat([]float64{math.Inf(1)}, len(almoLosses))
	for _, c := range trials {
		for k, v := range c.Offsets {
			least[k] = math.Min(least[k], v)
		}
	}
	var best *AlmoCell
	lowest := math.Inf(1)
	for _, c := range trials {
		worst := c.Worst
		if c.Offsets != nil {
			worst = math.Inf(-1)
			for k, v := range c.Values {
				worst = math.Max(worst, v+c.Offsets[k]-least[k])
			}
		}
		if worst < lowest && c.Worst < math.MaxFloat64 {
			lowest, best = worst, c
		}
	}
	return best
}
