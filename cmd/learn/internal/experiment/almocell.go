package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// AlmoCell is one model of tables 5.1 and 5.2, trained once: what a long experiment
// keeps as it goes. The first five fields say which it is.
type AlmoCell struct {
	Table    string `json:"table"`
	Set      string `json:"set"`
	Model    string `json:"model"`
	Seed     uint64 `json:"seed"`
	Settings string `json:"settings"` // all else that its result depends on, except the data

	TrainRows int       `json:"train_rows"`
	TestRows  int       `json:"test_rows"`
	Features  int       `json:"features"`
	Worst     float64   `json:"worst"`  // largest normalised training loss
	Values    []float64 `json:"values"` // normalised training losses
	Lambda    []float64 `json:"lambda"`
	// in training, of linear models: a part of what regrets are measured from
	Penalty   float64            `json:"penalty,omitempty"`
	Test      map[string]float64 `json:"test"` // what is not a number is left out
	Certified bool               `json:"certified,omitempty"`
	Gap       float64            `json:"gap,omitempty"` // certified
	Seconds   float64            `json:"seconds"`

	Chosen *AlmoSetting `json:"chosen,omitempty"` // on a part of the rows; nil where nothing was
	// Own are a trial's values on the rows that it was trained on. Offsets are the origins of
	// regrets in training, where these are not what the cells of single losses reached.
	Own     []float64 `json:"own,omitempty"`
	Offsets []float64 `json:"offsets,omitempty"`
}

// settings names what a cell's result depends on; workers are not of it.
func (o *AlmoOptions) settings(model string) string {
	n := o.Network
	s := fmt.Sprintf("hidden=%v passes=%d batch=%d beta1=%v rate=%v lambda_rate=%v", o.Hidden, o.Passes, o.Batch,
		o.Beta1, o.StepW, o.StepL)
	if len(o.Hidden) > 0 {
		s += fmt.Sprintf(" %v momentum=%v constant=%v", n.Method, n.Momentum, n.Constant)
	} else {
		s += fmt.Sprintf(" gap=%v", o.Gap)
	}
	if o.Validation > 0 {
		s += fmt.Sprintf(" validation=%v trials=%d first=%d", o.Validation, o.Trials, o.Seed)
		if model == modelRegret {
			s += " offsets=own" // of the same setting and rows
		}
	}
	return s
}

// known returns the cell of that description, or nil.
func (o *AlmoOptions) known(key *AlmoCell) *AlmoCell {
	for i := range o.Known {
		c := &o.Known[i]
		if c.Table == key.Table && c.Set == key.Set && c.Model == key.Model && c.Seed == key.Seed &&
			c.Settings == key.Settings && len(c.Values) == len(almoLosses) && len(c.Lambda) == len(almoLosses) {
			return c
		}
	}
	return nil
}

// almoData is a set as numbers.
type almoData struct {
	name        string
	train, test *minimax.Data
}

func loadAlmo(s SplitSet) (*almoData, error) {
	trainTable, testTable, err := s.Load()
	if err != nil {
		return nil, err
	}
	encoder, err := dense.NewEncoder(trainTable, dense.Unchanged) // the sets are scaled
	if err != nil {
		return nil, err
	}
	d := &almoData{name: s.Name}
	if d.train, err = encoder.Data(trainTable, nil); err != nil {
		return nil, err
	}
	if d.test, err = encoder.Data(testTable, trainTable.Classes); err != nil {
		return nil, err
	}
	if d.train.Class == nil || d.test.Class == nil {
		return nil, errors.New("the rows have no classes")
	}
	return d, nil
}

// penalty is what a model's penalty adds to what its loss alone reaches (minimax.Regret).
func (o *AlmoOptions) penalty(f *minimax.Fit) float64 {
	if len(o.Hidden) > 0 {
		return 0
	}
	return f.Penalty
}

// offsetsOf returns what a model by regrets measured them from.
func offsetsOf(f *minimax.Fit) []float64 {
	var offsets []float64
	for _, u := range f.Model.Objectives {
		offsets = append(offsets, u.Offset)
	}
	return offsets
}

// train completes a cell. offsets are what each loss reached alone with this seed and setting;
// nil finds them.
func (o *AlmoOptions) train(ctx context.Context, d *almoData, cell *AlmoCell, seed int,
	offsets []float64) error {
	mo, err := o.model(cell.Model, cell.Chosen, offsets)
	if err != nil {
		return err
	}
	mo.Seed = cell.Seed
	mo.Control = run.Control{Ctx: ctx}
	if o.Watch != nil {
		mo.Control.Recorder = run.RecorderFunc(
			func(row run.Row) error { o.Watch(cell.Set, cell.Model, seed, row); return nil })
	}
	begin := time.Now()
	f, err := minimax.Train(d.train, mo)
	if err != nil {
		return err
	}
	cell.Seconds = time.Since(begin).Seconds()
	cell.TrainRows, cell.TestRows, cell.Features = d.train.Rows, d.test.Rows, d.train.Features
	cell.Worst, cell.Values, cell.Lambda = f.Worst, f.Values, f.Lambda
	cell.Penalty = o.penalty(f)
	if cell.Model == modelRegret { // judged by the same measure as the others
		if offsets == nil {
			offsets = offsetsOf(f)
			cell.Offsets = offsets
		}
		cell.Worst = math.Inf(-1)
		for k := range f.Values {
			f.Values[k] += offsets[k]
			cell.Worst = math.Max(cell.Worst, f.Values[k])
		}
	}
	if f.Certified {
		cell.Certified, cell.Gap = true, f.Gap()
	}
	scored, err := f.Model.Evaluate(d.test, o.Workers)
	if err != nil {
		return err
	}
	cell.Test = map[string]float64{}
	set := func(column string, v float64) {
		if !math.IsNaN(v) {
			cell.Test[column] = v
		}
	}
	for k, l := range almoLosses {
		set(l, scored.Raw[k])
	}
	set(columnError, scored.Error)
	set(columnProb, scored.Prob)
	set(columnAUC, scored.AUC)
	return nil
}

// model returns how a model is trained, but for the seed.
func (o *AlmoOptions) model(name string, chosen *AlmoSetting, offsets []float64) (*minimax.Options, error) {
	p := len(almoLosses)
	mo := &minimax.Options{Beta1: o.Beta1, Hidden: o.Hidden, Passes: o.Passes, Batch: o.Batch, Gap: o.Gap,
		Workers: o.Workers, Network: o.Network, StepW: o.StepW, StepLambda: o.StepL}
	if c := chosen; c != nil {
		mo.Beta1, mo.StepW, mo.StepLambda, mo.Batch, mo.Passes = c.Beta1, c.StepW, c.StepLambda, c.Batch, c.Passes
	}
	for k, l := range almoLosses {
		loss, err := score.ParsePointwise(l)
		if err != nil {
			return nil, err
		}
		mo.Losses = append(mo.Losses, loss)
		if name == modelOnly+l {
			mo.Fixed = make([]float64, p)
			mo.Fixed[k] = 1
		}
	}
	switch name {
	case modelUniform:
		for range p {
			mo.Fixed = append(mo.Fixed, 1/float64(p))
		}
	case modelRegret:
		mo.Normalization, mo.Offsets = minimax.Regret, offsets
	}
	return mo, nil
}
