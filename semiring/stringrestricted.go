package semiring

// StringRestricted is (Σ*∪{∞}, =, concatenation, ∞, ε) over labels, where the sum
// of unequal strings is no member but remembers both (Conflict): the outputs of a
// functional transducer, for which such a sum means that it is none. It
// distributes and divides on both sides, as far as sums exist, and is idempotent.
// The Go zero value is ε = 1̄; values are immutable.
type StringRestricted struct{ labels labels }

// NewStringRestricted returns the string of ls, without the zeros: 0 is ε. Labels -1 and
// -2 cannot stand in a string weight, and make it a non-member.
func NewStringRestricted(ls ...int32) StringRestricted { return StringRestricted{newLabels(ls)} }

// Len is the number of labels; 0̄ and non-members have none.
func (a StringRestricted) Len() int { return a.labels.len() }

// At is the i-th label, for 0 ≤ i < Len.
func (a StringRestricted) At(i int) int32 { return a.labels[:a.Len()*labelSize].at(i) }

// AppendLabels appends the labels to dst; 0̄ and non-members have none.
func (a StringRestricted) AppendLabels(dst []int32) []int32 { return a.labels.appendTo(dst) }

// Plus is a where a and b are equal or b is 0̄, b where a is 0̄, and otherwise no member.
func (a StringRestricted) Plus(b StringRestricted) StringRestricted {
	if sum, done := a.labels.plus(b.labels); done {
		return StringRestricted{sum}
	}
	return StringRestricted{conflict(a.labels, b.labels)}
}

// Times is concatenation.
func (a StringRestricted) Times(b StringRestricted) StringRestricted {
	return StringRestricted{a.labels.times(b.labels)}
}

func (StringRestricted) Zero() StringRestricted          { return StringRestricted{infinite} }
func (StringRestricted) One() StringRestricted           { return StringRestricted{} }
func (a StringRestricted) Equal(b StringRestricted) bool { return a.labels == b.labels }
func (a StringRestricted) Member() bool                  { return a.labels.member() }
func (StringRestricted) Idempotent()                     {}

// Conflict returns the two unequal strings whose sum a is, or comes from; ok is
// false where a is a member, or not one for another reason.
func (a StringRestricted) Conflict() (x, y StringRestricted, ok bool) {
	lx, ly, ok := a.labels.conflict()
	return StringRestricted{lx}, StringRestricted{ly}, ok
}

// Reverse turns the string around.
func (a StringRestricted) Reverse() StringRestricted { return StringRestricted{a.labels.reverse()} }

// DivideLeft is c without its prefix a.
func (a StringRestricted) DivideLeft(c StringRestricted) StringRestricted {
	return StringRestricted{a.labels.divideLeft(c.labels)}
}

// DivideRight is c without its suffix a.
func (a StringRestricted) DivideRight(c StringRestricted) StringRestricted {
	return StringRestricted{a.labels.divideRight(c.labels)}
}

// CommonDivisor is the first label, where a and b have it in common, or else ε.
func (a StringRestricted) CommonDivisor(b StringRestricted) StringRestricted {
	return StringRestricted{a.labels.first(b.labels)}
}

// Near is Equal.
func (a StringRestricted) Near(b StringRestricted, _ float64) bool { return a == b }

// Quantize is the identity.
func (a StringRestricted) Quantize(float64) StringRestricted { return a }

// AppendKey appends the number of labels and the labels.
func (a StringRestricted) AppendKey(dst []byte) []byte { return a.labels.appendKey(dst) }

// Claimed here, so that losing one fails the build.
var (
	_ CommonDivisor[StringRestricted]                = StringRestricted{}
	_ RightDivisible[StringRestricted]               = StringRestricted{}
	_ Idempotent[StringRestricted]                   = StringRestricted{}
	_ Approx[StringRestricted]                       = StringRestricted{}
	_ Quantizable[StringRestricted]                  = StringRestricted{}
	_ Reversible[StringRestricted, StringRestricted] = StringRestricted{}
	_ FormatCodec[StringRestricted]                  = StringRestricted{}
)

func (StringRestricted) ArcType() string    { return "restricted_standard_string" }
func (StringRestricted) WeightType() string { return "restricted_string" }

func (a StringRestricted) AppendText(dst []byte) []byte { return a.labels.appendText(dst) }
func (StringRestricted) ParseText(s string) (StringRestricted, error) {
	l, err := parseLabels(s)
	return StringRestricted{l}, err
}

func (a StringRestricted) AppendTextFormat(dst []byte, _ TextFormat) []byte { return a.AppendText(dst) }

// ParseTextFormat reads labels with _ between them, "Epsilon" or "Infinity".
func (a StringRestricted) ParseTextFormat(s string, _ TextFormat) (StringRestricted, error) {
	return a.ParseText(s)
}

func (a StringRestricted) AppendBinary(dst []byte) []byte { return a.labels.appendBinary(dst) }
func (StringRestricted) DecodeBinary(src []byte) (StringRestricted, int, error) {
	l, n, err := decodeLabels(src)
	return StringRestricted{l}, n, err
}
