package partition

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// stages are the efforts that solve makes for a bound before it branches: sweeps of coordinate
// descent, and then some and many subgradient steps.
const stages = 3

// dual is the Lagrangian relaxation of a part, with the best cover found beside it.
type dual struct {
	p     *part
	u     []float64 // of the best bound
	r     []float64 // reduced scores s_h - Σ u_v by it
	bound float64

	chosen []bool // of the best cover; nil for none
	value  float64

	// For rounding.
	by      []int32 // element: the set that covers it, -1 for none
	order   []int32
	mark    []int32 // element: the search that left it bare
	search  int32
	bare    []int32
	picked  []int32 // by the search so far
	filling []int32 // the best of it, if there is one
	filled  float64
}

func newDual(p *part) *dual {
	n := p.elements()
	d := &dual{p: p, u: make([]float64, n), r: make([]float64, p.sets()), value: math.Inf(-1),
		by: make([]int32, n), order: make([]int32, p.sets()), mark: make([]int32, n)}
	if p.u != nil {
		copy(d.u, p.u)
	} else {
		// An equal share of the best set of each element is near where descent ends.
		for v := range n {
			best := math.Inf(-1)
			for _, h := range p.with(int32(v)) {
				best = math.Max(best, p.score[h]/float64(len(p.members(h))))
			}
			d.u[v] = best
		}
	}
	for h := range d.order {
		d.order[h] = int32(h)
	}
	d.bound = reduce(p, d.u, d.r)
	if p.cover != nil {
		d.chosen, d.value = make([]bool, p.sets()), 0
		for _, h := range p.cover {
			d.chosen[h] = true
			d.value += p.score[h]
		}
	}
	return d
}

// cover returns the sets of the best cover, nil for none.
func (d *dual) cover() []int32 {
	var out []int32
	for h, ok := range d.chosen {
		if ok {
			out = append(out, int32(h))
		}
	}
	return out
}

// lay puts the best cover into by.
func (d *dual) lay() {
	for h, ok := range d.chosen {
		if ok {
			for _, v := range d.p.members(int32(h)) {
				d.by[v] = int32(h)
			}
		}
	}
}

// reduce stores reduced scores by u, and returns the bound.
func reduce(p *part, u, r []float64) float64 {
	b := 0.0
	for _, v := range u {
		b += v
	}
	for h, s := range p.score {
		for _, v := range p.members(int32(h)) {
			s -= u[v]
		}
		r[h] = s
		if s > 0 {
			b += s
		}
	}
	return b
}

// target is what a better cover must exceed.
func (d *dual) target(need float64) float64 { return math.Max(need, d.value) }

func (d *dual) names() []int32 {
	if d.chosen == nil {
		return nil
	}
	var out []int32
	for h, ok := range d.chosen {
		if ok {
			out = append(out, d.p.name(int32(h)))
		}
	}
	return out
}

// result is what the relaxation alone tells.
func (d *dual) result(need float64) result {
	return result{d.names(), d.value, math.Max(d.bound, d.value)}.above(need)
}

// better joins what a search among better covers found: there was one, or the best so far stands.
func (d *dual) better(r result, need float64) result {
	r.bound = math.Min(math.Max(r.bound, d.target(need)), d.bound)
	if r.sets != nil && r.value > d.target(need) {
		return r
	}
	r.sets, r.value = d.names(), d.value
	return r.above(need)
}

// eliminate tells which sets a cover better than the target, or the best one itself, may have. A
// set of negative reduced score costs as much when it is taken, one of positive score when it is
// not.
func (d *dual) eliminate(need float64) (alive []bool, fewer int) {
	target := d.target(need)
	alive = make([]bool, d.p.sets())
	for h, r := range d.r {
		alive[h] = d.bound+math.Min(0, r) > target || d.chosen != nil && d.chosen[h]
	}
	for h, r := range d.r {
		if r <= 0 || d.bound-r > target || d.chosen == nil || !d.chosen[h] {
			continue
		}
		for _, v := range d.p.members(int32(h)) { // every better one has h
			for _, g := range d.p.with(v) {
				if int(g) != h {
					alive[g] = false
				}
			}
		}
	}
	for _, ok := range alive {
		if !ok {
			fewer++
		}
	}
	return alive, fewer
}

// improve lowers the bound and looks for covers, by a stage's effort.
func (d *dual) improve(ctx context.Context, stage int, slack, need float64) {
	if stage == 0 {
		d.descend(ctx, 12, slack)
		d.round()
		return
	}
	d.subgradient(ctx, []int{0, 60, 250}[stage], slack, need)
	d.descend(ctx, 4, slack)
	d.round()
}

// descend sweeps over the elements. The bound as a function of one multiplier is least between the
// best and the second best of its sets, each without that multiplier; it goes to the middle.
func (d *dual) descend(ctx context.Context, sweeps int, slack float64) {
	p, n := d.p, d.p.elements()
	for sweep := range sweeps {
		for i := range n {
			v := int32(i)
			if sweep%2 == 1 {
				v = int32(n - 1 - i)
			}
			sets := p.with(v)
			best, second := math.Inf(-1), math.Inf(-1)
			for _, h := range sets {
				if x := d.r[h]; x > best {
					best, second = x, best
				} else if x > second {
					second = x
				}
			}
			if math.IsInf(second, -1) {
				second = best
			}
			step := (best + second) / 2
			d.u[v] += step
			for _, h := range sets {
				d.r[h] -= step
			}
		}
		if ctx.Err() != nil {
			break
		}
		before := d.bound
		d.bound = reduce(p, d.u, d.r) // afresh: rounding adds up
		if before-d.bound <= 1e-3*(d.bound-d.value) || d.bound <= d.value+slack {
			break
		}
	}
}

