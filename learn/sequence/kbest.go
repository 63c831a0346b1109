package sequence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// Candidate is one labelling out of an n-best list.
type Candidate struct {
	Labels      []string
	Score       float64 // θ(u)
	Probability float64 // among the list: exp(scale·θ) normalised; scale is 1 unless given
	Risk        float64 // expected loss under the list's probabilities; set by MinRisk
}

// NBest returns up to n labellings of the best scores, best first, all different. The k-best lists
// of all last windows of labels are extended position by position. The D lists that lead to one are
// merged through a heap. Each of len positions takes O(D^order + D^(order-1) · n log D) time, where
// order-1 counts as at least 1.
func (t *Tagger) NBest(in *Input, n int) ([]Candidate, error) {
	if n < 1 {
		return nil, fmt.Errorf("sequence: %d-best list", n)
	}
	length, err := t.encode(in)
	if err != nil {
		return nil, err
	}
	lists := t.nBest(length, n)
	out := make([]Candidate, len(lists))
	for i, l := range lists {
		out[i] = Candidate{Labels: t.names(l.labels), Score: l.score}
	}
	weigh(out, 1)
	return out, nil
}

func weigh(list []Candidate, scale float64) {
	if len(list) == 0 {
		return
	}
	top, sum := math.Inf(-1), 0.0
	for i := range list {
		top = math.Max(top, scale*list[i].Score)
	}
	for i := range list {
		list[i].Probability = math.Exp(scale*list[i].Score - top)
		sum += list[i].Probability
	}
	for i := range list {
		list[i].Probability /= sum
	}
}

// RiskOptions adjusts MinRisk; nil is the same as the zero value.
type RiskOptions struct {
	Ctx context.Context // cancels; nil is none

	List       int     // labellings over which the loss is expected; zero is 50
	Candidates int     // of these, how many may be chosen; zero is all
	Scale      float64 // multiplies scores before they become probabilities; zero is 1

	Loss func(u, truth []string) float64 // of a labelling when another is right; nil is the Hamming distance

	// Places, if not nil, replaces Loss, which must then be nil. It receives labels by their places
	// in Model.Labels, looked up once for each labelling of the list.
	Places func(u, truth []int) float64

	// Transducer, if not nil, takes the place of Loss, which must be nil: the loss that
	// it defines, symbol k being label k of Model.Labels. A labelling that it has no path
	// for has an infinite loss.
	Transducer *losses.Transducer
}

// ErrNoRisk reports that all labellings that may be chosen have an infinite expected
// loss, or none at all (NaN).
var ErrNoRisk = errors.New("no labelling of the list has a finite expected loss; a loss with a path for every two labellings, or with a constant above 0, has one")

