package graph

import (
	"sync"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Components holds the strongly connected components of a machine.
type Components struct {
	Of []int32 // component of each state, -1 where the search did not come
	N  int     // number of components; every arc goes to the same or a higher one
}

// What findComponents is asked for.
const (
	FromStart    = 1 << iota // only what the start state reaches
	WantCoaccess             // mark the states that reach a final one
)

// Frame is a state on the path of a depth-first search. It has 12 bytes, so that a chain of
// millions of states costs tens of megabytes and no call stack.
type Frame struct {
	Q    fst.StateID
	Arc  int32 // the arc under examination
	root bool  // no arc has been seen that reaches further up the path
}

// componentScratch is the work space of a search, kept for the next one. Allocated anew each time,
// it was half of the garbage of a shortest distance over 10,000 arcs, with a first touch of a page
// every 4 kB.
type componentScratch struct {
	path []Frame
	held []fst.StateID // finished states whose component is still open
}

var componentWork = sync.Pool{New: func() any { return new(componentScratch) }}

// grown is append for a stack of at most most items. Once the stack is large it gets room for all
// of them; unused room is never touched. Growing step by step would leave four times its size to
// the collector.
func grown[T any](s []T, v T, most int) []T {
	if len(s) == cap(s) && len(s) >= 4096 && len(s) < most {
		s = append(make([]T, 0, most), s...)
	}
	return append(s, v)
}

// keptPath is up to how many states are kept room for.
const keptPath = 1 << 16

// FindComponents runs one depth-first search along the arcs that keep accepts (nil: all). It begins
// at the start state, and then at each state not yet seen, in the order of ids. Components are
// numbered topologically, as in OpenFst: later finished, lower numbered. With wantCoaccess the
// second result tells which of the states seen reach a final state.
//
// The search is Tarjan's with one word a state (D. Pearce, "A space-efficient algorithm for finding
// strongly connected components", Information Processing Letters 116, 2016). While a state is open,
// of[q] is the lowest index that it is known to reach. Afterwards it is the state's component.
// Components are counted down from the number of states, and so stay above every index still in
// use.
//
// Cost: O(states + arcs) time, 4 bytes a state and at most 16 more a state on
// the path.
func FindComponents[W semiring.Weight[W]](f fst.Expanded[W], keep func(*fst.Arc[W]) bool,
	flags int) (Components, []bool) {
	c, co, _ := FindComponentsWithin(f, keep, flags, &run.Stopwatch{})
	return c, co
}

// FindComponentsWithin is findComponents that a context ends.
func FindComponentsWithin[W semiring.Weight[W]](f fst.Expanded[W], keep func(*fst.Arc[W]) bool, flags int,
	w *run.Stopwatch) (Components, []bool, error) {
	n := f.NumStates()
	c := Components{Of: make([]int32, n)}
	var co []bool
	if flags&WantCoaccess != 0 {
		co = make([]bool, n)
	}
	start := f.Start()
	if start == fst.NoState {
		start = 0
		if flags&FromStart != 0 {
			n = 0
		}
	}
	var (
		zero   = semiring.Zero[W]()
		low    = c.Of
		work   = componentWork.Get().(*componentScratch)
		path   = work.path[:0]
		held   = work.held[:0]
		index  = int32(1) // 0 is not seen
		next   = int32(len(low))
		lowest = next // components so far are lowest+1 … len(low)
	)
	for i := -1; i < n; i++ {
		root := fst.StateID(i)
		if i < 0 {
			if root = start; n == 0 {
				break
			}
		} else if flags&FromStart != 0 {
			break
		}
		if low[root] != 0 {
			continue
		}
		path = append(path[:0], Frame{Q: root, root: true})
		low[root] = index
		index++
		arcs := f.Arcs(root)
		for {
			if err := w.Spend(1); err != nil {
				return c, nil, err
			}
			top := &path[len(path)-1]
			q := top.Q
			lq := low[q]
			reach := co != nil && co[q]
			k := top.Arc
			descend := fst.NoState
			for ; int(k) < len(arcs); k++ {
				e := &arcs[k]
				if keep != nil && !keep(e) {
					continue
				}
				t := e.NextState
				lt := low[t]
				if lt == 0 {
					descend = t
					break
				}
				if lt < lq {
					lq = lt
					top.root = false
				}
				if co != nil && co[t] {
					reach = true
				}
			}
			low[q] = lq
			if co != nil {
				co[q] = reach
			}
			if descend != fst.NoState {
				top.Arc = k // looked at once more when the target has finished
				low[descend] = index
				index++
				path = grown(path, Frame{Q: descend, root: true}, len(low))
				arcs = f.Arcs(descend)
				continue
			}
			if co != nil && !reach && !f.Final(q).Equal(zero) {
				co[q] = true
			}
			if top.root {
				index--
				k := len(held)
				any := co != nil && co[q]
				for k > 0 && lq <= low[held[k-1]] {
					k--
					any = any || co != nil && co[held[k]]
				}
				for _, s := range held[k:] {
					low[s] = next
					index--
					if any {
						co[s] = true
					}
				}
				if any {
					co[q] = true
				}
				held = held[:k]
				low[q] = next
				next--
			} else {
				held = grown(held, q, len(low))
			}
			path = path[:len(path)-1]
			if len(path) == 0 {
				break
			}
			arcs = f.Arcs(path[len(path)-1].Q)
		}
	}
	if cap(path) <= keptPath && cap(held) <= keptPath {
		work.path, work.held = path, held
	}
	componentWork.Put(work)
	lowest = next
	c.N = len(low) - int(lowest)
	for q, l := range low {
		if l == 0 {
			low[q] = -1
		} else {
			low[q] = l - lowest - 1
		}
	}
	return c, co, nil
}

// Members lists the states of each component, in order of ids: those of
// component k are list[first[k]:first[k+1]].
func (c *Components) Members() (list []fst.StateID, first []int32) {
	first = make([]int32, c.N+2)
	for _, k := range c.Of {
		if k >= 0 {
			first[k+2]++
		}
	}
	for k := range c.N {
		first[k+2] += first[k+1]
	}
	list = make([]fst.StateID, first[c.N+1])
	for q, k := range c.Of {
		if k >= 0 {
			list[first[k+1]] = fst.StateID(q)
			first[k+1]++
		}
	}
	return list, first[:c.N+1]
}
