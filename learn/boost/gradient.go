package boost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// TrainGradient is gradient boosting. Each round grows one tree for each score, on the derivatives
// of the loss at the current scores, and adds it times the learning rate.
//
// With Newton leaves (the default) a tree minimises the second-order model Σ v (g h + ½ Phi” h²)
// with the penalties on its leaf values (J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic
// regression", Annals of Statistics 28:337–407, 2000; T. Chen and C. Guestrin, "XGBoost", KDD
// 2016); with LeastSquares it fits the negative gradient (Friedman 2001). Where a loss has several
// scores the second derivatives are doubled. All trees of a round are added at once, and 2 p (1-p)
// on the diagonal bounds the Hessian diag(p) - ppᵀ.
//
// A round costs O(rows·columns·depth) bytes read, and is divided among the workers; the
// model does not depend on their number.
//
// Errors: unusable data or settings, and *run.InterruptedError (with the model so far).
func TrainGradient(d *Data, o *GradientOptions, c *run.Control) (*Ensemble, *optim.Result, error) {
	o, err := settingsFor("gb", d, o)
	if err != nil {
		return nil, nil, err
	}
	if err := o.fill(d.X.Rows); err != nil {
		return nil, nil, err
	}
	if err := d.check(o.Loss); err != nil {
		return nil, nil, err
	}
	trees := o.tree(d.weightScale())
	if err := trees.Check(len(d.X.Columns),
		func(j int) bool { return d.X.Columns[j].Kind == table.Categorical }); err != nil {
		return nil, nil, fmt.Errorf("boost: gb: %w", err)
	}
	e, r, err := trainRounds("gb", d, o.Valid, &o.Rounds, o.Seed, c,
		func(d, valid *Data, c *run.Control) (*training, error) { return o.begin(d, valid, c) })
	if err == nil && o.Relax != nil {
		e.Hard, err = e.difficulty(o.Relax, d, c.Goroutines())
	}
	return e, r, err
}

// begin sets up a run on rows that were checked; it makes MostRounds rounds where their number
// is open.
func (o GradientOptions) begin(d, valid *Data, c *run.Control) (*training, error) {
	if o.Rounds == 0 {
		o.Rounds = MostRounds
	}
	settings, err := o.settings()
	if err != nil {
		return nil, err
	}
	start := slices.Clone(o.Start)
	if start == nil {
		start = o.Loss.Start(d.Y, d.W)
	}
	r := &gradientRun{o: &o, k: o.Loss.Outputs()}
	if r.training, err = newRun("gb", settings, d, o.Loss, start, valid, c); err != nil {
		return nil, err
	}
	trees := o.tree(d.weightScale())
	trees.Ctx, trees.Workers = r.Ctx, r.Workers
	if r.grower, err = newGrower(r.d, o.Exact, o.Bins, trees); err != nil {
		return nil, err
	}
	m := d.Rows()
	r.g, r.h = make([]float64, m), make([]float64, m)
	if r.k > 1 {
		r.all = make([]float64, 2*m*r.k)
	}
	r.one = r.oneRound
	return r.training, nil
}

type gradientRun struct {
	*training
	o      *GradientOptions
	k      int // scores a row
	grower *tree.Grower

	before, validBefore []float64 // scores before the round, where several trees change them

	g, h    []float64 // derivatives of one score
	all     []float64 // of all scores, where there are several: first, then second derivatives
	rows    []int32   // the round's sample, ascending; nil is all
	out     []int32   // the other rows
	columns []int32   // the tree's columns; nil is all

	weights []float64 // of relaxed rows, from the round weighed; nil without a relaxation
	weighed int
}

// gradientBlock rows have their derivatives computed together.
const gradientBlock = 1 << 12

