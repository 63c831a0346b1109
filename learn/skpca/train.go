package skpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// prepared is a table ready for training: the sample U as features, and which of its rows
// have labels.
type prepared struct {
	table    *table.Table
	features []linear.Feature
	x, rows  *kernel.Matrix // of U, and of the labelled rows
	labelled []int
	sample   sample // without features
	kernels  []kernel.Vector
	names    []string
}

// ErrData reports a table that cannot be learnt from.
var ErrData = errors.New("unusable data")

// prepare checks a table. Rows of weight 0 are in U and have no label.
func prepare(t *table.Table, o *Options, workers int) (*prepared, error) {
	fail := func(format string, args ...any) (*prepared, error) {
		return nil, fmt.Errorf("skpca: %s: %w: %s", t.Title(), ErrData, fmt.Sprintf(format, args...))
	}
	switch {
	case t == nil:
		return nil, fmt.Errorf("skpca: %w: there is no table", ErrData)
	case t.Rows == 0 || len(t.Columns) == 0:
		return fail("%d rows and %d columns of features", t.Rows, len(t.Columns))
	case len(t.Target) != t.Rows:
		return fail("there is no target column")
	}
	loss, err := o.lossOf(t)
	if err != nil {
		return nil, err
	}
	p := &prepared{table: t}
	total := 0.0
	for i := range t.Rows {
		if w := score.Weight(t.Weight, i); w > 0 && !math.IsInf(w, 1) {
			p.labelled = append(p.labelled, i)
			total += w
		} else if w != 0 {
			return fail("the weight %v of %s is not a finite number from 0", w, t.At(i))
		}
	}
	if len(p.labelled) == 0 {
		return fail("no row has a label with weight")
	}
	for j := range t.Columns {
		for i, v := range t.Columns[j].Values {
			if math.IsInf(float64(v), 0) {
				return fail("%s: column %q has the value %v", t.At(i), t.Columns[j].Name, v)
			}
		}
	}
	// U: every row, or those without a label.
	u, weight := t, slices.Repeat([]float64{1 / float64(t.Rows)}, t.Rows)
	if o.Independent {
		var list []int
		for i := range t.Rows {
			if weight[i] = 0; score.Weight(t.Weight, i) == 0 {
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			return fail("independent: no row is without a label, which a weight of 0 says")
		}
		for _, i := range list {
			weight[i] = 1 / float64(len(list))
		}
		u = t.Subset(list)
	}
	if p.features = linear.Features(t, weight, workers); len(p.features) == 0 {
		return fail("no column tells two rows apart")
	}
	if o.Raw {
		for j := range p.features {
			p.features[j].Mean, p.features[j].Scale = 0, 1
		}
	}
	p.x = kernel.Rows[float64](u, p.features, workers)
	p.rows = p.x
	if len(p.labelled) < t.Rows {
		p.rows = kernel.Rows[float64](t.Subset(p.labelled), p.features, workers)
	}
	for _, x := range []*kernel.Matrix{p.x, p.rows} {
		if err := x.Check(); err != nil {
			return fail("%v", err)
		}
	}
	s := &p.sample
	s.m, s.loss, s.free, s.workers = len(p.labelled), loss, !o.Strict, workers
	if t.Weight != nil {
		s.w = make([]float64, s.m)
		for i, row := range p.labelled {
			s.w[i] = t.Weight[row] * float64(s.m) / total
		}
	}
	s.y = p.labels(p.labelled)
	if t.Classes != nil {
		seen := map[float64]bool{}
		for _, row := range p.labelled {
			seen[t.Target[row]] = true
		}
		if len(seen) < 2 {
			return fail("all labelled rows are of one class; there must be two")
		}
	}
	p.kernels, p.names, err = o.resolved(t, p.features, p.x)
	return p, err
}

// labels returns an output of numbers or of two classes, the second of them positive, or one
// for each of more classes.
func (p *prepared) labels(rows []int) [][]float64 {
	t := p.table
	outputs := len(t.Classes)
	if outputs <= 2 {
		outputs = 1
	}
	out := make([][]float64, outputs)
	for c := range out {
		y := make([]float64, len(rows))
		for i, row := range rows {
			switch v := t.Target[row]; {
			case t.Classes == nil:
				y[i] = v
			case outputs == 1 && v == 1 || outputs > 1 && int(v) == c:
				y[i] = 1
			default:
				y[i] = -1
			}
		}
		out[c] = y
	}
	return out
}

// parts finds the first features of all kernels, and their values at the labelled rows. It finds r
// and one more, or what the largest share of the trace in o asks for.
func (p *prepared) parts(o *Options, r int, ctx context.Context,
	workers int) (*space, []*part, *sample, error) {
	sp, err := newSpace(p.x, o, p.kernels, ctx, workers)
	if err != nil {
		return nil, nil, nil, err
	}
	parts, err := p.partsIn(sp, o, r, ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := p.sampleOf(sp, parts, o, ctx)
	return sp, parts, s, err
}

// firstFeatures is how many features of each kernel are found first where a share of the trace is
// asked for. While they hold less, twice as many are found.
const firstFeatures = 16

// partsIn is parts without the labelled rows.
func (p *prepared) partsIn(sp *space, o *Options, r int, ctx context.Context) ([]*part, error) {
	if len(o.Trace) == 0 {
		return p.first(sp, o, r+1, ctx)
	}
	share := slices.Max(o.Trace)
	for r = firstFeatures; ; r *= 2 {
		parts, err := p.first(sp, o, r+1, ctx)
		if err != nil {
			return nil, err
		}
		n, held, ok := holding(parts, share)
		more := slices.ContainsFunc(parts, func(q *part) bool { return len(q.values) > r })
		switch {
		case ok && (n <= r || !more):
			for k, q := range parts {
				parts[k] = q.cut(min(n+1, len(q.values)))
			}
			return parts, nil
		case !more:
			return nil, errShare(share, held)
		}
	}
}

// errShare reports features that hold too little of the trace.
func errShare(share, held float64) error {
	return fmt.Errorf("skpca: trace %g: %w: all features together hold %.4g of the trace; ask for less, "+
		"or for more landmarks or random features", share, kernel.ErrRank, held)
}

// first finds the first n features of all kernels.
func (p *prepared) first(sp *space, o *Options, n int, ctx context.Context) ([]*part, error) {
	var parts []*part
	for k := range p.kernels {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		q, err := sp.newPart(p.kernels[k], p.names[k], n, o)
		if err != nil {
			return nil, err
		}
		parts = append(parts, q)
	}
	return parts, nil
}

// holding returns the least number of features that hold a share of the traces of all kernels at
// equal weights. It returns what they hold, and whether that is enough.
func holding(parts []*part, share float64) (n int, held float64, ok bool) {
	var values []float64
	total, sum := 0.0, 0.0
	for _, p := range parts {
		values = append(values, p.values...)
		total += p.trace
	}
	slices.Sort(values)
	slices.Reverse(values)
	for n, v := range values {
		if sum += v; sum >= (share-1e-9)*total { // eigenvalues near zero are left out
			return n + 1, sum / total, true
		}
	}
	return len(values), sum / total, false
}

// ranked returns settings with the ranks of those that ask for a share of the trace.
func ranked(list []setting, parts []*part) ([]setting, error) {
	list = slices.Clone(list)
	for i, v := range list {
		if v.Trace > 0 {
			n, held, ok := holding(parts, v.Trace)
			if !ok {
				return nil, errShare(v.Trace, held)
			}
			list[i].Rank = n
		}
	}
	return list, nil
}

// sampleOf returns the labelled rows with their features.
func (p *prepared) sampleOf(sp *space, parts []*part, o *Options, ctx context.Context) (*sample, error) {
	s := p.sample
	s.ctx = ctx
	s.phi = make([][]float64, len(parts))
	var err error
	for k, q := range parts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if p.rows == p.x && q.weights != nil && sp.landmarks == nil {
			s.phi[k] = q.inSample(p.x.Rows)
		} else if s.phi[k], err = sp.phi(q, p.rows, len(q.values)); err != nil {
			return nil, err
		}
		if o.Rho > 0 {
			for i := range s.phi[k] {
				s.phi[k][i] /= o.Rho
			}
		}
	}
	return &s, nil
}

// setOf returns M for a setting.
func setOf(parts []*part, v setting, ctx context.Context) *set {
	s := &set{r: v.Rank, nu: v.nu(len(parts)), lambda: math.Inf(1), ctx: ctx}
	most := 0.0
	for _, p := range parts {
		s.values = append(s.values, p.values)
	}
	for k := range parts {
		most = max(most, s.partial(k, min(v.Rank, len(parts[k].values))))
	}
	if v.Lambda < 1 {
		s.lambda = v.Lambda * most
	}
	return s
}

// fits finds the best fit of each setting in turn, from that of the one before, and hands it
// over.
func fits(parts []*part, s *sample, list []setting, o *Options, ctx context.Context, workers int,
	use func(i int, m *set, f *fit, cells int) error) error {
	list, err := ranked(list, parts)
	if err != nil {
		return err
	}
	var from *fit
	var before setting
	for i, v := range list {
		m := setOf(parts, v, ctx)
		total := 0
		for _, values := range m.values {
			total += len(values)
		}
		if total < v.Rank {
			return fmt.Errorf("skpca: rank %d: %w: all kernels together have %d", v.Rank, kernel.ErrRank, total)
		}
		if !v.follows(before) {
			from = nil
			if o.Search != TwoStage && o.Search != Aligned {
				if err := m.feasible(); err != nil {
					return err
				}
			}
		}
		q := &searcher{set: m, sample: s, gamma: v.Gamma, maxCells: o.MaxCells, workers: workers}
		if o.Rho > 0 {
			q.ball = 1
		}
		f, n, err := q.best(o.Search, from)
		if err != nil {
			return err
		}
		if err := use(i, m, f, n); err != nil {
			return err
		}
		from, before = f, v
	}
	return nil
}

// Train fits a model to the rows of t: an unlabelled sample U of all of them, and labels of those
// with positive weight. Options that list several values are chosen from by cross-validation, or by
// the bound; eigenfunctions are computed once a fold. The result's steps are folds, then the
// kernels' eigenfunctions on all rows, and the fit at the end. When the run is interrupted there is
// no model; a checkpoint keeps the steps that are finished.
//
// Errors: unusable options and data, *FeasibilityError, kernel.ErrRank, *kernel.MemoryError,
// and those of the run. O(p·u²·d) for the kernels of u rows, O(p·u²·r) for their
// eigenfunctions, and O(m·r²) for each turn of the solver on m labelled rows.
func Train(t *table.Table, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	var o Options
	if err := complete(&o, opts); err != nil {
		return nil, nil, err
	}
	if c == nil {
		c = &run.Control{}
	}
	workers := run.WorkersOf(c.Workers)
	var p *prepared
	var err error
	if e := run.Breakable(c.Context(), func() { p, err = prepare(t, &o, workers) }); e != nil {
		return nil, nil, &run.InterruptedError{Name: "skpca", Err: e}
	}
	if err != nil {
		return nil, nil, err
	}
	control := *c
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = fmt.Sprintf("skpca data=%016x %s", t.Fingerprint(t.Target, t.Weight),
			learner.Settings(&o))
	}
	if n := t.Missing(); n > 0 {
		control.Warning(fmt.Sprintf("%d cells are missing, and count as the mean of their column", n))
	}
	list := o.settings()
	rank := list[len(list)-1].Rank
	if forecast := p.forecast(&o, max(rank, firstFeatures), len(list)); forecast.Time(workers) > time.Minute {
		control.Warning("this takes " + forecast.Text(workers) + " or so")
	}
	tr := &trainer{prepared: p, o: &o, list: list, rank: rank, workers: workers, warn: control.Warning}
	return tr.run(&control)
}

