package resilient

import (
	"fmt"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Minimizer runs a solver on an objective over the coordinates of Examples, from wherever it likes.
type Minimizer func(f optim.Objective) (x []float64, err error)

// OutOfSample returns the loss of every example, and its multiplier, at models that were not
// trained on it. The examples are divided into folds, and minimize trains a model for each fold on
// the others. A model that fits everything has small losses everywhere, so that its own multipliers
// do not show wrong examples. group gives examples that belong together, such as pronunciations of
// one word, the same number. Nil treats each by itself. O(folds) fits.
func OutOfSample(e Examples, h Relaxation, folds int, seed uint64, group func(i int) int,
	minimize Minimizer) (losses, lambda []float64, err error) {
	n := e.Len()
	if err := Usable(h); err != nil {
		return nil, nil, err
	}
	fold, most := Folds(n, folds, seed, group)
	if folds < 2 || most < folds {
		return nil, nil,
			fmt.Errorf("resilient: folds: %d of %d examples that belong together; there are at least 2, and no "+
				"more than these",
				folds, most)
	}
	losses = make([]float64, n)
	at := make([]float64, n)
	for k := range folds {
		f := &without{Objective: Objective{e: e, h: h, losses: make([]float64, n)}, fold: fold, out: k}
		x, err := minimize(f)
		if err != nil {
			return nil, nil, fmt.Errorf("resilient: fold %d of %d: %w", k+1, folds, err)
		}
		if _, err := e.EvalWeighed(x, nil, at, nil); err != nil {
			return nil, nil, err
		}
		for i, l := range at {
			if fold[i] == k {
				losses[i] = max(l, 0)
			}
		}
	}
	lambda = make([]float64, n)
	c := h.At(losses, e.Weights())
	for i, l := range losses {
		lambda[i] = c.Deriv(l)
	}
	return losses, lambda, nil
}

// Difficulty lists the examples by their multipliers at x, or with folds by those of OutOfSample.
// minimize is needed with folds alone, group may be nil.
func (o *Objective) Difficulty(x []float64, folds int, group func(i int) int, minimize Minimizer,
	show func(i int) (place, what string)) (*Difficulty, error) {
	losses, lambda, err := o.Multipliers(x)
	if err == nil && folds > 0 {
		losses, lambda, err = OutOfSample(o.e, o.h, folds, 1, group, minimize)
	}
	if err != nil {
		return nil, err
	}
	d := NewDifficulty(o.h, losses, lambda, show)
	d.Folds = folds
	return d, nil
}

// Folds deals n examples into folds, those of a group together, and returns the number of groups.
func Folds(n, folds int, seed uint64, group func(i int) int) (fold []int, groups int) {
	number := map[int]int{} // looked up only
	of := make([]int, n)
	for i := range of {
		g := i
		if group != nil {
			g = group(i)
		}
		k, ok := number[g]
		if !ok {
			k = len(number)
			number[g] = k
		}
		of[i] = k
	}
	order := rand.New(rand.NewPCG(seed, 0x6f75746f66)).Perm(len(number))
	fold = make([]int, n)
	for i, g := range of {
		fold[i] = order[g] % max(folds, 1)
	}
	return fold, len(number)
}

// without is an Objective without the examples of a fold. The weights of examples stay as they are,
// so that penalties weigh a little more.
type without struct {
	Objective
	fold []int
	out  int
}

// Eval implements optim.Objective.
func (o *without) Eval(x, grad []float64) (float64, error) {
	if o.h.Shared() {
		if err := o.look(x); err != nil {
			return 0, err
		}
		w := make([]float64, len(o.fold))
		for i := range w {
			if o.fold[i] != o.out {
				w[i] = weight(o.e.Weights(), i)
			}
		}
		o.curve = o.h.At(o.losses, w)
	} else {
		o.curve = o.h.At(nil, nil)
	}
	weigh := Weighing(o.curve)
	return o.e.EvalWeighed(x, func(i int, loss float64) (float64, float64) {
		if o.fold[i] == o.out {
			return 0, 0
		}
		return weigh(i, loss)
	}, nil, grad)
}

// Trimming minimises the losses of the examples that are easiest: every so many iterations those of
// largest loss, a share Drop, are left out anew (ITLM: Y. Shen and S. Sanghavi, "Learning with bad
// training data via iterative trimmed loss minimization", ICML 2019), or with Once a single time.
// It is there to compare with.
type Trimming struct {
	Drop    float64
	Every   int // iterations of L-BFGS; 0 is 10
	Once    bool
	Workers int
}

// Minimize runs from x0 for at most Stop.Iterations iterations of L-BFGS, 100 by default. A run
// that is interrupted begins anew.
func (t Trimming) Minimize(e Examples, x0 []float64, c *run.Control) (*optim.Result, error) {
	if !(t.Drop >= 0 && t.Drop < 1) || t.Every < 0 {
		return nil, fmt.Errorf("resilient: trimming: Drop %v is no share below 1, or Every %d is negative",
			t.Drop, t.Every)
	}
	if t.Every == 0 {
		t.Every = 10
	}
	s := &trimming{Trimming: t, e: e, run: run.Begin("Trimming", c, 100), losses: make([]float64, e.Len()),
		result: &optim.Result{X: x0}}
	s.most, s.run.Stop.Iterations = s.run.Stop.Iterations, (s.run.Stop.Iterations+t.Every-1)/t.Every
	reason, err := s.run.Loop(s.step, func() (*run.Checkpoint, error) { return nil, nil })
	s.result.Reason = reason
	return s.result, err
}

type trimming struct {
	Trimming
	e      Examples
	run    *run.Run
	most   int
	losses []float64
	keep   []float64 // weights of 1 and 0; nil is all 1
	result *optim.Result
}

func (t *trimming) step() (*run.Row, run.Reason, error) {
	stage := t.run.Steps()
	iterations := min(t.Every, t.most-stage*t.Every)
	if t.Once && stage > 0 {
		if stage > 1 {
			return nil, run.ImprovementSmall, nil
		}
		iterations = t.most - t.Every // the rest at once
	}
	if stage > 0 {
		if _, err := t.e.EvalWeighed(t.result.X, nil, t.losses, nil); err != nil {
			return nil, "", err
		}
		t.keep = Smallest(t.losses, t.Drop)
	}
	f := optim.Func{N: t.e.Dim(), F: func(x, grad []float64) (float64, error) {
		if t.keep == nil {
			return t.e.EvalWeighed(x, nil, nil, grad)
		}
		return t.e.EvalWeighed(x, func(i int, loss float64) (float64, float64) {
			return t.keep[i] * loss, t.keep[i]
		}, nil, grad)
	}}
	r, err := optim.OWLQN{Workers: t.Workers}.Minimize(f, t.result.X,
		&run.Control{Ctx: t.run.Ctx, Workers: t.Workers, Stop: run.Stop{Iterations: max(iterations, 1),
			Relative: -1}})
	if err != nil {
		return nil, "", err
	}
	r.Iterations += t.result.Iterations
	r.Evaluations += t.result.Evaluations
	t.result, t.run.Evaluations = r, r.Evaluations
	return &run.Row{Objective: r.F, GradNorm: r.GradNorm}, "", nil
}
