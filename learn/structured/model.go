package structured

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Model predicts outputs of any kind: weights from a kernel, and a decoder of a loss.
type Model struct {
	o        Options
	data     *Data // training outputs and form; its inputs are in points or text
	form     boost.Schema
	features []linear.Feature
	points   *kernel.Matrix
	spelling *spelling
	lambda   float64
	kernel   string // with its width
	jitter   float64
	tried    []tried // values of lambda
	held     []float64

	weights weigher
	task    task
}

// tried is a value of lambda, with the mean loss of examples left out and its standard error.
type tried struct{ Lambda, Loss, Error float64 }

// weigher is a WeightModel of either kind of inputs.
type weigher interface {
	weights(ctx context.Context, x *Data, from, to int, workers int) ([]float64, error)
	jitter() float64
	held() (*Held, error)
}

type weigherOf[P any] struct {
	*WeightModel[P]
	inputs func(x *Data, from, to int) (P, error)
}

func (w *weigherOf[P]) weights(ctx context.Context, x *Data, from, to, workers int) ([]float64, error) {
	p, err := w.inputs(x, from, to)
	if err != nil {
		return nil, err
	}
	return w.Weights(ctx, p, workers)
}
func (w *weigherOf[P]) jitter() float64      { return w.Jitter }
func (w *weigherOf[P]) held() (*Held, error) { return w.Held() }

// inputs are training inputs ready for a Gram matrix and for weights.
type inputs struct {
	gram    func(o *kernel.Options) ([]float64, error)
	weights func(gram []float64, lambda float64, o *WeightOptions) (weigher, error)
}

// prepare makes the kernel, whose name it returns, and the training inputs.
func (m *Model) prepare(text string) (*inputs, string, error) {
	if m.data.Text != nil {
		if text == "auto" {
			text = "ngram:1-3"
		}
		k, err := parseGrams(text)
		if err != nil {
			return nil, "", err
		}
		train := kernel.Strings(m.spelling.all(m.data.Text))
		return inputsOf(kernel.Kernel[kernel.Strings](k), train,
			func(x *Data, from, to int) (kernel.Strings, error) {
				if x.Text == nil {
					return nil, fmt.Errorf("%w: the model's inputs are strings", ErrData)
				}
				return m.spelling.all(x.Text[from:to]), nil
			}, func(p kernel.Strings, rows []int) kernel.Strings { return dataset.Pick(p, rows) }), text, nil
	}
	if text == "auto" {
		text = "gaussian"
	}
	if strings.HasPrefix(text, "ngram") {
		return nil, "", fmt.Errorf("structured: kernel %s is for inputs that are strings", text)
	}
	k, err := kernel.ParseVector(text)
	if err != nil {
		return nil, "", fmt.Errorf("structured: %w", err)
	}
	if (k.Kind == kernel.Gaussian || k.Kind == kernel.Laplacian) && k.Width == 0 {
		median, err := kernel.MedianDistance(m.points, k.Kind, k.Columns, 0, m.o.Seed)
		if err != nil {
			return nil, "", fmt.Errorf("structured: %w; give the kernel a width", err)
		}
		k.Width = m.o.Width * median
	}
	return inputsOf(kernel.Kernel[*kernel.Matrix](k), m.points,
		func(x *Data, from, to int) (*kernel.Matrix, error) {
			rows := make([]int, to-from)
			for r := range rows {
				rows[r] = from + r
			}
			return kernel.Rows[float64](x.X.Subset(rows), m.features, 1), nil
		}, (*kernel.Matrix).Subset), k.Name(), nil
}

func inputsOf[P any](k kernel.Kernel[P], train P, of func(*Data, int, int) (P, error),
	subset func(P, []int) P) *inputs {
	return &inputs{
		gram: func(o *kernel.Options) ([]float64, error) { return kernel.Gram(k, train, o) },
		weights: func(gram []float64, lambda float64, o *WeightOptions) (weigher, error) {
			w, err := NewWeights(k, train, gram, lambda, subset, o)
			if err != nil {
				return nil, err
			}
			return &weigherOf[P]{w, of}, nil
		},
	}
}

func (o *Options) weightOptions(ctx context.Context, workers int) *WeightOptions {
	return &WeightOptions{Estimator: Estimator(o.Estimator), Landmarks: o.Landmarks, Neighbours: o.Neighbours,
		Seed: o.Seed, Clip: o.Clip, Options: kernel.Options{Ctx: ctx, Workers: workers}}
}

