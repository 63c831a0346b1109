package ops

import (
	"math/rand/v2"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// shape says what kind of random machine drawMachine makes.
type shape struct {
	states, arcs int     // at most
	labels       int     // 1 … labels, with few for much non-determinism
	eps          float64 // chance that a label is ε
	acceptor     bool
	acyclic      bool
	weights      []float64
	finals       float64 // chance that a state is final
}

// drawShape picks a shape: small machines with few labels above all, for these
// have the most coincidences, some with states of more than 16 arcs.
func drawShape(rng *rand.Rand) shape {
	s := shape{
		states:   1 + rng.IntN(7),
		labels:   1 + rng.IntN(4),
		eps:      []float64{0, 0.2, 0.5, 0.9}[rng.IntN(4)],
		acceptor: rng.IntN(3) == 0,
		acyclic:  rng.IntN(3) == 0,
		finals:   []float64{0.2, 0.5, 1}[rng.IntN(3)],
		weights:  [][]float64{{0}, {0, 0.5, 1, 1.5, 2.25}, {0.5, 3}}[rng.IntN(3)],
	}
	s.arcs = rng.IntN(4 * s.states)
	if rng.IntN(12) == 0 {
		s.states, s.arcs, s.labels = 1+rng.IntN(3), 20+rng.IntN(120), 1+rng.IntN(30)
	}
	if rng.IntN(40) == 0 {
		s.states = 0
	}
	return s
}

// drawMachine returns a random machine of the given shape. w makes its weights.
func drawMachine[W semiring.Weight[W]](rng *rand.Rand, s shape, w func(float64) W) *fst.Vector[W] {
	v := fst.NewVector[W](0)
	if s.states == 0 {
		return v
	}
	v.AddStates(s.states)
	start := fst.StateID(0)
	if rng.IntN(4) == 0 && !s.acyclic {
		start = fst.StateID(rng.IntN(s.states))
	}
	v.SetStart(start)
	weight := func() W { return w(s.weights[rng.IntN(len(s.weights))]) }
	label := func() fst.Label {
		if rng.Float64() < s.eps {
			return fst.Epsilon
		}
		return fst.Label(1 + rng.IntN(s.labels))
	}
	for q := range s.states {
		if rng.Float64() < s.finals {
			v.SetFinal(fst.StateID(q), weight())
		}
	}
	for range s.arcs {
		q, next := rng.IntN(s.states), rng.IntN(s.states)
		if s.acyclic {
			if q == next {
				continue
			}
			q, next = min(q, next), max(q, next)
		}
		e := fst.Arc[W]{ILabel: label(), Weight: weight(), NextState: fst.StateID(next)}
		e.OLabel = e.ILabel
		if !s.acceptor {
			e.OLabel = label()
		}
		v.AddArc(fst.StateID(q), e)
	}
	return v
}
