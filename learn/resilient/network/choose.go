package network

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Way is a way of counting rows, of those that Choose compares.
type Way struct {
	Method resilient.Method
	H      resilient.Relaxation // of resilient.Resilient
	Rate   float64              // of the weights; 0 is that of the Descent
}

// Choice is what Choose found, by way.
type Choice struct {
	Best   int         // the way to train by
	Mean   []float64   // mean loss of the rows left out, at the best sharpness
	Z      []float64   // by how many standard errors of the difference that is above the least mean
	Losses [][]float64 // the losses of the rows, in their order
}

// Choose compares ways of training by the rows that they did not see. Each way trains a network
// without each fold of the rows, and scores these. A way's scores are first multiplied by one
// sharpness, at which the losses of all rows are least. Otherwise the losses of a way would mostly
// tell how sure of itself a network becomes, which is of no matter to the classes it predicts.
//
// Ways come in order, the one that trusts the labels most first. The last one is chosen whose mean
// loss is within one standard error of the least (the rule of L. Breiman, J. Friedman, R. Olshen
// and C. Stone, "Classification and Regression Trees", 1984, section 3.4.3). The labels of the rows
// left out may be wrong, too: then a way that fits wrong labels, and one that does not, have much
// the same losses there, while on correct labels a way that trusts them too little has clearly
// larger ones.
//
// d has the steps, and passes their number. Folds are drawn by seed. O(ways·folds) fits, on workers
// goroutines; the result does not depend on them. The error is that of the first fit that failed.
func Choose(ctx context.Context, r *Rows, ways []Way, d resilient.Descent, passes, folds int, seed uint64,
	workers int) (*Choice, error) {
	n, k := len(r.Y), r.Net.Outputs()
	fold, _ := resilient.Folds(n, folds, seed, nil)
	scores := make([][]float64, len(ways))
	for w := range scores {
		scores[w] = make([]float64, n*k)
	}
	errs := make([]error, len(ways)*folds)
	run.Blocks(workers, len(errs), 1, func(_, job, _ int) {
		if ctx != nil && ctx.Err() != nil {
			errs[job] = context.Cause(ctx)
			return
		}
		way, out := job/folds, job%folds
		in, left := r.divided(fold, out)
		of := d
		of.Method = ways[way].Method
		if ways[way].Rate > 0 {
			of.Rate = ways[way].Rate
		}
		train := r.Part(in)
		x, _, err := of.Minimize(New(train, 1), ways[way].H, train.start(seed),
			&run.Control{Ctx: ctx, Workers: 1, Stop: run.Stop{Iterations: passes}})
		if err != nil {
			errs[job] = err
			return
		}
		s := Scores(r.Part(left), x.X, 1)
		for j, i := range left {
			copy(scores[way][i*k:(i+1)*k], s[j*k:(j+1)*k])
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	c := &Choice{}
	least := 0
	for w := range ways {
		c.Losses = append(c.Losses, sharpened(r, scores[w]))
		mean, _ := compared(c.Losses[w], r.W, c.Losses[w])
		if c.Mean = append(c.Mean, mean); mean < c.Mean[least] {
			least = w
		}
	}
	for w := range ways {
		_, z := compared(c.Losses[least], r.W, c.Losses[w])
		if c.Z = append(c.Z, z); z <= 1 {
			c.Best = w
		}
	}
	return c, nil
}

// divided lists the rows of all folds but out, and those of out.
func (r *Rows) divided(fold []int, out int) (in, left []int) {
	for i, f := range fold {
		if f == out {
			left = append(left, i)
		} else {
			in = append(in, i)
		}
	}
	return in, left
}

// Part returns rows of those numbers. Their weights are scaled to the mean 1.
func (r *Rows) Part(numbers []int) *Rows {
	d := r.Net.Inputs()
	out := &Rows{Net: r.Net, Loss: r.Loss, L2: r.L2, X: make([]float32, 0, len(numbers)*d)}
	total := 0.0
	for _, i := range numbers {
		out.X, out.Y = append(out.X, r.X[i*d:(i+1)*d]...), append(out.Y, r.Y[i])
		if r.W != nil {
			out.W = append(out.W, r.W[i])
			total += r.W[i]
		}
	}
	for k := range out.W {
		out.W[k] *= float64(len(numbers)) / total
	}
	return out
}

// Scores returns the scores of all rows at weights x, Net.Outputs() a row.
func Scores(r *Rows, x []float64, workers int) []float64 {
	d, k, n := r.Net.Inputs(), r.Net.Outputs(), len(r.Y)
	pass := nn.NewPass[float64](r.Net, chunk, &nn.Options[float64]{Workers: workers})
	in, out := make([]float64, chunk*d), make([]float64, 0, n*k)
	for from := 0; from < n; from += chunk {
		to := min(n, from+chunk)
		for j, v := range r.X[from*d : to*d] {
			in[j] = float64(v)
		}
		out = append(out, pass.Forward(x, in, to-from)...)
	}
	return out
}

// sharpened returns the losses of scores times the factor at which their mean is least; of losses
// without probabilities, those of the scores as they are.
func sharpened(r *Rows, scores []float64) []float64 {
	n, k := len(r.Y), r.Net.Outputs()
	losses := make([]float64, n)
	if _, ok := r.Loss.(score.Probabilistic); !ok {
		r.Loss.Values(losses, r.Y, scores)
		return losses
	}
	scaled, g := make([]float64, n*k), make([]float64, n*k)
	slope := func(factor float64) float64 { // of the sum of losses, which is convex in the factor
		for i, v := range scores {
			scaled[i] = factor * v
		}
		r.Loss.Gradients(g, nil, r.Y, scaled)
		sum := 0.0
		for i, v := range scores {
			sum += score.Weight(r.W, i/k) * g[i] * v
		}
		return sum
	}
	low, high := 0.0, 1.0
	for high < 1<<20 && slope(high) < 0 {
		low, high = high, 2*high
	}
	for range 50 {
		if mid := (low + high) / 2; slope(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	slope(high)
	r.Loss.Values(losses, r.Y, scaled)
	return losses
}

// compared returns the mean of losses, by weights of mean 1, and by how many standard errors of the
// difference it is below the mean of other.
func compared(losses, w, other []float64) (mean, z float64) {
	n, below, square := float64(len(losses)), 0.0, 0.0
	for i, l := range losses {
		mean += score.Weight(w, i) * l / n
		below += score.Weight(w, i) * (other[i] - l) / n
	}
	for i, l := range losses {
		d := score.Weight(w, i)*(other[i]-l) - below
		square += d * d
	}
	if square == 0 {
		return mean, 0
	}
	return mean, below / math.Sqrt(square/(n*math.Max(n-1, 1)))
}
