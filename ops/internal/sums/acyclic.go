package sums

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// IsTopSorted looks whether every arc goes up. On a machine that is not sorted
// the answer mostly comes after a few arcs.
func IsTopSorted[W any](f fst.Expanded[W]) bool {
	known := fst.Properties(0)
	if p, ok := any(f).(fst.Propertied); ok {
		known = p.KnownProperties()
	}
	if known&(fst.TopSorted|fst.NotTopSorted) != 0 {
		return known&fst.TopSorted != 0
	}
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i := range arcs {
			if arcs[i].NextState <= q {
				return false
			}
		}
	}
	return true
}

// SweepForward sums over the paths from sources (nil: the start state) along
// the topological order (nil: ids). The error is that of the context.
func SweepForward[W semiring.Weight[W], D semiring.Weight[D]](f fst.Expanded[W],
	order, sources []fst.StateID, w *run.Stopwatch) ([]D, error) {
	n := f.NumStates()
	d := slices.Repeat([]D{semiring.Zero[D]()}, n)
	if sources == nil {
		s := f.Start()
		if s == fst.NoState {
			return d, nil
		}
		sources = []fst.StateID{s}
	}
	for _, s := range sources {
		d[s] = d[s].One()
	}
	if sums, ok := any(d).([]semiring.Log64); ok {
		switch f := any(f).(type) {
		case fst.Expanded[semiring.Log]:
			return d, sweepLog(f, order, sums, w)
		case fst.Expanded[semiring.Log64]:
			return d, sweepLog(f, order, sums, w)
		}
	}
	relax := RowsOf[W, D]().Relax
	for i := range n {
		q := fst.StateID(i)
		if order != nil {
			q = order[i]
		}
		arcs := f.Arcs(q)
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, err
		}
		relax(d, d[q], arcs)
	}
	return d, nil
}

// sweepLog is sweepForward over the log semirings; d holds 1̄ at the sources and
// 0̄ elsewhere.
func sweepLog[T Float](f fst.Expanded[T], order []fst.StateID, d []semiring.Log64, w *run.Stopwatch) error {
	sums := make([]semiring.LogSum, len(d))
	for q := range sums {
		if d[q] == 0 {
			sums[q].Add(0)
		}
	}
	for i := range d {
		q := fst.StateID(i)
		if order != nil {
			q = order[i]
		}
		x := sums[q].Sum()
		d[q] = semiring.Log64(x)
		if math.IsInf(x, 1) {
			continue
		}
		arcs := f.Arcs(q)
		if err := w.Spend(1 + len(arcs)); err != nil {
			return err
		}
		for i := range arcs {
			sums[arcs[i].NextState].Add(x + float64(arcs[i].Weight))
		}
	}
	return nil
}

// SweepReverse sums over the paths to final states. The error is that of the context.
func SweepReverse[W semiring.Weight[W], D semiring.Weight[D]](f fst.Expanded[W], order []fst.StateID,
	w *run.Stopwatch) ([]D, error) {
	n := f.NumStates()
	d := make([]D, n)
	sum := RowsOf[W, D]().Sum
	for i := n - 1; i >= 0; i-- {
		q := fst.StateID(i)
		if order != nil {
			q = order[i]
		}
		arcs := f.Arcs(q)
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, err
		}
		d[q] = sum(d, arcs, f.Final(q))
	}
	return d, nil
}

// sweepSized is the sweep of an acyclic machine whose weights hold strings, which stops once the
// distances hold more than bytes; 0 is no limit.
func sweepSized[W semiring.Weight[W], D semiring.Weight[D]](op string, f fst.Expanded[W],
	order, sources []fst.StateID, reverse bool, bytes int64, w *run.Stopwatch) ([]D, error) {
	heap := run.HeapOf[D]()
	n := f.NumStates()
	d := slices.Repeat([]D{semiring.Zero[D]()}, n)
	if !reverse {
		for _, s := range sources {
			d[s] = d[s].One()
		}
	}
	rows := RowsOf[W, D]()
	held := int64(0)
	for i := range n {
		if reverse {
			i = n - 1 - i
		}
		q := fst.StateID(i)
		if order != nil {
			q = order[i]
		}
		if err := w.Spend(1 + len(f.Arcs(q))); err != nil {
			return nil, err
		}
		// What a state's distance is, is known when its turn comes, in both directions.
		if reverse {
			d[q] = rows.Sum(d, f.Arcs(q), f.Final(q))
		}
		if held += heap(&d[q]); held > bytes {
			return nil, run.Errors.Limit(run.Exceeded{Op: op, Limit: "bytes", Bound: bytes,
				Built: run.Progress{Bytes: held}, Cause: run.ErrLimit})
		}
		if !reverse {
			rows.Relax(d, d[q], f.Arcs(q))
		}
	}
	return d, nil
}
