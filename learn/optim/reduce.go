package optim

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// Parts is a sum over examples that is cut into parts: f(x) = Σ_k f_k(x). A part is a block of
// rows, a shard of a corpus, or a term.
type Parts interface {
	Dim() int
	// Parts is the number of parts.
	Parts() int
	// Part returns f_k(x). Unless grad is nil, it is all zeros, and Part adds the gradient of f_k
	// to it or stores it there. Part is called for several k at once, never for one k twice at
	// once; worker counts the goroutines from 0.
	Part(worker, k int, x, grad []float64) (float64, error)
}

// Shards makes Parts of objectives over the same coordinates. Each uses workers itself, as it was
// made to, so a Reducer of shards has one.
func Shards(list ...Objective) Parts { return shards(list) }

type shards []Objective

func (s shards) Dim() int {
	if len(s) == 0 {
		return 0
	}
	return s[0].Dim()
}

func (s shards) Parts() int { return len(s) }

func (s shards) Part(_, k int, x, grad []float64) (float64, error) { return s[k].Eval(x, grad) }

func (s shards) Examples() int {
	n := 0
	for _, f := range s {
		n += examplesOf(f)
	}
	return n
}

// ReducerOptions adjusts NewReducer; nil is the same as the zero value.
type ReducerOptions struct {
	Workers int // goroutines that evaluate parts; zero is GOMAXPROCS

	// Tree adds neighbouring parts first, then their sums, and so on: the error grows with the
	// logarithm of the number of parts. It has the gradients of all parts in memory at once.
	Tree bool
}

// Reducer is the one place where gradients of parts of the examples become a sum. It evaluates
// parts on goroutines and adds them in their order, 0 first. So value and gradient have the same
// bits for any number of workers, and those of a sum that other processes made with AddParts.
//
// It is an Objective, and not for use by several goroutines at once. Memory is one gradient a
// worker, but at least 16 where there are several workers and as many parts.
type Reducer struct {
	parts  Parts
	opts   ReducerOptions
	grads  [][]float64
	values []float64
}

// reduced is how many parts several workers evaluate before they add them up, at least.
const reduced = 16

// NewReducer returns the sum of parts as an Objective.
func NewReducer(p Parts, opts *ReducerOptions) *Reducer {
	r := &Reducer{parts: p, values: make([]float64, p.Parts())}
	if opts != nil {
		r.opts = *opts
	}
	r.opts.Workers = run.WorkersOf(r.opts.Workers)
	return r
}

// Dim returns the number of coordinates.
func (r *Reducer) Dim() int { return r.parts.Dim() }

// Examples returns the number of examples, where the parts know it.
func (r *Reducer) Examples() int {
	if e, ok := r.parts.(interface{ Examples() int }); ok {
		return e.Examples()
	}
	return 0
}

// Eval implements Objective.
func (r *Reducer) Eval(x, grad []float64) (float64, error) {
	n := len(r.values)
	round := n
	switch {
	case r.opts.Tree || n == 0:
	case min(r.opts.Workers, n) == 1:
		round = 1
	default:
		round = min(n, max(reduced, r.opts.Workers))
	}
	clear(grad)
	if grad != nil && len(r.grads) < round {
		r.grads = append(r.grads, make([][]float64, round-len(r.grads))...)
	}
	for from := 0; from < n; from += round {
		count := min(round, n-from)
		err := run.Each(r.opts.Workers, count, func(w, k int) error {
			var g []float64
			if grad != nil {
				g = r.room(k, len(grad))
			}
			v, err := r.parts.Part(w, from+k, x, g)
			r.values[from+k] = v
			return err
		})
		if err != nil {
			return math.NaN(), err
		}
		if grad == nil {
			continue
		}
		vectors{r.opts.Workers}.each(len(grad), func(_, lo, hi int) {
			if r.opts.Tree {
				addTree(grad, r.grads[:count], lo, hi)
				return
			}
			for _, g := range r.grads[:count] {
				AddParts(grad[lo:hi], g[lo:hi])
			}
		})
	}
	value := 0.0
	for _, v := range r.values {
		value += v
	}
	return value, nil
}

// room returns an empty gradient for the k-th part of a round.
func (r *Reducer) room(k, n int) []float64 {
	if r.grads[k] == nil {
		r.grads[k] = make([]float64, n)
		return r.grads[k]
	}
	clear(r.grads[k])
	return r.grads[k]
}

// AddParts adds vectors to sum, the first one first: what a Reducer does with the gradients of
// its parts. It panics when their lengths differ.
func AddParts(sum []float64, parts ...[]float64) {
	for _, p := range parts {
		if len(p) != len(sum) {
			panic(fmt.Sprintf("optim: a part of %d coordinates for a sum of %d", len(p), len(sum)))
		}
		for j, v := range p {
			sum[j] += v
		}
	}
}

// addTree stores the sum of the parts between lo and hi, and overwrites the parts.
func addTree(sum []float64, parts [][]float64, lo, hi int) {
	for step := 1; step < len(parts); step *= 2 {
		for k := 0; k+step < len(parts); k += 2 * step {
			AddParts(parts[k][lo:hi], parts[k+step][lo:hi])
		}
	}
	copy(sum[lo:hi], parts[0][lo:hi])
}
