package fst

import "github.com/tropica-fst/tropica/semiring"

// hold returns those of claims that are true of f, which facts, if not nil, were gathered of: what
// the header of a file says is tested so. Either side of a pair may be claimed, or both, or
// neither.
//
// A claim is not looked into as Compute would, which finds out which side of each pair is true:
// most claims have a witness that is found after a handful of states (a cycle, a state that no arc
// enters, two arcs with one label), or are certain by induction over the states in order (each is
// entered from a lower one: all are reached). Where that fails a search of the claim's own decides.
// What is shown on the way to one claim is used for the others.
//
// Cost: O(|Q| + |E|), as Compute, usually with one or two passes in the order of the arcs, and a
// few bits a state; four bytes a state more where a search backtracks.
func hold[W semiring.Weight[W]](f Expanded[W], claims Properties, facts *arcFacts) Properties {
	claims &= trinaryProperties
	if claims == 0 {
		return 0
	}
	var truth Properties
	if facts != nil {
		truth = facts.properties()
	} else if claims&^depthProperties != 0 {
		truth = arcProperties(f, claims)
	}
	if f.NumStates() == 0 || claims&positiveProperties&(claims&negativeProperties>>1) != 0 {
		// Only in headers that nobody wrote by rule are both sides of a pair claimed.
		found, _ := Compute(f, claims)
		return claims & found
	}
	c := claimed[W]{f: f, open: claims &^ truth.Known(), truth: truth}
	if g, ok := f.(*Const[W]); ok && len(g.states) == 0 {
		c.flat = g
	}
	c.ofArcs()
	c.ofAccess()
	c.ofCycles()
	c.ofReach()
	c.ofCoaccess()
	if c.open&(WeightedCycles|UnweightedCycles) != 0 {
		found, _ := Compute(f, c.open) // the components
		c.learn(found)
	}
	return claims & c.truth
}

// claimed is a machine while claims about it are tested.
type claimed[W semiring.Weight[W]] struct {
	f     Expanded[W]
	flat  *Const[W]  // f if its rows are in one array
	open  Properties // claims that are not decided
	truth Properties
}

// arcs returns the arcs of q, where a call of the machine's method would often cost more than to
// look at them.
func (c *claimed[W]) arcs(q StateID) []Arc[W] {
	if g := c.flat; g != nil {
		return g.arcs[g.offset[q]:g.offset[q+1]]
	}
	return c.f.Arcs(q)
}

// learn notes what is true.
func (c *claimed[W]) learn(p Properties) {
	c.truth |= p
	c.open &^= p.Known()
}

// ofArcs decides the claims for which each state stands alone.
func (c *claimed[W]) ofArcs() {
	if c.open&(IDeterministic|NonIDeterministic) != 0 {
		c.learn(pick(repeats(c.f, func(e *Arc[W]) Label { return e.ILabel }), NonIDeterministic, IDeterministic))
	}
	if c.open&(ODeterministic|NonODeterministic) != 0 {
		c.learn(pick(repeats(c.f, func(e *Arc[W]) Label { return e.OLabel }), NonODeterministic, ODeterministic))
	}
	if c.open&(String|NotString) != 0 {
		c.learn(pick(isString(c.f), String, NotString))
	}
}

func pick(b bool, yes, no Properties) Properties {
	if b {
		return yes
	}
	return no
}

// repeats reports whether a label occurs twice at a state.
func repeats[W any](f Expanded[W], label func(*Arc[W]) Label) bool {
	var scratch []Label
	for q := range StateID(f.NumStates()) {
		if arcs := f.Arcs(q); len(arcs) > 1 && twice(arcs, &scratch, label) {
			return true
		}
	}
	return false
}

// isString reports whether the states are a chain in their order, the last alone final.
func isString[W semiring.Weight[W]](f Expanded[W]) bool {
	last := StateID(f.NumStates()) - 1
	if f.Start() != 0 {
		return false
	}
	for q := range last {
		if arcs := f.Arcs(q); len(arcs) != 1 || arcs[0].NextState != q+1 || IsFinal(f, q) {
			return false
		}
	}
	return len(f.Arcs(last)) == 0 && IsFinal(f, last)
}

