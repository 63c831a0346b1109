package multi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// qFit trains logistic regressions on parts of one design matrix.
type qFit struct {
	ctx      context.Context
	workers  int
	o        QOptions
	p        int
	all      *table.Table
	labelled int // the first rows of all
	features []linear.Feature
	shift    []float64
	x        *linear.Design
}

func (f *qFit) run(x *table.Table) (*FittedQ, error) {
	fold := f.folds()
	rows := f.rows(fold, -1)
	f.features = linear.Features(f.all, f.weights(rows, true), f.workers)
	f.shift = linear.Shifts(f.features)
	f.x = linear.NewDesign(f.all, f.features, f.workers)
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
		forBlocks(f.workers, f.labelled, func(_, from,
			to int) {
			final.Predict(out.Train[from*p:to*p:to*p], held, from)
		})
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
		forBlocks(f.workers, f.labelled, func(_, from,
			to int) {
			final.Predict(out.Train[from*p:to*p:to*p], held, from)
		})
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
	y := make([]float64, f.all.Rows)
	for i, k := range f.all.Source {
		y[i] = float64(k)
	}
	problem := linear.Problem{X: f.x, Shift: f.shift, Loss: score.SoftMax{Classes: p}, Y: y, W: w, Rows: rows,
		L2: lambda, Workers: f.workers}
	r, err := optim.LBFGS{}.Minimize(problem.Objective(), start,
		&run.Control{Ctx: f.ctx, Stop: run.Stop{Iterations: f.o.Iterations, Gradient: 1e-7, Relative: 1e-5}})
	if err != nil {
		return nil, nil, fmt.Errorf("multi: domain classifier: %w", err)
	}
	l := &Logistic{P: p, Bias: slices.Clone(r.X[d*p:]), W: slices.Clone(r.X[:d*p]), Features: f.features,
		Temperature: f.o.Temperature, Floor: f.o.Floor}
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
		forBlocks(f.workers, f.labelled, func(_, from,
			to int) {
			l.Predict(q[from*f.p:to*f.p:to*f.p], f.all, from)
		})
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

// calibrate returns the temperature of least log loss on the labelled rows, each scored by the
// classifier that has not seen it. It uses golden section on the logarithm.
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
			forBlocks(f.workers, f.labelled, func(_, from,
				to int) {
				final.Predict(q[from*f.p:to*f.p:to*f.p], f.all, from)
			})
		}
		sum := 0.0
		for i := range f.labelled {
			sum -= w[i] * math.Log(max(q[i*f.p+int(f.all.Source[i])], math.SmallestNonzeroFloat64))
		}
		return sum
	}
	return math.Exp(golden(loss, math.Log(0.1), math.Log(10), 30))
}
