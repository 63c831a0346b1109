package tracking

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/partition"
)

// Patches cuts a pair into smaller ones, whose assignments together are those of the pair.
// Detections that hypotheses join stay together: such a component belongs to the square of side
// size, in pixels, that has its centre. Nothing is lost at the borders. Patches are in the order of
// squares, and have their part of what is known. O(hypotheses).
func (p *Pair) Patches(size float64) ([]*Pair, error) {
	if !(size > 0) {
		return nil, fmt.Errorf("tracking: %s: patches of side %v: it must be positive", p.Name, size)
	}
	detection := func(v int) *Detection {
		if v < len(p.From) {
			return &p.From[v]
		}
		return &p.To[v-len(p.From)]
	}
	type square struct{ row, column float64 }
	type centre struct{ x, y, n float64 }
	part := p.cover.Components()
	centres := map[int32]*centre{}
	for v, c := range part {
		d, at := detection(v), centres[c]
		if at == nil {
			at = &centre{}
			centres[c] = at
		}
		at.x, at.y, at.n = at.x+d.X, at.y+d.Y, at.n+1
	}
	of := func(v int) square {
		at := centres[part[v]]
		return square{math.Floor(at.y / at.n / size), math.Floor(at.x / at.n / size)}
	}
	patches, sets := map[square]*Pair{}, map[square][][]int32{}
	var order []square
	place := make([]int32, len(part)) // among the detections of its side of the patch
	for v := range part {
		s := of(v)
		q := patches[s]
		if q == nil {
			q = &Pair{}
			patches[s], order = q, append(order, s)
		}
		if v < len(p.From) {
			place[v] = int32(len(q.From))
			q.From = append(q.From, *detection(v))
		} else {
			place[v] = int32(len(q.To))
			q.To = append(q.To, *detection(v))
		}
		if p.known != nil {
			q.known = append(q.known, p.known[v])
		}
	}
	real := marks(len(p.Hypotheses), p.Truth())
	for h := range p.Hypotheses {
		members := p.cover.Members(h)
		s := of(int(members[0]))
		q, x := patches[s], p.Hypotheses[h]
		local := func(list []int, first int) []int {
			var out []int
			for _, i := range list {
				out = append(out, int(place[first+i]))
			}
			return out
		}
		x.From, x.To = local(x.From, 0), local(x.To, len(p.From))
		var set []int32
		for _, v := range members {
			at := place[v]
			if int(v) >= len(p.From) {
				at += int32(len(q.From))
			}
			set = append(set, at)
		}
		if real[h] {
			q.truth = append(q.truth, len(q.Hypotheses))
		}
		q.Hypotheses, sets[s] = append(q.Hypotheses, x), append(sets[s], set)
	}
	slices.SortFunc(order, func(a, b square) int {
		return cmp.Or(cmp.Compare(a.row, b.row),
			cmp.Compare(a.column, b.column))
	})
	var out []*Pair
	for i, s := range order {
		q := patches[s]
		q.Name = fmt.Sprintf("%s, patch %d", p.Name, i+1)
		if !slices.Contains(q.known, false) {
			q.known = nil
		}
		var err error
		if q.cover, err = partition.New(len(q.From)+len(q.To), sets[s]); err != nil {
			return nil, fmt.Errorf("tracking: %s: %w", q.Name, err)
		}
		out = append(out, q)
	}
	return out, nil
}
