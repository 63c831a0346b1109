package semiring

// StringRight is (Σ*∪{∞}, longest common suffix, concatenation, ∞, ε) over labels. It
// distributes on the right only, which RightOnly says, and divides on the right
// only. It is idempotent. The Go zero value is ε = 1̄; values are immutable.
type StringRight struct{ labels labels }

// NewStringRight returns the string of ls, without the zeros: 0 is ε. Labels -1 and
// -2 cannot stand in a string weight, and make it a non-member.
func NewStringRight(ls ...int32) StringRight { return StringRight{newLabels(ls)} }

// Len is the number of labels; 0̄ and non-members have none.
func (a StringRight) Len() int { return a.labels.len() }

// At is the i-th label, for 0 ≤ i < Len.
func (a StringRight) At(i int) int32 { return a.labels[:a.Len()*labelSize].at(i) }

// AppendLabels appends the labels to dst; 0̄ and non-members have none.
func (a StringRight) AppendLabels(dst []int32) []int32 { return a.labels.appendTo(dst) }

// Plus is the longest common suffix.
func (a StringRight) Plus(b StringRight) StringRight {
	if sum, done := a.labels.plus(b.labels); done {
		return StringRight{sum}
	}
	return StringRight{commonSuffix(a.labels, b.labels)}
}

// Times is concatenation.
func (a StringRight) Times(b StringRight) StringRight { return StringRight{a.labels.times(b.labels)} }

func (StringRight) Zero() StringRight          { return StringRight{infinite} }
func (StringRight) One() StringRight           { return StringRight{} }
func (a StringRight) Equal(b StringRight) bool { return a.labels == b.labels }
func (a StringRight) Member() bool             { return a.labels.member() }
func (StringRight) RightOnly()                 {}
func (StringRight) Idempotent()                {}

// Star is ε, the longest that ε has in common with anything.
func (StringRight) Star() (StringRight, bool) { return StringRight{}, true }

// Reverse turns the string around.
func (a StringRight) Reverse() StringLeft { return StringLeft{a.labels.reverse()} }

// DivideRight is c without its suffix a.
func (a StringRight) DivideRight(c StringRight) StringRight {
	return StringRight{a.labels.divideRight(c.labels)}
}

// Near is Equal.
func (a StringRight) Near(b StringRight, _ float64) bool { return a == b }

// Quantize is the identity.
func (a StringRight) Quantize(float64) StringRight { return a }

// AppendKey appends the number of labels and the labels.
func (a StringRight) AppendKey(dst []byte) []byte { return a.labels.appendKey(dst) }

// Claimed here, so that losing one fails the build.
var (
	_ RightSemiring[StringRight]          = StringRight{}
	_ Idempotent[StringRight]             = StringRight{}
	_ Star[StringRight]                   = StringRight{}
	_ RightDivisible[StringRight]         = StringRight{}
	_ Approx[StringRight]                 = StringRight{}
	_ Quantizable[StringRight]            = StringRight{}
	_ Reversible[StringRight, StringLeft] = StringRight{}
	_ FormatCodec[StringRight]            = StringRight{}
)

func (StringRight) ArcType() string    { return "right_standard_string" }
func (StringRight) WeightType() string { return "right_string" }

func (a StringRight) AppendText(dst []byte) []byte { return a.labels.appendText(dst) }
func (StringRight) ParseText(s string) (StringRight, error) {
	l, err := parseLabels(s)
	return StringRight{l}, err
}

func (a StringRight) AppendTextFormat(dst []byte, _ TextFormat) []byte { return a.AppendText(dst) }

// ParseTextFormat reads labels with _ between them, "Epsilon" or "Infinity".
func (a StringRight) ParseTextFormat(s string, _ TextFormat) (StringRight, error) {
	return a.ParseText(s)
}

func (a StringRight) AppendBinary(dst []byte) []byte { return a.labels.appendBinary(dst) }
func (StringRight) DecodeBinary(src []byte) (StringRight, int, error) {
	l, n, err := decodeLabels(src)
	return StringRight{l}, n, err
}