// complete fills in defaults.
func complete(to, from *Options) error {
	if err := learner.Complete(to, from); err != nil {
		return fmt.Errorf("skpca: %w", err)
	}
	return nil
}

// forecast estimates what the kernels and their eigenfunctions take.
func (p *prepared) forecast(o *Options, r, settings int) kernel.Forecast {
	n, d := p.x.Rows, p.x.Cols
	one := kernel.GramForecast(n, d).Plus(kernel.TopForecast(n, r))
	if o.Landmarks > 0 && o.Landmarks < n {
		one = kernel.LandmarkForecast(n, d, o.Landmarks).Plus(kernel.TopForecast(o.Landmarks, r))
	}
	times := len(p.kernels)
	if settings > 1 && o.Choose == "cv" {
		times *= 1 + o.Folds
	}
	return one.Times(times)
}

// trainer is a training in progress.
type trainer struct {
	*prepared
	o       *Options
	list    []setting
	rank    int // the largest; 0 where shares of the trace are asked for
	workers int

	folds    []table.Trial
	measures []float64 // by fold and setting: error, then loss
	warn     func(string)
	value    float64 // of the last fit
	model    *Model
	space    *space  // of all rows
	done     []*part // eigenfunctions on all rows, of the first kernels
}

const perSetting = 2 // measures of a fit

