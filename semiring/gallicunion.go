package semiring

import (
	"encoding/binary"
	"math"
	"slices"
)

// GallicUnion is a set of outputs, each with its weight: the weight with which
// transducers that are not functional are determinized (OpenFst's GALLIC). ⊕ is
// union, where the weights of equal strings are summed, and ⊗ multiplies each
// with each: polynomials over W whose monomials are strings. It distributes on
// both sides. The Go zero value is 0̄, the empty set; values are immutable.
//
// The set is kept in military order: shorter strings first, then by labels.
// What has weight 0̄ in W is not in it.
type GallicUnion[W Component[W]] struct {
	// Most sets have one element and need nothing allocated but its string. Its parts stand
	// here, beside n, so that over Tropical an arc takes 48 bytes and not 72.
	labels labels
	weight W
	n      int32                  // number of elements; 1 also for non-members
	rest   *[]GallicRestricted[W] // the n-1 others, nil for none
}

// first is the first element, if there is one.
func (a GallicUnion[W]) first() GallicRestricted[W] {
	return GallicRestricted[W]{StringRestricted{a.labels}, a.weight}
}

// only is the set of w, which may be no member, but not 0̄.
func only[W Component[W]](w GallicRestricted[W]) GallicUnion[W] {
	return GallicUnion[W]{labels: w.String.labels, weight: w.Weight, n: 1}
}

// NewGallicUnion returns the set of ws, in which equal strings may come several
// times and in any order. One non-member among ws makes the set a non-member.
func NewGallicUnion[W Component[W]](ws ...GallicRestricted[W]) GallicUnion[W] {
	if len(ws) == 1 {
		return singleton(ws[0])
	}
	return newUnion(slices.Clone(ws))
}

func singleton[W Component[W]](w GallicRestricted[W]) GallicUnion[W] {
	if w.Member() && (w.String.labels == infinite || IsZero(w.Weight)) {
		return GallicUnion[W]{}
	}
	return only(w)
}

// newUnion is NewGallicUnion that takes ws for itself. Equal strings are summed
// in the order of ws.
func newUnion[W Component[W]](ws []GallicRestricted[W]) GallicUnion[W] {
	slices.SortStableFunc(ws, func(a, b GallicRestricted[W]) int {
		switch x, y := a.String.labels, b.String.labels; {
		case x == y:
			return 0
		case x.less(y):
			return -1
		}
		return 1
	})
	return mergeSorted(ws)
}

// mergeSorted sums what has equal strings in the sorted ws, in place.
func mergeSorted[W Component[W]](ws []GallicRestricted[W]) GallicUnion[W] {
	out := ws[:0]
	for _, w := range ws {
		if !w.Member() {
			return only(w)
		}
		if w.String.labels == infinite {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].String == w.String {
			out[last].Weight = out[last].Weight.Plus(w.Weight)
		} else {
			out = append(out, w)
		}
	}
	// Only now: sums of members that are not 0̄ may be no members, or with
	// negative weights 0̄.
	for _, w := range out {
		if !w.Member() {
			return only(w)
		}
	}
	out = slices.DeleteFunc(out, func(w GallicRestricted[W]) bool { return IsZero(w.Weight) })
	if len(out) == 0 {
		return GallicUnion[W]{}
	}
	set := only(out[0])
	if others := out[1:]; len(others) > 0 {
		set.n, set.rest = int32(len(out)), &others
	}
	return set
}

// Sum is the ⊕-sum of all ws from the left, whatever the receiver, in n·log n of their elements:
// Plus takes time for all that it is added to.
func (GallicUnion[W]) Sum(ws []GallicUnion[W]) GallicUnion[W] {
	n := 0
	for _, w := range ws {
		n += w.Len()
	}
	all := make([]GallicRestricted[W], 0, n)
	for _, w := range ws {
		all = w.appendTo(all)
	}
	return newUnion(all)
}

// Len is the number of elements; 0̄ has none, and a non-member one.
func (a GallicUnion[W]) Len() int { return int(a.n) }

// At is the i-th element in military order, for 0 ≤ i < Len.
func (a GallicUnion[W]) At(i int) GallicRestricted[W] {
	if i == 0 && a.n > 0 {
		return a.first()
	}
	return (*a.rest)[i-1]
}

func (a GallicUnion[W]) appendTo(dst []GallicRestricted[W]) []GallicRestricted[W] {
	for i := range a.Len() {
		dst = append(dst, a.At(i))
	}
	return dst
}

// Plus is the union. Equal strings are summed.
func (a GallicUnion[W]) Plus(b GallicUnion[W]) GallicUnion[W] {
	switch {
	case b.n == 0 || !a.Member():
		return a
	case a.n == 0 || !b.Member():
		return b
	case a.n == 1 && b.n == 1 && a.labels == b.labels:
		return singleton(GallicRestricted[W]{StringRestricted{a.labels}, a.weight.Plus(b.weight)})
	}
	merged := make([]GallicRestricted[W], 0, a.Len()+b.Len())
	i, j := 0, 0
	for i < a.Len() && j < b.Len() {
		if x, y := a.At(i), b.At(j); y.String.labels.less(x.String.labels) {
			merged = append(merged, y)
			j++
		} else {
			merged = append(merged, x)
			i++
		}
	}
	for ; i < a.Len(); i++ {
		merged = append(merged, a.At(i))
	}
	for ; j < b.Len(); j++ {
		merged = append(merged, b.At(j))
	}
	return mergeSorted(merged)
}

