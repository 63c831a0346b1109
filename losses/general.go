package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/determinize"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Automaton is a loss prepared by the general path: GRAD-RATIONAL and GRAD-TROPICAL of the thesis,
// up to B. It is a deterministic acyclic acceptor of label strings; the weight of the path of u is
// L(u, reference). A string without a path is excluded from every sum and maximum.
//
// It depends only on the reference and the strings, so one serves all potentials and all γ. It is
// immutable and may be shared.
type Automaton struct {
	// L is sorted by label; label k+1 is symbol (or lattice label) k. Each string has at most one
	// path, so ⊕ is never used. Weights are log weights because those of potentials are.
	L fst.Expanded[semiring.Log64]

	from   *editOrigin // nil unless it is of an edit loss
	banded *bandOrigin // nil unless alignments keep to a band
}

// States returns the number of states.
func (b *Automaton) States() int { return b.L.NumStates() }

// GeneralOptions adjusts the general path; nil is the same as the zero value.
type GeneralOptions struct {
	// Expand is an unweighted transducer that the strings go through before the
	// loss sees them, from labels to symbols; nil is the identity. Strings for which it has no path
	// spell nothing, not even the empty string, and are left out by every loss.
	Expand fst.Expanded[semiring.Tropical64]

	// Band > 0 restricts alignments to |j - t·m/l| ≤ Band as Edit.Band does. l is the number of
	// symbols of a string, or of one of its expansions. A band too narrow for that l is widened.
	// Tropical losses alone have one, and the symbols must be bounded in number.
	Band int

	// Cap, if not nil, replaces a tropical loss L by min(L, Cap); a string that U
	// has no path for then has the loss Cap.
	Cap *float64

	// Columns, if positive, is the most states of the automaton.
	Columns int

	// Limits bound each operation on the way, and their Bytes all together: what one may take is
	// what the machines leave that are still needed. Zero Bytes are DefaultBytes. What exceeds a
	// bound on size is a *BudgetError. The number of states can grow exponentially with the length
	// of the strings: see the package comment.
	ops.Limits

	advice   string // what to do about a machine that is too large; "" is adviceMachine
	allPairs bool   // every state of the strings, a chain, meets every symbol of the reference
	outside  []bool // by state of U: whether a band lets it be, as where a local alignment has not begun
	trial    bool   // of a band to advise: its errors need no advice
}

// stages begins the operations of opts.
func (o *GeneralOptions) stages() *stages {
	s := newStages(o.Limits)
	if s.advice = o.advice; s.advice == "" {
		s.advice = adviceMachine
	}
	return s
}

// Strings returns the acceptor of all strings of l symbols, Y of the thesis. It has
// alphabet·l arcs. It panics when a size is negative, as make would.
func Strings(alphabet, l int) *fst.Vector[semiring.Log64] {
	if alphabet < 0 || l < 0 {
		panic(fmt.Sprintf("losses: strings of length %d over %d symbols: neither may be negative", l,
			alphabet))
	}
	y := fst.NewVector[semiring.Log64](l + 1)
	y.AddStates(l + 1)
	y.SetStart(0)
	for t := range l {
		for a := 1; a <= alphabet; a++ {
			y.AddArc(fst.StateID(t), fst.Arc[semiring.Log64]{ILabel: fst.Label(a), OLabel: fst.Label(a),
				NextState: fst.StateID(t + 1)})
		}
	}
	y.SetFinal(fst.StateID(l), semiring.One[semiring.Log64]())
	return y
}

// Chain returns the acceptor of one string of symbols.
func Chain(s []int) *fst.Vector[semiring.Log64] { return chain[semiring.Log64](s) }

// Loss returns L(u), +Inf when u is excluded.
func (b *Automaton) Loss(u []int) float64 {
	q, sum := b.L.Start(), 0.0
	for _, k := range u {
		if q == fst.NoState {
			break
		}
		next := fst.NoState
		for _, e := range b.L.Arcs(q) {
			if int(e.ILabel) == k+1 {
				next, sum = e.NextState, sum+float64(e.Weight)
			}
		}
		q = next
	}
	if q == fst.NoState {
		return math.Inf(1)
	}
	return sum + float64(b.L.Final(q))
}

