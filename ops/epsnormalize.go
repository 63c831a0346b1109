package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// EpsNormalize returns a transducer with the relation of f in which, on each path,
// no ε on the given side comes before a label on that side: all ε come last. There
// are no arcs with ε on both sides but for those that spell out what is left of an
// output string.
//
// No cycle may have ε only on the side and a label on the other, for then one string
// goes with infinitely many: that is a StateError around ErrNotClosed.
//
// The outputs become part of the weights, ε-arcs are removed, and the outputs
// spelled out again; states and arcs are OpenFst's. Cost: that of RmEpsilon, and
// O(states + arcs) of the result.
//
// After M. Mohri, "Generic epsilon-removal and input epsilon-normalization
// algorithms for weighted transducers", Int. J. Foundations of Computer Science
// 13(1):129-143, 2002.
func EpsNormalize[W semiring.Component[W]](f fst.Expanded[W], side Side, lim Limits) (*fst.Vector[W], error) {
	in := f
	if side == Output {
		c := copyOf(f)
		Invert(c)
		in = c
	}
	if endlessOutput(in) != nil {
		// What no path uses must not decide whether there is a result. Otherwise it
		// stays until ε-removal trims it: the order of arcs depends on it.
		c := copyOf(in)
		Connect(c)
		if err := endlessOutput[W](c); err != nil {
			return nil, fmt.Errorf("ops: EpsNormalize: on the %s: %w", side, err)
		}
		in = c
	}
	// Sets of strings may be exponential in the machine. What earlier steps made counts beside
	// that of a later one, so that Limits.Bytes bounds all that is held at once.
	held := machineBytes(in, lim)
	g := toGallic(in, unionPair[W])
	begun := held + machineBytes[semiring.GallicUnion[W]](g, lim)
	if err := RmEpsilon(g, &RmEpsilonOptions{Limits: lim.workspace().beside(begun)}); err != nil {
		return nil, wholeOf(err, "EpsNormalize", lim, begun)
	}
	out, err := spellOut("EpsNormalize", g, factorGallicUnion[W], splitUnion[W], lim, held+machineBytes[semiring.GallicUnion[W]](g, lim))
	if err != nil {
		return nil, err
	}
	out.CopySymbols(in)
	if side == Output {
		Invert(out)
	}
	return out, nil
}

// endlessOutput returns an error if f has a cycle with input ε and an output.
func endlessOutput[W semiring.Weight[W]](f fst.Expanded[W]) error {
	c, _ := findComponents(f, keepArcs[W](IEpsilonArc), 0)
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			if e.ILabel == fst.Epsilon && e.OLabel != fst.Epsilon && c.of[q] == c.of[e.NextState] {
				return &StateError{Op: "EpsNormalize", State: q, Err: fmt.Errorf("a cycle of ε puts out label %d again and again: %w", e.OLabel, ErrNotClosed)}
			}
		}
	}
	return nil
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