// Times multiplies each element of a with each of b.
func (a GallicUnion[W]) Times(b GallicUnion[W]) GallicUnion[W] {
	switch {
	case !a.Member():
		return a
	case !b.Member():
		return b
	case a.n == 0 || b.n == 0:
		return GallicUnion[W]{}
	case a.n == 1 && b.n == 1:
		return singleton(a.first().Times(b.first()))
	}
	products := make([]GallicRestricted[W], 0, a.Len()*b.Len())
	for i := range a.Len() {
		for j := range b.Len() {
			products = append(products, a.At(i).Times(b.At(j)))
		}
	}
	return newUnion(products)
}

func (GallicUnion[W]) Zero() GallicUnion[W] { return GallicUnion[W]{} }

func (GallicUnion[W]) One() GallicUnion[W] {
	return only(One[GallicRestricted[W]]())
}

func (a GallicUnion[W]) Equal(b GallicUnion[W]) bool {
	if a.n != b.n {
		return false
	}
	for i := range a.Len() {
		if !a.At(i).Equal(b.At(i)) {
			return false
		}
	}
	return true
}

// Member is false for a set that a non-member came into, and has swallowed.
func (a GallicUnion[W]) Member() bool { return a.n != 1 || a.first().Member() }

// DivideLeft divides each element of c by the only one of a. There is a quotient
// by larger sets sometimes, but it is not looked for: the result is no member
// then. CommonDivisor has one element.
func (a GallicUnion[W]) DivideLeft(c GallicUnion[W]) GallicUnion[W] {
	return a.divide(c, GallicRestricted[W].DivideLeft)
}

// DivideRight is the mirror image of DivideLeft.
func (a GallicUnion[W]) DivideRight(c GallicUnion[W]) GallicUnion[W] {
	return a.divide(c, GallicRestricted[W].DivideRight)
}

func (a GallicUnion[W]) divide(c GallicUnion[W], by func(a, c GallicRestricted[W]) GallicRestricted[W]) GallicUnion[W] {
	switch {
	case !a.Member():
		return a
	case !c.Member() || c.n == 0:
		return c
	case a.n != 1:
		return only(GallicRestricted[W]{String: StringRestricted{badPrefix}})
	case c.n == 1:
		return singleton(by(a.first(), c.first()))
	}
	quotients := make([]GallicRestricted[W], c.Len())
	for i := range c.Len() {
		quotients[i] = by(a.first(), c.At(i))
	}
	return newUnion(quotients)
}

// CommonDivisor has one element: the first label that all strings of a and b
// have in common, or else ε, with the sum of all weights.
func (a GallicUnion[W]) CommonDivisor(b GallicUnion[W]) GallicUnion[W] {
	switch {
	case !a.Member():
		return a
	case !b.Member():
		return b
	}
	d := Zero[GallicRestricted[W]]()
	for i := range a.Len() {
		d = d.CommonDivisor(a.At(i))
	}
	for i := range b.Len() {
		d = d.CommonDivisor(b.At(i))
	}
	return singleton(d)
}

// Reverse turns all strings around.
func (a GallicUnion[W]) Reverse() GallicUnion[W] {
	switch a.n {
	case 0:
		return a
	case 1:
		return only(a.first().Reverse())
	}
	ws := a.appendTo(make([]GallicRestricted[W], 0, a.Len()))
	for i := range ws {
		ws[i] = ws[i].Reverse()
	}
	return newUnion(ws)
}

// Near holds when the weights of all strings are near, where a string that a
// set does not have has weight 0̄ in it.
func (a GallicUnion[W]) Near(b GallicUnion[W], delta float64) bool {
	zero := Zero[W]()
	i, j := 0, 0
	for i < a.Len() || j < b.Len() {
		switch {
		case j == b.Len() || i < a.Len() && a.At(i).String.labels.less(b.At(j).String.labels):
			if !a.At(i).Weight.Near(zero, delta) {
				return false
			}
			i++
		case i == a.Len() || b.At(j).String.labels.less(a.At(i).String.labels):
			if !b.At(j).Weight.Near(zero, delta) {
				return false
			}
			j++
		default:
			if !a.At(i).Near(b.At(j), delta) {
				return false
			}
			i++
			j++
		}
	}
	return true
}

// Star is that of the weight where ε is the only string, 1̄ of the empty set. With any other string
// the closure has strings of all lengths, and so is no set that can be had.
func (a GallicUnion[W]) Star() (GallicUnion[W], bool) {
	switch {
	case a.n == 0:
		return a.One(), true
	case a.n > 1 || !a.Member() || a.first().String.Len() > 0:
		return a, false
	}
	w, ok := a.weight.Star()
	if !ok {
		return a, false
	}
	return singleton(GallicRestricted[W]{Weight: w}), true
}

