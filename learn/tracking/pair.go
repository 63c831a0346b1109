package tracking

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/partition"
)

// Hypothesis is an event that may happen.
type Hypothesis struct {
	Event
	features []float64 // of its kind's block
	block    int
}

// Pair is the assignment problem of two frames: the hypotheses, with features, that cover every
// detection of both frames exactly once. It does not change and may be shared.
type Pair struct {
	Name       string // for errors
	From, To   []Detection
	Hypotheses []Hypothesis
	cover      *partition.Cover // elements are From, then To
	truth      []int            // hypotheses of the true events; nil where not labelled
	known      []bool           // detections with a true event; nil is all
	missed     []Event          // true events that no hypothesis is
}

// Truth returns the hypotheses of the true events, ascending; nil where they are not known, or not
// all among the hypotheses.
func (p *Pair) Truth() []int {
	if len(p.missed) > 0 {
		return nil
	}
	return p.truth
}

// Missed returns the true events that are not among the hypotheses.
func (p *Pair) Missed() []Event { return p.missed }

// Events returns those of hypotheses, in the order of the first frame's detections, then the
// second's.
func (p *Pair) Events(y []int) []Event {
	out := make([]Event, len(y))
	for i, h := range y {
		out[i] = p.Hypotheses[h].Event
	}
	slices.SortFunc(out, compareEvents)
	return out
}

// Find returns the number of the hypothesis that is the event, -1 for none.
func (p *Pair) Find(e Event) int {
	if len(e.From)+len(e.To) == 0 {
		return -1
	}
	v := 0
	if len(e.From) > 0 {
		v = e.From[0]
	} else {
		v = len(p.From) + e.To[0]
	}
	if v < 0 || v >= p.cover.Elements() {
		return -1
	}
	for _, h := range p.cover.Of(v) {
		if o := &p.Hypotheses[h]; o.Kind == e.Kind && slices.Equal(o.From, e.From) && slices.Equal(o.To, e.To) {
			return int(h)
		}
	}
	return -1
}

// Candidates says which hypotheses a pair has.
type Candidates struct {
	Neighbours int     // nearest detections of the other frame that take part in hypotheses
	Gate       float64 // pixels beyond which nothing is linked
	Unit       float64 // pixels that lengths among features are divided by
	Light      float64 // intensity that intensities are divided by; 0 where they are not known
	Kinds      []Kind  // of Divide, Split and Merge; the others always are
	// Field of the frames: left, top, right, bottom.
	Field [4]float64
	// Include has links that are candidates at any length, by places in the two frames.
	Include [][2]int
}

