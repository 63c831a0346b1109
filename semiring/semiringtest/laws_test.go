package semiringtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// fault is one way for a semiring to be wrong. Types stand for faults, so that
// toy[F] is a weight type of its own for each.
type fault interface{ name() string }

type (
	none              struct{}
	plusNotCommuting  struct{}
	plusNotAssoc      struct{}
	plusLosesZero     struct{}
	plusNoMember      struct{}
	timesNotAssoc     struct{}
	timesNotCommuting struct{}
	timesOne          struct{}
	zeroTimes         struct{}
	notDistributive   struct{}
	notIdempotent     struct{}
	notPath           struct{}
	lessOrEqual       struct{}
	lessBackwards     struct{}
	lessNever         struct{}
	divideWrong       struct{}
	divideSwapped     struct{}
	divideRightWrong  struct{}
	starWrong         struct{}
	starZero          struct{}
	powerWrong        struct{}
	powerZero         struct{}
	keyOfMinusZero    struct{}
	keyTooShort       struct{}
	keyOverwrites     struct{}
	equalTolerant     struct{}
	nearOneSided      struct{}
	nearInfinity      struct{}
	nearAlways        struct{}
	quantizeDown      struct{}
	quantizeDrifts    struct{}
	reverseNegates    struct{}
	reverseNoProduct  struct{}
	memberWrong       struct{}
	receiverRead      struct{}
	textRounds        struct{}
	textLoose         struct{}
	textOverwrites    struct{}
	binaryShort       struct{}
	binaryGreedy      struct{}
	commonDivisor     struct{}
)

func (none) name() string              { return "" }
func (plusNotCommuting) name() string  { return "plus commutativity" }
func (plusNotAssoc) name() string      { return "plus associativity" }
func (plusLosesZero) name() string     { return "plus identity" }
func (plusNoMember) name() string      { return "closure" }
func (timesNotAssoc) name() string     { return "times associativity" }
func (timesNotCommuting) name() string { return "times commutativity" }
func (timesOne) name() string          { return "times identity" }
func (zeroTimes) name() string         { return "annihilation" }
func (notDistributive) name() string   { return "left distributivity" }
func (notIdempotent) name() string     { return "idempotence" }
func (notPath) name() string           { return "path" }
func (lessOrEqual) name() string       { return "order" }
func (lessBackwards) name() string     { return "order" }
func (lessNever) name() string         { return "order" }
func (divideWrong) name() string       { return "left division" }
func (divideSwapped) name() string     { return "left division" }
func (divideRightWrong) name() string  { return "right division" }
func (starWrong) name() string         { return "star" }
func (starZero) name() string          { return "star" }
func (powerWrong) name() string        { return "power" }
func (powerZero) name() string         { return "power" }
func (keyOfMinusZero) name() string    { return "key" }
func (keyTooShort) name() string       { return "key" }
func (keyOverwrites) name() string     { return "key" }
func (equalTolerant) name() string     { return "equality" }
func (nearOneSided) name() string      { return "near" }
func (nearInfinity) name() string      { return "near" }
func (nearAlways) name() string        { return "near" }
func (quantizeDown) name() string      { return "quantization" }
func (quantizeDrifts) name() string    { return "quantization" }
func (reverseNegates) name() string    { return "reversal" }
func (reverseNoProduct) name() string  { return "reversal" }
func (memberWrong) name() string       { return "generator" }
func (receiverRead) name() string      { return "constants" }
func (textRounds) name() string        { return "text" }
func (textLoose) name() string         { return "text" }
func (textOverwrites) name() string    { return "text" }
func (binaryShort) name() string       { return "binary" }
func (binaryGreedy) name() string      { return "binary" }
func (commonDivisor) name() string     { return "common divisor" }

// toy is Tropical64 with the fault F.
type toy[F fault] struct{ v semiring.Tropical64 }

func has[G, F fault]() bool {
	var f F
	_, ok := any(f).(G)
	return ok
}

func finite(v semiring.Tropical64) bool { return v < v.Zero() }