// TropicalAutomaton prepares the tropical loss L(y, ref) = U(y, ref), the least weight of a path of
// U from y to ref. Strings are those that the acyclic acceptor y accepts; its weights do not
// matter.
//
// It is B of GRAD-TROPICAL before weights are exponentiated: Det(Π₁(Y∘U∘Y_i)),
// with the ε-removal that the printed pseudocode omits and without which a
// string keeps one path for every way to place its insertions. A cycle of ε in
// U of negative weight is an error, and so is a cycle of y, around ErrNotLattice.
//
// Subsets of the determinization are clamped, see package determinize: on edit losses it has no
// more states, or hardly more, than Edit.Machine has columns.
//
// Weights of U are rounded to multiples of a common unit, each by at most 5·10⁻¹⁰ of
// itself, whatever their size: see determinize.CostGrid.
func TropicalAutomaton(y fst.Expanded[semiring.Log64], u fst.Expanded[semiring.Tropical64], ref []int,
	opts *GeneralOptions) (*Automaton, error) {
	if opts == nil {
		opts = &GeneralOptions{}
	}
	s := opts.stages()
	rounding := determinize.CostGridOf(u, opts.Cap, longest(y)+len(ref))
	m, err := pairUp(s, y, rounding.Machine(u), ref, opts)
	if err != nil {
		return nil, err
	}
	if opts.Cap != nil {
		if m, err = withConstant(s, m, rounding.Round(semiring.Tropical64(*opts.Cap)), y, opts); err != nil {
			return nil, err
		}
	}
	det, err := determinizeCosts(s, m, u, rounding, opts)
	if err != nil {
		return nil, err
	}
	if det.Start() == fst.NoState {
		if err := unmatched(y, u, opts); err != nil {
			return nil, err
		}
	}
	a := &Automaton{L: det}
	if opts.Band > 0 {
		a.banded = &bandOrigin{y: y, u: u, ref: slices.Clone(ref), opts: opts, grid: rounding}
	}
	return a, nil
}

// RationalAutomaton prepares the rational loss L(y, ref) = -log(U(y, ref) + c). U(y, ref) is the
// sum of the weights of U's paths from y to ref, and y is a string of the acyclic acceptor. U is
// over the probability semiring, or over log weights, which stand for exp(-w). With c = 0 strings
// without a path have an infinite loss and are left out, as in the thesis. c > 0 gives a finite
// loss to all. With opts.Expand, a string for which it has no path spells nothing. It is left out
// under any c, as by every other loss. (Hamming leaves out more: strings that spell another number
// of symbols than the reference has.) Where a string expands in several ways, U is the sum over the
// paths of the expansion. An expansion that is reached twice counts twice.
//
// A cycle of ε in U whose sum diverges is an error.
func RationalAutomaton[W semiring.Weight[W]](y fst.Expanded[semiring.Log64], u fst.Expanded[W], ref []int,
	c float64, opts *GeneralOptions) (*Automaton, error) {
	if opts == nil {
		opts = &GeneralOptions{}
	}
	if !(c >= 0) || math.IsInf(c, 1) {
		return nil, fmt.Errorf("losses: rational: c = %v is not a non-negative number", c)
	}
	if opts.Band > 0 {
		return nil, fmt.Errorf("losses: rational: a band bounds a least cost, not a sum over paths")
	}
	// Within the range of float64, sums of counts are exact in the probability
	// semiring, and several times faster; beyond it, logarithms are summed.
	lu, err := ops.Convert[semiring.Log64](u)
	if err != nil {
		return nil, fmt.Errorf("losses: rational: %w", err)
	}
	var l *fst.Vector[semiring.Log64]
	err = determinize.ErrMassRange
	if worst := scale(lu); worst*float64(len(ref)+longest(y)+2) <= 500 {
		pu, err2 := ops.Convert[semiring.Probability](u)
		if err2 != nil {
			return nil, fmt.Errorf("losses: rational: %w", err2)
		}
		l, err = rational(y, pu, semiring.Probability(c), ref, opts, determinize.Masses{})
	}
	if errors.Is(err, determinize.ErrMassRange) {
		l, err = rational(y, lu, semiring.Log64(-math.Log(c)), ref, opts, determinize.LogMasses{})
	}
	if err != nil {
		return nil, err
	}
	if l.Start() == fst.NoState {
		if err := unmatched(y, u, opts); err != nil {
			return nil, err
		}
	}
	return &Automaton{L: l}, nil
}

