package semiring

// Weight is implemented by the elements of a semiring (K, ⊕, ⊗, 0̄, 1̄).
//
// Methods read their receiver and arguments as values and never keep them; a
// weight that holds a slice (String, Gallic) is immutable once made.
type Weight[W any] interface {
	Plus(W) W                // ⊕: associative, commutative, identity Zero
	Times(W) W               // ⊗: associative, identity One, distributes over ⊕ (on one side only for string weights)
	Zero() W                 // 0̄, annihilator of ⊗; the receiver is not read
	One() W                  // 1̄; the receiver is not read
	Equal(W) bool            // exact, hence transitive and fit for keys
	AppendKey([]byte) []byte // canonical bytes: Equal weights, and only those, append equal bytes
	Member() bool            // false for what arithmetic can produce outside K: NaN, or a bad string
}

// Divisible is implemented by weakly left-divisible semirings: whenever a ≠ 0̄ and c = a⊗b for some
// b, a.DivideLeft(c) is such a b. No other call is meaningful.
type Divisible[W any] interface {
	Weight[W]
	DivideLeft(c W) W
}

// RightDivisible is the mirror image: whenever a ≠ 0̄ and c = b⊗a for some b,
// a.DivideRight(c) is such a b.
type RightDivisible[W any] interface {
	Weight[W]
	DivideRight(c W) W
}

// LeftSemiring is implemented by weights that distribute on the left only: c⊗(a⊕b) = c⊗a ⊕ c⊗b
// always, (a⊕b)⊗c = a⊗c ⊕ b⊗c not always. Sums along paths from the end of a machine are correct
// for them, and so is pushing to the start; sums from the start are not. The method does nothing
// but claim this. A type that claims neither this nor RightSemiring distributes on both sides.
type LeftSemiring[W any] interface {
	Weight[W]
	LeftOnly()
}

// RightSemiring is the mirror image of LeftSemiring.
type RightSemiring[W any] interface {
	Weight[W]
	RightOnly()
}

// CommonDivisor is implemented by divisible weights for which determinization divides by something
// finer than the sum: a.CommonDivisor(b) divides both a and b on the left, and is 0̄ only when both
// are. It can be folded over several weights, starting with 0̄. Quotients by other weights may not
// exist; DivideLeft then returns a non-member.
type CommonDivisor[W any] interface {
	Divisible[W]
	CommonDivisor(W) W
}

// Commutative holds when a⊗b = b⊗a for all a and b. The method does nothing but claim this.
type Commutative[W any] interface {
	Weight[W]
	Commutes()
}

// Cancellative is implemented by weights that report whether they cancel. When c.Cancels(), each of
// a⊗c = b⊗c and c⊗a = c⊗b implies a = b, up to rounding.
//
// Sums and products of weights that cancel also cancel; 0̄ does not. Division by a weight that
// cancels has one result. Algorithms that compare quotients need that: Twins, and Equivalent, which
// pushes before it compares. In most semirings every weight but 0̄ cancels. Exceptions are MinMax,
// where max(1, 3) = max(2, 3), and a Product, where (1, 0̄) does not cancel.
type Cancellative[W any] interface {
	Weight[W]
	Cancels() bool
}

// cancels is w.Cancels(), or false for weights without that method.
func cancels[W any](w W) bool {
	c, ok := any(w).(interface{ Cancels() bool })
	return ok && c.Cancels()
}

// Idempotent holds when a⊕a = a for all a. The method does nothing but claim this.
type Idempotent[W any] interface {
	Weight[W]
	Idempotent()
}

// IsIdempotent reports whether a⊕a = a for all weights of W. A composite type, which is idempotent
// when its parts are, answers by a method IdempotentWeights.
func IsIdempotent[W Weight[W]]() bool {
	switch w := any(Zero[W]()).(type) {
	case Idempotent[W]:
		return true
	case interface{ IdempotentWeights() bool }:
		return w.IdempotentWeights()
	}
	return false
}

