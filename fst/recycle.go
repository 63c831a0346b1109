package fst

import "github.com/tropica-fst/tropica/semiring"

// Recycle returns the memory of m, which ReadBody read from s and which is no longer used. The next
// vector machine with the same weights is read into it. m becomes the empty machine; slices of its
// arcs must not be used. Machines of other types are left alone.
//
// It is for programs that read many machines and keep of each only what they make of it: without,
// each leaves garbage of its size, and the collector comes when that is as much as all that is
// kept. 200 lattices converted to Log64 took 40 MB at most, and take 34. The memory kept is at most
// a quarter larger than the last machine. The next machine is not trimmed to its size, since it is
// expected to be recycled too.
func Recycle[W semiring.Codec[W]](s *Stream, m Expanded[W]) {
	v, ok := m.(*Vector[W])
	if !ok {
		return
	}
	r := &Vector[W]{finals: v.finals[:0], spans: v.spans[:0]}
	if len(v.slabs) > 0 {
		slab := v.slabs[0]
		if len(slab) < v.arcs { // there are several
			slab = make([]Arc[W], v.arcs+v.arcs/4)
		}
		r.addSlabs(slab)
		r.end = int64(len(slab))
	}
	s.recycled = r
	v.Clear()
}

// recycle takes what Recycle has left for a machine with weights W.
func recycle[W semiring.Codec[W]](s *Stream) (*Vector[W], bool) {
	v, ok := s.recycled.(*Vector[W])
	if ok {
		s.recycled = nil
		return v, true
	}
	return &Vector[W]{}, false
}
