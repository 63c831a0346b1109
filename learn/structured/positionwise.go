package structured

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/semiring"
)

// Positionwise is a loss of strings that adds up over positions: Hamming's with costs. Two
// symbols at one position cost Costs[y][reference], and a position that one of the strings
// lacks costs Missing. Strings decodes it exactly by one shortest path, for weights of any sign.
type Positionwise struct {
	Costs   [][]float64 // nil is Scale for symbols that differ, else 0
	Scale   float64     // zero is 1
	Missing float64     // zero is 1
}

var _ StringLoss = Positionwise{}

func (p Positionwise) scale() float64 {
	if p.Scale == 0 {
		return 1
	}
	return p.Scale
}

func (p Positionwise) missing() float64 {
	if p.Missing == 0 {
		return 1
	}
	return p.Missing
}

// cost is that of symbol a at position t.
func (p Positionwise) cost(a int, ref []int, t int) float64 {
	switch {
	case t >= len(ref):
		return p.missing()
	case p.Costs != nil:
		return p.Costs[a][ref[t]]
	case a == ref[t]:
		return 0
	}
	return p.scale()
}

func (p Positionwise) check(alphabet int) error {
	numbers := []float64{p.Scale, p.Missing}
	if p.Costs != nil && len(p.Costs) != alphabet {
		return fmt.Errorf("structured: costs of %d symbols; the alphabet has %d", len(p.Costs), alphabet)
	}
	for a, row := range p.Costs {
		if len(row) != alphabet {
			return fmt.Errorf("structured: symbol %d has %d costs; the alphabet has %d", a, len(row), alphabet)
		}
		numbers = append(numbers, row...)
	}
	for _, v := range numbers {
		if v-v != 0 {
			return fmt.Errorf("%w: a cost is %v", ErrLoss, v)
		}
	}
	return nil
}

// Value implements StringLoss.
func (p Positionwise) Value(y, ref []int) float64 {
	f := p.missing() * math.Max(0, float64(len(ref)-len(y)))
	for t, a := range y {
		f += p.cost(a, ref, t)
	}
	return f
}

// Automaton implements StringLoss: the acceptor y, which must be deterministic and acyclic,
// unfolded by position.
func (p Positionwise) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	_ *losses.GeneralOptions) (*losses.Automaton, error) {
	if err := p.check(alphabet); err != nil {
		return nil, err
	}
	if err := losses.CheckLattice(y); err != nil {
		return nil, fmt.Errorf("structured: %w", err)
	}
	type place struct {
		q fst.StateID
		t int
	}
	v := fst.NewVector[semiring.Log64](0)
	states := map[place]fst.StateID{}
	var queue []place
	state := func(s place) fst.StateID {
		id, ok := states[s]
		if !ok {
			id = v.AddState()
			states[s] = id
			queue = append(queue, s)
		}
		return id
	}
	if y.Start() != fst.NoState {
		v.SetStart(state(place{y.Start(), 0}))
	}
	zero := semiring.Zero[semiring.Log64]()
	for k := 0; k < len(queue); k++ {
		s := queue[k]
		if !y.Final(s.q).Equal(zero) {
			v.SetFinal(fst.StateID(k), semiring.Log64(p.missing()*math.Max(0, float64(len(ref)-s.t))))
		}
		for _, e := range y.Arcs(s.q) {
			to := state(place{e.NextState, s.t + 1})
			v.AddArc(fst.StateID(k), fst.Arc[semiring.Log64]{ILabel: e.ILabel, OLabel: e.ILabel,
				Weight: semiring.Log64(p.cost(int(e.ILabel)-1, ref, s.t)), NextState: to})
		}
	}
	return &losses.Automaton{L: v}, nil
}
