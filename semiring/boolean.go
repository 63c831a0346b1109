package semiring

// Boolean is ({false, true}, ∨, ∧, false, true): languages without weights. It
// is commutative and idempotent, with the path property: true before false.
//
// OpenFst has no such weight. Its arc type here is "boolean", its text 0 or 1,
// its binary form one byte.
type Boolean bool

func (a Boolean) Plus(b Boolean) Boolean        { return a || b }
func (a Boolean) Times(b Boolean) Boolean       { return a && b }
func (Boolean) Zero() Boolean                   { return false }
func (Boolean) One() Boolean                    { return true }
func (a Boolean) Equal(b Boolean) bool          { return a == b }
func (a Boolean) Less(b Boolean) bool           { return bool(a && !b) }
func (Boolean) Member() bool                    { return true }
func (Boolean) Commutes()                       {}
func (a Boolean) Cancels() bool                 { return bool(a) }
func (Boolean) Idempotent()                     {}
func (a Boolean) Reverse() Boolean              { return a }
func (a Boolean) DivideLeft(c Boolean) Boolean  { return c }
func (a Boolean) DivideRight(c Boolean) Boolean { return c }

// Star is 1̄: one term of the sum already is.
func (Boolean) Star() (Boolean, bool) { return true, true }

// Power is a, and 1̄ for x = 0.
func (a Boolean) Power(x float64) Boolean { return a || x == 0 }

// Near is Equal.
func (a Boolean) Near(b Boolean, _ float64) bool { return a == b }

// Quantize is the identity.
func (a Boolean) Quantize(float64) Boolean { return a }

// AppendKey appends one byte.
func (a Boolean) AppendKey(dst []byte) []byte { return a.AppendBinary(dst) }

// Claimed here, so that losing one fails the build.
var _ PathComponent[Boolean] = Boolean(false)
var _ Cancellative[Boolean] = Boolean(false)

func (Boolean) ArcType() string    { return "boolean" }
func (Boolean) WeightType() string { return "boolean" }

func (a Boolean) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (Boolean) ParseText(s string) (Boolean, error) {
	return Boolean(false).ParseTextFormat(s, TextFormat{})
}

func (a Boolean) AppendTextFormat(dst []byte, _ TextFormat) []byte {
	if a {
		return append(dst, '1')
	}
	return append(dst, '0')
}

// ParseTextFormat reads 0 or 1.
func (Boolean) ParseTextFormat(s string, _ TextFormat) (Boolean, error) {
	switch s {
	case "0":
		return false, nil
	case "1":
		return true, nil
	}
	return false, errWeight(s, "want 0 or 1")
}

func (a Boolean) AppendBinary(dst []byte) []byte {
	if a {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (Boolean) DecodeBinary(src []byte) (Boolean, int, error) {
	switch {
	case len(src) == 0:
		return false, 0, nil
	case src[0] > 1:
		return false, 0, errBytes(src[:1], "want a byte 0 or 1")
	}
	return src[0] == 1, 1, nil
}