func (a toy[F]) Plus(b toy[F]) toy[F] {
	zero := a.v.Zero()
	switch {
	case has[plusNotCommuting, F]() && finite(a.v) && finite(b.v):
		return a
	case has[plusNotAssoc, F]() && finite(a.v) && finite(b.v):
		return toy[F]{(a.v + b.v) / 2}
	case has[plusLosesZero, F]() && b.v == zero:
		return toy[F]{a.v + 1}
	case has[plusNoMember, F]() && a.v == b.v && finite(a.v):
		return toy[F]{semiring.Tropical64(math.NaN())}
	case has[notIdempotent, F]() && a.v == b.v && finite(a.v):
		return toy[F]{a.v - 1}
	case has[notPath, F]() && finite(a.v) && finite(b.v):
		return toy[F]{min(a.v, b.v) - 1}
	}
	return toy[F]{a.v.Plus(b.v)}
}

func (a toy[F]) Times(b toy[F]) toy[F] {
	switch {
	case has[timesNotAssoc, F]() && a.v != 0 && b.v != 0:
		return toy[F]{a.v + b.v + a.v*b.v*b.v}
	case has[timesNotCommuting, F]() && a.v != 0 && b.v != 0:
		return toy[F]{a.v}
	case has[timesOne, F]() && b.v == 0:
		return toy[F]{a.v + 1}
	case has[zeroTimes, F]() && b.v == b.v.Zero():
		return a
	case has[notDistributive, F]() && a.v != 0 && b.v != 0 && finite(a.v) && finite(b.v):
		return toy[F]{a.v - b.v}
	}
	return toy[F]{a.v.Times(b.v)}
}

func (a toy[F]) Zero() toy[F] {
	if has[receiverRead, F]() && a.v > 1 {
		return a
	}
	return toy[F]{a.v.Zero()}
}
func (a toy[F]) One() toy[F] { return toy[F]{} }

func (a toy[F]) Equal(b toy[F]) bool {
	return a.v == b.v || has[equalTolerant, F]() && math.Abs(float64(a.v-b.v)) < 0.2
}

func (a toy[F]) AppendKey(dst []byte) []byte {
	switch {
	case has[keyOfMinusZero, F]():
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(a.v)))
	case has[keyTooShort, F]():
		return append(dst, byte(math.Float64bits(float64(a.v+0))>>48))
	case has[keyOverwrites, F]():
		return a.v.AppendKey(nil)
	}
	return a.v.AppendKey(dst)
}

func (a toy[F]) Member() bool { return a.v.Member() && !(has[memberWrong, F]() && a.v == 0) }
func (a toy[F]) Commutes()    {}
func (a toy[F]) Idempotent()  {}

func (a toy[F]) Less(b toy[F]) bool {
	switch {
	case has[lessOrEqual, F]():
		return a.v <= b.v
	case has[lessBackwards, F]():
		return a.v > b.v
	case has[lessNever, F]():
		return false
	}
	return a.v < b.v
}

func (a toy[F]) DivideLeft(c toy[F]) toy[F] {
	switch {
	case has[divideWrong, F]() && c.v > 2:
		return c
	case has[divideSwapped, F]():
		return toy[F]{a.v - c.v}
	}
	return toy[F]{a.v.DivideLeft(c.v)}
}

func (a toy[F]) DivideRight(c toy[F]) toy[F] {
	if has[divideRightWrong, F]() {
		return c
	}
	return toy[F]{a.v.DivideLeft(c.v)}
}

// CommonDivisor lets quotients be missing, not wrong: the faults of division
// above are found nevertheless.
func (a toy[F]) CommonDivisor(b toy[F]) toy[F] {
	if has[commonDivisor, F]() {
		return toy[F]{max(a.v, b.v)}
	}
	return a.Plus(b)
}

func (a toy[F]) Star() (toy[F], bool) {
	switch {
	case has[starWrong, F]():
		return a, true
	case has[starZero, F]() && !finite(a.v):
		return a, false
	}
	return toy[F]{}, a.v >= 0
}

func (a toy[F]) Power(x float64) toy[F] {
	switch {
	case has[powerWrong, F]():
		return a
	case has[powerZero, F]():
		return toy[F]{a.v * semiring.Tropical64(x)}
	}
	return toy[F]{a.v.Power(x)}
}

