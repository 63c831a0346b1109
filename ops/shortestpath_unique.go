package ops

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ShortestPathUnique is ShortestPath for distinct strings: of all paths of the
// acceptor f with one string only a best one counts, so that the result has the
// opts.N best strings, each with its best weight. ε counts as a symbol of the
// string: remove it first (RmEpsilon) where it should not.
//
// The reversed machine is determinized as far as the search goes, with distances carried along, so
// f need not be determinizable. Residual weights are rounded to multiples of Delta, as OpenFst
// does, where the weights can be; a negative Delta compares them exactly. On a machine with cycles
// of weight 1̄ that cannot be determinized there may be ever new subsets at one distance, and
// OpenFst does not come back; here it is ErrEndless after MaxVisits of them without a path. For N =
// 1 it is ShortestPath. A transducer is ErrNotAcceptor.
//
// After M. Mohri and M. Riley, "An efficient algorithm for the n-best-strings
// problem", ICSLP 2002.
func ShortestPathUnique[W interface {
	PathWeight[W]
	semiring.Divisible[W]
	semiring.Commutative[W]
}](f fst.Expanded[W], opts *ShortestPathOptions[W]) (*fst.Vector[W], error) {
	var o ShortestPathOptions[W]
	if opts != nil {
		o = *opts
	}
	if o.N == 0 || o.N == 1 || o.N < 0 || o.N > math.MaxInt32 {
		return ShortestPath(f, opts)
	}
	if err := thresholdMember("ShortestPathUnique", o.Threshold); err != nil {
		return nil, err
	}
	known := fst.PropertiesOf[W](f, fst.Acceptor|fst.Acyclic)
	if !known.Has(fst.Acceptor) {
		return nil, fmt.Errorf("ops: ShortestPathUnique: %w", ErrNotAcceptor)
	}
	d, err := reversedDistances(f, &o)
	if err != nil {
		return nil, err
	}
	if f.Start() == fst.NoState {
		return nShortest(f, &o, &nBestInput[W]{start: fst.NoState})
	}
	r, err := reversed(f, &run.Stopwatch{Op: "ShortestPathUnique", Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	det, err := newAcceptorDeterminizer(fst.Fst[W](r), &DeterminizeOptions{})
	if err != nil {
		return nil, err
	}
	det.m.delta = residualRounding[W](o.distances().delta(true))
	det.m.op, det.m.guard = "ShortestPathUnique", nil // it never runs to the end
	n, narcs := f.NumStates(), int64(fst.NumArcs(f))
	base := run.SizeOf[W](n+1, narcs+int64(n)).Bytes + int64(n)*int64(unsafe.Sizeof(d[0]))
	u := &uniquePaths[W]{det: det}
	det.m.added = func(subset []element[W]) {
		sum := semiring.Zero[W]()
		for _, e := range subset {
			sum = sum.Plus(e.residual.Times(d[e.state]))
		}
		u.distance = append(u.distance, sum)
	}
	start, err := det.Start()
	if err != nil {
		return nil, err
	}
	endless := int64(math.MaxInt64) // of a machine without cycles there are only so many sets of states
	if !known.Has(fst.Acyclic) {
		endless = o.distances().maxVisits(f.NumStates())
	}
	return nShortest(f, &o, &nBestInput[W]{
		op:       det.m.op,
		bytes:    func() int64 { return base + u.bytes() },
		start:    start,
		arcs:     func(q fst.StateID) []fst.Arc[W] { return u.at(q).arcs },
		final:    func(q fst.StateID) W { return u.at(q).final },
		distance: func(q fst.StateID) W { return u.distance[q] },
		err:      func() error { return u.err },
		endless:  endless,
	})
}

// uniquePaths is a determinized machine as far as it has been looked at.
type uniquePaths[W semiring.Divisible[W]] struct {
	det      *acceptorDeterminizer[W]
	distance []W
	states   []*uniqueState[W]
	scratch  []fst.Arc[W]
	arcs     int64 // of the states
	err      error
}

type uniqueState[W any] struct {
	final W
	arcs  []fst.Arc[W]
}

// bytes is what the subsets, their distances and their arcs take.
func (u *uniquePaths[W]) bytes() int64 {
	var w W
	m := &u.det.m
	return m.table.bytes() + m.alg.bytes() + int64(cap(u.distance))*int64(unsafe.Sizeof(w)) +
		run.SizeOf[W](0, u.arcs).Bytes + int64(len(u.states))*48
}

func (u *uniquePaths[W]) at(q fst.StateID) *uniqueState[W] {
	for int(q) >= len(u.states) {
		u.states = append(u.states, nil)
	}
	if u.states[q] == nil {
		s := &uniqueState[W]{final: semiring.Zero[W]()}
		if u.err == nil {
			final, arcs, err := u.det.Expand(q, u.scratch[:0])
			u.scratch = arcs
			if u.err = err; err == nil {
				s.final, s.arcs = final, slices.Clone(arcs)
				u.arcs += int64(len(arcs))
			}
		}
		u.states[q] = s
	}
	return u.states[q]
}

// residualRounding rounds to multiples of delta as OpenFst does, even where weights have
// no digits left for it, since which strings tie is decided so. It is nil for zero, and for
// weights that cannot be rounded.
func residualRounding[W semiring.Weight[W]](delta float64) func(W) W {
	if _, ok := any(semiring.Zero[W]()).(semiring.Quantizable[W]); !ok || delta == 0 {
		return nil
	}
	round := func(w W) W { return any(w).(semiring.Quantizable[W]).Quantize(delta) }
	switch round := any(&round).(type) {
	case *func(semiring.Tropical) semiring.Tropical:
		*round = func(w semiring.Tropical) semiring.Tropical { return w.Quantize(delta) }
	case *func(semiring.Tropical64) semiring.Tropical64:
		*round = func(w semiring.Tropical64) semiring.Tropical64 { return w.Quantize(delta) }
	}
	return round
}
