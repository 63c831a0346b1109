package sums

import (
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Float is implemented by the numeric weights. A kernel that is generic in it alone compiles to one
// concrete loop for each width. Operators on type parameters of a basic shape are plain
// instructions, only methods would go through a dictionary (3.8 ns an arc against about 1).
type Float interface{ ~float32 | ~float64 }

// rows are the inner loops of sums over paths of weights W, carried in D (see carry.go), one call a
// state.
type rows[W, D any] struct {
	// relax does d[n] ⊕= dq⊗w for the arcs (w, n) of a state.
	Relax func(d []D, dq D, arcs []fst.Arc[W])
	// sum returns final ⊕ ⊕ w⊗d[n] over the arcs (w, n) of a state.
	Sum func(d []D, arcs []fst.Arc[W], final W) D
}

// RowsOf chooses the loops: concrete ones for the numeric weights, else the generic ones.
// BenchmarkRows, rows of 4 arcs in cache on a loaded machine, so that only the ratios count. A
// kernel takes 0.7 of the generic loop's time over Tropical, 0.4 over Probability and 0.14 over
// Log64.
func RowsOf[W semiring.Weight[W], D semiring.Weight[D]]() rows[W, D] {
	r := RowsAny[W, D]()
	switch k := any(&r).(type) {
	case *rows[semiring.Tropical, semiring.Tropical]:
		k.Relax, k.Sum = relaxMin[semiring.Tropical], sumMin[semiring.Tropical]
	case *rows[semiring.Tropical64, semiring.Tropical64]:
		k.Relax, k.Sum = relaxMin[semiring.Tropical64], sumMin[semiring.Tropical64]
	case *rows[semiring.Log, semiring.Log64]:
		k.Sum = sumLog[semiring.Log]
	case *rows[semiring.Log64, semiring.Log64]:
		k.Sum = sumLog[semiring.Log64]
	case *rows[semiring.Probability, semiring.Probability]:
		k.Relax, k.Sum = relaxReal[semiring.Probability], sumReal[semiring.Probability]
	}
	return r
}

// OutsideOf chooses the loop that returns the first position at which weights have no member, or
// -1.
func OutsideOf[W semiring.Weight[W]]() func([]W) int {
	outside := outsideAny[W]
	switch outside := any(&outside).(type) {
	case *func([]semiring.Tropical) int:
		*outside = outsideCosts[semiring.Tropical]
	case *func([]semiring.Tropical64) int:
		*outside = outsideCosts[semiring.Tropical64]
	case *func([]semiring.Log) int:
		*outside = outsideCosts[semiring.Log]
	case *func([]semiring.Log64) int:
		*outside = outsideCosts[semiring.Log64]
	}
	return outside
}

// RowsAny are the loops for any weights.
func RowsAny[W semiring.Weight[W], D semiring.Weight[D]]() rows[W, D] {
	wide := Widening[W, D]()
	return rows[W, D]{
		Relax: func(d []D, dq D, arcs []fst.Arc[W]) {
			if semiring.IsZero(dq) {
				return // 0̄ annihilates what is no member, too
			}
			for i := range arcs {
				e := &arcs[i]
				d[e.NextState] = d[e.NextState].Plus(dq.Times(wide(e.Weight)))
			}
		},
		Sum: func(d []D, arcs []fst.Arc[W], final W) D {
			sum, zero := wide(final), semiring.Zero[D]()
			for i := range arcs {
				e := &arcs[i]
				if x := d[e.NextState]; !x.Equal(zero) {
					sum = sum.Plus(wide(e.Weight).Times(x))
				}
			}
			return sum
		},
	}
}

func relaxMin[T Float](d []T, dq T, arcs []fst.Arc[T]) {
	if dq == T(math.Inf(1)) {
		return // 0̄, which would annihilate a weight -∞ too
	}
	for i := range arcs {
		e := &arcs[i]
		if w, to := dq+e.Weight, &d[e.NextState]; !(w >= *to) { // NaN comes here, too, with no test of its own
			if *to == *to && (w == w || e.Weight != T(math.Inf(1))) {
				*to = w
			}
		}
	}
}

func sumMin[T Float](d []T, arcs []fst.Arc[T], final T) T {
	if final != final {
		return final
	}
	for i := range arcs {
		e := &arcs[i]
		if w := e.Weight + d[e.NextState]; !(w >= final) {
			if w == w {
				final = w
			} else if d[e.NextState] != T(math.Inf(1)) && e.Weight != T(math.Inf(1)) { // 0̄ annihilates -∞ and NaN
				return w
			}
		}
	}
	return final
}

func relaxReal[T Float](d []T, dq T, arcs []fst.Arc[T]) {
	if dq == 0 {
		return
	}
	for i := range arcs {
		e := &arcs[i]
		d[e.NextState] += dq * e.Weight
	}
}

func sumReal[T Float](d []T, arcs []fst.Arc[T], final T) T {
	for i := range arcs {
		e := &arcs[i]
		if x := d[e.NextState]; x != 0 {
			final += e.Weight * x
		}
	}
	return final
}

// sumLog is -log(e^-final + Σ e^-(w+d)). It finds the least term first, then takes one exp a term
// and one log a row. Adding the terms two by two would take an exp and a log1p each.
func sumLog[T Float](d []semiring.Log64, arcs []fst.Arc[T], final T) semiring.Log64 {
	least := float64(final)
	for i := range arcs {
		e := &arcs[i]
		least = min(least, float64(e.Weight)+float64(d[e.NextState]))
	}
	if len(arcs) == 0 || !(math.Abs(least) <= math.MaxFloat64) {
		return slowSumLog(d, arcs, float64(final), least)
	}
	sum := semiring.ExpNegative(float64(final) - least)
	for i := range arcs {
		e := &arcs[i]
		if x := float64(e.Weight) + float64(d[e.NextState]) - least; x == 0 {
			sum++
		} else if x < 746 {
			sum += semiring.ExpNegative(x)
		}
	}
	return semiring.Log64(least - math.Log(sum))
}

// slowSumLog handles rows whose least term is infinite or NaN. With an ∞ as a factor that is a 0̄,
// which min does not see.
func slowSumLog[T Float](d []semiring.Log64, arcs []fst.Arc[T], final, least float64) semiring.Log64 {
	sum := semiring.Log64(final)
	if least > 0 || len(arcs) == 0 {
		return sum
	}
	for i := range arcs {
		e := &arcs[i]
		if x := d[e.NextState]; !semiring.IsZero(x) {
			sum = sum.Plus(semiring.Log64(e.Weight).Times(x))
		}
	}
	return sum
}

// outsideAny returns the first position at which d has no member, -1 if there is none.
func outsideAny[W semiring.Weight[W]](d []W) int {
	for i := range d {
		if !d[i].Member() {
			return i
		}
	}
	return -1
}

// outsideCosts is outsideAny where -∞ and NaN are no members.
func outsideCosts[T Float](d []T) int {
	least := T(math.Inf(-1))
	for i, x := range d {
		if !(x > least) {
			return i
		}
	}
	return -1
}

// ExpNeg is e^-x, and 0 for the NaN of ∞-∞, which is a 0̄.
func ExpNeg(x float64) float64 {
	if !(x < 746) {
		return 0
	}
	return math.Exp(-x)
}
