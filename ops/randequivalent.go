package ops

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// RandEquivalentOptions adjusts RandEquivalent; nil is the same as the zero value.
type RandEquivalentOptions struct {
	NPath     int         // how many paths to try; zero is one, negative none
	MaxLength int         // as in RandGenOptions
	Select    ArcSelector // how paths are drawn
	Delta     float64     // difference of weights to pass over; zero is none
	Limits                // of each machine that is built for a path
}

// PairDistinction is a pair of strings that two machines weigh differently.
type PairDistinction struct {
	Input, Output []fst.Label
	A, B          string // printed weights of the pair

	isyms, osyms *fst.SymbolTable // for String
}

func (d *PairDistinction) String() string {
	return fmt.Sprintf("input %s with output %s has weight %s in the first machine and %s in the second",
		shortSymbols(d.isyms, d.Input), shortSymbols(d.osyms, d.Output), d.A, d.B)
}

// RandEquivalent compares two transducers on the strings of random paths. Each path is drawn from
// one of the two at random, or from the other where one has no path. It returns the first pair of
// strings that they weigh differently, nil if none was met. nil is therefore no proof that they are
// equivalent. Any machines will do, deterministic or not, with ε or not; the symbol tables must
// agree.
//
// A pair whose weight is an infinite sum that does not settle is passed over.
//
// Cost: for each path two compositions with either machine, which is sorted
// first, and a shortest distance of what comes out.
func RandEquivalent[W semiring.Approx[W]](a, b fst.Expanded[W], rng *rand.Rand, opts *RandEquivalentOptions) (*PairDistinction, error) {
	var o RandEquivalentOptions
	if opts != nil {
		o = *opts
	}
	if err := CompatibleSymbols("RandEquivalent", a, b); err != nil {
		return nil, err
	}
	var sides [2]*fst.Vector[W]
	for i, f := range []fst.Expanded[W]{a, b} {
		g := copyOf(f)
		g.SetInputSymbols(nil)
		g.SetOutputSymbols(nil)
		Connect(g)
		ArcSort(g, Input)
		sides[i] = g
	}
	n := o.NPath
	if n == 0 {
		n = 1
	}
	// stopped is err, that of the context with how far this came: which part it ended is of no
	// interest.
	stopped := func(err error, paths int) error {
		if ctx := o.Ctx; ctx != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return &pathsError{LimitError{Op: "RandEquivalent", Limit: "context", Cause: ctx.Err()}, paths}
		}
		return err
	}
	// compare returns the distinction that path shows, nil if it shows none.
	compare := func(path *fst.Vector[W]) (*PairDistinction, error) {
		var sums [2]W
		for i, f := range sides {
			var err error
			if sums[i], err = pairWeight(path, f, o.Limits); errors.Is(err, ErrNotClosed) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
		}
		if sums[0].Near(sums[1], o.Delta) {
			return nil, nil
		}
		d := &PairDistinction{A: fmt.Sprint(sums[0]), B: fmt.Sprint(sums[1]),
			isyms: cmp.Or(fst.InputSymbols(a), fst.InputSymbols(b)), osyms: cmp.Or(fst.OutputSymbols(a), fst.OutputSymbols(b))}
		for p := range fst.Paths(path, &fst.PathsOptions{MaxPaths: 1}) {
			d.Input, d.Output = p.Input(), p.Output()
		}
		return d, nil
	}
	empty := [2]bool{sides[0].NumStates() == 0, sides[1].NumStates() == 0}
	if empty[0] && empty[1] {
		return nil, nil
	}
	for i, f := range sides {
		if n > 0 && empty[1-i] { // any path of the other will do, of whatever length
			if d, err := compare(shortestChain(f)); d != nil || err != nil {
				return d, stopped(err, 0)
			}
		}
	}
	for k := range n {
		side := rng.IntN(2)
		if empty[side] {
			side = 1 - side
		}
		path, err := RandGen(sides[side], rng, &RandGenOptions{Select: o.Select, MaxLength: o.MaxLength, Limits: o.Limits})
		if err != nil {
			return nil, stopped(err, k)
		}
		if d, err := compare(path); d != nil || err != nil {
			return d, stopped(err, k)
		}
	}
	return nil, nil
}

// shortestChain returns a path of the fewest arcs from the start of f to a final state as a
// machine, all weights 1̄: an empty machine where none is found.
func shortestChain[W semiring.Weight[W]](f *fst.Vector[W]) *fst.Vector[W] {
	arcs, ok := pathToFinal[W](f, f.Start())
	if !ok {
		return fst.NewVector[W](0)
	}
	path := fst.NewVector[W](len(arcs) + 1)
	path.AddStates(len(arcs) + 1)
	path.SetStart(0)
	q := f.Start()
	for i, k := range arcs {
		e := f.Arcs(q)[k]
		q = e.NextState
		e.Weight, e.NextState = semiring.One[W](), fst.StateID(i+1)
		path.AddArc(fst.StateID(i), e)
	}
	path.SetFinal(fst.StateID(len(arcs)), semiring.One[W]())
	return path
}

// pathsError is a LimitError that tells how many paths had been tried.
type pathsError struct {
	limit LimitError
	paths int
}

func (e *pathsError) Error() string { return fmt.Sprintf("%v after %d paths", &e.limit, e.paths) }
func (e *pathsError) Unwrap() error { return &e.limit }

// pairWeight returns the weight that f, sorted by input, gives to the strings of
// path.
func pairWeight[W semiring.Approx[W]](path, f *fst.Vector[W], lim Limits) (w W, err error) {
	left, err := Compose(fst.Fst[W](Projected(path, Input)), f, &ComposeOptions{Limits: lim})
	if err != nil {
		return w, err
	}
	both, err := Compose(fst.Fst[W](left), ArcSorted(Projected(path, Output), Input), &ComposeOptions{Limits: lim})
	if err != nil {
		return w, err
	}
	if both.Start() == fst.NoState {
		return semiring.Zero[W](), nil
	}
	d, err := ShortestDistance(both, &ShortestDistanceOptions{Reverse: true, Limits: Limits{Ctx: lim.Ctx}})
	if err != nil {
		return w, err
	}
	return d[both.Start()], nil
}
