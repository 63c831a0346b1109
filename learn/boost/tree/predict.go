package tree

import (
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// packed is a node as prediction wants it: sixteen bytes, so that four share a cache
// line. A leaf is its own child on both sides, which lets rows wait there for others.
type packed struct {
	bound   float32  // x <= bound goes left
	feature uint32   // and the flags missingLeft, level above
	child   [2]int32 // right, left
}

const (
	featureMask = 1<<30 - 1
	missingBit  = 1 << 31
	levelBit    = 1 << 30
)

// prepare derives packed from the other arrays.
func (t *Tree) prepare() {
	t.packed = make([]packed, len(t.Feature))
	for at, f := range t.Feature {
		if f < 0 {
			t.packed[at] = packed{child: [2]int32{int32(at), int32(at)}}
			continue
		}
		p := packed{floor32(t.Threshold[at]), uint32(f), [2]int32{t.Right[at], t.Left[at]}}
		if t.Flags[at]&MissingLeft != 0 {
			p.feature |= missingBit
		}
		if t.set(at) >= 0 {
			p.feature |= levelBit
		}
		t.packed[at] = p
	}
}

func (t *Tree) predict(dst []float64, x *table.Table, from int) {
	for i := range dst {
		at := int32(0)
		for t.Feature[at] >= 0 {
			if t.goesLeft(at, x.Columns[t.Feature[at]].Values[from+i]) {
				at = t.Left[at]
			} else {
				at = t.Right[at]
			}
		}
		dst[i] = t.Value[at]
	}
}