// Train fits weights to inputs, chooses lambda by the loss of examples left out, and makes the
// decoder of the loss. A step of the run is a value of lambda; an interrupted run continues from
// its checkpoint.
//
// Errors: unusable options or data, a kernel that is not positive semidefinite, too much
// memory (then take Nystrom), and those of the run. Per value of lambda it takes 7n³/3
// operations and n decodings, and memory for four matrices of n² numbers.
func Train(d *Data, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	var o Options
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, fmt.Errorf("structured: %w", err)
	}
	if o.Folds == 1 {
		return nil, nil, errors.New("structured: choice_folds is 1, which would leave out all examples: take 0 " +
			"or at least 2")
	}
	d, err := d.withTable()
	if err != nil {
		return nil, nil, err
	}
	if err := d.check(); err != nil {
		return nil, nil, err
	}
	if c == nil {
		c = &run.Control{}
	}
	m := &Model{o: o, data: d, form: boost.SchemaOf(d.X)}
	control := *c
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = fmt.Sprintf("structured data=%s %s", d.Fingerprint(), learner.Settings(&o))
	}
	if d.Text == nil {
		w := make([]float64, d.X.Rows)
		for i := range w {
			w[i] = 1 / float64(len(w))
		}
		if m.features = linear.Features(d.X, w, control.Workers); len(m.features) == 0 {
			return nil, nil, fmt.Errorf("%w: %s: no column tells two rows apart", ErrData, d.X.Title())
		}
		if o.Raw {
			for j := range m.features {
				m.features[j].Mean, m.features[j].Scale = 0, 1
			}
		}
		m.points = kernel.Rows[float64](d.X, m.features, control.Workers)
		if n := d.X.Missing(); n > 0 {
			control.Warning(fmt.Sprintf("%d cells are missing, and count as the mean of their column", n))
		}
	}
	if d.Text != nil || d.Kind == StringY {
		m.spelling = newSpelling(d.Text, d.YText, d.Lexicon)
	}
	if m.task, err = newTask(control.Context(), d, &m.o, m.spelling, control.Workers); err != nil {
		return nil, nil, err
	}
	r := run.Begin("structured", &control, 1<<20)
	result, err := m.choose(r)
	if err != nil {
		return nil, result, err
	}
	if m.jitter = m.weights.jitter(); m.jitter > 0 && o.Estimator == string(Ridge) {
		control.Warning(fmt.Sprintf("the kernel matrix is nearly singular: %.3g was added to its diagonal",
			m.jitter))
	}
	if n := len(m.tried); n > 1 && (m.lambda == m.tried[0].Lambda && m.tried[0].Loss < m.tried[1].Loss ||
		m.lambda == m.tried[n-1].Lambda && m.tried[n-1].Loss < m.tried[n-2].Loss) {
		control.Warning(fmt.Sprintf("the penalty %.3g is at an end of the values tried; others may do better",
			m.lambda))
	}
	return m, result, nil
}

