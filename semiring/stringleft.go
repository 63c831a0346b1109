package semiring

// StringLeft is (Σ*∪{∞}, longest common prefix, concatenation, ∞, ε) over labels. It
// distributes on the left only, which LeftOnly says, and divides on the left
// only. It is idempotent. The Go zero value is ε = 1̄; values are immutable.
type StringLeft struct{ labels labels }

// NewStringLeft returns the string of ls, without the zeros: 0 is ε. Labels -1 and
// -2 cannot stand in a string weight, and make it a non-member.
func NewStringLeft(ls ...int32) StringLeft { return StringLeft{newLabels(ls)} }

// Len is the number of labels; 0̄ and non-members have none.
func (a StringLeft) Len() int { return a.labels.len() }

// At is the i-th label, for 0 ≤ i < Len.
func (a StringLeft) At(i int) int32 { return a.labels[:a.Len()*labelSize].at(i) }

// AppendLabels appends the labels to dst; 0̄ and non-members have none.
func (a StringLeft) AppendLabels(dst []int32) []int32 { return a.labels.appendTo(dst) }

// Plus is the longest common prefix.
func (a StringLeft) Plus(b StringLeft) StringLeft {
	if sum, done := a.labels.plus(b.labels); done {
		return StringLeft{sum}
	}
	return StringLeft{commonPrefix(a.labels, b.labels)}
}

// Times is concatenation.
func (a StringLeft) Times(b StringLeft) StringLeft { return StringLeft{a.labels.times(b.labels)} }

func (StringLeft) Zero() StringLeft          { return StringLeft{infinite} }
func (StringLeft) One() StringLeft           { return StringLeft{} }
func (a StringLeft) Equal(b StringLeft) bool { return a.labels == b.labels }
func (a StringLeft) Member() bool            { return a.labels.member() }
func (StringLeft) LeftOnly()                 {}
func (StringLeft) Idempotent()               {}

// Star is ε, the longest that ε has in common with anything.
func (StringLeft) Star() (StringLeft, bool) { return StringLeft{}, true }

// Reverse turns the string around.
func (a StringLeft) Reverse() StringRight { return StringRight{a.labels.reverse()} }

// DivideLeft is c without its prefix a.
func (a StringLeft) DivideLeft(c StringLeft) StringLeft {
	return StringLeft{a.labels.divideLeft(c.labels)}
}

// CommonDivisor is the first label, where a and b have it in common, or else ε.
func (a StringLeft) CommonDivisor(b StringLeft) StringLeft {
	return StringLeft{a.labels.first(b.labels)}
}

// Near is Equal.
func (a StringLeft) Near(b StringLeft, _ float64) bool { return a == b }

// Quantize is the identity.
func (a StringLeft) Quantize(float64) StringLeft { return a }

// AppendKey appends the number of labels and the labels.
func (a StringLeft) AppendKey(dst []byte) []byte { return a.labels.appendKey(dst) }

// Claimed here, so that losing one fails the build.
var (
	_ LeftSemiring[StringLeft]            = StringLeft{}
	_ Idempotent[StringLeft]              = StringLeft{}
	_ Star[StringLeft]                    = StringLeft{}
	_ CommonDivisor[StringLeft]           = StringLeft{}
	_ Approx[StringLeft]                  = StringLeft{}
	_ Quantizable[StringLeft]             = StringLeft{}
	_ Reversible[StringLeft, StringRight] = StringLeft{}
	_ FormatCodec[StringLeft]             = StringLeft{}
)

func (StringLeft) ArcType() string    { return "left_standard_string" }
func (StringLeft) WeightType() string { return "left_string" }

func (a StringLeft) AppendText(dst []byte) []byte { return a.labels.appendText(dst) }
func (StringLeft) ParseText(s string) (StringLeft, error) {
	l, err := parseLabels(s)
	return StringLeft{l}, err
}

func (a StringLeft) AppendTextFormat(dst []byte, _ TextFormat) []byte { return a.AppendText(dst) }

// ParseTextFormat reads labels with _ between them, "Epsilon" or "Infinity".
func (a StringLeft) ParseTextFormat(s string, _ TextFormat) (StringLeft, error) {
	return a.ParseText(s)
}

func (a StringLeft) AppendBinary(dst []byte) []byte { return a.labels.appendBinary(dst) }
func (StringLeft) DecodeBinary(src []byte) (StringLeft, int, error) {
	l, n, err := decodeLabels(src)
	return StringLeft{l}, n, err
}
