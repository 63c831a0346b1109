package multi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim"
)

// Prior says how much each domain weighs when Q is trained.
type Prior string

const (
	Balanced  Prior = ""          // all domains the same, since the target mixture is not known
	Empirical Prior = "empirical" // as many as there are rows
)

// QOptions adjusts the default domain classifier, multinomial logistic regression. The
// labels of the rows play no part.
type QOptions struct {
	Lambda float64   `json:"lambda"` // of the penalty Lambda/2 |W|² on the mean log loss; 0 is 1e-3
	Choose []float64 `json:"choose"` // if not nil, Lambda is the one of these with the least log loss on a held-out fold
	Prior  Prior     `json:"prior"`

	// Folds of cross-fitting: a training row's Q comes from a classifier that was
	// trained on the other folds, since boosting would use an overconfident Q on the
	// rows that it was trained on. New rows get a Q trained on everything. 0 is 5; 1 is
	// none.
	Folds int `json:"folds"`
	// OnlyUnlabelled trains Q on the unlabelled rows alone: it is then independent of
	// the labelled sample, as the bounds want it, and needs no cross-fitting.
	OnlyUnlabelled bool    `json:"only_unlabelled"`
	Temperature    float64 `json:"temperature"` // scores are divided by it; 0 is 1
	Calibrate      bool    `json:"calibrate"`   // choose Temperature by the log loss of rows held out by cross-fitting
	Floor          float64 `json:"floor"`       // Q(k|x) is at least this, so that it is positive on the domain; 0 is 1e-6, negative none
	Iterations     int     `json:"iterations"`  // of L-BFGS; 0 is 60
	Seed           uint64  `json:"seed"`        // of the folds
}

func (o QOptions) withDefaults() (QOptions, error) {
	if o.Lambda == 0 {
		o.Lambda = 1e-3
	}
	if o.Folds == 0 {
		o.Folds = 5
	}
	if o.Temperature == 0 {
		o.Temperature = 1
	}
	switch {
	case o.Floor == 0:
		o.Floor = 1e-6
	case o.Floor < 0:
		o.Floor = 0
	}
	if o.Iterations == 0 {
		o.Iterations = 60
	}
	for _, v := range append([]float64{o.Lambda}, o.Choose...) {
		if !(v > 0) || math.IsInf(v, 1) {
			return o, fmt.Errorf("multi: the penalty of Q is %v; it must be positive and finite", v)
		}
	}
	switch {
	case o.Folds < 1 || o.Folds > 1000:
		return o, fmt.Errorf("multi: %d folds to cross-fit Q; 1 (none) to 1000 are possible", o.Folds)
	case !(o.Temperature > 0) || math.IsInf(o.Temperature, 1):
		return o, fmt.Errorf("multi: the temperature of Q is %v; it must be positive and finite", o.Temperature)
	case !(o.Floor < 1):
		return o, fmt.Errorf("multi: the least Q is %v; it must be far below 1", o.Floor)
	case o.Iterations < 1:
		return o, fmt.Errorf("multi: %d iterations for Q", o.Iterations)
	case o.Prior != Balanced && o.Prior != Empirical:
		return o, fmt.Errorf("multi: the prior of Q is %q; it is balanced (\"\") or empirical", o.Prior)
	}
	return o, nil
}

// Logistic is the default Classifier: soft-max of linear scores of standardised columns.
type Logistic struct {
	P           int
	Bias        []float64
	Features    []feature
	W           []float64 // of standardised features, by feature and domain
	Temperature float64
	Floor       float64

	terms []linearTerm
	base  []float64
}

// linearTerm is a feature with its weights as prediction wants them: of the raw value.
type linearTerm struct {
	column, level int
	mean          float64
	w             []float64
}

func (l *Logistic) Domains() int { return l.P }

