package structured

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// local improves the best string so far, and the best training outputs that are candidates. It
// substitutes, inserts and deletes single symbols within the lattice.
func (s *Strings) local(ctx context.Context, l *Lattice, w *weighted, d *Decoded[[]int]) error {
	s.seed(l, w, d)
	if d.Output == nil { // no training output is a candidate: the first string in order
		l.Strings(func(y []int) bool {
			offer(d, y, s.value(w, y))
			return false
		})
	}
	type start struct {
		y []int
		f float64
	}
	from := []start{{slices.Clone(d.Output), d.Value}}
	for k, ref := range w.refs {
		if w.alpha[k] > 0 && l.Has(ref) {
			from = append(from, start{slices.Clone(ref), s.value(w, ref)})
		}
	}
	slices.SortStableFunc(from[1:], func(a, b start) int { return cmp.Compare(a.f, b.f) })
	for _, at := range from[:min(len(from), starts+1)] {
		y, f := at.y, at.f
		for ctx.Err() == nil {
			next, g := s.move(l, w, y, f)
			if next == nil {
				break
			}
			d.Steps++
			y, f = next, g
		}
		offer(d, y, f)
	}
	return nil
}

// move returns the best string one edit away that is better, nil for none. Tables of prefixes
// and suffixes make a move O(Σ_i |y_i|).
func (s *Strings) move(l *Lattice, w *weighted, y []int, f float64) (best []int, low float64) {
	low = f - 1e-12*(math.Abs(f)+w.l1)
	t := newMoves(s.loss, w, y)
	try := func(value func() float64, make func() []int) {
		var g float64
		if t != nil {
			g = value()
		} else {
			g = s.value(w, make())
		}
		if g < low {
			best, low = make(), g
		}
	}
	// States after each prefix; a move must lead to the end.
	states := []int32{0}
	for _, a := range y {
		states = append(states, l.step(states[len(states)-1], a))
	}
	ends := func(q int32, from int) bool {
		for _, a := range y[from:] {
			if q = l.step(q, a); q < 0 {
				return false
			}
		}
		return l.final[q]
	}
	for i, q := range states {
		if i < len(y) && ends(q, i+1) {
			try(func() float64 { return t.deleted(i) }, func() []int { return slices.Delete(slices.Clone(y), i, i+1) })
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			a := int(l.label[e])
			if i < len(y) && a != y[i] && ends(l.next[e], i+1) {
				try(func() float64 { return t.inserted(i, a, i+1) }, func() []int {
					z := slices.Clone(y)
					z[i] = a
					return z
				})
			}
			if ends(l.next[e], i) {
				try(func() float64 { return t.inserted(i, a, i) },
					func() []int { return slices.Insert(slices.Clone(y), i, a) })
			}
		}
	}
	return best, low
}

// moves has the rows of a string from both ends, for edit losses.
type moves struct {
	there, back *rows       // back has the references turned round
	front, rear [][]float64 // rows after t symbols, and of the symbols from t on
	row         []float64
}

func newMoves(loss StringLoss, w *weighted, y []int) *moves {
	if _, ok := loss.(losses.Edit); !ok {
		return nil // a local alignment cannot be put together from two ends
	}
	t := &moves{}
	var ok bool
	if t.there, ok = newRows(loss, w.refs, w.alpha); !ok {
		return nil
	}
	turned := make([][]int, len(w.refs))
	for k, ref := range w.refs {
		turned[k] = slices.Clone(ref)
		slices.Reverse(turned[k])
	}
	t.back, _ = newRows(loss, turned, w.alpha)
	n := len(y)
	t.front, t.rear = make([][]float64, n+1), make([][]float64, n+1)
	for i := range n + 1 {
		t.front[i], t.rear[i] = make([]float64, t.there.width), make([]float64, t.there.width)
	}
	t.row = make([]float64, t.there.width)
	t.there.start(t.front[0])
	t.back.start(t.rear[n])
	for i, a := range y {
		t.there.step(t.front[i+1], t.front[i], a)
	}
	for i := n - 1; i >= 0; i-- {
		t.back.step(t.rear[i], t.rear[i+1], y[i])
	}
	return t
}

// join returns F of a string from the rows of its beginning and those of its end.
func (t *moves) join(front, rear []float64) float64 {
	f := 0.0
	for k, ref := range t.there.refs {
		at, m := t.there.at[k], len(ref)
		least := math.Inf(1)
		for j := range m + 1 {
			least = math.Min(least, front[at+j]+rear[at+m-j])
		}
		f += t.there.alpha[k] * least
	}
	return f
}

func (t *moves) deleted(i int) float64 { return t.join(t.front[i], t.rear[i+1]) }

// inserted is F with symbol a at place i, and the symbols from rest on after it.
func (t *moves) inserted(i, a, rest int) float64 {
	t.there.step(t.row, t.front[i], a)
	return t.join(t.row, t.rear[rest])
}
