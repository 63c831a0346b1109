package tree

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Node is a node of a tree that a Grower grows. Split s, counted from 0, turns a leaf into an inner
// node and makes the nodes 2s+1 (left) and 2s+2 (right). The tree after n splits is therefore the
// nodes 0 … 2n, and the leaves are those whose children are not among them.
type Node struct {
	Parent, Left, Right int32 // -1 when there is none
	Depth               int32
	Column              int32 // of its split; -1 while it is a leaf
	Code                uint8 // numeric split on bins: codes up to it go left
	Categorical         bool
	MissingLeft         bool
	Set                 [4]uint64 // categorical: codes that go left
	Threshold           float64   // numeric: values up to it go left
	Gain                float64   // of its split
	G, H                float64   // Σ of the target's derivatives over its rows
	Low, High           float64   // bounds that monotone constraints put on its value

	sum      Cell
	variance float64 // Σ g² / Σ h: that of a sum of derivatives for each unit of H, were they noise
	from, to int32   // its rows, in Grower.rows
	best     best
	hist     []Cell // nil unless kept
}

// finder is what the histogram and the exact method differ in.
type finder interface {
	size() (rows, columns int)
	categorical(column int) bool
	// start receives the sample and the derivatives, fixed until the next start.
	start(g *Grower) error
	// partition moves the rows of split nodes to their children, in their order.
	partition(g *Grower, nodes []int32)
	// evaluate finds the best split of the children of split nodes, or of the root
	// when parents is [-1].
	evaluate(g *Grower, parents []int32)
	// seal completes the split of a node, whose best has been chosen.
	seal(n *Node)
	// route moves row i from node n, which is split, to one of its children.
	left(n *Node, row int32) bool
	// tree copies a split into a tree.
	split(t *Tree, at int, n *Node)
}

// Grower grows trees, one after the other, on the same rows. It makes one split at a time, so that
// the caller may stop or inspect the tree at any size. Trees grown best first with fewer leaves are
// prefixes of those with more.
//
//	g, err := NewGrower(bins, Options{MaxLeaves: 64})
//	err = g.Start(&Target{G: gradient, H: hessian})
//	for g.Step() { … g.Splits() … }
//	t := g.Tree(g.Splits())
//
// A Grower must not be used by two goroutines at a time; it uses Options.Workers of
// them itself. Between trees it keeps its memory.
type Grower struct {
	o      Options
	f      finder
	target *Target
	scale  Scale
	nodes  []Node
	rows   []int32 // of the sample, each node's together and ascending
	buffer []int32
	cells  []Cell // derivatives, by row
	splits int
	leaves int
	levels bool // there are categorical columns

	queue     []int32 // evaluated leaves that can be split: a heap, or with DepthWise a queue
	unmoved   []int32 // split nodes whose rows are still to be moved to the children
	unknown   []int32 // split nodes whose children are still to be evaluated
	usable    []bool  // columns that this tree may use
	columns   []int32 // the same as a list
	histBytes int64
	free      [][]Cell
	ctx       context.Context // nil is never cancelled
}

// stopped reports whether the work is to be given up. What was found by then is worth nothing.
func (g *Grower) stopped() bool { return g.ctx != nil && g.ctx.Err() != nil }

// NewGrower returns a Grower that splits at the thresholds of b.
func NewGrower(b *Bins, o Options) (*Grower, error) {
	if b.sparse != nil {
		return newGrower(newSparse(b), o)
	}
	return newGrower(newHistogram(b), o)
}

func newGrower(f finder, o Options) (*Grower, error) {
	rows, columns := f.size()
	if err := o.Check(columns, f.categorical); err != nil {
		return nil, err
	}
	return &Grower{ctx: o.Ctx, o: o.withDefaults(), f: f, cells: make([]Cell, rows),
		rows: make([]int32, 0, rows), buffer: make([]int32, rows), usable: make([]bool, columns)}, nil
}

// Options returns the options in force, defaults filled in.
func (g *Grower) Options() Options { return g.o }

