package semiring

import "strconv"

// Array is implemented by the arrays that Power is made of.
type Array[W any] interface {
	[1]W | [2]W | [3]W | [4]W | [5]W | [6]W | [7]W | [8]W
}

// Power is the cartesian power Wⁿ for n up to 8, with ⊕ and ⊗ by parts:
// Power[Log64, [3]Log64] is three log weights side by side. A weight is one
// array, with nothing behind a pointer. It is commutative; it has no path
// property, and is idempotent where W is, which IsIdempotent tells.
type Power[W Component[W], V Array[W]] struct {
	Values V
}

func (a Power[W, V]) Plus(b Power[W, V]) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = a.Values[i].Plus(b.Values[i])
	}
	return a
}

func (a Power[W, V]) Times(b Power[W, V]) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = a.Values[i].Times(b.Values[i])
	}
	return a
}

// IdempotentWeights reports whether ⊕ of W is idempotent.
func (Power[W, V]) IdempotentWeights() bool { return IsIdempotent[W]() }

// Scale multiplies every part by w: the scalar product of the semimodule Wⁿ.
func (a Power[W, V]) Scale(w W) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = w.Times(a.Values[i])
	}
	return a
}

// Dot is the ⊕-sum of the parts of a⊗b.
func (a Power[W, V]) Dot(b Power[W, V]) W {
	sum := Zero[W]()
	for i := range len(a.Values) {
		sum = sum.Plus(a.Values[i].Times(b.Values[i]))
	}
	return sum
}

func (a Power[W, V]) Zero() Power[W, V] { return a.fill(Zero[W]()) }
func (a Power[W, V]) One() Power[W, V]  { return a.fill(One[W]()) }

func (a Power[W, V]) fill(w W) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = w
	}
	return a
}

func (a Power[W, V]) Equal(b Power[W, V]) bool {
	for i := range len(a.Values) {
		if !a.Values[i].Equal(b.Values[i]) {
			return false
		}
	}
	return true
}

func (a Power[W, V]) Member() bool {
	for i := range len(a.Values) {
		if !a.Values[i].Member() {
			return false
		}
	}
	return true
}

func (Power[W, V]) Commutes() {}

// Cancels holds when all parts cancel.
func (a Power[W, V]) Cancels() bool {
	for i := range len(a.Values) {
		if !cancels(a.Values[i]) {
			return false
		}
	}
	return true
}

func (a Power[W, V]) Reverse() Power[W, V] { return a }

// DivideLeft divides by parts; 0̄ divided by 0̄ in a part gives 0̄ there.
func (a Power[W, V]) DivideLeft(c Power[W, V]) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = dividePart(a.Values[i], c.Values[i])
	}
	return a
}

// DivideRight is DivideLeft.
func (a Power[W, V]) DivideRight(c Power[W, V]) Power[W, V] { return a.DivideLeft(c) }

// Star is by parts, and diverges where any does.
func (a Power[W, V]) Star() (Power[W, V], bool) {
	all := true
	for i := range len(a.Values) {
		var ok bool
		a.Values[i], ok = a.Values[i].Star()
		all = all && ok
	}
	return a, all
}

// Power is by parts.
func (a Power[W, V]) Power(x float64) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = a.Values[i].Power(x)
	}
	return a
}

// Near holds when all parts are near.
func (a Power[W, V]) Near(b Power[W, V], delta float64) bool {
	for i := range len(a.Values) {
		if !a.Values[i].Near(b.Values[i], delta) {
			return false
		}
	}
	return true
}

// Quantize rounds every part.
func (a Power[W, V]) Quantize(delta float64) Power[W, V] {
	for i := range len(a.Values) {
		a.Values[i] = a.Values[i].Quantize(delta)
	}
	return a
}

// QuantizeFactor rounds every part.
func (a Power[W, V]) QuantizeFactor(delta float64) (rounded Power[W, V], ok bool) {
	for i := range len(a.Values) {
		a.Values[i], ok = quantizeFactor(a.Values[i], delta)
	}
	return a, ok
}

// AppendKey appends the keys of the parts.
func (a Power[W, V]) AppendKey(dst []byte) []byte {
	for i := range len(a.Values) {
		dst = a.Values[i].AppendKey(dst)
	}
	return dst
}

// Claimed here, so that losing one fails the build.
var _ Component[Power[Tropical, [3]Tropical]] = Power[Tropical, [3]Tropical]{}
var _ Cancellative[Power[Log, [2]Log]] = Power[Log, [2]Log]{}

func (a Power[W, V]) ArcType() string {
	return Zero[W]().ArcType() + "_^" + strconv.Itoa(len(a.Values))
}

func (a Power[W, V]) WeightType() string {
	return Zero[W]().WeightType() + "_^" + strconv.Itoa(len(a.Values))
}

func (a Power[W, V]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a Power[W, V]) ParseText(s string) (Power[W, V], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a Power[W, V]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	dst = f.open(dst)
	for i := range len(a.Values) {
		if i > 0 {
			dst = append(dst, f.separator())
		}
		dst = a.Values[i].AppendTextFormat(dst, f)
	}
	return f.close(dst)
}

// ParseTextFormat reads as many parts as the array has.
func (a Power[W, V]) ParseTextFormat(s string, f TextFormat) (Power[W, V], error) {
	in, err := f.inner(s)
	if err != nil {
		return a, err
	}
	w := width[W](f)
	for i := range len(a.Values) {
		last := i == len(a.Values)-1
		part, rest, more := in, "", false
		if !last { // the last part reads all that is left, and refuses too much
			if part, rest, more = f.cut(in, w); !more {
				return a, errWeight(s, "want "+strconv.Itoa(len(a.Values))+" parts with "+string(rune(f.separator()))+" between them")
			}
		}
		if a.Values[i], err = a.Values[i].ParseTextFormat(part, f); err != nil {
			return a, err
		}
		in = rest
	}
	return a, nil
}

func (a Power[W, V]) AppendBinary(dst []byte) []byte {
	for i := range len(a.Values) {
		dst = a.Values[i].AppendBinary(dst)
	}
	return dst
}

func (a Power[W, V]) DecodeBinary(src []byte) (Power[W, V], int, error) {
	read := 0
	for i := range len(a.Values) {
		w, n, err := a.Values[i].DecodeBinary(src[read:])
		if err != nil || n == 0 {
			return a, 0, err
		}
		a.Values[i] = w
		read += n
	}
	return a, read, nil
}
