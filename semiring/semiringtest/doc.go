// Package semiringtest tests semirings: Laws holds a weight type against every
// axiom and against every capability that it claims, and one generator for each
// weight of package semiring yields members to do it with.
//
// A generator is a func(*rand.Rand) W. Those here yield 0̄, 1̄, the infinities
// that are members, and minus zero, each often; numbers otherwise are small
// multiples of 1/8, whose sums and products are exact, so that the laws can be
// checked exactly. They are not negative, except where the order of the
// semiring is all there is (MinMax): random machines with such weights have no
// negative cycles.
//
// The test of a new semiring is one line,
//
//	func TestMine(t *testing.T) { semiringtest.Laws(t, Mine) }
//
// with Within for weights whose arithmetic rounds.
package semiringtest
