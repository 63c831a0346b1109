package ops

import (
	"errors"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// EpsNormalize returns a transducer with the relation of f. On each of its paths the ε of the given
// side come after the labels of that side: all ε come last. There are no arcs with ε on both sides
// but for those that spell out what is left of an output string.
//
// No cycle may have more labels on the other side than on this, for then there are ever more
// left to come: that is an UnboundedOutputError with the cycle, around
// ErrUnboundedDelay, or ErrNotClosed where there is none on this side. It is met before the work
// that would not end, if and only if it would not; epsnormalizeend.go has the proof.
//
// The outputs become part of the weights, ε-arcs are removed, and the outputs spelled out again;
// states and arcs are OpenFst's. Cost: that of RmEpsilon, and O(states + arcs) of the result, times
// the length of the strings, which are held each by itself: n²/2 labels on a chain of n arcs with ε
// on the side and an output. Limits.Bytes counts them.
//
// After M. Mohri, "Generic epsilon-removal and input epsilon-normalization
// algorithms for weighted transducers", Int. J. Foundations of Computer Science
// 13(1):129-143, 2002.
func EpsNormalize[W semiring.Component[W]](f fst.Expanded[W], side Side, lim Limits) (*fst.Vector[W], error) {
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		out, err := epsNormalize[semiring.Log, semiring.Log64](f, side, lim)
		v, _ := any(out).(*fst.Vector[W])
		return v, err
	case fst.Expanded[sums.CarriedProduct]:
		out, err := epsNormalize[sums.CarriedProduct, sums.CarriedProduct64](f, side, lim)
		v, _ := any(out).(*fst.Vector[W])
		return v, err
	}
	return epsNormalize[W, W](f, side, lim)
}

// epsNormalize is EpsNormalize with weights that are D until they are in their place.
func epsNormalize[W semiring.Component[W], D semiring.Component[D]](f fst.Expanded[W], side Side, lim Limits) (*fst.Vector[W], error) {
	in := f
	// Before it is made: the machine with sets of strings, which is what takes most.
	room := &run.Stopwatch{Op: "EpsNormalize", Ctx: lim.Ctx, Most: lim.Bytes}
	if err := room.Hold(run.SizeOf[semiring.GallicUnion[D]](f.NumStates(), int64(fst.NumArcs(f))).Bytes); err != nil {
		return nil, err
	}
	if side == Output {
		c := copyOf(f)
		Invert(c)
		in = c
	}
	if err := endlessRemoval(in, side, lim); err != nil {
		return nil, err
	}
	// Sets of strings may be exponential in the machine. What earlier steps made counts beside
	// that of a later one, so that Limits.Bytes bounds all that is held at once.
	held := machineBytes(in, lim)
	wide := sums.Widening[W, D]()
	g, err := toGallic(in, func(l fst.Label, w W) semiring.GallicUnion[D] { return unionPair(l, wide(w)) }, room)
	if err != nil {
		return nil, err
	}
	begun := held + machineBytes[semiring.GallicUnion[D]](g, lim)
	if err := RmEpsilon(g, &RmEpsilonOptions{Limits: lim.workspace().beside(begun)}); err != nil {
		err = wholeOf(err, "EpsNormalize", lim, begun)
		var cycle *CycleError
		if errors.As(err, &cycle) { // g has the states and arcs of f, but weights that nobody knows
			cycle.Along = alongCycle(f, cycle.Cycle)
		}
		return nil, err
	}
	if err := endlessFactoring(g, in, side, lim); err != nil {
		return nil, err
	}
	out, err := spellOut("EpsNormalize", g, factorGallicUnion[D], roundedSplit[W](splitUnion[D]), lim, held+machineBytes[semiring.GallicUnion[D]](g, lim))
	if err != nil {
		return nil, err
	}
	out.CopySymbols(in)
	if side == Output {
		Invert(out)
	}
	return out, nil
}

func unionPair[W semiring.Component[W]](l fst.Label, w W) semiring.GallicUnion[W] {
	g := semiring.GallicRestricted[W]{Weight: w}
	if l != fst.Epsilon {
		g.String = semiring.NewStringRestricted(int32(l))
	}
	return semiring.NewGallicUnion(g)
}

func splitUnion[W semiring.Component[W]](g semiring.GallicUnion[W]) (fst.Label, W, bool) {
	switch {
	case g.Len() == 0:
		return fst.Epsilon, semiring.Zero[W](), true
	case g.Len() > 1 || !g.Member() || g.At(0).String.Len() > 1:
		return 0, semiring.Zero[W](), false
	}
	e := g.At(0)
	if e.String.Len() == 0 {
		return fst.Epsilon, e.Weight, true
	}
	return fst.Label(e.String.At(0)), e.Weight, true
}

// factorGallicUnion splits the first label off each string of a set, with the
// whole weight, unless there is one string of at most one label.
func factorGallicUnion[W semiring.Component[W]](g semiring.GallicUnion[W]) []Factors[semiring.GallicUnion[W]] {
	if g.Len() == 0 || g.Len() == 1 && g.At(0).String.Len() <= 1 {
		return nil
	}
	one := semiring.One[W]()
	var out []Factors[semiring.GallicUnion[W]]
	for i := range g.Len() {
		e := g.At(i)
		var labels []int32
		for k := range e.String.Len() {
			labels = append(labels, e.String.At(k))
		}
		n := min(1, len(labels))
		out = append(out, Factors[semiring.GallicUnion[W]]{
			First: semiring.NewGallicUnion(semiring.GallicRestricted[W]{String: semiring.NewStringRestricted(labels[:n]...), Weight: e.Weight}),
			Rest:  semiring.NewGallicUnion(semiring.GallicRestricted[W]{String: semiring.NewStringRestricted(labels[n:]...), Weight: one}),
		})
	}
	return out
}