// prepare folds shifts and scales into the weights.
func (l *Logistic) prepare() {
	l.base = slices.Clone(l.Bias)
	l.terms = nil
	for j, f := range l.Features {
		w := make([]float64, l.P)
		for k := range w {
			w[k] = l.W[j*l.P+k] * f.Scale
			l.base[k] -= w[k] * f.Mean
		}
		l.terms = append(l.terms, linearTerm{f.Column, f.Level, f.Mean, w})
	}
}

// Predict stores Q of the rows. O(rows·columns·domains).
func (l *Logistic) Predict(dst []float64, x *table.Table, from int) {
	p := l.P
	n := len(dst) / p
	for i := range n {
		copy(dst[i*p:i*p+p], l.base)
	}
	for t := range l.terms {
		term := &l.terms[t]
		values, w := x.Columns[term.column].Values[from:][:n], term.w
		for i, v := range values {
			c := float64(v)
			switch {
			case v != v:
				c = term.mean
			case term.level >= 0 && int(v) == term.level:
				c = 1
			case term.level >= 0:
				continue
			}
			if c == 0 {
				continue
			}
			s := dst[i*p:][:p]
			for k := range s {
				s[k] += c * w[k]
			}
		}
	}
	for i := range n {
		l.finish(dst[i*p : i*p+p])
	}
}

// finish turns scores into probabilities.
func (l *Logistic) finish(s []float64) {
	top := math.Inf(-1)
	for _, v := range s {
		top = max(top, v)
	}
	sum := 0.0
	for k, v := range s {
		s[k] = math.Exp((v - top) / l.Temperature)
		sum += s[k]
	}
	total := 0.0
	for k := range s {
		s[k] = max(s[k]/sum, l.Floor)
		total += s[k]
	}
	for k := range s {
		s[k] /= total
	}
}

// FittedQ is a trained domain classifier and what it says of the training rows.
type FittedQ struct {
	Classifier Classifier
	Train      []float64 // Q of the labelled rows, by row and domain, cross-fitted where that was asked for
	Lambda     float64   // chosen
	LogLoss    float64   // balanced mean of -log Q(k|x) over the labelled rows, held out where Q is cross-fitted
	Crossed    bool      // Train is cross-fitted
	Apart      bool      // Q is independent of the labelled rows
}

