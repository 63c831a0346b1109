package losses

import (
	"encoding/binary"
	"math"
)

// appendFloats appends the bits of numbers to a key; -0 is 0.
func appendFloats(dst []byte, xs ...float64) []byte {
	for _, x := range xs {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x+0))
	}
	return dst
}

// appendInts appends integers to a key.
func appendInts[T int | int64](dst []byte, xs ...T) []byte {
	for _, x := range xs {
		dst = binary.AppendVarint(dst, int64(x))
	}
	return dst
}
