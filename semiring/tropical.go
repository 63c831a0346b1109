package semiring

import (
	"encoding/binary"
	"math"
)

// Tropical is (ℝ∪{∞}, min, +, ∞, 0) over float32: commutative, idempotent, with
// the path property. -∞ and NaN are not members, though arithmetic tolerates -∞.
type Tropical float32

// Plus is min.
func (a Tropical) Plus(b Tropical) Tropical {
	if b < a {
		return b
	}
	return a
}

// Times is +, except that 0̄ = ∞ annihilates -∞ too.
func (a Tropical) Times(b Tropical) Tropical {
	if a == tropicalZero || b == tropicalZero {
		return tropicalZero
	}
	return a + b
}

var tropicalZero = Tropical(math.Inf(1))

func (Tropical) Zero() Tropical          { return tropicalZero }
func (Tropical) One() Tropical           { return 0 }
func (a Tropical) Equal(b Tropical) bool { return a == b }
func (a Tropical) Less(b Tropical) bool  { return a < b }
func (a Tropical) Member() bool          { return a == a && a != -tropicalZero }
func (Tropical) Commutes()               {}
func (Tropical) Idempotent()             {}
func (a Tropical) Reverse() Tropical     { return a }

// AppendKey appends the bits of a, those of +0 for -0.
func (a Tropical) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(a+0)))
}
