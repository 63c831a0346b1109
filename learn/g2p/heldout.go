package g2p

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// heldOut are test words made ready for all models with the same features.
type heldOut struct {
	words     []compiled
	refs      [][]int // unknown phones are -1, which no output has
	length    []int
	reachable int
	unseen    int
}

func newHeldOut(inv *Inventory, f *Features, pairs []Pair) (*heldOut, error) {
	h := &heldOut{}
	for i, q := range pairs {
		x, err := inv.letters(q.Word)
		if err != nil {
			return nil, fmt.Errorf("held-out pair %d: %w", i+1, err)
		}
		r := inv.phones(q.Phones)
		h.words = append(h.words, f.compile(x))
		h.refs = append(h.refs, r)
		h.length = append(h.length, len(r))
		if slices.Contains(x, noLetter) {
			h.unseen++
		}
		lists := make([][][]int, len(x))
		for t, l := range x {
			for _, k := range inv.Allowed[l] {
				lists[t] = append(lists[t], inv.Labels[k])
			}
		}
		if len(x) == 0 && len(r) == 0 || len(x) > 0 && rightGraph(r, lists, make([][]int32, len(x))) != nil {
			h.reachable++
		}
	}
	return h, nil
}

// edits returns the edit distance of a model's output for every word.
func (h *heldOut) edits(m *Model, opts *DecodeOptions, workers int) []int {
	o, _ := opts.withDefaults() // checked before
	out := make([]int, len(h.words))
	parallel(workers, len(h.words), 64, func(_, lo, hi int) {
		var s scores
		for i := lo; i < hi; i++ {
			out[i] = metrics.EditDistance(m.decode(&h.words[i], &s, &o), h.refs[i])
		}
	})
	return out
}

// Evaluate tests models, which may have been trained apart from each other, on
// the same pairs, and compares each with those before it. The reachable words
// and those with unseen letters are counted for the first. workers is as in
// Options.
func Evaluate(name string, models []*Model, pairs []Pair, decode *DecodeOptions, workers int) (*Report, error) {
	if len(models) == 0 {
		return nil, errors.New("g2p: no models to evaluate")
	}
	o := CompareOptions{}
	var err error
	if o.Decode, err = decode.withDefaults(); err != nil {
		return nil, err
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	begin := time.Now()
	u := &unit{dataset: name, test: pairs}
	for i, m := range models {
		held, err := newHeldOut(m.Inventory, m.Features, pairs)
		if err != nil {
			return nil, fmt.Errorf("g2p: %s: %w", name, err)
		}
		if i == 0 {
			u.reachable, u.unseen = held.reachable, held.unseen
		}
		u.models = append(u.models, outcome{objective: m.Objective, edits: held.edits(m, &o.Decode, workers), phones: held.length, converged: true})
	}
	return newReport(&o, []*unit{u}, time.Since(begin)), nil
}