// unmatched returns an error where u reads none of the labels that strings have: it has
// another alphabet then, and no path for any string. That a string or a reference alone has no path
// is no error: the loss leaves strings out.
func unmatched[W semiring.Weight[W]](y fst.Expanded[semiring.Log64], u fst.Expanded[W],
	opts *GeneralOptions) error {
	strings := map[fst.Label]bool{}
	if x := opts.Expand; x != nil {
		for q := range fst.StateID(x.NumStates()) {
			for _, e := range x.Arcs(q) {
				strings[e.OLabel] = true
			}
		}
	} else {
		for q := range fst.StateID(y.NumStates()) {
			for _, e := range y.Arcs(q) {
				strings[e.ILabel] = true
			}
		}
	}
	delete(strings, fst.Epsilon)
	example := fst.Epsilon
	for q := range fst.StateID(u.NumStates()) {
		for _, e := range u.Arcs(q) {
			if strings[e.ILabel] {
				return nil
			}
			if e.ILabel != fst.Epsilon {
				example = e.ILabel
			}
		}
	}
	if example == fst.Epsilon || len(strings) == 0 {
		return nil
	}
	return fmt.Errorf("losses: the loss transducer reads no label of the strings (it reads %d, say; symbol "+
		"k is label k+1): %w", example, ErrNoString)
}

// scale returns the greatest absolute logarithm of a weight of u that is not 0̄.
func scale(u fst.Expanded[semiring.Log64]) float64 {
	worst := 0.0
	see := func(w semiring.Log64) {
		if !semiring.IsZero(w) {
			worst = max(worst, math.Abs(float64(w)))
		}
	}
	for q := range fst.StateID(u.NumStates()) {
		see(u.Final(q))
		for _, e := range u.Arcs(q) {
			see(e.Weight)
		}
	}
	return worst
}

// longest returns a bound on the length of y's strings: exact for an acyclic y.
func longest(y fst.Expanded[semiring.Log64]) int {
	order, err := topologicalOrder(y)
	if err != nil {
		return y.NumStates()
	}
	depth := make([]int, y.NumStates())
	most := 0
	for _, q := range order {
		most = max(most, depth[q])
		for _, e := range y.Arcs(q) {
			depth[e.NextState] = max(depth[e.NextState], depth[q]+1)
		}
	}
	return most
}

// algebra is what the general path needs of the weights in which it counts.
type algebra[W any] interface {
	semiring.Divisible[W]
	semiring.Approx[W]
	semiring.Commutative[W]
	semiring.Reversible[W, W]
}

func rational[W interface {
	~float64
	algebra[W]
}](y fst.Expanded[semiring.Log64], u fst.Expanded[W], c W, ref []int, opts *GeneralOptions,
	alg determinize.LayerAlgebra) (*fst.Vector[semiring.Log64], error) {
	s := opts.stages()
	m, err := pairUp(s, y, u, ref, opts)
	if err != nil {
		return nil, err
	}
	if !semiring.IsZero(c) {
		if m, err = withConstant(s, m, c, y, opts); err != nil {
			return nil, err
		}
	}
	return determinizeLayers(s, m, func(ops.Limits) determinize.LayerAlgebra { return alg }, opts.Columns)
}

