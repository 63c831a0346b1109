package losses

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotLayered is the reason for refusing a lattice that a Sampler cannot take.
var ErrNotLayered = errors.New("the paths of the lattice have different lengths, or labels of ε")

// LayeredLattice is a lattice whose paths all have one length, as potentials of order 2: the labels
// of a position are its arcs, and arcs that do not follow each other are forbidden. A Sampler takes
// it with SampledOptions.Symbols; an Evaluator does not, since its machines know no labels that
// share a symbol.
type LayeredLattice struct {
	Potentials *Potentials
	Symbols    [][]int // by position and label
	State      [][]fst.StateID
	Arc        [][]int // by position and label, the arc as State and its index there

	states int
	arcs   []int
}

// NewLayeredLattice reads a lattice as Lattice has them: weights are negated potentials, label k+1
// is symbol k. It takes O(Σ n_t n_(t+1)) memory for n_t arcs at position t, and an error wraps
// ErrNotLayered where paths differ in length.
func NewLayeredLattice(a fst.Expanded[semiring.Log64]) (*LayeredLattice, error) {
	if err := CheckLattice(a); err != nil {
		return nil, err
	}
	l := &LayeredLattice{states: a.NumStates(), arcs: make([]int, a.NumStates())}
	depth := make([]int, a.NumStates())
	for q := range depth {
		depth[q] = -1
		l.arcs[q] = len(a.Arcs(fst.StateID(q)))
	}
	var layer []fst.StateID
	if s := a.Start(); s != fst.NoState {
		depth[s] = 0
		layer = append(layer, s)
	}
	final := -1
	for t := 0; len(layer) > 0; t++ {
		var next, state []fst.StateID
		var symbols, arc []int
		for _, q := range layer {
			if fst.IsFinal(a, q) {
				if final >= 0 && final != t {
					return nil, fmt.Errorf("losses: lattice: state %d ends paths of %d labels, others have %d: %w", q, t,
						final, ErrNotLayered)
				}
				final = t
			}
			for i, e := range a.Arcs(q) {
				if e.ILabel == fst.Epsilon {
					return nil, fmt.Errorf("losses: lattice: arc %d of state %d has the label ε: %w", i, q,
						ErrNotLayered)
				}
				switch d := depth[e.NextState]; {
				case d < 0:
					depth[e.NextState] = t + 1
					next = append(next, e.NextState)
				case d != t+1:
					return nil, fmt.Errorf("losses: lattice: state %d is reached by %d and by %d labels: %w", e.NextState,
						d, t+1, ErrNotLayered)
				}
				symbols, state, arc = append(symbols, int(e.ILabel)-1), append(state, q), append(arc, i)
			}
		}
		if len(arc) > 0 {
			l.Symbols, l.State, l.Arc = append(l.Symbols, symbols), append(l.State, state), append(l.Arc, arc)
		}
		layer = next
	}
	if final < 0 {
		final = len(l.Symbols) // no path at all: everything is forbidden
	}
	l.Symbols, l.State, l.Arc = l.Symbols[:final], l.State[:final], l.Arc[:final]
	return l, l.potentials(a)
}

// potentials fills in the weights.
func (l *LayeredLattice) potentials(a fst.Expanded[semiring.Log64]) error {
	sizes := make([]int, len(l.Symbols))
	windows := 0
	for t, row := range l.Symbols {
		sizes[t] = len(row)
		if t > 0 {
			if windows += sizes[t] * sizes[t-1]; windows > 1<<26 {
				return fmt.Errorf("losses: lattice: more than %d pairs of arcs up to position %d: %w",
					1<<26, t, ErrBudget)
			}
		}
	}
	l.Potentials = NewLatticePotentials(sizes, 2)
	for t, row := range l.Potentials.Theta {
		n := sizes[t]
		for i := range row {
			k := i % n
			e := a.Arcs(l.State[t][k])[l.Arc[t][k]]
			row[i] = -float64(e.Weight)
			if t > 0 {
				before := a.Arcs(l.State[t-1][i/n])[l.Arc[t-1][i/n]]
				if before.NextState != l.State[t][k] {
					row[i] = math.Inf(-1)
				}
			}
			if t == len(sizes)-1 {
				row[i] -= float64(a.Final(e.NextState))
			}
		}
	}
	return nil
}

// Arcs sums a number of each window, as Marginals are, over what comes before: a row a state and a
// value an arc, as LatticeResult has them.
func (l *LayeredLattice) Arcs(windows [][]float64) [][]float64 {
	out := make([][]float64, l.states)
	for q, n := range l.arcs {
		out[q] = make([]float64, n)
	}
	for t, row := range windows {
		n := len(l.Symbols[t])
		for i, x := range row {
			out[l.State[t][i%n]][l.Arc[t][i%n]] += x
		}
	}
	return out
}
