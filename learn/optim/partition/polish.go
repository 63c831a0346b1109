package partition

import (
	"cmp"
	"math"
	"slices"
)

// Regions of a cover are solved to optimality in parts of more than polished elements. A region has
// about regional elements.
const (
	polished = 32
	regional = 20
)

// polish solves small regions of the best cover exactly, around the sets where it and the
// relaxation disagree. In a large part the gaps of many places add up. Without this the total would
// be too wide to drop any set, though every place by itself is easy.
func (sv *solver) polish(d *dual) {
	p := d.p
	if d.chosen == nil || p.elements() <= polished {
		return
	}
	d.lay()
	heat := make([]float64, p.sets()) // of the sets chosen
	for h, r := range d.r {
		switch {
		case d.chosen[h]:
			heat[h] += math.Max(0, -r)
		case r > 0:
			for _, v := range p.members(int32(h)) {
				heat[d.by[v]] += r
			}
		}
	}
	var seeds []int32
	for h := range heat {
		if d.chosen[h] && heat[h] > sv.tol {
			seeds = append(seeds, int32(h))
		}
	}
	slices.SortStableFunc(seeds, func(a, b int32) int { return cmp.Compare(heat[b], heat[a]) })
	total := 0.0 // about the gap
	for _, h := range seeds {
		total += heat[h]
	}
	left := total
	inner := &solver{ctx: sv.ctx, tol: sv.tol, limit: 100}
	g := &region{d: d, place: make([]int32, p.elements())}
	for _, seed := range seeds {
		if sv.stop() || left < 0.05*total { // the rest is small
			break
		}
		left -= heat[seed]
		if !d.chosen[seed] || !g.grow(seed) {
			continue
		}
		q, value := g.part()
		inner.nodes = 0
		r := inner.solve(q, value+sv.tol)
		sv.nodes += inner.nodes
		for _, v := range g.elements {
			g.place[v] = 0
		}
		if r.sets == nil || inner.err != nil {
			continue
		}
		for _, v := range g.elements {
			d.chosen[d.by[v]] = false
		}
		for _, h := range r.sets {
			d.chosen[h] = true
			for _, v := range p.members(h) {
				d.by[v] = h
			}
		}
	}
	d.value = d.rounded()
}

// region is elements that whole sets of a cover have.
type region struct {
	d        *dual
	elements []int32
	place    []int32 // from 1, of elements in the region; 0 for others
}

// grow makes the region around a set: the sets of the cover that its elements could be shared with
// most cheaply, and theirs.
func (g *region) grow(seed int32) bool {
	d, p := g.d, g.d.p
	g.elements = g.elements[:0]
	add := func(h int32) {
		for _, v := range p.members(h) {
			if g.place[v] == 0 {
				g.elements = append(g.elements, v)
				g.place[v] = int32(len(g.elements))
			}
		}
	}
	add(seed)
	var best []int32
	for i := 0; i < len(g.elements) && len(g.elements) < regional; i++ {
		best = append(best[:0], p.with(g.elements[i])...)
		slices.SortFunc(best, func(a,
			b int32) int {
			return cmp.Or(cmp.Compare(d.r[b], d.r[a]), cmp.Compare(a, b))
		})
		for _, h := range best[:min(5, len(best))] {
			for _, v := range p.members(h) {
				if len(g.elements) < regional {
					add(d.by[v])
				}
			}
		}
	}
	return len(g.elements) > len(p.members(seed))
}

// part makes the problem of the region, whose sets are named by their numbers in the whole, and
// the value of the cover there.
func (g *region) part() (q *part, value float64) {
	d, p := g.d, g.d.p
	q = &part{start: []int32{0}}
	for _, v := range g.elements {
		q.u = append(q.u, d.u[v])
	}
	var inside []int32
	for _, v := range g.elements {
	next:
		for _, h := range p.with(v) {
			m := p.members(h)
			if m[0] != v {
				continue
			}
			for _, x := range m {
				if g.place[x] == 0 {
					continue next
				}
			}
			inside = append(inside, h)
		}
	}
	slices.Sort(inside)
	for _, h := range inside {
		for _, x := range p.members(h) {
			q.member = append(q.member, g.place[x]-1)
		}
		slices.Sort(q.member[q.start[len(q.start)-1]:])
		q.start = append(q.start, int32(len(q.member)))
		q.id, q.score = append(q.id, h), append(q.score, p.score[h])
		if d.chosen[h] {
			value += p.score[h]
		}
	}
	q.ofStart, q.of = transpose(len(g.elements), q.start, q.member)
	return q, value
}