func (r *gradientRun) oneRound() (*Progress, error) {
	p := &Progress{Family: -1, Step: r.o.LearningRate, Derivative: math.NaN()}
	r.sample()
	if err := r.relax(); err != nil {
		return nil, err
	}
	m, k := r.d.Rows(), r.k
	if k > 1 {
		r.before, r.validBefore = append(r.before[:0], r.scores...), append(r.validBefore[:0], r.valid...)
		run.Blocks(r.Workers, m, gradientBlock, func(_, from, to int) {
			first, second := r.all[from*k:to*k], r.all[m*k+from*k:m*k+to*k]
			r.o.Loss.Gradients(first, second, r.d.Y[from:to], r.scores[from*k:to*k])
		})
	}
	for c := range k {
		run.Blocks(r.Workers, m, gradientBlock, func(_, from, to int) {
			if k == 1 {
				h := r.h[from:to]
				if r.o.LeastSquares {
					h = nil
				}
				r.o.Loss.Gradients(r.g[from:to], h, r.d.Y[from:to], r.scores[from:to])
			} else {
				for i := from; i < to; i++ {
					r.g[i], r.h[i] = r.all[i*k+c], 2*r.all[(m+i)*k+c]
				}
			}
			for i := from; i < to; i++ {
				if r.h[i] == 0 {
					r.h[i] = r.bound(i)
				}
			}
		})
		r.sampleColumns(c)
		target := &tree.Target{G: r.g, W: r.rowWeights(), Rows: r.rows, Columns: r.columns,
			Sample: r.o.Seed ^ uint64(r.Steps()*k+c)<<20}
		if !r.o.LeastSquares {
			target.H = r.h
		}
		if err := r.grower.Grow(r.Ctx, target); err != nil {
			r.back(c)
			return nil, fmt.Errorf("boost: gb: round %d: %w", r.Steps()+1, err)
		}
		n := r.grower.Splits()
		p.Splits += n
		t := Term{Weight: r.o.LearningRate, Predictor: r.grower.Tree(n), Output: c, Family: -1,
			Round: r.Steps()}
		r.e.Terms = append(r.e.Terms, t)
		r.update(&t)
		r.addValid(&t)
	}
	p.Loss = math.NaN()
	if r.Recorder != nil {
		p.Loss = score.Mean(r.e.Loss, r.d.Y, r.d.W, r.scores, r.Workers)
	}
	p.Objective = p.Loss
	return p, nil
}

// back removes the trees of a round that ends early, for the scores before c. Scores and trees then
// agree, as they must between rounds.
func (r *gradientRun) back(c int) {
	if c == 0 {
		return
	}
	r.e.Terms = r.e.Terms[:len(r.e.Terms)-c]
	copy(r.scores, r.before)
	copy(r.valid, r.validBefore)
}

// bound stands in for a second derivative of zero, as in the linear part of Huber's loss. There the
// second-order model cannot say how far to step, and the Lipschitz constant of the gradient is
// safe.
func (r *gradientRun) bound(i int) float64 {
	if c := r.o.Loss.Curvature(r.d.Y[i]); !math.IsInf(c, 1) {
		return c
	}
	return 0
}

// update adds a new term to the training scores. The sampled rows lie leaf by leaf in the grower;
// the others descend the tree.
func (r *gradientRun) update(t *Term) {
	n := r.grower.Splits()
	grown := t.Predictor.(*tree.Tree)
	leaves := r.grower.Leaves(nil, n)
	lists := make([][]int32, len(leaves))
	for i, at := range leaves {
		lists[i] = r.grower.Rows(int(at))
	}
	run.Jobs(r.Workers, len(leaves), func(_, i int) {
		step := float64(t.Weight * grown.Value[leaves[i]]) // not fused with the sum: prediction is not either
		for _, row := range lists[i] {
			r.scores[int(row)*r.k+t.Output] += step
		}
	})
	run.Blocks(r.Workers, len(r.out), routeBlock, func(_, from, to int) {
		at := make([]int32, to-from)
		r.grower.RouteRows(at, r.out[from:to], n)
		for k, row := range r.out[from:to] {
			step := float64(t.Weight * grown.Value[at[k]])
			r.scores[int(row)*r.k+t.Output] += step
		}
	})
}

// routeBlock rows are sent down a tree together.
const routeBlock = 1 << 14

// Each round draws from its own streams, so that a run can be taken up at any.
func (r *gradientRun) rng(stream int) *rand.Rand {
	return rand.New(rand.NewPCG(r.o.Seed, uint64(r.Steps())*uint64(r.k+1)+uint64(stream)))
}

// sample draws the round's rows by selection sampling (Knuth, TAOCP 3.4.2 S): exactly the number
// wanted, in ascending order.
func (r *gradientRun) sample() {
	m := r.d.Rows()
	if r.o.RowSample == 1 || m < 2 {
		return
	}
	rng := r.rng(0)
	need := min(max(int(math.Round(r.o.RowSample*float64(m))), 1), m)
	r.rows, r.out = r.rows[:0], r.out[:0]
	for i := range m {
		if rng.Float64()*float64(m-i) < float64(need-len(r.rows)) {
			r.rows = append(r.rows, int32(i))
		} else {
			r.out = append(r.out, int32(i))
		}
	}
}

// sampleColumns draws the columns of the tree for score c.
func (r *gradientRun) sampleColumns(c int) {
	d := len(r.d.X.Columns)
	if r.o.ColumnSample == 1 {
		return
	}
	rng := r.rng(1 + c)
	n := min(max(int(math.Round(r.o.ColumnSample*float64(d))), 1), d)
	all := make([]int32, d)
	for j := range all {
		all[j] = int32(j)
	}
	for j := range n {
		k := j + rng.IntN(d-j)
		all[j], all[k] = all[k], all[j]
	}
	r.columns = all[:n]
	slices.Sort(r.columns)
}
