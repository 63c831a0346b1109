package skpca

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Search is how the counts of features are chosen.
type Search string

// The searches.
const (
	Auto     Search = "auto"      // exact where cells are few, else local
	Exact    Search = "exact"     // every cell: the global optimum
	Local    Search = "local"     // moves of one feature: no neighbouring cell is better
	TwoStage Search = "two-stage" // uniform weights, then a classifier: no coupling
	Aligned  Search = "aligned"   // weights by alignment with the labels, then a classifier
)

// searcher looks for the best cell of M for one gamma.
type searcher struct {
	set      *set
	sample   *sample
	gamma    float64
	maxCells int
	workers  int
	ball     float64 // ‖w‖ is at most this; 0 for a penalty
	note     func(cells, of int, best float64)
}

// cells returns C(r+p-1, p-1), or more than most.
func cells(p, r, most int) int {
	n := 1.0
	for i := 1; i < p; i++ {
		if n = n * float64(r+i) / float64(i); n > float64(most) {
			return most + 1
		}
	}
	return int(math.Round(n))
}

// regionOf returns the region of a cell, nil for an empty one.
func (q *searcher) regionOf(counts []int) (*region, error) {
	r, err := newRegion(q.set, counts)
	if errors.Is(err, errEmpty) {
		return nil, nil
	}
	return r, err
}

// best returns the best fit of the search, and how many cells it solved. It starts from a fit
// of another gamma or set where one is given, which must lie in M for these.
func (q *searcher) best(how Search, from *fit) (*fit, int, error) {
	p := len(q.set.values)
	if q.frozenSet() {
		mu := slices.Repeat([]float64{1 / float64(p)}, p)
		f, err := q.sample.frozen(q.set.values, q.set.topSet(mu), mu, q.gamma, from)
		return f, 1, err
	}
	switch how {
	case TwoStage, Aligned:
		mu := q.uniform()
		if how == Aligned {
			mu = q.aligned()
		}
		f, err := q.sample.frozen(q.set.values, q.set.topSet(mu), mu, q.gamma, from)
		return f, 1, err
	case Auto, "":
		if how = Local; cells(p, q.set.r, q.maxCells) <= q.maxCells {
			how = Exact
		}
	}
	if how == Exact {
		return q.exact(from)
	}
	return q.local(from)
}

// frozenSet reports whether M is the uniform weights alone: nu is p².
func (q *searcher) frozenSet() bool {
	p := float64(len(q.set.values))
	return q.set.nu <= p*p*(1+1e-9)
}

// uniform returns equal weights, as large as M allows.
func (q *searcher) uniform() []float64 {
	p := len(q.set.values)
	return q.scaled(slices.Repeat([]float64{1}, p))
}

// scaled brings weights to the border of the first two conditions of M.
func (q *searcher) scaled(mu []float64) []float64 {
	sum := 0.0
	for _, v := range mu {
		sum += v
	}
	factor := 1 / sum
	if top := q.set.kyFan(mu); top*factor > q.set.lambda {
		factor = q.set.lambda / top
	}
	out := make([]float64, len(mu))
	for k, v := range mu {
		out[k] = v * factor
	}
	return out
}

// aligned returns weights by the alignment of each kernel's first features with the labels, Σ_j
// (Σ_i y_i φ_j(x_i))²/Σ_j λ_j. It mixes them with uniform ones until nu is met.
func (q *searcher) aligned() []float64 {
	p := len(q.set.values)
	a := make([]float64, p)
	total := 0.0
	for k := range p {
		c := min(q.set.r, len(q.set.values[k]))
		for _, y := range q.sample.y {
			mean := 0.0
			for _, v := range y {
				mean += v / float64(len(y))
			}
			for j := range c {
				s := 0.0
				for i, v := range y {
					s += (v - mean) * q.sample.phi[k][i*len(q.set.values[k])+j] / float64(q.sample.m)
				}
				a[k] += s * s
			}
		}
		a[k] /= q.set.partial(k, c)
		total += a[k]
	}
	uniform := q.uniform()
	if total == 0 {
		return uniform
	}
	for mix := 0.0; ; mix += 0.05 {
		mu := make([]float64, p)
		for k := range mu {
			mu[k] = (1-min(mix, 1))*a[k]/total + min(mix, 1)/float64(p)
		}
		mu = q.scaled(mu)
		inverse := 0.0
		for _, v := range mu {
			inverse += 1 / v
		}
		if inverse <= q.set.nu || mix >= 1 {
			return mu
		}
	}
}

