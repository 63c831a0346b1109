package g2p

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// entry is a word with its pronunciations: numbers of pairs.
type entry struct {
	word  string
	pairs []int
}

// entries returns the words of pairs in the order in which they first occur. Words are
// what folds are made of and what errors are counted by.
func entries(pairs []Pair) []entry {
	var out []entry
	at := make(map[string]int, len(pairs))
	for i := range pairs {
		k, ok := at[pairs[i].Word]
		if !ok {
			k = len(out)
			at[pairs[i].Word] = k
			out = append(out, entry{word: pairs[i].Word})
		}
		out[k].pairs = append(out[k].pairs, i)
	}
	return out
}

// Words returns the pairs of the first n words, with all pronunciations of each; all
// pairs when there are no more words.
func Words(pairs []Pair, n int) []Pair {
	list := entries(pairs)
	return pick(pairs, list[:min(n, len(list))], nil)
}

// pick returns the pairs of entries, those with the given numbers or all for nil, in the
// order of pairs.
func pick(pairs []Pair, list []entry, numbers []int) []Pair {
	taken := make([]bool, len(pairs))
	take := func(e *entry) {
		for _, i := range e.pairs {
			taken[i] = true
		}
	}
	if numbers == nil {
		for k := range list {
			take(&list[k])
		}
	}
	for _, k := range numbers {
		take(&list[k])
	}
	var out []Pair
	for i, t := range taken {
		if t {
			out = append(out, pairs[i])
		}
	}
	return out
}

// heldOut are test words made ready for all models with the same features.
type heldOut struct {
	words     []compiled
	refs      [][][]int // of each word; unknown phones are -1, which no output has
	reachable int       // words with a reference that labels can spell, those of back-off too
	seen      int       // words with a reference that the letters' own labels can spell
	outside   []string  // names of the other words
	unseen    int
}

func newHeldOut(inv *Inventory, f *Features, pairs []Pair) (*heldOut, error) {
	h := &heldOut{}
	for _, e := range entries(pairs) {
		x, err := inv.letters(e.word)
		if err != nil {
			return nil, fmt.Errorf("held-out %s: %w", pairs[e.pairs[0]].where(e.pairs[0]), err)
		}
		h.words = append(h.words, f.compile(x))
		if slices.Contains(x, noLetter) {
			h.unseen++
		}
		var refs [][]int
		within, backed := false, false
		for _, i := range e.pairs {
			r := inv.phones(pairs[i].Phones)
			refs = append(refs, r)
			within = within || inv.spells(x, r, false)
			backed = backed || within || inv.spells(x, r, true)
		}
		h.refs = append(h.refs, refs)
		if within {
			h.seen++
		}
		if backed {
			h.reachable++
		} else {
			h.outside = append(h.outside, pairs[e.pairs[0]].name(e.pairs[0]))
		}
	}
	return h, nil
}

// spells reports whether labels of the letters x can spell r, with back-off or without.
func (inv *Inventory) spells(x []int32, r []int, backoff bool) bool {
	w := len(r) + 1
	at, next := make([]bool, w), make([]bool, w)
	at[0] = true
	for _, letter := range x {
		clear(next)
		try := func(l int32) {
			u := inv.Labels[l]
			for j, ok := range at[:max(0, w-len(u))] {
				if ok && slices.Equal(r[j:j+len(u)], u) {
					next[j+len(u)] = true
				}
			}
		}
		for _, l := range inv.Allowed[letter] {
			try(l)
		}
		if b := inv.backoffOf(letter); b != nil && backoff {
			for _, l := range b.Labels {
				try(l)
			}
		}
		at, next = next, at
	}
	return at[len(r)]
}

// edits returns, for every word, the edit distance of a model's output to the nearest of
// its references, and the phones of that one. Of references that are equally near it is
// the first.
func (h *heldOut) edits(m *Model, opts *DecodeOptions, workers int) (edits, phones []int) {
	o, _ := opts.withDefaults() // checked before
	edits, phones = make([]int, len(h.words)), make([]int, len(h.words))
	run.Blocks(workers, len(h.words), 64, func(_, lo, hi int) {
		s := m.search()
		defer searches.Put(s)
		m.ahead(h.words[lo:hi], &s.scores)
		for i := lo; i < hi; i++ {
			out := m.decode(&h.words[i], s, &o)
			edits[i] = math.MaxInt
			for _, r := range h.refs[i] {
				if d := metrics.EditDistance(out, r); d < edits[i] {
					edits[i], phones[i] = d, len(r)
				}
			}
		}
	})
	return edits, phones
}

// Evaluate tests models, which may have been trained apart from each other, on
// the same pairs, and compares each with those before it. A word with several
// pronunciations is one word, and a model is counted against the nearest of them. The
// reachable words and those with unseen letters are counted for the first model. workers
// is as in Options.
func Evaluate(name string, models []*Model, pairs []Pair, decode *DecodeOptions, workers int) (*Report, error) {
	if len(models) == 0 {
		return nil, errors.New("g2p: no models to evaluate")
	}
	o := CompareOptions{}
	var err error
	if o.Decode, err = decode.withDefaults(); err != nil {
		return nil, err
	}
	workers = run.WorkersOf(workers)
	begin := time.Now()
	u := &unit{dataset: name, test: pairs}
	for i, m := range models {
		held, err := newHeldOut(m.Inventory, m.Features, pairs)
		if err != nil {
			return nil, fmt.Errorf("g2p: %s: %w", name, err)
		}
		if i == 0 {
			u.reach(held)
		}
		edits, phones := held.edits(m, &o.Decode, workers)
		u.models = append(u.models, outcome{objective: m.Objective, networks: m.NetworkNames(), edits: edits,
			phones: phones, converged: true})
	}
	return newReport(&o, []*unit{u}, time.Since(begin)), nil
}

// Edits returns, for every word of pairs in the order in which words first occur, the edits of the
// model's output to the nearest of its pronunciations, and the phones of that one. workers is as in
// Options.
func (m *Model) Edits(pairs []Pair, decode *DecodeOptions, workers int) (edits, phones []int, err error) {
	if _, err := decode.withDefaults(); err != nil {
		return nil, nil, err
	}
	held, err := newHeldOut(m.Inventory, m.Features, pairs)
	if err != nil {
		return nil, nil, fmt.Errorf("g2p: %w", err)
	}
	edits, phones = held.edits(m, decode, run.WorkersOf(workers))
	return edits, phones, nil
}
