package sparse

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
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Model is a sparse function of the rows of a table: one for numbers and for two classes, one
// for each pair of more.
type Model struct {
	form          boost.Schema
	settings      string
	family        Family
	rows          int
	features      []linear.Feature
	lo, hi        float64 // widths
	offset, scale float64 // of numbers
	functions     []function
}

// function is one function, with what training found.
type function struct {
	classes    [2]int
	sum, dense *Sum

	gamma, eps, gap, excess, support float64
	peaks                            int
	error, denseError                float64
	path                             [][]float64
	hard                             []int     // rows of the training table with the largest multipliers
	multiplier                       []float64 // theirs
	active                           int       // rows whose multiplier is not 0
}

// mostHard is how many difficult rows a model keeps of each function.
const mostHard = 200

// difficult keeps the rows of the largest multipliers.
func (f *function) difficult(lambda []float64, row func(int) int) {
	order := make([]int, 0, len(lambda))
	least := 1e-6 * optim.MaxAbs(lambda)
	for i, l := range lambda {
		if math.Abs(l) > least {
			order = append(order, i)
		}
	}
	f.active = len(order)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(lambda[b]), math.Abs(lambda[a]))
	})
	for _, i := range order[:min(len(order), mostHard)] {
		f.hard, f.multiplier = append(f.hard, row(i)), append(f.multiplier, lambda[i])
	}
}

// Form returns the training table without its rows.
func (m *Model) Form() *table.Table { return m.form.Table() }

// Functions returns the functions of few kernels, of standardised columns: one for numbers or two
// classes, else one for each pair. Their values at a row are of the target in units of its
// deviation.
func (m *Model) Functions() []*Sum {
	var out []*Sum
	for i := range m.functions {
		out = append(out, m.functions[i].sum)
	}
	return out
}

// Dense returns the functions before peaks were taken: as many kernels as cells are in use.
func (m *Model) Dense() *Model {
	d := *m
	d.functions = slices.Clone(m.functions)
	for i := range d.functions {
		d.functions[i].sum = d.functions[i].dense
	}
	return &d
}

// Kernels returns how many kernels a row is compared with: those of all functions, kernels that
// two have in common counting once.
func (m *Model) Kernels() int {
	seen := map[string]bool{}
	for _, f := range m.functions {
		for j, w := range f.sum.Width {
			seen[fmt.Sprint(w, f.sum.Center[j*f.sum.Dim:][:f.sum.Dim])] = true
		}
	}
	return len(seen)
}

// points returns the standardised features of rows.
func (m *Model) points(t *table.Table, workers int) []float64 {
	dim := len(m.features)
	x := make([]float64, t.Rows*dim)
	run.Blocks(workers, t.Rows, 1024, func(_, from, to int) {
		for j := range m.features {
			f := &m.features[j]
			for i := from; i < to; i++ {
				x[i*dim+j] = (f.Cell(t, i) - f.Mean) * f.Scale
			}
		}
	})
	return x
}

// predictRows rows are predicted together, between two looks at the context.
const predictRows = 2048

// Predict returns the scores of every row of t, whose columns must be those of Form. For numbers
// and for two classes the score is the function. For more classes it is the votes of the pairs,
// with less than half a vote for how clear they were. For more classes, the probability of a class
// is the mean of those of its pairs. O(rows·kernels·columns) on workers goroutines, 0 for one a
// processor.
func (m *Model) Predict(ctx context.Context, t *table.Table, workers int) (*learner.Scores, error) {
	if err := m.form.Match(t); err != nil {
		return nil, err
	}
	k := len(m.form.Classes)
	s := &learner.Scores{Outputs: 1}
	if k > 2 {
		s.Outputs = k
	}
	s.Score = make([]float64, t.Rows*s.Outputs)
	if k > 0 {
		s.Probability = make([]float64, t.Rows*k)
	}
	dim, f := len(m.features), make([]float64, predictRows)
	for from := 0; from < t.Rows; from += predictRows {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		rows := make([]int, min(predictRows, t.Rows-from))
		for i := range rows {
			rows[i] = from + i
		}
		x := m.points(t.Subset(rows), workers)
		f := f[:len(x)/dim]
		for i := range m.functions {
			fn := &m.functions[i]
			fn.sum.Predict(workers, x, f)
			for r, v := range f {
				if k > 0 {
					share := score.Sigmoid(v) / float64(len(m.functions))
					p := s.Probability[(from+r)*k:][:k]
					p[fn.classes[0]] += 1/float64(len(m.functions)) - share
					p[fn.classes[1]] += share
				}
				switch {
				case k == 0:
					s.Score[from+r] = m.offset + m.scale*v
				case k == 2:
					s.Score[from+r] = v
				default:
					clear := v / (1 + math.Abs(v)) / float64(2*k)
					out := s.Score[(from+r)*k:][:k]
					out[fn.classes[0]] -= clear
					out[fn.classes[1]] += clear
					if v > 0 {
						out[fn.classes[1]]++
					} else {
						out[fn.classes[0]]++
					}
				}
			}
		}
	}
	if k > 0 {
		s.Calibrated = k == 2 && !m.integral() // the refit is by the logistic loss
	}
	return s, nil
}