// MinRisk returns the labelling of least expected loss among an n-best list
// (S. Kumar and W. Byrne, "Minimum Bayes-risk decoding", HLT-NAACL 2004), and the
// list, best score first, with risks. Ties go to the better score. Beside the list,
// it takes List·Candidates losses, those of a transducer all at once for each of List.
// ErrNoRisk is the error when none has a finite risk.
func (t *Tagger) MinRisk(in *Input, opts *RiskOptions) ([]string, []Candidate, error) {
	var o RiskOptions
	if opts != nil {
		o = *opts
	}
	if o.List == 0 {
		o.List = 50
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.List < 0 || o.Candidates < 0 || !(o.Scale > 0) || math.IsInf(o.Scale, 1) {
		return nil, nil, fmt.Errorf("sequence: MinRisk: List %d, Candidates %d, Scale %v: none may be negative, infinite or NaN", o.List, o.Candidates, o.Scale)
	}
	if o.Candidates == 0 {
		o.Candidates = o.List
	}
	given := 0
	for _, is := range []bool{o.Loss != nil, o.Places != nil, o.Transducer != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		return nil, nil, errors.New("sequence: MinRisk: two of Loss, Places and Transducer are given, and not both can be meant: there is one loss")
	}
	if o.Loss == nil {
		o.Loss = func(u, truth []string) float64 {
			n := 0.0
			for i := range u {
				if u[i] != truth[i] {
					n++
				}
			}
			return n
		}
	}
	list, err := t.NBest(in, o.List)
	if err != nil || len(list) == 0 {
		return []string{}, list, err
	}
	weigh(list, o.Scale)
	candidates := list[:min(len(list), o.Candidates)]
	for i := range list[len(candidates):] {
		list[len(candidates)+i].Risk = math.NaN()
	}
	against := func(j int, add func(i int, loss float64)) error {
		for i := range candidates {
			// i = j too: the loss of what is right need not be 0, a match may count.
			add(i, o.Loss(candidates[i].Labels, list[j].Labels))
		}
		return nil
	}
	if o.Places != nil {
		strings := t.m.placesOf(list)
		against = func(j int, add func(i int, loss float64)) error {
			for i := range candidates {
				add(i, o.Places(strings[i], strings[j]))
			}
			return nil
		}
	}
	if o.Transducer != nil {
		against = t.m.againstBy(o.Transducer, o.Ctx, list, len(candidates))
	}
	for j := range list {
		if o.Ctx != nil && o.Ctx.Err() != nil {
			return nil, nil, fmt.Errorf("sequence: MinRisk: stopped after %d of %d labellings: %w", j, len(list), context.Cause(o.Ctx))
		}
		p := list[j].Probability
		err := against(j, func(i int, loss float64) {
			if p > 0 { // of one that is as good as impossible, an infinite loss is nothing
				candidates[i].Risk += p * loss
			}
		})
		if err != nil {
			return nil, nil, fmt.Errorf("sequence: MinRisk: against labelling %d of %d: %w", j+1, len(list), err)
		}
	}
	best := -1
	for i := range candidates {
		if r := candidates[i].Risk; r < math.Inf(1) && (best < 0 || r < candidates[best].Risk) {
			best = i
		}
	}
	if best < 0 {
		return nil, nil, fmt.Errorf("sequence: MinRisk: %w", ErrNoRisk)
	}
	return list[best].Labels, list, nil
}

// placesOf returns the labellings of a list as places in m.labels.
func (m *Model) placesOf(list []Candidate) [][]int {
	number := make(map[string]int, len(m.labels))
	for k, y := range m.labels {
		number[y] = k
	}
	strings := make([][]int, len(list))
	for i := range list {
		strings[i] = make([]int, len(list[i].Labels))
		for t, y := range list[i].Labels {
			strings[i][t] = number[y]
		}
	}
	return strings
}

// againstBy returns what gives the transducer's losses of the first n of a list when
// another of it is right.
func (m *Model) againstBy(u *losses.Transducer, ctx context.Context, list []Candidate, n int) func(j int, add func(i int, loss float64)) error {
	strings := m.placesOf(list)
	loss := *u
	if loss.Limits.Ctx == nil {
		loss.Limits.Ctx = ctx
	}
	return func(j int, add func(i int, loss float64)) error {
		found, err := loss.Among(strings[:n], strings[j])
		if err != nil {
			return err
		}
		for i, x := range found {
			add(i, x)
		}
		return nil
	}
}

type scored struct {
	labels []int
	score  float64
}

// kbest is the work space of nBest.
type kbest struct {
	items []kbestItem // of all positions
	lists [][2]int32  // by position and state: from, to in items
	heap  []kbestHead // of merge
	final []kbestItem
}

// kbestItem is a labelling up to a position, as one label more on an item of the
// position before.
type kbestItem struct {
	score float64
	back  int32 // -1 at the first position
	label int32
}

// nBest works on what encode left. The state at a position is its last
// min(order-1, position+1) labels, at least one, read as a number.
func (t *Tagger) nBest(n, k int) []scored {
	if n == 0 {
		return []scored{{labels: []int{}}}
	}
	l, b := t.m.layout, &t.kbest
	d := l.labels
	b.items, b.lists = b.items[:0], b.lists[:0]
	statesAt := func(p int) int {
		s := d
		if l.order == 3 && p > 0 {
			s = d * d
		}
		return s
	}
	before := 0 // where the lists of the previous position begin
	for p := range n {
		need := l.windows(p)
		t.windows = slices.Grow(t.windows[:0], need)[:need]
		ids, values := t.corpus.pair.row(p)
		l.fillWindows(t.windows, t.m.w, t.node[p*t.stride:], ids, values, p)
		here := len(b.lists)
		states := statesAt(p)
		for s := range states {
			b.heap = b.heap[:0]
			y := s % d
			from := int32(len(b.items))
			if p == 0 {
				b.items = append(b.items, kbestItem{t.windows[s], -1, int32(y)})
			} else {
				// Which states come before, and the window that each makes with y.
				from, to, step := 0, statesAt(p-1), 1
				if l.order == 3 && p >= 2 {
					from, step = s/d, d // (a, b) for all a, b = s/d
				} else if l.order == 3 {
					from, to = s/d, s/d+1
				}
				for q := from; q < to; q += step {
					w := y
					if l.order > 1 {
						w = q*d + y // with q = (a, b) at order 3, the window (a, b, y)
					}
					b.offer(b.lists[before+q], t.windows[w])
				}
				b.items = b.merge(b.items, k, int32(y))
			}
			b.lists = append(b.lists, [2]int32{from, int32(len(b.items))})
		}
		before = here
	}
	b.heap = b.heap[:0]
	for _, list := range b.lists[before:] {
		b.offer(list, 0)
	}
	b.final = b.merge(b.final[:0], k, 0)
	var out []scored
	for _, end := range b.final {
		s := scored{make([]int, n), end.score}
		for p, i := n-1, end.back; p >= 0; p, i = p-1, b.items[i].back {
			s.labels[p] = int(b.items[i].label)
		}
		out = append(out, s)
	}
	return out
}

// kbestHead is the best item of a sorted list that is not taken yet, with what is added to
// the scores of the list.
type kbestHead struct {
	score   float64
	add     float64
	at, end int32
}

// before orders heads by score, best first. Ties go by the item, that is by the previous state.
// NaN, which no potential of a trained model is, goes last.
func (x *kbestHead) before(y *kbestHead) bool {
	if c := cmp.Compare(y.score, x.score); c != 0 {
		return c < 0
	}
	return x.at < y.at
}

// offer gives merge a list, best first.
func (b *kbest) offer(list [2]int32, add float64) {
	if list[0] < list[1] {
		b.heap = append(b.heap, kbestHead{b.items[list[0]].score + add, add, list[0], list[1]})
	}
}

// merge appends to dst the k best items of the lists that were offered, O(k log lists) after O(lists).
// Sums that round to one score keep the order of their list, as adding one number
// turns no two of them around.
func (b *kbest) merge(dst []kbestItem, k int, label int32) []kbestItem {
	h := b.heap
	if k > 1 { // the least of a list needs no heap
		for i := len(h)/2 - 1; i >= 0; i-- {
			sink(h, i)
		}
	} else {
		best := 0
		for i := range h {
			if h[i].before(&h[best]) {
				best = i
			}
		}
		if len(h) > 0 {
			h[0] = h[best]
		}
	}
	for ; k > 0 && len(h) > 0; k-- {
		top := &h[0]
		dst = append(dst, kbestItem{top.score, top.at, label})
		if k == 1 {
			break
		}
		if top.at++; top.at < top.end {
			top.score = b.items[top.at].score + top.add
		} else {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		sink(h, 0)
	}
	return dst
}

// sink moves head i of a heap down to where it belongs.
func sink(h []kbestHead, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
