package partition

// part is a subproblem with its own numbers of elements and sets.
type part struct {
	id            []int32 // of the sets in the cover; nil is their own number
	start, member []int32
	ofStart, of   []int32
	score         []float64
	u             []float64 // multipliers of an enclosing problem; nil is none
	cover         []int32   // sets of a known cover; nil is none
}

func (p *part) elements() int { return len(p.ofStart) - 1 }
func (p *part) sets() int     { return len(p.score) }

func (p *part) members(h int32) []int32 { return p.member[p.start[h]:p.start[h+1]] }
func (p *part) with(v int32) []int32    { return p.of[p.ofStart[v]:p.ofStart[v+1]] }

func (p *part) name(h int32) int32 {
	if p.id == nil {
		return h
	}
	return p.id[h]
}

// split settles elements that only one set can cover, and divides what is left into parts that
// share no element. It changes alive. chosen are names of sets, in the order in which they were
// settled. dead is an element that nothing can cover, else -1.
func (p *part) split(alive []bool) (chosen []int32, pieces []*part, dead int) {
	n := p.elements()
	left := make([]int32, n) // allowed sets of each element; -1 once it is covered
	for h, ok := range alive {
		if ok {
			for _, v := range p.members(int32(h)) {
				left[v]++
			}
		}
	}
	var queue []int32
	for v := range n {
		switch left[v] {
		case 0:
			return nil, nil, v
		case 1:
			queue = append(queue, int32(v))
		}
	}
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if left[v] < 0 {
			continue
		}
		for _, h := range p.with(v) {
			if !alive[h] {
				continue
			}
			chosen = append(chosen, p.name(h))
			for _, x := range p.members(h) {
				left[x] = -1
			}
			alive[h] = false
			for _, x := range p.members(h) {
				for _, g := range p.with(x) {
					if !alive[g] {
						continue
					}
					alive[g] = false
					for _, y := range p.members(g) {
						if left[y] < 0 {
							continue
						}
						switch left[y]--; left[y] {
						case 0:
							return nil, nil, int(y)
						case 1:
							queue = append(queue, y)
						}
					}
				}
			}
			break
		}
	}
	return chosen, p.pieces(alive, left), -1
}

// pieces makes a part of each component of the allowed sets, in the order of the least element.
func (p *part) pieces(alive []bool, left []int32) []*part {
	n := p.elements()
	u := newUnion(n)
	for h, ok := range alive {
		if ok {
			m := p.members(int32(h))
			for _, v := range m[1:] {
				u.join(m[0], v)
			}
		}
	}
	var out []*part
	of := make([]int32, n) // root: its piece
	local := make([]int32, n)
	var size []int32 // elements of a piece
	for v := range n {
		if left[v] < 0 {
			continue
		}
		r := u.root(int32(v))
		if int(r) == v {
			of[v] = int32(len(out))
			out = append(out, &part{start: []int32{0}})
			size = append(size, 0)
		}
		q := of[r]
		local[v] = size[q]
		size[q]++
		if p.u != nil {
			out[q].u = append(out[q].u, p.u[v])
		}
	}
	known := make([]bool, len(alive))
	for _, h := range p.cover {
		known[h] = true
	}
	for h, ok := range alive {
		if !ok {
			continue
		}
		m := p.members(int32(h))
		q := out[of[u.root(m[0])]]
		for _, v := range m {
			q.member = append(q.member, local[v])
		}
		if known[h] {
			q.cover = append(q.cover, int32(len(q.id)))
		}
		q.start = append(q.start, int32(len(q.member)))
		q.id = append(q.id, p.name(int32(h)))
		q.score = append(q.score, p.score[h])
	}
	for i, q := range out {
		q.ofStart, q.of = transpose(int(size[i]), q.start, q.member)
		covered := 0
		for _, h := range q.cover {
			covered += len(q.members(h))
		}
		if covered < int(size[i]) { // a set of it is not allowed any more
			q.cover = nil
		}
	}
	return out
}
