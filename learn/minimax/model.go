package minimax

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Model scores examples. What it was trained on is part of it: which losses, in which
// units, and the mixture that the other player ended with. It is read-only once made,
// and safe for concurrent use.
type Model struct {
	Params     []float64     `json:"-"`
	ClassNames []string      `json:"-"`
	Sizes      []int         `json:"sizes"`   // inputs, hidden layers, outputs
	Classes    int           `json:"classes"` // 0 for regression
	Objectives []Unit        `json:"objectives"`
	Lambda     []float64     `json:"lambda"`
	Normalized Normalization `json:"normalization"`
	ZeroOne    ZeroOneMode   `json:"zero_one"`
	MultiClass MultiClass    `json:"multi_class"`
	// Encoder says how rows of tables become numbers; it is nil when the caller does that.
	Encoder  *dense.Encoder `json:"encoder,omitempty"`
	Training string         `json:"training,omitempty"` // how it was trained, for people
	// Preferences are the mixtures that it was made robust to. The zero value, which older
	// files have, is the whole simplex.
	Preferences Preferences `json:"preferences,omitzero"`
	// Certified says that Gap was proved in training: no parameters have a worst mixture plus
	// penalty that is lower by more. Older files do not say.
	Certified bool    `json:"-"`
	Gap       float64 `json:"-"`

	net *nn.Network
}

// Unit is how a loss enters the game: Scale·L - Offset.
type Unit struct {
	Name          string  `json:"name"`
	Scale, Offset float64 `json:",omitempty"`
	Lipschitz     float64 `json:"lipschitz,omitempty"` // M_k; 0 when it is not finite
}

func (t *trainer) model(w, lambda []float64) *Model {
	m := &Model{Sizes: t.net.Sizes(), Params: slices.Clone(w), Classes: t.data.Classes,
		Lambda: slices.Clone(lambda), Normalized: t.Normalization, Preferences: t.allowed,
		ZeroOne: t.ZeroOne, MultiClass: t.MultiClass, Training: t.problem(), net: t.net}
	if t.data.Y != nil {
		m.Classes = 0
	}
	for k := range t.objectives {
		o := &t.objectives[k]
		u := Unit{Name: o.Name, Scale: o.scale, Offset: o.offset, Lipschitz: o.lipschitz}
		if math.IsInf(u.Lipschitz, 1) {
			u.Lipschitz = 0
		}
		m.Objectives = append(m.Objectives, u)
	}
	return m
}

// Outputs returns the number of scores of an example.
func (m *Model) Outputs() int { return m.Sizes[len(m.Sizes)-1] }

// Scores returns the scores of rows of X, Outputs for each.
func (m *Model) Scores(x []float64, workers int) ([]float64, error) {
	f := m.Sizes[0]
	if len(x)%f != 0 {
		return nil, fmt.Errorf("minimax: %d numbers are no rows of %d features", len(x), f)
	}
	d := &Data{X: x, Rows: len(x) / f, Features: f}
	e := newExamples[float64](m.net, d, nil, m.MultiClass, m.ZeroOne, workers)
	out := make([]float64, d.Rows*m.Outputs())
	e.scoresOf(m.Params, out)
	return out, nil
}

// Class returns the class of a row of scores: the first of the best.
func (m *Model) Class(scores []float64) int {
	return score.ClassOf(scores)
}

// losses finds the losses of the objectives by name; custom ones must be given.
func (m *Model) losses(custom []Loss) ([]objective, error) {
	var out []objective
	for _, u := range m.Objectives {
		k := slices.IndexFunc(custom, func(l Loss) bool { return l.Name == u.Name })
		var l Loss
		var err error
		if k >= 0 {
			l = custom[k]
		} else if l, err = score.ParsePointwise(u.Name); err != nil {
			return nil, err
		}
		o := objective{Loss: l, factor: 1, scale: u.Scale, offset: u.Offset, lipschitz: u.Lipschitz}
		if l.Errors {
			if m.ZeroOne == RampSurrogate {
				name := l.Name
				l, _ = score.Ramp(1)
				l.Name, l.Errors = name, true
				o.Loss = l
			}
			if m.Outputs() > 1 && m.MultiClass == OneVsAll {
				o.factor = float64(m.Outputs()) / 2
			}
		}
		out = append(out, o)
	}
	return out, nil
}

const (
	modelKind    = "almo"
	modelVersion = 1
)

// modelMeta is what a file says beside the weights.
type modelMeta struct {
	*Model
	Proved *float64 `json:"gap,omitempty"` // where it is certified
}

// Write writes the model as a model file of kind "almo". Its float64 array weights holds, layer by
// layer, the weights (input by output) and biases; its string array classes holds the classes. A
// model with a number that is not finite is refused.
func (m *Model) Write(w io.Writer) error {
	if k := optim.FirstNotFinite(m.Params); k >= 0 {
		return fmt.Errorf("minimax: weight %d of the model is %v: it is not written", k, m.Params[k])
	}
	f := model.New(modelKind, modelVersion)
	meta := modelMeta{Model: m}
	if m.Certified {
		meta.Proved = &m.Gap
	}
	if err := f.SetMeta(meta); err != nil {
		return err
	}
	model.Put(f, "weights", m.Params)
	if err := f.PutStrings("classes", m.ClassNames); err != nil {
		return err
	}
	return f.Write(w)
}