// determinizeLayers determinizes m, which is acyclic and has no ε, over the algebra that alg makes.
// The result has at most so many states, 0 for as many as the limits allow.
func determinizeLayers[W interface {
	~float64
	semiring.Weight[W]
}](s *stages, m *fst.Vector[W], alg func(lim ops.Limits) determinize.LayerAlgebra,
	most int) (*fst.Vector[semiring.Log64], error) {
	hold(s, m)
	defer release(s, m)
	lim := s.left()
	if most > 0 && (lim.States == 0 || most < lim.States) {
		lim.States = most
	}
	out, err := determinize.Acyclic(m, alg(lim), lim)
	return out, s.fail(stageDeterminize, err)
}

// withConstant adds one component to m in which every string of y that spells something has weight
// c. The losses of all others stay infinite.
func withConstant[W algebra[W]](s *stages, m *fst.Vector[W], c W, y fst.Expanded[semiring.Log64],
	opts *GeneralOptions) (*fst.Vector[W], error) {
	hold(s, m)
	strings := support[W](y)
	if opts.Expand != nil {
		spelling, err := spelling(s, y, opts)
		if err != nil {
			return nil, err
		}
		strings = support[W](spelling)
	}
	all, err := distinct(s, strings)
	if err != nil {
		return nil, err
	}
	for q := range fst.StateID(all.NumStates()) {
		if fst.IsFinal(all, q) {
			all.SetFinal(q, c)
		}
	}
	release(s, m)
	if err := ops.Union(m, all, s.left()); err != nil {
		return nil, s.fail(stageConstant, err)
	}
	if err := ops.RmEpsilon(m, &ops.RmEpsilonOptions{Limits: s.left()}); err != nil {
		return nil, s.fail(stageConstant, err)
	}
	return m, nil
}

// spelling returns an acceptor of the strings of y for which opts.Expand has a path. Its weights
// are 0 and infinite, so that no number of paths, nor a cycle of them, matters.
func spelling(s *stages, y fst.Expanded[semiring.Log64],
	opts *GeneralOptions) (*fst.Vector[semiring.Tropical64], error) {
	e, err := unweighted[semiring.Tropical64](opts.Expand)
	if err != nil {
		return nil, err
	}
	ops.ArcSort(e, ops.Input)
	spelled, err := ops.Compose(support[semiring.Tropical64](y), e, &ops.ComposeOptions{Limits: s.left()})
	if err != nil {
		return nil, s.fail(stageExpand, err)
	}
	ops.Project(spelled, ops.Input)
	return spelled, nil
}

// pairUp returns Π₁(Y∘E∘U∘Y_i) without ε.
func pairUp[W algebra[W]](s *stages, y fst.Expanded[semiring.Log64], u fst.Expanded[W], ref []int,
	opts *GeneralOptions) (*fst.Vector[W], error) {
	if _, err := topologicalOrder(y); err != nil {
		return nil, fmt.Errorf("losses: the acceptor of the strings: %w", err)
	}
	sorted := ops.ArcSorted(u, ops.Output)
	var tu, ty ops.Trace
	uy, err := ops.Compose(sorted, chain[W](ref), &ops.ComposeOptions{Limits: s.left(), Trace: &tu})
	if err != nil {
		return nil, s.fail(stageReference, err)
	}
	hold(s, uy)
	defer release(s, uy)
	// Sorting would part the trace from the arcs; only states are asked of it.
	ops.ArcSort(uy, ops.Input)
	strings, err := distinct(s, support[W](y))
	if err != nil {
		return nil, err
	}
	if opts.Expand != nil {
		e, err := unweighted[W](opts.Expand)
		if err != nil {
			return nil, err
		}
		ops.ArcSort(e, ops.Input)
		if strings, err = ops.Compose(strings, e, &ops.ComposeOptions{Limits: s.left()}); err != nil {
			return nil, s.fail(stageExpand, err)
		}
	}
	var m *fst.Vector[W]
	if opts.Band > 0 {
		m, err = composeBanded(s, strings, uy, &tu, len(ref), opts)
	} else {
		hold(s, strings)
		if opts.allPairs {
			// Known beforehand: filling two gigabytes took twenty seconds.
			n, v := strings.NumStates(), uy.NumStates()
			// each symbol deleted, or aligned with one of the reference
			arcs := int64(strings.NumArcs()) * int64(2*v-1)
			size := ops.SizeOf[W](n*v, arcs+int64(n)*int64(v-1))
			if err := s.room(stageCompose, n*v, size.Bytes); err != nil {
				return nil, err
			}
		}
		m, err = ops.Compose(strings, uy, &ops.ComposeOptions{Limits: s.left(), Trace: &ty})
		err = s.fail(stageCompose, err)
		release(s, strings)
	}
	if err != nil {
		return nil, err
	}
	ops.Project(m, ops.Input)
	if err := ops.RmEpsilon(m, &ops.RmEpsilonOptions{Limits: s.left()}); err != nil {
		if opts.Band == 0 && errors.Is(err, ops.ErrNotClosed) { // a band renumbers states
			err = divergent(err, func(q fst.StateID) fst.StateID {
				_, v := ty.States(q)
				p, _ := tu.States(v)
				return p
			})
		}
		return nil, s.fail(stageRmEpsilon, err)
	}
	return m, nil
}