// NewPair makes the hypotheses of two frames. truth, if not nil, is what happens; with include, its
// events are hypotheses in any case, for training. O(n·(√n + k²)) for n detections and k
// neighbours.
func NewPair(name string, from, to []Detection, c *Candidates, truth []Event, include bool) (*Pair, error) {
	p := &Pair{Name: name, From: from, To: to}
	f := newFeaturizer(p, c)
	forward, backward := nearest(from, to, c.Neighbours, c.Gate), nearest(to, from, c.Neighbours, c.Gate)
	for _, l := range c.Include {
		i, j := l[0], l[1]
		if !slices.Contains(forward[i], j) {
			forward[i] = append(forward[i], j)
		}
		if !slices.Contains(backward[j], i) {
			backward[j] = append(backward[j], i)
		}
	}
	add := func(e Event) { p.Hypotheses = append(p.Hypotheses, Hypothesis{Event: e, block: e.Kind.block()}) }
	has := func(k Kind) bool { return slices.Contains(c.Kinds, k) }
	for i := range from {
		for _, j := range forward[i] {
			add(Event{Move, []int{i}, []int{j}})
		}
	}
	for j := range to {
		for _, i := range backward[j] {
			add(Event{Move, []int{i}, []int{j}})
		}
	}
	for i := range from {
		pairs(forward[i], func(a, b int) {
			for _, k := range []Kind{Divide, Split} {
				if has(k) {
					add(Event{k, []int{i}, []int{a, b}})
				}
			}
		})
	}
	for j := range to {
		if has(Merge) {
			pairs(backward[j], func(a, b int) { add(Event{Merge, []int{a, b}, []int{j}}) })
		}
	}
	for i := range from {
		add(Event{Disappear, []int{i}, nil})
	}
	for j := range to {
		add(Event{Appear, nil, []int{j}})
	}
	if include {
		for _, e := range truth {
			add(e)
		}
	}
	compare := func(a, b Hypothesis) int {
		return cmp.Or(cmp.Compare(a.block, b.block), slices.Compare(a.From, b.From), slices.Compare(a.To, b.To))
	}
	slices.SortFunc(p.Hypotheses, compare)
	p.Hypotheses = slices.CompactFunc(p.Hypotheses, func(a, b Hypothesis) bool { return compare(a, b) == 0 })
	sets := make([][]int32, len(p.Hypotheses))
	for h := range p.Hypotheses {
		x := &p.Hypotheses[h]
		for _, i := range x.From {
			sets[h] = append(sets[h], int32(i))
		}
		for _, j := range x.To {
			sets[h] = append(sets[h], int32(len(from)+j))
		}
		x.features = f.of(&x.Event)
		for k, v := range x.features {
			if v-v != 0 {
				return nil, fmt.Errorf("tracking: %s: the feature %q of a %s of %s is %v", name, FeatureNames(x.Kind)[k],
					x.Kind, p.describe(&x.Event), v)
			}
		}
	}
	var err error
	if p.cover, err = partition.New(len(from)+len(to), sets); err != nil {
		return nil, fmt.Errorf("tracking: %s: %w", name, err)
	}
	if truth != nil {
		p.truth = []int{}
		for _, e := range truth {
			if h := p.Find(e); h >= 0 {
				p.truth = append(p.truth, h)
			} else {
				p.missed = append(p.missed, e)
			}
		}
		slices.Sort(p.truth)
		known := make([]bool, len(from)+len(to))
		for _, e := range truth {
			for _, i := range e.From {
				known[i] = true
			}
			for _, j := range e.To {
				known[len(from)+j] = true
			}
		}
		if slices.Contains(known, false) {
			p.known = known
		}
	}
	return p, nil
}

// describe names the detections of an event by their ids: "3 to 4 and 5".
func (p *Pair) describe(e *Event) string {
	ids := func(of []Detection, places []int) string {
		switch len(places) {
		case 0:
			return "nothing"
		case 1:
			return fmt.Sprint(of[places[0]].ID)
		}
		return fmt.Sprintf("%d and %d", of[places[0]].ID, of[places[1]].ID)
	}
	return ids(p.From, e.From) + " to " + ids(p.To, e.To)
}

// pairs calls f with every two of a list, the smaller first.
func pairs(list []int, f func(a, b int)) {
	for x, a := range list {
		for _, b := range list[:x] {
			f(min(a, b), max(a, b))
		}
	}
}

// nearest returns, for every one of a, the places of the k nearest of b within the gate, nearest
// first.
func nearest(a, b []Detection, k int, gate float64) [][]int {
	order := make([]int, len(b)) // by x
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(b[i].X, b[j].X), cmp.Compare(i, j)) })
	out := make([][]int, len(a))
	type near struct {
		d float64
		j int
	}
	for i := range a {
		at, _ := slices.BinarySearchFunc(order, a[i].X,
			func(j int, x float64) int { return cmp.Compare(b[j].X, x) })
		var best []near
		reach := func() float64 { // how far a better one may be
			if len(best) < k {
				return gate
			}
			return best[k-1].d
		}
		for left, right := at-1, at; ; {
			dl, dr := math.Inf(1), math.Inf(1)
			if left >= 0 {
				dl = a[i].X - b[order[left]].X
			}
			if right < len(order) {
				dr = b[order[right]].X - a[i].X
			}
			j := 0
			if math.Min(dl, dr) > reach() || math.IsInf(math.Min(dl, dr), 1) {
				break
			}
			if dl < dr {
				j = order[left]
				left--
			} else {
				j = order[right]
				right++
			}
			d := distance(&a[i], &b[j])
			if d > gate {
				continue
			}
			x := near{d, j}
			place, _ := slices.BinarySearchFunc(best, x,
				func(p, q near) int { return cmp.Or(cmp.Compare(p.d, q.d), cmp.Compare(p.j, q.j)) })
			if best = slices.Insert(best, place, x); len(best) > k {
				best = best[:k]
			}
		}
		for _, x := range best {
			out[i] = append(out[i], x.j)
		}
	}
	return out
}