// ofAccess decides without a search whether all states are reached from the start, where it can:
// some state may be entered by no arc, or all but the start from lower states.
func (c *claimed[W]) ofAccess() {
	if c.open&(Accessible|NotAccessible) == 0 {
		return
	}
	n, start := c.f.NumStates(), c.f.Start()
	if start == NoState {
		c.learn(NotAccessible)
		return
	}
	entered := newStateSet(n)
	entered.set(start)
	if c.open&NotAccessible != 0 {
		for q := range StateID(n) {
			arcs := c.arcs(q)
			for i := range arcs {
				entered.set(arcs[i].NextState)
			}
		}
		if !entered.full(n) {
			c.learn(NotAccessible)
		}
		return
	}
	// Of lower states those alone matter that are entered themselves.
	lost := false
	for q := range StateID(n) {
		if !entered.has(q) {
			lost = true // or reached from a higher state
			continue
		}
		arcs := c.arcs(q)
		for i := range arcs {
			entered.set(arcs[i].NextState)
		}
	}
	if !lost || entered.full(n) {
		c.learn(Accessible)
	}
}

// ofCycles looks for a cycle, and one with a weight of its own if that is claimed, and stops when
// it has found it. A machine without cycles is searched whole, which shows what is reached, too.
func (c *claimed[W]) ofCycles() {
	weighted := c.open&WeightedCycles != 0
	if c.open&(Cyclic|Acyclic) == 0 && !weighted {
		return
	}
	var (
		f         = c.f
		n         = f.NumStates()
		zero, one = semiring.Zero[W](), semiring.One[W]()
		start     = f.Start()
		depth     = make([]int32, n) // on the path, from 1; 0 while not seen, -1 when done
		live      stateSet           // states done that reach a final one
		alive     = c.open&(CoAccessible|NotCoAccessible) != 0
		cyclic    = false
		path      []pathState
		trivial   = func(e *Arc[W]) bool { return e.Weight.Equal(one) || e.Weight.Equal(zero) }
		seen      = 0
	)
	if alive {
		live = newStateSet(n)
	}
	enter := func(q StateID, weights int32) {
		seen++
		path = append(path, pathState{q: q, weights: weights})
		depth[q] = int32(len(path))
	}
	// from searches what is reached from root, and returns whether that is all that was to be
	// found out.
	from := func(root StateID) bool {
		enter(root, 0)
	search:
		for len(path) > 0 {
			top := &path[len(path)-1]
			arcs := c.arcs(top.q)
			for i := int(top.next); i < len(arcs); i++ {
				e := &arcs[i]
				switch d := depth[e.NextState]; {
				case d == 0:
					top.next = int32(i) // and come back to the same arc, then done
					weights := top.weights
					if weighted && !trivial(e) {
						weights++
					}
					enter(e.NextState, weights)
					continue search
				case d > 0:
					cyclic = true
					if !weighted {
						return true
					}
					if top.weights > path[d-1].weights || !trivial(e) {
						c.learn(WeightedCycles)
						return true
					}
				}
			}
			if alive {
				if c.reachesLive(live, arcs) || !f.Final(top.q).Equal(zero) {
					live.set(top.q)
				}
			}
			depth[top.q] = -1
			path = path[:len(path)-1]
		}
		return false
	}
	found, reached := false, 0
	if start != NoState {
		found = from(start)
		reached = seen
	}
	for q := StateID(0); !found && q < StateID(n); q++ {
		if depth[q] == 0 {
			found = from(q)
		}
	}
	if cyclic {
		c.learn(Cyclic)
		return
	}
	c.learn(Acyclic | InitialAcyclic | UnweightedCycles | pick(reached == n, Accessible, NotAccessible))
	if alive {
		c.learn(pick(live.full(n), CoAccessible, NotCoAccessible))
	}
}

// pathState is a state on the path of a search.
type pathState struct {
	q       StateID
	next    int32 // the arc to follow next
	weights int32 // how many arcs on the path to q have a weight of their own
}

// ofReach decides what the states reached from the start tell, by a search that ends where nothing
// more is asked: with the first arc back to the start if the cycles through it alone are; or to a
// state that leads there, some of which a sweep finds where the search takes long.
func (c *claimed[W]) ofReach() {
	if c.open&(InitialCyclic|InitialAcyclic|Accessible|NotAccessible) == 0 {
		return
	}
	n, start := c.f.NumStates(), c.f.Start()
	if start == NoState {
		c.learn(InitialAcyclic | NotAccessible)
		return
	}
	all := c.open&(Accessible|NotAccessible) != 0
	seen := newStateSet(n)
	seen.set(start)
	todo := []StateID{start}
	count, back := 1, false
	var home stateSet // states that lead to the start
	// Several at a time, so that misses of the cache overlap: the order does not matter.
	const batch = 16
	var rows [batch][]Arc[W]
	const long = 1 << 10
	for len(todo) > 0 && (all || !back) {
		if !all && home == nil && count > long {
			home = newStateSet(n)
			for q := StateID(n) - 1; q >= 0; q-- {
				arcs := c.arcs(q)
				for i := range arcs {
					if t := arcs[i].NextState; t == start || home.has(t) {
						home.set(q)
						break
					}
				}
			}
			for i := range seen {
				back = back || seen[i]&home[i] != 0
			}
			continue
		}
		k := min(batch, len(todo))
		for i, q := range todo[len(todo)-k:] {
			rows[i] = c.arcs(q)
		}
		todo = todo[:len(todo)-k]
		for _, arcs := range rows[:k] {
			for i := range arcs {
				t := arcs[i].NextState
				back = back || t == start || home != nil && home.has(t)
				if !seen.has(t) {
					seen.set(t)
					count++
					todo = append(todo, t)
				}
			}
		}
	}
	c.learn(pick(back, InitialCyclic, InitialAcyclic))
	if all {
		c.learn(pick(count == n, Accessible, NotAccessible))
	}
}