func (a toy[F]) Near(b toy[F], delta float64) bool {
	switch {
	case has[nearOneSided, F]():
		return a.v == b.v || float64(a.v-b.v) <= delta
	case has[nearInfinity, F]():
		return math.Abs(float64(a.v-b.v)) <= delta
	case has[nearAlways, F]():
		return true
	}
	return a.v.Near(b.v, delta)
}

func (a toy[F]) Quantize(delta float64) toy[F] {
	switch {
	case has[quantizeDown, F]() && finite(a.v):
		return toy[F]{a.v - 2}
	case has[quantizeDrifts, F]() && finite(a.v):
		return toy[F]{a.v - semiring.Tropical64(delta)/2}
	}
	return toy[F]{a.v.Quantize(delta)}
}

func (a toy[F]) Reverse() toy[F] {
	switch {
	case has[reverseNegates, F]():
		return toy[F]{-a.v}
	case has[reverseNoProduct, F]() && finite(a.v): // an involution that only turns 1 and 2 around
		switch a.v {
		case 1:
			return toy[F]{2}
		case 2:
			return toy[F]{1}
		}
	}
	return a
}

func (toy[F]) ArcType() string    { return "toy" }
func (toy[F]) WeightType() string { return "toy" }

func (a toy[F]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, semiring.TextFormat{}) }
func (a toy[F]) ParseText(s string) (toy[F], error) {
	return a.ParseTextFormat(s, semiring.TextFormat{})
}

func (a toy[F]) AppendTextFormat(dst []byte, f semiring.TextFormat) []byte {
	if has[textRounds, F]() {
		f.Digits = 2
	}
	if has[textOverwrites, F]() {
		dst = nil
	}
	return a.v.AppendTextFormat(dst, f)
}

func (toy[F]) ParseTextFormat(s string, f semiring.TextFormat) (toy[F], error) {
	if has[textLoose, F]() {
		s = strings.TrimSpace(s)
	}
	v, err := semiring.Tropical64(0).ParseTextFormat(s, f)
	return toy[F]{v}, err
}

func (a toy[F]) AppendBinary(dst []byte) []byte { return a.v.AppendBinary(dst) }

func (a toy[F]) DecodeBinary(src []byte) (toy[F], int, error) {
	switch {
	case has[binaryShort, F]() && len(src) >= 4 && len(src) < 8:
		return toy[F]{}, len(src), nil
	case has[binaryGreedy, F]() && len(src) > 8:
		v, _, err := a.v.DecodeBinary(src)
		return toy[F]{v}, len(src), err
	}
	v, n, err := a.v.DecodeBinary(src)
	return toy[F]{v}, n, err
}

// violates checks that Laws finds the fault F, by its name.
func violates[F fault](t *testing.T) {
	t.Helper()
	var f F
	errs := Violations(func(rng *rand.Rand) toy[F] { return toy[F]{Tropical64(rng)} })
	for _, err := range errs {
		if f.name() != "" && strings.HasPrefix(err.Error(), f.name()+": ") {
			return
		}
	}
	if f.name() != "" || len(errs) > 0 {
		t.Errorf("%T: want a violation of %q, got %v", f, f.name(), errs)
	}
}

func TestLawsCatchFaults(t *testing.T) {
	violates[none](t)
	violates[plusNotCommuting](t)
	violates[plusNotAssoc](t)
	violates[plusLosesZero](t)
	violates[plusNoMember](t)
	violates[timesNotAssoc](t)
	violates[timesNotCommuting](t)
	violates[timesOne](t)
	violates[zeroTimes](t)
	violates[notDistributive](t)
	violates[notIdempotent](t)
	violates[notPath](t)
	violates[lessOrEqual](t)
	violates[lessBackwards](t)
	violates[lessNever](t)
	violates[divideWrong](t)
	violates[divideSwapped](t)
	violates[divideRightWrong](t)
	violates[commonDivisor](t)
	violates[starWrong](t)
	violates[starZero](t)
	violates[powerWrong](t)
	violates[powerZero](t)
	violates[keyOfMinusZero](t)
	violates[keyTooShort](t)
	violates[keyOverwrites](t)
	violates[equalTolerant](t)
	violates[nearOneSided](t)
	violates[nearInfinity](t)
	violates[nearAlways](t)
	violates[quantizeDown](t)
	violates[quantizeDrifts](t)
	violates[reverseNegates](t)
	violates[reverseNoProduct](t)
	violates[memberWrong](t)
	violates[receiverRead](t)
	violates[textRounds](t)
	violates[textLoose](t)
	violates[textOverwrites](t)
	violates[binaryShort](t)
	violates[binaryGreedy](t)
}

