package ops

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// PushOptions adjusts Push; nil is the same as the zero value.
type PushOptions struct {
	Labels bool // push output labels, too
	// KeepWeights, with Labels, has the labels alone say how far labels move. As in OpenFst,
	// weights then move by the numbers of paths, over semirings that are not idempotent, where
	// these have an end; otherwise they stay.
	KeepWeights       bool
	ToFinal           bool // towards the final states; zero is towards the start
	RemoveTotalWeight bool // divide all by the sum of all accepting paths
	RemoveCommonAffix bool // with Labels: drop the output that all accepting paths begin (to the start) or end with

	// Delta is how close counts as settled in shortest distances, as there; with Labels over
	// tropical weights, too.
	Delta float64
	Truncation

	// Limits holds for the result, and for the bytes of the machines between.
	Limits
}

// divisible is asked for by operations that push weights.
type divisible[W any] interface {
	semiring.Divisible[W]
	semiring.Approx[W]
}

// Push returns f with weights, output labels or both moved along its paths, as far as they are
// common to what follows. The weight and the output of each accepting path stay as they are. Pushed
// to the start, the weights that leave a state, its final weight included, sum to 1̄ at all states
// but the start. No output label that all paths from a state share is put out after it. Pushed to
// the final states the same holds of the reversed machine.
//
// Where the whole has a weight or a common output and the start lies on a cycle, a new start state
// is added. It is the last one, with an ε-arc that carries them. Output strings longer than a label
// become chains of arcs with input ε. What is left at a final state becomes an arc to a new final
// state.
//
// States from which no final state is reached (or, to the final states, that
// are not reached) keep their weights. Weights must be k-closed for f, as
// ShortestDistance has it, and its errors come back.
//
// Cost: one shortest distance, and O(states + arcs). With Labels, distances are strings, each held
// by itself: what all paths from a state put out at least. On a chain of n labels that is n²/2
// labels in all, in time and in memory. Limits.Bytes counts them.
//
// After M. Mohri, "Weighted automata algorithms", in Handbook of Weighted
// Automata, 2009, section 6.5.
func Push[W semiring.Component[W]](f fst.Expanded[W], opts *PushOptions) (*fst.Vector[W], error) {
	var o PushOptions
	if opts != nil {
		o = *opts
	}
	if !o.Labels {
		out := copyOf(f)
		if err := PushWeights(out, &o); err != nil {
			return nil, err
		}
		return out, nil
	}
	switch g := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		out, err := pushLabels[semiring.Log, semiring.Log64](g, &o)
		v, _ := any(out).(*fst.Vector[W])
		return v, err
	case fst.Expanded[sums.CarriedProduct]:
		out, err := pushLabels[sums.CarriedProduct, sums.CarriedProduct64](g, &o)
		v, _ := any(out).(*fst.Vector[W])
		return v, err
	}
	return pushLabels[W, W](f, &o)
}

// pushLabels is Push with Labels, with weights that are D until they are in their place.
func pushLabels[W semiring.Component[W], D semiring.Component[D]](f fst.Expanded[W], o *PushOptions) (out *fst.Vector[W], err error) {
	// Without the weights, the labels alone decide how far labels move.
	of := f
	if o.KeepWeights {
		v := copyOf(f)
		RmWeight(v)
		of = v
	}
	if o.ToFinal {
		out, err = pushPairs(f, of, o, rightPairs[W, D]())
	} else {
		out, err = pushPairs(f, of, o, leftPairs[W, D]())
	}
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	return out, nil
}

// pairs is how strings and weights W are put together into G, whose weights are D.
type pairs[W, D, G any] struct {
	of      func(fst.Label, W) G
	weigh   func(*G, D) // replaces the weight
	split   func(G) (fst.Label, D, bool)
	factor  func(G) []Factors[G]
	divide  func(by, g G) G
	removed func(total G, o *PushOptions) G                       // the part of the total that goes
	labels  func(of fst.Expanded[W], o *PushOptions) ([]G, error) // the distances with 1̄ for each weight but 0̄
}

