package semiring

// ExpectationOf is the expectation semiring over any commutative W: pairs of
// weights with
//
//	(p, r) ⊕ (q, s) = (p⊕q, r⊕s)    (p, r) ⊗ (q, s) = (p⊗q, p⊗s ⊕ q⊗r)
//
// It is commutative. Expectation has plain numbers as parts, negative values
// among them, and division; here there is none, since it takes subtraction.
type ExpectationOf[W Component[W]] struct {
	P, R W
}

// Plus is by parts.
func (a ExpectationOf[W]) Plus(b ExpectationOf[W]) ExpectationOf[W] {
	return ExpectationOf[W]{a.P.Plus(b.P), a.R.Plus(b.R)}
}

// Times is the product rule.
func (a ExpectationOf[W]) Times(b ExpectationOf[W]) ExpectationOf[W] {
	return ExpectationOf[W]{a.P.Times(b.P), a.P.Times(b.R).Plus(b.P.Times(a.R))}
}

func (a ExpectationOf[W]) Zero() ExpectationOf[W]        { return ExpectationOf[W]{a.P.Zero(), a.R.Zero()} }
func (a ExpectationOf[W]) One() ExpectationOf[W]         { return ExpectationOf[W]{a.P.One(), a.R.Zero()} }
func (a ExpectationOf[W]) Equal(b ExpectationOf[W]) bool { return a.P.Equal(b.P) && a.R.Equal(b.R) }
func (a ExpectationOf[W]) Member() bool                  { return a.P.Member() && a.R.Member() }
func (ExpectationOf[W]) Commutes()                       {}
func (a ExpectationOf[W]) Reverse() ExpectationOf[W]     { return a }

// Star is (p*, p*⊗p*⊗r), and diverges where p* does.
func (a ExpectationOf[W]) Star() (ExpectationOf[W], bool) {
	p, ok := a.P.Star()
	return ExpectationOf[W]{p, p.Times(p).Times(a.R)}, ok
}

// Near holds when both parts are near.
func (a ExpectationOf[W]) Near(b ExpectationOf[W], delta float64) bool {
	return a.P.Near(b.P, delta) && a.R.Near(b.R, delta)
}

// Quantize rounds both parts.
func (a ExpectationOf[W]) Quantize(delta float64) ExpectationOf[W] {
	return ExpectationOf[W]{a.P.Quantize(delta), a.R.Quantize(delta)}
}

// QuantizeFactor rounds both parts.
func (a ExpectationOf[W]) QuantizeFactor(delta float64) (ExpectationOf[W], bool) {
	p, ok := quantizeFactor(a.P, delta)
	r, _ := quantizeFactor(a.R, delta)
	return ExpectationOf[W]{p, r}, ok
}

// AppendKey appends the keys of the parts.
func (a ExpectationOf[W]) AppendKey(dst []byte) []byte { return a.R.AppendKey(a.P.AppendKey(dst)) }

// Claimed here, so that losing one fails the build.
var (
	_ Commutative[ExpectationOf[Log]]                    = ExpectationOf[Log]{}
	_ Star[ExpectationOf[Log]]                           = ExpectationOf[Log]{}
	_ Approx[ExpectationOf[Log]]                         = ExpectationOf[Log]{}
	_ Quantizable[ExpectationOf[Log]]                    = ExpectationOf[Log]{}
	_ Reversible[ExpectationOf[Log], ExpectationOf[Log]] = ExpectationOf[Log]{}
	_ FormatCodec[ExpectationOf[Log]]                    = ExpectationOf[Log]{}
)

func (a ExpectationOf[W]) ArcType() string {
	return "expectation_" + a.P.ArcType() + "_" + a.R.WeightType()
}
func (a ExpectationOf[W]) WeightType() string {
	return "expectation_" + a.P.WeightType() + "_" + a.R.WeightType()
}

func (a ExpectationOf[W]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a ExpectationOf[W]) ParseText(s string) (ExpectationOf[W], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a ExpectationOf[W]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.P, a.R, f)
}

// ParseTextFormat reads two parts with the separator between them.
func (ExpectationOf[W]) ParseTextFormat(s string, f TextFormat) (ExpectationOf[W], error) {
	p, v, err := parsePair[W, W](s, f)
	return ExpectationOf[W]{p, v}, err
}

func (a ExpectationOf[W]) AppendBinary(dst []byte) []byte {
	return a.R.AppendBinary(a.P.AppendBinary(dst))
}
func (ExpectationOf[W]) DecodeBinary(src []byte) (ExpectationOf[W], int, error) {
	p, v, n, err := decodePair[W, W](src)
	return ExpectationOf[W]{p, v}, n, err
}
