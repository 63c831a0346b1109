package ops

import (
	"fmt"
	"math"
	"reflect"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// What counts as equal where weights are rounded before they are compared.
//
// Over the semirings of OpenFst's tools a residual is rounded to a multiple of Delta and kept
// rounded, as in their machines. Elsewhere rounded weights are only compared. What compares equal
// takes the weight that came first. That weight is exact if only rounding errors made them differ.
//
// Weights that are multiplied as numbers (semiring.Proportional) are rounded by factors. With
// multiples of Delta, all residuals below Delta would be equal. Over Probability, a machine without
// a deterministic equivalent would then seem to have one, which gives longer strings wrong weights.

// FactorDelta is the factor, less 1, below which fst determinize, disambiguate and minimize take
// weights that are multiplied as numbers for equal. Rounding errors do not come near it, and
// strings of a thousand labels do not suffer from it. Those of OpenFst's semirings have
// DefaultDelta and ShortestDelta for that.
const FactorDelta = 1e-9

// ClosenessOf returns byDefault, or FactorDelta where weights of W are multiplied as numbers and
// have no float32 as a part, whose rounding errors are larger.
func ClosenessOf[W semiring.Weight[W]](byDefault float64) float64 {
	if proportional[W]() && !hasFloat32(reflect.TypeFor[W]()) {
		return FactorDelta
	}
	return byDefault
}

// hasFloat32 reports whether a value of type t is made of float32 numbers, in part at least.
func hasFloat32(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32:
		return true
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return hasFloat32(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasFloat32(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// proportional reports whether weights of W have parts that are multiplied as numbers.
func proportional[W any]() bool {
	var w W
	p, ok := any(w).(semiring.Proportional[W])
	if ok {
		_, ok = p.QuantizeFactor(1)
	}
	return ok
}

// quantizer returns the rounding to multiples of delta, or by factors where weights of W are
// multiplied as numbers, those of f among them. It is nil for zero. It comes to rest: what is
// rounded again and again, as the residual weights round a cycle are, would not if rounding errors
// moved it.
func quantizer[W semiring.Weight[W]](op string, f fst.Fst[W], delta float64) (func(W) W, error) {
	if delta == 0 {
		return nil, nil
	}
	if !(delta > 0) || math.IsInf(delta, 1) {
		return nil, fmt.Errorf("ops: %s: Delta: %v is neither zero nor a positive number", op, delta)
	}
	var w W
	if _, ok := any(w).(semiring.Quantizable[W]); !ok {
		return nil, fmt.Errorf("ops: %s: Delta: %w: %s cannot be quantized", op, ErrCapability, weightName(w))
	}
	if proportional[W]() {
		return factorQuantizer[W](valueUnit(f), delta), nil
	}
	q := func(w W) W {
		once := any(w).(semiring.Quantizable[W]).Quantize(delta)
		if !any(once).(semiring.Quantizable[W]).Quantize(delta).Equal(once) {
			return w
		}
		return once
	}
	// The numbers without an interface around each.
	switch q := any(&q).(type) {
	case *func(semiring.Tropical) semiring.Tropical:
		*q = steadily[semiring.Tropical](delta)
	case *func(semiring.Tropical64) semiring.Tropical64:
		*q = steadily[semiring.Tropical64](delta)
	case *func(semiring.Log) semiring.Log:
		*q = steadily[semiring.Log](delta)
	case *func(semiring.Log64) semiring.Log64:
		*q = steadily[semiring.Log64](delta)
	}
	return q, nil
}

// steadily rounds numbers, but leaves those that have no finer digits than delta as they are.
func steadily[T interface {
	~float32 | ~float64
	semiring.Quantizable[T]
}](delta float64) func(T) T {
	d, limit := T(delta), T(1<<22) // quotients from here on have at most one bit after the point, in a float32
	if limit*4+1 != limit*4 {
		limit = 1 << 51 // the same for a float64
	}
	return func(w T) T {
		if q := w / d; -limit < q && q < limit {
			return w.Quantize(delta)
		}
		return w
	}
}

// factorQuantizer rounds by factors, and values of an Expectation in the given unit.
func factorQuantizer[W semiring.Weight[W]](unit, delta float64) func(W) W {
	q := func(w W) W {
		w, _ = any(w).(semiring.Proportional[W]).QuantizeFactor(delta)
		return w
	}
	inUnits := func(w semiring.Expectation) semiring.Expectation {
		w.R /= unit
		w, _ = w.QuantizeFactor(delta)
		w.R *= unit
		return w
	}
	switch q := any(&q).(type) {
	case *func(semiring.Expectation) semiring.Expectation:
		*q = inUnits
	case *func(semiring.GallicLeft[semiring.Expectation]) semiring.GallicLeft[semiring.Expectation]:
		*q = func(w semiring.GallicLeft[semiring.Expectation]) semiring.GallicLeft[semiring.Expectation] {
			w.Weight = inUnits(w.Weight)
			return w
		}
	}
	return q
}

// valueUnit is the largest of the values that the arcs and the ends of f have, where weights are
// Expectations. Values are added along a path, so that closeness is a difference, but of what size
// only the machine tells. It is 1 for other weights, and where f is computed on demand.
func valueUnit[W semiring.Weight[W]](f fst.Fst[W]) float64 {
	g, ok := f.(fst.Expanded[W])
	var value func(w any) semiring.Expectation
	switch any(semiring.Zero[W]()).(type) {
	case semiring.Expectation:
		value = func(w any) semiring.Expectation { return w.(semiring.Expectation) }
	case semiring.GallicLeft[semiring.Expectation]:
		value = func(w any) semiring.Expectation { return w.(semiring.GallicLeft[semiring.Expectation]).Weight }
	default:
		return 1
	}
	if !ok {
		return 1
	}
	unit := 0.0
	add := func(w W) {
		e := value(w)
		if v := math.Abs(e.R / e.P); v > unit && v <= math.MaxFloat64 {
			unit = v
		}
	}
	for q := range fst.StateID(g.NumStates()) {
		add(g.Final(q))
		for _, e := range g.Arcs(q) {
			add(e.Weight)
		}
	}
	if unit == 0 {
		return 1
	}
	return unit
}

// nearIn is Near, with values of an Expectation in the given unit.
func nearIn[W semiring.Approx[W]](unit float64) func(x, y W, delta float64) bool {
	near := W.Near
	if near, ok := any(&near).(*func(x, y semiring.Expectation, delta float64) bool); ok {
		*near = func(x, y semiring.Expectation, delta float64) bool {
			x.R, y.R = x.R/unit, y.R/unit
			return x.Near(y, delta)
		}
	}
	return near
}

// unlikeRounding returns a test of quotients of cycle weights of f. It reports whether they differ
// by more than arithmetic on cycles can round.
func unlikeRounding[W semiring.Weight[W]](f fst.Expanded[W]) func(x, y W) bool {
	const single, double = 1e-4, 1e-9
	var w W
	if _, ok := any(w).(semiring.Approx[W]); !ok {
		return func(x, y W) bool { return !x.Equal(y) }
	}
	rounding := single
	if proportional[W]() && !hasFloat32(reflect.TypeFor[W]()) {
		rounding = double
	}
	unlike := func(x, y W) bool { return !any(x).(semiring.Approx[W]).Near(y, rounding) }
	if unlike, ok := any(&unlike).(*func(x, y semiring.Expectation) bool); ok {
		near := nearIn[semiring.Expectation](valueUnit[W](f))
		*unlike = func(x, y semiring.Expectation) bool { return !near(x, y, rounding) }
	}
	return unlike
}

// unifyWeights makes weights of the given machines equal if they are equal up to delta; 0 or less
// changes none. It rounds them. Weights that are multiplied as numbers take instead the first
// weight that rounds to the same, after 0̄ and 1̄.
func unifyWeights[W semiring.Quantizable[W]](delta float64, fs ...*fst.Vector[W]) {
	if !(delta > 0) {
		return
	}
	if !proportional[W]() {
		for _, f := range fs {
			QuantizeWeights(f, delta)
		}
		return
	}
	unit := 0.0
	for _, f := range fs {
		unit = max(unit, valueUnit[W](f))
	}
	round := factorQuantizer[W](unit, delta)
	zero, one := semiring.Zero[W](), semiring.One[W]()
	first := map[string]W{string(zero.AppendKey(nil)): zero, string(one.AppendKey(nil)): one}
	var key []byte
	for _, f := range fs {
		MapWeights(f, func(w W) W {
			key = round(w).AppendKey(key[:0])
			if v, ok := first[string(key)]; ok {
				return v
			}
			first[string(key)] = w
			return w
		})
	}
}