func (t *trainer) run(c *run.Control) (*Model, *optim.Result, error) {
	if len(t.list) > 1 && t.o.Choose == "cv" {
		var err error
		if t.folds, err = t.table.Subset(t.labelled).Stratified(t.o.Folds, 0, 1, t.o.Seed); err != nil {
			return nil, nil, fmt.Errorf("skpca: choice: %w", err)
		}
		if t.o.Folds > len(t.labelled) {
			return nil, nil, fmt.Errorf("skpca: choice: %d folds of %d labelled rows", t.o.Folds, len(t.labelled))
		}
	}
	// Kernel by kernel, or all at once where a share of their trace is asked for.
	folds, kernels := len(t.folds), len(t.kernels)
	if t.rank == 0 {
		kernels = 1
	}
	steps := folds + kernels + 1
	r := run.Begin("skpca", c, steps)
	r.Stop.Iterations = steps
	r.Stop.Relative, r.Stop.Gradient = -1, -1
	r.CheckpointEvery = 1 // a step is long
	k, err := r.Taken()
	if err != nil {
		return nil, nil, err
	}
	if k != nil {
		t.measures = slices.Clone(k.Arrays["measures"])
		if len(t.measures) != min(r.Steps(), folds)*len(t.list)*perSetting || r.Steps() >= steps {
			return nil, nil, fmt.Errorf("skpca: %w: it has %d measures after %d steps", run.ErrOther,
				len(t.measures), r.Steps())
		}
		known := r.Steps() - folds
		if known > 0 && t.rank == 0 {
			known = len(t.kernels)
		}
		if t.done, err = t.restored(k, known); err != nil {
			return nil, nil, err
		}
	}
	reason, err := r.Loop(func() (*run.Row, run.Reason, error) {
		row := &run.Row{Step: 1}
		i := r.Steps()
		// A step goes on alone after an interrupt: what it finds is taken over only here.
		var measures []float64
		var next []*part
		var model *Model
		var err error
		space := t.space
		interrupt := run.Breakable(r.Ctx, func() {
			if i >= folds && space == nil {
				if space, err = newSpace(t.x, t.o, t.kernels, r.Ctx, t.workers); err != nil {
					return
				}
			}
			switch k := i - folds; {
			case k < 0:
				measures, err = t.fold(i, r.Ctx)
			case k < kernels && t.rank == 0:
				next, err = t.partsIn(space, t.o, 0, r.Ctx)
			case k < kernels:
				next = make([]*part, 1)
				next[0], err = space.newPart(t.kernels[k], t.names[k], t.rank+1, t.o)
			default:
				model, err = t.final(space, r.Ctx)
			}
		})
		if interrupt != nil {
			return nil, "", interrupt
		}
		if err != nil {
			return nil, "", err
		}
		t.space = space
		switch {
		case measures != nil:
			row.Stage = "choice"
			t.measures = append(t.measures, measures...)
			r.Evaluations += len(t.list)
		case next != nil:
			row.Stage = "eigenfunctions"
			t.done = append(t.done, next...)
		default:
			t.model, t.value = model, model.fit.value
			r.Evaluations++
			row.Objective, row.Evaluations = t.value, r.Evaluations
			return row, run.Exhausted, nil
		}
		if folds > 0 {
			row.Objective = t.mean(t.best())
		}
		row.Evaluations = r.Evaluations
		return row, "", nil
	}, func() (*run.Checkpoint, error) {
		if t.model != nil || len(t.measures) == 0 && len(t.done) == 0 {
			return nil, nil
		}
		k := &run.Checkpoint{Arrays: map[string][]float64{"measures": slices.Clone(t.measures)}}
		for i, p := range t.done {
			p.keep(k.Arrays, i)
		}
		return k, nil
	})
	if err != nil {
		return nil, nil, err
	}
	result := &optim.Result{F: t.value, Iterations: r.Steps(), Evaluations: r.Evaluations, Reason: reason}
	if t.model == nil {
		return nil, result, fmt.Errorf("skpca: the run ended before the last step: %s", reason)
	}
	result.Reason = run.ImprovementSmall
	for _, theta := range t.model.fit.theta {
		result.X = append(result.X, theta...)
	}
	return t.model, result, nil
}