// exact solves every cell that is not empty, in the order of the counts.
func (q *searcher) exact(from *fit) (*fit, int, error) {
	var list [][]int
	counts := make([]int, len(q.set.values))
	var add func(k, left int)
	add = func(k, left int) {
		if k == len(counts)-1 {
			if left <= len(q.set.values[k]) {
				counts[k] = left
				list = append(list, slices.Clone(counts))
			}
			return
		}
		for c := 0; c <= min(left, len(q.set.values[k])); c++ {
			counts[k] = c
			add(k+1, left-c)
		}
	}
	add(0, q.set.r)
	return q.among(list, from)
}

// batch cells are solved side by side, each against the best before them: the same cells are
// solved whatever the number of workers is.
const batch = 4

// among returns the best fit of the cells in a list; the first of equals.
func (q *searcher) among(list [][]int, from *fit) (*fit, int, error) {
	var best *fit
	solved := 0
	if from != nil { // a bound from the start
		slices.SortStableFunc(list, func(a, b []int) int {
			return cmp.Compare(apart(a, from.counts), apart(b, from.counts))
		})
	}
	for at := 0; at < len(list); at += batch {
		n := min(batch, len(list)-at)
		fits := make([]*fit, n)
		enough, start := math.Inf(1), from
		if best != nil {
			enough, start = best.value*(1-1e-9), best
		}
		err := run.Each(q.workers, n, func(_, i int) error {
			var err error
			fits[i], err = q.cell(list[at+i], enough, start)
			return err
		})
		if err != nil {
			return nil, solved, err
		}
		for _, f := range fits {
			if f != nil {
				solved++
				if best == nil || f.value < best.value {
					best = f
				}
			}
		}
		if q.note != nil && best != nil {
			q.note(at+n, len(list), best.value)
		}
	}
	if best == nil {
		return nil, 0, errEmpty
	}
	return best, solved, nil
}

// apart is how many features two counts differ in.
func apart(a, b []int) int {
	n := 0
	for k, c := range a {
		n += max(c-b[k], 0)
	}
	return n
}

// cell solves one cell; nil where it is empty or cannot be below enough.
func (q *searcher) cell(counts []int, enough float64, from *fit) (*fit, error) {
	if q.set.ctx.Err() != nil {
		return nil, context.Cause(q.set.ctx)
	}
	r, err := q.regionOf(counts)
	if err != nil || r == nil {
		return nil, err
	}
	if q.ball == 0 {
		return q.sample.solve(r, q.gamma, enough, from)
	}
	return q.inBall(r, from)
}

// inBall minimises the loss over ‖w‖ ≤ ball. It looks for the penalty that has ‖w‖ at the ball, on
// the logarithms of both, in which the norm falls nearly along a line.
func (q *searcher) inBall(r *region, from *fit) (*fit, error) {
	f := from
	var err error
	norm := func(log float64) (float64, error) {
		if f, err = q.sample.solve(r, math.Exp(log), math.Inf(1), f); err != nil {
			return 0, err
		}
		return math.Log(max(f.norm, 1e-300) / (q.ball * q.ball)), nil
	}
	low, high := math.Log(1e-8), math.Log(1e3)
	above, err := norm(low)
	if err != nil {
		return nil, err
	}
	if above > 0 {
		below, err := norm(high)
		if err != nil {
			return nil, err
		}
		// The method of false position, with the end that stays halved (Illinois).
		side, a, b := 0, above, below
		for range 60 {
			at := (low*b - high*a) / (b - a)
			if !(at > low && at < high) || high-low < 1e-9 {
				break
			}
			v, err := norm(at)
			if err != nil {
				return nil, err
			}
			if v <= 0 && v > -1e-7 {
				break
			}
			if v > 0 {
				if low, a = at, v; side == 1 {
					b /= 2
				}
				side = 1
			} else {
				if high, b = at, v; side == -1 {
					a /= 2
				}
				side = -1
			}
		}
		if f.norm > q.ball*q.ball*(1+1e-9) {
			if _, err := norm(high); err != nil {
				return nil, err
			}
		}
	}
	f.value = f.loss
	return f, nil
}