// divergent names the states of U on a cycle of ε whose sum diverges. The error has states of the
// composition; origin finds those of U.
func divergent(err error, origin func(fst.StateID) fst.StateID) error {
	const most = 16
	var cycle *ops.CycleError
	var at *ops.StateError
	var b strings.Builder
	switch {
	case errors.As(err, &cycle) && len(cycle.Cycle) > 0:
		first := origin(cycle.Cycle[0].State)
		fmt.Fprintf(&b, "states %d", first)
		last, n := first, 1
		for _, arc := range cycle.Cycle[1:] {
			q := origin(arc.State)
			if q == last { // a step of what the labels expand to
				continue
			}
			if n++; n > most {
				b.WriteString(" -> …")
				break
			}
			fmt.Fprintf(&b, " -> %d", q)
			last = q
		}
		fmt.Fprintf(&b, " -> %d", first)
	case errors.As(err, &at):
		fmt.Fprintf(&b, "state %d", origin(at.State))
	default:
		return err
	}
	return fmt.Errorf("losses: the loss transducer has a cycle that reads and writes nothing through its "+
		"%s, round which weights do not settle: "+
		"give the cycle a weight that does (a cost of at least 0, or a mass below 1): "+
		"%w", b.String(), ops.ErrNotClosed)
}

// determinizeCosts makes the automaton of the costs of u, with subsets clamped where costs are
// exact.
func determinizeCosts(s *stages, m *fst.Vector[semiring.Tropical64], u fst.Expanded[semiring.Tropical64],
	grid determinize.CostGrid, opts *GeneralOptions) (*fst.Vector[semiring.Log64], error) {
	if grid.Cancels(u) {
		return determinizePlainly(s, m, grid.Step, opts)
	}
	return determinizeLayers(s, m,
		func(lim ops.Limits) determinize.LayerAlgebra { return determinize.NewClampedCosts(lim.Bytes / 8) },
		opts.Columns)
}

// determinizePlainly makes the automaton by the determinization of package ops, with room for the
// copy that is made of it.
func determinizePlainly(s *stages, m *fst.Vector[semiring.Tropical64], delta float64,
	opts *GeneralOptions) (*fst.Vector[semiring.Log64], error) {
	det, err := determinized(s, stageDeterminize, m, delta, opts.Columns)
	if err != nil {
		return nil, err
	}
	hold(s, det)
	if err := s.room(stageConvert, det.NumStates(), ops.SizeOf[semiring.Log64](det.NumStates(),
		int64(det.NumArcs())).Bytes); err != nil {
		return nil, err
	}
	return ops.MapInto(det, func(w semiring.Tropical64) semiring.Log64 { return semiring.Log64(w) }), nil
}

