package pdt

import (
	"github.com/tropica-fst/tropica/fst"
)

// components are the sets of rules that call one another in circles.
type components struct {
	of     []int32 // component of each rule
	member [][]int // rules of each component that is linear, ascending; nil of others
	left   []bool  // linear to the left, not to the right
}

// linearize merges the rules of components that are linear, so that calls within
// them need no parentheses.
//
// A component is left-linear if each call within it is an arc from the start of a rule, and no arc
// leads back to that start. It is right-linear if each call leads to a final state without arcs.
// Left-linear rules begin at one common state. A call is then an ε-arc with the call's weight, from
// the end of the called rule to the state where the call returns. Right-linear rules end in one
// common state. A call is then an ε-arc to the start of the called rule.
//
// OpenFst has weaker conditions, which change the strings of some grammars:
//
//   - It counts arcs into starts, and out of final states, of all rules together.
//   - For right-linear components it also counts calls from outside.
//   - It loses the empty string of a left-linear rule other than the first.
//   - It looks up a rule that calls itself under another rule's number, if rules are not in the
//     order of their calls.
func (r *replacer[W]) linearize() error {
	r.linear = r.findLinear()
	r.out.SetProperties(0, fst.AllProperties)
	for _, i := range r.order {
		c := r.linear.of[i]
		m := r.linear.member[c]
		if m == nil {
			continue
		}
		if r.linear.left[c] {
			r.mergeStarts(i, m[0])
		} else {
			r.mergeFinals(i, m[0])
		}
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// mergeStarts has rule i of a left-linear component begin where the first rule does.
func (r *replacer[W]) mergeStarts(i, first int) {
	r.closeWeight[i] = true
	own, common := r.start[i], r.offset[first]+r.rules[first].F.Start()
	if own == common {
		return
	}
	for k := range len(r.out.Arcs(own)) {
		r.out.AddArc(common, r.out.Arcs(own)[k])
	}
	r.out.DeleteArcs(own)
	if !r.rules[i].F.Final(r.rules[i].F.Start()).Equal(r.zero) {
		r.out.AddArc(common, fst.Arc[W]{Weight: r.one, NextState: own}) // the empty string of this rule alone
	}
	if r.out.Start() == own {
		r.out.SetStart(common)
	}
	r.start[i] = common
}

// mergeFinals has rule i of a right-linear component end where the first rule does.
func (r *replacer[W]) mergeFinals(i, first int) {
	common := r.offset[first] + r.returns(first)[0]
	f, base := r.rules[i].F, r.offset[i]
	isReturn := make([]bool, f.NumStates())
	for _, q := range r.returns(i) {
		isReturn[q] = true
	}
	for q := range fst.StateID(f.NumStates()) {
		s := base + q
		arcs := r.out.MutableArcs(s)
		for k := range arcs {
			if d := arcs[k].NextState - base; isReturn[d] {
				r.endAt(arcs[k].NextState, common)
				arcs[k].Weight = arcs[k].Weight.Times(f.Final(d))
				arcs[k].NextState = common
			}
		}
		if w := f.Final(q); !w.Equal(r.zero) && !isReturn[q] {
			r.out.AddArc(s, fst.Arc[W]{Weight: w, NextState: common})
			r.endAt(s, common)
		}
	}
	r.finals[i] = []final[W]{{common, r.one}}
}

// endAt makes common final, instead of s, where s is.
func (r *replacer[W]) endAt(s, common fst.StateID) {
	if !r.out.Final(s).Equal(r.zero) {
		r.out.SetFinal(s, r.zero)
		r.out.SetFinal(common, r.one)
	}
}

// returns lists the states of rule i, ascending, to which calls within its component
// return.
func (r *replacer[W]) returns(i int) (states []fst.StateID) {
	f := r.rules[i].F
	seen := make([]bool, f.NumStates())
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			if k, ok := r.called(&e); ok && r.linear.of[k] == r.linear.of[i] {
				seen[e.NextState] = true
			}
		}
	}
	for q, yes := range seen {
		if yes {
			states = append(states, fst.StateID(q))
		}
	}
	return states
}

// findLinear finds the components, and which are linear. A rule that accepts nothing
// calls and is called by none.
func (r *replacer[W]) findLinear() *components {
	n := len(r.rules)
	calls := make([][]int32, n)
	for i, x := range r.rules {
		if x.F.Start() == fst.NoState {
			continue
		}
		seen := map[int]bool{}
		for q := range fst.StateID(x.F.NumStates()) {
			for _, e := range x.F.Arcs(q) {
				if k, ok := r.called(&e); ok && !seen[k] && r.rules[k].F.Start() != fst.NoState {
					seen[k] = true
					calls[i] = append(calls[i], int32(k))
				}
			}
		}
	}
	c := &components{}
	var count int
	c.of, count = connected(calls)
	c.member, c.left = make([][]int, count), make([]bool, count)
	circular, left, right := make([]bool, count), make([]bool, count), make([]bool, count)
	for k := range count {
		left[k], right[k] = true, true
	}
	for i, x := range r.rules {
		k := c.of[i]
		for _, j := range calls[i] {
			circular[k] = circular[k] || c.of[j] == k
		}
		l, rt := r.linearRule(x.F, k, c.of)
		left[k], right[k] = left[k] && l, right[k] && rt
		c.member[k] = append(c.member[k], i)
	}
	for k := range count {
		c.left[k] = left[k]
		if !circular[k] || !left[k] && !right[k] {
			c.member[k] = nil
		}
	}
	return c
}

// linearRule reports whether the calls of a rule within component k are linear to the
// left, and to the right.
func (r *replacer[W]) linearRule(f fst.Expanded[W], k int32, of []int32) (left, right bool) {
	left, right = true, true
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			left = left && e.NextState != f.Start()
			i, ok := r.called(&e)
			if !ok || of[i] != k {
				continue
			}
			left = left && q == f.Start()
			right = right && !f.Final(e.NextState).Equal(r.zero) && len(f.Arcs(e.NextState)) == 0
		}
	}
	return left, right
}

// connected numbers the strongly connected components of a graph, by Tarjan's
// algorithm without recursion.
func connected(next [][]int32) (of []int32, count int) {
	n := len(next)
	of = make([]int32, n)
	index, low := make([]int32, n), make([]int32, n) // index 0 is not seen
	onStack := make([]bool, n)
	var held []int32
	type visit struct {
		at   int32
		next int
	}
	var path []visit
	clock := int32(0)
	enter := func(v int32) {
		clock++
		index[v], low[v], onStack[v] = clock, clock, true
		held, path = append(held, v), append(path, visit{v, 0})
	}
	for root := range int32(n) {
		if index[root] != 0 {
			continue
		}
		for enter(root); len(path) > 0; {
			v := &path[len(path)-1]
			if v.next < len(next[v.at]) {
				w := next[v.at][v.next]
				v.next++
				switch {
				case index[w] == 0:
					enter(w)
				case onStack[w]:
					low[v.at] = min(low[v.at], index[w])
				}
				continue
			}
			at := v.at
			path = path[:len(path)-1]
			if len(path) > 0 {
				below := path[len(path)-1].at
				low[below] = min(low[below], low[at])
			}
			if low[at] != index[at] {
				continue
			}
			for {
				w := held[len(held)-1]
				held = held[:len(held)-1]
				onStack[w], of[w] = false, int32(count)
				if w == at {
					break
				}
			}
			count++
		}
	}
	return of, count
}