// local goes from the best of some starts to cells that differ in one feature, until none is
// better.
func (q *searcher) local(from *fit) (*fit, int, error) {
	p := len(q.set.values)
	var starts [][]int
	enter := func(counts []int) {
		n := 0
		for _, c := range counts {
			n += c
		}
		if n == q.set.r && !slices.ContainsFunc(starts, func(c []int) bool { return slices.Equal(c, counts) }) {
			starts = append(starts, counts)
		}
	}
	if from != nil {
		enter(from.counts)
	}
	enter(q.set.topSet(q.uniform()))
	enter(q.set.topSet(q.aligned()))
	enter(q.pursued())
	for k := range p {
		if len(q.set.values[k]) >= q.set.r {
			counts := make([]int, p)
			counts[k] = q.set.r
			enter(counts)
		}
	}
	best, solved, err := q.among(starts, from)
	if errors.Is(err, errEmpty) {
		// The start that M itself has: the weights of the least Σ 1/μ.
		_, mu, err2 := q.set.leastNu(q.set.lambda)
		if err2 != nil {
			return nil, 0, err2
		}
		best, solved, err = q.among([][]int{q.set.topSet(mu)}, from)
	}
	if err != nil {
		return nil, 0, err
	}
	for {
		moves := q.moves(best)
		moved := false
		for at := 0; at < len(moves) && !moved; at += batch {
			n := min(batch, len(moves)-at)
			fits := make([]*fit, n)
			enough := best.value - 1e-6*math.Abs(best.value)
			err := run.Each(q.workers, n, func(_, i int) error {
				var err error
				fits[i], err = q.cell(moves[at+i], enough, best)
				return err
			})
			if err != nil {
				return nil, solved, err
			}
			for _, f := range fits {
				if f == nil {
					continue
				}
				solved++
				if f.value < enough {
					enough, best, moved = f.value, f, true
				}
			}
		}
		if q.note != nil {
			q.note(solved, 0, best.value)
		}
		if !moved {
			return best, solved, nil
		}
	}
}

// mostAtOnce is how many features of a kernel pursued looks ahead: a good one may stand behind
// others.
const mostAtOnce = 3