// TestLawsNeedPartial: sums that are no members are a violation unless the
// semiring is said to be partial, and one without enough sums is not checked.
func TestLawsNeedPartial(t *testing.T) {
	wants := func(law string, errs []error) {
		t.Helper()
		for _, err := range errs {
			if strings.HasPrefix(err.Error(), law+": ") {
				return
			}
		}
		t.Errorf("want a violation of %q, got %v", law, errs)
	}
	wants("closure", Violations(StringRestricted))
	wants("generator", Violations(func(*rand.Rand) semiring.Tropical { return 0 }))
	wants("plus commutativity", Violations(GallicMin(Tropical)))
	wants("left distributivity", Violations(Log64)) // which only holds Within
	wants("right distributivity", Violations(func(rng *rand.Rand) bothSides { return bothSides{StringLeft(rng)} }))
	wants("cancellation", Violations(func(rng *rand.Rand) overclaiming { return overclaiming{MinMax(rng)} }))
	wants("left distributivity", Violations(Lexicographic(MinMax, MinMax))) // ⊗ does not cancel
}

// overclaiming is MinMax with the word that all but 0̄ cancels.
type overclaiming struct{ m semiring.MinMax }

func (a overclaiming) Plus(b overclaiming) overclaiming  { return overclaiming{a.m.Plus(b.m)} }
func (a overclaiming) Times(b overclaiming) overclaiming { return overclaiming{a.m.Times(b.m)} }
func (a overclaiming) Zero() overclaiming                { return overclaiming{a.m.Zero()} }
func (a overclaiming) One() overclaiming                 { return overclaiming{a.m.One()} }
func (a overclaiming) Equal(b overclaiming) bool         { return a == b }
func (a overclaiming) AppendKey(dst []byte) []byte       { return a.m.AppendKey(dst) }
func (a overclaiming) Member() bool                      { return a.m.Member() }
func (a overclaiming) Cancels() bool                     { return !semiring.IsZero(a.m) }

// bothSides is StringLeft without its word that it distributes on the left only.
type bothSides struct{ s semiring.StringLeft }

func (a bothSides) Plus(b bothSides) bothSides  { return bothSides{a.s.Plus(b.s)} }
func (a bothSides) Times(b bothSides) bothSides { return bothSides{a.s.Times(b.s)} }
func (a bothSides) Zero() bothSides             { return bothSides{a.s.Zero()} }
func (a bothSides) One() bothSides              { return bothSides{} }
func (a bothSides) Equal(b bothSides) bool      { return a == b }
func (a bothSides) AppendKey(dst []byte) []byte { return a.s.AppendKey(dst) }
func (a bothSides) Member() bool                { return a.s.Member() }

// TestGenerators: each yields what it says, in a sample.
func TestGenerators(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var zero, one, minus, other int
	for range 1000 {
		switch w := Tropical(rng); {
		case semiring.IsZero(w):
			zero++
		case w == 0 && math.Signbit(float64(w)):
			minus++
		case w == 0:
			one++
		default:
			other++
		}
	}
	if min(zero, one, minus) < 30 || other < 500 {
		t.Errorf("of 1000 weights %d are 0̄, %d 1̄, %d minus zero, %d others", zero, one, minus, other)
	}
	if a, b := Log64(rand.New(rand.NewPCG(5, 5))), Log64(rand.New(rand.NewPCG(5, 5))); a != b {
		t.Errorf("%v and %v from the same source", a, b)
	}
}
