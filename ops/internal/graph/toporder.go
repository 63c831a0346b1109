package graph

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ArcRef names an arc: number Arc among the arcs of State.
type ArcRef struct {
	State fst.StateID
	Arc   int
}

// TopOrder returns the topological position of every state along the arcs that
// keep accepts (nil: all), or a cycle of such arcs. O(states + arcs).
func TopOrder[W semiring.Weight[W]](f fst.Expanded[W],
	keep func(*fst.Arc[W]) bool) (order []fst.StateID, cycle []ArcRef) {
	const white, grey = fst.NoState, fst.StateID(-2)
	n := f.NumStates()
	order = slices.Repeat([]fst.StateID{white}, n)
	start := f.Start()
	if start == fst.NoState {
		start = 0
	}
	type visit struct {
		q   fst.StateID
		arc int32
	}
	var path []visit
	left := fst.StateID(n) // positions not yet given are below left
	for i := -1; i < n; i++ {
		root := fst.StateID(i)
		if i < 0 {
			if root = start; n == 0 {
				break
			}
		}
		if order[root] != white {
			continue
		}
		order[root] = grey
		path = append(path[:0], visit{q: root})
		arcs := f.Arcs(root)
		for {
			top := &path[len(path)-1]
			k, descend := top.arc, fst.NoState
			for ; int(k) < len(arcs); k++ {
				if keep != nil && !keep(&arcs[k]) {
					continue
				}
				t := arcs[k].NextState
				if order[t] >= 0 {
					continue
				}
				top.arc = k
				if order[t] == grey {
					j := len(path) - 1
					for path[j].q != t {
						j--
					}
					for _, v := range path[j:] {
						cycle = append(cycle, ArcRef{v.q, int(v.arc)})
					}
					return nil, cycle
				}
				descend = t
				break
			}
			if descend != fst.NoState {
				top.arc = k
				order[descend] = grey
				path = append(path, visit{q: descend})
				arcs = f.Arcs(descend)
				continue
			}
			left--
			order[top.q] = left
			path = path[:len(path)-1]
			if len(path) == 0 {
				break
			}
			last := &path[len(path)-1]
			last.arc++
			arcs = f.Arcs(last.q)
		}
	}
	return order, nil
}
