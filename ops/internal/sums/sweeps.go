package sums

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/semiring"
)

// Sums over the cycles of components that are too large for elimination.

// orderAfter is how many sweeps are made in the order of state numbers, and then in reverse, before
// anything else is tried. Sparse random components have mostly settled by then.
const orderAfter = 64

// SweepLinear solves x = b + x·A for non-negative A, with b given in x. It sweeps over the states,
// loops summed exactly, until a sweep changes nothing that float64 shows. Sums of non-negative
// numbers only grow from sweep to sweep, so it ends in one of three ways. It reaches a fixed point.
// It overflows, which leaves +∞ at the state returned. Or it reaches the bound on visits, where an
// answer within Delta is taken if a sum certainly exists. A sum between 0 and least is no answer
// either, since denormal numbers have fewer digits and do not settle.
func SweepLinear(arcs RealArcs, x []float64, least float64, o *Options) int {
	b := slices.Clone(x)
	return solveLarge(arcs, len(x), o, func(in *arcsInto, number func(q int) int) (sweep, func()) {
		if number == nil {
			clear(x)
			return in.sweepPlain(b, x, least), func() {}
		}
		c, y := make([]float64, len(x)), make([]float64, len(x))
		for q := range b {
			c[number(q)] = b[q]
		}
		return in.sweepPlain(c, y, least), func() {
			for q := range x {
				x[q] = y[number(q)]
			}
		}
	}, func() int {
		y := make([]Wide, len(x))
		for q := range b {
			y[q] = Wide{b[q], 0}.settle()
		}
		bad := EliminateSparse(arcs, func(w float64) Wide { return Wide{w, 0}.settle() }, y, o)
		for q := range x {
			x[q] = y[q].Value()
		}
		return bad
	})
}

// SweepCosts solves x = b + x·A over numbers e^-w, which may be of any size. Arcs and b have the w,
// and the solution replaces b. In a component of thousands of states, sums over paths leave the
// range of float64 at one end while they are 1 at the other. So do their ratios to the best paths,
// since there are more and more paths.
func SweepCosts(arcs RealArcs, b []semiring.Log64, o *Options) int {
	at := slices.Clone(b)
	return solveLarge(arcs, len(b), o, func(in *arcsInto, number func(q int) int) (sweep, func()) {
		if number == nil {
			number = func(q int) int { return q }
		}
		c, y := make([]Wide, len(b)), make([]Wide, len(b))
		for q := range at {
			c[number(q)] = WideOf(float64(at[q]))
		}
		return in.sweepWide(c, y), func() {
			for q := range b {
				b[q] = semiring.Log64(y[number(q)].cost())
			}
		}
	}, func() int {
		y := make([]Wide, len(b))
		for q := range at {
			y[q] = WideOf(float64(at[q]))
		}
		bad := EliminateSparse(arcs, WideOf, y, o)
		for q := range b {
			b[q] = semiring.Log64(y[q].cost())
		}
		return bad
	})
}

// sweep goes over all states once. It returns the greatest relative change of a number, and the
// state of that change; or a state where there is no sum, -1 for none.
type sweep func() (change float64, worst, bad int)

// solveLarge sweeps over the states in the order of their numbers, and then in reverse if that does
// not settle. Against the arcs a sweep carries a sum over one arc; along them it carries it round a
// cycle. Then it tries elimination, which is exact. Where it adds few arcs (a band, a ring, a long
// grid) it takes no longer than some sweeps. Where it would add many, sweeps follow in an order
// that the arcs decide. system begins with x = 0, for states that number renumbers, if it is not
// nil. The function that it returns last stores x in its place.
func solveLarge(arcs RealArcs, n int, o *Options,
	system func(in *arcsInto, number func(q int) int) (sweep, func()), eliminate func() int) int {
	most := max(1, o.Visits(n)/int64(n))
	once, done := system(intoStates(arcs, n, nil), nil)
	bad, left := sweepUntilSettled(once, min(orderAfter, most), o)
	if left == 0 || most <= orderAfter {
		done()
		return settledWithin(bad, left, o)
	}
	renumbered := func(number func(q int) int, most int64) (bad int, left float64) {
		once, done := system(intoStates(arcs, n, number), number)
		bad, left = sweepUntilSettled(once, most, o)
		done()
		if bad >= 0 {
			for q := range n {
				if number(q) == bad {
					return q, left
				}
			}
		}
		return bad, left
	}
	if bad, left := renumbered(func(q int) int { return n - 1 - q }, orderAfter); left == 0 {
		return bad
	}
	if bad := eliminate(); bad != NotTried {
		return bad
	}
	place := alongArcs(arcs, n)
	bad, left = renumbered(func(q int) int { return int(place[q]) }, most)
	return settledWithin(bad, left, o)
}