// ofCoaccess decides whether every state reaches a final one.
//
// States are live when they are final or an arc goes to a live one. Sweeps over the states from the
// last one on show that of most, unless the numbering is of an unusual kind; they go on for as long
// as few are live but each brings many more. From the states left goes the search for components of
// R. Tarjan, with the stacks of H. N. Gabow, "Path-based depth-first search for strong and
// biconnected components", Information Processing Letters 74(3-4):107-114, 2000; but the first
// component that is complete without a live state ends it all, and when a live state is found so is
// every state that is open, as all of them lead to it.
func (c *claimed[W]) ofCoaccess() {
	if c.open&(CoAccessible|NotCoAccessible) == 0 {
		return
	}
	var (
		f      = c.f
		n      = f.NumStates()
		zero   = semiring.Zero[W]()
		live   = newStateSet(n)
		index  []int32 // order of discovery from 1; 0 while not seen
		open   []StateID
		bounds []int32 // the indices of the first states of what may be components
		path   []pathState
		next   int32
	)
	direct := func(q StateID) bool {
		return c.reachesLive(live, c.arcs(q)) || !f.Final(q).Equal(zero)
	}
	enter := func(q StateID) {
		next++
		index[q] = next
		open = append(open, q)
		bounds = append(bounds, next)
		path = append(path, pathState{q: q})
	}
	// search reports whether root reaches a final state.
	search := func(root StateID) bool {
		enter(root)
	search:
		for {
			top := &path[len(path)-1]
			arcs := c.arcs(top.q)
			for i := int(top.next); i < len(arcs); i++ {
				t := arcs[i].NextState
				at := index[t]
				if at == 0 {
					if direct(t) {
						live.set(t)
						for _, q := range open {
							live.set(q)
						}
						open, bounds, path = open[:0], bounds[:0], path[:0]
						return true
					}
					top.next = int32(i) + 1
					enter(t)
					continue search
				}
				for bounds[len(bounds)-1] > at {
					bounds = bounds[:len(bounds)-1]
				}
			}
			if bounds[len(bounds)-1] == index[top.q] {
				return false
			}
			path = path[:len(path)-1]
		}
	}
	for count := 0; count < n; {
		before := count
		for q := StateID(n) - 1; q >= 0; q-- {
			if !live.has(q) && direct(q) {
				live.set(q)
				count++
			}
		}
		if count == before {
			c.learn(NotCoAccessible)
			return
		}
		if count >= n/2 || count < 8*before {
			break
		}
	}
	for q := StateID(n) - 1; q >= 0; q-- {
		if live.has(q) {
			continue
		}
		if direct(q) {
			live.set(q)
			continue
		}
		if index == nil {
			index = make([]int32, n)
		}
		if !search(q) {
			c.learn(NotCoAccessible)
			return
		}
	}
	c.learn(CoAccessible)
}

// reachesLive reports whether one of arcs goes to a state of live.
func (c *claimed[W]) reachesLive(live stateSet, arcs []Arc[W]) bool {
	for i := range arcs {
		if live.has(arcs[i].NextState) {
			return true
		}
	}
	return false
}

// stateSet is a set of states, a bit each.
type stateSet []uint64

func newStateSet(n int) stateSet      { return make(stateSet, (n+63)/64) }
func (b stateSet) has(q StateID) bool { return b[uint32(q)/64]>>(uint32(q)%64)&1 != 0 }
func (b stateSet) set(q StateID)      { b[uint32(q)/64] |= 1 << (uint32(q) % 64) }

// full reports whether all of n states are in b.
func (b stateSet) full(n int) bool {
	for _, w := range b[:n/64] {
		if w != 1<<64-1 {
			return false
		}
	}
	return n%64 == 0 || b[n/64] == 1<<(n%64)-1
}