func leftPairs[W semiring.Component[W], D semiring.Component[D]]() pairs[W, D, semiring.GallicLeft[D]] {
	type G = semiring.GallicLeft[D]
	pair, wide := leftPair[D](), sums.Widening[W, D]()
	return pairs[W, D, G]{
		of:     func(l fst.Label, w W) G { return pair(l, wide(w)) },
		weigh:  func(g *G, w D) { g.Weight = w },
		split:  splitLeft[D],
		factor: FactorGallicLeft[D],
		divide: G.DivideLeft,
		removed: func(g G, o *PushOptions) G {
			if !o.RemoveCommonAffix {
				g.String = g.String.One()
			}
			if !o.RemoveTotalWeight {
				g.Weight = g.Weight.One()
			}
			return g
		},
		labels: func(of fst.Expanded[W], o *PushOptions) ([]G, error) {
			pair := leftPair[semiring.Boolean]()
			g, err := toGallic(of, func(l fst.Label, w W) semiring.GallicLeft[semiring.Boolean] {
				return pair(l, semiring.Boolean(!semiring.IsZero(w)))
			}, &run.Stopwatch{Op: "Push", Ctx: o.Ctx, Most: o.Bytes})
			if err != nil {
				return nil, err
			}
			b, err := pushDistances[semiring.GallicLeft[semiring.Boolean], semiring.GallicLeft[semiring.Boolean]](g, o)
			d := slices.Repeat([]G{semiring.Zero[G]()}, len(b))
			for q := range b {
				if b[q].Weight {
					d[q] = G{String: b[q].String, Weight: semiring.One[D]()}
				}
			}
			return d, err
		},
	}
}

func rightPairs[W semiring.Component[W], D semiring.Component[D]]() pairs[W, D, semiring.GallicRight[D]] {
	type G = semiring.GallicRight[D]
	pair, wide := rightPair[D](), sums.Widening[W, D]()
	return pairs[W, D, G]{
		of:     func(l fst.Label, w W) G { return pair(l, wide(w)) },
		weigh:  func(g *G, w D) { g.Weight = w },
		split:  splitRight[D],
		factor: FactorGallicRight[D],
		divide: G.DivideRight,
		removed: func(g G, o *PushOptions) G {
			if !o.RemoveCommonAffix {
				g.String = g.String.One()
			}
			if !o.RemoveTotalWeight {
				g.Weight = g.Weight.One()
			}
			return g
		},
		labels: func(of fst.Expanded[W], o *PushOptions) ([]G, error) {
			pair := rightPair[semiring.Boolean]()
			g, err := toGallic(of, func(l fst.Label, w W) semiring.GallicRight[semiring.Boolean] {
				return pair(l, semiring.Boolean(!semiring.IsZero(w)))
			}, &run.Stopwatch{Op: "Push", Ctx: o.Ctx, Most: o.Bytes})
			if err != nil {
				return nil, err
			}
			b, err := pushDistances[semiring.GallicRight[semiring.Boolean], semiring.GallicRight[semiring.Boolean]](g,
				o)
			d := slices.Repeat([]G{semiring.Zero[G]()}, len(b))
			for q := range b {
				if b[q].Weight {
					d[q] = G{String: b[q].String, Weight: semiring.One[D]()}
				}
			}
			return d, err
		},
	}
}

// pairDistances returns the distances of the pairs of strings and weights of f.
//
// Sums of pairs over cycles are reached within Delta. Only the number of turns tells then whether a
// sum diverges. Sums of the weights alone, the second parts, are solved exactly or found to
// diverge. Before, on two states with 40 arcs, the weight of a string with its total removed was
// off by 0.005, and a cycle that sums to 1 had a total of -6.9.
//
// With KeepWeights, if there are infinitely many paths, they are the distances of the labels alone.
func pairDistances[W semiring.Component[W], D semiring.Component[D], G semiring.Approx[G]](f fst.Expanded[W], o *PushOptions, p pairs[W, D, G]) (d []G, alone bool, err error) {
	if _, path := any(semiring.Zero[W]()).(semiring.Path[W]); path || o.Truncate || fst.PropertiesOf(f, fst.Cyclic|fst.Acyclic)&fst.Cyclic == 0 {
		g, err := toGallic(f, p.of, &run.Stopwatch{Op: "Push", Ctx: o.Ctx, Most: o.Bytes})
		if err != nil {
			return nil, false, err
		}
		d, err = pushDistances[G, G](g, o)
		return d, false, err
	}
	w, err := pushDistances[W, D](f, o)
	alone = o.KeepWeights && errors.Is(err, ErrNotClosed)
	if err != nil && !alone {
		return nil, false, err
	}
	if d, err = p.labels(f, o); err != nil {
		return nil, false, err
	}
	if !alone {
		for q := range w {
			if semiring.IsZero(w[q]) { // also where the labels are known, but no sums settle and the start does not lead
				d[q] = semiring.Zero[G]()
			} else {
				p.weigh(&d[q], w[q])
			}
		}
	}
	return d, alone, nil
}