// settledWithin is the result of sweeps that did not finish: an answer if it is near enough, else
// the state that has changed most.
func settledWithin(worst int, left float64, o *Options) int {
	if left > 0 && left <= o.Delta {
		return Solved
	}
	return worst
}

// sweepUntilSettled makes at most most sweeps, from x = 0 on. It returns solved, or why there is no
// answer, with left = 0. Otherwise it returns the state that has changed most and its relative
// change, which is infinite if there may be no sum.
//
// Where the sum diverges, what sweeps add never fades. Weighted by the states' parts in a left
// eigenvector, each sweep adds as much as the one before. So at some state the k-th adds 1/k of all
// so far, or more. Only less than that proves a sum, however large Delta is: round a cycle that
// sums to just 1 the change is 1/k.
func sweepUntilSettled(once sweep, most int64, o *Options) (bad int, left float64) {
	const settled = 1e-15
	for sweeps := int64(1); ; sweeps++ {
		if o.Ctx != nil && o.Ctx.Err() != nil {
			return interrupted, 0
		}
		change, worst, bad := once()
		switch {
		case bad >= 0:
			return bad, 0
		case change <= settled:
			return Solved, 0
		case sweeps >= most:
			if change*float64(sweeps) >= 0.5 {
				change = math.Inf(1)
			}
			return worst, change
		}
	}
}

// arcsInto has the arcs of a component in the order of the states to which they lead, loops apart.
type arcsInto struct {
	first []int32 // of each state, and the end
	from  []int32
	w     []float64
	loops []InnerArc[float64]
}

func intoStates(arcs RealArcs, n int, number func(q int) int) *arcsInto {
	if number == nil {
		number = func(q int) int { return q }
	}
	in := &arcsInto{first: make([]int32, n+2)}
	for i := range arcs.n {
		if from, to := arcs.ends(i); from == to {
			q := int32(number(int(to)))
			in.loops = append(in.loops, InnerArc[float64]{q, q, arcs.real(i)})
		} else {
			in.first[number(int(to))+2]++
		}
	}
	for q := range n {
		in.first[q+2] += in.first[q+1]
	}
	in.from, in.w = make([]int32, arcs.n-len(in.loops)), make([]float64, arcs.n-len(in.loops))
	for i := range arcs.n {
		if from, to := arcs.ends(i); from != to {
			q := number(int(to))
			k := in.first[q+1]
			in.from[k], in.w[k] = int32(number(int(from))), arcs.real(i)
			in.first[q+1]++
		}
	}
	return in
}

// sweepPlain sweeps x = b + x·A, with sums from least on.
func (in *arcsInto) sweepPlain(b, x []float64, least float64) sweep {
	loop := make([]float64, len(x))
	for _, e := range in.loops {
		loop[e.To] += e.W
	}
	first, from, ws := in.first, in.from, in.w
	var began []float64 // x after the first sweep
	sweeps := 0
	return func() (change float64, worst, bad int) {
		sweeps++
		grows := sweeps%growthAfter == 0
		for q := range x {
			if !(loop[q] < 1) {
				return 0, 0, q
			}
			sum := b[q]
			for k := first[q]; k < first[q+1]; k++ {
				sum += x[from[k]] * ws[k]
			}
			sum /= 1 - loop[q]
			c := sum - x[q]
			grows = grows && c >= began[q]+growth*sum
			if c /= sum; c > change {
				change, worst = c, q
			}
			x[q] = sum
			if !(sum <= math.MaxFloat64) || sum < least && sum > 0 {
				return 0, 0, q
			}
		}
		if grows {
			return 0, 0, worst
		}
		if sweeps == 1 {
			began = slices.Clone(x)
		}
		return change, worst, -1
	}
}

// A sweep that adds at every state as much as the first did proves that the sum diverges. Sweeps
// add the vectors d, dG, dG², … for one non-negative matrix G, and dGᵏ ≥ d makes dGᵏⁿ ≥ d for all
// n. This is tested after every growthAfter sweeps, with room for rounding. Without it divergence
// shows only when numbers overflow, or never.
const (
	growthAfter = 8
	growth      = 1e-12
)

// Wide is m·2^(512·e), with m from 2^-256 to 2^256, or 0: e^-w for any w that is at most farthest.
type Wide struct {
	m float64
	e int64
}

// farthest is how large weights may be for sums of them still to have digits behind the point.
const farthest = 1e12

const (
	wideStep  = 0x1p512
	wideUpper = 0x1p256
	wideLower = 0x1p-256
)

