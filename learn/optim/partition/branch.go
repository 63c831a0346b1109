package partition

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// solver is the search in one component.
type solver struct {
	ctx   context.Context
	tol   float64 // of a score
	nodes int
	limit int // negative is none
	err   error
}

// weighty is how many sets of a part count as one more subproblem.
const weighty = 500

// result is what is known of a part: the best cover found, nil for none, and a bound of all.
type result struct {
	sets         []int32 // names
	value, bound float64
}

func (sv *solver) stop() bool {
	if sv.err == nil && sv.ctx.Err() != nil {
		sv.err = context.Cause(sv.ctx)
	}
	return sv.err != nil || sv.limit >= 0 && sv.nodes > sv.limit
}

// solve finds the best cover of a connected part if its value is above need. Without one
// above need, sets is nil, and bound is at most need, unless the limit was met.
func (sv *solver) solve(p *part, need float64) result {
	sv.nodes += 1 + p.sets()/weighty
	if x, ok := p.assignment(sv.ctx); ok {
		r := x.solve()
		if x.err != nil {
			sv.err = x.err
		}
		if r.sets != nil && !(r.value > need) {
			r.sets = nil
		}
		return r
	}
	slack := sv.tol * float64(p.elements())
	d := newDual(p)
	for stage := range stages {
		d.improve(sv.ctx, stage, slack, need)
		if stage == 1 && d.bound > d.target(need)+slack {
			sv.polish(d)
		}
		if sv.stop() || d.bound <= d.target(need)+slack {
			return d.result(need)
		}
		alive, fewer := d.eliminate(need)
		if fewer < p.sets()/8 && stage < stages-1 {
			continue
		}
		p.u, p.cover = d.u, d.cover()
		chosen, pieces, dead := p.split(slices.Clone(alive))
		if dead >= 0 { // no better one is left
			return result{d.names(), d.value, math.Min(d.bound, d.target(need))}.above(need)
		}
		if len(pieces) != 1 || pieces[0].sets() < p.sets()*7/8 {
			r := sv.together(p, chosen, pieces, d.target(need))
			return d.better(r, need)
		}
	}
	return d.better(sv.branch(p, d, need), need)
}

// above drops a cover that is not above need.
func (r result) above(need float64) result {
	if r.sets != nil && !(r.value > need) {
		r.sets = nil
	}
	return r
}

// together solves pieces that share no element, beside the sets chosen already.
func (sv *solver) together(p *part, chosen []int32, pieces []*part, need float64) result {
	total := result{sets: append(make([]int32, 0, len(chosen)), chosen...)}
	byName := p.scores()
	for _, h := range chosen {
		total.value += byName(h)
	}
	total.bound = total.value
	later := make([]float64, len(pieces)+1) // bounds of the pieces from one on
	for i := len(pieces) - 1; i >= 0; i-- {
		later[i] = later[i+1] + pieces[i].lagrangian()
	}
	if total.bound+later[0] <= need {
		return result{nil, 0, total.bound + later[0]}
	}
	for i, q := range pieces {
		r := sv.solve(q, need-total.value-later[i+1])
		total.bound += r.bound
		if r.sets == nil {
			total.bound += later[i+1]
			total.sets = nil
			return total
		}
		total.value += r.value
		total.sets = append(total.sets, r.sets...)
	}
	return total
}

// scores returns a function from names of sets to their scores.
func (p *part) scores() func(name int32) float64 {
	return func(name int32) float64 {
		if p.id == nil {
			return p.score[name]
		}
		i, _ := slices.BinarySearch(p.id, name) // ids stay ascending
		return p.score[i]
	}
}

// lagrangian returns the bound by the multipliers that the part came with.
func (p *part) lagrangian() float64 {
	b := 0.0
	for _, u := range p.u {
		b += u
	}
	for h, s := range p.score {
		for _, v := range p.members(int32(h)) {
			s -= p.u[v]
		}
		b += math.Max(0, s)
	}
	return b
}

// branch tries the sets of the element that has fewest, those of the largest reduced score first.
func (sv *solver) branch(p *part, d *dual, need float64) result {
	p.u, p.cover = d.u, d.cover()
	alive, _ := d.eliminate(need)
	left := make([]int32, p.elements())
	for h, ok := range alive {
		if ok {
			for _, v := range p.members(int32(h)) {
				left[v]++
			}
		}
	}
	v := int32(0)
	for x := range left {
		if left[x] < left[v] {
			v = int32(x)
		}
	}
	var order []int32
	for _, h := range p.with(v) {
		if alive[h] {
			order = append(order, h)
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.r[b], d.r[a]) })
	best := result{nil, math.Inf(-1), math.Inf(-1)}
	floor := d.target(need)
	for _, h := range order {
		rest := d.bound + math.Min(0, d.r[h]) // without the other sets of v
		for _, g := range order {
			if g != h {
				rest -= math.Max(0, d.r[g])
			}
		}
		if rest <= floor || sv.stop() {
			best.bound = math.Max(best.bound, rest)
			continue
		}
		child := slices.Clone(alive)
		for _, x := range p.members(h) {
			for _, g := range p.with(x) {
				child[g] = g == h
			}
		}
		chosen, pieces, dead := p.split(child)
		if dead >= 0 {
			continue
		}
		r := sv.together(p, chosen, pieces, floor)
		best.bound = math.Max(best.bound, math.Min(r.bound, rest))
		if r.sets != nil && r.value > floor {
			best.sets, best.value = r.sets, r.value
			floor = r.value
		}
	}
	if sv.err == nil && best.sets != nil {
		best.bound = math.Max(best.bound, best.value)
	}
	return best
}
