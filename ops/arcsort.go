package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ArcSort sorts the arcs of each state of f in place. For Input that is by input label and then
// output label, for Output the other way round.
//
// Arcs whose two labels are alike come out in the order in which OpenFst 1.7.9 leaves them. That is
// as they were where the state has at most 16 arcs, and otherwise in the order that its library's
// introsort happens to give. The numbers of composed and determinized states depend on it.
//
// O(|E| log D) time, where D is the largest out-degree, and O(D) space. States
// that are in strict order already, which are most, cost a look at their arcs.
func ArcSort[W semiring.Weight[W]](f *fst.Vector[W], side Side) { ArcSortWorkers(f, side, 1) }

// ArcSortWorkers is ArcSort by several goroutines, between which the states are divided, and the
// arcs of states with many. The result is the same for any number of them.
func ArcSortWorkers[W semiring.Weight[W]](f *fst.Vector[W], side Side, workers int) {
	p := f.KnownProperties()
	const block = 4096 // states, or arcs where there are fewer states
	workers = Limits{Workers: workers}.workers(f.NumArcs()/block + 1)
	key := func(e *fst.Arc[W]) run.SortKey { return run.LabelKey(e.ILabel, e.OLabel) }
	if side == Output {
		key = func(e *fst.Arc[W]) run.SortKey { return run.LabelKey(e.OLabel, e.ILabel) }
	}
	if workers > 1 {
		run.SortStates(f, key, block, workers)
	} else {
		var s run.ArcSorter[W]
		for q := range fst.StateID(f.NumStates()) {
			if f.OutDegree(q) > 1 {
				s.Sort(f.MutableArcs(q), key)
			}
		}
	}
	const unsorted = fst.ILabelSorted | fst.NotILabelSorted | fst.OLabelSorted | fst.NotOLabelSorted
	p &^= unsorted
	if side == Input || p.Has(fst.Acceptor) {
		p |= fst.ILabelSorted
	}
	if side == Output || p.Has(fst.Acceptor) {
		p |= fst.OLabelSorted
	}
	f.SetProperties(p, fst.AllProperties)
}

// ArcSorted returns f with sorted arcs as a new machine; f stays as it is.
func ArcSorted[W semiring.Weight[W]](f fst.Expanded[W], side Side) *fst.Vector[W] {
	v := copyOf(f)
	ArcSort(v, side)
	return v
}