// Read reads what Write wrote.
func Read(r io.Reader) (*Model, error) {
	m := &Model{}
	meta := modelMeta{Model: m}
	f, err := model.ReadKind(r, modelKind, modelVersion, &meta)
	if err != nil {
		return nil, err
	}
	if meta.Proved != nil {
		m.Certified, m.Gap = true, *meta.Proved
	}
	fail := func(what error) (*Model, error) {
		return nil, fmt.Errorf("minimax: model file: %w: %w", model.ErrFormat, what)
	}
	if m.net, err = nn.New(m.Sizes...); err != nil {
		return fail(err)
	}
	if m.Params, err = model.Get[float64](f, "weights", m.net.Dim()); err != nil {
		return nil, err
	}
	if j := optim.FirstNotFinite(m.Params); j >= 0 {
		return fail(fmt.Errorf("weight %d is %v", j, m.Params[j]))
	}
	if m.ClassNames, err = f.Strings("classes"); err != nil {
		return nil, err
	}
	outputs, names := 1, len(m.ClassNames)
	if m.Classes > 2 {
		outputs = m.Classes
	}
	if m.Outputs() != outputs || len(m.Lambda) != len(m.Objectives) || names != 0 && names != m.Classes {
		return fail(fmt.Errorf("%d outputs for %d classes, %d weights of %d objectives", m.Outputs(), m.Classes,
			len(m.Lambda), len(m.Objectives)))
	}
	if len(m.Objectives) > 0 {
		if _, err := m.preferences(); err != nil {
			return fail(err)
		}
	}
	if m.Encoder != nil {
		if err := m.Encoder.Check(m.Sizes[0]); err != nil {
			return fail(err)
		}
	}
	return m, nil
}

// preferences is the set of Preferences.
func (m *Model) preferences() (optim.Maximizer, error) {
	return setOf(m.Preferences, len(m.Objectives))
}

// Scored is a model's account on some data.
type Scored struct {
	Raw    []float64 `json:"raw"`        // each objective's loss
	Values []float64 `json:"normalized"` // as they entered the game
	// Worst is the value of the worst mixture in the preferences of training. Largest is the
	// largest of Values, the same where the preferences are all mixtures.
	Worst   float64 `json:"worst"`
	Largest float64 `json:"largest"`
	Mixed   float64 `json:"mixed"` // of the model's own mixture
	Error   float64 `json:"error"` // of the classes that Class names; NaN for regression
	AUC     float64 `json:"auc"`   // of classes against the rest (metrics.MeanAUC); NaN also for one alone
	Prob    float64 `json:"prob"`  // mean |σ(s) - (y+1)/2| over outputs; NaN for regression
}

// Evaluate returns how a model does on data. Losses of the caller's own must be given
// again.
func (m *Model) Evaluate(d *Data, workers int, custom ...Loss) (*Scored, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	regression := d.Y != nil
	if d.Features != m.Sizes[0] || d.Outputs() != m.Outputs() || regression != (m.Classes == 0) {
		return nil, fmt.Errorf("minimax: data of %d features and %d outputs for a model of %d and %d", d.Features,
			d.Outputs(), m.Sizes[0], m.Outputs())
	}
	objectives, err := m.losses(custom)
	if err != nil {
		return nil, err
	}
	e := newExamples[float64](m.net, d, objectives, m.MultiClass, m.ZeroOne, workers)
	scores := make([]float64, d.Rows*m.Outputs())
	e.scoresOf(m.Params, scores)
	s := &Scored{Raw: e.values(scores), Error: math.NaN(), AUC: math.NaN(), Prob: math.NaN(),
		Largest: math.Inf(-1)}
	set, err := m.preferences()
	if err != nil {
		return nil, err
	}
	if s.Values = entered(objectives, s.Raw); len(s.Values) > 0 {
		s.Worst, s.Largest, s.Mixed = set.Maximize(s.Values, nil), slices.Max(s.Values), floats.Dot(m.Lambda,
			s.Values)
	}
	if regression {
		return s, nil
	}
	outputs := m.Outputs()
	prob, _ := score.ProbNorm(1)
	s.Error, s.Prob = 0, 0
	target, y := make([]float64, d.Rows), make([]float64, outputs)
	for i, c := range d.Class {
		target[i] = float64(c)
		d.Targets(i, outputs, y)
		row, weight := scores[i*outputs:][:outputs], score.Weight(e.weight, i)
		label := float64(c)
		if outputs == 1 {
			label = y[0]
		}
		if !score.Right(outputs, label, row) {
			s.Error += weight
		}
		for c, v := range row {
			l, _ := prob.At(v, y[c])
			s.Prob += weight * l
		}
	}
	s.Error, s.Prob = s.Error/float64(d.Rows), s.Prob/float64(len(scores))
	if outputs == 1 {
		s.AUC = metrics.AUC(scores, target, e.weight)
	} else {
		s.AUC = metrics.MeanAUC(scores, target, e.weight, outputs)
	}
	return s, nil
}
