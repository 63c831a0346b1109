package losses

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Model returns A of figure 6.2(d), the deterministic acceptor that gives the string u the weight
// -θ(u). It has a state for each position and context of the last q-1 labels. Label k+1 is label k
// of its position; forbidden windows have no arc. Arcs are sorted by label and states
// topologically.
func Model(p *Potentials) (*fst.Vector[semiring.Log64], error) {
	m, err := newModel(p)
	if err != nil {
		return nil, err
	}
	return m.a, nil
}

// model is A with the window that each arc stands for.
type model struct {
	a   *fst.Vector[semiring.Log64]
	row []int32   // by state: the position whose labels leave it
	ctx []int     // by state: its context as a number
	lab [][]int32 // by state: the label of each arc
}

func newModel(p *Potentials) (*model, error) {
	if err := p.check(new(sweep.Whitening)); err != nil {
		return nil, err
	}
	l := len(p.Sizes)
	// contexts[t] counts the strings of the last min(q-1, t) labels before t.
	contexts := make([]int, l+1)
	base := make([]int, l+2)
	for t := range contexts {
		contexts[t] = 1
		for s := max(0, t-p.Order+1); s < t; s++ {
			contexts[t] *= p.Sizes[s]
		}
		base[t+1] = base[t] + contexts[t]
	}
	if base[l+1] > 1<<30 {
		return nil, fmt.Errorf("losses: the model of order %d has %d states", p.Order, base[l+1])
	}
	m := &model{a: fst.NewVector[semiring.Log64](base[l+1])}
	m.a.AddStates(base[l+1])
	m.a.SetStart(0)
	m.row, m.ctx, m.lab = make([]int32, base[l+1]), make([]int, base[l+1]), make([][]int32, base[l+1])
	for t := range l {
		size := p.Sizes[t]
		keep := contexts[t+1] // the context after t is the window's low digits
		for ctx := range contexts[t] {
			q := base[t] + ctx
			m.row[q], m.ctx[q] = int32(t), ctx
			for k := range size {
				w := ctx*size + k
				theta := p.Theta[t][w]
				if math.IsInf(theta, -1) {
					continue
				}
				a := fst.Label(k + 1)
				m.a.AddArc(fst.StateID(q), fst.Arc[semiring.Log64]{ILabel: a, OLabel: a,
					Weight: semiring.Log64(-theta), NextState: fst.StateID(base[t+1] + w%keep)})
				m.lab[q] = append(m.lab[q], int32(k))
			}
		}
	}
	for ctx := range contexts[l] {
		m.a.SetFinal(fst.StateID(base[l]+ctx), semiring.One[semiring.Log64]())
	}
	return m, nil
}

// windows moves values of arcs to the windows that they stand for.
func (m *model) windows(p *Potentials, rows [][]float64) [][]float64 {
	if rows == nil {
		return nil
	}
	out := NewLatticePotentials(p.Sizes, p.Order).Theta
	for q, row := range rows {
		for i, x := range row {
			t := m.row[q]
			out[t][m.ctx[q]*p.Sizes[t]+int(m.lab[q][i])] += x
		}
	}
	return out
}

// EvalGeneral evaluates potentials under the loss automaton b along the general path. It agrees
// with the direct path to rounding, and is its reference. direction is for WantHVP and WantRiskHVP,
// shaped as the potentials. b may be nil when γ = 0 and nothing of the loss is wanted; otherwise
// that is an error.
//
// Cost: O(|C|) for the composition C of Model(p) with b, several hundred times
// what an Evaluator takes on a Machine. lim is as for Lattice.Eval.
func EvalGeneral(p *Potentials, b *Automaton, gamma float64, want Want, direction [][]float64,
	lim ops.Limits) (*LatticeResult, error) {
	m, err := newModel(p)
	if err != nil {
		return nil, err
	}
	lat := &Lattice{A: m.a}
	if want&(WantHVP|WantRiskHVP) != 0 {
		if err := checkShapeOf(direction, p); err != nil {
			return nil, err
		}
		lat.V = make([][]float64, m.a.NumStates())
		for q := range lat.V {
			t := m.row[q]
			for _, k := range m.lab[q] {
				lat.V[q] = append(lat.V[q], direction[t][m.ctx[q]*p.Sizes[t]+int(k)])
			}
		}
	}
	res, err := lat.eval(b, gamma, want, lim, func(lead int) (*Lattice, error) {
		m, err := newModel(&Potentials{Sizes: p.Sizes[:min(lead, len(p.Sizes))], Order: p.Order,
			Theta: p.Theta[:min(lead, len(p.Theta))]})
		if err != nil {
			return nil, err
		}
		return &Lattice{A: m.a}, nil
	})
	if err != nil {
		return nil, err
	}
	res.Marginals = m.windows(p, res.Marginals)
	res.RiskGradient = m.windows(p, res.RiskGradient)
	res.HVP = m.windows(p, res.HVP)
	res.RiskHVP = m.windows(p, res.RiskHVP)
	return res, nil
}

// Machine converts an automaton of strings of l labels below alphabet, so that an Evaluator can
// sweep it. Any user-given transducer then trains as fast as the size of its automaton allows. It
// fails when some path has another length. It returns a *BudgetError where a table of its states by
// the alphabet would exceed DefaultBytes.
func (b *Automaton) Machine(alphabet, l int) (*Machine, error) {
	var mb Builder
	f := b.L
	layer := []fst.StateID{}
	if s := f.Start(); s != fst.NoState {
		layer = append(layer, s)
	}
	column := map[fst.StateID]uint32{}
	cells := int64(0)
	for t := range l {
		if cells += int64(len(layer)) * int64(max(alphabet, 0)); cells > DefaultBytes/8 {
			return nil, &BudgetError{Stage: stageTable, Columns: b.States(), Bytes: cells * 8,
				Limit: DefaultBytes, advice: "take a smaller alphabet or shorter strings"}
		}
		var following []fst.StateID
		clear(column)
		next := make([]uint32, len(layer)*alphabet)
		off := make([]uint32, len(layer)*alphabet)
		for i := range off {
			off[i] = Excluded
		}
		for c, q := range layer {
			if fst.IsFinal(f, q) {
				return nil, fmt.Errorf("losses: the automaton accepts a string of %d labels, not %d", t, l)
			}
			for _, e := range f.Arcs(q) {
				k := int(e.ILabel) - 1
				if k < 0 || k >= alphabet {
					return nil, fmt.Errorf("losses: the automaton has label %d, outside the alphabet of %d "+
						"symbols", e.ILabel, alphabet)
				}
				to, ok := column[e.NextState]
				if !ok {
					to = uint32(len(following))
					column[e.NextState] = to
					following = append(following, e.NextState)
				}
				next[c*alphabet+k], off[c*alphabet+k] = to, mb.Value(float64(e.Weight))
			}
		}
		if err := mb.Layer(Layer{Labels: alphabet, Columns: len(layer), Next: next, Off: off}); err != nil {
			return nil, err
		}
		layer = following
	}
	final := make([]uint32, len(layer))
	for c, q := range layer {
		if len(f.Arcs(q)) > 0 {
			return nil, fmt.Errorf("losses: the automaton accepts strings longer than %d", l)
		}
		final[c] = mb.Value(float64(f.Final(q)))
	}
	return mb.Finish(final)
}