// choose fits each value of lambda, and keeps the one with the least loss on examples left out;
// of equal ones the largest.
func (m *Model) choose(r *run.Run) (*optim.Result, error) {
	o := &m.o
	in, name, err := m.prepare(o.Kernel)
	if err != nil {
		return nil, err
	}
	m.kernel = name
	wo := o.weightOptions(r.Ctx, r.Workers)
	lambdas := slices.Clone(o.Lambda)
	var gram []float64
	scale := 1.0
	switch Estimator(o.Estimator) {
	case NadarayaWatson, Neighbours:
		lambdas = []float64{1} // there is no penalty
	case Ridge:
		if gram, err = in.gram(&wo.Options); err != nil {
			if errors.Is(err, kernel.ErrMemory) {
				err = fmt.Errorf("%w (or take the estimator nystrom)", err)
			}
			return nil, err
		}
		scale = meanDiagonal(gram, m.data.Rows())
	}
	if lambdas == nil {
		for _, l := range DefaultLambdas([]float64{1}, 1) {
			lambdas = append(lambdas, l*scale)
		}
	}
	slices.Sort(lambdas)
	lambdas = slices.Compact(lambdas)
	if len(lambdas) == 1 {
		m.lambda = lambdas[0]
		m.weights, err = in.weights(gram, m.lambda, wo)
		if err != nil {
			return nil, err
		}
		if err := r.Cancelled(); err != nil {
			return nil, err
		}
		return &optim.Result{Reason: run.GapSmall}, nil // solved to rounding
	}
	n := m.data.Rows()
	blocks := m.blocks()
	k, err := r.Taken()
	if err != nil {
		return nil, err
	}
	best := math.Inf(1)
	keep := func(l float64, losses []float64) {
		mean, sd := 0.0, 0.0
		for _, v := range losses {
			mean += v / float64(n)
		}
		for _, v := range losses {
			sd += (v - mean) * (v - mean)
		}
		m.tried = append(m.tried, tried{l, mean, math.Sqrt(sd/float64(n)) / math.Sqrt(float64(n))})
		if mean <= best {
			best, m.lambda, m.held = mean, l, losses
		}
	}
	var all [][]float64
	if k != nil {
		for s := range k.Iteration {
			losses := k.Arrays[fmt.Sprintf("losses%d", s)]
			if s >= len(lambdas) || len(losses) != n {
				return nil, fmt.Errorf("structured: %w: its losses are not of %d examples", run.ErrOther, n)
			}
			all = append(all, losses)
			keep(lambdas[s], losses)
		}
	}
	step := func() (*run.Row, run.Reason, error) {
		s := len(all)
		if s == len(lambdas) {
			return nil, run.GapSmall, nil
		}
		choosing := *wo
		if choosing.Estimator == Conjugate { // which has no examples to leave out in closed form
			choosing.Estimator = Nystrom
		}
		w, err := in.weights(gram, lambdas[s], &choosing)
		if err != nil {
			return nil, "", err
		}
		h, err := w.held()
		if err != nil {
			return nil, "", err
		}
		losses, err := h.Validate(r.Ctx, blocks, r.Workers, func(i int, alpha []float64) (float64, error) {
			Truncate(alpha, o.Truncate)
			return m.task.lossOf(r.Ctx, m.data, i, alpha)
		})
		if err != nil {
			return nil, "", err
		}
		for i, v := range losses {
			if v-v != 0 {
				return nil, "", fmt.Errorf("%w: %s: left out, its loss is %v: outputs or loss_scale are too large or "+
					"too small; scale them",
					ErrData, m.data.X.At(i), v)
			}
		}
		all = append(all, losses)
		keep(lambdas[s], losses)
		r.Evaluations += n
		reason := run.Reason("")
		if len(all) == len(lambdas) {
			reason = run.GapSmall // each is solved to rounding
		}
		return &run.Row{Objective: m.tried[s].Loss, Step: lambdas[s]}, reason, nil
	}
	reason, err := r.Loop(step, func() (*run.Checkpoint, error) {
		k := &run.Checkpoint{Arrays: map[string][]float64{}}
		for s, losses := range all {
			k.Arrays[fmt.Sprintf("losses%d", s)] = losses
		}
		return k, nil
	})
	result := &optim.Result{F: best, Iterations: r.Steps(), Evaluations: r.Evaluations, Reason: reason}
	if err != nil {
		return result, err
	}
	m.weights, err = in.weights(gram, m.lambda, wo)
	return result, err
}

// blocks are the examples that are left out together.
func (m *Model) blocks() [][]int {
	n := m.data.Rows()
	if m.o.Folds == 0 || m.o.Folds >= n {
		out := make([][]int, n)
		for i := range out {
			out[i] = []int{i}
		}
		return out
	}
	label := make([]int, n)
	if m.data.Kind == Class {
		for i, v := range m.data.Y {
			label[i] = int(v)
		}
	}
	order := rand.New(rand.NewPCG(m.o.Seed, 0x666f6c64)).Perm(n)
	out := make([][]int, m.o.Folds)
	for i, f := range table.Deal(order, label, m.o.Folds) {
		out[f] = append(out[f], i)
	}
	return slices.DeleteFunc(out, func(b []int) bool { return len(b) == 0 })
}

// Form returns the training data without its rows.
func (m *Model) Form() *Data {
	d := *m.data
	d.X, d.Y, d.YText, d.Lexicon = m.form.Table(), nil, nil, nil
	if d.Text != nil {
		d.Text = []string{}
	}
	return &d
}

// Lambda returns the penalty.
func (m *Model) Lambda() float64 { return m.lambda }

// block is how many queries have their weights computed together.
const block = 32

// influencesKept is how many influences a prediction comes with.
const influencesKept = 5

