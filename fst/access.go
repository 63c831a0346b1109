package fst

import "github.com/tropica-fst/tropica/semiring"

// accessProperties are the facts that need no components, only what is reached.
const accessProperties = Accessible | NotAccessible | CoAccessible | NotCoAccessible

// computeAccess finds out those of accessProperties that mask names (either side of a pair names both), or returns
// false where that takes more than a search from the start and a few sweeps backwards: in numberings
// that are not of the usual kind, where states are numbered as they are reached. The claims of files about
// composed machines are mostly these, and Compute's search for components costs several times as much.
func computeAccess[W semiring.Weight[W]](f Expanded[W], mask Properties) (p Properties, ok bool) {
	n := f.NumStates()
	if f.Start() == NoState {
		return 0, false
	}
	if mask&(Accessible|NotAccessible) != 0 {
		p |= NotAccessible
		if numReached(f) == n {
			p = Accessible
		}
	}
	if mask&(CoAccessible|NotCoAccessible) != 0 {
		live := make([]bool, n)
		left := n
		zero := semiring.Zero[W]()
		const sweeps = 4
		for k := 0; ; k++ {
			before := left
			for q := StateID(n) - 1; q >= 0; q-- {
				if live[q] {
					continue
				}
				alive := !f.Final(q).Equal(zero)
				arcs := f.Arcs(q)
				for i := 0; i < len(arcs) && !alive; i++ {
					alive = live[arcs[i].NextState]
				}
				if alive {
					live[q] = true
					left--
				}
			}
			if left == 0 {
				p |= CoAccessible
				break
			}
			if left == before {
				p |= NotCoAccessible
				break
			}
			if k+1 == sweeps || before-left < before/8 {
				return 0, false
			}
		}
	}
	return p, true
}

// numReached returns how many states are reached from the start, which must be one.
func numReached[W any](f Expanded[W]) int {
	seen := make([]bool, f.NumStates())
	seen[f.Start()] = true
	todo := []StateID{f.Start()}
	count := 1
	// Several at a time, so that misses of the cache overlap: the order does not matter.
	const batch = 16
	var rows [batch][]Arc[W]
	for len(todo) > 0 {
		k := min(batch, len(todo))
		for i, q := range todo[len(todo)-k:] {
			rows[i] = f.Arcs(q)
		}
		todo = todo[:len(todo)-k]
		for _, arcs := range rows[:k] {
			for i := range arcs {
				if t := arcs[i].NextState; !seen[t] {
					seen[t] = true
					count++
					todo = append(todo, t)
				}
			}
		}
	}
	return count
}