// determinized returns what m is, as a trim deterministic machine of at most so many
// states, 0 for as many as the limits allow.
func determinized[W algebra[W]](s *stages, stage string, m *fst.Vector[W], delta float64,
	most int) (*fst.Vector[W], error) {
	hold(s, m)
	defer release(s, m)
	lim := s.left()
	if most > 0 && (lim.States == 0 || most < lim.States) {
		lim.States = most
	}
	det, err := ops.Determinize(m, &ops.DeterminizeOptions{Delta: delta, Limits: lim})
	if err != nil {
		return nil, s.fail(stage, err)
	}
	ops.Connect(det)
	ops.ArcSort(det, ops.Input)
	return det, nil
}

// distinct makes an unweighted acceptor accept each string along one path: a
// sum over its paths is then one over its strings.
func distinct[W algebra[W]](s *stages, y *fst.Vector[W]) (*fst.Vector[W], error) {
	const one = fst.IDeterministic | fst.NoIEpsilons
	if fst.PropertiesOf(y, one).Has(one) {
		return y, nil
	}
	b := ops.MapInto(y, func(w W) semiring.Tropical64 {
		if semiring.IsZero(w) {
			return semiring.Zero[semiring.Tropical64]()
		}
		return 0
	})
	if err := ops.RmEpsilon(b, &ops.RmEpsilonOptions{Limits: s.left()}); err != nil {
		return nil, s.fail(stageStrings, err)
	}
	det, err := determinized(s, stageStrings, b, 0, 0) // all weights are 0 or infinite
	if err != nil {
		return nil, err
	}
	return support[W](det), nil
}

// chain accepts one string of symbols.
func chain[W semiring.Weight[W]](s []int) *fst.Vector[W] {
	one := semiring.One[W]()
	c := fst.NewVector[W](len(s) + 1)
	c.AddStates(len(s) + 1)
	c.SetStart(0)
	for j, k := range s {
		a := fst.Label(k + 1)
		c.AddArc(fst.StateID(j), fst.Arc[W]{ILabel: a, OLabel: a, Weight: one, NextState: fst.StateID(j + 1)})
	}
	c.SetFinal(fst.StateID(len(s)), one)
	return c
}

// support returns f with weight 1̄ on every arc and final state whose weight is
// not 0̄, over W.
func support[W semiring.Weight[W], V semiring.Weight[V]](f fst.Expanded[V]) *fst.Vector[W] {
	one, zero := semiring.One[W](), semiring.Zero[W]()
	return ops.MapInto(f, func(v V) W {
		if semiring.IsZero(v) {
			return zero
		}
		return one
	})
}

// unweighted converts a transducer without weights.
func unweighted[W semiring.Weight[W]](f fst.Expanded[semiring.Tropical64]) (*fst.Vector[W], error) {
	for q := range fst.StateID(f.NumStates()) {
		if w := f.Final(q); !semiring.IsZero(w) && !semiring.IsOne(w) {
			return nil, fmt.Errorf("losses: the transducer that expands labels has final weight %v at "+
				"state %d; it must be unweighted", w, q)
		}
		for i, e := range f.Arcs(q) {
			if !semiring.IsZero(e.Weight) && !semiring.IsOne(e.Weight) {
				return nil, fmt.Errorf("losses: the transducer that expands labels has weight %v on arc %d "+
					"of state %d; it must be unweighted", e.Weight, i, q)
			}
		}
	}
	return support[W](f), nil
}

// chainLength returns l when y has the states 0 … l of Strings, each with arcs to
// the next alone.
func chainLength(y fst.Expanded[semiring.Log64]) (int, error) {
	l := y.NumStates() - 1
	ok := l >= 0 && y.Start() == 0
	for t := range fst.StateID(max(l, 0) + 1) {
		if !ok {
			break
		}
		ok = fst.IsFinal(y, t) == (int(t) == l)
		for _, e := range y.Arcs(t) {
			ok = ok && e.NextState == t+1
		}
	}
	if !ok {
		return 0, fmt.Errorf("losses: a band needs strings of one length, a chain of states numbered in " +
			"order")
	}
	return l, nil
}
