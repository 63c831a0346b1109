package semiring

// Weight is met by the elements of a semiring (K, ⊕, ⊗, 0̄, 1̄).
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

// Divisible is met by weakly left-divisible semirings: whenever a ≠ 0̄ and
// c = a⊗b for some b, a.DivideLeft(c) is such a b. No other call is meaningful.
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

// LeftSemiring is met by weights that distribute on the left only: c⊗(a⊕b) =
// c⊗a ⊕ c⊗b always, (a⊕b)⊗c = a⊗c ⊕ b⊗c not always. Sums along paths from the
// end of a machine, and so pushing to the start, are right for them; sums from
// the start are not. The method does nothing; it is there to be claimed, and
// what claims neither this nor RightSemiring distributes on both sides.
type LeftSemiring[W any] interface {
	Weight[W]
	LeftOnly()
}

// RightSemiring is the mirror image of LeftSemiring.
type RightSemiring[W any] interface {
	Weight[W]
	RightOnly()
}

// CommonDivisor is met by divisible weights for which determinization divides
// by something finer than the sum: a.CommonDivisor(b) divides both a and b on
// the left, and is 0̄ only when both are. It folds over more of them, starting
// with 0̄ if so wished. A type that meets this may have quotients by other weights than such
// divisors missing: DivideLeft then returns a non-member.
type CommonDivisor[W any] interface {
	Divisible[W]
	CommonDivisor(W) W
}

// Commutative is met when a⊗b = b⊗a for all a and b. The method does nothing;
// it is there to be claimed.
type Commutative[W any] interface {
	Weight[W]
	Commutes()
}

// Cancellative is met by weights of which is told which ones cancel: when
// c.Cancels(), then a⊗c = b⊗c and c⊗a = c⊗b only for a = b, up to rounding. Sums and
// products of weights that cancel cancel too, and 0̄ does not. Quotients by weights that
// cancel are unique; what compares quotients, as the twins property and the pushing
// before a comparison do, is right for machines of such weights alone. In most semirings
// all but 0̄ cancel; in MinMax max(1, 3) = max(2, 3), and in a Product (1, 0̄) does not.
type Cancellative[W any] interface {
	Weight[W]
	Cancels() bool
}

// cancels is Cancels for weights of which it is not known whether they have it.
func cancels[W any](w W) bool {
	c, ok := any(w).(interface{ Cancels() bool })
	return ok && c.Cancels()
}

// Idempotent is met when a⊕a = a for all a. The method does nothing; it is
// there to be claimed.
type Idempotent[W any] interface {
	Weight[W]
	Idempotent()
}

// IsIdempotent reports whether a⊕a = a for all weights of W: of types that are Idempotent, and of those made of others
// whose ⊕ is idempotent where theirs is, which say so by a method IdempotentWeights.
func IsIdempotent[W Weight[W]]() bool {
	switch w := any(Zero[W]()).(type) {
	case Idempotent[W]:
		return true
	case interface{ IdempotentWeights() bool }:
		return w.IdempotentWeights()
	}
	return false
}

// Path is met when a⊕b is always a or b; Less is then the natural order, strict
// and total: a.Less(b) exactly when a⊕b is a and a is not Equal to b.
type Path[W any] interface {
	Idempotent[W]
	Less(W) bool
}

// Approx is met by weights with a notion of closeness, for sums that converge
// in the limit. Near holds for Equal weights whatever delta is; it is symmetric
// but not transitive, and so never decides what becomes a key.
type Approx[W any] interface {
	Weight[W]
	Near(w W, delta float64) bool
}

// Quantizable is met by weights that can be rounded to multiples of delta, so
// that close weights mostly, though not always, become Equal. Numbers are rounded
// as OpenFst has it, by ⌊w/δ + ½⌋·δ in their own arithmetic, also where they have
// no finer digits than δ: from 2²² steps (with 8 bytes 2⁵¹) on, rounding errors
// move them by a few units of the last digit, and may move them on when they are rounded again.
type Quantizable[W any] interface {
	Weight[W]
	Quantize(delta float64) W
}

// Proportional is met by weights that are multiplied as numbers, as probabilities are, and by
// composites, which may have such parts. QuantizeFactor rounds so that a weight changes by a factor
// between 1-delta and 1+delta, however small or large it is, where Quantize, which is OpenFst's, makes 0 of what
// is smaller than delta. Weights that are added along paths, as costs are, have no need of
// it: Quantize is the same to them. ok is false for what has no other parts.
//
// It is for what is to be compared. Weights that it makes equal are Near within delta, or little more,
// and a comparison does not depend on the scale of a machine's weights.
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

// Star is met by weights whose closure a* = 1̄ ⊕ a ⊕ a⊗a ⊕ … can be computed.
// ok is false where the sum diverges.
type Star[W any] interface {
	Weight[W]
	Star() (closure W, ok bool)
}

// Reversible is met by weights with an involution into a semiring R that turns
// products around: (a⊗b).Reverse() = b.Reverse() ⊗ a.Reverse(), sums kept.
// For commutative semirings R is W and Reverse is the identity.
type Reversible[W, R any] interface {
	Weight[W]
	Reverse() R
}

// Powered is met by weights with a power a^x for real x: the x-fold product for
// whole x, extended to the reals where that makes sense.
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