// best returns the setting of the least mean error, and of those the least mean loss.
func (t *trainer) best() int {
	best := 0
	for i := range t.list {
		if a, b := t.mean(i), t.mean(best); a < b || a == b && t.meanLoss(i) < t.meanLoss(best) {
			best = i
		}
	}
	return best
}

func (t *trainer) mean(i int) float64     { return t.meanOf(i, 0) }
func (t *trainer) meanLoss(i int) float64 { return t.meanOf(i, 1) }

func (t *trainer) meanOf(i, measure int) float64 {
	s, n := 0.0, len(t.list)*perSetting
	for at := 0; at < len(t.measures); at += n {
		s += t.measures[at+i*perSetting+measure] * float64(n) / float64(len(t.measures))
	}
	return s
}

// fold fits every setting to a fold's training rows and the unlabelled ones. It measures them on
// the fold's test rows, which are not in U.
func (t *trainer) fold(i int, ctx context.Context) ([]float64, error) {
	inTest := map[int]bool{}
	var test, train []int
	for _, row := range t.folds[i].Test {
		inTest[t.labelled[row]] = true
		test = append(test, t.labelled[row])
	}
	for row := range t.table.Rows {
		if !inTest[row] {
			train = append(train, row)
		}
	}
	sp, err := decompose(t.table.Subset(train), *t.o, ctx, t.workers)
	if err != nil {
		return nil, fmt.Errorf("choice, fold %d: %w", i+1, err)
	}
	held, err := sp.Hold(t.table.Subset(test))
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, len(t.list)*perSetting)
	err = sp.judge(t.list, t.o, sp.parts, sp.sample, held, func(wrong, loss float64) error {
		out = append(out, wrong, loss)
		return nil
	})
	return out, err
}

