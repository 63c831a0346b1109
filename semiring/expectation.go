package semiring

import "math"

// Expectation is the expectation semiring of a number in float64: pairs (p, r)
// of a probability p and p times the value of a random variable r, with
//
//	(p, r) ⊕ (q, s) = (p+q, r+s)    (p, r) ⊗ (q, s) = (p·q, p·s + q·r)
//
// so that the ⊕-sum over the paths of a machine, whose arcs carry (p, p·v), is
// the sum of p(π) and that of p(π)·v(π), v summed along the path. It is
// commutative. p is not negative, r is any finite number. ExpectationOf has
// other weights as parts.
//
// J. Eisner, "Parameter estimation for probabilistic finite-state transducers",
// ACL 2002.
type Expectation struct {
	P, R float64
}

// Plus is by parts.
func (a Expectation) Plus(b Expectation) Expectation { return Expectation{a.P + b.P, a.R + b.R} }

// Times is the product rule. The conversions keep compilers from fusing one of
// the products with the sum, which then would not commute.
func (a Expectation) Times(b Expectation) Expectation {
	return Expectation{a.P * b.P, float64(a.P*b.R) + float64(b.P*a.R)}
}

func (Expectation) Zero() Expectation          { return Expectation{} }
func (Expectation) One() Expectation           { return Expectation{1, 0} }
func (a Expectation) Equal(b Expectation) bool { return a == b }
func (a Expectation) Commutes()                {}
func (a Expectation) Cancels() bool            { return a.P != 0 }
func (a Expectation) Reverse() Expectation     { return a }

// Member holds when both parts are finite and the first is not negative.
func (a Expectation) Member() bool {
	return a.P >= 0 && a.P <= math.MaxFloat64 && math.Abs(a.R) <= math.MaxFloat64
}

// DivideLeft is the quotient rule. (OpenFst has no division here.) Where the probabilities of a and
// c are 0, c = (0, a.R·p). Then p is found, and the other part of the quotient, which is arbitrary,
// is 0.
func (a Expectation) DivideLeft(c Expectation) Expectation {
	if a.P == 0 {
		return Expectation{c.R / a.R, 0}
	}
	p := c.P / a.P
	return Expectation{p, (c.R - p*a.R) / a.P}
}

// DivideRight is DivideLeft.
func (a Expectation) DivideRight(c Expectation) Expectation { return a.DivideLeft(c) }

// Star is (1/(1-p), r/(1-p)²) for p < 1; otherwise the sum diverges.
func (a Expectation) Star() (Expectation, bool) {
	if !(a.P < 1) {
		return Expectation{math.NaN(), math.NaN()}, false
	}
	p := 1 / (1 - a.P)
	return Expectation{p, p * p * a.R}, true
}

// Power is (p^x, x·p^(x-1)·r).
func (a Expectation) Power(x float64) Expectation {
	if x == 0 {
		return a.One()
	}
	if a.R == 0 { // 0^(x-1) may be infinite
		return Expectation{math.Pow(a.P, x), 0}
	}
	return Expectation{math.Pow(a.P, x), x * math.Pow(a.P, x-1) * a.R}
}

// Near holds when the probabilities are near (see Probability.Near) and the values R/P differ by at
// most delta, relative where both exceed 1. Values add up along paths, as costs do, so that close
// to 0 a factor says nothing.
func (a Expectation) Near(b Expectation, delta float64) bool {
	if a == b {
		return true
	}
	if !nearRelative(a.P, b.P, delta) {
		return false
	}
	v, w := a.R/a.P, b.R/b.P
	if a.P == 0 || math.IsInf(v, 0) || math.IsInf(w, 0) {
		return nearRelative(a.R, b.R, delta)
	}
	return math.Abs(v-w) <= delta*max(1, min(math.Abs(v), math.Abs(w)))
}

// Quantize rounds both parts to multiples of delta.
func (a Expectation) Quantize(delta float64) Expectation {
	return Expectation{quantize(a.P, delta), quantize(a.R, delta)}
}

// QuantizeFactor rounds P like a Probability. It rounds R/P to a multiple of delta, or like a
// Probability beyond 1.
func (a Expectation) QuantizeFactor(delta float64) (Expectation, bool) {
	v := a.R / a.P
	if a.P == 0 || math.IsInf(v, 0) {
		return Expectation{a.P, quantizeRelative(a.R, delta)}, true
	}
	switch size := math.Abs(v); {
	case size >= 1:
		v = quantizeRelative(v, delta)
	default:
		v = math.Copysign(min(quantize(size, delta), 1), v)
	}
	p := quantizeRelative(a.P, delta)
	if r := v * p; math.Abs(r) <= math.MaxFloat64 {
		return Expectation{p, r}, true
	}
	return a, true
}

// AppendKey appends the bits of both parts, those of +0 for -0.
func (a Expectation) AppendKey(dst []byte) []byte {
	return Probability(a.R).AppendKey(Probability(a.P).AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var _ Component[Expectation] = Expectation{}
var _ Cancellative[Expectation] = Expectation{}
var _ Proportional[Expectation] = Expectation{}

func (a Expectation) ArcType() string    { return "expectation_real64_real64" }
func (a Expectation) WeightType() string { return "expectation_real64_real64" }

func (a Expectation) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a Expectation) ParseText(s string) (Expectation, error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a Expectation) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, Probability(a.P), Probability(a.R), f)
}

// ParseTextFormat reads two parts with the separator between them.
func (Expectation) ParseTextFormat(s string, f TextFormat) (Expectation, error) {
	p, v, err := parsePair[Probability, Probability](s, f)
	return Expectation{float64(p), float64(v)}, err
}

func (a Expectation) AppendBinary(dst []byte) []byte {
	return Probability(a.R).AppendBinary(Probability(a.P).AppendBinary(dst))
}
func (Expectation) DecodeBinary(src []byte) (Expectation, int, error) {
	p, v, n, err := decodePair[Probability, Probability](src)
	return Expectation{float64(p), float64(v)}, n, err
}
