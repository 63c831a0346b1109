package skpca

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Model is a projection onto features of several kernels, with a linear classifier on them.
type Model struct {
	form     boost.Schema
	features []linear.Feature
	space    *space
	parts    []*part // with the features that are used
	fit      *fit
	rho      float64
	setting  setting
	settings string
	lossName string
	bounds   *Bounds // nil but for two classes
	rows     int     // of U
	labelled int
	cells    int         // solved
	spectrum [][]float64 // eigenvalues of every kernel, one more than were kept
	traces   []float64
	places   []float64 // of training rows for a picture: two coordinates and a label each
	sigmoid  []float64 // of the hinge loss: probability 1/(1+exp(-(a f + b))), by output; nil otherwise
}

func lossName(l score.Loss) string {
	if l == nil {
		return "hinge"
	}
	return l.Name()
}

// Form returns the training table without its rows.
func (m *Model) Form() *table.Table { return m.form.Table() }

// Counts returns how many features each kernel has, in the order of Kernels.
func (m *Model) Counts() []int { return slices.Clone(m.fit.counts) }

// Weights returns μ.
func (m *Model) Weights() []float64 { return slices.Clone(m.fit.mu) }

// Kernels returns the names of the base kernels.
func (m *Model) Kernels() []string {
	var out []string
	for _, p := range m.parts {
		out = append(out, p.name)
	}
	return out
}

// Eigenvalues returns the eigenvalues of kernel k over the number of rows, without its weight. It
// returns as many as were kept, and one more if there is one.
func (m *Model) Eigenvalues(k int) []float64 { return slices.Clone(m.spectrum[k]) }

// Bounds returns what the theory says of the fit; nil but for two classes.
func (m *Model) Bounds() *Bounds { return m.bounds }

// Objective returns the value that training minimised, and how far it can be above the least
// of its cell; NaN where that is not known.
func (m *Model) Objective() (value, gap float64) { return m.fit.value, m.fit.gap }

// outputs of the classifier.
func (m *Model) outputs() int { return len(m.fit.theta) }

// matrix lays out rows that have the model's form.
func (m *Model) matrix(ctx context.Context, t *table.Table, workers int) (*kernel.Matrix, *space, error) {
	if err := m.form.Match(t); err != nil {
		return nil, nil, err
	}
	x := kernel.Rows[float64](t, m.features, workers)
	if err := x.Check(); err != nil {
		return nil, nil, fmt.Errorf("skpca: %s: %w", t.Title(), err)
	}
	if m.space.x.Start == nil && x.Start != nil {
		return nil, nil, fmt.Errorf("skpca: %s: sparse rows, and the model is of dense ones; read them dense",
			t.Title())
	}
	if m.space.x.Start != nil && x.Start == nil {
		return nil, nil, fmt.Errorf("skpca: %s: dense rows, and the model is of sparse ones; read them sparse",
			t.Title())
	}
	s := *m.space
	s.opts.Ctx, s.opts.Workers = ctx, workers
	return x, &s, nil
}

// Transform returns the r features z of every row of t, n×r: those of the first kernel come
// first. Their names are those of Features.
func (m *Model) Transform(ctx context.Context, t *table.Table, workers int) ([]float64, error) {
	x, s, err := m.matrix(ctx, t, workers)
	if err != nil {
		return nil, err
	}
	r := len(m.fit.theta[0])
	out := make([]float64, t.Rows*r)
	at := 0
	for k, c := range m.fit.counts {
		if c == 0 {
			continue
		}
		phi, err := s.phi(m.parts[k], x, c)
		if err != nil {
			return nil, err
		}
		root := math.Sqrt(m.fit.mu[k])
		for i := range t.Rows {
			for j, v := range phi[i*c : (i+1)*c] {
				out[i*r+at+j] = v * root
			}
		}
		at += c
	}
	return out, nil
}

// Features names what Transform returns: the kernel, and the number of its eigenfunction.
func (m *Model) Features() []string {
	var out []string
	for k, c := range m.fit.counts {
		for j := range c {
			out = append(out, fmt.Sprintf("%s/%d", m.parts[k].name, j+1))
		}
	}
	return out
}