// Start begins a new tree: a single leaf. The target's slices are read until Start returns, except
// Rows, Columns and Sample, which must not change while the tree grows. Derivatives that are not
// finite and samples out of order are errors.
func (g *Grower) Start(t *Target) error {
	for i := range g.nodes {
		g.release(&g.nodes[i])
	}
	// After an error there is no tree.
	g.target, g.splits, g.leaves = t, 0, 1
	g.nodes, g.queue, g.unmoved, g.unknown = g.nodes[:0], g.queue[:0], g.unmoved[:0], g.unknown[:0]
	rows, columns := g.f.size()
	if err := t.check(rows, columns); err != nil {
		return err
	}
	g.rows = append(g.rows[:0], t.Rows...)
	if t.Rows == nil {
		g.rows = g.rows[:rows]
		for i := range g.rows {
			g.rows[i] = int32(i)
		}
	}
	g.columns = append(g.columns[:0], t.Columns...)
	if t.Columns == nil {
		for j := range columns {
			g.columns = append(g.columns, int32(j))
		}
	}
	clear(g.usable)
	g.levels = false
	for _, j := range g.columns {
		g.usable[j] = true
		g.levels = g.levels || g.f.categorical(int(j))
	}
	var sum Cell
	var err error
	if g.scale, sum, err = t.fixed(g.rows, g.cells, g.o.counts(), g.o.Workers); err != nil {
		return err
	}
	if err := g.f.start(g); err != nil {
		return err
	}
	root := Node{Parent: -1, Left: -1, Right: -1, Column: -1, Low: math.Inf(-1), High: math.Inf(1),
		to: int32(len(g.rows)), sum: sum, variance: g.scale.variance}
	root.G, root.H = g.scale.Float(root.sum)
	g.nodes = append(g.nodes, root)
	g.unknown = append(g.unknown, -1)
	return nil
}

// Grow grows a whole tree, as far as the options allow. It returns an error of ctx
// when that is cancelled; nil is Options.Ctx.
func (g *Grower) Grow(ctx context.Context, t *Target) error {
	if ctx != nil {
		g.ctx = ctx
	}
	if err := g.Start(t); err != nil {
		return err
	}
	for {
		step := g.Step()
		if g.stopped() {
			return fmt.Errorf("tree: stopped after %d splits: %w", g.splits, g.ctx.Err())
		}
		if !step {
			return nil
		}
	}
}

// Step makes the next split and reports whether there was one. It splits the leaf with the largest
// gain, the first made among equals, or with DepthWise the next leaf of the level.
func (g *Grower) Step() bool {
	if g.o.MaxLeaves > 0 && g.leaves >= g.o.MaxLeaves || len(g.nodes) == 0 {
		return false
	}
	if !g.o.DepthWise || len(g.queue) == 0 {
		g.findSplits()
	}
	if len(g.queue) == 0 || g.stopped() {
		return false
	}
	at := g.next()
	g.nodes = append(g.nodes, Node{}, Node{}) // before any pointer into the slice is taken
	n := &g.nodes[at]
	b := &n.best
	g.f.seal(n)
	n.Column, n.Code, n.MissingLeft, n.Gain = b.column, b.code, b.missingLeft, b.gain
	n.Categorical, n.Set = b.categorical, b.set
	n.Left, n.Right = int32(2*g.splits+1), int32(2*g.splits+2)
	child := Node{Parent: at, Left: -1, Right: -1, Column: -1, Depth: n.Depth + 1, Low: n.Low, High: n.High}
	left, right := child, child
	left.sum, right.sum = b.left, n.sum.minus(b.left)
	left.G, left.H = g.scale.Float(left.sum)
	right.G, right.H = g.scale.Float(right.sum)
	if g.o.Monotone != nil {
		if d := g.o.Monotone[n.Column]; d != 0 {
			wl := min(max(leafValue(&g.o, left.G, left.H), n.Low), n.High)
			wr := min(max(leafValue(&g.o, right.G, right.H), n.Low), n.High)
			if middle := wl/2 + wr/2; d > 0 {
				left.High, right.Low = middle, middle
			} else {
				left.Low, right.High = middle, middle
			}
		}
	}
	g.nodes[n.Left], g.nodes[n.Right] = left, right
	g.unmoved = append(g.unmoved, at)
	g.unknown = append(g.unknown, at)
	g.splits++
	g.leaves++
	return true
}

