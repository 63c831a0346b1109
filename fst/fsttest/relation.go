package fsttest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Pair is an input string and an output string: labels without epsilons,
// separated by spaces.
type Pair struct{ In, Out string }

// maxPaths bounds an enumeration: a test that needs more has the wrong machines.
const maxPaths = 5_000_000

// Relation returns the weight that f gives to each pair of strings: the ⊕-sum
// over the accepting paths of the pair of their ⊗-products, by enumeration of
// the paths. Pairs of weight 0̄ are left out. The terms of a sum are taken in
// the order of their keys, so that it depends on the paths alone and not on how
// f numbers its states.
//
// Only pairs with both strings of at most maxLen labels count; maxLen < 0 is no
// bound, and then f must be acyclic. Relation panics on a machine that has
// infinitely many such paths (a useful cycle of ε:ε arcs, or any with
// maxLen < 0), on one that fails, and past some millions of paths.
func Relation[W semiring.Weight[W]](f fst.Fst[W], maxLen int) map[Pair]W {
	terms := map[Pair][]W{}
	start := f.Start()
	if start == fst.NoState {
		check(f)
		return map[Pair]W{}
	}
	useful := coaccessible(f)
	longest := len(useful) // more arcs than that in a row without a label: an ε-cycle
	type frame struct {
		q       fst.StateID
		arc     int
		w       W
		in, out []fst.Label
		quiet   int // ε:ε arcs (with maxLen < 0: arcs) in a row before q
	}
	stack := []frame{{q: start, w: semiring.One[W]()}}
	paths := 0
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.arc == 0 {
			if w := top.w.Times(f.Final(top.q)); !semiring.IsZero(w) && !semiring.IsZero(f.Final(top.q)) {
				p := Pair{str(top.in), str(top.out)}
				terms[p] = append(terms[p], w)
				if paths++; paths > maxPaths {
					panic(fmt.Sprintf("fsttest: Relation: more than %d paths", maxPaths))
				}
			}
		}
		arcs := f.Arcs(top.q)
		if top.arc == len(arcs) {
			stack = stack[:len(stack)-1]
			continue
		}
		e := arcs[top.arc]
		top.arc++
		w := top.w.Times(e.Weight)
		if !useful[e.NextState] || semiring.IsZero(w) {
			continue
		}
		next := frame{q: e.NextState, w: w, in: top.in, out: top.out}
		if e.ILabel != fst.Epsilon {
			next.in = append(slices.Clip(top.in), e.ILabel)
		}
		if e.OLabel != fst.Epsilon {
			next.out = append(slices.Clip(top.out), e.OLabel)
		}
		if maxLen >= 0 && max(len(next.in), len(next.out)) > maxLen {
			continue
		}
		if maxLen < 0 || e.ILabel == fst.Epsilon && e.OLabel == fst.Epsilon {
			if next.quiet = top.quiet + 1; next.quiet > longest {
				panic("fsttest: Relation: a cycle gives infinitely many paths")
			}
		}
		stack = append(stack, next)
	}
	check(f)
	return sums(terms)
}

func check(f any) {
	if err := fst.Err(f); err != nil {
		panic(fmt.Sprintf("fsttest: Relation: %v", err))
	}
}

// coaccessible finds the states reachable from the start, and tells of each
// whether it reaches a final state.
func coaccessible[W semiring.Weight[W]](f fst.Fst[W]) map[fst.StateID]bool {
	useful := map[fst.StateID]bool{f.Start(): false}
	order := []fst.StateID{f.Start()}
	for i := 0; i < len(order); i++ {
		for _, e := range f.Arcs(order[i]) {
			if _, ok := useful[e.NextState]; !ok {
				useful[e.NextState] = false
				order = append(order, e.NextState)
			}
		}
	}
	for again := true; again; {
		again = false
		for _, q := range slices.Backward(order) {
			if useful[q] {
				continue
			}
			u := !semiring.IsZero(f.Final(q))
			for _, e := range f.Arcs(q) {
				u = u || useful[e.NextState]
			}
			if u {
				useful[q], again = true, true
			}
		}
	}
	return useful
}

func str(labels []fst.Label) string {
	var b []byte
	for i, l := range labels {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(l), 10)
	}
	return string(b)
}

// sums adds up the terms of each pair in the order of their keys.
func sums[W semiring.Weight[W]](terms map[Pair][]W) map[Pair]W {
	r := make(map[Pair]W, len(terms))
	for p, ws := range terms {
		slices.SortFunc(ws, func(a, b W) int { return bytes.Compare(a.AppendKey(nil), b.AppendKey(nil)) })
		s := semiring.Zero[W]()
		for _, w := range ws {
			s = s.Plus(w)
		}
		if !semiring.IsZero(s) {
			r[p] = s
		}
	}
	return r
}

// ComposeRelations returns (x, z) ↦ ⊕_y a(x, y) ⊗ b(y, z).
func ComposeRelations[W semiring.Weight[W]](a, b map[Pair]W) map[Pair]W {
	terms := map[Pair][]W{}
	for p, v := range a {
		for q, w := range b {
			if p.Out == q.In {
				terms[Pair{p.In, q.Out}] = append(terms[Pair{p.In, q.Out}], v.Times(w))
			}
		}
	}
	return sums(terms)
}

// UnionRelations returns (x, y) ↦ a(x, y) ⊕ b(x, y).
func UnionRelations[W semiring.Weight[W]](a, b map[Pair]W) map[Pair]W {
	terms := map[Pair][]W{}
	for p, v := range a {
		terms[p] = append(terms[p], v)
	}
	for p, v := range b {
		terms[p] = append(terms[p], v)
	}
	return sums(terms)
}

// ConcatRelations returns (x x', y y') ↦ ⊕ a(x, y) ⊗ b(x', y') over all ways to
// cut the two strings.
func ConcatRelations[W semiring.Weight[W]](a, b map[Pair]W) map[Pair]W {
	terms := map[Pair][]W{}
	for p, v := range a {
		for q, w := range b {
			r := Pair{join(p.In, q.In), join(p.Out, q.Out)}
			terms[r] = append(terms[r], v.Times(w))
		}
	}
	return sums(terms)
}

// MapRelation moves each pair to another and ⊕-sums what meets there: with
// func(p Pair) Pair { return Pair{p.In, p.In} } it projects.
func MapRelation[W semiring.Weight[W]](a map[Pair]W, to func(Pair) Pair) map[Pair]W {
	terms := map[Pair][]W{}
	for p, v := range a {
		terms[to(p)] = append(terms[to(p)], v)
	}
	return sums(terms)
}

// Restrict returns the pairs with both strings of at most maxLen labels.
func Restrict[W any](a map[Pair]W, maxLen int) map[Pair]W {
	r := map[Pair]W{}
	for p, w := range a {
		if max(length(p.In), length(p.Out)) <= maxLen {
			r[p] = w
		}
	}
	return r
}

func length(s string) int { return len(strings.Fields(s)) }

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// Within makes cmp compare weights by Near with the given delta.
func Within[W semiring.Approx[W]](delta float64) cmp.Option {
	return cmp.Comparer(func(a, b W) bool { return a.Near(b, delta) })
}

// Exactly makes cmp compare weights by Equal.
func Exactly[W semiring.Weight[W]]() cmp.Option {
	return cmp.Comparer(func(a, b W) bool { return a.Equal(b) })
}

// Must returns v, and panics on an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