// Predict returns the scores of every row of t, whose columns must be those of Form. O(rows ·
// base rows · columns) for each kernel with features.
func (m *Model) Predict(ctx context.Context, t *table.Table, workers int) (*learner.Scores, error) {
	x, s, err := m.matrix(ctx, t, workers)
	if err != nil {
		return nil, err
	}
	q := m.outputs()
	scores := &learner.Scores{Outputs: q, Score: make([]float64, t.Rows*q)}
	for i := range scores.Score {
		scores.Score[i] = m.fit.offset[i%q]
	}
	at := 0
	for k, c := range m.fit.counts {
		if c == 0 {
			continue
		}
		w := make([]float64, c*q) // φ·θ in one product
		for o, theta := range m.fit.theta {
			for j := range c {
				w[j*q+o] = theta[at+j]
				if m.rho > 0 {
					w[j*q+o] /= m.rho
				}
			}
		}
		part, err := s.times(m.parts[k], x, w, c, q)
		if err != nil {
			return nil, err
		}
		for i, v := range part {
			scores.Score[i] += v
		}
		at += c
	}
	m.probabilities(scores)
	return scores, nil
}

// probabilities are those of the logistic loss; (1+f)/2 within [0.001, 0.999] for least
// squares, which estimate that; and a sigmoid fitted to the scores for the hinge loss. With
// more than two classes those of each against the rest are brought to a sum of 1.
func (m *Model) probabilities(s *learner.Scores) {
	if m.form.Classes == nil {
		return
	}
	q := s.Outputs
	p := make([]float64, len(s.Score))
	for i, f := range s.Score {
		switch m.lossName {
		case "logistic":
			p[i] = score.Sigmoid(f)
		case "squared":
			p[i] = min(0.999, max(0.001, (1+f)/2))
		default:
			p[i] = score.Sigmoid(m.sigmoid[2*(i%q)]*f + m.sigmoid[2*(i%q)+1])
		}
	}
	s.Calibrated = m.lossName == "logistic" && q == 1
	if q == 1 {
		s.Probability = make([]float64, 2*len(p))
		for i, v := range p {
			s.Probability[2*i], s.Probability[2*i+1] = 1-v, v
		}
		return
	}
	s.Probability = p
	for at := 0; at < len(p); at += q {
		sum := 0.0
		for _, v := range p[at : at+q] {
			sum += v
		}
		for c := range q {
			p[at+c] /= sum
		}
	}
}

// platt fits the sigmoid of the hinge loss to the training scores, with the smoothed targets of
// J. Platt, "Probabilistic outputs for support vector machines", 1999.
func (m *Model) platt(s *sample, values [][]float64) error {
	x := s.design(values, m.fit.counts)
	d := len(x) / s.m
	for o, y := range s.y {
		f := make([]float64, s.m)
		positive := 0.0
		for i := range f {
			f[i] = m.fit.offset[o]
			for j, t := range m.fit.theta[o] {
				f[i] += t * x[i*d+j]
			}
			if y[i] > 0 {
				positive++
			}
		}
		p := &plattLoss{f, y, (positive + 1) / (positive + 2), 1 / (float64(s.m) - positive + 2)}
		ab := []float64{1, 0}
		if _, _, err := (optim.Newton{Tolerance: 1e-9}).Minimize(p, ab); err != nil {
			return fmt.Errorf("skpca: probabilities: %w", err)
		}
		m.sigmoid = append(m.sigmoid, ab...)
	}
	return nil
}

// plattLoss is the mean log-loss of a sigmoid of scores f, with targets high and low.
type plattLoss struct {
	f, y      []float64
	high, low float64
}

// Dim implements optim.Curved.
func (*plattLoss) Dim() int { return 2 }

// Curve implements optim.Curved.
func (p *plattLoss) Curve(x, grad, hess []float64) float64 {
	total, n := 0.0, float64(len(p.f))
	for i, f := range p.f {
		t := p.low
		if p.y[i] > 0 {
			t = p.high
		}
		z := x[0]*f + x[1]
		total += (score.Softplus(z) - t*z) / n
		if grad != nil {
			q := score.Sigmoid(z)
			g, h := (q-t)/n, q*(1-q)/n
			grad[0] += g * f
			grad[1] += g
			hess[0] += h * f * f
			hess[2] += h * f
			hess[3] += h
		}
	}
	return total
}

