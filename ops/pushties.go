package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// costOf returns what the product of two pairs of a string and a tropical weight costs, nil for
// weights that are no such pairs. Sums are rounded as the weights' own are: else each would seem to
// differ from itself.
func costOf[G any]() func(a, b *G) float64 {
	var f func(a, b *G) float64
	switch f := any(&f).(type) {
	case *func(a, b *semiring.GallicLeft[semiring.Tropical]) float64:
		*f = func(a, b *semiring.GallicLeft[semiring.Tropical]) float64 { return float64(a.Weight.Times(b.Weight)) }
	case *func(a, b *semiring.GallicRight[semiring.Tropical]) float64:
		*f = func(a, b *semiring.GallicRight[semiring.Tropical]) float64 { return float64(a.Weight.Times(b.Weight)) }
	case *func(a, b *semiring.GallicLeft[semiring.Tropical64]) float64:
		*f = func(a, b *semiring.GallicLeft[semiring.Tropical64]) float64 { return float64(a.Weight.Times(b.Weight)) }
	case *func(a, b *semiring.GallicRight[semiring.Tropical64]) float64:
		*f = func(a, b *semiring.GallicRight[semiring.Tropical64]) float64 {
			return float64(a.Weight.Times(b.Weight))
		}
	}
	return f
}

// nearTie reports whether at some state two ways of reaching it (in reverse, of going on from it)
// differ in cost by something, but no more than delta, the better of them being the distance d. A
// relaxation that came by the other first would have passed over the better one, as OpenFst does;
// exact sums do not. Without such ties both give the same distances. It costs one look at each arc,
// and is rare among weights that are not made to be so close.
func nearTie[W semiring.Weight[W], G semiring.Weight[G]](f fst.Expanded[W], sums []G, reverse bool, delta float64) bool {
	cost := costOf[W]()
	if cost == nil {
		return false
	}
	d := any(sums).([]W) // such pairs are carried as they are
	one := semiring.One[W]()
	tie := func(other, best float64) bool { return other > best && other <= best+delta*(1+1e-6) }
	for q := range fst.StateID(len(d)) {
		at := cost(&d[q], &one)
		if reverse {
			final := f.Final(q)
			if tie(cost(&final, &one), at) {
				return true
			}
		} else if q == f.Start() && tie(cost(&one, &one), at) {
			return true
		}
		arcs := f.Arcs(q)
		for i := range arcs {
			e := &arcs[i]
			if reverse && tie(cost(&e.Weight, &d[e.NextState]), at) || !reverse && tie(cost(&d[q], &e.Weight), cost(&d[e.NextState], &one)) {
				return true
			}
		}
	}
	return false
}
