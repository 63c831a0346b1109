package sums

import (
	"github.com/tropica-fst/tropica/semiring"
)

// Sums over paths are carried in weights D, whatever the weights W of the machine. D is W but for
// weights that add in float32. Over Log it is Log64, and the same holds for pairs with Log as a
// part. The sum over a chain of 20,000 arcs may be 240,000; a float32 then keeps one digit
// behind the point. Differences of such sums are what pushing and posteriors are made of. So
// distances and potentials stay in D until an arc has its weight.

// carriedProduct is the pair with a Log in it that files may have, and carriedProduct64 what its
// sums are carried in.
type (
	CarriedProduct   = semiring.Product[semiring.Tropical, semiring.Log]
	CarriedProduct64 = semiring.Product[semiring.Tropical, semiring.Log64]
)

// Widening returns the function from W to D, which must be W or what its sums are carried in.
func Widening[W, D any]() func(W) D {
	var wide func(W) D
	switch wide := any(&wide).(type) {
	case *func(semiring.Log) semiring.Log64:
		*wide = func(w semiring.Log) semiring.Log64 { return semiring.Log64(w) }
	case *func(CarriedProduct) CarriedProduct64:
		*wide = func(w CarriedProduct) CarriedProduct64 {
			return CarriedProduct64{First: w.First, Second: semiring.Log64(w.Second)}
		}
	case *func(W) W:
		*wide = func(w W) W { return w }
	}
	return wide
}

// Narrowing returns the function from D back to W.
func Narrowing[W, D any]() func(D) W {
	var narrow func(D) W
	switch narrow := any(&narrow).(type) {
	case *func(semiring.Log64) semiring.Log:
		*narrow = func(w semiring.Log64) semiring.Log { return semiring.Log(w) }
	case *func(CarriedProduct64) CarriedProduct:
		*narrow = func(w CarriedProduct64) CarriedProduct {
			return CarriedProduct{First: w.First, Second: semiring.Log(w.Second)}
		}
	case *func(W) W:
		*narrow = func(w W) W { return w }
	}
	return narrow
}

// RoundedOnly is rounded without a look at what comes of it.
func RoundedOnly[W semiring.Weight[W], D semiring.Weight[D]](d []D) []W {
	if d, same := any(d).([]W); same {
		return d
	}
	narrow := Narrowing[W, D]()
	w := make([]W, len(d))
	for q := range d {
		w[q] = narrow(d[q])
	}
	return w
}

// WidenedAll is the other way round.
func WidenedAll[W, D any](w []W) []D {
	if d, same := any(w).([]D); same {
		return d
	}
	wide := Widening[W, D]()
	d := make([]D, len(w))
	for q := range w {
		d[q] = wide(w[q])
	}
	return d
}
