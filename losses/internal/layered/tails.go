package layered

// tails is the tail arcs of a layer by their targets.
type tails struct {
	At    []uint32 // by target: its first entry in the next layer
	First []uint32 // targets + 1: the first of its rows in rows
	Rows  []uint32 // by target
}

// fewestTail is the least size of a tail for which products pay.
const fewestTail = 24

// newTails returns nil where products do not pay.
func newTails(gl *GraphLayer) *tails {
	tail := gl.Labels - gl.Single
	if !gl.Trailing || gl.Narrow == nil || gl.Single+1 != gl.Classes || tail < fewestTail ||
		len(gl.Start) < 2 {
		return nil
	}
	n := len(gl.Start) - 1
	t := &tails{Rows: make([]uint32, n)}
	target, number := make([]uint32, n), map[uint32]uint32{}
	for r := range n {
		to := gl.Narrow[r*gl.Classes+gl.Single] >> gl.Shift
		g, ok := number[to]
		if !ok {
			g = uint32(len(t.At))
			number[to] = g
			t.At = append(t.At, to)
		}
		target[r] = g
	}
	t.First = make([]uint32, len(t.At)+1)
	for _, g := range target {
		t.First[g+1]++
	}
	for g := range t.At {
		t.First[g+1] += t.First[g]
	}
	fill := make([]uint32, len(t.At))
	copy(fill, t.First)
	for r, g := range target {
		t.Rows[fill[g]] = uint32(r)
		fill[g]++
	}
	return t
}

func (t *tails) bytes() int64 { return 4 * int64(len(t.At)+len(t.First)+len(t.Rows)) }

// WithoutTail returns the layer with one label in place of the tail.
func (gl *GraphLayer) WithoutTail() GraphLayer {
	small := *gl
	small.Labels, small.Single = gl.Classes, gl.Classes
	return small
}
