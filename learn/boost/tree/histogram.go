package tree

import (
	"math"
	"math/bits"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// histogram finds splits on binned columns.
//
// A node's histogram has, for each column and code, the sum of the derivatives of its rows. Of two
// siblings only the one with fewer rows is summed; the other is their parent's less that (integers:
// exactly). The work is divided by pairs of siblings and panels of eight blocks of eight columns,
// or parts of panels where goroutines would be idle. A task sums one tile of rows after another,
// block by block. The codes of a tile stay in the second-level cache meanwhile, and the 32 KB of
// the block in the first. It touches nothing that another task writes.
type histogram struct {
	b       *Bins
	offsets []int // of each block in a node's histogram, and their end
	used    []int // columns of each block that this tree may use

	scratch []bench // one a worker
	found   []best  // by task and side
	tasks   []task
	spans   []span           // of blocks: each task is divided into them
	masks   map[int32][]bool // columns that may split a node, where they are sampled
	pre     map[nodeBlock][]Cell
}

// span is some blocks of a panel.
type span struct{ first, last int }

// tileRows are summed for all blocks of a span before the next ones: their codes take 256 KB.
const tileRows = 4096

// bench is what a worker works on.
type bench struct {
	small    []Cell // histograms of a span that are not kept
	words    [fewRows]uint64
	tile     [tileRows]Cell // derivatives
	cells    [256]Cell      // all zero between uses
	occupied [256]uint8
	mask     [4]uint64 // codes that occur
	order    []uint8
	negated  []Cell
}

// list stores the codes of the mask in occupied, ascending. Most bins of most nodes
// are empty, in no order that a processor could guess; here it need not.
func (w *bench) list() []uint8 {
	n := 0
	for i, m := range &w.mask {
		for ; m != 0; m &= m - 1 {
			w.occupied[n&255] = uint8(64*i + bits.TrailingZeros64(m))
			n++
		}
	}
	return w.occupied[:n]
}

// task is a node, or two siblings, to be evaluated.
type task struct {
	small, large int32  // nodes; large is -1 at the root
	parent       []Cell // their parent's histogram, which becomes large's; nil if it was not kept
}

// fewRows: nodes with at most this many rows are searched directly from their rows' codes. That
// costs a few operations a row, a histogram some for each of its 256 cells.
const fewRows = 96

func newHistogram(b *Bins) *histogram {
	h := &histogram{b: b, used: make([]int, len(b.blocks))}
	at := 0
	for i := range b.blocks {
		h.offsets = append(h.offsets, at)
		at += blockColumns * b.blocks[i].stride
	}
	h.offsets = append(h.offsets, at)
	return h
}

func (h *histogram) size() (int, int)       { return h.b.rows, len(h.b.columns) }
func (h *histogram) categorical(j int) bool { return h.b.columns[j].categorical }

func (h *histogram) start(g *Grower) error {
	for i := range h.b.blocks {
		bl := &h.b.blocks[i]
		h.used[i] = 0
		for k := range bl.columns {
			if g.usable[bl.first+k] {
				h.used[i]++
			}
		}
	}
	for len(h.scratch) < run.WorkersOf(g.o.Workers) {
		h.scratch = append(h.scratch,
			bench{small: make([]Cell, min(panelBlocks, len(h.b.blocks))*blockColumns*256)})
	}
	return nil
}

func (h *histogram) seal(n *Node) { h.b.seal(n) }

// seal chooses the threshold between the last value that goes left and the first that goes right.
// Of the bounds between their bins it takes the one nearest to the middle.
func (bins *Bins) seal(n *Node) {
	b := &n.best
	if b.categorical {
		return
	}
	theta := bins.columns[b.column].theta
	if b.next > b.code+1 && int(b.next) <= len(theta) {
		// theta[c] lies between the values of bins c and c+1.
		lo, hi := theta[b.code], theta[b.next-1]
		want := lo/2 + hi/2
		at := b.code
		for c := b.code; c < b.next; c++ {
			if math.Abs(theta[c]-want) < math.Abs(theta[at]-want) {
				at = c
			}
		}
		b.code = at
	}
	n.Threshold = bins.Threshold(int(b.column), int(b.code))
}

func (h *histogram) left(n *Node, row int32) bool {
	return h.b.goesLeft(n, h.b.Code(int(row), int(n.Column)))
}

// goesLeft reports whether a row with the code c goes left at a split node.
func (b *Bins) goesLeft(n *Node, c uint8) bool {
	switch {
	case int(c) == b.columns[n.Column].values:
		return n.MissingLeft
	case n.Categorical:
		return n.Set[c>>6]>>(c&63)&1 == 1
	}
	return c <= n.Code
}

func (h *histogram) split(t *Tree, at int, n *Node) { splitLevels(&h.b.columns[n.Column], t, at, n) }

// splitLevels writes the levels that go left at a categorical split; those that have
// no code go where what is missing goes.
func splitLevels(c *column, t *Tree, at int, n *Node) {
	set := make([]uint64, (len(c.codes)+63)/64)
	for level, code := range c.codes {
		if int(code) == c.values && n.MissingLeft || int(code) < c.values && n.Set[code>>6]>>(code&63)&1 == 1 {
			set[level>>6] |= 1 << (level & 63)
		}
	}
	if n.MissingLeft && len(c.codes)%64 > 0 {
		set[len(set)-1] |= ^uint64(0) << (len(c.codes) % 64) // levels beyond those of training
	}
	t.SetLevels(at, set)
}

func (h *histogram) evaluate(g *Grower, parents []int32) {
	h.plan(g, parents)
	h.mask(g)
	h.presum(g)
	h.divide(run.WorkersOf(g.o.Workers))
	spans := len(h.spans)
	h.found = slices.Grow(h.found[:0], 2*spans*len(h.tasks))[:2*spans*len(h.tasks)]
	workers := g.o.Workers
	if len(h.tasks) == 1 {
		n := &g.nodes[h.tasks[0].small]
		if (int(n.to-n.from)+256)*len(g.columns) < 60000 {
			// A smaller bound costs more in handing out work than it saves. RGB with two workers,
			// on 10,984 rows of 28 columns, takes 1.07 times one worker's processor time; with a
			// third of this bound 1.11, with twice as much 1.06.
			workers = 1
		}
	}
	run.Jobs(workers, spans*len(h.tasks), func(w, i int) {
		h.found[2*i], h.found[2*i+1] = best{}, best{}
		if !g.stopped() {
			h.task(g, &h.scratch[w], &h.tasks[i/spans], h.spans[i%spans], h.found[2*i:2*i+2])
		}
	})
	for t := range h.tasks {
		task := &h.tasks[t]
		for span := range spans {
			for side, at := range []int32{task.small, task.large} {
				if at < 0 {
					continue
				}
				// All scores of a node are in the same units; spans ascend, so that
				// among equals the first column stays.
				if f := &h.found[2*(t*spans+span)+side]; f.found() &&
					(!g.nodes[at].best.found() || f.score > g.nodes[at].best.score) {
					g.nodes[at].best = *f
				}
			}
		}
		if task.large >= 0 && task.parent != nil {
			if n := &g.nodes[task.large]; h.wanted(g, n) && n.best.found() {
				n.hist = task.parent
			} else {
				g.free = append(g.free, task.parent)
			}
		}
	}
}

// wanted reports whether a node's histogram is of use to its children.
func (h *histogram) wanted(g *Grower, n *Node) bool {
	return n.to-n.from > fewRows && (g.o.MaxDepth == 0 || int(n.Depth)+1 < g.o.MaxDepth)
}

// plan lists the tasks and gives nodes the histograms that they keep.
func (h *histogram) plan(g *Grower, parents []int32) {
	h.tasks = h.tasks[:0]
	for _, at := range parents {
		t := task{small: 0, large: -1}
		if at >= 0 {
			p := &g.nodes[at]
			t.small, t.large = p.Left, p.Right
			if l, r := &g.nodes[p.Left], &g.nodes[p.Right]; r.to-r.from < l.to-l.from {
				t.small, t.large = t.large, t.small
			}
			t.parent, p.hist = p.hist, nil
			if n := &g.nodes[t.large]; t.parent != nil && n.to-n.from <= fewRows {
				g.free = append(g.free, t.parent)
				t.parent = nil
			}
		}
		for _, at := range []int32{t.small, t.large} {
			if at < 0 {
				continue
			}
			if n := &g.nodes[at]; h.wanted(g, n) && (at == t.small || t.parent == nil) {
				g.keep(n, h.offsets[len(h.offsets)-1])
			}
		}
		h.tasks = append(h.tasks, t)
	}
}

// divide makes the spans: the panels, cut in parts until every worker has two tasks.
func (h *histogram) divide(workers int) {
	h.spans = h.spans[:0]
	blocks := len(h.b.blocks)
	panels := (blocks + panelBlocks - 1) / panelBlocks
	size := panelBlocks
	if workers > 1 {
		size = max(1, min(panelBlocks, panelBlocks*len(h.tasks)*panels/(2*workers)))
	}
	for panel := 0; panel < blocks; panel += panelBlocks {
		end := min(panel+panelBlocks, blocks)
		for from := panel; from < end; from += size {
			h.spans = append(h.spans, span{from, min(from+size, end)})
		}
	}
}

// task evaluates a span of blocks for one or two nodes.
func (h *histogram) task(g *Grower, w *bench, t *task, s span, out []best) {
	small := h.sum(g, w, t.small, s, &out[0])
	if t.large < 0 {
		return
	}
	if t.parent == nil {
		h.sum(g, w, t.large, s, &out[1])
		return
	}
	n := &g.nodes[t.small]
	if small == nil {
		w.negated = w.negated[:0]
		for _, c := range h.cells(g, w, n.from, n.to) {
			w.negated = append(w.negated, Cell{-c.G, -c.H})
		}
	}
	for block := s.first; block < s.last; block++ {
		if h.used[block] == 0 {
			continue
		}
		from, to := h.offsets[block], h.offsets[block+1]
		large := t.parent[from:to]
		if small != nil {
			at := from - h.offsets[s.first]
			subtract(large, small[at:at+to-from])
		} else {
			h.add(g, block, large, n.from, n.to, w.negated)
		}
		if g.open(t.large) {
			h.scan(g, w, t.large, block, large, &out[1])
		}
	}
}

// whole reports whether the tree is a root of all rows, whose numbers need no list.
func (h *histogram) whole(g *Grower) bool { return g.splits == 0 && len(g.rows) == h.b.rows }

// cells are the derivatives of the rows from … to-1 of Grower.rows, in their order: at most
// tileRows, valid until the worker's next call.
func (h *histogram) cells(g *Grower, w *bench, from, to int32) []Cell {
	if h.whole(g) {
		return g.cells[from:to]
	}
	gather(w.tile[:], g.cells, g.rows[from:to])
	return w.tile[:to-from]
}

// sum evaluates a span for a node from its rows. It returns the histograms that it made, if any,
// which are valid until the worker's next call unless the node keeps them.
func (h *histogram) sum(g *Grower, w *bench, at int32, s span, out *best) []Cell {
	n := &g.nodes[at]
	if n.to-n.from <= fewRows {
		for block := s.first; block < s.last && g.open(at); block++ {
			if h.used[block] > 0 {
				h.few(g, w, at, block, out)
			}
		}
		return nil
	}
	start, end := h.offsets[s.first], h.offsets[s.last]
	hist := w.small
	if n.hist != nil {
		hist = n.hist[start:]
	}
	hist = hist[:end-start]
	clear(hist)
	for from := n.from; from < n.to; from += tileRows {
		to := min(from+tileRows, n.to)
		cells := h.cells(g, w, from, to)
		for block := s.first; block < s.last; block++ {
			if h.used[block] == 0 || h.pre[nodeBlock{at, block}] != nil {
				continue
			}
			h.add(g, block, hist[h.offsets[block]-start:h.offsets[block+1]-start], from, to, cells)
		}
	}
	for block := s.first; block < s.last; block++ {
		if h.used[block] == 0 {
			continue
		}
		own := hist[h.offsets[block]-start : h.offsets[block+1]-start]
		if pre := h.pre[nodeBlock{at, block}]; pre != nil {
			copy(own, pre)
		}
		if g.open(at) {
			h.scan(g, w, at, block, own, out)
		}
	}
	return hist
}

// add sums the rows from … to-1 of Grower.rows. It sums all columns of a block at once when the
// tree uses half of them or more, else one by one those that it uses.
func (h *histogram) add(g *Grower, block int, hist []Cell, from, to int32, cells []Cell) {
	bl := &h.b.blocks[block]
	first, rows := int(from), []int32(nil)
	if !h.whole(g) {
		first, rows = 0, g.rows[from:to]
	}
	if used := h.used[block]; 2*used >= bl.columns && used > 1 {
		addBlock(hist, bl.stride, bl.columns, bl.codes[first*bl.step:], bl.step, rows, cells)
		return
	}
	for k := range bl.columns {
		if g.usable[bl.first+k] {
			addColumn(hist[k*bl.stride:(k+1)*bl.stride], h.b.columns[bl.first+k].rows[first:], rows, cells)
		}
	}
}

// scan looks for the best split of a node in the histograms of a block.
func (h *histogram) scan(g *Grower, w *bench, at int32, block int, hist []Cell, out *best) {
	n := &g.nodes[at]
	s := gainsOf(g, n)
	bl := &h.b.blocks[block]
	for k := range bl.columns {
		j := bl.first + k
		if !g.usable[j] || !h.allowed(at, n, j) {
			continue
		}
		c := &h.b.columns[j]
		cells := hist[k*bl.stride : (k+1)*bl.stride]
		occupied(&w.mask, cells)
		w.mask[c.values>>6] &^= 1 << (c.values & 63)
		h.search(g, &s, w, j, w.list(), cells, cells[c.values], out)
	}
}

func (h *histogram) search(g *Grower, s *gains, w *bench, j int, occupied []uint8, cells []Cell,
	missing Cell, out *best) {
	if h.b.columns[j].categorical {
		if w.order == nil {
			w.order = make([]uint8, 0, 256)
		}
		s.levels(out, j, occupied, cells, missing, w.order)
		return
	}
	s.numeric(out, j, occupied, cells, missing)
}

// few does for a node of few rows what add and scan do: a bit map says which codes
// occur.
func (h *histogram) few(g *Grower, w *bench, at int32, block int, out *best) {
	n := &g.nodes[at]
	s := gainsOf(g, n)
	bl := &h.b.blocks[block]
	words := w.words[:n.to-n.from]
	for k, row := range g.rows[n.from:n.to] {
		words[k] = bl.codes[int(row)*bl.step]
	}
	sums := h.cells(g, w, n.from, n.to)
	for k := range bl.columns {
		j := bl.first + k
		if !g.usable[j] || !h.allowed(at, n, j) {
			continue
		}
		w.mask = [4]uint64{}
		for i, word := range words {
			code := uint8(word >> (8 * k))
			w.mask[code>>6] |= 1 << (code & 63)
			add(&w.cells[code], sums[i])
		}
		values := h.b.columns[j].values
		missing := w.cells[values]
		w.cells[values] = Cell{}
		w.mask[values>>6] &^= 1 << (values & 63)
		occupied := w.list()
		h.search(g, &s, w, j, occupied, w.cells[:], missing, out)
		for _, code := range occupied {
			w.cells[code] = Cell{}
		}
	}
}
