package ops

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// PushOptions adjusts Push; nil is the same as the zero value.
type PushOptions struct {
	Labels bool // push output labels, too
	// KeepWeights, with Labels, has the labels alone say how far labels move. As in OpenFst, weights then move by the
	// numbers of paths, over semirings that are not idempotent, where these have an end; otherwise they stay.
	KeepWeights       bool
	ToFinal           bool // towards the final states; zero is towards the start
	RemoveTotalWeight bool // divide all by the sum of all accepting paths
	RemoveCommonAffix bool // with Labels: drop the output that all accepting paths begin (to the start) or end with

	// Delta is how close counts as settled in shortest distances, as there; with Labels over tropical weights, too.
	Delta float64

	// Limits holds for the result, and for the bytes of the machines between.
	Limits
}

// divisible is asked for by operations that push weights.
type divisible[W any] interface {
	semiring.Divisible[W]
	semiring.Approx[W]
}

// Push returns f with weights, output labels or both moved along its paths, as
// far as they are common to what follows: the weight, and output, of each
// accepting path stay as they are. Pushed to the start, weights leaving a state,
// its final weight included, sum to 1̄ at all states but the start, and no output
// label that all paths from a state share is put out after it. Pushed to the
// final states the same holds of the reversed machine.
//
// Where the whole has a weight or a common output and the start lies on a cycle,
// a new start state is added, the last one, with an ε-arc that carries them.
// Output strings longer than a label become chains of arcs with input ε, and
// what is left at a final state an arc to a new final state.
//
// States from which no final state is reached (or, to the final states, that
// are not reached) keep their weights. Weights must be k-closed for f, as
// ShortestDistance has it, and its errors come back.
//
// Cost: one shortest distance, and O(states + arcs). With Labels, distances are strings, each held by itself: what all
// paths from a state put out at least, which on a chain of n labels is n²/2 labels in all, in time and in memory. Limits.Bytes counts
// them.
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
	// Without the weights, the labels alone decide how far labels move.
	of := f
	if o.KeepWeights {
		v := copyOf(f)
		RmWeight(v)
		of = v
	}
	var out *fst.Vector[W]
	var err error
	if o.ToFinal {
		out, err = pushPairs(f, of, &o, rightPairs[W](), splitRight[W], FactorGallicRight[W], semiring.GallicRight[W].DivideRight,
			func(w semiring.GallicRight[W]) semiring.GallicRight[W] {
				if !o.RemoveCommonAffix {
					w.String = w.String.One()
				}
				if !o.RemoveTotalWeight {
					w.Weight = w.Weight.One()
				}
				return w
			})
	} else {
		out, err = pushPairs(f, of, &o, leftPairs[W](), splitLeft[W], FactorGallicLeft[W], semiring.GallicLeft[W].DivideLeft,
			func(w semiring.GallicLeft[W]) semiring.GallicLeft[W] {
				if !o.RemoveCommonAffix {
					w.String = w.String.One()
				}
				if !o.RemoveTotalWeight {
					w.Weight = w.Weight.One()
				}
				return w
			})
	}
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	return out, nil
}

// pairs is how strings and weights W are put together into G.
type pairs[W, G any] struct {
	of     func(fst.Label, W) G
	weigh  func(*G, W)                                           // replaces the weight
	labels func(of fst.Expanded[W], o *PushOptions) ([]G, error) // the distances with 1̄ for each weight but 0̄
}

func leftPairs[W semiring.Component[W]]() pairs[W, semiring.GallicLeft[W]] {
	type G = semiring.GallicLeft[W]
	return pairs[W, G]{leftPair[W](), func(g *G, w W) { g.Weight = w }, func(of fst.Expanded[W], o *PushOptions) ([]G, error) {
		pair := leftPair[semiring.Boolean]()
		g, err := toGallic(of, func(l fst.Label, w W) semiring.GallicLeft[semiring.Boolean] {
			return pair(l, semiring.Boolean(!semiring.IsZero(w)))
		}, &stopwatch{op: "Push", ctx: o.Ctx, most: o.Bytes})
		if err != nil {
			return nil, err
		}
		b, err := pushDistances(g, o)
		d := slices.Repeat([]G{semiring.Zero[G]()}, len(b))
		for q := range b {
			if b[q].Weight {
				d[q] = G{String: b[q].String, Weight: semiring.One[W]()}
			}
		}
		return d, err
	}}
}

