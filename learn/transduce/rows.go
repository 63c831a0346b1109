package transduce

// rows is the deterministic automaton of the unit edit distance to a string, made as it is needed.
// A state is the row of distances between what was read and every prefix of the string, less the
// least of them, which went onto the arcs. Two strings with equal rows have equal futures.
//
// losses.Edit makes the same automaton for all strings of one length; here lengths differ, and the
// states that a lattice reaches are few.
type rows struct {
	ref    []rune
	class  map[rune]int32 // characters of ref; all others are 0
	number map[string]int32
	row    []string
	step   map[int64]stepTo
	buf    []byte
}

type stepTo struct {
	to   int32
	more uint8
}

// newRows returns the automaton; its first state is 0. ref has at most 250 characters.
func newRows(ref []rune) *rows {
	r := &rows{ref: ref, class: map[rune]int32{}, number: map[string]int32{}, step: map[int64]stepTo{}}
	for _, c := range ref {
		if r.class[c] == 0 {
			r.class[c] = int32(len(r.class)) + 1
		}
	}
	first := make([]byte, len(ref)+1)
	for j := range first {
		first[j] = byte(j)
	}
	r.id(first)
	return r
}

func (r *rows) id(row []byte) int32 {
	id, ok := r.number[string(row)]
	if !ok {
		id = int32(len(r.row))
		r.row = append(r.row, string(row))
		r.number[r.row[id]] = id
	}
	return id
}

// next returns the state behind a character, and by how much the least distance grew.
func (r *rows) next(q int32, c rune) (to int32, more float64) {
	k := int64(q)<<32 | int64(r.class[c])
	if s, ok := r.step[k]; ok {
		return s.to, float64(s.more)
	}
	old := r.row[q]
	r.buf = sized(r.buf, len(old))
	r.buf[0] = old[0] + 1
	least := r.buf[0]
	for j := 1; j < len(old); j++ {
		d := old[j-1]
		if r.ref[j-1] != c {
			d++
		}
		r.buf[j] = min(d, old[j]+1, r.buf[j-1]+1)
		least = min(least, r.buf[j])
	}
	for j := range r.buf {
		r.buf[j] -= least
	}
	s := stepTo{r.id(r.buf), least}
	r.step[k] = s
	return s.to, float64(s.more)
}

// end returns the distance that remains at the end of what was read.
func (r *rows) end(q int32) float64 { return float64(r.row[q][len(r.ref)]) }
