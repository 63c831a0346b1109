package network

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Model is a network with the inputs it was trained on.
type Model struct {
	form      boost.Schema
	loss      score.Loss
	settings  string
	chosen    string // way that auto took
	rows      int
	inputs    []linear.Feature
	net       *nn.Network
	w         []float64
	residuals resilient.Residuals
	hard      *resilient.Difficulty
}

// Form returns the training table without its rows.
func (m *Model) Form() *table.Table { return m.form.Table() }

// Difficulty lists the training rows with the largest multipliers.
func (m *Model) Difficulty() *resilient.Difficulty { return m.hard }

// input stores the inputs of row i of x.
func (m *Model) input(dst []float32, x *table.Table, i int) {
	for j := range m.inputs {
		f := &m.inputs[j]
		dst[j] = float32((f.Cell(x, i) - f.Mean) * f.Scale)
	}
}

// Predict returns the scores of every row of t, whose columns must be those of Form.
// O(rows·weights) on workers goroutines, 0 for one a processor.
func (m *Model) Predict(ctx context.Context, t *table.Table, workers int) (*learner.Scores, error) {
	if err := m.form.Match(t); err != nil {
		return nil, err
	}
	d, k := len(m.inputs), m.net.Outputs()
	s := &learner.Scores{Outputs: k, Score: make([]float64, t.Rows*k)}
	type room struct {
		pass *nn.Pass[float64]
		x    []float64
		row  []float32
	}
	rooms := make([]*room, run.WorkersOf(workers))
	run.Blocks(workers, t.Rows, chunk, func(worker, from, to int) {
		if ctx.Err() != nil {
			return
		}
		r := rooms[worker]
		if r == nil {
			r = &room{nn.NewPass[float64](m.net, chunk, &nn.Options[float64]{Workers: 1}),
				make([]float64, chunk*d), make([]float32, d)}
			rooms[worker] = r
		}
		for i := from; i < to; i++ {
			m.input(r.row, t, i)
			for j, v := range r.row {
				r.x[(i-from)*d+j] = float64(v)
			}
		}
		copy(s.Score[from*k:to*k], r.pass.Forward(m.w, r.x, to-from))
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.Probability, s.Calibrated = score.Distribution(m.loss, s.Score)
	return s, nil
}

// Explain lists the inputs by the size of their weights, and the hardest rows.
func (m *Model) Explain() []learner.Section {
	facts := learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: [][]any{
		{"loss", m.loss.Name()},
		{"settings", cmp.Or(m.settings, "defaults")},
		{"chosen by rows left out", cmp.Or(m.chosen, "-")},
		{"training rows", m.rows},
		{"layers", fmt.Sprint(m.net.Sizes())},
		{"weights", m.net.Dim()},
		{"largest violation l - u", m.residuals.Violation},
		{"largest |multiplier (l - u)|", m.residuals.Slackness},
		{"largest |multiplier - h'(u)|", m.residuals.Slope},
	}}
	inputs := learner.Section{Title: "inputs", Columns: []string{"column", "size of weights"},
		Note: "root of the sum of the squared weights of the first layer"}
	weights, _ := nn.Layer(m.net, 0, m.w)
	width := m.net.Sizes()[1]
	size := make([]float64, len(m.inputs))
	order := make([]int, len(size))
	for j := range size {
		sum := 0.0
		for _, v := range weights[j*width : (j+1)*width] {
			sum += v * v
		}
		size[j], order[j] = math.Sqrt(sum), j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	for _, j := range order {
		inputs.Rows = append(inputs.Rows, []any{m.inputs[j].Name(&m.form), size[j]})
	}
	return append([]learner.Section{facts, inputs}, m.hard.Section()...)
}

const (
	modelKind    = "resilient"
	modelVersion = 1
)

type modelMeta struct {
	Form      boost.Schema `json:"form"`
	Loss      string       `json:"loss"`
	Settings  string       `json:"settings"`
	Chosen    string       `json:"chosen,omitempty"`
	Rows      int          `json:"rows"`
	Sizes     []int        `json:"sizes"`
	Residuals [3]float64   `json:"residuals"`
}

// Write writes the model as a file of kind "resilient".
func (m *Model) Write(w io.Writer) error {
	f := model.New(modelKind, modelVersion)
	r := m.residuals
	if err := f.SetMeta(modelMeta{m.form, m.loss.Name(), m.settings, m.chosen, m.rows, m.net.Sizes(),
		[3]float64{r.Violation, r.Slackness, r.Slope}}); err != nil {
		return fmt.Errorf("resilient: %w", err)
	}
	linear.PutFeatures(f, m.inputs)
	model.Put(f, "weights", m.w)
	if err := m.hard.Put(f); err != nil {
		return fmt.Errorf("resilient: %w", err)
	}
	return f.Write(w)
}

// Read reads what Write wrote.
func Read(r io.Reader) (*Model, error) {
	var meta modelMeta
	f, err := model.ReadKind(r, modelKind, modelVersion, &meta)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("resilient: %w: %s", model.ErrFormat, fmt.Sprintf(format, args...))
	}
	m := &Model{form: meta.Form, settings: meta.Settings, chosen: meta.Chosen, rows: meta.Rows,
		residuals: resilient.Residuals{Violation: meta.Residuals[0], Slackness: meta.Residuals[1],
			Slope: meta.Residuals[2]}}
	if m.loss, err = m.form.Loss(meta.Loss); err != nil {
		return nil, bad("%v", err)
	}
	if m.inputs, err = linear.GetFeatures(f, &m.form); err != nil {
		return nil, err
	}
	if len(meta.Sizes) < 2 || meta.Sizes[0] != len(m.inputs) ||
		meta.Sizes[len(meta.Sizes)-1] != m.loss.Outputs() {
		return nil, bad("layers %v for %d inputs and the loss %s", meta.Sizes, len(m.inputs), meta.Loss)
	}
	if m.net, err = nn.New(meta.Sizes...); err != nil {
		return nil, bad("%v", err)
	}
	if m.w, err = model.Get[float64](f, "weights", m.net.Dim()); err != nil {
		return nil, err
	}
	for i, v := range m.w {
		if v-v != 0 {
			return nil, bad("weight %d is %v", i, v)
		}
	}
	m.hard, err = resilient.GetDifficulty(f)
	return m, err
}
