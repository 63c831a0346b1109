package tree

import (
	"math"
	"math/bits"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// sparse finds splits on the bins of a sparse table.
//
// A node's histogram has the cells of its rows' entries only. The implicit value's cell is the
// remainder of the node's sums. A column therefore costs as much as it has entries in the node; a
// column without any cannot split it and costs nothing. The sums are integers: splits are those
// that the histogram of the dense table gives, bit for bit.
type sparse struct {
	b       *Bins
	s       *sparseBins
	nodes   []int32 // to be evaluated
	found   []best  // by node and stripe
	masks   map[int32][]bool
	scratch []*sparseBench
}

// sparseBench is what a worker works on. All is zero between uses.
type sparseBench struct {
	cells    []Cell
	mask     []uint64 // cells that rows have touched
	occupied [256]uint8
}

func newSparse(b *Bins) *sparse { return &sparse{b: b, s: b.sparse} }

func (f *sparse) size() (int, int)               { return f.b.rows, len(f.b.columns) }
func (f *sparse) categorical(int) bool           { return false }
func (f *sparse) seal(n *Node)                   { f.b.seal(n) }
func (f *sparse) split(t *Tree, at int, n *Node) {}
func (f *sparse) left(n *Node, row int32) bool   { return f.b.goesLeft(n, f.s.code(row, int(n.Column))) }

func (f *sparse) start(g *Grower) error {
	cells := 0
	for k := range f.s.stripes {
		cells = max(cells, len(f.s.stripes[k].owner))
	}
	for len(f.scratch) < run.WorkersOf(g.o.Workers) {
		f.scratch = append(f.scratch, &sparseBench{cells: make([]Cell, cells), mask: make([]uint64, (cells+63)/64)})
	}
	return nil
}

func (f *sparse) evaluate(g *Grower, parents []int32) {
	f.nodes, f.masks = g.opened(f.nodes[:0], parents)
	stripes := len(f.s.stripes)
	f.found = slices.Grow(f.found[:0], stripes*len(f.nodes))[:stripes*len(f.nodes)]
	run.Jobs(g.o.Workers, len(f.found), func(w, i int) {
		f.found[i] = best{}
		if g.stopped() {
			return
		}
		f.search(g, f.scratch[w], f.nodes[i/stripes], &f.s.stripes[i%stripes], &f.found[i])
	})
	g.choose(f.nodes, f.found, stripes)
}

// search looks for the best split of a node among the columns of a stripe.
func (f *sparse) search(g *Grower, w *sparseBench, at int32, st *stripe, out *best) {
	n := &g.nodes[at]
	cells, mask := w.cells[:len(st.owner)], w.mask
	for _, row := range g.rows[n.from:n.to] {
		c := g.cells[row]
		for _, e := range st.entries[st.start[row]:st.start[row+1]] {
			p := &cells[e]
			p.G += c.G
			p.H += c.H
			mask[e>>6] |= 1 << (e & 63)
		}
	}
	p := newPair(gainsOf(g, n), out)
	var allowed []bool
	if f.masks != nil {
		allowed = f.masks[at]
	}
	// The column whose cells come, the first of them and their end, and how many came.
	j, first, end, count := int32(-1), int32(0), int32(0), 0
	shift, minH := p.s.scale.shift&63, p.s.minH
	done := func() {
		if count == 1 && cells[first].H>>shift < minH { // so are most: see column
			cells[first] = Cell{}
		} else if j >= 0 {
			f.column(g, w, &p, st, int(j), count, allowed, out)
		}
	}
	for k := range mask[:(len(st.owner)+63)/64] {
		m := mask[k]
		if m == 0 {
			continue
		}
		mask[k] = 0
		for ; m != 0; m &= m - 1 {
			e := int32(k<<6 + bits.TrailingZeros64(m))
			if e >= end {
				done()
				j, first = st.owner[e], e
				end, count = st.base[int(j)-st.first+1], 0
			}
			w.occupied[count&255] = uint8(e - st.base[int(j)-st.first])
			count++
		}
	}
	done()
}

// column looks for the best split in column j, whose codes in w.occupied have rows, and clears
// their cells.
func (f *sparse) column(g *Grower, w *sparseBench, p *pair, st *stripe, j, count int,
	allowed []bool, out *best) {
	base := int(st.base[j-st.first])
	c := &f.b.columns[j]
	cells := w.cells[base : base+c.values+1]
	occupied := w.occupied[:count]
	var sum Cell
	for _, code := range occupied {
		sum = sum.plus(cells[code])
	}
	implicit := int(f.s.implicit[j])
	rest := p.s.total.minus(sum)
	// Of any cut one side has no implicit cells, and is part of the sum: where that is too little,
	// no cut is admissible.
	if g.usable[j] && (allowed == nil || allowed[j]) && p.s.admissible(sum) {
		if count == 1 && p.short && int(occupied[0]) != c.values && implicit != c.values &&
			implicit != int(occupied[0]) {
			if !p.worthless(sum, rest, implicit < int(occupied[0])) {
				f.numeric(w, p, j, cells, occupied, implicit, rest, out)
			}
		} else {
			f.numeric(w, p, j, cells, occupied, implicit, rest, out)
		}
	}
	for _, code := range w.occupied[:count] {
		cells[code] = Cell{}
	}
	cells[implicit] = Cell{}
}

// numeric completes the histogram of a column with the cell of the implicit value, and searches it.
func (f *sparse) numeric(w *sparseBench, p *pair, j int, cells []Cell, occupied []uint8, implicit int,
	rest Cell, out *best) {
	var room [256]uint8
	values := len(cells) - 1
	if rest.H != 0 {
		cells[implicit] = cells[implicit].plus(rest)
	}
	n, placed := 0, rest.H == 0 || implicit == values
	for _, code := range occupied {
		if int(code) == values {
			continue // what is missing
		}
		if !placed && implicit <= int(code) {
			placed = true
			if implicit < int(code) {
				room[n] = uint8(implicit)
				n++
			}
		}
		room[n] = code
		n++
	}
	if !placed {
		room[n] = uint8(implicit)
		n++
	}
	before := out.score
	p.s.numeric(out, j, room[:n], cells, cells[values])
	if p.short && out.score != before {
		p.lift(out)
	}
}

// pair judges columns of two codes without their scores: see plainCut, whose bound it is.
type pair struct {
	s     gains
	short bool // the bound holds
	slope float64
	whole float64
	least float64
}

func newPair(s gains, out *best) pair {
	p := pair{s: s, short: s.plain && s.scale.shift == 0}
	if p.short {
		g, t := float64(s.total.G), float64(s.total.H)+2*s.l2
		p.slope, p.whole = g/t, t*(1-1e-14)-4096
		p.lift(out)
	}
	return p
}

// lift takes the best split so far.
func (p *pair) lift(out *best) {
	g, t := float64(p.s.total.G), float64(p.s.total.H)+2*p.s.l2
	p.least = math.Max((p.s.need(out)*(1-1e-13)-g*p.slope*(1+1e-13))/t*(1-1e-12), 0)
}

// worthless reports whether the cut between two cells cannot be the best; first says that rest is
// on the left.
func (p *pair) worthless(sum, rest Cell, first bool) bool {
	left := sum
	if first {
		left = rest
	}
	if rest.H < p.s.minH {
		return true
	}
	a := float64(left.H) + p.s.l2
	d := math.Abs(float64(left.G)-p.slope*a) + 4096
	return d*d < p.least*(a*(p.whole-a))
}

func (f *sparse) partition(g *Grower, nodes []int32) {
	parts := chunks(g, nodes)
	run.Jobs(g.o.Workers, len(parts), func(_, i int) {
		p := &parts[i]
		n := &g.nodes[p.node]
		var left [256]uint8
		f.b.leftCodes(n, &left)
		implicit := int(left[f.s.implicit[n.Column]])
		in, codes := f.s.column(int(n.Column))
		rows, other := g.rows[p.from:p.to], g.buffer[p.from:p.to]
		l, r, k := 0, 0, 0
		// Few rows look for themselves among many entries; else both go by once.
		search := len(in) > 16*len(rows)
		if !search && len(rows) > 0 {
			k, _ = slices.BinarySearch(in, rows[0])
		}
		for _, row := range rows {
			if search {
				at, _ := slices.BinarySearch(in[k:], row)
				k += at
			} else {
				for k < len(in) && in[k] < row {
					k++
				}
			}
			yes := implicit
			if k < len(in) && in[k] == row {
				yes = int(left[codes[k]])
			}
			rows[l] = row
			other[r] = row
			l += yes
			r += 1 - yes
		}
		p.lefts = int32(l)
	})
	join(g, parts)
}