// subgradient takes Polyak steps towards the target, along a direction that remembers the last one.
func (d *dual) subgradient(ctx context.Context, steps int, slack, need float64) {
	p := d.p
	u, r := slices.Clone(d.u), slices.Clone(d.r)
	direction, g := make([]float64, len(u)), make([]float64, len(u))
	theta, stale, bound := 1.0, 0, d.bound
	for step := range steps {
		if step%32 == 0 && ctx.Err() != nil {
			return
		}
		target := d.target(need)
		if math.IsInf(target, -1) {
			target = d.bound - math.Max(slack, 0.05*math.Abs(d.bound))
		}
		for v := range g {
			g[v] = 1
		}
		for h, x := range r {
			if x > 0 {
				for _, v := range p.members(int32(h)) {
					g[v]--
				}
			}
		}
		norm := 0.0
		for v := range g {
			direction[v] = g[v] + 0.6*direction[v]
			norm += direction[v] * direction[v]
		}
		if norm == 0 {
			return
		}
		length := theta * (bound - target) / norm
		if !(length > 0) {
			return
		}
		for v := range u {
			u[v] -= length * direction[v]
		}
		bound = reduce(p, u, r)
		if bound < d.bound {
			if d.bound-bound > 1e-3*(d.bound-target) {
				stale = 0
			}
			d.bound = bound
			copy(d.u, u)
			copy(d.r, r)
			if d.bound <= target+slack {
				return
			}
		}
		if stale++; stale > 8 {
			theta, stale = theta/2, 0
			if theta < 1e-3 {
				return
			}
			copy(u, d.u)
			bound = reduce(p, u, r)
			clear(direction)
		}
		if step%30 == 29 {
			d.round()
		}
	}
}

// round makes a cover of the relaxation, sets of large reduced score first, and betters it by
// exchanges. The best is kept.
func (d *dual) round() {
	p := d.p
	slices.SortFunc(d.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(d.r[b], d.r[a]), cmp.Compare(a, b))
	})
	for v := range d.by {
		d.by[v] = -1
	}
	covered := 0
next:
	for _, h := range d.order {
		m := p.members(h)
		for _, v := range m {
			if d.by[v] >= 0 {
				continue next
			}
		}
		for _, v := range m {
			d.by[v] = h
		}
		if covered += len(m); covered == len(d.by) {
			break
		}
	}
	if covered < len(d.by) { // where singletons are not allowed, a greedy cover may not exist
		if d.chosen == nil {
			return
		}
		d.lay()
	}
	for range 8 {
		if !d.exchange() {
			break
		}
	}
	if value := d.rounded(); value > d.value {
		d.value = value
		if d.chosen == nil {
			d.chosen = make([]bool, p.sets())
		}
		clear(d.chosen)
		for _, h := range d.by {
			d.chosen[h] = true
		}
	}
}

// rounded returns the value of the cover in by.
func (d *dual) rounded() float64 {
	value := 0.0
	for v, h := range d.by {
		if d.p.members(h)[0] == int32(v) {
			value += d.p.score[h]
		}
	}
	return value
}

// widest is how many bare elements an exchange may leave; more take too long to cover.
const widest = 8

// exchange inserts each set in place of those that it intersects, and covers the uncovered elements
// as well as possible. It keeps what is better. Sets that cannot be in a better cover are left out.
func (d *dual) exchange() (changed bool) {
	p := d.p
	floor := math.Max(d.value, d.rounded())
	for _, h := range d.order {
		if d.bound+d.r[h] <= floor {
			break // so are all later ones
		}
		m := p.members(h)
		if d.by[m[0]] == h {
			continue
		}
		lost := 0.0
		d.search++
		d.bare = d.bare[:0]
		for i, v := range m {
			g := d.by[v]
			if slices.ContainsFunc(m[:i], func(w int32) bool { return d.by[w] == g }) {
				continue
			}
			lost += p.score[g]
			for _, w := range p.members(g) {
				if !slices.Contains(m, w) {
					d.mark[w] = d.search
					d.bare = append(d.bare, w)
				}
			}
		}
		if len(d.bare) > widest {
			continue
		}
		d.picked, d.filling = d.picked[:0], d.filling[:0]
		d.filled = lost + 1e-12*math.Abs(lost)
		if d.fill(0, p.score[h]); d.filled <= lost+1e-12*math.Abs(lost) {
			continue
		}
		changed = true
		for _, v := range m {
			d.by[v] = h
		}
		for _, g := range d.filling {
			for _, v := range p.members(g) {
				d.by[v] = g
			}
		}
	}
	return changed
}

// fill tries every way to cover the bare elements, from one on, by sets among them. The best one
// that exceeds filled goes to filling.
func (d *dual) fill(from int, value float64) {
	for from < len(d.bare) && d.mark[d.bare[from]] != d.search {
		from++
	}
	if from == len(d.bare) {
		if value > d.filled {
			d.filled = value
			d.filling = append(d.filling[:0], d.picked...)
		}
		return
	}
	p := d.p
next:
	for _, g := range p.with(d.bare[from]) {
		m := p.members(g)
		for _, w := range m {
			if d.mark[w] != d.search {
				continue next
			}
		}
		for _, w := range m {
			d.mark[w] = 0
		}
		d.picked = append(d.picked, g)
		d.fill(from+1, value+p.score[g])
		d.picked = d.picked[:len(d.picked)-1]
		for _, w := range m {
			d.mark[w] = d.search
		}
	}
}