// Predict predicts every example of d on workers goroutines, 0 for one a processor. A query
// takes n kernel values, 2n² operations for its weights, and a decoding.
func (m *Model) Predict(ctx context.Context, d *Data, workers int) (*Predictions, error) {
	d, err := d.withTable()
	if err != nil {
		return nil, err
	}
	n, w := d.Rows(), m.task.width()
	if (d.Text == nil) != (m.data.Text == nil) {
		return nil, fmt.Errorf("%w: inputs of the model and of the data are not both strings, or both rows",
			ErrData)
	}
	if d.Text == nil {
		if err := m.form.Match(d.X); err != nil {
			return nil, err
		}
	}
	p := &Predictions{Kind: m.data.Kind, Width: w, Y: make([]float64, n*w), F: make([]float64, n),
		Bound: make([]float64, n), Margin: make([]float64, n), Exact: make([]Exactness, n),
		Degenerate: make([]bool, n), Influences: make([][]Influence, n)}
	if p.Kind == StringY {
		p.Text = make([]string, n)
	}
	p.loss = func(truth *Data, i int) float64 { return m.task.loss(p, truth, i) }
	err = run.Each(workers, (n+block-1)/block, func(_, b int) error {
		from, to := b*block, min(n, (b+1)*block)
		if err := cancelled(ctx, 0); err != nil {
			return err
		}
		alpha, err := m.weights.weights(ctx, d, from, to, 1)
		if err != nil {
			return err
		}
		k := m.data.Rows()
		for i := from; i < to; i++ {
			if err := cancelled(ctx, 0); err != nil {
				return err
			}
			a := alpha[(i-from)*k:][:k]
			Truncate(a, m.o.Truncate)
			if err := m.task.decode(ctx, d, i, a, p); err != nil {
				return fmt.Errorf("%s: %w", d.X.At(i), err)
			}
			p.Influences[i] = m.task.influences(p, i, a, influencesKept)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Explain says what was chosen, and which training examples the others do not predict.
func (m *Model) Explain() []learner.Section {
	facts := learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: [][]any{
		{"outputs", string(m.data.Kind)}, {"columns of outputs", len(m.data.Names)},
		{"training examples", m.data.Rows()},
		{"settings", cmp.Or(learner.Settings(&m.o), "defaults")}, {"kernel", m.kernel}, {"weights", m.o.Estimator},
		{"lambda", m.lambda}, {"n·lambda", m.lambda * float64(m.data.Rows())},
		{"added to the diagonal beside it", m.jitter},
	}}
	out := []learner.Section{facts}
	if len(m.tried) > 0 {
		s := learner.Section{Title: "lambda", Columns: []string{"lambda", "loss left out",
			"standard error", "chosen"}}
		for _, t := range m.tried {
			mark := ""
			if t.Lambda == m.lambda {
				mark = "*"
			}
			s.Rows = append(s.Rows, []any{t.Lambda, t.Loss, t.Error, mark})
		}
		out = append(out, s)
	}
	if m.held != nil {
		s := learner.Section{Title: "difficult examples", Columns: []string{"training row", "loss left out"},
			Note: "losses of each example predicted from the others"}
		all := make([]int, len(m.held))
		for i := range all {
			all[i] = i
		}
		for _, i := range bestOf(all, len(all), func(i int) float64 { return -m.held[i] }) {
			s.Rows = append(s.Rows, []any{i + 1, m.held[i]})
		}
		out = append(out, s)
	}
	return out
}

const (
	modelKind    = "structured"
	modelVersion = 1
)

type modelMeta struct {
	Kind    Kind         `json:"kind"`
	Form    boost.Schema `json:"form"`
	Options Options      `json:"options"`
	Kernel  string       `json:"kernel"`
	Lambda  float64      `json:"lambda"`
	Jitter  float64      `json:"jitter,omitempty"`
	Rows    int          `json:"rows"`
	Cols    int          `json:"cols"`
	Text    bool         `json:"text,omitempty"`
	Sparse  bool         `json:"sparse,omitempty"`
	Lexicon bool         `json:"lexicon,omitempty"`
}

// Write writes the model as a file of kind "structured": training inputs and outputs, not the
// factored matrix, which Read computes again.
func (m *Model) Write(w io.Writer) error {
	f := model.New(modelKind, modelVersion)
	d := m.data
	meta := modelMeta{d.Kind, m.form, m.o, m.kernel, m.lambda, m.jitter, d.Rows(), 0, d.Text != nil, false,
		d.Lexicon != nil}
	text := func(name string, list []string) error {
		if list == nil {
			return nil
		}
		return f.PutStrings(name, list)
	}
	if p := m.points; p != nil {
		meta.Cols, meta.Sparse = p.Cols, p.Start != nil
		model.Put(f, "points", p.Data)
		if meta.Sparse {
			start := make([]int64, len(p.Start))
			for i, s := range p.Start {
				start[i] = int64(s)
			}
			model.Put(f, "start", start)
			model.Put(f, "index", p.Index)
		}
		linear.PutFeatures(f, m.features)
	}
	for _, t := range []struct {
		name string
		list []string
	}{{"text", d.Text}, {"output text", d.YText}, {"lexicon", d.Lexicon}, {"names", d.Names},
		{"classes", d.Classes}} {
		if err := text(t.name, t.list); err != nil {
			return fmt.Errorf("structured: %w", err)
		}
	}
	if d.Y != nil {
		model.Put(f, "outputs", d.Y)
	}
	var runs []float64
	for _, t := range m.tried {
		runs = append(runs, t.Lambda, t.Loss, t.Error)
	}
	model.Put(f, "tried", runs)
	model.Put(f, "held", m.held)
	if err := f.SetMeta(meta); err != nil {
		return fmt.Errorf("structured: %w", err)
	}
	return f.Write(w)
}

// Read reads what Write wrote, and factors the kernel matrix: predictions have the bits that
// they had.
func Read(r io.Reader) (*Model, error) {
	var meta modelMeta
	f, err := model.ReadKind(r, modelKind, modelVersion, &meta)
	if err != nil {
		return nil, err
	}
	bad := func(format string, a ...any) (*Model, error) {
		return nil, fmt.Errorf("structured: %w: %s", model.ErrFormat, fmt.Sprintf(format, a...))
	}
	strings := func(name string, has bool) []string {
		if !has || err != nil {
			return nil
		}
		var s []string
		s, err = f.Strings(name)
		return s
	}
	_, outputs := f.Shape("outputs")
	_, classes := f.Shape("classes")
	_, names := f.Shape("names")
	m := &Model{o: meta.Options, form: meta.Form, lambda: meta.Lambda, kernel: meta.Kernel, jitter: meta.Jitter}
	d := &Data{Kind: meta.Kind, X: m.form.Table()}
	m.data = d
	d.Text, d.YText = strings("text", meta.Text), strings("output text", meta.Kind == StringY)
	d.Lexicon, d.Names, d.Classes = strings("lexicon", meta.Lexicon), strings("names", names),
		strings("classes", classes)
	if err == nil && outputs {
		d.Y, err = model.Get[float64](f, "outputs")
	}
	if err != nil {
		return nil, err
	}
	d.X.Rows = meta.Rows
	if d.Rows() != meta.Rows || meta.Rows < 1 || !(meta.Lambda > 0) {
		return bad("%d examples of %d, lambda %v", d.Rows(), meta.Rows, meta.Lambda)
	}
	if err := d.check(); err != nil {
		return bad("%v", err)
	}
	var o Options
	if err := learner.Complete(&o, &m.o); err != nil {
		return bad("%v", err)
	}
	m.o = o
	if !meta.Text {
		if err := m.readPoints(f, &meta); err != nil {
			return nil, err
		}
	}
	runs, err := model.Get[float64](f, "tried")
	if err == nil {
		m.held, err = model.Get[float64](f, "held")
	}
	if err != nil {
		return nil, err
	}
	if len(runs)%3 != 0 || len(m.held) != 0 && len(m.held) != meta.Rows {
		return bad("%d losses of %d examples", len(m.held), meta.Rows)
	}
	for k := 0; k < len(runs); k += 3 {
		m.tried = append(m.tried, tried{runs[k], runs[k+1], runs[k+2]})
	}
	if len(m.held) == 0 {
		m.held = nil
	}
	if meta.Text || meta.Kind == StringY {
		m.spelling = newSpelling(d.Text, d.YText, d.Lexicon)
	}
	if m.task, err = newTask(context.Background(), d, &m.o, m.spelling, 0); err != nil {
		return bad("%v", err)
	}
	in, _, err := m.prepare(m.kernel)
	if err != nil {
		return bad("%v", err)
	}
	m.weights, err = in.weights(nil, m.lambda, m.o.weightOptions(context.Background(), 0))
	return m, err
}

func (m *Model) readPoints(f *model.Container, meta *modelMeta) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("structured: %w: %s", model.ErrFormat, fmt.Sprintf(format, a...))
	}
	p := &kernel.Matrix{Rows: meta.Rows, Cols: meta.Cols}
	var err error
	if p.Data, err = model.Get[float64](f, "points"); err != nil {
		return err
	}
	if meta.Sparse {
		start, err := model.Get[int64](f, "start")
		if err != nil {
			return err
		}
		for _, s := range start {
			p.Start = append(p.Start, int(s))
		}
		if p.Index, err = model.Get[int32](f, "index", len(p.Data)); err != nil {
			return err
		}
	}
	if meta.Cols < 1 {
		return bad("%d columns", meta.Cols)
	}
	if err := p.Check(); err != nil {
		return bad("%v", err)
	}
	m.points = p
	if m.features, err = linear.GetFeatures(f, &m.form); err != nil {
		return fmt.Errorf("structured: %w", err)
	}
	if len(m.features) != meta.Cols {
		return bad("%d features for %d columns", len(m.features), meta.Cols)
	}
	return nil
}
