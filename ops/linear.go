package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ComposeLinear returns A∘M for a linear model M. Of the model's machine only those arcs are
// computed whose words A puts out where they are met. So the cost does not grow with the
// vocabulary. A need not be sorted. Matchers, look-ahead and traces are errors: compose with the
// whole machine for these (Materialize of its Expander).
//
// The result has the states and arcs of OpenFst's composition with a linear-tagger or
// linear-classifier.
//
// Cost: O(arcs of the result · groups of features · length of contexts). AltSequenceFilter and
// MatchFilter ask what arcs a state of the model has, which are made once.
func ComposeLinear[W semiring.Weight[W]](a fst.Expanded[W], m *fst.LinearModel[W], opts *ComposeOptions) (*fst.Vector[W], error) {
	var o ComposeOptions
	if opts != nil {
		o = *opts
	}
	if o.First != nil || o.Second != nil || o.LookAhead != nil || o.Trace != nil {
		return nil, errors.New("ops: ComposeLinear: no matchers, looking ahead or trace: compose with the model's whole machine for these")
	}
	if int(o.Filter) >= len(filterNames) {
		return nil, fmt.Errorf("ops: ComposeLinear: unknown filter %v", o.Filter)
	}
	if err := compatibleSymbols("ComposeLinear", "output symbols of the machine", "input symbols of the model",
		fst.OutputSymbols(a), m.InputSymbols()); err != nil {
		return nil, err
	}
	c := &linearComposer[W]{filter: o.Filter, a: newSide[W](a, outputLabels), m: m.Expander(),
		meter: o.Limits.meter("ComposeLinear")}
	out, err := Materialize[W](c, Limits{})
	if err != nil {
		return nil, err
	}
	out.SetInputSymbols(fst.InputSymbols(a))
	out.SetOutputSymbols(m.OutputSymbols())
	if !o.KeepDead {
		trim(out, nil, 1)
	}
	return out, nil
}

// linearComposer is the Expander of A∘M, where M is asked for the arcs with a label.
type linearComposer[W semiring.Weight[W]] struct {
	a      side[W]
	m      *fst.LinearExpander[W]
	filter Filter
	infos  []sideInfo // of the states of M, for filters that ask; 0 is not known
	table  run.Triples
	meter  run.Meter
	arcs   int64
	found  []fst.Arc[W]
}

// of tells what filters ask of state q of M.
func (c *linearComposer[W]) of(q fst.StateID) (sideInfo, error) {
	if c.filter != AltSequenceFilter && c.filter != MatchFilter {
		return 0, nil
	}
	if int(q) >= len(c.infos) {
		c.infos = append(c.infos, make([]sideInfo, int(q)+1-len(c.infos))...)
	}
	if c.infos[q] != 0 {
		return c.infos[q], nil
	}
	final, arcs, err := c.m.Expand(q, c.found[:0])
	if c.found = arcs; err != nil {
		return 0, err
	}
	x, eps := sideKnown, 0
	for i := range arcs {
		if arcs[i].ILabel == fst.Epsilon {
			eps++
		}
	}
	if eps == 0 {
		x |= sideNoEps
	}
	if eps == len(arcs) && semiring.IsZero(final) {
		x |= sideAllEps
	}
	c.infos[q] = x
	return x, nil
}

func (c *linearComposer[W]) Start() (fst.StateID, error) {
	s1 := c.a.f.Start()
	if s1 == fst.NoState {
		return fst.NoState, nil
	}
	s2, err := c.m.Start()
	if err != nil {
		return fst.NoState, err
	}
	return c.table.ID(run.Triple(s1, s2, 0)), nil
}