// integral tells a model that no refit has seen.
func (m *Model) integral() bool { return len(m.functions) > 0 && m.functions[0].peaks == 0 }

// title names a function.
func (m *Model) title(f *function) string {
	if len(m.form.Classes) == 0 {
		return m.form.Target
	}
	return m.form.Classes[f.classes[1]] + " against " + m.form.Classes[f.classes[0]]
}

// Explain lists how the functions were found, their kernels, the rows that were hardest to fit,
// and the path of prices.
func (m *Model) Explain() []learner.Section {
	facts := learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: [][]any{
		{"settings", cmp.Or(m.settings, "defaults")}, {"family", m.family.Name()}, {"training rows", m.rows},
		{"features", len(m.features)},
		{"widths", fmt.Sprintf("%.4g to %.4g", m.lo, m.hi)}, {"kernels", m.Kernels()},
	}}
	functions := learner.Section{Title: "functions", Columns: []string{"function", "gamma", "eps",
		"support", "gap", "violation", "active rows", "peaks", "kernels", "constant", "error",
		"error of the integral"},
		Note: "gap is relative, of the integral; error is on the training rows: mean square in units of the " +
			"target's variance, or share of wrong rows"}
	kernels := learner.Section{Title: "kernels", Columns: []string{"function", "coefficient", "width", "centre"},
		Note: "widths are in standard deviations of the columns, centres in the columns' own units"}
	hard := learner.Section{Title: "difficult rows", Columns: []string{"function", "row", "multiplier"},
		Note: "a row's multiplier is by how much the function would be simpler if the row's bound were " +
			"wider; rows count from 1"}
	path := learner.Section{Title: "path", Columns: []string{"function", "gamma", "support", "kernels",
		"gap", "violation", "error"},
		Note: "of the integral, before kernels are fitted anew"}
	for i := range m.functions {
		f := &m.functions[i]
		name := m.title(f)
		functions.Rows = append(functions.Rows, []any{name, f.gamma, f.eps, f.support, f.gap, f.excess,
			f.active, f.peaks, f.sum.Len(), f.sum.Bias, f.error, f.denseError})
		order := make([]int, f.sum.Len())
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(math.Abs(f.sum.Coef[b]), math.Abs(f.sum.Coef[a]))
		})
		for _, j := range order {
			kernels.Rows = append(kernels.Rows, []any{name, f.sum.Coef[j], f.sum.Width[j], m.place(f.sum, j)})
		}
		for j, row := range f.hard {
			hard.Rows = append(hard.Rows, []any{name, row + 1, f.multiplier[j]})
		}
		for _, r := range f.path {
			path.Rows = append(path.Rows, []any{name, r[0], r[1], int(r[2]), r[3], r[4], r[5]})
		}
	}
	return []learner.Section{facts, functions, kernels, hard, path}
}

// place writes a kernel's centre in the units of the columns.
func (m *Model) place(s *Sum, j int) string {
	text := ""
	for l := range m.features {
		f := &m.features[l]
		if l == 12 {
			return text + fmt.Sprintf(", and %d more", len(m.features)-l)
		}
		if l > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %.4g", f.Name(&m.form), s.Center[j*s.Dim+l]/f.Scale+f.Mean)
	}
	return text
}

const (
	modelKind    = "sparse"
	modelVersion = 1
)

type modelMeta struct {
	Form      boost.Schema   `json:"form"`
	Settings  string         `json:"settings"`
	Family    string         `json:"family"`
	Rows      int            `json:"rows"`
	Lo        float64        `json:"least_width"`
	Hi        float64        `json:"largest_width"`
	Offset    float64        `json:"offset"`
	Scale     float64        `json:"scale"`
	Functions []functionMeta `json:"functions"`
}

type functionMeta struct {
	Classes [2]int `json:"classes"`
	Peaks   int    `json:"peaks"`
	Active  int    `json:"active"`
}