// baseRows is how many rows the model needs for its kernels.
func (m *Model) baseRows() int {
	for k, p := range m.parts {
		if p.weights != nil && m.fit.counts[k] > 0 {
			return m.space.base().Rows
		}
	}
	return 0
}

// caveats say what the bounds are not.
const (
	caveatIndependent = "the eigenfunctions do not depend on the labelled rows, and so this is proved, " +
		"for any number of kernels"
	caveatTransductive = "transductive form, heuristic: the features come from the labelled rows too, " +
		"which the theorem does not cover"
	caveatStated = "plug-in estimate of the gap; proved for one kernel alone, since for more the " +
		"gap of the pooled spectrum counts, which vanishes where a feature changes place"
	caveatConstant = "the bounds are for scores without a constant; train with --strict for them"
	caveatCentred  = "the bounds are for kernels that are not centred"
)

// Explain lists the settings, the kernels with their weights, and the bounds.
func (m *Model) Explain() []learner.Section {
	f := m.fit
	value := func(v float64) any {
		if v != v {
			return "-"
		}
		return v
	}
	facts := learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: [][]any{
		{"loss", m.lossName}, {"settings", cmp.Or(m.settings, "defaults")}, {"chosen", m.setting.String()},
		{"rows of the sample", m.rows}, {"labelled rows", m.labelled}, {"base rows", m.baseRows()},
		{"features", len(f.theta[0])},
		{"objective", f.value}, {"at most above the least of its cell", value(f.gap)}, {"mean loss", f.loss},
		{"norm of the classifier", math.Sqrt(f.norm)}, {"cells solved", m.cells},
	}}
	kernels := learner.Section{Title: "kernels", Columns: []string{"kernel", "features", "weight",
		"share of the trace", "first eigenvalue", "last kept", "first left out", "norm of theta"},
		Note: "eigenvalues are of the kernel over the number of rows, without its weight; the share of the " +
			"trace is that of the features kept"}
	squares := f.squares()
	order := make([]int, len(m.parts))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(f.counts[b], f.counts[a]), cmp.Compare(f.mu[b], f.mu[a]))
	})
	for _, k := range order {
		c, all := f.counts[k], m.spectrum[k]
		kept, left, sum := any("-"), any("-"), 0.0
		if c > 0 {
			kept = all[c-1]
		}
		if c < len(all) {
			left = all[c]
		}
		for _, v := range all[:c] {
			sum += v
		}
		kernels.Rows = append(kernels.Rows, []any{m.parts[k].name, c, f.mu[k], sum / m.traces[k], all[0], kept,
			left, math.Sqrt(squares[k])})
	}
	sections := []learner.Section{facts, kernels}
	if b := m.bounds; b != nil {
		s := learner.Section{Title: "bounds", Columns: []string{"what", "value", "caveat"}}
		add := func(what string, v float64, caveat string) {
			s.Rows = append(s.Rows, []any{what, v, caveat})
		}
		if b.Independent {
			add("Rademacher complexity, by the sum of weights (B1)", b.B1, caveatIndependent)
			add("Rademacher complexity, by the Ky-Fan norm (B2)", b.B2, caveatIndependent)
		}
		add("Rademacher complexity, without kappa", b.Transductive, caveatTransductive)
		if b.Stated > 0 {
			add("Rademacher complexity, theorem 7.4", b.Stated, caveatStated)
		}
		if b.Lower > 0 {
			add("Rademacher complexity is at least (theorem 7.6)", b.Lower, "for one kernel")
		}
		caveat := caveatTransductive
		if b.Independent {
			caveat = caveatIndependent
		}
		add(fmt.Sprintf("share of margins below %g, and in part", b.Rho), b.MarginLoss, "")
		add(fmt.Sprintf("error with a probability of %g is at most", 1-b.Delta), b.Risk, caveat)
		for i, name := range []string{"least", "", "", "", "", "median", "", "", "", "", "largest"} {
			if name != "" {
				add(name+" margin", b.Deciles[i], "")
			}
		}
		for o := range f.offset {
			if f.offset[o] != 0 {
				s.Note = caveatConstant
			}
		}
		for _, p := range m.parts {
			if p.centre != nil {
				s.Note = caveatCentred
			}
		}
		sections = append(sections, s)
	}
	return sections
}