// Expand goes as plain composition that searches the second machine: its ε-moves alone come
// first, then what matches the arcs of A in turn.
func (c *linearComposer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	s1, s2, fs := run.Untriple(c.table.Keys[q])
	arcs1 := c.a.f.Arcs(s1)
	base := len(dst)
	if final = c.a.f.Final(s1); !semiring.IsZero(final) {
		if final2 := c.m.Final(s2); semiring.IsZero(final2) {
			final = final2
		} else {
			final = final.Times(final2)
		}
	}
	info2, err := c.of(s2)
	if err != nil {
		return final, dst, err
	}
	moves := c.filter.moves(fs, c.a.of(s1, arcs1), info2)
	if moves.alone2 != blocked {
		if c.found, err = c.m.Match(s2, fst.Epsilon, c.found[:0]); err != nil {
			return final, dst, err
		}
		for _, f := range c.found {
			f.NextState = c.table.ID(run.Triple(s1, f.NextState, moves.alone2))
			dst = append(dst, f)
		}
	}
	for i := range arcs1 {
		e := &arcs1[i]
		next := int8(0)
		if e.OLabel == fst.Epsilon {
			if moves.alone1 != blocked {
				dst = append(dst, fst.Arc[W]{ILabel: e.ILabel, Weight: e.Weight,
					NextState: c.table.ID(run.Triple(e.NextState, s2, moves.alone1))})
			}
			if next = moves.both; next == blocked {
				continue
			}
		}
		if c.found, err = c.m.Match(s2, e.OLabel, c.found[:0]); err != nil {
			return final, dst, err
		}
		for _, f := range c.found {
			dst = append(dst, fst.Arc[W]{ILabel: e.ILabel, OLabel: f.OLabel, Weight: e.Weight.Times(f.Weight),
				NextState: c.table.ID(run.Triple(e.NextState, f.NextState, next))})
		}
		if err := c.check(len(dst) - base); err != nil {
			return final, dst, err
		}
	}
	c.arcs += int64(len(dst) - base)
	return final, dst, c.check(0)
}

func (c *linearComposer[W]) check(n int) error {
	p := run.SizeOf[W](c.table.Len(), c.arcs+int64(n))
	p.Bytes += int64(c.table.Len())*tripleBytes + c.m.Bytes()
	return c.meter.Check(p)
}

// NormalizeLinear normalizes a composition A∘M with a linear model. Unnormalized probabilities Q(z
// | y) become Q(z | y) / Σ_z Q(z | y). Where A is P(x, y), the result has P(x, y) · Q(z | y) / Σ Q
// for each path of x and z. The sums are over the strings that A reads, in the log semiring, so
// that weights are negative logarithms of probabilities. The paths of A that read a string should
// put out one.
//
// The steps are those of OpenFst's LogLinearApply: sums by determinization of the input side, and
// two compositions. Cost: theirs; exponential in the ambiguity of A at worst, unless Limits end it.
func NormalizeLinear[W semiring.Component[W]](a fst.Expanded[W], composed *fst.Vector[W], lim Limits) (*fst.Vector[W], error) {
	sums, err := Convert[semiring.Log](Projected[W](composed, Input))
	if err != nil {
		return nil, err
	}
	small, err := reciprocalSums(sums, lim)
	if err != nil {
		return nil, err
	}
	divisor, err := Convert[W](small)
	if err != nil {
		return nil, err
	}
	ArcSort(divisor, Output)
	divided, err := Compose[W](divisor, a, &ComposeOptions{Limits: lim})
	if err != nil {
		return nil, err
	}
	ArcSort(divided, Output)
	return Compose[W](divided, composed, &ComposeOptions{Limits: lim})
}

// reciprocalSums turns an acceptor into a minimal deterministic one, in which the weight of a
// string is the reciprocal of the sum of its paths. It is not generic, so that it is compiled once,
// and asks for acceptors, so that the operations on transducers are not compiled with it.
func reciprocalSums(sums *fst.Vector[semiring.Log], lim Limits) (*fst.Vector[semiring.Log], error) {
	if err := RmEpsilon(sums, &RmEpsilonOptions{Limits: lim}); err != nil {
		return nil, err
	}
	// The quantum of OpenFst: what is the same up to rounding is one state.
	o := &DeterminizeOptions{Delta: DefaultDelta, Limits: lim}
	d, err := newAcceptorDeterminizer(sums, o)
	if err != nil {
		return nil, err
	}
	small, err := determinized(sums, o, d)
	if err != nil {
		return nil, err
	}
	if err := MinimizeAcceptor(small, &MinimizeOptions{Limits: lim}); err != nil {
		return nil, err
	}
	InvertWeights(small)
	return small, nil
}
