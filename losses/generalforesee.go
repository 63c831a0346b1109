package losses

import (
	"errors"

	"github.com/tropica-fst/tropica/fst"
)

// outgrown returns the error of an automaton of all strings of a length whose states exceed the
// budget by far. Composition and determinization would find this out later. Other strings are not
// foreseen: clamped determinization stops soon enough.
func (o *editOrigin) outgrown() error {
	if o.opts.trial || o.opts.Band > 0 || o.edit.Band > 0 || !o.allStrings() {
		return nil
	}
	return o.outgrownColumns()
}

// allStrings reports whether the strings are all those of a length; the direct path can then decide
// at once.
func (o *editOrigin) allStrings() bool {
	l, err := chainLength(o.y)
	if err != nil || !o.opts.allPairs || l > 0 && len(o.y.Arcs(0)) < o.alphabet {
		return false
	}
	seen := make([]int, o.alphabet+1)
	for t := range fst.StateID(l) {
		n := 0
		for _, a := range o.y.Arcs(t) {
			if k := int(a.ILabel); k >= 1 && k <= o.alphabet && seen[k] != int(t)+1 {
				seen[k] = int(t) + 1
				n++
			}
		}
		if n < o.alphabet {
			return false
		}
	}
	return true
}

// outgrownColumns is outgrown where the columns of the direct path alone are beyond the budget,
// which that path foresees in a fraction of a second. It is an estimate: the automaton had from a
// fourth of those columns to all of them, see testdata/bench/NOTES.md. A state of it takes at least
// five times the bytes, as it has an arc for each symbol, and is copied once.
func (o *editOrigin) outgrownColumns() error {
	l := o.y.NumStates() - 1
	if o.edit.cells(len(o.ref), l) > 1<<20 {
		return nil // what is longer is refused before anything is composed
	}
	e := o.edit
	e.Budget = Budget{Ctx: o.opts.Ctx, Bytes: newStages(o.opts.Limits).Bytes}
	var over *BudgetError
	if _, err := built(e.columns(o.ref, o.alphabet, l)); !errors.As(err, &over) {
		return nil // and what other errors there are the path finds itself
	}
	return &BudgetError{Stage: stageForeseen, Columns: over.Columns, Bytes: over.Bytes, Limit: over.Limit,
		Length: over.Length, Layer: over.Layer, advice: o.opts.advice}
}
