package ops

import (
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
)

// States with very many arcs are checked, numbered and given room while they are expanded.

// checkEvery is how many arcs of one state are made between checks of limits.
const checkEvery = 1 << 13

// wideState is how many arcs a state has whose array the result takes as it is.
const wideState = 1 << 15

// mostAtOnce is how many arcs room is made for at once. Of more the array grows: who sets no limit
// may ask for a state larger than any memory, and should come as far as that goes.
const mostAtOnce = 1 << 27

// wideScratch is room for what there is of such a state when its arcs are counted, and for what is
// before it.
const wideScratch = 2 * (wideState + checkEvery)

// pause interrupts the expansion of a state with very many arcs. It checks the limits, and numbers the arcs made so
// far unless another Composer does. Once the state has many arcs, those from begin on, it makes room for the rest: the
// next n, and those that x makes from arc i on. They are counted first, so that a state beyond a limit is not built.
func (c *Composer[W]) pause(dst []fst.Arc[W], begin, n, i, k int, x *twoSides[W]) ([]fst.Arc[W], error) {
	if err := c.check(int64(c.numbered + len(c.keys))); err != nil {
		return dst, err
	}
	if !c.later {
		c.number(dst)
	}
	if !c.counted && len(dst)-begin+n >= wideState {
		c.counted = true
		rest := int64(n) + x.count(i, k)
		if err := c.checkAhead(rest, int64(len(dst)-begin)+rest); err != nil {
			return dst, err
		}
		if rest += int64(len(dst)); rest > int64(cap(dst)) {
			dst = append(make([]fst.Arc[W], 0, min(rest, mostAtOnce)), dst...)
		}
	}
	return dst, nil
}

// count returns how many arcs expand makes of the iterated arcs from i on, at most 2⁵⁵. The search
// for label i-1 ended at k. The cost is that of searching the labels, however many arcs there are.
func (x *twoSides[W]) count(i, k int) (n int64) {
	const most = 1 << 55
	var last fst.Label // of the arc before, where it had one
	run := int64(-1)   // how often the searched side has it; negative if there is none
	for ; i < len(x.in.arcs) && n < most; i++ {
		l := label(&x.in.arcs[i], x.in.labels)
		if l == fst.Epsilon {
			if x.in.alone != blocked {
				n++
			}
			if x.both != blocked {
				n += int64(x.eps1 - x.eps0)
			}
			continue
		}
		if run < 0 || l != last {
			if x.in.sorted {
				k = seek(x.se.arcs, x.se.labels, k, l)
			} else {
				k = bisect(x.se.arcs, x.se.labels, l)
			}
			end := len(x.se.arcs)
			if l < math.MaxInt32 {
				end = seek(x.se.arcs, x.se.labels, k, l+1)
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
