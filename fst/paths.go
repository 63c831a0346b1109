package fst

import (
	"iter"
	"slices"

	"github.com/tropica-fst/tropica/semiring"
)

// Path is an accepting path: from the start state to a final one.
type Path[W any] struct {
	Arcs   []Arc[W]
	Weight W // ⊗ of the arcs' weights in order, and of the last state's final weight
}

// Input returns the input labels of the path without epsilons.
func (p Path[W]) Input() []Label {
	var s []Label
	for _, e := range p.Arcs {
		if e.ILabel != Epsilon {
			s = append(s, e.ILabel)
		}
	}
	return s
}

// Output returns the output labels of the path without epsilons.
func (p Path[W]) Output() []Label {
	var s []Label
	for _, e := range p.Arcs {
		if e.OLabel != Epsilon {
			s = append(s, e.OLabel)
		}
	}
	return s
}

// PathsOptions bounds Paths; nil is the same as the zero value.
type PathsOptions struct {
	MaxArcs  int // skip paths of more arcs; zero is no bound
	MaxPaths int // stop after so many; zero is no bound
}

// Paths yields the accepting paths of f in the order of a depth-first search:
// a path before those that it begins, otherwise by the order of the arcs. The
// caller may keep them. A machine with cycles has infinitely many unless
// MaxArcs bounds them: then it is for the caller, or MaxPaths, to stop, and
// paths down one cycle may keep others from coming at all.
//
// For an Expanded machine, states that cannot reach a final one in time are skipped. Each path then
// costs O(its arcs · the largest out-degree), after O(|Q| + |E|) once. A machine computed on demand
// is searched blindly, and Err tells at the end whether it failed.
func Paths[W semiring.Weight[W]](f Fst[W], opts *PathsOptions) iter.Seq[Path[W]] {
	var o PathsOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(Path[W]) bool) {
		start := f.Start()
		if start == NoState {
			return
		}
		var toFinal []int32
		if e, ok := f.(Expanded[W]); ok {
			toFinal = arcsToFinal(e)
			if toFinal[start] < 0 {
				return
			}
		}
		type frame struct {
			q   StateID
			arc int
			w   W // of the arcs up to q
		}
		frames := []frame{{start, -1, semiring.One[W]()}}
		var path []Arc[W]
		count := 0
		for len(frames) > 0 {
			top := &frames[len(frames)-1]
			if top.arc < 0 {
				top.arc = 0
				if w := f.Final(top.q); !semiring.IsZero(w) {
					if !yield(Path[W]{slices.Clone(path), top.w.Times(w)}) {
						return
					}
					if count++; count == o.MaxPaths {
						return
					}
				}
			}
			arcs := f.Arcs(top.q)
			if top.arc >= len(arcs) || o.MaxArcs > 0 && len(path) == o.MaxArcs {
				frames = frames[:len(frames)-1]
				path = path[:max(0, len(path)-1)]
				continue
			}
			e := arcs[top.arc]
			top.arc++
			if toFinal != nil {
				d := toFinal[e.NextState]
				if d < 0 || o.MaxArcs > 0 && len(path)+1+int(d) > o.MaxArcs {
					continue
				}
			}
			path = append(path, e)
			frames = append(frames, frame{e.NextState, -1, top.w.Times(e.Weight)})
		}
	}
}

// arcsToFinal returns for each state the least number of arcs from it to a
// final state, -1 if there is no way: a breadth-first search along the arcs
// turned around.
func arcsToFinal[W semiring.Weight[W]](f Expanded[W]) []int32 {
	n := f.NumStates()
	first := make([]int64, n+1) // incoming arcs of q: from[first[q]:first[q+1]]
	for q := range StateID(n) {
		for _, e := range f.Arcs(q) {
			first[e.NextState]++
		}
	}
	sum := int64(0)
	for q, k := range first {
		first[q] = sum
		sum += k
	}
	from := make([]StateID, sum)
	for q := range StateID(n) {
		for _, e := range f.Arcs(q) {
			from[first[e.NextState]] = q
			first[e.NextState]++
		}
	}
	dist := make([]int32, n)
	var queue []StateID
	for q := range StateID(n) {
		dist[q] = -1
		if IsFinal(f, q) {
			dist[q] = 0
			queue = append(queue, q)
		}
	}
	for len(queue) > 0 {
		q := queue[0]
		queue = queue[1:]
		begin := int64(0)
		if q > 0 {
			begin = first[q-1] // the arrays of q now end where they began for q+1
		}
		for _, p := range from[begin:first[q]] {
			if dist[p] < 0 {
				dist[p] = dist[q] + 1
				queue = append(queue, p)
			}
		}
	}
	return dist
}
