package linear

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
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Model is a linear model of a table.
type Model struct {
	form     boost.Schema
	loss     score.Loss
	settings string
	rows     int
	features []Feature
	weights  []float64             // of standardised features, by feature and output
	bias     []float64             // at the mean of all features
	hard     *resilient.Difficulty // of a resilient model
}

// Difficulty lists the training rows with the largest multipliers; nil if the model is not
// resilient.
func (m *Model) Difficulty() *resilient.Difficulty { return m.hard }

// Form returns the training table without its rows.
func (m *Model) Form() *table.Table { return m.form.Table() }

// Loss returns the loss that the model was fitted by.
func (m *Model) Loss() score.Loss { return m.loss }

// Predict returns the scores of every row of t, whose columns must be those of Form.
// O(rows·features·outputs) on workers goroutines, 0 for one a processor.
func (m *Model) Predict(ctx context.Context, t *table.Table, workers int) (*learner.Scores, error) {
	if err := m.form.Match(t); err != nil {
		return nil, err
	}
	k := m.loss.Outputs()
	base := slices.Clone(m.bias)
	raw := make([]float64, len(m.weights)) // of features as they are
	for j, f := range m.features {
		for c := range k {
			raw[j*k+c] = m.weights[j*k+c] * f.Scale
			base[c] -= raw[j*k+c] * f.Mean
		}
	}
	s := &learner.Scores{Outputs: k, Score: make([]float64, t.Rows*k)}
	if t.Sparse != nil {
		m.addSparse(s.Score, t, base, raw)
		s.Probability, s.Calibrated = score.Distribution(m.loss, s.Score)
		return s, nil
	}
	run.Blocks(workers, t.Rows, rowBlock, func(_, from, to int) {
		if ctx.Err() != nil {
			return
		}
		for i := from; i < to; i++ {
			copy(s.Score[i*k:], base)
		}
		for j := range m.features {
			m.features[j].add(s.Score[from*k:to*k], t, from, raw[j*k:j*k+k])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s.Probability, s.Calibrated = score.Distribution(m.loss, s.Score)
	return s, nil
}

// addSparse stores the scores of all rows of a sparse table.
func (m *Model) addSparse(scores []float64, t *table.Table, base, raw []float64) {
	k := len(base)
	for i := range t.Rows {
		copy(scores[i*k:], base)
	}
	for j := range m.features {
		rows, values := t.Sparse.Column(m.features[j].Column)
		for e, i := range rows {
			if v := float64(values[e]); v == v {
				for c, w := range raw[j*k : j*k+k] {
					scores[int(i)*k+c] += v * w
				}
			}
		}
	}
}

// add adds w times the feature to the scores of the rows from a number on.
func (f *Feature) add(s []float64, t *table.Table, from int, w []float64) {
	k := len(w)
	for r := range len(s) / k {
		if c := f.Cell(t, from+r); c != 0 {
			for o, v := range w {
				s[r*k+o] += c * v
			}
		}
	}
}

// Explain lists the weights, those of the largest effect first.
func (m *Model) Explain() []learner.Section {
	k := m.loss.Outputs()
	facts := learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: [][]any{
		{"loss", m.loss.Name()}, {"settings", cmp.Or(m.settings, "defaults")}, {"training rows", m.rows}, {"features", len(m.features)}, {"weights that are not zero", m.nonzero()},
	}}
	weights := learner.Section{Title: "weights", Columns: []string{"column", "output", "weight", "per unit"},
		Note: "weight is per standard deviation of the column, per unit of the column as it is"}
	order := make([]int, len(m.weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(m.weights[b]), math.Abs(m.weights[a])) })
	for _, i := range order {
		f := &m.features[i/k]
		weights.Rows = append(weights.Rows, []any{f.Name(&m.form), m.output(i % k), m.weights[i],
			m.weights[i] * f.Scale})
	}
	bias := learner.Section{Title: "constants", Columns: []string{"output", "constant"}, Note: "scores of a row whose columns are all at their means"}
	for c, v := range m.bias {
		bias.Rows = append(bias.Rows, []any{m.output(c), v})
	}
	return append([]learner.Section{facts, weights, bias}, m.hard.Section()...)
}

func (m *Model) nonzero() int {
	n := 0
	for _, w := range m.weights {
		if w != 0 {
			n++
		}
	}
	return n
}

func (m *Model) output(c int) string {
	switch {
	case m.form.Classes == nil:
		return m.form.Target
	case len(m.bias) == 1:
		return m.form.Classes[1]
	}
	return m.form.Classes[c]
}

const (
	modelKind    = "linear"
	modelVersion = 1
)

type modelMeta struct {
	Form     boost.Schema `json:"form"`
	Loss     string       `json:"loss"`
	Settings string       `json:"settings"`
	Rows     int          `json:"rows"`
}

// Write writes the model as a file of kind "linear".
func (m *Model) Write(w io.Writer) error {
	f := model.New(modelKind, modelVersion)
	if err := f.SetMeta(modelMeta{m.form, m.loss.Name(), m.settings, m.rows}); err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	PutFeatures(f, m.features)
	model.Put(f, "weights", m.weights, len(m.features), m.loss.Outputs())
	model.Put(f, "bias", m.bias)
	if err := m.hard.Put(f); err != nil {
		return fmt.Errorf("linear: %w", err)
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
	m := &Model{form: meta.Form, settings: meta.Settings, rows: meta.Rows}
	if m.loss, err = m.form.Loss(meta.Loss); err != nil {
		return nil, fmt.Errorf("linear: %w: %w", model.ErrFormat, err)
	}
	k := m.loss.Outputs()
	if m.features, err = GetFeatures(f, &m.form); err != nil {
		return nil, err
	}
	if m.weights, err = model.Get[float64](f, "weights", len(m.features), k); err != nil {
		return nil, err
	}
	if m.bias, err = model.Get[float64](f, "bias", k); err != nil {
		return nil, err
	}
	if m.hard, err = resilient.GetDifficulty(f); err != nil {
		return nil, err
	}
	if !finite(m.weights) || !finite(m.bias) {
		return nil, fmt.Errorf("linear: %w: a weight is not finite", model.ErrFormat)
	}
	return m, nil
}

// PutFeatures adds features to a model file.
func PutFeatures(f *model.Container, fs []Feature) {
	var column, level []int32
	var scaling []float64
	for _, x := range fs {
		column, level = append(column, int32(x.Column)), append(level, int32(x.Level))
		scaling = append(scaling, x.Mean, x.Scale)
	}
	model.Put(f, "column", column)
	model.Put(f, "level", level)
	model.Put(f, "scaling", scaling, len(fs), 2)
}

// GetFeatures reads what PutFeatures added, of a table of the given form.
func GetFeatures(f *model.Container, form *boost.Schema) ([]Feature, error) {
	column, err := model.Get[int32](f, "column")
	if err != nil {
		return nil, err
	}
	level, err := model.Get[int32](f, "level", len(column))
	if err != nil {
		return nil, err
	}
	scaling, err := model.Get[float64](f, "scaling") // its shape is not the same in all kinds of model
	if err != nil {
		return nil, err
	}
	if len(scaling) != 2*len(column) {
		return nil, fmt.Errorf("linear: %w: %d numbers scale %d features", model.ErrFormat, len(scaling), len(column))
	}
	var out []Feature
	for j := range column {
		x := Feature{int(column[j]), int(level[j]), scaling[2*j], scaling[2*j+1]}
		if x.Column < 0 || x.Column >= len(form.Columns) || x.Level < -1 || x.Level >= max(0, len(form.Columns[x.Column].Levels)) {
			return nil, fmt.Errorf("linear: %w: feature %d is level %d of column %d of %d", model.ErrFormat, j, x.Level, x.Column, len(form.Columns))
		}
		out = append(out, x)
	}
	if !finite(scaling) {
		return nil, fmt.Errorf("linear: %w: a scale is not finite", model.ErrFormat)
	}
	return out, nil
}
