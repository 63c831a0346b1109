// Package subsets has the states of determinization, which are sets of states with residuals, and
// the order in which the contributions to one state are summed.
//
// A Table numbers subsets, and the operation that makes them compares them. Order puts the arcs out
// of a subset by label and next state.
package subsets

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/run"
)

// Element is a state of the input in a subset, with its residual.
type Element[R any] struct {
	State    fst.StateID
	Residual R
}

// Table numbers subsets in the order in which they first appear.
//
// Elements lie in pages without pointers of their own, back to back; a subset never straddles two.
// Keys are compared as states and exact residuals. Rivals: a Go map keyed by strings of bytes holds
// every subset twice. One slab that doubles copies everything, and holds three times its contents
// while it does.
type Table[R any] struct {
	Refs []Ref        // of each subset
	Seed maphash.Seed // of the hashes

	// Alone holds the subsets of one state with residual 1̄, by state, biased by one. Most of what
	// a lexicon is determinized into is found without a hash. Where the number of input states is
	// not known beforehand, it is empty, and these are found as all others.
	Alone []fst.StateID

	Largest fst.StateID // the subset with the most elements, the first of these
	most    int32       // and how many

	pages [][]Element[R]
	spare [][]Element[R] // empty pages of an earlier construction
	index engine.Index
	held  int64 // bytes in pages
}

// Ref places a subset, and says how it was first reached.
type Ref struct {
	Parent      fst.StateID // NoState for the start
	Label       fst.Label
	page, at, n int32
}

const pageElements = 1 << 12

// NewTable returns an empty table.
func NewTable[R any]() Table[R] { return Table[R]{Seed: maphash.MakeSeed()} }

// Len returns the number of subsets.
func (t *Table[R]) Len() int { return len(t.Refs) }

// Of returns the elements of subset q, by increasing state.
func (t *Table[R]) Of(q fst.StateID) []Element[R] {
	r := &t.Refs[q]
	return t.pages[r.page][r.at : r.at+r.n : r.at+r.n]
}

// Place returns the page that subset q is in, and where it begins there.
func (t *Table[R]) Place(q fst.StateID) (page, at int32) { return t.Refs[q].page, t.Refs[q].at }

// From returns the elements of the page of subset q from its i-th on, those of the subsets behind
// it too.
func (t *Table[R]) From(q fst.StateID, i int) []Element[R] {
	r := &t.Refs[q]
	return t.pages[r.page][int(r.at)+i:]
}

// Bytes is what the table takes.
func (t *Table[R]) Bytes() int64 {
	return t.held + int64(cap(t.Refs))*int64(unsafe.Sizeof(Ref{})) + t.index.Bytes() + 4*int64(cap(t.Alone))
}

// Probe begins a search for the subsets with the hash.
func (t *Table[R]) Probe(hash uint32) engine.Probe { return t.index.Probe(hash) }

// Add gives a new subset, of n elements for the caller to fill, the next number. The search for it
// ended at p, and Probe finds it from now on.
func (t *Table[R]) Add(p engine.Probe, n int, parent fst.StateID, label fst.Label) []Element[R] {
	t.index.AddAt(p, int32(len(t.Refs)))
	return t.Append(n, parent, label)
}

// Append is Add of a subset that need not be found by a hash.
func (t *Table[R]) Append(n int, parent fst.StateID, label fst.Label) []Element[R] {
	last := len(t.pages) - 1
	if last < 0 || len(t.pages[last])+n > cap(t.pages[last]) {
		// Small constructions start with small pages, doubling up to pageElements.
		size := max(n, min(pageElements, max(16, 2*len(t.Refs))))
		if k := len(t.spare) - 1; k >= 0 && cap(t.spare[k]) >= n {
			t.pages = append(t.pages, t.spare[k])
			size = cap(t.spare[k])
			t.spare = t.spare[:k]
		} else {
			t.pages = append(t.pages, make([]Element[R], 0, size))
		}
		t.held += int64(size) * int64(unsafe.Sizeof(Element[R]{}))
		last++
	}
	at := len(t.pages[last])
	t.pages[last] = t.pages[last][:at+n]
	if int32(n) > t.most {
		t.most, t.Largest = int32(n), fst.StateID(len(t.Refs))
	}
	if len(t.Refs) == cap(t.Refs) {
		t.Refs = slices.Grow(t.Refs, max(64, len(t.Refs))) // doubling: append by quarters copies five times as much
	}
	t.Refs = append(t.Refs, Ref{page: int32(last), at: int32(at), n: int32(n), Parent: parent, Label: label})
	return t.pages[last][at : at+n]
}

// Reset empties the table and keeps some of its memory.
func (t *Table[R]) Reset() {
	kept := 0
	spare := t.spare[:0]
	for _, p := range append(t.pages, t.spare...) {
		if kept += cap(p); kept <= run.KeptScratch {
			clear(p)
			spare = append(spare, p[:0])
		}
	}
	index, refs := t.index, t.Refs[:0]
	index.Clear()
	if index.Size() > run.KeptScratch {
		index, refs = engine.Index{}, nil
	}
	alone := t.Alone
	clear(alone)
	if cap(alone) > run.KeptScratch {
		alone = nil
	}
	*t = Table[R]{spare: spare, Refs: refs, index: index, Alone: alone[:0], Seed: t.Seed}
}