// pursued returns counts by orthogonal matching pursuit. Features enter, up to three of a kernel at
// a time, that explain most of what is left of the labels. Kernels whose features say nothing get
// none, however large their eigenvalues are. O(p·m·r²).
func (q *searcher) pursued() []int {
	s := q.sample
	p, m := len(q.set.values), s.m
	weight := func(i int) float64 { return score.Weight(s.w, i) }
	dot := func(a, b []float64) float64 {
		t := 0.0
		for i, v := range a {
			t += weight(i) * v * b[i]
		}
		return t
	}
	var basis [][]float64 // orthonormal: the constant, then what has entered
	// apart takes off a column what lies along the basis and along more; nil is nothing but
	// rounding.
	apart := func(x []float64, more [][]float64) []float64 {
		before := dot(x, x)
		for range 2 {
			for _, b := range slices.Concat(basis, more) {
				t := dot(x, b)
				for i, v := range b {
					x[i] -= t * v
				}
			}
		}
		after := dot(x, x)
		if !(after > 1e-10*before) {
			return nil
		}
		for i := range x {
			x[i] /= math.Sqrt(after)
		}
		return x
	}
	if s.free {
		basis = append(basis, apart(slices.Repeat([]float64{1}, m), nil))
	}
	var left [][]float64
	for _, y := range s.y {
		y = slices.Clone(y)
		for _, b := range basis {
			t := dot(y, b)
			for i, v := range b {
				y[i] -= t * v
			}
		}
		left = append(left, y)
	}
	counts := make([]int, p)
	for size := 0; size < q.set.r; {
		best, at := -1.0, -1
		var entering [][]float64
		for k := range p {
			all, gain := len(q.set.values[k]), 0.0
			var more [][]float64
			for n := 1; n <= min(mostAtOnce, q.set.r-size, all-counts[k]); n++ {
				x := make([]float64, m)
				for i := range x {
					x[i] = s.phi[k][i*all+counts[k]+n-1]
				}
				if x = apart(x, more); x == nil {
					x = make([]float64, m) // it takes a place all the same
				}
				more = append(more, x)
				for _, y := range left {
					gain += dot(x, y) * dot(x, y)
				}
				if gain/float64(n) > best*(1+1e-9) {
					best, at, entering = gain/float64(n), k, slices.Clone(more)
				}
			}
		}
		if at < 0 {
			break // there are no more features
		}
		counts[at] += len(entering)
		size += len(entering)
		for _, x := range entering {
			if dot(x, x) == 0 {
				continue
			}
			basis = append(basis, x)
			for _, y := range left {
				t := dot(y, x)
				for i, v := range x {
					y[i] -= t * v
				}
			}
		}
	}
	return counts
}

// moves returns the cells that have one feature more of a kernel and one less of another, those of
// the largest estimated gain first. The gain is the loss's slope along the feature that enters,
// less the penalty's along the one that leaves.
func (q *searcher) moves(f *fit) [][]int {
	s, p := q.sample, len(f.counts)
	enter, leave := make([]float64, p), make([]float64, p)
	x := s.design(q.set.values, f.counts)
	d := len(x) / s.m
	for o, y := range s.y {
		g := s.slopes(x, d, f, o, y)
		at := 0
		for k, c := range f.counts {
			if all := len(q.set.values[k]); c < all {
				t := 0.0
				for i, v := range g {
					t += v * s.phi[k][i*all+c]
				}
				enter[k] += t * t
			}
			if c > 0 {
				theta := f.theta[o][at+c-1]
				leave[k] += theta * theta
			}
			at += c
		}
	}
	type move struct {
		k, l int
		gain float64
	}
	var list []move
	for k := range p {
		for l := range p {
			if k != l && f.counts[k] > 0 && f.counts[l] < len(q.set.values[l]) {
				gain := math.Sqrt(enter[l]*math.Max(f.mu[l], 1/float64(p))) - q.gamma*math.Sqrt(leave[k]/f.mu[k])
				list = append(list, move{k, l, gain})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b move) int { return cmp.Compare(b.gain, a.gain) })
	out := make([][]int, len(list))
	for i, m := range list {
		out[i] = slices.Clone(f.counts)
		out[i][m.k]--
		out[i][m.l]++
	}
	return out
}

// slopes returns the derivative of the mean loss by the score of each example.
func (s *sample) slopes(x []float64, d int, f *fit, o int, y []float64) []float64 {
	g, scores := make([]float64, s.m), make([]float64, s.m)
	for i := range s.m {
		t := 0.0
		for j, v := range x[i*d : i*d+len(f.theta[o])] {
			t += v * f.theta[o][j]
		}
		scores[i] = t + f.offset[o]
	}
	if s.loss == nil {
		for i, v := range scores {
			if y[i]*v < 1 {
				g[i] = -y[i]
			}
		}
	} else {
		s.loss.Gradients(g, nil, y, scores)
	}
	for i := range g {
		if s.w != nil {
			g[i] *= s.w[i]
		}
		g[i] /= float64(s.m)
	}
	return g
}