// IdempotentWeights reports whether ⊕ of W is idempotent, so that ⊕ here is too.
func (GallicUnion[W]) IdempotentWeights() bool { return IsIdempotent[W]() }

// Quantize rounds all weights.
func (a GallicUnion[W]) Quantize(delta float64) GallicUnion[W] {
	if a.n == 0 {
		return a
	}
	ws := a.appendTo(make([]GallicRestricted[W], 0, a.Len()))
	for i := range ws {
		ws[i] = ws[i].Quantize(delta)
	}
	return mergeSorted(ws)
}

// QuantizeFactor rounds all weights.
func (a GallicUnion[W]) QuantizeFactor(delta float64) (GallicUnion[W], bool) {
	_, ok := quantizeFactor(One[W](), delta)
	if a.n == 0 {
		return a, ok
	}
	ws := a.appendTo(make([]GallicRestricted[W], 0, a.Len()))
	for i := range ws {
		ws[i], _ = ws[i].QuantizeFactor(delta)
	}
	return mergeSorted(ws), ok
}

// AppendKey appends the number of elements and the key of each.
func (a GallicUnion[W]) AppendKey(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(a.n))
	for i := range a.Len() {
		dst = a.At(i).AppendKey(dst)
	}
	return dst
}

// Claimed here, so that losing one fails the build.
var (
	_ CommonDivisor[GallicUnion[Log]]                = GallicUnion[Log]{}
	_ RightDivisible[GallicUnion[Log]]               = GallicUnion[Log]{}
	_ Approx[GallicUnion[Log]]                       = GallicUnion[Log]{}
	_ Proportional[GallicUnion[Log]]                 = GallicUnion[Log]{}
	_ Star[GallicUnion[Log]]                         = GallicUnion[Log]{}
	_ Reversible[GallicUnion[Log], GallicUnion[Log]] = GallicUnion[Log]{}
	_ FormatCodec[GallicUnion[Log]]                  = GallicUnion[Log]{}
)

func (GallicUnion[W]) ArcType() string    { return "gallic_" + Zero[W]().ArcType() }
func (GallicUnion[W]) WeightType() string { return "gallic" }

func (a GallicUnion[W]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a GallicUnion[W]) ParseText(s string) (GallicUnion[W], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a GallicUnion[W]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	switch {
	case a.n == 0:
		return append(dst, "EmptySet"...)
	case !a.Member():
		return append(dst, "BadSet"...)
	}
	dst = f.open(dst)
	for i := range a.Len() {
		if i > 0 {
			dst = append(dst, f.separator())
		}
		dst = a.At(i).AppendTextFormat(dst, f)
	}
	return f.close(dst)
}

// ParseTextFormat reads "EmptySet", or elements with the separator between them
// in any order.
func (a GallicUnion[W]) ParseTextFormat(s string, f TextFormat) (GallicUnion[W], error) {
	switch s {
	case "EmptySet":
		return GallicUnion[W]{}, nil
	case "BadSet":
		return GallicUnion[W]{}, errWeight(s, "BadSet is not a weight")
	}
	in, err := f.inner(s)
	if err != nil {
		return GallicUnion[W]{}, err
	}
	var ws []GallicRestricted[W]
	w := width[GallicRestricted[W]](f)
	for more := true; more; {
		var part string
		part, in, more = f.cut(in, w)
		e, err := Zero[GallicRestricted[W]]().ParseTextFormat(part, f)
		if err != nil {
			return GallicUnion[W]{}, err
		}
		ws = append(ws, e)
	}
	return newUnion(ws), nil
}

// AppendBinary appends the number of elements and each of them; of a non-member
// two, 0̄ and it, which OpenFst reads as its own.
func (a GallicUnion[W]) AppendBinary(dst []byte) []byte {
	if !a.Member() {
		dst = binary.LittleEndian.AppendUint32(dst, 2)
		return a.first().AppendBinary(Zero[GallicRestricted[W]]().AppendBinary(dst))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(a.n))
	for i := range a.Len() {
		dst = a.At(i).AppendBinary(dst)
	}
	return dst
}

// DecodeBinary asks that the elements are in order.
func (GallicUnion[W]) DecodeBinary(src []byte) (GallicUnion[W], int, error) {
	none := GallicUnion[W]{}
	if len(src) < 4 {
		return none, 0, nil
	}
	count := binary.LittleEndian.Uint32(src)
	if count > math.MaxInt32 {
		return none, 0, errBytes(src[:4], "negative number of elements")
	}
	read := 4
	var ws []GallicRestricted[W]
	for i := range int(count) {
		w, n, err := Zero[GallicRestricted[W]]().DecodeBinary(src[read:])
		if err != nil || n == 0 {
			return none, 0, err
		}
		if i > 0 && w.Member() && !ws[i-1].String.labels.less(w.String.labels) {
			return none, 0, errBytes(src[read : read+n][:min(n, 16)], "set not in order")
		}
		ws = append(ws, w)
		read += n
	}
	return mergeSorted(ws), read, nil
}