// move brings the rows of split nodes to their children.
func (g *Grower) move() {
	if len(g.unmoved) > 0 {
		g.f.partition(g, g.unmoved)
		g.unmoved = g.unmoved[:0]
	}
}

// findSplits finds the best splits of all leaves not yet searched, and queues
// those that have one.
func (g *Grower) findSplits() {
	if len(g.unknown) == 0 {
		return
	}
	g.move()
	parents := g.unknown[:0:0]
	for _, at := range g.unknown {
		if at < 0 || g.open(g.nodes[at].Left) || g.open(g.nodes[at].Right) {
			parents = append(parents, at)
		} else {
			g.release(&g.nodes[at])
		}
	}
	g.unknown = g.unknown[:0]
	if len(parents) == 0 || parents[0] < 0 && !g.open(0) {
		return
	}
	if g.levels {
		g.measure(parents)
	}
	g.f.evaluate(g, parents)
	for _, at := range parents {
		if at < 0 {
			g.push(0)
			continue
		}
		g.push(g.nodes[at].Left)
		g.push(g.nodes[at].Right)
	}
}

// measure finds the variances of new nodes, which levels are charged by.
func (g *Grower) measure(parents []int32) {
	if g.o.LevelCost == 0 || g.o.OneHot >= MaxBins || parents[0] < 0 {
		return
	}
	run.Jobs(g.o.Workers, 2*len(parents), func(_, i int) {
		p := &g.nodes[parents[i/2]]
		n := &g.nodes[p.Left]
		if i%2 == 1 {
			n = &g.nodes[p.Right]
		}
		sum := 0.0
		for _, row := range g.rows[n.from:n.to] {
			v := float64(g.cells[row].G) * g.scale.G
			sum += v * v
		}
		if n.variance = sum / n.H; !(n.variance < math.Inf(1)) {
			n.variance = 0
		}
	})
}

// open reports whether a leaf may be split at all.
func (g *Grower) open(at int32) bool {
	n := &g.nodes[at]
	return (g.o.MaxDepth == 0 || int(n.Depth) < g.o.MaxDepth) && int(n.to-n.from) >= 2*g.o.MinRows
}

func (g *Grower) push(at int32) {
	n := &g.nodes[at]
	if !n.best.found() {
		g.release(n)
		return
	}
	g.queue = append(g.queue, at)
	if g.o.DepthWise {
		return
	}
	for k := len(g.queue) - 1; k > 0; {
		up := (k - 1) / 2
		if !g.before(g.queue[k], g.queue[up]) {
			break
		}
		g.queue[k], g.queue[up] = g.queue[up], g.queue[k]
		k = up
	}
}

// before reports whether leaf a is to be split before leaf b.
func (g *Grower) before(a, b int32) bool {
	x, y := g.nodes[a].best.gain, g.nodes[b].best.gain
	return x > y || x == y && a < b
}

func (g *Grower) next() int32 {
	q := g.queue
	top := q[0]
	if g.o.DepthWise {
		g.queue = slices.Delete(q, 0, 1)
		return top
	}
	q[0] = q[len(q)-1]
	q = q[:len(q)-1]
	for k := 0; ; {
		c := 2*k + 1
		if c >= len(q) {
			break
		}
		if c+1 < len(q) && g.before(q[c+1], q[c]) {
			c++
		}
		if !g.before(q[c], q[k]) {
			break
		}
		q[k], q[c] = q[c], q[k]
		k = c
	}
	g.queue = q
	return top
}

// Splits is the number of splits made so far.
func (g *Grower) Splits() int { return g.splits }

// Nodes returns the nodes made so far; see Node for their numbers. They are valid
// until the next Step or Start and must not be changed.
func (g *Grower) Nodes() []Node { return g.nodes }