// judge returns the error and the mean loss of a fit on other rows: for
// numbers the loss twice.
func (s *sample) judge(values [][]float64, f *fit, rho float64, numbers bool) (wrong, loss float64) {
	x := s.design(values, f.counts)
	d := len(x) / max(1, s.m)
	if rho > 0 {
		for i := range x {
			x[i] /= rho
		}
	}
	scores := make([]float64, s.m*len(s.y))
	for i := range s.m {
		for o, theta := range f.theta {
			v := f.offset[o]
			for j, th := range theta {
				v += th * x[i*d+j]
			}
			scores[i*len(s.y)+o] = v
		}
	}
	q := len(s.y)
	value := make([]float64, 1)
	total := 0.0
	for i := range s.m {
		w := score.Weight(s.w, i)
		total += w
		right := true
		for o := range q {
			y, f := s.y[o][i], scores[i*q+o]
			if s.loss == nil {
				value[0] = max(0, 1-y*f)
			} else {
				s.loss.Values(value, []float64{y}, []float64{f})
			}
			loss += w * value[0]
			switch {
			case numbers:
			case q == 1:
				right = y > 0 == (f > 0)
			case y > 0:
				for other := range q {
					if other != o && scores[i*q+other] >= f {
						right = false
					}
				}
			}
		}
		if !right {
			wrong += w
		}
	}
	if numbers {
		wrong = loss
	}
	return wrong / total, loss / total
}