// pushPairs pushes f as an acceptor over pairs G, by the distances on of.
func pushPairs[W semiring.Component[W], D semiring.Component[D], G semiring.Approx[G]](f, of fst.Expanded[W],
	o *PushOptions,
	p pairs[W, D, G]) (*fst.Vector[W], error) {
	m := o.Limits.workspace().meter("Push").AtOnce()
	size := run.SizeOf[G](f.NumStates(), int64(fst.NumArcs(f)))
	size.Bytes *= 2 // what distances are measured on, and what is pushed
	if err := m.Check(size); err != nil {
		return nil, err
	}
	d, alone, err := pairDistances(of, o, p)
	if err != nil {
		return nil, err
	}
	g, err := toGallic(f, p.of, &run.Stopwatch{Op: "Push", Ctx: o.Ctx, Most: o.Bytes})
	if err != nil {
		return nil, err
	}
	var total G
	if all := totalWeight(g, d, !o.ToFinal); !semiring.IsZero(all) && (o.RemoveTotalWeight || o.RemoveCommonAffix) {
		if total = p.removed(all, o); alone {
			p.weigh(&total, semiring.One[D]()) // weights stay where they are, all of them
		}
	} else {
		total = semiring.One[G]()
	}
	if err := reweightBy(g, d, total, o.ToFinal, p.divide); err != nil {
		return nil, err
	}
	out, err := spellOut("Push", g, p.factor, roundedSplit[W](p.split), o.Limits, machineBytes[G](g, o.Limits))
	if err != nil {
		return nil, err
	}
	if err := CheckLimits("Push", out, o.Limits); err != nil {
		return nil, err
	}
	return out, nil
}

// PushWeights is Push for weights only, in place, and for any divisible weights; opts.Labels and
// what belongs to it are not looked at. Pushing to the final states divides on the right, and is an
// error around ErrCapability where the weights cannot. After an error f is as it was, but where
// that wraps ErrNotMember: then it is half changed.
func PushWeights[W divisible[W]](f *fst.Vector[W], opts *PushOptions) error {
	var o PushOptions
	if opts != nil {
		o = *opts
	}
	switch f := any(f).(type) {
	case *fst.Vector[semiring.Log]:
		return pushWeights(f, &o, func() ([]semiring.Log64, error) { return pushDistances[semiring.Log, semiring.Log64](f, &o) })
	case *fst.Vector[sums.CarriedProduct]:
		return pushWeights(f, &o, func() ([]sums.CarriedProduct64, error) {
			return pushDistances[sums.CarriedProduct, sums.CarriedProduct64](f, &o)
		})
	}
	return pushWeights(f, &o, func() ([]W, error) { return pushDistances[W, W](f, &o) })
}

// pushWeights is PushWeights with the distances to push by.
func pushWeights[W semiring.Weight[W], D divisible[D]](f *fst.Vector[W], o *PushOptions, distances func() ([]D, error)) error {
	m := o.Limits.meter("Push").AtOnce()
	size := run.SizeOf[W](f.NumStates(), int64(f.NumArcs()))
	total := semiring.One[D]()
	size.Bytes += int64(f.NumStates()) * int64(unsafe.Sizeof(total))
	if err := m.Check(size); err != nil {
		return err
	}
	d, err := distances()
	if err != nil {
		return err
	}
	if o.RemoveTotalWeight {
		total = totalWeight(f, d, !o.ToFinal)
	}
	divide := D.DivideLeft
	if o.ToFinal {
		if _, ok := any(total).(semiring.RightDivisible[D]); !ok {
			return capabilityError[W]("Push", "division on the right")
		}
		divide = func(a, c D) D { return any(a).(semiring.RightDivisible[D]).DivideRight(c) }
	}
	if o.Limits.any() { // the last look before f is changed
		size := run.SizeOf[W](f.NumStates(), int64(f.NumArcs()))
		if reweightAddsStart(f, d) {
			size = run.SizeOf[W](size.States+1, size.Arcs+1)
		}
		if err := m.CheckNow(size); err != nil {
			return err
		}
	}
	return reweightBy(f, d, total, o.ToFinal, divide)
}

