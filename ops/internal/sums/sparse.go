package sums

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/ops/internal/run"
)

// wideArc is an arc to a state, or from one.
type wideArc struct {
	state int32
	w     Wide
}

// EliminateSparse solves x = b + x·A by eliminating one state after the other. The coefficients are
// the numbers that weight makes of the arcs' weights, and b is given in x. The next state is the
// one whose removal adds the fewest arcs between its neighbours (H. Markowitz, "The elimination
// form of the inverse and its application to linear programming", Management Science 3(3), 1957).
// The only difference that it takes is 1-a, for the loop at a state, as in solveLinear.
//
// It returns notTried, and leaves x as it is, if there would be eight times as many arcs, or if a
// loop is so near to 1 that rounding decides on which side. Otherwise it returns solved, or a state
// at which the sum diverges.
func EliminateSparse(arcs RealArcs, weight func(float64) Wide, x []Wide, o *Options) int {
	const near = 1e-11
	n := len(x)
	b := slices.Clone(x)
	e := newElimination(arcs, weight, n)
	most := 8*arcs.n + 1<<16
	type eliminated struct {
		state int32
		star  Wide
		from  []wideArc // states left then that have an arc to it
	}
	order := make([]eliminated, 0, n)
	w := &run.Stopwatch{Ctx: o.Ctx}
	for len(order) < n {
		p := e.next()
		if w.Spend(8+int(e.key(p))) != nil {
			return interrupted
		}
		loop := e.loop[p].Value()
		if math.Abs(1-loop) < near {
			return NotTried
		}
		if !(loop < 1) {
			return int(p)
		}
		star := Wide{1 / (1 - loop), 0}.settle()
		for _, arc := range e.rows[p] {
			b[arc.state] = b[arc.state].plus(b[p].times(star).times(arc.w)).settle()
		}
		order = append(order, eliminated{p, star, e.remove(p, star)})
		if e.arcs > most {
			return NotTried
		}
	}
	for _, at := range slices.Backward(order) {
		sum := b[at.state]
		for _, arc := range at.from {
			sum = sum.plus(x[arc.state].times(arc.w)).settle()
		}
		x[at.state] = sum.times(at.star)
	}
	return Solved
}

// elimination is what is left of a component.
type elimination struct {
	rows [][]wideArc // arcs from each state, one to each other
	from [][]int32   // states that have, or had, an arc to each
	into []int32     // how many have one
	loop []Wide
	gone []bool
	arcs int     // in rows, and of states that are gone those into them
	at   []int32 // 1 + where in the row that is looked at the arc to each state is
	heap *run.Heap[stateKey]
}

func newElimination(arcs RealArcs, weight func(float64) Wide, n int) *elimination {
	e := &elimination{
		rows: make([][]wideArc, n), from: make([][]int32, n), into: make([]int32, n),
		loop: make([]Wide, n), gone: make([]bool, n), at: make([]int32, n),
		heap: run.NewHeap(stateKey.less),
	}
	for i := range arcs.n {
		if from, to := arcs.ends(i); from == to {
			e.loop[from] = e.loop[from].plus(weight(arcs.real(i))).settle()
		} else {
			e.rows[from] = append(e.rows[from], wideArc{to, weight(arcs.real(i))})
		}
	}
	for p := range int32(n) {
		row := e.rows[p]
		e.rows[p] = row[:0]
		for _, arc := range row {
			e.add(p, arc.state, arc.w)
		}
		e.leave(p)
	}
	for p := range int32(n) {
		e.heap.Push(stateKey{e.key(p), p})
	}
	return e
}

// add adds to the row of p, which is the one that is looked at.
func (e *elimination) add(p, to int32, w Wide) {
	if k := e.at[to]; k > 0 {
		arc := &e.rows[p][k-1]
		arc.w = arc.w.plus(w).settle()
		return
	}
	e.rows[p] = append(e.rows[p], wideArc{to, w.settle()})
	e.at[to] = int32(len(e.rows[p]))
	e.from[to] = append(e.from[to], p)
	e.into[to]++
	e.arcs++
}

// look makes the row of p the one that is looked at, until leave.
func (e *elimination) look(p int32) {
	for k, arc := range e.rows[p] {
		e.at[arc.state] = int32(k) + 1
	}
}

func (e *elimination) leave(p int32) {
	for _, arc := range e.rows[p] {
		e.at[arc.state] = 0
	}
}

// remove puts arcs between its neighbours in the place of p, the turns round whose loop weigh star,
// and returns the arcs to it.
func (e *elimination) remove(p int32, star Wide) (into []wideArc) {
	e.gone[p] = true
	row := e.rows[p]
	into = make([]wideArc, 0, e.into[p])
	for _, i := range e.from[p] {
		if e.gone[i] {
			continue
		}
		e.look(i)
		k, last := e.at[p]-1, len(e.rows[i])-1
		w := e.rows[i][k].w
		into = append(into, wideArc{i, w})
		e.at[p] = 0
		if int(k) != last {
			moved := e.rows[i][last]
			e.rows[i][k] = moved
			e.at[moved.state] = k + 1
		}
		e.rows[i] = e.rows[i][:last]
		through := w.times(star)
		for _, arc := range row {
			if arc.state == i {
				e.loop[i] = e.loop[i].plus(through.times(arc.w)).settle()
			} else {
				e.add(i, arc.state, through.times(arc.w))
			}
		}
		e.leave(i)
		e.heap.Push(stateKey{e.key(i), i})
	}
	for _, arc := range row {
		e.into[arc.state]--
		e.heap.Push(stateKey{e.key(arc.state), arc.state})
	}
	e.arcs -= len(row)
	e.rows[p], e.from[p] = nil, nil
	return into
}

// key is how many arcs come in the place of p.
func (e *elimination) key(p int32) int64 { return int64(e.into[p]) * int64(len(e.rows[p])) }

// next returns the state with the least key, which is left.
func (e *elimination) next() int32 {
	for {
		k := e.heap.Pop()
		if !e.gone[k.state] && k.key == e.key(k.state) {
			return k.state
		}
	}
}

// stateKey is a state in the heap; one whose key has changed is in it with its former keys, too.
type stateKey struct {
	key   int64
	state int32
}

func (a stateKey) less(b stateKey) bool {
	return a.key < b.key || a.key == b.key && a.state < b.state
}