// WideOf returns e^-w.
func WideOf(w float64) Wide {
	if w > math.MaxFloat64 {
		return Wide{}
	}
	const log = 512 * math.Ln2
	e := math.Round(-w / log)
	return Wide{math.Exp(math.FMA(-e, log, -w)), int64(e)}
}

// cost returns -log x.
func (x Wide) cost() float64 {
	if x.m == 0 {
		return math.Inf(1)
	}
	return -math.Log(x.m) - float64(x.e)*(512*math.Ln2)
}

// Value returns x as a float, where it is one.
func (x Wide) Value() float64 {
	return math.Ldexp(x.m, 512*int(min(max(x.e, -10), 10)))
}

// times returns x · y, in range.
func (x Wide) times(y Wide) Wide { return Wide{x.m * y.m, x.e + y.e}.settle() }

// settle returns x with m in its range, from which a sum or a product has taken it.
func (x Wide) settle() Wide {
	for x.m >= wideUpper {
		x.m /= wideStep
		x.e++
	}
	for x.m < wideLower && x.m > 0 {
		x.m *= wideStep
		x.e--
	}
	return x
}

// plus returns x + y. Either m may be the product of two.
func (x Wide) plus(y Wide) Wide {
	if y.m == 0 {
		return x
	}
	if x.m == 0 {
		return y
	}
	if x.e < y.e {
		x, y = y, x
	}
	switch x.e - y.e {
	case 0:
		x.m += y.m
	case 1:
		x.m += y.m / wideStep
	case 2:
		x.m += y.m / wideStep / wideStep
	}
	return x // of less nothing would be seen
}

// since returns the change from old to x, as part of x.
func (x Wide) since(old Wide) float64 {
	switch {
	case x.m == 0 || x == old:
		return 0
	case old.m == 0:
		return 1
	}
	switch x.e - old.e {
	case 0:
		return (x.m - old.m) / x.m
	case 1:
		return (x.m - old.m/wideStep) / x.m
	case -1:
		return (x.m - old.m*wideStep) / x.m
	}
	return 1
}

// sweepWide is sweepPlain over numbers of any size; the arcs' weights are costs. The two loops stay
// apart: one over either kind of numbers would make a call for each arc.
func (in *arcsInto) sweepWide(b, x []Wide) sweep {
	loop := make([]float64, len(x))
	for _, e := range in.loops {
		loop[e.To] += math.Exp(-e.W)
	}
	ws := make([]Wide, len(in.w))
	for i, w := range in.w {
		ws[i] = WideOf(w)
	}
	first, from := in.first, in.from
	var began []Wide
	sweeps := 0
	return func() (change float64, worst, bad int) {
		sweeps++
		grows := sweeps%growthAfter == 0
		for q := range x {
			if !(loop[q] < 1) {
				return 0, 0, q
			}
			sum := b[q]
			for k := first[q]; k < first[q+1]; k++ {
				p, w := &x[from[k]], &ws[k]
				if m := p.m * w.m; p.e+w.e == sum.e {
					sum.m += m
				} else {
					sum = sum.plus(Wide{m, p.e + w.e})
				}
			}
			sum.m /= 1 - loop[q]
			sum = sum.settle()
			c := sum.since(x[q])
			if grows {
				at := began[q]
				grows = at.m == 0 || c >= Wide{at.m / sum.m, at.e - sum.e}.Value()+growth
			}
			if c > change {
				change, worst = c, q
			}
			x[q] = sum
		}
		if grows {
			return 0, 0, worst
		}
		if sweeps == 1 {
			began = slices.Clone(x)
		}
		return change, worst, -1
	}
}

// alongArcs numbers states so that each but the first has an arc from a lower one, where that is
// possible. It is the reverse of the order in which a depth-first search leaves them. So only arcs
// back along the search's path go down.
func alongArcs(arcs RealArcs, n int) []int32 {
	first := make([]int32, n+2)
	for i := range arcs.n {
		from, _ := arcs.ends(i)
		first[from+2]++
	}
	for q := range n {
		first[q+2] += first[q+1]
	}
	to := make([]int32, arcs.n)
	for i := range arcs.n {
		from, next := arcs.ends(i)
		to[first[from+1]] = next
		first[from+1]++
	}
	next := slices.Clone(first[:n])
	place, seen := make([]int32, n), make([]bool, n)
	number := int32(n)
	var path []int32
	for root := range int32(n) {
		if seen[root] {
			continue
		}
		seen[root] = true
		for path = append(path, root); len(path) > 0; {
			q := path[len(path)-1]
			if next[q] == first[q+1] {
				number--
				place[q] = number
				path = path[:len(path)-1]
				continue
			}
			if t := to[next[q]]; !seen[t] {
				seen[t] = true
				path = append(path, t)
			}
			next[q]++
		}
	}
	return place
}
