package ops

import (
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// States with very many arcs: their arcs are counted before they are made. So a limit stops them
// early, and the result takes their array as it is.

// wideState is how many arcs a state has whose array the result takes as it is.
const wideState = 1 << 15

// mostAtOnce is how many arcs get room at once. Beyond that the array grows. Without limits a
// caller may ask for a state larger than any memory, and should get as far as memory lasts.
const mostAtOnce = 1 << 27

// wideScratch is room for what there is of such a state when its arcs are counted, and for what is
// before it.
const wideScratch = 2 * (wideState + checkEvery)

// pause is for states with very many arcs. It checks the limits, and numbers the arcs made so far
// unless another worker does. Once the state's own arcs, from begin on, are many, it makes room for
// the rest: the next n, and those that r makes from arc i on. They are counted first, so that a
// state beyond a limit ends before it is made.
func (c *Composer[W]) pause(dst []fst.Arc[W], begin, n, i, k int, r *restOf[W]) ([]fst.Arc[W], error) {
	if err := c.check(int64(c.numbered + len(c.keys))); err != nil {
		return dst, err
	}
	if !c.later {
		c.number(dst)
	}
	if !c.counted && len(dst)-begin+n >= wideState {
		c.counted = true
		rest := int64(n) + r.arcs(i, k)
		if err := c.checkAhead(rest, int64(len(dst)-begin)+rest); err != nil {
			return dst, err
		}
		if rest += int64(len(dst)); rest > int64(cap(dst)) {
			dst = append(make([]fst.Arc[W], 0, min(rest, mostAtOnce)), dst...)
		}
	}
	return dst, nil
}

// restOf is a state that is being expanded: what its arcs, to be gone through and to be searched,
// make.
type restOf[W semiring.Weight[W]] struct {
	in, se            []fst.Arc[W]
	inLabel, seLabel  labels
	inSorted          bool
	inAlone, together bool // whether an arc with ε moves alone, and with one with ε
	eps0, eps1        int  // where se has ε
}

// arcs counts what the arcs of in from i on make, where label i-1 was found, or looked for, at k.
// It counts up to 2⁵⁵. expand then makes exactly these, so a state with very many arcs gets one
// array of the right size. It takes no longer than looking up the labels of in.
func (r *restOf[W]) arcs(i, k int) (n int64) {
	const most = 1 << 55
	var last fst.Label // of the arc before, where it had one
	run := int64(-1)   // how often se has it; negative if there is none
	for ; i < len(r.in) && n < most; i++ {
		l := label(&r.in[i], r.inLabel)
		if l == fst.Epsilon {
			if r.inAlone {
				n++
			}
			if r.together {
				n += int64(r.eps1 - r.eps0)
			}
			continue
		}
		if run < 0 || l != last {
			if r.inSorted {
				k = seek(r.se, r.seLabel, k, l)
			} else {
				k = bisect(r.se, r.seLabel, l)
			}
			end := len(r.se)
			if l < math.MaxInt32 {
				end = seek(r.se, r.seLabel, k, l+1)
			}
			last, run = l, int64(end-k)
		}
		n += run
	}
	return min(n, most)
}

// checkAhead is check of a state that has been counted: rest of its arcs are to be made yet, of
// whole.
func (c *Composer[W]) checkAhead(rest, whole int64) error {
	made := int64(c.numbered + len(c.keys))
	err := c.check(made + rest)
	if over, ok := err.(*LimitError); ok && c.check(made) == nil {
		over.Built.Arcs -= rest
		over.Built.Bytes -= rest * int64(unsafe.Sizeof(fst.Arc[W]{}))
		over.Next = whole
	}
	return err
}