// FitQ trains the default domain classifier on the rows of x and of unlabelled (nil: none),
// which must have the columns and sources of x.
//
// Every domain has the same total weight unless the prior is Empirical; means and
// deviations for standardising are taken with those weights from all rows, so that a
// domain whose rows are all doubled changes nothing.
//
// Errors: a domain without rows (in x, or with OnlyUnlabelled among the unlabelled), and
// interruption.
func FitQ(ctx context.Context, x, unlabelled *table.Table, workers int, opts *QOptions) (*FittedQ, error) {
	var o QOptions
	if opts != nil {
		o = *opts
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := x.CheckSources(); err != nil {
		return nil, fmt.Errorf("multi: Q: %w", err)
	}
	p := len(x.Sources)
	all := x
	if unlabelled != nil {
		if err := sameForm(x, unlabelled); err != nil {
			return nil, err
		}
		if all, err = joined(x, unlabelled); err != nil {
			return nil, err
		}
	}
	if o.OnlyUnlabelled {
		if unlabelled == nil {
			return nil, fmt.Errorf("multi: Q is to be trained on unlabelled rows alone, and there are none")
		}
		if err := unlabelled.CheckSources(); err != nil {
			return nil, fmt.Errorf("multi: Q: unlabelled rows: %w", err)
		}
		o.Folds = 1
	}
	f := &qFit{ctx: ctx, workers: workers, o: o, p: p, all: all, labelled: x.Rows}
	if f.ctx == nil {
		f.ctx = context.Background()
	}
	return f.run(x)
}

// sameForm returns an error unless u has the columns and sources of x.
func sameForm(x, u *table.Table) error {
	s := boost.SchemaOf(x)
	if err := s.Match(u); err != nil {
		return fmt.Errorf("multi: unlabelled rows: %w", err)
	}
	if u.Source == nil {
		return fmt.Errorf("multi: unlabelled rows: %s: no column says which source a row is from; they are of use only with it", u.Name)
	}
	if !slices.Equal(x.Sources, u.Sources) {
		return fmt.Errorf("multi: unlabelled rows: %s has the sources %q, the labelled rows %q; read them with the form of the labelled table", u.Name, u.Sources, x.Sources)
	}
	return nil
}

// joined is x with the features, sources and weights of u below it.
func joined(x, u *table.Table) (*table.Table, error) {
	out := &table.Table{Name: x.Name, Rows: x.Rows + u.Rows, Sources: x.Sources, SourceName: x.SourceName}
	for j := range x.Columns {
		c := x.Columns[j]
		c.Values = slices.Concat(c.Values, u.Columns[j].Values)
		out.Columns = append(out.Columns, c)
	}
	out.Source = slices.Concat(x.Source, u.Source)
	if x.Weight != nil || u.Weight != nil {
		for _, t := range []*table.Table{x, u} {
			for i := range t.Rows {
				w := 1.0
				if t.Weight != nil {
					w = t.Weight[i]
				}
				out.Weight = append(out.Weight, w)
			}
		}
	}
	return out, nil
}

// qFit trains logistic regressions on parts of one design matrix.
type qFit struct {
	ctx      context.Context
	workers  int
	o        QOptions
	p        int
	all      *table.Table
	labelled int // the first rows of all
	features []feature
	shift    []float64
	x        *design
}

func (f *qFit) run(x *table.Table) (*FittedQ, error) {
	fold := f.folds()
	rows := f.rows(fold, -1)
	f.features = features(f.all, f.weights(rows, true), f.workers)
	f.shift = shifts(f.features)
	f.x = newDesign(f.all, f.features, f.workers)
	out := &FittedQ{Lambda: f.o.Lambda, Crossed: f.o.Folds > 1, Apart: f.o.OnlyUnlabelled}
	if f.o.Choose != nil {
		var err error
		if out.Lambda, err = f.choose(fold); err != nil {
			return nil, err
		}
		f.o.Lambda = out.Lambda
	}
	final, _, err := f.fit(rows, f.o.Lambda, nil)
	if err != nil {
		return nil, err
	}
	out.Classifier = final
	held := f.all // rows and scores to calibrate with
	p := f.p
	out.Train = make([]float64, f.labelled*p)
	if !out.Crossed {
		forBlocks(f.workers, f.labelled, func(_, from, to int) { final.Predict(out.Train[from*p:to*p:to*p], held, from) })
	}
	var crossed []*Logistic
	for k := range f.o.Folds {
		if !out.Crossed {
			break
		}
		l, _, err := f.fit(f.rows(fold, k), f.o.Lambda, nil)
		if err != nil {
			return nil, err
		}
		crossed = append(crossed, l)
	}
	if f.o.Calibrate {
		final.Temperature = f.calibrate(crossed, fold, final)
		for _, l := range crossed {
			l.Temperature = final.Temperature
		}
	}
	if out.Crossed {
		f.crossPredict(out.Train, crossed, fold)
	} else if f.o.Calibrate {
		forBlocks(f.workers, f.labelled, func(_, from, to int) { final.Predict(out.Train[from*p:to*p:to*p], held, from) })
	}
	w := f.weights(f.rows(nil, -2), true)
	for i, s := range x.Source {
		out.LogLoss -= w[i] * math.Log(max(out.Train[i*p+int(s)], math.SmallestNonzeroFloat64))
	}
	return out, nil
}

// crossPredict stores in q what each labelled row's own classifier says of it.
func (f *qFit) crossPredict(q []float64, by []*Logistic, fold []int) {
	p := f.p
	forBlocks(f.workers, f.labelled, func(_, from, to int) {
		part := make([]float64, (to-from)*p)
		for k, l := range by {
			l.Predict(part, f.all, from)
			for i := from; i < to; i++ {
				if fold[i] == k {
					copy(q[i*p:i*p+p], part[(i-from)*p:])
				}
			}
		}
	})
}

// folds deals the labelled rows into folds, each source for itself.
func (f *qFit) folds() []int {
	k := max(f.o.Folds, 2) // the choice of Lambda needs a held-out part too
	order := rand.New(rand.NewPCG(f.o.Seed, 0x51)).Perm(f.labelled)
	source := make([]int, f.labelled)
	for i := range source {
		source[i] = int(f.all.Source[i])
	}
	return table.Deal(order, source, k)
}

// rows to train on when fold k is held out; -1 is none, -2 the labelled rows alone.
func (f *qFit) rows(fold []int, k int) []int32 {
	var out []int32
	for i := range f.all.Rows {
		switch {
		case k == -2:
			if i < f.labelled {
				out = append(out, int32(i))
			}
		case i < f.labelled && (f.o.OnlyUnlabelled || k >= 0 && fold[i] == k):
		default:
			out = append(out, int32(i))
		}
	}
	return out
}

// weights of all rows, zero but for those given, with sum 1 by the prior.
func (f *qFit) weights(rows []int32, balanced bool) []float64 {
	w := make([]float64, f.all.Rows)
	mass := make([]float64, f.p)
	total := 0.0
	for _, i := range rows {
		w[i] = 1
		if f.all.Weight != nil {
			w[i] = f.all.Weight[i]
		}
		mass[f.all.Source[i]] += w[i]
		total += w[i]
	}
	there := 0
	for _, m := range mass {
		if m > 0 {
			there++
		}
	}
	for _, i := range rows {
		if f.o.Prior == Empirical && !balanced {
			w[i] /= total
		} else if m := mass[f.all.Source[i]]; m > 0 {
			w[i] /= m * float64(there)
		}
	}
	return w
}

// fit minimises Σ w_i log(1/Q(k_i|x_i)) + lambda/2 |W|² on some of the rows, from the
// given point (nil: 0), and returns where it ended.
func (f *qFit) fit(rows []int32, lambda float64, start []float64) (*Logistic, []float64, error) {
	p, d := f.p, len(f.features)
	w := f.weights(rows, false)
	if start == nil {
		start = make([]float64, (d+1)*p)
	}
	// As many parts as give work to several goroutines, each with a gradient of its own.
	parts := min(16, (len(rows)+1023)/1024)
	grads := make([][]float64, parts)
	values := make([]float64, parts)
	objective := optim.Func{N: (d + 1) * p, F: func(x, grad []float64) (float64, error) {
		bias := slices.Clone(x[d*p:])
		for j, s := range f.shift {
			if s != 0 {
				for k := range bias {
					bias[k] -= s * x[j*p+k]
				}
			}
		}
		forEach(f.workers, parts, func(_, part int) {
			if grad != nil {
				if grads[part] == nil {
					grads[part] = make([]float64, (d+1)*p)
				}
				clear(grads[part])
			}
			values[part] = 0
			s := make([]float64, p)
			for _, i := range rows[part*len(rows)/parts : (part+1)*len(rows)/parts] {
				copy(s, bias)
				f.x.times(s, int(i), x)
				top := maxOf(s)
				sum, own := 0.0, s[f.all.Source[i]]
				for k, v := range s {
					s[k] = math.Exp(v - top)
					sum += s[k]
				}
				values[part] += w[i] * (math.Log(sum) + top - own)
				if grad == nil {
					continue
				}
				for k := range s {
					s[k] *= w[i] / sum
				}
				s[f.all.Source[i]] -= w[i]
				f.x.add(grads[part], int(i), s)
				for k, v := range s {
					grads[part][d*p+k] += v
				}
			}
		})
		value, sq := 0.0, 0.0
		for _, v := range values {
			value += v
		}
		for _, v := range x[:d*p] {
			sq += v * v
		}
		if grad != nil {
			clear(grad)
			for _, g := range grads {
				for j, v := range g {
					grad[j] += v
				}
			}
			for j, s := range f.shift {
				for k := range p {
					grad[j*p+k] += lambda*x[j*p+k] - s*grad[d*p+k]
				}
			}
		}
		return value + lambda/2*sq, nil
	}}
	r, err := optim.LBFGS{}.Minimize(objective, start, &optim.Control{Ctx: f.ctx, Stop: optim.Stop{Iterations: f.o.Iterations, Gradient: 1e-7, Relative: 1e-5}})
	if err != nil {
		return nil, nil, fmt.Errorf("multi: domain classifier: %w", err)
	}
	l := &Logistic{P: p, Bias: slices.Clone(r.X[d*p:]), W: slices.Clone(r.X[:d*p]), Features: f.features, Temperature: f.o.Temperature, Floor: f.o.Floor}
	l.prepare()
	return l, r.X, nil
}

// choose returns the penalty of least held-out log loss, the larger of equals: fold 0
// is held out. Each fit starts from the one before, with a larger penalty: it was trained
// on the same rows.
func (f *qFit) choose(fold []int) (float64, error) {
	var test []int32
	for i := range f.labelled {
		if fold[i] == 0 {
			test = append(test, int32(i))
		}
	}
	w := f.weights(test, true)
	best, least := 0.0, math.Inf(1)
	lambdas := slices.Clone(f.o.Choose)
	slices.SortFunc(lambdas, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	var start []float64
	for _, lambda := range lambdas {
		var l *Logistic
		var err error
		l, start, err = f.fit(f.rows(fold, 0), lambda, start)
		if err != nil {
			return 0, err
		}
		q := make([]float64, f.labelled*f.p)
		forBlocks(f.workers, f.labelled, func(_, from, to int) { l.Predict(q[from*f.p:to*f.p:to*f.p], f.all, from) })
		loss := 0.0
		for _, i := range test {
			loss -= w[i] * math.Log(max(q[int(i)*f.p+int(f.all.Source[i])], math.SmallestNonzeroFloat64))
		}
		if loss < least {
			best, least = lambda, loss
		}
	}
	return best, nil
}

// calibrate returns the temperature of least log loss on the labelled rows, each by the
// classifier that has not seen it: golden section on its logarithm.
func (f *qFit) calibrate(crossed []*Logistic, fold []int, final *Logistic) float64 {
	w := f.weights(f.rows(nil, -2), true)
	q := make([]float64, f.labelled*f.p)
	loss := func(logT float64) float64 {
		t := math.Exp(logT)
		if crossed != nil {
			for _, l := range crossed {
				l.Temperature = t
			}
			f.crossPredict(q, crossed, fold)
		} else {
			final.Temperature = t
			forBlocks(f.workers, f.labelled, func(_, from, to int) { final.Predict(q[from*f.p:to*f.p:to*f.p], f.all, from) })
		}
		sum := 0.0
		for i := range f.labelled {
			sum -= w[i] * math.Log(max(q[i*f.p+int(f.all.Source[i])], math.SmallestNonzeroFloat64))
		}
		return sum
	}
	return math.Exp(golden(loss, math.Log(0.1), math.Log(10), 30))
}

// golden finds the minimum of a function of one valley.
func golden(f func(float64) float64, lo, hi float64, steps int) float64 {
	const r = 0.6180339887498949
	a, b := hi-r*(hi-lo), lo+r*(hi-lo)
	fa, fb := f(a), f(b)
	for range steps {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - r*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + r*(hi-lo)
			fb = f(b)
		}
	}
	if fa <= fb {
		return a
	}
	return b
}