// pushDistances returns the distances to the final states, or from the start.
func pushDistances[W semiring.Approx[W], D semiring.Approx[D]](f fst.Expanded[W], o *PushOptions) ([]D, error) {
	so := ShortestDistanceOptions{Delta: o.Delta, Truncation: o.Truncation, Limits: o.workspace()}
	distances := distancesToFinal[W, D]
	if o.ToFinal {
		distances = shortestDistance[W, D]
	}
	d, err := distances(f, &so)
	if err == nil && o.Delta > 0 && !o.Truncate && nearTie(f, d, so.Reverse, o.Delta) {
		so.Truncation = Truncation{Truncate: true, Divergent: true} // none does
		d, err = distances(f, &so)
	}
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		return nil, renamed(err, "Push")
	}
	if err != nil {
		return nil, &partError{"Push", err}
	}
	// Where distances are strings, an arc is multiplied by one before it is divided by another.
	// What is left may keep all of the product in memory.
	if heap := run.HeapOf[D](); heap != nil && o.Bytes > 0 {
		m := o.Limits.workspace().meter("Push")
		size := run.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f)))
		for q := range fst.StateID(len(d)) {
			size.Bytes += heap(&d[q])
			for _, e := range f.Arcs(q) {
				if o.ToFinal {
					size.Bytes += heap(&d[q])
				} else {
					size.Bytes += heap(&d[e.NextState])
				}
			}
		}
		if err := m.Check(size); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// roundedSplit is split with the weight in the weights of the machine.
func roundedSplit[W, D, G any](split func(G) (fst.Label, D, bool)) func(G) (fst.Label, W, bool) {
	narrow := sums.Narrowing[W, D]()
	return func(g G) (fst.Label, W, bool) {
		l, w, ok := split(g)
		return l, narrow(w), ok
	}
}

// costOf returns what the product of two pairs of a string and a tropical weight costs, nil for
// weights that are no such pairs. Sums are rounded as the weights' own are: else each would seem to
// differ from itself.
func costOf[G any]() func(a, b *G) float64 {
	var f func(a, b *G) float64
	switch f := any(&f).(type) {
	case *func(a, b *semiring.GallicLeft[semiring.Tropical]) float64:
		*f = func(a, b *semiring.GallicLeft[semiring.Tropical]) float64 { return float64(a.Weight.Times(b.Weight)) }
	case *func(a, b *semiring.GallicRight[semiring.Tropical]) float64:
		*f = func(a, b *semiring.GallicRight[semiring.Tropical]) float64 { return float64(a.Weight.Times(b.Weight)) }
	case *func(a, b *semiring.GallicLeft[semiring.Tropical64]) float64:
		*f = func(a, b *semiring.GallicLeft[semiring.Tropical64]) float64 { return float64(a.Weight.Times(b.Weight)) }
	case *func(a, b *semiring.GallicRight[semiring.Tropical64]) float64:
		*f = func(a, b *semiring.GallicRight[semiring.Tropical64]) float64 {
			return float64(a.Weight.Times(b.Weight))
		}
	}
	return f
}

// nearTie reports whether some state has two ways of reaching it whose costs differ, but by no more
// than delta, where the better one is the distance d. In reverse these are ways of going on from
// the state. A relaxation that comes by the other way first would miss the better one, as OpenFst
// does; exact sums do not. Without such ties both give the same distances. The check reads each arc
// once. Near ties are rare among weights that are not made to be so close.
func nearTie[W semiring.Weight[W], G semiring.Weight[G]](f fst.Expanded[W], sums []G, reverse bool,
	delta float64) bool {
	cost := costOf[W]()
	if cost == nil {
		return false
	}
	d := any(sums).([]W) // such pairs are carried as they are
	one := semiring.One[W]()
	tie := func(other, best float64) bool { return other > best && other <= best+delta*(1+1e-6) }
	for q := range fst.StateID(len(d)) {
		at := cost(&d[q], &one)
		if reverse {
			final := f.Final(q)
			if tie(cost(&final, &one), at) {
				return true
			}
		} else if q == f.Start() && tie(cost(&one, &one), at) {
			return true
		}
		arcs := f.Arcs(q)
		for i := range arcs {
			e := &arcs[i]
			if reverse && tie(cost(&e.Weight, &d[e.NextState]), at) || !reverse &&
				tie(cost(&d[q], &e.Weight), cost(&d[e.NextState], &one)) {
				return true
			}
		}
	}
	return false
}
