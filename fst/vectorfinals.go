package fst

import (
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// NumFinals returns the number of final states, in time linear in the states.
func (v *Vector[W]) NumFinals() int {
	n := 0
	v.eachFinal(func(StateID) { n++ })
	return n
}

// eachFinal calls do for each final state in order. Weights that are floats are compared as such.
func (v *Vector[W]) eachFinal(do func(q StateID)) {
	zero := semiring.Zero[W]()
	if numberKind[W]() == number32 && len(v.finals) > 0 {
		none := *(*float32)(unsafe.Pointer(&zero))
		for q, x := range unsafe.Slice((*float32)(unsafe.Pointer(&v.finals[0])), len(v.finals)) {
			if x != none {
				do(StateID(q))
			}
		}
		return
	}
	for q, w := range v.finals {
		if !w.Equal(zero) {
			do(StateID(q))
		}
	}
}
