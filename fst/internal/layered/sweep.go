package layered

import "math"

// sweeps is how often the layers of a large graph are gone over for coordinates.
const sweeps = 12

// sweep finds coordinates across for a large graph: layer by layer, forth and back, each vertex is to be
// at the mean of its neighbours, and those of a layer come as close to that as their order and
// distances allow. This is the idea of Sugiyama, Tagawa and Toda with least squares instead of priorities; it
// takes steps in proportion to the vertices and edges, while the simplex would not come to its end.
func (l *layout) sweep() {
	s := &sweeper{layout: l, loose: [2][]int32{make([]int32, len(l.vertices)), make([]int32, len(l.vertices))}}
	for v := range l.vertices {
		s.loose[0][v], s.loose[1][v] = -1, -1
	}
	for _, e := range l.loose {
		s.loose[0][e[1]], s.loose[1][e[0]] = e[0], e[1]
	}
	for _, layer := range l.layers { // about a line along the middle
		at := 0
		for i, v := range layer {
			if i > 0 {
				at += l.apart(&l.vertices[layer[i-1]], &l.vertices[v])
			}
			l.vertices[v].at = float64(at)
		}
		for _, v := range layer {
			l.vertices[v].at -= float64(at) / 2
		}
	}
	for round := range sweeps {
		for i := range l.layers {
			k := i
			if round%2 == 1 {
				k = len(l.layers) - 1 - i
			}
			// At last by the neighbours on both sides.
			s.settle(l.layers[k], round%2 == 0 || round >= sweeps-4, round%2 == 1 || round >= sweeps-4)
			if l.err != nil {
				return
			}
		}
	}
	s.round()
}

type sweeper struct {
	*layout
	loose  [2][]int32 // of each vertex: where its edge goes on freely, before and after it; -1 is nowhere
	offset []float64  // of vertices of the layer under way, from its first one
	runs   []run
}

// run is vertices of a layer that are as close to one another as may be.
type run struct {
	count       int
	weight, sum float64 // sum is of weights times wishes, each less its offset
}

func (r *run) at() float64 { return r.sum / r.weight }

// settle moves the vertices of a layer towards their neighbours before it, or after it, or both: the
// least sum of weighted squares of distances to the means. Less their offsets, coordinates need
// but be in order, so that vertices that want to be out of order share a mean.
func (s *sweeper) settle(layer []int32, before, after bool) {
	s.offset, s.runs = s.offset[:0], s.runs[:0]
	offset, steps := 0.0, 0
	for i, v := range layer {
		if i > 0 {
			offset += float64(s.apart(&s.vertices[layer[i-1]], &s.vertices[v]))
		}
		s.offset = append(s.offset, offset)
		wish, weight := s.wish(v, before, after)
		s.runs = append(s.runs, run{1, weight, weight * (wish - offset)})
		for n := len(s.runs); n > 1 && s.runs[n-2].at() >= s.runs[n-1].at(); n-- {
			a, b := &s.runs[n-2], &s.runs[n-1]
			a.count, a.weight, a.sum = a.count+b.count, a.weight+b.weight, a.sum+b.sum
			s.runs = s.runs[:n-1]
		}
		steps += 2 + len(s.vertices[v].up) + len(s.vertices[v].down)
	}
	i := 0
	for _, r := range s.runs {
		at := r.at()
		for range r.count {
			s.vertices[layer[i]].at = at + s.offset[i]
			i++
		}
	}
	s.spend(steps)
}

// wish returns where vertex v would be best, and how much that counts. What has no neighbours is
// best where it is, but gives way.
func (s *sweeper) wish(v int32, before, after bool) (at, weight float64) {
	const alone = 0.05
	x := &s.vertices[v]
	sum := alone * x.at
	weight = alone
	for side, near := range [2][]int32{x.up, x.down} {
		if side == 0 && !before || side == 1 && !after {
			continue
		}
		for _, u := range near {
			w := float64(bendEdge)
			if x.node || s.vertices[u].node {
				w = bendNode
			}
			sum += w * s.vertices[u].at
			weight += w
		}
		if u := s.loose[side][v]; u >= 0 {
			sum += bendLoose * s.vertices[u].at
			weight += bendLoose
		}
	}
	return sum / weight, weight
}

// round makes the coordinates integers from 0 on, which keep their distances, since these are integers.
func (s *sweeper) round() {
	least := math.Inf(1)
	for _, layer := range s.layers {
		offset := 0
		last := math.Inf(-1)
		for i, v := range layer {
			x := &s.vertices[v]
			if i > 0 {
				offset += s.apart(&s.vertices[layer[i-1]], x)
			}
			last = max(last, math.Round(x.at-float64(offset)))
			x.at = last + float64(offset)
			least = min(least, x.at)
		}
	}
	for v := range s.vertices {
		s.vertices[v].at -= least
	}
}
