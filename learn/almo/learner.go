package almo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Encode returns a table with targets as numbers, and what made them.
func Encode(t *table.Table, scaling dense.Scaling) (*dense.Encoder, *dense.Data, error) {
	encoder, err := dense.NewEncoder(t, scaling)
	if err != nil {
		return nil, nil, err
	}
	d, err := encoder.Data(t, nil)
	if err == nil && t.Target == nil {
		err = fmt.Errorf("%s has no targets to train on", t.Name)
	}
	return encoder, d, err
}

// Split divides rows in a fixed pseudo-random way. It is an error if a part is empty.
func Split(d *dense.Data, share float64, seed uint64) (train, held *dense.Data, err error) {
	var a, b []int
	for i := range d.Rows {
		x := (uint64(i)+1)*0x9e3779b97f4a7c15 ^ seed*0xbf58476d1ce4e5b9
		x ^= x >> 31
		x *= 0x94d049bb133111eb
		if float64(x>>11)/(1<<53) < share {
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, nil, errors.New("heldout: it leaves one of the parts empty")
	}
	return d.Subset(a), d.Subset(b), nil
}

// Train fits a model to the rows of t with a target. Iterations of the control are passes over the
// rows, or rounds of solvers that have no passes.
func Train(t *table.Table, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	o, err := opts.Minimax()
	if err != nil {
		return nil, nil, fmt.Errorf("almo: %w", err)
	}
	encoder, d, err := Encode(t, opts.Scaling)
	if err != nil {
		return nil, nil, err
	}
	if len(o.Hidden) > 0 && opts.Heldout > 0 {
		if d, o.Network.Heldout, err = Split(d, opts.Heldout, o.Seed); err != nil {
			return nil, nil, fmt.Errorf("almo: %w", err)
		}
	}
	if c != nil {
		o.Control, o.Workers, o.Passes = *c, c.Workers, c.Stop.Iterations
	}
	f, err := minimax.Train(d, o)
	if err != nil {
		return nil, nil, err
	}
	f.Model.Encoder, f.Model.ClassNames = encoder, t.Classes
	return &Model{f.Model}, Result(f), nil
}

// Result reports how the solver of a fit ended.
func Result(f *minimax.Fit) *optim.Result {
	return &optim.Result{F: f.Worst, Iterations: f.Passes, Evaluations: f.Evaluations, Reason: f.Reason,
		Note: f.Guarantee}
}

// Model is a minimax.Model that reads tables.
type Model struct{ *minimax.Model }

// Read reads a model that was trained on a table.
func Read(r io.Reader) (*Model, error) {
	m, err := minimax.Read(r)
	if err != nil {
		return nil, err
	}
	if m.Encoder == nil || len(m.ClassNames) != m.Classes {
		return nil, errors.New("almo: the model says nothing of columns or classes; it was not trained on a table")
	}
	return &Model{m}, nil
}

// Form implements learner.Model.
func (m *Model) Form() *table.Table {
	if m.Classes == 0 {
		return m.Encoder.Table(nil)
	}
	return m.Encoder.Table(m.ClassNames)
}

// Predict implements learner.Model.
func (m *Model) Predict(ctx context.Context, t *table.Table, workers int) (*learner.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := m.Encoder.Data(t, m.ClassNames)
	if err != nil {
		return nil, err
	}
	s := &learner.Scores{Outputs: m.Outputs()}
	if s.Score, err = m.Scores(d.X, run.WorkersOf(workers)); err != nil || m.Classes == 0 {
		return s, err
	}
	s.Probability = make([]float64, 0, d.Rows*m.Classes)
	for row := range slices.Chunk(s.Score, s.Outputs) {
		if s.Outputs == 1 {
			p := score.Sigmoid(row[0])
			s.Probability = append(s.Probability, 1-p, p)
			continue
		}
		sum, from, most := 0.0, len(s.Probability), slices.Max(row)
		for _, v := range row {
			p := score.Sigmoid(v)
			if m.MultiClass == minimax.Softmax {
				p = math.Exp(v - most)
			}
			s.Probability = append(s.Probability, p)
			sum += p
		}
		for c := range row {
			if sum > 0 {
				s.Probability[from+c] /= sum
			} else {
				s.Probability[from+c] = 1 / float64(len(row))
			}
		}
	}
	return s, nil
}

// Explain implements learner.Model: the game that was played, and the weights of a linear model,
// largest first.
func (m *Model) Explain() []learner.Section {
	game := learner.Section{Title: "Objectives", Columns: []string{"objective", "lambda", "scale", "offset"}}
	for k, u := range m.Objectives {
		game.Rows = append(game.Rows, []any{u.Name, m.Lambda[k], u.Scale, u.Offset})
	}
	if m.Certified {
		game.Note = fmt.Sprintf("no weights have a worst mixture plus penalty that is lower by more than %.3g",
			m.Gap)
	}
	if len(m.Sizes) > 2 {
		return []learner.Section{game}
	}
	var names []string
	for _, c := range m.Encoder.Columns {
		if len(c.Levels) == 0 {
			names = append(names, c.Name)
		}
		for _, level := range c.Levels {
			names = append(names, c.Name+"="+level)
		}
	}
	outputs := m.Outputs()
	weights := learner.Section{Title: "Weights", Columns: []string{"feature", "score of", "weight"}}
	for i, w := range m.Params {
		name, of := "(constant)", "the target"
		if j := i / outputs; j < len(names) {
			name = names[j]
		}
		if outputs > 1 || m.Classes == 2 {
			of = m.ClassNames[max(i%outputs, 2-outputs)]
		}
		weights.Rows = append(weights.Rows, []any{name, of, w})
	}
	slices.SortStableFunc(weights.Rows, func(a, b []any) int {
		return cmp.Compare(math.Abs(b[2].(float64)), math.Abs(a[2].(float64)))
	})
	return []learner.Section{game, weights}
}

type contract = learner.Model[*table.Table, *learner.Scores]

// Learner is this package under the contract of package learner.
type Learner struct{}

var _ learner.Learner[*table.Table, *learner.Scores] = Learner{}

// Name implements learner.Learner.
func (Learner) Name() string { return "almo" }

// Title implements learner.Learner.
func (Learner) Title() string { return "one model for many losses, robust to every mixture of them" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
Minimises the largest mixture of the --losses over the weights of a linear model or of a network
(--hidden), by a game against the weights of the objectives.`
}

// Options implements learner.Learner.
func (Learner) Options() any { return &Options{} }

// Train implements learner.Learner.
func (Learner) Train(t *table.Table, options any, c *run.Control) (contract, *optim.Result, error) {
	return learner.TrainWith(Train, t, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (contract, error) {
	return learner.ReadWith(Read, r)
}