const (
	modelKind    = "skpca"
	modelVersion = 1
)

type partMeta struct {
	Kernel  kernel.Vector `json:"kernel"`
	Name    string        `json:"name"`
	Scale   float64       `json:"scale"`
	Trace   float64       `json:"trace"`
	Count   int           `json:"count"`
	All     float64       `json:"mean,omitempty"` // of a centred kernel
	Centred bool          `json:"centred,omitempty"`
	Fourier int           `json:"fourier,omitempty"` // random features
	Seed    uint64        `json:"seed,omitempty"`
}

type modelMeta struct {
	Form     boost.Schema `json:"form"`
	Loss     string       `json:"loss"`
	Settings string       `json:"settings"`
	Chosen   setting      `json:"chosen"`
	Nu       string       `json:"nu"`
	Rho      float64      `json:"rho,omitempty"`
	Rows     int          `json:"rows"`
	Labelled int          `json:"labelled"`
	Cells    int          `json:"cells"`
	Outputs  int          `json:"outputs"`
	Base     int          `json:"base"`
	Sparse   bool         `json:"sparse,omitempty"`
	Bounds   *Bounds      `json:"bounds,omitempty"`
	Parts    []partMeta   `json:"parts"`
	Value    [3]float64   `json:"value"` // objective, loss, squared norm
}

// Write writes the model as a file of kind "skpca".
func (m *Model) Write(w io.Writer) error {
	f := model.New(modelKind, modelVersion)
	base := m.space.base()
	meta := modelMeta{Form: m.form, Loss: m.lossName, Settings: m.settings, Chosen: m.setting,
		Nu: fmt.Sprint(m.setting.Nu), Rho: m.rho, Rows: m.rows, Labelled: m.labelled, Cells: m.cells,
		Outputs: m.outputs(), Base: m.baseRows(), Sparse: base.Start != nil,
		Value: [3]float64{m.fit.value, m.fit.loss, m.fit.norm}}
	if m.bounds != nil {
		b := *m.bounds
		if math.IsInf(b.Gap, 0) {
			b.Gap = 0
		}
		meta.Bounds = &b
	}
	linear.PutFeatures(f, m.features)
	needed := false
	for k, p := range m.parts {
		q := partMeta{Kernel: p.kernel, Name: p.name, Scale: p.scale, Trace: m.traces[k], Count: m.fit.counts[k]}
		if p.fourier != nil {
			q.Fourier, q.Seed = p.fourier.D, p.fourier.Seed
		}
		if p.centre != nil && q.Count > 0 {
			q.Centred, q.All = true, p.centre.All
			model.Put(f, fmt.Sprintf("means.%d", k), p.centre.Rows)
		}
		if q.Count > 0 {
			rows := p.weights
			if rows == nil {
				rows = p.directions
			} else {
				needed = true
			}
			name := "weights"
			if p.directions != nil {
				name = "directions"
			}
			model.Put(f, fmt.Sprintf("%s.%d", name, k), rows, len(rows)/q.Count, q.Count)
		}
		model.Put(f, fmt.Sprintf("eigenvalues.%d", k), m.spectrum[k])
		meta.Parts = append(meta.Parts, q)
	}
	if needed {
		model.Put(f, "base", base.Data)
		if base.Start != nil {
			start := make([]int64, len(base.Start))
			for i, v := range base.Start {
				start[i] = int64(v)
			}
			model.Put(f, "base.start", start)
			model.Put(f, "base.index", base.Index)
		}
	}
	var theta []float64
	for _, t := range m.fit.theta {
		theta = append(theta, t...)
	}
	model.Put(f, "theta", theta, m.outputs(), len(m.fit.theta[0]))
	model.Put(f, "offset", m.fit.offset)
	model.Put(f, "mu", m.fit.mu)
	model.Put(f, "gap", []float64{m.fit.gap})
	if len(m.places) > 0 {
		model.Put(f, "places", m.places, len(m.places)/3, 3)
	}
	if m.sigmoid != nil {
		model.Put(f, "sigmoid", m.sigmoid, m.outputs(), 2)
	}
	if err := f.SetMeta(meta); err != nil {
		return fmt.Errorf("skpca: %w", err)
	}
	return f.Write(w)
}