// Rows returns the sampled rows that are in node at, ascending when it is a leaf;
// for an inner node they come leaf by leaf. The slice is valid until the next Step
// or Start.
func (g *Grower) Rows(at int) []int32 {
	g.move()
	n := &g.nodes[at]
	return g.rows[n.from:n.to]
}

// Scale is the unit of the sums that splits were chosen by; see Cell.
func (g *Grower) Scale() Scale { return g.scale }

// Leaves appends the leaves of the tree after the given number of splits to dst, in
// the order of their numbers.
func (g *Grower) Leaves(dst []int32, splits int) []int32 {
	for at := range 2*splits + 1 {
		if l := g.nodes[at].Left; l < 0 || int(l) > 2*splits {
			dst = append(dst, int32(at))
		}
	}
	return dst
}

// Route returns the leaf of the tree after the given number of splits that a row,
// sampled or not, belongs to. O(depth).
func (g *Grower) Route(row int32, splits int) int32 {
	at := int32(0)
	for {
		n := &g.nodes[at]
		if n.Left < 0 || int(n.Left) > 2*splits {
			return at
		}
		if g.f.left(n, row) {
			at = n.Left
		} else {
			at = n.Right
		}
	}
}

// Value returns the leaf value of node at under the options: the minimiser of G w + ½ (H+L2) w² +
// L1 |w| within the bounds of monotone constraints.
func (g *Grower) Value(at int) float64 {
	n := &g.nodes[at]
	return min(max(leafValue(&g.o, n.G, n.H), n.Low), n.High)
}

// Tree copies the tree after the given number of splits, at most Splits(); its
// leaves have the values of Value.
func (g *Grower) Tree(splits int) *Tree {
	n := 2*splits + 1
	t := newTree(n)
	g.move()
	for at := range n {
		node := &g.nodes[at]
		t.Gain[at], t.Cover[at], t.Count[at] = 0, node.H, node.to-node.from
		if node.Left < 0 || int(node.Left) >= n {
			t.Value[at] = g.Value(at)
			continue
		}
		t.Feature[at], t.Left[at], t.Right[at] = node.Column, node.Left, node.Right
		t.Gain[at] = node.Gain
		t.Threshold[at] = node.Threshold
		if node.MissingLeft {
			t.Flags[at] |= MissingLeft | OutsideLeft
		}
		if node.Categorical {
			g.f.split(t, at, node)
		}
	}
	return t
}

// keep gives node n a histogram to keep, unless memory for them is used up.
func (g *Grower) keep(n *Node, cells int) {
	if k := len(g.free); k > 0 {
		n.hist, g.free = g.free[k-1], g.free[:k-1]
		return
	}
	if need := int64(cells) * 16; g.histBytes+need <= g.o.HistogramBytes {
		g.histBytes += need
		n.hist = make([]Cell, cells)
	}
}

func (g *Grower) release(n *Node) {
	if n.hist != nil {
		g.free = append(g.free, n.hist)
		n.hist = nil
	}
}

// opened appends the children of parents that may be split, the root for -1, to nodes. It returns
// them with the columns that each may be split on, nil for all.
func (g *Grower) opened(nodes, parents []int32) ([]int32, map[int32][]bool) {
	for _, at := range parents {
		if at < 0 {
			nodes = append(nodes, 0)
			continue
		}
		nodes = append(nodes, g.nodes[at].Left, g.nodes[at].Right)
	}
	nodes = slices.DeleteFunc(nodes, func(at int32) bool { return !g.open(at) })
	if !(g.o.ColumnsByLevel < 1 || g.o.ColumnsByNode < 1) {
		return nodes, nil
	}
	masks := map[int32][]bool{}
	for _, at := range nodes {
		masks[at] = columnMask(g, at)
	}
	return nodes, masks
}

// choose gives nodes the best of the splits found, each apart in so many parts. Parts ascend by
// column: among equals the first column stays.
func (g *Grower) choose(nodes []int32, found []best, parts int) {
	for i := range found {
		n := &g.nodes[nodes[i/parts]]
		if f := &found[i]; f.found() && (!n.best.found() || f.score > n.best.score) {
			n.best = *f
		}
	}
}