// Path holds when a⊕b is always a or b; Less is then the natural order, strict and total: a.Less(b)
// exactly when a⊕b is a and a is not Equal to b.
type Path[W any] interface {
	Idempotent[W]
	Less(W) bool
}

// Approx is implemented by weights with a notion of closeness, for sums that converge in the limit.
// Near holds for Equal weights whatever delta is; it is symmetric but not transitive, and so never
// decides what becomes a key.
type Approx[W any] interface {
	Weight[W]
	Near(w W, delta float64) bool
}

// Quantizable is implemented by weights that can be rounded to multiples of delta, so that close
// weights mostly, though not always, become Equal. Numbers are rounded as in OpenFst, by ⌊w/δ +
// ½⌋·δ in their own arithmetic. From 2²² steps on (2⁵¹ with 8 bytes), numbers have no digits finer
// than δ. Rounding then moves them by a few units of the last digit, and may move them again when
// repeated.
type Quantizable[W any] interface {
	Weight[W]
	Quantize(delta float64) W
}

// Proportional is implemented by weights that are multiplied as numbers, as probabilities are, and
// by composites, which may have such parts. QuantizeFactor changes a weight by a factor between
// 1-delta and 1+delta, whatever its size. Quantize, which is OpenFst's, rounds weights below delta
// to 0. Weights that are added along paths, such as costs, need only Quantize: ok is then false.
//
// It prepares weights for comparison. Weights that it makes equal are Near within little more than
// delta. The comparison does not depend on the scale of a machine's weights.
type Proportional[W any] interface {
	Quantizable[W]
	QuantizeFactor(delta float64) (rounded W, ok bool)
}

// quantizeFactor is QuantizeFactor, or Quantize for weights that have none.
func quantizeFactor[W Quantizable[W]](w W, delta float64) (rounded W, ok bool) {
	if p, has := any(w).(Proportional[W]); has {
		return p.QuantizeFactor(delta)
	}
	return w.Quantize(delta), false
}

// Star is implemented by weights whose closure a* = 1̄ ⊕ a ⊕ a⊗a ⊕ … can be computed. ok is false
// where the sum diverges.
type Star[W any] interface {
	Weight[W]
	Star() (closure W, ok bool)
}

// Reversible is implemented by weights with an involution into a semiring R that turns products
// around: (a⊗b).Reverse() = b.Reverse() ⊗ a.Reverse(), sums kept. For commutative semirings R is W
// and Reverse is the identity.
type Reversible[W, R any] interface {
	Weight[W]
	Reverse() R
}

// Powered is implemented by weights with a power a^x for real x: the x-fold product for whole x,
// extended to the reals where that makes sense.
type Powered[W any] interface {
	Weight[W]
	Power(x float64) W
}

// Zero returns 0̄ of W. It is not the Go zero value: Tropical(0) is 1̄, so a
// freshly made []Tropical holds ones. Fill distances and finals with Zero.
func Zero[W Weight[W]]() W { var w W; return w.Zero() }

// One returns 1̄ of W.
func One[W Weight[W]]() W { var w W; return w.One() }

// IsZero reports whether w is 0̄.
func IsZero[W Weight[W]](w W) bool { return w.Equal(w.Zero()) }

// IsOne reports whether w is 1̄.
func IsOne[W Weight[W]](w W) bool { return w.Equal(w.One()) }

// Component is what composites (Product, Lexicographic, Power, Gallic, ...) ask
// of their parts, so that they can offer it themselves: a commutative semiring
// with all that costs nothing to have. Every number in this package meets it,
// and so do Product, Lexicographic and Power.
type Component[W any] interface {
	Divisible[W]
	RightDivisible[W]
	Commutative[W]
	Approx[W]
	Quantizable[W]
	Reversible[W, W]
	Star[W]
	Powered[W]
	FormatCodec[W]
}

// PathComponent is a Component whose ⊕ chooses.
type PathComponent[W any] interface {
	Component[W]
	Path[W]
}
