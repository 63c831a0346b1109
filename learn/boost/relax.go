package boost

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// rowWeights are what rows count in a tree.
func (r *gradientRun) rowWeights() []float64 {
	if r.o.Relax == nil {
		return r.d.W
	}
	return r.weights
}

// leastRelaxed is the share of the mean weight that every row keeps: trees know no weights of zero.
const leastRelaxed = 1e-9

// relax weighs the rows by their losses, every RelaxEvery rounds. A run that was taken up in
// between scores the rows as they were.
func (r *gradientRun) relax() error {
	if r.o.Relax == nil {
		return nil
	}
	round := r.Steps()
	last := round - round%r.o.RelaxEvery
	if r.weights != nil && r.weighed == last {
		return nil
	}
	scores := r.scores
	if last < round {
		var err error
		o := &PredictOptions{Workers: r.Workers, Ctx: r.Ctx}
		if scores, err = r.e.Prefix(last).Scores(r.d.X, o); err != nil {
			return err
		}
	}
	losses, lambda, err := multipliers(r.o.Relax, r.d, r.e.Loss, scores, r.Workers)
	if err != nil {
		return fmt.Errorf("boost: gb: round %d: %w", round+1, err)
	}
	total := 0.0
	for i, v := range lambda {
		losses[i] = score.Weight(r.d.W, i) * v
		total += losses[i]
	}
	mean := r.total / float64(r.d.Rows())
	f := r.total / total
	for i, v := range losses {
		if total == 0 { // nothing is left to learn, and nothing to weigh by
			v, f = score.Weight(r.d.W, i), 1
		}
		losses[i] = math.Max(v*f, leastRelaxed*mean)
	}
	r.weights, r.weighed = losses, last
	return nil
}

// multipliers returns the losses of rows and h' there.
func multipliers(h resilient.Relaxation, d *Data, l Loss, scores []float64, workers int,
) (losses, lambda []float64, err error) {
	n, k := d.Rows(), l.Outputs()
	losses, lambda = make([]float64, n), make([]float64, n)
	run.Blocks(workers, n, gradientBlock, func(_, from, to int) {
		l.Values(losses[from:to], d.Y[from:to], scores[from*k:to*k])
	})
	for i, v := range losses {
		if v-v != 0 {
			return nil, nil, fmt.Errorf("%s: the loss is %v, which no relaxation can weigh", d.X.At(i), v)
		}
		losses[i] = math.Max(v, 0)
	}
	c := h.At(losses, d.W)
	for i, v := range losses {
		lambda[i] = c.Deriv(v)
	}
	return losses, lambda, nil
}

// difficulty lists the rows by their multipliers.
func (e *Ensemble) difficulty(h resilient.Relaxation, d *Data, workers int) (*resilient.Difficulty, error) {
	scores, err := e.Scores(d.X, &PredictOptions{Workers: workers})
	if err != nil {
		return nil, err
	}
	losses, lambda, err := multipliers(h, d, e.Loss, scores, workers)
	if err != nil {
		return nil, fmt.Errorf("boost: gb: %w", err)
	}
	return resilient.NewDifficulty(h, losses, lambda,
		func(i int) (string, string) { return d.X.At(i), d.X.Show(i) }), nil
}
