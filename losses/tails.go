package losses

// tails is the tail arcs of a layer by their targets.
type tails struct {
	at    []uint32 // by target: its first entry in the next layer
	first []uint32 // targets + 1: the first of its rows in rows
	rows  []uint32 // by target
}

// fewestTail is the least size of a tail for which products pay.
const fewestTail = 24

// newTails returns nil where products do not pay.
func newTails(gl *graphLayer) *tails {
	tail := gl.labels - gl.single
	if !gl.trailing || gl.narrow == nil || gl.single+1 != gl.classes || tail < fewestTail || len(gl.start) < 2 {
		return nil
	}
	n := len(gl.start) - 1
	t := &tails{rows: make([]uint32, n)}
	target, number := make([]uint32, n), map[uint32]uint32{}
	for r := range n {
		to := gl.narrow[r*gl.classes+gl.single] >> gl.shift
		g, ok := number[to]
		if !ok {
			g = uint32(len(t.at))
			number[to] = g
			t.at = append(t.at, to)
		}
		target[r] = g
	}
	t.first = make([]uint32, len(t.at)+1)
	for _, g := range target {
		t.first[g+1]++
	}
	for g := range t.at {
		t.first[g+1] += t.first[g]
	}
	fill := make([]uint32, len(t.at))
	copy(fill, t.first)
	for r, g := range target {
		t.rows[fill[g]] = uint32(r)
		fill[g]++
	}
	return t
}

func (t *tails) bytes() int64 { return 4 * int64(len(t.at)+len(t.first)+len(t.rows)) }

// withoutTail returns the layer with one label in place of the tail.
func (gl *graphLayer) withoutTail() graphLayer {
	small := *gl
	small.labels, small.single = gl.classes, gl.classes
	return small
}
