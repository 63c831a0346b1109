package losses

import (
	"fmt"
	"math"
)

// Hamming is Scale times the number of positions where y differs from a
// reference of its length. Exact, with one column a layer: it only adds to the
// potentials.
type Hamming struct {
	Scale float64 // zero is 1: Hamming{} counts
}

// or returns h with its default in place.
func (h Hamming) or() Hamming {
	if h.Scale == 0 {
		h.Scale = 1
	}
	return h
}

// Machine implements Loss. ref must have length l; a symbol of ref outside the
// alphabet differs from all.
func (h Hamming) Machine(ref []int, alphabet, l int) (*Machine, error) {
	if err := h.Check(ref, alphabet, l); err != nil {
		return nil, err
	}
	h = h.or()
	var b Builder
	same, other := b.Value(0), b.Value(h.Scale)
	for _, r := range ref {
		// The reference's symbol, and all others.
		class := make([]uint32, alphabet)
		s := Layer{Labels: alphabet, Class: class, Classes: 1, Columns: 1, Next: []uint32{0},
			Off: []uint32{other}}
		if r < alphabet {
			for k := range class {
				class[k] = 1
			}
			class[r] = 0
			s.Classes, s.Next, s.Off = 2, []uint32{0, 0}, []uint32{same, other}
		}
		if alphabet == 1 && r < alphabet {
			s.Classes, s.Next, s.Off = 1, []uint32{0}, []uint32{same}
		}
		if alphabet == 0 {
			s.Classes, s.Next, s.Off = 0, nil, nil
		}
		if err := b.Layer(s); err != nil {
			return nil, err
		}
	}
	return b.Finish([]uint32{same})
}

// Check is as for Edit.
func (h Hamming) Check(ref []int, alphabet, l int) error {
	if err := checkShape(ref, alphabet, l); err != nil {
		return err
	}
	if len(ref) != l {
		return fmt.Errorf("losses: hamming: the reference has %d symbols, the strings %d", len(ref), l)
	}
	if !(math.Abs(h.Scale) <= maxCost) {
		return fmt.Errorf("losses: hamming: scale %v is not a finite number of moderate size", h.Scale)
	}
	return nil
}

// Value returns the loss of y; +Inf when the lengths differ.
func (h Hamming) Value(y, ref []int) float64 {
	if len(y) != len(ref) {
		return math.Inf(1)
	}
	n := 0
	for t, s := range y {
		if s != ref[t] {
			n++
		}
	}
	return h.or().Scale * float64(n)
}

// AppendKey implements Loss.
func (h Hamming) AppendKey(dst []byte) []byte { return appendFloats(append(dst, 'h'), h.or().Scale) }
