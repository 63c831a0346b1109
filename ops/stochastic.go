package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// StochasticError is the evidence that a machine is not stochastic. It is a path from the start to
// a state whose final weight and arcs do not sum to 1̄.
type StochasticError struct {
	State fst.StateID
	Path  Path   // a shortest one, in arcs
	Sum   string // ⊕ of the final weight and of the weights of the arcs
	// Probability is the sum as a probability, NaN where weights are none.
	Probability float64
}

func (e *StochasticError) Error() string {
	sum := fmt.Sprintf("the probability %.6g (weight %s), not to 1", e.Probability, e.Sum)
	switch {
	case math.IsNaN(e.Probability):
		sum = e.Sum + ", not to one"
	case math.IsInf(e.Probability, 1):
		sum = fmt.Sprintf("a probability above 1e308 (weight %s), not to 1", e.Sum)
	}
	return fmt.Sprintf("ops: Stochastic: the final weight and the arcs of state %d sum to %s: [%s]", e.State, sum, e.Path.String())
}

// asProbability returns a sum as a probability, NaN where ⊕ does not add probabilities.
func asProbability[W semiring.Weight[W]](w W) float64 {
	one := semiring.One[W]()
	cost, _, ok := costsOf[W]()
	if !ok || one.Plus(one).Equal(one) { // idempotent
		return math.NaN()
	}
	return math.Exp(-cost(w))
}

// Stochastic tests whether the final weight and the arc weights of each reached state sum to 1̄, up
// to delta. The machine then generates strings with its weights as probabilities (or their negative
// logarithms). It returns nil when that is so, and otherwise, of the states that fail, one nearest
// to the start, with a shortest path to it. Arcs of weight 0̄ lead nowhere. A machine without a
// start state is stochastic. Sums are taken in the order of the arcs.
//
// Over an idempotent semiring the sum is the best weight, and so has another meaning.
//
// The errors are LimitErrors, from lim's context and bytes. Cost: O(|Q| + |E|).
func Stochastic[W interface {
	semiring.Codec[W]
	semiring.Approx[W]
}](f fst.Expanded[W], delta float64, lim Limits) (*StochasticError, error) {
	start := f.Start()
	if start == fst.NoState {
		return nil, nil
	}
	type step struct {
		from fst.StateID
		arc  int32 // -1: not seen yet
	}
	m := lim.workspace().meter("Stochastic")
	n := f.NumStates()
	if err := m.Check(run.Progress{Bytes: int64(n) * 12}); err != nil {
		return nil, err
	}
	leaving := leavingSum[W]()
	via := make([]step, n)
	for q := range via {
		via[q].arc = -1
	}
	via[start] = step{start, 0}
	queue := []fst.StateID{start}
	for head := 0; head < len(queue); head++ {
		q := queue[head]
		if err := m.Check(run.Progress{Bytes: int64(n) * 12}); err != nil {
			return nil, err
		}
		arcs := f.Arcs(q)
		sum := leaving(f.Final(q), arcs)
		for i, e := range arcs {
			if via[e.NextState].arc < 0 && !semiring.IsZero(e.Weight) {
				via[e.NextState] = step{q, int32(i)}
				queue = append(queue, e.NextState)
			}
		}
		if sum.Near(semiring.One[W](), delta) {
			continue
		}
		var path []int32
		for p := q; p != start; p = via[p].from {
			path = append(path, via[p].arc)
		}
		slices.Reverse(path)
		return &StochasticError{State: q, Path: pathOf[W](f, start, path), Sum: string(sum.AppendText(nil)), Probability: asProbability(sum)}, nil
	}
	return nil, nil
}

// leavingSum returns the function that sums a final weight and the weights of arcs, over Log in
// float64.
func leavingSum[W semiring.Weight[W]]() func(final W, arcs []fst.Arc[W]) W {
	sum := func(sum W, arcs []fst.Arc[W]) W {
		for i := range arcs {
			sum = sum.Plus(arcs[i].Weight)
		}
		return sum
	}
	if sum, ok := any(&sum).(*func(semiring.Log, []fst.Arc[semiring.Log]) semiring.Log); ok {
		*sum = func(final semiring.Log, arcs []fst.Arc[semiring.Log]) semiring.Log {
			var s semiring.LogSum
			s.Add(float64(final))
			for i := range arcs {
				s.Add(float64(arcs[i].Weight))
			}
			return semiring.Log(s.Sum())
		}
	}
	return sum
}