// Spectra are the first eigenfunctions of all kernels on a table: what many fits can start
// from.
type Spectra struct {
	*prepared
	o      Options
	space  *space
	parts  []*part
	sample *sample
	ctx    context.Context
}

// Decompose finds the eigenfunctions of every kernel of opts: as many as its largest rank, or share
// of the trace, asks for, and one more.
func Decompose(t *table.Table, opts *Options, c *run.Control) (*Spectra, error) {
	var o Options
	if err := complete(&o, opts); err != nil {
		return nil, err
	}
	workers := 0
	if c != nil {
		workers = c.Workers
	}
	return decompose(t, o, c.Context(), run.WorkersOf(workers))
}

// decompose is Decompose with complete options.
func decompose(t *table.Table, o Options, ctx context.Context, workers int) (*Spectra, error) {
	s := &Spectra{o: o, ctx: ctx}
	var err error
	if s.prepared, err = prepare(t, &s.o, workers); err != nil {
		return nil, err
	}
	s.space, s.parts, s.sample, err = s.prepared.parts(&s.o, slices.Max(s.o.Rank), ctx, workers)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Held are labelled rows that fits are judged on, with the features of all kernels: these are
// computed once for many fits.
type Held struct{ sample sample }

// Hold computes the features of rows that have the form of the training table, with labels.
func (s *Spectra) Hold(t *table.Table) (*Held, error) {
	x, err := s.Rows(t)
	if err != nil {
		return nil, err
	}
	if len(t.Target) != t.Rows || t.Rows == 0 {
		return nil, fmt.Errorf("skpca: %s: %w: no rows with labels", t.Title(), ErrData)
	}
	h := &Held{sample{phi: make([][]float64, len(s.parts)), m: t.Rows, w: t.Weight, loss: s.sample.loss,
		free: s.sample.free}}
	all := make([]int, t.Rows)
	for i := range all {
		all[i] = i
	}
	h.sample.y = (&prepared{table: t}).labels(all)
	for k, part := range s.parts {
		if h.sample.phi[k], err = s.space.phi(part, x, len(part.values)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Judge fits as Path does, and passes on the weighted share of errors on other rows and their mean
// loss; for numbers the loss twice. No kernel is computed.
func (s *Spectra) Judge(opts *Options, kernels []int, on *Held, use func(wrong, loss float64) error) error {
	o, parts, sample, err := s.chosen(opts, kernels)
	if err != nil {
		return err
	}
	if kernels != nil {
		on = &Held{on.sample}
		phi := on.sample.phi
		on.sample.phi = nil
		for _, k := range kernels {
			on.sample.phi = append(on.sample.phi, phi[k])
		}
	}
	return s.judge(o.settings(), o, parts, sample, on, use)
}

func (s *Spectra) judge(list []setting, o *Options, parts []*part, from *sample, on *Held,
	use func(wrong, loss float64) error) error {
	return fits(parts, from, list, o, s.ctx, from.workers, func(_ int, m *set, f *fit, _ int) error {
		return use(on.sample.judge(m.values, f, o.Rho, s.table.Classes == nil))
	})
}

// Features returns how many eigenfunctions some kernels have together; nil is all kernels. A Path
// of so large a rank is the kernel machine without a projection.
func (s *Spectra) Features(kernels []int) int {
	n := 0
	for k, p := range s.parts {
		if kernels == nil || slices.Contains(kernels, k) {
			n += len(p.values)
		}
	}
	return n
}

// Kernels returns the names of the kernels, by number.
func (s *Spectra) Kernels() []string { return s.names }

// Rows lays out the columns of a table that has the form of the training table as kernels take
// them.
func (s *Spectra) Rows(t *table.Table) (*kernel.Matrix, error) {
	form := boost.SchemaOf(s.table)
	if err := form.Match(t); err != nil {
		return nil, err
	}
	x := kernel.Rows[float64](t, s.features, s.sample.workers)
	if err := x.Check(); err != nil {
		return nil, fmt.Errorf("skpca: %s: %w", t.Title(), err)
	}
	return x, nil
}

// Mean returns the mean of all kernels, each scaled to k(x,x) ≤ 1: what usual kernel PCA with equal
// weights takes. Its features are not those of the kernels side by side.
func (s *Spectra) Mean() kernel.Sum[*kernel.Matrix] {
	var k kernel.Sum[*kernel.Matrix]
	for _, p := range s.parts {
		k.Kernels, k.Weight = append(k.Kernels, p.kernel), append(k.Weight, p.scale/float64(len(s.parts)))
	}
	return k
}

// Path fits a model for each combination of rank or trace, lambda, nu and gamma of opts, gamma from
// large to small. Each fit starts from where the one before it ended, and models are passed on in
// this order. kernels are the numbers of those to use; nil is all. Options that affect
// eigenfunctions are those of Decompose, as are those of the classifier.
func (s *Spectra) Path(opts *Options, kernels []int, use func(*Model) error) error {
	o, parts, sample, err := s.chosen(opts, kernels)
	if err != nil {
		return err
	}
	list := o.settings()
	return fits(parts, sample, list, o, s.ctx, sample.workers, func(i int, m *set, f *fit, cells int) error {
		var b *Bounds
		if len(sample.y) == 1 && s.table.Classes != nil {
			b = boundsOf(m, sample, f, o.Independent, o.Delta)
		}
		t := &trainer{prepared: s.prepared, o: o}
		model, err := t.finish(s.space, parts, sample, m, f, list[i], b, cells)
		if err != nil {
			return err
		}
		return use(model)
	})
}

// chosen returns the options of a path, and the features of some kernels; nil is all.
func (s *Spectra) chosen(opts *Options, kernels []int) (*Options, []*part, *sample, error) {
	var given Options
	if err := complete(&given, opts); err != nil {
		return nil, nil, nil, err
	}
	o := s.o
	o.Rank, o.Trace, o.Lambda, o.Nu, o.Gamma = given.Rank, given.Trace, given.Lambda, given.Nu, given.Gamma
	o.Search, o.MaxCells, o.Delta = given.Search, given.MaxCells, given.Delta
	parts, sample := s.parts, *s.sample
	if kernels != nil {
		parts, sample.phi = nil, nil
		for _, k := range kernels {
			if k < 0 || k >= len(s.parts) {
				return nil, nil, nil, fmt.Errorf("skpca: kernel %d of %d", k+1, len(s.parts))
			}
			parts, sample.phi = append(parts, s.parts[k]), append(sample.phi, s.sample.phi[k])
		}
	}
	return &o, parts, &sample, nil
}

// final fits the chosen setting to all rows, whose eigenfunctions are there.
func (t *trainer) final(sp *space, ctx context.Context) (*Model, error) {
	parts := t.done
	s, err := t.sampleOf(sp, parts, t.o, ctx)
	if err != nil {
		return nil, err
	}
	list, err := ranked(t.list, parts)
	if err != nil {
		return nil, err
	}
	if ctx.Err() == nil && dependent(parts, s, list[len(list)-1].Rank) {
		t.warn("the first features of the kernels depend on one another, as where a kernel is listed twice: some " +
			"cost time and add nothing")
	}
	var best *Model
	if len(t.folds) > 0 {
		chosen := t.best()
		// The path that led there, for the same start.
		first := chosen
		for first > 0 && list[chosen].follows(list[first-1]) {
			first--
		}
		list = list[first : chosen+1]
	}
	least := math.Inf(1)
	err = fits(parts, s, list, t.o, ctx, t.workers, func(i int, m *set, f *fit, cells int) error {
		keep := i == len(list)-1
		var b *Bounds
		if len(s.y) == 1 && t.table.Classes != nil {
			b = boundsOf(m, s, f, t.o.Independent, t.o.Delta)
		}
		if len(t.list) > 1 && t.o.Choose == "bound" {
			if b == nil {
				return errors.New("skpca: choose: the bound is for two classes; choose by cv")
			}
			if keep = b.Risk < least || best == nil; keep {
				least = b.Risk
			}
		}
		if !keep {
			return nil
		}
		var err error
		best, err = t.finish(sp, parts, s, m, f, list[i], b, cells)
		return err
	})
	return best, err
}

// dependent reports whether the first features of all kernels, on the labelled rows and
// brought to length 1, have a singular value below 1e-6. Fewer rows than features say
// nothing.
func dependent(parts []*part, s *sample, r int) bool {
	d := 0
	for _, p := range parts {
		d += min(r, len(p.values))
	}
	if len(parts) < 2 || d > s.m || d > 2000 {
		return false
	}
	x := make([]float64, s.m*d)
	at := 0
	for k, p := range parts {
		all := len(p.values)
		for j := range min(r, all) {
			norm := 0.0
			for i := range s.m {
				norm += s.phi[k][i*all+j] * s.phi[k][i*all+j]
			}
			for i := range s.m {
				if norm > 0 {
					x[i*d+at] = s.phi[k][i*all+j] / math.Sqrt(norm)
				}
			}
			at++
		}
	}
	gram := make([]float64, d*d)
	gemm.Syrk(s.workers, true, d, s.m, 1, x, d, 0, gram, d)
	for i := range d {
		for j := range i {
			gram[j*d+i] = gram[i*d+j]
		}
	}
	least, _, err := kernel.Extremes(gram, d, nil)
	return err == nil && least < 1e-12
}

// finish makes a model of a fit.
func (t *trainer) finish(sp *space, parts []*part, s *sample, m *set, f *fit, v setting, b *Bounds,
	cells int) (*Model, error) {
	if !math.IsInf(f.value, 0) && f.rounds > 1 && t.o.Rho == 0 {
		r, err := newRegion(m, f.counts)
		if err == nil {
			if f.gap, err = f.certificate(r, v.Gamma); err != nil {
				return nil, err
			}
		}
	}
	v.Rank = m.r
	out := &Model{form: boost.SchemaOf(t.table), features: t.features, space: sp, fit: f, rho: t.o.Rho,
		setting: v, bounds: b, settings: learner.Settings(t.o), rows: t.x.Rows, labelled: len(t.labelled),
		cells: cells, lossName: lossName(s.loss), spectrum: m.values}
	for k, p := range parts {
		out.parts = append(out.parts, p.cut(f.counts[k]))
	}
	out.places = t.places(parts, s, f)
	if s.loss == nil && t.table.Classes != nil {
		if err := out.platt(s, m.values); err != nil {
			return nil, err
		}
	}
	for _, p := range parts {
		out.traces = append(out.traces, p.trace)
	}
	return out, nil
}