func rightPairs[W semiring.Component[W]]() pairs[W, semiring.GallicRight[W]] {
	type G = semiring.GallicRight[W]
	return pairs[W, G]{rightPair[W](), func(g *G, w W) { g.Weight = w }, func(of fst.Expanded[W], o *PushOptions) ([]G, error) {
		pair := rightPair[semiring.Boolean]()
		g, err := toGallic(of, func(l fst.Label, w W) semiring.GallicRight[semiring.Boolean] {
			return pair(l, semiring.Boolean(!semiring.IsZero(w)))
		}, &stopwatch{op: "Push", ctx: o.Ctx, most: o.Bytes})
		if err != nil {
			return nil, err
		}
		b, err := pushDistances(g, o)
		d := slices.Repeat([]G{semiring.Zero[G]()}, len(b))
		for q := range b {
			if b[q].Weight {
				d[q] = G{String: b[q].String, Weight: semiring.One[W]()}
			}
		}
		return d, err
	}}
}

// pairDistances returns the distances of the pairs of strings and weights of f.
//
// Sums of pairs over cycles are reached within Delta, and of a sum that diverges nothing tells then but how many
// turns it took. Those of the weights alone, which are their second parts, are solved, or found to diverge: of two states with 40 arcs the
// weight of a string, its total removed, was off by 0.005, and of a cycle that sums to 1 a total of -6.9 was made.
//
// With KeepWeights, where the number of paths has no end, which nobody asked for, they are those of the labels alone.
func pairDistances[W semiring.Component[W], G semiring.Approx[G]](f fst.Expanded[W], o *PushOptions, p pairs[W, G]) (d []G, alone bool, err error) {
	if _, path := any(semiring.Zero[W]()).(semiring.Path[W]); path || fst.PropertiesOf(f, fst.Cyclic|fst.Acyclic)&fst.Cyclic == 0 {
		g, err := toGallic(f, p.of, &stopwatch{op: "Push", ctx: o.Ctx, most: o.Bytes})
		if err != nil {
			return nil, false, err
		}
		d, err = pushDistances(g, o)
		return d, false, err
	}
	w, err := pushDistances(f, o)
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
// removed is the part of the total that goes.
func pushPairs[W semiring.Component[W], G semiring.Approx[G]](f, of fst.Expanded[W], o *PushOptions, p pairs[W, G],
	split func(G) (fst.Label, W, bool), factor func(G) []Factors[G], divide func(a, c G) G, removed func(G) G) (*fst.Vector[W], error) {
	m := meter{op: "Push", lim: o.Limits.workspace(), calls: 255}
	size := sizeOf[G](f.NumStates(), int64(fst.NumArcs(f)))
	size.Bytes *= 2 // what distances are measured on, and what is pushed
	if err := m.check(size); err != nil {
		return nil, err
	}
	d, alone, err := pairDistances(of, o, p)
	if err != nil {
		return nil, err
	}
	g, err := toGallic(f, p.of, &stopwatch{op: "Push", ctx: o.Ctx, most: o.Bytes})
	if err != nil {
		return nil, err
	}
	var total G
	if all := totalWeight(g, d, !o.ToFinal); !semiring.IsZero(all) && (o.RemoveTotalWeight || o.RemoveCommonAffix) {
		if total = removed(all); alone {
			p.weigh(&total, semiring.One[W]()) // weights stay where they are, all of them
		}
	} else {
		total = semiring.One[G]()
	}
	if err := reweightBy(g, d, o.ToFinal, divide); err != nil {
		return nil, err
	}
	removeWeight(g, total, o.ToFinal, divide)
	out, err := spellOut("Push", g, factor, split, o.Limits, machineBytes[G](g, o.Limits))
	if err != nil {
		return nil, err
	}
	if err := CheckLimits("Push", out, o.Limits); err != nil {
		return nil, err
	}
	return out, nil
}

// PushWeights is Push for weights only, in place, and for any divisible weights;
// opts.Labels and what belongs to it are not looked at. Pushing to the
// final states divides on the right, and is an error around ErrCapability where
// the weights cannot. After an error f is as it was, but where that wraps ErrNotMember: then it is half changed.
func PushWeights[W divisible[W]](f *fst.Vector[W], opts *PushOptions) error {
	var o PushOptions
	if opts != nil {
		o = *opts
	}
	return pushWeights(f, &o, func() ([]W, error) { return pushDistances(f, &o) })
}

// pushWeights is PushWeights with the distances to push by.
func pushWeights[W divisible[W]](f *fst.Vector[W], o *PushOptions, distances func() ([]W, error)) error {
	m := meter{op: "Push", lim: o.Limits, calls: 255}
	size := sizeOf[W](f.NumStates(), int64(f.NumArcs()))
	var w W
	size.Bytes += int64(f.NumStates()) * int64(unsafe.Sizeof(w))
	if err := m.check(size); err != nil {
		return err
	}
	d, err := distances()
	if err != nil {
		return err
	}
	var total W
	if o.RemoveTotalWeight {
		total = totalWeight(f, d, !o.ToFinal)
	} else {
		total = semiring.One[W]()
	}
	divide := W.DivideLeft
	if o.ToFinal {
		if _, ok := any(total).(semiring.RightDivisible[W]); !ok {
			return capabilityError[W]("Push", "division on the right")
		}
		divide = func(a, c W) W { return any(a).(semiring.RightDivisible[W]).DivideRight(c) }
	}
	if o.Limits.any() { // the last look before f is changed
		size := sizeOf[W](f.NumStates(), int64(f.NumArcs()))
		if reweightAddsStart(f, d) {
			size = sizeOf[W](size.States+1, size.Arcs+1)
		}
		if err := m.look(size); err != nil {
			return err
		}
	}
	if err := reweightBy(f, d, o.ToFinal, divide); err != nil {
		return err
	}
	removeWeight(f, total, o.ToFinal, divide)
	return nil
}

// pushDistances returns the distances to the final states, or from the start.
func pushDistances[W semiring.Approx[W]](f fst.Expanded[W], o *PushOptions) ([]W, error) {
	so := ShortestDistanceOptions{Delta: o.Delta, Limits: o.workspace()}
	distances := distancesToFinal[W]
	if o.ToFinal {
		distances = ShortestDistance[W]
	}
	d, err := distances(f, &so)
	if err == nil && o.Delta > 0 && nearTie(f, d, so.Reverse, o.Delta) {
		so.relaxed = true
		d, err = distances(f, &so)
	}
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		return nil, renamed(err, "Push")
	}
	if err != nil {
		return nil, &partError{"Push", err}
	}
	// Where distances are strings, an arc is multiplied with one before it is divided by another,
	// and what is left may keep all of the product in memory.
	if heap := heapOf[W](); heap != nil && o.Bytes > 0 {
		m := meter{op: "Push", lim: o.Limits.workspace()}
		size := sizeOf[W](f.NumStates(), int64(fst.NumArcs(f)))
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
		if err := m.check(size); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// totalWeight is the sum of all accepting paths, from the distances.
func totalWeight[W semiring.Weight[W]](f fst.Expanded[W], d []W, reverse bool) W {
	sum := semiring.Zero[W]()
	if reverse {
		if s := f.Start(); s != fst.NoState {
			sum = d[s]
		}
		return sum
	}
	for q, w := range d {
		sum = sum.Plus(w.Times(f.Final(fst.StateID(q))))
	}
	return sum
}

// removeWeight divides all accepting paths by w, at the final states or at the
// start.
func removeWeight[W semiring.Weight[W]](f *fst.Vector[W], w W, atFinal bool, divide func(a, c W) W) {
	if semiring.IsOne(w) || semiring.IsZero(w) || f.Start() == fst.NoState {
		return
	}
	if atFinal {
		for q := range f.NumStates() {
			f.SetFinal(fst.StateID(q), divide(w, f.Final(fst.StateID(q))))
		}
		return
	}
	s := f.Start()
	arcs := f.MutableArcs(s)
	for i := range arcs {
		arcs[i].Weight = divide(w, arcs[i].Weight)
	}
	f.SetFinal(s, divide(w, f.Final(s)))
	f.SetProperties(0, fst.Weighted|fst.Unweighted|fst.WeightedCycles|fst.UnweightedCycles)
}

// reweightBy is ReweightToInitial or ReweightToFinal, where divide(a, c) takes a
// off c on the side that it asks for.
func reweightBy[W semiring.Weight[W]](f *fst.Vector[W], d []W, toFinal bool, divide func(a, c W) W) error {
	if toFinal {
		return reweight(f, d, func(vp, w, vq W) W { return divide(vq, vp.Times(w)) },
			func(vp, rho W) W { return vp.Times(rho) },
			func(v W) W { return divide(v, v.One()) }, true)
	}
	return reweight(f, d, func(vp, w, vq W) W { return divide(vp, w.Times(vq)) },
		divide, func(v W) W { return v }, false)
}