// Write writes the model as a file of kind "sparse", with its kernels, the cells of the integral
// behind them, and the multipliers of difficult rows.
func (m *Model) Write(w io.Writer) error {
	f := model.New(modelKind, modelVersion)
	meta := modelMeta{m.form, m.settings, m.family.Name(), m.rows, m.lo, m.hi, m.offset, m.scale,
		[]functionMeta{}}
	linear.PutFeatures(f, m.features)
	for i, fn := range m.functions {
		meta.Functions = append(meta.Functions, functionMeta{fn.classes, fn.peaks, fn.active})
		name := fmt.Sprintf("%d/", i)
		for _, s := range []struct {
			name string
			sum  *Sum
		}{{"kernels", fn.sum}, {"cells", fn.dense}} {
			model.Put(f, name+s.name+"/centre", s.sum.Center, s.sum.Len(), s.sum.Dim)
			model.Put(f, name+s.name+"/width", s.sum.Width)
			model.Put(f, name+s.name+"/coefficient", s.sum.Coef)
		}
		model.Put(f, name+"facts", []float64{fn.gamma, fn.eps, fn.gap, fn.excess, fn.support, fn.error,
			fn.denseError, fn.sum.Bias})
		model.Put(f, name+"path", slices.Concat(fn.path...), len(fn.path), pathColumns)
		hard := make([]int64, len(fn.hard))
		for j, r := range fn.hard {
			hard[j] = int64(r)
		}
		model.Put(f, name+"hard", hard)
		model.Put(f, name+"multiplier", fn.multiplier)
	}
	if err := f.SetMeta(meta); err != nil {
		return fmt.Errorf("sparse: %w", err)
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
		return fmt.Errorf("sparse: %w: "+format, append([]any{model.ErrFormat}, args...)...)
	}
	m := &Model{form: meta.Form, settings: meta.Settings, rows: meta.Rows, lo: meta.Lo, hi: meta.Hi,
		offset: meta.Offset, scale: meta.Scale}
	if m.family, err = ParseFamily(meta.Family); err != nil {
		return nil, bad("%v", err)
	}
	if m.features, err = linear.GetFeatures(f, &m.form); err != nil {
		return nil, err
	}
	for j, x := range m.features {
		if x.Scale == 0 {
			return nil, bad("feature %d has the scale 0", j)
		}
	}
	if len(m.features) == 0 || math.IsNaN(m.offset) || math.IsInf(m.offset, 0) || !(m.scale > 0) ||
		math.IsInf(m.scale, 1) {
		return nil, bad("there are no features, or the scale of the target is not finite")
	}
	k := len(m.form.Classes)
	if most := max(1, k*(k-1)/2); len(meta.Functions) > most || k == 1 {
		return nil, bad("%d functions for %d classes", len(meta.Functions), k)
	}
	for i, fm := range meta.Functions {
		fn := function{classes: fm.Classes, peaks: fm.Peaks, active: fm.Active}
		if a, b := fm.Classes[0], fm.Classes[1]; k > 0 && (a < 0 || b <= a || b >= k) {
			return nil, bad("function %d is of the classes %d and %d of %d", i, a, b, k)
		}
		name := fmt.Sprintf("%d/", i)
		if fn.sum, err = readSum(f, name+"kernels", m.family, len(m.features)); err != nil {
			return nil, err
		}
		if fn.dense, err = readSum(f, name+"cells", m.family, len(m.features)); err != nil {
			return nil, err
		}
		facts, err := model.Get[float64](f, name+"facts", 8)
		if err != nil {
			return nil, err
		}
		fn.gamma, fn.eps, fn.gap, fn.excess, fn.support, fn.error, fn.denseError = facts[0], facts[1],
			facts[2], facts[3], facts[4], facts[5], facts[6]
		if fn.sum.Bias = facts[7]; fn.sum.Bias-fn.sum.Bias != 0 {
			return nil, bad("the constant %v of function %d", fn.sum.Bias, i)
		}
		path, err := model.Get[float64](f, name+"path", -1, pathColumns)
		if err != nil {
			return nil, err
		}
		for ; len(path) > 0; path = path[pathColumns:] {
			fn.path = append(fn.path, path[:pathColumns])
		}
		hard, err := model.Get[int64](f, name+"hard")
		if err != nil {
			return nil, err
		}
		for _, r := range hard {
			fn.hard = append(fn.hard, int(r))
		}
		if fn.multiplier, err = model.Get[float64](f, name+"multiplier", len(hard)); err != nil {
			return nil, err
		}
		m.functions = append(m.functions, fn)
	}
	return m, nil
}

func readSum(f *model.Container, name string, family Family, dim int) (*Sum, error) {
	s := &Sum{Family: family, Dim: dim}
	var err error
	if s.Width, err = model.Get[float64](f, name+"/width"); err != nil {
		return nil, err
	}
	if s.Center, err = model.Get[float64](f, name+"/centre", len(s.Width), dim); err != nil {
		return nil, err
	}
	if s.Coef, err = model.Get[float64](f, name+"/coefficient", len(s.Width)); err != nil {
		return nil, err
	}
	for j, w := range s.Width {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("sparse: %w: %s: width %v of kernel %d", model.ErrFormat, name, w, j)
		}
	}
	if optim.FirstNotFinite(s.Center) >= 0 || optim.FirstNotFinite(s.Coef) >= 0 {
		return nil, fmt.Errorf("sparse: %w: %s: a number is not finite", model.ErrFormat, name)
	}
	return s, nil
}
